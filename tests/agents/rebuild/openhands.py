"""Events of OpenHands, back from their entries."""

import base64

from tests.agents.rebuild.chat_documents import SESSION
from tests.agents.rebuild.comparing import dropped
from tests.agents.rebuild.json_sessions import member_marks
from vacr.record import build_child_entries

OUTPUTS = {"UserRejectObservation": "rejection_reason", "AgentErrorEvent": "error"}


def events(record: dict) -> list:
    """Return the events of lines or of a folder."""
    found = []
    for entry in record["session"]["entries"]:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        else:
            found.append(entry["data"]["value"] if "not-an-object" in ours else event(entry))
    return found


def history(record: dict) -> list:
    """Return the task or the list of events, and the other values of its file."""
    session = record["session"]
    header = {name: value for name, value in session.items() if name not in SESSION}
    header |= header.pop("vacr", {}).get("native", {})
    is_member = "member" in member_marks(session["entries"][:1])
    found, listed = [], []
    for entry in session["entries"]:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("from") == "line":
            found.append(entry["data"]["value"] if "not-an-object" in ours else entry["data"])
        else:
            listed.append(entry["data"]["value"] if "not-an-object" in ours else event(entry))
    if (header or is_member) and listed:
        header["history"] = listed
    return [header or listed] * bool(header or listed) + found


def event(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    kind, native = entry.pop("type"), ours.get("native", {})
    if kind == "system-event" and not ours.get("early"):
        data, stated = entry.get("data", {}), entry["event-type"]
        named = {} if stated in ("unknown", "base-state") else {"kind": stated}
        if "type" in native:
            named = {"kind": native["type"]}
        return data | named
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if "parent-id" in entry:
        entry["parent_id"] = entry.pop("parent-id")
    if kind == "system-event":
        return entry | {"observation": entry.pop("event-type")} | native
    if kind == "tool-result":
        return result(entry, ours) | native
    views = build_child_entries(entry.get("content"))
    own = entry.pop("children", [])[len(views) :]
    if own and native.get("kind", entry.get("kind")) == "ActionEvent":
        return action(entry, own) | native
    if own:
        return early_action(entry, own[0]) | native
    if entry.get("kind") == "MessageEvent":
        message = entry.pop("llm_message", {})
        if "content" in entry:
            message["content"] = entry.pop("content")
        return entry | native | {"llm_message": message}
    holder = entry["args"] if ours.get("from") == "args" else entry
    if "content" in entry:
        holder["content"] = entry.pop("content")
    return entry | native


def result(entry: dict, ours: dict) -> dict:
    output = entry.pop("output")
    if not isinstance(entry.get("kind"), str):
        entry["observation"] = entry.pop("name")
        del entry["call-id"]
        return entry | {"content": output}
    member = OUTPUTS.get(entry["kind"], "observation")
    if ours.get("from") == "content":
        entry[member]["content"] = output
    else:
        entry[member] = output
    names = {"call-id": "tool_call_id", "name": "tool_name"}
    return {names.get(name, name): value for name, value in entry.items()}


def action(entry: dict, own: list) -> dict:
    if "content" in entry:
        entry["thought"] = entry.pop("content")
    call = own.pop()
    if own:
        entry["reasoning_content"] = own[0]["content"]
    entry["tool_name"] = call["name"]
    if "call-id" in call:
        entry["tool_call_id"] = call["call-id"]
    if call.get("vacr", {}).get("from") != "tool_call":
        entry["action"] = call["input"]
    return entry


def early_action(entry: dict, call: dict) -> dict:
    arguments = call["input"]
    is_flat = call.get("vacr", {}).get("from") == "event"
    if "content" in entry:
        holder = entry if is_flat else arguments
        holder["thought"] = entry.pop("content")
    return entry | {"action": call["name"]} | (arguments if is_flat else {"args": arguments})


def native(value):
    """Return a value without the nulls that the format leaves out."""
    if isinstance(value, list):
        return [native_event(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("history"), list):
        value = dropped(value)
        return value | {"history": [native_event(item) for item in value["history"]]}
    return native_event(value)


def native_event(item):
    if not isinstance(item, dict):
        return item
    item = dropped(item)
    for holder in ("llm_message", "observation"):
        if isinstance(item.get(holder), dict):
            item[holder] = dropped(item[holder])
    return item
