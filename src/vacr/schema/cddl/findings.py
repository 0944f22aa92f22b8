"""A finding: where a value does not match, and what was expected there. Step: validate."""

from __future__ import annotations

from dataclasses import dataclass

from vacr.errors import printable


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a value does not match its schema."""

    pointer: str
    """The JSON pointer (RFC 6901) of the value; empty for the whole."""
    rule: str
    """The rule that was not met: the nearest one with a name."""
    found: str
    """What is there, in few words."""
    expected: str
    """What should be there, in the notation of CDDL."""

    def text(self) -> str:
        """Say it in one line."""
        return (
            f"{printable(self.pointer) or '(root)'}: {self.rule}: {self.found}, expected "
            f"{self.expected}"
        )
