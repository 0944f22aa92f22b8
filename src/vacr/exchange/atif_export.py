"""Records as ATIF trajectories, versions 1.5 to 1.8, as the models of Harbor accept them.

A step is one call of a model: its thoughts, its answer, its tool calls and their results. Each step
names its entries in `extra.vacr`, and the trajectory names its record there. Sub-agents in the
record are trajectories of their own since version 1.7.

    >>> import json, vacr
    >>> from vacr.exchange import EXCHANGE_FORMATS, ExportRequest
    >>> [record] = vacr.read("session.jsonl")
    >>> exported = EXCHANGE_FORMATS["atif"].export(record, ExportRequest(digest="00" * 32))
    >>> step = json.loads(exported.data)["steps"][1]
    >>> step["source"], step["tool_calls"][0]["function_name"]
    ('agent', 'Read')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from vacr.agents import UNKNOWN
from vacr.errors import InvalidRecord
from vacr.exchange.atif import (
    ATIF_FORMAT,
    ATIF_METRICS,
    ATIF_VERSIONS,
    read,
    restore_trajectory,
)
from vacr.exchange.export import (
    AGENT_SOURCE,
    ConversationStep,
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_attribution,
    count_lost_events,
    count_lost_members,
    filter_steps,
    get_instructions,
    group_rows_into_steps,
    select_rows,
    sum_usages,
)
from vacr.exchange.formats import restore_document
from vacr.model import JsonObject
from vacr.record import encode, format_timestamp, get_epoch_milliseconds
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

# The versions that brought these features.
_SINCE_IMAGES = "1.6"
_SINCE_SUB_AGENTS = "1.7"
_SINCE_AUDIO = "1.8"

_IMAGE_TYPES = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
_AUDIO_TYPES = frozenset(
    f"audio/{kind}" for kind in ("wav", "mpeg", "mp4", "aac", "ogg", "flac", "webm", "aiff")
)
_AUDIO_TYPE_ALIASES = {
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/m4a": "audio/mp4",
}

_LOST_ENTRY_MEMBERS = ("parent-id", "stop-reason", "status", "subject")
_EXPORTED_SESSION_MEMBERS = frozenset(("cli-name", "cli-version", "model-id"))


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as a trajectory.

    An unchanged imported record gives its own trajectory, if neither a filter nor a version is
    requested.

    Raises:
        InvalidRecord: no row of the record can be a step, or matches the filters.
    """
    losses: ExportLosses = Counter()
    if request.chosen == RowFilter() and request.version is None:
        original = restore_document(record, ATIF_FORMAT, restore_trajectory, read)
        if original is not None:
            count_lost_attribution(record, losses)
            return ExportedDocument(original, losses)
    every, kept, left_out = select_rows(record, request.chosen, losses)
    steps = filter_steps(group_rows_into_steps(every, record), kept)
    events = (row for row in kept if row.kind == EVENT_ROW and get_instructions(row) is None)
    count_lost_events(events, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *_LOST_ENTRY_MEMBERS, about=_EXPORTED_SESSION_MEMBERS)
    version = request.version or _choose_version(kept)
    writer = _TrajectoryWriter(record, request.digest, losses, version)
    document = writer.build_document(steps, partial=left_out > 0)
    return ExportedDocument(encode(document) + b"\n", losses, left_out)


def _choose_version(kept: list[Row]) -> str:
    """Return the oldest version that supports sub-agents, and audio if a row has audio."""
    for row in kept:
        if _has_audio(row.parts) or (row.result is not None and _has_audio(row.result.parts)):
            return _SINCE_AUDIO
    return _SINCE_SUB_AGENTS


def _has_audio(parts: Iterable[ContentPart]) -> bool:
    """Return whether one of the parts is audio of a known type."""
    return any(_get_audio_source(part) is not None for part in parts)


