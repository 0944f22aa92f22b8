"""Hooks in the settings of agents: the command, the settings files, and the events.

An agent runs a command of ours at each event. Most agents list such commands in a JSON file of
settings; some load a plugin instead, which runs the command. The agent states which file, which
events, and which answer its protocol expects; this module builds the command and edits the file.

>>> from vacr.agents import HookLayout
>>> from vacr.capture.hook_settings import add_hooks
>>> command = "python vacr/capture/hook.py some-agent"
>>> print(add_hooks("{}", HookLayout(nested=False), {"Stop": command}), end="")
{
  "hooks": {
    "Stop": [
      {
        "command": "python vacr/capture/hook.py some-agent"
      }
    ]
  }
}
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from vacr.agents import HookLayout, HookSettings, load_agents
from vacr.capture.jsonc import (
    JsonMember,
    JsonNode,
    add_json_member,
    parse_jsonc,
    remove_json_member,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_home_folder

HOOK_SCRIPT_MARK = "vacr/capture/hook.py"
"""A part of every command of ours, in all versions and installations of vacr."""
HOOK_SCRIPT = str(Path(__file__).with_name("hook.py").resolve())


def build_hook_command(agent: str, answer: str = "") -> str:
    """Return the shell command for an agent; some agents expect an answer, in JSON.

    If Python or vacr is removed, the command still succeeds silently. Otherwise the exit code of a
    missing script, 2, would make agents stop, and some would show its error to the user.
    """
    run = f"{shlex.join([sys.executable, '-I', '-S', HOOK_SCRIPT, agent])} 2>/dev/null"
    return f"{run}; echo {shlex.quote(answer)}" if answer else f"{run} || true"


def is_vacr_command(command: Any) -> bool:
    """Return whether a command is one of ours."""
    return isinstance(command, str) and HOOK_SCRIPT_MARK in command.replace("\\", "/")


def find_missing_file(command: str) -> str:
    """Return the first file that a command needs and that does not exist, or an empty string."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    needed = words[:1] + [word for word in words if word.endswith(HOOK_SCRIPT_MARK)][:1]
    return next((path for path in needed if not Path(path).exists()), "")


_UNCHANGED_HINT = "Nothing was changed. Correct it, and run this again."


def list_hook_commands(text: str) -> dict[str, list[str]]:
    """Return our commands, by event.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    found: dict[str, list[str]] = {}
    for event, _, handlers in _find_vacr_hooks(_parse_settings(text)):
        found.setdefault(event.name, []).extend(one.value.value["command"] for one in handlers)
    return found


def add_hooks(text: str, layout: HookLayout, wanted: dict[str, str]) -> str:
    """Return the text with one hook of ours for each event; unchanged if it is so already.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    if list_hook_commands(text) == {event: [command] for event, command in wanted.items()}:
        return text
    text = remove_hooks(text) if text.strip() else "{}\n"
    for name, value in layout.opening:
        root = _parse_settings(text)
        if root.get(name) is None:
            text = add_json_member(text, root, value, name)
    if _parse_settings(text).get("hooks") is None:
        text = add_json_member(text, _parse_settings(text), {}, "hooks")
    for event, command in wanted.items():
        hooks = _get_hooks_node(_parse_settings(text))
        there = hooks.get(event) if hooks else None
        if there is not None:
            text = add_json_member(text, there, layout.entry(command))
        elif hooks is not None:
            text = add_json_member(text, hooks, [layout.entry(command)], event)
    return text


def remove_hooks(text: str) -> str:
    """Return the text without our hooks, and without lists and objects that they leave empty.

    Raises:
        UnreadableInput: the text is not a settings file of an agent.
    """
    while True:
        root = _parse_settings(text)
        first = next(_find_vacr_hooks(root), None)
        if first is None:
            return text
        text = _remove_hook_container(text, root, *first)


def format_settings(text: str) -> str:
    """Return settings with every value on a line of its own and without comments, for display.

    Raises:
        UnreadableInput: the text is not JSON.
    """
    return (
        json.dumps(parse_jsonc(text).value, ensure_ascii=False, indent=2) + "\n"
        if text.strip()
        else ""
    )


def is_empty_settings(text: str, layout: HookLayout) -> bool:
    """Return whether a file has nothing but the members that every file needs."""
    return bool(parse_jsonc(text).value in ({}, dict(layout.opening)))


def _remove_hook_container(
    text: str,
    root: JsonNode,
    event: JsonMember,
    group: JsonMember | None,
    handlers: list[JsonMember],
) -> str:
    """Remove the outermost list or object that has nothing but hooks of ours."""
    hooks = next(one for one in reversed(root.members or []) if one.name == "hooks")
    handler = handlers[0]
    held = group.value.get("hooks") if group else event.value
    if held is None or len(held.items or ()) > 1:
        return remove_json_member(text, held or event.value, handler)
    if group is not None and len(event.value.items or ()) > 1:
        return remove_json_member(text, event.value, group)
    if len(hooks.value.members or ()) > 1:
        return remove_json_member(text, hooks.value, event)
    return remove_json_member(text, root, hooks)


