"""Lines of Qwen Code, back from their entries."""

NAMES = {"id": "uuid", "parent-id": "parentUuid", "model-id": "model"}


def line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native, kind = ours.get("native", {}), entry.pop("type")
    for name in ("children", "token-usage"):
        entry.pop(name, None)
    if "repeats" in ours:
        entry["id"] = ours["repeats"]
    if kind == "system-event":
        return event(entry, native)
    if "content" in entry:
        message = entry.setdefault("message", {})
        message["parts"] = entry.pop("content")
    return {"type": kind} | rename(entry) | native


def event(entry: dict, native: dict) -> dict:
    event_type = entry.pop("event-type")
    if native.get("type") != "system":
        data = entry.pop("data", {})
        stated = {} if event_type == "unknown" else {"type": event_type}
        return stated | rename(entry) | data | native
    if "data" in entry:
        entry["systemPayload"] = entry.pop("data")
    if "subtype" not in entry and event_type != "system":
        entry["subtype"] = event_type
    return rename(entry) | native


def rename(entry: dict) -> dict:
    return {NAMES.get(name, name): value for name, value in entry.items()}
