"""Installing hooks in the settings of agents, and removing them again.

An agent describes its hooks (`agents/AGENT/hooks.py`): the settings file, the events, and the
answer that its protocol expects. This module builds the command, and adds it to the settings file
or writes a plugin. These files belong to other programs and to their users. So a change is planned
first and can be shown, it is made in one step or not at all, and the rest of the file stays.

>>> from pathlib import Path
>>> from vacr.capture.installers import load_agent_hooks, plan_hook_install, plan_hook_uninstall
>>> agent, *_ = load_agent_hooks().values()
>>> path, state = Path("settings.json"), Path("state")
>>> _ = path.write_bytes(b'{"theme": "dark"}')
>>> plan_hook_install(agent, path, {"PATH": ""}, state).make(state)
>>> b"SessionStart" in path.read_bytes()
True
>>> plan_hook_uninstall(agent, path, state).make(state)
>>> path.read_bytes()
b'{"theme": "dark"}'

The state folder keeps the file as it was before, so that uninstalling can restore it byte for byte.
If the file was edited in between, the backup does not count, and the hooks are cut out.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

from vacr.agents import AgentSettingsFile, HookLayout, HookSettings, load_agents
from vacr.capture.hook_settings import (
    HOOK_SCRIPT_MARK,
    add_hooks,
    format_settings,
    is_empty_settings,
    list_hook_commands,
    remove_hooks,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    OutputFile,
    find_home_folder,
    make_folder_tree,
    make_state_folder_error,
    read_bytes,
    write_file_atomically,
    write_files_atomically,
)

USER_SCOPE, PROJECT_SCOPE, LOCAL_SCOPE = "user", "project", "local"
HOOK_SCRIPT = str(Path(__file__).with_name("hook.py").resolve())
HOOKS_INSTALLED = "installed"
HOOKS_NOT_INSTALLED = "not installed"
HOOKS_DIFFERENT = "other command"
HOOKS_BROKEN = "broken"
HOOKS_UNREADABLE = "unreadable"
BACKUP_FOLDER = "hooks"

_VERSION_TIMEOUT_SECONDS = 20
_MAX_BACKUP_SIZE = 1 << 26
_MAX_SETTINGS_SIZE = 1 << 24
_MAX_READABLE_LINE = 500
"""A longer line in a diff is wrapped for reading; our own entries are shorter."""


# --- the hooks of an agent ---


@dataclass(frozen=True)
class AgentSettings:
    """An agent, and one of its settings files."""

    name: str
    settings: AgentSettingsFile

    @property
    def local(self) -> str:
        """The settings file for one project and user, relative to the project; empty if none."""
        return self.settings.local

    @property
    def notice(self) -> str:
        """The next step for the user after an install; empty if none."""
        return self.settings.notice

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return the folder of the user's settings, from the agent's variable or else its default.

        It need not exist.
        """
        variable = self.settings.variable
        named = environment.get(variable) if variable else None
        home = find_home_folder(environment) or "~"
        return Path(named or self.settings.base.replace("~", home, 1)) / self.settings.under

    def path(self, scope: str, environment: Mapping[str, str], here: Path) -> Path:
        """Return the path of the settings file for a scope; it need not exist.

        The scope is "user", "project" or "local"; `here` is the folder of the project.

        Raises:
            UsageError: the agent has no settings for that scope.
        """
        if scope == USER_SCOPE:
            return self.folder(environment) / self.settings.file
        name = self.settings.local if scope == LOCAL_SCOPE else self.settings.project
        if not name:
            can_share = scope == LOCAL_SCOPE and bool(self.settings.project)
            instead = ", or use --project instead" if can_share else ""
            raise UsageError(
                f"{self.name} has no settings file for --{scope}",
                hint=f"Omit --{scope} to change your own settings{instead}.",
            )
        return here / name

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the agent's settings folder exists, or one of its programs is in PATH."""
        path = environment.get("PATH")
        return self.folder(environment).is_dir() or any(
            shutil.which(name, path=path) for name in self.settings.programs
        )


