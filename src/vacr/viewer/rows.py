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

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vacr.agents import (
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    HOST,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolEffect,
    extract_command,
    find_agent,
    find_tool_effect,
    get_text_argument,
    parse_requested_edits,
)
from vacr.edits import FilePatch, parse_apply_patch
from vacr.model import JsonObject, Timestamp
from vacr.record import PROMPTING_SPEAKERS, find_side_chain, is_failed_answer, is_host_message
from vacr.viewer.content import (
    ContentPart,
    OtherPart,
    TextPart,
    format_json,
    format_value,
    has_own_entry,
    is_shown_diff,
    list_content_parts,
    list_output_parts,
    split_thoughts,
)
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
MOVE_ARROW = " → "
"""Separates the old and the new path of a moved file."""
_NO_RESULT, _DENIED = "no-result", "denied"
# Members of an error event that may have its message, in the order of trust.
_REASON_MEMBERS = ("errorMessage", "message", "error", "content", "data")
_MAX_REASON_DEPTH = 5
_CHILD_PLACE = re.compile(r"children/([0-9]{1,9})")
_PLAIN_STATUSES = frozenset(("", "success", "error", "failed", "completed"))
SEARCH_ARGUMENTS = ("pattern", "query", "url", "search_term", "file_name")
LIST_ARGUMENTS = ("commands", "files", "paths", "urls", "questions")
"""Arguments that may have several commands, files, addresses or questions."""
INSERTION_ARGUMENTS = ("insert_line", "insertLine", "line")
"""Arguments with the place of a text that is inserted."""
FILE_EFFECTS = (
    ToolEffect.READ,
    ToolEffect.REPLACE,
    ToolEffect.WRITE,
    ToolEffect.UNPLACED_EDIT,
    ToolEffect.DELETE,
)
"""Effects of a tool on the one file that its arguments name."""
PLAN_ARGUMENTS = ("todos", "plan", "todoList", "todo_list", "items", "tasks")
"""Arguments that may have a plan: a list of steps with their statuses."""
STEP_ARGUMENTS = ("content", "step", "title", "text", "description", "name")
"""Members of a step that may have its words."""
_DONE_STATUSES = frozenset(("completed", "complete", "done"))
_BEGUN_STATUSES = frozenset(("in_progress", "in-progress", "active"))
DESCRIPTIVE_ARGUMENTS = (
    "description",
    "title",
    "subject",
    "prompt",
    "message",
    "question",
    "objective",
    "skill",
    "name",
    "text",
    "plan",
    "intent",
    "summary",
    "todos",
    "sql",
    "glob",
    "dir_path",
)
_MAX_SUMMARY_LENGTH = 200
_CONTEXT_LINES = 3
# An edit may have any length, and a diff may compare every old line with every new one.
_MAX_COMPARED_PAIRS = 4_000_000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The change of one file that a call requests."""

    path: str
    kind: str
    """`edit`, `write`, `add`, `delete` or `move`."""
    lines: list[str]
    """Lines with their marks: `+`, `-` or a blank; a line `@@` where lines are left out."""

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(line.startswith("-") for line in self.lines)

    @property
    def is_deletion(self) -> bool:
        """Whether the call deletes the file."""
        return self.kind == "delete"


def format_changes(diffs: Sequence[FileDiff]) -> str:
    """Return the changes of diffs together: `+6 -1`, `deleted`, or `+6 -1, 1 deleted`.

    The number of lines in a deleted file is known only if the call contains them. Without diffs,
    return `+0 -0`.
    """
    added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
    deleted = sum(diff.is_deletion for diff in diffs)
    counts = f"+{added:,} -{removed:,}"
    if not deleted:
        return counts
    if len(diffs) == 1:
        return f"deleted, -{removed:,}" if removed else "deleted"
    if deleted < len(diffs):
        return f"{counts}, {deleted:,} deleted"
    return f"{deleted:,} deleted, -{removed:,}" if removed else f"{deleted:,} deleted"


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
        return (
            self.kind == ASSISTANT_ROW
            and not self.is_error
            and all(isinstance(part, TextPart) and not part.text.strip() for part in self.parts)
        )

    @property
    def is_prompt(self) -> bool:
        """Whether a person wrote the message, or somebody unknown who started the session."""
        return self.kind == USER_ROW and self.speaker in ("", *PROMPTING_SPEAKERS)


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
    return _shorten_line(text or _find_message(entry, _MAX_REASON_DEPTH))


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


def list_row_bodies(row: Row) -> Iterator[str]:
    """Yield the texts of a message, or the inputs of a call and the texts of its result."""
    if row.kind == TOOL_ROW:
        for _, text in list_input_texts(row.entry.get("input")):
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


# Tool calls: a summary in one line, the inputs as texts, the requested changes as diffs


def summarise_tool_call(tool: str, arguments: Any, effect: ToolEffect | None = None) -> str:
    """Return a line of at most 200 characters about a tool call; empty without arguments.

    It is the command, the pattern or the file of the call, or else all its arguments as JSON. The
    tool of one file, by its effect, has the file; an editor with commands also has the command.

        >>> arguments = {"command": "view", "path": "total.py"}
        >>> summarise_tool_call("file_editor", arguments, ToolEffect.READ)
        'view total.py'
    """
    path = get_text_argument(arguments, PATH_ARGUMENTS) if effect in FILE_EFFECTS else None
    if path is not None:
        command = get_text_argument(arguments, ("command",))
        return _shorten_line(f"{command} {path}" if command else path)
    return _shorten_line(_choose_summary(tool, arguments))


def _shorten_line(text: str) -> str:
    """Return a text in one line, cut to 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SUMMARY_LENGTH else f"{line[: _MAX_SUMMARY_LENGTH - 1]}…"


