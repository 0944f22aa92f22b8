"""The chat store of VS Code and its forks: a document for each session, or a log of its changes.

A document has requests: each is a prompt with the response to it. It becomes a user message and an
assistant message. The arguments and results of calls stand apart from the response, in the metadata
of the result; the messages get children for them, as views.

Since 2026, VS Code writes a log: an initial document, then lines that set, append, cut or delete a
value in it. The log is folded to read it. All of its lines stay in the record, as events. A request
that no later line changes is moved out of its line; others are copied, marked `vacr.from`.

>>> from vacr.agents import Source, SourcePart
>>> from vacr.agents.vscode_chat import read_chats
>>> log = b'''{"kind":0,"v":{"version":3,"sessionId":"s","requests":[]}}
... {"kind":2,"k":["requests"],"v":[{"requestId":"r","message":{"text":"Hi"},"response":[]}]}
... {"kind":2,"k":["requests",0,"response"],"v":[{"value":"Hello"}]}
... '''
>>> (reading,) = read_chats(Source((SourcePart("s.jsonl", log),)), "copilot-vscode")
>>> for entry in reading.record["session"]["entries"][3:]:
...     print(entry["type"], entry["content"])
user Hi
assistant [{'type': 'text', 'text': 'Hello'}]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vacr.agents.agent import Source, pause_garbage_collector
from vacr.agents.documents import RepairedValue, parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Reading,
    SessionBuilder,
    describe_json_kind,
    drop_nulls,
    is_count,
    parse_names,
    set_members_aside,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.model import CANONICAL_ENTRY_MEMBERS, JsonObject
from vacr.record import build_child_entries, is_timestamp

JSON_FORMAT, LOG_FORMAT = "vscode-chat-json", "vscode-chat-jsonl"
FROM_FOLD, FROM_METADATA, FROM_RESPONSE = "fold", "metadata", "response"
"""Values of `vacr.from`: where a copied message or a child comes from."""
_INITIAL, _SET, _PUSH, _DELETE = range(4)
MUTATION_NAMES = {_INITIAL: "initial", _SET: "set", _PUSH: "push", _DELETE: "delete"}
"""Kind of a line of the log → event type."""

SESSION_MEMBERS = parse_names(
    """
    creationDate customTitle hasPendingEdits initialLocation inputState isImported lastMessageDate
    pendingRequests repoData requesterAvatarIconUri requesterUsername requests
    responderAvatarIconUri responderUsername sessionId version
    """
)
PROMPT_MEMBERS = parse_names(
    """
    agent attempt confirmation editedFileEvents isHidden isSystemInitiated locationData message
    modeInfo requestId shouldBeBlocked shouldBeRemovedOnSend slashCommand timestamp
    userSelectedTools variableData workingSet
    """
)
"""The members of a request that belong to the prompt; all others belong to the response."""
ANSWER_MEMBERS = parse_names(
    """
    codeCitations completionTokens contentReferences copilotCredits elapsedMs followups isCanceled
    modelId modelState outputBuffer promptTokenDetails promptTokens response responseId
    responseMarkdownInfo responseTimestamp result timeSpentWaiting usedContext vote
    voteDownReason
    """
)
RESPONSE_KINDS = parse_names(
    """
    autoModeResolution clearToPreviousToolInvocation codeblockUri codeCitation command confirmation
    disabledClaudeHooks elicitation elicitation2 elicitationSerialized extensions externalEdit hook
    inlineReference markdownContent markdownVuln mcpServersStarting mcpServersStartingSerialized
    move multiDiffData notebookEdit notebookEditGroup planReview prepareToolInvocation
    progressMessage progressTask progressTaskResult progressTaskSerialized pullRequest
    questionCarousel systemNotification textEdit textEditGroup thinking toolInvocation
    toolInvocationSerialized treeData undoStop warning workspaceEdit
    """
)
_BLOCK_MEMBERS = {None: "text", "thinking": "thinking"}
"""Kind of a part → the type of its block, and the member with its text."""
REFERENCE_KIND = "inlineReference"
"""The kind of a part that names a file or a symbol in the middle of a text."""
_TOOL_PARTS = frozenset(("toolInvocationSerialized", "toolInvocation"))
_CLASHING = CANONICAL_ENTRY_MEMBERS - {"timestamp"}
_COPILOT_VENDOR = "copilot"
_AUTO = "auto"
# The host adds this to the id of a call that the model chose.
_ID_SUFFIX = re.compile(r"__vscode-\d+\Z")


def is_chat(value: Any) -> bool:
    """Return whether a value is a session's document, or an export of one."""
    if type(value) is not dict or type(value.get("requests")) is not list:
        return False
    if not any(name in value for name in ("responderUsername", "requesterUsername", "sessionId")):
        return False
    return all(
        type(request) is dict and "requestId" in request and "message" in request
        for request in value["requests"]
    )


