"""Files of a replay as wholes: moved, removed, put back and put aside. Step: attribute.

What the version control puts back is what the base has, as long as the session has given it nothing else to put back; then
what is known becomes a guess that the next look decides.
"""

from __future__ import annotations

import copy
import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vacr.attribution import paths
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import from_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vacr.attribution.replay import Replay, Tracked


@dataclass(slots=True)
class Aside:
    """What a stash holds: each file's state by its key; `None` when what it holds is not known."""

    states: dict[str, tuple[SparseFile, bool, bool]] | None
    time: int
    stagings: int


@dataclass(slots=True)
class Control:
    """What the version control of one root has been given to put back."""

    stagings: int = 0
    asides: list[Aside] = field(default_factory=list)


def below(replay: Replay, path: str) -> list[Tracked]:
    """Give the known files in a folder."""
    under = paths.key(path.rstrip("/") + "/")
    return [one for key, one in replay.files.items() if key.startswith(under)]


def is_folder(replay: Replay, path: str) -> bool:
    """Tell whether a path is known to be a folder."""
    if any(not one.gone for one in below(replay, path)):
        return True
    inside = paths.relative(path, replay.roots[replay.record]) if replay.base else None
    return bool(inside and replay.base and any(name.startswith(inside + "/") for name in replay.base.names))


def move(replay: Replay, source: str, target: str, *, copied: bool, told: bool) -> None:
    """Give a file or a folder another name, or a second one."""
    if told:
        old, new = replay.tracked(source, ""), replay.tracked(target, "")
        if not old.gone and not new.file.chunks:
            _hand_over(old, new, copied=False)
        return
    if is_folder(replay, target) and paths.key(target) not in replay.files:
        target = f"{target.rstrip('/')}/{posixpath.basename(source)}"
    inside = below(replay, source)
    for one in inside:
        _hand_over(one, replay.tracked(target + one.path[len(source) :], ""), copied=copied)
    if inside or (is_folder(replay, source) and paths.key(source) not in replay.files):
        return
    old = replay.tracked(source, "")
    if posixpath.splitext(source)[1] and not posixpath.splitext(target)[1] and paths.key(target) not in replay.files:
        # The target may be a folder that nothing is known of.
        if not copied:
            _remove(old)
        return
    _hand_over(old, replay.tracked(target, ""), copied=copied)


def _hand_over(source: Tracked, target: Tracked, *, copied: bool) -> None:
    target.file, target.dirty, target.gone = copy.deepcopy(source.file) if copied else source.file, source.dirty, source.gone
    target.looked, target.created = source.looked, True
    if not copied:
        target.loose, source.loose = source.loose, []
        _remove(source)


def _remove(one: Tracked) -> None:
    one.file, one.gone, one.dirty = SparseFile(length=0), True, False
    one.waiting.clear()


def delete(replay: Replay, path: str, *, folder: bool, pattern: bool) -> None:
    """Take a file away, or a folder, or what a pattern names."""
    if pattern:
        named = _matched(path)
        gone = [one for one in replay.files.values() if named.fullmatch(paths.key(one.path))]
    else:
        known = paths.key(path) in replay.files
        gone = [] if folder and not known and not _in_base(replay, path) else [replay.tracked(path, "")]
        gone += below(replay, path) if folder else []
    for one in gone:
        _remove(one)


def _matched(pattern: str) -> re.Pattern[str]:
    """Read a pattern of the shell, which matches neither slashes nor the dot that hides a file."""
    parts = re.split(r"([*?])", paths.key(pattern))
    text = "".join({"*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part)) for part in parts)
    return re.compile(re.sub(r"(^|/)(?=\[\^/\])", r"\1(?!\\.)", text))


def _in_base(replay: Replay, path: str) -> bool:
    return replay.base is not None and replay.base.file(paths.relative(path, replay.roots[replay.record])) is not None


def control(replay: Replay) -> Control:
    """Give what is known of the version control of the session at hand."""
    return replay.controls.setdefault(replay.roots[replay.record], Control())


def revert(replay: Replay, path: str, *, everything: bool) -> None:
    """Put back a file, the files of a folder, or all."""
    chosen = _all(replay) if everything else below(replay, path)
    if not everything and not chosen:
        chosen = [replay.tracked(path, "")]
    for one in chosen:
        _put_back(replay, one)


def _all(replay: Replay) -> list[Tracked]:
    root = replay.roots[replay.record]
    return [one for one in replay.files.values() if not root or paths.relative(one.path, root) is not None]


def _put_back(replay: Replay, one: Tracked) -> None:
    staged = bool(control(replay).stagings)
    one.waiting.clear()
    inside = paths.relative(one.path, replay.roots[replay.record])
    data = replay.base.file(inside) if replay.base else None
    if staged:
        one.file.shake()
        one.dirty = True
    elif data is not None:
        one.file, one.dirty, one.gone = SparseFile.of(from_bytes(data)), False, False
    elif not one.created and replay.base is None:
        one.file, one.dirty, one.gone = SparseFile(), False, False
    if not one.created or staged or data is not None:
        one.loose = []


def stash(replay: Replay, names: Sequence[str], *, untracked: bool, known: bool) -> None:
    """Put changes aside."""
    about = control(replay)
    chosen = _all(replay) if not names else [one for name in names for one in (*below(replay, name), replay.tracked(name, ""))]
    states: dict[str, tuple[SparseFile, bool, bool]] = {}
    for one in chosen:
        new = one.created and not about.stagings
        if new and not untracked:
            continue
        states[paths.key(one.path)] = one.file, one.gone, one.dirty
        if new and known:
            _remove(one)
        else:
            one.file = copy.deepcopy(one.file) if about.stagings or not known else one.file
            _put_back(replay, one)
    about.asides.append(Aside(states if known else None, replay.clock, about.stagings))


def unstash(replay: Replay, *, bring: bool, keep: bool, known: bool) -> None:
    """Bring back what was put aside last."""
    about = control(replay)
    aside = about.asides[-1] if about.asides else None
    if aside is not None and not keep:
        about.asides.pop()
    if not bring:
        return
    if aside is None or aside.states is None or not known:
        for one in _all(replay):
            one.file.shake()
            one.dirty = True
        return
    for key, (file, gone, dirty) in aside.states.items():
        one = replay.files[key]
        one.waiting.clear()
        changed = one.changed > aside.time
        if not changed:
            kept = copy.deepcopy(file) if keep else file
            one.file, one.gone, one.dirty = _over(one.file, kept) if one.looked > aside.time else kept, gone, dirty
        if changed or about.stagings != aside.stagings:
            one.file.shake()
            one.dirty = True


def _over(file: SparseFile, lines: SparseFile) -> SparseFile:
    """Put known lines over what was seen of a file while they were aside, which stays as a guess."""
    if lines.text is not None or not file.chunks:
        return lines
    file.shake()
    for chunk in [chunk for chunk in lines.chunks if chunk.fresh]:
        file.observe(chunk.first, chunk.lines, 0)
        for other in file.chunks:
            for number in range(max(chunk.first, other.first), min(chunk.next, other.next)):
                maker, at = chunk.makers[number - chunk.first], number - other.first
                if maker and not other.makers[at]:
                    file.forget(other.places[at])
                    other.makers[at] = maker
    return file
