"""Lines of Windsurf's transcripts, and of Visual Studio's traces, back from their entries."""

MEMBERS = {"user_input": "user_response", "planner_response": "response"}
RESULTS = ("acknowledgement_type", "exit_code", "total_results", "user_rejected")


def line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    if kind == "system-event":
        return entry["data"]
    if kind == "tool-call":
        return step(entry, native)
    name = native.pop("type")
    body = entry.pop(name)
    if "content" in entry:
        body[MEMBERS[name]] = entry.pop("content")
    return entry | native | {"type": name, name: body}


def step(entry: dict, native: dict) -> dict:
    name, body = entry.pop("name"), entry.pop("input")
    (result,) = entry.pop("children")
    del entry["call-id"]
    if result["output"] is not None:
        body[result["vacr"]["output-from"]] = result["output"]
    body |= {member: result[member] for member in RESULTS if member in result}
    if "status" in result:
        entry["status"] = result["status"]
    return entry | native | {"type": name, name: body}


def trace(entry: dict) -> dict:
    """Return an export of spans; the children of its entry are views."""
    return entry["data"]
