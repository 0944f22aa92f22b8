"""How long to wait for a service, and when to try again. Step: register.

A service may say when to come back; otherwise each wait is twice as long as the one before, and
never quite the same, so that many who wait do not come back at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FIRST, _LONGEST = 0.25, 15.0


@dataclass
class Patience:
    """The time that one registration may take beyond its questions, while it is used up."""

    seconds: float = 60.0
    """How long all waits together may be."""
    tries: int = 6
    """How often a question that failed is asked."""
    sleep: Callable[[float], None] = time.sleep
    waited: float = field(default=0.0, init=False)
    failed: int = field(default=0, init=False)
    polled: int = field(default=0, init=False)

    def again(self, retry_after: str | None) -> bool:
        """Wait before a question that failed is asked again; tell whether to ask it."""
        self.failed += 1
        return self.failed < self.tries and self._wait(self.failed, retry_after)

    def poll(self, retry_after: str | None) -> bool:
        """Wait for a service that is still at work; tell whether to ask again."""
        self.polled += 1
        return self._wait(self.polled, retry_after)

    def _wait(self, number: int, retry_after: str | None) -> bool:
        asked = seconds_of(retry_after)
        pause = min(_LONGEST, _FIRST * 2 ** min(number - 1, 16)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
        pause = max(asked, min(pause, 1.0)) if asked is not None else pause
        if self.waited + pause > self.seconds:
            return False
        self.waited += pause
        self.sleep(pause)
        return True


def seconds_of(retry_after: str | None) -> float | None:
    """Read `Retry-After`, seconds or a date (RFC 9110 section 10.2.3); nothing where it says
    nothing.
    """
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.strip().isdecimal() and len(retry_after) < 10:  # noqa: PLR2004 - longer than anybody waits
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
