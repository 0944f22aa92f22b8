"""The conversations of Cursor's editor, from the rows of its `state.vscdb`. Step: read.

`composerData:<id>` describes a conversation and names its bubbles in order; each bubble is a row of
its own (older versions keep them inside). A bubble becomes an entry; its thinking and its tool call
are taken out of it and become children. JSON that a bubble holds as text is read, and the text
dropped where it comes out of the value again.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from vacr.codec.json_text import native_text
from vacr.content import children
from vacr.model import Native
from vacr.readers.assemble import Notice, Session
from vacr.readers.lift import Lift, Move, fill, is_count, is_one_of, keep_native, mark
from vacr.readers.lines import exact
from vacr.timestamps import is_timestamp

BUBBLE = Lift(Move("bubbleId", "id"), Move("createdAt", "timestamp", None))
CHAT_BUBBLE = Lift(Move("id", "id"), Move("modelType", "model-id"))
SAID = (("content", list), ("text", str), ("rawText", str))
"""Where a bubble has what was said: in the first of these that is no empty text."""
TYPES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}
CALL = Lift(Move("name", "name"), Move("toolCallId", "call-id"))
USAGE = (("input", "inputTokens"), ("output", "outputTokens"))
SECRETS = ("blobEncryptionKey", "speculativeSummarizationEncryptionKey")
_DRIVE = re.compile(r"/[A-Za-z]:")


def text_value(value: Any) -> Any:
    """Read a value that may be JSON as text."""
    if type(value) is str and value[:1] in ("{", "["):
        return next(iter(exact(value.encode())), value)
    return value


def folder_of(uri: str | bytes) -> str:
    """Give the folder that an address names; one that is not on this machine stays an address."""
    text = uri.decode("utf-8", "replace") if isinstance(uri, bytes) else uri
    if not text.startswith("file://"):
        return text
    path = unquote(text.removeprefix("file://"))
    if _DRIVE.match(path):
        return path[1:]
    return path if path.startswith("/") else f"//{path}"


def take_composer(rows: dict[str, Any], session: Session) -> None:
    """Make the entries of a conversation of its rows, by key."""
    key, prefix = f"composerData:{session.session_id}", f"bubbleId:{session.session_id}:"
    composer = _object(rows.get(key))
    if composer is not None:
        del rows[key]
    bubbles = {
        name: bubble
        for name in rows
        if name.startswith(prefix) and (bubble := _object(rows[name])) is not None
    }
    composer = {} if composer is None else composer
    for bubble, said in _in_order(
        composer, {name.removeprefix(prefix): bubble for name, bubble in bubbles.items()}
    ):
        session.entries.append(bubble_entry(bubble, session))
        if said is not None:
            keep_native(session.entries[-1], {"bubbleId": said})
    session.entries += [
        _row(name, text_value(value)) for name, value in rows.items() if name not in bubbles
    ]
    _describe(composer, session)


def _object(value: Any) -> Native | None:
    """Read a value that should be an object as text; bytes that are no text are none."""
    found = text_value(value) if type(value) is str else None
    return found if type(found) is dict else None


def take_chat(chat: Native, session: Session) -> None:
    """Make the entries of a chat of the versions before the composer; it describes the session,
    unless something else does.
    """
    bubbles = chat.pop("bubbles") if type(chat.get("bubbles")) is list else []
    session.entries += [bubble_entry(bubble, session) for bubble in bubbles]
    if session.native:
        session.entries.append({"type": "system-event", "event-type": "chatdata", "data": chat})
    else:
        session.native = chat


def _row(key: str, value: Any) -> Native:
    """Keep a row that is no bubble."""
    return {
        "type": "system-event",
        "event-type": key.partition(":")[0],
        "data": {"key": key, "value": value},
    }


def _in_order(composer: Native, bubbles: dict[str, Native]) -> list[tuple[Any, Any]]:
    """Give the bubbles in the order of the conversation; those that it does not name follow by
    time.

    What a bubble calls itself comes with it, where it is kept under another name.
    """
    inline = composer.get("conversation")
    found = (
        [(bubble, None) for bubble in composer.pop("conversation")] if type(inline) is list else []
    )
    headers = composer.get("fullConversationHeadersOnly")
    older = composer.get("conversationMap")
    for header in headers if type(headers) is list else ():
        name = header.get("bubbleId") if type(header) is dict else None
        if type(name) is str and name in bubbles:
            found.append(_named(bubbles.pop(name), name))
        elif type(older) is dict and type(name) is str and type(older.get(name)) is dict:
            found.append(_named(older.pop(name), name))
    if type(older) is dict:
        for name in [
            name for name, bubble in older.items() if type(bubble) is dict and name not in bubbles
        ]:
            bubbles[name] = older.pop(name)
    rest = sorted(bubbles.items(), key=lambda item: (str(item[1].get("createdAt", "")), item[0]))
    return found + [_named(bubble, name) for name, bubble in rest]


def _named(bubble: Native, name: str) -> tuple[Native, Any]:
    """Let a bubble have the name it is kept under."""
    said = bubble.get("bubbleId")
    bubble["bubbleId"] = name
    return bubble, said if said != name else None


def _describe(composer: Native, session: Session) -> None:
    """Learn about the session; what has no canonical member stays under its own name."""
    if session.session_id and composer.get("composerId") == session.session_id:
        del composer["composerId"]
    for member, end in (("createdAt", False), ("lastUpdatedAt", True)):
        if is_timestamp(composer.get(member)):
            setattr(session, "end" if end else "start", composer[member])
    config = composer.get("modelConfig")
    if (
        not session.models
        and type(config) is dict
        and type(config.get("modelName")) is str
        and config["modelName"] != "default"
    ):
        session.models[config["modelName"]] += 1
    workspace = composer.get("workspaceIdentifier")
    uri = workspace.get("uri") if type(workspace) is dict else None
    if type(uri) is dict and type(uri.get("fsPath")) is str:
        session.working_dir = uri["fsPath"]
    info = composer.get("subagentInfo")
    if type(info) is dict and type(info.get("parentComposerId")) is str:
        session.parent, session.mode = info["parentComposerId"], "autonomous"
    session.native = composer
    flag_secrets(session)


def flag_secrets(session: Session) -> None:
    """Tell where keys stand that open what Cursor keeps encrypted."""
    for member in SECRETS:
        if session.native.get(member):
            session.secrets.append(f"/session/{member}")
            session.notices.append(
                Notice(
                    f"holds a key of Cursor's, at /session/{member}: whoever reads the record "
                    "has it"
                )
            )


def bubble_entry(bubble: Any, session: Session) -> Native:
    """Turn a bubble into an entry."""
    kind = bubble.get("type") if type(bubble) is dict else None
    if type(kind) not in (int, str) or kind not in TYPES:
        if type(bubble) is not dict:
            return session.other(bubble)
        session.drift.see_type(f"bubble/{kind}")
        return {"type": "system-event", "event-type": "bubble", "data": bubble}
    entry: Native = {"type": TYPES[bubble.pop("type")]}
    if kind != entry["type"]:
        keep_native(entry, {"type": kind})
    (BUBBLE if type(kind) is int else CHAT_BUBBLE).apply(bubble, entry)
    _take_said(bubble, entry)
    _learn(bubble, entry, session)
    beside = _thinking(bubble) + _tool(bubble)
    session.embedded += beside
    if found := children(entry.get("content"), session.drift.types, session.drift.members) + beside:
        entry["children"] = found
    return fill(entry, bubble)


def _take_said(bubble: Native, entry: Native) -> None:
    """Move what was said; whatever else could have been it stays under its own name."""
    found = [name for name, kind in SAID if type(bubble.get(name)) is kind]
    if found:
        name = next((name for name in found if bubble[name] != ""), found[0])
        entry["content"] = bubble.pop(name)
        if name == "rawText":
            mark(entry)["content-from"] = name


def _learn(bubble: Native, entry: Native, session: Session) -> None:
    """Learn from a bubble which model spoke, what it cost, and where the editor was."""
    model = bubble.get("modelInfo")
    if (
        type(model) is dict
        and type(model.get("modelName")) is str
        and model["modelName"] != "default"
    ):
        entry.setdefault("model-id", model["modelName"])
    if "model-id" in entry:
        session.models[entry["model-id"]] += 1
    counts = bubble.get("tokenCount")
    if type(counts) is dict:
        usage = {name: counts[native] for name, native in USAGE if is_count(counts.get(native))}
        if any(usage.values()):
            entry["token-usage"] = usage
    places = bubble.get("workspaceUris")
    if session.working_dir is None and type(places) is list and places and type(places[0]) is str:
        session.working_dir = folder_of(places[0])


def _thinking(bubble: Native) -> list[Native]:
    thinking = bubble.get("thinking")
    if type(thinking) is str and thinking:
        del bubble["thinking"]
        return [{"type": "reasoning", "content": thinking, "vacr": {"bare": True}}]
    if type(thinking) is not dict or "text" not in thinking:
        return []
    del bubble["thinking"]
    entry: Native = {"type": "reasoning", "content": thinking.pop("text")}
    return [fill(entry, thinking)]


def _tool(bubble: Native) -> list[Native]:
    """Part a tool call from its result; what else is known about it stays with the bubble."""
    tool = bubble.get("toolFormerData")
    if type(tool) is not dict or type(tool.get("name")) is not str:
        return []
    call: Native = {"type": "tool-call"}
    CALL.apply(tool, call)
    call["input"] = None
    for member in ("rawArgs", "params"):
        if tool.get(member) is not None:
            call["input"] = _taken(tool, member)
            break
    given = next((name for name in ("result", "error") if tool.get(name) is not None), None)
    if given is None:
        return [call]
    result: Native = {"type": "tool-result", "output": _taken(tool, given)}
    if "call-id" in call:
        result["call-id"] = call["call-id"]
    if type(tool.get("status")) is str:
        result["status"] = tool["status"]
    if given == "error" or is_one_of(tool.get("status"), ("error",)):
        result["is-error"] = True
    return [call, result]


def _taken(holder: Native, member: str) -> Any:
    """Read a member that may be JSON as text; the text stays if it does not come out of the value
    again.
    """
    text = holder[member]
    value = text_value(text)
    if type(text) is not str or value is text or native_text(value) == text.encode():
        del holder[member]
    return value
