r"""Aider's histories as records: the chat in Markdown, and the log of requests to the model.

A chat history has many runs, and each run is a session. Every segment of it keeps its text, so the
file can be rebuilt byte by byte. vacr also derives from these texts what other agents state: the
edits in an answer become calls, and Aider's messages about them (`Applied edit to …`) results.

Aider writes the start of a run in local time without a zone, and no other time. Such times stay as
they are (`started`), and the session has no canonical time. If the folder has a history of
inputs, each input also gets the local time at which it was typed (`typed`).

>>> from vacr.agents.agent import Source, SourcePart
>>> from vacr.agents.aider.reader import read
>>> text = "\n# aider chat started at 2026-05-02 08:15:00\n\n> Model: m-9 with diff edit format  \n"
>>> text += "\n#### Say hi  \n\nhi.py\n```\n<<<<<<< SEARCH\n=======\nhi\n>>>>>>> REPLACE\n```\n\n"
>>> text += "> Tokens: 2.5k sent, 81 received.  \n> Applied edit to hi.py  \n"
>>> [reading] = read(Source((SourcePart(".aider.chat.history.md", text.encode()),)))
>>> run, heading, prompt, answer, messages = reading.record["session"]["entries"]
>>> prompt["content"], [child["type"] for child in answer["children"]], answer["token-usage"]
([{'type': 'text', 'text': 'Say hi'}], ['tool-call', 'tool-result'], {'input': 2500, 'output': 81})
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from vacr.agents.agent import SessionStore, Source, pause_garbage_collector
from vacr.agents.aider.edits import UNPLACED, FoundEdit, find_edits, split_reasoning
from vacr.agents.aider.history import (
    FIRST_HEADING,
    RUN,
    RUN_HEADING,
    TEXT,
    TOOL,
    USER,
    list_messages,
    parse_input,
    render_input,
    split_history,
)
from vacr.agents.lift import Reading, SessionBuilder, SourceNotice
from vacr.model import JsonObject
from vacr.record import canonicalize_number

name = "aider"
AIDER_CHAT_FORMAT, AIDER_LLM_FORMAT = "aider-markdown", "aider-llm"
AIDER_INPUT_FORMAT = "aider-input"
formats = (AIDER_CHAT_FORMAT, AIDER_LLM_FORMAT, AIDER_INPUT_FORMAT)
STORES = (SessionStore(("",), ".", under=".aider.chat.history.md"),)
ATTACHED = (".aider.input.history", ".aider.llm.history")

_LLM_HEADING = re.compile(
    r"^(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\r?\n", re.MULTILINE
)
_FIRST_LLM_HEADING = re.compile(r"\s*TO LLM \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\r?\n-------\r?\n")
_TYPED_HEADING = re.compile(r"^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)\r?\n(?=\+)", re.MULTILINE)
_FIRST_TYPED_HEADING = re.compile(r"\s*" + _TYPED_HEADING.pattern.removeprefix("^"))
AIDER_ANSWER = re.compile(r".*\(Y\)es/\(N\)o[^\n]* \[[^\]\n]*\]: (?:all|skip)", re.DOTALL)
"""An input that Aider gives itself: the person chose an answer for a group of questions."""

_VERSION = re.compile(r"Aider v(\S+)\Z")
_MODEL = re.compile(r"(?:Main m|M)odel: (\S+) with (.+) edit format")
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
_COUNT = rf"{_NUMBER}[kM]?"
_TOKENS = re.compile(
    rf"Tokens: ({_COUNT}) sent(?:, {_COUNT} cache write)?(?:, ({_COUNT}) cache hit)?, "
    rf"({_COUNT}) received\.(?: Cost: \$({_NUMBER}) message)?"
)
_APPLIED = re.compile(r"Applied edit to (.+)\Z", re.DOTALL)
_COMMIT = re.compile(r"Commit ([0-9a-f]{7,40}) (.*)\Z", re.DOTALL)
_FAILED = re.compile(r"# (\d+) SEARCH/REPLACE blocks? failed to match!\n")
_OTHERS_APPLIED = re.compile(r"\n# The other \d+ SEARCH/REPLACE blocks? (?:was|were) applied ")
_REFUSED_FORMAT = "The LLM did not conform to the edit format."
_CREATED = "Create new file? "
_RUNNING = re.compile(r"Running (.+)\Z", re.DOTALL)
_RUN_QUESTION = re.compile(r"Run shell commands?\? ")
_COUNT_UNITS = {"k": 1000, "M": 1_000_000}
_INPUT_HEADING = re.compile(r"# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+)\Z")


def recognises(sample: Sequence[Any]) -> float:
    """Return 1 for the text of a chat history, a log of requests or a history of inputs, else 0."""
    text = sample[0] if sample else None
    if type(text) is not str:
        return 0.0
    text = text.removeprefix("\ufeff")
    is_log = _FIRST_LLM_HEADING.match(text) or _FIRST_TYPED_HEADING.match(text)
    return float(bool(FIRST_HEADING.search(text) or is_log))


def read(source: Source) -> Iterator[Reading]:
    """Yield the record of each run in a chat history, or the record of another file."""
    with pause_garbage_collector():
        readings = list(_read_source(source))
    yield from readings


def _read_source(source: Source) -> Iterator[Reading]:
    """Yield the records of a source; the last one gets the other files."""
    pieces = list(_decode_pieces(source.main.data))
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    if not FIRST_HEADING.search(text):
        if _FIRST_TYPED_HEADING.match(text.removeprefix("\ufeff")):
            yield _read_log(source, pieces, AIDER_INPUT_FORMAT, _TYPED_HEADING, _make_input_entry)
        else:
            yield _read_log(source, pieces, AIDER_LLM_FORMAT, _LLM_HEADING, _make_log_entry)
        return
    times = _parse_input_times(source)
    sessions: list[_RunReader] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            _get_last(sessions).add_bytes(piece)
            continue
        for kind, raw in split_history(piece):
            if kind == RUN and RUN_HEADING.search(raw.strip()):
                sessions.append(_RunReader())
            _get_last(sessions).add_segment(kind, raw)
    if len(sessions) > 1 and not sessions[0].session.native:
        # Text before the first heading belongs to the first run.
        before = sessions.pop(0)
        sessions[0].entries[:0] = before.entries
    seen: dict[str, int] = {}
    for number, reader in enumerate(sessions, 1):
        yield reader.finish(source, times, seen, is_last=number == len(sessions))


def _get_last(sessions: list[_RunReader]) -> _RunReader:
    """Return the last run; the first one may lack a heading."""
    if not sessions:
        sessions.append(_RunReader())
    return sessions[-1]


def _decode_pieces(data: bytes) -> Iterator[str | bytes]:
    """Yield the texts of a file, and between them the lines that are not UTF-8 as bytes."""
    lines: list[str] = []
    for line in data.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            yield "\n".join([*lines, ""])
            yield line
            lines = [""]
    yield "\n".join(lines)


def _make_text_event(raw: str) -> JsonObject:
    """Make the event of a text that is not part of a run."""
    return {"type": "system-event", "event-type": "text", "data": {"text": raw}}


def _make_bytes_event(data: bytes) -> JsonObject:
    """Make the event of a line that is not UTF-8."""
    return {
        "type": "system-event",
        "event-type": "undecodable",
        "data": {"reason": "not UTF-8", "bytes": base64.b64encode(data).decode()},
        "vacr": {"encoding": "base64"},
    }


# --- The log of requests, and the history of inputs alone ---


def _read_log(
    source: Source,
    pieces: list[str | bytes],
    format_id: str,
    heading: re.Pattern[str],
    make_entry: Callable[[re.Match[str], str, str], JsonObject],
) -> Reading:
    """Return the record of a file whose parts begin with headings; other lines become events.

    `make_entry` gets a heading, the whole part, and the part without the heading.
    """
    session = SessionBuilder(AIDER_CHAT_FORMAT, name)
    for piece in pieces:
        if isinstance(piece, bytes):
            _note_bytes(session, piece)
            session.entries.append(_make_bytes_event(piece))
            continue
        starts = list(heading.finditer(piece))
        if starts:
            session.format_id = format_id
        lead = piece[: starts[0].start()] if starts else piece
        session.entries += [_make_text_event(line) for line in lead.splitlines(keepends=True)]
        ends = [*(match.start() for match in starts[1:]), len(piece)]
        for match, end in zip(starts, ends, strict=False):
            raw = piece[match.start() : end]
            session.entries.append(make_entry(match, raw, piece[match.end() : end]))
    return session.reading(source)


def _make_log_entry(heading: re.Match[str], raw: str, body: str) -> JsonObject:
    """Turn a request or an answer of the log into an entry."""
    if heading[1] == "TO LLM":
        data = {"text": raw, "sent": heading[2]}
        return {"type": "system-event", "event-type": "request", "data": data}
    lines = [line.removeprefix("ASSISTANT ") for line in body.split("\n")]
    content = [{"type": "text", "text": "\n".join(lines).strip("\n")}]
    return {"type": "assistant", "content": content, "raw": raw, "received": heading[2]}


def _make_input_entry(heading: re.Match[str], raw: str, body: str) -> JsonObject:
    """Turn an input that a person typed into an entry."""
    lines = [line.removesuffix("\r") for line in body.split("\n") if line.startswith("+")]
    content = [{"type": "text", "text": "\n".join(line[1:] for line in lines)}]
    return {"type": "user", "content": content, "raw": raw, "typed": heading[1]}


def _note_bytes(session: SessionBuilder, data: bytes) -> None:
    """Note that a line of a session is not UTF-8."""
    message = f"a line of {len(data)} bytes is not UTF-8; kept as bytes"
    session.notices.append(SourceNotice(message))


# --- Runs ---


class _RunReader:
    """One run of Aider on its way into a record."""

    def __init__(self) -> None:
        """Start before the heading."""
        self.session = SessionBuilder(AIDER_CHAT_FORMAT, name)
        self.entries = self.session.entries
        self.edit_format = ""
        self.model = ""
        self.answer: JsonObject | None = None
        self.opening = ""
        """The heading, and Aider's first messages: they name the session."""
        self.calls = 0

    def add_segment(self, kind: str, raw: str) -> None:
        """Add a segment of the history."""
        if kind == RUN and (heading := RUN_HEADING.search(raw.strip())):
            self.session.native["started"] = heading[1]
            self.opening = raw
            data = {"text": raw, "started": heading[1]}
            event = {"type": "system-event", "event-type": "run", "data": data}
            self.entries.append(event)
        elif kind == USER:
            self.add_input(raw)
        elif kind == TOOL:
            self.add_messages(raw)
        elif kind == TEXT and raw.strip("\r\n") and self.session.native:
            self.add_answer(raw)
        else:
            self.entries.append(_make_text_event(raw))

    def add_bytes(self, data: bytes) -> None:
        """Add a line that is not UTF-8."""
        _note_bytes(self.session, data)
        self.entries.append(_make_bytes_event(data))

    def add_input(self, raw: str) -> None:
        """Add an input of the person."""
        text = parse_input(raw)
        entry: JsonObject = {"type": "user", "content": [{"type": "text", "text": text}]}
        if render_input(text) != raw:
            entry["raw"] = raw
        self.entries.append(entry)
        if not AIDER_ANSWER.fullmatch(text):
            self.answer = None

    def add_answer(self, raw: str) -> None:
        """Add an answer of the model, with the edits in it."""
        text = raw.strip("\n")
        entry: JsonObject = {"type": "assistant", "content": [{"type": "text", "text": text}]}
        start = raw.index(text)
        spacing = [raw[:start], raw[start + len(text) :]]
        if spacing != ["\n", "\n\n"]:
            entry["spacing"] = spacing
        if self.model:
            entry["model-id"] = self.model
            self.session.models[self.model] += 1
        reasoning, _ = split_reasoning(text)
        children: list[JsonObject] = [
            {"type": "reasoning", "content": thought} for thought in reasoning
        ]
        for edit in find_edits(text, self.edit_format):
            children.append(self.make_call(edit))
        if children:
            entry["children"] = children
        self.entries.append(entry)
        self.answer = entry

    def make_call(self, edit: FoundEdit) -> JsonObject:
        """Make the call of an edit."""
        self.calls += 1
        kind, arguments = edit
        return {
            "type": "tool-call",
            "call-id": f"edit-{self.calls}",
            "name": kind,
            "input": arguments,
        }

    def add_messages(self, raw: str) -> None:
        """Add messages of Aider; they tell about the run, and about the last answer."""
        if len(self.entries) == 1 and self.session.native:
            self.opening += raw
        data: JsonObject = {"text": raw}
        messages = list_messages(raw)
        for message in messages:
            self.learn(message)
        commits = [match for match in map(_COMMIT.match, messages) if match]
        if commits:
            data["commits"] = [{"revision": match[1], "message": match[2]} for match in commits]
        self.entries.append({"type": "system-event", "event-type": "messages", "data": data})
        if self.answer is not None:
            _add_usage(messages, self.answer)
            self.add_results(messages)

    def learn(self, message: str) -> None:
        """Learn the version, the model and the edit format from a message."""
        if version := _VERSION.match(message):
            self.session.cli_version = version[1]
        elif model := _MODEL.match(message):
            self.model, self.edit_format = model[1], model[2]

    def add_results(self, messages: list[str]) -> None:
        """Add the results of the last answer's edits, by Aider's messages about them."""
        answer: Any = self.answer
        children = answer.get("children", [])
        answered = {child["call-id"] for child in children if child["type"] == "tool-result"}
        calls = [
            child
            for child in children
            if child["type"] == "tool-call" and child["call-id"] not in answered
        ]
        applied = [match[1] for match in map(_APPLIED.match, messages) if match]
        failure = next((message for message in messages if _FAILED.match(message)), "")
        if not failure and _REFUSED_FORMAT in messages:
            failure = _REFUSED_FORMAT
        created = {
            messages[place - 1]
            for place, message in enumerate(messages)
            if place and message.startswith(_CREATED) and message.endswith((" y", " yes", " a"))
        }
        results = []
        for call in calls:
            result = _make_result(call, applied, failure)
            if result is not None:
                path = call["input"].get("path")
                if path in created:
                    result["created"] = True
                results.append(result)
        named = {call["input"].get("path") for call in calls}
        for path in applied:
            is_patch = any("patch" in call["input"] for call in calls)
            if path not in named and not is_patch:
                call = self.make_call((UNPLACED, {"path": path}))
                children.append(call)
                results.append(_make_success(call, path))
        if results or children:
            answer["children"] = children + results

    def finish(
        self,
        source: Source,
        times: list[tuple[str, str]],
        seen: dict[str, int],
        *,
        is_last: bool,
    ) -> Reading:
        """Return the record of the run.

        `times` are the inputs of all runs and when they were typed, `seen` the ids of earlier runs.
        """
        session = self.session
        if self.opening:
            digest = hashlib.sha256(self.opening.encode()).hexdigest()[:32]
            seen[digest] = seen.get(digest, 0) + 1
            session.session_id = digest + (f"-{seen[digest]}" if seen[digest] > 1 else "")
            _add_input_times(self.entries, str(session.native["started"]), times)
        session.tidy()
        return session.reading(source, attached=is_last)


