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

from vacr.exchange import facts
from vacr.exchange.exported import (
    Asked,
    Exported,
    Losses,
    is_sealed,
    lose_sealed,
    lose_the_rest,
    sifted,
)
from vacr.model import Native
from vacr.viewer import values
from vacr.viewer.diffs import FileDiff
from vacr.viewer.parts import Image, Part, Text, text_of
from vacr.viewer.rows import EVENT, REASONING, TOOL, USER, Row
from vacr.viewer.totals import totals_of
from vacr.viewer.visible import visible

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
_STYLE = """
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
_SHOWN = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_NAMES = {USER: "User", "assistant": "Assistant", REASONING: "Thought"}
_TITLE = 80


def export(record: Native, asked: Asked) -> Exported:
    """Give a record as a page."""
    losses: Losses = Counter()
    _, kept, left_out = sifted(record, asked.chosen, losses)
    lose_sealed(kept, losses)
    lose_the_rest(record, losses, *facts.UNTOLD, about=facts.ABOUT)
    title = _text(facts.title(record))
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta '
        'name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
    )
    told = [*facts.facts(record, asked, left_out), *facts.sums(totals_of(record, kept))]
    about = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in told)
    body = "\n".join(_section(row, losses) for row in kept if not is_sealed(row))
    page = (
        f"{head}<p>Shown as recorded, not "
        f"verified.</p><dl>{about}</dl>{_prompts(kept)}<main>\n{body}\n"
        "</main></body></html>\n"
    )
    return Exported(page.encode(), losses, left_out)


def _prompts(kept: list[Row]) -> str:
    """Give links to what the user said."""
    items = [
        f'<li><a href="#{_name(row)}">{_text(_first(row))}</a></li>'
        for row in kept
        if row.kind == USER and _first(row)
    ]
    return f'<nav aria-label="Prompts"><ol>{"".join(items)}</ol></nav>' if items else ""


def _first(row: Row) -> str:
    return text_of(row.parts).strip().partition("\n")[0][:_TITLE]


def _section(row: Row, losses: Losses) -> str:
    looks = f"{row.kind}{' error' if row.is_error else ''}"
    told = (
        row.agent,
        row.model if row.kind != USER else "",
        row.superseded,
        "failed" if row.is_error else "",
        facts.when(row),
    )
    rest = " · ".join(_text(one) for one in told if one)
    return (
        f'<section class="{looks}" '
        f'id="{_name(row)}">{"".join(_inside(row, rest, losses))}</section>'
    )


def _inside(row: Row, rest: str, losses: Losses) -> Iterator[str]:
    if row.kind == EVENT:
        yield _folded(f"{_text(row.summary)} {rest}", _json(row.entry.get("data")))
    elif row.kind == TOOL:
        what = f"{row.tool} {row.summary}" if row.tool else "a result without its call"
        yield f"<h2>{_text(what)} {rest}</h2>"
        yield from map(_diff, row.diffs)
        if row.diffs:
            losses["inputs of tools, shown as diffs"] += 1
        elif row.tool:
            yield _folded("input", _json(row.entry.get("input")))
        came = row.result or row
        if came.parts:
            yield _folded("output", "".join(_part(part, losses) for part in came.parts))
    else:
        said = "".join(_part(part, losses) for part in row.parts)
        head = f"{_NAMES[row.kind]} {rest}"
        yield _folded(head, said) if row.kind == REASONING else f"<h2>{head}</h2>{said}"


def _folded(head: str, inside: str) -> str:
    return f"<details><summary>{head}</summary>{inside}</details>"


def _part(part: Part, losses: Losses) -> str:
    if isinstance(part, Text):
        return f"<pre>{_text(part.text)}</pre>"
    if isinstance(part, Image):
        data = "".join(part.data.split())
        if part.media_type in _SHOWN and _BASE64.fullmatch(data):
            return (
                f'<img alt="{_text(facts.image_told(part))}" '
                f'src="data:{part.media_type};base64,{data}">'
            )
        losses["images that are not in the record, or of another type"] += 1
        return f"<p>[{_text(facts.image_told(part))}]</p>"
    return _json(part.value)


def _diff(diff: FileDiff) -> str:
    looks = {"+": "added", "-": "removed"}
    lines = "".join(
        f'<div class="{looks.get(line[:1], "same")}">{_text(line) or " "}</div>'
        for line in diff.lines
    )
    return (
        f'<p>{_text(diff.path)} (+{diff.added} -{diff.removed})</p><pre class="diff">{lines}</pre>'
    )


def _json(value: Any) -> str:
    return f"<pre>{_text(values.told(value))}</pre>" if value is not None else ""


def _text(text: str) -> str:
    return escape(visible(text))


def _name(row: Row) -> str:
    return "e" + row.place.removeprefix("/session/entries").replace("/children/", ".").replace(
        "/", ""
    )
