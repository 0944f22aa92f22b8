"""What a job's summary says, in Markdown. Nothing that a path, a model or a prompt holds gets out
of its cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vacr.action.auditing import KNOWN, UNKNOWN, UNVERIFIED, Audit
from vacr.cli.blamed import KINDS
from vacr.cli.options import plural
from vacr.cli.verify import surely
from vacr.exchange.quoting import cell
from vacr.viewer.visible import visible

_NAMES = {"ai": "AI", "human": "human", "mixed": "mixed", "unknown": "unknown"}
_ROWS = 100
_LETTERS = 160
_SHORT = 12
_SAID = {
    UNVERIFIED: "❌ **unverified**: not all records hold.",
    UNKNOWN: (
        "❔ **unknown**: all records hold; of some lines or files nothing proves who wrote them."
    ),
    KNOWN: "✅ **known**: all records hold, and they prove who wrote each new line.",
}
_NO_KEYS = (
    "❌ **unverified**: no key was given to verify with, so whoever wrote the records "
    "may have made them up."
)


def audit_summary(audit: Audit) -> str:
    """Tell of an audit."""
    said = _SAID[audit.verdict] if audit.trusting or audit.verdict != UNVERIFIED else _NO_KEYS
    lines = ["## Who wrote these lines", "", said, ""]
    lines += _lines(audit.lines)
    lines += _records(audit)
    return "\n".join(lines)


def seal_summary(verdict: str, sealed: Sequence[dict[str, Any]]) -> str:
    """Tell of what was sealed."""
    rows = [
        [
            _short(one["source"]),
            _short(one["record"]),
            _counted(one.get("lines", {})),
            one["state"],
            _short(one.get("error", "")),
        ]
        for one in sorted(sealed, key=lambda one: one["exit"] == 0)
    ]
    head = ["session", "record", "lines", "state", "why not"]
    return "\n".join(
        [
            "## Sealed sessions",
            "",
            f"**{verdict}**: {plural(len(sealed), 'session')}.",
            "",
            *_table(head, rows),
        ]
    )


def _lines(told: dict[str, Any]) -> Iterator[str]:
    """Tell of lines: how many are whose, by file, by model and by conversation."""
    total = told["total"]
    span = (
        f"{told['since'][:_SHORT]}..{told['commit'][:_SHORT]}"
        if "since" in told
        else told["commit"][:_SHORT]
    )
    count = f", {plural(len(told['commits']), 'commit')}" if "since" in told else ""
    yield from (
        (
            f"{plural(total['lines'], 'new line')} in {plural(len(told['files']), 'file')} "
            f"(`{span}`{count})."
        ),
        "",
    )
    shares = [
        [_NAMES[kind], str(total[kind]), _share(total[kind], total["lines"])] for kind in KINDS
    ]
    yield from _table(["who", "lines", "share"], shares, numbers=2)
    files = sorted(told["files"], key=lambda file: (-file["unknown"], -file["lines"]))
    rows = [[_short(file["path"]), *(str(file[kind]) for kind in KINDS)] for file in files]
    yield from _table(["file", *_NAMES.values()], rows, numbers=4)
    yield from _table(["new or changed, and no text"], [[_short(name)] for name in told["no-text"]])
    yield from _table(["conversation", "model", "lines", "prompt"], _conversations(told["files"]))


def _conversations(files: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Count lines by the conversation and the prompt that they were written for."""
    found: Counter[tuple[str, str, str]] = Counter()
    for one in (one for file in files for one in file["ranges"] if "session-id" in one):
        who = one["contributor"]
        by = who.get("model-id") or who["type"]
        found[one["session-id"], by, one.get("prompt", "")] += (
            one["end-line"] - one["start-line"] + 1
        )
    return [
        [_short(session), _short(by), str(count), _short(prompt)]
        for (session, by, prompt), count in found.most_common()
    ]


def _records(audit: Audit) -> Iterator[str]:
    """Tell of records, those first that do not hold."""
    if not audit.records:
        yield from ("There are no records.", "")
        return
    good = len(audit.records) - len(audit.failed)
    yield from (
        f"{plural(len(audit.records), 'record')}: {good} verified, {len(audit.failed)} not.",
        "",
    )
    rows = [
        [
            "✅" if one["verified"] else "❌",
            _short(one["file"] or one["statement"]),
            _short(one.get("signer", "")),
            _short(surely(one) or one.get("issued-at") or ""),
            _short(one.get("message", "")),
        ]
        for one in sorted(audit.records, key=lambda one: one["verified"])
    ]
    yield from _table(["", "record", "signer", "signed", "why not"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> Iterator[str]:
    """Lay out a table, of which the last columns may be numbers; a summary has no room for all
    rows.
    """
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * (len(head) - numbers)}{'---:|' * numbers}"
    for row in rows[:_ROWS]:
        yield f"| {' | '.join(row)} |"
    yield ""
    if len(rows) > _ROWS:
        yield from (f"And {len(rows) - _ROWS} more; the report has them all.", "")


def _short(text: str) -> str:
    # What is shown is what counts: a letter that cannot be seen is written with ten, and GitHub
    # drops too large a summary.
    seen = visible(text)
    cut = seen if len(seen) <= _LETTERS else seen[: _LETTERS - 1] + "…"
    return cell(cut) if cut else ""


def _counted(lines: dict[str, int]) -> str:
    return ", ".join(f"{count} {_NAMES.get(kind, kind)}" for kind, count in sorted(lines.items()))


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else ""