def _make_result(call: JsonObject, applied: list[str], failure: str) -> JsonObject | None:
    """Make the result of an edit, or return None if no message states how it ended."""
    arguments = call["input"]
    path = arguments.get("path")
    if failure:
        others_applied = _OTHERS_APPLIED.search(failure) is not None
        is_named = arguments.get("old_string", "\n") in failure
        if others_applied and not is_named:
            return _make_success(call, str(path))
        output = failure
        return {"type": "tool-result", "call-id": call["call-id"], "output": output, "failed": True}
    if path is None and applied:
        return _make_success(call, ", ".join(applied))
    return _make_success(call, str(path)) if path in applied else None


def _make_success(call: JsonObject, path: str) -> JsonObject:
    """Make the result of an edit that Aider applied."""
    output = f"Applied edit to {path}"
    return {"type": "tool-result", "call-id": call["call-id"], "output": output, "failed": False}


def _add_usage(messages: list[str], answer: JsonObject) -> None:
    """Add the rounded counters that Aider shows for a request to the answer."""
    for message in messages:
        tokens = _TOKENS.match(message)
        if tokens is None or "token-usage" in answer:
            continue
        usage: JsonObject = {
            "input": _parse_count(tokens[1]),
            "output": _parse_count(tokens[3]),
        }
        if tokens[2]:
            usage["cached"] = min(_parse_count(tokens[2]), usage["input"])
        if tokens[4]:
            usage["cost"] = canonicalize_number(float(tokens[4]))
        answer["token-usage"] = usage


