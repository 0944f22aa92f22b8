"""Recording many sessions: plan the tasks, run them on all cores, and resume after a stop.

Records are named after their sources, and the tree of a folder becomes the tree of its records:

    >>> from vacr.workflows import RecordingOptions, plan_file_tasks
    >>> tasks = plan_file_tasks(["a/x.jsonl", "b/x.jsonl"], "out", RecordingOptions())
    >>> [(task.output, task.clashes_with) for task in tasks]
    [('out/x', ''), ('out/x', 'a/x.jsonl')]

`RecordingRun` hands out tasks as others come back, so that memory does not grow with their number.
A process that dies breaks its pool. The tasks it had are tried again one by one, and a task that
kills its process a second time fails.

`RunJournal` lets the next run over a folder continue where this one stopped. It has a line for each
place, written after the place's records. A place is done if its fingerprint and the options are the
same, and its records are unchanged:

    >>> from pathlib import Path
    >>> from vacr.workflows import RecordingTask, RunJournal, record_place
    >>> task = RecordingTask("session.jsonl", "out/a", RecordingOptions(), state="s1")
    >>> journal = RunJournal(Path("out"))
    >>> journal.done(task) is None
    True
    >>> journal.write(record_place(task)); journal.close()
    >>> RunJournal(Path("out")).done(task).records[0]["state"]
    'unchanged'

A journal line that was cut short, or has another form, is ignored. If the journal cannot be
written, the run goes on, and the next one starts over.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

from vacr.discovery import (
    NameJoints,
    fingerprint_place,
    make_record_name,
    strip_native_suffix,
    walk_places,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    STDIN,
    describe_file_error,
    format_path,
    is_folder,
    join_path,
    make_absolute,
    make_folder_tree,
)
from vacr.version import __version__
from vacr.workflows.pools import (
    PROCESS_START_ERRORS,
    NoProcesses,
    check_pool_alive,
    end_processes,
    start_local_pool,
)
from vacr.workflows.record import (
    RecordingOptions,
    RecordingOutcome,
    RecordingTask,
    record_place,
    record_places,
)
from vacr.workflows.record_files import build_sealed_source_path

PoolFactory = Callable[[int], Executor]

_BATCHES_PER_WORKER = 3
"""How many batches are handed out for each worker, so that none is idle."""
_POOL_CHECK_SECONDS = 2.0
_MAX_BATCH_TASKS = 16
_FULL_BATCH_BYTES = 1 << 20

RUN_JOURNAL_NAME = ".vacr-journal.jsonl"
_FILE_MEMBERS = ("output", "sealed")
_RECORD_TYPES = {
    "source": str,
    "output": str,
    "state": str,
    "id": str,
    "session-id": str,
    "parent": (str, NoneType),
    "agent": str,
    "cli-version": (str, NoneType),
    "models": [str],
    "entries": int,
    "bytes": int,
    "sealed": (str, NoneType),
    "notices": [{"line": (int, NoneType), "message": str}],
    "left-out": [{"file": str, "reason": str}],
    "secrets": [str],
    "seen": [int],
}
_HEAD_TYPES = {"key": str, "state": str}
_LINE_TYPES = _HEAD_TYPES | {"records": [_RECORD_TYPES], "skipped": str}
"""The types of the members of a line; a list has the type of all its items."""


def plan_file_tasks(
    paths: list[str], folder: str, options: RecordingOptions
) -> list[RecordingTask]:
    """Return the tasks of files whose records go into a folder, and mark clashing names."""
    tasks = [plan_file_task(path, folder, None, options) for path in paths]
    joints = NameJoints(task.output for task in tasks)
    first: dict[str, str] = {}
    planned = []
    for task in tasks:
        planned.append(
            replace(task, joint=joints.of(task.output), clashes_with=first.get(task.output, ""))
        )
        first.setdefault(task.output, task.path)
    return planned


def plan_file_task(
    path: str,
    folder: str,
    chosen: str | None,
    options: RecordingOptions,
    session: str | None = None,
) -> RecordingTask:
    """Return the task of a file, whose record goes into a folder or is the chosen file."""
    if chosen is not None:
        name = Path(chosen).name
        output = Path(chosen).with_name(name.removesuffix(Path(name).suffix).removesuffix(".acr"))
        return RecordingTask(path, str(output), options, chosen, session)
    if session and is_folder(path):
        name = session
    else:
        name = strip_native_suffix("stdin" if path == STDIN else Path(path).name)
    return RecordingTask(path, join_path(folder, name), options, session=session)


def assign_output_folders(
    folders: list[Path], output: Path, files: tuple[str, ...]
) -> list[tuple[Path, Path]]:
    """Return each folder with the one for its records: the output, or one of its own inside.

    Raises:
        UsageError: two of them have the same name.
    """
    if len(folders) == 1 and not files:
        return [(folders[0], output)]
    names = [Path(os.path.realpath(folder)).name for folder in folders]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two folders are named {name}",
                hint="Record them one by one, into different folders.",
            )
    return [(folder, output / name) for folder, name in zip(folders, names, strict=True)]


def plan_folder_tasks(
    path: Path, output: Path, leave_out: Path, options: RecordingOptions
) -> Iterator[RecordingTask]:
    """Yield the tasks of a folder, except those in `leave_out`, the folder of all records.

    Raises:
        UnreadableInput: the folder cannot be read.
    """
    for place in walk_places(path, leave_out, options.agent):
        if place.passed_over:
            yield RecordingTask(place.path, "", options, passed_over=place.passed_over)
            continue
        state, size = fingerprint_place(place)
        yield RecordingTask(
            place.path,
            str(output / place.name),
            options,
            None,
            place.session,
            place.joint,
            "",
            state,
            size,
        )


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass
class RecordingRun:
    """A run over tasks that can be asked to stop."""

    jobs: int
    tell: Callable[[str], None]
    """Takes remarks for the user."""
    make_pool: PoolFactory = start_local_pool
    check_pool: Callable[[Executor], None] = check_pool_alive
    """Checks a pool that has been silent for a while, and raises if it is dead."""
    stopping: bool = False
    pending: dict[Future[list[RecordingOutcome]], list[RecordingTask]] = field(default_factory=dict)
    """The batches that were handed out."""
    here: bool = False
    """Whether this process does the work itself."""
    broken: bool = False
    """Whether a process has died; it may have left unfinished files."""

    def __post_init__(self) -> None:
        """Decide whether other processes are wanted at all."""
        self.here = self.jobs == 1 and self.make_pool is start_local_pool

    def outcomes(self, tasks: Iterable[RecordingTask]) -> Iterator[RecordingOutcome]:
        """Do the tasks, and yield the outcome of each as soon as it is there."""
        tasks = iter(tasks)
        lost = yield from self._run_in_pool(tasks)
        while lost:
            self.broken = True
            yield from map(self._record_alone, lost)
            lost = yield from self._run_in_pool(tasks)
        for task in tasks if self.here and not self.stopping else ():
            yield record_place(task)
            if self.stopping:
                return

    def _run_in_pool(
        self, tasks: Iterator[RecordingTask]
    ) -> Generator[RecordingOutcome, None, list[RecordingTask]]:
        """Do tasks in a pool until none is left or it breaks; return the tasks that it lost."""
        with self._open_pool(self.jobs) as pool:
            return (yield from self._hand_out(pool, tasks)) if pool is not None else []

    def _hand_out(
        self, pool: Executor, tasks: Iterator[RecordingTask]
    ) -> Generator[RecordingOutcome, None, list[RecordingTask]]:
        """Hand out tasks until none is left or the pool breaks; return the tasks that it lost."""
        lost: list[RecordingTask] = []
        while True:
            while (
                not self.stopping
                and not lost
                and len(self.pending) < self.jobs * _BATCHES_PER_WORKER
            ):
                batch = _take_batch(tasks)
                if not batch:
                    break
                lost += self._submit(pool, batch)
            if self.stopping:
                for future in self.pending:
                    future.cancel()
            if not self.pending:
                return lost
            done, _ = wait(self.pending, _POOL_CHECK_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                lost += self._check_silent_pool(pool)
            for future in done:
                batch = self.pending.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost += batch
                except CancelledError:
                    lost += [] if self.stopping else batch
                except Exception:  # noqa: BLE001 - clusters raise anything for dead workers
                    lost += batch

    def _submit(self, pool: Executor, batch: list[RecordingTask]) -> list[RecordingTask]:
        """Hand out a batch; return it if the pool does not take it."""
        try:
            self.pending[pool.submit(record_places, batch)] = batch
        except BrokenProcessPool:
            return batch
        except PROCESS_START_ERRORS as error:
            if self.make_pool is not start_local_pool:
                raise
            # A further process could not be started. Tasks that have begun are finished.
            self._work_here(error)
            pool.shutdown(cancel_futures=True)
            return batch
        return []

    def _check_silent_pool(self, pool: Executor) -> list[RecordingTask]:
        """Check a silent pool; return the lost tasks if it is dead."""
        try:
            self.check_pool(pool)
        except NoProcesses as error:
            self._work_here(error)
            end_processes()
            lost = [task for batch in self.pending.values() for task in batch]
            self.pending.clear()
            return lost
        return []

    def _work_here(self, error: BaseException) -> None:
        """Do the remaining work in this process."""
        if not self.here:
            reason = str(error) or type(error).__name__
            self.tell(f"vacr: cannot start more processes ({reason}); using only this one")
        self.here = True

    @contextmanager
    def _open_pool(self, jobs: int) -> Iterator[Executor | None]:
        """Yield a pool, or None if this process works; an error ends the pool at once."""
        try:
            pool = None if self.here else self.make_pool(jobs)
        except NoProcesses as error:
            self._work_here(error)
            pool = None
        if pool is None:
            yield None
            return
        try:
            yield pool
        except BaseException:
            for future in self.pending:
                future.cancel()
            pool.shutdown(wait=False)
            end_processes()
            raise
        pool.shutdown()

    def _record_alone(self, task: RecordingTask) -> RecordingOutcome:
        """Do a task in a process of its own, after one died with it."""
        with self._open_pool(1) as pool:
            if pool is None:
                return record_place(task)
            self.check_pool(pool)
            try:
                return pool.submit(record_places, [task]).result()[0]
            except BrokenProcessPool:
                return _make_failed_outcome(
                    task,
                    "the process that read the session was killed, possibly for lack of memory",
                )
            except Exception as error:  # noqa: BLE001 - clusters raise anything for dead workers
                return _make_failed_outcome(task, f"{type(error).__name__}: {error}")


def _take_batch(tasks: Iterator[RecordingTask]) -> list[RecordingTask]:
    """Take a batch of tasks: handing out a small one costs as much as doing it."""
    batch: list[RecordingTask] = []
    size = 0
    while len(batch) < _MAX_BATCH_TASKS and size < _FULL_BATCH_BYTES:
        task = next(tasks, None)
        if task is None:
            break
        batch.append(task)
        size += task.size
    return batch


def _make_failed_outcome(task: RecordingTask, reason: str) -> RecordingOutcome:
    error = {
        "source": format_path(task.path),
        "error": reason,
        "where": format_path(task.path),
        "hint": "",
    }
    return RecordingOutcome(task, errors=[error], exit_code=UnreadableInput.exit_code)


class RunJournal:
    """The journal in an output folder."""

    def __init__(self, folder: Path) -> None:
        """Read the journal, and remember the position of each line.

        Raises:
            UsageError: its path is not a regular file.
        """
        self._folder = folder
        self._path = folder / RUN_JOURNAL_NAME
        self._lines: dict[str, tuple[str, int]] = {}
        self._file: BinaryIO | None = None
        self.failed = ""
        """Why the journal cannot be written."""
        if os.path.lexists(self._path):
            if not stat.S_ISREG(self._path.lstat().st_mode):
                raise UsageError(
                    f"{self._path} exists and is not a file",
                    hint="Remove it, or write elsewhere with -o.",
                )
            with self._path.open("rb") as file:
                position = 0
                for line in file:
                    entry = _parse_line(line)
                    if _matches_type(entry, _HEAD_TYPES):
                        self._lines[entry["key"]] = entry["state"], position
                    position += len(line)

    def done(self, task: RecordingTask) -> RecordingOutcome | None:
        """Return the outcome of a task in an earlier run if it is still valid, or else `None`."""
        state, position = self._lines.get(self._key(task), ("", 0))
        if not state or state != task.state:
            return None
        with self._path.open("rb") as file:
            file.seek(position)
            entry = _parse_line(file.readline())
        if not _matches_type(entry, _LINE_TYPES) or bool(entry["records"]) == bool(
            entry["skipped"]
        ):
            return None
        for record in entry["records"]:
            for member in _FILE_MEMBERS:
                if record[member] is not None:
                    record[member] = join_path(self._folder, record[member])
        if not all(
            _is_drift_table(record.get("drift"))
            and _is_record_of_task(task, record)
            and _is_record_intact(record)
            for record in entry["records"]
        ):
            return None
        return RecordingOutcome(
            task,
            [_mark_unchanged(record, task) for record in entry["records"]],
            [],
            entry["skipped"],
        )

    def write(self, outcome: RecordingOutcome) -> None:
        """Add the outcome of a task, unless it failed: then the next run tries again."""
        if self.failed or not outcome.task.state or (outcome.errors and not outcome.skipped):
            return
        records = [
            record | _stat_record_file(record) | self._relative(record)
            for record in outcome.records
        ]
        line = {
            "key": self._key(outcome.task),
            "state": outcome.task.state,
            "records": records,
            "skipped": outcome.skipped,
        }
        try:
            if self._file is None:
                make_folder_tree(self._path.parent)
                # The method `close` closes it.
                self._file = open(  # noqa: SIM115 - see above
                    self._path, "ab", buffering=0, opener=_open_journal
                )
                if self._file.tell() and not self._ends_in_newline():
                    self._file.write(b"\n")
            text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            if self._file.write(text) < len(text):
                self.failed = "the disk is full"
        except OSError as error:
            self.failed = describe_file_error(error)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _key(self, task: RecordingTask) -> str:
        """Name a task and its options; paths are relative, because the folder may move."""
        options = task.options
        source = make_absolute(task.path)  # Resolving links costs too much.
        place = os.path.relpath(task.output, self._folder)
        return json.dumps(
            [source, task.session, place, options.suffix, options.seal, options.agent, __version__]
        )

    def _relative(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the files of a record, relative to the folder."""
        return {
            name: os.path.relpath(record[name], self._folder)
            for name in _FILE_MEMBERS
            if record.get(name) is not None
        }

    def _ends_in_newline(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _open_journal(path: str, flags: int) -> int:
    """Open the journal without following links or waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _parse_line(line: bytes) -> Any:
    """Return the value of a line, or None if it cannot be read."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _matches_type(value: Any, kind: Any) -> bool:
    """Return whether a value has a type: of each member in a table, or of all items of a list."""
    if isinstance(kind, dict):
        return type(value) is dict and all(
            name in value and _matches_type(value[name], inner) for name, inner in kind.items()
        )
    if isinstance(kind, list):
        return type(value) is list and all(_matches_type(item, kind[0]) for item in value)
    return type(value) in (kind if isinstance(kind, tuple) else (kind,))


def _is_drift_table(value: Any) -> bool:
    """Return whether a value counts names by their kinds."""
    return type(value) is dict and all(
        type(counts) is dict and all(type(count) is int for count in counts.values())
        for counts in value.values()
    )


def _is_record_of_task(task: RecordingTask, record: dict[str, Any]) -> bool:
    """Return whether a task would write the same files as a record names."""
    folder, name = os.path.split(task.output)
    if record["sealed"] != (
        format_path(str(build_sealed_source_path(Path(record["output"]))))
        if task.options.seal
        else None
    ):
        return False
    for label in ("", record["session-id"], task.session or ""):
        file_name = f"{make_record_name(name, task.joint, label)}{task.options.suffix}"
        if record["output"] == format_path(join_path(folder, file_name)):
            return True
    return False


def _stat_record_file(record: dict[str, Any]) -> dict[str, Any]:
    """Return the size and the time of a record's file."""
    try:
        status = Path(record["output"]).stat()
    except OSError:
        return {}
    return {"seen": [status.st_size, status.st_mtime_ns]}


def _mark_unchanged(record: dict[str, Any], task: RecordingTask) -> dict[str, Any]:
    """Return a record marked as unchanged, with its digest if that is wanted now."""
    if task.options.digests and "sha-256" not in record:
        with Path(record["output"]).open("rb") as file:
            record["sha-256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return record | {"state": "unchanged"}


def _is_record_intact(record: dict[str, Any]) -> bool:
    sealed = record.get("sealed")
    return record.get("seen") == _stat_record_file(record).get("seen", False) and (
        sealed is None or Path(sealed).is_file()
    )
