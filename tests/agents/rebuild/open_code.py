"""OpenCode exports, dumps and samples, back from their records."""

import base64

from tests.agents.rebuild.comparing import comparable, dropped
from vacr.record.message_content import build_child_entries as views

SESSION = {
    "session-id",
    "agent-meta",
    "entries",
    "format",
    "session-start",
    "session-end",
    "environment",
}


class Shared(dict):
    """A value that several sessions share, and each record has."""


def exported(record: dict) -> list:
    """Return the export of a record, and the other values of its file."""
    info, beside = session_object(record)
    found, messages = [], []
    for entry in record["session"]["entries"]:
        ours = entry.get("vacr", {})
        if is_kept_bytes(entry):
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("beside") is True:
            beside[entry["event-type"]] = entry["data"]["value"]
        elif entry.get("event-type") == "message":
            messages.append(entry["data"])
        else:
            parts = parts_of(entry)
            holder = entry.get("vacr", {}).pop("beside", {})
            one = {"info": message_object(entry)} | holder
            messages.append(one if parts is None else one | {"parts": parts})
    return [{"info": info, "messages": messages} | beside, *found]


def values(record: dict) -> list:
    """Return the documents of a dump, or the sample, of a record."""
    if "chat-from" in record["vacr"]:
        return sample(record)
    info, beside = session_object(record)
    found = [info] if "directory" in info else []
    for name, value in beside.items():
        found.append(Shared(value) if name == "project" else value)
    entries = record["session"]["entries"]
    while entries:
        entry = entries.pop(0)
        ours = entry.get("vacr", {})
        if is_kept_bytes(entry):
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("beside") is True:
            value = entry["data"]["value"]
            found.append(Shared(value) if entry["event-type"] == "project" else value)
        elif entry.get("event-type") == "message" and "type" not in ours.get("native", {}):
            found += [entry["data"]["info"], *entry["data"]["parts"]]
        elif entry["type"] in ("user", "assistant"):
            found += parts_of(entry)
            found.append(message_object(entry))
        else:
            answered = (
                entries and entry["type"] == "tool-call" and entries[0]["type"] == "tool-result"
            )
            found.append(part([entry, entries.pop(0)] if answered else [entry]))
    return found


def with_shared_once(found: list) -> list:
    """Return values without the copies that several records share."""
    shared = {comparable(value): value for value in found if isinstance(value, Shared)}
    return [value for value in found if not isinstance(value, Shared)] + list(shared.values())


def is_kept_bytes(entry: dict) -> bool:
    return (
        entry.get("event-type") == "undecodable"
        and entry.get("vacr", {}).get("encoding") == "base64"
    )


def session_object(record: dict) -> tuple[dict, dict]:
    """Return the object that describes the session, and the values next to it."""
    session, ours = record["session"], record["vacr"]
    info = {name: value for name, value in session.items() if name not in SESSION}
    info |= info.pop("vacr", {}).get("native", {})
    beside = {name: info.pop(name) for name in ours.get("beside", ())}
    if session["session-id"] != ours["source"]["parts"][0]["sha-256"] and "chat-from" not in ours:
        info["id"] = session["session-id"]
    if "cli-version" in session["agent-meta"]:
        info["version"] = session["agent-meta"]["cli-version"]
    return info, beside


def message_object(entry: dict) -> dict:
    """Return a message without its parts."""
    ours = entry.pop("vacr", {})
    usage = entry.pop("token-usage", {})
    if "cost" in usage:
        entry["cost"] = usage["cost"]
    if "timestamp" in entry:
        entry.setdefault("time", {})["created"] = entry.pop("timestamp")
    for canonical, name in (
        ("type", "role"),
        ("parent-id", "parentID"),
        ("model-id", "modelID"),
        ("stop-reason", "finish"),
    ):
        if canonical in entry:
            entry[name] = entry.pop(canonical)
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    return entry | ours.get("native", {})


def parts_of(entry: dict) -> list | None:
    """Take the parts of a message out of its entry, in order."""
    has_parts = "content" in entry or "children" in entry
    content, inside = entry.pop("content", []), entry.pop("children", [])
    places = {f"content/{index}": block for index, block in enumerate(content)}
    for index, child in enumerate(inside):
        if child["type"] != "tool-result":
            answered = inside[index + 1 : index + 2] if child["type"] == "tool-call" else []
            places[f"children/{index}"] = part(
                [child, *(answer for answer in answered if answer["type"] == "tool-result")]
            )
    order = entry.get("vacr", {}).pop("order", None)
    if not has_parts:
        return None
    return (
        sorted(places.values(), key=lambda place: place["id"])
        if order is None
        else [places[place] for place in order]
    )


