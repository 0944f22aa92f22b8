"""The native bytes of one conversation. Step: read. Readers get these; `vacr.sources` makes them of
files and stores.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacr.readers.collector import collector_paused
from vacr.readers.documents import documents
from vacr.readers.lines import Repaired, Undecodable

_BEGINS_AS_JSON = re.compile(rb'\s*(?:\{\s*"|\[\s*[\[{"])')

Batch = tuple[int, list[Any]]
"""The number of a line, and the values that begin there."""

# Below this, starting a thread costs as much as it saves.
_WORTH_A_THREAD = 1 << 19


class Part:
    """One file of a source, or what stands for it, under its name relative to the source.

    Its digest is computed beside the reading, which the hash function lets happen at the same time.
    """

    def __init__(self, name: str, data: bytes) -> None:
        """Start hashing."""
        self.name = name
        self.data = data
        self._digest = ""
        self._hasher = (
            threading.Thread(target=self._hash, daemon=True)
            if len(data) >= _WORTH_A_THREAD
            else None
        )
        self._seen: list[Batch] = []
        self._unseen: Iterator[Batch] | None = None
        if self._hasher:
            self._hasher.start()

    def _hash(self) -> None:
        self._digest = hashlib.sha256(self.data).hexdigest()

    @property
    def sha256(self) -> str:
        """The digest of the bytes as they were read."""
        if self._hasher:
            self._hasher.join()
        if not self._digest:
            self._hash()
        return self._digest

    def sample(self, size: int | None = None) -> list[Any]:
        """Look at the first JSON values, or all of them, without taking them: what cannot be
        decoded is left out.
        """
        if self._unseen is None:
            self._unseen = documents(self.data)
        values: list[Any] = []
        for _, batch in self._seen:
            values += batch
        if size is None or len(values) < size:
            with collector_paused():
                for number, batch in self._unseen:
                    self._seen.append((number, batch))
                    values += batch
                    if size is not None and len(values) >= size:
                        break
        values = [value for value in values if type(value) is not Undecodable][:size]
        return [value.value if type(value) is Repaired else value for value in values]

    def damage(self) -> str:
        """Tell why a file that should be JSON is none at all, after a look at all of it; nothing
        for any other file.
        """
        found = [value for _, batch in self._seen for value in batch]
        if not _BEGINS_AS_JSON.match(self.data) or not all(
            isinstance(value, Undecodable) for value in found
        ):
            return ""
        return found[0].reason if found else ""

    def documents(self) -> Iterator[Batch]:
        """Give the JSON values, for whoever takes them to keep and change; those that were looked
        at are not decoded again.
        """
        seen, unseen = self._seen, self._unseen or documents(self.data)
        self._seen, self._unseen = [], None
        yield from seen
        yield from unseen


@dataclass(frozen=True)
class Source:
    """The parts of one conversation: the session first, then files that belong to it."""

    parts: tuple[Part, ...]

    @property
    def main(self) -> Part:
        """The part that holds the session."""
        return self.parts[0]

    def manifest(self) -> list[dict[str, Any]]:
        """List the parts with their sizes and digests, sorted by name."""
        parts = (
            sorted(self.parts, key=lambda part: part.name) if len(self.parts) > 1 else self.parts
        )
        return [
            {"name": part.name, "size": len(part.data), "sha-256": part.sha256} for part in parts
        ]
