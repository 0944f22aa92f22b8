"""What is to be recorded and what came of it: plain values that pass between processes and
machines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wish:
    """How records are to be made, the same for all of a run."""

    cbor: bool = False
    seal: bool = False
    overwrite: bool = False
    agent: str | None = None
    sub_agents: bool = True
    named: tuple[str, ...] = ()
    """The files that were named one by one: none of them is written over, nor recorded as another's
    sub-agent.
    """
    digests: bool = False
    """Tell the digests of the files that are written."""
    not_in_stores: bool = False
    """Refuse to write if the current folder is an agent's own store."""

    @property
    def suffix(self) -> str:
        """The ending of a record's file name."""
        return ".acr.cbor" if self.cbor else ".acr.json"


@dataclass(frozen=True)
class Task:
    """One place to be recorded, and the name of its record without the ending."""

    path: str
    output: str
    wish: Wish
    chosen: str | None = None
    """The name of the record's file, where it was named; what a place holds beside is named after
    it.
    """
    session: str | None = None
    joint: str = "."
    """What comes between the name of the place and a session's label in the name of a record."""
    clashes_with: str = ""
    """Another place whose record has that name."""
    state: str = ""
    """What the place looked like when it was last seen; empty where nobody will ask."""
    size: int = 0
    """How many bytes it has, where that is known."""
    passed_over: str = ""
    """Why it is not even looked at."""


@dataclass
class Outcome:
    """What came of a task."""

    task: Task
    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    skipped: str = ""
    """Why there is nothing to record: it is no session."""
    exit_code: int = 0

    @property
    def findings(self) -> int:
        """Count what is worth knowing: what was unknown, could not be decoded or was left out."""
        return sum(
            len(record["notices"]) + len(record["drift"]) + len(record["left-out"])
            for record in self.records
        )
