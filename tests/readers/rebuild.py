"""The way back: native values from a record, to show that nothing was lost. Independent of the readers' own tables.

What cannot come back are members that were null on a line, in Claude Code's `message`, or in a typed item's `payload`:
the format leaves them out. `without_nulls` takes them from a native value likewise.
"""

import base64
import copy
import json

CANONICAL_USAGE = ("input", "output", "cached", "reasoning", "total", "cost")


def lines(record: dict) -> list:
    """Give the native values that a record was made of, and the lines of those that could not be decoded."""
    back = {"claude-jsonl": claude_line, "codex-jsonl": codex_line}[record["vacr"]["source"]["format"]]
    found = []
    for entry in copy.deepcopy(record["session"]["entries"]):
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif "not-an-object" in ours:
            found.append(entry["data"]["value"])
        elif "repaired" not in ours:
            found.append(back(entry))
    return found


def claude_line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    children = entry.pop("children", [])
    kind = entry.pop("type")
    if kind == "system-event":
        line = claude_event(entry, children)
        if "type" in native:
            line["type"] = native["type"]
    elif kind in ("tool-call", "tool-result"):
        line = entry
    else:
        line = claude_message(entry, kind)
        if "untyped" in ours:
            del line["type"]
    if isinstance(ours.get("repeats"), str):
        line["uuid"] = ours["repeats"]
    for canonical, name in (("id", "uuid"), ("parent-id", "parentUuid")):
        if canonical in line:
            line[name] = line.pop(canonical)
    return line | native


def claude_event(entry: dict, children: list) -> dict:
    event_type = entry.pop("event-type")
    data = entry.pop("data", {})
    if children:
        data["data"]["message"] = claude_line(children[0])
    line = entry | data
    if event_type != "unknown":
        line["type"] = event_type
    return line


def claude_message(entry: dict, kind: str) -> dict:
    lifted = [member for member in ("content", "model-id", "token-usage", "stop-reason") if member in entry]
    message = entry.pop("message", {} if lifted else None)
    if "content" in entry:
        message["content"] = entry.pop("content")
    if "model-id" in entry:
        message["model"] = entry.pop("model-id")
    if "stop-reason" in entry:
        message["stop_reason"] = entry.pop("stop-reason")
    usage = entry.pop("token-usage", None)
    if usage is not None and "usage" not in message:
        message["usage"] = {name: count for name, count in usage.items() if name not in CANONICAL_USAGE}
    entry["type"] = kind
    if message is not None:
        entry["message"] = message
    return entry


def codex_line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    if kind == "system-event":
        return codex_event(entry, ours)
    enveloped = native.get("type") in ("response_item", "event_msg") and isinstance(entry.get("payload"), dict)
    payload = entry.pop("payload") if enveloped else None
    item = payload if payload is not None else entry
    if isinstance(ours.get("repeats"), str):
        item["id"] = ours["repeats"]
    item_type = item.get("type") if payload is not None else native.get("type")
    codex_item(entry, item, kind, item_type, ours)
    entry.pop("children", None)
    entry.pop("model-id", None)
    return entry | native | ({} if payload is None else {"payload": item})


def codex_event(entry: dict, ours: dict) -> dict:
    native = ours.get("native", {})
    event_type = entry.pop("event-type")
    data = entry.pop("data")
    usage = entry.pop("token-usage", None)
    if usage is not None and "last_token_usage" not in data["info"]:
        data["info"]["last_token_usage"] = {name: count for name, count in usage.items() if name not in CANONICAL_USAGE}
    if "bare" in ours:
        return entry | data
    return {"type": event_type} | entry | native | {"payload": data}


def codex_item(entry: dict, item: dict, kind: str, item_type, ours: dict) -> None:
    if "id" in entry:
        item["id"] = entry.pop("id")
    if "call-id" in entry:
        call_id = entry.pop("call-id")
        if "call-id-from" not in ours:
            item["call_id"] = call_id
    if item_type in ("user_message", "agent_message", "agent_reasoning"):
        item["text" if item_type == "agent_reasoning" else "message"] = entry.pop("content")
    elif kind in ("user", "assistant"):
        item["role"] = kind
        if "content" in entry:
            item[ours.get("content-from", "content")] = entry.pop("content")
    elif kind == "reasoning":
        content = entry.pop("content")
        if "encrypted" in entry:
            item["encrypted_content"] = entry.pop("encrypted")
        if content != "":
            item["content" if ours.get("content-from") == "content" else "summary"] = content
    elif kind == "tool-call":
        codex_call(entry, item, item_type, ours)
    else:
        member = {"tool_search_output": "tools", "tool_result": "result", "function_result": "result"}.get(item_type, "output")
        output = entry.pop("output")
        if output is not None:
            item[member] = output


def codex_call(entry: dict, item: dict, item_type: str, ours: dict) -> None:
    member = {
        "custom_tool_call": "input",
        "local_shell_call": "action",
        "web_search_call": "action",
        "image_generation_call": "revised_prompt",
    }.get(item_type, "arguments")
    given = entry.pop("input")
    if given is not None:
        item.setdefault(member, given)
    name = entry.pop("name")
    if item_type in ("function_call", "custom_tool_call", "tool_call") and "name-from" not in ours:
        item["name"] = name
    for child in entry.get("children", ()):
        item["result"] = child["output"]


def without_nulls(value):
    """Leave out what the format leaves out, of a native value that was read."""
    if not isinstance(value, dict):
        return value
    value = {name: item for name, item in value.items() if item is not None}
    for holder in ("message", "payload"):
        if isinstance(value.get(holder), dict):
            value[holder] = {name: item for name, item in value[holder].items() if item is not None}
    data = value.get("data")
    if value.get("type") == "progress" and isinstance(data, dict) and isinstance(data.get("message"), dict):
        value["data"] = data | {"message": without_nulls(data["message"])}
    return value


def comparable(value):
    """Make native values comparable: numbers by value, order of members without meaning."""
    return json.dumps(normal(value), sort_keys=True)


def normal(value):
    if isinstance(value, dict):
        return {name: normal(item) for name, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
