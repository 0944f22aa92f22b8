"""Trajectories of SWE-agent as records.

A trajectory has the same run twice. `history` has the messages as the model saw them, with
demonstrations; they become the entries. `trajectory` are the steps, each with the state of the
shell afterwards. If every step has an observation in the history, the step is kept with it, as
`step`; otherwise all steps stay in the session.

A call states the tool and its arguments. Configurations without calls write the command in the
text; the host repeats it as `action`, and vacr makes a call of it.

>>> import json
>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.swe_agent.reader import read
>>> said = {"role": "assistant", "message_type": "action", "content": "Look.", "action": "ls"}
>>> seen = {"role": "user", "message_type": "observation", "content": "a.py"}
>>> step = {"action": "ls", "observation": "a.py", "state": {"working_dir": "/w"}}
>>> value = {"history": [said, seen], "trajectory": [step], "info": {"exit_status": "submitted"}}
>>> [reading] = read(Source((SourcePart("a.traj", json.dumps(value).encode()),)))
>>> said, seen = reading.record["session"]["entries"]
>>> said["children"][0]["input"], seen["call-id"], seen["step"]["state"]
({'command': 'ls'}, 'step-1', {'working_dir': '/w'})
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source
from vacr.agents.json_sessions import JsonSession, derive_session_id, read_json_sessions
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import Reading, SessionBuilder, parse_names
from vacr.agents.openai_chat import CHAT_MEMBERS, make_chat_entry, make_chat_result
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import build_child_entries

name = "swe-agent"
SWE_FORMAT = "swe-agent-traj"
formats = (SWE_FORMAT,)
_TRAJECTORIES = ("**/*.traj",)
# A single run is in the current folder; the variable is for a batch.
STORES = (
    SessionStore(_TRAJECTORIES, ".", under="trajectories"),
    SessionStore(_TRAJECTORIES, "", "SWE_AGENT_TRAJECTORY_DIR"),
)
SWE_MEMBERS = CHAT_MEMBERS | parse_names(
    "action agent cache_control is_demo message_type tags thinking_blocks thought tool_call_ids"
)
SWE_MESSAGE_TYPES = frozenset(
    ("system_prompt", "demonstration", "observation", "action", "thought", "user")
)
_ACTION, _OBSERVATION = "action", "observation"
_IDENTIFYING_MESSAGES = 3
_RECOGNISED_MESSAGES = 8


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample of native values that is SWE-agent's; 0 if it is empty."""
    return sum(map(_is_trajectory, sample)) / len(sample) if sample else 0.0


def _is_trajectory(value: Any) -> bool:
    """Return whether a value has a history of messages as SWE-agent marks them."""
    history = value.get("history") if type(value) is dict else None
    if type(history) is not list or not history:
        return False
    if type(value.get("trajectory")) is list and value["trajectory"]:
        step = value["trajectory"][0]
        if type(step) is dict and {"action", "observation"} <= step.keys():
            return True
    return any(
        type(message) is dict and "role" in message and {"agent", "message_type"} & message.keys()
        for message in history[:_RECOGNISED_MESSAGES]
    )


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each trajectory in a source."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Begin the record of a trajectory."""
        session = _Trajectory(SessionBuilder(SWE_FORMAT, name, mode="autonomous"))
        if messages:
            # The first messages stay the same while the run goes on.
            first = [header.get("replay_config"), messages[:_IDENTIFYING_MESSAGES]]
            session.session.session_id = derive_session_id(first)
        return session

    return read_json_sessions(source, begin, "history")


class _Trajectory(JsonSession):
    """One trajectory on its way into a record."""

    list_member = "history"

    def __init__(self, session: SessionBuilder) -> None:
        """Start without steps."""
        super().__init__(session)
        self.steps = 0
        self.waiting = ""
        """The id of the last call, if its result is missing."""

    def learn_header(self, header: JsonObject) -> None:
        """Learn the version, the model, the folder and the commit, as far as the header has them.

        A commit that is only `HEAD` is not learned.
        """
        info = dict_or_empty(header.get("info"))
        if type(info.get("swe_agent_version")) is str:
            self.session.cli_version = info["swe_agent_version"]
        config = _parse_config(header.get("replay_config"))
        model = dict_or_empty(dict_or_empty(config.get("agent")).get("model")).get("name")
        if type(model) is str and model:
            self.session.models[model] += 1
        repo = dict_or_empty(dict_or_empty(config.get("env")).get("repo"))
        if repo.get("repo_name") and type(repo["repo_name"]) is str:
            self.session.working_dir = "/" + repo["repo_name"].lstrip("/")
        commit = repo.get("base_commit")
        if type(commit) is str and commit and commit != "HEAD":
            self.session.vcs = {"revision": commit}

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message of the history into an entry."""
        role, kind = message.get("role"), message.get("message_type")
        session = self.session
        if type(kind) is str and kind not in SWE_MESSAGE_TYPES:
            session.drift.count_type(f"message_type/{kind}")
        is_result = role == "user" and kind == _OBSERVATION and message.get("content") is not None
        if self.waiting and is_result:
            entry = make_chat_result(message)
            entry["call-id"], self.waiting = self.waiting, ""
            get_writable_marks(entry)["paired-by"] = "order"
            return entry
        action = message.get("action")
        entry = make_chat_entry(message, session, SWE_MEMBERS)
        if entry["type"] == "tool-result" and "call-id" not in entry:
            self.pair_result(entry)
        elif entry["type"] == "assistant":
            self.waiting = ""
            self.add_children(entry, action if kind == _ACTION else None)
        return entry

    def pair_result(self, entry: JsonObject) -> None:
        """Add the id of the call to a result; the host states it in a list."""
        call_ids = entry.get("tool_call_ids")
        if type(call_ids) is list and len(call_ids) == 1 and type(call_ids[0]) is str:
            entry["call-id"] = call_ids[0]
            get_writable_marks(entry)["paired-by"] = "tool_call_ids"

    def add_children(self, entry: JsonObject, action: Any) -> None:
        """Add the reasoning in blocks and, if a message has no call, the call of its action."""
        views = build_child_entries(entry.get("thinking_blocks"))
        for view in views:
            get_writable_marks(view)["from"] = "thinking_blocks"
        children = [*entry.get("children", ()), *views]
        is_called = any(child["type"] == "tool-call" for child in children)
        if not is_called and type(action) is str and action.strip():
            self.steps += 1
            self.waiting = f"step-{self.steps}"
            children.append(
                {
                    "type": "tool-call",
                    "call-id": self.waiting,
                    "name": "bash",
                    "input": {"command": action},
                    "vacr": {"from": "action"},
                }
            )
        if children:
            entry["children"] = children

    def settle(self, source: Source) -> None:
        """Move each step to its observation, if every step has one."""
        del source
        native = self.session.native
        steps = native.get("trajectory")
        results = [
            entry
            for entry in self.session.entries
            if entry["type"] == "tool-result" and not entry.get("is_demo")
        ]
        if type(steps) is not list or len(steps) != len(results) or not steps:
            return
        if all(type(step) is dict for step in steps) and not any("step" in e for e in results):
            del native["trajectory"]
            for entry, step in zip(results, steps, strict=True):
                entry["step"] = step


def _parse_config(config: Any) -> JsonObject:
    """Return the configuration of a run, which may be a text of JSON; empty without one."""
    if type(config) is str:
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return {}
    return dict_or_empty(config)
