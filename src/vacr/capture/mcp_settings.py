r"""Our MCP server in the settings of agents: found, added and removed.

An agent names its MCP servers in a settings file, as JSON or TOML. As with hooks, the file belongs
to its user: a change is planned and shown first, and everything else in the file stays.

>>> from vacr.agents import McpSettings
>>> from vacr.capture.mcp_settings import AgentServers, add_server, remove_server
>>> settings = McpSettings("~/.some", "", "config.toml", "", (), is_toml=True, members=("servers",))
>>> text = 'model = "m"\n\n[servers.mine]\ncommand = "mine"\n'
>>> with_server = add_server(text, settings, ["python", "-m", "vacr", "mcp"])
>>> print(with_server, end="")
model = "m"
<BLANKLINE>
[servers.mine]
command = "mine"
<BLANKLINE>
[servers.vacr]
command = "python"
args = ["-m", "vacr", "mcp"]
>>> remove_server(with_server, settings) == text
True

An edit of TOML is checked: the file is parsed before and after, and nothing else may differ.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vacr.agents import McpSettings, load_agents
from vacr.capture.hook_settings import (
    JsonNode,
    add_json_member,
    parse_jsonc,
    remove_json_member,
)
from vacr.capture.installers import (
    HOOKS_BROKEN,
    HOOKS_DIFFERENT,
    HOOKS_INSTALLED,
    HOOKS_NOT_INSTALLED,
    HOOKS_UNREADABLE,
    USER_SCOPE,
    AgentSettings,
    SettingsChange,
    decode_settings_text,
    load_agent_hooks,
    plan_settings_install,
    plan_settings_uninstall,
    read_settings_file,
)
from vacr.errors import UnreadableInput
from vacr.files import find_home_folder

SERVER_NAME = "vacr"
SERVER_EXTRA = "vacr[mcp]"
_SERVER_PACKAGES = ("mcp", "mcp_types")
_BACKUP_FOLDER = "mcp-settings"
_UNCHANGED_HINT = "The file was not changed. Correct it, and run the command again."
_BY_HAND_HINT = (
    "The file was not changed. Add or remove the server vacr by hand; its command: vacr mcp"
)


@dataclass(frozen=True)
class AgentServers(AgentSettings):
    """An agent that can start MCP servers, and the settings that name them."""

    settings: McpSettings

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Return the path of the settings file for a scope; it need not exist.

        Raises:
            UsageError: the agent has no settings for that scope.
        """
        path = super().path(scope, environment, here)
        others = (path.with_name(name) for name in self.settings.other_files)
        if scope != USER_SCOPE or path.exists():
            return path
        return next((other for other in others if other.exists()), path)

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the agent has settings on this machine, or one of its programs is here.

        The home folder itself shows nothing; then the folder of the agent's hooks counts.
        """
        hooks = load_agent_hooks().get(self.name)
        folder, home = self.folder(environment), Path(find_home_folder(environment))
        has_folder = folder.is_dir() and folder != home
        return (
            has_folder
            or (hooks is not None and hooks.is_here(environment))
            or self.path(USER_SCOPE, environment, folder).exists()
            or any(
                shutil.which(name, path=environment.get("PATH")) for name in self.settings.programs
            )
        )


@cache
def load_agent_servers() -> dict[str, AgentServers]:
    """Return the agents that start MCP servers, by name."""
    return {
        name: AgentServers(name, agent.mcp)
        for name, agent in load_agents().items()
        if agent.mcp is not None
    }


def build_server_command() -> list[str]:
    """Return the words of the command that starts our server.

    An agent starts it in the folder of a project. `-P` keeps modules of that folder out.
    """
    return [sys.executable, "-P", "-m", "vacr", "mcp"]


def can_server_start() -> bool:
    """Return whether the packages that our server needs are installed."""
    return all(find_spec(name) is not None for name in _SERVER_PACKAGES)


def plan_server_install(agent: AgentServers, path: Path, state: Path) -> SettingsChange:
    """Plan the change of the settings file at `path` that adds our server.

    Raises:
        UnreadableInput: the file cannot be read or edited, or has another server of that name.
    """
    settings = agent.settings
    return plan_settings_install(
        path,
        state,
        add=lambda text: add_server(text, settings, build_server_command()),
        remove=lambda text: remove_server(text, settings),
        kind=_BACKUP_FOLDER,
    )


def plan_server_uninstall(agent: AgentServers, path: Path, state: Path) -> SettingsChange:
    """Plan the change of the settings file at `path` that removes our server.

    Raises:
        UnreadableInput: the file cannot be read or edited.
    """
    settings = agent.settings
    return plan_settings_uninstall(
        path,
        state,
        remove=lambda text: remove_server(text, settings),
        is_empty=lambda text: not _parse_text(text, settings),
        kind=_BACKUP_FOLDER,
    )


def find_server_status(agent: AgentServers, path: Path) -> tuple[str, str]:
    """Return the status of our server in the settings file at `path`, and a detail for people."""
    try:
        text = decode_settings_text(read_settings_file(path))
        entry = _find_entry(text, agent.settings)
    except UnreadableInput as error:
        return HOOKS_UNREADABLE, error.message
    if entry is None:
        return HOOKS_NOT_INSTALLED, ""
    program = _list_words(entry)[0]
    if not Path(program).exists():
        return HOOKS_BROKEN, f"{program} is missing; install again"
    if not _is_current(entry, agent.settings.entry(build_server_command())):
        return HOOKS_DIFFERENT, "written by another version of vacr; install again"
    if not can_server_start():
        return (
            HOOKS_BROKEN,
            f"installed, but cannot start: the packages of {SERVER_EXTRA} are missing",
        )
    return HOOKS_INSTALLED, ""


# --- the text of the settings ---


def add_server(text: str, settings: McpSettings, words: Sequence[str]) -> str:
    """Return the text of a settings file with our server; the same text if it has it already.

    Members that the user added to the entry are kept as long as the command is the same.

    Raises:
        UnreadableInput: the text is not a settings file, or has another server of that name.
    """
    entry = settings.entry(words)
    known = _find_entry(text, settings)
    if known is not None and _is_current(known, entry):
        return text
    text = remove_server(text, settings)
    if settings.is_toml:
        return _add_toml_table(text, [*settings.members, SERVER_NAME], entry)
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    for depth, name in enumerate(settings.members):
        outer = _find_json_object(text, settings.members[:depth])
        if outer is not None and outer.get(name) is None:
            text = add_json_member(text, outer, {}, name)
    servers = _find_json_object(text, settings.members)
    return text if servers is None else add_json_member(text, servers, entry, SERVER_NAME)


def remove_server(text: str, settings: McpSettings) -> str:
    """Return the text of a settings file without our server; the same text if it has none.

    Objects around it that become empty are removed, too.

    Raises:
        UnreadableInput: the text is not a settings file, or has another server of that name.
    """
    if _find_entry(text, settings) is None:
        return text
    if settings.is_toml:
        return _remove_toml_table(text, [*settings.members, SERVER_NAME])
    names = [*settings.members, SERVER_NAME]
    while names:
        *outer_names, name = names
        outer = _find_json_object(text, outer_names)
        if outer is None:
            break
        member = next(own for own in reversed(outer.members or []) if own.name == name)
        text = remove_json_member(text, outer, member)
        outer = _find_json_object(text, outer_names)
        if outer is None or outer.members:
            break
        names = outer_names
    return text


def _find_entry(text: str, settings: McpSettings) -> dict[str, Any] | None:
    """Return the entry of our server in a settings file, or None.

    Raises:
        UnreadableInput: the text is not a settings file, or has another server of that name.
    """
    value: Any = _parse_text(text, settings)
    for name in settings.members:
        value = value.get(name, {})
        if not isinstance(value, dict):
            raise UnreadableInput(f"the setting {name} is not an object", hint=_UNCHANGED_HINT)
    entry = value.get(SERVER_NAME)
    if entry is None:
        return None
    words = _list_words(entry) if isinstance(entry, dict) else []
    if words[-1:] != ["mcp"] or SERVER_NAME not in map(_get_name, words):
        raise UnreadableInput(
            f"another MCP server is named {SERVER_NAME}",
            hint="Rename that server, and run the command again.",
        )
    return dict(entry)


def _get_name(word: str) -> str:
    """Return the last part of a path."""
    return Path(word).name


def _list_words(entry: Mapping[str, Any]) -> list[str]:
    """Return the words of the command of a server; empty if it has none."""
    command, arguments = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command] if command else []
    return [str(word) for word in [*words, *(arguments if isinstance(arguments, list) else [])]]


def _is_current(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a server has the command that we would write."""
    return all(known.get(name) == wanted[name] for name in ("command", "args") if name in wanted)


