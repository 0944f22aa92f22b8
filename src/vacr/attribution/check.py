"""The attribution that a record holds, compared with what the record yields. Step: attribute,
verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from vacr.attribution.attribute import ConversationLinks, attribute_records
from vacr.attribution.base import BaseFiles
from vacr.errors import InvalidRecord
from vacr.model import Record
from vacr.record import compute_record_id, encode_canonical_json, get_vacr_metadata, is_made_by_vacr

ATTRIBUTION_HOLDS, ATTRIBUTION_UNCHECKABLE, ATTRIBUTION_DIFFERS = "holds", "lacking", "differs"
"""It is what the record yields; what it was made with is not at hand; it is not what the record
yields.
"""

_VERSION_MEMBERS = ("algorithm", "version", "diff", "tools")


class JointRecords:
    """Records that may have been attributed together; what attributing them again gives is kept for
    the next of them.
    """

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        """Take the records in the order they were named."""
        self.records = records
        self._ids: dict[
            int, tuple[dict[str, Any], set[str]]
        ] = {}  # with the record, so that no other gets its number
        self._made: list[
            tuple[list[dict[str, Any]], BaseFiles | None, ConversationLinks, list[dict[str, Any]]]
        ] = []

    def beside(self, record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Give a record as they have it, and all of them; one that they do not have stands where
        its id does, or at the end.
        """
        for one in self.records:
            if one is record or (
                one.get("id") == record.get("id")
                and encode_canonical_json(one) == encode_canonical_json(record)
            ):
                return one, list(self.records)
        given = [record if one.get("id") == record.get("id") else one for one in self.records]
        return record, given if any(one is record for one in given) else [*given, record]

    def ids(self, record: dict[str, Any]) -> set[str]:
        """Give the ids that one of them may have had before it was attributed."""
        if id(record) not in self._ids:
            self._ids[id(record)] = record, _list_possible_ids(record)
        return self._ids[id(record)][1]

    def attributed(
        self, together: list[dict[str, Any]], base: BaseFiles | None, wishes: ConversationLinks
    ) -> list[dict[str, Any]]:
        """Attribute some of them again."""
        for held, with_base, wished, made in self._made:
            same = len(held) == len(together) and all(
                one is other for one, other in zip(held, together, strict=True)
            )
            if same and with_base is base and wished == wishes:
                return made
        made = attribute_records([strip_attribution(one) for one in together], base, wishes)
        self._made.append((together, base, wishes, made))
        return made


def compare_attribution(
    record: dict[str, Any], joint: JointRecords, base: BaseFiles | None
) -> tuple[str, str]:
    """Redo the attribution of a record; gives the outcome, and what to say about it."""
    record, given = joint.beside(record)
    inputs = _get_attribution_inputs(record)
    named = inputs["base"].get("revision") if isinstance(inputs.get("base"), dict) else None
    if named is not None and (base is None or base.revision != named):
        return (
            ATTRIBUTION_UNCHECKABLE,
            f"it was made with a base, which has to be given: --base REPOSITORY@{named}",
        )
    together = _find_joint_records(record, given, joint)
    if together is None:
        return (
            ATTRIBUTION_UNCHECKABLE,
            "it was made together with other records, which have to be named too",
        )
    number = next(i for i, other in enumerate(together) if other is record)
    again = joint.attributed(
        together, base if named is not None else None, _get_conversation_links(record)
    )[number]
    held = get_vacr_metadata(record).get("attribution")
    if _has_same_attribution(again, record):
        return ATTRIBUTION_HOLDS, "attributed as the record yields"
    if held is None and not is_made_by_vacr(record):
        return ATTRIBUTION_UNCHECKABLE, "its attribution was made by another program"
    if isinstance(held, dict) and any(
        held.get(name) != again["vacr"]["attribution"][name] for name in _VERSION_MEMBERS
    ):
        return (
            ATTRIBUTION_UNCHECKABLE,
            "its attribution was made by another version of vacr, and this one gives another",
        )
    return ATTRIBUTION_DIFFERS, "its attribution is not what the record yields"


def is_jointly_attributed(record: dict[str, Any]) -> bool:
    """Tell whether an attribution was made together with those of other records."""
    return bool(_get_attribution_inputs(record).get("records"))


def _has_same_attribution(again: dict[str, Any], record: dict[str, Any]) -> bool:
    """Tell whether a record holds just the attribution that was made anew."""
    pairs = [(again.get(name), record.get(name)) for name in ("file-attribution", "vcs")]
    pairs.append(
        (get_vacr_metadata(again).get("attribution"), get_vacr_metadata(record).get("attribution"))
    )
    # In bytes, because to Python 1 is the same as true.
    return all(encode_canonical_json(left) == encode_canonical_json(right) for left, right in pairs)


def strip_attribution(record: dict[str, Any]) -> dict[str, Any]:
    """Give a record as it was before it was attributed."""
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
    """Give all that a record may have been before it was attributed, when it may have lacked a
    revision.
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
    record: dict[str, Any], given: list[dict[str, Any]], joint: JointRecords
) -> list[dict[str, Any]] | None:
    """Give the records that one was made with, in the order they were named, and itself; `None`
    when there are none.
    """
    names = _get_attribution_inputs(record).get("records")
    if not names or not isinstance(names, list):
        return [record]
    left, together = {str(name) for name in names}, []
    for other in given:
        met = left & joint.ids(other) if other is not record else set()
        left -= met
        together += [other] if met or other is record else []
    if not left:
        return together
    # The id of a record that others made cannot be found again once it was attributed: then all
    # that was named counts.
    return given if len(given) > len(names) else None


def _list_possible_ids(record: dict[str, Any]) -> set[str]:
    """Give the ids that a record may have had before it was attributed."""
    ids = {str(record.get("id", ""))}
    for variant in list_unattributed_variants(record):
        with suppress(InvalidRecord):
            ids.add(compute_record_id(cast("Record", variant)))
    return ids


def _get_conversation_links(record: dict[str, Any]) -> ConversationLinks:
    inputs = _get_attribution_inputs(record)
    related = inputs.get("related")
    pairs = (
        [(one.get("type"), one.get("url")) for one in related if isinstance(one, dict)]
        if isinstance(related, list)
        else []
    )
    url = inputs.get("url")
    return ConversationLinks(
        url if isinstance(url, str) else None,
        tuple((str(kind), str(place)) for kind, place in pairs),
    )


def _get_attribution_inputs(record: dict[str, Any]) -> dict[str, Any]:
    inputs = get_vacr_metadata(record).get("inputs")
    return inputs if isinstance(inputs, dict) else {}
