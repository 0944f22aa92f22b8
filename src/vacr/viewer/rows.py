"""A record as rows, in the order of the conversation, and the filters that select some of them.

A row is what a reader sees as one step: a message, a thought, a tool call with its result, or an
event. Terminal, page and exports show the same rows, and `show`, `view` and `export` have the same
filters.

    >>> import vacr
    >>> from vacr.viewer import TOOL_ROW, RowFilter, build_rows
    >>> [record] = vacr.read("session.jsonl")
    >>> edits = RowFilter(kinds=frozenset({TOOL_ROW}), text="quantize")
    >>> for row in edits.chosen(build_rows(record)):
    ...     print(row.place, row.tool, row.summary)
    /session/entries/8/children/0 Edit /home/mira/invoice/total.py
    >>> [diff] = row.diffs
    >>> diff.kind, diff.lines[:2]
    ('edit', ['@@', '-    return sum(l.qty * l.price for l in lines)'])

The diffs of a call show the change that it requests, whether or not the agent carried it out. For
the resulting files, see the file attribution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vacr.agents import HOST, ToolEffect, extract_command, find_agent, find_tool_effect
from vacr.model import JsonObject, Timestamp
from vacr.record import PROMPTING_SPEAKERS, find_side_chain, is_failed_answer, is_host_message
from vacr.viewer.call_summaries import shorten_line, summarise_tool_call
from vacr.viewer.content import (
    ContentPart,
    OtherPart,
    TextPart,
    format_json,
    has_own_entry,
    list_content_parts,
    list_input_texts,
    list_output_parts,
    split_thoughts,
)
from vacr.viewer.diffs import FileDiff, build_diffs, build_shown_diffs
from vacr.viewer.exit_codes import explain_exit_code

USER_ROW = "user"
ASSISTANT_ROW = "assistant"
REASONING_ROW = "reasoning"
TOOL_ROW = "tool"
EVENT_ROW = "event"
ROW_KINDS = (USER_ROW, ASSISTANT_ROW, REASONING_ROW, TOOL_ROW, EVENT_ROW)
PROMPTS = "prompt"
"""The user messages of a person: a choice of `RowFilter.kinds`, not a kind of row."""

_SPEAKER_NAMES = {
    "host": "Host",
    "hook": "Hook",
    "parent-agent": "Parent agent",
    "unknown": "User (author unknown)",
}
_NO_RESULT, _DENIED = "no-result", "denied"
# Members of an error event that may have its message, in the order of trust.
_REASON_MEMBERS = ("errorMessage", "message", "error", "content", "data")
_MAX_REASON_DEPTH = 5
_CHILD_PLACE = re.compile(r"children/([0-9]{1,9})")
_PLAIN_STATUSES = frozenset(("", "success", "error", "failed", "completed"))


@dataclass(slots=True)
class Row:
    """A step of a conversation."""

    kind: str
    place: str
    """The JSON Pointer of its entry."""
    name: str
    """The id of the entry, or the pointer if it has none."""
    entry: JsonObject
    depth: int = 0
    time: Timestamp | None = None
    model: str = ""
    agent: str = ""
    """The sub-agent that made the entry, if the record includes sub-agents."""
    parts: list[ContentPart] = field(default_factory=list)
    tool: str = ""
    summary: str = ""
    """A line about a call or an event."""
    reason: str = ""
    """The message of an error event or of an answer that failed, in one line; else empty."""
    diffs: list[FileDiff] = field(default_factory=list)
    result: Row | None = None
    """The result of a call."""
    is_error: bool = False
    """Whether a call or an answer failed, or an event reports an error."""
    status: str = ""
    """How a call ended, as in the record; without a result `no-result` or `denied`."""
    exit_code: int | None = None
    meaning: str = ""
    """What the exit code means, where that is certain; the call then did not fail."""
    speaker: str = ""
    """Who wrote a user message, as in the record; empty if the record does not tell."""
    prompt: str = ""
    """The words of the person, where a user message has other text as well."""
    is_inherited: bool = False
    """Whether the entry comes from the session that this one was forked from."""
    is_repeated: bool = False
    """Whether the entry repeats another one."""
    superseded: str = ""
    """Why the session continued without the entry, if it did."""

    @property
    def shown_parts(self) -> list[ContentPart]:
        """The parts to show: of a prompt that the host added to, only the person's words and files.

        All parts of any other row.
        """
        if not self.prompt:
            return self.parts
        files = [part for part in self.parts if not isinstance(part, TextPart)]
        return [TextPart(self.prompt), *files]

    @property
    def speaker_name(self) -> str:
        """Who wrote a user message, as a heading such as `User`, `Host` or `Parent agent`.

        `User` if the speaker is unknown to this version.
        """
        return _SPEAKER_NAMES.get(self.speaker, "User")

    @property
    def outcome(self) -> str:
        """How a call ended, such as `exit 2`, `denied`, `running` or `no result`.

        It is empty for a plain success or failure, and for rows that are not calls.
        """
        if self.exit_code:
            return f"exit {self.exit_code}{f', {self.meaning}' if self.meaning else ''}"
        is_open = bool(self.tool) and self.result is None and not self.status
        if is_open or self.status == _NO_RESULT:
            return "no result"
        return "" if self.status in _PLAIN_STATUSES else self.status

    @property
    def is_empty_answer(self) -> bool:
        """Whether the model's message has nothing to show: no text, no image and no error."""
        return self.kind == ASSISTANT_ROW and not self.is_error and self._is_blank()

    @property
    def is_prompt(self) -> bool:
        """Whether a person, or somebody unknown who started the session, wrote something."""
        is_of_person = self.kind == USER_ROW and self.speaker in ("", *PROMPTING_SPEAKERS)
        return is_of_person and (self.prompt != "" or not self._is_blank())

    def _is_blank(self) -> bool:
        """Return whether no part has anything to show."""
        return all(isinstance(part, TextPart) and not part.text.strip() for part in self.parts)


