"""The chat store of VS Code, and the thin log of its extension."""

import json

from tests.agents.independent.copilot_events import copilot
from tests.agents.independent.counts import Counts, documents, values

TOOL_PARTS = ("toolInvocationSerialized", "toolInvocation")


def copilot_vscode(data: bytes) -> Counts:
    """Count a session of VS Code Copilot Chat."""
    first = next(documents(data))
    if "requests" in first:
        return count_requests(first["requests"])
    return count_requests(fold(data)["requests"]) if first.get("kind") == 0 else copilot(data)


def fold(data: bytes) -> dict:
    """Return the document that a log describes; lines that do not fit are skipped."""
    state = None
    for line in values(data):
        if line["kind"] == 0:
            state = json.loads(json.dumps(line["v"]))
            continue
        if line["kind"] > 3:
            continue
        try:
            holder = state
            for step in line["k"][:-1]:
                holder = holder[step]
            if line["kind"] == 1:
                holder[line["k"][-1]] = line["v"]
            elif line["kind"] == 2:
                target = holder[line["k"][-1]]
                target[line.get("i", len(target)) :] = line.get("v", [])
            else:
                del holder[line["k"][-1]]
        except (KeyError, IndexError):
            continue
    return state


def count_requests(requests: list) -> Counts:
    counts = Counts()
    called, answered = set(), set()
    for request in requests:
        counts.messages.update(["user", "assistant"])
        metadata = (request.get("result") or {}).get("metadata") or {}
        results = metadata.get("toolCallResults", {})
        calls = [
            call
            for tool_round in metadata.get("toolCallRounds", [])
            for call in tool_round["toolCalls"]
        ]
        parts = [part for part in request["response"] if isinstance(part, dict)]
        shown = {part["toolCallId"] for part in parts if part.get("kind") in TOOL_PARTS}
        chosen = {call["id"] for call in calls}
        shown -= chosen | {name.partition("__vscode-")[0] for name in chosen}
        counts.calls += len(calls) + len(shown)
        counts.results += sum(call["id"] in results for call in calls)
        called |= chosen | shown
        answered |= chosen & results.keys()
        counts.reasoning += sum(
            part.get("kind") == "thinking"
            and isinstance(part["value"], str)
            and part["value"] != ""
            for part in parts
        )
        model = metadata.get("resolvedModel") or request["modelId"].rpartition("/")[2]
        if model != "auto":
            counts.models.add(model)
        for name, member, other in (
            ("input", "promptTokens", "promptTokens"),
            ("output", "completionTokens", "outputTokens"),
        ):
            counts.tokens[name] += request.get(member, metadata.get(other, 0))
    counts.paired = len(called & answered)
    return counts
