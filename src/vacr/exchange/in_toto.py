"""DSSE, the envelope of in-toto: what is signed, and how signatures are written. Step: export.
Follows DSSE 1.0.

A record as an in-toto statement in a signed envelope, for policy engines. Step: export. Follows
in-toto's Statement v1.

Subjects are what a policy asks about: the commit that was named, and the files whose whole content
the attribution knows. Where there is neither, the record itself is. The predicate says which record
tells of them, and what it adds up to; consumers may ignore any member of it, and none of them makes
a policy pass by being absent.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from contextlib import suppress

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

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


def sign_envelope(payload: bytes, payload_type: str, signer: Signer) -> JsonObject:
    """Sign a payload with its type."""
    signature = _encode_der_signature(
        signer.sign(encode_pre_authentication(payload, payload_type)), signer
    )
    return {
        "payload": _encode_base64(payload),
        "payloadType": payload_type,
        "signatures": [
            {"keyid": compute_thumbprint_uri(signer.public_key), "sig": _encode_base64(signature)}
        ],
    }


def encode_pre_authentication(payload: bytes, payload_type: str) -> bytes:
    """Give the bytes that a signature covers: both parts, each after its length."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def _encode_der_signature(signature: bytes, signer: Signer) -> bytes:
    """Give a signature of ECDSA in DER, as those who verify envelopes expect it; COSE has its two
    numbers side by side.
    """
    if not isinstance(signer.public_key, ec.EllipticCurvePublicKey):
        return signature
    half = len(signature) // 2
    return encode_dss_signature(
        int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    )


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


IN_TOTO_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
IN_TOTO_PAYLOAD_TYPE = "application/vnd.in-toto+json"
IN_TOTO_PREDICATE_TYPE = "urn:x-vacr:agent-record:v0.1"
_HEX_DIGEST = re.compile("[0-9a-f]{64}")
_MEDIA_TYPES = {"json": "application/json", "cbor": "application/cbor"}


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give the signed statement about a record.

    Raises:
        UsageError: there is nothing to sign with.
    """
    if asked.signer is None:
        raise UsageError(
            "in-toto statements are signed",
            hint="Name a key: --key keys/signing.pem; vacr key generate makes one.",
        )
    losses: ExportLosses = Counter()
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    statement = {
        "_type": IN_TOTO_STATEMENT_TYPE,
        "subject": _list_subjects(record, asked, losses),
        "predicateType": IN_TOTO_PREDICATE_TYPE,
        "predicate": _build_predicate(record, asked, losses),
    }
    return ExportedDocument(
        encode(sign_envelope(encode(statement), IN_TOTO_PAYLOAD_TYPE, asked.signer)) + b"\n", losses
    )


def _list_subjects(
    record: JsonObject, asked: ExportRequest, losses: ExportLosses
) -> list[JsonObject]:
    found: list[JsonObject] = []
    if asked.commit:
        found.append(
            {
                "name": str(record.get("vcs", {}).get("repository", "commit")),
                "digest": {"gitCommit": asked.commit},
            }
        )
    for file in record.get("file-attribution", {}).get("files", ()):
        said = get_attribution_details(record, file["path"])
        if said.get("complete") is True and _HEX_DIGEST.fullmatch(str(said.get("sha-256"))):
            found.append({"name": file["path"], "digest": {"sha256": said["sha-256"]}})
        else:
            losses["attributed files whose whole content is not known"] += 1
    return found or [{"name": record["id"], "digest": {"sha256": asked.digest}}]


def _build_predicate(record: JsonObject, asked: ExportRequest, losses: ExportLosses) -> JsonObject:
    session = record["session"]
    meta = session.get("agent-meta", {})
    made: JsonObject = {
        "record": {
            "uri": f"urn:uuid:{record['id']}",
            "digest": {"sha256": asked.digest},
            "mediaType": _MEDIA_TYPES[asked.form],
        },
        "agent": {
            "name": str(meta.get("cli-name", "unknown")),
            "version": str(meta.get("cli-version", "unknown")),
        },
        "models": list(map(str, meta.get("models") or [meta.get("model-id", "unknown")])),
        "sessionId": str(session["session-id"]),
    }
    for name, member in (("startedAt", "session-start"), ("finishedAt", "session-end")):
        moment = get_epoch_milliseconds(session[member]) if member in session else None
        if moment is not None and (text := format_timestamp(moment)) is not None:
            made[name] = text
    vcs = record.get("vcs", {})
    if "revision" in vcs:
        made["baseRevision"] = {"type": vcs.get("type", "unknown"), "revision": vcs["revision"]}
    if "file-attribution" in record:
        made["attribution"] = _count_attribution(record["file-attribution"])
    if receipts := _collect_receipts(asked, losses):
        made["receipts"] = receipts
    return made


def _count_attribution(attribution: JsonObject) -> JsonObject:
    lines: Counter[str] = Counter({"ai": 0, "human": 0, "mixed": 0, "unknown": 0})
    for file in attribution["files"]:
        for conversation in file["conversations"]:
            for one in conversation["ranges"]:
                who = one.get("contributor", conversation.get("contributor", {}))
                lines[who.get("type", "unknown")] += one["end-line"] - one["start-line"] + 1
    return {"files": len(attribution["files"]), "lines": dict(lines)}


def _collect_receipts(asked: ExportRequest, losses: ExportLosses) -> list[JsonObject]:
    """Give the receipts of the statement beside the record, if it is about these bytes; nobody has
    verified them here.
    """
    if asked.statement is None:
        return []
    with suppress(VacrError):
        signed = parse_sign1(asked.statement)
        held = signed.unprotected.get(HEADER_RECEIPTS, [])
        if signed.payload == bytes.fromhex(asked.digest) and isinstance(held, list):
            found = [base64.b64encode(one).decode() for one in held if isinstance(one, bytes)]
            return [{"mediaType": "application/cose", "content": one} for one in found]
    losses["statements beside it that are not about these bytes"] += 1
    return []
