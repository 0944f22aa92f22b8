"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.5 to 1.8, both ways."""

VERSIONS = ("1.5", "1.6", "1.7", "1.8")
FORMAT = "atif"
"""The trace format id of a record that was made of it."""
