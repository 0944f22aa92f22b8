"""Counts from native files, without code of the package, to compare with the entries of records."""

from tests.agents.independent.claude_code import claude, claude_labels
from tests.agents.independent.codex_cli import codex, codex_labels
from tests.agents.independent.counts import (
    Counts,
    Labels,
    documents,
    record,
    record_labels,
    values,
)
from tests.agents.independent.cursor_transcripts import cursor, cursor_labels
from tests.agents.independent.gemini_cli import gemini, gemini_labels
from tests.agents.independent.json_sessions import amp, cline, continue_, droid, roo
from tests.agents.independent.open_code import opencode

__all__ = [
    "Counts",
    "Labels",
    "amp",
    "claude",
    "claude_labels",
    "cline",
    "codex",
    "codex_labels",
    "continue_",
    "cursor",
    "cursor_labels",
    "documents",
    "droid",
    "gemini",
    "gemini_labels",
    "opencode",
    "record",
    "record_labels",
    "roo",
    "values",
]
