"""What is said about a conversation before and after it, for people. Step: export.

Text of others in Markdown, from which it cannot get out. Step: export. Follows CommonMark 0.31.

What was said is quoted, so that it cannot pass for a turn of the conversation. Blocks of code in it
are fenced anew, with a fence that is longer than any in them. In all else no HTML, no picture and
no link is left: a page made of it loads nothing and runs nothing.

A record as Markdown, for tickets and for handing work over. Step: export.

Turns in their order, tools in a line each, edits as diffs. Outputs of tools are left to the record,
but for those that failed; pictures are named and never put in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_events,
    count_lost_members,
    is_encrypted_reasoning,
    select_rows,
)
from vacr.model import JsonObject
from vacr.record import format_timestamp
from vacr.viewer import (
    ASSISTANT_ROW,
    EVENT_ROW,
    REASONING_ROW,
    TOOL_ROW,
    USER_ROW,
    ContentPart,
    FileDiff,
    ImagePart,
    Row,
    TextPart,
    Totals,
    count_totals,
    format_json,
    make_visible,
)

SHOWN_SESSION_MEMBERS = frozenset(
    ("session-start", "session-end", "cli-name", "cli-version", "model-id", "models")
    + ("working-dir", "repository", "branch", "revision")
)
"""What `title` and `facts` tell of a session."""
OMITTED_ENTRY_MEMBERS = (
    "id",
    "parent-id",
    "call-id",
    "stop-reason",
    "status",
    "subject",
    "token-usage",
)
"""What people are not told of entries."""


def format_title(record: JsonObject) -> str:
    """Name the agent and its models."""
    meta = record["session"].get("agent-meta", {})
    who = (
        " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
        or "an agent"
    )
    return f"{who}, {', '.join(map(str, meta.get('models') or [meta.get('model-id', 'unknown')]))}"


def list_session_facts(
    record: JsonObject, asked: ExportRequest, left_out: int
) -> list[tuple[str, str]]:
    """Say which conversation it is, and which record it was made of."""
    session = record["session"]
    vcs = record.get("vcs", {})
    said = [
        ("session", str(session["session-id"])),
        ("folder", str(session.get("environment", {}).get("working-dir", ""))),
        (
            "repository",
            " ".join(
                str(vcs[name]) for name in ("repository", "branch", "revision") if name in vcs
            ),
        ),
        (
            "began",
            (format_timestamp(session["session-start"]) if "session-start" in session else "")
            or "",
        ),
        (
            "ended",
            (format_timestamp(session["session-end"]) if "session-end" in session else "") or "",
        ),
        ("record", record["id"]),
        ("SHA-256 of the record", asked.digest),
        ("left out", f"{left_out} rows, by filters" if left_out else ""),
    ]
    return [(name, value) for name, value in said if value]


def format_row_time(row: Row) -> str:
    """Say when something was said."""
    text = format_timestamp(row.time) if row.time is not None else None
    return f"{text[:19].replace('T', ' ')}" if text else ""


def describe_image(image: ImagePart) -> str:
    """Say what a picture is, without showing it."""
    size = f", {len(image.data) * 3 // 4} bytes" if image.data else ""
    return f"image {image.name or image.media_type or 'of no type'}{size}"


def list_totals(found: Totals) -> list[tuple[str, str]]:
    """Say what a conversation adds up to."""
    told = [("prompts", found.prompts), ("tool calls", found.calls), ("errors", found.errors)]
    said = [(name, str(count)) for name, count in told]
    if found.files:
        said.append(("files", f"{len(found.files)} (+{found.added} -{found.removed})"))
    if found.tokens:
        said.append(("tokens", f"{found.tokens['input']:,} in, {found.tokens['output']:,} out"))
    if found.cost:
        said.append(("cost", f"{found.cost:.2f} $"))
    return said


_FENCE_LINE = re.compile(r" {0,3}(?:(?P<ticks>`{3,})(?P<info>[^`]*)|(?P<tildes>~{3,})(?P<rest>.*))")
_BACKTICKS = re.compile("`+")
_LANGUAGE_NAME = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
_CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ACTIVE_MARKUP = re.compile(r"[<&]|!\[|\]\(|\]\[|\]:")
_PUNCTUATION = re.compile(r"[!-,.:-@\[-`{-~]")
_SPECIAL_CHARACTER = re.compile(r"[^A-Za-z0-9 .,:/-]")


def quote_text(text: str) -> Iterator[str]:
    """Give the lines of a text as a quotation."""
    for line in _render_lines(make_visible(text).strip("\n").split("\n")):
        yield f"> {line}".rstrip()


def fence_lines(lines: list[str], language: str = "") -> Iterator[str]:
    """Give lines as a block of code."""
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def format_code(text: str) -> str:
    """Give a text as code within a line."""
    line = " ".join(make_visible(text).split())
    if not line:
        return ""
    ticks = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def escape_markdown(text: str) -> str:
    """Give a text within a line, in which nothing means anything to Markdown."""
    return _SPECIAL_CHARACTER.sub(
        lambda found: f"&#{ord(found[0])};" if found[0].isascii() else found[0],
        " ".join(make_visible(text).split()),
    )


def format_table_cell(text: str) -> str:
    """Give a text as code in a cell of a table, in which nothing means anything to Markdown or to a
    site that shows it.
    """
    return f"<code>{_PUNCTUATION.sub(lambda found: f'&#{ord(found[0])};', ' '.join(make_visible(text).split()))}</code>"


def _render_lines(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        opened = _FENCE_LINE.fullmatch(lines[position])
        position += 1
        if opened is None:
            yield _defuse_line(lines[position - 1])
            continue
        mark = opened["ticks"] or opened["tildes"]
        language = _LANGUAGE_NAME.match((opened["info"] or opened["rest"] or "").strip())
        held = []
        while position < len(lines) and not _closes_fence(lines[position], mark):
            held.append(lines[position])
            position += 1
        position += 1
        yield from fence_lines(held, language[0] if language else "")


def _closes_fence(line: str, mark: str) -> bool:
    end = line.strip()
    return len(end) >= len(mark) and set(end) == {mark[0]} and len(line) - len(line.lstrip()) <= 3  # noqa: PLR2004 - as CommonMark has it


def _defuse_line(line: str) -> str:
    """Leave nothing in a line that would be HTML, a picture or a link; code in it is written as
    such, where it would look odd.
    """
    if not _ACTIVE_MARKUP.search(line):
        return line
    made, last = [], 0
    for span in _CODE_SPAN.finditer(line):
        if _ACTIVE_MARKUP.search(span[1]):
            made += [
                _defuse_markup(line[last : span.start()]),
                f"<code>{escape_markdown(span[1])}</code>",
            ]
            last = span.end()
    return "".join([*made, _defuse_markup(line[last:])])


def _defuse_markup(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        text.replace("![", "!\\[").replace("](", "]\\(").replace("][", "]\\[").replace("]:", "]\\:")
    )


_ROW_HEADINGS = {USER_ROW: "## User", ASSISTANT_ROW: "### Assistant", REASONING_ROW: "### Thought"}


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give a record as Markdown."""
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, asked.chosen, losses)
    with_events = EVENT_ROW in asked.chosen.kinds
    if not with_events:
        count_lost_events(
            (row for row in kept if row.kind == EVENT_ROW and not row.is_error), losses
        )
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *OMITTED_ENTRY_MEMBERS, about=SHOWN_SESSION_MEMBERS)
    lines = [f"# {escape_markdown(format_title(record))}", ""]
    lines += [
        f"- {name}: {format_code(value)}"
        for name, value in list_session_facts(record, asked, left_out)
    ]
    in_list = False
    for row in kept:
        if is_encrypted_reasoning(row) or (
            row.kind == EVENT_ROW and not with_events and not row.is_error
        ):
            continue
        is_item = row.kind in (TOOL_ROW, EVENT_ROW)
        # Items that follow each other are one list.
        lines += [] if is_item and in_list and lines[-1].startswith("- ") else [""]
        lines += _render_row(row, losses)
        in_list = is_item
    lines += ["", "---", ""] + [
        f"- {name}: {value}" for name, value in list_totals(count_totals(record, kept))
    ]
    return ExportedDocument(("\n".join(lines) + "\n").encode(), losses, left_out)


