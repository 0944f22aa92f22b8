"""`vacr show`: a conversation in the terminal.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["show", "examples/claude-code.jsonl", "--only", "user"])
    Fix invoice rounding
    claude-code 2.1.72, claude-opus-4-6
    6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113 · /home/mira/invoice · 2026-03-14 ...
    <BLANKLINE>
    User  2026-03-14 ...
      The invoice total is off by a cent for some orders. Find out why and fix it. 🧾
    <BLANKLINE>
    1 prompt, 4 tool calls, 1 failed, 1 file (+6 -1), 18 s, 97,316 tokens in, ...
    0

Without a filter, the request and the outcome come first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import (
    PATH,
    Verb,
    build_filter,
    filter_options,
    load_prices,
    prices_option,
    streaming_voice_options,
)
from vacr.cli.selection import Selection, selection_options
from vacr.console import Voice, get_terminal_width, print_text, wrap_to_width
from vacr.errors import VacrError
from vacr.record import format_timestamp, get_epoch_milliseconds
from vacr.verification import escape_verdict_marks
from vacr.viewer import (
    ASSISTANT_ROW,
    DETAIL_LEVELS,
    NORMAL_DETAIL,
    REASONING_ROW,
    USER_ROW,
    PriceTable,
    Row,
    RowFilter,
    RowFormatter,
    Story,
    TerminalLine,
    Totals,
    add_usage,
    build_rows,
    count_passing_rows,
    format_line_counts,
    format_record_title,
    format_recorded_time,
    get_working_folder,
    join_texts,
    list_cost_facts,
    make_visible_line,
    tell_story,
)
from vacr.workflows import (
    InputRecord,
    abbreviate_home,
    check_input_name,
    format_count,
    is_agent_name,
    read_input_records,
)

_ANSI_STYLES = {
    "head": "1",
    "dim": "2",
    "error": "31",
    "added": "32",
    "removed": "31",
    "call": "36",
}
_PROSE_LOOKS = frozenset(("text", "dim"))
_DIFF_LOOKS = frozenset(("added", "removed"))
_MESSAGE_ROWS = (USER_ROW, ASSISTANT_ROW, REASONING_ROW)
_EXIT_NO_MATCH = 1


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("paths", nargs=-1, metavar="[RECORD|SESSION|FOLDER]...", type=PATH)
@click.option(
    "--detail",
    type=click.Choice(DETAIL_LEVELS),
    default=NORMAL_DETAIL,
    show_default=True,
    help="How much of each row to show.",
)
@selection_options
@filter_options
@prices_option
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="When to use colours.  [default: on a terminal]",
)
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@streaming_voice_options
def command(
    paths: tuple[str, ...],
    detail: str,
    color: str,
    no_pager: bool,
    prices: str | None,
    agent: str | None,
    project: str | None,
    repo: str | None,
    since: str | None,
    until: str | None,
    format: str,
    quiet: bool,
    verbose: int,
    **filters: Any,
) -> int:
    """Show a conversation in the terminal.

    Request and outcome come first, then prompts, answers, tool calls and edits as diffs, and the
    totals. Without paths, --agent, --project, --repo, --since and --until choose among all sessions
    on this machine. Of several records, or of a FOLDER, all conversations are shown; with a filter,
    only those with a match. -v shows the place of each row in the record, for --entry and for
    links. Times are those of your time zone. Control characters are escaped, so a session cannot
    affect your terminal. No signature is verified; use `vacr verify` for that. If a record was
    modified after it was made, a warning comes first, and the exit code is 1.

    \b
    Example:
      vacr show latest
      vacr show latest --agent claude-code --project .
      vacr show --agent claude-code --since yesterday
      vacr show abc.acr.json --detail full --only tool --errors
      vacr show ~/.claude/projects/x/abc.jsonl --grep "rm -rf"
      vacr show records/ --grep "rm -rf" --only tool -v
    """
    voice = Voice(format, quiet, verbose)
    paths = Selection(agent, project, repo, since, until).choose(paths, voice)
    row_filter = build_filter(**filters)
    run = _ShowRun(paths, row_filter, load_prices(prices), voice)
    run.drop_missing_paths()
    if voice.json:
        run.print_rows()
    else:
        formatter = RowFormatter(
            detail,
            bool("event" in row_filter.kinds or row_filter.text or row_filter.names),
            row_filter.text,
            places=bool(verbose),
            format_time=_format_local_time,
        )
        width = get_terminal_width(sys.stdout)
        coloured = color == "always" or (
            color == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        )
        _print_paged(
            (_style_lines(lines, coloured=coloured, width=width) for lines in run.lines(formatter)),
            coloured=coloured,
            paged=not no_pager,
        )
    if run.count or row_filter == RowFilter():
        return run.exit_code
    voice.notice(f"vacr: {', '.join(paths)}: no entries match")
    if row_filter.tools and run.tools:
        voice.notice(f"  Tools that occur: {', '.join(sorted(run.tools))}.")
    return run.exit_code or _EXIT_NO_MATCH


class _ShowRun:
    """One run of `vacr show`: reads the records at some paths, and counts the rows that match."""

    def __init__(
        self, paths: Sequence[str], row_filter: RowFilter, prices: PriceTable, voice: Voice
    ) -> None:
        """Take the paths of records and folders, the filter for rows, and the prices of models."""
        self.paths, self.row_filter, self.voice = paths, row_filter, voice
        self.prices = prices
        self.are_several = len(paths) > 1 or Path(paths[0]).is_dir()
        self.count = self.exit_code = 0
        # With a filter, the head of a record with its warning is shown only above a match.
        in_head = row_filter == RowFilter()
        self.modified = ModifiedRecords(voice, in_results=False, in_own_results=in_head)
        self.tools: set[str] = set()

    def drop_missing_paths(self) -> None:
        """Report the paths that do not exist, before pages of another conversation, and drop them.

        Raises:
            VacrError: one of several paths is the name of an agent, so the others are hardly meant.
        """
        found = []
        for path in self.paths if self.are_several else ():
            try:
                check_input_name(path)
            except VacrError as error:
                if is_agent_name(path):
                    raise
                self._report_failure(error)
            else:
                found.append(path)
        if self.are_several:
            self.paths = found

    def print_rows(self) -> None:
        """Print the matching rows as JSON."""
        documents = []
        for recording in self._read_records():
            self._warn_if_modified(recording)
            for row in self._select_rows(recording, Totals()):
                described = _build_row_document(recording, row)
                self.voice.line(described)
                if self.voice.format == "json":
                    documents.append(described)
        self.voice.data({"rows": documents, "modified": self.modified.documents})

    def lines(self, formatter: RowFormatter) -> Iterator[Iterable[TerminalLine]]:
        """Yield the lines of each matching row, with a head and totals for each session.

        With a filter, sessions without a match yield nothing.
        """
        between: list[TerminalLine] = []
        for recording in self._read_records():
            self._warn_if_modified(recording)
            totals = Totals(sessions=1)
            head = [*between, *self._format_warning(recording)]
            has_head = self.row_filter == RowFilter()
            story = tell_story([recording.record]) if has_head else Story()
            head += _format_session_head(recording, story.asked, named=self.are_several)
            if has_head:
                summary = list(formatter.summarize(story))
                yield [*head, TerminalLine(""), *summary] if summary else head
            shown = formatter.conversation(self._select_rows(recording, totals))
            for lines in shown:
                if not has_head:
                    yield head
                has_head = True
                yield lines
            if has_head:
                add_usage(recording.record, totals, self.prices)
                yield (
                    TerminalLine(""),
                    TerminalLine(_format_totals(totals, self.prices.date), "dim"),
                )
                between = [TerminalLine("")]

    def _read_records(self) -> Iterator[InputRecord]:
        """Yield the records at all paths; if there are several, report one that is unreadable.

        Raises:
            VacrError: the only path cannot be read, or has no records.
        """
        for path in self.paths:
            try:
                yield from read_input_records(path, changed=True, failed=self._report_failure)
            except VacrError as error:
                if len(self.paths) == 1:
                    raise
                self._report_failure(error)

    def _format_warning(self, recording: InputRecord) -> Iterator[TerminalLine]:
        """Yield the line that warns about a modified record; nothing for another record."""
        if recording.modified:
            warning = self.modified.format_warning(recording.path, recording.modified)
            yield TerminalLine(make_visible_line(warning), "error")

    def _warn_if_modified(self, recording: InputRecord) -> None:
        """Warn on standard error about a modified record, and raise the exit code."""
        self.modified.warn(recording.path, recording.modified)
        self.exit_code = max(self.exit_code, self.modified.exit_code)

    def _report_failure(self, error: VacrError) -> None:
        """Print an error about a record, and raise the exit code to its own."""
        self.voice.error(f"vacr: {error}", error.hint)
        self.exit_code = max(self.exit_code, error.exit_code)

    def _select_rows(self, recording: InputRecord, totals: Totals) -> Iterator[Row]:
        """Yield the rows that match the filter; add all rows to the totals."""
        folder = get_working_folder(recording.record)
        rows = count_passing_rows(build_rows(recording.record), totals, folder)
        for row in self.row_filter.chosen(rows):
            self.count += 1
            yield row
        self.tools.update(totals.tools)


def _build_row_document(recording: InputRecord, row: Row) -> dict[str, Any]:
    """Return the facts about a row for JSON output."""
    return {
        "source": recording.path,
        "session-id": recording.record["session"].get("session-id"),
        "place": row.place,
        "id": row.name,
        "time": format_timestamp(row.time) if row.time is not None else None,
        "kind": row.kind,
        "tool": row.tool or None,
        "summary": row.summary or None,
        "is-error": row.is_error,
        "modified": bool(recording.modified),
        "status": row.status or None,
        "exit-code": row.exit_code,
        "meaning": row.meaning or None,
        "speaker": row.speaker or None,
        "text": join_texts(row.shown_parts) if row.kind in _MESSAGE_ROWS else None,
        "reason": row.reason or None,
    }


def _print_paged(text: Iterator[str], *, coloured: bool, paged: bool) -> None:
    """Print text piece by piece; through a pager if `paged` and standard output is a terminal."""
    if not paged or not sys.stdout.isatty():
        for piece in text:
            if not print_text(piece, color=coloured, newline=False):
                break
        return
    # As in git: less shows colours, quits if one screen is enough, and leaves the text there.
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager(_drop_last_line_end(text), color=None if coloured else False)


def _drop_last_line_end(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the pieces of a text without the line end of the last one, which click adds."""
    held = ""
    for piece in pieces:
        yield held
        held = piece
    yield held.removesuffix("\n")


