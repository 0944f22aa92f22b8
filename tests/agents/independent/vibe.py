"""Counts from Vibe's messages, and from its older session files."""

from tests.agents.independent.counts import Counts, Labels, documents


def read_messages(data: bytes) -> list[dict]:
    found = list(documents(data))
    return found[0].get("messages", found)


def vibe(data: bytes) -> Counts:
    counts = Counts()
    found = list(documents(data))
    config = found[0].get("metadata", {}).get("agent_config", {})
    for model in config.get("models", ()):
        if model["alias"] == config["active_model"]:
            counts.models.add(model["name"])
    called, answered = set(), set()
    for message in read_messages(data):
        role = message["role"]
        if role in ("user", "assistant"):
            counts.messages[role] += 1
            counts.reasoning += bool(message.get("reasoning_content"))
            for call in message.get("tool_calls") or ():
                counts.calls += 1
                called.add(call["id"])
        elif role == "tool":
            counts.results += 1
            answered.add(message["tool_call_id"])
    counts.paired = len(called & answered)
    return counts


def vibe_labels(data: bytes) -> Labels:
    labels = Labels()
    waiting = set()
    for message in read_messages(data):
        text = message.get("content", "")
        for call in message.get("tool_calls") or ():
            waiting.add(call["id"])
        if message["role"] == "user":
            speaker = "host" if message.get("injected") else "human"
            labels.speakers[speaker] += 1
            if speaker == "human":
                labels.prompts.append(text)
        elif message["role"] == "tool":
            waiting.discard(message["tool_call_id"])
            count_result(text, message["name"], labels)
    labels.unanswered = len(waiting)
    return labels


def count_result(text, tool, labels):
    if "Return code: 2" in text:
        labels.exit_codes[2] += 1
    if text.endswith("returncode: 0"):
        labels.exit_codes[0] += 1
    if text.startswith("<tool_error>"):
        status = "denied" if "denied by" in text else "timeout" if "timed out" in text else "error"
    elif text.startswith("<user_cancellation>"):
        status = "interrupted" if "interrupted" in text else "denied"
    else:
        status = "" if tool == "shop_query" else "success"
    labels.statuses[status] += 1
