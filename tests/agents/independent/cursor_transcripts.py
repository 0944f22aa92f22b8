"""Cursor transcripts, in JSON and in text."""

from tests.agents.independent.counts import Counts, documents


def cursor(data: bytes) -> Counts:
    """Count a transcript of Cursor: lines of JSON, or of text."""
    counts = Counts()
    if data.startswith(b"user:"):
        for line in data.decode().split("\n"):
            if line in ("user:", "assistant:"):
                counts.messages[line[:-1]] += 1
            counts.calls += line.startswith("[Tool call]")
            counts.results += line.startswith("[Tool result]")
            counts.reasoning += line.startswith("[Thinking]")
        return counts
    for line in documents(data):
        if isinstance(line, dict) and "role" in line:
            counts.messages[line["role"]] += 1
            if "model" in line:
                counts.models.add(line["model"])
            content = line["message"]["content"]
            for block in content if isinstance(content, list) else ():
                counts.calls += block["type"] in ("tool_use", "tool_call", "tool-call")
                counts.results += block["type"] in ("tool_result", "tool-result")
                counts.reasoning += block["type"] in ("thinking", "reasoning")
    return counts
