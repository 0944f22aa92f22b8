"""Counts taken from native files without any code of the package: what the typed entries of a record must agree with."""

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """How much of each kind a session holds."""

    messages: Counter = field(default_factory=Counter)
    calls: int = 0
    results: int = 0
    paired: int = 0
    reasoning: int = 0
    models: set = field(default_factory=set)
    tokens: Counter = field(default_factory=Counter)


def values(data: bytes):
    """Give every JSON value of a file, line by line, several on a line too."""
    decoder = json.JSONDecoder()
    for line in data.decode("utf-8", "replace").split("\n"):
        position = 0
        while position < len(line.rstrip()):
            try:
                value, position = decoder.raw_decode(line, position)
            except json.JSONDecodeError:
                break
            yield value
            while position < len(line) and line[position].isspace():
                position += 1


CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
RESULTS = {"tool_result", "server_tool_result"}
THOUGHTS = {"thinking", "redacted_thinking"}


def claude(data: bytes) -> Counts:
    """Count a Claude Code transcript, with the sub-agents' messages that progress lines hold."""
    counts, usage = Counts(), {}
    called, answered = set(), set()
    lines = []
    for line in values(data):
        if isinstance(line, dict):
            lines.append(line)
            inner = line.get("data")
            if line.get("type") == "progress" and isinstance(inner, dict) and isinstance(inner.get("message"), dict):
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
            if best is None or message["usage"].get("output_tokens", 0) >= best.get("output_tokens", 0):
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
        cached, made = one.get("cache_read_input_tokens", 0), one.get("cache_creation_input_tokens", 0)
        counts.tokens["input"] += one.get("input_tokens", 0) + cached + made
        counts.tokens["cached"] += cached
        counts.tokens["output"] += one.get("output_tokens", 0)
    return counts


CODEX_CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
    "tool_call",
}
CODEX_RESULTS = {"function_call_output", "custom_tool_call_output", "tool_search_output", "tool_result", "function_result"}


def codex(data: bytes) -> Counts:
    """Count a Codex rollout that is no fork."""
    counts = Counts()
    called, answered = set(), set()
    total = None
    for line in values(data):
        payload = line.get("payload", line) if isinstance(line, dict) else {}
        envelope, kind = line.get("type"), payload.get("type")
        if envelope == "turn_context" and payload.get("model"):
            counts.models.add(payload["model"])
        if envelope == "event_msg" and kind == "token_count" and isinstance(payload.get("info"), dict):
            info = payload["info"]
            if "last_token_usage" in info and info["total_token_usage"] != total:
                total, last = info["total_token_usage"], info["last_token_usage"]
                counts.tokens["input"] += last["input_tokens"]
                counts.tokens["cached"] += last["cached_input_tokens"]
                counts.tokens["output"] += last["output_tokens"]
                counts.tokens["reasoning"] += last["reasoning_output_tokens"]
        if envelope != "response_item" and payload is not line:
            continue
        if payload.get("role") in ("user", "assistant") and kind in ("message", None):
            counts.messages[payload["role"]] += 1
        counts.calls += kind in CODEX_CALLS
        counts.results += kind in CODEX_RESULTS or kind == "image_generation_call"
        counts.reasoning += kind == "reasoning"
        if kind in CODEX_CALLS and payload.get("call_id"):
            called.add(payload["call_id"])
        if kind in CODEX_RESULTS and payload.get("call_id"):
            answered.add(payload["call_id"])
    counts.paired = len(called & answered)
    return counts


def record(document: dict) -> Counts:
    """Count the typed entries of a record, children included."""
    counts = Counts()
    called, answered = set(), set()
    stack = list(document["session"]["entries"])
    while stack:
        entry = stack.pop()
        stack.extend(entry.get("children", ()))
        kind = entry["type"]
        counts.messages[kind] += kind in ("user", "assistant")
        counts.calls += kind == "tool-call"
        counts.results += kind == "tool-result"
        counts.reasoning += kind == "reasoning"
        if "call-id" in entry:
            (called if kind == "tool-call" else answered).add(entry["call-id"])
        for member in ("input", "cached", "output", "reasoning"):
            counts.tokens[member] += entry.get("token-usage", {}).get(member, 0)
    counts.messages = +counts.messages
    counts.tokens = +counts.tokens
    counts.paired = len(called & answered)
    counts.models = set(document["session"]["agent-meta"].get("models", ()))
    return counts
