"""The warnings about modified and invalid records: texts, where they are printed, the exit code.

A record was modified if its id contradicts its content. Verbs that only read such a record do their
work, warn first, and exit with 1:

    >>> from vacr.cli.modified import ModifiedRecords
    >>> from vacr.console import Voice
    >>> modified = ModifiedRecords(Voice("text", False, 0))
    >>> modified.warn("a.acr.json", "the record was modified: its id is 'x', but …")
    WARNING: a.acr.json: the record was modified: its id does not match its content
    >>> modified.exit_code
    1
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from vacr.console import Voice
from vacr.errors import InvalidRecord
from vacr.workflows import MODIFIED_RECORD_HINT

MODIFIED_SUMMARY = "the record was modified: its id does not match its content"
"""The warning without the two ids, which `-v` shows."""


@dataclass
class ModifiedRecords:
    """The modified or invalid records of a run: warns about each, and keeps the exit code."""

    voice: Voice
    in_results: bool = True
    """Whether the warnings also go to standard output, above the results for people."""
    in_own_results: bool = False
    """Whether the verb prints the warnings above the results itself, with `format_warning`."""
    documents: list[dict[str, str]] = field(default_factory=list)
    """The path and the message of each such record, for JSON output."""

    @property
    def exit_code(self) -> int:
        """Return 1 if there was a warning, else 0."""
        return InvalidRecord.exit_code if self.documents else 0

    def warn(self, path: str, modified: str) -> None:
        """Print the warning about a record; do nothing if `modified` is empty.

        `modified` is the text of the contradiction, printed in full only with `-v`. The warning
        goes to standard error, even with `--quiet`, and above the results. On a terminal that shows
        both, it is printed once.
        """
        if modified:
            text = modified if self.voice.verbose else MODIFIED_SUMMARY
            self._warn(path, modified, text, MODIFIED_RECORD_HINT)

    def warn_invalid(self, path: str, reason: str) -> None:
        """Print the warning about a record that is not valid; do nothing if `reason` is empty."""
        if reason:
            self._warn(path, reason, reason, f"To see all findings: vacr validate {path}")

    def _warn(self, path: str, message: str, text: str, hint: str) -> None:
        """Print a warning, and keep its message for JSON output."""
        self.documents.append({"source": path, "message": message})
        is_text = not self.voice.json and not self.voice.quiet
        if self.in_results and is_text:
            self.voice.result(f"WARNING: {path}: {text}")
        is_shown = self.in_results or self.in_own_results
        if not (is_shown and is_text and sys.stdout.isatty() and sys.stderr.isatty()):
            self.voice.error(f"vacr: warning: {path}: {text}", hint)

    def format_warning(self, path: str, modified: str) -> str:
        """Return the line about a modified record for the output that people read.

        `modified` is the text of the contradiction; without `-v`, a short sentence replaces it.
        """
        return f"WARNING: {path}: {modified if self.voice.verbose else MODIFIED_SUMMARY}"
