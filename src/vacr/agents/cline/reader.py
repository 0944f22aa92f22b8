"""Cline's sessions, and the tasks of Cline's editor extension and of its fork Roo Code.

A session of the SDK and the command line is `ID.messages.json`, with the manifest `ID.json` next to
it. A task of the extension is a folder: `api_conversation_history.json` is a bare list of messages,
and `ui_messages.json` holds the screen, with times and tokens. Each of these files can be recorded
alone. In one folder, the facts of the others are joined to the messages: times, tokens, model,
working folder, version.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.cline.reader import read_tasks
>>> data = b'[{"role": "user", "content": "<task>Say hi.</task>"}, {"role": "assistant", "ts": 1}]'
>>> (reading,) = read_tasks(Source((SourcePart("api_conversation_history.json", data),)), "cline")
>>> [entry["type"] for entry in reading.record["session"]["entries"]]
['user', 'assistant']

Messages that a fork copied from its parent are marked `vacr.inherited`. Calls and results that
stand in the text of a message become children, marked `vacr.from: "text"`; their ids are made here.

docs/mapping/cline.md is generated from the tables. They hold the names seen in versions 3.0 to 4.1.
A name that is missing here is kept like any other, and counted in the record's `vacr.drift`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source
from vacr.agents.anthropic_blocks import (
    list_block_texts,
    make_block_entry,
    move_milliseconds,
    move_nested_text,
)
from vacr.agents.cline.text_calls import find_text_results, parse_text_call
from vacr.agents.documents import parse_json_documents
from vacr.agents.json_sessions import JsonSession, read_json_sessions
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Move,
    NativeShape,
    Reading,
    SessionBuilder,
    SourceNotice,
    UsageSums,
    is_count,
    is_number,
    keep_native_members,
    make_typed_event,
    parse_names,
)
from vacr.model import JsonObject
from vacr.record import get_epoch_milliseconds, is_timestamp

name = "cline"
formats = ("cline-session", "cline-task", "cline-ui")
SESSION_FORMAT, TASK_FORMAT, UI_FORMAT = formats
FROM_TEXT = "text"
"""The value of `vacr.from` for calls and results that stand in the text of a message."""

MESSAGES_FILE_ENDING = ".messages.json"
_TASK_FILES = ("tasks/*/api_conversation_history.json",)
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS = ("~/.vscode-server", "~/.vscode-remote")


def make_extension_stores(*extensions: str) -> tuple[SessionStore, ...]:
    """Return the stores of extensions in the editors and editor servers that can run them."""
    stores = []
    for extension in extensions:
        under = f"User/globalStorage/{extension}"
        stores += [
            SessionStore(
                _TASK_FILES,
                "~/.config",
                "XDG_CONFIG_HOME",
                f"{editor}/{under}",
                {"darwin": "~/Library/Application Support", "win32": "~/AppData/Roaming"},
                {"darwin": "", "win32": "APPDATA"},
            )
            for editor in _EDITORS
        ]
        stores += [SessionStore(_TASK_FILES, server, under=f"data/{under}") for server in _SERVERS]
    return tuple(stores)


STORES = (
    SessionStore(
        ("data/sessions/*/*.messages.json", "data/tasks/*/api_conversation_history.json"),
        "~/.cline",
        "CLINE_DIR",
    ),
    SessionStore(("sessions/*/*.messages.json",), "", "CLINE_DATA_DIR"),
    SessionStore(("*/*.messages.json",), "", "CLINE_SESSION_DATA_DIR"),
    *make_extension_stores("saoudrizwan.claude-dev"),
)
# Files next to the messages: the manifest and the compacted session, or those of a task.
ATTACHED = (
    "{name}.json",
    "{name}.compaction.json",
    "ui_messages.json",
    "task_metadata.json",
    "context_history.json",
    "history_item.json",
)
SUB_SESSIONS = ("*.messages.json",)
# The folder of a task names it.
NAMED = re.compile(
    r"(?:\d{13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"/(?:api_conversation_history|ui_messages)\.json$"
)

# --- Known members ---

CLINE_HEADER_MEMBERS = parse_names(
    "agent messages origin sessionId system_prompt taskType updated_at version"
)
CLINE_MANIFEST_MEMBERS = parse_names(
    """
    compaction_path cwd enable_spawn enable_teams enable_tools ended_at exit_code interactive
    messages_path metadata model pid prompt provider session_id source started_at status team_name
    version workspace_root
    """
)
CLINE_MESSAGE_MEMBERS = parse_names("content id metadata metrics modelInfo role ts")
CLINE_TASK_MESSAGE_MEMBERS = CLINE_MESSAGE_MEMBERS | parse_names(
    """
    condenseId condenseParent encrypted_content isSummary isTruncationMarker reasoning_content
    reasoning_details summary text truncationId truncationParent
    """
)
CLINE_UI_MEMBERS = parse_names(
    """
    apiProtocol ask checkpoint commandCompleted contextCondense contextTruncation
    conversationHistoryDeletedRange conversationHistoryIndex files images isAnswered
    isCheckpointCheckedOut isOperationOutsideWorkspace isProtected lastCheckpointHash
    lastCheckpointTracker modelInfo multiCommandState partial progressStatus reasoning say text ts
    """
)

# --- Moves ---

_MESSAGE_MOVES = (
    Move("content", "content", None),
    Move("id", "id"),
)
CLINE_MESSAGE_SHAPE = NativeShape(CLINE_MESSAGE_MEMBERS, *_MESSAGE_MOVES)
CLINE_TASK_MESSAGE_SHAPE = NativeShape(CLINE_TASK_MESSAGE_MEMBERS, *_MESSAGE_MOVES)
CLINE_UI_SHAPE = NativeShape(CLINE_UI_MEMBERS, Move("text", "content"))
CLINE_TIME_MEMBER = "ts"
"""The member with a time in milliseconds; it becomes `timestamp`."""
CLINE_UI_SAYS = {
    "text": "assistant",
    "completion_result": "assistant",
    "reasoning": "reasoning",
    "task": "user",
    "user_feedback": "user",
}
"""Kind of text on the screen → the type of the entry; the first text is the user's."""
CLINE_USAGE_SUMS = UsageSums(
    ("input", ("inputTokens",)),
    ("cached", ("cacheReadTokens",)),
    ("output", ("outputTokens",)),
)
"""The counters of a session; its `inputTokens` include the cache."""
CLINE_TASK_USAGE_SUMS = UsageSums(("input", ("prompt", "cached")), ("output", ("completion",)))
"""The counters of a task's message; `cached` adds reads and writes of the cache up."""
CLINE_REQUEST_USAGE_SUMS = UsageSums(
    ("input", ("tokensIn", "cacheWrites", "cacheReads")),
    ("cached", ("cacheReads",)),
    ("output", ("tokensOut",)),
)
"""The counters of a request, as the screen showed them."""

