"""Rows of Zed's threads, back from their records."""

import base64
import json

from tests.agents.rebuild import session_rows
from tests.agents.rebuild.comparing import dropped

KINDS = {"user": "User", "assistant": "Agent"}


def rows(record: dict) -> list:
    """Return the lines of an export; the text of a thread is a value in its row."""
    session, ours = record["session"], record["vacr"]
    thread = {name: value for name, value in session.items() if name not in session_rows.SESSION}
    thread |= thread.pop("vacr", {}).get("native", {})
    found = []
    entries = session["entries"]
    places = [number for number, entry in enumerate(entries) if is_thread_row(entry)]
    first_row = next(
        (number for number, entry in enumerate(entries) if entry.get("vacr", {}).get("row")), 0
    )
    if session["session-id"] != ours["source"]["parts"][0]["sha-256"]:
        found.append({"vacr-export": "zed-sqlite", "session": session["session-id"]})
    count = first_row if places else 0
    if messages := [message(entry) for entry in entries[:count]]:
        thread["messages"] = messages
    for number, entry in enumerate(entries[count:], count):
        marks = entry.get("vacr", {})
        if marks.get("row"):
            kept = entry["event-type"] == "vacr-export"
            line = session_rows.line(entry["event-type"], entry["data"])
            if number in places[:1] and thread:
                line["row"] = line["row"] | {"data": json.dumps(thread)}
            found.append(entry["data"] if kept else line)
        elif entry.get("event-type") == "undecodable" and marks.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        else:
            found.append(entry["data"]["value"])
    return found


def is_thread_row(entry: dict) -> bool:
    """Return whether an event is the row of the thread that the messages belong to."""
    is_row = entry.get("vacr", {}).get("row") and entry["event-type"] == "threads"
    return bool(is_row) and "data" not in entry["data"]


def message(entry: dict):
    ours = entry.pop("vacr", {})
    if entry["type"] == "system-event":
        return entry["data"]["value"] if "not-an-object" in ours else entry["data"]
    kind, content, children = entry.pop("type"), entry.pop("content"), entry.pop("children", [])
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    blocks = [child for child in children if child["type"] != "tool-result"]
    answers = [child for child in children if child["type"] == "tool-result"]
    results = {answer["vacr"]["key"]: result(answer) for answer in answers}
    pieces = {f"content/{number}": block(part) for number, part in enumerate(content)}
    pieces |= {f"children/{number}": child_block(child) for number, child in enumerate(blocks)}
    body = entry | ours.get("native", {})
    if results:
        body["tool_results"] = results | body.get("tool_results", {})
    return {KINDS[kind]: body | {"content": [pieces[place] for place in ours.get("order", pieces)]}}


def block(value: dict) -> dict:
    kind = value.pop("type")
    return {"Text": value["text"]} if kind == "text" else {kind: value}


def child_block(child: dict):
    ours = child.pop("vacr", {})
    native = ours.get("native", {})
    if "not-an-object" in ours:
        return child["data"]["value"]
    if ours.get("block"):
        return child["data"]
    kind = child.pop("type")
    if kind == "reasoning":
        if ours.get("from"):
            return {"RedactedThinking": child["encrypted"]}
        names = {"content": "text", "encrypted": "signature"}
        return {"Thinking": renamed(child, names) | native}
    if "input-type" in ours:
        child["input"] = {"type": ours["input-type"], "value": child["input"]}
    return {"ToolUse": renamed(child, {"call-id": "id"}) | native}


def result(child: dict) -> dict:
    native = child.pop("vacr").get("native", {})
    child.pop("type")
    names = {"call-id": "tool_use_id", "output": "content", "name": "tool_name"}
    return renamed(child, names) | native


def renamed(entry: dict, names: dict) -> dict:
    return {names.get(name, name): value for name, value in entry.items()}


def native(value):
    """Return a line without the nulls that the format leaves out, and with its thread as a value."""
    if not isinstance(value, dict) or value.get("table") != "threads" or "row" not in value:
        return value
    row = value["row"]
    if not isinstance(row, dict):
        return value
    try:
        thread = json.loads(row["data"]) if isinstance(row.get("data"), str) else None
    except ValueError:
        return value
    if not isinstance(thread, dict):
        return value
    thread = dropped(thread)
    if not thread:
        return value
    if isinstance(thread.get("messages"), list):
        thread["messages"] = [native_message(message) for message in thread["messages"]]
    return session_rows.line("threads", row | {"data": thread})


def native_message(message):
    kind = next(iter(message)) if isinstance(message, dict) and len(message) == 1 else None
    body = message[kind] if kind in KINDS.values() else None
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        return message
    body = dropped(body) | {"content": [native_block(part) for part in body["content"]]}
    if isinstance(body.get("tool_results"), dict):
        body["tool_results"] = {
            key: dropped(result)
            if isinstance(result, dict) and result.get("content") is not None
            else result
            for key, result in body["tool_results"].items()
        }
    return {kind: body}


def native_block(block):
    kind = next(iter(block)) if isinstance(block, dict) and len(block) == 1 else None
    value = block[kind] if kind else None
    is_call = kind == "ToolUse" and isinstance(value, dict) and isinstance(value.get("name"), str)
    is_thought = (
        kind == "Thinking" and isinstance(value, dict) and isinstance(value.get("text"), str)
    )
    if is_call:
        return {kind: {"input": None} | dropped(value)}
    return {kind: dropped(value)} if is_thought else block
