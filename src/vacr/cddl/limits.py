"""What bounds a check, in depth and in work, and how depth is made room for. Step: validate.

A value as deep as the decoders allow may need more of Python's stack than there is by default, for
one level of it can take many calls. Such a check is made again in a thread of its own with a larger
stack; the limit on recursion, which belongs to the whole process, is only raised meanwhile.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_CALLS = 60_000
_STACK_BYTES = 256 * 1024 * 1024
_STACK_LOCK = threading.Lock()


class WorkLimitError(Exception):
    """A check that would take longer than is allowed; the message says what of."""


def run_with_larger_stack(work: Callable[[], Any]) -> Any:
    """Do some work, and once more with a larger stack if it needs that.

    Raises:
        RecursionError: when it needs even more.

    """
    try:
        return work()
    except RecursionError:
        pass
    return _run_in_thread(work)


def _run_in_thread(work: Callable[[], Any]) -> Any:
    """Do some work on a large stack, and give or raise what comes of it."""
    results: list[Any] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
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
        # The traceback of a deep recursion holds every frame of it, and every value in them.
        raise problems[0].with_traceback(None)
    return results[0]
