"""Limits of one check: how much work it may take, and how deep it may go.

A value as deep as the decoders allow may need more of Python's stack than there is by default, as
one level of it can take many calls. Such a check runs again in a thread with a larger stack. The
recursion limit belongs to the whole process, so it is raised only meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

_MAX_CALLS = 60_000
_STACK_BYTES = 256 * 1024 * 1024
_STACK_LOCK = threading.Lock()


class WorkLimitError(Exception):
    """A check that would take longer than is allowed; the message names the reason."""


def run_with_larger_stack(work: Callable[[], Any]) -> Any:
    """Call a function, and once more with a larger stack if it needs that.

    Raises:
        RecursionError: when it needs even more.

    """
    try:
        return work()
    except RecursionError:
        pass
    return _run_in_thread(work)


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Call a function on a large stack, and return its result or raise its error."""
    results: list[Any] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
            problems.append(error)

    with _STACK_LOCK:
        calls, size = sys.getrecursionlimit(), threading.stack_size()
        sys.setrecursionlimit(max(calls, _MAX_CALLS))
        try:
            try:
                threading.stack_size(_STACK_BYTES)
                thread = threading.Thread(target=run, daemon=True)
                thread.start()
            except (ValueError, RuntimeError):
                raise RecursionError("there is no room for a larger stack") from None
            finally:
                threading.stack_size(size)
            thread.join()
        finally:
            sys.setrecursionlimit(calls)
    if problems:
        # The traceback of a deep recursion keeps every frame of it alive, with all its values.
        raise problems[0].with_traceback(None)
    return results[0]
