"""Files to be signed: their digest, taken without holding a large one in memory, and what they are
about.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vacr.agents import Source, SourcePart, find_reader
from vacr.errors import UnreadableInput, VacrError
from vacr.files import describe_file_error, read_bytes
from vacr.signing import build_trace_metadata, get_trace_format

LARGE_FILE_SIZE = 1 << 26
"""From this size on a file is hashed as it is read, and not looked into."""

_MEDIA_TYPES = {
    ".json": "application/json",
    ".cbor": "application/cbor",
    ".jsonl": "application/jsonl",
    ".txt": "text/plain",
}


class _SessionHead(msgspec.Struct, rename="kebab"):
    session_id: Any
    session_start: Any = None
    session_end: Any = None
    agent_meta: Any = None


class _RecordHead(msgspec.Struct):
    """What is wanted of a record; the decoder passes over the rest, which is most of it."""

    version: str
    session: _SessionHead
    id: str | None = None


_head_decoder = msgspec.json.Decoder(_RecordHead)


@dataclass(frozen=True, slots=True)
class SignableFile:
    """A file to be signed; `data` only where it is not too large."""

    digest: bytes
    data: bytes | None
    content_type: str
    record_id: str | None = None
    metadata: dict[str, Any] | None = None


def read_signable_file(path: str, *, whole: bool) -> SignableFile:
    """Look at a file to be signed; `whole` when all of it is needed, however large.

    Raises:
        UnreadableInput: it cannot be read.
    """
    kind = _MEDIA_TYPES.get(Path(path).suffix, "application/octet-stream")
    try:
        is_large = not whole and Path(path).stat().st_size >= LARGE_FILE_SIZE
    except (OSError, ValueError):
        is_large = False  # reading it tells why
    if is_large:
        return SignableFile(_hash_file(path), None, kind)
    data = read_bytes(path)
    if not data:
        raise UnreadableInput("empty: there is nothing to sign", where=path)
    hashed: list[bytes] = []
    # The hash function lets other work go on at the same time.
    hasher = threading.Thread(target=lambda: hashed.append(hashlib.sha256(data).digest()))
    hasher.start()
    try:
        record_id, metadata = _summarise_content(data)
    finally:
        hasher.join()
    return SignableFile(hashed[0], data, kind, record_id, metadata)


def _hash_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path that a user gave
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=path) from error


def _summarise_content(data: bytes) -> tuple[str | None, dict[str, Any] | None]:
    """Give the id of the record that bytes are, and their summary; a native session has a summary
    only.
    """
    record = _parse_record_head(data)
    if record is not None:
        return record.get("id"), build_trace_metadata(record, get_trace_format(record["version"]))
    source = Source((SourcePart("session", data),))
    try:
        reading = next(iter(find_reader(source).read(source)), None)
    except VacrError:
        return None, None
    if reading is None:
        return None, None
    made: dict[str, Any] = dict(reading.record)
    return None, build_trace_metadata(made, made["vacr"]["source"]["format"])


def _parse_record_head(data: bytes) -> dict[str, Any] | None:
    if data[:1] != b"{":
        return _parse_cbor_head(data)
    try:
        head = _head_decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    session = {
        "session-id": head.session.session_id,
        "session-start": head.session.session_start,
        "session-end": head.session.session_end,
        "agent-meta": head.session.agent_meta,
    }
    return {"version": head.version, "id": head.id, "session": session}


def _parse_cbor_head(data: bytes) -> dict[str, Any] | None:
    from vacr.record import decode

    try:
        value = decode(data, "cbor")
    except VacrError:
        return None
    return (
        value
        if isinstance(value, dict) and isinstance(value.get("session"), dict) and "version" in value
        else None
    )
