"""The attribution of a replay, in the words of the record format. Step: attribute.

The maps of `file-attribution` are closed, so what proves a range stands in the member `vacr` of the
record, by path and range.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from vacr.attribution import diff, net, paths, tools
from vacr.attribution.replay import Replay
from vacr.attribution.text import to_bytes
from vacr.attribution.tracked import CONTENT_ONLY, Maker, Tracked

ALGORITHM, VERSION = "vacr-replay", 3
FORMATTER = "formatter"
"""Why a file may be another than it is said to be: a formatter went over its folder, and nobody
looked since.
"""


def file_attribution(
    replay: Replay, number: int, root: str, conversation: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the member `file-attribution` of one of the records that were replayed, and what proves
    it.
    """
    files, proofs, outside = [], {}, []
    content_only = _content_only(replay, number)
    for tracked in sorted(replay.files.values(), key=lambda tracked: tracked.path):
        path = paths.relative(tracked.path, root)
        net.settle(tracked.file)
        ranges, proof = _ranges(tracked, replay.makers, number)
        content = content_only.get(tracked.path, []) + _lost(tracked, replay.makers, number)
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


def _ranges(
    tracked: Tracked, makers: Sequence[Maker], number: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    ranges, proofs = [], []
    for run in net.runs(tracked.file):
        maker = makers[-run.maker - 1]
        if not _placed(tracked, run) or maker.record != number:
            continue
        place = {"start-line": run.first, "end-line": run.last}
        who = (
            contributor(maker)
            if not run.mixed_with
            else {"type": "mixed", "model-id": makers[-run.mixed_with - 1].model}
        )
        ranges.append(
            place
            | {"content-hash": hashlib.sha256(to_bytes(run.text)).hexdigest(), "contributor": who}
        )
        proofs.append(place | {"evidence": maker.evidence, "entries": maker.entries})
    return ranges, proofs


def _placed(tracked: Tracked, run: net.Run) -> bool:
    """Tell whether it is certain where lines stand now."""
    return run.fresh and not tracked.is_doubtful


def _lost(tracked: Tracked, makers: Sequence[Maker], number: int) -> list[dict[str, Any]]:
    """Give the calls that made lines of which it is no longer known where they stand, or whether
    they do.
    """
    numbers = dict.fromkeys(
        run.maker for run in net.runs(tracked.file) if not _placed(tracked, run)
    )
    found = [makers[-one - 1] for one in numbers]
    return [
        {"call-id": one.call_id, "entries": one.entries}
        for one in found
        if one.kind == "ai" and one.record == number
    ]


def contributor(maker: Maker) -> dict[str, Any]:
    """Say who made lines; what the entry itself says about it is honoured."""
    named = maker.contributor
    if isinstance(named, dict) and named.get("type") in ("human", "ai", "mixed", "unknown"):
        model = named.get("model-id")
        return {"type": named["type"]} | ({"model-id": model} if isinstance(model, str) else {})
    if maker.kind == "ai":
        return {"type": "ai", "model-id": maker.model}
    return {
        "type": "human" if maker.kind == "user" else "mixed" if maker.kind == "mixed" else "unknown"
    }


def _conversation(ranges: list[dict[str, Any]], conversation: dict[str, Any]) -> dict[str, Any]:
    """Say the contributor of most ranges once."""
    common = Counter(tuple(sorted(one["contributor"].items())) for one in ranges).most_common(1)[0][
        0
    ]
    for one in ranges:
        if tuple(sorted(one["contributor"].items())) == common:
            del one["contributor"]
    return {**conversation, "contributor": dict(common), "ranges": ranges}


def _content_only(replay: Replay, number: int) -> dict[str, list[dict[str, Any]]]:
    """Gather the changes whose place is not known, by file."""
    found: dict[str, list[dict[str, Any]]] = {}
    for change in replay.history:
        if change.evidence == CONTENT_ONLY and change.record == number:
            found.setdefault(change.path, []).append(
                {"call-id": change.call.call_id, "entries": [change.call.entry]}
            )
    return found


def _proof(
    tracked: Tracked, ranges: list[dict[str, Any]], content: list[dict[str, Any]]
) -> dict[str, Any]:
    text = _whole(tracked)
    proof: dict[str, Any] = {"complete": text is not None, "ranges": ranges}
    if tracked.dirty and tracked.swept:
        proof["doubt"] = FORMATTER
    if text is not None:
        proof["sha-256"] = hashlib.sha256(to_bytes(text)).hexdigest()
    if content:
        proof["content-only"] = content
    return proof


def _whole(tracked: Tracked) -> str | None:
    """Give the text of a file of which every byte is known: hosts show a mark in the place of what
    is not UTF-8.
    """
    text = tracked.text
    if text is None or "\ufffd" not in text or tracked.file.exact:
        return text
    chunk = tracked.file.chunks[0]
    marked = any(
        "\ufffd" in line and not maker
        for line, maker in zip(chunk.lines, chunk.makers, strict=True)
    )
    return None if marked else text


def left_files(
    replay: Replay, roots: Sequence[str]
) -> Iterator[tuple[str, bytes | None, dict[str, Any]]]:
    """Give each file that the sessions changed: its path, its bytes where all of them are known,
    and what is known about it.

    With a base, that is each file that is not as the base has it, and with it what moved and what
    others changed meanwhile.
    """
    changed: dict[str, tuple[int, set[str]]] = {}
    for change in replay.history:
        changed.setdefault(change.path, (change.record, set()))[1].add(change.evidence)
    for tracked in sorted(replay.files.values(), key=lambda tracked: tracked.path):
        makers = [replay.makers[-run.maker - 1] for run in net.runs(tracked.file)]
        record, evidence = changed.get(tracked.path, (makers[0].record if makers else 0, set()))
        path = paths.relative(tracked.path, roots[record]) if roots else None
        if path is None:
            continue
        if tracked.gone:
            yield path, None, {"complete": True, "deleted": True, "evidence": sorted(evidence)}
            continue
        text = _whole(tracked)
        data = None if text is None else to_bytes(text)
        if evidence or _left(replay, path, data, makers):
            evidence = evidence | {maker.evidence for maker in makers}
            doubt = {"doubt": FORMATTER} if tracked.dirty and tracked.swept else {}
            yield path, data, {"complete": data is not None, "evidence": sorted(evidence), **doubt}


def _left(replay: Replay, path: str, data: bytes | None, makers: Sequence[Maker]) -> bool:
    """Tell whether a file that no call names is another one than before: it moved, or others
    changed it.
    """
    if replay.base is None:
        return any(maker.kind == "ai" for maker in makers)
    return data is not None and data != replay.base.file(path)
