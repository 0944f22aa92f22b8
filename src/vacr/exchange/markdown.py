"""A record as Markdown, for tickets and for handing work over. Step: export.

Turns in their order, tools in a line each, edits as diffs. Outputs of tools are left to the record,
but for those that failed; pictures are named and never put in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vacr.exchange import facts
from vacr.exchange.exported import (
    Asked,
    Exported,
    Losses,
    is_sealed,
    lose_events,
    lose_sealed,
    lose_the_rest,
    sifted,
)
from vacr.exchange.quoting import code, fenced, plain, quoted
from vacr.model import Native
from vacr.viewer.diffs import FileDiff
from vacr.viewer.parts import Image, Part, Text
from vacr.viewer.rows import ASSISTANT, EVENT, REASONING, TOOL, USER, Row
from vacr.viewer.totals import totals_of
from vacr.viewer.values import told
from vacr.viewer.visible import visible

_HEADS = {USER: "## User", ASSISTANT: "### Assistant", REASONING: "### Thought"}


def export(record: Native, asked: Asked) -> Exported:
    """Give a record as Markdown."""
    losses: Losses = Counter()
    _, kept, left_out = sifted(record, asked.chosen, losses)
    with_events = EVENT in asked.chosen.kinds
    if not with_events:
        lose_events((row for row in kept if row.kind == EVENT and not row.is_error), losses)
    lose_sealed(kept, losses)
    lose_the_rest(record, losses, *facts.UNTOLD, about=facts.ABOUT)
    lines = [f"# {plain(facts.title(record))}", ""]
    lines += [f"- {name}: {code(value)}" for name, value in facts.facts(record, asked, left_out)]
    in_list = False
    for row in kept:
        if is_sealed(row) or (row.kind == EVENT and not with_events and not row.is_error):
            continue
        is_item = row.kind in (TOOL, EVENT)
        # Items that follow each other are one list.
        lines += [] if is_item and in_list and lines[-1].startswith("- ") else [""]
        lines += _lines(row, losses)
        in_list = is_item
    lines += ["", "---", ""] + [
        f"- {name}: {value}" for name, value in facts.sums(totals_of(record, kept))
    ]
    return Exported(("\n".join(lines) + "\n").encode(), losses, left_out)


def _lines(row: Row, losses: Losses) -> Iterator[str]:
    if row.kind == EVENT:
        yield f"- {code(row.summary)} {facts.when(row)}{' ✗' if row.is_error else ''}".rstrip()
        losses.update(["data of events"] if "data" in row.entry else [])
    elif row.kind == TOOL:
        yield from _tool(row, losses)
    else:
        told = [
            plain(one)
            for one in (
                row.agent,
                row.model if row.kind != USER else "",
                row.superseded,
                facts.when(row),
            )
            if one
        ]
        yield " · ".join([_HEADS[row.kind], *told])
        for part in row.parts:
            yield ""
            yield from _part(part, losses)


def _tool(row: Row, losses: Losses) -> Iterator[str]:
    what = (
        " ".join(part for part in (code(row.tool), code(row.summary)) if part)
        if row.tool
        else "a result without its call"
    )
    who = f"{plain(row.agent)}: " if row.agent else ""
    yield f"- {who}{what}{' ✗' if row.is_error else ''}"
    given = row.entry.get("input")
    losses.update(
        ["inputs of tools, told in a line"] if isinstance(given, dict) and len(given) > 1 else []
    )
    for diff in row.diffs:
        yield from _diff(diff)
    came = row.result or row
    if row.is_error:
        for part in came.parts:
            yield ""
            yield from _part(part, losses)
    elif came.parts:
        losses["outputs of tools"] += 1


def _diff(diff: FileDiff) -> Iterator[str]:
    yield ""
    yield f"{code(diff.path)} (+{diff.added} -{diff.removed})"
    if diff.lines:
        yield ""
        yield from fenced([one for line in diff.lines for one in visible(line).split("\n")], "diff")


def _part(part: Part, losses: Losses) -> Iterator[str]:
    if isinstance(part, Text):
        yield from quoted(part.text)
    elif isinstance(part, Image):
        losses["images"] += 1
        yield f"> {code(f'[{facts.image_told(part)}]')}"
    else:
        for line in fenced(visible(told(part.value)).split("\n"), "json"):
            yield f"> {line}"
