"""`vacr attribute --check`: the attributions that records hold, compared with what the records
yield.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacr.attribution import ATTRIBUTION_HOLDS, BaseFiles, JointRecords, compare_attribution
from vacr.cli.given import InputRecord, read_input_records
from vacr.cli.options import Voice
from vacr.errors import VacrError
from vacr.record import is_record_modified

EXIT_FAILED = 1


def check_attributions(files: Iterable[str], tree: BaseFiles | None, voice: Voice) -> int:
    """Give each record a verdict, and the exit code of all; one that cannot be read does not keep
    the others from theirs.
    """
    found: list[InputRecord] = []
    results, exits = [], [0]
    for path in files:
        try:
            found += read_input_records(path, changed=True)
        except VacrError as error:
            voice.error(f"vacr: {error}", error.hint)
            results.append({"source": path, "same": False, "reason": str(error)})
            exits.append(error.exit_code)
    joint = JointRecords([one.record for one in found])
    for one in found:
        reason = _find_attribution_failure(one, joint, tree)
        voice.result(f"{one.path}: {reason or 'attributed as the record yields'}")
        results.append({"source": one.path, "same": not reason, "reason": reason})
        exits.append(EXIT_FAILED if reason else 0)
    voice.data({"results": results})
    # That something does not hold is worth more than that something else cannot be read.
    return EXIT_FAILED if EXIT_FAILED in exits else max(exits)


def _find_attribution_failure(one: InputRecord, joint: JointRecords, tree: BaseFiles | None) -> str:
    """Say why an attribution does not hold; nothing if it does."""
    if is_record_modified(one.record, json=one.form == "json"):
        return "the record was changed after it was made: its id is not that of its content"
    if "file-attribution" not in one.record:
        return "it has no attribution"
    outcome, told = compare_attribution(one.record, joint, tree)
    return "" if outcome == ATTRIBUTION_HOLDS else told
