"""A record as an ATIF trajectory. Step: export. Follows the models of Harbor, which refuse what
they do not name.

One step for each call of a model: what it thought, said and called, and what came of the calls.
Whose entries those are, and which record it is, stands in `extra.vacr`. Sub-agents that the record
holds are trajectories of their own, since 1.7.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vacr import codec
from vacr.errors import InvalidRecord
from vacr.exchange import steps as stepping
from vacr.exchange.atif import FORMAT, reading, restoring
from vacr.exchange.atif.parts import content_of, has_sound, text_alone
from vacr.exchange.exported import (
    Asked,
    Exported,
    Losses,
    lose_attribution,
    lose_events,
    lose_sealed,
    lose_the_rest,
    sifted,
)
from vacr.exchange.restored import restored
from vacr.exchange.steps import Step, instructions
from vacr.model import Native
from vacr.timestamps import as_text, milliseconds
from vacr.version import __version__
from vacr.viewer.filters import Filter
from vacr.viewer.rows import EVENT, REASONING, TOOL, Row

UNKNOWN = "unknown"
_ABOUT = frozenset(("cli-name", "cli-version", "model-id"))
_METRICS = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cached": "cached_tokens",
    "cost": "cost_usd",
}


def export(record: Native, asked: Asked) -> Exported:
    """Give a record as ATIF; one that was made of a trajectory gives that again, unless a part or a
    version is asked for.

    Raises:
        InvalidRecord: there is nothing in it that could be a step.
    """
    losses: Losses = Counter()
    whole = asked.chosen == Filter() and asked.version is None
    if whole and (data := restored(record, FORMAT, restoring.written, reading.read)) is not None:
        lose_attribution(record, losses)
        return Exported(data, losses)
    every, kept, left_out = sifted(record, asked.chosen, losses)
    found = stepping.only(stepping.steps(every, record), kept)
    lose_events((row for row in kept if row.kind == EVENT and instructions(row) is None), losses)
    lose_sealed(kept, losses)
    lose_the_rest(record, losses, "parent-id", "stop-reason", "status", "subject", about=_ABOUT)
    document = _Writing(record, asked, losses, _version(kept, asked.version)).document(
        found, partial=left_out > 0
    )
    return Exported(codec.encode(document) + b"\n", losses, left_out)


def _version(kept: list[Row], asked: str | None) -> str:
    heard = any(
        has_sound(row.parts) or (row.result is not None and has_sound(row.result.parts))
        for row in kept
    )
    return asked or ("1.8" if heard else "1.7")


class _Writing:
    """The export of one record."""

    def __init__(self, record: Native, asked: Asked, losses: Losses, version: str) -> None:
        self.record = record
        self.asked = asked
        self.losses = losses
        self.version = version

    def document(self, found: list[Step], *, partial: bool) -> Native:
        agents: dict[str, list[Step]] = {}
        for step in found:
            agents.setdefault(step.agent, []).append(step)
        split = "" in agents and self.version >= "1.7"
        own = agents[""] if split else found
        if not own:
            hint = "Some sessions have no conversation in them; filters may leave none, too."
            raise InvalidRecord(
                "there is nothing in it that ATIF can hold, which needs a step", hint=hint
            )
        said: Native = {
            "record": self.record["id"],
            "sha-256": self.asked.digest,
            "exporter": f"vacr {__version__}",
        }
        if partial:
            said["partial"] = True
        made = self._trajectory(own, self.record["id"])
        made["extra"] = {"vacr": said}
        total = _metrics(_sum([step.usage(self.record) for step in found]))
        total.pop("extra", None)
        made["final_metrics"] = {f"total_{name}": value for name, value in total.items()} | {
            "total_steps": len(own)
        }
        others = [name for name in agents if name] if split else []
        if others:
            made["subagent_trajectories"] = [
                self._trajectory(agents[name], f"{self.record['id']}/{name}") for name in others
            ]
        return made

    def _trajectory(self, found: list[Step], name: str) -> Native:
        session = self.record["session"]
        meta = session.get("agent-meta", {})
        agent = {
            "name": str(meta.get("cli-name", UNKNOWN)),
            "version": str(meta.get("cli-version", UNKNOWN)),
        }
        if meta.get("model-id", UNKNOWN) != UNKNOWN:
            agent["model_name"] = meta["model-id"]
        made: Native = {
            "schema_version": f"ATIF-v{self.version}",
            "session_id": _named(session["session-id"]),
            "agent": agent,
        }
        if self.version >= "1.7":
            made["trajectory_id"] = name
        made["steps"] = [
            {"step_id": number, **self._step(step)} for number, step in enumerate(found, 1)
        ]
        return made

    def _step(self, step: Step) -> Native:
        first = step.rows[0]
        made: Native = {"source": step.source}
        if (when := self._time(first)) is not None:
            made["timestamp"] = when
        spoken = [
            part
            for row in step.rows
            if row.kind not in (REASONING, TOOL)
            for part in instructions(row) or row.parts
        ]
        made["message"] = content_of(spoken, self.version, self.losses)
        said: Native = {"entries": [row.name for row in step.rows]}
        if first.superseded:
            said["superseded"] = first.superseded
        if step.agent:
            said["agent"] = step.agent
        if first.is_inherited:
            made["is_copied_context"] = True
        if step.source == stepping.AGENT:
            self._answer(step, made)
        return made | {"extra": {"vacr": said}}

    def _answer(self, step: Step, made: Native) -> None:
        """Add what only a step of the agent may have."""
        models = [row.model for row in step.rows if row.model and row.model != UNKNOWN]
        if models:
            made["model_name"] = models[0]
        thoughts = [
            text
            for row in step.rows
            if row.kind == REASONING and (text := text_alone(row.parts, self.losses))
        ]
        if thoughts:
            made["reasoning_content"] = "\n\n".join(thoughts)
        calls = [row for row in step.rows if row.kind == TOOL and row.tool]
        names = {
            row.place: _named(row.entry.get("call-id", f"call-{number}"))
            for number, row in enumerate(calls, 1)
        }
        if calls:
            made["tool_calls"] = [self._call(row, names[row.place]) for row in calls]
        results = [
            self._result(row, names.get(row.place))
            for row in step.rows
            if row.kind == TOOL and (row.result or not row.tool)
        ]
        if results:
            made["observation"] = {"results": results}
        if usage := step.usage(self.record):
            made["metrics"] = _metrics(usage)

    def _call(self, row: Row, name: str) -> Native:
        given = row.entry.get("input")
        call: Native = {"tool_call_id": name, "function_name": row.tool}
        return call | {"arguments": given if isinstance(given, dict) else {"input": given}}

    def _result(self, row: Row, call: str | None) -> Native:
        came = row.result or row
        made: Native = {"source_call_id": call} if call is not None else {}
        if came.parts:
            made["content"] = content_of(came.parts, self.version, self.losses)
        said: Native = {"is-error": True} if came.is_error else {}
        if call is None and "call-id" in came.entry:
            said["call-id"] = came.entry["call-id"]
        if said and self.version >= "1.7":
            made["extra"] = {"vacr": said}
        elif said:
            self.losses["marks of results (since 1.7)"] += 1
        return made

    def _time(self, row: Row) -> str | None:
        text = as_text(row.time) if row.time is not None else None
        if text is not None and milliseconds(text) is not None and ":60" not in text:
            return text
        self.losses.update(["times that no calendar has"] if row.time is not None else [])
        return None


def _metrics(usage: Native) -> Native:
    made = {other: usage[name] for name, other in _METRICS.items() if name in usage}
    rest = {name: value for name, value in usage.items() if name not in _METRICS}
    return made | ({"extra": {"vacr": rest}} if rest else {})


def _sum(usages: list[Native]) -> Native:
    total: Native = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return total


def _named(name: Any) -> str:
    return name.hex() if isinstance(name, bytes) else str(name)
