r"""Conversations of gptme as records.

A conversation is a file of JSON lines, one message each. The calls of an answer are in its text,
and their results are messages of the system after it. vacr makes a call of each, and pairs it with
its result by the id, or else by the order.

Times are local ones without a zone. They stay in `vacr.native`.

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.gptme.reader import read
>>> lines = '{"role": "assistant", "content": "```shell\\nls\\n```", "timestamp": "2026-06-13"}\n'
>>> lines += '{"role": "system", "content": "Ran command: `ls`", "timestamp": "2026-06-13"}\n'
>>> [reading] = read(Source((SourcePart("conversation.jsonl", lines.encode()),)))
>>> answer, result = reading.record["session"]["entries"]
>>> answer["children"][0]["input"], result["type"], result["call-id"]
({'command': 'ls'}, 'tool-result', 'call-1')

docs/mapping/gptme.md is generated from the tables.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.gptme.text_calls import TextCall, find_calls, split_thought
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Lift,
    Move,
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    is_number,
    is_one_of,
    parse_names,
)
from vacr.agents.openai_chat import make_chat_event
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject

name = "gptme"
GPTME_FORMAT = "gptme-jsonl"
formats = (GPTME_FORMAT,)
_PATTERNS = ("*/conversation.jsonl",)
_LOGS = "GPTME_LOGS_HOME"
STORES = (
    SessionStore(_PATTERNS, "", _LOGS),
    SessionStore(_PATTERNS, "~/.local/share", "XDG_DATA_HOME", "gptme/logs", unless=_LOGS),
    SessionStore(
        _PATTERNS,
        "",
        under="gptme/logs",
        systems={"darwin": "~/Library/Application Support", "win32": "~/AppData/Local/gptme"},
        unless=_LOGS,
    ),
)
CONFIG_FILE = "config.toml"

# --- Known members ---

GPTME_MEMBERS = parse_names(
    """
    call_id content ephemeral_ttl file_hashes files hide metadata pinned quiet role timestamp
    """
)
GPTME_ROLES = frozenset(("system", "user", "assistant", "tool"))
GPTME_RESULT_ROLES = frozenset(("system", "tool"))
GPTME_OWN_MEMBERS = frozenset(("pinned", "hide", "file_hashes", "ephemeral_ttl"))
"""Members that lines of other programs do not have."""
GPTME_USAGE_SUMS = UsageSums(
    ("input", ("input_tokens", "cache_read_tokens", "cache_creation_tokens")),
    ("output", ("output_tokens",)),
    ("cached", ("cache_read_tokens",)),
)
GPTME_RESULT_MOVES = Lift(Move("content", "output", None), Move("call_id", "call-id"))
EDITED_NOTICE = "(content was edited by user)"
"""The message after the result of a call whose text the user changed before it ran."""

RESULT_STARTS = {
    "Saved to ": "save",
    "Save aborted": "save",
    "Appended to ": "append",
    "Append aborted": "append",
    "Patch successfully applied to ": "patch",
    "Error during execution: Patch failed": "patch",
    "Ran command": "shell",
    "Ran allowlisted command": "shell",
    "Command ": "shell",
    "Executed code block": "ipython",
}
"""The beginning of a result → the tool that writes it."""
_ALL_RESULT_STARTS = tuple(RESULT_STARTS)

_VERSION = re.compile(r"You are gptme v(\d[\w.+-]*?)[,.]? ")
_FOLDER_STARTS = ("**Working Directory:** ", "<working-directory>")
_FOLDER = re.compile(rf"(?:{'|'.join(map(re.escape, _FOLDER_STARTS))})([^\n<]+)")
_OWN_START = "You are gptme"
NOTICE_STARTS = ("<", "Shellcheck", "shellcheck", "Ran preceding commands", "Warning: Preceding")
"""The beginnings of messages of the system that are not the result of a call."""


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is gptme's, from 0 to 1; 0 for an empty sample."""
    if not any(map(_is_typical, sample)):
        return 0.0
    return sum(map(_is_message, sample)) / len(sample)


def _is_message(value: Any) -> bool:
    """Return whether a value has the form of a message."""
    return (
        type(value) is dict
        and is_one_of(value.get("role"), GPTME_ROLES)
        and type(value.get("content")) is str
        and type(value.get("timestamp")) is str
    )


