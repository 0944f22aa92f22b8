"""Codex CLI rollouts."""

from tests.agents.independent.counts import Counts, values

CODEX_CALLS = {
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "tool_search_call",
    "image_generation_call",
    "tool_call",
}
CODEX_RESULTS = {
    "function_call_output",
    "custom_tool_call_output",
    "tool_search_output",
    "tool_result",
    "function_result",
}


def codex(data: bytes) -> Counts:
    """Count a Codex rollout that is not a fork."""
    counts = Counts()
    called, answered = set(), set()
    total = None
    for line in values(data):
        payload = line.get("payload", line) if isinstance(line, dict) else {}
        envelope, kind = line.get("type"), payload.get("type")
        if envelope == "turn_context" and payload.get("model"):
            counts.models.add(payload["model"])
        if (
            envelope == "event_msg"
            and kind == "token_count"
            and isinstance(payload.get("info"), dict)
        ):
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
