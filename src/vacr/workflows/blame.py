"""Who wrote the lines of a file or of commits, as documents for programs.

Consecutive lines of which the same is known become one range. Lines that no record proves are
`unknown`, and every count names all four types:

    >>> from collections import Counter
    >>> from vacr.workflows import build_line_counts
    >>> build_line_counts(Counter({"ai": 6}))
    {'ai': 6, 'human': 0, 'mixed': 0, 'unknown': 0, 'lines': 6}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from vacr.blame import AddedLines, BlamedLine, LineBlame, LineClaim
from vacr.errors import UnreadableInput, VacrError
from vacr.workflows.inputs import InputRecord, scan_input_records

CONTRIBUTOR_TYPES = ("ai", "human", "mixed", "unknown")
_MAX_PROMPT_LENGTH = 200


def read_blame_records(
    paths: Iterable[str], skipped: Callable[[str, VacrError], None]
) -> list[dict[str, Any]]:
    """Read all records and sessions at some paths; `skipped` gets what cannot be read, by path.

    Raises:
        UnreadableInput: there are no records.
    """
    records: list[dict[str, Any]] = []
    paths = tuple(paths)
    for path in paths:
        for item in scan_input_records(path):
            if isinstance(item, InputRecord):
                records.append(item.record)
            else:
                skipped(path, item)
    if not records:
        raise UnreadableInput(
            "there are no records",
            where=", ".join(paths),
            hint="Make some: vacr record FOLDER -o records/",
        )
    return records


def build_line_document(line: BlamedLine) -> dict[str, Any]:
    """Describe a line: its origin, its contributor, and the evidence for it."""
    return {
        "commit": line.commit,
        "original-path": line.path,
        "original-line": line.number,
        "contributor": _build_contributor(line),
        **_build_proof(line.blame),
    }


def build_commit_document(added: AddedLines) -> dict[str, Any]:
    """Describe the lines that a commit, or a range of commits, added."""
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


def build_line_counts(counts: Counter[str]) -> dict[str, int]:
    """Return the number of lines of each type, and of all."""
    return {kind: counts[kind] for kind in CONTRIBUTOR_TYPES} | {"lines": sum(counts.values())}


def count_lines_by_model(blames: Iterable[LineBlame | None]) -> dict[str, int]:
    """Count lines by the model that wrote them."""
    return dict(
        Counter(
            blame.claim.model
            for blame in blames
            if blame is not None and blame.type in ("ai", "mixed") and blame.claim.model
        )
    )


def shorten_prompt(claim: LineClaim, max_length: int = _MAX_PROMPT_LENGTH) -> str:
    """Return the beginning of the prompt that a line was written for."""
    first_line = claim.prompt.strip().split("\n")[0]
    return first_line if len(first_line) <= max_length else first_line[: max_length - 1] + "…"


def _merge_line_ranges(lines: list[BlamedLine]) -> list[dict[str, Any]]:
    """Join consecutive lines of which the same is known."""
    ranges: list[dict[str, Any]] = []
    for line in lines:
        about = {"contributor": _build_contributor(line), **_build_proof(line.blame)}
        last = ranges[-1] if ranges else None
        if (
            last
            and last["end-line"] == line.number - 1
            and last == last | about
            and len(last) == len(about) + 2
        ):
            last["end-line"] = line.number
        else:
            ranges.append({"start-line": line.number, "end-line": line.number, **about})
    return ranges


def _build_contributor(line: BlamedLine) -> dict[str, str]:
    model = line.blame.claim.model if line.blame is not None and line.type != "human" else ""
    return {"type": line.type} | ({"model-id": model} if model else {})


def _build_proof(blame: LineBlame | None) -> dict[str, Any]:
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
    if prompt := shorten_prompt(claim):
        proof["prompt"] = prompt
    return proof