@dataclass(frozen=True)
class AgentHooks(AgentSettings):
    """An agent that can run hooks: its name, and the description of its hooks."""

    settings: HookSettings

    @property
    def layout(self) -> HookLayout | None:
        """The layout of hooks in the settings file, or None if the file is a plugin."""
        return self.settings.layout

    def commands(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the shell command to install for each event, by event.

        Newer events are included only if the installed version of the agent tolerates them.
        """
        settings = self.settings
        events = settings.events
        if settings.newer_events and _tolerates_unknown_events(settings, environment):
            events += settings.newer_events
        return {
            event: build_hook_command(self.name, settings.answers.get(event, settings.answer))
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
    """Return whether the agent in PATH is a version that ignores unknown events.

    Ask it by `--version`. Return False if it is not installed, or its answer is not a version.
    """
    path = shutil.which(settings.programs[0], path=environment.get("PATH"))
    if path is None:
        return False
    try:
        output = subprocess.run(
            [path, "--version"],
            capture_output=True,
            timeout=_VERSION_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
            env=dict(environment),
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    version = re.match(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", output)
    return version is not None and tuple(map(int, version.groups())) >= settings.tolerant_version


def build_plugin_command(hooks: AgentHooks) -> list[str]:
    """Return the words of the command that an agent's plugin runs without a shell."""
    return [sys.executable, "-I", "-S", HOOK_SCRIPT, hooks.name]


def build_plugin_text(hooks: AgentHooks) -> str:
    """Return the text of the plugin that runs our hook, for an agent with plugins."""
    command = json.dumps(build_plugin_command(hooks), ensure_ascii=False)
    return Template(hooks.settings.plugin).substitute(command=command)


def parse_plugin_command(text: str) -> list[str]:
    """Return the words of the command in the text of our plugin; an empty list for an empty text.

    Raises:
        UnreadableInput: the text is a plugin that vacr did not write.
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
        "another plugin has this file name", hint="Rename that plugin, and run the command again."
    )


def build_hook_command(agent: str, answer: str = "") -> str:
    """Return the shell command that runs our hook script for the agent with this name.

    `answer` is the JSON that the command has to print, because some agents expect one. If Python
    or vacr is removed, the command still succeeds silently. Otherwise the exit code of a missing
    script, 2, would make agents stop, and some would show its error to the user.
    """
    run = f"{shlex.join([sys.executable, '-I', '-S', HOOK_SCRIPT, agent])} 2>/dev/null"
    return f"{run}; echo {shlex.quote(answer)}" if answer else f"{run} || true"


def find_missing_file(command: str) -> str:
    """Return the path of the interpreter or hook script of a command if it does not exist.

    Return an empty string if both exist, and the whole command if it cannot be split into words.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    needed = words[:1] + [word for word in words if word.endswith(HOOK_SCRIPT_MARK)][:1]
    return next((path for path in needed if not Path(path).exists()), "")


# --- planning ---


def plan_hook_install(
    agent: AgentHooks, path: Path, environment: Mapping[str, str], state: Path
) -> SettingsChange:
    """Plan the change of the settings file at `path` that installs our hooks.

    The plan includes a backup for the folder `state`. If the hooks are installed already, the plan
    changes nothing (`is_empty`).

    Raises:
        UnreadableInput: the file cannot be read, or is not a settings file of the agent.
    """
    return plan_settings_install(
        path,
        state,
        add=lambda text: _add_agent_hooks(agent, text, environment),
        remove=lambda text: _remove_agent_hooks(agent, text),
    )


def plan_hook_uninstall(agent: AgentHooks, path: Path, state: Path) -> SettingsChange:
    """Plan the change of the settings file at `path` that removes our hooks.

    Restore the original from the backup in `state`, if the file was not edited since the install;
    otherwise cut the hooks out. A file that only the install created is deleted.

    Raises:
        UnreadableInput: the file cannot be read, or is not a settings file of the agent.
    """
    return plan_settings_uninstall(
        path,
        state,
        remove=lambda text: _remove_agent_hooks(agent, text),
        is_empty=lambda text: agent.layout is not None and is_empty_settings(text, agent.layout),
        is_own_file=agent.layout is None,
    )


def plan_settings_install(
    path: Path,
    state: Path,
    *,
    add: Callable[[str], str],
    remove: Callable[[str], str],
    kind: str = BACKUP_FOLDER,
) -> SettingsChange:
    """Plan the change of the settings file at `path` that `add` makes to its text.

    `remove` undoes it. The backups of one `kind` are kept apart from others.

    Raises:
        UnreadableInput: the file cannot be read, or `add` or `remove` refuse it.
    """
    before = read_settings_file(path)
    after = _edit_settings(path, add, before)
    if after == before:
        return SettingsChange(path, before, after, None, kind)
    known = load_settings_backup(state, path, kind)
    if known is not None and known.is_current(before):
        backup = SettingsBackup(known.before, hash_settings(after), known.folders)
        return SettingsChange(path, before, after, backup, kind)
    # What is left from an earlier install does not belong to the original.
    original = None if before is None else _edit_settings(path, remove, before)
    backup = SettingsBackup(original, hash_settings(after), _list_missing_folders(path))
    return SettingsChange(path, before, after, backup, kind)


def plan_settings_uninstall(
    path: Path,
    state: Path,
    *,
    remove: Callable[[str], str],
    is_empty: Callable[[str], bool],
    is_own_file: bool = False,
    kind: str = BACKUP_FOLDER,
) -> SettingsChange:
    """Plan the change of the settings file at `path` that undoes an install.

    The file is deleted if the install created it and nothing is left in it (`is_empty`), or if all
    of it is ours (`is_own_file`).

    Raises:
        UnreadableInput: the file cannot be read, or `remove` refuses it.
    """
    before = read_settings_file(path)
    known = load_settings_backup(state, path, kind)
    if known is not None and known.is_current(before):
        return SettingsChange(path, before, known.before, None, kind)
    if before is None:
        return SettingsChange(path, None, None, None, kind)
    after = _edit_settings(path, remove, before)
    is_created_by_us = known is not None and known.before is None
    if is_own_file or (is_created_by_us and is_empty(decode_settings_text(after))):
        return SettingsChange(path, before, None, None, kind)
    return SettingsChange(path, before, after, None, kind)


def _add_agent_hooks(agent: AgentHooks, text: str, environment: Mapping[str, str]) -> str:
    """Return the text of a settings file with our hooks, or of our plugin.

    Raises:
        UnreadableInput: the text is not a settings file, or is another plugin.
    """
    if agent.layout is None:
        parse_plugin_command(text)  # Refuse to overwrite another plugin.
        return build_plugin_text(agent)
    return add_hooks(text, agent.layout, agent.commands(environment))


def _remove_agent_hooks(agent: AgentHooks, text: str) -> str:
    """Return the text of a settings file without our hooks; an empty text for our plugin.

    Raises:
        UnreadableInput: the text is not a settings file, or is another plugin.
    """
    if agent.layout is None:
        parse_plugin_command(text)  # Refuse to remove another plugin.
        return ""
    return remove_hooks(text)


def _edit_settings(path: Path, edit: Callable[[str], str], data: bytes | None) -> bytes:
    """Return the bytes of the settings file at `path` after an edit of its text.

    Raises:
        UnreadableInput: `edit` refuses the text, or it is not UTF-8; the error names the path.
    """
    try:
        return edit(decode_settings_text(data)).encode()
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def read_settings_file(path: Path) -> bytes | None:
    """Return the bytes of a settings file, or None if it, or the target of a link, does not exist.

    Raises:
        UnreadableInput: it cannot be read, or is too large.
    """
    if not path.exists():
        return None
    data = read_bytes(path, _MAX_SETTINGS_SIZE + 1)
    if len(data) > _MAX_SETTINGS_SIZE:
        limit = f"{_MAX_SETTINGS_SIZE >> 20} MiB"
        raise UnreadableInput(
            f"larger than {limit}, so not a settings file",
            where=str(path),
            hint="The file was not changed. Correct it, and run the command again.",
        )
    return data


def decode_settings_text(data: bytes | None) -> str:
    """Return the bytes of a settings file as text; an empty text for None.

    Raises:
        UnreadableInput: the bytes are not UTF-8.
    """
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput(
            "not UTF-8 text", hint="The file was not changed. Save it as UTF-8, and try again."
        ) from error


def _list_missing_folders(path: Path) -> tuple[str, ...]:
    """Return the folders above a file that do not exist yet, the innermost first."""
    folder, missing = Path(os.path.realpath(path)).parent, []
    while not folder.exists():
        missing.append(str(folder))
        folder = folder.parent
    return tuple(missing)


# --- making a change ---


@dataclass(frozen=True)
class SettingsChange:
    """A planned change of a settings file."""

    path: Path
    before: bytes | None
    """The bytes of the file now, or None if it does not exist."""
    after: bytes | None
    """The bytes after the change, or None to delete the file."""
    backup: SettingsBackup | None
    """The backup to keep; without one, an existing backup is deleted."""
    kind: str = BACKUP_FOLDER
    """The folder of the backup in the state folder."""

    @property
    def is_empty(self) -> bool:
        """Return whether the plan changes nothing: the file already has the planned content."""
        return self.before == self.after

    def diff(self) -> str:
        """Return the change as a unified diff; empty if the file stays the same."""
        return self._compare_texts(
            decode_settings_text(self.before), decode_settings_text(self.after)
        )

    def shown(self) -> str:
        """Return the diff for display to a person.

        If a line is very long, compare indented copies of the settings, and add a note about that.
        """
        diff = self.diff()
        if max(map(len, diff.splitlines()), default=0) <= _MAX_READABLE_LINE:
            return diff
        try:
            laid_out = self._compare_texts(
                format_settings(decode_settings_text(self.before)),
                format_settings(decode_settings_text(self.after)),
            )
        except UnreadableInput:
            return diff
        return (
            f"{laid_out}(Long lines are wrapped here, to be readable. In the file, they stay as "
            "they are.)\n"
        )

    def _compare_texts(self, before: str, after: str) -> str:
        """Return the unified diff of two texts of the file; empty if they are equal.

        If the plan has no file before or after, the header names `/dev/null` on that side.
        """
        old_name = "/dev/null" if self.before is None else str(self.path)
        new_name = "/dev/null" if self.after is None else str(self.path)
        lines = difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), old_name, new_name
        )
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )

    def make(self, state: Path) -> None:
        """Make the change, and keep or delete the backup in the state folder.

        Raises:
            UnreadableInput: the file was changed since the plan, or cannot be written.
        """
        if read_settings_file(self.path) != self.before:
            raise UnreadableInput(
                "another program changed the file in the meantime",
                where=str(self.path),
                hint="Run the command again.",
            )
        try:
            if self.backup is not None:
                save_settings_backup(state, self.path, self.backup, self.kind)
            if self.after is not None:
                write_files_atomically(
                    [OutputFile(self.path, [self.after], durable=True, keep=True)]
                )
            else:
                Path(os.path.realpath(self.path)).unlink(missing_ok=True)
            if self.backup is None:
                self._remove_traces(state)
        except OSError as error:
            raise UnreadableInput(
                f"cannot be written: {error.strerror or error}",
                where=str(error.filename or self.path),
            ) from error

    def _remove_traces(self, state: Path) -> None:
        """Delete the backup; if the file is deleted, also the empty folders made for it."""
        known = load_settings_backup(state, self.path, self.kind)
        if self.after is None and known is not None:
            for folder in known.folders:
                with suppress(OSError):
                    Path(folder).rmdir()
        delete_settings_backup(state, self.path, self.kind)