def is_initial_line(value: Any) -> bool:
    """Return whether a value is the first line of a log."""
    return type(value) is dict and value.get("kind") == 0 and is_chat(value.get("v"))


def is_mutation_line(value: Any) -> bool:
    """Return whether a value has the form of a later line of a log."""
    return type(value) is dict and value.get("kind") in (1, 2, 3) and type(value.get("k")) is list


def read_chats(source: Source, agent: str) -> Iterator[Reading]:
    """Yield the record of each document or log in a source, without labels."""
    with pause_garbage_collector():
        chats = list(_split_by_document(source, agent))
    while chats:
        with pause_garbage_collector():
            reading = chats.pop(0).read(source)
        yield reading


def _split_by_document(source: Source, agent: str) -> Iterator[_ChatReader]:
    """Split the values of a source where another document begins."""
    chat = _ChatReader(agent)
    for number, batch in source.main.documents():
        for document in batch:
            if chat.root is not None and (is_chat(document) or is_initial_line(document)):
                yield chat
                chat = _ChatReader(agent)
            chat.add_value(number, document)
    yield chat


class _ChatReader:
    """One session on its way into a record."""

    def __init__(self, agent: str) -> None:
        """Start without values."""
        self.session = SessionBuilder(JSON_FORMAT, agent)
        self.root: JsonObject | None = None
        """The document, folded so far if it is a log."""
        self._fold: _Fold | None = None

    def add_value(self, number: int, document: Any) -> None:
        """Add one value of the file: the document, a line of the log, or anything else."""
        session = self.session
        if isinstance(document, RepairedValue):
            session.repaired.append(document.reason)
            self.add_value(number, document.value)
        elif type(document) is not dict:
            session.entries.append(session.make_unusual_event(number, document))
        elif self.root is None and type(document.get("requests")) is list:
            self.root = document
        elif self.root is None and is_initial_line(document):
            session.format_id = LOG_FORMAT
            event = _make_mutation_event(document)
            self._fold = _Fold(document["v"], event)
            self.root = self._fold.state
            session.entries.append(event)
        elif self._fold is not None and is_mutation_line(document):
            event = _make_mutation_event(document)
            if not self._fold.apply(document, event):
                get_writable_marks(event)["unapplied"] = True
            session.entries.append(event)
        else:
            session.drift.count_type(f"line/{describe_json_kind(document.get('kind'))}")
            event = {"type": "system-event", "event-type": UNKNOWN, "data": document}
            session.entries.append(event)

    def read(self, source: Source) -> Reading:
        """Return the record of the session, once all values were added."""
        session, root = self.session, self.root
        if root is not None:
            requests = root["requests"] if type(root.get("requests")) is list else []
            moved = self._fold.take_unchanged(requests) if self._fold else set()
            for request in requests:
                is_copy = self._fold is not None and id(request) not in moved
                self._add_request(_copy_json(request) if is_copy else request, is_copy=is_copy)
            self._learn_session(root)
        session.tidy()
        return session.reading(source)

    def _learn_session(self, root: JsonObject) -> None:
        """Learn about the session from its document; the rest of it stays in the session."""
        session = self.session
        session.drift.count_members("session", root, SESSION_MEMBERS)
        if root.get("sessionId") and type(root["sessionId"]) is str:
            session.session_id = root["sessionId"]
        if is_timestamp(root.get("creationDate")):
            session.start = root["creationDate"]
        if self._fold is None:
            root = {name: value for name, value in root.items() if name != "requests"}
            if session.session_id is not None:
                del root["sessionId"]
            session.native = root
        elif type(root.get("customTitle")) is str:
            session.native = {"customTitle": root["customTitle"]}

    # --- requests ---

    def _add_request(self, request: Any, *, is_copy: bool) -> None:
        """Add the messages of a request; `is_copy` means that an event has its members, too."""
        session = self.session
        if type(request) is not dict:
            entries = [session.make_value_event(request)]
            get_writable_marks(entries[0])["in"] = "requests"
        else:
            session.drift.count_members("request", request, PROMPT_MEMBERS | ANSWER_MEMBERS)
            native = {name: request.pop(name) for name in PROMPT_MEMBERS.intersection(request)}
            entries = [self._make_prompt(native), self._make_answer(request, native)]
        if is_copy:
            for entry in entries:
                get_writable_marks(entry)["from"] = FROM_FOLD
        session.entries += entries

    def _make_prompt(self, native: JsonObject) -> JsonObject:
        """Make the message of the user; the text of the prompt becomes its content."""
        version = dict_or_empty(native.get("agent")).get("extensionVersion")
        if type(version) is str and version:
            self.session.cli_version = version
        entry: JsonObject = {"type": "user"}
        message = native.get("message")
        if type(message) is dict and type(message.get("text")) is str:
            entry["content"] = message.pop("text")
        if type(native.get("requestId")) is str:
            entry["id"] = native.pop("requestId")
        drop_nulls(native)
        entry.update(native)
        return entry

    def _make_answer(self, native: JsonObject, prompt: JsonObject) -> JsonObject:
        """Make the message of the assistant, with its calls as children."""
        set_members_aside(native, _CLASHING)
        entry: JsonObject = {"type": "assistant"}
        metadata = dict_or_empty(dict_or_empty(native.get("result")).get("metadata"))
        response = native.get("response")
        if type(response) is list and None not in response:
            blocks = self._take_blocks(response)
            if blocks:
                entry["content"] = blocks
            children = _ChildrenBuilder(blocks, response, metadata).build()
            if children:
                entry["children"] = children
        if type(native.get("responseId")) is str:
            entry["id"] = native.pop("responseId")
        completed = dict_or_empty(native.get("modelState")).get("completedAt")
        if is_count(completed):
            entry["timestamp"] = completed
        self._set_model(entry, native, metadata)
        _set_usage(entry, native, metadata)
        del prompt
        drop_nulls(native)
        if "timestamp" in native:
            set_members_aside(native, frozenset(("timestamp",)))
        marks = {**entry.pop("vacr", {}), **native.pop("vacr", {})}
        entry.update(native)
        if marks:
            entry["vacr"] = marks
        return entry

    def _take_blocks(self, response: list[Any]) -> list[JsonObject]:
        """Take the text, its references and the thinking out of a response, as the usual blocks.

        A null stands in the place of each.
        """
        blocks = []
        for place, part in enumerate(response):
            if type(part) is not dict:
                continue
            kind = part.get("kind")
            if kind is not None and (type(kind) is not str or kind not in RESPONSE_KINDS):
                name = kind if type(kind) is str else describe_json_kind(kind)
                self.session.drift.count_type(f"response/{name}")
            if self.session.working_dir is None and "baseUri" in part:
                self.session.working_dir = get_uri_path(part["baseUri"])
            if kind == REFERENCE_KIND:
                name = _find_reference_name(part)
                if name and "type" not in part and "text" not in part:
                    blocks.append({"type": "text", "text": name, **part})
                    response[place] = None
                continue
            member = _BLOCK_MEMBERS.get(kind) if kind is None or type(kind) is str else None
            value = part.get("value")
            if member is None or type(value) is not str or not value:
                continue
            if "type" in part or member in part:
                continue
            blocks.append({"type": member, member: part.pop("value"), **part})
            response[place] = None
        return blocks

    def _set_model(self, entry: JsonObject, native: JsonObject, metadata: JsonObject) -> None:
        """Set the model of an answer: the model that answered, or else the chosen model."""
        chosen = native.get("modelId")
        vendor, _, name = chosen.rpartition("/") if type(chosen) is str else ("", "", "")
        model = metadata.get("resolvedModel")
        if type(model) is not str or not model:
            model = name if name != _AUTO else ""
        if not model:
            return
        entry["model-id"] = model
        self.session.models[model] += 1
        if vendor and self.session.provider == UNKNOWN:
            self.session.provider = "github-copilot" if vendor == _COPILOT_VENDOR else vendor


