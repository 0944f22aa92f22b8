"""Lines of Kimi Code and of Kimi CLI, back from their entries."""

from tests.agents.rebuild.comparing import dropped, without_nulls


def code_line(entry: dict) -> dict:
    """Return a line of Kimi Code's wire file."""
    ours = entry.pop("vacr", {})
    native, kind = ours.get("native", {}), entry.pop("type")
    if "timestamp" in entry:
        entry["time"] = entry.pop("timestamp")
    entry.pop("token-usage", None)
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        stated = {} if event_type in ("unknown", "session-state") else {"type": event_type}
        return stated | entry | data | native
    children = entry.pop("children", None)
    del children
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if native["type"] == "context.append_message":
        message = entry["message"]
        move(entry, message, {"content": "content", "call-id": "toolCallId"})
        move_output(entry, message, "content")
        return entry | native
    event = entry["event"]
    if kind == "assistant":
        event["part"] = entry.pop("content")[0]
    elif kind == "reasoning":
        event["part"]["think"] = entry.pop("content")
    elif kind == "tool-call":
        arguments = entry.pop("input")
        if arguments is not None:
            event["args"] = arguments
    else:
        move_output(entry, event["result"], "output")
    names = {"id": "uuid", "name": "name", "call-id": "toolCallId", "parent-id": "parentUuid"}
    move(entry, event, names)
    return entry | native


def wire_line(entry: dict) -> dict:
    """Return a line of Kimi CLI's wire file."""
    ours = entry.pop("vacr", {})
    kind, seconds = entry.pop("type"), ours.get("native", {}).get("timestamp")
    children, data = entry.pop("children", ()), entry.pop("data", {})
    if seconds is not None:
        entry["timestamp"] = seconds
    entry.pop("token-usage", None)
    rest = {name: value for name, value in ours.get("native", {}).items() if name != "timestamp"}
    if kind != "system-event":
        entry["message"] = take_message(entry, kind)
        return entry | rest
    event_type = entry.pop("event-type")
    if children and event_type == "SubagentEvent" and kind == "system-event":
        (child,) = children
        child.pop("children", None)
        child.pop("vacr", None)
        data["payload"]["event"] = take_message(child, child.pop("type"))
    if event_type in ("metadata", "unknown"):
        return data
    return entry | {"message": data} | rest


def take_message(entry: dict, kind: str) -> dict:
    """Return the message of an entry with the members that moved to the entry."""
    message = entry.pop("message", {})
    if kind == "assistant":
        message["payload"] = entry.pop("content")[0]
        return message
    payload = message["payload"]
    if kind == "user":
        payload["user_input"] = entry.pop("content")
    elif kind == "reasoning":
        move(entry, payload, {"content": "think", "encrypted": "encrypted"})
    elif kind == "tool-call":
        del entry["input"]
        payload["function"]["name"] = entry.pop("name")
        move(entry, payload, {"call-id": "id"})
    else:
        move_output(entry, payload["return_value"], "output")
        move(entry, payload, {"call-id": "tool_call_id"})
    return message


def context_line(entry: dict) -> dict:
    """Return a line of Kimi CLI's context."""
    ours = entry.pop("vacr", {})
    kind = entry.pop("type")
    entry.pop("children", None)
    if kind == "system-event":
        return entry["data"]
    native = {"role": kind} | ours.get("native", {})
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    move_output(entry, native, "content")
    move(entry, native, {"call-id": "tool_call_id"})
    return entry | native


def move(entry: dict, target: dict, names: dict) -> None:
    for canonical, name in names.items():
        if canonical in entry:
            target[name] = entry.pop(canonical)


def move_output(entry: dict, target: dict, name: str) -> None:
    output = entry.pop("output", None)
    if output is not None:
        target[name] = output


def native_wire_line(value):
    """Return a line of the wire file without the nulls that the format leaves out."""
    value = without_nulls(value)
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value["message"] = native_wire_message(value["message"])
    return value


def native_wire_message(message: dict) -> dict:
    """Return a message, or the message of a sub-agent in it, without a result's nulls."""
    payload = message.get("payload")
    if not isinstance(payload, dict):
        return message
    parts = {}
    if isinstance(payload.get("return_value"), dict):
        parts["return_value"] = dropped(payload["return_value"])
    if isinstance(payload.get("event"), dict):
        parts["event"] = native_wire_message(payload["event"])
    return message | {"payload": payload | parts}


def native(value):
    """Return a native line without the nulls that the format leaves out."""
    if not isinstance(value, dict):
        return value
    value = dropped(value)
    for holder in ("message", "event"):
        if isinstance(value.get(holder), dict):
            inner = value[holder]
            is_lifted = holder == "message" or inner.get("type") in (
                "content.part",
                "tool.call",
                "tool.result",
            )
            if is_lifted:
                value[holder] = dropped(inner)
            if isinstance(value[holder].get("result"), dict):
                value[holder]["result"] = dropped(value[holder]["result"])
    return value
