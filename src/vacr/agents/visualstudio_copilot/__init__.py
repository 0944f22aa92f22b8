"""GitHub Copilot in Visual Studio: the traces that it writes to a temporary folder.

>>> from vacr.agents.visualstudio_copilot import AGENT
>>> AGENT.name, AGENT.formats
('visualstudio-copilot', ('visualstudio-otlp',))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, SessionStore, Source, load_function
from vacr.agents.tool_calls import CALL_DONE, ToolCall, ToolEffect

if TYPE_CHECKING:
    from vacr.agents.lift import Reading
    from vacr.edits import FileAction

_TRACES = ("*_VSGitHubCopilot_traces.jsonl",)
_CONFIRMATIONS = {"create_file": "Created ", "apply_patch": "Applied "}
"""Tool → how its result begins if it changed a file."""


class VisualStudioCopilot(Agent):
    """GitHub Copilot in Visual Studio."""

    name = "visualstudio-copilot"
    title = "Visual Studio Copilot"
    formats = ("visualstudio-otlp",)
    stores = (
        SessionStore(
            _TRACES,
            "~/.cache",
            "XDG_CACHE_HOME",
            "VSGitHubCopilotLogs/traces",
            systems={"win32": "~/AppData/Local/Temp"},
            variables={"darwin": "", "win32": "TEMP"},
        ),
    )
    tools: ClassVar[Mapping[str, ToolEffect]] = {
        "create_file": ToolEffect.WRITE,
        "apply_patch": ToolEffect.PATCH,
        "run_command_in_terminal": ToolEffect.SHELL,
        "code_search": ToolEffect.NONE,
        "get_errors": ToolEffect.NONE,
        "get_file": ToolEffect.NONE,
        "run_build": ToolEffect.NONE,
    }

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is a trace of this program, from 0 to 1."""
        if not any(type(value) is dict and "resourceSpans" in value for value in sample):
            return 0.0
        share: float = load_function("vacr.agents.visualstudio_copilot.reader", "recognise")(sample)
        return share

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the record of each conversation in a file of traces, without labels."""
        from vacr.agents.visualstudio_copilot.reader import read

        return read(source)

    def file_actions(self, call: ToolCall) -> Iterable[FileAction]:
        """Yield a call's file actions; a change counts only if the result confirms it."""
        from vacr.agents.file_tools import derive_file_actions

        expected = _CONFIRMATIONS.get(call.name)
        if expected and call.state == CALL_DONE and not call.output.startswith(expected):
            return ()
        return derive_file_actions(self, call)


AGENT = VisualStudioCopilot()
