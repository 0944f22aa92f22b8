"""Statements on disk and what they are about: a statement lies beside its file, under that file's
name and `.cose`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import UnreadableInput
from vacr.sources.files import reason_of

COSE = ".cose"
RECORDS = (".acr.json", ".acr.cbor")


@dataclass(frozen=True, slots=True)
class Pair:
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
        return self.name.removesuffix(COSE).endswith(RECORDS)


def pairs(path: str) -> Iterator[Pair]:
    """Give the statement and the file that a path stands for; of a folder, all of them, in order.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield _pair(path)
        return
    failed: list[OSError] = []
    found = {
        os.path.join(folder, name)  # noqa: PTH118
        for folder, _, names in os.walk(path, onerror=failed.append)
        for name in names
    }
    if failed:
        raise UnreadableInput(reason_of(failed[0]), where=str(failed[0].filename))
    for name in sorted(found):
        if name.endswith(COSE):
            about = name.removesuffix(COSE)
            yield Pair(name, about if about in found else None)
        elif name.endswith(RECORDS) and name + COSE not in found:
            yield Pair(None, name)


def _pair(path: str) -> Pair:
    if path.endswith(COSE):
        about = path.removesuffix(COSE)
        return Pair(path, about if Path(about).exists() else None)
    beside, here = path + COSE, Path(path).name + COSE
    # A name that leaves no room for the ending is that of no file, which `Path` would raise.
    return Pair(next((one for one in (beside, here) if os.path.isfile(one)), None), path)  # noqa: PTH113
