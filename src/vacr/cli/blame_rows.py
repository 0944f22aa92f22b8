"""The text output of `vacr blame`: a row for each line, and with -v the calls behind them.

>>> from vacr.cli.blame_rows import _shorten_model
>>> _shorten_model("anthropic/claude-sonnet-4-5-20250929")
'claude-sonnet-4-5'
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from vacr.blame import BlamedLine, LineBlame, LineClaim, Repository, read_commit_authors
from vacr.console import align_columns, cut_to_width
from vacr.errors import escape_unprintable
from vacr.files import STDIN
from vacr.workflows import EVIDENCE_NOTED, shorten_prompt

_NAMING_LENGTH = 13
"""How much of an id names a session: ids that begin with the time have its milliseconds there."""
_MAX_PROMPT_WIDTH = 40
_MIN_PROMPT_WIDTH = 12
_MIN_TEXT_WIDTH = 40
_MIN_TEXT_WIDTH_WITH_SESSION = 30
_MAX_MODEL_WIDTH = 24
_MODEL_DATE = re.compile(r"-20[0-9]{6}$")
_COLUMN_COMMIT_LENGTH = 8
_SESSION_COLUMN, _PROMPT_COLUMN = 1, 3  # among those of _format_contributor_columns
_DEFAULT_DATE_FORMAT = "iso"


@dataclass(frozen=True)
class RowStyle:
    """The columns of the text output that the user asked for."""

    long_ids: bool
    short_rows: bool
    show_email: bool
    date: str | None


def format_blame_rows(
    repository: Repository, lines: list[BlamedLine], style: RowStyle, width: int | None
) -> list[str]:
    """Return a row for each line: commit, writer, number and text, and the columns of `style`.

    With a `width`, rows are cut to it, and where space is short they have fewer columns.
    """
    length = None if style.long_ids else _COLUMN_COMMIT_LENGTH
    leading = [[line.commit[:length]] for line in lines]
    if style.show_email or style.date is not None:
        authors = read_commit_authors(
            repository, (line.commit for line in lines), style.date or _DEFAULT_DATE_FORMAT
        )
        for columns, line in zip(leading, lines, strict=True):
            author = authors.get(line.commit)
            if style.show_email:
                columns.append(author.mail if author is not None else "")
            if style.date is not None:
                columns.append(author.date if author is not None else "")
    writers = [_format_contributor_columns(line.blame) for line in lines]
    if style.short_rows:
        writers = [columns[:1] for columns in writers]
    numbers = [[f"{line.line})"] for line in lines]
    if width is not None:
        used = _measure_columns(leading) + _measure_columns(numbers) + 1
        writers = _fit_contributor_columns(writers, width - used - _MIN_TEXT_WIDTH)
    rows = [
        [*first, *who, *last] for first, who, last in zip(leading, writers, numbers, strict=True)
    ]
    aligned = align_columns(rows, right={len(rows[0]) - 1}) if rows else []
    shown = [
        f"{row} {escape_unprintable(line.text)}" for row, line in zip(aligned, lines, strict=True)
    ]
    return shown if width is None else [cut_to_width(row, width) for row in shown]


def _measure_columns(rows: list[list[str]]) -> int:
    """Return the width of aligned columns, each with the gap after it.

    `rows` are the cells; all rows have the same number of them.
    """
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))


def _fit_contributor_columns(rows: list[list[str]], space: int) -> list[list[str]]:
    """Return the columns about writers that fit into a space: the model, then as many as possible.

    The name of a model loses its vendor. The prompt, in the last column, may be cut.
    """
    rows = [[_shorten_model(row[0]), *row[1:]] for row in rows]
    kept = [row[:1] for row in rows]
    for index in range(1, len(rows[0]) if rows else 1):
        rest = space - _measure_columns(kept) - 2
        if index == _SESSION_COLUMN:
            # The session matters more than the end of long lines.
            rest += _MIN_TEXT_WIDTH - _MIN_TEXT_WIDTH_WITH_SESSION
        column = [row[index] for row in rows]
        needed = max(map(len, column))
        if index == _PROMPT_COLUMN and rest >= min(needed, _MIN_PROMPT_WIDTH):
            column = [cut_to_width(text, rest) for text in column]
        elif needed > rest:
            break
        kept = [[*row, text] for row, text in zip(kept, column, strict=True)]
    return kept


def _shorten_model(name: str) -> str:
    """Return the name of a model without its vendor and its date, cut if it is long."""
    return cut_to_width(_MODEL_DATE.sub("", name.rpartition("/")[2] or name), _MAX_MODEL_WIDTH)


def _format_contributor_columns(blame: LineBlame | None) -> list[str]:
    """Return four columns about a line: model, conversation, evidence and prompt.

    For a line without proof, the first is `unknown` and the others are empty.
    """
    if blame is None:
        return ["unknown", "", "", ""]
    model = blame.claim.model or "ai"
    if blame.type == "mixed":
        model = f"{model} + {blame.changed_by or 'unknown'}"
    return [
        "human" if blame.type == "human" else model,
        blame.claim.session[:8],
        _format_evidence(blame.claim),
        shorten_prompt(blame.claim, _MAX_PROMPT_WIDTH),
    ]


def _format_evidence(claim: LineClaim) -> str:
    """Return the evidence of a claim; a question mark says that the time of the call is uncertain.

    Notes never have one.
    """
    is_doubtful = claim.doubt and claim.evidence != EVIDENCE_NOTED
    return claim.evidence + ("?" if is_doubtful else "")


def describe_calls(lines: Sequence[BlamedLine], records: Sequence[str] = ()) -> list[str]:
    """Return lines of text about the calls that wrote lines: session, prompt, evidence and entry.

    The last line, which comes even without calls, states how to read a call. `records` are the
    paths that the user named; without any, the sessions are those of this machine.
    """
    calls: dict[tuple[str, str], list[BlamedLine]] = {}
    for line in lines:
        if line.blame is not None:
            claim = line.blame.claim
            calls.setdefault((claim.session, claim.entry), []).append(line)
    texts = []
    for (session, entry), own in calls.items():
        numbers = format_line_numbers([line.line for line in own])
        texts.append(f"session {session or 'unknown'}: {numbers}")
        claim = next(line.blame.claim for line in own if line.blame is not None)
        texts += [f"  by: {made}"] if (made := _describe_origin(claim)) else []
        texts += [f"  prompt: {shorten_prompt(claim)}"] if claim.prompt.strip() else []
        texts.append(f"  evidence: {_format_evidence(claim)}")
        texts += [f"  entry: {entry}"] if entry else []
    texts.append(f"To read a call: {_format_show_command(list(calls), records)}")
    return texts


def _describe_origin(claim: LineClaim) -> str:
    """Return the agent that made a call, and when; empty if neither is known.

    The time is that of this time zone, or of an unknown one if the session states none.
    """
    when = ""
    if claim.time is not None:
        with suppress(OverflowError, ValueError, OSError):
            moment = datetime.fromtimestamp(claim.time, UTC)
            when = f"{moment if claim.zoneless else moment.astimezone():%Y-%m-%d %H:%M}"
    return ", ".join(filter(None, (claim.agent, when)))


def _format_show_command(calls: Sequence[tuple[str, str]], records: Sequence[str]) -> str:
    """Return the command that shows the only call; for several calls, with names to fill in.

    `calls` are the session and the entry of each call. A sub-agent is shown with its session.
    """
    session, entry = calls[0] if len(calls) == 1 else ("", "")
    source = session.partition("/")[0]
    if records:
        source = records[0] if len(records) == 1 and records[0] != STDIN else ""
    else:
        # In full, the command would break in the middle of a narrow terminal.
        source = source[:_NAMING_LENGTH]
    return shlex.join(["vacr", "show", source or "SESSION", "--entry", entry or "ENTRY"])


def format_line_numbers(numbers: Sequence[int]) -> str:
    """Return ascending numbers of lines as ranges, such as `line 7` or `lines 1-5, 7`.

    There must be at least one number.
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    shown = ", ".join("-".join(map(str, item)) for item in ranges)
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}"