def _parse_text(text: str, settings: McpSettings) -> dict[str, Any]:
    """Return the settings in a text; an empty text has none.

    Raises:
        UnreadableInput: the text is not JSON or TOML, or not an object.
    """
    if settings.is_toml:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UnreadableInput(f"not TOML: {error}", hint=_UNCHANGED_HINT) from error
    root = parse_jsonc(text if text.strip("\ufeff \t\r\n") else "{}")
    if root.members is None:
        raise UnreadableInput("the settings are not a JSON object", hint=_UNCHANGED_HINT)
    value: dict[str, Any] = root.value
    return value


def _find_json_object(text: str, names: Sequence[str]) -> JsonNode | None:
    """Return the object that some members lead to, from the outside in; None if one is missing."""
    node: JsonNode | None = parse_jsonc(text)
    for name in names:
        node = node.get(name) if node is not None else None
    return node


# --- TOML ---


def _add_toml_table(text: str, names: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the text with a table at its end.

    Raises:
        UnreadableInput: the text states the tables in a form that cannot be extended.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(names)}]"]
    # A JSON string or list of strings is also TOML.
    lines += [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items()]
    gap = "" if not text or text.endswith(newline * 2) else newline
    if text and not text.endswith(newline):
        gap += newline
    after = text + gap + "".join(line + newline for line in lines)
    _check_toml_edit(text, after, names, entry)
    return after


