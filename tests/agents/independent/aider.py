"""Counts from Aider's histories, with a split of their lines that is simpler than the reader's."""

import re

from tests.agents.independent.counts import Counts, Labels

HEADING = re.compile(r"^# aider chat started at ")
SURE = re.compile(r"^> (Tokens: |Applied edit to |Commit [0-9a-f]{7}|\^C|Model: |Main model: )")
ANSWERED = re.compile(r"\(Y\)es/\(N\)o.*\]: (all|skip)$", re.DOTALL)


TOKENS = re.compile(
    r"^> Tokens: (\S+) sent(?:, \S+ cache write)?(?:, (\S+) cache hit)?, (\S+) received",
    re.MULTILINE,
)


def lines_of(data: bytes):
    """Yield each line with its kind."""
    kind, fenced, before, failing = "", False, "", False
    for line in data.decode().split("\n"):
        ended = line.endswith("  ")
        if failing:
            failing = not (ended and line.startswith(("Just reply", "The SEARCH section")))
            yield "tool", line
        elif HEADING.match(line) and not before:
            kind, fenced = "run", False
            yield kind, line
        elif kind == "open":
            kind = "tool" if ended else "open"
            yield "tool", line
        elif fenced and not SURE.match(line):
            fenced = not line.startswith("```")
            yield "text", line
        elif line.startswith("####") and ended and (not before or kind == "user"):
            kind = "user"
            yield kind, line
        elif line.startswith(">") and ended and (not before or kind in ("tool", "user", "run")):
            kind, fenced = "tool", False
            yield kind, line
        elif line.startswith("> ") and kind in ("tool", "run"):
            failing = "failed to match!" in line
            kind = "tool" if failing else "open"
            yield "tool", line
        elif kind == "run" and not line:
            yield kind, line
        else:
            kind, fenced = "text", line.startswith("```")
            yield kind, line
        before = line


def segments(data: bytes):
    """Return the kinds of segments with their text; segments of blank lines are left out."""
    found = []
    for kind, line in lines_of(data):
        if found and found[-1][0] == kind and kind != "run":
            found[-1][1].append(line)
        elif line or kind != "text":
            found.append((kind, [line]))
    return [(kind, "\n".join(lines)) for kind, lines in found if "".join(lines).strip()]


def count_of(text):
    factor = {"k": 1000, "M": 1_000_000}.get(text[-1], 1)
    return round(float(text.rstrip("kM")) * factor)


def aider(data: bytes) -> Counts:
    return count(data)[0]


def count(data: bytes) -> tuple[Counts, Labels]:
    """Count a history: messages and edits, and how these ended."""
    counts, labels = Counts(), Labels()
    if data.lstrip().startswith(b"TO LLM"):
        counts.messages["assistant"] = data.count(b"LLM RESPONSE 2")
        return counts, labels
    model, said, edits, counted, made, answered = "", False, [], False, 0, set()
    for kind, text in segments(data):
        if kind == "run":
            said, made = False, 0
        elif kind == "user":
            words = input_of(text)
            counts.messages["user"] += 1
            is_own = ANSWERED.search(words) is not None
            said = said and is_own
            labels.speakers["host" if is_own else "human"] += 1
            labels.prompts += [] if is_own else [words]
        elif kind == "text":
            counts.messages["assistant"] += 1
            counts.reasoning += len(re.findall(r"</thinking-content-\w+>", text))
            counts.models |= {model} - {""}
            said, counted = True, False
            edits = [(made + place, path) for place, path in enumerate(paths_of(text), 1)]
            made += len(edits)
            counts.calls += len(edits)
        elif kind == "tool":
            found = re.findall(
                r"^> (?:Main m|M)odel: (\S+) with .+ edit format", text, re.MULTILINE
            )
            model = found[-1] if found else model
            tokens = TOKENS.search(text)
            if tokens and said and not counted:
                counted = True
                counts.tokens["input"] += count_of(tokens[1])
                counts.tokens["cached"] += count_of(tokens[2]) if tokens[2] else 0
                counts.tokens["output"] += count_of(tokens[3])
            if said:
                edits, made = count_results(text, edits, made, answered, counts, labels)
    counts.paired = len(answered)
    labels.unanswered = counts.calls - counts.results
    return counts, labels


def count_results(text, edits, made, answered, counts, labels):
    """Count the results in messages of Aider; return the open edits, and how many were made."""
    applied = re.findall(r"^> Applied edit to (.*)  $", text, re.MULTILINE)
    if "failed to match!" in text:
        for number, path in edits:
            is_failed = f"exactly match lines in {path}\n" in text
            labels.statuses["error" if is_failed else "success"] += 1
            answered.add(number)
        counts.results += len(edits)
        return [], made
    done = [number for number, path in edits if path in applied]
    others = [path for path in applied if path not in [path for _, path in edits]]
    edits = [edit for edit in edits if edit[0] not in done]
    for _ in others:
        made += 1
        done.append(made)
    counts.calls += len(others)
    counts.results += len(done)
    labels.statuses["success"] += len(done)
    answered |= set(done)
    return edits, made


def input_of(text):
    lines = [re.sub(r"^#### ?|  $", "", line) for line in text.strip("\n").split("\n")]
    return "\n".join(lines)


def paths_of(text):
    """Return the paths of the edits in an answer: blocks, or files behind a single fence."""
    text = re.sub(r"<(thinking-content-\w+)>.*?</\1>", "", text, flags=re.DOTALL)
    if "<<<<<<< SEARCH" in text:
        blocks = re.findall(r"([^\n]*)\n```[^\n]*\n<<<<<<< SEARCH\n", text)
        return [path.strip("*`# :") for path in blocks]
    return []


def aider_labels(data: bytes) -> Labels:
    return count(data)[1]
