"""Answers from the index of all conversations, for the verbs that search, count and select.

The index is brought up to date first. An answer comes from one state of it, which no other program
changes meanwhile:

    >>> from vacr.cli.index_answers import answer_from_index
    >>> from vacr.console import Voice
    >>> voice = Voice("text", quiet=True, verbose=0)
    >>> answer_from_index(lambda index: index.count_rows()["records"], voice, ["session.jsonl"])
    1
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from vacr.archive import LostIndex, SearchIndex
from vacr.console import Voice, show_job_progress
from vacr.discovery import list_kept_records
from vacr.errors import UsageError
from vacr.files import find_state_folder
from vacr.workflows import format_count, refresh_search_index

T = TypeVar("T")


def answer_from_index(
    answer: Callable[[SearchIndex], T], voice: Voice, paths: Sequence[str] = ()
) -> T:
    """Return the answer of queries to the index of this user, after it is brought up to date.

    With `paths`, the index has only the records and sessions there. If the index is damaged, build
    it again. If another version of vacr took it over, answer from a temporary index; otherwise the
    two would empty each other's tables in turn.

    Raises:
        UnreadableInput: the index cannot be opened or written.
        UsageError: a path does not exist.
    """
    is_apart = False
    try:
        with open_fresh_index(voice, paths) as index, index.reading():
            return answer(index)
    except LostIndex as error:
        is_apart = error.is_taken_over
    with open_fresh_index(voice, paths, is_apart=is_apart) as index, index.reading():
        return answer(index)


@contextmanager
def open_fresh_index(
    voice: Voice, paths: Sequence[str] = (), *, is_apart: bool = False
) -> Iterator[SearchIndex]:
    """Yield the index of this user, brought up to date, and close it afterwards.

    With `paths`, yield an index of the records and sessions there, which is deleted afterwards.
    With `is_apart`, yield such an index of all sessions. Report what could not be read.

    Raises:
        UnreadableInput: the index cannot be opened or written.
        UsageError: a path does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError(f"{path} does not exist", hint="Check the paths after --path.")
    with ExitStack() as stack:
        state = find_state_folder(os.environ)
        named = paths
        if paths or is_apart:
            named = paths or [str(path) for path in list_kept_records(state)]
            state = Path(stack.enter_context(TemporaryDirectory(prefix="vacr-")))
        index = stack.enter_context(closing(SearchIndex.open(state)))
        with show_job_progress("indexing", voice, in_bytes=True) as progress:
            report = refresh_search_index(index, named, only_paths=bool(paths), progress=progress)
        for error in report.failed:
            voice.notice(f"vacr: skipped: {error}", 1)
        if report.failed and not voice.verbose:
            count = format_count(len(report.failed), "session")
            voice.notice(f"vacr: skipped {count} that cannot be read; -v names them")
        if not paths and index.is_empty:
            voice.notice("vacr: no sessions found on this machine. Where vacr looks: vacr list -v")
        yield index
