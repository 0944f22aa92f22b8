"""Counts from native files, without code of the package, to compare with the entries of records."""

from tests.agents.independent.claude_code import claude
from tests.agents.independent.codex_cli import codex
from tests.agents.independent.counts import Counts, documents, record, values
from tests.agents.independent.cursor_transcripts import cursor
from tests.agents.independent.gemini_cli import gemini
from tests.agents.independent.open_code import opencode

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