# --- status ---


def find_hook_status(
    agent: AgentHooks, path: Path, environment: Mapping[str, str]
) -> tuple[str, str]:
    """Return the status of our hooks in the settings file at `path`, and a detail for people.

    The status is one of the `HOOKS_` constants, such as "installed". The detail states the problem
    or the number of events; it may be empty.
    """
    try:
        text = decode_settings_text(read_settings_file(path))
        if agent.layout is None:
            words = parse_plugin_command(text)
            event_count = 1 if words else 0
            needed_files = words[:1] + words[3:4]
            missing = next((file for file in needed_files if not Path(file).exists()), "")
            is_current = text == build_plugin_text(agent)
        else:
            commands = list_hook_commands(text)
            event_count = len(commands)
            missing = _find_missing_in_commands(commands)
            # Without a PATH the agent is not asked for its version: events of all versions suffice.
            expected = agent.commands({**environment, "PATH": ""})
            is_current = all(
                commands.get(event) == [command] for event, command in expected.items()
            )
    except UnreadableInput as error:
        return HOOKS_UNREADABLE, error.message
    if not event_count:
        return HOOKS_NOT_INSTALLED, ""
    if missing:
        return HOOKS_BROKEN, f"{missing} is missing; install again"
    if not is_current:
        return HOOKS_DIFFERENT, "written by another version of vacr; install again"
    return HOOKS_INSTALLED, f"{event_count} events" if agent.layout else ""


