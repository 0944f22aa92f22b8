"""The version control of a world: commits, the index, and stashes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.attribution.world.files import HUMAN, File

if TYPE_CHECKING:
    from tests.attribution.world import Worker, World

Tree = dict[str, File]

_OURS = (
    "error: Your local changes to the following files would be overwritten by merge:\nAborting\n"
)


@dataclass
class Control:
    """The last commit, the index, and the stashes, each with the commit that it started from."""

    base: Tree
    asides: list[tuple[Tree, Tree]] = field(default_factory=list)
    known: bool = True  # whether the commit is still the base, so that restored texts are known

    def __post_init__(self) -> None:
        """Start with a commit of all files."""
        self.head, self.index = kept(self.base), kept(self.base)


def kept(files: Tree) -> Tree:
    """Return copies of files."""
    return {path: file.copy() for path, file in files.items()}


def agent(world: World, worker: Worker) -> None:
    """Run a git command as an agent."""
    _check(world)
    done = _act(world, sure=world.control.known)
    _check(world)
    if done is not None:
        worker.host.shell(*done)


def person(world: World) -> None:
    """Run a git command as another person, unobserved."""
    _act(world, sure=False)
    _check(world)


def _check(world: World) -> None:
    same = all(
        tree.keys() == world.base.keys()
        and all(file.data() == world.base[path] for path, file in tree.items())
        for tree in (world.control.index, world.control.head)
    )
    world.control.known = world.control.known and same


def _act(world: World, *, sure: bool) -> tuple[str, str, int] | None:
    """Run a random action; return the command, its output and its exit code."""
    return world.random.choice(_ACTS)(world, sure)


def _put(world: World, path: str, file: File, *, sure: bool) -> None:
    """Restore a file at its path."""
    there = world.files.get(path)
    if there is not None and there.same(file):
        there.sure = there.sure and sure
        return
    new = world.files[path] = file.copy()
    new.sure = True if there is None else there.sure
    new.become(file.lines, sure=sure)
    if not sure or not (world.control.head.keys() <= world.base.keys()):
        world.lost |= {text for text, _ in file.lines}


def _add(world: World, _: bool) -> tuple[str, str, int]:
    for path in [path for path in world.control.index if path not in world.files]:
        del world.control.index[path]
    world.control.index |= kept(world.files)
    return "git add -A", "", 0


def _commit(world: World, sure: bool) -> tuple[str, str, int]:
    _add(world, sure)
    world.control.head = kept(world.control.index)
    return "git add -A && git commit -qm work", "", 0


def _restore(world: World, sure: bool) -> tuple[str, str, int] | None:
    if not world.control.index:
        return None
    path = world.random.choice(sorted(world.control.index))
    _put(world, path, world.control.index[path], sure=sure)
    return world.random.choice([f"git checkout -- {path}", f"git restore {path}"]), "", 0


def _reset(world: World, sure: bool) -> tuple[str, str, int]:
    for path in world.control.index:
        if path not in world.control.head:
            world.files.pop(path, None)
    for path, file in world.control.head.items():
        _put(world, path, file, sure=sure)
    world.control.index = kept(world.control.head)
    return "git reset -q --hard", "", 0


def _dirty(world: World) -> list[str]:
    """Return the tracked files that differ from the last commit."""
    control = world.control
    return [
        path
        for path in sorted(control.index.keys() | control.head.keys())
        if path not in control.head
        or path not in world.files
        or not world.files[path].same(control.head[path])
    ]


def _stash(world: World, sure: bool) -> tuple[str, str, int]:
    changed = _dirty(world)
    staged = any(path not in world.control.index for path in world.control.head)
    if not changed and not staged:
        return "git stash", "No local changes to save\n", 0
    aside = {path: world.files[path].copy() for path in changed if path in world.files}
    world.control.asides.append(
        (
            aside,
            kept(
                {path: world.control.head[path] for path in changed if path in world.control.head}
            ),
        )
    )
    _reset(world, sure)
    return "git stash", "Saved working directory and index state WIP on main: 1234567 work\n", 0


def _pop(world: World, sure: bool) -> tuple[str, str, int] | None:
    if not world.control.asides:
        return None
    aside, head = world.control.asides[-1]
    names = aside.keys() | head.keys()
    if (
        any(path in world.files and path not in world.control.index for path in names)
        or set(_dirty(world)) & names
    ):
        return "git stash pop", _OURS, 1
    now = {path: world.control.head[path] for path in names if path in world.control.head}
    if now.keys() != head.keys() or any(not now[path].same(file) for path, file in head.items()):
        return None  # there would be something to merge
    world.control.asides.pop()
    for path in head.keys() - aside.keys():
        world.files.pop(path, None)
    for path, file in aside.items():
        _put(world, path, file, sure=sure)
        if path not in head:
            world.control.index[path] = file.copy()
    return (
        "git stash pop",
        "On branch main\nChanges not staged for commit:\nDropped refs/stash@{0} (1234567)\n",
        0,
    )


def _rebase(world: World, sure: bool) -> tuple[str, str, int]:
    """Rebase all changes onto the changes of others."""
    _commit(world, sure)
    for path, file in sorted(world.files.items()):
        if world.random.random() < 0.5 and file.last_end:
            at = world.random.randint(0, len(file.lines))
            stop = at + world.random.randint(0, 1)
            lines = [
                *file.lines[:at],
                *world.written(world.random.randint(1, 2), HUMAN),
                *file.lines[stop:],
            ]
            world.files[path].become(lines, sure=False)
    world.control.head, world.control.index = kept(world.files), kept(world.files)
    return "git add -A && git commit -qm work && git rebase -q main", "", 0


_ACTS: tuple[Callable[[World, bool], tuple[str, str, int] | None], ...] = (
    _add,
    _commit,
    _restore,
    _restore,
    _reset,
    _stash,
    _pop,
    _pop,
    _rebase,
)
