"""Counts of the messages, calls, results and tokens of a native session or of a record."""

import json
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """The counts of a session, by kind."""

    messages: Counter = field(default_factory=Counter)
    calls: int = 0
    results: int = 0
    paired: int = 0
    reasoning: int = 0
    models: set = field(default_factory=set)
    tokens: Counter = field(default_factory=Counter)


def values(data: bytes):
    """Yield every JSON value of a file of lines; a line may have several."""
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


def documents(data: bytes):
    """Yield every JSON value of a file, with any separators."""
    decoder, text, position = (
        json.JSONDecoder(),
        data.decode("utf-8", "replace").lstrip("\ufeff"),
        0,
    )
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            position = text.find("\n", position) + 1 or len(text)
        else:
            yield value


def record(*documents: dict, live: bool = False) -> Counts:
    """Count the typed entries of records, children included.

    With `live`, superseded entries are not counted.
    """
    counts = Counts()
    called, answered = set(), set()
    stack = [entry for document in documents for entry in document["session"]["entries"]]
    while stack:
        entry = stack.pop()
        if live and "superseded" in entry.get("vacr", ()):
            continue
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
        if live and "model-id" in entry:
            counts.models.add(entry["model-id"])
    counts.messages = +counts.messages
    counts.tokens = +counts.tokens
    counts.paired = len(called & answered)
    if not live:
        counts.models = {
            model
            for document in documents
            for model in document["session"]["agent-meta"].get("models", ())
        }
    return counts


@dataclass
class Labels:
    """How the calls of a session ended, and who wrote its user messages."""

    statuses: Counter = field(default_factory=Counter)
    """Statuses of results; an empty text where nobody knows."""
    exit_codes: Counter = field(default_factory=Counter)
    unanswered: int = 0
    """Calls without a result."""
    resolved: int = 0
    """Results of running commands that a later call resolved."""
    speakers: Counter = field(default_factory=Counter)
    prompts: list = field(default_factory=list)
    """The words of persons, in order."""


def record_labels(*documents: dict) -> Labels:
    """Count the labels of records, children included."""
    labels = Labels()
    stack = [entry for document in documents for entry in document["session"]["entries"]][::-1]
    while stack:
        entry = stack.pop()
        stack.extend(entry.get("children", ())[::-1])
        marks = entry.get("vacr", {})
        if entry["type"] == "tool-result":
            labels.statuses[entry.get("status", "")] += 1
            labels.resolved += "resolved-by" in marks
            if "exit-code" in marks:
                labels.exit_codes[marks["exit-code"]] += 1
        labels.unanswered += entry["type"] == "tool-call" and marks.get("status") == "no-result"
        if "speaker" in marks:
            labels.speakers[marks["speaker"]] += 1
            if marks["speaker"] == "human":
                labels.prompts.append(marks.get("prompt", plain_text(entry["content"])))
    return labels


def plain_text(content) -> str:
    """Return the texts of a message, one a line."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "\n".join(text for text in texts if isinstance(text, str))