_TASK_STARTS = (
    "<task>",
    "<user_message>",
    "<environment_details>",
    "[TASK RESUMPTION]",
    "<feedback>",
)
_WORKING_FOLDER = re.compile(
    r"^# Current (?:Working|Workspace) Directory \((.+)\) Files$", re.MULTILINE
)
_ENVIRONMENT_START = "<environment_details>"
_COMMIT = re.compile(r'"latestGitCommitHash": "([0-9a-f]{40})"')
_REMOTE = re.compile(r'"associatedRemoteUrls": \[\s*"origin: ([^"\s]+)"')
_FORK_MEMBERS = parse_names(
    "condenseId condenseParent isSummary isTruncationMarker truncationId truncationParent"
)
_FORK_TEXTS = ("# Current Mode\n<slug>", "# Current Cost\n", "# Current Workspace Directory (")
_FORK_SAYS = parse_names(
    """
    checkpoint_saved codebase_search_result condense_context condense_context_error
    sliding_window_truncation subtask_result
    """
)
_SAMPLED_MESSAGES = 4


# --- Recognition ---


def recognises(sample: Sequence[Any], *, is_fork: bool = False) -> float:
    """Return the share of a sample of native values that is Cline's; 0 if it is empty.

    With `is_fork`, return the share of its fork Roo Code.
    """
    if not sample:
        return 0.0
    return sum(_is_own_value(value, is_fork=is_fork) for value in sample) / len(sample)


