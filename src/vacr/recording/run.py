"""Many tasks at once: in this process, in one for each core, or on a cluster. Memory stays as it is however many there are.

Tasks are handed out as others come back, so that only a few are on their way. A process that dies takes its pool with it: the
tasks it had are tried again one by one, and the one that kills again is told of as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field

from vacr.errors import UnreadableInput
from vacr.recording.tasks import Outcome, Task
from vacr.recording.work import as_text, record_place

MakePool = Callable[[int], Executor]

_AHEAD = 4
"""How many tasks wait for each worker, so that none is idle."""


def cores() -> int:
    """Give the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def local_pool(jobs: int) -> Executor:
    """Give a pool of processes on this machine."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["vacr.recording.work", "vacr.readers.claude_code"])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_worker)


def _prepare_worker() -> None:
    """Leave Ctrl-C to the process that hands out the work; when that says so, end without leaving anything behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


@dataclass
class Run:
    """A run over tasks, which can be asked to stop."""

    jobs: int
    make_pool: MakePool = local_pool
    stopping: bool = False
    pending: dict[Future[Outcome], Task] = field(default_factory=dict)
    """The tasks that are on their way."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do the tasks, and give what came of each as soon as it is there."""
        tasks = iter(tasks)
        if self.jobs == 1 and self.make_pool is local_pool:
            for task in tasks:
                yield record_place(task)
                if self.stopping:
                    return
            return
        lost: list[Task] | None = None
        while lost is None or lost:
            for task in lost or ():
                yield self._alone(task)
            with self._pool(self.jobs) as pool:
                lost = yield from self._hand_out(pool, tasks)

    def _hand_out(self, pool: Executor, tasks: Iterator[Task]) -> Generator[Outcome, None, list[Task]]:
        """Hand out tasks until there are no more, or until the pool breaks: then give those that it lost."""
        lost: list[Task] = []
        while True:
            while not self.stopping and not lost and len(self.pending) < self.jobs * _AHEAD:
                task = next(tasks, None)
                if task is None:
                    break
                try:
                    self.pending[pool.submit(record_place, task)] = task
                except BrokenProcessPool:
                    lost.append(task)
            if not self.pending:
                return lost
            done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
            for future in done:
                task = self.pending.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    lost.append(task)
                except CancelledError:
                    pass
                except Exception as error:  # noqa: BLE001 - what a cluster says about a task that it gave up
                    yield _given_up(task, f"{type(error).__name__}: {error}")

    @contextmanager
    def _pool(self, jobs: int) -> Iterator[Executor]:
        """Give a pool that is gone at the end: at once, if we are told to end."""
        pool = self.make_pool(jobs)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        pool.shutdown()

    def _alone(self, task: Task) -> Outcome:
        """Do a task in a process of its own, after one died while it was being done."""
        with self._pool(1) as pool:
            try:
                return pool.submit(record_place, task).result()
            except BrokenProcessPool:
                return _given_up(task, "the process that read it was killed; it may need more memory than there is")


def _given_up(task: Task, reason: str) -> Outcome:
    error = {"source": as_text(task.path), "error": reason, "where": as_text(task.path), "hint": ""}
    return Outcome(task, errors=[error], exit_code=UnreadableInput.exit_code)
