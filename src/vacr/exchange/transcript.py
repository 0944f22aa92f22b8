r"""A record as a transcript for people: as Markdown, or as a page of plain HTML.

Markdown is for tickets and for handing work over; it follows CommonMark 0.31. Tool calls take a
line each, and edits are diffs. Outputs of tools are left out unless the call failed, and images are
named, not embedded. The HTML page has everything, with images, and needs no script. To get a page
that verifies its record, use `vacr view`.

The text of a conversation is untrusted. In Markdown, messages are quoted, so that they cannot pass
for a turn of the conversation; code blocks get a fence longer than any inside; HTML, images and
links are made inactive. In HTML, all text is escaped, and the content security policy forbids
scripts and requests.

    >>> from vacr.exchange.transcript import quote_text
    >>> print(*quote_text("## Approved\n<img src=//evil.example> [ok](//evil.example)"), sep="\n")
    > ## Approved
    > &lt;img src=//evil.example> [ok]\(//evil.example)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import Any

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
from vacr.model import JsonObject, Timestamp
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
    format_changes,
    format_json,
    format_line_counts,
    format_record_title,
    is_silent_start,
    join_texts,
    list_cost_facts,
    load_price_table,
    make_visible,
    make_visible_line,
)

_SHOWN_SESSION_MEMBERS = frozenset(
    (
        "session-start",
        "session-end",
        "cli-name",
        "cli-version",
        "model-id",
        "models",
        "working-dir",
        "repository",
        "branch",
        "revision",
    )
)
"""The members that `_list_session_facts` shows."""
_OMITTED_ENTRY_MEMBERS = (
    "id",
    "parent-id",
    "call-id",
    "stop-reason",
    "status",
    "subject",
    "token-usage",
)
"""The members of entries that a transcript leaves out."""

_MODIFIED_ADVICE = "Do not rely on this conversation."

_MARKDOWN_HEADINGS = {
    ASSISTANT_ROW: "### Assistant",
    REASONING_ROW: "### Thought",
}

_FENCE_LINE = re.compile(r" {0,3}(?:(?P<ticks>`{3,})(?P<info>[^`]*)|(?P<tildes>~{3,})(?P<rest>.*))")
_MIN_FENCE_LENGTH = 3
_MAX_FENCE_INDENT = 3
_BACKTICKS = re.compile("`+")
_LANGUAGE_NAME = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
_CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_ACTIVE_MARKUP = re.compile(r"[<&]|!\[|\]\(|\]\[|\]:")
_PUNCTUATION = re.compile(r"[!-,.:-@\[-`{-~]")
_SPECIAL_CHARACTER = re.compile(r"[^A-Za-z0-9 .,:/-]")

_CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_STYLE_SHEET = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:0 auto;padding:1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font:inherit}
details pre,.diff{font:13px/1.4 ui-monospace,monospace}
section{margin:.6rem 0;padding:.3rem .8rem;border-left:3px solid #8886}
.user{border-color:#27c}.error{border-color:#c22}
h2{font-size:.9rem;margin:.2rem 0}
.added{background:#2a24}.removed{background:#c224}
.event{font-size:.8rem;margin:.1rem 0;opacity:.75}
h1{font-size:1.3rem}img{max-width:100%}
.modified{color:#fff;background:#b00;padding:.5rem .8rem;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}
dt{font-weight:600}dd{margin:0;min-width:0;overflow-wrap:anywhere}
"""
_SHOWN_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_HTML_HEADINGS = {ASSISTANT_ROW: "Assistant", REASONING_ROW: "Thought"}
_DIFF_CLASSES = {"+": "added", "-": "removed"}
_MAX_PROMPT_LENGTH = 80
_UNNAMED = ("", "unknown")


# Markdown