def _choose_summary(tool: str, arguments: Any) -> str:
    """Return the most telling argument of a call in full; empty if it has no arguments."""
    if "patch" in tool.lower():
        text = _get_patch_text(arguments)
        return ", ".join(file.to or file.path for file in parse_apply_patch(text)) or text
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict) or not arguments:
        return ""
    for names in (COMMAND_ARGUMENTS, SEARCH_ARGUMENTS, PATH_ARGUMENTS):
        if (argument := get_text_argument(arguments, names)) is not None:
            return argument
    for name in COMMAND_ARGUMENTS:
        if isinstance(arguments.get(name), list):
            return " ".join(str(word) for word in arguments[name])
    if listed := _summarise_lists(arguments):
        return listed
    if plan := _summarise_plan(arguments):
        return plan
    description = get_text_argument(arguments, DESCRIPTIVE_ARGUMENTS)
    return description if description is not None else format_json(arguments)


def _summarise_lists(arguments: JsonObject) -> str:
    """Return the commands, files, addresses or questions of a call; empty if it lists none."""
    for name in LIST_ARGUMENTS:
        items = arguments.get(name)
        texts = [_name_item(item) for item in items] if isinstance(items, list) else []
        if texts and all(texts):
            return ", ".join(texts)
    return ""


def _name_item(item: Any) -> str:
    """Return a text as it is, or the command, file or question of an object; else empty."""
    if isinstance(item, str):
        return item
    names = (*COMMAND_ARGUMENTS, *PATH_ARGUMENTS, "url", "question")
    return get_text_argument(item, names) or ""


def _summarise_plan(arguments: JsonObject) -> str:
    """Return how many steps of a plan are done, and the current step; empty without a plan."""
    plans = [arguments.get(name) for name in PLAN_ARGUMENTS]
    steps = next((plan for plan in plans if isinstance(plan, list) and plan), [])
    if not steps or not all(
        isinstance(step, dict) and isinstance(step.get("status"), str) for step in steps
    ):
        return ""
    done = sum(step["status"] in _DONE_STATUSES for step in steps)
    open_steps = [step for step in steps if step["status"] not in _DONE_STATUSES]
    begun = [step for step in open_steps if step["status"] in _BEGUN_STATUSES]
    current = get_text_argument(next(iter(begun or open_steps), {}), STEP_ARGUMENTS)
    return f"{done} of {len(steps)} done" + (f": {current}" if current else "")


def _get_patch_text(arguments: Any) -> str:
    """Return the patch in the arguments of a call, or an empty text."""
    if isinstance(arguments, str):
        return arguments
    return get_text_argument(arguments, PATCH_ARGUMENTS) or ""


