"""Files of a replay as wholes: moved, copied and removed. Step: attribute."""

from __future__ import annotations

import copy
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vacr.attribution import paths
from vacr.attribution.sparse import SparseFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.attribution.replay import Replay
    from vacr.attribution.tracked import Tracked

_MOST = 1_000  # files of the base that are read because their folder is moved


@dataclass(frozen=True, slots=True)
class Sweep:
    """What something may have changed: any file below a folder, or without one any at all, whose
    name ends so.
    """

    folder: str
    kinds: tuple[str, ...]
    formatter: bool

    def covers(self, path: str) -> bool:
        """Tell whether a file is one of them."""
        under = paths.key(self.folder.rstrip("/") + "/") if self.folder else ""
        return (paths.key(path) + "/").startswith(under) and (
            not self.kinds or f"/{path}".endswith(self.kinds)
        )


def sweep(replay: Replay, one: Sweep) -> None:
    """Doubt what is known of files until they are seen again, and of those that only the base has
    told of.
    """
    if one not in replay.sweeps:
        replay.sweeps.append(one)
    for tracked in replay.files.values():
        if not tracked.gone and one.covers(tracked.path):
            tracked.swept = one.formatter and (tracked.swept or not tracked.dirty)
            tracked.dirty = True
            tracked.waiting.clear()


def below(replay: Replay, path: str) -> list[Tracked]:
    """Give the known files in a folder."""
    under = paths.key(path.rstrip("/") + "/")
    return [one for key, one in replay.files.items() if key.startswith(under)]


def in_base(replay: Replay, path: str) -> bool:
    """Tell whether the base has a file."""
    inside = paths.relative(path, replay.roots[replay.record])
    return replay.base is not None and inside is not None and inside in replay.base.names


def _unseen(replay: Replay, fits: Callable[[str], bool]) -> list[str]:
    """Give the files of the base that nothing has been done with yet, by what their keys have to
    be.
    """
    if replay.base is None:
        return []
    named = [paths.absolute(name, replay.roots[replay.record]) for name in replay.base.names]
    return [path for path in named if fits(paths.key(path)) and paths.key(path) not in replay.files]


def is_folder(replay: Replay, path: str) -> bool:
    """Tell whether a path is known to be a folder."""
    under = paths.key(path.rstrip("/") + "/")
    return any(not one.gone and not one.dirty for one in below(replay, path)) or bool(
        _unseen(replay, lambda key: key.startswith(under))
    )


def move(replay: Replay, source: str, target: str, *, copied: bool, told: bool) -> None:
    """Give a file or a folder another name, or a second one."""
    if told:
        old, new = replay.tracked(source, ""), replay.tracked(target, "")
        if not old.gone and not new.file.chunks:
            _hand_over(old, new, copied=False)
        return
    if is_folder(replay, target):
        target = f"{target.rstrip('/')}/{posixpath.basename(source)}"
    if is_folder(replay, source):
        doubted = paths.key(target) in replay.files or bool(
            below(replay, target)
        )  # perhaps there is something by that name
        under = paths.key(source + "/")
        for path in _unseen(replay, lambda key: key.startswith(under))[:_MOST]:
            replay.tracked(path, "")
        for one in below(replay, source):
            if not one.gone:
                new = replay.tracked(target + one.path[len(source) :], "")
                _hand_over(one, new, copied=copied)
                if doubted:
                    new.file.shake()
                    new.dirty, new.swept = True, False
        return
    known, into = (
        replay.files.get(paths.key(path))
        for path in (target, f"{target}/{posixpath.basename(source)}")
    )
    if (
        paths.key(source) not in replay.files
        and not in_base(replay, source)
        and not posixpath.splitext(source)[1]
    ):
        known = replay.tracked(target, "")  # the source may be a folder that nothing is known of
        known.file, known.gone, known.dirty = SparseFile(), False, True
        return
    old = replay.tracked(source, "")
    if old.gone:
        old.file, old.gone = SparseFile(), False  # it is there, whatever was thought of it
    if (
        posixpath.splitext(source)[1]
        and not posixpath.splitext(target)[1]
        and (known is None or known.gone)
    ):
        if into is not None:  # the target may be a folder that nothing is known of
            into.file, into.gone, into.dirty = SparseFile(), False, True
        if not copied:
            remove(old)
        return
    _hand_over(old, replay.tracked(target, ""), copied=copied)


def _hand_over(source: Tracked, target: Tracked, *, copied: bool) -> None:
    target.file, target.gone = copy.deepcopy(source.file) if copied else source.file, False
    target.dirty, target.swept, target.drifted = source.dirty, source.swept, source.drifted
    target.looked, target.doubted, target.waiting = source.looked, source.doubted, []
    if not copied:
        target.loose, source.loose = source.loose, []
        remove(source)


def remove(one: Tracked) -> None:
    """Take a file away."""
    one.file, one.gone, one.dirty, one.waiting, one.loose = (
        SparseFile(length=0),
        True,
        False,
        [],
        [],
    )


def touch(replay: Replay, named: frozenset[str]) -> None:
    """Take in that the known files of these last names, or patterns of them, were likely
    changed.
    """
    patterns = [_matching(name) for name in named if "*" in name or "?" in name]
    fits = (
        [name for name in replay.names if any(one.fullmatch(name) for one in patterns)]
        if patterns
        else []
    )
    for one in [one for name in (*named, *fits) for one in replay.names.get(name, ())]:
        one.touch(replay.clock, likely=True)


def touch_matching(replay: Replay, pattern: str) -> None:
    """Take in that the known files that a pattern names, and those in folders that it names, were
    likely changed.
    """
    named = _matching(pattern)
    for one in [one for key, one in replay.files.items() if named.match(key)]:
        one.touch(replay.clock, likely=True)


def delete(replay: Replay, path: str, *, folder: bool, pattern: bool) -> None:
    """Take a file away, or a folder, or what a pattern names."""
    under, named = paths.key(path.rstrip("/") + "/"), _matching(path) if pattern else None

    def fits(key: str) -> bool:
        if named is not None:
            found = named.match(key)
            return found is not None and (
                found.end() == len(key) or (folder and key[found.end()] == "/")
            )
        return key == under[:-1] or (folder and key.startswith(under))

    for name in _unseen(replay, fits):
        replay.untouched(name)
    if not folder and not pattern:
        replay.tracked(path, "")
    for one in [one for key, one in replay.files.items() if fits(key)]:
        remove(one)


def _matching(pattern: str) -> re.Pattern[str]:
    """Read a pattern of the shell, which matches neither slashes nor the dot that hides a file."""
    text = ""
    for part in re.split(r"([*?])", paths.key(pattern)):
        if part in ("*", "?") and part:
            hidden = "(?!\\.)" if not text or text.endswith("/") else ""
            text += hidden + ("[^/]*" if part == "*" else "[^/]")
        else:
            text += re.escape(part)
    return re.compile(text + r"(?=/|\Z)")
