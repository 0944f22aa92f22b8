"""The folder in which each command of a script runs. Step: attribute."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vacr.attribution import paths
from vacr.attribution.events import Delete, DiffSeen, Event, Move, Observe, Stash, Touch, Write
from vacr.attribution.shell import git
from vacr.attribution.shell.code import last_names
from vacr.attribution.shell.lexer import Command

ENTERING = frozenset(["cd", "pushd", "popd", "Set-Location"])
_WORK_TREE = re.compile(r"(?:.*/)?\.?worktrees/[^/]+(?=/|$)")


class Place:
    """The folder in which a script's commands run, `None` once it is not known, and where its
    session works.
    """

    def __init__(
        self, folder: str | None, session: str, top: str = "", *, lost: bool = False
    ) -> None:
        """Begin in a folder, which may be told from that of the session; `top` is where the session
        began.
        """
        self.folder = folder
        self.before = folder
        self.first = folder or session
        self.session = session
        self.top = top
        self.lost = lost

    def enters(self, command: Command, *, ran: bool) -> bool:
        """Follow a command that changes the folder; tells whether it is one."""
        if command.name not in ENTERING:
            return False
        words = [word for word in command.words[1:] if word not in ("--", "-P", "-L", "-Path")]
        known = (
            ran
            and len(words) == 1
            and not self.lost
            and command.joined not in ("|", "||")
            and command.name != "popd"
        )
        to = words[0] if known else None
        if to == "-":
            self.folder, self.before = self.before, self.folder
            return True
        self.before = self.folder
        self.folder = self._into(to)
        return True

    def of(self, command: Command) -> "Place":
        """Give the folder that a command works in."""
        if command.name != "git":
            return self
        folder, _ = git.arguments(command.words)
        if folder == "":
            return self
        return Place(self._into(folder), self.first, self.top)

    def _into(self, folder: str | None) -> str | None:
        if folder is None or (self.folder is None and not is_absolute(folder)):
            return None
        return _join(self.folder or "", folder)

    def named(self, event: Event) -> Iterator[Event]:
        """Name the files of an event from here; what cannot be named may be any file."""
        if not event.path:
            yield event
        elif self.folder is None and not is_absolute(event.path):
            if not isinstance(event, Observe | DiffSeen) and not (
                isinstance(event, Move) and event.told
            ):
                yield from _anywhere(event)
        else:
            yield _from(self.folder or "", event)

    def told(self, events: Sequence[Event]) -> Iterator[Event]:
        """Name the files of events from the top of the work tree, as git tells them."""
        top = self._top(events) if self.folder is not None else None
        for event in events if top is not None else ():
            yield _from(top or "", event)

    def _top(self, events: Sequence[Event]) -> str:
        """Give the folder that git tells its paths from: where the session works, when this is
        below it, or else this.
        """
        folder = self.folder or ""
        here = paths.absolute(folder, self.session)
        below = paths.relative(here, self.top) if self.top else None
        own = _WORK_TREE.match(below) if below else None
        if own:
            return _join(self.top, own[0])
        if below and any(
            paths.key(event.path).startswith(paths.key(below) + "/") for event in events
        ):
            return self.top
        inside = not is_absolute(folder) or folder.startswith(self.first.rstrip("/") + "/")
        return self.first if inside and self.first and ".." not in folder.split("/") else folder


def _anywhere(event: Event) -> Iterator[Touch]:
    """Say that something may have changed files of a name, wherever they are."""
    if isinstance(event, Touch):
        kinds = event.kinds if event.folder else (f"/{posixpath.basename(event.path)}",)
        yield replace(event, path="", folder=True, kinds=kinds)
    else:
        changed = (
            [event.path, event.to]
            if isinstance(event, Move)
            else [event.path]
            if isinstance(event, Write | Delete)
            else []
        )
        yield Touch("", named=last_names(changed))


def _from(folder: str, event: Event) -> Event:
    if not folder:
        return event
    named = replace(event, path=_join(folder, event.path))
    if isinstance(named, Move):
        return replace(named, to=_join(folder, named.to))
    return (
        replace(named, paths=tuple(_join(folder, path) for path in named.paths))
        if isinstance(named, Stash)
        else named
    )


def is_absolute(path: str) -> bool:
    """Tell whether a path names a file wherever it is used."""
    return path.startswith(("/", "\\\\")) or path[1:2] == ":"


def _join(folder: str, path: str) -> str:
    return path if is_absolute(path) else posixpath.join(folder, path)
