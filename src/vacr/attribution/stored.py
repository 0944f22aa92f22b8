"""The attribution that a record holds, as claims. Step: blame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vacr.attribution.prompts import prompts

_SHA_256 = ("sha-256", "sha256")
_LONGEST = 1_000_000  # lines of a range; nobody wrote more, but a record may say so


@dataclass(frozen=True, slots=True)
class Claim:
    """Who made lines, in which conversation, by which call and for which prompt, and what proves
    it.
    """

    type: str
    model: str
    session: str
    record: str
    entry: str
    call_id: str
    prompt: str
    evidence: str

    @property
    def source(self) -> tuple[str, str]:
        """What tells two makers apart; a session that goes on in another file has the same calls in
        both.
        """
        return self.call_id, self.entry


@dataclass(frozen=True, slots=True)
class Hashed:
    """A range of which only the length and the SHA-256 are known."""

    claim: Claim
    path: str
    count: int
    digest: str


@dataclass(slots=True)
class Stored:
    """What a record holds: its ranges, its whole files by their SHA-256, and the base it was
    attributed with.
    """

    base: str = ""
    ranges: list[Hashed] = field(default_factory=list)
    files: dict[str, dict[int, Claim]] = field(default_factory=dict)


def map_of(value: Any) -> dict[str, Any]:
    """Give a map that a record may hold, or an empty one where it holds something else."""
    return value if isinstance(value, dict) else {}


def stored(record: dict[str, Any]) -> Stored | None:
    """Read the attribution of a record; `None` when it has none, or one that cannot be read."""
    if not isinstance(record.get("file-attribution"), dict):
        return None
    try:
        return _stored(record)
    except (AttributeError, KeyError, TypeError):
        return None


def _stored(record: dict[str, Any]) -> Stored:
    ours = record.get("vacr", {})
    proofs = ours.get("attribution", {}).get("files", {})
    asked = prompts(record)
    found = Stored(str(ours.get("inputs", {}).get("base", {}).get("revision", "")))
    for file in record["file-attribution"].get("files", ()):
        proof = proofs.get(file["path"], {})
        proved = {(one["start-line"], one["end-line"]): one for one in proof.get("ranges", ())}
        lines: dict[int, Claim] = {}
        for conversation in file.get("conversations", ()):
            for one in conversation.get("ranges", ()):
                first, last = one["start-line"], one["end-line"]
                who = one.get("contributor", conversation.get("contributor", {}))
                claim = _claim(record, who, proved.get((first, last), {}), asked)
                if claim.type not in ("ai", "human", "mixed") or last - first >= _LONGEST:
                    continue
                lines |= dict.fromkeys(range(first, last + 1), claim)
                if one.get("content-hash") and one.get("content-hash-alg", "sha-256") in _SHA_256:
                    found.ranges.append(
                        Hashed(claim, file["path"], last - first + 1, one["content-hash"])
                    )
        if "sha-256" in proof:
            found.files[proof["sha-256"]] = lines
    return found


def _claim(
    record: dict[str, Any], who: dict[str, Any], proof: dict[str, Any], asked: dict[str, str]
) -> Claim:
    entry = next(iter(proof.get("entries", ())), "")
    return Claim(
        who.get("type", "unknown"),
        who.get("model-id", ""),
        str(record["session"].get("session-id", "")),
        str(record.get("id", "")),
        entry,
        "",
        asked.get(entry, ""),
        proof.get("evidence", ""),
    )
