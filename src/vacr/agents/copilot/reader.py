"""A log of Copilot CLI → a record.

Copilot serves models of several makers. With a key of their own, people choose the provider; then
the log does not state a name for it.

    >>> from vacr.agents.copilot.reader import PROVIDER
    >>> PROVIDER
    'github-copilot'
"""

from __future__ import annotations

from collections.abc import Iterator

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.copilot_events import CopilotEventReader
from vacr.agents.lift import Reading

name = "copilot"
formats = ("copilot-jsonl",)
PROVIDER = "github-copilot"


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one log, without labels."""
    with pause_garbage_collector():
        reading = CopilotEventReader(formats[0], name, PROVIDER).read(source)
    yield reading