def _is_typical(value: Any) -> bool:
    """Return whether a value is a message that other programs would not write."""
    return _is_message(value) and (
        not GPTME_OWN_MEMBERS.isdisjoint(value) or value["content"].startswith(_OWN_START)
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of a conversation."""
    with pause_garbage_collector():
        conversation = _Conversation(SessionBuilder(GPTME_FORMAT, name))
        session = conversation.session
        folder = source.main.name.rpartition("/")[0]
        session.session_id = folder.rpartition("/")[2] or None
        _learn_config(source, session)
        session.add_lines(source, conversation.make_entry)
        conversation.close_answer()
        session.tidy()
        reading = session.reading(source)
    yield reading


def _learn_config(source: Source, session: SessionBuilder) -> None:
    """Learn about the session from its settings, which stay in the record as an attached file."""
    for part in source.parts[1:]:
        if part.name.rpartition("/")[2] != CONFIG_FILE:
            continue
        try:
            chat = dict_or_empty(tomllib.loads(part.data.decode()).get("chat"))
        except (ValueError, RecursionError):
            return
        if type(chat.get("workspace")) is str and chat["workspace"].startswith("/"):
            session.working_dir = chat["workspace"]
        if type(chat.get("model")) is str and chat["model"]:
            # Answers name the model, too, so that theirs counts for more.
            session.models[chat["model"]] += 0
        if chat.get("interactive") is False:
            session.mode = "autonomous"


class _Conversation:
    """The messages on their way into a record."""

    def __init__(self, session: SessionBuilder) -> None:
        """Start without calls."""
        self.session = session
        self.count = 0
        self.answer: JsonObject = {}
        """The last answer."""
        self.waiting: list[TextCall] = []
        """The calls of the last answer that have no result yet."""
        self.result: JsonObject = {}
        """The result in the line before; empty if there is none."""

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a line into an entry."""
        previous, self.result = self.result, {}
        role, content = message.get("role"), message.get("content")
        self.session.drift.count_members(str(role), message, GPTME_MEMBERS)
        if role in ("user", "assistant") and type(content) is str:
            self.close_answer()
            entry: JsonObject = {"type": message.pop("role"), "content": message.pop("content")}
            if entry["type"] == "assistant":
                self.begin_answer(entry, content, message.get("metadata"))
            return add_remaining_members(entry, message)
        if is_one_of(role, GPTME_RESULT_ROLES) and type(content) is str:
            if self.is_result(message, content):
                return self.make_result(message)
            if content == EDITED_NOTICE and previous:
                get_writable_marks(previous)["edited"] = True
            self.learn_facts(content)
            return make_chat_event(message)
        self.session.drift.count_type(f"role/{role}" if type(role) is str else role)
        return make_chat_event(message)

    def begin_answer(self, entry: JsonObject, text: str, metadata: Any) -> None:
        """Add the reasoning, the model and the usage of an answer, and look for its calls."""
        facts = dict_or_empty(metadata)
        model = facts.get("model")
        if type(model) is str and model:
            entry["model-id"] = model
            self.session.models[model] += 1
        # Older versions have the counters among the facts.
        usage = GPTME_USAGE_SUMS.compute(dict_or_empty(facts.get("usage", facts)))
        cost = facts.get("cost")
        if is_number(cost) and cost >= 0:
            usage["cost"] = cost
        if usage:
            entry["token-usage"] = usage
        thought, _ = split_thought(text)
        if thought:
            child = {"type": "reasoning", "content": thought, "vacr": {"from": "text"}}
            entry["children"] = [child]
        self.answer, self.waiting = entry, find_calls(text)

    def close_answer(self) -> None:
        """Add the calls that surely are calls, but have no result."""
        for call in self.waiting:
            if not call.needs_result:
                self.add_call(call)
        self.waiting = []

    def add_call(self, call: TextCall) -> JsonObject:
        """Add a call to the children of the last answer, and return its entry."""
        self.count += 1
        marks: JsonObject = {"from": "text"}
        if not call.is_certain:
            marks["uncertain"] = True
        child: JsonObject = {
            "type": "tool-call",
            "call-id": call.call_id or f"call-{self.count}",
            "name": call.tool,
            "input": call.input,
            "vacr": marks,
        }
        self.answer.setdefault("children", []).append(child)
        return child

    def is_result(self, message: JsonObject, content: str) -> bool:
        """Return whether a message of the system is the result of a call."""
        if type(message.get("call_id")) is str or message["role"] == "tool":
            return True
        if not self.waiting or message.get("hide") is True or message.get("pinned") is True:
            return False
        return content != EDITED_NOTICE and not content.startswith(NOTICE_STARTS)

    def make_result(self, message: JsonObject) -> JsonObject:
        """Turn a message into the result of its call, by the id or else by the order."""
        entry: JsonObject = {"type": "tool-result"}
        GPTME_RESULT_MOVES.apply(message, entry)
        position = self.find_call(entry)
        # Calls before the one with a result are older than it.
        for call in self.waiting[:position] if position < len(self.waiting) else ():
            if not call.needs_result:
                self.add_call(call)
        if position < len(self.waiting):
            call = self.waiting[position]
            child = self.add_call(call)
            del self.waiting[: position + 1]
            marks: JsonObject = {} if call.is_certain else {"uncertain": True}
            if "call-id" not in entry:
                entry["call-id"] = child["call-id"]
                marks["paired-by"] = "order"
            if marks:
                entry["vacr"] = marks
        self.result = entry
        return add_remaining_members(entry, message)

    def find_call(self, result: JsonObject) -> int:
        """Return the position of the call that a result belongs to, or the number of calls.

        Its id decides, or else the tool that writes such results, or else the order.
        """
        key = result.get("call-id")
        if key is not None:
            keys = [call.call_id for call in self.waiting]
            return keys.index(key) if key in keys else len(keys)
        output = result["output"]
        if not output.startswith(_ALL_RESULT_STARTS):
            return 0
        tool = next(tool for start, tool in RESULT_STARTS.items() if output.startswith(start))
        tools = [call.tool for call in self.waiting]
        return tools.index(tool) if tool in tools else 0

    def learn_facts(self, content: str) -> None:
        """Learn the version and the folder from the prompt of the system."""
        if self.session.cli_version is None and (version := _VERSION.search(content[:200])):
            self.session.cli_version = version[1]
        # Most messages lack both: finding that out is far cheaper than the search.
        if self.session.working_dir is None and any(start in content for start in _FOLDER_STARTS):
            folder = _FOLDER.search(content)
            if folder is not None:
                self.session.working_dir = folder[1].strip()