def _style_lines(lines: Iterable[TerminalLine], *, coloured: bool, width: int | None) -> str:
    """Return lines as text, with ANSI colours for their looks if `coloured`.

    Lines that are wider than a `width` are broken between words, except for those of a diff.
    """
    styled = []
    for text, look in lines:
        style = _ANSI_STYLES.get(look) if coloured else None
        if look in _DIFF_LOOKS:
            pieces = [text]
        else:
            pieces = wrap_to_width(text, width, hanging=0 if look in _PROSE_LOOKS else 2)
        for piece in pieces:
            styled.append(f"\033[{style}m{piece}\033[0m\n" if style else f"{piece}\n")
    return "".join(styled)


def _format_session_head(
    recording: InputRecord, asked: str, *, named: bool
) -> Iterator[TerminalLine]:
    """Yield the title, agent and models, and a line with id, folder and start of a session.

    If `named`, the path of the record comes first. A title that repeats the prompt is left out.
    """
    if named:
        yield TerminalLine(make_visible_line(abbreviate_home(recording.path)), "dim")
    title = format_record_title(recording.record, "")
    if title and not " ".join(asked.split()).startswith(title.removesuffix("…")):
        yield TerminalLine(escape_verdict_marks(title), "head")
    session = recording.record["session"]
    meta = session.get("agent-meta", {})
    agent = " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
    models = map(str, meta.get("models") or [meta.get("model-id", "")])
    where = session.get("environment", {}).get("working-dir", "")
    known = ", ".join(name for name in (agent, *models) if name not in ("", "unknown"))
    yield TerminalLine(escape_verdict_marks(make_visible_line(known)))
    session_id = session.get("session-id", "")
    shown_id = session_id.hex() if isinstance(session_id, bytes) else session_id
    shown_start = _format_local_time(session["session-start"]) if "session-start" in session else ""
    facts = " · ".join(str(fact) for fact in (shown_id, where, shown_start) if fact)
    yield TerminalLine(escape_verdict_marks(make_visible_line(facts)), "dim")