def _parse_count(text: str) -> int:
    """Return a count such as `3.2k`."""
    factor = _COUNT_UNITS.get(text[-1], 1)
    return round(float(text.rstrip("kM")) * factor)


# --- The history of inputs ---


def _parse_input_times(source: Source) -> list[tuple[str, str]]:
    """Return the typed inputs, each after its local time, from the history of inputs."""
    inputs: list[tuple[str, str]] = []
    for part in source.parts[1:]:
        if not part.name.endswith(".input.history"):
            continue
        lines: list[str] = []
        stamp = ""
        for line in [*part.data.decode("utf-8", "replace").split("\n"), ""]:
            heading = _INPUT_HEADING.match(line)
            if line.startswith("+"):
                lines.append(line[1:])
            elif lines:
                inputs.append((stamp, "\n".join(lines)))
                lines = []
            stamp = heading[1] if heading else stamp
    return inputs


def _add_input_times(entries: list[JsonObject], started: str, times: list[tuple[str, str]]) -> None:
    """Add the local time to each input of a run that the history of inputs has, in its order."""
    place = 0
    for entry in entries:
        if entry["type"] != "user":
            continue
        text = entry["content"][0]["text"]
        for position in range(place, len(times)):
            stamp, typed = times[position]
            if stamp >= started and typed.strip() == text.strip():
                entry["typed"] = stamp
                place = position + 1
                break
