"""OpenClaw (before: Clawdbot, Moltbot): session files of Pi's form in ~/.openclaw/agents.

OpenClaw runs Pi as a library, so `vacr.agents.pi_entries` reads its sessions. It differs in the
tools, and in the prompts: `speakers` finds the words of a person in them.

    >>> from vacr.agents.openclaw import AGENT
    >>> AGENT.tools["exec"].value
    'shell'
    >>> snapshot = {"type": "custom", "customType": "model-snapshot", "timestamp": "2026-01-01"}
    >>> AGENT.recognises([snapshot])
    1.0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import SessionStore, load_function
from vacr.agents.pi import Pi, is_pi_line, names_other_program
from vacr.agents.tool_calls import ToolEffect

if TYPE_CHECKING:
    from vacr.agents.labels import Speaker

name = "openclaw"
formats = ("openclaw-jsonl",)
_SESSION_PATTERNS = (
    "agents/*/sessions/*.jsonl",
    "agents/*/sessions/*.jsonl.reset.*",
    "agents/*/sessions/*.jsonl.deleted.*",
)
STORES = (
    SessionStore(_SESSION_PATTERNS, "~/.openclaw", "OPENCLAW_STATE_DIR"),
    SessionStore(_SESSION_PATTERNS, "~/.clawdbot", "CLAWDBOT_STATE_DIR"),
    SessionStore(_SESSION_PATTERNS, "~/.moltbot"),
)


class OpenClaw(Pi):
    """OpenClaw, a personal assistant that is built on Pi."""

    name = name
    title = "OpenClaw"
    formats = formats
    stores = STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "exec": ToolEffect.SHELL,
        "bash": ToolEffect.SHELL,
        "apply_patch": ToolEffect.PATCH,
        "agents_list": ToolEffect.NONE,
        "browser": ToolEffect.NONE,
        "canvas": ToolEffect.NONE,
        "cron": ToolEffect.NONE,
        "gateway": ToolEffect.NONE,
        "image": ToolEffect.NONE,
        "memory_get": ToolEffect.NONE,
        "memory_search": ToolEffect.NONE,
        "message": ToolEffect.NONE,
        "nodes": ToolEffect.NONE,
        "process": ToolEffect.NONE,
        "session_status": ToolEffect.NONE,
        "sessions_history": ToolEffect.NONE,
        "sessions_list": ToolEffect.NONE,
        "sessions_send": ToolEffect.NONE,
        "sessions_spawn": ToolEffect.NONE,
        "tts": ToolEffect.NONE,
        "web_fetch": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that has Pi's form, if an entry of OpenClaw is in it."""
        if not any(map(names_other_program, sample)):
            return 0.0
        return sum(map(is_pi_line, sample)) / len(sample)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, and the person's words without OpenClaw's additions."""
        speaker = super().speaker(entry, record)
        separated: Speaker = load_function("vacr.agents.openclaw.speakers", "separate_words")(
            entry, speaker
        )
        return separated


AGENT = OpenClaw()