def part(entries: list[dict]):
    """Return a part from its entry, or from a call and its result."""
    entry, answer = entries[0], entries[1] if entries[1:] else None
    ours = entry.pop("vacr", {})
    if "not-an-object" in ours:
        return entry["data"]["value"]
    kind = entry.pop("type")
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        return (
            ({} if event_type == "unknown" else {"type": event_type})
            | entry
            | data
            | ours.get("native", {})
        )
    if kind == "reasoning":
        entry["text"] = entry.pop("content")
        entry.pop("encrypted", None)
        if "timestamp" in entry:
            entry.setdefault("time", {})["start"] = entry.pop("timestamp")
        return {"type": "reasoning"} | entry | ours.get("native", {})
    return tool(entry, answer) | ours["native"]


def tool(call: dict, answer: dict | None) -> dict:
    """Return a tool part from a call and its result."""
    state = call.pop("state", {}) if answer is None else answer.get("state", {})
    state["input"] = call.pop("input")
    if "timestamp" in call:
        state.setdefault("time", {})["start"] = call.pop("timestamp")
    if answer is not None:
        usual = "error" if answer.get("status") == "error" else "output"
        state[answer.get("vacr", {}).get("output-from", usual)] = answer["output"]
        if "status" in answer:
            state["status"] = answer["status"]
        if "timestamp" in answer:
            state.setdefault("time", {})["end"] = answer["timestamp"]
    for canonical, name in (("name", "tool"), ("call-id", "callID")):
        if canonical in call:
            call[name] = call.pop(canonical)
    return call | {"state": state}


def sample(record: dict) -> list:
    """Return a sample, and the other values of its file."""
    *folders, name = record["vacr"]["chat-from"].split("/")
    entries = record["session"]["entries"]
    kept = [base64.b64decode(entry["data"]["bytes"]) for entry in entries if is_kept_bytes(entry)]
    messages = [chat_message(entry) for entry in entries if not is_kept_bytes(entry)]
    if not folders:
        return [messages, *kept]
    head, _ = session_object(record)
    holder = head["session"] if "session" in folders else head
    holder[name] = messages
    return [head, *kept]


def chat_message(entry: dict):
    """Return a message of a sample."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    if kind == "system-event":
        return {"role": entry["event-type"]} | entry["data"]
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if kind == "tool-result":
        return response(entry, "content") | native
    entry.pop("model-id", None)
    if "stop-reason" in entry:
        entry.setdefault("metadata", {})["finish_reason"] = entry.pop("stop-reason")
    for child in entry.pop("children", [])[len(views(entry.get("content"))) :]:
        aside = child.pop("vacr", {}).get("native", {})
        child_type = child.pop("type")
        if child_type == "reasoning":
            entry.setdefault("metadata", {})["thinking"] = child["content"]
        elif child_type == "tool-call":
            entry.setdefault("tool_calls", []).append(chat_call(child) | aside)
        else:
            entry.setdefault("tool_responses", []).append(response(child, "output") | aside)
    return ({} if "untyped" in ours else {"role": kind}) | entry | native


def chat_call(child: dict) -> dict:
    function = child.setdefault("function", {})
    function["name"] = child.pop("name")
    function.setdefault("arguments", child.pop("input"))
    child.pop("input", None)
    if "call-id" in child:
        child["id"] = child.pop("call-id")
    return child


def response(child: dict, output: str) -> dict:
    child[output] = child.pop("output")
    if "call-id" in child:
        child["tool_call_id"] = child.pop("call-id")
    return child


def native(value):
    """Return a native value without the nulls that the format leaves out.

    These are nulls of sessions, messages, and of parts and states that a reader takes apart.
    """
    if isinstance(value, list):
        return [native(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for name in ("info", "state", "function"):
        if isinstance(value.get(name), dict):
            value[name] = dropped(value[name])
    for name in ("messages", "parts", "conversation", "entries", "tool_calls", "tool_responses"):
        if isinstance(value.get(name), list):
            value[name] = native(value[name])
    if isinstance(value.get("session"), dict) and isinstance(
        value["session"].get("messages"), list
    ):
        value["session"] = value["session"] | {"messages": native(value["session"]["messages"])}
    return value