def _render_row(row: Row, losses: ExportLosses) -> Iterator[str]:
    if row.kind == EVENT_ROW:
        yield f"- {format_code(row.summary)} {format_row_time(row)}{' ✗' if row.is_error else ''}".rstrip()
        losses.update(["data of events"] if "data" in row.entry else [])
    elif row.kind == TOOL_ROW:
        yield from _render_tool(row, losses)
    else:
        told = [
            escape_markdown(one)
            for one in (
                row.agent,
                row.model if row.kind != USER_ROW else "",
                row.superseded,
                format_row_time(row),
            )
            if one
        ]
        yield " · ".join([_ROW_HEADINGS[row.kind], *told])
        for part in row.parts:
            yield ""
            yield from _render_part(part, losses)


def _render_tool(row: Row, losses: ExportLosses) -> Iterator[str]:
    what = (
        " ".join(part for part in (format_code(row.tool), format_code(row.summary)) if part)
        if row.tool
        else "a result without its call"
    )
    who = f"{escape_markdown(row.agent)}: " if row.agent else ""
    yield f"- {who}{what}{' ✗' if row.is_error else ''}"
    given = row.entry.get("input")
    losses.update(
        ["inputs of tools, told in a line"] if isinstance(given, dict) and len(given) > 1 else []
    )
    for diff in row.diffs:
        yield from _render_diff(diff)
    came = row.result or row
    if row.is_error:
        for part in came.parts:
            yield ""
            yield from _render_part(part, losses)
    elif came.parts:
        losses["outputs of tools"] += 1


def _render_diff(diff: FileDiff) -> Iterator[str]:
    yield ""
    yield f"{format_code(diff.path)} (+{diff.added} -{diff.removed})"
    if diff.lines:
        yield ""
        yield from fence_lines(
            [one for line in diff.lines for one in make_visible(line).split("\n")], "diff"
        )


def _render_part(part: ContentPart, losses: ExportLosses) -> Iterator[str]:
    if isinstance(part, TextPart):
        yield from quote_text(part.text)
    elif isinstance(part, ImagePart):
        losses["images"] += 1
        yield f"> {format_code(f'[{describe_image(part)}]')}"
    else:
        for line in fence_lines(make_visible(format_json(part.value)).split("\n"), "json"):
            yield f"> {line}"
