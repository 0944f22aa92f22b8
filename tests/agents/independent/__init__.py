"""Counts from native files, without code of the package, to compare with the entries of records."""

from tests.agents.independent.claude_code import claude, claude_labels
from tests.agents.independent.codex_cli import codex, codex_labels
from tests.agents.independent.copilot_events import copilot, copilot_labels
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
from tests.agents.independent.open_code import opencode
from tests.agents.independent.small_formats import visualstudio_copilot, windsurf
from tests.agents.independent.vscode_chats import copilot_vscode

__all__ = [
    "Counts",
    "Labels",
    "claude",
    "claude_labels",
    "codex",
    "codex_labels",
    "copilot",
    "copilot_labels",
    "copilot_vscode",
    "cursor",
    "cursor_labels",
    "documents",
    "gemini",
    "gemini_labels",
    "opencode",
    "record",
    "record_labels",
    "values",
    "visualstudio_copilot",
    "windsurf",
]
