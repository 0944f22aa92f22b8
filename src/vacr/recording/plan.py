"""From what a user names to the tasks of a run: files are named after themselves, folders are gone
through.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vacr.errors import UsageError
from vacr.recording.names import Joints, stem
from vacr.recording.places import places, state_of
from vacr.recording.tasks import Task, Wish
from vacr.sources import STDIN


def file_tasks(paths: list[str], folder: str, wish: Wish) -> list[Task]:
    """Give the tasks of files whose records go into a folder; only the first of those that would
    have one name may have it.
    """
    tasks = [file_task(path, folder, None, wish) for path in paths]
    joints = Joints(task.output for task in tasks)
    first: dict[str, str] = {}
    found = []
    for task in tasks:
        found.append(
            replace(task, joint=joints.of(task.output), clashes_with=first.get(task.output, ""))
        )
        first.setdefault(task.output, task.path)
    return found


def file_task(
    path: str, folder: str, chosen: str | None, wish: Wish, session: str | None = None
) -> Task:
    """Give the task of a file; its record goes into a folder, or is the chosen file."""
    if chosen is not None:
        name = Path(chosen).name
        output = Path(chosen).with_name(name.removesuffix(Path(name).suffix).removesuffix(".acr"))
        return Task(path, str(output), wish, chosen, session)
    name = (
        session
        if session and os.path.isdir(path)  # noqa: PTH112
        else stem("stdin" if path == STDIN else Path(path).name)
    )
    return Task(path, os.path.join(folder, name), wish, session=session)  # noqa: PTH118 - a path that a user gave


def trees(folders: list[Path], output: Path, files: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """Give the folder in which the records of each folder go: the output itself, or one of its own
    where there is more.

    Raises:
        UsageError: two of them have the same name.
    """
    if len(folders) == 1 and not files:
        return [(folders[0], output)]
    names = [os.path.basename(os.path.realpath(folder)) for folder in folders]  # noqa: PTH119
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two folders are named {name}", hint="Record them into different folders."
            )
    return [(folder, output / name) for folder, name in zip(folders, names, strict=True)]


def folder_tasks(path: Path, output: Path, leave_out: Path, wish: Wish) -> Iterator[Task]:
    """Give the tasks of a folder: its tree is that of the records. The folder of all records is
    left out if it lies there too.

    Raises:
        UnreadableInput: the folder cannot be read.
    """
    for place in places(path, leave_out, wish.agent):
        if place.passed_over:
            yield Task(place.path, "", wish, passed_over=place.passed_over)
            continue
        state, size = state_of(place)
        yield Task(
            place.path,
            str(output / place.name),
            wish,
            None,
            place.session,
            place.joint,
            "",
            state,
            size,
        )
