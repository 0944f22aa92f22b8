"""Lines of Pi, and of programs that are built on it, back from their entries."""

MOVES = {
    "user": {"content": "content"},
    "assistant": {"content": "content", "model-id": "model", "stop-reason": "stopReason"},
    "toolResult": {"output": "content", "call-id": "toolCallId"},
    "bashExecution": {"content": "command"},
    "custom": {"content": "content"},
    "hookMessage": {"content": "content"},
}


def line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native, kind = ours.get("native", {}), entry.pop("type")
    for name in ("children", "token-usage"):
        entry.pop(name, None)
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        stated = {} if event_type == "unknown" else {"type": event_type}
        return stated | place_ids(entry, ours) | data | native
    if native["type"] == "custom_message":
        return place_ids(entry, ours) | native
    message = entry.pop("message", {})
    message.setdefault("role", kind)
    for canonical, name in MOVES[message["role"]].items():
        if canonical in entry and (entry[canonical] is not None or canonical != "output"):
            message[name] = entry.pop(canonical)
    entry.pop("output", None)
    return place_ids(entry, ours) | native | {"message": message}


def place_ids(entry: dict, ours: dict) -> dict:
    """Return the rest of an entry with the ids under their native names."""
    if "parent-id" in entry:
        entry["parentId"] = entry.pop("parent-id")
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    return entry
