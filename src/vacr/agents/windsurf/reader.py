"""Transcripts of Windsurf's hooks → records.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.windsurf.reader import read
>>> line = b'{"type":"find","status":"done","find":{"pattern":"*.md","output":"a.md"}}'
>>> (reading,) = read(Source((SourcePart("t.jsonl", line),)))
>>> (entry,) = reading.record["session"]["entries"]
>>> entry["name"], entry["input"], entry["children"][0]["output"]
('find', {'pattern': '*.md'}, 'a.md')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.lift import (
    UNKNOWN,
    Reading,
    SessionBuilder,
    describe_json_kind,
    drop_nulls,
    parse_names,
    set_members_aside,
)
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject

name = "windsurf"
formats = ("windsurf-jsonl",)

MESSAGE_TYPES = {
    "user_input": ("user", "user_response"),
    "planner_response": ("assistant", "response"),
}
"""Type of a line → entry type, and the member with the text."""
STEP_MEMBERS = {
    kind: parse_names(members)
    for kind, members in {
        "user_input": "user_response",
        "planner_response": "response",
        "code_action": "acknowledgement_type new_content original_content path",
        "view_file": "content end_line path start_line",
        "run_command": "command cwd exit_code output user_rejected",
        "list_directory": "path",
        "find": "output pattern search_directory total_results",
        "grep_search": "output query search_path total_results",
        "list_resources": "server_name",
    }.items()
}
"""Type of a line → the members of its body."""
OUTPUT_MEMBERS = ("output", "content")
"""The members of a body with the text that a step returned; the first that is there is moved."""
RESULT_MEMBERS = parse_names("acknowledgement_type exit_code total_results user_rejected")
"""The members of a body that belong to the result."""
_LINE_MEMBERS = parse_names("status")
_CLASHING_MEMBERS = CANONICAL_ENTRY_MEMBERS - {"status"}


def recognise(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is a hook's transcript; 0 without a known type."""
    if not sample:
        return 0.0
    steps = [value for value in sample if _is_step(value)]
    if not any(step["type"] in STEP_MEMBERS for step in steps):
        return 0.0
    return len(steps) / len(sample)


def _is_step(value: Any) -> bool:
    """Return whether a value has a type, a status, and a body that is named after the type."""
    if type(value) is not dict or type(value.get("type")) is not str or "status" not in value:
        return False
    return type(value.get(value["type"])) is dict and not {"id", "role", "timestamp"} & value.keys()


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of one transcript, without labels."""
    with pause_garbage_collector():
        reader = _TranscriptReader()
        reader.session.add_lines(source, reader.make_entry)
        reader.session.tidy()
        reading = reader.session.reading(source)
    yield reading


class _TranscriptReader:
    """One transcript on its way into a record."""

    def __init__(self) -> None:
        """Start without lines."""
        self.session = SessionBuilder(formats[0], name)

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn one line into one entry."""
        kind = line.get("type")
        body = line.get(kind) if type(kind) is str else None
        if type(kind) is not str or kind in _LINE_MEMBERS or type(body) is not dict:
            shown = kind if type(kind) is str else describe_json_kind(kind)
            self.session.drift.count_type(shown)
            return {"type": "system-event", "event-type": UNKNOWN, "data": line}
        known = STEP_MEMBERS.get(kind)
        if known is None:
            self.session.drift.count_type(kind)
        else:
            self.session.drift.count_members(kind, body, known)
        del line[kind], line["type"]
        status = line.pop("status", None)
        if line:
            self.session.drift.count_members("line", line, _LINE_MEMBERS)
            set_members_aside(line, _CLASHING_MEMBERS)
            drop_nulls(line)
        if kind in MESSAGE_TYPES:
            return self._make_message(line, kind, body, status)
        return self._make_step(line, kind, body, status)

    @staticmethod
    def _make_message(entry: JsonObject, kind: str, body: JsonObject, status: Any) -> JsonObject:
        """Make the message of a line; the text becomes its content."""
        entry_type, member = MESSAGE_TYPES[kind]
        marks = entry.pop("vacr", {})
        native = {**marks.get("native", {}), "type": kind}
        if status is not None:
            native["status"] = status
        message: JsonObject = {"type": entry_type, **entry}
        if type(body.get(member)) is str:
            message["content"] = body.pop(member)
        message[kind] = body
        message["vacr"] = {"native": native}
        return message

    def _make_step(self, entry: JsonObject, kind: str, body: JsonObject, status: Any) -> JsonObject:
        """Make the call of a line, with its result as a child."""
        folder = body.get("cwd")
        if self.session.working_dir is None and type(folder) is str and folder:
            self.session.working_dir = folder
        call_id = f"line-{len(self.session.entries) + 1}"
        result: JsonObject = {"type": "tool-result", "call-id": call_id, "output": None}
        for member in OUTPUT_MEMBERS:
            if type(body.get(member)) is str:
                result["output"] = body.pop(member)
                result["vacr"] = {"output-from": member}
                break
        for member in RESULT_MEMBERS.intersection(body):
            if body[member] is not None:
                result[member] = body.pop(member)
        if type(status) is str:
            result["status"] = status
        elif status is not None:
            entry["status"] = status
        marks = {**entry.get("vacr", {}), "call-id-from": "line"}
        return {
            "type": "tool-call",
            **entry,
            "name": kind,
            "input": body,
            "call-id": call_id,
            "children": [result],
            "vacr": marks,
        }
