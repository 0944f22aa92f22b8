"""Counts from exports of Zed's database."""

import json

from tests.agents.independent.counts import Counts, Labels, documents


def read_thread(data: bytes) -> tuple[dict, dict]:
    row = next(line["row"] for line in documents(data) if line.get("table") == "threads")
    return row, json.loads(row["data"])


def zed(data: bytes) -> Counts:
    counts = Counts()
    _, thread = read_thread(data)
    counts.models.add(thread["model"]["model"])
    for message in thread["messages"]:
        if "User" in message:
            counts.messages["user"] += 1
        elif "Agent" in message:
            counts.messages["assistant"] += 1
            body = message["Agent"]
            kinds = [next(iter(block)) for block in body["content"]]
            counts.calls += kinds.count("ToolUse")
            counts.reasoning += kinds.count("Thinking") + kinds.count("RedactedThinking")
            counts.results += len(body["tool_results"])
            counts.paired += len(body["tool_results"])
    return counts


def zed_labels(data: bytes) -> Labels:
    labels = Labels()
    row, thread = read_thread(data)
    for message in thread["messages"]:
        if "User" in message:
            speaker = "parent-agent" if row["parent_id"] else "human"
            labels.speakers[speaker] += 1
            if speaker == "human":
                blocks = message["User"]["content"]
                labels.prompts.append("".join(block["Text"] for block in blocks if "Text" in block))
        elif "Agent" in message:
            body = message["Agent"]
            uses = sum("ToolUse" in block for block in body["content"])
            labels.unanswered += uses - len(body["tool_results"])
            for result in body["tool_results"].values():
                count_result(result, labels)
    return labels


def count_result(result, labels):
    text = result["content"][0]["Text"]
    signs = {"denied": "denied", "canceled": "interrupted", "stopped": "interrupted"}
    signs |= {"timed out": "timeout", "exit code": "error"}
    status = next((status for sign, status in signs.items() if sign in text), None)
    if status is None:
        status = "error" if result["is_error"] else "success"
    if "exit code 2" in text:
        labels.exit_codes[2] += 1
    if result["tool_name"] == "terminal" and text.startswith("```"):
        labels.exit_codes[0] += 1
    labels.statuses[status] += 1
