"""Rows and lines of Goose, back from their records."""

import json

from tests.agents.rebuild import session_rows
from tests.agents.rebuild.comparing import dropped

ROLES = ("user", "assistant")


def rows(record: dict) -> list:
    return session_rows.values(record, row)


def row(entry: dict) -> dict:
    message, blocks = split(entry)
    return message | {"content_json": blocks}


def line(entry: dict) -> dict:
    if entry["type"] == "system-event":
        return entry["data"]
    message, blocks = split(entry)
    if "id" not in message and "id" in entry:
        message["id"] = entry["id"]
    return message | {"content": blocks}


def split(entry: dict) -> tuple[dict, list]:
    """Return the members of a message, and its blocks."""
    ours = entry.get("vacr", {})
    content, children = entry["content"], entry.get("children", [])
    pieces = {f"content/{number}": block for number, block in enumerate(content)}
    pieces |= {f"children/{number}": block_of(child) for number, child in enumerate(children)}
    blocks = [pieces[place] for place in ours.get("order", pieces)]
    taken = ("type", "id", "timestamp", "content", "children", "vacr")
    rest = {name: value for name, value in entry.items() if name not in taken}
    return {"role": entry["type"]} | rest | ours.get("native", {}), blocks


def block_of(child: dict):
    ours = child.pop("vacr")
    native = ours.get("native", {})
    if "not-an-object" in ours:
        return child["data"]["value"]
    if ours.get("block"):
        return child["data"]
    kind, place = child.pop("type"), ours["from"]
    if kind == "reasoning":
        member = {"thinking": "thinking", "reasoning": "text", "redactedThinking": "data"}[place]
        text, hidden = child.pop("content"), child.pop("encrypted", None)
        block = {"type": place, member: hidden if place == "redactedThinking" else text}
        if hidden is not None and place != "redactedThinking":
            block["signature"] = hidden
        return block | child | native
    if "call-id" in child:
        child["id"] = child.pop("call-id")
    if kind == "tool-call":
        value = child["toolCall"].setdefault("value", {})
        value["name"] = child.pop("name")
        arguments = child.pop("input")
        if "input" not in ours.get("implied", ()):
            value["arguments"] = arguments
        return {"type": place} | child | native
    holder, _, member = ours["member"].partition(".")
    output = child.pop("output")
    if member:
        child["toolResult"][holder][member] = output
    else:
        child["toolResult"][holder] = output
    return {"type": place} | child | native


def native_row(value):
    """Return a line of an export without the nulls that the format leaves out."""
    if not isinstance(value, dict) or value.keys() != {"row", "table"}:
        return value
    table, members = value["table"], value["row"]
    if table == "sessions" and isinstance(members, dict):
        return session_rows.line(table, dropped(members))
    if table != "messages" or not isinstance(members, dict) or members.get("role") not in ROLES:
        return value
    blocks = members.get("content_json")
    try:
        blocks = json.loads(blocks) if isinstance(blocks, str) else blocks
    except ValueError:
        return value
    if not isinstance(blocks, list):
        return value
    members = dropped(members) | {"content_json": list(map(native_block, blocks))}
    return session_rows.line(table, members)


def native_line(value):
    """Return a line of a session file without the nulls that the format leaves out."""
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return value
    if not isinstance(value.get("content"), list):
        return value
    return dropped(value) | {"content": list(map(native_block, value["content"]))}


def native_block(block):
    """Return a block without its nulls, if it becomes a call, a result or reasoning."""
    if not isinstance(block, dict):
        return block
    kind = block.get("type")
    call, result = block.get("toolCall"), block.get("toolResult")
    if kind in ("toolRequest", "frontendToolRequest"):
        value = call.get("value") if isinstance(call, dict) else None
        is_taken = isinstance(value, dict) and isinstance(value.get("name"), str)
    elif kind == "toolResponse":
        value = result.get("value") if isinstance(result, dict) else None
        is_taken = isinstance(value, list) or (
            isinstance(value, dict) and value.get("content") is not None
        )
        is_taken |= isinstance(result, dict) and isinstance(result.get("error"), str)
    else:
        member = {"thinking": "thinking", "reasoning": "text", "redactedThinking": "data"}
        name = member.get(kind) if isinstance(kind, str) else None
        is_taken = name is not None and isinstance(block.get(name), str)
    return dropped(block) if is_taken else block
