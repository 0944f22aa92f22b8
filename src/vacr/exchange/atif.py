"""ATIF, the Agent Trajectory Interchange Format of Harbor, versions 1.5 to 1.8, both ways.

What was said or printed, as ATIF has it: a text, or parts where there are pictures or sounds.
Step: export.

What ATIF asks beyond the shape of a document. Step: import. The same rules as in the models of
Harbor.

An ATIF trajectory as a record. Step: import.

Members are lifted, not copied: what has no canonical place stays under its own name, in the entry
of its step or in the session, so that `restoring` gives the document back. Only a member that is
null is left out, as the record format asks. An embedded sub-agent is an event at the end of its
parent's entries, with its own entries as children.

The ATIF trajectory that a record was made of. Step: export. The inverse of `reading`, member by
member.

A record as an ATIF trajectory. Step: export. Follows the models of Harbor, which refuse what
they do not name.

One step for each call of a model: what it thought, said and called, and what came of the calls.
Whose entries those are, and which record it is, stands in `extra.vacr`. Sub-agents that the record
holds are trajectories of their own, since 1.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    Source,
    add_remaining_members,
    drop_nulls,
    get_writable_marks,
    is_count,
)
from vacr.errors import InvalidRecord
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    check_document,
    count_encrypted_reasoning,
    count_lost_attribution,
    count_lost_events,
    count_lost_members,
    restore_document,
    select_rows,
)
from vacr.exchange.steps import (
    AGENT_SOURCE,
    SYSTEM_MESSAGE_EVENT,
    ConversationStep,
    filter_steps,
    get_instructions,
    group_rows_into_steps,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, SESSION_MEMBERS, TOKEN_USAGE_MEMBERS, JsonObject
from vacr.record import (
    decode_json,
    encode,
    format_timestamp,
    get_epoch_milliseconds,
    get_vacr_metadata,
)
from vacr.version import __version__
from vacr.viewer import (
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    ContentPart,
    ImagePart,
    OtherPart,
    Row,
    RowFilter,
    TextPart,
    format_json,
)

ATIF_VERSIONS = ("1.5", "1.6", "1.7", "1.8")
ATIF_FORMAT = "atif"
"""The trace format id of a record that was made of it."""


ATIF_IMAGE_TYPES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
ATIF_AUDIO_TYPES = frozenset(
    f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff")
)
_AUDIO_TYPE_ALIASES = {
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/m4a": "audio/mp4",
}


def has_audio(parts: Iterable[ContentPart]) -> bool:
    """Tell whether there is anything to hear."""
    return any(_get_audio_source(part) is not None for part in parts)


def build_atif_content(
    parts: list[ContentPart], version: str, losses: ExportLosses
) -> str | list[JsonObject]:
    """Give what parts say: one text where it is all text, as what ATIF had before 1.6 and what most
    readers expect.
    """
    made = [_build_content_part(part, version, losses) for part in parts]
    if all(one["type"] == "text" for one in made):
        return "\n".join(one["text"] for one in made)
    return made


def build_atif_text(parts: list[ContentPart], losses: ExportLosses) -> str:
    """Give what parts say where only a text may stand."""
    return "\n".join(_build_content_part(part, ATIF_VERSIONS[0], losses)["text"] for part in parts)


def _build_content_part(part: ContentPart, version: str, losses: ExportLosses) -> JsonObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    sound = _get_audio_source(part)
    if sound is not None and version >= "1.8":
        return {"type": "audio", "source": sound}
    if isinstance(part, ImagePart):
        path = part.address or f"data:{part.media_type};base64,{part.data}"
        if version >= "1.6" and part.media_type in ATIF_IMAGE_TYPES:
            return {"type": "image", "source": {"media_type": part.media_type, "path": path}}
        losses["images and sounds"] += 1
        return {"type": "text", "text": f"[{part.media_type or 'a file of no type'}, not exported]"}
    return {"type": "text", "text": format_value_as_text(part.value)}


def format_value_as_text(value: Any) -> str:
    """Give any value as a text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else format_json(value)


