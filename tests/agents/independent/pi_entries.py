"""Sessions of Pi, and of programs that are built on it."""

import re

from tests.agents.independent.counts import Counts, Labels, plain_text, values

PI_ROLES = {
    "user": "user",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
    "assistant": "assistant",
}


def pi(data: bytes) -> Counts:
    """Count a session; all branches count."""
    counts, called, answered = Counts(), set(), set()
    set_models = []
    for line in values(data):
        if not isinstance(line, dict):
            continue
        kind, message = line.get("type"), line.get("message")
        counts.messages["user"] += kind == "custom_message"
        if kind in ("model_change", "session") and "modelId" in line:
            set_models.append(line["modelId"])
        if kind != "message":
            continue
        role = message["role"]
        if role == "toolResult":
            counts.results += 1
            answered.add(message["toolCallId"])
            continue
        counts.messages[PI_ROLES[role]] += 1
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            counts.reasoning += block["type"] == "thinking"
            if block["type"] == "toolCall":
                counts.calls += 1
                called.add(block["id"])
        if role == "assistant":
            counts.models.add(message["model"])
            count_usage(message.get("usage", {}), counts)
    if not counts.models and set_models:
        counts.models = {set_models[-1]}
    counts.paired = len(called & answered)
    return counts


def count_usage(usage: dict, counts: Counts) -> None:
    cached = usage.get("cacheRead", 0)
    counts.tokens["input"] += usage.get("input", 0) + cached + usage.get("cacheWrite", 0)
    counts.tokens["cached"] += cached
    counts.tokens["output"] += usage.get("output", 0)


def pi_labels(data: bytes) -> Labels:
    """Count how calls ended, and who spoke."""
    labels, called, answered = Labels(), [], set()
    for line in values(data):
        message = line.get("message") if isinstance(line, dict) else None
        if line.get("type") == "custom_message":
            labels.speakers["hook"] += 1
        if line.get("type") != "message":
            continue
        if message["role"] == "toolResult":
            answered.add(message["toolCallId"])
            status, code = find_end(message)
            labels.statuses[status] += 1
            if code is not None:
                labels.exit_codes[code] += 1
        elif message["role"] == "assistant":
            called += [block["id"] for block in message["content"] if block["type"] == "toolCall"]
        else:
            count_words(message, labels)
    labels.unanswered = len([call for call in called if call not in answered])
    return labels


def find_end(message: dict) -> tuple:
    details, text = message.get("details") or {}, plain_text(message["content"])
    stated = {"running": "running", "failed": "error", "error": "error"}.get(details.get("status"))
    if stated:
        return stated, details.get("exitCode")
    if not message["isError"]:
        return "success", details.get("exitCode")
    if text == "Tool execution was blocked":
        return "denied", None
    if "abort" in text[-20:]:
        return "interrupted", None
    if "Command timed out after" in text:
        return "timeout", None
    code = re.search(r"Command exited with code (\d+)$", text)
    return "error", int(code[1]) if code else None


def count_words(message: dict, labels: Labels) -> None:
    if message["role"] == "bashExecution":
        text = "!" + message["command"]
    else:
        text = plain_text(message["content"])
    if not text:
        return
    if text.startswith("A new session was started"):
        labels.speakers["host"] += 1
        return
    text = text.split("```\n\n")[-1] if text.startswith("Sender (untrusted") else text
    text = re.sub(r"^\[[^\]]*\d{4}-\d\d-\d\d \d\d:\d\d[^\]]*\] ", "", text)
    text = re.sub(r"\n\[message_id: [^\]]*\]$", "", text)
    labels.speakers["human"] += 1
    labels.prompts.append(text)
