"""The native bytes of one conversation. Step: read. Readers get these; `vacr.sources` makes them of files and stores."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Part:
    """One file of a source, or what stands for it, under its name relative to the source."""

    name: str
    data: bytes

    @cached_property
    def sha256(self) -> str:
        """The digest of the bytes as they were read."""
        return hashlib.sha256(self.data).hexdigest()


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