def _is_own_value(value: Any, *, is_fork: bool) -> bool:
    """Return whether a value is a session, a manifest, a task, or the screen of one."""
    if type(value) is dict:
        return not is_fork and (is_session(value) or is_manifest(value))
    if is_task(value):
        return _is_fork_task(value) is is_fork
    if is_screen(value):
        return any(is_said(message, _FORK_SAYS) for message in value) is is_fork
    return False


def is_session(value: JsonObject) -> bool:
    """Return whether an object is a session: messages, their agent, and the id of the session."""
    return (
        type(value.get("messages")) is list
        and type(value.get("agent")) is str
        and type(value.get("sessionId")) is str
    )


def is_manifest(value: JsonObject) -> bool:
    """Return whether an object is the manifest of a session."""
    return value.get("enable_spawn") is not None and type(value.get("session_id")) is str


def is_task(value: Any) -> bool:
    """Return whether a value is the messages of a task: a list that begins with a prompt."""
    if type(value) is not list or not value or type(value[0]) is not dict:
        return False
    if value[0].get("role") != "user" or not all(type(message) is dict for message in value):
        return False
    starts = [text.lstrip() for text in list_block_texts(value[0].get("content"))]
    return any(text.startswith(_TASK_STARTS) for text in starts)


def is_screen(value: Any) -> bool:
    """Return whether a value is the screen of a task."""
    return (
        type(value) is list
        and bool(value)
        and all(
            type(message) is dict
            and type(message.get("ts")) is int
            and type(message.get(message.get("type"))) is str
            for message in value[:_SAMPLED_MESSAGES]
            if type(message) is not dict or type(message.get("type", "")) is str
        )
        and type(value[0]) is dict
        and value[0].get("type") in ("say", "ask")
    )


def is_said(message: Any, says: frozenset[str]) -> bool:
    """Return whether a message of the screen is of one of these kinds."""
    return type(message) is dict and type(message.get("say")) is str and message["say"] in says


def _is_fork_task(messages: list[JsonObject]) -> bool:
    """Return whether a task is Roo Code's: by members or by the state of the editor in a prompt."""
    for message in messages[:_SAMPLED_MESSAGES]:
        for text in list_block_texts(message.get("content")):
            if any(mark in text for mark in _FORK_TEXTS):
                return True
    return not all(_FORK_MEMBERS.isdisjoint(message) for message in messages)


# --- Sessions ---


def read_sessions(source: Source) -> Iterator[Reading]:
    """Yield the record of each session, manifest or task in a file."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Return the reader for one value of the file."""
        if header:
            return _Session(SessionBuilder(SESSION_FORMAT, name))
        return _begin_task(messages, name)

    return read_json_sessions(source, begin, "messages", _is_list, is_manifest)


def read_tasks(source: Source, cli_name: str) -> Iterator[Reading]:
    """Yield the record of each task in a file; `cli_name` is the agent that wrote it."""

    def begin(header: JsonObject, messages: list[Any]) -> JsonSession:
        """Return the reader for one value of the file."""
        del header
        return _begin_task(messages, cli_name)

    return read_json_sessions(source, begin, "", _is_list)


def _is_list(value: list[Any]) -> bool:
    """Return whether a list holds the messages of a task, or of the screen."""
    return is_task(value) or is_screen(value)


def _begin_task(messages: list[Any], cli_name: str) -> JsonSession:
    """Return the reader for the messages of a task, or of the screen."""
    if is_screen(messages):
        return _Screen(SessionBuilder(UI_FORMAT, cli_name))
    session = _Task(SessionBuilder(TASK_FORMAT, cli_name))
    session.has_block_calls = any(
        type(block) is dict and block.get("type") == "tool_use"
        for message in messages
        if type(message) is dict and type(message.get("content")) is list
        for block in message["content"]
    )
    return session


