"""The caution before somebody shares a file that contains a whole conversation.

vacr does not look for secrets. It counts what the records know: the places in `vacr.secrets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vacr.console import Voice
from vacr.record import list_secret_places


class SharingCaution:
    """Collects the records that a run wrote into files, and prints one caution about them."""

    def __init__(self, voice: Voice) -> None:
        """Take the voice of the verb."""
        self._voice = voice
        self._is_needed = False
        self._places = 0

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Count the known secrets of records in a file that was written."""
        for record in records:
            self._is_needed = True
            self._places += len(list_secret_places(record))

    def print_tip(self) -> None:
        """Print the caution on a terminal, if files with a conversation were written."""
        if self._is_needed:
            known = f" ({self._places:,} known: see vacr.secrets)" if self._places else ""
            self._voice.tip(
                f"Before you share it: it contains the whole conversation, secrets included{known}."
            )
