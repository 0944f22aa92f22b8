"""A record as an in-toto Statement v1 in a signed DSSE 1.0 envelope, for policy engines.

The subjects are the things that a policy asks about: the requested commit, and the files whose
whole content the attribution knows; without either, the record itself. The predicate names the
record and summarizes it. Consumers may ignore any member of it; the absence of a member never makes
a policy pass.

    >>> from vacr.exchange.in_toto import encode_pre_authentication
    >>> encode_pre_authentication(b"{}", "application/vnd.in-toto+json")
    b'DSSEv1 28 application/vnd.in-toto+json 2 {}'
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from contextlib import suppress

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from vacr.agents import UNKNOWN
from vacr.errors import UsageError, VacrError
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    get_attribution_details,
)
from vacr.model import JsonObject
from vacr.record import encode, format_timestamp, get_epoch_milliseconds
from vacr.signing import HEADER_RECEIPTS, Signer, compute_thumbprint_uri, parse_sign1

IN_TOTO_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
IN_TOTO_PAYLOAD_TYPE = "application/vnd.in-toto+json"
IN_TOTO_PREDICATE_TYPE = "urn:x-vacr:agent-record:v0.1"
_HEX_DIGEST = re.compile("[0-9a-f]{64}")
_MEDIA_TYPES = {"json": "application/json", "cbor": "application/cbor"}


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a statement about a record in an envelope that `request.signer` signs.

    Raises:
        UsageError: the request has no signer.
    """
    if request.signer is None:
        raise UsageError(
            "an in-toto statement needs a key",
            hint="Add --key keys/signing.pem. To make a key, run vacr key generate.",
        )
    losses: ExportLosses = Counter()
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    statement = {
        "_type": IN_TOTO_STATEMENT_TYPE,
        "subject": _list_subjects(record, request, losses),
        "predicateType": IN_TOTO_PREDICATE_TYPE,
        "predicate": _build_predicate(record, request, losses),
    }
    envelope = _sign_envelope(encode(statement), IN_TOTO_PAYLOAD_TYPE, request.signer)
    return ExportedDocument(encode(envelope) + b"\n", losses)


# The statement


def _list_subjects(
    record: JsonObject, request: ExportRequest, losses: ExportLosses
) -> list[JsonObject]:
    """Return name and digest of the commit and of each fully known file.

    Without either, the record is the only subject. The other attributed files are counted in
    `losses`.
    """
    subjects: list[JsonObject] = []
    if request.commit:
        repository = str(record.get("vcs", {}).get("repository", "commit"))
        subjects.append({"name": repository, "digest": {"gitCommit": request.commit}})
    for file in record.get("file-attribution", {}).get("files", ()):
        details = get_attribution_details(record, file["path"])
        digest = details.get("sha-256")
        is_certain = details.get("complete") is True and "doubt" not in details
        if is_certain and _HEX_DIGEST.fullmatch(str(digest)):
            subjects.append({"name": file["path"], "digest": {"sha256": digest}})
        else:
            losses["attributed files whose whole content is not known"] += 1
    return subjects or [{"name": record["id"], "digest": {"sha256": request.digest}}]


def _build_predicate(
    record: JsonObject, request: ExportRequest, losses: ExportLosses
) -> JsonObject:
    """Return the summary of a record: agent, models, times, revision, lines and receipts."""
    session = record["session"]
    meta = session.get("agent-meta", {})
    predicate: JsonObject = {
        "record": {
            "uri": f"urn:uuid:{record['id']}",
            "digest": {"sha256": request.digest},
            "mediaType": _MEDIA_TYPES[request.form],
        },
        "agent": {
            "name": str(meta.get("cli-name", UNKNOWN)),
            "version": str(meta.get("cli-version", UNKNOWN)),
        },
        "models": list(map(str, meta.get("models") or [meta.get("model-id", UNKNOWN)])),
        "sessionId": str(session["session-id"]),
    }
    for name, member in (("startedAt", "session-start"), ("finishedAt", "session-end")):
        moment = get_epoch_milliseconds(session[member]) if member in session else None
        if moment is not None and (text := format_timestamp(moment)) is not None:
            predicate[name] = text
    vcs = record.get("vcs", {})
    if "revision" in vcs:
        kind = vcs.get("type", UNKNOWN)
        predicate["baseRevision"] = {"type": kind, "revision": vcs["revision"]}
    if "file-attribution" in record:
        predicate["attribution"] = _count_attribution(record["file-attribution"])
    if receipts := _collect_receipts(request, losses):
        predicate["receipts"] = receipts
    return predicate


def _count_attribution(attribution: JsonObject) -> JsonObject:
    """Return the number of files, and of lines by type of contributor."""
    lines: Counter[str] = Counter({"ai": 0, "human": 0, "mixed": 0, "unknown": 0})
    for file in attribution["files"]:
        for conversation in file["conversations"]:
            for line_range in conversation["ranges"]:
                contributor = line_range.get("contributor", conversation.get("contributor", {}))
                count = line_range["end-line"] - line_range["start-line"] + 1
                lines[contributor.get("type", UNKNOWN)] += count
    return {"files": len(attribution["files"]), "lines": dict(lines)}


def _collect_receipts(request: ExportRequest, losses: ExportLosses) -> list[JsonObject]:
    """Return the receipts in the record's statement, without verifying them.

    Return an empty list without a statement. A statement that cannot be parsed, or is about other
    bytes, is counted in `losses`.
    """
    if request.statement is None:
        return []
    with suppress(VacrError):
        signed = parse_sign1(request.statement)
        receipts = signed.unprotected.get(HEADER_RECEIPTS, [])
        if signed.payload == bytes.fromhex(request.digest) and isinstance(receipts, list):
            return [
                {"mediaType": "application/cose", "content": _encode_base64(receipt)}
                for receipt in receipts
                if isinstance(receipt, bytes)
            ]
    losses["receipts of a statement about other bytes"] += 1
    return []


# The envelope


def _sign_envelope(payload: bytes, payload_type: str, signer: Signer) -> JsonObject:
    """Return a DSSE envelope with the payload and its signature."""
    signature = signer.sign(encode_pre_authentication(payload, payload_type))
    return {
        "payload": _encode_base64(payload),
        "payloadType": payload_type,
        "signatures": [
            {
                "keyid": compute_thumbprint_uri(signer.public_key),
                "sig": _encode_base64(_encode_der_signature(signature, signer)),
            }
        ],
    }


def encode_pre_authentication(payload: bytes, payload_type: str) -> bytes:
    """Encode the bytes that a DSSE signature covers: type and payload, each after its length."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _encode_der_signature(signature: bytes, signer: Signer) -> bytes:
    """Convert an ECDSA signature from COSE's form to DER, as verifiers of DSSE expect.

    Return the signatures of other keys unchanged.
    """
    if not isinstance(signer.public_key, ec.EllipticCurvePublicKey):
        return signature
    half = len(signature) // 2
    r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    return encode_dss_signature(r, s)


def _encode_base64(data: bytes) -> str:
    """Return data as base64 text in the standard alphabet, with padding."""
    return base64.b64encode(data).decode()
