"""The garbage collector, kept out of the way. Step: read.

The native bytes of one conversation. Step: read. Readers get these; `vacr.sources` makes them of
files and stores.

Where agents keep their sessions on a machine, as their readers describe it. Step: read; what is
read is data.
"""

from __future__ import annotations

import gc
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.agents.documents import RepairedValue, UndecodableBytes, parse_json_documents


class pause_garbage_collector:  # noqa: N801 - used as a function
    """Keep the garbage collector from going through values again and again while there are only
    more of them.
    """

    def __enter__(self) -> None:
        """Pause it."""
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        """Let it go on, if it did before."""
        if self._was_enabled:
            gc.enable()


_JSON_START = re.compile(rb'\s*(?:\{\s*"|\[\s*[\[{"])')

ValueBatch = tuple[int, list[Any]]
"""The number of a line, and the values that begin there."""

# Below this, starting a thread costs as much as it saves.
_MIN_THREADED_HASH_BYTES = 1 << 19


class SourcePart:
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
            if len(data) >= _MIN_THREADED_HASH_BYTES
            else None
        )
        self._seen: list[ValueBatch] = []
        self._unseen: Iterator[ValueBatch] | None = None
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
            self._unseen = parse_json_documents(self.data)
        values: list[Any] = []
        for _, batch in self._seen:
            values += batch
        if size is None or len(values) < size:
            with pause_garbage_collector():
                for number, batch in self._unseen:
                    self._seen.append((number, batch))
                    values += batch
                    if size is not None and len(values) >= size:
                        break
        values = [value for value in values if type(value) is not UndecodableBytes][:size]
        return [value.value if type(value) is RepairedValue else value for value in values]

    def damage(self) -> str:
        """Tell why a file that should be JSON is none at all, after a look at all of it; nothing
        for any other file.
        """
        found = [value for _, batch in self._seen for value in batch]
        if not _JSON_START.match(self.data) or not all(
            isinstance(value, UndecodableBytes) for value in found
        ):
            return ""
        return found[0].reason if found else ""

    def documents(self) -> Iterator[ValueBatch]:
        """Give the JSON values, for whoever takes them to keep and change; those that were looked
        at are not decoded again.
        """
        seen, unseen = self._seen, self._unseen or parse_json_documents(self.data)
        self._seen, self._unseen = [], None
        yield from seen
        yield from unseen


@dataclass(frozen=True)
class Source:
    """The parts of one conversation: the session first, then files that belong to it."""

    parts: tuple[SourcePart, ...]

    @property
    def main(self) -> SourcePart:
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


@dataclass(frozen=True)
class SessionStore:
    """A folder of an agent, and where the sessions lie in it."""

    sessions: tuple[str, ...]
    """Patterns of the files or databases, from the folder."""
    default: str
    """The folder that the variable replaces; `~` is the user's own. Nothing: there is a store only
    if the variable is set.
    """
    variable: str = ""
    """The environment variable of the agent that names another."""
    under: str = ""
    """What follows the folder that either of them gives."""
    systems: dict[str, str] = field(default_factory=dict)
    """Other defaults by operating system, as `sys.platform` names them."""
    variables: dict[str, str] = field(default_factory=dict)
    """Other variables by operating system."""
    within: SessionStore | None = None
    """The store in whose folder the variable's value is to be found if it is no whole path."""
    unless: str = ""
    """A variable which, when set, says that the sessions are elsewhere."""
