"""Windsurf's transcripts, and Visual Studio's traces."""

from tests.agents.independent.counts import Counts, values

MESSAGES = {"user_input": "user", "planner_response": "assistant"}


def windsurf(data: bytes) -> Counts:
    """Count the transcript of a hook: a step is a call with its result."""
    counts = Counts()
    for line in values(data):
        kind = line.get("type")
        if not isinstance(kind, str) or not isinstance(line.get(kind), dict):
            continue
        if kind in MESSAGES:
            counts.messages[MESSAGES[kind]] += 1
        else:
            counts.calls += 1
            counts.results += 1
    counts.paired = counts.calls
    return counts


def visualstudio_copilot(data: bytes) -> Counts:
    """Count the spans of traces."""
    counts = Counts()
    called = set()
    for line in values(data):
        for resource in line.get("resourceSpans", ()):
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    count_span(span, counts, called)
    counts.paired = len(called)
    return counts


def count_span(span: dict, counts: Counts, called: set) -> None:
    known = {item["key"]: next(iter(item["value"].values()), None) for item in span["attributes"]}
    operation = known.get("gen_ai.operation.name")
    if operation == "execute_tool":
        counts.calls += 1
        counts.results += 1
        called.add(known["gen_ai.tool.call.id"])
        return
    model = known.get("gen_ai.response.model") or known.get("gen_ai.request.model")
    if model:
        counts.models.add(model)
    if operation == "chat":
        counts.messages["assistant"] += 1
        for name in ("input", "output"):
            counts.tokens[name] += int(known.get(f"gen_ai.usage.{name}_tokens") or 0)
        counts.tokens["cached"] += int(known.get("gen_ai.usage.cache_read.input_tokens") or 0)
