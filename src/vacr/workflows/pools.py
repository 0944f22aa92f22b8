"""Where many tasks run: processes on this machine, or the workers of a Dask cluster.

A local pool counts as started once one of its processes has answered; where none can be started,
the caller does the work itself:

    >>> from vacr.workflows import NoProcesses, start_local_pool
    >>> try:
    ...     with start_local_pool(1) as pool:
    ...         result = pool.submit(abs, -2).result()
    ... except NoProcesses:
    ...     result = abs(-2)
    >>> result
    2

The workers of a cluster read and write the folders themselves, so they must see them; that needs
the extra `vacr[cluster]`. If a worker dies, another repeats its task. That is
harmless: a record is written whole or not at all, and its bytes are always the same.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import signal
import sys
import threading
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from vacr.errors import Unreachable, UsageError
from vacr.files import discard_unfinished_files, is_folder
from vacr.version import __version__

_CONNECT_TIMEOUT_SECONDS = 10
_SCHEDULER_ADDRESS = re.compile(r"([a-z]+://)?[^/\s]+:[0-9]+")
PROCESS_START_ERRORS = (OSError, EOFError, RuntimeError, MemoryError)
"""Raised if a process, a thread or a pipe cannot be created. A pool that breaks while it starts
raises a RuntimeError.
"""
_POLL_SECONDS = 0.1
_thread_errors: list[BaseException | None] = []


class NoProcesses(Exception):  # noqa: N818 - it is a state, not an error
    """No process can be started, or the pool of processes is dead."""


def start_local_pool(jobs: int) -> Executor:
    """Return a pool of processes on this machine, once one of them has answered.

    Raises:
        NoProcesses: no process can be started.
    """
    # When the own thread of a pool dies, its futures never finish.
    threading.excepthook = lambda died: _thread_errors.append(died.exc_value)
    warnings.filterwarnings("ignore", module=r"multiprocessing\.")
    _thread_errors.clear()
    try:
        return _start_answering_pool(jobs)
    except (*PROCESS_START_ERRORS, NoProcesses) as error:
        reason = str(error) or type(error).__name__
        # Errors while a half-started pool is released do not matter.
        sys.unraisablehook = lambda _: None
    end_processes()
    gc.collect()
    raise NoProcesses(reason)


def _start_answering_pool(jobs: int) -> Executor:
    pool = _create_pool(jobs)
    answer = pool.submit(_do_nothing)
    while not wait([answer], _POLL_SECONDS).done:
        _check_threads_alive()
    answer.result()
    return pool


def _create_pool(jobs: int) -> Executor:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["vacr.workflows.record", "vacr.agents.lift"])
        # Processes inherit ignored signals: Ctrl-C is for this process alone. They inherit the
        # variable, too, so that cleaning up after an aborted run prints no warnings.
        before, warned = (
            signal.signal(signal.SIGINT, signal.SIG_IGN),
            os.environ.get("PYTHONWARNINGS"),
        )
        os.environ["PYTHONWARNINGS"] = "ignore"
        try:
            forkserver.ensure_running()
        finally:
            signal.signal(signal.SIGINT, before)
            os.environ.pop("PYTHONWARNINGS")
            os.environ.update({"PYTHONWARNINGS": warned} if warned is not None else {})
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_worker)


def _prepare_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it without leaving anything behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_worker)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_worker(*_: object) -> None:
    """End at once: an exception would end only the task, because the pool keeps its workers."""
    discard_unfinished_files()
    os._exit(1)


def _end_with_parent() -> None:
    """End this process with its parent; a waiting worker would never notice."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _do_nothing() -> None:
    """Do nothing: the answer shows that a process runs."""


def check_pool_alive(pool: Executor) -> None:
    """Make a pool look at its processes: one may have died unseen while it was started.

    Raises:
        NoProcesses: the thread that hands out the work is dead.
    """
    _check_threads_alive()
    with suppress(*PROCESS_START_ERRORS):
        pool.submit(_do_nothing)


def _check_threads_alive() -> None:
    if _thread_errors:
        raise NoProcesses(str(_thread_errors[0]))


def end_processes() -> None:
    """End the processes of a pool at once."""
    for process in multiprocessing.active_children():
        process.terminate()


class DaskCluster:
    """A connection to the scheduler of a cluster."""

    def __init__(self, address: str, folders: list[Path], output: Path) -> None:
        """Connect, and check that every worker can do the work.

        Raises:
            UsageError: the extra is not installed, or a worker lacks something.
            Unreachable: there is no scheduler, or it has no workers.
        """
        self.address = address
        if not _SCHEDULER_ADDRESS.fullmatch(address):
            raise UsageError(
                f"{address!r} is not the address of a scheduler",
                hint="It looks like tcp://127.0.0.1:8786.",
            )
        try:
            from distributed import Client
        except ImportError as error:
            raise UsageError(
                "--cluster needs Dask", hint="Install it with: pip install 'vacr[cluster]'"
            ) from error
        try:
            connect: Any = Client
            self.client = connect(address, timeout=_CONNECT_TIMEOUT_SECONDS, set_as_default=False)
            self.client.wait_for_workers(1, timeout=_CONNECT_TIMEOUT_SECONDS)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            hint = "Start one with: dask scheduler; and workers with: dask worker ADDRESS."
            reason = str(error) or type(error).__name__
            raise Unreachable(
                f"no cluster with workers: {reason}", where=address, hint=hint
            ) from error
        output.mkdir(parents=True, exist_ok=True)
        self._check_workers(
            self.client.run(_inspect_worker, [str(path) for path in (*folders, output)])
        )
        self.jobs = sum(self.client.nthreads().values())

    def _check_workers(self, answers: dict[str, tuple[str, list[str]]]) -> None:
        for worker, (version, missing) in sorted(answers.items()):
            if version != __version__:
                raise UsageError(
                    f"the worker {worker} has vacr {version}, not {__version__}",
                    hint="Install the same version there.",
                )
            if missing:
                raise UsageError(
                    f"the worker {worker} does not see {missing[0]}",
                    hint="The folders must be shared with all workers.",
                )

    def check(self, pool: Executor) -> None:
        """Check that the scheduler is still there.

        Raises:
            Unreachable: it is gone.
        """
        del pool
        if self.client.status in ("closing", "closed"):
            hint = "To continue, run the same command again."
            raise Unreachable("the cluster was lost", where=self.address, hint=hint)

    def pool(self, jobs: int) -> Executor:
        """Return a pool whose workers are those of the cluster."""
        del jobs
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def close(self) -> None:
        """Disconnect from the cluster."""
        self.client.close()


def _inspect_worker(folders: list[str]) -> tuple[str, list[str]]:
    """Return, on a worker, its version and the folders that it does not see."""
    return __version__, [folder for folder in folders if not is_folder(folder)]
