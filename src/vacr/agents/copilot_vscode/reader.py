"""The sessions of VS Code Copilot Chat → records: the chat store, or the thin log.

>>> from vacr.agents.copilot_vscode.reader import recognise
>>> recognise([{"responderUsername": "GitHub Copilot", "requests": []}])
1.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.copilot_events import CopilotEventReader, is_event_line, recognise_event_log
from vacr.agents.lift import Reading
from vacr.agents.vscode_chat import is_chat, is_initial_line, is_mutation_line, read_chats

name = "copilot-vscode"
EVENT_FORMAT = "vscode-copilot-jsonl"


def recognise(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is the chat store's or the thin log's; 0 if empty."""
    if not sample:
        return 0.0
    if any(is_chat(value) or is_initial_line(value) for value in sample):
        known = sum(
            1
            for value in sample
            if is_chat(value) or is_initial_line(value) or is_mutation_line(value)
        )
        return known / len(sample)
    return recognise_event_log(sample, by_editor=True)


def read(source: Source) -> Iterator[Reading]:
    """Yield the records of the conversations in a source, without labels."""
    if any(map(is_event_line, source.main.sample(4))):
        with pause_garbage_collector():
            reading = CopilotEventReader(EVENT_FORMAT, name, "github-copilot").read(source)
        yield reading
    else:
        yield from read_chats(source, name)
