r"""Journals of Mistral Vibe 3 as records.

Since version 3, a session is a folder with `meta.json`, the facts about the session, and a folder
`journal`. Each line of a journal is an event: a turn that begins, an action of the model or of a
tool that begins or ends, or a change of what the screen shows. Prompts, answers and results become
entries; the rest of their lines stays in them. Every other line becomes an event.

A call that Vibe could not start has no action. Its result is only in the messages of the next
request, so it is a child of that event.

>>> import json
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.vibe.journal import read_journal
>>> turn = {"method": "turn/start", "params": {"message": [{"type": "text", "text": "Hello"}]}}
>>> line = {"recovery_journal_record_version": 1, "sequence": 1}
>>> line |= {"type": "command_reserved", "payload": turn}
>>> part = SourcePart("journal/0000000000000001.jsonl", json.dumps(line).encode())
>>> [entry] = read_journal(Source((part,))).record["session"]["entries"]
>>> entry["type"], entry["content"]
('user', [{'type': 'text', 'text': 'Hello'}])
"""

from __future__ import annotations

from typing import Any

from vacr.agents.agent import Source
from vacr.agents.documents import parse_json_text
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    is_count,
    is_one_of,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.agents.vibe.facts import learn_facts, name
from vacr.model import JsonObject

VIBE_JOURNAL_FORMAT = "vibe-journal"
JOURNAL_LINE_MEMBERS = parse_names(
    "payload previous_record_sha256 record_sha256 recovery_journal_record_version sequence type"
)
JOURNAL_TYPES = parse_names(
    """
    action_intent action_result callback_registered callback_resolved command_reserved core_input
    projection_delta receipt_failed receipt_succeeded
    """
)
JOURNAL_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens",)),
    ("cached", ("cached_input_tokens",)),
    ("output", ("output_tokens",)),
    ("total", ("total_tokens",)),
)
"""Canonical counter → the native one; `input_tokens` include those from the cache."""
META_EVENT = "meta"
"""The event with the facts about the session."""
META_MEMBERS = parse_names("session_id environment import_provenance created_worktree")
"""The members that only the facts of a session with a journal have together."""
_RESERVED_EVENTS = frozenset(("attached-file", "undecodable", "unknown", META_EVENT))
_PROMPT_METHODS = "turn/"


def is_journal_line(value: Any) -> bool:
    """Return whether a value has the form of a line of a journal."""
    return type(value) is dict and value.keys() >= {
        *("recovery_journal_record_version", "sequence", "type", "payload")
    }


def is_journal_meta(value: Any) -> bool:
    """Return whether a value has the facts about a session with a journal."""
    return type(value) is dict and value.keys() >= META_MEMBERS


def read_journal(source: Source) -> Reading:
    """Return the record of a journal, or of the facts about a session with its journal."""
    session = SessionBuilder(VIBE_JOURNAL_FORMAT, name)
    lines = _JournalLines(session)
    for part in source.parts:
        session.add_lines(Source((part,)), lines.make_entry)
    lines.settle()
    session.tidy()
    return session.reading(source, attached=False)


