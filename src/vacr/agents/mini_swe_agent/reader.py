"""Trajectories of mini-swe-agent as records.

A trajectory is one JSON value: facts about the run, and the messages of a chat. Version 2 asks for
commands with calls of the tool `bash`. Earlier versions, and the text models of version 2, write
the command in a fence of the answer; vacr makes a call of it, and the next observation its result.

A very old trajectory is the list of messages alone.

>>> import json
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.mini_swe_agent.reader import read
>>> answer = {"role": "assistant", "content": "THOUGHT: look\\n\\n```bash\\nls\\n```"}
>>> seen = {"role": "user", "content": "<returncode>0</returncode>\\n<output>\\na.py\\n</output>"}
>>> task = {"role": "user", "content": "Fix it."}
>>> value = {"messages": [task, answer, seen], "trajectory_format": "mini-swe-agent-1"}
>>> [reading] = read(Source((SourcePart("a.traj.json", json.dumps(value).encode()),)))
>>> _, answer, result = reading.record["session"]["entries"]
>>> answer["children"][0]["input"], result["type"], result["call-id"]
({'command': 'ls'}, 'tool-result', 'step-1')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source
from vacr.agents.json_sessions import JsonSession, derive_session_id, read_json_sessions
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import Reading, SessionBuilder, is_number, is_one_of, parse_names
from vacr.agents.openai_chat import (
    CHAT_EVENT_ROLES,
    CHAT_MEMBERS,
    CHAT_USAGE_SUMS,
    make_chat_entry,
    make_chat_event,
    make_chat_result,
)
from vacr.agents.session_tables import seconds_to_milliseconds
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject

name = "mini-swe-agent"
MINI_FORMAT = "mini-swe-agent-json"
formats = (MINI_FORMAT,)
STORES = (
    SessionStore(
        ("last_mini_run.traj.json",),
        "~/.config",
        "MSWEA_GLOBAL_CONFIG_DIR",
        systems={
            "darwin": "~/Library/Application Support/mini-swe-agent",
            "linux": "~/.config/mini-swe-agent",
            "win32": "~/AppData/Local/mini-swe-agent/mini-swe-agent",
        },
    ),
)
MINI_MEMBERS = CHAT_MEMBERS | parse_names(
    "annotations audio extra function_call images provider_specific_fields thinking_blocks"
)
MINI_USAGE_EVENT = "model-usage"
"""The type of the child that counts the tokens of an answer that the host rejected."""
USAGE_FROM_RESPONSE = "response"
MINI_EXIT_ROLE = "exit"
MINI_TRAJECTORY_FORMAT = "mini-swe-agent-"

_FENCE = re.compile(r"```(?:mswea_bash_command|bash)")
_COMMAND = re.compile(rf"{_FENCE.pattern}\s*\n([^\n]*+(?:\n(?!```)[^\n]*+)*+)\n```")
_PAIRED_BY_ORDER = {"paired-by": "order"}
"""The marks that results share, until one gets marks of its own."""
_OBSERVATION = "<returncode>"
_TIMEOUT_START = "The last command "
_IDENTIFYING_MESSAGES = 3


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is mini-swe-agent's; 0 if it is empty."""
    return sum(map(_is_trajectory, sample)) / len(sample) if sample else 0.0


def _is_trajectory(value: Any) -> bool:
    """Return whether a value is a trajectory, or a list of messages with an observation."""
    if type(value) is list:
        return _is_message_list(value)
    if type(value) is not dict or type(value.get("messages")) is not list:
        return False
    stated = value.get("trajectory_format")
    if type(stated) is str:
        return stated.startswith(MINI_TRAJECTORY_FORMAT)
    return "mini_version" in dict_or_empty(value.get("info"))


