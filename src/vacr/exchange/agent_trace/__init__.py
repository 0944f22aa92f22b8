"""Agent Trace 0.1.0, which says who wrote which lines of which files, both ways. A record's file
attribution is the same tree.
"""

VERSION = "0.1.0"
FORMAT = "agent-trace"
"""The trace format id of a record that was made of it."""
