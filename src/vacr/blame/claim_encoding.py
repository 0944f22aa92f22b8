"""The claims of a record as bytes, and the keys that lead from a file to the records about it.

Both serve the index of claims. The bytes hold each claim once: pieces and states name it by its
number, and a state is a list of runs of lines. Only states that are wanted are built again.

    >>> from vacr.blame.claim_encoding import decode_claims, encode_claims
    >>> from vacr.blame.claims import LineClaim, RecordClaims, TextPiece
    >>> claim = LineClaim("ai", "gpt-5", "session-1", "", "entry-9", "call-3", "", "replayed")
    >>> claims = RecordClaims(pieces=[TextPiece(claim, "total.py", ("import os\\n",))])
    >>> decode_claims(encode_claims(claims), wanted=()) == claims
    True
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, get_type_hints

import msgspec

from vacr.blame.blocks import FileVersion
from vacr.blame.claims import (
    ClaimsByLine,
    HashedRange,
    KnownState,
    LineClaim,
    RecordClaims,
    SessionFacts,
    TextPiece,
)

_COMPRESSION_LEVEL = 3
_KEY_SIZE = 8

_Run = tuple[int, int, int]
"""The first number of consecutive lines, their count, and the number of the claim about them."""


def _define_stored_type(original: type, **replaced: Any) -> Any:
    """Return a type with the members of a dataclass, where some have another type.

    So a member that the dataclass gains is stored as well.
    """
    hints = get_type_hints(original)
    members = [(name, replaced.get(name, hint)) for name, hint in hints.items()]
    return msgspec.defstruct(f"Stored{original.__name__}", members, array_like=True)


_StoredClaim: Any = _define_stored_type(LineClaim)
_StoredFacts: Any = _define_stored_type(SessionFacts)
_StoredPiece: Any = _define_stored_type(TextPiece, claim=int)
_StoredRange: Any = _define_stored_type(HashedRange, claim=int)
_StoredState: Any = _define_stored_type(KnownState, lines=list[_Run])
_StoredRecord: Any = _define_stored_type(
    RecordClaims,
    facts=_StoredFacts,
    pieces=list[_StoredPiece],
    hashed=list[_StoredRange],
    states=dict[str, list[_StoredState]],
)
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
    tuple[list[_StoredClaim], _StoredRecord]
)


def encode_claims(claims: RecordClaims) -> bytes:
    """Return the claims of a record as bytes.

    Raises:
        UnicodeEncodeError: a text has a lone surrogate.
    """
    numbers: dict[LineClaim, int] = {}

    def find_number(claim: LineClaim) -> int:
        """Return the number of a claim; equal claims have one number."""
        return numbers.setdefault(claim, len(numbers))

    record = _copy_members(
        claims,
        _StoredRecord,
        facts=_copy_members(claims.facts, _StoredFacts),
        pieces=[
            _copy_members(piece, _StoredPiece, claim=find_number(piece.claim))
            for piece in claims.pieces
        ],
        hashed=[
            _copy_members(hashed, _StoredRange, claim=find_number(hashed.claim))
            for hashed in claims.hashed
        ],
        states={
            digest: [
                _copy_members(
                    state,
                    _StoredState,
                    lines=[
                        (first, count, find_number(claim))
                        for first, count, claim in _list_runs(state.lines)
                    ],
                )
                for state in states
            ]
            for digest, states in claims.states.items()
        },
    )
    stored = [_copy_members(claim, _StoredClaim) for claim in numbers]
    return zlib.compress(msgspec.msgpack.encode((stored, record)), _COMPRESSION_LEVEL)


def decode_claims(data: bytes, wanted: Collection[str] | None) -> RecordClaims:
    """Return the claims in some bytes, with the states whose SHA-256 is wanted; `None` means all.

    Raises:
        zlib.error, msgspec.MsgspecError, IndexError: the bytes are damaged.
    """
    stored, record = _decoder.decode(zlib.decompress(data))
    claims = [_copy_members(claim, LineClaim) for claim in stored]
    result: RecordClaims = _copy_members(
        record,
        RecordClaims,
        facts=_copy_members(record.facts, SessionFacts),
        pieces=[
            _copy_members(piece, TextPiece, claim=claims[piece.claim]) for piece in record.pieces
        ],
        hashed=[
            _copy_members(hashed, HashedRange, claim=claims[hashed.claim])
            for hashed in record.hashed
        ],
        states={
            digest: [
                _copy_members(state, KnownState, lines=_join_runs(state.lines, claims))
                for state in states
            ]
            for digest, states in record.states.items()
            if wanted is None or digest in wanted
        },
    )
    return result


def _copy_members(value: Any, target: Any, **replaced: Any) -> Any:
    """Return a value of another type with the same members, some of them replaced."""
    names = getattr(target, "__struct_fields__", None) or target.__dataclass_fields__
    return target(*(replaced[name] if name in replaced else getattr(value, name) for name in names))


def _list_runs(lines: ClaimsByLine) -> Iterator[tuple[int, int, LineClaim]]:
    """Yield the runs of consecutive lines with one claim: first number, count and claim."""
    first, count = 0, 0
    current: LineClaim | None = None
    for number in sorted(lines):
        claim = lines[number]
        if claim is current and number == first + count:
            count += 1
            continue
        if current is not None:
            yield first, count, current
        first, count, current = number, 1, claim
    if current is not None:
        yield first, count, current


def _join_runs(runs: Sequence[_Run], claims: Sequence[LineClaim]) -> ClaimsByLine:
    """Return the claims about lines by their numbers, from runs."""
    lines: ClaimsByLine = {}
    for first, count, claim in runs:
        lines |= dict.fromkeys(range(first, first + count), claims[claim])
    return lines


# --- keys that a record and a file have in common ---


def list_claim_keys(claims: RecordClaims) -> set[int]:
    """Return the keys of claims: their lines, states and the names of their files.

    A line without a letter or digit is not a key: it counts only in a file of the same name.
    """
    lines = {line.strip() for piece in claims.pieces for line in piece.lines}
    paths = {piece.path for piece in claims.pieces}
    paths.update(hashed.path for hashed in claims.hashed)
    paths.update(state.path for states in claims.states.values() for state in states)
    return {
        *(_hash_key("line", line) for line in lines if any(map(str.isalnum, line))),
        *(_hash_key("state", digest) for digest in claims.states),
        *(_hash_key("name", _get_file_name(path)) for path in paths),
        *([_HASHED_KEY] if claims.hashed else []),
    }


def list_version_keys(versions: Sequence[FileVersion]) -> set[int]:
    """Return the keys of versions of files: their added lines, digests and names."""
    spellings = set().union(*(version.list_added_lines() for version in versions))
    names = {name for version in versions for name in (version.path, *version.names)}
    return {
        *_hash_lines(spellings),
        *(make_state_key(version) for version in versions),
        *(_hash_key("name", _get_file_name(name)) for name in names),
        _HASHED_KEY,
    }


def list_line_keys(versions: Iterable[FileVersion]) -> set[int]:
    """Return the keys of all lines of versions of files, added or not."""
    return _hash_lines(set().union(*(version.bare for version in versions)))


def make_state_key(version: FileVersion) -> int:
    """Return the key of records that know exactly this version of a file."""
    return _hash_key("state", version.digest)


def _hash_lines(spellings: Iterable[str]) -> set[int]:
    """Return the keys of lines; blanks around a line do not matter."""
    return {_hash_key("line", line) for line in {line.strip() for line in spellings}}


def _get_file_name(path: str) -> str:
    """Return the last part of a path of any system, in one case."""
    return path.replace("\\", "/").rpartition("/")[2].casefold()


def _hash_key(kind: str, text: str) -> int:
    """Return a number for a text of a kind."""
    data = f"{kind}:{text}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=_KEY_SIZE).digest()
    return int.from_bytes(digest, "big", signed=True)


_HASHED_KEY = _hash_key("hashed", "")
"""The key of all records with ranges that are known only by their hash."""