def _remove_toml_table(text: str, names: Sequence[str]) -> str:
    """Return the text without a table, the tables inside it, and the blank line before it.

    Raises:
        UnreadableInput: the table is not stated by a header of its own.
    """
    dotted = r"\s*\.\s*".join(f'(?:{re.escape(name)}|"{re.escape(name)}")' for name in names)
    header = re.compile(rf"\s*\[\s*{dotted}\s*(?:\.[^\]]*)?\]")
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            was_inside, is_inside = is_inside, header.match(line) is not None
            if is_inside and not was_inside and kept and not kept[-1].strip():
                kept.pop()
        if not is_inside:
            kept.append(line)
    after = "".join(kept)
    _check_toml_edit(after, text, names, None)
    return after


def _check_toml_edit(
    without: str, with_table: str, names: Sequence[str], entry: Mapping[str, Any] | None
) -> None:
    """Check that two texts differ in one table only; `entry` is its content, None if unknown.

    Raises:
        UnreadableInput: they differ in something else, or one is not TOML.
    """
    try:
        small, large = tomllib.loads(without), tomllib.loads(with_table)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableInput("the servers cannot be edited here", hint=_BY_HAND_HINT) from error
    outer: Any = large
    for name in names[:-1]:
        outer = outer[name]
    found = outer.pop(names[-1])
    _drop_empty_tables(large, names[:-1])
    _drop_empty_tables(small, names[:-1])
    if small != large or (entry is not None and found != dict(entry)):
        raise UnreadableInput("the servers cannot be edited here", hint=_BY_HAND_HINT)


def _drop_empty_tables(tables: dict[str, Any], names: Sequence[str]) -> None:
    """Remove tables on a path of names that are empty, from the inside out."""
    if names and isinstance(tables.get(names[0]), dict):
        _drop_empty_tables(tables[names[0]], names[1:])
        if not tables[names[0]]:
            del tables[names[0]]