class _Session(JsonSession):
    """A session of the SDK: its messages, or its manifest alone."""

    def learn_header(self, header: JsonObject) -> None:
        """Learn about the session from the members around the messages, or from the manifest."""
        session = self.session
        if is_manifest(header):
            session.drift.count_members("manifest", header, CLINE_MANIFEST_MEMBERS)
            self.learn_manifest(header)
            if header["session_id"]:
                session.session_id = header.pop("session_id")
            self.is_manifest = True
            return
        self.is_manifest = False
        session.drift.count_members("session", header, CLINE_HEADER_MEMBERS)
        if header.get("sessionId") and type(header["sessionId"]) is str:
            session.session_id = header.pop("sessionId")
        if is_timestamp(header.get("updated_at")):
            session.end = header["updated_at"]
        origin = header.get("origin")
        if type(origin) is dict:
            self.learn_origin(origin)

    def learn_origin(self, origin: JsonObject) -> None:
        """Learn the version, and the parent of a sub-agent's session."""
        if type(origin.get("version")) is str:
            self.session.cli_version = origin["version"]
        parent = origin.get("parentThreadId")
        if type(parent) is str and parent:
            self.session.parent, self.session.mode = parent, "autonomous"

    def learn_manifest(self, manifest: JsonObject) -> None:
        """Learn about the session from its manifest."""
        session = self.session
        for member, fact in (("started_at", "start"), ("ended_at", "end")):
            if is_timestamp(manifest.get(member)):
                setattr(session, fact, manifest[member])
        if type(manifest.get("model")) is str and not session.models:
            session.models[manifest["model"]] += 1
        if type(manifest.get("provider")) is str:
            session.provider = manifest["provider"]
        if type(manifest.get("cwd")) is str:
            session.working_dir = manifest["cwd"]
        if type(manifest.get("interactive")) is bool and session.mode is None:
            session.mode = "interactive" if manifest["interactive"] else "autonomous"
        metadata = manifest.get("metadata")
        if type(metadata) is not dict:
            return
        git = metadata.get("git")
        if type(git) is dict and type(git.get("branch")) is str:
            session.vcs["branch"] = git["branch"]
        history = metadata.get("sessionHistoryOrigin")
        if type(history) is dict and type(history.get("version")) is str:
            session.cli_version = history["version"]
        fork = metadata.get("fork")
        if type(fork) is dict:
            self.mark_inherited(fork)

    def mark_inherited(self, fork: JsonObject) -> None:
        """Mark the messages that a fork copied: the ones from before it was made."""
        session = self.session
        if session.parent is None and type(fork.get("forkedFromSessionId")) is str:
            session.parent = fork["forkedFromSessionId"]
        forked_at = fork.get("forkedAt")
        moment = get_epoch_milliseconds(forked_at) if isinstance(forked_at, str | int) else None
        if moment is None:
            return
        for entry in session.entries:
            if type(entry.get("timestamp")) is int and entry["timestamp"] <= moment:
                get_writable_marks(entry)["inherited"] = True
                session.inherits = True

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry."""
        session = self.session
        entry = make_block_entry(message, session, CLINE_MESSAGE_SHAPE)
        move_milliseconds(entry, CLINE_TIME_MEMBER)
        if entry["type"] == "assistant":
            model = move_nested_text(entry, "modelInfo", "id", "model-id")
            if model is not None:
                session.models[model] += 1
                self.learn_provider(entry)
            add_usage(entry, entry.get("metrics"), CLINE_USAGE_SUMS)
        return entry

    def learn_provider(self, entry: JsonObject) -> None:
        """Take the provider of the first message that names one for the session's."""
        provider = entry["modelInfo"].get("provider")
        if self.session.provider == UNKNOWN and type(provider) is str:
            self.session.provider = provider

    def settle(self, source: Source) -> None:
        """Learn from the manifest next to the messages."""
        if self.is_manifest:
            message = f"only a manifest; the messages are in {MESSAGES_FILE_ENDING[1:]} next to it"
            self.session.notices.append(SourceNotice(message))
            return
        for value in parse_other_parts(source):
            if type(value) is not dict or not is_manifest(value):
                continue
            if value["session_id"] == self.session.session_id:
                self.learn_manifest(value)


def parse_other_parts(source: Source) -> Iterator[Any]:
    """Yield the JSON values of the other files; damaged ones are left out."""
    for part in source.parts[1:]:
        if part.name.endswith(".json"):
            for _, batch in parse_json_documents(part.data):
                yield from batch


