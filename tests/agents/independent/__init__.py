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
from tests.agents.independent.kimi import kimi, kimi_cli, kimi_code, kimi_code_labels
from tests.agents.independent.open_code import opencode
from tests.agents.independent.pi_entries import pi, pi_labels
from tests.agents.independent.qwen_code import qwen, qwen_labels

openclaw, iflow, traex = pi, claude, codex

__all__ = [
    "Counts",
    "Labels",
    "claude",
    "claude_labels",
    "codex",
    "codex_labels",
    "cursor",
    "cursor_labels",
    "documents",
    "gemini",
    "gemini_labels",
    "iflow",
    "kimi",
    "kimi_cli",
    "kimi_code",
    "kimi_code_labels",
    "openclaw",
    "opencode",
    "pi",
    "pi_labels",
    "qwen",
    "qwen_labels",
    "record",
    "record_labels",
    "traex",
    "values",
]
