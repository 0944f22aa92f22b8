"""Records on disk, and the statements beside them.

The statement about a file has the name of that file and the ending `.cose`, whichever of the two a
user names:

    >>> from vacr.workflows import StatementPair, find_statement_pairs
    >>> StatementPair("abc.acr.json.cose", "abc.acr.json").is_record
    True
    >>> [pair] = find_statement_pairs("examples/codex-cli.jsonl")
    >>> pair.file, pair.statement
    ('examples/codex-cli.jsonl', None)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput
from vacr.files import describe_file_error, read_bytes
from vacr.record import RecordEncoding, detect_and_decode

STATEMENT_SUFFIX = ".cose"
RECORD_SUFFIXES = (".acr.json", ".acr.cbor")


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A statement and the file it is about; either may be missing."""

    statement: str | None
    file: str | None

    @property
    def name(self) -> str:
        """Return the name that a person would use for it."""
        return self.file or self.statement or ""

    @property
    def is_record(self) -> bool:
        """Return whether the file has the name of a record."""
        return self.name.removesuffix(STATEMENT_SUFFIX).endswith(RECORD_SUFFIXES)


def find_statement_pairs(path: str) -> Iterator[StatementPair]:
    """Yield the statement and the file that a path stands for; of a folder, all of them in order.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a user's path
        yield _find_statement_pair(path)
        return
    failed: list[OSError] = []
    names = {
        os.path.join(folder, name)  # noqa: PTH118 - a user's path
        for folder, _, files in os.walk(path, onerror=failed.append)
        for name in files
    }
    if failed:
        raise UnreadableInput(describe_file_error(failed[0]), where=str(failed[0].filename))
    for name in sorted(names):
        if name.endswith(STATEMENT_SUFFIX):
            file = name.removesuffix(STATEMENT_SUFFIX)
            yield StatementPair(name, file if file in names else None)
        elif name.endswith(RECORD_SUFFIXES) and name + STATEMENT_SUFFIX not in names:
            yield StatementPair(None, name)


def _find_statement_pair(path: str) -> StatementPair:
    if path.endswith(STATEMENT_SUFFIX):
        file = path.removesuffix(STATEMENT_SUFFIX)
        return StatementPair(path, file if Path(file).exists() else None)
    # `vacr sign` writes the statement of a native session into the current folder.
    candidates = (path + STATEMENT_SUFFIX, Path(path).name + STATEMENT_SUFFIX)
    # Path.is_file raises for a name that leaves no room for the ending.
    statement = next((name for name in candidates if os.path.isfile(name)), None)  # noqa: PTH113 - see above
    return StatementPair(statement, path)


def read_json_or_cbor(path: str) -> tuple[Any, RecordEncoding]:
    """Read the value in a file, and return it with its form.

    Raises:
        UnreadableInput: there is no such file, or it is not exactly one value of either form.
    """
    return decode_json_or_cbor(read_bytes(path))


def decode_json_or_cbor(data: bytes) -> tuple[Any, RecordEncoding]:
    """Decode a value, and return it with its form.

    Raises:
        UnreadableInput: it is not exactly one value of either form.
    """
    try:
        return detect_and_decode(data)
    except UnreadableInput as error:
        hint = (
            error.hint or "If it is a native session, make a record of it first: vacr record FILE."
        )
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error