class _JournalLines:
    """The lines of a session on their way into a record."""

    def __init__(self, session: SessionBuilder) -> None:
        """Start without lines."""
        self.session = session
        self.times: dict[str, int] = {}
        """The id of what the screen shows → when it was last changed, in milliseconds."""
        self.shown_as: list[tuple[JsonObject, str]] = []
        """An entry, and the id under which the screen shows it."""
        self.answered: set[Any] = set()
        """The ids of the calls whose result is an entry."""
        self.told: list[tuple[JsonObject, JsonObject]] = []
        """The event of a request, and a result among its messages."""

    def make_entry(self, line: JsonObject) -> JsonObject:
        """Turn a line of a journal, or the facts about the session, into an entry."""
        if is_journal_meta(line):
            return self._make_meta_event(line)
        drift = self.session.drift
        drift.count_members("line", line, JOURNAL_LINE_MEMBERS)
        kind = line.pop("type", None)
        if not is_one_of(kind, JOURNAL_TYPES):
            drift.count_type(kind)
        payload = dict_or_empty(line.get("payload"))
        result = dict_or_empty(payload.get("result"))
        if kind == "command_reserved" and self._is_prompt(payload):
            return self._make_prompt(kind, line, payload)
        if kind == "action_result" and result.get("type") == "completion_succeeded":
            answer = dict_or_empty(result.get("result"))
            if type(answer.get("parts")) is list:
                return self._make_answer(kind, line, payload, answer)
        if kind == "action_result" and "call_id" in result and result.get("result") is not None:
            return self._make_result(kind, line, payload, result)
        event = make_typed_event(line, kind, _RESERVED_EVENTS)
        if kind == "action_intent":
            self._note_results(event, payload)
        elif kind == "projection_delta":
            self._note_times(payload)
        return event

    def _make_meta_event(self, facts: JsonObject) -> JsonObject:
        """Learn the facts about the session, and keep them as an event."""
        learn_facts(facts, self.session)
        if type(facts.get("title")) is str:
            self.session.native["title"] = facts["title"]
        model = dict_or_empty(facts.get("config")).get("model_name")
        if type(model) is str and model:
            self.session.models.clear()
            self.session.models[model] += 1
        return {"type": "system-event", "event-type": META_EVENT, "data": facts}

    @staticmethod
    def _is_prompt(payload: JsonObject) -> bool:
        """Return whether a command of the screen brings a message."""
        method, params = payload.get("method"), dict_or_empty(payload.get("params"))
        is_turn = type(method) is str and method.startswith(_PROMPT_METHODS)
        return is_turn and type(params.get("message")) is list

    def _make_prompt(self, kind: str, line: JsonObject, payload: JsonObject) -> JsonObject:
        """Turn the line of a prompt into an entry."""
        entry: JsonObject = {"type": "user", "content": payload["params"].pop("message")}
        self.shown_as.append((entry, f"user-{payload.get('client_command_id')}-1"))
        return self._complete(entry, kind, line)

    def _make_answer(
        self, kind: str, line: JsonObject, payload: JsonObject, answer: JsonObject
    ) -> JsonObject:
        """Turn the line of an answer into an entry; its parts stay in the line, too.

        The content of the entry is their text, and reasoning and calls are its children.
        """
        parts = [part for part in answer["parts"] if type(part) is dict]
        texts = [dict(part) for part in parts if part.get("type") == "text"]
        entry: JsonObject = {"type": "assistant", "content": texts}
        if children := [child for part in parts if (child := _make_child(part))]:
            entry["children"] = children
        usage = JOURNAL_USAGE_SUMS.compute(dict_or_empty(answer.get("usage")))
        if usage:
            entry["token-usage"] = usage
        self.shown_as.append((entry, f"assistant-{payload.get('action_id')}"))
        return self._complete(entry, kind, line)

    def _make_result(
        self, kind: str, line: JsonObject, payload: JsonObject, result: JsonObject
    ) -> JsonObject:
        """Turn the line of a tool's result into an entry; its call id stays in the line, too."""
        entry: JsonObject = {"type": "tool-result", "output": result.pop("result")}
        if type(result["call_id"]) is str:
            entry["call-id"] = result["call_id"]
            self.answered.add(result["call_id"])
        self.shown_as.append((entry, f"effect-{payload.get('action_id')}"))
        return self._complete(entry, kind, line)

    @staticmethod
    def _complete(entry: JsonObject, kind: str, line: JsonObject) -> JsonObject:
        """Put the rest of a line into its entry."""
        entry = add_remaining_members(entry, line)
        keep_native_members(entry, {"type": kind})
        return entry

    def _note_results(self, event: JsonObject, payload: JsonObject) -> None:
        """Note the results among the messages of a request."""
        request = dict_or_empty(payload.get("request"))
        messages = dict_or_empty(dict_or_empty(request.get("model_input")).get("messages"))
        listed = messages.get("messages")
        for message in listed if type(listed) is list else ():
            if dict_or_empty(message).get("role") == "tool":
                self.told.append((event, message))

    def _note_times(self, payload: JsonObject) -> None:
        """Note when the screen changed what it shows."""
        delta = payload.get("delta")
        for change in delta if type(delta) is list else ():
            shown = dict_or_empty(dict_or_empty(change).get("entry"))
            identity, time = shown.get("id"), shown.get("updatedAt")
            if type(identity) is str and is_count(time):
                self.times[identity] = time

    def settle(self) -> None:
        """Add times, and the results that only a request has, once all lines are known."""
        for entry, identity in self.shown_as:
            if identity in self.times:
                entry["timestamp"] = self.times[identity]
        for event, message in self.told:
            call_id = message.get("tool_call_id")
            if type(call_id) is str and call_id not in self.answered:
                self.answered.add(call_id)
                child: JsonObject = {"type": "tool-result", "call-id": call_id}
                child |= {"output": message.get("content"), "outcome": message.get("outcome")}
                present = {name: value for name, value in child.items() if value is not None}
                event.setdefault("children", []).append(present)


def _make_child(members: JsonObject) -> JsonObject | None:
    """Return the entry of a part of an answer: reasoning or a call, or None for another part."""
    if members.get("type") == "reasoning":
        content = members.get("content")
        texts = (
            [dict_or_empty(part).get("text") for part in content] if type(content) is list else []
        )
        text = "\n\n".join(text for text in texts if type(text) is str)
        return {"type": "reasoning", "content": text}
    if members.get("type") != "tool_call" or type(members.get("name")) is not str:
        return None
    call: JsonObject = {"type": "tool-call", "name": members["name"]}
    call["input"] = parse_json_text(members.get("arguments_json"))
    if type(members.get("id")) is str:
        call["call-id"] = members["id"]
    return call
