"""What `vacr blame` tells programs of lines, of files and of commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from vacr.attribution.blame import Found
from vacr.attribution.stored import Claim
from vacr.sources.blaming import Added, Line

KINDS = ("ai", "human", "mixed", "unknown")
_PROMPT = 200


def asked_for(claim: Claim, most: int = _PROMPT) -> str:
    """Give the beginning of what the user asked for."""
    asked = claim.prompt.strip().split("\n")[0]
    return asked if len(asked) <= most else asked[: most - 1] + "…"


def line_told(line: Line) -> dict[str, Any]:
    """Tell of a line where it comes from, who made it, and what proves that."""
    place = {"commit": line.commit, "original-path": line.path, "original-line": line.number}
    return place | {"contributor": _contributor(line)} | _proof(line.found)


def _contributor(line: Line) -> dict[str, str]:
    model = line.found.claim.model if line.found is not None and line.type != "human" else ""
    return {"type": line.type} | ({"model-id": model} if model else {})


def _proof(found: Found | None) -> dict[str, Any]:
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
    if asked := asked_for(claim):
        proof["prompt"] = asked
    return proof


def _ranges(lines: list[Line]) -> list[dict[str, Any]]:
    """Gather consecutive lines of which the same is known."""
    ranges: list[dict[str, Any]] = []
    for line in lines:
        about = {"contributor": _contributor(line), **_proof(line.found)}
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


def counts_told(counts: Counter[str]) -> dict[str, int]:
    """Tell how many lines there are of each kind."""
    return {kind: counts[kind] for kind in KINDS} | {"lines": sum(counts.values())}


def models_told(found: Iterable[Found | None]) -> dict[str, int]:
    """Count lines by the model that made them."""
    return dict(
        Counter(
            one.claim.model
            for one in found
            if one is not None and one.type in ("ai", "mixed") and one.claim.model
        )
    )


def added_told(added: Added) -> dict[str, Any]:
    """Tell of what a commit, or a range of commits, added."""
    files, total = [], Counter[str]()
    for path, lines in added.files:
        counts = Counter(line.type for line in lines)
        total += counts
        files.append({"path": path, **counts_told(counts), "ranges": _ranges(lines)})
    span = {"since": added.since, "commits": added.commits} if added.since is not None else {}
    models = models_told(line.found for _, lines in added.files for line in lines)
    about = {"total": counts_told(total), "models": models, "no-text": added.no_text}
    return {"commit": added.commit, **span, "files": files, **about}
