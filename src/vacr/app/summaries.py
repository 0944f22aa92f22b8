"""The summaries of jobs, in Markdown.

Paths, models and prompts come from a pull request, so each stays inside its cell of a table:

    >>> from vacr.app.summaries import format_seal_summary
    >>> print(format_seal_summary("sealed", [{
    ...     "source": "a|b.jsonl", "record": "a.acr.json", "lines": {"ai": 6}, "state": "signed",
    ...     "exit": 0,
    ... }]).splitlines()[6])
    | <code>a&#124;b&#46;jsonl</code> | <code>a&#46;acr&#46;json</code> | 6 AI | signed |  |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vacr.app.commit_audit import AUDIT_KNOWN, AUDIT_UNKNOWN, AUDIT_UNVERIFIED, Audit
from vacr.exchange import format_table_cell
from vacr.viewer import make_visible
from vacr.workflows import CONTRIBUTOR_TYPES, find_proven_time, format_count

_CONTRIBUTOR_LABELS = {"ai": "AI", "human": "human", "mixed": "mixed", "unknown": "unknown"}
_MAX_TABLE_ROWS = 100
_MAX_CELL_LENGTH = 160
_SHORT_COMMIT_LENGTH = 12
_VERDICT_TEXTS = {
    AUDIT_UNVERIFIED: "❌ **unverified**: not all records hold.",
    AUDIT_UNKNOWN: (
        "❔ **unknown**: all records hold; of some lines or files nothing proves who wrote them."
    ),
    AUDIT_KNOWN: "✅ **known**: all records hold, and they prove who wrote each new line.",
}
_NO_KEYS_TEXT = (
    "❌ **unverified**: no key was given to verify with, so whoever wrote the records "
    "may have made them up."
)


def format_audit_summary(audit: Audit) -> str:
    """Return the summary of an audit."""
    verdict = (
        _VERDICT_TEXTS[audit.verdict]
        if audit.trusting or audit.verdict != AUDIT_UNVERIFIED
        else _NO_KEYS_TEXT
    )
    lines = ["## Who wrote these lines", "", verdict, ""]
    lines += _format_lines(audit.lines)
    lines += _format_records(audit)
    return "\n".join(lines)


def format_seal_summary(verdict: str, sealed: Sequence[dict[str, Any]]) -> str:
    """Return the summary of sealed sessions."""
    rows = [
        [
            _format_cell(session["source"]),
            _format_cell(session["record"]),
            _format_line_counts(session.get("lines", {})),
            session["state"],
            _format_cell(session.get("error", "")),
        ]
        for session in sorted(sealed, key=lambda session: session["exit"] == 0)
    ]
    head = ["session", "record", "lines", "state", "why not"]
    return "\n".join(
        [
            "## Sealed sessions",
            "",
            f"**{verdict}**: {format_count(len(sealed), 'session')}.",
            "",
            *_format_table(head, rows),
        ]
    )


def _format_lines(lines: dict[str, Any]) -> Iterator[str]:
    """Yield the lines by contributor, by file, by model and by conversation."""
    total = lines["total"]
    span = (
        f"{lines['since'][:_SHORT_COMMIT_LENGTH]}..{lines['commit'][:_SHORT_COMMIT_LENGTH]}"
        if "since" in lines
        else lines["commit"][:_SHORT_COMMIT_LENGTH]
    )
    count = f", {format_count(len(lines['commits']), 'commit')}" if "since" in lines else ""
    new_lines = format_count(total["lines"], "new line")
    files = format_count(len(lines["files"]), "file")
    yield from (f"{new_lines} in {files} (`{span}`{count}).", "")
    shares = [
        [_CONTRIBUTOR_LABELS[kind], str(total[kind]), _format_share(total[kind], total["lines"])]
        for kind in CONTRIBUTOR_TYPES
    ]
    yield from _format_table(["who", "lines", "share"], shares, numbers=2)
    listed = sorted(lines["files"], key=lambda file: (-file["unknown"], -file["lines"]))
    rows = [
        [_format_cell(file["path"]), *(str(file[kind]) for kind in CONTRIBUTOR_TYPES)]
        for file in listed
    ]
    yield from _format_table(["file", *_CONTRIBUTOR_LABELS.values()], rows, numbers=4)
    yield from _format_table(
        ["new or changed, and no text"], [[_format_cell(name)] for name in lines["no-text"]]
    )
    yield from _format_table(
        ["conversation", "model", "lines", "prompt"], _count_conversation_lines(lines["files"])
    )


def _count_conversation_lines(files: Iterable[dict[str, Any]]) -> list[list[str]]:
    """Count lines by the conversation and the prompt that they were written for."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for line_range in (
        line_range for file in files for line_range in file["ranges"] if "session-id" in line_range
    ):
        contributor = line_range["contributor"]
        by = contributor.get("model-id") or contributor["type"]
        counts[line_range["session-id"], by, line_range.get("prompt", "")] += (
            line_range["end-line"] - line_range["start-line"] + 1
        )
    return [
        [_format_cell(session), _format_cell(by), str(count), _format_cell(prompt)]
        for (session, by, prompt), count in counts.most_common()
    ]


def _format_records(audit: Audit) -> Iterator[str]:
    """Yield the records, those first that are not verified."""
    if not audit.records:
        yield from ("There are no records.", "")
        return
    failed = len(audit.failed)
    records = format_count(len(audit.records), "record")
    yield from (f"{records}: {len(audit.records) - failed} verified, {failed} not.", "")
    rows = [
        [
            "✅" if verdict["verified"] else "❌",
            _format_cell(verdict["file"] or verdict["statement"]),
            _format_cell(verdict.get("signer", "")),
            _format_cell(find_proven_time(verdict) or verdict.get("issued-at") or ""),
            _format_cell(verdict.get("message", "")),
        ]
        for verdict in sorted(audit.records, key=lambda verdict: verdict["verified"])
    ]
    yield from _format_table(["", "record", "signer", "signed", "why not"], rows)


def _format_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0
) -> Iterator[str]:
    """Yield a table whose last columns may be numbers; a summary has no room for all rows."""
    if not rows:
        return
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * (len(head) - numbers)}{'---:|' * numbers}"
    for row in rows[:_MAX_TABLE_ROWS]:
        yield f"| {' | '.join(row)} |"
    yield ""
    if len(rows) > _MAX_TABLE_ROWS:
        yield from (f"And {len(rows) - _MAX_TABLE_ROWS} more; the report has them all.", "")


def _format_cell(text: str) -> str:
    # The visible text is measured: an invisible character becomes ten visible ones, and GitHub
    # drops a summary that is too large.
    seen = make_visible(text)
    cut = seen if len(seen) <= _MAX_CELL_LENGTH else seen[: _MAX_CELL_LENGTH - 1] + "…"
    return format_table_cell(cut) if cut else ""


def _format_line_counts(lines: dict[str, int]) -> str:
    return ", ".join(
        f"{count} {_CONTRIBUTOR_LABELS.get(kind, kind)}" for kind, count in sorted(lines.items())
    )


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else ""
