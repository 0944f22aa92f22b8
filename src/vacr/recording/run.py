"""Many tasks at once: in this process, in one for each core, or on a cluster. Memory stays as it is
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
from dataclasses import dataclass, field

from vacr.errors import UnreadableInput
from vacr.recording.pools import CANNOT_START, NoProcesses, end_processes, local_pool, refuse_dead
from vacr.recording.tasks import Outcome, Task
from vacr.recording.work import record_place, record_places
from vacr.sources.files import as_text

MakePool = Callable[[int], Executor]

_AHEAD = 3
"""How many handfuls of tasks there are for each worker, so that none is idle."""
_PATIENCE = 2.0
_TOGETHER = 16
_ENOUGH_BYTES = 1 << 20


def cores() -> int:
    """Give the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass
class Run:
    """A run over tasks, which can be asked to stop."""

    jobs: int
    tell: Callable[[str], None]
    """Says what the user should know about the run."""
    make_pool: MakePool = local_pool
    check_pool: Callable[[Executor], None] = refuse_dead
    """Looks at a pool that has been silent for a while; raises if it is gone, which its futures may
    never tell.
    """
    stopping: bool = False
    pending: dict[Future[list[Outcome]], list[Task]] = field(default_factory=dict)
    """The tasks that are on their way."""
    here: bool = False
    """Whether this process does the work itself."""
    broken: bool = False
    """Whether a process has died, which may have left something half written."""

    def __post_init__(self) -> None:
        """See whether other processes are wanted at all."""
        self.here = self.jobs == 1 and self.make_pool is local_pool

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
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

    def _in_pool(self, tasks: Iterator[Task]) -> Generator[Outcome, None, list[Task]]:
        """Do tasks in a pool until there are no more, or until it breaks: then give those that it
        lost.
        """
        with self._pool(self.jobs) as pool:
            return (yield from self._hand_out(pool, tasks)) if pool is not None else []

    def _hand_out(
        self, pool: Executor, tasks: Iterator[Task]
    ) -> Generator[Outcome, None, list[Task]]:
        """Hand out tasks until there are no more, or until the pool breaks: then give those that it
        lost.
        """
        lost: list[Task] = []
        while True:
            while not self.stopping and not lost and len(self.pending) < self.jobs * _AHEAD:
                some = _some(tasks)
                if not some:
                    break
                lost += self._submit(pool, some)
            if self.stopping:
                for future in self.pending:
                    future.cancel()
            if not self.pending:
                return lost
            done, _ = wait(self.pending, _PATIENCE, return_when=FIRST_COMPLETED)
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

    def _submit(self, pool: Executor, some: list[Task]) -> list[Task]:
        """Hand out some tasks; give them back if the pool does not take them."""
        try:
            self.pending[pool.submit(record_places, some)] = some
        except BrokenProcessPool:
            return some
        except CANNOT_START as error:
            if self.make_pool is not local_pool:
                raise
            # Another process was needed for them and could not be started. What has begun is done
            # to its end.
            self._stay_here(error)
            pool.shutdown(cancel_futures=True)
            return some
        return []

    def _look_at(self, pool: Executor) -> list[Task]:
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

    def _alone(self, task: Task) -> Outcome:
        """Do a task in a process of its own, after one died while it was being done."""
        with self._pool(1) as pool:
            if pool is None:
                return record_place(task)
            self.check_pool(pool)
            try:
                return pool.submit(record_places, [task]).result()[0]
            except BrokenProcessPool:
                return _given_up(
                    task,
                    "the process that read it was killed; it may need more memory than there is",
                )
            except Exception as error:  # noqa: BLE001 - whatever a cluster says about a task that kills its workers
                return _given_up(task, f"{type(error).__name__}: {error}")


def _some(tasks: Iterator[Task]) -> list[Task]:
    """Take tasks that are handed out together: small ones, since handing out costs as much as doing
    one of them.
    """
    some: list[Task] = []
    size = 0
    while len(some) < _TOGETHER and size < _ENOUGH_BYTES:
        task = next(tasks, None)
        if task is None:
            break
        some.append(task)
        size += task.size
    return some


def _given_up(task: Task, reason: str) -> Outcome:
    error = {"source": as_text(task.path), "error": reason, "where": as_text(task.path), "hint": ""}
    return Outcome(task, errors=[error], exit_code=UnreadableInput.exit_code)