def _get_audio_source(part: ContentPart) -> JsonObject | None:
    """See a part as a sound, as Gemini and OpenAI have them."""
    if isinstance(part, ImagePart):
        kind, path = part.media_type, part.address or f"data:{part.media_type};base64,{part.data}"
    elif (
        isinstance(part, OtherPart)
        and isinstance(part.value, dict)
        and isinstance(held := part.value.get("input_audio"), dict)
    ):
        kind, data = f"audio/{held.get('format')}", held.get("data")
        path = f"data:{kind};base64,{data}" if isinstance(data, str) else ""
    else:
        return None
    kind = _AUDIO_TYPE_ALIASES.get(kind, kind)
    return {"media_type": kind, "path": path} if kind in ATIF_AUDIO_TYPES and path else None


_AGENT_STEP_MEMBERS = (
    "model_name",
    "reasoning_effort",
    "reasoning_content",
    "tool_calls",
    "metrics",
)
_MODEL_STEP_MEMBERS = ("metrics", "reasoning_content")


def check_trajectory(document: JsonObject) -> None:
    """Check a trajectory.

    Raises:
        InvalidRecord: it breaks a rule; the first place where.
    """
    check_document(document, "vacr.exchange", "atif.cddl", "ATIF trajectory")
    for where, told in _find_broken_rules(document, ""):
        raise InvalidRecord(f"no ATIF trajectory: {told}", where=where)


def _find_broken_rules(trajectory: JsonObject, base: str) -> Iterator[tuple[str, str]]:
    """Give what is wrong with a trajectory and those in it."""
    for number, step in enumerate(trajectory["steps"]):
        where = f"{base}/steps/{number}"
        if step["step_id"] != number + 1:
            yield f"{where}/step_id", f"step {step['step_id']} where {number + 1} is due"
        if step["source"] != "agent":
            yield from (
                (f"{where}/{name}", f"a step of the {step['source']} has none")
                for name in _AGENT_STEP_MEMBERS
                if _has_member(step, name)
            )
        elif step.get("llm_call_count") == 0:
            yield from (
                (f"{where}/{name}", "a step without a model has none")
                for name in _MODEL_STEP_MEMBERS
                if _has_member(step, name)
            )
        calls = {call["tool_call_id"] for call in step.get("tool_calls") or ()}
        for place, result in enumerate((step.get("observation") or {"results": ()})["results"]):
            if _has_member(result, "source_call_id") and result["source_call_id"] not in calls:
                told = (
                    "the result of a call that the step does not have, "
                    f"{result['source_call_id']!r}"
                )
                yield f"{where}/observation/results/{place}/source_call_id", told
    names: set[str] = set()
    for number, other in enumerate(trajectory.get("subagent_trajectories") or ()):
        where = f"{base}/subagent_trajectories/{number}"
        name = other.get("trajectory_id")
        if name is None or name in names:
            yield f"{where}/trajectory_id", "missing" if name is None else f"not unique, {name!r}"
        names.add(str(name))
        yield from _find_broken_rules(other, where)


def _has_member(members: JsonObject, name: str) -> bool:
    return members.get(name) is not None


SUB_AGENT_EVENT = "subagent-trajectory"
ATIF_COUNTERS = (
    ("prompt_tokens", "input"),
    ("completion_tokens", "output"),
    ("cached_tokens", "cached"),
)
ATIF_COST = ("cost_usd", "cost")

_STEP_MOVES = Lift(Move("timestamp", "timestamp"), Move("model_name", "model-id"))
_CALL_MOVES = Lift(
    Move("function_name", "name"), Move("arguments", "input", dict), Move("tool_call_id", "call-id")
)
_RESULT_MOVES = Lift(Move("source_call_id", "call-id"), Move("content", "output", None))


