"""The working folder of a shell script, and the paths that its commands name.

A `cd` moves all commands after it, so paths are relative to the folder at that point. Once that
folder is unknown, a relative path could be any file of that name.

    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> from vacr.attribution.shell.working_folder import WorkingFolder
    >>> from vacr.edits import FileDeletion
    >>> place = WorkingFolder("/app", "/app")
    >>> enter, leave = parse_shell_script("cd src && cd $OUT").commands
    >>> place.follow(enter, ran=True), place.folder
    (True, '/app/src')
    >>> [event.path for event in place.resolve_paths(FileDeletion("a.py"))]
    ['/app/src/a.py']
    >>> place.follow(leave, ran=True), place.folder
    (True, None)
    >>> [(event.path, event.named) for event in place.resolve_paths(FileDeletion("a.py"))]
    [('', frozenset({'a.py'}))]
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vacr.agents import ShellResult, is_absolute_path
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellCommand
from vacr.attribution.shell.rewriters import collect_base_names
from vacr.edits import (
    FileAction,
    FileDeletion,
    FileMove,
    FileRewrite,
    FileWrite,
    ObservedDiff,
    ObservedLines,
    PossibleChange,
    Stash,
    make_absolute_path,
    make_path_key,
    make_relative_path,
)

_FOLDER_CHANGING_COMMANDS = frozenset(["cd", "pushd", "popd", "Set-Location"])
_WORK_TREE_PATH = re.compile(r"(?:.*/)?\.?worktrees/[^/]+(?=/|$)")


class WorkingFolder:
    """The current folder of a script, command by command; `None` once it is unknown."""

    def __init__(
        self, folder: str | None, session: str, top: str = "", *, lost: bool = False
    ) -> None:
        """Start in a folder, which may be relative to the session's folder.

        `top` is the session's first folder; `lost` when some `cd` of the script failed.
        """
        self.folder = folder
        self.previous = folder
        self.start = folder or session
        self.session = session
        self.top = top
        self.lost = lost

    def follow(self, command: ShellCommand, *, ran: bool) -> bool:
        """Follow a `cd` or a similar command; return whether it is such a command.

        `ran` when the command surely ran; otherwise the folder is unknown from then on.
        """
        if command.name not in _FOLDER_CHANGING_COMMANDS:
            return False
        words = [word for word in command.words[1:] if word not in ("--", "-P", "-L", "-Path")]
        known = (
            ran
            and len(words) == 1
            and not self.lost
            and command.joined not in ("|", "||")
            and command.name != "popd"
        )
        target = words[0] if known else None
        if target == "-":
            self.folder, self.previous = self.previous, self.folder
            return True
        self.previous = self.folder
        self.folder = self._resolve_folder(target)
        return True

    def enter_git_folder(self, command: ShellCommand) -> WorkingFolder:
        """Return a working folder at the path after `git -C`; for other commands, this one."""
        if command.name != "git":
            return self
        folder, _ = parse_git_arguments(command.words)
        if folder == "":
            return self
        return WorkingFolder(self._resolve_folder(folder), self.start, self.top)

    def _resolve_folder(self, folder: str | None) -> str | None:
        """Return a folder joined to the current one, or `None` if either of them is unknown."""
        if folder is None or (self.folder is None and not is_absolute_path(folder)):
            return None
        return _join_path(self.folder or "", folder)

    def resolve_paths(self, event: FileAction) -> Iterator[FileAction]:
        """Yield an event with its paths resolved in this folder.

        If the folder is unknown, drop an observation. A change then becomes a possible change of
        every file with that name, in any folder.
        """
        if not event.path:
            yield event
        elif self.folder is not None or is_absolute_path(event.path):
            yield _prefix_event_paths(self.folder or "", event)
        elif not _is_observation(event):
            yield _build_change_anywhere(event)

    def resolve_git_paths(self, events: Sequence[FileAction]) -> Iterator[FileAction]:
        """Yield events of git's output, with paths resolved from the top of the work tree.

        Yield none if the folder is unknown.
        """
        if self.folder is None:
            return
        top = self._find_work_tree_top(self.folder, events)
        for event in events:
            yield _prefix_event_paths(top, event)

    def _find_work_tree_top(self, folder: str, events: Sequence[FileAction]) -> str:
        """Guess the top of the work tree that a folder belongs to.

        It is the linked work tree around the folder, if there is one. Otherwise it is the session's
        first folder, if the paths of git fit it, or else the folder where the script started.
        """
        here = make_absolute_path(folder, self.session)
        below = make_relative_path(here, self.top) if self.top else None
        linked = _WORK_TREE_PATH.match(below) if below else None
        if linked:
            return _join_path(self.top, linked[0])
        if below:
            prefix = make_path_key(below) + "/"
            if any(make_path_key(event.path).startswith(prefix) for event in events):
                return self.top
        inside = not is_absolute_path(folder) or folder.startswith(self.start.rstrip("/") + "/")
        leaves_start = ".." in folder.split("/")
        return self.start if inside and self.start and not leaves_start else folder


def _is_observation(event: FileAction) -> bool:
    """Return whether an event comes from output, and does not change files."""
    if isinstance(event, FileMove):
        return event.reported
    return isinstance(event, ObservedLines | ObservedDiff)


def _build_change_anywhere(event: FileAction) -> PossibleChange:
    """Return a possible change of every file, in any folder, that has a name in an event."""
    if isinstance(event, PossibleChange):
        kinds = event.kinds if event.folder else (f"/{posixpath.basename(event.path)}",)
        return replace(event, path="", folder=True, kinds=kinds)
    changed: list[str] = []
    if isinstance(event, FileMove):
        changed = [event.path, event.to]
    elif isinstance(event, FileWrite | FileDeletion | FileRewrite):
        changed = [event.path]
    return PossibleChange("", named=collect_base_names(changed))


def _prefix_event_paths(folder: str, event: FileAction) -> FileAction:
    """Return an event with its relative paths joined to a folder."""
    if not folder:
        return event
    event = replace(event, path=_join_path(folder, event.path))
    if isinstance(event, FileMove):
        return replace(event, to=_join_path(folder, event.to))
    if isinstance(event, Stash):
        return replace(event, paths=tuple(_join_path(folder, path) for path in event.paths))
    return event


def _join_path(folder: str, path: str) -> str:
    """Return a path joined to a folder; an absolute path stays as it is."""
    return path if is_absolute_path(path) else posixpath.join(folder, path)


def has_cd_error(result: ShellResult) -> bool:
    """Return whether a shell reported that it could not enter a folder."""
    return "cd: " in result.text or "cd: " in result.errors
