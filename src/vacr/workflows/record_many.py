"""From what a user names to the tasks of a run: files are named after themselves, folders are gone
through.

Many tasks at once: in this process, in one for each core, or on a cluster. Memory stays as it is
however many there are.

Tasks are handed out as others come back, so that only a few are on their way. A process that dies
takes its pool with it: the tasks it had are tried again one by one, and the one that kills again is
told of as failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vacr.discovery import NameJoints, fingerprint_place, strip_native_suffix, walk_places
from vacr.errors import UnreadableInput, UsageError
from vacr.files import STDIN, format_path
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


def plan_file_tasks(paths: list[str], folder: str, wish: RecordingOptions) -> list[RecordingTask]:
    """Give the tasks of files whose records go into a folder; only the first of those that would
    have one name may have it.
    """
    tasks = [plan_file_task(path, folder, None, wish) for path in paths]
    joints = NameJoints(task.output for task in tasks)
    first: dict[str, str] = {}
    found = []
    for task in tasks:
        found.append(
            replace(task, joint=joints.of(task.output), clashes_with=first.get(task.output, ""))
        )
        first.setdefault(task.output, task.path)
    return found


def plan_file_task(
    path: str, folder: str, chosen: str | None, wish: RecordingOptions, session: str | None = None
) -> RecordingTask:
    """Give the task of a file; its record goes into a folder, or is the chosen file."""
    if chosen is not None:
        name = Path(chosen).name
        output = Path(chosen).with_name(name.removesuffix(Path(name).suffix).removesuffix(".acr"))
        return RecordingTask(path, str(output), wish, chosen, session)
    name = (
        session
        if session and os.path.isdir(path)  # noqa: PTH112
        else strip_native_suffix("stdin" if path == STDIN else Path(path).name)
    )
    return RecordingTask(path, os.path.join(folder, name), wish, session=session)  # noqa: PTH118 - a path that a user gave


def assign_output_folders(
    folders: list[Path], output: Path, files: tuple[str, ...]
) -> list[tuple[Path, Path]]:
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


def plan_folder_tasks(
    path: Path, output: Path, leave_out: Path, wish: RecordingOptions
) -> Iterator[RecordingTask]:
    """Give the tasks of a folder: its tree is that of the records. The folder of all records is
    left out if it lies there too.

    Raises:
        UnreadableInput: the folder cannot be read.
    """
    for place in walk_places(path, leave_out, wish.agent):
        if place.passed_over:
            yield RecordingTask(place.path, "", wish, passed_over=place.passed_over)
            continue
        state, size = fingerprint_place(place)
        yield RecordingTask(
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


PoolFactory = Callable[[int], Executor]

_BATCHES_PER_WORKER = 3
"""How many handfuls of tasks there are for each worker, so that none is idle."""
_POOL_CHECK_SECONDS = 2.0
_MAX_BATCH_TASKS = 16
_FULL_BATCH_BYTES = 1 << 20


def count_cores() -> int:
    """Give the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass
class RecordingRun:
    """A run over tasks, which can be asked to stop."""

    jobs: int
    tell: Callable[[str], None]
    """Says what the user should know about the run."""
    make_pool: PoolFactory = start_local_pool
    check_pool: Callable[[Executor], None] = check_pool_alive
    """Looks at a pool that has been silent for a while; raises if it is gone, which its futures may
    never tell.
    """
    stopping: bool = False
    pending: dict[Future[list[RecordingOutcome]], list[RecordingTask]] = field(default_factory=dict)
    """The tasks that are on their way."""
    here: bool = False
    """Whether this process does the work itself."""
    broken: bool = False
    """Whether a process has died, which may have left something half written."""

    def __post_init__(self) -> None:
        """See whether other processes are wanted at all."""
        self.here = self.jobs == 1 and self.make_pool is start_local_pool

    def outcomes(self, tasks: Iterable[RecordingTask]) -> Iterator[RecordingOutcome]:
        """Do the tasks, and give what came of each as soon as it is there."""
        tasks = iter(tasks)
        lost = yield from self._in_pool(tasks)
        while lost:
            self.broken = True
            yield from map(self._alone, lost)
            lost = yield from self._in_pool(tasks)
        for task in tasks if self.here and not self.stopping else ():
            yield record_place(task)
            if self.stopping:
                return

    def _in_pool(
        self, tasks: Iterator[RecordingTask]
    ) -> Generator[RecordingOutcome, None, list[RecordingTask]]:
        """Do tasks in a pool until there are no more, or until it breaks: then give those that it
        lost.
        """
        with self._pool(self.jobs) as pool:
            return (yield from self._hand_out(pool, tasks)) if pool is not None else []

    def _hand_out(
        self, pool: Executor, tasks: Iterator[RecordingTask]
    ) -> Generator[RecordingOutcome, None, list[RecordingTask]]:
        """Hand out tasks until there are no more, or until the pool breaks: then give those that it
        lost.
        """
        lost: list[RecordingTask] = []
        while True:
            while (
                not self.stopping
                and not lost
                and len(self.pending) < self.jobs * _BATCHES_PER_WORKER
            ):
                some = _take_batch(tasks)
                if not some:
                    break
                lost += self._submit(pool, some)
            if self.stopping:
                for future in self.pending:
                    future.cancel()
            if not self.pending:
                return lost
            done, _ = wait(self.pending, _POOL_CHECK_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                lost += self._look_at(pool)
            for future in done:
                some = self.pending.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost += some
                except CancelledError:
                    lost += [] if self.stopping else some
                except Exception:  # noqa: BLE001 - whatever a cluster says about tasks whose worker died
                    lost += some

    def _submit(self, pool: Executor, some: list[RecordingTask]) -> list[RecordingTask]:
        """Hand out some tasks; give them back if the pool does not take them."""
        try:
            self.pending[pool.submit(record_places, some)] = some
        except BrokenProcessPool:
            return some
        except PROCESS_START_ERRORS as error:
            if self.make_pool is not start_local_pool:
                raise
            # Another process was needed for them and could not be started. What has begun is done
            # to its end.
            self._stay_here(error)
            pool.shutdown(cancel_futures=True)
            return some
        return []

    def _look_at(self, pool: Executor) -> list[RecordingTask]:
        """See whether a silent pool is still there; give the tasks that are lost if it is not."""
        try:
            self.check_pool(pool)
        except NoProcesses as error:
            self._stay_here(error)
            end_processes()
            lost = [task for some in self.pending.values() for task in some]
            self.pending.clear()
            return lost
        return []

    def _stay_here(self, error: BaseException) -> None:
        """Do what is left in this process."""
        if not self.here:
            reason = str(error) or type(error).__name__
            self.tell(f"vacr: processes cannot be started ({reason}): the work is done in this one")
        self.here = True

    @contextmanager
    def _pool(self, jobs: int) -> Iterator[Executor | None]:
        """Give a pool that is gone at the end: at once, if we are told to end. Nothing, if this
        process is to do the work.
        """
        try:
            pool = None if self.here else self.make_pool(jobs)
        except NoProcesses as error:
            self._stay_here(error)
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

    def _alone(self, task: RecordingTask) -> RecordingOutcome:
        """Do a task in a process of its own, after one died while it was being done."""
        with self._pool(1) as pool:
            if pool is None:
                return record_place(task)
            self.check_pool(pool)
            try:
                return pool.submit(record_places, [task]).result()[0]
            except BrokenProcessPool:
                return _make_failed_outcome(
                    task,
                    "the process that read it was killed; it may need more memory than there is",
                )
            except Exception as error:  # noqa: BLE001 - whatever a cluster says about a task that kills its workers
                return _make_failed_outcome(task, f"{type(error).__name__}: {error}")


def _take_batch(tasks: Iterator[RecordingTask]) -> list[RecordingTask]:
    """Take tasks that are handed out together: small ones, since handing out costs as much as doing
    one of them.
    """
    some: list[RecordingTask] = []
    size = 0
    while len(some) < _MAX_BATCH_TASKS and size < _FULL_BATCH_BYTES:
        task = next(tasks, None)
        if task is None:
            break
        some.append(task)
        size += task.size
    return some


def _make_failed_outcome(task: RecordingTask, reason: str) -> RecordingOutcome:
    error = {
        "source": format_path(task.path),
        "error": reason,
        "where": format_path(task.path),
        "hint": "",
    }
    return RecordingOutcome(task, errors=[error], exit_code=UnreadableInput.exit_code)
