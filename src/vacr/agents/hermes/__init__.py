"""Hermes: the database `state.db`, and the files of its sessions.

`reader` turns a session into a record; `labels` knows who wrote a message and how a call ended;
`tools` knows what its tools do to files.

    >>> from vacr.agents import find_agent
    >>> find_agent("hermes").tools["write_file"].value
    'write'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, ShellBehaviour, Source, load_function
from vacr.agents.hermes import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction, Hunk


class Hermes(Agent):
    """Nous Research's agent Hermes."""

    name = reader.name
    title = "Hermes"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    databases = reader.DATABASES
    shell = ShellBehaviour(keeps_folder=True)
    json_outputs = True
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "read_file": ToolEffect.READ,
        "patch": ToolEffect.REPLACE,
        "write_file": ToolEffect.WRITE,
        "terminal": ToolEffect.SHELL,
        "search_files": ToolEffect.SEARCH,
        "clarify": ToolEffect.NONE,
        "cronjob": ToolEffect.NONE,
        "delegate_task": ToolEffect.NONE,
        "memory": ToolEffect.NONE,
        "process": ToolEffect.NONE,
        "send_message": ToolEffect.NONE,
        "session_search": ToolEffect.NONE,
        "skill_view": ToolEffect.NONE,
        "skills_list": ToolEffect.NONE,
        "todo": ToolEffect.NONE,
        "web_extract": ToolEffect.NONE,
        "web_search": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is Hermes's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the sessions in an export or a file."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: a person, a parent agent, or Hermes itself."""
        speaker: Speaker = load_function("vacr.agents.hermes.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the object in its result."""
        outcome: Outcome = load_function("vacr.agents.hermes.labels", "classify_outcome")(result)
        return outcome

    def tool_effect(self, call: ToolCall) -> ToolEffect | None:
        """Return the effect of a call; the mode of `patch` decides whether it replaces text."""
        if call.name == "patch":
            from vacr.agents.hermes.tools import is_patch_call

            return ToolEffect.PATCH if is_patch_call(call) else ToolEffect.REPLACE
        return self.tools.get(call.name)

    def recorded_hunks(self, call: ToolCall, spelled: Sequence[str]) -> list[Hunk]:
        """Return the hunks of the diff in the result."""
        from vacr.agents.hermes.tools import parse_recorded_hunks

        del spelled
        return parse_recorded_hunks(call)

    def shown_file(self, call: ToolCall, path: str) -> Iterable[FileAction] | None:
        """Return the lines that a read showed."""
        from vacr.agents.hermes.tools import parse_shown_file

        return parse_shown_file(call, path)

    def search_results(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield the lines of files that a search shows."""
        from vacr.agents.hermes.tools import parse_search_results

        return parse_search_results(call)

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its exit code where it is known."""
        from vacr.agents.hermes.tools import parse_shell_output

        return parse_shell_output(call)

    def has_failed(self, call: ToolCall, result: dict[str, Any], report: dict[str, Any]) -> bool:
        """Return whether a call failed; a change of a file needs the word of its result."""
        from vacr.agents.hermes.tools import has_changed_file

        if call.name in ("write_file", "patch"):
            return not has_changed_file(call, result.get("output"))
        return super().has_failed(call, result, report)

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of the session in dollars: the actual one, or else Hermes's estimate."""
        for member in ("actual_cost_usd", "estimated_cost_usd"):
            cost = record["session"].get(member)
            if isinstance(cost, int | float) and not isinstance(cost, bool):
                return cost
        return None


AGENT = Hermes()
