"""Claude Code transcripts."""

from tests.agents.independent.counts import Counts, values

CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
RESULTS = {"tool_result", "server_tool_result"}
THOUGHTS = {"thinking", "redacted_thinking"}


def claude(data: bytes) -> Counts:
    """Count a Claude Code transcript, with the messages of sub-agents in progress lines."""
    counts, usage = Counts(), {}
    called, answered = set(), set()
    lines = []
    for line in values(data):
        if isinstance(line, dict):
            lines.append(line)
            inner = line.get("data")
            if (
                line.get("type") == "progress"
                and isinstance(inner, dict)
                and isinstance(inner.get("message"), dict)
            ):
                lines.append(inner["message"])
    for number, line in enumerate(lines):
        kind, message = line.get("type"), line.get("message")
        if kind in ("tool_use", "tool_result"):
            counts.calls += kind == "tool_use"
            counts.results += kind == "tool_result"
        if kind not in ("user", "assistant"):
            continue
        counts.messages[kind] += 1
        if not isinstance(message, dict):
            continue
        synthetic = message.get("model") == "<synthetic>"
        if isinstance(message.get("model"), str) and not synthetic:
            counts.models.add(message["model"])
        if isinstance(message.get("usage"), dict) and not synthetic:
            key = message.get("id") or number
            best = usage.get(key)
            if best is None or message["usage"].get("output_tokens", 0) >= best.get(
                "output_tokens", 0
            ):
                usage[key] = message["usage"]
        for block in message.get("content") if isinstance(message.get("content"), list) else ():
            block_type = block.get("type")
            counts.calls += block_type in CALLS
            counts.results += block_type in RESULTS
            counts.reasoning += block_type in THOUGHTS
            if block_type in CALLS and "id" in block:
                called.add(block["id"])
            if block_type in RESULTS and "tool_use_id" in block:
                answered.add(block["tool_use_id"])
    counts.paired = len(called & answered)
    for one in usage.values():
        cached, made = (
            one.get("cache_read_input_tokens", 0),
            one.get("cache_creation_input_tokens", 0),
        )
        counts.tokens["input"] += one.get("input_tokens", 0) + cached + made
        counts.tokens["cached"] += cached
        counts.tokens["output"] += one.get("output_tokens", 0)
    return counts
