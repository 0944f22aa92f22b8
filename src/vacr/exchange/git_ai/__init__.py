"""Notes of git-ai, version 3.0.0 of its standard, which say at a commit who wrote which lines, both
ways.
"""

FORMAT = "git-ai-notes"
"""The trace format id of a record that was made of one."""
SCHEMA_VERSION = "authorship/3.0.0"
KEYS = "attested-by"
"""Where a record keeps the keys of a note, one for each conversation of its file attribution, in
their order.
"""
