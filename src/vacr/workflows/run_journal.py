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
        """Read the journal of a folder, if there is one, and remember the position of each line.

        Raises:
            UsageError: the path of the journal is not a regular file.
        """
        self._folder = folder
        self._path = folder / RUN_JOURNAL_NAME
        self._lines: dict[str, tuple[str, int]] = {}
        """The fingerprint of each task's place, and the position of its line, by task key."""
        self._file: BinaryIO | None = None
        self.failed = ""
        """Why the journal cannot be written; empty if it can."""
        if os.path.lexists(self._path):
            if not stat.S_ISREG(self._path.lstat().st_mode):
                raise UsageError(
                    f"{self._path}, the journal of the output folder, is not a regular file",
                    hint="Remove it, or name another output folder with -o.",
                )
            with self._path.open("rb") as file:
                position = 0
                for line in file:
                    entry = _parse_line(line)
                    if _matches_type(entry, _HEAD_TYPES):
                        self._lines[entry["key"]] = entry["state"], position
                    position += len(line)

    def done(self, task: RecordingTask) -> RecordingOutcome | None:
        """Return the outcome of a task in an earlier run, or None if the task must be done again.

        It must be done again if the place or the options changed, or a record is gone or changed.
        """
        state, position = self._lines.get(self._build_key(task), ("", 0))
        if not state or state != task.state:
            return None
        with self._path.open("rb") as file:
            file.seek(position)
            entry = _parse_line(file.readline())
        if not _matches_type(entry, _LINE_TYPES):
            return None
        if bool(entry["records"]) == bool(entry["skipped"]):
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
        """Add the outcome of a task, unless it failed: then the next run tries again.

        If the line cannot be written, set `failed`, and write nothing from then on.
        """
        if self.failed or not outcome.task.state or (outcome.errors and not outcome.skipped):
            return
        records = [
            record | _stat_record_file(record) | self._make_paths_relative(record)
            for record in outcome.records
        ]
        line = {
            "key": self._build_key(outcome.task),
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
        """Close the journal's file, if a line was written."""
        if self._file is not None:
            self._file.close()

    def _build_key(self, task: RecordingTask) -> str:
        """Return a text that identifies a task, its options and the version of vacr.

        The path of the output is relative, because the folder may move.
        """
        options = task.options
        source = make_absolute(task.path)  # Resolving links costs too much.
        place = os.path.relpath(task.output, self._folder)
        key = [source, task.session, place, options.suffix, options.keep_source, options.agent]
        if options.map_file is not None:
            key.append(hashlib.sha256(options.map_file.data).hexdigest())
        return json.dumps([*key, __version__])

    def _make_paths_relative(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a record's description that are paths, relative to the folder."""
        return {
            name: os.path.relpath(record[name], self._folder)
            for name in _FILE_MEMBERS
            if record.get(name) is not None
        }

    def _ends_in_newline(self) -> bool:
        """Return whether the journal's last line is complete; the file must not be empty."""
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _open_journal(path: str, flags: int) -> int:
    """Open the journal without following links or waiting for a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def _parse_line(line: bytes) -> Any:
    """Return the JSON value in a line, or None if it is malformed."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _matches_type(value: Any, kind: Any) -> bool:
    """Return whether a decoded JSON value has a type.

    A dict has the types of members that must be present, a list the type of all items, and a tuple
    alternatives: `{"a": [int], "b": (str, NoneType)}` matches `{"a": [1, 2], "b": None}`.
    """
    if isinstance(kind, dict):
        return type(value) is dict and all(
            name in value and _matches_type(value[name], inner) for name, inner in kind.items()
        )
    if isinstance(kind, list):
        return type(value) is list and all(_matches_type(item, kind[0]) for item in value)
    return type(value) in (kind if isinstance(kind, tuple) else (kind,))


def _is_drift_table(value: Any) -> bool:
    """Return whether a value has counts of names by kind, such as `{"tool": {"deploy": 2}}`."""
    return type(value) is dict and all(
        type(counts) is dict and all(type(count) is int for count in counts.values())
        for counts in value.values()
    )


def _is_record_of_task(task: RecordingTask, record: dict[str, Any]) -> bool:
    """Return whether a task would write the files that a record's description names."""
    folder, name = os.path.split(task.output)
    sealed = None
    if task.options.keep_source:
        sealed = format_path(str(build_sealed_source_path(Path(record["output"]))))
    if record["sealed"] != sealed:
        return False
    for label in ("", record["session-id"], task.session or ""):
        file_name = f"{make_record_name(name, task.joint, label)}{task.options.suffix}"
        if record["output"] == format_path(join_path(folder, file_name)):
            return True
    return False


def _stat_record_file(record: dict[str, Any]) -> dict[str, Any]:
    """Return the size and the modification time of a record's file as the member `seen`.

    Return an empty dict if the file does not exist.
    """
    try:
        status = Path(record["output"]).stat()
    except OSError:
        return {}
    return {"seen": [status.st_size, status.st_mtime_ns]}


def _mark_unchanged(record: dict[str, Any], task: RecordingTask) -> dict[str, Any]:
    """Return the description of a record with the state "unchanged".

    Add the digest of its file if the options want it.
    """
    if task.options.digests and "sha-256" not in record:
        with Path(record["output"]).open("rb") as file:
            record["sha-256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return record | {"state": "unchanged"}


def _is_record_intact(record: dict[str, Any]) -> bool:
    """Return whether a record's file has not changed since, and its sealed source still exists."""
    sealed = record.get("sealed")
    return record.get("seen") == _stat_record_file(record).get("seen", False) and (
        sealed is None or Path(sealed).is_file()
    )
