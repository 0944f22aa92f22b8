"""Put hooks into the settings of agents, and take them out again: other programs' files, of which
nothing else may change.

What a settings file was before hooks were installed, so that taking them out can leave it so,
byte for byte.

It is kept in the state folder, and counts only while the file still is what was written then.

Changes of settings files: worked out first, so that they can be shown, and made in one step or
not at all.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.hook_settings import (
    AgentHooks,
    add_hooks,
    build_plugin_text,
    find_missing_file,
    format_settings,
    is_empty_settings,
    list_hook_commands,
    parse_plugin_command,
    remove_hooks,
)
from vacr.errors import UnreadableInput
from vacr.files import (
    OutputFile,
    describe_file_error,
    make_state_folder_error,
    read_bytes,
    write_file_atomically,
    write_files_atomically,
)

BACKUP_FOLDER = "hooks"
_MAX_BACKUP_SIZE = 1 << 26


@dataclass(frozen=True)
class SettingsBackup:
    """A file as it was, and the digest of what was made of it."""

    before: bytes | None
    """Nothing: there was no file."""
    written: str
    folders: tuple[str, ...] = ()
    """The folders that were made for it, the innermost first."""

    def is_of(self, data: bytes | None) -> bool:
        """Tell whether a file still is as it was written."""
        return data is not None and hash_settings(data) == self.written


def hash_settings(data: bytes) -> str:
    """Name some bytes."""
    return hashlib.sha256(data).hexdigest()


def load_settings_backup(state: Path, path: Path) -> SettingsBackup | None:
    """Give what is remembered of a file; nothing where that cannot be read, for it is a
    convenience.
    """
    try:
        place = _get_backup_path(state, path)
        if place.stat().st_size > _MAX_BACKUP_SIZE:
            return None
        value = json.loads(place.read_bytes())
        before = value["before"]
        data = None if before is None else base64.b64decode(before, validate=True)
        return SettingsBackup(data, str(value["written"]), tuple(map(str, value["folders"])))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def save_settings_backup(state: Path, path: Path, memory: SettingsBackup) -> None:
    """Keep what a file was.

    Raises:
        UnreadableInput: the state folder cannot be written.
    """
    before = None if memory.before is None else base64.b64encode(memory.before).decode()
    value = {
        "path": str(path),
        "before": before,
        "written": memory.written,
        "folders": memory.folders,
    }
    place = _get_backup_path(state, path)
    try:
        place.parent.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise make_state_folder_error(state, error) from error
    # Settings may hold secrets: nobody may read the copy who may not read them.
    like = (path,) if path.exists() else ()
    write_file_atomically(
        place, [json.dumps(value, indent=1).encode() + b"\n"], *like, durable=True
    )


def delete_settings_backup(state: Path, path: Path) -> None:
    """Remember a file no longer."""
    _get_backup_path(state, path).unlink(missing_ok=True)


def _get_backup_path(state: Path, path: Path) -> Path:
    real = os.path.realpath(path)
    return state / BACKUP_FOLDER / f"{hashlib.sha256(os.fsencode(real)).hexdigest()[:32]}.json"


HOOKS_INSTALLED, HOOKS_NOT_INSTALLED, HOOKS_DIFFERENT, HOOKS_BROKEN, HOOKS_UNREADABLE = (
    "installed",
    "not installed",
    "other command",
    "broken",
    "unreadable",
)
_MAX_SETTINGS_SIZE = 1 << 24
_MAX_READABLE_LINE = 500
"""Nobody reads a line of more letters; one of our entries has less."""


@dataclass(frozen=True)
class SettingsChange:
    """What a file is, and what it is to be; nothing stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    remembered: SettingsBackup | None

    @property
    def is_none(self) -> bool:
        """Whether all is as it should be."""
        return self.before == self.after

    def diff(self) -> str:
        """Give the change as programs know it."""
        return self._compared(_decode_settings_text(self.before), _decode_settings_text(self.after))

    def shown(self) -> str:
        """Give the change for people: where many entries are in one line, it is shown as if each
        had its own.
        """
        found = self.diff()
        if max(map(len, found.splitlines()), default=0) <= _MAX_READABLE_LINE:
            return found
        try:
            laid_out = self._compared(
                format_settings(_decode_settings_text(self.before)),
                format_settings(_decode_settings_text(self.after)),
            )
        except UnreadableInput:
            return found
        return (
            f"{laid_out}(Laid out to be read. In the file, what is in one line stays in one "
            "line.)\n"
        )

    def _compared(self, before: str, after: str) -> str:
        names = (
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        lines = difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), *names
        )
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )

    def make(self, state: Path) -> None:
        """Make the change; what the file was is kept in the state folder until it is that again.

        Raises:
            UnreadableInput: the file has changed meanwhile, or cannot be written.
        """
        if _read_settings_file(self.path) != self.before:
            raise UnreadableInput(
                "it has been changed meanwhile", where=str(self.path), hint="Run this again."
            )
        try:
            if self.remembered is not None:
                save_settings_backup(state, self.path, self.remembered)
            if self.after is not None:
                write_files_atomically(
                    [OutputFile(self.path, [self.after], durable=True, keep=True)]
                )
            else:
                Path(os.path.realpath(self.path)).unlink(missing_ok=True)
            if self.remembered is None:
                self._tidy(state)
        except OSError as error:
            raise UnreadableInput(
                f"cannot be written: {describe_file_error(error)}",
                where=str(error.filename or self.path),
            ) from error

    def _tidy(self, state: Path) -> None:
        known = load_settings_backup(state, self.path)
        if self.after is None and known is not None:
            for folder in known.folders:
                with suppress(OSError):
                    Path(folder).rmdir()
        delete_settings_backup(state, self.path)


