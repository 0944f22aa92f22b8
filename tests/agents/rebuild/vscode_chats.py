"""The chat store of VS Code, back from its records."""

import base64
import copy

from tests.agents.rebuild.comparing import dropped

SESSION = {
    "session-id",
    "agent-meta",
    "entries",
    "format",
    "session-start",
    "session-end",
    "environment",
}


def values(record: dict) -> list:
    """Return the document of a session, or the lines of its log, then all other values."""
    session = record["session"]
    is_log = record["vacr"]["source"]["format"] == "vscode-chat-jsonl"
    found, requests, lines, prompt = [], [], [], None
    for entry in session["entries"]:
        ours = entry.get("vacr", {})
        if entry.get("event-type") == "undecodable" and ours.get("encoding") == "base64":
            found.append(base64.b64decode(entry["data"]["bytes"]))
        elif ours.get("from") == "fold":
            continue
        elif entry["type"] == "user":
            prompt = user(entry)
        elif entry["type"] == "assistant":
            requests.append(prompt | answer(entry))
        elif entry.get("event-type") in ("initial", "set", "push", "delete"):
            if "moved" in ours:
                lines.append(entry["data"])
            found.append(entry["data"])
        elif "not-an-object" in ours:
            (requests if ours.get("in") == "requests" else found).append(entry["data"]["value"])
        else:
            found.append(entry["data"])
    if is_log:
        fill(lines, requests)
        return found
    root = {name: value for name, value in session.items() if name not in SESSION}
    root |= root.pop("vacr", {}).get("native", {})
    if session["session-id"] != record["vacr"]["source"]["parts"][0]["sha-256"]:
        root["sessionId"] = session["session-id"]
    if requests or root:
        root.setdefault("requests", requests)
        found.insert(0, root)
    return found


def fill(lines: list, requests: list) -> None:
    """Put requests back to the places that lines left for them."""
    waiting = iter(requests)
    for line in lines:
        place = line["v"]["requests"] if line["kind"] == 0 else line["v"]
        place[:] = [next(waiting) if item is None else item for item in place]


def user(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    entry.pop("type")
    if "content" in entry:
        entry["message"]["text"] = entry.pop("content")
    if isinstance(ours.get("repeats"), str):
        entry["id"] = ours["repeats"]
    if "id" in entry:
        entry["requestId"] = entry.pop("id")
    return entry | ours.get("native", {})


def answer(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    for name in ("type", "children", "model-id", "token-usage", "timestamp"):
        entry.pop(name, None)
    if isinstance(ours.get("repeats"), str):
        entry["id"] = ours["repeats"]
    if "id" in entry:
        entry["responseId"] = entry.pop("id")
    if "content" in entry:
        blocks = map(part, entry.pop("content"))
        entry["response"] = [next(blocks) if item is None else item for item in entry["response"]]
    return entry | ours.get("native", {})


def part(block: dict) -> dict:
    """Return a part of a response, with its own names."""
    block = copy.deepcopy(block)
    if block.get("kind") == "inlineReference":
        del block["type"], block["text"]
        return block
    block["value"] = block.pop(block.pop("type"))
    return block


def native(value):
    """Return a native value without the nulls that a reader leaves out."""
    if not isinstance(value, dict):
        return value
    if value.get("kind") == 0 and isinstance(value.get("v"), dict):
        return value | {"v": value["v"] | {"requests": drop_all(value["v"].get("requests"))}}
    if value.get("kind") == 2 and value.get("k") == ["requests"]:
        return value | {"v": drop_all(value.get("v"))}
    if isinstance(value.get("requests"), list):
        return dropped(value) | {"requests": drop_all(value["requests"])}
    return value


def drop_all(requests):
    if not isinstance(requests, list):
        return requests
    return [dropped(item) if isinstance(item, dict) else item for item in requests]
