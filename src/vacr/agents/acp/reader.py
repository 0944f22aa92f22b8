r"""Transcripts of `vacr acp`: conversations in the Agent Client Protocol (ACP).

A transcript has one line for each JSON-RPC message, with the side that sent it. Requests and their
responses are apart; texts come in chunks of a few letters; and the arguments and results of a tool
call trickle in by updates. The reader puts together what belongs together, and keeps every line:

>>> import json
>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.acp.reader import read
>>> def say(side, **message):
...     return json.dumps({"acp": "message", "from": side, "message": message}) + "\n"
>>> def write_chunk(text):
...     update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
...     return say("agent", method="session/update", params={"sessionId": "s", "update": update})
>>> talk = say("client", id=1, method="session/new", params={"cwd": "/home/mira/app"})
>>> talk += say("agent", id=1, result={"sessionId": "s"})
>>> talk += write_chunk("Good ") + write_chunk("day.")
>>> source = Source((SourcePart("talk.jsonl", talk.encode()),))
>>> (reading,) = read(source)
>>> entries = reading.record["session"]["entries"]
>>> [entry["type"] for entry in entries]
['system-event', 'system-event', 'assistant']
>>> entries[2]["content"], len(entries[2]["chunks"])
('Good day.', 2)

An editor can hold several conversations over one connection; each becomes a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    Reading,
    SessionBuilder,
    UsageSums,
    add_remaining_members,
    is_one_of,
    parse_names,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import JsonObject
from vacr.record import build_child_entries, is_timestamp

NumberedValue = tuple[int, Any]
"""The number of a line, and the value in it."""

name = "acp"
FORMAT = "acp-jsonl"
STORES = (
    SessionStore(("*.jsonl",), "", "VACR_STATE", "acp"),
    SessionStore(("*.jsonl",), "~/.local/state", "XDG_STATE_HOME", "vacr/acp", unless="VACR_STATE"),
)

PERMISSION_MARK = "permission"
"""The mark of a call that needed a permission: `allowed`, `rejected` or `cancelled`."""
PATH_MARK = "path"
"""The mark of a response that has the whole text of a file: the path of the file."""
REFUSED_MARK = "refused"
"""The mark of a request to write a file that the editor refused."""
READ_METHOD, WRITE_METHOD = "fs/read_text_file", "fs/write_text_file"
REPLAYED_EVENT = "replayed-update"
"""The event of an update that repeats an earlier session, while the agent loads it."""

_LINE_KINDS = parse_names("start message text base64 gap exit")
_KNOWN_LINE_MEMBERS = parse_names(
    "acp at from end message text base64 bytes status version command folder recorder"
)
_OPENING_METHODS = parse_names("session/new session/load session/resume session/fork")
_CONTINUING_METHODS = parse_names("session/load session/resume")
"""Methods that open a conversation whose id the editor knows."""
_KNOWN_METHODS = _OPENING_METHODS | parse_names(
    "initialize authenticate logout session/prompt session/cancel session/update session/close "
    "session/list session/delete session/set_mode session/set_model session/set_config_option "
    "session/request_permission fs/read_text_file fs/write_text_file terminal/create "
    "terminal/output terminal/release terminal/wait_for_exit terminal/kill $/cancel_request"
)
_TEXT_CHUNKS = {"agent_message_chunk": "assistant", "agent_thought_chunk": "reasoning"}
_QUIET_UPDATES = parse_names(
    "plan plan_update plan_removed usage_update available_commands_update config_option_update "
    "session_info_update current_mode_update"
)
"""Updates that may come in the middle of a text."""
_KNOWN_UPDATES = frozenset(
    (*_TEXT_CHUNKS, *_QUIET_UPDATES, "user_message_chunk", "tool_call", "tool_call_update")
)
_AGENTS_BY_ACP_NAME = {
    "@agentclientprotocol/claude-agent-acp": "claude-code",
    "@zed-industries/claude-code-acp": "claude-code",
    "@zed-industries/codex-acp": "codex-cli",
    "codex-acp": "codex-cli",
    "copilot": "copilot",
    "gemini-cli": "gemini-cli",
    "opencode": "opencode",
    "qwen-code": "qwen-code",
}
"""The name that an agent states in the protocol, in lower case → its name in vacr."""
_PARTIAL_READ = parse_names("line limit")
_FINAL_STATUSES = parse_names("completed failed cancelled")
_USAGE_SUMS = UsageSums(
    ("input", ("inputTokens", "cachedReadTokens", "cachedWriteTokens")),
    ("output", ("outputTokens",)),
    ("cached", ("cachedReadTokens",)),
    ("reasoning", ("thoughtTokens",)),
)


def recognises(sample: Sequence[Any]) -> float:
    """Return the share of a sample that is lines of a transcript; 0 if it is empty."""
    if not sample:
        return 0.0
    return sum(map(_is_transcript_line, sample)) / len(sample)


def _is_transcript_line(value: Any) -> bool:
    """Return whether a value is a line that the writer of transcripts makes."""
    return type(value) is dict and is_one_of(value.get("acp"), _LINE_KINDS) and "at" in value


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each conversation in a transcript, in the order of their starts."""
    with pause_garbage_collector():
        connection = _Connection()
        for number, batch in source.main.documents():
            for document in batch:
                connection.add_value(number, document)
        readings = [talk.finish(source) for talk in connection.finish()]
    yield from readings


