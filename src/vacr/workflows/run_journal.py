"""The journal of a recording run: the next run over a folder continues where this one stopped.

The journal is a file in the output folder. It has a line for each place, written after the place's
records. A place is done if its fingerprint and the options are the same, and its records are
unchanged:

    >>> from pathlib import Path
    >>> from vacr.workflows import RecordingOptions, RecordingTask, RunJournal, record_place
    >>> task = RecordingTask("session.jsonl", "out/a", RecordingOptions(), state="s1")
    >>> journal = RunJournal(Path("out"))
    >>> journal.done(task) is None
    True
    >>> journal.write(record_place(task)); journal.close()
    >>> RunJournal(Path("out")).done(task).records[0]["state"]
    'unchanged'

A line that was cut short, or has another form, is ignored. If the journal cannot be written, the
run goes on, and the next one starts over.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

from vacr.discovery import make_record_name
from vacr.errors import UsageError
from vacr.files import (
    describe_file_error,
    format_path,
    join_path,
    make_absolute,
    make_folder_tree,
)
from vacr.version import __version__
from vacr.workflows.record import RecordingOutcome, RecordingTask
from vacr.workflows.sealed_source import build_sealed_source_path

RUN_JOURNAL_NAME = ".vacr-journal.jsonl"
_FILE_MEMBERS = ("output", "sealed")
_RECORD_TYPES = {
    "source": str,
    "output": str,
    "state": str,
    "id": str,
    "session-id": str,
    "parent": (str, NoneType),
    "agent": str,
    "cli-version": (str, NoneType),
    "models": [str],
    "entries": int,
    "bytes": int,
    "sealed": (str, NoneType),
    "notices": [{"line": (int, NoneType), "message": str}],
    "left-out": [{"file": str, "reason": str}],
    "secrets": [str],
    "seen": [int],
}
_HEAD_TYPES = {"key": str, "state": str}
_LINE_TYPES = _HEAD_TYPES | {"records": [_RECORD_TYPES], "skipped": str}
"""The types of the members of a line; a list has the type of all its items."""


class RunJournal:
    """The journal in an output folder."""

    def __init__(self, folder: Path) -> None:
        """Read the journal, and remember the position of each line.

        Raises:
            UsageError: its path is not a regular file.
        """
        self._folder = folder
        self._path = folder / RUN_JOURNAL_NAME
        self._lines: dict[str, tuple[str, int]] = {}
        self._file: BinaryIO | None = None
        self.failed = ""
        """Why the journal cannot be written."""
        if os.path.lexists(self._path):
            if not stat.S_ISREG(self._path.lstat().st_mode):
                raise UsageError(
                    f"{self._path} exists and is not a file",
                    hint="Remove it, or write elsewhere with -o.",
                )
            with self._path.open("rb") as file:
                position = 0
                for line in file:
                    entry = _parse_line(line)
                    if _matches_type(entry, _HEAD_TYPES):
                        self._lines[entry["key"]] = entry["state"], position
                    position += len(line)

    def done(self, task: RecordingTask) -> RecordingOutcome | None:
        """Return the outcome of a task in an earlier run if it is still valid, or else `None`."""
        state, position = self._lines.get(self._key(task), ("", 0))
        if not state or state != task.state:
            return None
        with self._path.open("rb") as file:
            file.seek(position)
            entry = _parse_line(file.readline())
        if not _matches_type(entry, _LINE_TYPES) or bool(entry["records"]) == bool(
            entry["skipped"]
        ):
            return None
        for record in entry["records"]:
            for member in _FILE_MEMBERS:
                if record[member] is not None:
                    record[member] = join_path(self._folder, record[member])
        if not all(
            _is_drift_table(record.get("drift"))
            and _is_record_of_task(task, record)
            and _is_record_intact(record)
            for record in entry["records"]
        ):
            return None
        return RecordingOutcome(
            task,
            [_mark_unchanged(record, task) for record in entry["records"]],
            [],
            entry["skipped"],
        )

    def write(self, outcome: RecordingOutcome) -> None:
        """Add the outcome of a task, unless it failed: then the next run tries again."""
        if self.failed or not outcome.task.state or (outcome.errors and not outcome.skipped):
            return
        records = [
            record | _stat_record_file(record) | self._relative(record)
            for record in outcome.records
        ]
        line = {
            "key": self._key(outcome.task),
            "state": outcome.task.state,
            "records": records,
            "skipped": outcome.skipped,
        }
        try:
            if self._file is None:
                make_folder_tree(self._path.parent)
                # The method `close` closes it.
                self._file = open(  # noqa: SIM115 - see above
                    self._path, "ab", buffering=0, opener=_open_journal
                )
                if self._file.tell() and not self._ends_in_newline():
                    self._file.write(b"\n")
            text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            if self._file.write(text) < len(text):
                self.failed = "the disk is full"
        except OSError as error:
            self.failed = describe_file_error(error)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _key(self, task: RecordingTask) -> str:
        """Name a task and its options; paths are relative, because the folder may move."""
        options = task.options
        source = make_absolute(task.path)  # Resolving links costs too much.
        place = os.path.relpath(task.output, self._folder)
        return json.dumps(
            [source, task.session, place, options.suffix, options.seal, options.agent, __version__]
        )

    def _relative(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the files of a record, relative to the folder."""
        return {
            name: os.path.relpath(record[name], self._folder)
            for name in _FILE_MEMBERS
            if record.get(name) is not None
        }

    def _ends_in_newline(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _open_journal(path: str, flags: int) -> int:
    """Open the journal without following links or waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _parse_line(line: bytes) -> Any:
    """Return the value of a line, or None if it cannot be read."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _matches_type(value: Any, kind: Any) -> bool:
    """Return whether a value has a type: of each member in a table, or of all items of a list."""
    if isinstance(kind, dict):
        return type(value) is dict and all(
            name in value and _matches_type(value[name], inner) for name, inner in kind.items()
        )
    if isinstance(kind, list):
        return type(value) is list and all(_matches_type(item, kind[0]) for item in value)
    return type(value) in (kind if isinstance(kind, tuple) else (kind,))


def _is_drift_table(value: Any) -> bool:
    """Return whether a value counts names by their kinds."""
    return type(value) is dict and all(
        type(counts) is dict and all(type(count) is int for count in counts.values())
        for counts in value.values()
    )


def _is_record_of_task(task: RecordingTask, record: dict[str, Any]) -> bool:
    """Return whether a task would write the same files as a record names."""
    folder, name = os.path.split(task.output)
    if record["sealed"] != (
        format_path(str(build_sealed_source_path(Path(record["output"]))))
        if task.options.seal
        else None
    ):
        return False
    for label in ("", record["session-id"], task.session or ""):
        file_name = f"{make_record_name(name, task.joint, label)}{task.options.suffix}"
        if record["output"] == format_path(join_path(folder, file_name)):
            return True
    return False


def _stat_record_file(record: dict[str, Any]) -> dict[str, Any]:
    """Return the size and the time of a record's file."""
    try:
        status = Path(record["output"]).stat()
    except OSError:
        return {}
    return {"seen": [status.st_size, status.st_mtime_ns]}


def _mark_unchanged(record: dict[str, Any], task: RecordingTask) -> dict[str, Any]:
    """Return a record marked as unchanged, with its digest if that is wanted now."""
    if task.options.digests and "sha-256" not in record:
        with Path(record["output"]).open("rb") as file:
            record["sha-256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return record | {"state": "unchanged"}


def _is_record_intact(record: dict[str, Any]) -> bool:
    sealed = record.get("sealed")
    return record.get("seen") == _stat_record_file(record).get("seen", False) and (
        sealed is None or Path(sealed).is_file()
    )