def _find_vacr_hooks(
    root: JsonNode,
) -> Iterator[tuple[JsonMember, JsonMember | None, list[JsonMember]]]:
    """Yield the events with hooks of ours: the event, the group if any, and our hooks."""
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        for item in event.value.items or ():
            if _is_vacr_hook(item):
                yield event, None, [item]
            inner = item.value.get("hooks")
            handlers = [one for one in (inner.items or ()) if _is_vacr_hook(one)] if inner else []
            if handlers:
                yield event, item, handlers


def _is_vacr_hook(item: JsonMember) -> bool:
    command = item.value.get("command")
    return command is not None and is_vacr_command(command.scalar)


def _parse_settings(text: str) -> JsonNode:
    root = parse_jsonc(text if text.strip("\ufeff \t\r\n") else "{}")
    if root.members is None:
        raise UnreadableInput("it is no JSON object", hint=_UNCHANGED_HINT)
    hooks = _get_hooks_node(root)
    for event in (hooks.members or []) if hooks else []:
        if event.value.items is None:
            raise UnreadableInput(f"hooks.{event.name} is no list", hint=_UNCHANGED_HINT)
    return root


def _get_hooks_node(root: JsonNode) -> JsonNode | None:
    hooks = root.get("hooks")
    if hooks is not None and hooks.members is None:
        raise UnreadableInput("hooks is no object", hint=_UNCHANGED_HINT)
    return hooks


USER_SCOPE, PROJECT_SCOPE, LOCAL_SCOPE = "user", "project", "local"

_VERSION_TIMEOUT = 20


@dataclass(frozen=True)
class AgentHooks:
    """The hooks of an agent on this machine."""

    name: str
    settings: HookSettings

    @property
    def layout(self) -> HookLayout | None:
        """The layout of hooks in the settings file, or None if the file is a plugin."""
        return self.settings.layout

    @property
    def local(self) -> str:
        """The settings file for one project and user."""
        return self.settings.local

    @property
    def notice(self) -> str:
        """The next step for the user."""
        return self.settings.notice

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return the folder of the user's settings."""
        named = environment.get(self.settings.variable) if self.settings.variable else None
        return (
            Path(named or self.settings.base.replace("~", find_home_folder(environment) or "~", 1))
            / self.settings.under
        )

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Return the settings file for a scope.

        Raises:
            UsageError: the agent has no such scope.
        """
        if scope == USER_SCOPE:
            return self.folder(environment) / self.settings.file
        name = self.settings.local if scope == LOCAL_SCOPE else self.settings.project
        if not name:
            raise UsageError(
                f"{self.name} has no settings of this kind: --{scope}",
                hint="Leave it out, or give --project.",
            )
        return here / name

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the agent is installed on this machine."""
        path = environment.get("PATH")
        return self.folder(environment).is_dir() or any(
            shutil.which(name, path=path) for name in self.settings.programs
        )

    def commands(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the command for each event that the agent knows."""
        settings = self.settings
        events = settings.events
        if settings.newer_events and _tolerates_unknown_events(settings, environment):
            events += settings.newer_events
        return {
            event: build_hook_command(
                self.name, self.settings.answers.get(event, self.settings.answer)
            )
            for event in events
        }


@cache
def load_agent_hooks() -> dict[str, AgentHooks]:
    """Return the agents that take hooks, by name."""
    return {
        name: AgentHooks(name, agent.hooks)
        for name, agent in load_agents().items()
        if agent.hooks is not None
    }


def _tolerates_unknown_events(settings: HookSettings, environment: Mapping[str, str]) -> bool:
    """Return whether the installed version ignores unknown events."""
    path = shutil.which(settings.programs[0], path=environment.get("PATH"))
    if path is None:
        return False
    try:
        output = subprocess.run(  # noqa: S603 - runs the agent itself
            [path, "--version"],
            capture_output=True,
            timeout=_VERSION_TIMEOUT,
            stdin=subprocess.DEVNULL,
            check=False,
            env=dict(environment),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", output)
    return version is not None and tuple(map(int, version.groups())) >= settings.tolerant_version


def build_plugin_command(hooks: AgentHooks) -> list[str]:
    """Return the command that a plugin runs, without a shell."""
    return [sys.executable, "-I", "-S", HOOK_SCRIPT, hooks.name]


def build_plugin_text(hooks: AgentHooks) -> str:
    """Return the text of an agent's plugin."""
    command = json.dumps(build_plugin_command(hooks), ensure_ascii=False)
    return Template(hooks.settings.plugin).substitute(command=command)


def parse_plugin_command(text: str) -> list[str]:
    """Return the command that a plugin of ours runs, or an empty list if the text is empty.

    Raises:
        UnreadableInput: the file is another plugin.
    """
    if not text.strip():
        return []
    for line in text.splitlines():
        if line.startswith("const COMMAND = ") and HOOK_SCRIPT_MARK in line.replace("\\\\", "/"):
            try:
                return [str(word) for word in json.loads(line.partition("= ")[2])]
            except (ValueError, TypeError):
                break
    raise UnreadableInput(
        "it is no plugin of vacr's", hint="Give it another name, and run this again."
    )
