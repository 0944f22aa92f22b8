"""Counts from an export of Crush's database."""

import json
import re

from tests.agents.independent.counts import Counts, Labels, values


def parts_of(data: bytes):
    """Yield each message that Crush's own roles have, with its parts."""
    for value in values(data):
        if isinstance(value, dict) and value.get("table") == "messages":
            row = value["row"]
            if row.get("role") in ("user", "assistant", "tool"):
                yield row, json.loads(row["parts"])


def crush(data: bytes) -> Counts:
    counts = Counts()
    called, answered = set(), set()
    for row, parts in parts_of(data):
        counts.messages["assistant" if row["role"] == "assistant" else "user"] += 1
        if row["model"]:
            counts.models.add(row["model"])
        for part in parts:
            counts.reasoning += part["type"] == "reasoning"
            if part["type"] == "tool_call":
                counts.calls += 1
                called.add(part["data"]["id"])
            elif part["type"] == "tool_result":
                counts.results += 1
                answered.add(part["data"]["tool_call_id"])
    counts.paired = len(called & answered)
    return counts


REFUSED = ("User denied permission", "Permission denied")
CODE = re.compile(r"(?:^|\n)Exit code (\d+)\n\n<cwd>[^\n]*</cwd>$")


def crush_labels(data: bytes) -> Labels:
    labels = Labels()
    tools, open_calls = {}, set()
    is_child = any(
        value.get("table") == "sessions" and value["row"]["parent_session_id"]
        for value in values(data)
    )
    for row, parts in parts_of(data):
        shown = [part for part in parts if part["type"] in ("text", "binary", "shell_command")]
        if row["role"] == "user" and shown:
            text = "\n".join(part["data"]["text"] for part in shown if part["type"] == "text")
            speaker = "parent-agent" if is_child else "human"
            if "create a **CRUSH.md**" in text:
                speaker = "host"
            labels.speakers[speaker] += 1
            if speaker == "human":
                labels.prompts.append(text)
        for part in parts:
            if part["type"] == "tool_call":
                tools[part["data"]["id"]] = part["data"]["name"]
                open_calls.add(part["data"]["id"])
            elif part["type"] == "tool_result":
                open_calls.discard(part["data"]["tool_call_id"])
                count_result(part["data"], tools.get(part["data"]["tool_call_id"]), labels)
    labels.unanswered = len(open_calls)
    return labels


def count_result(result, tool, labels):
    code = CODE.search(result["content"]) if tool == "bash" else None
    if result["is_error"]:
        status = "error"
        if result["content"] in REFUSED:
            status = "denied"
        elif "canceled by user" in result["content"]:
            status = "interrupted"
    elif code:
        status = "error"
        labels.exit_codes[int(code[1])] += 1
    else:
        status = "success"
    labels.statuses[status] += 1