def _is_message_list(messages: list[Any]) -> bool:
    """Return whether one of the first eight messages is an observation of mini-swe-agent."""
    return bool(messages) and any(
        type(message) is dict
        and message.get("role") == "user"
        and str(message.get("content")).startswith(_OBSERVATION)
        for message in messages[:8]
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each trajectory in a source."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Begin the record of a trajectory."""
        session = _Trajectory(SessionBuilder(MINI_FORMAT, name))
        if messages:
            # The first messages stay the same while the run goes on.
            session.session.session_id = derive_session_id(messages[:_IDENTIFYING_MESSAGES])
        if type(header.get("instance_id")) is str:
            # A benchmark runs without a person.
            session.session.mode = "autonomous"
        return session

    return read_json_sessions(source, begin, "messages", _is_message_list)


class _Trajectory(JsonSession):
    """One trajectory on its way into a record."""

    list_member = "messages"

    def __init__(self, session: SessionBuilder) -> None:
        """Start without steps."""
        super().__init__(session)
        self.steps = 0
        self.waiting: list[str] = []
        """The ids of calls in text that have no result yet."""

    def learn_header(self, header: JsonObject) -> None:
        """Learn the version, the model and the folder from the facts about the run."""
        info = dict_or_empty(header.get("info"))
        if type(info.get("mini_version")) is str:
            self.session.cli_version = info["mini_version"]
        config = dict_or_empty(info.get("config"))
        folder = dict_or_empty(config.get("environment")).get("cwd")
        if type(folder) is str and folder:
            self.session.working_dir = folder
        model = dict_or_empty(config.get("model")).get("model_name")
        if type(model) is str and model:
            # Responses may name the model more precisely, so that it counts for more.
            self.session.models[model] += 0

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry."""
        role, content = message.get("role"), message.get("content")
        extra = message.get("extra")
        if type(extra) is not dict:
            extra = {}
        if role == MINI_EXIT_ROLE:
            entry = make_chat_event(message)
        elif self.waiting and role == "user" and _is_observation(content, extra):
            entry = make_chat_result(message)
            entry["call-id"] = self.waiting.pop(0)
            if "vacr" in entry:
                get_writable_marks(entry)["paired-by"] = "order"
            else:
                entry["vacr"] = _PAIRED_BY_ORDER
        elif role is None and message.get("type") == "function_call_output":
            entry = self.make_response_result(message)
        else:
            entry = make_chat_entry(message, self.session, MINI_MEMBERS)
            if role == "assistant" or message.get("object") == "response":
                self.add_facts(entry, extra, content)
            elif role == "user":
                self.waiting = []
                self.add_rejected_answer(entry, extra)
        if "timestamp" in extra and not is_one_of(role, CHAT_EVENT_ROLES):
            stamp = seconds_to_milliseconds(extra["timestamp"])
            if stamp is not None:
                entry["timestamp"] = stamp
        return entry

    def make_response_result(self, message: JsonObject) -> JsonObject:
        """Turn a result in the form of the Responses API into an entry."""
        entry: JsonObject = {"type": "tool-result", "output": message.pop("output", "")}
        if type(message.get("call_id")) is str:
            entry["call-id"] = message.pop("call_id")
        message.pop("type")
        get_writable_marks(entry)["from"] = "function_call_output"
        entry.update(message)
        return entry

    def add_facts(self, entry: JsonObject, extra: JsonObject, content: Any) -> None:
        """Add the model and the usage of a response, and the calls that its text makes."""
        response = dict_or_empty(extra.get("response"))
        self.add_usage(entry, extra, response)
        if "created" in response:
            created = seconds_to_milliseconds(response["created"])
            if created is not None:
                entry["timestamp"] = created
        children = entry.get("children")
        if children and any(child["type"] == "tool-call" for child in children):
            return
        calls = [self.make_call(command) for command in _list_commands(extra, content)]
        if calls:
            entry["children"] = children + calls if children else calls
        self.waiting = [call["call-id"] for call in calls]

    def add_rejected_answer(self, entry: JsonObject, extra: JsonObject) -> None:
        """Add the usage of an answer that has no message: the host could not read a call in it."""
        event: JsonObject = {"type": "system-event", "event-type": MINI_USAGE_EVENT}
        self.add_usage(event, extra, dict_or_empty(extra.get("response")))
        if "token-usage" in event:
            event["vacr"] = {"usage-from": USAGE_FROM_RESPONSE}
            entry["children"] = [*entry.get("children", ()), event]

    def add_usage(self, entry: JsonObject, extra: JsonObject, response: JsonObject) -> None:
        """Add the model and the usage of a response to the entry that counts them."""
        stated = response.get("usage")
        usage = {}
        cost = extra.get("cost")
        if type(stated) is dict:
            usage = CHAT_USAGE_SUMS.compute(stated)
            if "cost" not in extra:
                cost = stated.get("cost")
        if is_number(cost):
            usage["cost"] = cost
        model = response.get("model")
        if type(model) is str and model:
            entry["model-id"] = model
            self.session.models[model] += 1
        if usage:
            entry["token-usage"] = usage

    def make_call(self, command: str) -> JsonObject:
        """Make the call of a command that stands in the text of an answer."""
        self.steps += 1
        return {
            "type": "tool-call",
            "call-id": f"step-{self.steps}",
            "name": "bash",
            "input": {"command": command},
            "vacr": {"from": "text"},
        }


def _is_observation(content: Any, extra: JsonObject) -> bool:
    """Return whether a user message shows the output of a command."""
    starts = (_OBSERVATION, _TIMEOUT_START, "<exception>")
    return "returncode" in extra or (type(content) is str and content.startswith(starts))


def _list_commands(extra: JsonObject, content: Any) -> list[str]:
    """Return the commands of an answer: as the host read them, or the only one in a fence."""
    if "actions" in extra and type(actions := extra["actions"]) is list:
        return [
            action["command"]
            for action in actions
            if type(action) is dict and type(action.get("command")) is str
        ]
    if type(content) is not str:
        return []
    fence = _FENCE.search(content)
    if fence is None or _FENCE.search(content, fence.end()):
        return []
    command = _COMMAND.match(content, fence.start())
    return [] if command is None else [command[1]]
