"""How an agent is told to run vacr's hook while it works.

An agent runs a command at each event of a session. Most agents list such commands in a JSON file of
settings; some load a plugin instead, which runs the command. These are data: `vacr.capture` writes
them into the agent's settings.

    >>> from vacr.agents.hook_settings import HookLayout
    >>> HookLayout(handler=(("timeout", 10),)).entry("hook some-agent")
    {'hooks': [{'type': 'command', 'command': 'hook some-agent', 'timeout': 10}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class HookLayout:
    """The layout of hooks in an agent's settings."""

    nested: bool = True
    """Whether an event has groups of hooks instead of hooks."""
    handler: tuple[tuple[str, Any], ...] = ()
    """Members of a hook in addition to its command."""
    opening: tuple[tuple[str, Any], ...] = ()
    """Members that the file needs in addition to the hooks."""

    def entry(self, command: str) -> dict[str, Any]:
        """Return the entry for an event."""
        first = {"type": "command"} if self.nested else {}
        handler = {**first, "command": command, **dict(self.handler)}
        return {"hooks": [handler]} if self.nested else handler


@dataclass(frozen=True)
class HookSettings:
    """The settings file of an agent, the events that it reports, and the answers it expects."""

    base: str
    """The folder that `variable` may replace; `~` is the user's home."""
    under: str
    """The folder of its settings, relative to `base`."""
    file: str
    """The settings file in that folder."""
    project: str
    """The settings file for a project, relative to the project's folder."""
    programs: tuple[str, ...]
    """The commands that start the agent."""
    variable: str = ""
    """The environment variable that replaces `base`."""
    local: str = ""
    """The settings file for one project and user."""
    layout: HookLayout | None = None
    """The layout of hooks in the file, or None if the file is a plugin."""
    plugin: str = ""
    """The text of the plugin; `$command` stands for the command as a JSON array."""
    events: tuple[str, ...] = ()
    newer_events: tuple[str, ...] = ()
    """Events for versions from `tolerant_version` on: older ones refuse unknown events."""
    tolerant_version: tuple[int, int, int] = (0, 0, 0)
    answer: str = ""
    """The answer that the agent expects."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """Event → the answer, if it differs."""
    notice: str = ""
    """The next step for the user."""
