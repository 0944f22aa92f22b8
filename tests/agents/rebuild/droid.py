"""Droid's lines, back from their entries."""

from tests.agents.rebuild.comparing import dropped


def line(entry: dict, *, is_stream: bool = False) -> dict:
    """Return the native line of an entry."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    entry.pop("children", None)
    if ours.get("usage-of") == "session":
        entry.pop("token-usage")
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        known = {} if event_type == "unknown" else {"type": event_type}
        return known | entry | data | native
    if ours.get("call-id-from") == "id":
        entry["id"] = entry.pop("call-id")
    if native.get("type") in ("tool_call", "tool_result"):
        names = {
            "name": "toolName",
            "input": "parameters",
            "output": "value",
            "call-id": "toolCallId",
        }
        return {names.get(name, name): value for name, value in entry.items()} | native
    if "parent-id" in entry:
        entry["parentId"] = entry.pop("parent-id")
    content = {"content": entry.pop("content")} if "content" in entry else {}
    if is_stream:
        text = {"text": content["content"]} if content else {}
        return entry | {"role": kind} | text | native
    if "model-id" in entry:
        content["modelId"] = entry.pop("model-id")
    message = {"role": kind} | content | dropped(entry.get("message", {}))
    return entry | {"message": message} | native


def stream_line(entry: dict) -> dict:
    """Return the native line of an entry of a stream."""
    return line(entry, is_stream=True)