def export_markdown(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as Markdown; tool outputs are left out unless the call failed.

    Events are left out too, unless they failed or `request.chosen` asks for events.

    Raises:
        InvalidRecord: filters are set, and no row matches them.
    """
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, request.chosen, losses)
    if EVENT_ROW not in request.chosen.kinds:
        hidden = [row for row in kept if row.kind == EVENT_ROW and not row.is_error]
    else:
        hidden = []
    count_lost_events(hidden, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *_OMITTED_ENTRY_MEMBERS, about=_SHOWN_SESSION_MEMBERS)
    title = format_record_title(record, _name_agent(record))
    lines = [f"# {escape_markdown(title)}", ""]
    if request.modified:
        warning = f"**Warning: {escape_markdown(request.modified)}.**"
        lines += [f"{warning} {_MODIFIED_ADVICE}", ""]
    facts = _list_session_facts(record, left_out)
    lines += [f"- {name}: {format_code(value)}" for name, value in facts]
    hidden_places = {row.place for row in hidden}
    in_list = False
    previous: Row | None = None
    for row in kept:
        if row.place in hidden_places or is_encrypted_reasoning(row):
            continue
        is_item = row.kind in (TOOL_ROW, EVENT_ROW)
        # Items that follow each other are one list.
        if not (is_item and in_list and lines[-1].startswith("- ")):
            lines.append("")
        if is_silent_start(row, previous):
            lines += [_render_markdown_heading(replace(row, kind=ASSISTANT_ROW)), ""]
        lines += _render_markdown_row(row, losses)
        in_list = is_item
        previous = row if row.kind != EVENT_ROW else previous
    lines += ["", "---", ""]
    totals = _list_totals(record, kept, request, escape_markdown)
    lines += [f"- {name}: {value}" for name, value in totals]
    lines += [f"- {name}: {format_code(value)}" for name, value in _list_ids(record, request)]
    return ExportedDocument(("\n".join(lines) + "\n").encode(), losses, left_out)


def _render_markdown_row(row: Row, losses: ExportLosses) -> Iterator[str]:
    """Yield the Markdown lines of a row: an item for a call or event, or a message."""
    if row.kind == EVENT_ROW:
        failed = " ✗" if row.is_error else ""
        reason = f": {format_code(row.reason)}" if row.reason else ""
        yield f"- {format_code(row.summary)}{reason} {_format_row_time(row)}{failed}".rstrip()
        if "data" in row.entry:
            losses["data of events"] += 1
    elif row.kind == TOOL_ROW:
        yield from _render_markdown_call(row, losses)
    else:
        yield _render_markdown_heading(row)
        _count_hidden_text(row, losses)
        yield from _render_markdown_parts(row.shown_parts, losses)


def _render_markdown_heading(row: Row) -> str:
    """Return the heading of a message: who speaks, the sub-agent, the model, and the time."""
    model = row.model if row.kind != USER_ROW else ""
    details = (row.agent, model, row.superseded, _format_row_time(row))
    shown = [escape_markdown(detail) for detail in details if detail]
    heading = f"## {row.speaker_name}" if row.kind == USER_ROW else _MARKDOWN_HEADINGS[row.kind]
    return " · ".join([heading, *shown])


def _count_hidden_text(row: Row, losses: ExportLosses) -> None:
    """Count a prompt in `losses` if the host added text to it, because that text is not shown."""
    if row.prompt and join_texts(row.parts) != row.prompt:
        losses["texts that the host added to prompts"] += 1


def _render_markdown_call(row: Row, losses: ExportLosses) -> Iterator[str]:
    """Yield the lines of a tool call: its summary, its diffs, and its output if it failed."""
    call = "a result without its call"
    if row.tool:
        call = " ".join(filter(None, (format_code(row.tool), format_code(row.summary))))
    agent = f"{escape_markdown(row.agent)}: " if row.agent else ""
    outcome = f" {escape_markdown(row.outcome)}" if row.outcome else ""
    yield f"- {agent}{call}{' ✗' if row.is_error else ''}{outcome}"
    arguments = row.entry.get("input")
    if isinstance(arguments, dict) and len(arguments) > 1:
        losses["inputs of tools, shortened to a line"] += 1
    for diff in row.diffs:
        yield from _render_markdown_diff(diff)
    output = (row.result or row).parts
    if row.is_error:
        yield from _render_markdown_parts(output, losses)
    elif output:
        losses["outputs of tools"] += 1


def _render_markdown_diff(diff: FileDiff) -> Iterator[str]:
    """Yield the lines of a diff: path and counts, then the changed lines as code."""
    yield ""
    yield f"{format_code(diff.path)} ({format_changes([diff])})"
    if diff.lines:
        lines = [visible for line in diff.lines for visible in make_visible(line).split("\n")]
        yield ""
        yield from _fence_lines(lines, "diff")


def _render_markdown_parts(parts: list[ContentPart], losses: ExportLosses) -> Iterator[str]:
    """Yield the lines of a message: quoted text, names of images, and other parts as JSON."""
    for part in parts:
        yield ""
        if isinstance(part, TextPart):
            yield from quote_text(part.text)
        elif isinstance(part, ImagePart):
            losses["images"] += 1
            yield f"> {format_code(f'[{_describe_image(part)}]')}"
        else:
            lines = make_visible(format_json(part.value)).split("\n")
            for line in _fence_lines(lines, "json"):
                yield f"> {line}"


# Untrusted text in Markdown


def quote_text(text: str) -> Iterator[str]:
    """Yield the lines of a text as a Markdown quotation, with inactive markup."""
    for line in _deactivate_lines(make_visible(text).strip("\n").split("\n")):
        yield f"> {line}".rstrip()


def format_code(text: str) -> str:
    """Return a text as a Markdown code span on one line; empty for blank text."""
    line = _make_one_line(text)
    if not line:
        return ""
    ticks = "`" * (_count_longest_backticks([line]) + 1)
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def escape_markdown(text: str) -> str:
    """Return a text as one line, with special ASCII characters as HTML entities."""
    return _SPECIAL_CHARACTER.sub(
        lambda special: f"&#{ord(special[0])};" if special[0].isascii() else special[0],
        _make_one_line(text),
    )


def format_table_cell(text: str) -> str:
    """Return a text as a `<code>` element for a cell of a Markdown table.

    ASCII punctuation becomes HTML entities, so that the text cannot end the cell.
    """
    escaped = _PUNCTUATION.sub(lambda mark: f"&#{ord(mark[0])};", _make_one_line(text))
    return f"<code>{escaped}</code>"


def _make_one_line(text: str) -> str:
    """Return a text on one line, with single spaces and visible control characters."""
    return " ".join(make_visible(text).split())


def _fence_lines(lines: list[str], language: str = "") -> Iterator[str]:
    """Yield lines as a block of code, in a fence longer than any inside.

    `language` follows the opening fence.
    """
    fence = "`" * max(_MIN_FENCE_LENGTH, _count_longest_backticks(lines) + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _count_longest_backticks(lines: list[str]) -> int:
    """Return the length of the longest run of backticks, or 0."""
    return max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)


def _deactivate_lines(lines: list[str]) -> Iterator[str]:
    """Yield lines without active markup; blocks of code get new fences."""
    index = 0
    while index < len(lines):
        opening = _FENCE_LINE.fullmatch(lines[index])
        index += 1
        if opening is None:
            yield _deactivate_line(lines[index - 1])
            continue
        mark = opening["ticks"] or opening["tildes"]
        language = _LANGUAGE_NAME.match((opening["info"] or opening["rest"] or "").strip())
        code = []
        while index < len(lines) and not _closes_fence(lines[index], mark):
            code.append(lines[index])
            index += 1
        index += 1
        yield from _fence_lines(code, language[0] if language else "")


def _closes_fence(line: str, mark: str) -> bool:
    """Return whether a line closes the block of code that the fence `mark` opened."""
    fence = line.strip()
    indent = len(line) - len(line.lstrip())
    is_fence = len(fence) >= len(mark) and set(fence) == {mark[0]}
    return is_fence and indent <= _MAX_FENCE_INDENT


def _deactivate_line(line: str) -> str:
    """Return a line with its HTML, images and links made inactive.

    A code span with such markup in it becomes a `<code>` element, because backslashes would show.
    """
    if not _ACTIVE_MARKUP.search(line):
        return line
    pieces, last = [], 0
    for span in _CODE_SPAN.finditer(line):
        if _ACTIVE_MARKUP.search(span[1]):
            pieces.append(_deactivate_markup(line[last : span.start()]))
            pieces.append(f"<code>{escape_markdown(span[1])}</code>")
            last = span.end()
    pieces.append(_deactivate_markup(line[last:]))
    return "".join(pieces)


def _deactivate_markup(text: str) -> str:
    """Return text with escaped HTML, images and links.

    Text in backticks is escaped too, so pass only text without code spans to be kept.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = text.replace("![", "!\\[").replace("](", "]\\(")
    return text.replace("][", "]\\[").replace("]:", "]\\:")


# HTML


def export_html(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as an HTML page without scripts.

    Raises:
        InvalidRecord: filters are set, and no row matches them.
    """
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, request.chosen, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *_OMITTED_ENTRY_MEMBERS, about=_SHOWN_SESSION_MEMBERS)
    title = _escape_html(format_record_title(record, _name_agent(record)))
    facts = [
        *_list_session_facts(record, left_out),
        *_list_totals(record, kept, request, make_visible_line),
        *_list_ids(record, request),
    ]
    about = "".join(
        f"<dt>{_escape_html(name)}</dt><dd>{_escape_html(value)}</dd>" for name, value in facts
    )
    body = "\n".join(_render_html_sections(kept, losses))
    warning = ""
    if request.modified:
        message = f"<strong>Warning: {_escape_html(request.modified)}.</strong>"
        warning = f'<p class="modified" role="alert">{message} {_MODIFIED_ADVICE}</p>'
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_STYLE_SHEET}</style></head>"
        f"<body>{warning}<h1>{title}</h1><p>Shown as recorded, not verified.</p><dl>{about}</dl>"
        f"{_render_prompt_links(kept)}<main>\n{body}\n</main></body></html>\n"
    )
    return ExportedDocument(page.encode(), losses, left_out)


def _render_prompt_links(kept: list[Row]) -> str:
    """Return an HTML list of links to the user's messages, or an empty text without any."""
    items = [
        f'<li><a href="#{_make_anchor(row)}">{_escape_html(line)}</a></li>'
        for row in kept
        if row.is_prompt and (line := _get_first_line(row))
    ]
    return f'<nav aria-label="Prompts"><ol>{"".join(items)}</ol></nav>' if items else ""


def _get_first_line(row: Row) -> str:
    """Return the first line of a message, cut to 80 characters; empty if it has no text."""
    return join_texts(row.shown_parts).strip().partition("\n")[0][:_MAX_PROMPT_LENGTH]


def _make_anchor(row: Row) -> str:
    """Return the HTML id of a row: `e14.0` for `/session/entries/14/children/0`."""
    position = row.place.removeprefix("/session/entries").replace("/children/", ".")
    return "e" + position.replace("/", "")


def _render_html_sections(kept: list[Row], losses: ExportLosses) -> Iterator[str]:
    """Yield the section of each row, and a heading before calls without a message of the model."""
    previous: Row | None = None
    for row in kept:
        if is_encrypted_reasoning(row):
            continue
        if is_silent_start(row, previous):
            details = (row.agent, row.model, _format_row_time(row))
            detail_line = " · ".join(_escape_html(detail) for detail in details if detail)
            heading = f"<h2>{_HTML_HEADINGS[ASSISTANT_ROW]} {detail_line}</h2>"
            yield f'<section class="{ASSISTANT_ROW}">{heading}</section>'
        yield _render_html_section(row, losses)
        previous = row if row.kind != EVENT_ROW else previous


def _render_html_section(row: Row, losses: ExportLosses) -> str:
    """Return a row as an HTML section; add what HTML cannot show to `losses`."""
    classes = f"{row.kind} error" if row.is_error else row.kind
    details = (
        row.agent,
        row.model if row.kind != USER_ROW else "",
        row.superseded,
        "failed" if row.is_error else "",
        row.outcome,
        _format_row_time(row),
    )
    detail_line = " · ".join(_escape_html(detail) for detail in details if detail)
    content = "".join(_render_html_row(row, detail_line, losses))
    return f'<section class="{classes}" id="{_make_anchor(row)}">{content}</section>'


def _render_html_row(row: Row, detail_line: str, losses: ExportLosses) -> Iterator[str]:
    """Yield the HTML inside the section of a row; `detail_line` is escaped."""
    if row.kind == EVENT_ROW:
        reason = f": {_escape_html(row.reason)}" if row.reason else ""
        head = f"{_escape_html(row.summary)}{reason} {detail_line}"
        yield _render_html_details(head, _render_html_json(row.entry.get("data")))
    elif row.kind == TOOL_ROW:
        yield from _render_html_call(row, detail_line, losses)
    else:
        heading = row.speaker_name if row.kind == USER_ROW else _HTML_HEADINGS[row.kind]
        head = f"{heading} {detail_line}"
        _count_hidden_text(row, losses)
        content = _render_html_parts(row.shown_parts, losses)
        is_thought = row.kind == REASONING_ROW
        yield _render_html_details(head, content) if is_thought else f"<h2>{head}</h2>{content}"


def _render_html_call(row: Row, detail_line: str, losses: ExportLosses) -> Iterator[str]:
    """Yield the HTML of a tool call: heading, diffs or input, and output.

    `detail_line` is escaped.
    """
    call = f"{row.tool} {row.summary}" if row.tool else "a result without its call"
    yield f"<h2>{_escape_html(call)} {detail_line}</h2>"
    yield from map(_render_html_diff, row.diffs)
    if row.diffs:
        losses["inputs of tools, shown as diffs"] += 1
    elif row.tool:
        yield _render_html_details("input", _render_html_json(row.entry.get("input")))
    output = (row.result or row).parts
    if output:
        yield _render_html_details("output", _render_html_parts(output, losses))


def _render_html_details(head: str, content: str) -> str:
    """Return HTML that shows `head`, and `content` on a click; both are escaped already."""
    return f"<details><summary>{head}</summary>{content}</details>"


def _render_html_parts(parts: list[ContentPart], losses: ExportLosses) -> str:
    """Return the HTML of all parts in order, or an empty text without parts."""
    return "".join(_render_html_part(part, losses) for part in parts)


def _render_html_part(part: ContentPart, losses: ExportLosses) -> str:
    """Return a part of a message as HTML; an image that cannot be shown is described."""
    if isinstance(part, TextPart):
        return f"<pre>{_escape_html(part.text)}</pre>"
    if not isinstance(part, ImagePart):
        return _render_html_json(part.value)
    description = _escape_html(_describe_image(part))
    data = "".join(part.data.split())
    if part.media_type in _SHOWN_IMAGE_TYPES and _BASE64_TEXT.fullmatch(data):
        return f'<img alt="{description}" src="data:{part.media_type};base64,{data}">'
    losses["images that are not in the record, or of another type"] += 1
    return f"<p>[{description}]</p>"


def _render_html_diff(diff: FileDiff) -> str:
    """Return a diff as HTML, with coloured lines."""
    lines = "".join(
        f'<div class="{_DIFF_CLASSES.get(line[:1], "same")}">{_escape_html(line) or " "}</div>'
        for line in diff.lines
    )
    head = f"<p>{_escape_html(diff.path)} ({format_changes([diff])})</p>"
    return f'{head}<pre class="diff">{lines}</pre>' if lines else head


def _render_html_json(value: Any) -> str:
    """Return a value as JSON in HTML, or an empty text for None."""
    return f"<pre>{_escape_html(format_json(value))}</pre>" if value is not None else ""


def _escape_html(text: str) -> str:
    """Return text for HTML, with visible control characters."""
    return escape(make_visible(text))


# Facts about a conversation


def _name_agent(record: JsonObject) -> str:
    """Return the name and version of the agent, and its models."""
    meta = record["session"].get("agent-meta", {})
    agent = " ".join(str(meta[name]) for name in ("cli-name", "cli-version") if name in meta)
    models = map(str, meta.get("models") or [meta.get("model-id", "")])
    return ", ".join([agent or "an agent", *(name for name in models if name not in _UNNAMED)])


def _list_session_facts(record: JsonObject, left_out: int) -> list[tuple[str, str]]:
    """Return the agent, the place and the time of a conversation, as (name, value).

    Unknown facts are left out. `left_out` is the number of rows that filters left out.
    """
    session = record["session"]
    vcs = record.get("vcs", {})
    version = [str(vcs[name]) for name in ("repository", "branch", "revision") if name in vcs]
    facts = [
        ("agent", _name_agent(record)),
        ("folder", str(session.get("environment", {}).get("working-dir", ""))),
        ("repository", " ".join(version)),
        ("began", _format_time(session.get("session-start"))),
        ("ended", _format_time(session.get("session-end"))),
        ("left out", f"{left_out} rows, by filters" if left_out else ""),
    ]
    return [(name, value) for name, value in facts if value]


def _list_ids(record: JsonObject, request: ExportRequest) -> list[tuple[str, str]]:
    """Return what identifies a conversation and its record, as (name, value)."""
    return [
        ("session", str(record["session"]["session-id"])),
        ("record", record["id"]),
        ("SHA-256 of the record", request.digest),
    ]


def _format_time(time: Timestamp | None) -> str:
    """Return a time as RFC 3339 text, or an empty text for an unknown or invalid time."""
    return (format_timestamp(time) if time is not None else None) or ""


def _list_totals(
    record: JsonObject,
    kept: list[Row],
    request: ExportRequest,
    format_model: Callable[[str], str],
) -> list[tuple[str, str]]:
    """Return the totals of a conversation, as (name, value); files, tokens and cost if known.

    `format_model` escapes the names of models, which are the only texts of the agent in them.
    """
    prices = request.prices or load_price_table()
    totals = count_totals(record, kept, prices)
    facts = [
        ("prompts", str(totals.prompts)),
        ("tool calls", f"{totals.calls:,}{_format_failed_calls(totals)}"),
    ]
    if totals.error_events:
        facts.append(("error events", f"{totals.error_events:,}"))
    if totals.files:
        lines = format_line_counts(totals.added, totals.removed)
        facts.append(("files", f"{len(totals.files):,} ({lines})"))
    # Some agents record only the output: then the input is unknown, not 0.
    used, made = totals.tokens["input"], totals.tokens["output"]
    if used or made:
        facts.append(("tokens", f"{used:,} in, {made:,} out" if used else f"{made:,} out"))
    if cost := list_cost_facts(totals.cost, prices.date, format_model):
        facts.append(("cost", "; ".join(cost)))
    return facts


def _format_failed_calls(totals: Totals) -> str:
    """Return the number of failed calls, such as `, 1 failed`; empty if none failed."""
    return f", {totals.failed_calls:,} failed" if totals.failed_calls else ""


def _format_row_time(row: Row) -> str:
    """Return the time of a row, such as `2026-01-02 10:00:00`, or an empty text."""
    return _format_time(row.time)[:19].replace("T", " ")


def _describe_image(image: ImagePart) -> str:
    """Return the name or the media type of an image, and its size if the record contains it."""
    size = f", {len(image.data) * 3 // 4} bytes" if image.data else ""  # base64
    return f"image {image.name or image.media_type or 'of no type'}{size}"