class _PlacedEntry(NamedTuple):
    """An entry, and where it is in the record."""

    place: str
    entry: JsonObject
    depth: int
    parent: JsonObject | None


def build_rows(record: JsonObject) -> Iterator[Row]:
    """Yield the rows of a record, in the order of the conversation.

    A result is part of the row of its call. A message whose children have all its content has no
    row. A thought that the agent recorded twice, by itself and in the answer, stays only once.
    """
    thought = ""
    for row in _build_rows(record):
        if row.kind == ASSISTANT_ROW and thought:
            row.parts = [_drop_thought(part, thought) for part in row.parts]
        if row.kind != EVENT_ROW:
            thought = _join_texts(row.parts).strip() if row.kind == REASONING_ROW else ""
        yield row


def _drop_thought(part: ContentPart, thought: str) -> ContentPart:
    """Return a part of an answer without a thought that it begins with."""
    if not isinstance(part, TextPart):
        return part
    written, text = split_thoughts(part.text)
    return TextPart(text) if written == thought else part


def _join_texts(parts: Iterable[ContentPart]) -> str:
    """Return the texts of parts, with an empty line between them."""
    return "\n\n".join(part.text for part in parts if isinstance(part, TextPart))


def _build_rows(record: JsonObject) -> Iterator[Row]:
    """Yield the rows of a record as its entries have them."""
    session = record["session"]
    agent = str(session.get("agent-meta", {}).get("cli-name", ""))
    entries = list(_flatten_entries(session.get("entries"), "/session/entries", 0, None))
    results = _pair_results(entries)
    paired_places = {result.place for result in results.values()}
    for placed in entries:
        entry = placed.entry
        kind = entry.get("type")
        if kind == "tool-result":
            # The result of a call is part of the call's row.
            if placed.place not in paired_places:
                yield _make_result_row(placed, placed.depth, agent)
        elif kind == "tool-call":
            yield _make_call_row(placed, agent, results.get(placed.place))
        elif kind in (USER_ROW, ASSISTANT_ROW, REASONING_ROW):
            row = _make_row(kind, placed, placed.depth, agent)
            row.parts = list_content_parts(entry.get("content"))
            row.is_error = kind == ASSISTANT_ROW and is_failed_answer(entry)
            if row.is_error:
                row.reason = _find_reason({**entry, "content": None})
            if row.parts or row.is_error or not entry.get("children"):
                yield row
        else:
            row = _make_row(EVENT_ROW, placed, placed.depth, agent)
            row.summary = str(entry.get("event-type", kind))
            row.is_error = "error" in row.summary.lower()
            row.reason = _find_reason(entry) if row.is_error else ""
            yield row


def is_silent_start(row: Row, previous: Row | None) -> bool:
    """Return whether a call follows a prompt or a thought: the model said nothing before it.

    Such a call needs a heading, or else it seems to belong to what is above it. `previous` is the
    last row shown before it, apart from events; `None` if there is none.
    """
    return (
        row.kind == TOOL_ROW
        and bool(row.tool)
        and previous is not None
        and previous.kind in (USER_ROW, REASONING_ROW)
    )


def _find_reason(entry: JsonObject) -> str:
    """Return the message of an error event in a line of up to 200 characters, or an empty text."""
    text = _find_message(entry.get("data"), _MAX_REASON_DEPTH)
    return shorten_line(text or _find_message(entry, _MAX_REASON_DEPTH))