def get_uri_path(uri: Any) -> str | None:
    """Return the path of a native URI, without the slash before a drive, or None."""
    path = dict_or_empty(uri).get("path")
    if type(path) is not str or not path:
        return None
    path = path[1:] if re.match(r"/[A-Za-z]:", path) else path
    return path.rstrip("/") or path


def _find_reference_name(part: JsonObject) -> str:
    """Return the name that the screen shows for a file or a symbol in a text, or an empty text.

    Without a name, it is that of the file: a reference is a URI, or a place with one.
    """
    target = dict_or_empty(part.get("inlineReference"))
    for name in (part.get("name"), target.get("name")):
        if type(name) is str and name:
            return name
    path = get_uri_path(target) or get_uri_path(target.get("uri")) or ""
    return path.rpartition("/")[2]


def _set_usage(entry: JsonObject, native: JsonObject, metadata: JsonObject) -> None:
    """Set the tokens of an answer, by the request or else by its metadata."""
    counts = (
        ("input", native.get("promptTokens"), metadata.get("promptTokens")),
        ("output", native.get("completionTokens"), metadata.get("outputTokens")),
    )
    usage = {}
    for name, first, second in counts:
        value = first if is_count(first) else second
        if is_count(value):
            usage[name] = value
    if usage:
        entry["token-usage"] = usage


