"""What the version control puts back, puts aside and brings again. Step: attribute.

What it puts back is what the base has, as long as the session has given it nothing else to put
back; then what is known becomes a guess that the next look decides.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vacr.attribution import paths, tree
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import from_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vacr.attribution.replay import Replay
    from vacr.attribution.tracked import Tracked


@dataclass(frozen=True, slots=True)
class _State:
    """A file as it was put aside, and what was left in its place."""

    file: SparseFile
    gone: bool
    dirty: bool
    left: SparseFile


@dataclass(slots=True)
class Aside:
    """What a stash holds: each file's state by its key; `states` is `None` when what it holds is
    not known.

    `sure` when it was surely made: without changes, none is.
    """

    states: dict[str, _State] | None
    time: int
    stagings: int
    sure: bool


@dataclass(slots=True)
class Control:
    """What the version control of one root has been given to put back."""

    stagings: int = 0
    asides: list[Aside] = field(default_factory=list)


def of(replay: Replay) -> Control:
    """Give what is known of the version control of the session at hand."""
    return replay.controls.setdefault(replay.roots[replay.record], Control())


def revert(replay: Replay, path: str, *, everything: bool) -> None:
    """Put back a file, the files of a folder, or all."""
    for one in _all(replay) if everything else tree.below(replay, path):
        _put_back(replay, one)
    if not everything and not tree.is_folder(replay, path):
        one = replay.tracked(path, "")
        if _is_new(replay, one):
            _doubt(one)  # somebody has added it, or it could not be put back
        _put_back(replay, one)
        one.file.doubted = one.dirty


def clean(replay: Replay) -> None:
    """Take in that what the version control knows nothing of was likely removed; what it ignores
    was not.
    """
    for one in _all(replay):
        if not one.gone and _is_new(replay, one):
            one.touch(replay.clock, likely=True)


def _all(replay: Replay) -> list[Tracked]:
    root = replay.roots[replay.record]
    return [
        one
        for one in replay.files.values()
        if not root or paths.relative(one.path, root) is not None
    ]


def _is_new(replay: Replay, one: Tracked) -> bool:
    """Tell whether the version control knows nothing of a file."""
    if of(replay).stagings:
        return False
    return one.created if replay.base is None else not tree.in_base(replay, one.path)


def _put_back(replay: Replay, one: Tracked) -> None:
    if _is_new(replay, one):
        return
    one.waiting, one.loose = [], []
    data = (
        replay.base.file(paths.relative(one.path, replay.roots[replay.record]))
        if replay.base
        else None
    )
    if of(replay).stagings or one.drifted:
        _doubt(one)
    elif data is not None:
        one.file, one.dirty, one.gone = SparseFile.of(from_bytes(data)), False, False
    else:
        one.file, one.dirty, one.gone = SparseFile(), True, False


def _doubt(one: Tracked) -> None:
    """Keep what is known of a file as a guess."""
    one.file.shake()
    if one.gone:
        one.file, one.gone = SparseFile(), False
    one.file.doubted = bool(one.file.chunks)
    one.dirty, one.swept, one.waiting = True, False, []


def stash(
    replay: Replay, names: Sequence[str], *, untracked: bool, known: bool, sure: bool
) -> None:
    """Put changes aside; `known` when it is certain which ones, `sure` when there surely
    were any.
    """
    about = of(replay)
    named = [one for name in names for one in (*tree.below(replay, name), replay.tracked(name, ""))]
    states: dict[str, _State] = {}
    for one in named if names else _all(replay):
        new = _is_new(replay, one)
        if new and not untracked:
            continue
        file, gone, dirty = one.file, one.gone, one.dirty
        if not (known and sure) or about.stagings:
            one.file = copy.deepcopy(one.file)
            _doubt(one)
        elif new:
            tree.remove(one)
        else:
            _put_back(replay, one)
        states[paths.key(one.path)] = _State(file, gone, dirty, one.file)
    about.asides.append(Aside(states if known else None, replay.clock, about.stagings, sure))


def unstash(replay: Replay, *, bring: bool, keep: bool, known: bool) -> None:
    """Bring back what was put aside last."""
    about = of(replay)
    aside = about.asides[-1] if about.asides else None
    if not known and aside is not None:
        aside.states = None  # perhaps it is still there
    elif aside is not None and not keep:
        about.asides.pop()
    if not bring:
        return
    if aside is None or aside.states is None or (not aside.sure and about.asides):
        for one in _all(replay):
            _doubt(one)
        return
    for key, state in aside.states.items():
        one = replay.files[key]
        same = one.changed <= aside.time and one.file is state.left
        if same:
            kept = copy.deepcopy(state.file) if keep else state.file
            one.file = _over(one.file, kept) if one.looked > aside.time else kept
            one.gone, one.dirty, one.swept, one.waiting = state.gone, state.dirty, False, []
        if not same or about.stagings != aside.stagings or (about.stagings and state.gone):
            _doubt(one)  # of what was staged and removed, something may come back


def _over(file: SparseFile, lines: SparseFile) -> SparseFile:
    """Put known lines over what was seen of a file while they were aside, which stays as
    a guess.
    """
    if lines.is_whole or not file.chunks:
        return lines
    file.shake()
    for chunk in [chunk for chunk in lines.chunks if chunk.fresh]:
        file.observe(chunk.first, chunk.lines, 0)
        for other in file.chunks:
            for number in range(max(chunk.first, other.first), min(chunk.next, other.next)):
                maker, at = chunk.makers[number - chunk.first], number - other.first
                if maker and not other.makers[at]:
                    file.base.forget(other.places[at])
                    other.makers[at] = maker
    return file
