"""Many tasks at once: in this process, in one for each core, or on a cluster. Memory stays as it is however many there are.

Tasks are handed out as others come back, so that only a few are on their way. A process that dies takes its pool with it: the
tasks it had are tried again one by one, and the one that kills again is told of as failed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import wait as wait_for

from vacr.errors import UnreadableInput
from vacr.recording.files import discard_unfinished
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


def local_pool(jobs: int) -> Executor:
    """Give a pool of processes on this machine."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["vacr.recording.work", "vacr.readers.claude_code"])
        # What is ignored when a process starts stays so in it: Ctrl-C is for the process that hands out the work.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_worker)


def _nothing() -> None:
    """Look at nothing: a pool of processes tells by itself when it is broken."""


def _prepare_worker() -> None:
    """Leave Ctrl-C to the process that hands out the work; when that says so or is gone, end and leave nothing behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end(*_: object) -> None:
    """End at once: an exception would only end the task, for the pool keeps its workers."""
    discard_unfinished()
    os._exit(1)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, which a worker that waits for work would never notice."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


@dataclass
class Run:
    """A run over tasks, which can be asked to stop."""

    jobs: int
    make_pool: MakePool = local_pool
    check_pool: Callable[[], None] = _nothing
    """Raises if the pool is gone, which its futures may never tell."""
    stopping: bool = False
    pending: dict[Future[list[Outcome]], list[Task]] = field(default_factory=dict)
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
                some = _some(tasks)
                if not some:
                    break
                try:
                    self.pending[pool.submit(record_places, some)] = some
                except BrokenProcessPool:
                    lost += some
            if self.stopping:
                for future in self.pending:
                    future.cancel()
            if not self.pending:
                return lost
            done, _ = wait(self.pending, _PATIENCE, return_when=FIRST_COMPLETED)
            if not done:
                self.check_pool()
            for future in done:
                some = self.pending.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    lost += some
                except CancelledError:
                    pass
                except Exception as error:  # noqa: BLE001 - what a cluster says about tasks that it gave up
                    yield from (_given_up(task, f"{type(error).__name__}: {error}") for task in some)

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
                return pool.submit(record_places, [task]).result()[0]
            except BrokenProcessPool:
                return _given_up(task, "the process that read it was killed; it may need more memory than there is")


def _some(tasks: Iterator[Task]) -> list[Task]:
    """Take tasks that are handed out together: small ones, since handing out costs as much as doing one of them."""
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
