"""`vacr attribute --check`: the attributions that records hold, compared with what the records yield."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

from vacr.attribution import Base, Wishes, attribute
from vacr.cli.given import Given
from vacr.cli.options import Voice
from vacr.cli.records import is_changed
from vacr.errors import InvalidRecord
from vacr.identity import ours, record_id
from vacr.model import Record

FAILED = 1
_MADE_BY = ("algorithm", "version", "diff", "tools")


def check_all(found: list[Given], tree: Base | None, voice: Voice) -> int:
    """Give each record a verdict, and the exit code of all."""
    results = []
    for one in found:
        reason = _reason(one, found, tree)
        voice.result(f"{one.path}: {reason or 'attributed as the record yields'}")
        results.append({"source": one.path, "same": not reason, "reason": reason})
    voice.data({"results": results})
    return 0 if all(result["same"] for result in results) else FAILED


def _reason(one: Given, found: list[Given], tree: Base | None) -> str:
    """Say why an attribution does not hold; nothing if it does."""
    record, inputs = one.record, _inputs(one.record)
    named = inputs["base"].get("revision") if isinstance(inputs.get("base"), dict) else None
    if is_changed(record, one.form):
        return "the record was changed after it was made: its id is not that of its content"
    if "file-attribution" not in record:
        return "it has no attribution"
    if named is not None and (tree is None or tree.revision != named):
        return f"it was made with a base, which has to be given: --base REPOSITORY@{named}"
    together = _together(one, found)
    if together is None:
        return "it was made together with other records, which have to be named too"
    base = tree if named is not None else None
    again = attribute([_before(other.record) for other in together], base, _wishes(record))[together.index(one)]
    held = ours(record).get("attribution")
    if all(again.get(name) == record.get(name) for name in ("file-attribution", "vcs")) and again["vacr"]["attribution"] == held:
        return ""
    if isinstance(held, dict) and any(held.get(name) != again["vacr"]["attribution"][name] for name in _MADE_BY):
        return "its attribution was made by another version of vacr, and this one gives another"
    return "its attribution is not what the record yields"


def _together(one: Given, found: list[Given]) -> list[Given] | None:
    """Give the records that one was made with, in the order they were named, and itself; `None` when there are none."""
    names = _inputs(one.record).get("records")
    if not names or not isinstance(names, list):
        return [one]
    left, together = {str(name) for name in names}, []
    for other in found:
        met = left & _ids(other.record) if other is not one else set()
        left -= met
        together += [other] if met or other is one else []
    if not left:
        return together
    # The id of a record that others made cannot be found again once it was attributed: then all that was named counts.
    return found if len(found) > len(names) else None


def _ids(record: dict[str, Any]) -> set[str]:
    """Give the ids that a record may have had before it was attributed, when it may have lacked a revision."""
    before = _before(record)
    vcs = before.get("vcs")
    plain = {name: value for name, value in before.items() if name != "vcs"}
    variants = [before, plain]
    if isinstance(vcs, dict):
        variants.append({**plain, "vcs": {name: value for name, value in vcs.items() if name != "revision"}})
    ids = {str(record.get("id", ""))}
    for variant in variants:
        with suppress(InvalidRecord):
            ids.add(record_id(cast("Record", variant)))
    return ids


def _wishes(record: dict[str, Any]) -> Wishes:
    inputs = _inputs(record)
    related = inputs.get("related")
    pairs = [(one.get("type"), one.get("url")) for one in related if isinstance(one, dict)] if isinstance(related, list) else []
    url = inputs.get("url")
    return Wishes(url if isinstance(url, str) else None, tuple((str(kind), str(place)) for kind, place in pairs))


def _inputs(record: dict[str, Any]) -> dict[str, Any]:
    inputs = ours(record).get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _before(record: dict[str, Any]) -> dict[str, Any]:
    """Give a record as it was before it was attributed."""
    left = {name: value for name, value in ours(record).items() if name not in ("attribution", "inputs")}
    return {**{name: value for name, value in record.items() if name != "file-attribution"}, "vacr": left}
