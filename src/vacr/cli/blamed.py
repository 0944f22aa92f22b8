"""What `vacr blame` tells programs of lines, of files and of commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from vacr.blame import AddedLines, BlamedLine, LineBlame, LineClaim

CONTRIBUTOR_TYPES = ("ai", "human", "mixed", "unknown")
_MAX_PROMPT_LENGTH = 200


def shorten_prompt(claim: LineClaim, most: int = _MAX_PROMPT_LENGTH) -> str:
    """Give the beginning of what the user asked for."""
    asked = claim.prompt.strip().split("\n")[0]
    return asked if len(asked) <= most else asked[: most - 1] + "…"


def build_line_document(line: BlamedLine) -> dict[str, Any]:
    """Tell of a line where it comes from, who made it, and what proves that."""
    place = {"commit": line.commit, "original-path": line.path, "original-line": line.number}
    return place | {"contributor": _build_contributor(line)} | _build_proof(line.found)


def _build_contributor(line: BlamedLine) -> dict[str, str]:
    model = line.found.claim.model if line.found is not None and line.type != "human" else ""
    return {"type": line.type} | ({"model-id": model} if model else {})


def _build_proof(found: LineBlame | None) -> dict[str, Any]:
    if found is None:
        return {}
    claim = found.claim
    proof = {
        "session-id": claim.session,
        "record": claim.record,
        "entry": claim.entry,
        "evidence": claim.evidence,
        "join": found.join,
    }
    if claim.call_id:
        proof["call-id"] = claim.call_id
    if asked := shorten_prompt(claim):
        proof["prompt"] = asked
    return proof


def _merge_line_ranges(lines: list[BlamedLine]) -> list[dict[str, Any]]:
    """Gather consecutive lines of which the same is known."""
    ranges: list[dict[str, Any]] = []
    for line in lines:
        about = {"contributor": _build_contributor(line), **_build_proof(line.found)}
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


def build_line_counts(counts: Counter[str]) -> dict[str, int]:
    """Tell how many lines there are of each kind."""
    return {kind: counts[kind] for kind in CONTRIBUTOR_TYPES} | {"lines": sum(counts.values())}


def count_lines_by_model(found: Iterable[LineBlame | None]) -> dict[str, int]:
    """Count lines by the model that made them."""
    return dict(
        Counter(
            one.claim.model
            for one in found
            if one is not None and one.type in ("ai", "mixed") and one.claim.model
        )
    )


def build_commit_document(added: AddedLines) -> dict[str, Any]:
    """Tell of what a commit, or a range of commits, added."""
    files, total = [], Counter[str]()
    for path, lines in added.files:
        counts = Counter(line.type for line in lines)
        total += counts
        files.append(
            {"path": path, **build_line_counts(counts), "ranges": _merge_line_ranges(lines)}
        )
    span = {"since": added.since, "commits": added.commits} if added.since is not None else {}
    models = count_lines_by_model(line.found for _, lines in added.files for line in lines)
    about = {"total": build_line_counts(total), "models": models, "no-text": added.no_text}
    return {"commit": added.commit, **span, "files": files, **about}