def add_usage(entry: JsonObject, counters: Any, sums: UsageSums) -> None:
    """Add the canonical counters, and the cost, of a message to its entry."""
    if type(counters) is not dict:
        return
    usage = sums.compute(counters)
    cost = counters.get("cost")
    if usage and is_number(cost):
        usage["cost"] = cost
    if usage:
        entry["token-usage"] = usage


# --- Tasks of the extension ---


class _Task(JsonSession):
    """A task of the extension: a list of messages."""

    has_block_calls = False
    """Whether calls are blocks; then no text is one."""

    def __init__(self, session: SessionBuilder) -> None:
        """Start without messages."""
        super().__init__(session)
        self.open_calls: list[tuple[str, str]] = []
        """The tool and the id of each call of the last assistant message without a result."""
        self.is_environment_known = False

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn a message into an entry; calls and results in its text become children, too."""
        session = self.session
        if message.get("type") == "reasoning" and "role" not in message:
            return make_typed_event(message, "reasoning", frozenset())
        entry = make_block_entry(message, session, CLINE_TASK_MESSAGE_SHAPE)
        move_milliseconds(entry, CLINE_TIME_MEMBER)
        if entry["type"] == "assistant":
            model = move_nested_text(entry, "modelInfo", "modelId", "model-id")
            if model is not None:
                session.models[model] += 1
                provider = entry["modelInfo"].get("providerId")
                if session.provider == UNKNOWN and type(provider) is str:
                    session.provider = provider
            metrics = entry.get("metrics")
            if type(metrics) is dict and type(metrics.get("tokens")) is dict:
                add_usage(entry, metrics["tokens"], CLINE_TASK_USAGE_SUMS)
                if "token-usage" in entry and is_number(metrics.get("cost")):
                    entry["token-usage"]["cost"] = metrics["cost"]
            self.note_calls(entry)
        elif entry["type"] == "user":
            if not self.is_environment_known:
                self.learn_environment(entry)
            self.add_text_results(entry)
        return entry

    def learn_environment(self, entry: JsonObject) -> None:
        """Learn the working folder and the commit from the editor's state in a prompt."""
        for text in list_block_texts(entry.get("content")):
            if (folder := _WORKING_FOLDER.search(text)) is None:
                continue
            self.is_environment_known = True
            self.session.working_dir = folder[1]
            if commit := _COMMIT.search(text):
                self.session.vcs["revision"] = commit[1]
            if remote := _REMOTE.search(text):
                self.session.vcs["repository"] = remote[1]

    def note_calls(self, entry: JsonObject) -> None:
        """Note the calls of an assistant message, and add the one in its text."""
        if not self.has_block_calls:
            for text in list_block_texts(entry.get("content")):
                if call := parse_text_call(text):
                    self.add_text_call(entry, *call)
                    break
        self.open_calls = [
            (child["name"], child["call-id"])
            for child in entry.get("children", ())
            if child["type"] == "tool-call" and type(child.get("call-id")) is str
        ]

    def add_text_call(self, entry: JsonObject, tool: str, parameters: dict[str, str]) -> None:
        """Add the call in the text of a message as a child; its id is its place in the session."""
        child = {
            "type": "tool-call",
            "name": tool,
            "input": parameters,
            "call-id": f"{FROM_TEXT}-{len(self.session.entries)}",
            "vacr": {"from": FROM_TEXT},
        }
        entry.setdefault("children", []).append(child)

    def add_text_results(self, entry: JsonObject) -> None:
        """Add the results in the text of a message as children.

        A result belongs to the first open call of its tool, or to the only one that is open.
        """
        children = entry.get("children", [])
        answered = {child.get("call-id") for child in children if child["type"] == "tool-result"}
        calls = [call for call in self.open_calls if call[1] not in answered]
        for tool, output in find_text_results(entry.get("content")):
            fitting = [call for call in calls if call[0] == tool] or calls[: len(calls) == 1]
            child: JsonObject = {"type": "tool-result", "output": output}
            if fitting:
                calls.remove(fitting[0])
                child["call-id"] = fitting[0][1]
            child["vacr"] = {"from": FROM_TEXT}
            children.append(child)
        self.open_calls = calls
        if children:
            entry["children"] = children

    def settle(self, source: Source) -> None:
        """Learn from the name of the folder, and from the other files of the task."""
        self.session.session_id = get_task_id(source.main.name)
        for value in parse_other_parts(source):
            if is_screen(value):
                self.join_screen(value)
            elif type(value) is dict:
                self.learn_metadata(value)

    def learn_metadata(self, value: JsonObject) -> None:
        """Learn the version of the extension, and the parent of a sub-task."""
        session = self.session
        history = value.get("environment_history")
        first = history[0] if type(history) is list and history else None
        if type(first) is dict and type(first.get("cline_version")) is str:
            session.cli_version = first["cline_version"]
        if type(value.get("parentTaskId")) is str and type(value.get("task")) is str:
            session.parent, session.mode = value["parentTaskId"], "autonomous"
        if session.working_dir is None and type(value.get("workspace")) is str:
            session.working_dir = value["workspace"]

    def join_screen(self, shown: list[Any]) -> None:
        """Add times and tokens that the screen showed to the messages that do not have them.

        The screen gives the index of the last message that existed at that moment. So a request
        belongs to the next message, and its tokens to the answer after that.
        """
        entries = self.session.entries
        times: dict[int, int] = {}
        requests: dict[int, JsonObject] = {}
        for message in shown:
            index = message.get("conversationHistoryIndex") if type(message) is dict else None
            if type(index) is not int or not is_count(message.get("ts")):
                continue
            if message.get("say") != "api_req_started":
                times.setdefault(index + 1, message["ts"])
                continue
            times[index + 1] = message["ts"]
            counters = next(iter(parse_json_values(message.get("text"))), None)
            if type(counters) is dict:
                requests[index + 2] = counters
        for number, moment in times.items():
            if 0 <= number < len(entries) and "timestamp" not in entries[number]:
                entries[number]["timestamp"] = moment
                get_writable_marks(entries[number])["time-from"] = "screen"
        for number, counters in requests.items():
            if 0 <= number < len(entries) and entries[number]["type"] == "assistant":
                add_usage(entries[number], counters, CLINE_REQUEST_USAGE_SUMS)


