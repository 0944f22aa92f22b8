"""A stored attribution, recomputed and compared.

Attribution is a pure function of records and a base, so anybody can repeat it. A record names what
its attribution was made with: the base, and the records that were attributed together with it.

    >>> from vacr.attribution.attribute import attribute_records
    >>> from vacr.attribution.check import JointRecords, compare_attribution
    >>> session = {"session-id": "s", "agent-meta": {}, "entries": []}
    >>> (record,) = attribute_records([{"version": "3.0", "session": session}])
    >>> compare_attribution(record, JointRecords([record]), None)[0]
    'holds'
    >>> record["file-attribution"]["files"].append({"path": "a.py"})
    >>> compare_attribution(record, JointRecords([record]), None)[0]
    'differs'
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from vacr.agents import find_missing_agent
from vacr.attribution.attribute import ConversationLinks, attribute_records
from vacr.attribution.base_files import BaseFiles
from vacr.errors import InvalidRecord
from vacr.model import Record
from vacr.record import compute_record_id, encode_canonical_json, get_vacr_metadata, is_made_by_vacr

ATTRIBUTION_HOLDS, ATTRIBUTION_UNCHECKABLE, ATTRIBUTION_DIFFERS = "holds", "lacking", "differs"
"""The recomputed attribution is identical; it cannot be recomputed here; it is different."""
ATTRIBUTION_NEEDS_AGENT = "agent missing"
"""It cannot be recomputed, because the agent is not installed here."""

_Recomputation = tuple[
    list[dict[str, Any]], BaseFiles | None, ConversationLinks, list[dict[str, Any]]
]
"""Records, the base and the links of an attribution, and the attributed records."""

_VERSION_MEMBERS = ("algorithm", "version", "diff", "tools")


class JointRecords:
    """Records that may have been attributed together, with a cache of recomputed attributions."""

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        """Take the records in the user's order."""
        self.records = records
        # By the identity of the record; keeping the record reserves its identity.
        self._ids: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._recomputed: list[_Recomputation] = []

    def find_with_others(
        self, record: dict[str, Any]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the record, and the list of all records with it.

        If an equal record is in the list, return that one instead. Otherwise the record replaces
        the record with its id, or comes last.
        """
        for other in self.records:
            if other is record or _is_equal_record(other, record):
                return other, list(self.records)
        record_id = record.get("id")
        records = [record if other.get("id") == record_id else other for other in self.records]
        if not any(other is record for other in records):
            records.append(record)
        return record, records

    def list_ids(self, record: dict[str, Any]) -> set[str]:
        """Return the ids that a record may have had before it was attributed, from a cache."""
        if id(record) not in self._ids:
            self._ids[id(record)] = record, _list_possible_ids(record)
        return self._ids[id(record)][1]

    def recompute(
        self, together: list[dict[str, Any]], base: BaseFiles | None, links: ConversationLinks
    ) -> list[dict[str, Any]]:
        """Attribute some of the records again, and return them with the new attribution.

        A second call with the same arguments returns the first result.
        """
        identities = [id(record) for record in together]
        for records, its_base, its_links, attributed in self._recomputed:
            same_records = [id(record) for record in records] == identities
            if same_records and its_base is base and its_links == links:
                return attributed
        stripped = [strip_attribution(record) for record in together]
        attributed = attribute_records(stripped, base, links)
        self._recomputed.append((together, base, links, attributed))
        return attributed


def _is_equal_record(record: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two records have the same canonical JSON."""
    if record.get("id") != other.get("id"):
        return False
    return encode_canonical_json(record) == encode_canonical_json(other)


def compare_attribution(
    record: dict[str, Any], joint: JointRecords, base: BaseFiles | None
) -> tuple[str, str]:
    """Recompute the attribution of a record, and compare it with the one in the record.

    Return one of the constants `ATTRIBUTION_…`, and its reason in words for the user. `joint` has
    the records that may have been attributed with it, `base` the files that the user named.
    """
    record, others = joint.find_with_others(record)
    inputs = _get_attribution_inputs(record)
    revision = inputs["base"].get("revision") if isinstance(inputs.get("base"), dict) else None
    if revision is not None and (base is None or base.revision != revision):
        return (
            ATTRIBUTION_UNCHECKABLE,
            f"cannot recompute the attribution without its base; add --base REPOSITORY@{revision}",
        )
    together = _find_joint_records(record, others, joint)
    if together is None:
        return (
            ATTRIBUTION_UNCHECKABLE,
            (
                "cannot recompute the attribution: it was made from several records; name all of "
                "them in one command"
            ),
        )
    number = next(i for i, other in enumerate(together) if other is record)
    used_base = base if revision is not None else None
    again = joint.recompute(together, used_base, _get_conversation_links(record))[number]
    evidence = get_vacr_metadata(record).get("attribution")
    if _has_same_attribution(again, record):
        return ATTRIBUTION_HOLDS, "recomputed, identical"
    if evidence is None and not is_made_by_vacr(record):
        return ATTRIBUTION_UNCHECKABLE, "cannot recompute the attribution: another program made it"
    missing_agents = sorted(set(filter(None, map(find_missing_agent, together))))
    if missing_agents:
        # Without its agent, the effects of a session's tools are unknown.
        names = ", ".join(map(repr, missing_agents))
        return (
            ATTRIBUTION_NEEDS_AGENT,
            f"cannot recompute the attribution: the agent {names} is not installed here",
        )
    if isinstance(evidence, dict) and any(
        evidence.get(name) != again["vacr"]["attribution"][name] for name in _VERSION_MEMBERS
    ):
        return (
            ATTRIBUTION_UNCHECKABLE,
            (
                "another version of vacr made the attribution, and this version computes a "
                "different one; check it with that version"
            ),
        )
    return ATTRIBUTION_DIFFERS, "the recomputed attribution differs from the one in the record"


def is_jointly_attributed(record: dict[str, Any]) -> bool:
    """Return whether a record was attributed together with other records."""
    return bool(_get_attribution_inputs(record).get("records"))


def _has_same_attribution(again: dict[str, Any], record: dict[str, Any]) -> bool:
    """Return whether two records have the same attribution, evidence and `vcs`."""
    pairs = [(again.get(name), record.get(name)) for name in ("file-attribution", "vcs")]
    pairs.append(
        (get_vacr_metadata(again).get("attribution"), get_vacr_metadata(record).get("attribution"))
    )
    # Compare bytes, because 1 equals True in Python.
    return all(encode_canonical_json(left) == encode_canonical_json(right) for left, right in pairs)


def strip_attribution(record: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a record without its attribution, and without the evidence and inputs.

    `vcs` stays, although the attribution may have added it.
    """
    left = {
        name: value
        for name, value in get_vacr_metadata(record).items()
        if name not in ("attribution", "inputs")
    }
    return {
        **{name: value for name, value in record.items() if name != "file-attribution"},
        "vacr": left,
    }


def list_unattributed_variants(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the forms that a record may have had before its attribution.

    The attribution may have added `vcs`, or only its revision. So these are the record with `vcs`,
    without `vcs` and, if it has one, with a `vcs` that lacks the revision.
    """
    earlier = strip_attribution(record)
    vcs = earlier.get("vcs")
    plain = {name: value for name, value in earlier.items() if name != "vcs"}
    if not isinstance(vcs, dict):
        return [earlier, plain]
    return [
        earlier,
        plain,
        {**plain, "vcs": {name: value for name, value in vcs.items() if name != "revision"}},
    ]


def _find_joint_records(
    record: dict[str, Any], records: list[dict[str, Any]], joint: JointRecords
) -> list[dict[str, Any]] | None:
    """Return the record and the records that were attributed with it, in the order of `records`.

    Return only the record if it was attributed alone, and `None` if others are missing.
    """
    names = _get_attribution_inputs(record).get("records")
    if not names or not isinstance(names, list):
        return [record]
    missing, together = {str(name) for name in names}, []
    for other in records:
        matched = missing & joint.list_ids(other) if other is not record else set()
        missing -= matched
        if matched or other is record:
            together.append(other)
    if not missing:
        return together
    # The earlier id of another program's record cannot be recomputed once it was attributed. Then
    # all named records count.
    return records if len(records) > len(names) else None


def _list_possible_ids(record: dict[str, Any]) -> set[str]:
    """Return the ids that a record may have had before it was attributed."""
    ids = {str(record.get("id", ""))}
    for variant in list_unattributed_variants(record):
        with suppress(InvalidRecord):
            ids.add(compute_record_id(cast("Record", variant)))
    return ids


def _get_conversation_links(record: dict[str, Any]) -> ConversationLinks:
    """Return the user's links that the attribution of a record was made with."""
    inputs = _get_attribution_inputs(record)
    related = inputs.get("related")
    resources = related if isinstance(related, list) else []
    pairs = tuple(
        (str(resource.get("type")), str(resource.get("url")))
        for resource in resources
        if isinstance(resource, dict)
    )
    url = inputs.get("url")
    return ConversationLinks(url if isinstance(url, str) else None, pairs)


def _get_attribution_inputs(record: dict[str, Any]) -> dict[str, Any]:
    """Return the base, links and other records that an attribution names; empty without any."""
    inputs = get_vacr_metadata(record).get("inputs")
    return inputs if isinstance(inputs, dict) else {}
