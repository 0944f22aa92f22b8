"""OpenClaw (before: Clawdbot, Moltbot): sessions of Pi's form in ~/.openclaw/agents.

OpenClaw runs Pi as a library, so `vacr.agents.pi_entries` reads its sessions. It differs in the
tools, whose results `outcomes` knows, and in the prompts: `speakers` finds the words of a person in
them. Older versions write a file for each session; since 2026.9, `database` finds them in a
database.

    >>> from vacr.agents.openclaw import AGENT
    >>> AGENT.tools["exec"].value
    'shell'
    >>> snapshot = {"type": "custom", "customType": "model-snapshot", "timestamp": "2026-01-01"}
    >>> AGENT.recognises([snapshot])
    1.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import SessionStore, Source, load_function
from vacr.agents.documents import is_export_head
from vacr.agents.openclaw.database import OPENCLAW_DATABASE, OPENCLAW_DATABASE_FORMAT
from vacr.agents.pi import Pi, is_pi_line, names_other_program
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading

name = "openclaw"
OPENCLAW_LINES_FORMAT = "openclaw-jsonl"
formats = (OPENCLAW_LINES_FORMAT, OPENCLAW_DATABASE_FORMAT)
_SESSION_PATTERNS = (
    "agents/*/sessions/*.jsonl",
    "agents/*/sessions/*.jsonl.reset.*",
    "agents/*/sessions/*.jsonl.deleted.*",
)
STORES = (
    SessionStore(_SESSION_PATTERNS, "~/.openclaw", "OPENCLAW_STATE_DIR"),
    SessionStore(_SESSION_PATTERNS, "~/.clawdbot", "CLAWDBOT_STATE_DIR"),
    SessionStore(_SESSION_PATTERNS, "~/.moltbot"),
    SessionStore(("agents/*/agent/openclaw-agent.sqlite",), "~/.openclaw", "OPENCLAW_STATE_DIR"),
)
DATABASES = (OPENCLAW_DATABASE,)


class OpenClaw(Pi):
    """OpenClaw, a personal assistant that is built on Pi."""

    name = name
    title = "OpenClaw"
    formats = formats
    stores = STORES
    databases = DATABASES
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
        """Return the share of a sample that has Pi's form, if an entry of OpenClaw is in it.

        An export of OpenClaw's database scores 1.
        """
        if sample and is_export_head(sample[0], OPENCLAW_DATABASE_FORMAT):
            return 1.0
        if not any(map(names_other_program, sample)):
            return 0.0
        return sum(map(is_pi_line, sample)) / len(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of one session, from its file or from an export of its rows."""
        sample = source.main.sample(1)
        if sample and is_export_head(sample[0], OPENCLAW_DATABASE_FORMAT):
            yield load_function("vacr.agents.openclaw.database", "read_rows")(source, self.name)
        else:
            yield from super().read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, and the person's words without OpenClaw's additions."""
        speaker = super().speaker(entry, record)
        separated: Speaker = load_function("vacr.agents.openclaw.speakers", "separate_words")(
            entry, speaker
        )
        return separated

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended; a command may go on in the background."""
        outcome: Outcome = load_function("vacr.agents.openclaw.outcomes", "classify_outcome")(
            result
        )
        return outcome

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.openclaw.outcomes import parse_shell_output

        return parse_shell_output(call)


AGENT = OpenClaw()
