"""What is found wrong with a log. Step: register."""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST = 100


@dataclass
class Findings:
    """What is wrong, as far as it is listed."""

    found: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, told: str) -> None:
        """Note something that is wrong."""
        if len(self.found) < _MOST:
            self.found.append(told)
        else:
            self.more += 1
