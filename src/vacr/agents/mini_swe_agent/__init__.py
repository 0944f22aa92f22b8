"""mini-swe-agent: trajectories of runs and benchmarks.

`reader` turns a trajectory into a record; `labels` knows how a command ended and what it printed.

    >>> from vacr.agents import find_agent
    >>> find_agent("mini-swe-agent").tools["bash"].value
    'shell'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vacr.agents.agent import Agent, Source, load_function
from vacr.agents.lift import is_number
from vacr.agents.mini_swe_agent import reader
from vacr.agents.tool_calls import ToolCall, ToolEffect, dict_or_empty

if TYPE_CHECKING:
    from vacr.agents.file_tools import ShellOutput
    from vacr.agents.labels import CallResult, Outcome, Speaker
    from vacr.agents.lift import Reading


class MiniSweAgent(Agent):
    """The small sibling of SWE-agent."""

    name = reader.name
    title = "mini-swe-agent"
    formats = reader.formats
    separate_call_formats = reader.formats
    stores = reader.STORES
    tools: ClassVar[Mapping[str, ToolEffect]] = {"bash": ToolEffect.SHELL}

    def recognises(self, sample: Sequence[Any]) -> float:
        """Return the share of a sample that is mini-swe-agent's, from 0 to 1."""
        return reader.recognises(sample)

    def read(self, source: Source) -> Iterator[Reading]:
        """Yield the records of the trajectories in a source."""
        return reader.read(source)

    def speaker(self, entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
        """Return who wrote a user message: the task, a person who interrupted, or the host."""
        speaker: Speaker = load_function("vacr.agents.mini_swe_agent.labels", "classify_speaker")(
            entry, record
        )
        return speaker

    def outcome(self, result: CallResult) -> Outcome:
        """Return how a command ended, by its return code."""
        outcome: Outcome = load_function("vacr.agents.mini_swe_agent.labels", "classify_outcome")(
            result
        )
        return outcome

    def shell_output(self, call: ToolCall) -> ShellOutput:
        """Return the output of a command, and its return code."""
        from vacr.agents.mini_swe_agent.labels import parse_shell_output

        return parse_shell_output(call)

    def stated_cost(self, record: dict[str, Any]) -> float | None:
        """Return the cost of the run in dollars, or None if it is not stated."""
        info = dict_or_empty(record["session"].get("info"))
        cost = dict_or_empty(info.get("model_stats")).get("instance_cost")
        return cost if is_number(cost) else None


AGENT = MiniSweAgent()
