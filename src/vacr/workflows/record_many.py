"""Recording many sessions: plan the tasks, and run them on all cores.

Records are named after their sources, and the tree of a folder becomes the tree of its records:

    >>> from vacr.workflows import RecordingOptions, plan_file_tasks
    >>> tasks = plan_file_tasks(["a/x.jsonl", "b/x.jsonl"], "out", RecordingOptions())
    >>> [(task.output, task.clashes_with) for task in tasks]
    [('out/x', ''), ('out/x', 'a/x.jsonl')]

`RecordingRun` hands out tasks as others come back, so that memory does not grow with their number.
A process that dies breaks its pool. The tasks it had are tried again one by one, and a task that
kills its process a second time fails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vacr.discovery import (
    NameJoints,
    derive_record_name,
    fingerprint_place,
    walk_places,
)
from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    STDIN,
    format_path,
    is_folder,
    join_path,
)
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
from vacr.workflows.session_names import (
    describe_missing_input,
    find_named_session,
    is_too_short_id,
)

PoolFactory = Callable[[int], Executor]
"""Starts a pool with a number of workers."""

_BATCHES_PER_WORKER = 3
"""How many batches are handed out for each worker, so that none is idle."""
_POOL_CHECK_SECONDS = 2.0
_MAX_BATCH_TASKS = 16
_FULL_BATCH_BYTES = 1 << 20


def plan_file_tasks(
    paths: list[str], folder: str, options: RecordingOptions
) -> list[RecordingTask]:
    """Return a task for each file, with its record in the folder.

    Instead of a path, a session may be named: see `find_named_session`. If two files have the same
    name, the later task names the first one in `clashes_with`.

    Raises:
        UsageError: several sessions have one name.
    """
    tasks = [_plan_named_task(path, folder, options) for path in paths]
    joints = NameJoints(task.output for task in tasks)
    earlier: dict[str, dict[str | None, str]] = {}
    planned = []
    for task in tasks:
        # The name of a record from a database ends in the id of its session.
        same = earlier.setdefault(task.output, {})
        clash = same.get(task.session) or same.get(None, "")
        if task.session is None:
            clash = next(iter(same.values()), "")
        planned.append(replace(task, joint=joints.of(task.output), clashes_with=clash))
        same.setdefault(task.session, task.path)
    return planned


def _plan_named_task(path: str, folder: str, options: RecordingOptions) -> RecordingTask:
    """Return the task for a file, or for a session that is named by its id or by `latest`.

    A name that neither a file nor a session has is a task that fails.

    Raises:
        UsageError: several sessions have this name.
    """
    if path == STDIN or os.path.lexists(path):
        return plan_file_task(path, folder, None, options)
    try:
        place = find_named_session(path)
        missing = describe_missing_input(path) if is_too_short_id(path) else ""
    except UnreadableInput as error:
        place, missing = None, error.message
    if place is None:
        return replace(plan_file_task(path, folder, None, options), missing=missing)
    return plan_file_task(place.path, folder, None, options, place.session)


def plan_file_task(
    path: str,
    folder: str,
    chosen: str | None,
    options: RecordingOptions,
    session: str | None = None,
) -> RecordingTask:
    """Return the task that records a file into `folder`, or into the `chosen` file.

    `session` selects one session of a database or of a folder that contains several.
    """
    if chosen is not None:
        name = Path(chosen).name
        output = Path(chosen).with_name(name.removesuffix(Path(name).suffix).removesuffix(".acr"))
        return RecordingTask(path, str(output), options, chosen, session)
    if session and is_folder(path):
        name = session
    else:
        name = "stdin" if path == STDIN else derive_record_name(path)
    return RecordingTask(path, join_path(folder, name), options, session=session)


def assign_output_folders(
    folders: list[Path], output: Path, files: tuple[str, ...]
) -> list[tuple[Path, Path]]:
    """Return each folder with the folder for its records.

    This is `output` if nothing else is recorded. Otherwise it is a folder inside `output` with the
    same name; `files` are the single files that are recorded in the same run.

    Raises:
        UsageError: two folders have the same name.
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
    """Yield a task for each place in a folder, except in `leave_out`, the folder of all records.

    The task of a place that is not even opened has the reason in `passed_over`.

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
            session=place.session,
            joint=place.joint,
            state=state,
            size=size,
        )


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass
class RecordingRun:
    """A run over recording tasks, in a pool of workers or in this process.

    Set `stopping` to end it after the tasks that have begun.
    """

    jobs: int
    """The number of workers."""
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
        """Do the work in this process if only one local worker is wanted."""
        self.here = self.jobs == 1 and self.make_pool is start_local_pool

    def outcomes(self, tasks: Iterable[RecordingTask]) -> Iterator[RecordingOutcome]:
        """Do the tasks, and yield the outcome of each as soon as it is done, in any order.

        If `stopping` is set meanwhile, tasks that have not begun yield nothing.
        """
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
        """Do tasks in a pool until none is left or it breaks; return the tasks that it lost.

        Do nothing if this process does the work itself.
        """
        with self._open_pool(self.jobs) as pool:
            return (yield from self._hand_out(pool, tasks)) if pool is not None else []

    def _hand_out(
        self, pool: Executor, tasks: Iterator[RecordingTask]
    ) -> Generator[RecordingOutcome, None, list[RecordingTask]]:
        """Hand out tasks until none is left or the pool breaks; return the tasks that it lost."""
        lost: list[RecordingTask] = []
        while True:
            if not lost:
                lost += self._submit_batches(pool, tasks)
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
                except CancelledError:
                    lost += [] if self.stopping else batch
                except Exception:  # noqa: BLE001 - clusters raise anything for dead workers
                    lost += batch

    def _submit_batches(
        self, pool: Executor, tasks: Iterator[RecordingTask]
    ) -> list[RecordingTask]:
        """Hand out batches until all workers are busy; return a batch that the pool refuses.

        Return an empty list if the pool takes them all.
        """
        refused: list[RecordingTask] = []
        limit = self.jobs * _BATCHES_PER_WORKER
        while not self.stopping and not refused and len(self.pending) < limit:
            batch = _take_batch(tasks)
            if not batch:
                break
            refused = self._submit(pool, batch)
        return refused

    def _submit(self, pool: Executor, batch: list[RecordingTask]) -> list[RecordingTask]:
        """Hand out a batch; return it if the pool refuses it, and an empty list otherwise."""
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
        """Check a pool without recent results; if it is dead, end it and return its tasks."""
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
        """Switch to this process for the remaining work, and tell the user the reason once."""
        if not self.here:
            reason = str(error) or type(error).__name__
            self.tell(f"vacr: cannot start more processes ({reason}); using only this one")
        self.here = True

    @contextmanager
    def _open_pool(self, jobs: int) -> Iterator[Executor | None]:
        """Yield a pool, or None if this process does the work; an error ends the pool at once."""
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
        """Do a task in a process of its own, after a process that had it died.

        If that process dies too, return an outcome with an error.
        """
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
    """Return the next tasks, up to 16 of them or 1 MB of sessions; empty if none is left.

    Small tasks go together, because handing one out costs as much as doing it.
    """
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
    """Return the outcome of a task that could not be done, with the reason as its only error."""
    error = {
        "source": format_path(task.path),
        "error": reason,
        "where": format_path(task.path),
        "hint": "",
    }
    return RecordingOutcome(task, errors=[error], exit_code=UnreadableInput.exit_code)
