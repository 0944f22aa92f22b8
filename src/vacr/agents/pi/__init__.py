"""Pi: session files in ~/.pi/agent/sessions, one JSON object a line.

`vacr.agents.pi_entries` turns a session into a record; `tools` reads the results of its tools.
Programs that are built on Pi derive their agent from this one.

    >>> from vacr.agents.pi import AGENT, is_pi_line
    >>> AGENT.tools["edit"].value
    'replace'
    >>> is_pi_line({"type": "session", "id": "s-1", "timestamp": "2026-01-01", "cwd": "/src"})
    True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, CacheWrites, SessionStore, Source, load_function
from vacr.agents.labels import (
    HUMAN,
    STATED,
    STATED_HOOK,
    Speaker,
)
from vacr.agents.tool_calls import ToolCall, ToolEffect, get_count

if TYPE_CHECKING:
    from vacr.agents.file_tools import RunShell, ShellOutput
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk

name = "pi"
formats = ("pi-jsonl",)
STORES = (
    SessionStore(("sessions/*/*.jsonl",), "~/.pi/agent", "PI_CODING_AGENT_DIR"),
    SessionStore(("*.jsonl", "*/*.jsonl"), "", "PI_CODING_AGENT_SESSION_DIR"),
)

_LINE_TYPES = frozenset(
    (
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    )
)
_ROLES = frozenset(("user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage"))
_UNSURE_SHARE = 0.99
"""The share that a few lines of Pi score: the next lines may show a program built on Pi."""
_FEW_VALUES = 8
_OTHER_PROGRAMS = ("openclaw", "clawdbot", "moltbot", "model-snapshot")
"""How the custom entries of programs that are built on Pi begin."""


def is_pi_line(value: Any) -> bool:
    """Return whether a value has the form of a header or of an entry of Pi."""
    if type(value) is not dict:
        return False
    kind, message = value.get("type"), value.get("message")
    if kind == "message":
        return (
            type(message) is dict
            and type(message.get("timestamp")) is int
            and type(message.get("role")) is str
            and message["role"] in _ROLES
        )
    if type(kind) is not str or message is not None or "timestamp" not in value:
        return False
    if kind == "session":
        return "cwd" in value and "id" in value
    return kind in _LINE_TYPES and "uuid" not in value and "sessionId" not in value


def names_other_program(value: Any) -> bool:
    """Return whether an entry of Pi's form was written by a program that is built on Pi."""
    if type(value) is not dict or value.get("type") != "custom":
        return False
    kind = value.get("customType")
    return type(kind) is str and kind.startswith(_OTHER_PROGRAMS)


class Pi(Agent):
    """Pi, the coding agent of the pi-mono project."""

    name = name
    title = "Pi"
    formats: Sequence[str] = formats
    stores: Sequence[SessionStore] = STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read": ToolEffect.READ,
        "edit": ToolEffect.REPLACE,
        "write": ToolEffect.WRITE,
        "bash": ToolEffect.SHELL,
        "grep": ToolEffect.SEARCH,
        "find": ToolEffect.NONE,
        "ls": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Pi's, from 0 to 1.

        Lines of a program that is built on Pi count for none.
        """
        if not sample or any(map(names_other_program, sample)):
            return 0.0
        share = sum(map(is_pi_line, sample)) / len(sample)
        return min(share, _UNSURE_SHARE) if len(sample) <= _FEW_VALUES else share

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of one session."""
        read = load_function("vacr.agents.pi_entries", "read_pi_session")
        yield read(source, self.formats[0], self.name)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, or an extension.

        A command that a person ran with `!` is that person's.
        """
        message = entry.get("message")
        role = message.get("role") if isinstance(message, dict) else None
        if role == "bashExecution":
            command = entry.get("content")
            return Speaker(HUMAN, STATED, f"!{command}" if isinstance(command, str) else None)
        if role is not None or "customType" in entry:
            return STATED_HOOK
        return super().speaker(entry, record)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the flag of the result and the words of its text."""
        outcome: Outcome = load_function("vacr.agents.pi.tools", "classify_outcome")(result)
        return outcome

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the numbered diff that an edit records; empty without it."""
        from vacr.agents.pi.tools import get_details, parse_numbered_diff

        del spelled
        diff = get_details(call.native).get("diff")
        return parse_numbered_diff(diff) if isinstance(diff, str) else []

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the part of a file that a read showed."""
        from vacr.agents.pi.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.pi.tools import parse_search_results

        return parse_search_results(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is stated."""
        from vacr.agents.pi.tools import parse_shell_output

        return parse_shell_output(call)

    def shell_run(self, call: ToolCall) -> RunShell | None:
        """Return the script that a call ran, with its result; the beginning may be cut off."""
        from vacr.agents.pi.tools import drop_cut_output

        run = super().shell_run(call)
        return run if run is None else drop_cut_output(call, run)

    def provider_of(self, entry: dict[str, Any]) -> str | None:
        """Return the provider that an answer, or a change of the model, names; or None."""
        for holder in (entry.get("message"), entry.get("data")):
            provider = holder.get("provider") if isinstance(holder, dict) else None
            if isinstance(provider, str):
                return provider
        return None

    def cache_writes(self, entry: dict[str, Any]) -> CacheWrites:
        """Return the tokens of an answer that were written to the cache."""
        message = entry.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        return CacheWrites(get_count(usage, "cacheWrite") if isinstance(usage, dict) else 0)


AGENT = Pi()
