"""Counts from conversations in the formats of OpenAI chat and Anthropic messages."""

from tests.agents.independent.counts import Counts, documents


def generic(data: bytes) -> Counts:
    """Count a conversation that is one object with messages, or one message on each line."""
    counts, asked, answered = Counts(), set(), set()
    for value in documents(data):
        for message in value.get("messages", [value]):
            if isinstance(message, dict):
                count_message(message, counts, asked, answered)
        if "messages" in value:
            counts.models.add(value["model"])
    counts.paired = len(asked & answered)
    return counts


def count_message(message: dict, counts: Counts, asked: set, answered: set):
    """Count a message, its calls and blocks, and its tokens."""
    role, content = message.get("role"), message.get("content")
    if role in ("user", "assistant"):
        counts.messages[role] += 1
    if role == "tool" and content is not None:
        counts.results += 1
        answered.add(message["tool_call_id"])
    for call in message.get("tool_calls", ()):
        if "function" in call:
            counts.calls += 1
            asked.add(call["id"])
    counts.reasoning += "reasoning_content" in message
    for block in content if isinstance(content, list) else ():
        counts.reasoning += block["type"] == "thinking"
        if block["type"] == "tool_use":
            counts.calls += 1
            asked.add(block["id"])
        elif block["type"] == "tool_result":
            counts.results += 1
            answered.add(block["tool_use_id"])
    if "model" in message:
        counts.models.add(message["model"])
    usage = message.get("usage", {})
    cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    read = usage.get("cache_read_input_tokens", 0)
    counts.tokens["input"] += usage.get("prompt_tokens", usage.get("input_tokens", 0) + read)
    counts.tokens["output"] += usage.get("completion_tokens", usage.get("output_tokens", 0))
    counts.tokens["cached"] += cached + read
