"""Counts from exports of Goose's database, and from its session files."""

import json

from tests.agents.independent.counts import Counts, Labels, documents

NEVER_RAN = ("The user has declined to run this tool.", "Let the user know the tool call was")


def read_session(data: bytes):
    """Return the members of the session, and its messages: role, blocks, visibility."""
    found = list(documents(data))
    if "vacr-export" not in found[0]:
        messages = [
            (document["role"], document["content"], document.get("metadata", {}))
            for document in found
            if "role" in document
        ]
        return found[0], messages
    members, messages = {}, []
    for line in found[1:]:
        row = line["row"]
        if line["table"] == "sessions":
            members = row
        elif line["table"] == "messages":
            visible = json.loads(row["metadata_json"] or "{}")
            messages.append((row["role"], json.loads(row["content_json"]), visible))
    return members, messages


def goose(data: bytes) -> Counts:
    counts = Counts()
    members, messages = read_session(data)
    if members.get("model_config_json"):
        counts.models.add(json.loads(members["model_config_json"])["model_name"])
    called, answered = set(), set()
    for role, blocks, _ in messages:
        counts.messages[role] += 1
        for block in blocks:
            kind = block["type"]
            counts.reasoning += kind in ("thinking", "redactedThinking")
            if kind == "toolRequest" and "value" in block["toolCall"]:
                counts.calls += 1
                called.add(block["id"])
            elif kind == "toolResponse":
                counts.results += 1
                answered.add(block["id"])
    counts.paired = len(called & answered)
    return counts


def goose_labels(data: bytes) -> Labels:
    labels = Labels()
    members, messages = read_session(data)
    tools = {}
    for role, blocks, visible in messages:
        said = "".join(block["text"] for block in blocks if block["type"] == "text")
        if role == "user" and said:
            speaker = {"sub_agent": "parent-agent", "scheduled": "unknown"}.get(
                members.get("session_type"), "human"
            )
            if visible == {"userVisible": False, "agentVisible": True}:
                speaker = "host"
            labels.speakers[speaker] += 1
            if speaker == "human":
                labels.prompts.append(said)
        for block in blocks:
            if block["type"] == "toolRequest" and "value" in block["toolCall"]:
                tools[block["id"]] = block["toolCall"]["value"]["name"]
            elif block["type"] == "toolResponse":
                count_result(block["toolResult"], tools.pop(block["id"], ""), labels)
    labels.unanswered = len(tools)
    return labels


def count_result(result, tool, labels):
    value = result.get("value")
    if result["status"] == "error":
        labels.statuses["error"] += 1
        return
    blocks = value if isinstance(value, list) else value["content"]
    value = value if isinstance(value, dict) else {}
    stated = value.get("structuredContent", {})
    if blocks and blocks[0]["text"].startswith(NEVER_RAN):
        status = "denied"
    elif stated.get("timed_out"):
        status = "timeout"
    elif "exit_code" in stated:
        status = "error" if stated["exit_code"] else "success"
        labels.exit_codes[stated["exit_code"]] += 1
    elif value.get("isError"):
        status = "error"
    else:
        status = "" if tool in ("shell", "developer__shell") else "success"
    labels.statuses[status] += 1
