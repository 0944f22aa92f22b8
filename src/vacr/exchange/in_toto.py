"""A record as an in-toto statement in a signed envelope, for policy engines. Step: export. Follows
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

from vacr import codec
from vacr.errors import UsageError, VacrError
from vacr.exchange.attributed import proofs_of
from vacr.exchange.dsse import envelope
from vacr.exchange.exported import Asked, Exported, Losses
from vacr.model import Native
from vacr.signing.labels import RECEIPTS
from vacr.signing.sign1 import parse
from vacr.timestamps import as_text, milliseconds

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREDICATE_TYPE = "urn:x-vacr:agent-record:v0.1"
_DIGEST = re.compile("[0-9a-f]{64}")
_MEDIA_TYPES = {"json": "application/json", "cbor": "application/cbor"}


def export(record: Native, asked: Asked) -> Exported:
    """Give the signed statement about a record.

    Raises:
        UsageError: there is nothing to sign with.
    """
    if asked.signer is None:
        raise UsageError(
            "in-toto statements are signed",
            hint="Name a key: --key keys/signing.pem; vacr key generate makes one.",
        )
    losses: Losses = Counter()
    if entries := len(record["session"].get("entries", ())):
        losses["entries of the conversation"] = entries
    statement = {
        "_type": STATEMENT,
        "subject": _subjects(record, asked, losses),
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(record, asked, losses),
    }
    return Exported(
        codec.encode(envelope(codec.encode(statement), PAYLOAD_TYPE, asked.signer)) + b"\n", losses
    )


def _subjects(record: Native, asked: Asked, losses: Losses) -> list[Native]:
    found: list[Native] = []
    if asked.commit:
        found.append(
            {
                "name": str(record.get("vcs", {}).get("repository", "commit")),
                "digest": {"gitCommit": asked.commit},
            }
        )
    for file in record.get("file-attribution", {}).get("files", ()):
        said = proofs_of(record, file["path"])
        if said.get("complete") is True and _DIGEST.fullmatch(str(said.get("sha-256"))):
            found.append({"name": file["path"], "digest": {"sha256": said["sha-256"]}})
        else:
            losses["attributed files whose whole content is not known"] += 1
    return found or [{"name": record["id"], "digest": {"sha256": asked.digest}}]


def _predicate(record: Native, asked: Asked, losses: Losses) -> Native:
    session = record["session"]
    meta = session.get("agent-meta", {})
    made: Native = {
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
        moment = milliseconds(session[member]) if member in session else None
        if moment is not None and (text := as_text(moment)) is not None:
            made[name] = text
    vcs = record.get("vcs", {})
    if "revision" in vcs:
        made["baseRevision"] = {"type": vcs.get("type", "unknown"), "revision": vcs["revision"]}
    if "file-attribution" in record:
        made["attribution"] = _counts(record["file-attribution"])
    if receipts := _receipts(asked, losses):
        made["receipts"] = receipts
    return made


def _counts(attribution: Native) -> Native:
    lines: Counter[str] = Counter({"ai": 0, "human": 0, "mixed": 0, "unknown": 0})
    for file in attribution["files"]:
        for conversation in file["conversations"]:
            for one in conversation["ranges"]:
                who = one.get("contributor", conversation.get("contributor", {}))
                lines[who.get("type", "unknown")] += one["end-line"] - one["start-line"] + 1
    return {"files": len(attribution["files"]), "lines": dict(lines)}


def _receipts(asked: Asked, losses: Losses) -> list[Native]:
    """Give the receipts of the statement beside the record, if it is about these bytes; nobody has
    verified them here.
    """
    if asked.statement is None:
        return []
    with suppress(VacrError):
        signed = parse(asked.statement)
        held = signed.unprotected.get(RECEIPTS, [])
        if signed.payload == bytes.fromhex(asked.digest) and isinstance(held, list):
            found = [base64.b64encode(one).decode() for one in held if isinstance(one, bytes)]
            return [{"mediaType": "application/cose", "content": one} for one in found]
    losses["statements beside it that are not about these bytes"] += 1
    return []
