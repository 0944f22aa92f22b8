"""Statements and the files that they are about.

The statement about a file has the name of that file and the ending `.cose`. A user may name either:

    >>> from vacr.workflows import StatementPair, find_statement_pairs
    >>> StatementPair("abc.acr.json.cose", "abc.acr.json").is_record
    True
    >>> [pair] = find_statement_pairs("session.jsonl")
    >>> pair.file, pair.statement
    ('session.jsonl', None)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput, VacrError
from vacr.files import describe_file_error, is_file, is_folder, read_bytes, walk_files
from vacr.record import detect_and_decode

STATEMENT_SUFFIX = ".cose"
RECORD_SUFFIXES = (".acr.json", ".acr.cbor")


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A statement and the file it is about; either may be missing."""

    statement: str | None
    file: str | None

    @property
    def name(self) -> str:
        """Return the name of the file, or of its statement if the file is missing."""
        return self.file or self.statement or ""

    @property
    def is_record(self) -> bool:
        """Return whether the file is named like a record: `.acr.json` or `.acr.cbor`.

        If the file is missing, the name of its statement without `.cose` counts.
        """
        return self.name.removesuffix(STATEMENT_SUFFIX).endswith(RECORD_SUFFIXES)


def find_statement_pairs(path: str) -> Iterator[StatementPair]:
    """Yield the statement and the file that a path stands for.

    For a folder, yield all statements and unsigned records in it, sorted by name.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    if not is_folder(path):
        yield _find_statement_pair(path)
        return
    failed: list[OSError] = []
    names = set(walk_files(path, failed.append))
    if failed:
        raise UnreadableInput(describe_file_error(failed[0]), where=str(failed[0].filename))
    for name in sorted(names):
        if name.endswith(STATEMENT_SUFFIX):
            file = name.removesuffix(STATEMENT_SUFFIX)
            yield StatementPair(name, file if file in names else None)
        elif name.endswith(RECORD_SUFFIXES) and name + STATEMENT_SUFFIX not in names:
            yield StatementPair(None, name)


def _find_statement_pair(path: str) -> StatementPair:
    """Return a named statement with its file, or a named file with its statement, if any."""
    if path.endswith(STATEMENT_SUFFIX):
        file = path.removesuffix(STATEMENT_SUFFIX)
        return StatementPair(path, file if Path(file).exists() else None)
    # `vacr sign` writes the statement of a native session into the current folder.
    candidates = (path + STATEMENT_SUFFIX, Path(path).name + STATEMENT_SUFFIX)
    statement = next((name for name in candidates if is_file(name)), None)
    return StatementPair(statement, path)


def find_sealed_record(path: str, stem: str, session_id: Any) -> Path | None:
    """Return the sealed record of a session: next to its path, here, or in a folder that is here.

    It has the name that `vacr seal` makes of the `stem`, a statement, and the id of the session.
    """
    here = Path()
    with suppress(OSError):
        below = sorted(folder for folder in here.iterdir() if folder.is_dir())
        for folder in dict.fromkeys((Path(path).parent, here, *below)):
            for record in (folder / f"{stem}{suffix}" for suffix in RECORD_SUFFIXES):
                if is_file(f"{record}{STATEMENT_SUFFIX}") and _is_about(record, session_id):
                    return record
    return None


def _is_about(record: Path, session_id: Any) -> bool:
    """Return whether a record is about the session with this id; False if it is unreadable."""
    with suppress(VacrError, ValueError, TypeError, KeyError):
        value, _ = detect_and_decode(read_bytes(record))
        return bool(value["session"]["session-id"] == session_id)
    return False