def list_input_texts(arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each argument of a call.

    Arguments that are one value, not an object, have an empty name.
    """
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            yield format_value(name), format_value(value)
    elif arguments is not None:
        yield "", format_value(arguments)


def build_diffs(agent: str, tool: str, arguments: Any) -> list[FileDiff]:
    """Return the changes that a call requests; an empty list if it does not change files.

    `agent` and `tool` decide the meaning of the arguments.
    """
    effect = find_tool_effect(agent, tool, arguments)
    if effect is ToolEffect.PATCH:
        return [_build_patch_diff(file) for file in parse_apply_patch(_get_patch_text(arguments))]
    path = get_text_argument(arguments, PATH_ARGUMENTS)
    if path is None or not isinstance(arguments, dict):
        return []
    if effect is ToolEffect.REPLACE:
        edits = parse_requested_edits(arguments) or ()
        lines = [line for edit in edits for line in _diff_texts(edit.old, edit.new)]
        return [FileDiff(path, "edit", lines)] if lines else _build_addition(path, arguments)
    if effect in (ToolEffect.WRITE, ToolEffect.UNPLACED_EDIT):
        text = get_text_argument(arguments, CONTENT_ARGUMENTS)
        if text is None:
            return _build_addition(path, arguments)
        return [FileDiff(path, "write", _mark_added(text))]
    return [FileDiff(path, "delete", [])] if effect is ToolEffect.DELETE else []


def build_shown_diffs(output: Any) -> list[FileDiff]:
    """Return the changes that an output shows by the old and the new text of files."""
    diffs = []
    for block in output if isinstance(output, list) else ():
        if is_shown_diff(block):
            path, old, new = block["path"], block.get("oldText"), block["newText"]
            is_edit = isinstance(old, str) and bool(old)
            lines = list(_diff_texts(old, new)) if is_edit else _mark_added(new)
            diffs.append(FileDiff(path, "edit" if is_edit else "write", lines))
    return diffs


def _build_addition(path: str, arguments: JsonObject) -> list[FileDiff]:
    """Return the diff of a call of an editor with a new text and no old one; else empty.

    The text is inserted if the arguments state a line, or else it is the whole file.
    """
    text = get_text_argument(arguments, NEW_TEXT_ARGUMENTS)
    if text is None or get_text_argument(arguments, OLD_TEXT_ARGUMENTS):
        return []
    kind = "edit" if _is_insertion(arguments) else "write"
    return [FileDiff(path, kind, _mark_added(text))]


def _is_insertion(arguments: JsonObject) -> bool:
    """Return whether arguments state the line that a text is inserted at."""
    return any(type(arguments.get(name)) is int for name in INSERTION_ARGUMENTS)


def _mark_added(text: str) -> list[str]:
    """Return the lines of a text, each with a `+` before it."""
    return [f"+{line}" for line in text.splitlines()]


def _build_patch_diff(file: FilePatch) -> FileDiff:
    """Return the diff of one file in a patch; a moved file has the path `old → new`."""
    if file.kind == "add":
        return FileDiff(file.path, "add", _mark_added(file.text))
    lines = []
    for part in file.parts:
        lines.append(f"@@ {part.anchor}".rstrip())
        lines += list(_diff_texts("\n".join(part.old), "\n".join(part.new)))[1:]
    kind = "edit"
    if file.kind == "delete":
        kind = "delete"
    elif file.to and not lines:
        kind = "move"
    return FileDiff(f"{file.path}{MOVE_ARROW}{file.to}" if file.to else file.path, kind, lines)


def _diff_texts(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a diff of two texts, each with its mark; `@@` comes before each hunk.

    It also comes first where the texts are equal. Of very long texts, all old lines come first, and
    then all new ones.
    """
    yield "@@"
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        before, after = _trim_common_lines(before, after)
    if len(before) * len(after) > _MAX_COMPARED_PAIRS:
        yield from (f"-{line}" for line in before)
        yield from (f"+{line}" for line in after)
        return
    diff = difflib.unified_diff(before, after, n=_CONTEXT_LINES, lineterm="")
    for line in list(diff)[3:]:  # after the two lines of file names and the first hunk's header
        yield "@@" if line.startswith("@@") else line


def _trim_common_lines(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Return two lists of lines without the lines that both have at the start and the end.

    Three common lines next to the difference stay, as its context.
    """
    shortest = min(len(before), len(after))
    prefix = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - prefix
    suffix = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    first, last = max(0, prefix - _CONTEXT_LINES), max(0, suffix - _CONTEXT_LINES)
    return before[first : len(before) - last], after[first : len(after) - last]