class _Connection:
    """The connection of an editor and an agent: assigns each line to a conversation."""

    def __init__(self) -> None:
        """Start without conversations."""
        self.talks: dict[str, _Talk] = {}
        self.latest: _Talk | None = None
        self.waiting: list[NumberedValue] = []
        """Lines before the first conversation; they go to it."""
        self.opening: dict[Any, tuple[JsonObject, NumberedValue | None]] = {}
        """Id of a request for a conversation → its parameters, and its line if that waits."""
        self.sessions_by_request: dict[tuple[str, Any], str] = {}
        """The side and the id of a request → its conversation."""
        self.facts: JsonObject = {}
        """The agent's description of itself, for all conversations."""

    def add_value(self, number: int, document: Any) -> None:
        """Add a value of the transcript to the conversation that it belongs to."""
        line = document.value if isinstance(document, RepairedValue) else document
        if type(line) is not dict or type(line.get("message")) is not dict:
            self._add_to(None, (number, document))
            return
        message, side = line["message"], line.get("from")
        method, identity = message.get("method"), _get_hashable(message.get("id"))
        if method is not None:
            params = dict_or_empty(message.get("params"))
            self._add_request((number, document), str(side), method, identity, params)
        elif side == "agent" and identity in self.opening:
            self._add_opening((number, document), identity, dict_or_empty(message.get("result")))
        else:
            asked_by = "client" if side == "agent" else "agent"
            session = self.sessions_by_request.pop((asked_by, identity), None)
            self.facts.update(_get_agent_facts(dict_or_empty(message.get("result"))))
            self._add_to(session, (number, document))

    def _add_request(
        self, numbered: NumberedValue, side: str, method: Any, identity: Any, params: JsonObject
    ) -> None:
        """Add a request or a notification; a request for a new conversation waits for its id."""
        session = params.get("sessionId")
        if side == "client" and identity is not None and is_one_of(method, _OPENING_METHODS):
            if identity in self.opening:
                self._add_unanswered(self.opening[identity])
            if method not in _CONTINUING_METHODS or type(session) is not str:
                self.opening[identity] = params, numbered
                return
            self.opening[identity] = params, None
            self._open_talk(session)
        elif identity is not None and type(session) is str:
            self.sessions_by_request[side, identity] = session
        self._add_to(session, numbered)

    def _add_opening(self, numbered: NumberedValue, identity: Any, result: JsonObject) -> None:
        """Add the response to a request for a conversation, and the request if it waited."""
        params, request = self.opening.pop(identity)
        session = result.get("sessionId") or params.get("sessionId")
        if type(session) is str and (request is None or "sessionId" in result):
            self._open_talk(session).learn_opening(params, result)
        if request is not None:
            self._add_to(session, request)
        self._add_to(session, numbered)

    def _open_talk(self, session: str) -> _Talk:
        """Return the conversation with an id, and make it the latest."""
        talk = self.talks.setdefault(session, _Talk(session))
        self.latest = talk
        waiting, self.waiting = self.waiting, []
        for number, document in waiting:
            talk.add_value(number, document)
        return talk

    def _add_to(self, session: Any, numbered: NumberedValue) -> None:
        """Add a line to a conversation, to the latest if none has this id, or let it wait."""
        talk = self.talks.get(session) if type(session) is str else None
        talk = talk or self.latest
        if talk is None:
            self.waiting.append(numbered)
        else:
            talk.add_value(*numbered)

    def _add_unanswered(self, opening: tuple[JsonObject, NumberedValue | None]) -> None:
        """Add a request for a conversation that got no response, unless it was added before."""
        _, request = opening
        if request is not None:
            self._add_to(None, request)

    def finish(self) -> list[_Talk]:
        """Return the conversations; one without an id if none was ever opened."""
        for opening in self.opening.values():
            self._add_unanswered(opening)
        if self.waiting or not self.talks:
            talk = _Talk(None)
            for number, document in self.waiting:
                talk.add_value(number, document)
            return [talk]
        for talk in self.talks.values():
            talk.learn_agent(self.facts)
        return list(self.talks.values())