def read(source: Source) -> Reading:
    """Make a record of a trajectory, not yet identified.

    Raises:
        UnreadableInput: it is no JSON.
        InvalidRecord: it is no trajectory.
    """
    document = decode_json(source.main.data)
    if not isinstance(document, dict):
        raise InvalidRecord("no ATIF trajectory: it is no object", where="/")
    check_trajectory(document)
    agent = document.pop("agent")
    session = SessionBuilder(ATIF_FORMAT, agent.pop("name"))
    version = agent.pop("version")
    session.cli_version = version or None
    if not version:
        agent["version"] = version
    drop_nulls(agent)
    model = agent.get("model_name")
    session.entries = _make_entries(document, session, model)
    session.session_id = document.pop("session_id") if document.get("session_id") else None
    session.native = {**document, "agent": agent} if agent else document
    if model is not None and not session.models:
        session.models[model] = 0
    session.provider = _find_provider(session)
    session.inherits = any("inherited" in entry.get("vacr", ()) for entry in session.entries)
    session.tidy()
    return session.reading(source)


def _find_provider(session: SessionBuilder) -> str:
    """Tell whose models they are, where a name says so as `provider/model`."""
    names = {name.partition("/")[0] for name in session.models if "/" in name}
    return names.pop() if len(names) == 1 else UNKNOWN


def _make_entries(
    trajectory: JsonObject, session: SessionBuilder, model: str | None
) -> list[JsonObject]:
    """Take the steps and the sub-agents out of a trajectory, and make entries of them."""
    entries = [_make_entry(step) for step in trajectory.pop("steps")]
    for entry in entries:
        if entry["type"] == "assistant" and (used := entry.get("model-id", model)) is not None:
            session.models[used] += 1
    others = (
        trajectory.pop("subagent_trajectories") if trajectory.get("subagent_trajectories") else ()
    )
    for other in others:
        event: JsonObject = {"type": "system-event", "event-type": SUB_AGENT_EVENT}
        children = _make_entries(other, session, other["agent"].get("model_name", model))
        session.embedded += children
        entries.append({**event, "data": other, "children": children})
    return entries


def _make_entry(step: JsonObject) -> JsonObject:
    drop_nulls(step)
    source, message = step.pop("source"), step.pop("message")
    entry: JsonObject = {"type": "assistant" if source == "agent" else source, "content": message}
    if source == "system":
        entry = {
            "type": "system-event",
            "event-type": SYSTEM_MESSAGE_EVENT,
            "data": {"message": message},
        }
    _STEP_MOVES.apply(step, entry)
    children = _take_children(step)
    if isinstance(metrics := step.get("metrics"), dict) and TOKEN_USAGE_MEMBERS.isdisjoint(metrics):
        entry["token-usage"] = _lift_usage(step.pop("metrics"))
    add_remaining_members(entry, step)
    if step.get("is_copied_context") is True:
        get_writable_marks(entry)["inherited"] = True
    if children:
        entry["children"] = children
    return entry


def _take_children(step: JsonObject) -> list[JsonObject]:
    """Take reasoning, calls and results out of a step; what says only that there are none stays."""
    made = []
    if "reasoning_content" in step:
        made.append({"type": "reasoning", "content": step.pop("reasoning_content")})
    if step.get("tool_calls"):
        made += [_lift_entry("tool-call", call, _CALL_MOVES) for call in step.pop("tool_calls")]
    observation = step.get("observation")
    if observation and observation["results"]:
        for result in observation.pop("results"):
            made.append(
                {
                    "output": None,
                    **_lift_entry("tool-result", result, _RESULT_MOVES),
                    **_get_failure_mark(result),
                }
            )
        if not observation:
            del step["observation"]
    return made


def _get_failure_mark(result: JsonObject) -> JsonObject:
    """Tell that a call failed, where an export of ours says so; ATIF itself has no place for it."""
    extra = result.get("extra")
    said = extra.get("vacr") if isinstance(extra, dict) else None
    return {"is-error": True} if isinstance(said, dict) and said.get("is-error") is True else {}


