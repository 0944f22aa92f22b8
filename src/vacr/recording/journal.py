"""What a run over a folder has done so far, so that the next one goes on where it stopped.

A line for each place, written when its records are; a line that was cut short is as if it were not there. A place counts as done
when it looks as it did, the wish is the same, and its records are still there as they were written.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from vacr.recording.tasks import Outcome, Task
from vacr.version import __version__

NAME = ".vacr-journal.jsonl"
_FILES = ("output", "sealed")


class Journal:
    """The journal of an output folder."""

    def __init__(self, folder: Path) -> None:
        """Read what there is; only where each line stands is kept."""
        self._folder = folder
        self._path = folder / NAME
        self._lines: dict[str, tuple[str, int]] = {}
        self._file: BinaryIO | None = None
        if self._path.is_file():
            with self._path.open("rb") as file:
                position = 0
                for line in file:
                    try:
                        done = json.loads(line)
                        self._lines[done["key"]] = done["state"], position
                    except (ValueError, KeyError, TypeError):
                        pass
                    position += len(line)

    def done(self, task: Task) -> Outcome | None:
        """Give what came of a task in an earlier run, if that still stands."""
        state, position = self._lines.get(self._key(task), ("", 0))
        if not state or state != task.state:
            return None
        with self._path.open("rb") as file:
            file.seek(position)
            done = json.loads(file.readline())
        for record in done["records"]:
            for member in _FILES:
                if record.get(member) is not None:
                    record[member] = os.path.join(self._folder, record[member])  # noqa: PTH118 - as it is named now
        if not all(_is_there(record) for record in done["records"]):
            return None
        return Outcome(task, [_unchanged(record, task) for record in done["records"]], [], done["skipped"])

    def write(self, outcome: Outcome) -> None:
        """Add what came of a task, unless it failed: then the next run tries again."""
        if not outcome.task.state or (outcome.errors and not outcome.skipped):
            return
        records = [record | _seen(record) | self._relative(record) for record in outcome.records]
        line = {"key": self._key(outcome.task), "state": outcome.task.state, "records": records, "skipped": outcome.skipped}
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab")
            if self._file.tell() and not self._ends_in_newline():
                self._file.write(b"\n")
        self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _key(self, task: Task) -> str:
        """Name a task and the wish it is done under; the folder may be named otherwise the next time, or be elsewhere."""
        wish = task.wish
        source = os.path.abspath(task.path)  # noqa: PTH100 - resolving links costs more than a small session
        place = os.path.relpath(task.output, self._folder)
        return json.dumps([source, task.session, place, wish.suffix, wish.seal, wish.agent, __version__])

    def _relative(self, record: dict[str, Any]) -> dict[str, Any]:
        """Name the files of a record from the folder on."""
        return {name: os.path.relpath(record[name], self._folder) for name in _FILES if record.get(name) is not None}

    def _ends_in_newline(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def _seen(record: dict[str, Any]) -> dict[str, Any]:
    """Tell what a record's file looks like."""
    try:
        status = Path(record["output"]).stat()
    except OSError:
        return {}
    return {"seen": [status.st_size, status.st_mtime_ns]}


def _unchanged(record: dict[str, Any], task: Task) -> dict[str, Any]:
    """Describe a record that is as it was; its digest is computed if it was not asked for then."""
    if task.wish.digests and "sha-256" not in record:
        with Path(record["output"]).open("rb") as file:
            record["sha-256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return record | {"state": "unchanged"}


def _is_there(record: dict[str, Any]) -> bool:
    sealed = record.get("sealed")
    return record.get("seen") == _seen(record).get("seen", False) and (sealed is None or Path(sealed).is_file())
