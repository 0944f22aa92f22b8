"""Lines of gptme's conversations, back from their entries."""


def line(entry: dict) -> dict:
    """Return the native line of an entry; calls and reasoning are views of its text."""
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    for name in ("children", "model-id", "token-usage"):
        entry.pop(name, None)
    kind = entry.pop("type")
    if kind == "system-event":
        return entry["data"]
    if kind != "tool-result":
        return {"role": kind} | entry | native
    entry["content"] = entry.pop("output")
    call_id = entry.pop("call-id", None)
    if "paired-by" not in ours and call_id is not None:
        entry["call_id"] = call_id
    return entry | native
