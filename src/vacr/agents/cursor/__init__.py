"""Cursor: transcripts, and the databases of the editor and of its agent."""