def _find_message(value: Any, depth: int) -> str:
    """Return the first text among the members that may have a message, or an empty text.

    Members are searched down to `depth` levels.
    """
    if isinstance(value, str):
        return value if value.strip() else ""
    if not isinstance(value, dict) or not depth:
        return ""
    texts = (_find_message(value.get(name), depth - 1) for name in _REASON_MEMBERS)
    return next(filter(None, texts), "")


def _flatten_entries(
    entries: Any, place: str, depth: int, parent: JsonObject | None, first: int = 0
) -> Iterator[_PlacedEntry]:
    """Yield entries with their JSON Pointers, each before its children.

    Children that the agent wrote before the text of their message, such as the thought before an
    answer, come before it. `place` is the pointer of the list, and `first` the number of
    its first entry. Values that are not objects are left out.
    """
    for number, entry in enumerate(entries if isinstance(entries, list) else (), first):
        if isinstance(entry, dict):
            own, below = f"{place}/{number}", f"{place}/{number}/children"
            listed = entry.get("children")
            children = listed if isinstance(listed, list) else []
            leading = _count_leading_children(entry, children)
            yield from _flatten_entries(children[:leading], below, depth + 1, entry)
            yield _PlacedEntry(own, entry, depth, parent)
            yield from _flatten_entries(children[leading:], below, depth + 1, entry, leading)


def _count_leading_children(entry: JsonObject, children: list[Any]) -> int:
    """Return how many children precede the content, by the native order.

    A child that the order does not list, such as a result, follows the one before it. Without an
    order, the thoughts at the start precede the content: a model thinks before it answers.
    """
    order = _get_marks(entry).get("order")
    is_past_content = False
    for place in order if isinstance(order, list) else ():
        if not isinstance(place, str):
            continue
        is_past_content = is_past_content or place.startswith("content")
        if is_past_content and (match := _CHILD_PLACE.fullmatch(place)):
            return min(int(match[1]), len(children))
    if is_past_content:
        return len(children)
    return 0 if _begins_with_text(entry.get("content")) else _count_leading_thoughts(children)


def _begins_with_text(content: Any) -> bool:
    """Return whether content lists its thoughts and calls as well, and begins with a text."""
    if not isinstance(content, list):
        return False
    have_entries = [has_own_entry(block) for block in content]
    return any(have_entries) and not have_entries[0]


def _count_leading_thoughts(children: list[Any]) -> int:
    """Return the number of thoughts before the first child of another type."""
    for number, child in enumerate(children):
        if not isinstance(child, dict) or child.get("type") != REASONING_ROW:
            return number
    return len(children)


def _pair_results(entries: Iterable[_PlacedEntry]) -> dict[str, _PlacedEntry]:
    """Return the first result of each call, by the place of the call.

    Calls may share an id: a result belongs to the last call before it. A result before all calls
    with its id belongs to the first of them.
    """
    results: dict[str, _PlacedEntry] = {}
    early_results: dict[str, _PlacedEntry] = {}
    last_calls: dict[str, str] = {}
    for placed in entries:
        kind, call_id = placed.entry.get("type"), placed.entry.get("call-id")
        if call_id is None:
            continue
        name = str(call_id)
        if kind == "tool-call":
            last_calls[name] = placed.place
            if name in early_results:
                results[placed.place] = early_results.pop(name)
        elif kind == "tool-result" and name in last_calls:
            results.setdefault(last_calls[name], placed)
        elif kind == "tool-result":
            early_results.setdefault(name, placed)
    return results


def _make_call_row(placed: _PlacedEntry, agent: str, result: _PlacedEntry | None) -> Row:
    """Return the row of a tool call, with its summary, diffs and result."""
    row = _make_row(TOOL_ROW, placed, placed.depth, agent)
    row.tool, arguments = str(placed.entry.get("name", "")), placed.entry.get("input")
    effect = find_tool_effect(agent, row.tool, arguments)
    row.summary = summarise_tool_call(row.tool, arguments, effect)
    row.diffs = build_diffs(agent, row.tool, arguments)
    if result is None:
        row.status = str(_get_marks(placed.entry).get("status", ""))
        row.is_error = row.status == _DENIED
        return row
    row.result = _make_result_row(result, placed.depth, agent)
    row.diffs = row.diffs or build_shown_diffs(result.entry.get("output"))
    row.status, row.exit_code = row.result.status, row.result.exit_code
    row.is_error = row.result.is_error
    if row.exit_code is not None and effect is ToolEffect.SHELL:
        command = extract_command(arguments)[0] or ""
        row.meaning = explain_exit_code(command, row.exit_code)
        row.is_error = row.is_error and not row.meaning
    return row


