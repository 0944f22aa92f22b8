"""Changes of settings files: worked out first, so that they can be shown, and made in one step or
not at all.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vacr.capture.installers import memory, opencode, settings
from vacr.capture.installers.agents import Agent
from vacr.capture.installers.command import missing
from vacr.capture.installers.memory import Memory, digest
from vacr.errors import UnreadableInput
from vacr.recording import files
from vacr.sources.files import read_bytes, reason_of

INSTALLED, NOT_INSTALLED, OTHER, BROKEN, UNREADABLE = (
    "installed",
    "not installed",
    "other command",
    "broken",
    "unreadable",
)
_LARGEST = 1 << 24
_READABLE = 500
"""Nobody reads a line of more letters; one of our entries has less."""


@dataclass(frozen=True)
class Change:
    """What a file is, and what it is to be; nothing stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    remembered: Memory | None

    @property
    def is_none(self) -> bool:
        """Whether all is as it should be."""
        return self.before == self.after

    def diff(self) -> str:
        """Give the change as programs know it."""
        return self._compared(_text(self.before), _text(self.after))

    def shown(self) -> str:
        """Give the change for people: where many entries are in one line, it is shown as if each
        had its own.
        """
        found = self.diff()
        if max(map(len, found.splitlines()), default=0) <= _READABLE:
            return found
        try:
            laid_out = self._compared(
                settings.laid_out(_text(self.before)), settings.laid_out(_text(self.after))
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
        if _read(self.path) != self.before:
            raise UnreadableInput(
                "it has been changed meanwhile", where=str(self.path), hint="Run this again."
            )
        try:
            if self.remembered is not None:
                memory.remember(state, self.path, self.remembered)
            if self.after is not None:
                files.write_all([files.Output(self.path, [self.after], durable=True, keep=True)])
            else:
                Path(os.path.realpath(self.path)).unlink(missing_ok=True)
            if self.remembered is None:
                self._tidy(state)
        except OSError as error:
            raise UnreadableInput(
                f"cannot be written: {reason_of(error)}", where=str(error.filename or self.path)
            ) from error

    def _tidy(self, state: Path) -> None:
        known = memory.recall(state, self.path)
        if self.after is None and known is not None:
            for folder in known.folders:
                with suppress(OSError):
                    Path(folder).rmdir()
        memory.forget(state, self.path)


def install(agent: Agent, path: Path, environment: Mapping[str, str], state: Path) -> Change:
    """Work out what a file is to be with our hooks in it.

    Raises:
        UnreadableInput: it cannot be read, or is not what the agent reads.
    """
    before = _read(path)
    after = _named(path, lambda: _with(agent, _text(before), environment)).encode()
    if after == before:
        return Change(path, before, after, None)
    known = memory.recall(state, path)
    if known is not None and known.is_of(before):
        return Change(path, before, after, Memory(known.before, digest(after), known.folders))
    # What an earlier install left is no part of what the file was.
    original = (
        None if before is None else _named(path, lambda: _without(agent, _text(before))).encode()
    )
    return Change(path, before, after, Memory(original, digest(after), _missing_folders(path)))


def uninstall(agent: Agent, path: Path, state: Path) -> Change:
    """Work out what a file is to be without our hooks: what it was, or else all of it but them.

    Raises:
        UnreadableInput: it cannot be read, or is not what the agent reads.
    """
    before = _read(path)
    known = memory.recall(state, path)
    if known is not None and known.is_of(before):
        return Change(path, before, known.before, None)
    if before is None:
        return Change(path, None, None, None)
    after: bytes | None = _named(path, lambda: _without(agent, _text(before))).encode()
    made_by_us = known is not None and known.before is None
    if agent.layout is None or (made_by_us and settings.is_bare(_text(after), agent.layout)):
        after = None
    return Change(path, before, after, None)


def status(agent: Agent, path: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """Tell how it stands with our hooks in a file, and what there is to say about that."""
    try:
        text = _text(_read(path))
        if agent.layout is None:
            words = opencode.command_in(text)
            found = {"plugin": [" ".join(words)]} if words else {}
            gone = next((word for word in (words[:1] + words[3:4]) if not Path(word).exists()), "")
            same = text == opencode.plugin()
        else:
            found = settings.commands(text)
            gone = next(
                (name for commands in found.values() for one in commands if (name := missing(one))),
                "",
            )
            wanted = agent.commands({**environment, "PATH": ""})
            same = all(found.get(event) == [command] for event, command in wanted.items())
    except UnreadableInput as error:
        return UNREADABLE, error.message
    if not found:
        return NOT_INSTALLED, ""
    if gone:
        return BROKEN, f"{gone} is gone; install again"
    return (
        (INSTALLED, f"{len(found)} events" if agent.layout else "")
        if same
        else (OTHER, "not as this version of vacr has it; install again")
    )


def _with(agent: Agent, text: str, environment: Mapping[str, str]) -> str:
    if agent.layout is None:
        opencode.command_in(text)
        return opencode.plugin()
    return settings.installed(text, agent.layout, agent.commands(environment))


def _without(agent: Agent, text: str) -> str:
    if agent.layout is None:
        opencode.command_in(text)
        return ""
    return settings.uninstalled(text)


def _named(path: Path, work: Callable[[], str]) -> str:
    """Do something with a file's text; errors name the file."""
    try:
        return work()
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def _read(path: Path) -> bytes | None:
    """Read a file; a link that leads to none is a file that is not there yet."""
    if not path.exists():
        return None
    data = read_bytes(path, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise UnreadableInput("it is too large to be a settings file", where=str(path))
    return data


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput("it is no text in UTF-8", hint="Nothing was changed.") from error


def _missing_folders(path: Path) -> tuple[str, ...]:
    folder, found = Path(os.path.realpath(path)).parent, []
    while not folder.exists():
        found.append(str(folder))
        folder = folder.parent
    return tuple(found)
