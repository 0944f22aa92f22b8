"""Conversations of programs that vacr does not know, in the formats of the usual model APIs.

`reader` turns a conversation into a record; `member_map` parses the file that names its members.
vacr never takes a file for one of these by itself: the user asks for it with `--agent`.

    >>> from vacr.agents import find_agent
    >>> find_agent("generic").recognises([{"role": "user", "content": "Hello!"}])
    0.0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.labels import CallResult, Outcome, parse_status_word

if TYPE_CHECKING:
    from vacr.agents.lift import Reading


class Generic(Agent):
    """Any program whose conversations have roles and contents."""

    name = "generic"
    formats = ("generic-json", "generic-list", "generic-jsonl")
    separate_call_formats = formats
    map_suffix = ".map.toml"
    attached = (f"{{stem}}{map_suffix}",)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the conversations in a source."""
        readings: Iterator[Reading] = load_function("vacr.agents.generic.reader", "read")(source)
        return readings

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a call ended, by the program's own flag or word; else unknown."""
        stated = super().outcome(result)
        if stated.status:
            return stated
        native = result.entry.get("vacr", {}).get("native", {})
        return Outcome(parse_status_word(native.get("status")))

    def expects_results(self, record: dict[str, Any]) -> bool:
        """Return whether a conversation has results of calls at all."""
        entries = record["session"]["entries"]
        children = (child for entry in entries for child in entry.get("children", ()))
        return any(entry["type"] == "tool-result" for entry in (*entries, *children))


AGENT = Generic()
