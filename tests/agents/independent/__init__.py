"""Counts from native files, without code of the package, to compare with the entries of records."""

from tests.agents.independent.acp import acp
from tests.agents.independent.aider import aider, aider_labels
from tests.agents.independent.chat_documents import (
    mini_swe_agent,
    mini_swe_agent_labels,
    swe_agent,
    swe_agent_labels,
)
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
from tests.agents.independent.crush import crush, crush_labels
from tests.agents.independent.cursor_transcripts import cursor, cursor_labels
from tests.agents.independent.gemini_cli import gemini, gemini_labels
from tests.agents.independent.generic import generic
from tests.agents.independent.goose import goose, goose_labels
from tests.agents.independent.gptme import gptme, gptme_labels
from tests.agents.independent.grok import grok
from tests.agents.independent.hermes import hermes, hermes_labels
from tests.agents.independent.json_sessions import amp, cline, continue_, droid, roo
from tests.agents.independent.kimi import kimi, kimi_cli, kimi_code, kimi_code_labels
from tests.agents.independent.open_code import opencode
from tests.agents.independent.openhands import openhands, openhands_labels
from tests.agents.independent.pi_entries import pi, pi_labels
from tests.agents.independent.qwen_code import qwen, qwen_labels
from tests.agents.independent.small_formats import visualstudio_copilot, windsurf
from tests.agents.independent.vibe import vibe, vibe_labels
from tests.agents.independent.vscode_chats import copilot_vscode
from tests.agents.independent.zed import zed, zed_labels

openclaw, iflow, traex = pi, claude, codex

__all__ = [
    "Counts",
    "Labels",
    "acp",
    "aider",
    "aider_labels",
    "amp",
    "claude",
    "claude_labels",
    "cline",
    "codex",
    "codex_labels",
    "continue_",
    "copilot",
    "copilot_labels",
    "copilot_vscode",
    "crush",
    "crush_labels",
    "cursor",
    "cursor_labels",
    "documents",
    "droid",
    "gemini",
    "gemini_labels",
    "generic",
    "goose",
    "goose_labels",
    "gptme",
    "gptme_labels",
    "grok",
    "hermes",
    "hermes_labels",
    "iflow",
    "kimi",
    "kimi_cli",
    "kimi_code",
    "kimi_code_labels",
    "mini_swe_agent",
    "mini_swe_agent_labels",
    "openclaw",
    "opencode",
    "openhands",
    "openhands_labels",
    "pi",
    "pi_labels",
    "qwen",
    "qwen_labels",
    "record",
    "record_labels",
    "roo",
    "swe_agent",
    "swe_agent_labels",
    "traex",
    "values",
    "vibe",
    "vibe_labels",
    "visualstudio_copilot",
    "windsurf",
    "zed",
    "zed_labels",
]
