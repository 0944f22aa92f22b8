"""Windsurf: the transcripts that its hooks write, one step a line. Its own store is encrypted.

A line has a type, a status, and a member named after the type. A step of a tool holds the call and
its result: it becomes a call with the result as its child. Both get the number of the line as their
id, because Windsurf writes none.

    >>> from vacr.agents.windsurf import AGENT
    >>> AGENT.name, [store.program for store in AGENT.encrypted]
    ('windsurf', ['Windsurf Cascade', 'Antigravity', 'Antigravity CLI'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, EncryptedStore, SessionStore, Source, load_function
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.labels import CallResult, Outcome
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction


class Windsurf(Agent):
    """Windsurf, by the transcripts of its hooks."""

    name = "windsurf"
    title = "Windsurf"
    formats = ("windsurf-jsonl",)
    stores = (SessionStore(("transcripts/*.jsonl",), "~/.windsurf"),)
    # Antigravity, by the authors of Windsurf, encrypts its conversations as Cascade does.
    encrypted = (
        EncryptedStore("Windsurf Cascade", SessionStore(("cascade/*.pb",), "~/.codeium/windsurf")),
        EncryptedStore(
            "Antigravity",
            SessionStore(("conversations/*.pb", "implicit/*.pb"), "~/.gemini/antigravity"),
        ),
        EncryptedStore(
            "Antigravity CLI", SessionStore(("conversations/*.pb",), "~/.gemini/antigravity-cli")
        ),
    )
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "code_action": ToolEffect.REPLACE,
        "view_file": ToolEffect.READ,
        # The person's own commands in the terminal have the same form.
        "run_command": ToolEffect.NONE,
        "find": ToolEffect.NONE,
        "grep_search": ToolEffect.NONE,
        "list_directory": ToolEffect.NONE,
        "list_resources": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is a hook's transcript, from 0 to 1."""
        if not any(type(value) is dict and "status" in value for value in sample):
            return 0.0
        share: float = load_function("vacr.agents.windsurf.reader", "recognise")(sample)
        return share

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of a transcript, without labels."""
        from vacr.agents.windsurf.reader import read

        return read(source)

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a step ended, by its status, its exit code and the user's answer."""
        outcome: Outcome = load_function("vacr.agents.windsurf.tools", "classify_outcome")(result)
        return outcome

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the changes and observations of files by a step that is done."""
        from vacr.agents.windsurf.tools import parse_code_action, parse_view

        if call.state != CALL_DONE:
            return ()
        if call.name == "code_action":
            return parse_code_action(call)
        return parse_view(call) if call.name == "view_file" else ()


AGENT = Windsurf()
