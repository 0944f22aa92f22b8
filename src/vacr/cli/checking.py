"""`vacr attribute --check`: the attributions that records hold, compared with what the records yield."""

from __future__ import annotations

from vacr.attribution import Base, checking
from vacr.cli.given import Given
from vacr.cli.options import Voice
from vacr.versions.made import is_changed

FAILED = 1


def check_all(found: list[Given], tree: Base | None, voice: Voice) -> int:
    """Give each record a verdict, and the exit code of all."""
    results = []
    joint = checking.Joint([one.record for one in found])
    for one in found:
        reason = _reason(one, joint, tree)
        voice.result(f"{one.path}: {reason or 'attributed as the record yields'}")
        results.append({"source": one.path, "same": not reason, "reason": reason})
    voice.data({"results": results})
    return 0 if all(result["same"] for result in results) else FAILED


def _reason(one: Given, joint: checking.Joint, tree: Base | None) -> str:
    """Say why an attribution does not hold; nothing if it does."""
    if is_changed(one.record, json=one.form == "json"):
        return "the record was changed after it was made: its id is not that of its content"
    if "file-attribution" not in one.record:
        return "it has no attribution"
    outcome, told = checking.check(one.record, joint, tree)
    return "" if outcome == checking.HOLDS else told
