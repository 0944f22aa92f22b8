"""Lines of Grok's chat histories, back from their entries."""

from vacr.record import build_child_entries

NAMES = {
    "model-id": "model_id",
    "call-id": "tool_call_id",
    "encrypted": "encrypted_content",
    "output": "content",
}


def line(entry: dict) -> dict:
    """Return the native line of an entry."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    if ours.get("usage-of") == "session":
        del entry["token-usage"]
    children = entry.pop("children", ())
    kind = entry.pop("type")
    if kind == "system-event":
        event_type, data = entry.pop("event-type"), entry.pop("data", {})
        if ours.get("message"):
            return data
        return ({} if event_type == "unknown" else {"type": event_type}) | data | native
    if kind == "tool-call":
        views = ("name", "input", "call-id")
        rest = {name: value for name, value in entry.items() if name not in views}
        return {"type": "backend_tool_call"} | rest | native
    if kind == "reasoning":
        del entry["content"]
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    entry = {NAMES.get(name, name): value for name, value in entry.items()}
    if ours.get("from") != "role":
        return {"type": kind} | entry | native
    calls = []
    for child in children[len(build_child_entries(entry.get("content"))) :]:
        marks = child.pop("vacr", {})
        if "member" in marks:
            entry[marks["member"]] = child["content"]
        elif child["type"] == "tool-call":
            calls.append(old_call(child) | marks.get("native", {}))
    if calls:
        entry["tool_calls"] = calls
    return {"role": kind} | entry | native


def old_call(child: dict) -> dict:
    """Return the call of an old line."""
    function = child.pop("function", {}) | {"name": child.pop("name")}
    function.setdefault("arguments", child.pop("input"))
    child.pop("input", None)
    del child["type"]
    if "call-id" in child:
        child["id"] = child.pop("call-id")
    return child | {"function": function}
