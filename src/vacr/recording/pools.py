"""Processes on this machine that do tasks, or the knowledge that there can be none: then the work
is done in this one.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import wait as wait_for

from vacr.recording.files import discard_unfinished

CANNOT_START = (OSError, EOFError, RuntimeError, MemoryError)
"""What is raised where a process, a thread or a pipe cannot be had; a pool that breaks while it
starts is a RuntimeError.
"""
_MOMENT = 0.1
_dead_threads: list[BaseException | None] = []


class NoProcesses(Exception):  # noqa: N818 - named after what there is not
    """No process can be started, or the pool that has them is dead."""


def local_pool(jobs: int) -> Executor:
    """Give a pool of processes on this machine, once one of them has answered.

    Raises:
        NoProcesses: none can be started.
    """
    # A pool whose own thread dies tells it to nobody: its futures stay as they are.
    threading.excepthook = lambda died: _dead_threads.append(died.exc_value)
    warnings.filterwarnings("ignore", module=r"multiprocessing\.")
    _dead_threads.clear()
    try:
        return _answering(jobs)
    except (*CANNOT_START, NoProcesses) as error:
        reason = str(error) or type(error).__name__
        # What fails in letting go of a pool that never was is of no concern to anybody.
        sys.unraisablehook = lambda _: None
    end_processes()
    gc.collect()
    raise NoProcesses(reason)


def _answering(jobs: int) -> Executor:
    pool = _made(jobs)
    answer = pool.submit(_nothing)
    while not wait([answer], _MOMENT).done:
        _refuse_dead_threads()
    answer.result()
    return pool


def refuse_dead(pool: Executor) -> None:
    """Make a pool look at its processes: one that died while it was being started may not have been
    seen.

    Raises:
        NoProcesses: the thread that hands out the work is dead.
    """
    _refuse_dead_threads()
    with suppress(*CANNOT_START):
        pool.submit(_nothing)


def _refuse_dead_threads() -> None:
    if _dead_threads:
        raise NoProcesses(str(_dead_threads[0]))


def end_processes() -> None:
    """End the processes of a pool at once."""
    for process in multiprocessing.active_children():
        process.terminate()


def _made(jobs: int) -> Executor:
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload(["vacr.recording.work", "vacr.readers.claude_code"])
        # What is ignored when a process starts stays so in it: Ctrl-C is for the process that hands
        # out the work; and what a run that was ended at once leaves behind is cleaned up without a
        # word to the user.
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


def _nothing() -> None:
    """Do nothing, which shows that there is a process to do it."""


def _prepare_worker() -> None:
    """Leave Ctrl-C to the process that hands out the work; when that says so or is gone, end and
    leave nothing behind.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end(*_: object) -> None:
    """End at once: an exception would only end the task, for the pool keeps its workers."""
    discard_unfinished()
    os._exit(1)


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, which a worker that waits for work
    would never notice.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