# --- calls ---


class _ChildrenBuilder:
    """The children of one answer: reasoning, then the calls with their results."""

    def __init__(self, blocks: list[JsonObject], response: list[Any], metadata: JsonObject) -> None:
        """Collect the parts about tools by the id of their call."""
        self._blocks = blocks
        self._metadata = metadata
        self._parts = {
            part["toolCallId"]: part
            for part in response
            if type(part) is dict
            and type(part.get("kind")) is str
            and part["kind"] in _TOOL_PARTS
            and type(part.get("toolCallId")) is str
        }

    def build(self) -> list[JsonObject]:
        """Return the children."""
        children = build_child_entries(self._blocks)
        seen: set[str] = set()
        results = dict_or_empty(self._metadata.get("toolCallResults"))
        rounds = self._metadata.get("toolCallRounds")
        for tool_round in rounds if type(rounds) is list else ():
            calls = dict_or_empty(tool_round).get("toolCalls")
            for call in calls if type(calls) is list else ():
                if type(call) is dict and type(call.get("name")) is str:
                    children += self._make_call(call, results, seen)
        for call_id, part in self._parts.items():
            if call_id not in seen and type(part.get("toolId")) is str:
                children.append(_make_displayed_call(call_id, part))
        return children

    def _make_call(self, call: JsonObject, results: JsonObject, seen: set[str]) -> list[JsonObject]:
        """Make the entries of a call and its result; note the id of its part in `seen`."""
        entry: JsonObject = {
            "type": "tool-call",
            "name": call["name"],
            "input": parse_json_text(call.get("arguments")),
            "vacr": {"from": FROM_METADATA},
        }
        call_id = call.get("id")
        if type(call_id) is not str:
            return [entry]
        entry["call-id"] = call_id
        part: JsonObject = {}
        for name in (call_id, _ID_SUFFIX.sub("", call_id)):
            if name in self._parts:
                part = self._parts[name]
                seen.add(name)
        if call_id not in results:
            return [entry]
        result: JsonObject = {
            "type": "tool-result",
            "call-id": call_id,
            "output": flatten_result(results[call_id]),
            "vacr": {"from": FROM_METADATA},
        }
        for name in ("isConfirmed", "isComplete", "resultDetails", "toolSpecificData"):
            if part.get(name) is not None:
                result[name] = part[name]
        return [entry, result]


def _make_displayed_call(call_id: str, part: JsonObject) -> JsonObject:
    """Make the call that only the screen shows, without arguments except a command."""
    command = dict_or_empty(dict_or_empty(part.get("toolSpecificData")).get("commandLine"))
    text = command.get("original")
    return {
        "type": "tool-call",
        "name": part["toolId"],
        "input": {"command": text} if type(text) is str else None,
        "call-id": call_id,
        "vacr": {"from": FROM_RESPONSE},
    }


def flatten_result(result: Any) -> str:
    """Return the text of a call's result, which may be a tree of the host's prompt language."""
    content = dict_or_empty(result).get("content")
    texts = []
    for item in content if type(content) is list else ():
        value = dict_or_empty(item).get("value")
        if type(value) is str:
            texts.append(value)
        elif type(value) is dict:
            texts.append(_flatten_node(value.get("node", value)))
    return "\n".join(texts)


def _flatten_node(node: Any) -> str:
    """Return the text of a tree: its leaves, some of them on a line of their own."""
    pieces: list[str] = []
    ends_line = True
    stack = [node]
    while stack:
        item = stack.pop()
        if type(item) is not dict:
            continue
        text = item.get("text")
        if type(text) is str:
            if item.get("lineBreakBefore") is True and not ends_line:
                pieces.append("\n")
            pieces.append(text)
            ends_line = text.endswith("\n") if text else ends_line
        children = item.get("children")
        stack += reversed(children) if type(children) is list else ()
    return "".join(pieces)


# --- the log ---


def _make_mutation_event(line: JsonObject) -> JsonObject:
    """Make the event that keeps a line of the log."""
    return {
        "type": "system-event",
        "event-type": MUTATION_NAMES[line["kind"]],
        "data": line,
    }