class _TrajectoryWriter:
    """Builds the trajectory of one record in one version of ATIF."""

    def __init__(self, record: JsonObject, digest: str, losses: ExportLosses, version: str) -> None:
        """Prepare to write a record in a version of ATIF, such as `1.7`.

        `digest` is the SHA-256 of the record's bytes, in hex.
        """
        self.record = record
        self.digest = digest
        self.losses = losses
        self.version = version
        self.has_sub_agents = version >= _SINCE_SUB_AGENTS

    def build_document(self, steps: list[ConversationStep], *, partial: bool) -> JsonObject:
        """Return the trajectory, with sub-agents as trajectories of their own since 1.7.

        If the main agent has no steps, all steps are one trajectory. `partial` marks a trajectory
        that filters shortened.

        Raises:
            InvalidRecord: there are no steps.
        """
        by_agent: dict[str, list[ConversationStep]] = {}
        for step in steps:
            by_agent.setdefault(step.agent, []).append(step)
        is_split = "" in by_agent and self.has_sub_agents
        own = by_agent[""] if is_split else steps
        if not own:
            raise InvalidRecord(
                "the record has no steps, and an ATIF trajectory needs at least one",
                hint="The session has no conversation, or the filters leave all of it out.",
            )
        name = self.record["id"]
        trajectory = self._build_trajectory(own, name)
        trajectory["extra"] = {"vacr": self._describe_record(partial=partial)}
        total = _build_metrics(sum_usages([step.sum_usage(self.record) for step in steps]))
        total.pop("extra", None)
        trajectory["final_metrics"] = {f"total_{metric}": value for metric, value in total.items()}
        trajectory["final_metrics"]["total_steps"] = len(own)
        sub_agents = [agent for agent in by_agent if agent] if is_split else []
        if sub_agents:
            trajectory["subagent_trajectories"] = [
                self._build_trajectory(by_agent[agent], f"{name}/{agent}") for agent in sub_agents
            ]
        return trajectory

    def _describe_record(self, *, partial: bool) -> JsonObject:
        """Return the id and digest of the record, and the exporter.

        `partial` marks a trajectory that filters shortened.
        """
        description: JsonObject = {
            "record": self.record["id"],
            "sha-256": self.digest,
            "exporter": f"vacr {__version__}",
        }
        if partial:
            description["partial"] = True
        return description

    def _build_trajectory(self, steps: list[ConversationStep], name: str) -> JsonObject:
        """Return the trajectory of the main agent or a sub-agent; `name` is its id."""
        session = self.record["session"]
        meta = session.get("agent-meta", {})
        agent = {
            "name": str(meta.get("cli-name", UNKNOWN)),
            "version": str(meta.get("cli-version", UNKNOWN)),
        }
        if meta.get("model-id", UNKNOWN) != UNKNOWN:
            agent["model_name"] = meta["model-id"]
        trajectory: JsonObject = {
            "schema_version": f"ATIF-v{self.version}",
            "session_id": _format_name(session["session-id"]),
            "agent": agent,
        }
        if self.has_sub_agents:
            trajectory["trajectory_id"] = name
        trajectory["steps"] = [
            {"step_id": number, **self._build_step(step)} for number, step in enumerate(steps, 1)
        ]
        return trajectory

    def _build_step(self, step: ConversationStep) -> JsonObject:
        """Return a step of the trajectory without its number, `step_id`."""
        first = step.rows[0]
        built: JsonObject = {"source": step.source}
        time = self._format_time(first)
        if time is not None:
            built["timestamp"] = time
        parts = [
            part
            for row in step.rows
            if row.kind not in (REASONING_ROW, TOOL_ROW)
            for part in get_instructions(row) or row.parts
        ]
        built["message"] = self._build_content(parts)
        if first.is_inherited:
            built["is_copied_context"] = True
        if step.source == AGENT_SOURCE:
            self._add_agent_members(step, built)
        marks: JsonObject = {"entries": [row.name for row in step.rows]}
        if first.superseded:
            marks["superseded"] = first.superseded
        if step.agent:
            marks["agent"] = step.agent
        built["extra"] = {"vacr": marks}
        return built

    def _format_time(self, row: Row) -> str | None:
        """Return the time of a row as text, or None if it has none, or one that Harbor refuses.

        A refused time is counted in the losses.
        """
        if row.time is None:
            return None
        text = format_timestamp(row.time)
        # Harbor parses times with Python, which knows no leap seconds.
        if text is not None and get_epoch_milliseconds(text) is not None and ":60" not in text:
            return text
        self.losses["times outside the calendar"] += 1
        return None

    def _add_agent_members(self, step: ConversationStep, built: JsonObject) -> None:
        """Add model, reasoning, tool calls, results and metrics to `built`, a step of the agent."""
        models = [row.model for row in step.rows if row.model and row.model != UNKNOWN]
        if models:
            built["model_name"] = models[0]
        thoughts = [
            text
            for row in step.rows
            if row.kind == REASONING_ROW and (text := self._build_text(row.parts))
        ]
        if thoughts:
            built["reasoning_content"] = "\n\n".join(thoughts)
        calls = [row for row in step.rows if row.kind == TOOL_ROW and row.tool]
        call_ids = {
            row.place: _format_name(row.entry.get("call-id", f"call-{number}"))
            for number, row in enumerate(calls, 1)
        }
        if calls:
            built["tool_calls"] = [_build_call(row, call_ids[row.place]) for row in calls]
        results = [
            self._build_result(row, call_ids.get(row.place))
            for row in step.rows
            if row.kind == TOOL_ROW and (row.result or not row.tool)
        ]
        if results:
            built["observation"] = {"results": results}
        if usage := step.sum_usage(self.record):
            built["metrics"] = _build_metrics(usage)

    def _build_result(self, row: Row, call_id: str | None) -> JsonObject:
        """Return the result of a tool row; `call_id` is None for a result without its call."""
        result = row.result or row
        built: JsonObject = {"source_call_id": call_id} if call_id is not None else {}
        if result.parts:
            built["content"] = self._build_content(result.parts)
        marks: JsonObject = {"is-error": True} if result.is_error else {}
        if call_id is None and "call-id" in result.entry:
            marks["call-id"] = result.entry["call-id"]
        if marks and self.has_sub_agents:
            built["extra"] = {"vacr": marks}
        elif marks:
            self.losses["marks of results (since 1.7)"] += 1
        return built

    def _build_content(self, parts: list[ContentPart]) -> str | list[JsonObject]:
        """Return parts as one text if all of them are text, otherwise as a list of parts.

        The texts are joined by line breaks; without parts, the text is empty.
        """
        built = [_build_content_part(part, self.version, self.losses) for part in parts]
        if all(part["type"] == "text" for part in built):
            return "\n".join(part["text"] for part in built)
        return built

    def _build_text(self, parts: list[ContentPart]) -> str:
        """Return parts as one text, for members that cannot be a list of parts."""
        oldest = ATIF_VERSIONS[0]  # which had texts only
        return "\n".join(_build_content_part(part, oldest, self.losses)["text"] for part in parts)


