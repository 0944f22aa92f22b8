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
    """Return a pool of up to `jobs` processes on this machine, once one of them has answered.

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
    """Create a pool, and wait until a process of it has done a first task."""
    pool = _create_pool(jobs)
    answer = pool.submit(_do_nothing)
    while not wait([answer], _POLL_SECONDS).done:
        _check_threads_alive()
    answer.result()
    return pool


def _create_pool(jobs: int) -> Executor:
    """Return a pool; if possible, its processes are copies of a process that has loaded vacr."""
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["vacr.workflows.record", "vacr.agents.lift"])
        _start_fork_server()
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_worker)


def _start_fork_server() -> None:
    """Start the process that all workers are copies of.

    It ignores Ctrl-C and prints no Python warnings.
    """
    # Processes inherit ignored signals: Ctrl-C is for this process alone. They inherit the
    # variable, too, so that cleaning up after an aborted run prints no warnings.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    warning_filter = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, handler)
        os.environ.pop("PYTHONWARNINGS")
        if warning_filter is not None:
            os.environ["PYTHONWARNINGS"] = warning_filter


def _prepare_worker() -> None:
    """Make a new worker ignore Ctrl-C, and end together with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end_worker)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_worker(*_: object) -> None:
    """Delete the unfinished files of this worker, and end it at once.

    An exception would end only the task, because the pool keeps its workers.
    """
    discard_unfinished_files()
    os._exit(1)


def _end_with_parent() -> None:
    """Wait for the end of the parent process, then end this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _do_nothing() -> None:
    """Do nothing: the answer shows that a process runs."""


def check_pool_alive(pool: Executor) -> None:
    """Check that a pool still hands out work, and make it notice processes that died at the start.

    Raises:
        NoProcesses: a thread of the pool is dead, so its tasks never finish.
    """
    _check_threads_alive()
    with suppress(*PROCESS_START_ERRORS):
        pool.submit(_do_nothing)


def _check_threads_alive() -> None:
    """Raise NoProcesses if a thread of the pool has died."""
    if _thread_errors:
        raise NoProcesses(str(_thread_errors[0]))


def end_processes() -> None:
    """Terminate all processes of the pool, without waiting for their tasks."""
    for process in multiprocessing.active_children():
        process.terminate()


class DaskCluster:
    """A connection to the scheduler of a Dask cluster; `jobs` is the number of its threads."""

    def __init__(self, address: str, folders: list[Path], output: Path) -> None:
        """Connect, create the output folder, and check the workers.

        Each worker must have this version of vacr, and see the folders and the output.

        Raises:
            UsageError: the address is malformed, Dask is not installed, or a worker has another
                version or does not see a folder.
            Unreachable: no scheduler answers, or it has no workers.
        """
        self.address = address
        if not _SCHEDULER_ADDRESS.fullmatch(address):
            raise UsageError(
                f"{address!r} is not the address of a Dask scheduler",
                hint="An address looks like tcp://127.0.0.1:8786.",
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
        shared = [str(path) for path in (*folders, output)]
        _check_workers(self.client.run(_inspect_worker, shared))
        self.jobs = sum(self.client.nthreads().values())

    def check(self, pool: Executor) -> None:
        """Check that the connection to the scheduler is open; `pool` is not used.

        Raises:
            Unreachable: the connection is closed.
        """
        del pool
        if self.client.status in ("closing", "closed"):
            hint = "To continue, run the same command again."
            raise Unreachable("the cluster was lost", where=self.address, hint=hint)

    def pool(self, jobs: int) -> Executor:
        """Return an executor that runs tasks on the workers of the cluster; `jobs` is not used."""
        del jobs
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def close(self) -> None:
        """Disconnect from the cluster."""
        self.client.close()


def _inspect_worker(folders: list[str]) -> tuple[str, list[str]]:
    """Return the version of vacr on a worker, and the folders that the worker does not see."""
    return __version__, [folder for folder in folders if not is_folder(folder)]


def _check_workers(answers: dict[str, tuple[str, list[str]]]) -> None:
    """Check the answers of all workers to `_inspect_worker`.

    Raises:
        UsageError: a worker has another version of vacr, or does not see a folder.
    """
    for worker, (version, missing) in sorted(answers.items()):
        if version != __version__:
            raise UsageError(
                f"worker {worker} has vacr {version}, but this machine has {__version__}",
                hint="Install the same version on all workers.",
            )
        if missing:
            raise UsageError(
                f"worker {worker} does not see the folder {missing[0]}",
                hint="Share the folder with all workers, under the same path.",
            )
