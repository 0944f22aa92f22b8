"""Counts from conversations of gptme."""

import re

from tests.agents.independent.counts import Counts, Labels, documents

CALL = re.compile(r"^(?:```(\w+)|@(\w+)\(|<tool-use>)", re.MULTILINE)
CERTAIN = ("save", "append", "patch")
NAMES = {"bash": "shell", "python": "ipython", "": "shell"}
SIGNS = {"Saved to": "save", "Appended": "append", "Ran ": "shell", "Command ": "shell"}


def walk(data: bytes):
    """Yield each message with what it is: prompt, answer, result or other, and its tools."""
    messages = list(documents(data))
    paired = set()
    for number, message in enumerate(messages):
        role, text = message["role"], message["content"]
        if role == "user":
            yield message, "prompt", None
        elif role == "assistant":
            found = [(name or other, bool(name)) for name, other in CALL.findall(text)]
            after = messages[number + 1 : number + 2]
            result = after[0] if after and after[0]["role"] in ("system", "tool") else None
            tools = [
                (NAMES.get(name, name), name in CERTAIN or not fenced) for name, fenced in found
            ]
            if result is not None and tools:
                sign = next((t for s, t in SIGNS.items() if result["content"].startswith(s)), None)
                known = [tool for tool, _ in tools]
                tools = [(sign if sign in known else known[0], True)]
            yield message, "answer", [tool for tool, certain in tools if certain]
            if result is not None and tools:
                paired.add(number + 1)
                yield result, "result", tools[0][0]
        elif role == "tool" and number not in paired:
            yield message, "result", ""


def gptme(data: bytes) -> Counts:
    counts = Counts()
    for message, kind, found in walk(data):
        usage = message.get("metadata", {}).get("usage", {})
        if kind == "answer":
            counts.messages["assistant"] += 1
            counts.calls += len(found)
            counts.reasoning += message["content"].startswith("<think>")
            if "metadata" in message:
                counts.models.add(message["metadata"]["model"])
            for name, members in {
                "input": ("input_tokens", "cache_read_tokens"),
                "output": ("output_tokens",),
                "cached": ("cache_read_tokens",),
            }.items():
                counts.tokens[name] += sum(usage.get(member, 0) for member in members)
        elif kind == "prompt":
            counts.messages["user"] += 1
        elif kind == "result":
            counts.results += 1
            counts.paired += bool(found)
    return counts


def gptme_labels(data: bytes) -> Labels:
    labels = Labels()
    for message, kind, found in walk(data):
        text = message["content"]
        if kind == "prompt":
            speaker = "host" if text.startswith("<system>") else "human"
            labels.speakers[speaker] += 1
            if speaker == "human":
                labels.prompts.append(text)
        elif kind == "answer":
            labels.unanswered += len(found)
        elif kind == "result":
            labels.unanswered -= bool(found)
            count_result(text, found, labels)
    return labels


def count_result(text, tool, labels):
    code = re.search(r"Return code: (\d+)\n\Z", text)
    if text.startswith("Command denied"):
        status = "denied"
    elif text.startswith("Command timed out"):
        status = "timeout"
    elif text.startswith("Error"):
        status = "error"
    elif tool == "shell":
        labels.exit_codes[int(code[1]) if code else 0] += 1
        status = "error" if code else "success"
    elif tool in ("ipython", ""):
        status = ""
    else:
        status = "success"
    labels.statuses[status] += 1
