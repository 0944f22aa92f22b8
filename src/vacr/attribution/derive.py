"""File actions of a step: what a call or another entry says about files.

The agent knows what its tools do. Only scripts of a shell are read here, because their commands do
the same to files whichever agent ran them.
"""

from __future__ import annotations

from collections.abc import Iterator

from vacr.agents import Agent, RunShell, ToolCall
from vacr.attribution.shell.effects import derive_shell_events
from vacr.edits import FileAction


def derive_file_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the effects of an ended call on files, and the lines of files that it showed."""
    for action in agent.file_actions(call):
        if isinstance(action, RunShell):
            yield from derive_shell_events(call, action)
        else:
            yield action
