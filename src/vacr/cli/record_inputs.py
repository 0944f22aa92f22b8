"""The records that a verb joins to the lines of commits, read with notices about skipped inputs.

>>> from vacr.cli.record_inputs import _make_skip_reporter
>>> from vacr.console import Voice
>>> from vacr.errors import NotASession
>>> report_skipped = _make_skip_reporter(Voice("text", quiet=False, verbose=0))
>>> report_skipped("notes.txt", NotASession("not a session"))    # printed with -v only
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from vacr.blame import BlameRecords, ClaimIndex, NotesRef, Repository, find_work_trees
from vacr.console import Voice, show_job_progress
from vacr.errors import InvalidRecord, NotASession, UnreadableInput, UsageError, VacrError
from vacr.files import find_state_folder
from vacr.workflows import (
    BlameInputs,
    get_blame_records,
    read_named_inputs,
    read_project_inputs,
)


@contextmanager
def open_blame_inputs(
    paths: Sequence[str],
    repository: Repository,
    progress: Callable[[int, int], None],
    voice: Voice,
    *,
    no_index: bool = False,
) -> Iterator[BlameInputs]:
    """Yield the records at some paths, or of the repository's sessions, while the index is open.

    Print a notice about each input that is skipped.

    Raises:
        UnreadableInput: a named file cannot be read, or there are no records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    index = _open_index(no_index, voice)
    try:
        yield _read_inputs(paths, repository, index, progress, voice)
    finally:
        if index is not None:
            index.close()


@contextmanager
def open_blame_records(
    paths: tuple[str, ...],
    repository: Repository,
    no_index: bool,
    voice: Voice,
    *,
    may_be_empty: bool,
) -> Iterator[BlameRecords]:
    """Yield the records to blame with, while a progress bar is shown and the index is open.

    If they `may_be_empty`, yield an empty list for a machine without sessions of the repository.

    Raises:
        UnreadableInput: a named file cannot be read, or there are no records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    index = _open_index(no_index, voice)
    try:
        with show_job_progress("reading sessions", voice) as progress:
            try:
                found = get_blame_records(_read_inputs(paths, repository, index, progress, voice))
            except UnreadableInput as error:
                if paths:
                    raise
                if not may_be_empty:
                    if NotesRef(repository).find_tip() is not None:
                        error.hint = (
                            "To use the notes of the repository, add --notes. To use records, add "
                            "--records PATH."
                        )
                    raise
                voice.notice(str(error), 1)
                found = []
            yield found
    finally:
        if index is not None:
            index.close()


def _open_index(no_index: bool, voice: Voice) -> ClaimIndex | None:
    """Return the index in the state folder; `None` with `no_index`, or if it cannot be used."""
    if no_index:
        return None
    try:
        index = ClaimIndex.open(find_state_folder(os.environ))
    except UsageError:  # There is no state folder.
        return None
    if not index.is_usable:
        voice.notice("The index cannot be used, so all sessions are read.", 1)
        return None
    return index


def _read_inputs(
    paths: Sequence[str],
    repository: Repository,
    index: ClaimIndex | None,
    progress: Callable[[int, int], None],
    voice: Voice,
) -> BlameInputs:
    """Return the records at some paths, or of the repository's sessions if there are no paths.

    Print a notice about each input that is skipped.

    Raises:
        UnreadableInput: a named file cannot be read, or there are no records.
        InvalidRecord: a named record is invalid, or was modified.
    """
    report_skipped = _make_skip_reporter(voice)
    if paths:
        return read_named_inputs(paths, report_skipped, index=index, progress=progress)
    folders = find_work_trees(repository)
    return read_project_inputs(folders, report_skipped, index=index, progress=progress)


def _make_skip_reporter(voice: Voice) -> Callable[[str, VacrError], None]:
    """Return a function that prints a notice about a skipped input."""

    def report_skipped(path: str, error: VacrError) -> None:
        """Print that an input is skipped, and why."""
        message = f"{error.where or path}: skipped: {error.message}"
        if isinstance(error, InvalidRecord):
            voice.error(message)
            return
        # Only with -v: in a folder, files that are not sessions are expected.
        voice.notice(message, 1 if isinstance(error, NotASession) else 0)

    return report_skipped
