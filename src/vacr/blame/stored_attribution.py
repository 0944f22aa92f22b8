"""The attribution in a record, as claims about lines.

A record may hold the result of `vacr attribute`: ranges of lines, each with the SHA-256 of its
text. If the base of that attribution is not available, a replay cannot repeat it. Then these ranges
are the only claims of the record.

    >>> import vacr
    >>> from vacr.blame.stored_attribution import parse_stored_attribution
    >>> [record] = vacr.read("session.jsonl")
    >>> parse_stored_attribution(record) is None
    True
    >>> stored = parse_stored_attribution(vacr.attribute(record))
    >>> [(hashed.path, hashed.count, hashed.claim.type) for hashed in stored.ranges]
    [('total.py', 5, 'ai'), ('total.py', 1, 'ai')]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vacr.agents import UNKNOWN
from vacr.blame.claims import ClaimsByLine, HashedRange, LineClaim

_SHA_256_NAMES = ("sha-256", "sha256")
_CONTRIBUTOR_TYPES = ("ai", "human", "mixed")
_MAX_RANGE_LINES = 1_000_000  # a longer range in a record cannot be real


@dataclass(slots=True)
class StoredAttribution:
    """The attribution in a record, and the revision of the base it was made with."""

    base: str = ""
    ranges: list[HashedRange] = field(default_factory=list)
    files: dict[str, tuple[str, ClaimsByLine]] = field(default_factory=dict)
    """The path of each whole file and the claims about its lines, by its SHA-256."""


def parse_stored_attribution(record: dict[str, Any]) -> StoredAttribution | None:
    """Return the attribution of a record, or `None` if it is missing or malformed."""
    if not isinstance(record.get("file-attribution"), dict):
        return None
    try:
        return _parse_file_attribution(record)
    except (AttributeError, KeyError, TypeError):
        return None


def _parse_file_attribution(record: dict[str, Any]) -> StoredAttribution:
    """Return the attribution of a record, without ranges of an unknown writer.

    Raises:
        AttributeError, KeyError, TypeError: a member is malformed.
    """
    metadata = record.get("vacr", {})
    proofs = metadata.get("attribution", {}).get("files", {})
    revision = metadata.get("inputs", {}).get("base", {}).get("revision", "")
    stored = StoredAttribution(str(revision))
    context = _EntryContext(record)
    for file in record["file-attribution"].get("files", ()):
        path = file["path"]
        proof = proofs.get(path, {})
        lines: ClaimsByLine = {}
        for line_range, claim in _list_claimed_ranges(context, file, proof):
            first, last = line_range["start-line"], line_range["end-line"]
            if claim.type not in _CONTRIBUTOR_TYPES or last - first >= _MAX_RANGE_LINES:
                continue
            lines |= dict.fromkeys(range(first, last + 1), claim)
            digest = line_range.get("content-hash")
            if digest and line_range.get("content-hash-alg", "sha-256") in _SHA_256_NAMES:
                stored.ranges.append(HashedRange(claim, path, last - first + 1, digest))
        if "sha-256" in proof:
            stored.files[proof["sha-256"]] = path, lines
    return stored


class _EntryContext:
    """The prompt and the time of each entry of a record."""

    def __init__(self, record: dict[str, Any]) -> None:
        from vacr.attribution import find_entry_prompts, find_entry_times

        self.record = record
        self.prompts = find_entry_prompts(record)
        self.times = find_entry_times(record)


def _list_claimed_ranges(
    context: _EntryContext, file: dict[str, Any], proof: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], LineClaim]]:
    """Yield each range of a file in an attribution, with the claim about its lines.

    `proof` is the evidence for the file.
    """
    range_proofs = {
        (proved["start-line"], proved["end-line"]): proved for proved in proof.get("ranges", ())
    }
    for conversation in file.get("conversations", ()):
        for line_range in conversation.get("ranges", ()):
            contributor = line_range.get("contributor", conversation.get("contributor", {}))
            lines = line_range["start-line"], line_range["end-line"]
            yield line_range, _build_claim(context, contributor, range_proofs.get(lines, {}))


def _build_claim(
    context: _EntryContext, contributor: dict[str, Any], proof: dict[str, Any]
) -> LineClaim:
    """Build the claim about one stored range, from its contributor and the evidence for it."""
    entry = next(iter(proof.get("entries", ())), "")
    time = context.times.get(entry)
    return LineClaim(
        type=contributor.get("type", "unknown"),
        model=contributor.get("model-id", ""),
        session=get_session_id(context.record),
        record=str(context.record.get("id", "")),
        entry=entry,
        call_id="",
        prompt=context.prompts.get(entry, ""),
        evidence=proof.get("evidence", ""),
        time=time // 1000 if time else None,
        agent=get_agent_name(context.record),
    )


def get_session_id(record: dict[str, Any]) -> str:
    """Return the id of a record's session, or an empty text if it has none."""
    return str(record["session"].get("session-id", ""))


def get_agent_name(record: dict[str, Any]) -> str:
    """Return the name of the program that a record is about; `unknown` if it has none."""
    return str(record["session"].get("agent-meta", {}).get("cli-name", UNKNOWN))
