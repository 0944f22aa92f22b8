"""Counts from exports of Hermes's database, and from its session files."""

import json

from tests.agents.independent.counts import Counts, Labels, documents


def read_session(data: bytes):
    """Return the members of the session, and its messages with their calls as values."""
    found = list(documents(data))
    if "messages" in found[0]:
        return found[0], found[0]["messages"]
    members, messages = {}, []
    for line in found[1:]:
        if line["table"] == "sessions":
            members = line["row"]
        elif line["table"] == "messages":
            row = line["row"]
            messages.append(row | {"tool_calls": json.loads(row["tool_calls"] or "[]")})
    return members, messages


def hermes(data: bytes) -> Counts:
    counts = Counts()
    called, answered = set(), set()
    members, messages = read_session(data)
    if members.get("model"):
        counts.models.add(members["model"])
    counts.tokens.update(count_tokens(members))
    for message in messages:
        role = message["role"]
        if role in ("user", "assistant"):
            counts.messages[role] += 1
            counts.reasoning += bool(message.get("reasoning"))
            for call in message.get("tool_calls") or ():
                counts.calls += 1
                called.add(call["id"])
        elif role == "tool":
            counts.results += 1
            answered.add(message["tool_call_id"])
    counts.paired = len(called & answered)
    return counts


def count_tokens(members):
    """Return the tokens of the whole session, which only its row in the database counts.

    The row counts tokens that were read from a cache, or written to it, beside the others.
    """
    cached = members.get("cache_read_tokens") or 0
    written = members.get("cache_write_tokens") or 0
    found = {
        "input": (members.get("input_tokens") or 0) + cached + written,
        "cached": cached,
        "output": members.get("output_tokens") or 0,
        "reasoning": members.get("reasoning_tokens") or 0,
    }
    return {name: count for name, count in found.items() if count}


WRITTEN_BY_HOST = (
    "You just executed tool calls",
    "[SYSTEM: The user has",
    "Review the conversation",
)


def hermes_labels(data: bytes) -> Labels:
    labels = Labels()
    tools = {}
    members, messages = read_session(data)
    is_child = str(members.get("system_prompt")).startswith("You are a focused subagent")
    for message in messages:
        if message["role"] == "user":
            speaker = "parent-agent" if is_child else "human"
            if message["content"].startswith(WRITTEN_BY_HOST):
                speaker = "host"
            labels.speakers[speaker] += 1
            if speaker == "human":
                labels.prompts.append(message["content"])
        for call in message.get("tool_calls") or ():
            tools[call["id"]] = call["function"]["name"]
        if message["role"] == "tool":
            count_result(message["content"], tools.pop(message["tool_call_id"], None), labels)
    labels.unanswered = len(tools)
    return labels


def count_result(content, tool, labels):
    if not content.startswith("{"):
        labels.statuses["error" if "does not exist" in content else ""] += 1
        return
    value = json.loads(content)
    status = ""
    if value.get("status") == "blocked":
        status = "denied" if "User denied" in value["error"] else "error"
    elif tool == "terminal":
        code = value["exit_code"]
        status = {0: "success", 124: "timeout"}.get(code, "error")
        if "pid" in value:
            status = "running"
        else:
            labels.exit_codes[code] += 1
    elif tool == "execute_code":
        status = value["status"]
    elif "success" in value:
        status = "success" if value["success"] else "error"
    elif value.get("error"):
        status = "error"
    elif {"bytes_written", "total_lines", "total_count", "todos"} & value.keys():
        status = "success"
    labels.statuses[status] += 1