def _lift_entry(kind: str, native: JsonObject, lift: Lift) -> JsonObject:
    drop_nulls(native)
    entry: JsonObject = {"type": kind}
    lift.apply(native, entry)
    return add_remaining_members(entry, native)


def _lift_usage(metrics: JsonObject) -> JsonObject:
    """Give counters their canonical names, where they are counts."""
    drop_nulls(metrics)
    usage: JsonObject = {
        canonical: metrics.pop(native)
        for native, canonical in ATIF_COUNTERS
        if is_count(metrics.get(native))
    }
    if _is_number(metrics.get(ATIF_COST[0])):
        usage[ATIF_COST[1]] = metrics.pop(ATIF_COST[0])
    return usage | metrics


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_STEP_SOURCES = {"user": "user", "assistant": "agent", "system-event": "system"}
_CALL_NAMES = {"name": "function_name", "input": "arguments", "call-id": "tool_call_id"}
_RESULT_NAMES = {"call-id": "source_call_id", "output": "content"}


def restore_trajectory(record: JsonObject) -> bytes:
    """Give the trajectory, but for members that were null."""
    return encode(_rebuild_trajectory(record)) + b"\n"


def _rebuild_trajectory(record: JsonObject) -> JsonObject:
    session, said = record["session"], get_vacr_metadata(record)
    meta = session["agent-meta"]
    made: JsonObject = {
        name: value for name, value in session.items() if name not in SESSION_MEMBERS
    } | said.get("native", {})
    agent = {"name": meta["cli-name"]} | (
        {"version": meta["cli-version"]} if "cli-version" in meta else {}
    )
    made["agent"] = agent | made.get("agent", {})
    if session["session-id"] != said["source"]["parts"][0]["sha-256"]:
        made["session_id"] = session["session-id"]
    return made | _rebuild_steps(session["entries"])


def _rebuild_steps(entries: list[JsonObject]) -> JsonObject:
    steps = [
        _rebuild_step(entry) for entry in entries if entry.get("event-type") != SUB_AGENT_EVENT
    ]
    others = [
        entry["data"] | _rebuild_steps(entry["children"])
        for entry in entries
        if entry.get("event-type") == SUB_AGENT_EVENT
    ]
    return {"steps": steps} | ({"subagent_trajectories": others} if others else {})


def _rebuild_step(entry: JsonObject) -> JsonObject:
    step = _get_native_members(entry)
    step["source"] = _STEP_SOURCES[entry["type"]]
    step["message"] = (
        entry["data"]["message"]
        if entry.get("event-type") == SYSTEM_MESSAGE_EVENT
        else entry["content"]
    )
    for canonical, native in (("timestamp", "timestamp"), ("model-id", "model_name")):
        if canonical in entry:
            step[native] = entry[canonical]
    if "token-usage" in entry:
        names = {canonical: native for native, canonical in (*ATIF_COUNTERS, ATIF_COST)}
        step["metrics"] = {
            names.get(name, name): value for name, value in entry["token-usage"].items()
        }
    children = entry.get("children", ())
    for child in children:
        if child["type"] == "reasoning":
            step["reasoning_content"] = child["content"]
    if calls := [
        _rebuild_child(child, _CALL_NAMES) for child in children if child["type"] == "tool-call"
    ]:
        step["tool_calls"] = calls
    if results := [
        _rebuild_child(child, _RESULT_NAMES) for child in children if child["type"] == "tool-result"
    ]:
        step["observation"] = step.get("observation", {}) | {"results": results}
    return step


def _rebuild_child(child: JsonObject, names: dict[str, str]) -> JsonObject:
    lifted = {
        native: child[canonical]
        for canonical, native in names.items()
        if child.get(canonical) is not None
    }
    return _get_native_members(child) | lifted