def plan_hook_install(
    agent: AgentHooks, path: Path, environment: Mapping[str, str], state: Path
) -> SettingsChange:
    """Work out what a file is to be with our hooks in it.

    Raises:
        UnreadableInput: it cannot be read, or is not what the agent reads.
    """
    before = _read_settings_file(path)
    after = _add_path_to_errors(
        path, lambda: _add_agent_hooks(agent, _decode_settings_text(before), environment)
    ).encode()
    if after == before:
        return SettingsChange(path, before, after, None)
    known = load_settings_backup(state, path)
    if known is not None and known.is_of(before):
        return SettingsChange(
            path, before, after, SettingsBackup(known.before, hash_settings(after), known.folders)
        )
    # What an earlier install left is no part of what the file was.
    original = (
        None
        if before is None
        else _add_path_to_errors(
            path, lambda: _remove_agent_hooks(agent, _decode_settings_text(before))
        ).encode()
    )
    return SettingsChange(
        path,
        before,
        after,
        SettingsBackup(original, hash_settings(after), _list_missing_folders(path)),
    )


def plan_hook_uninstall(agent: AgentHooks, path: Path, state: Path) -> SettingsChange:
    """Work out what a file is to be without our hooks: what it was, or else all of it but them.

    Raises:
        UnreadableInput: it cannot be read, or is not what the agent reads.
    """
    before = _read_settings_file(path)
    known = load_settings_backup(state, path)
    if known is not None and known.is_of(before):
        return SettingsChange(path, before, known.before, None)
    if before is None:
        return SettingsChange(path, None, None, None)
    after: bytes | None = _add_path_to_errors(
        path, lambda: _remove_agent_hooks(agent, _decode_settings_text(before))
    ).encode()
    made_by_us = known is not None and known.before is None
    if agent.layout is None or (
        made_by_us and is_empty_settings(_decode_settings_text(after), agent.layout)
    ):
        after = None
    return SettingsChange(path, before, after, None)


def find_hook_status(
    agent: AgentHooks, path: Path, environment: Mapping[str, str]
) -> tuple[str, str]:
    """Tell how it stands with our hooks in a file, and what there is to say about that."""
    try:
        text = _decode_settings_text(_read_settings_file(path))
        if agent.layout is None:
            words = parse_plugin_command(text)
            found = {"plugin": [" ".join(words)]} if words else {}
            gone = next((word for word in (words[:1] + words[3:4]) if not Path(word).exists()), "")
            same = text == build_plugin_text()
        else:
            found = list_hook_commands(text)
            gone = next(
                (
                    name
                    for commands in found.values()
                    for one in commands
                    if (name := find_missing_file(one))
                ),
                "",
            )
            wanted = agent.commands({**environment, "PATH": ""})
            same = all(found.get(event) == [command] for event, command in wanted.items())
    except UnreadableInput as error:
        return HOOKS_UNREADABLE, error.message
    if not found:
        return HOOKS_NOT_INSTALLED, ""
    if gone:
        return HOOKS_BROKEN, f"{gone} is gone; install again"
    return (
        (HOOKS_INSTALLED, f"{len(found)} events" if agent.layout else "")
        if same
        else (HOOKS_DIFFERENT, "not as this version of vacr has it; install again")
    )


def _add_agent_hooks(agent: AgentHooks, text: str, environment: Mapping[str, str]) -> str:
    if agent.layout is None:
        parse_plugin_command(text)
        return build_plugin_text()
    return add_hooks(text, agent.layout, agent.commands(environment))


def _remove_agent_hooks(agent: AgentHooks, text: str) -> str:
    if agent.layout is None:
        parse_plugin_command(text)
        return ""
    return remove_hooks(text)


def _add_path_to_errors(path: Path, work: Callable[[], str]) -> str:
    """Do something with a file's text; errors name the file."""
    try:
        return work()
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def _read_settings_file(path: Path) -> bytes | None:
    """Read a file; a link that leads to none is a file that is not there yet."""
    if not path.exists():
        return None
    data = read_bytes(path, _MAX_SETTINGS_SIZE + 1)
    if len(data) > _MAX_SETTINGS_SIZE:
        raise UnreadableInput("it is too large to be a settings file", where=str(path))
    return data


def _decode_settings_text(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput("it is no text in UTF-8", hint="Nothing was changed.") from error


def _list_missing_folders(path: Path) -> tuple[str, ...]:
    folder, found = Path(os.path.realpath(path)).parent, []
    while not folder.exists():
        found.append(str(folder))
        folder = folder.parent
    return tuple(found)
