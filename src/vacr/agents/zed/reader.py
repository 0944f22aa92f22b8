"""Threads of Zed's agent as records.

A message is an object whose one member names its kind: `User`, `Agent` or `Compaction`; so are the
blocks in it. Texts, mentions and images are the content of its entry. Calls and reasoning become
children, and so do the results of the calls, which Zed keeps apart from the blocks.

Messages have no times. External agents in Zed, such as Claude Code, keep their own sessions.

>>> from vacr.agents.lift import SessionBuilder
>>> from vacr.agents.zed.reader import make_message_entry
>>> use = {"id": "c1", "name": "grep", "input": {"regex": "x"}, "raw_input": ""}
>>> results = {"c1": {"tool_use_id": "c1", "is_error": False, "content": [{"Text": "none"}]}}
>>> message = {"Agent": {"content": [{"Text": "Hm."}, {"ToolUse": use}], "tool_results": results}}
>>> entry = make_message_entry(message, SessionBuilder("zed-sqlite", "zed"))
>>> entry["content"], [child["type"] for child in entry["children"]]
([{'type': 'text', 'text': 'Hm.'}], ['tool-call', 'tool-result'])

docs/mapping/zed.md is generated from the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.documents import is_export_head, parse_json_text
from vacr.agents.labels import get_writable_marks
from vacr.agents.lift import (
    UNKNOWN,
    Lift,
    Move,
    Reading,
    SessionBuilder,
    add_remaining_members,
    parse_names,
)
from vacr.agents.session_tables import make_row_event, read_exported_rows
from vacr.agents.tool_calls import dict_or_empty
from vacr.agents.zed.database import (
    THREADS_TABLE,
    ZED_DATABASE_FORMAT,
    ThreadsDatabase,
    find_only_folder,
)
from vacr.model import JsonObject
from vacr.record import is_timestamp

name = "zed"
formats = (ZED_DATABASE_FORMAT,)
DATABASES = (ThreadsDatabase(),)
_FILE = ("threads/threads.db",)
_FLATPAK = "FLATPAK_XDG_DATA_HOME"
STORES = (
    SessionStore(_FILE, "~/.local/share", "XDG_DATA_HOME", "zed", unless=_FLATPAK),
    SessionStore(_FILE, "", _FLATPAK, "zed"),
    SessionStore(
        _FILE,
        "",
        under="Zed",
        systems={"darwin": "~/Library/Application Support", "win32": "~/AppData/Local"},
        variables={"win32": "LOCALAPPDATA"},
    ),
)

# --- Known members ---

ZED_ROW_MEMBERS = parse_names(
    """
    created_at data data_type folder_paths folder_paths_order id parent_id summary updated_at
    """
)
ZED_THREAD_MEMBERS = parse_names(
    """
    cumulative_token_usage detailed_summary draft_prompt initial_project_snapshot messages model
    profile request_token_usage sandbox_grants sandboxed_terminal_temp_dir speed subagent_context
    thinking_effort thinking_enabled title ui_scroll_position updated_at version
    """
)
ZED_MESSAGE_MEMBERS = {
    "User": parse_names("content id"),
    "Agent": parse_names("content reasoning_details tool_results"),
}
ZED_USE_MEMBERS = parse_names("id input is_input_complete name raw_input thought_signature")
ZED_RESULT_MEMBERS = parse_names("content is_error output tool_name tool_use_id")
ZED_ROLES = {"User": "user", "Agent": "assistant"}
"""Kind of a message → the type of its entry."""
ZED_CONTENT_KINDS = frozenset(("Mention", "Image"))
"""The blocks that, besides texts, are the content of a message; all others become children."""

# --- Moves ---

ZED_USE_MOVES = Lift(Move("id", "call-id"), Move("name", "name"), Move("input", "input", None))
ZED_RESULT_MOVES = Lift(
    Move("tool_use_id", "call-id"),
    Move("content", "output", None),
    Move("tool_name", "name"),
)


def recognises(sample: Sequence[Any]) -> float:
    """Return 1 for an export of Zed's database, else 0."""
    return float(bool(sample) and is_export_head(sample[0], ZED_DATABASE_FORMAT))


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of a thread."""
    with pause_garbage_collector():
        reading = _read_thread(source)
    yield reading


def _read_thread(source: Source) -> Reading:
    """Return the record of the row of a thread; its other columns become an event."""
    session = SessionBuilder(ZED_DATABASE_FORMAT, name)
    rows = read_exported_rows(source, session)
    others, session.entries = session.entries, []
    events: list[JsonObject] = []
    is_searching = True
    for table, row in rows:
        data = row.get("data") if table == THREADS_TABLE else None
        thread = dict_or_empty(parse_json_text(data)) if type(data) is str else {}
        # A text without any value stays in its row, so that it differs from a row without a text.
        if is_searching and any(value is not None for value in thread.values()):
            is_searching = False
            del row["data"]
            session.drift.count_members("row", row, ZED_ROW_MEMBERS)
            _learn_row(row, session)
            _add_thread(thread, session)
        elif table == THREADS_TABLE and "data" not in row:
            # A row that never had a text must stay the first without one.
            is_searching = False
        events.append(make_row_event(table, row))
    session.entries += events + others
    session.tidy()
    return session.reading(source)


def _learn_row(row: JsonObject, session: SessionBuilder) -> None:
    """Learn the times, the folder and the parent of a thread from its row."""
    session.start = row["created_at"] if is_timestamp(row.get("created_at")) else None
    updated = row.get("updated_at")
    session.end = updated if session.start and is_timestamp(updated) else None
    session.working_dir = find_only_folder(row)
    parent = row.get("parent_id")
    if parent and type(parent) is str:
        session.parent, session.mode = parent, "autonomous"


def _add_thread(thread: JsonObject, session: SessionBuilder) -> None:
    """Add the messages of a thread; its other members become members of the session."""
    session.drift.count_members("thread", thread, ZED_THREAD_MEMBERS)
    model = dict_or_empty(thread.get("model"))
    if type(model.get("model")) is str and model["model"]:
        session.models[model["model"]] += 1
    if type(model.get("provider")) is str and model["provider"]:
        session.provider = model["provider"]
    _learn_repository(dict_or_empty(thread.get("initial_project_snapshot")), session)
    messages = thread.get("messages")
    if type(messages) is list and messages:
        del thread["messages"]
        session.entries += [make_message_entry(message, session) for message in messages]
    session.native = thread


def _learn_repository(snapshot: JsonObject, session: SessionBuilder) -> None:
    """Learn the state of the repository at the start, if the project has only one folder."""
    folders = snapshot.get("worktree_snapshots")
    if type(folders) is not list or len(folders) != 1:
        return
    folder = dict_or_empty(folders[0])
    state = dict_or_empty(folder.get("git_state"))
    names = {"head_sha": "revision", "current_branch": "branch", "remote_url": "repository"}
    for native, canonical in names.items():
        if type(state.get(native)) is str and state[native]:
            session.vcs[canonical] = state[native]
    if session.working_dir is None and type(folder.get("worktree_path")) is str:
        session.working_dir = folder["worktree_path"]


# --- Messages ---


def make_message_entry(message: Any, session: SessionBuilder) -> JsonObject:
    """Turn a message into an entry; one of another form becomes an event that keeps it."""
    kind = next(iter(message)) if type(message) is dict and len(message) == 1 else None
    body = message[kind] if kind in ZED_ROLES else None
    if type(body) is not dict or type(body.get("content")) is not list:
        return _make_event(message, session)
    session.drift.count_members(str(kind), body, ZED_MESSAGE_MEMBERS[str(kind)])
    entry: JsonObject = {"type": ZED_ROLES[str(kind)]}
    if type(body.get("id")) is str:
        entry["id"] = body.pop("id")
    _add_blocks(body.pop("content"), entry, session)
    _add_results(body, entry, session)
    session.embedded += entry.get("children", ())
    return add_remaining_members(entry, body)


def _make_event(message: Any, session: SessionBuilder) -> JsonObject:
    """Make the event that keeps a message as it is, named by its kind."""
    kind = message
    if type(message) is dict:
        kind = next(iter(message)) if len(message) == 1 else UNKNOWN
    if kind not in ("Resume", "Compaction"):
        session.drift.count_type("message")
        kind = UNKNOWN
    data = message if type(message) is dict else {"value": message}
    marks = {"message": True} if type(message) is dict else {"not-an-object": True}
    return {"type": "system-event", "event-type": kind, "data": data, "vacr": marks}


def _add_blocks(blocks: list[Any], entry: JsonObject, session: SessionBuilder) -> None:
    """Put the blocks of a message into its content and its children.

    The native order is noted, unless the content comes first.
    """
    content: list[Any] = []
    children: list[JsonObject] = []
    order: list[str] = []
    is_ordered = True
    for block in blocks:
        converted = _make_content(block)
        if converted is not None:
            is_ordered = is_ordered and not children
            order.append(f"content/{len(content)}")
            content.append(converted)
        else:
            order.append(f"children/{len(children)}")
            children.append(_make_child(block, session))
    if not is_ordered:
        get_writable_marks(entry)["order"] = order
    entry["content"] = content
    if children:
        entry["children"] = children


def _make_content(block: Any) -> JsonObject | None:
    """Return a block of the content with its kind as a member, or None for any other block."""
    if type(block) is not dict or len(block) != 1:
        return None
    ((kind, value),) = block.items()
    if kind == "Text" and type(value) is str:
        return {"type": "text", "text": value}
    if kind in ZED_CONTENT_KINDS and type(value) is dict and "type" not in value:
        return {"type": kind, **value}
    return None


def _make_child(block: Any, session: SessionBuilder) -> JsonObject:
    """Turn a block that is not content into an entry; a block of another form stays whole."""
    kind = next(iter(block)) if type(block) is dict and len(block) == 1 else None
    value = block[kind] if kind is not None else None
    if kind == "ToolUse" and type(value) is dict and type(value.get("name")) is str:
        session.drift.count_members("ToolUse", value, ZED_USE_MEMBERS)
        value.setdefault("input", None)
        return _make_call(value)
    if kind == "Thinking" and type(value) is dict and type(value.get("text")) is str:
        entry: JsonObject = {"type": "reasoning", "content": value.pop("text")}
        if type(value.get("signature")) is str:
            entry["encrypted"] = value.pop("signature")
        return add_remaining_members(entry, value)
    if kind == "RedactedThinking" and type(value) is str:
        marks = {"from": kind}
        return {"type": "reasoning", "content": "", "encrypted": value, "vacr": marks}
    if type(block) is not dict:
        return session.make_value_event(block)
    session.drift.count_type("block")
    marks = {"block": True}
    return {"type": "system-event", "event-type": UNKNOWN, "data": block, "vacr": marks}


def _make_call(use: JsonObject) -> JsonObject:
    """Turn a call into an entry; newer versions state the type of its input next to it."""
    call: JsonObject = {"type": "tool-call"}
    ZED_USE_MOVES.apply(use, call)
    stated = call["input"]
    if type(stated) is dict and stated.keys() == {"type", "value"} and stated["type"] == "json":
        call["input"] = stated["value"]
        call["vacr"] = {"input-type": stated["type"]}
    return add_remaining_members(call, use)


def _add_results(body: JsonObject, entry: JsonObject, session: SessionBuilder) -> None:
    """Take the results of calls out of a message, as children behind the others."""
    results = body.get("tool_results")
    if type(results) is not dict or not results:
        return
    taken = {
        key: result
        for key, result in results.items()
        if type(result) is dict and result.get("content") is not None
    }
    body["tool_results"] = {key: results[key] for key in results if key not in taken}
    if not body["tool_results"]:
        del body["tool_results"]
    for key, result in taken.items():
        session.drift.count_members("tool_results", result, ZED_RESULT_MEMBERS)
        child: JsonObject = {"type": "tool-result", "vacr": {"key": key}}
        ZED_RESULT_MOVES.apply(result, child)
        entry.setdefault("children", []).append(add_remaining_members(child, result))
