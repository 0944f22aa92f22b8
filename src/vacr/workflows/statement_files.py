"""Statements on disk and what they are about: a statement lies beside its file, under that file's
name and `.cose`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.files import describe_file_error

STATEMENT_SUFFIX = ".cose"
RECORD_SUFFIXES = (".acr.json", ".acr.cbor")


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A statement and the file it is about; either may be missing."""

    statement: str | None
    file: str | None

    @property
    def name(self) -> str:
        """What a person would call it."""
        return self.file or self.statement or ""

    @property
    def is_record(self) -> bool:
        """Whether the file has the name of a record."""
        return self.name.removesuffix(STATEMENT_SUFFIX).endswith(RECORD_SUFFIXES)


def find_statement_pairs(path: str) -> Iterator[StatementPair]:
    """Give the statement and the file that a path stands for; of a folder, all of them, in order.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield _find_statement_pair(path)
        return
    failed: list[OSError] = []
    found = {
        os.path.join(folder, name)  # noqa: PTH118
        for folder, _, names in os.walk(path, onerror=failed.append)
        for name in names
    }
    if failed:
        raise UnreadableInput(describe_file_error(failed[0]), where=str(failed[0].filename))
    for name in sorted(found):
        if name.endswith(STATEMENT_SUFFIX):
            about = name.removesuffix(STATEMENT_SUFFIX)
            yield StatementPair(name, about if about in found else None)
        elif name.endswith(RECORD_SUFFIXES) and name + STATEMENT_SUFFIX not in found:
            yield StatementPair(None, name)


def _find_statement_pair(path: str) -> StatementPair:
    if path.endswith(STATEMENT_SUFFIX):
        about = path.removesuffix(STATEMENT_SUFFIX)
        return StatementPair(path, about if Path(about).exists() else None)
    beside, here = path + STATEMENT_SUFFIX, Path(path).name + STATEMENT_SUFFIX
    # A name that leaves no room for the ending is that of no file, which `Path` would raise.
    return StatementPair(next((one for one in (beside, here) if os.path.isfile(one)), None), path)  # noqa: PTH113
