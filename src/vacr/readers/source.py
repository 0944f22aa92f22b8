"""The native bytes of one conversation. Step: read. Readers get these; `vacr.sources` makes them of files and stores."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from typing import Any

# Below this, starting a thread costs as much as it saves.
_WORTH_A_THREAD = 1 << 17


@dataclass(frozen=True)
class Part:
    """One file of a source, or what stands for it, under its name relative to the source.

    Its digest is computed beside the reading, which the hash function lets happen at the same time.
    """

    name: str
    data: bytes
    _digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    _hasher: threading.Thread = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Start hashing."""
        hasher = threading.Thread(target=self._hash, daemon=True)
        object.__setattr__(self, "_hasher", hasher)
        if len(self.data) >= _WORTH_A_THREAD:
            hasher.start()

    def _hash(self) -> None:
        self._digest.append(hashlib.sha256(self.data).hexdigest())

    @property
    def sha256(self) -> str:
        """The digest of the bytes as they were read."""
        if self._hasher.ident is not None:
            self._hasher.join()
        if not self._digest:
            self._hash()
        return self._digest[0]


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
        return [
            {"name": part.name, "size": len(part.data), "sha-256": part.sha256}
            for part in sorted(self.parts, key=lambda part: part.name)
        ]