def _get_native_members(entry: JsonObject) -> JsonObject:
    """Give the members that stayed, and those that were set aside."""
    kept = {name: value for name, value in entry.items() if name not in CANONICAL_ENTRY_MEMBERS}
    aside: JsonObject = entry.get("vacr", {}).get("native", {})
    return kept | aside


UNKNOWN_VALUE = "unknown"
_EXPORTED_SESSION_MEMBERS = frozenset(("cli-name", "cli-version", "model-id"))
_METRIC_NAMES = {
    "input": "prompt_tokens",
    "output": "completion_tokens",
    "cached": "cached_tokens",
    "cost": "cost_usd",
}


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give a record as ATIF; one that was made of a trajectory gives that again, unless a part or a
    version is asked for.

    Raises:
        InvalidRecord: there is nothing in it that could be a step.
    """
    losses: ExportLosses = Counter()
    whole = asked.chosen == RowFilter() and asked.version is None
    if (
        whole
        and (data := restore_document(record, ATIF_FORMAT, restore_trajectory, read)) is not None
    ):
        count_lost_attribution(record, losses)
        return ExportedDocument(data, losses)
    every, kept, left_out = select_rows(record, asked.chosen, losses)
    found = filter_steps(group_rows_into_steps(every, record), kept)
    count_lost_events(
        (row for row in kept if row.kind == EVENT_ROW and get_instructions(row) is None), losses
    )
    count_encrypted_reasoning(kept, losses)
    count_lost_members(
        record,
        losses,
        "parent-id",
        "stop-reason",
        "status",
        "subject",
        about=_EXPORTED_SESSION_MEMBERS,
    )
    document = _TrajectoryWriter(
        record, asked, losses, _choose_version(kept, asked.version)
    ).document(found, partial=left_out > 0)
    return ExportedDocument(encode(document) + b"\n", losses, left_out)


def _choose_version(kept: list[Row], asked: str | None) -> str:
    heard = any(
        has_audio(row.parts) or (row.result is not None and has_audio(row.result.parts))
        for row in kept
    )
    return asked or ("1.8" if heard else "1.7")


class _TrajectoryWriter:
    """The export of one record."""

    def __init__(
        self, record: JsonObject, asked: ExportRequest, losses: ExportLosses, version: str
    ) -> None:
        self.record = record
        self.asked = asked
        self.losses = losses
        self.version = version

    def document(self, found: list[ConversationStep], *, partial: bool) -> JsonObject:
        agents: dict[str, list[ConversationStep]] = {}
        for step in found:
            agents.setdefault(step.agent, []).append(step)
        split = "" in agents and self.version >= "1.7"
        own = agents[""] if split else found
        if not own:
            hint = "Some sessions have no conversation in them; filters may leave none, too."
            raise InvalidRecord(
                "there is nothing in it that ATIF can hold, which needs a step", hint=hint
            )
        said: JsonObject = {
            "record": self.record["id"],
            "sha-256": self.asked.digest,
            "exporter": f"vacr {__version__}",
        }
        if partial:
            said["partial"] = True
        made = self._trajectory(own, self.record["id"])
        made["extra"] = {"vacr": said}
        total = _build_metrics(_sum_usages([step.usage(self.record) for step in found]))
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

    def _trajectory(self, found: list[ConversationStep], name: str) -> JsonObject:
        session = self.record["session"]
        meta = session.get("agent-meta", {})
        agent = {
            "name": str(meta.get("cli-name", UNKNOWN_VALUE)),
            "version": str(meta.get("cli-version", UNKNOWN_VALUE)),
        }
        if meta.get("model-id", UNKNOWN_VALUE) != UNKNOWN_VALUE:
            agent["model_name"] = meta["model-id"]
        made: JsonObject = {
            "schema_version": f"ATIF-v{self.version}",
            "session_id": _format_name(session["session-id"]),
            "agent": agent,
        }
        if self.version >= "1.7":
            made["trajectory_id"] = name
        made["steps"] = [
            {"step_id": number, **self._step(step)} for number, step in enumerate(found, 1)
        ]
        return made

    def _step(self, step: ConversationStep) -> JsonObject:
        first = step.rows[0]
        made: JsonObject = {"source": step.source}
        if (when := self._time(first)) is not None:
            made["timestamp"] = when
        spoken = [
            part
            for row in step.rows
            if row.kind not in (REASONING_ROW, TOOL_ROW)
            for part in get_instructions(row) or row.parts
        ]
        made["message"] = build_atif_content(spoken, self.version, self.losses)
        said: JsonObject = {"entries": [row.name for row in step.rows]}
        if first.superseded:
            said["superseded"] = first.superseded
        if step.agent:
            said["agent"] = step.agent
        if first.is_inherited:
            made["is_copied_context"] = True
        if step.source == AGENT_SOURCE:
            self._answer(step, made)
        return made | {"extra": {"vacr": said}}

    def _answer(self, step: ConversationStep, made: JsonObject) -> None:
        """Add what only a step of the agent may have."""
        models = [row.model for row in step.rows if row.model and row.model != UNKNOWN_VALUE]
        if models:
            made["model_name"] = models[0]
        thoughts = [
            text
            for row in step.rows
            if row.kind == REASONING_ROW and (text := build_atif_text(row.parts, self.losses))
        ]
        if thoughts:
            made["reasoning_content"] = "\n\n".join(thoughts)
        calls = [row for row in step.rows if row.kind == TOOL_ROW and row.tool]
        names = {
            row.place: _format_name(row.entry.get("call-id", f"call-{number}"))
            for number, row in enumerate(calls, 1)
        }
        if calls:
            made["tool_calls"] = [self._call(row, names[row.place]) for row in calls]
        results = [
            self._result(row, names.get(row.place))
            for row in step.rows
            if row.kind == TOOL_ROW and (row.result or not row.tool)
        ]
        if results:
            made["observation"] = {"results": results}
        if usage := step.usage(self.record):
            made["metrics"] = _build_metrics(usage)

    def _call(self, row: Row, name: str) -> JsonObject:
        given = row.entry.get("input")
        call: JsonObject = {"tool_call_id": name, "function_name": row.tool}
        return call | {"arguments": given if isinstance(given, dict) else {"input": given}}

    def _result(self, row: Row, call: str | None) -> JsonObject:
        came = row.result or row
        made: JsonObject = {"source_call_id": call} if call is not None else {}
        if came.parts:
            made["content"] = build_atif_content(came.parts, self.version, self.losses)
        said: JsonObject = {"is-error": True} if came.is_error else {}
        if call is None and "call-id" in came.entry:
            said["call-id"] = came.entry["call-id"]
        if said and self.version >= "1.7":
            made["extra"] = {"vacr": said}
        elif said:
            self.losses["marks of results (since 1.7)"] += 1
        return made

    def _time(self, row: Row) -> str | None:
        text = format_timestamp(row.time) if row.time is not None else None
        if text is not None and get_epoch_milliseconds(text) is not None and ":60" not in text:
            return text
        self.losses.update(["times that no calendar has"] if row.time is not None else [])
        return None


def _build_metrics(usage: JsonObject) -> JsonObject:
    made = {other: usage[name] for name, other in _METRIC_NAMES.items() if name in usage}
    rest = {name: value for name, value in usage.items() if name not in _METRIC_NAMES}
    return made | ({"extra": {"vacr": rest}} if rest else {})


def _sum_usages(usages: list[JsonObject]) -> JsonObject:
    total: JsonObject = {}
    for usage in usages:
        for name, value in usage.items():
            total[name] = total.get(name, 0) + value
    return total


def _format_name(name: Any) -> str:
    return name.hex() if isinstance(name, bytes) else str(name)
