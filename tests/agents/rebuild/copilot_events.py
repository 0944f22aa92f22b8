"""Lines of Copilot's event log, back from their entries."""


def line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    if "bare" in ours:
        return entry["data"]
    native = ours.get("native", {})
    data = entry.pop("data")
    kind = entry.pop("type")
    children = entry.pop("children", ())
    usage = entry.pop("token-usage", None)
    if kind == "system-event":
        event_type = entry.pop("event-type")
        entry.pop("model-id", None)
        return parent(entry, ours) | {"type": event_type} | native | {"data": data}
    if kind in ("user", "assistant", "reasoning"):
        message(entry, data, usage, ours, children)
    elif kind == "tool-call":
        call(entry, data, ours)
    else:
        result(entry, data, ours)
    return parent(entry, ours) | native | {"data": data}


def parent(entry: dict, ours: dict) -> dict:
    if isinstance(ours.get("repeats"), str):
        entry["id"] = ours["repeats"]
    if "parent-id" in entry:
        entry["parentId"] = entry.pop("parent-id")
    return entry


def message(entry: dict, data: dict, usage, ours: dict, children) -> None:
    content = entry.pop("content", None)
    if content is not None:
        data["content"] = content
    if usage is not None:
        data["outputTokens"] = usage["output"]
    model = entry.pop("model-id", None)
    if model is not None and "model-from" not in ours:
        data["model"] = model
    if isinstance(content, list):
        return
    for child in children:
        if child["type"] == "reasoning":
            if child["content"]:
                data["reasoningText"] = child["content"]
            if "encrypted" in child:
                member = child.get("vacr", {}).get("encrypted-from", "reasoningOpaque")
                data[member] = child["encrypted"]


def call(entry: dict, data: dict, ours: dict) -> None:
    given = entry.pop("input")
    if given is not None:
        data.setdefault("arguments", given)
    if "call-id" in entry:
        data["toolCallId"] = entry.pop("call-id")
    name = entry.pop("name")
    if "name-from" not in ours:
        data["toolName"] = name


def result(entry: dict, data: dict, ours: dict) -> None:
    output = entry.pop("output")
    if "call-id" in entry:
        data["toolCallId"] = entry.pop("call-id")
    if output is not None:
        if ours.get("output-from") == "error":
            data["error"]["message"] = output
        else:
            data["result"]["content"] = output
