"""`vacr attribute --check`: the attributions that records hold, compared with what the records
yield.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacr.attribution import Base, checking
from vacr.cli.given import Given, given
from vacr.cli.options import Voice
from vacr.errors import VacrError
from vacr.versions.made import is_changed

FAILED = 1


def check_all(files: Iterable[str], tree: Base | None, voice: Voice) -> int:
    """Give each record a verdict, and the exit code of all; one that cannot be read does not keep
    the others from theirs.
    """
    found: list[Given] = []
    results, exits = [], [0]
    for path in files:
        try:
            found += given(path, changed=True)
        except VacrError as error:
            voice.error(f"vacr: {error}", error.hint)
            results.append({"source": path, "same": False, "reason": str(error)})
            exits.append(error.exit_code)
    joint = checking.Joint([one.record for one in found])
    for one in found:
        reason = _reason(one, joint, tree)
        voice.result(f"{one.path}: {reason or 'attributed as the record yields'}")
        results.append({"source": one.path, "same": not reason, "reason": reason})
        exits.append(FAILED if reason else 0)
    voice.data({"results": results})
    # That something does not hold is worth more than that something else cannot be read.
    return FAILED if FAILED in exits else max(exits)


def _reason(one: Given, joint: checking.Joint, tree: Base | None) -> str:
    """Say why an attribution does not hold; nothing if it does."""
    if is_changed(one.record, json=one.form == "json"):
        return "the record was changed after it was made: its id is not that of its content"
    if "file-attribution" not in one.record:
        return "it has no attribution"
    outcome, told = checking.check(one.record, joint, tree)
    return "" if outcome == checking.HOLDS else told