def _format_local_time(time: str | float) -> str:
    """Return a time in this time zone, like `vacr list`; as it was recorded if it has no zone."""
    milliseconds = get_epoch_milliseconds(time)
    if milliseconds is not None:
        with suppress(OverflowError, ValueError, OSError):
            moment = datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone()
            return moment.strftime("%Y-%m-%d %H:%M:%S")
    return format_recorded_time(time)


def _format_totals(totals: Totals, price_date: str) -> str:
    """Return the totals of a session, such as `1 prompt, 4 tool calls, 1 failed`."""
    parts = [
        format_count(totals.prompts, "prompt"),
        format_count(totals.calls, "tool call"),
    ]
    if totals.failed_calls:
        parts.append(f"{totals.failed_calls:,} failed")
    if totals.error_events:
        parts.append(format_count(totals.error_events, "error event"))
    if totals.files:
        lines = format_line_counts(totals.added, totals.removed)
        parts.append(f"{format_count(len(totals.files), 'file')} ({lines})")
    if totals.milliseconds:
        parts.append(_format_duration(totals.milliseconds // 1000))
    # Some agents record only the output: then the input is unknown, not 0.
    used, made = totals.tokens["input"], totals.tokens["output"]
    if used:
        parts.append(f"{used:,} tokens in, {made:,} out")
    elif made:
        parts.append(f"{made:,} tokens out")
    if cost := list_cost_facts(totals.cost, price_date):
        parts.append(escape_verdict_marks("; ".join(cost)))
    return ", ".join(parts)


def _format_duration(seconds: int) -> str:
    """Return a duration in its two largest units: `18 s`, `3 min 20 s` or `1 h 5 min`."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
