"""Claude Code lines, back from their entries."""

CANONICAL_USAGE = ("input", "output", "cached", "reasoning", "total", "cost")


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
    elif native.get("type") == "attachment":
        entry["attachment"]["prompt"] = entry.pop("content")
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
    lifted = [
        member
        for member in ("content", "model-id", "token-usage", "stop-reason")
        if member in entry
    ]
    message = entry.pop("message", {} if lifted else None)
    if "content" in entry:
        message["content"] = entry.pop("content")
    if "model-id" in entry:
        message["model"] = entry.pop("model-id")
    if "stop-reason" in entry:
        message["stop_reason"] = entry.pop("stop-reason")
    usage = entry.pop("token-usage", None)
    if usage is not None and "usage" not in message:
        message["usage"] = {
            name: count for name, count in usage.items() if name not in CANONICAL_USAGE
        }
    entry["type"] = kind
    if message is not None:
        entry["message"] = message
    return entry
