"""A record as one page of plain HTML: no script, nothing loaded, readable wherever a browser is.
Step: export.

All text is escaped; the policy of the page forbids scripts and every address but those of pictures
that are in it. `vacr view` makes the page that verifies what it shows.
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
_ROW_TITLES = {USER_ROW: "User", "assistant": "Assistant", REASONING_ROW: "Thought"}
_MAX_PROMPT_LENGTH = 80


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give a record as a page."""
    losses: ExportLosses = Counter()
    _, kept, left_out = select_rows(record, asked.chosen, losses)
    count_encrypted_reasoning(kept, losses)
    count_lost_members(record, losses, *OMITTED_ENTRY_MEMBERS, about=SHOWN_SESSION_MEMBERS)
    title = _escape_text(format_title(record))
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta '
        'name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_STYLE_SHEET}</style></head><body><h1>{title}</h1>"
    )
    told = [*list_session_facts(record, asked, left_out), *list_totals(count_totals(record, kept))]
    about = "".join(
        f"<dt>{_escape_text(name)}</dt><dd>{_escape_text(value)}</dd>" for name, value in told
    )
    body = "\n".join(
        _render_section(row, losses) for row in kept if not is_encrypted_reasoning(row)
    )
    page = (
        f"{head}<p>Shown as recorded, not "
        f"verified.</p><dl>{about}</dl>{_render_prompt_links(kept)}<main>\n{body}\n"
        "</main></body></html>\n"
    )
    return ExportedDocument(page.encode(), losses, left_out)


def _render_prompt_links(kept: list[Row]) -> str:
    """Give links to what the user said."""
    items = [
        f'<li><a href="#{_make_anchor(row)}">{_escape_text(_get_first_line(row))}</a></li>'
        for row in kept
        if row.kind == USER_ROW and _get_first_line(row)
    ]
    return f'<nav aria-label="Prompts"><ol>{"".join(items)}</ol></nav>' if items else ""


def _get_first_line(row: Row) -> str:
    return join_texts(row.parts).strip().partition("\n")[0][:_MAX_PROMPT_LENGTH]


def _render_section(row: Row, losses: ExportLosses) -> str:
    looks = f"{row.kind}{' error' if row.is_error else ''}"
    told = (
        row.agent,
        row.model if row.kind != USER_ROW else "",
        row.superseded,
        "failed" if row.is_error else "",
        format_row_time(row),
    )
    rest = " · ".join(_escape_text(one) for one in told if one)
    return (
        f'<section class="{looks}" '
        f'id="{_make_anchor(row)}">{"".join(_render_row(row, rest, losses))}</section>'
    )


def _render_row(row: Row, rest: str, losses: ExportLosses) -> Iterator[str]:
    if row.kind == EVENT_ROW:
        yield _render_details(
            f"{_escape_text(row.summary)} {rest}", _render_json(row.entry.get("data"))
        )
    elif row.kind == TOOL_ROW:
        what = f"{row.tool} {row.summary}" if row.tool else "a result without its call"
        yield f"<h2>{_escape_text(what)} {rest}</h2>"
        yield from map(_render_diff, row.diffs)
        if row.diffs:
            losses["inputs of tools, shown as diffs"] += 1
        elif row.tool:
            yield _render_details("input", _render_json(row.entry.get("input")))
        came = row.result or row
        if came.parts:
            yield _render_details(
                "output", "".join(_render_part(part, losses) for part in came.parts)
            )
    else:
        said = "".join(_render_part(part, losses) for part in row.parts)
        head = f"{_ROW_TITLES[row.kind]} {rest}"
        yield _render_details(head, said) if row.kind == REASONING_ROW else f"<h2>{head}</h2>{said}"


def _render_details(head: str, inside: str) -> str:
    return f"<details><summary>{head}</summary>{inside}</details>"


def _render_part(part: ContentPart, losses: ExportLosses) -> str:
    if isinstance(part, TextPart):
        return f"<pre>{_escape_text(part.text)}</pre>"
    if isinstance(part, ImagePart):
        data = "".join(part.data.split())
        if part.media_type in _SHOWN_IMAGE_TYPES and _BASE64_TEXT.fullmatch(data):
            return (
                f'<img alt="{_escape_text(describe_image(part))}" '
                f'src="data:{part.media_type};base64,{data}">'
            )
        losses["images that are not in the record, or of another type"] += 1
        return f"<p>[{_escape_text(describe_image(part))}]</p>"
    return _render_json(part.value)


def _render_diff(diff: FileDiff) -> str:
    looks = {"+": "added", "-": "removed"}
    lines = "".join(
        f'<div class="{looks.get(line[:1], "same")}">{_escape_text(line) or " "}</div>'
        for line in diff.lines
    )
    return f'<p>{_escape_text(diff.path)} (+{diff.added} -{diff.removed})</p><pre class="diff">{lines}</pre>'


def _render_json(value: Any) -> str:
    return f"<pre>{_escape_text(format_json(value))}</pre>" if value is not None else ""


def _escape_text(text: str) -> str:
    return escape(make_visible(text))


def _make_anchor(row: Row) -> str:
    return "e" + row.place.removeprefix("/session/entries").replace("/children/", ".").replace(
        "/", ""
    )
