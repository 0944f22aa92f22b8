"""The attribution of a replay, in the words of the record format. Step: attribute.

The maps of `file-attribution` are closed, so what proves a range stands beside it, in the member `vacr` of the record, by path and range.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from vacr.attribution import diff, net, paths, tools
from vacr.attribution.replay import CONTENT_ONLY, Change, Maker, Replay, Tracked
from vacr.attribution.text import to_bytes

ALGORITHM, VERSION = "vacr-replay", 1


def file_attribution(replay: Replay, root: str, conversation: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the member `file-attribution` of a record, and what proves it."""
    files, proofs, outside = [], {}, []
    for tracked in sorted(replay.files.values(), key=lambda tracked: tracked.path):
        path = paths.relative(tracked.path, root)
        net.settle(tracked.file)
        ranges, proof = _ranges(tracked, replay.makers)
        content = _content_only(tracked, replay.history)
        if not ranges and not content:
            continue
        if path is None:
            outside.append(tracked.path)
            continue
        if ranges:
            files.append({"path": path, "conversations": [_conversation(ranges, conversation)]})
        proofs[path] = _proof(tracked, proof, content)
    evidence: dict[str, Any] = {
        "algorithm": ALGORITHM,
        "version": VERSION,
        "diff": {"algorithm": diff.ALGORITHM, "version": diff.VERSION},
        "tools": {"version": tools.VERSION},
        "files": proofs,
    }
    if outside:
        evidence["outside"] = sorted(outside)
    return {"files": files}, evidence


def _ranges(tracked: Tracked, makers: Sequence[Maker]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    ranges, proofs = [], []
    for run in net.runs(tracked.file):
        maker = makers[-run.maker - 1]
        if not run.fresh and maker.kind != "ai":
            continue
        if not run.fresh:
            continue
        place = {"start-line": run.first, "end-line": run.last}
        ranges.append(place | {"content-hash": hashlib.sha256(to_bytes(run.text)).hexdigest(), "contributor": contributor(maker)})
        proofs.append(place | {"evidence": maker.evidence, "entries": [maker.entry]})
    return ranges, proofs


def contributor(maker: Maker) -> dict[str, Any]:
    """Say who made lines."""
    if maker.kind == "ai":
        return {"type": "ai", "model-id": maker.model}
    return {"type": "human" if maker.kind == "user" else "mixed" if maker.kind == "mixed" else "unknown"}


def _conversation(ranges: list[dict[str, Any]], conversation: dict[str, Any]) -> dict[str, Any]:
    """Say the contributor of most ranges once."""
    common = Counter(tuple(sorted(one["contributor"].items())) for one in ranges).most_common(1)[0][0]
    for one in ranges:
        if tuple(sorted(one["contributor"].items())) == common:
            del one["contributor"]
    return {**conversation, "contributor": dict(common), "ranges": ranges}


def _content_only(tracked: Tracked, history: Iterable[Change]) -> list[dict[str, Any]]:
    return [{"call-id": change.call.call_id, "entries": [change.call.entry]} for change in history if change.path == tracked.path and change.evidence == CONTENT_ONLY]


def _proof(tracked: Tracked, ranges: list[dict[str, Any]], content: list[dict[str, Any]]) -> dict[str, Any]:
    text = tracked.file.text if not tracked.dirty else None
    proof: dict[str, Any] = {"complete": text is not None, "ranges": ranges}
    if text is not None:
        proof["sha-256"] = hashlib.sha256(to_bytes(text)).hexdigest()
    if content:
        proof["content-only"] = content
    return proof
