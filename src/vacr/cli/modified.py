"""The warning about modified records: its text, where it is printed, and its exit code.

A record was modified if its id contradicts its content. Verbs that only read such a record do their
work, warn first, and exit with 1:

    >>> from vacr.cli.modified import ModifiedRecords
    >>> from vacr.console import Voice
    >>> modified = ModifiedRecords(Voice("text", False, 0))
    >>> modified.warn("a.acr.json", "the record was modified")
    WARNING: a.acr.json: the record was modified
    >>> modified.exit_code
    1
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from vacr.console import Voice
from vacr.errors import InvalidRecord
from vacr.workflows import MODIFIED_RECORD_HINT


@dataclass
class ModifiedRecords:
    """The modified records of a run: warns about each, and keeps the exit code."""

    voice: Voice
    in_results: bool = True
    """Whether the warnings also go to standard output, above the results for people."""
    documents: list[dict[str, str]] = field(default_factory=list)
    """The path and the message of each modified record, for JSON output."""

    @property
    def exit_code(self) -> int:
        """Return 1 if a record was modified, else 0."""
        return InvalidRecord.exit_code if self.documents else 0

    def warn(self, path: str, modified: str) -> None:
        """Print the warning about a record; do nothing if `modified` is empty.

        It goes to standard error, even with `--quiet`, and above the results. On a terminal that
        shows both, it is printed once.
        """
        if not modified:
            return
        self.documents.append({"source": path, "message": modified})
        in_results = self.in_results and not self.voice.json and not self.voice.quiet
        if in_results:
            self.voice.result(format_modified_warning(path, modified))
        if not (in_results and sys.stdout.isatty() and sys.stderr.isatty()):
            self.voice.error(f"vacr: warning: {path}: {modified}", MODIFIED_RECORD_HINT)


def format_modified_warning(path: str, modified: str) -> str:
    """Return the line about a modified record for the output that people read."""
    return f"WARNING: {path}: {modified}"
