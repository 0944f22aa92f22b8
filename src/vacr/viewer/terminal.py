"""Rows as lines for a terminal, in one of three levels of detail.

Each line is a text and a look, such as `head` or `error`; the caller decides on colours.

    >>> from vacr.viewer import RowFormatter, build_rows
    >>> call = {"type": "tool-call", "name": "Bash", "input": {"command": "ls"}, "call-id": "1"}
    >>> result = {"type": "tool-result", "call-id": "1", "output": "no such file", "is-error": True}
    >>> [row] = build_rows({"session": {"entries": [call, result]}})
    >>> for line in RowFormatter().lines(row):
    ...     print(line)
    TerminalLine(text='  → Bash ls ✗', look='error')
    TerminalLine(text='      no such file', look='dim')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from vacr.agents import PATH_ARGUMENTS, get_text_argument
from vacr.record import format_timestamp
from vacr.viewer.content import (
    ContentPart,
    ImagePart,
    TextPart,
    format_json,
    list_input_texts,
    make_visible,
    make_visible_line,
)
from vacr.viewer.diffs import FileDiff, format_changes
from vacr.viewer.rows import (
    ASSISTANT_ROW,
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    Row,
    is_silent_start,
    list_row_bodies,
    make_text_matcher,
)
from vacr.viewer.story import Story

BRIEF_DETAIL = "brief"
NORMAL_DETAIL = "normal"
FULL_DETAIL = "full"
DETAIL_LEVELS = (BRIEF_DETAIL, NORMAL_DETAIL, FULL_DETAIL)

_ROW_HEADINGS = {
    ASSISTANT_ROW: "Assistant",
    REASONING_ROW: "Thought",
    EVENT_ROW: "·",
}
_DIFF_LOOKS = {"+": "added", "-": "removed", "@": "dim"}
_CALL_INDENT = " " * 6

# How many lines of a diff, an output or a thought are shown; `None` for all.
_MAX_SHOWN_LINES = {BRIEF_DETAIL: 0, NORMAL_DETAIL: 12, FULL_DETAIL: None}
# How many lines with a match are shown, and how many characters around it.
_MAX_MATCH_LINES = 3
_MATCH_CONTEXT_LENGTH = 60
# How many lines of a request and of an answer a summary has, and letters of a commit's id.
_MAX_SUMMARY_LINES = 4
_COMMIT_LENGTH = 7
# How many letters of a prompt a summary shows.
_MAX_PROMPT_LENGTH = 100


class TerminalLine(NamedTuple):
    """A line, and its look: `head`, `text`, `dim`, `error`, `added`, `removed` or `call`."""

    text: str
    look: str = "text"


def format_recorded_time(time: str | float) -> str:
    """Return a time as the record has it, without fractions of a second; empty if unreadable."""
    return (format_timestamp(time) or "")[:19].replace("T", " ")


@dataclass(frozen=True, slots=True)
class RowFormatter:
    """Formats rows at one level of detail."""

    detail: str = NORMAL_DETAIL
    events: bool = False
    sought: str = ""
    """The text that rows were filtered by; lines with a match are shown."""
    places: bool = False
    """Whether to show where in the record each row is."""
    format_time: Callable[[str | float], str] = format_recorded_time
    """Returns the time of a row as it is shown; empty for an unreadable one."""

    def summarize(self, story: Story) -> Iterator[TerminalLine]:
        """Yield the summary of a conversation: request, outcome, the last test run, commits."""
        request = ("Asked", story.asked) if story.asked else ("Task", story.task)
        answered = story.answered if story.answered != story.asked else ""
        for name, text, prompt in (
            (*request, ""),
            (story.outcome_name, story.outcome, answered),
        ):
            lines = [line for line in make_visible(text).split("\n") if _is_summary_line(line)]
            if lines:
                yield TerminalLine(name, "head")
            if lines and prompt:
                yield TerminalLine(f'  answer to "{_format_prompt(prompt)}"', "dim")
            for line in lines[:_MAX_SUMMARY_LINES]:
                yield TerminalLine(f"  {line}")
            yield from _format_hidden_lines(len(lines), _MAX_SUMMARY_LINES, "  ")
        if checks := list(_list_checks(story)):
            yield TerminalLine(f"  ({'; '.join(checks)})")

    def conversation(self, rows: Iterable[Row]) -> Iterator[list[TerminalLine]]:
        """Yield the lines of each row, an empty list for a row that is left out.

        A call gets a heading for its model if the last row shown was not the model's message.
        """
        previous: Row | None = None
        for row in rows:
            lines = list(self.lines(row))
            if is_silent_start(row, previous):
                heading = self._format_heading(replace(row, kind=ASSISTANT_ROW), placed=False)
                lines = [TerminalLine(""), TerminalLine(heading, "head"), *lines]
            if lines and row.kind != EVENT_ROW:
                previous = row
            yield lines

    def lines(self, row: Row) -> Iterator[TerminalLine]:
        """Yield the lines of a row; nothing if this level of detail leaves the row out."""
        if row.kind == EVENT_ROW:
            if self.events or (row.is_error and self.detail != BRIEF_DETAIL):
                yield from self._format_event(row)
        elif row.kind == TOOL_ROW:
            yield from self._format_tool_call(row)
        elif row.kind == REASONING_ROW:
            # A thought that its provider encrypted has no parts.
            if self.detail == FULL_DETAIL or (row.parts and self.detail != BRIEF_DETAIL):
                yield from self._format_message(row, "dim")
        elif row.kind == USER_ROW and not row.is_prompt:
            # Text of the host, a hook or a parent agent, not of a person.
            if self.detail != BRIEF_DETAIL:
                yield from self._format_message(row, "dim")
        elif row.parts or row.prompt or row.is_error:
            yield from self._format_message(row, "text")

    def _format_event(self, row: Row) -> Iterator[TerminalLine]:
        """Yield a line about an event, and at full detail a line with its data."""
        look = "error" if row.is_error else "dim"
        name = make_visible_line(row.summary)
        reason = f": {make_visible_line(row.reason)}" if row.reason else ""
        when_and_where = f"{self._format_row_time(row)}{self._format_place(row)}"
        yield TerminalLine(f"· {name}{reason}{when_and_where}", look)
        data = row.entry.get("data")
        if self.detail == FULL_DETAIL and data not in (None, {}):
            yield TerminalLine(f"  {make_visible_line(format_json(data))}", "dim")

    def _format_message(self, row: Row, look: str) -> Iterator[TerminalLine]:
        """Yield an empty line, the heading and the lines of a message or a thought.

        Of a prompt that the host added to, only the person's words are shown, except at full
        detail.
        """
        is_dim = look == "dim"
        yield TerminalLine("")
        yield TerminalLine(self._format_heading(row), "dim" if is_dim else "head")
        parts = row.parts if self.detail == FULL_DETAIL else row.shown_parts
        lines = list(_format_parts(parts))
        if is_dim:
            yield from self._limit_lines(lines, "  ", look)
        else:
            yield from (TerminalLine(f"  {line}", look) for line in lines)
        if row.is_error:
            reason = f": {make_visible_line(row.reason)}" if row.reason else ""
            yield TerminalLine(f"  failed{reason}", "error")

    def _format_heading(self, row: Row, *, placed: bool = True) -> str:
        """Return a heading: who speaks, the sub-agent, the model, marks, the time, the place.

        If not `placed`, the place is left out.
        """
        words = [row.speaker_name if row.kind == USER_ROW else _ROW_HEADINGS[row.kind]]
        if row.agent:
            words.append(f"[{make_visible_line(row.agent)}]")
        if row.model and row.kind != USER_ROW:
            words.append(f"({make_visible_line(row.model)})")
        if row.superseded:
            words.append(f"({make_visible_line(row.superseded)})")
        place = self._format_place(row) if placed else ""
        return f"{' '.join(words)}{self._format_row_time(row)}{place}"

    def _format_tool_call(self, row: Row) -> Iterator[TerminalLine]:
        """Yield the line of a call, then its input, diffs and output as the detail requires."""
        yield _format_call_line(row)
        if self.places:
            when_and_where = f"{self._format_row_time(row)}{self._format_place(row)}".strip()
            yield TerminalLine(f"{_CALL_INDENT}{when_and_where}", "dim")
        if self.detail == BRIEF_DETAIL:
            return
        if self.detail == FULL_DETAIL:
            yield from _format_input(row)
        else:
            yield from self._format_matches(row)
        for diff in row.diffs:
            yield from self._format_diff(diff, named=len(row.diffs) > 1)
        if self.detail == FULL_DETAIL or row.is_error:
            output = row.result.parts if row.result is not None else row.parts
            yield from self._limit_lines(list(_format_parts(output)), _CALL_INDENT, "dim")

    def _format_matches(self, row: Row) -> Iterator[TerminalLine]:
        """Yield up to three lines of a call's input and output that contain the text sought.

        A line with the number of further matches follows. Yield nothing if no text is sought, or if
        the line of the call contains it.
        """
        matches = make_text_matcher(self.sought)
        if matches is None or matches(f"{row.tool} {row.summary}"):
            return
        lines = dict.fromkeys(
            line for text in list_row_bodies(row) for line in text.splitlines() if matches(line)
        )
        for line in list(lines)[:_MAX_MATCH_LINES]:
            excerpt = make_visible_line(_cut_around_match(line, self.sought))
            yield TerminalLine(f"{_CALL_INDENT}{excerpt}", "dim")
        yield from _format_hidden_lines(len(lines), _MAX_MATCH_LINES, _CALL_INDENT)

    def _format_diff(self, diff: FileDiff, *, named: bool) -> Iterator[TerminalLine]:
        """Yield the lines of a diff, after the path of the file if `named`."""
        if named:
            path = make_visible_line(diff.path)
            yield TerminalLine(f"{_CALL_INDENT}{path} ({format_changes([diff])})", "dim")
        limit = _MAX_SHOWN_LINES[self.detail]
        lines = diff.lines[1:] if diff.lines[:1] == ["@@"] else diff.lines
        for line in lines[:limit]:
            look = _DIFF_LOOKS.get(line[:1], "dim")
            yield TerminalLine(f"{_CALL_INDENT}{make_visible_line(line)}", look)
        yield from _format_hidden_lines(len(lines), limit, _CALL_INDENT)

    def _limit_lines(self, lines: list[str], indent: str, look: str) -> Iterator[TerminalLine]:
        """Yield as many lines as the detail allows, and how many more there are."""
        limit = _MAX_SHOWN_LINES[self.detail]
        for line in lines[:limit]:
            yield TerminalLine(f"{indent}{line}", look)
        yield from _format_hidden_lines(len(lines), limit, indent)

    def _format_row_time(self, row: Row) -> str:
        """Return two blanks and the time of a row; empty if it is unknown."""
        time = self.format_time(row.time) if row.time is not None else ""
        return f"  {time}" if time else ""

    def _format_place(self, row: Row) -> str:
        """Return two blanks and the JSON Pointer of a row; empty if places are not shown."""
        return f"  {make_visible_line(row.place)}" if self.places else ""


def _format_prompt(text: str) -> str:
    """Return the beginning of a prompt in one line."""
    line = " ".join(text.split())
    is_long = len(line) > _MAX_PROMPT_LENGTH
    return make_visible_line(f"{line[:_MAX_PROMPT_LENGTH].rstrip()}…" if is_long else line)


def _is_summary_line(line: str) -> bool:
    """Return whether a line has text that a summary needs: it is neither blank nor a fence."""
    return line.strip() != "" and not line.lstrip().startswith("```")


def _list_checks(story: Story) -> Iterator[str]:
    """Yield what a story says about the work: its end, the last test run, and commits."""
    if story.outcome and story.later_calls:
        plural = "" if story.later_calls == 1 else "s"
        yield f"{story.later_calls:,} tool call{plural} after this answer"
    if story.tests is not None:
        unknown = "has an unknown result" if story.tests.has_output else "has no recorded result"
        result = {True: "passed", False: "failed", None: unknown}
        program = make_visible_line(story.tests.program)
        yield f"the last test run {result[story.tests.passed]}: {program}"
    if story.commits:
        ids = " ".join(commit[:_COMMIT_LENGTH] for commit in story.commits if commit)
        count = len(story.commits)
        yield f"{count:,} commit{'' if count == 1 else 's'} {ids}".strip()
    elif story.has_unclear_commit:
        yield f"git commit: result {'unknown' if story.has_commit_output else 'not recorded'}"


def _format_call_line(row: Row) -> TerminalLine:
    """Return the line of a call, such as `→ Edit total.py (+6 -1)`.

    `✗` marks a failed call. How it ended follows, such as `exit 2`, `denied`, `running` or
    `no result`.
    """
    agent = f"[{make_visible_line(row.agent)}] " if row.agent else ""
    if row.tool:
        call = f"{make_visible_line(row.tool)} {make_visible_line(row.summary)}".strip()
    else:
        call = "result without a call"
    counts = f" ({format_changes(row.diffs)})" if row.diffs else ""
    failed = " ✗" if row.is_error else ""
    outcome = f" {make_visible_line(row.outcome)}" if row.outcome else ""
    text = f"  → {agent}{call}{counts}{failed}{outcome}"
    return TerminalLine(text, "error" if row.is_error else "call")


def _format_input(row: Row) -> Iterator[TerminalLine]:
    """Yield the arguments of a call, except for arguments that its line or diffs show."""
    if row.diffs:
        return
    for name, text in list_input_texts(row.entry.get("input")):
        if text == row.summary:
            continue
        label = f"{make_visible_line(name)}: " if name else ""
        for line in make_visible(text).strip("\n").split("\n"):
            yield TerminalLine(f"{_CALL_INDENT}{label}{line}", "dim")
            label = ""


def _format_parts(parts: Iterable[ContentPart]) -> Iterator[str]:
    """Yield the lines of texts, and a line in brackets about each image and other value."""
    for part in parts:
        if isinstance(part, TextPart):
            yield from make_visible(part.text).strip("\n").split("\n")
        elif isinstance(part, ImagePart):
            name = make_visible_line(part.name or part.media_type or "without a type")
            size = f", {len(part.data) * 3 // 4} bytes" if part.data else ""  # base64
            yield f"[image {name}{size}]"
        elif part.kind == "file" and get_text_argument(part.value, ("content",)) is not None:
            name = get_text_argument(part.value, PATH_ARGUMENTS) or "without a name"
            yield f"[file {make_visible_line(name)}]"
            yield from make_visible(part.value["content"]).strip("\n").split("\n")
        else:
            value = make_visible_line(format_json(part.value))
            yield f"[{make_visible_line(part.kind)}] {value}"


def _cut_around_match(line: str, sought: str) -> str:
    """Return the text sought, ignoring case, with up to 60 characters on both sides of it.

    `…` marks a cut. The line must contain the text.
    """
    match = max(0, line.lower().find(sought.lower()))
    start = max(0, match - _MATCH_CONTEXT_LENGTH)
    end = match + len(sought) + _MATCH_CONTEXT_LENGTH
    before = "…" if start else ""
    after = "…" if end < len(line) else ""
    return f"{before}{line[start:end].strip()}{after}"


def _format_hidden_lines(count: int, limit: int | None, indent: str) -> Iterator[TerminalLine]:
    """Yield a line about the lines beyond the limit; nothing if there are none, or no limit."""
    if limit and count > limit:
        hidden = count - limit
        yield TerminalLine(f"{indent}… {hidden:,} more {'line' if hidden == 1 else 'lines'}", "dim")