class _Fold:
    """The document of a log, as far as it was read; the values of the lines stay unchanged."""

    def __init__(self, initial: JsonObject, event: JsonObject) -> None:
        """Start with the initial document; `event` keeps its line."""
        self.state = initial.copy()
        self.state["requests"] = list(initial["requests"])
        self._homes = [(initial["requests"], event)]
        """The lists in the lines that hold requests as they were added, and the lines' events."""
        self._owned: dict[int, Any] = {}
        """The values in the state that no line has, by their id, so that the id stays theirs."""

    def apply(self, line: JsonObject, event: JsonObject) -> bool:
        """Apply a line to the document, and return whether that was possible.

        `event` keeps the line.
        """
        path, kind = line["k"], line["kind"]
        if not path:
            return False
        if kind == _PUSH and path == ["requests"]:
            return self._push_requests(line, event)
        holder = self._reach(path[:-1])
        last = path[-1]
        if not _can_hold(holder, last):
            return False
        if kind == 1:
            return self._set(holder, last, line)
        if kind == _DELETE:
            if type(holder) is not list:
                holder.pop(last, None)
                return True
            if not _has_item(holder, last):
                return False
            holder[last] = None
            return True
        return self._push(holder, last, line)

    def _push_requests(self, line: JsonObject, event: JsonObject) -> bool:
        """Append requests, after cutting the list where the line says so; False if impossible."""
        requests, start, values = self.state.get("requests"), line.get("i"), line.get("v")
        if type(requests) is not list or not _is_place(start):
            return False
        if start is not None:
            del requests[start:]
        if type(values) is list:
            requests += values
            self._homes.append((values, event))
        return True

    def _set(self, holder: Any, last: Any, line: JsonObject) -> bool:
        """Set a member or an item, and return True; a wrong place raises an error."""
        value = _copy_json(line.get("v"))
        if type(holder) is list and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value
        return True

    @staticmethod
    def _push(holder: Any, last: Any, line: JsonObject) -> bool:
        """Append values to a list, after cutting it where the line says so; False if impossible."""
        is_missing = type(holder) is dict and last not in holder
        target = [] if is_missing else holder[last] if _has_item(holder, last) else None
        start, values = line.get("i"), line.get("v")
        if type(target) is not list or not _is_place(start):
            return False
        if start is not None:
            del target[start:]
        if type(values) is list:
            target += _copy_json(values)
        holder[last] = target
        return True

    def _reach(self, path: list[Any]) -> Any:
        """Return the value at a path, as a copy that may be changed; None without a value."""
        value: Any = self.state
        if path and path[0] == "requests" and len(path) > 1:
            value = self.state.get("requests")
            if not _has_item(value, path[1]):
                return None
            self._own(value, path[1])
        elif path and _has_item(value, path[0]):
            self._own(value, path[0])
        value = self.state
        for step in path:
            if not _has_item(value, step):
                return None
            value = value[step]
        return value

    def _own(self, holder: Any, step: Any) -> None:
        """Replace an item by a copy, unless it is one."""
        if holder is self.state and step == "requests":
            return
        if id(holder[step]) not in self._owned:
            holder[step] = _copy_json(holder[step])
            self._owned[id(holder[step])] = holder[step]

    def take_unchanged(self, requests: list[Any]) -> set[int]:
        """Take the requests that no line changed out of their lines, and return their ids.

        A null stands in their place, and the event is marked. Lines with a request that is not an
        object stay whole.
        """
        kept = {id(request) for request in requests if type(request) is dict}
        moved: set[int] = set()
        for home, event in self._homes:
            if not all(type(request) is dict for request in home):
                continue
            for place, request in enumerate(home):
                if id(request) in kept and id(request) not in self._owned:
                    moved.add(id(request))
                    home[place] = None
                    event["vacr"] = {"moved": True}
        return moved


def _copy_json(value: Any) -> Any:
    """Return a copy of a native value; its texts and numbers are shared."""
    if type(value) is dict:
        return {name: _copy_json(item) for name, item in value.items()}
    return [_copy_json(item) for item in value] if type(value) is list else value


def _is_place(start: Any) -> bool:
    """Return whether a value is a place in a list, or missing."""
    return start is None or (type(start) is int and start >= 0)


def _has_item(value: Any, step: Any) -> bool:
    """Return whether an object or a list has an item at a step of a path."""
    if type(value) is list:
        return type(step) is int and 0 <= step < len(value)
    return type(value) is dict and type(step) is str and step in value


def _can_hold(value: Any, step: Any) -> bool:
    """Return whether an object or a list can get an item at a step of a path."""
    if type(value) is list:
        return type(step) is int and 0 <= step <= len(value)
    return type(value) is dict and type(step) is str
