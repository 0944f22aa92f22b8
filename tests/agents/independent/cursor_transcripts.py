"""Cursor transcripts, in JSON and in text."""

import re

from tests.agents.independent.counts import Counts, Labels, documents


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


# --- labels ---


def cursor_labels(data: bytes) -> Labels:
    """Count who spoke in a transcript; how calls ended is unknown, unless a block states it."""
    labels = Labels()
    if data.startswith(b"user:"):
        blocks = re.split(r"^(user|assistant):\n", data.decode(), flags=re.MULTILINE)[1:]
        for role, text in zip(blocks[::2], blocks[1::2], strict=True):
            labels.statuses[""] += len(re.findall(r"^\[Tool result\]", text, re.MULTILINE))
            if role == "user":
                count_words([text], labels)
        return labels
    for line in documents(data):
        if not isinstance(line, dict) or "role" not in line:
            continue
        content = line["message"]["content"]
        texts = [content] if isinstance(content, str) else []
        for block in content if isinstance(content, list) else ():
            texts += [block["text"]] if "text" in block else []
            if block["type"] in ("tool_result", "tool-result"):
                flag = block.get("is_error", block.get("isError"))
                labels.statuses[{True: "error", False: "success"}.get(flag, "")] += 1
        if line["role"] == "user" and texts:
            count_words(texts, labels)
    return labels


def count_words(texts: list[str], labels: Labels) -> None:
    """Count the author of a message, and keep what a person typed."""
    queries = [
        found[1].strip()
        for text in texts
        if (found := re.search(r"^<user_query>(.*)</user_query>", text, re.DOTALL | re.MULTILINE))
    ]
    if not queries and all(re.match(r"\s*<[a-z_]+>.*</[a-z_]+>\s*$", t, re.DOTALL) for t in texts):
        labels.speakers["host"] += 1
        return
    labels.speakers["human"] += 1
    labels.prompts.append("\n".join(queries or texts))
