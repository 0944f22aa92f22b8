"""The attribution of records: which lines of which files an agent wrote, counted and checked.

Verbs print the counts of an attributed record, and report what attribution could not decide:

    >>> import vacr
    >>> from vacr.workflows import count_attributed_lines, format_attribution_summary
    >>> [record] = vacr.read("examples/claude-code.jsonl")
    >>> attributed = vacr.attribute(record)
    >>> count_attributed_lines(attributed)
    {'files': 1, 'lines': {'ai': 6}}
    >>> format_attribution_summary(attributed)
    '1 file, lines: 6 ai'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from vacr.attribution import ATTRIBUTION_HOLDS, BaseFiles, JointRecords, compare_attribution
from vacr.record import is_record_modified
from vacr.workflows.inputs import InputRecord
from vacr.workflows.outputs import format_count


def count_attributed_lines(record: dict[str, Any]) -> dict[str, Any]:
    """Count the files of an attributed record, and the lines by the type of their contributor."""
    lines: Counter[str] = Counter()
    files = record["file-attribution"]["files"]
    for file in files:
        for conversation in file["conversations"]:
            default = conversation.get("contributor", {})
            for line_range in conversation["ranges"]:
                kind = line_range.get("contributor", default).get("type", "unknown")
                lines[kind] += line_range["end-line"] - line_range["start-line"] + 1
    return {"files": len(files), "lines": dict(lines)}


def format_attribution_summary(record: dict[str, Any]) -> str:
    """Return how many files and lines are attributed, in a line."""
    counts = count_attributed_lines(record)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["lines"].items()))
    return f"{format_count(counts['files'], 'file')}, lines: {kinds or 'none'}"


def format_line_ranges(record: dict[str, Any]) -> list[str]:
    """Return a line for each file: its ranges, their contributors and the evidence for them."""
    listed = []
    for file in record["file-attribution"]["files"]:
        proofs = record["vacr"]["attribution"]["files"][file["path"]]["ranges"]
        ranges = [
            (line_range, conversation)
            for conversation in file["conversations"]
            for line_range in conversation["ranges"]
        ]
        parts = []
        for (line_range, conversation), proof in zip(ranges, proofs, strict=True):
            first, last = line_range["start-line"], line_range["end-line"]
            lines = str(first) if first == last else f"{first}-{last}"
            kind = line_range.get("contributor", conversation["contributor"])["type"]
            parts.append(f"{lines} {kind} {proof['evidence']}")
        listed.append(f"{file['path']}: {', '.join(parts)}")
    return listed


def report_attribution_gaps(
    path: str, record: dict[str, Any], base: BaseFiles | None, notify: Callable[[str], None]
) -> None:
    """Report tools whose effects are not known, and a base that has none of the files."""
    attribution = record["vacr"]["attribution"]
    report_unknown_tools(path, attribution.get("unknown-tools", {}), notify)
    files = attribution["files"]
    if base is not None and files and not any(name in base.names for name in files):
        notify(
            f"{path}: the base has none of the files that the session changed: all of them are "
            "new, or it is another repository"
        )


def report_unknown_tools(path: str, unknown: dict[str, int], notify: Callable[[str], None]) -> None:
    """Report the tools of a session whose effects on files are not known."""
    if unknown:
        names = ", ".join(f"{name} ({count})" for name, count in unknown.items())
        notify(f"{path}: what these tools do to files is not known, so it is left out: {names}")


def find_attribution_failure(
    recording: InputRecord, joint: JointRecords, base: BaseFiles | None
) -> str:
    """Return why the attribution in a record does not hold, or an empty text if it does."""
    if is_record_modified(recording.record, json=recording.form == "json"):
        return "the record was changed after it was made: its id is not that of its content"
    if "file-attribution" not in recording.record:
        return "it has no attribution"
    outcome, reason = compare_attribution(recording.record, joint, base)
    return "" if outcome == ATTRIBUTION_HOLDS else reason