def _make_result_row(placed: _PlacedEntry, depth: int, agent: str) -> Row:
    """Return the row of a tool result: its output, and whether the call failed."""
    row = _make_row(TOOL_ROW, placed, depth, agent)
    is_json = find_agent(agent).json_outputs
    row.parts = list_output_parts(placed.entry.get("output"), is_json=is_json)
    status, code = placed.entry.get("status"), _get_marks(placed.entry).get("exit-code")
    row.status = status if isinstance(status, str) else ""
    row.exit_code = code if type(code) is int else None
    row.is_error = placed.entry.get("is-error") is True or status in ("error", "failed")
    return row


def _make_row(kind: str, placed: _PlacedEntry, depth: int, agent: str) -> Row:
    """Return a row with the members that all kinds share.

    The time, the model and the sub-agent come from the parent entry if the entry lacks them.
    """
    entry, parent = placed.entry, placed.parent or {}
    marks, name = _get_marks(entry), entry.get("id")
    prompt = marks.get("prompt")
    return Row(
        kind,
        placed.place,
        name if isinstance(name, str) and name else placed.place,
        entry,
        depth,
        entry.get("timestamp", parent.get("timestamp")),
        str(entry.get("model-id", parent.get("model-id", ""))),
        _get_sub_agent(entry, agent) or _get_sub_agent(parent, agent),
        speaker=_get_speaker(entry, marks) if kind == USER_ROW else "",
        prompt=prompt if kind == USER_ROW and isinstance(prompt, str) else "",
        is_inherited=bool(marks.get("inherited")),
        is_repeated=bool(marks.get("repeats")),
        superseded=str(marks.get("superseded", "")),
    )


def _get_marks(entry: JsonObject) -> JsonObject:
    """Return the member `vacr` of an entry, or an empty dict if it has none."""
    marks = entry.get("vacr")
    return marks if isinstance(marks, dict) else {}


def _get_speaker(entry: JsonObject, marks: JsonObject) -> str:
    """Return who wrote a user message; empty if neither a label nor the older mark tells."""
    speaker = marks.get("speaker")
    if isinstance(speaker, str):
        return speaker
    return HOST if is_host_message(entry) else ""


def _get_sub_agent(entry: JsonObject, agent: str) -> str:
    """Return the id of the sub-agent that made an entry; empty if the main agent made it."""
    name = _get_marks(entry).get("sub-agent")
    if isinstance(name, str):
        return name
    return find_side_chain(entry) or find_agent(agent).chain_of(entry)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """A filter for rows: each criterion that is not empty must be met."""

    kinds: frozenset[str] = frozenset()
    """Kinds of rows, and `PROMPTS` for the messages of a person."""
    tools: frozenset[str] = frozenset()
    text: str = ""
    errors: bool = False
    names: frozenset[str] = frozenset()
    """Ids or pointers of entries."""
    repeated: bool = False
    """Whether to show rows that repeat other entries."""

    def chosen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows that meet all criteria."""
        matches = make_text_matcher(self.text)
        for row in rows:
            if row.is_repeated and not self.repeated and not self.names:
                continue
            if self.kinds and not self._has_kind(row):
                continue
            if self.tools and row.tool not in self.tools:
                continue
            if self.errors and not row.is_error:
                continue
            if self.names and not {row.name, row.place} & self.names:
                continue
            if matches is not None and not any(map(matches, _list_row_texts(row))):
                continue
            yield row

    def _has_kind(self, row: Row) -> bool:
        """Return whether a row is of one of the kinds."""
        return row.kind in self.kinds or (PROMPTS in self.kinds and row.is_prompt)


def make_text_matcher(text: str) -> Callable[[str], object] | None:
    """Return a function that searches a string for the text, ignoring case.

    Its result is true if the string contains the text. Return `None` for an empty text.
    """
    return re.compile(re.escape(text), re.IGNORECASE).search if text else None


def _list_row_texts(row: Row) -> Iterator[str]:
    """Yield all texts of a row that `--grep` searches.

    The whole input of a call is among them, because the summary may be cut.
    """
    yield row.tool
    yield row.summary
    yield row.reason
    yield from list_row_bodies(row)
    for diff in row.diffs:
        yield diff.path
        yield from diff.lines


def list_row_bodies(row: Row, *, only_words: bool = False) -> Iterator[str]:
    """Yield the texts of a message, or the inputs of a call and the texts of its result.

    With `only_words`, inputs that are a number, a boolean or null are left out.
    """
    if row.kind == TOOL_ROW:
        for _, text in list_input_texts(row.entry.get("input"), only_words=only_words):
            yield text
    yield from _list_part_texts(row.parts)
    if row.result is not None:
        yield from _list_part_texts(row.result.parts)


def _list_part_texts(parts: Iterable[ContentPart]) -> Iterator[str]:
    """Yield the text of each part; other values as JSON, and images not at all."""
    for part in parts:
        if isinstance(part, TextPart):
            yield part.text
        elif isinstance(part, OtherPart):
            yield format_json(part.value)
