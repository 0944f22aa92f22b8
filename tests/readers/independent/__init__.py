"""Counts taken from native files without any code of the package: what the typed entries of a
record must agree with.
"""

from tests.readers.independent.claude_code import claude
from tests.readers.independent.codex_cli import codex
from tests.readers.independent.counts import Counts, documents, record, values
from tests.readers.independent.cursor_transcripts import cursor
from tests.readers.independent.gemini_cli import gemini
from tests.readers.independent.open_code import opencode

__all__ = [
    "Counts",
    "claude",
    "codex",
    "cursor",
    "documents",
    "gemini",
    "opencode",
    "record",
    "values",
]
