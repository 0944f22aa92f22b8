"""Replay: the sessions that a user names, the commit to compare with, and the report.

One unreadable session does not stop the others: the rest is replayed, and the caller reports the
skipped one.

    >>> from vacr.workflows import read_replay_inputs
    >>> with open("cut-off.jsonl", "w") as file:
    ...     _ = file.write('{"type"')
    >>> errors = []
    >>> [recording] = read_replay_inputs(["session.jsonl", "cut-off.jsonl"], print, errors.append)
    >>> recording.path, [error.message for error in errors]
    ('session.jsonl', ['the file is damaged: not JSON'])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vacr.attribution import BaseFiles
from vacr.errors import UnreadableInput, VacrError
from vacr.workflows.inputs import InputRecord, drop_duplicate_recordings, read_input_records

if TYPE_CHECKING:
    from vacr.blame import RebuiltFile


@dataclass(frozen=True, slots=True)
class ReplayBase:
    """The files before the sessions, and the files of the commit to compare with."""

    before: BaseFiles | None = None
    commit: BaseFiles | None = None
    committed: frozenset[str] = frozenset()
    """The paths that the commit added or changed, compared with the files before."""


def read_replay_inputs(
    paths: Iterable[str],
    notify: Callable[[str], None],
    skipped: Callable[[VacrError], None],
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[InputRecord]:
    """Return the records at some paths, and the records of native sessions, each session once.

    `notify` gets a text about each duplicate recording, `skipped` the error of each unreadable
    input, and `progress` the number of records read, and 0, because their total is unknown.

    Raises:
        UnreadableInput: no input can be read; it is the error of the first one.
        InvalidRecord: a record is invalid, or was modified.
    """
    inputs: list[InputRecord] = []
    errors: list[UnreadableInput] = []

    def collect_error(error: VacrError) -> None:
        """Keep the error of an unreadable input; a modified record is refused."""
        if not isinstance(error, UnreadableInput):
            raise error
        errors.append(error)

    for path in paths:
        try:
            # The sessions before an unreadable one in the same file count.
            for recording in read_input_records(path, failed=collect_error):
                inputs.append(recording)
                progress(len(inputs), 0)
        except UnreadableInput as error:
            error.where = error.where or path
            errors.append(error)
    if not inputs:
        raise errors[0]
    for skipped_error in errors:
        skipped(skipped_error)
    return drop_duplicate_recordings(inputs, notify)


def load_replay_base(base: str | None, commit: str | None) -> ReplayBase:
    """Return the files before the sessions, and those of the commit to compare with.

    `base` is `REPOSITORY[@REVISION]`, `commit` a revision in that repository. With a commit, the
    repository is by default the one of the current folder, and the base the commit's first parent.
    Without a commit, the revision of the base is by default HEAD.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    from vacr.blame import find_git_base, load_git_base

    if commit is None:
        return ReplayBase(load_git_base(base) if base is not None else None)
    repository, before = find_git_base(
        "." if base is None else base,
        lambda repository: repository.load_parent_base(repository.resolve_commit(commit)),
    )
    files = repository.load_base(commit)
    old = repository.list_files(before.revision) if before.names else {}
    new = repository.list_files(files.revision)
    changed = frozenset(path for path, blob in new.items() if old.get(path) != blob)
    return ReplayBase(before, files, changed)


def build_replay_document(
    files: Iterable[RebuiltFile], base: ReplayBase, errors: Iterable[VacrError]
) -> dict[str, Any]:
    """Return the report of a replay for JSON output.

    With a commit, each file has `commit`, and the report names the commit and the files of it that
    no session changed.
    """
    described = []
    for file in files:
        document = {"path": file.path, **file.facts}
        if file.match is not None:
            document["commit"] = file.match.state
            if file.match.entry:
                document |= {"entry": file.match.entry, "record": file.match.record}
        described.append(document)
    report: dict[str, Any] = {"files": described}
    if base.before is not None:
        report["base"] = base.before.revision
    if base.commit is not None:
        report["commit"] = base.commit.revision
        report["not-replayed"] = sorted(base.committed - {file["path"] for file in described})
    report["errors"] = [
        {"error": error.message, "where": error.where, "hint": error.hint} for error in errors
    ]
    return report
