"""A record as one page of plain HTML: no script, nothing to load, readable in any browser.

All text is escaped. The content security policy of the page forbids scripts, and everything from
elsewhere; images are embedded. (`vacr view` makes the page that verifies its records.)

    >>> import vacr
    >>> from vacr.exchange import EXCHANGE_FORMATS, ExportRequest
    >>> [record] = vacr.read("examples/claude-code.jsonl")
    >>> exported = EXCHANGE_FORMATS["html"].export(record, ExportRequest(digest="00" * 32))
    >>> page = exported.data.decode()
    >>> "<script" in page, page[page.index("<h1>") :][:21]
    (False, '<h1>claude-code 2.1.7')
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_encrypted_reasoning,
    count_lost_members,
    is_encrypted_reasoning,
    select_rows,
)
from vacr.exchange.markdown import (
    OMITTED_ENTRY_MEMBERS,
    SHOWN_SESSION_MEMBERS,
    describe_image,
    format_row_time,
    format_title,
    list_session_facts,
    list_totals,
)
from vacr.model import JsonObject
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
    count_totals,
    format_json,
    join_texts,
    make_visible,
)

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
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}
dt{font-weight:600}dd{margin:0;min-width:0;overflow-wrap:anywhere}
"""
_SHOWN_IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_ROW_TITLES = {USER_ROW: "User", ASSISTANT_ROW: "Assistant", REASONING_ROW: "Thought"}
_DIFF_CLASSES = {"+": "added", "-": "removed"}
_MAX_PROMPT_LENGTH = 80


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a record as a page."""
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, request.chosen, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *OMITTED_ENTRY_MEMBERS, about=SHOWN_SESSION_MEMBERS)
    title = _escape_text(format_title(record))
    facts = list_session_facts(record, request, left_out)
    facts += list_totals(count_totals(record, kept))
    about = "".join(
        f"<dt>{_escape_text(name)}</dt><dd>{_escape_text(value)}</dd>" for name, value in facts
    )
    body = "\n".join(
        _render_section(row, losses) for row in kept if not is_encrypted_reasoning(row)
    )
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_STYLE_SHEET}</style></head>"
        f"<body><h1>{title}</h1><p>Shown as recorded, not verified.</p><dl>{about}</dl>"
        f"{_render_prompt_links(kept)}<main>\n{body}\n</main></body></html>\n"
    )
    return ExportedDocument(page.encode(), losses, left_out)


def _render_prompt_links(kept: list[Row]) -> str:
    """Return links to the messages of the user."""
    items = [
        f'<li><a href="#{_make_anchor(row)}">{_escape_text(line)}</a></li>'
        for row in kept
        if row.kind == USER_ROW and (line := _get_first_line(row))
    ]
    return f'<nav aria-label="Prompts"><ol>{"".join(items)}</ol></nav>' if items else ""


def _get_first_line(row: Row) -> str:
    return join_texts(row.parts).strip().partition("\n")[0][:_MAX_PROMPT_LENGTH]


def _make_anchor(row: Row) -> str:
    """Return `e14.0` for `/session/entries/14/children/0`."""
    position = row.place.removeprefix("/session/entries").replace("/children/", ".")
    return "e" + position.replace("/", "")


def _render_section(row: Row, losses: ExportLosses) -> str:
    classes = f"{row.kind} error" if row.is_error else row.kind
    details = (
        row.agent,
        row.model if row.kind != USER_ROW else "",
        row.superseded,
        "failed" if row.is_error else "",
        format_row_time(row),
    )
    detail_line = " · ".join(_escape_text(detail) for detail in details if detail)
    content = "".join(_render_row(row, detail_line, losses))
    return f'<section class="{classes}" id="{_make_anchor(row)}">{content}</section>'


def _render_row(row: Row, detail_line: str, losses: ExportLosses) -> Iterator[str]:
    if row.kind == EVENT_ROW:
        head = f"{_escape_text(row.summary)} {detail_line}"
        yield _render_details(head, _render_json(row.entry.get("data")))
    elif row.kind == TOOL_ROW:
        yield from _render_tool_call(row, detail_line, losses)
    else:
        head = f"{_ROW_TITLES[row.kind]} {detail_line}"
        content = _render_parts(row.parts, losses)
        is_thought = row.kind == REASONING_ROW
        yield _render_details(head, content) if is_thought else f"<h2>{head}</h2>{content}"


def _render_tool_call(row: Row, detail_line: str, losses: ExportLosses) -> Iterator[str]:
    call = f"{row.tool} {row.summary}" if row.tool else "a result without its call"
    yield f"<h2>{_escape_text(call)} {detail_line}</h2>"
    yield from map(_render_diff, row.diffs)
    if row.diffs:
        losses["inputs of tools, shown as diffs"] += 1
    elif row.tool:
        yield _render_details("input", _render_json(row.entry.get("input")))
    output = (row.result or row).parts
    if output:
        yield _render_details("output", _render_parts(output, losses))


def _render_details(head: str, content: str) -> str:
    return f"<details><summary>{head}</summary>{content}</details>"


def _render_parts(parts: list[ContentPart], losses: ExportLosses) -> str:
    return "".join(_render_part(part, losses) for part in parts)


def _render_part(part: ContentPart, losses: ExportLosses) -> str:
    if isinstance(part, TextPart):
        return f"<pre>{_escape_text(part.text)}</pre>"
    if not isinstance(part, ImagePart):
        return _render_json(part.value)
    description = _escape_text(describe_image(part))
    data = "".join(part.data.split())
    if part.media_type in _SHOWN_IMAGE_TYPES and _BASE64_TEXT.fullmatch(data):
        return f'<img alt="{description}" src="data:{part.media_type};base64,{data}">'
    losses["images that are not in the record, or of another type"] += 1
    return f"<p>[{description}]</p>"


def _render_diff(diff: FileDiff) -> str:
    lines = "".join(
        f'<div class="{_DIFF_CLASSES.get(line[:1], "same")}">{_escape_text(line) or " "}</div>'
        for line in diff.lines
    )
    head = f"{_escape_text(diff.path)} (+{diff.added} -{diff.removed})"
    return f'<p>{head}</p><pre class="diff">{lines}</pre>'


def _render_json(value: Any) -> str:
    return f"<pre>{_escape_text(format_json(value))}</pre>" if value is not None else ""


def _escape_text(text: str) -> str:
    return escape(make_visible(text))