def find_working_folder(entry: JsonObject) -> str | None:
    """Return the working folder in the editor's state that a prompt has, or None."""
    for text in list_block_texts(entry.get("content")):
        if text.startswith(_ENVIRONMENT_START) and (folder := _WORKING_FOLDER.search(text)):
            return folder[1]
    return None


def get_task_id(part_name: str) -> str | None:
    """Return the id of a task: the folder of its file, or None if the name has no folder."""
    return part_name.rpartition("/")[0].rpartition("/")[2] or None


def parse_json_values(text: Any) -> Iterator[Any]:
    """Yield the JSON values in a text; nothing for another value."""
    if type(text) is str:
        for _, batch in parse_json_documents(text.encode()):
            yield from batch


class _Screen(JsonSession):
    """The screen of a task, where its messages are missing."""

    def make_entry(self, message: JsonObject) -> JsonObject:
        """Turn texts into messages, and everything else into events."""
        session = self.session
        said = message.get("say")
        kind = CLINE_UI_SAYS.get(said) if type(said) is str else None
        if kind is None or message.get("type") != "say" or type(message.get("text")) is not str:
            asked = message.get("ask")
            event_type = said if type(said) is str else asked if type(asked) is str else UNKNOWN
            session.drift.count_members("screen", message, CLINE_UI_MEMBERS | {"type"})
            entry: JsonObject = {"type": "system-event", "event-type": event_type}
            if is_count(message.get(CLINE_TIME_MEMBER)):
                entry["timestamp"] = message.pop(CLINE_TIME_MEMBER)
            entry["data"] = message
            return entry
        if said == "text" and not session.entries:
            kind = "user"
        del message["type"]
        entry = CLINE_UI_SHAPE.make_entry(kind, message, session.drift, "screen")
        keep_native_members(entry, {"type": "say"})
        move_milliseconds(entry, CLINE_TIME_MEMBER)
        return entry

    def settle(self, source: Source) -> None:
        """Take the name of the folder for the id of the session."""
        self.session.session_id = get_task_id(source.main.name)
