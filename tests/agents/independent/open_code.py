"""OpenCode exports, dumps and samples."""

from tests.agents.independent.counts import Counts, documents


def opencode(data: bytes) -> Counts:
    """Count exports, dumps and samples of OpenCode; all sessions of a file are added up."""
    counts, pairs, seen = Counts(), (set(), set()), set()
    for value in documents(data):
        if isinstance(value, dict) and "info" in value:
            for message in value["messages"]:
                count_info(message["info"], counts)
                for part in message["parts"]:
                    if isinstance(part, dict):
                        count_part(part, counts, pairs)
        elif isinstance(value, dict) and "messages" in value:
            for message in value["messages"]:
                count_chat(message, counts, pairs)
        elif isinstance(value, dict) and "messageID" in value:
            count_part(value, counts, pairs)
        elif isinstance(value, dict) and "role" in value and value["id"] not in seen:
            seen.add(value["id"])
            count_info(value, counts)
    counts.paired = len(pairs[0] & pairs[1])
    return counts


def count_info(info: dict, counts: Counts) -> None:
    counts.messages[info["role"]] += info["role"] in ("user", "assistant")
    if "modelID" in info:
        counts.models.add(info["modelID"])
    tokens = info.get("tokens")
    if tokens:
        counts.tokens["input"] += (
            tokens["input"] + tokens["cache"]["read"] + tokens["cache"]["write"]
        )
        counts.tokens["cached"] += tokens["cache"]["read"]
        counts.tokens["output"] += tokens["output"] + tokens["reasoning"]
        counts.tokens["reasoning"] += tokens["reasoning"]


def count_part(part: dict, counts: Counts, pairs: tuple) -> None:
    counts.reasoning += part["type"] == "reasoning"
    if part["type"] == "tool" and isinstance(part["state"], dict):
        answered = part["state"].get("output") is not None or part["state"].get("error") is not None
        counts.calls += 1
        counts.results += answered
        pairs[0].add(part["callID"])
        if answered:
            pairs[1].add(part["callID"])


def count_chat(message: dict, counts: Counts, pairs: tuple) -> None:
    role, metadata = message.get("role", "user"), message.get("metadata", {})
    if role == "tool":
        counts.results += 1
        pairs[1].add(message["tool_call_id"])
    elif role != "system":
        counts.messages[role] += 1
    counts.reasoning += "thinking" in metadata
    if "model" in metadata:
        counts.models.add(metadata["model"])
    calls, answers = message.get("tool_calls", ()), message.get("tool_responses", ())
    counts.calls += len(calls)
    counts.results += len(answers)
    pairs[0].update(call["id"] for call in calls)
    pairs[1].update(answer["tool_call_id"] for answer in answers)
