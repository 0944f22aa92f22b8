"""Codex CLI lines, back from their entries."""

from tests.agents.rebuild.claude_code import CANONICAL_USAGE


def codex_line(entry: dict) -> dict:
    ours = entry.pop("vacr", {})
    native = ours.get("native", {})
    kind = entry.pop("type")
    if kind == "system-event":
        return codex_event(entry, ours)
    enveloped = native.get("type") in ("response_item", "event_msg") and isinstance(
        entry.get("payload"), dict
    )
    payload = entry.pop("payload") if enveloped else None
    item = payload if payload is not None else entry
    if isinstance(ours.get("repeats"), str):
        item["id"] = ours["repeats"]
    item_type = item.get("type") if payload is not None else native.get("type")
    codex_item(entry, item, kind, item_type, ours)
    entry.pop("children", None)
    entry.pop("model-id", None)
    return entry | native | ({} if payload is None else {"payload": item})


def codex_event(entry: dict, ours: dict) -> dict:
    native = ours.get("native", {})
    event_type = entry.pop("event-type")
    data = entry.pop("data")
    usage = entry.pop("token-usage", None)
    if usage is not None and "last_token_usage" not in data["info"]:
        data["info"]["last_token_usage"] = {
            name: count for name, count in usage.items() if name not in CANONICAL_USAGE
        }
    if "bare" in ours:
        return entry | data
    return {"type": event_type} | entry | native | {"payload": data}


def codex_item(entry: dict, item: dict, kind: str, item_type, ours: dict) -> None:
    if "id" in entry:
        item["id"] = entry.pop("id")
    if "call-id" in entry:
        call_id = entry.pop("call-id")
        if "call-id-from" not in ours:
            item["call_id"] = call_id
    if item_type in ("user_message", "agent_message", "agent_reasoning"):
        item["text" if item_type == "agent_reasoning" else "message"] = entry.pop("content")
    elif kind in ("user", "assistant"):
        item["role"] = kind
        if "content" in entry:
            item[ours.get("content-from", "content")] = entry.pop("content")
    elif kind == "reasoning":
        content = entry.pop("content")
        if "encrypted" in entry:
            item["encrypted_content"] = entry.pop("encrypted")
        if content != "":
            item["content" if ours.get("content-from") == "content" else "summary"] = content
    elif kind == "tool-call":
        codex_call(entry, item, item_type, ours)
    else:
        member = {
            "tool_search_output": "tools",
            "tool_result": "result",
            "function_result": "result",
        }.get(item_type, "output")
        output = entry.pop("output")
        if output is not None:
            item[member] = output


def codex_call(entry: dict, item: dict, item_type: str, ours: dict) -> None:
    member = {
        "custom_tool_call": "input",
        "local_shell_call": "action",
        "web_search_call": "action",
        "image_generation_call": "revised_prompt",
    }.get(item_type, "arguments")
    given = entry.pop("input")
    if given is not None:
        item.setdefault(member, given)
    name = entry.pop("name")
    if item_type in ("function_call", "custom_tool_call", "tool_call") and "name-from" not in ours:
        item["name"] = name
    for child in entry.get("children", ()):
        item["result"] = child["output"]
