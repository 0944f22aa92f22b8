"""Attributed lines: how many an agent wrote in a record, and who wrote a file or a commit.

Verbs print the counts of an attributed record, and report gaps in its attribution:

    >>> import vacr
    >>> from vacr.workflows import count_attributed_lines, format_attribution_summary
    >>> [record] = vacr.read("session.jsonl")
    >>> attributed = vacr.attribute(record)
    >>> count_attributed_lines(attributed)
    {'files': 1, 'lines': {'ai': 6}}
    >>> format_attribution_summary(attributed)
    '1 file, lines: 6 ai'

`vacr blame` describes lines for programs. Consecutive lines with the same origin become one range.
Lines that no record proves are `unknown`, and every count names all four types:

    >>> from collections import Counter
    >>> from vacr.workflows import build_line_counts
    >>> build_line_counts(Counter({"ai": 6}))
    {'ai': 6, 'human': 0, 'mixed': 0, 'unknown': 0, 'lines': 6}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vacr.errors import PluginError, escape_unprintable
from vacr.record import format_timestamp
from vacr.workflows.inputs import InputRecord
from vacr.workflows.output_files import format_count

if TYPE_CHECKING:
    from vacr.attribution import BaseFiles, JointRecords
    from vacr.blame import AddedLines, BlamedLine, LineBlame, LineClaim

CONTRIBUTOR_TYPES = ("ai", "human", "mixed", "unknown")
EVIDENCE_NOTED = "noted"
"""The evidence of a line that only a note claims."""
_MAX_PROMPT_LENGTH = 200
# Editors take a header that ends in -time for a number.
_HEADER_NAMES = {"model-id": "model", "session-id": "session", "time": "called-at"}


def count_attributed_lines(record: dict[str, Any]) -> dict[str, Any]:
    """Count the attributed files of a record, and their lines by contributor type.

    For example, `{"files": 1, "lines": {"ai": 6}}`. The record must have a file attribution, which
    may be empty.
    """
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
    """Return the attributed files and lines of a record as text, such as `1 file, lines: 6 ai`.

    Without lines, it is `0 files, lines: none`. The record must have a file attribution.
    """
    counts = count_attributed_lines(record)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["lines"].items()))
    return f"{format_count(counts['files'], 'file')}, lines: {kinds or 'none'}"


def format_line_ranges(record: dict[str, Any]) -> list[str]:
    """Return a text for each attributed file: its ranges, their contributors and evidence.

    For example, `total.py: 1-6 ai recorded, 7 human external`. vacr must have made the attribution.
    """
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
    """Notify the user of tools with unknown effects, and of a base without any changed file.

    `path` names the record in the messages. `base` has the files before the session, if known.
    """
    attribution = record["vacr"]["attribution"]
    report_unknown_tools(path, attribution.get("unknown-tools", {}), notify)
    files = attribution["files"]
    if base is not None and files and not any(name in base.names for name in files):
        notify(
            f"{path}: --base contains none of the files that the session changed: either it is "
            "the wrong repository, or all of them are new"
        )


def report_unknown_tools(path: str, unknown: dict[str, int], notify: Callable[[str], None]) -> None:
    """Notify the user of tools with unknown effects on files; `unknown` counts their calls.

    For example, `session.jsonl: skipped calls of tools with unknown effects on files: deploy (2)`.
    """
    if unknown:
        names = ", ".join(f"{name} ({count})" for name, count in unknown.items())
        notify(f"{path}: skipped calls of tools with unknown effects on files: {names}")


def find_attribution_failure(
    recording: InputRecord, joint: JointRecords, base: BaseFiles | None
) -> str:
    """Compute the attribution of a record again, and return why the recorded one is wrong.

    Return an empty text if both are the same. `joint` has the records that were attributed
    together, `base` the files before the session.

    Raises:
        PluginError: the agent's plugin fails.
    """
    from vacr.attribution import ATTRIBUTION_HOLDS, compare_attribution

    if recording.modified:
        return recording.modified
    if "file-attribution" not in recording.record:
        return "the record has no attribution"
    try:
        outcome, reason = compare_attribution(recording.record, joint, base)
    except PluginError as error:
        error.where = recording.path
        raise
    return "" if outcome == ATTRIBUTION_HOLDS else reason


def build_line_document(line: BlamedLine) -> dict[str, Any]:
    """Return a line for JSON output: its commit, its contributor, and the proof in a record.

    Members of the proof are missing if no record proves the line.
    """
    return {
        "commit": line.commit,
        "original-path": line.path,
        "original-line": line.number,
        "contributor": _build_contributor(line),
        **_build_proof(line.blame),
    }


def build_line_headers(line: BlamedLine) -> list[bytes]:
    """Return a line's contributor and proof as headers of `git blame --porcelain`.

    For example, `vacr-contributor ai`. A line that no record proves has only its type, `unknown`.
    Control characters are escaped.
    """
    contributor = {"contributor": line.type, **_build_contributor(line)}
    del contributor["type"]
    headers = {
        _HEADER_NAMES.get(name, name): value
        for name, value in (contributor | _build_proof(line.blame)).items()
    }
    return [
        escape_unprintable(f"vacr-{name} {value}").encode("utf-8", "backslashreplace")
        for name, value in headers.items()
        if value
    ]


def build_commit_document(added: AddedLines) -> dict[str, Any]:
    """Return the lines that a commit added, for JSON output: counts and ranges for each file.

    For a range of commits, the document also has `since` and `commits`.
    """
    files, total = [], Counter[str]()
    for path, lines in added.files:
        counts = Counter(line.type for line in lines)
        total += counts
        files.append(
            {"path": path, **build_line_counts(counts), "ranges": _merge_line_ranges(lines)}
        )
    span = {"since": added.since, "commits": added.commits} if added.since is not None else {}
    models = count_lines_by_model(line.blame for _, lines in added.files for line in lines)
    return {
        "commit": added.commit,
        **span,
        "files": files,
        "total": build_line_counts(total),
        "models": models,
        "no-text": added.no_text,
    }


def _merge_line_ranges(lines: list[BlamedLine]) -> list[dict[str, Any]]:
    """Return ranges of consecutive lines with the same contributor and proof, for JSON output."""
    ranges: list[dict[str, Any]] = []
    for line in lines:
        origin = {"contributor": _build_contributor(line), **_build_proof(line.blame)}
        start = ranges[-1]["start-line"] if ranges else 0
        if ranges and ranges[-1] == {"start-line": start, "end-line": line.number - 1, **origin}:
            ranges[-1]["end-line"] = line.number
        else:
            ranges.append({"start-line": line.number, "end-line": line.number, **origin})
    return ranges


def _build_contributor(line: BlamedLine) -> dict[str, str]:
    """Return the type of a line's contributor, and the id of the model unless a person wrote it.

    For a `mixed` line, `changed-by` is who changed it after the agent: `human` or `unknown`.
    """
    model = line.blame.claim.model if line.blame is not None and line.type != "human" else ""
    contributor = {"type": line.type} | ({"model-id": model} if model else {})
    if line.blame is not None and line.type == "mixed":
        contributor["changed-by"] = line.blame.changed_by or "unknown"
    return contributor


def _build_proof(blame: LineBlame | None) -> dict[str, Any]:
    """Return the session, record and entry that prove a line; empty if none does."""
    if blame is None:
        return {}
    claim = blame.claim
    proof = {
        "session-id": claim.session,
        "record": claim.record,
        "entry": claim.entry,
        "evidence": claim.evidence,
        "join": blame.join,
    }
    if claim.call_id:
        proof["call-id"] = claim.call_id
    time = _format_seconds(claim.time)
    if time is not None:
        proof["time"] = time
    if claim.doubt:
        proof["doubt"] = claim.doubt
    if prompt := shorten_prompt(claim):
        proof["prompt"] = prompt
    return proof


@lru_cache(maxsize=1024)  # Many lines have the time of one call.
def _format_seconds(seconds: int | None) -> str | None:
    """Return a time in seconds since 1970 as RFC 3339 text; `None` if it is unknown."""
    return None if seconds is None else format_timestamp(seconds * 1000)


def shorten_prompt(claim: LineClaim, max_length: int = _MAX_PROMPT_LENGTH) -> str:
    """Return the first line of the prompt that a line was written for; empty if unknown.

    A longer line is cut to `max_length` characters, the last one an ellipsis.
    """
    first_line = claim.prompt.strip().split("\n")[0]
    return first_line if len(first_line) <= max_length else first_line[: max_length - 1] + "…"


def build_line_counts(counts: Counter[str]) -> dict[str, int]:
    """Return the number of lines of each contributor type, even if 0, and the sum as `lines`."""
    return {kind: counts[kind] for kind in CONTRIBUTOR_TYPES} | {"lines": sum(counts.values())}


def format_line_counts(counts: Mapping[str, int]) -> str:
    """Return the counts above zero by type, such as `6 ai, 1 unknown`, or `no lines`."""
    parts = [f"{counts[kind]} {kind}" for kind in CONTRIBUTOR_TYPES if counts.get(kind)]
    return ", ".join(parts) or "no lines"


def count_lines_by_model(blames: Iterable[LineBlame | None]) -> dict[str, int]:
    """Count the lines that each model wrote or helped to write.

    Lines without a known model are not counted.
    """
    return dict(
        Counter(
            blame.claim.model
            for blame in blames
            if blame is not None and blame.type in ("ai", "mixed") and blame.claim.model
        )
    )