def _build_call(row: Row, call_id: str) -> JsonObject:
    """Return the tool call of a row; ATIF requires an object as its arguments."""
    arguments = row.entry.get("input")
    return {
        "tool_call_id": call_id,
        "function_name": row.tool,
        "arguments": arguments if isinstance(arguments, dict) else {"input": arguments},
    }


def _build_metrics(usage: JsonObject) -> JsonObject:
    """Return token usage with ATIF's names; members without one go into `extra.vacr`."""
    metrics = {native: usage[name] for name, native in ATIF_METRICS.items() if name in usage}
    rest = {name: value for name, value in usage.items() if name not in ATIF_METRICS}
    return metrics | ({"extra": {"vacr": rest}} if rest else {})


def _build_content_part(part: ContentPart, version: str, losses: ExportLosses) -> JsonObject:
    """Return a text, image or audio part of a version of ATIF.

    An image or audio that the version does not support becomes a text, and a loss. Any other part
    becomes its JSON as text.
    """
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    audio = _get_audio_source(part)
    if audio is not None and version >= _SINCE_AUDIO:
        return {"type": "audio", "source": audio}
    if isinstance(part, OtherPart):
        sound = _parse_openai_audio(part)
        if sound is None:
            text = part.value if isinstance(part.value, str) else format_json(part.value)
            return {"type": "text", "text": text}
        part = sound
    if version >= _SINCE_IMAGES and part.media_type in _IMAGE_TYPES:
        source = {"media_type": part.media_type, "path": _get_image_path(part)}
        return {"type": "image", "source": source}
    losses["images and sounds"] += 1
    return {"type": "text", "text": f"[{part.media_type or 'a file of no type'}, not exported]"}


def _get_audio_source(part: ContentPart) -> JsonObject | None:
    """Return the media type and address of a part that is audio, or None for any other part.

    Audio has the form of Google's or OpenAI's API. Return None also for a type that ATIF lacks.
    """
    sound = _parse_openai_audio(part) if isinstance(part, OtherPart) else part
    if not isinstance(sound, ImagePart):
        return None
    kind = _AUDIO_TYPE_ALIASES.get(sound.media_type, sound.media_type)
    return {"media_type": kind, "path": _get_image_path(sound)} if kind in _AUDIO_TYPES else None


def _parse_openai_audio(part: OtherPart) -> ImagePart | None:
    """Return the audio of a part in the form of OpenAI's API, or None for any other part."""
    audio = part.value.get("input_audio") if isinstance(part.value, dict) else None
    if not isinstance(audio, dict) or not isinstance(audio.get("data"), str):
        return None
    return ImagePart(f"audio/{audio.get('format')}", audio["data"])


def _get_image_path(image: ImagePart) -> str:
    """Return the address of an image, or a `data:` URL with its bytes."""
    return image.address or f"data:{image.media_type};base64,{image.data}"


def _format_name(name: Any) -> str:
    """Return an id as text; bytes as hex."""
    return name.hex() if isinstance(name, bytes) else str(name)
