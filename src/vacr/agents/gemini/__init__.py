"""Gemini CLI: chats and logs in ~/.gemini/tmp.

`reader` and `messages` turn a chat into a record; `tools` knows what its tools do to files;
`speakers` and `outcomes` label who wrote a message and how a call ended.

    >>> from vacr.agents import find_agent
    >>> find_agent("gemini-cli").tools["replace"].value
    'replace'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vacr.agents.agent import (
    HookLayout,
    HookSettings,
    McpSettings,
    Retention,
    SessionStore,
    Source,
    load_function,
)
from vacr.agents.gemini import reader
from vacr.agents.gemini_family import GeminiFamily

if TYPE_CHECKING:
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading


class Gemini(GeminiFamily):
    """Google's Gemini CLI."""

    name = reader.name
    title = "Gemini CLI"
    short_name = "gemini"
    formats: Sequence[str] = reader.formats
    separate_call_formats: Sequence[str] = reader.formats
    stores: Sequence[SessionStore] = reader.STORES
    sub_sessions: Sequence[str] = reader.SUB_SESSIONS
    part_name: re.Pattern[str] | None = reader.NAMED

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Gemini CLI's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a chat or a log."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message, by its parts and by the text that the screen showed."""
        speaker: Speaker = load_function("vacr.agents.gemini.speakers", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the host's report and the status."""
        outcome: Outcome = load_function("vacr.agents.gemini.outcomes", "classify_outcome")(result)
        return outcome

    # --- capture ---

    # Left out: BeforeModel has the whole history each time, and AfterModel every piece of an
    # answer; the transcript has both.
    hooks: HookSettings | None = HookSettings(
        base="~",
        under=".gemini",
        file="settings.json",
        project=".gemini/settings.json",
        programs=("gemini",),
        variable="GEMINI_CLI_HOME",
        layout=HookLayout(handler=(("name", "vacr"), ("timeout", 10_000))),
        events=(
            "SessionStart",
            "SessionEnd",
            "BeforeAgent",
            "AfterAgent",
            "BeforeTool",
            "AfterTool",
            "PreCompress",
            "Notification",
        ),
    )

    retention = Retention(
        30,
        ("general", "sessionRetention", "maxAge"),
        ("general", "sessionRetention", "enabled"),
    )
    mcp: McpSettings | None = McpSettings(
        base="~",
        under=".gemini",
        file="settings.json",
        project=".gemini/settings.json",
        programs=("gemini",),
        variable="GEMINI_CLI_HOME",
        notice="Restart Gemini CLI. It starts servers only in trusted folders; /mcp lists them.",
    )


AGENT = Gemini()