def _find_missing_in_commands(commands: Mapping[str, list[str]]) -> str:
    """Return the result of `find_missing_file` for the first command that lacks a file, or "".

    `commands` maps events to commands.
    """
    for event_commands in commands.values():
        for command in event_commands:
            if missing := find_missing_file(command):
                return missing
    return ""


# --- backups ---


@dataclass(frozen=True)
class SettingsBackup:
    """A settings file before hooks were installed, and the digest of the file after that."""

    before: bytes | None
    """The bytes of the file before, or None if it did not exist."""
    written: str
    """The SHA-256 of the file with the hooks, in hexadecimal."""
    folders: tuple[str, ...] = ()
    """The folders that were made for the file, the innermost first."""

    def is_current(self, data: bytes | None) -> bool:
        """Return whether the file still has the bytes that the install wrote.

        `data` are its bytes now. Return False for None, a file that does not exist.
        """
        return data is not None and hash_settings(data) == self.written


def hash_settings(data: bytes) -> str:
    """Return the SHA-256 of the bytes of a settings file, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def load_settings_backup(
    state: Path, path: Path, kind: str = BACKUP_FOLDER
) -> SettingsBackup | None:
    """Return the backup of the settings file at `path`, or None if it is missing or unreadable."""
    try:
        backup_path = _get_backup_path(state, path, kind)
        if backup_path.stat().st_size > _MAX_BACKUP_SIZE:
            return None
        content = json.loads(backup_path.read_bytes())
        before = content["before"]
        data = None if before is None else base64.b64decode(before, validate=True)
        return SettingsBackup(data, str(content["written"]), tuple(map(str, content["folders"])))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def save_settings_backup(
    state: Path, path: Path, backup: SettingsBackup, kind: str = BACKUP_FOLDER
) -> None:
    """Write the backup of the settings file at `path` into the folder `state`, durably.

    Raises:
        UnreadableInput: the state folder cannot be created or written.
    """
    content = {
        "path": str(path),
        "before": None if backup.before is None else base64.b64encode(backup.before).decode(),
        "written": backup.written,
        "folders": backup.folders,
    }
    backup_path = _get_backup_path(state, path, kind)
    try:
        make_folder_tree(backup_path.parent, 0o700)
    except OSError as error:
        raise make_state_folder_error(state, error) from error
    # Settings may hold secrets: the copy gets the permissions of the file.
    permission_source = (path,) if path.exists() else ()
    data = json.dumps(content, indent=1).encode() + b"\n"
    write_file_atomically(backup_path, [data], *permission_source, durable=True)


def delete_settings_backup(state: Path, path: Path, kind: str = BACKUP_FOLDER) -> None:
    """Delete the backup of the settings file at `path`, if there is one."""
    _get_backup_path(state, path, kind).unlink(missing_ok=True)


def _get_backup_path(state: Path, path: Path, kind: str) -> Path:
    """Return where the backup of the settings file at `path` is, by a digest of its real path."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
    return state / kind / f"{digest[:32]}.json"