def _get_agent_facts(result: JsonObject) -> JsonObject:
    """Return the agent's description of itself in a response; most responses have none."""
    return {"agentInfo": result["agentInfo"]} if "agentInfo" in result else {}


def _get_hashable(identity: Any) -> Any:
    """Return the id of a message if it is a number or a text, else None."""
    return identity if type(identity) in (int, str) else None


class _OpenRequest(NamedTuple):
    """A request whose response has not come yet."""

    method: str
    params: JsonObject
    entry: JsonObject


_UNKNOWN_REQUEST = _OpenRequest("unknown", {}, {})


class _Talk:
    """One conversation on its way into a record."""

    def __init__(self, session: str | None) -> None:
        """Start without entries; `session` is the id that the agent gave it."""
        self.builder = SessionBuilder(FORMAT, name, session_id=session)
        self.open_text: JsonObject | None = None
        """The entry whose text the next chunk may continue."""
        self.calls: dict[str, JsonObject] = {}
        self.requests: dict[tuple[str, Any], _OpenRequest] = {}
        """The side and the id of a request → the request, until its response came."""
        self.loading: Any = None
        """The id of the request to load this conversation, until the agent has done it."""
        self.keeper = ""
        """The agent that keeps a session of its own under the same id, or empty."""

    def learn_opening(self, params: JsonObject, result: JsonObject) -> None:
        """Learn about the conversation from the request that opened it, and its response."""
        if type(params.get("cwd")) is str:
            self.builder.working_dir = params["cwd"]
        models = dict_or_empty(result.get("models"))
        model = models.get("currentModelId")
        options = result.get("configOptions")
        for option in options if type(options) is list else ():
            if type(option) is dict and option.get("category") == "model":
                model = model or option.get("currentValue")
        if type(model) is str:
            self.builder.models[model] += 1

    def learn_agent(self, facts: JsonObject) -> None:
        """Learn the name and the version of the agent."""
        info = dict_or_empty(facts.get("agentInfo"))
        if type(info.get("version")) is str:
            self.builder.cli_version = info["version"]
        if type(info.get("name")) is str:
            self.builder.native["agent"] = info["name"]
            self.keeper = _AGENTS_BY_ACP_NAME.get(info["name"].lower(), "")

    def finish(self, source: Source) -> Reading:
        """Return the record of the conversation, once all lines were added."""
        self.builder.tidy()
        reading = self.builder.reading(source)
        if self.keeper:
            reading.record["vacr"]["kept-by"] = self.keeper
        return reading

    def add_value(self, number: int, document: Any) -> None:
        """Add a value of the transcript; `number` is the number of its line."""
        if isinstance(document, RepairedValue):
            self.builder.repaired.append(document.reason)
            self.add_value(number, document.value)
        elif type(document) is dict:
            self.add_line(document)
        else:
            self.builder.entries.append(self.builder.make_unusual_event(number, document))

    def add_line(self, line: JsonObject) -> None:
        """Add a line: a message by its method, or an event of the relay."""
        drift = self.builder.drift
        drift.count_members("line", line, _KNOWN_LINE_MEMBERS)
        message = line.get("message")
        if line.get("acp") != "message" or type(message) is not dict:
            kind = line.get("acp")
            if not is_one_of(kind, _LINE_KINDS):
                drift.count_type(kind)
            self._add_event(line, f"acp-{kind}" if type(kind) is str else "acp-unknown")
        elif type(message.get("method")) is str:
            self._add_request(line, message)
        else:
            self._add_response(line, message)

    def _add_request(self, line: JsonObject, message: JsonObject) -> None:
        """Add a request or a notification."""
        method = message["method"]
        params = dict_or_empty(message.get("params"))
        identity = _get_hashable(message.get("id"))
        if method not in _KNOWN_METHODS:
            self.builder.drift.count_type(method)
        if method == "session/load":
            self.loading = identity
        side = str(line.get("from"))
        if method == "session/prompt" and "prompt" in params:
            entry = _make_entry("user", line)
            entry["content"] = params.pop("prompt")
            _add_views(entry)
            self._add(entry)
        elif method == "session/update":
            self._add_update(line, dict_or_empty(params.get("update")))
        else:
            self._add_event(line, method)
        if identity is not None:
            self.requests[side, identity] = _OpenRequest(method, params, self.builder.entries[-1])

    def _add_response(self, line: JsonObject, message: JsonObject) -> None:
        """Add a response, named after its request; learn from it how a call ended."""
        asked_by = "client" if line.get("from") == "agent" else "agent"
        identity = _get_hashable(message.get("id"))
        request = self.requests.pop((asked_by, identity), _UNKNOWN_REQUEST)
        method, params = request.method, request.params
        if identity is not None and identity == self.loading and asked_by == "client":
            self.loading = None
        result = dict_or_empty(message.get("result"))
        entry = self._add_event(line, f"{method} response")
        if method == "session/prompt":
            usage = _USAGE_SUMS.compute(dict_or_empty(result.get("usage")))
            if usage:
                entry["token-usage"] = usage
        elif method == "session/request_permission":
            self._note_permission(params, dict_or_empty(result.get("outcome")))
        elif method == READ_METHOD and _PARTIAL_READ.isdisjoint(params) and "path" in params:
            get_writable_marks(entry)[PATH_MARK] = params["path"]
        elif method == WRITE_METHOD and "error" in message:
            get_writable_marks(request.entry)[REFUSED_MARK] = True

    def _note_permission(self, params: JsonObject, outcome: JsonObject) -> None:
        """Mark the call that a person allowed or rejected."""
        call = self.calls.get(str(dict_or_empty(params.get("toolCall")).get("toolCallId")))
        if call is None:
            return
        answer = "cancelled" if outcome.get("outcome") == "cancelled" else ""
        options = params.get("options")
        for option in options if type(options) is list else ():
            if type(option) is dict and option.get("optionId") == outcome.get("optionId"):
                is_rejection = str(option.get("kind")).startswith("reject")
                answer = answer or ("rejected" if is_rejection else "allowed")
        if answer:
            get_writable_marks(call)[PERMISSION_MARK] = answer

    def _add_update(self, line: JsonObject, update: JsonObject) -> None:
        """Add an update of the agent about the conversation."""
        kind = update.get("sessionUpdate")
        if not is_one_of(kind, _KNOWN_UPDATES):
            self.builder.drift.count_type(kind)
        if self.loading is not None:
            self._add_event(line, REPLAYED_EVENT)
        elif is_one_of(kind, _TEXT_CHUNKS.keys()):
            self._add_chunk(line, update, _TEXT_CHUNKS[kind])
        elif kind == "tool_call":
            self._add_call(line, update)
        elif kind == "tool_call_update":
            self._add_call_update(line, update)
        else:
            self._learn_update(update)
            event = _make_event(line, str(kind))
            if is_one_of(kind, _QUIET_UPDATES):
                self.builder.entries.append(event)
            else:
                self._add(event)

    def _learn_update(self, update: JsonObject) -> None:
        """Learn the title or another model from an update."""
        if type(update.get("title")) is str:
            self.builder.native["title"] = update["title"]
        options = update.get("configOptions")
        for option in options if type(options) is list else ():
            if type(option) is dict and option.get("category") == "model":
                model = option.get("currentValue")
                if type(model) is str:
                    self.builder.models[model] += 0

    def _add_chunk(self, line: JsonObject, update: JsonObject, entry_type: str) -> None:
        """Add a chunk of a text to the entry that it continues, or begin one."""
        content = dict_or_empty(update.get("content"))
        text = content.get("text")
        identity = update.get("messageId")
        if content.get("type") != "text" or type(text) is not str:
            entry = _make_entry(entry_type, line)
            entry["content"] = [update.pop("content")] if "content" in update else []
            _add_views(entry)
            self._add(entry)
            return
        entry = self.open_text or {}
        if entry.get("type") != entry_type or entry.get("messageId") != identity:
            entry = {"type": entry_type, "content": "", "chunks": []}
            if identity is not None:
                entry["messageId"] = identity
            if is_timestamp(line.get("at")):
                entry["timestamp"] = line["at"]
            self._add(entry)
            self.open_text = entry
        entry["content"] += text
        entry["chunks"].append(line)

    def _add_call(self, line: JsonObject, update: JsonObject) -> None:
        """Add the call of a tool, and its result if it has ended already."""
        entry = _make_entry("tool-call", line)
        entry["name"] = str(update.get("kind") or "other")
        entry["input"] = update.pop("rawInput") if update.get("rawInput") else {}
        call_id = update.get("toolCallId")
        if type(call_id) is str:
            entry["call-id"] = call_id
            self.calls[call_id] = entry
        self._add(entry)
        if is_one_of(update.get("status"), _FINAL_STATUSES):
            result = {"type": "tool-result", "vacr": {"from": "tool_call"}}
            _copy_result(update, result)
            self._add(result)

    def _add_call_update(self, line: JsonObject, update: JsonObject) -> None:
        """Add news about a call: its result, or more of its arguments."""
        call = self.calls.get(str(update.get("toolCallId")))
        if call is not None:
            self._complete_input(call, update.get("rawInput"))
            if call["name"] == "other" and type(update.get("kind")) is str:
                call["name"] = update["kind"]
        if is_one_of(update.get("status"), _FINAL_STATUSES) and "status" not in line:
            entry = _make_entry("tool-result", line)
            _copy_result(update, entry)
            # An output that the update would imply without it stays, so that it can be told apart.
            if "rawOutput" in update and update["rawOutput"] != update.get("content", ""):
                del update["rawOutput"]
            self._add(entry)
        else:
            self._add_event(line, "tool_call_update")

    def _complete_input(self, call: JsonObject, arguments: Any) -> None:
        """Complete a call by arguments that came late; the lines stay as they were."""
        if not arguments or arguments == call["input"]:
            return
        if call["input"] and "completed-by" not in call.get("vacr", ()):
            call["message"]["params"]["update"]["rawInput"] = call["input"]
        call["input"] = arguments
        get_writable_marks(call)["completed-by"] = "tool_call_update"

    def _add_event(self, line: JsonObject, kind: str) -> JsonObject:
        """Add an event that keeps a whole line, and return it."""
        entry = _make_event(line, kind)
        self._add(entry)
        return entry

    def _add(self, entry: JsonObject) -> None:
        """Add an entry, and let the next chunk begin a new text."""
        self.open_text = None
        self.builder.entries.append(entry)


def _add_views(entry: JsonObject) -> None:
    """Add the calls, results and thoughts in a message's content as its children."""
    children = build_child_entries(entry["content"]) if entry["type"] != "reasoning" else []
    if children:
        entry["children"] = children


def _make_entry(entry_type: str, line: JsonObject) -> JsonObject:
    """Return an entry with the members of a line; its time becomes the timestamp."""
    entry: JsonObject = {"type": entry_type}
    if is_timestamp(line.get("at")):
        entry["timestamp"] = line.pop("at")
    return add_remaining_members(entry, line)


def _make_event(line: JsonObject, kind: str) -> JsonObject:
    """Return the event of a line."""
    entry: JsonObject = {"type": "system-event", "event-type": kind, "data": line}
    if is_timestamp(line.get("at")):
        entry["timestamp"] = line.pop("at")
    return entry


def _copy_result(update: JsonObject, result: JsonObject) -> None:
    """Copy the id, the status, and the output or the content of a call into its result."""
    if type(update.get("toolCallId")) is str:
        result["call-id"] = update["toolCallId"]
    result["status"] = update["status"]
    result["output"] = update["rawOutput"] if "rawOutput" in update else update.get("content", "")
