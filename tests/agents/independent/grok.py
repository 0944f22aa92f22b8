"""Counts from chat histories of Grok, without the files next to them."""

from tests.agents.independent.counts import Counts, documents

ROLES = {"tool": "tool_result"}


def grok(data: bytes) -> Counts:
    """Count a history of either form: lines with a type, or messages with a role."""
    counts, asked, answered = Counts(), set(), set()
    for line in documents(data):
        is_old = "type" not in line
        kind = ROLES.get(line["role"], line["role"]) if is_old else line["type"]
        if kind in ("user", "assistant"):
            counts.messages[kind] += 1
        for call in line.get("tool_calls") or ():
            counts.calls += 1
            asked.add(call["id"])
        if kind == "backend_tool_call":
            counts.calls += 1
            asked.add(line["kind"].get("id"))
        if kind == "tool_result":
            counts.results += 1
            answered.add(line["tool_call_id"])
        counts.reasoning += kind == "reasoning" or (is_old and "reasoning_content" in line)
        if kind == "assistant" and "model_id" in line:
            counts.models.add(line["model_id"])
    counts.paired = len(asked & answered)
    return counts
