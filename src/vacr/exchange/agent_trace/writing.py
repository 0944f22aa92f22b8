"""The file attribution of a record as an Agent Trace record. Step: export. Follows the JSON Schema
in Agent Trace's README.
"""

from __future__ import annotations

import base64
import re
from collections import Counter

from vacr import codec
from vacr.errors import InvalidRecord
from vacr.exchange.agent_trace import FORMAT, VERSION, reading, restoring
from vacr.exchange.agent_trace.hashes import joined
from vacr.exchange.attributed import files_of, is_uri, lose_the_session
from vacr.exchange.exported import Asked, Exported, Losses
from vacr.exchange.restored import restored
from vacr.model import Native
from vacr.timestamps import as_text, milliseconds
from vacr.version import __version__

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_SYSTEMS = ("git", "jj", "hg", "svn")
_LONGEST_MODEL = 250
_UNKNOWN = "unknown"


def export(record: Native, asked: Asked) -> Exported:
    """Give who wrote which lines; a record that was made of a trace gives that again.

    Raises:
        InvalidRecord: the record attributes no files, or has no time.
    """
    if (
        data := restored(record, FORMAT, restoring.written, lambda source: reading.read(source)[0])
    ) is not None:
        return Exported(data)
    losses: Losses = Counter()
    files = files_of(record, "Agent Trace")
    lose_the_session(record, losses)
    related = {"type": "record", "url": _named(asked.digest)}
    made: Native = {
        "version": VERSION,
        "id": record["id"] if _UUID.fullmatch(record["id"]) else _uuid(asked.digest),
        "timestamp": _time(record),
        "files": [_file(file, related, losses) for file in files],
        "metadata": {
            "vacr": {
                "record": record["id"],
                "sha-256": asked.digest,
                "exporter": f"vacr {__version__}",
            }
        },
    }
    vcs = record.get("vcs", {})
    if vcs.get("type") in _SYSTEMS and "revision" in vcs:
        made["vcs"] = {"type": vcs["type"], "revision": vcs["revision"]}
    if rest := vcs.keys() - made.get("vcs", {}).keys():
        losses.update(f"{name} of version control" for name in rest)
    meta = record["session"].get("agent-meta", {})
    if "cli-name" in meta:
        made["tool"] = {"name": meta["cli-name"], "version": meta.get("cli-version", _UNKNOWN)}
    return Exported(codec.encode(made) + b"\n", losses)


def _file(file: Native, related: Native, losses: Losses) -> Native:
    conversations = []
    for one in file["conversations"]:
        made: Native = {
            "ranges": [
                part for other in one["ranges"] if (part := _range(other, losses)) is not None
            ]
        }
        if is_uri(one.get("url")):
            made["url"] = one["url"]
        if "contributor" in one:
            made["contributor"] = _contributor(one["contributor"], losses)
        made["related"] = [
            *(other for other in one.get("related", ()) if is_uri(other["url"])),
            related,
        ]
        addresses = [
            one.get("url", related["url"]),
            *(other["url"] for other in one.get("related", ())),
        ]
        losses.update("addresses without a scheme" for address in addresses if not is_uri(address))
        conversations.append(made)
    return {"path": file["path"], "conversations": conversations}


def _range(one: Native, losses: Losses) -> Native | None:
    if one["start-line"] < 1 or one["end-line"] < one["start-line"]:
        losses["ranges without a line"] += 1
        return None
    made: Native = {"start_line": one["start-line"], "end_line": one["end-line"]}
    if "content-hash" in one:
        made["content_hash"] = joined(one)
    if "contributor" in one:
        made["contributor"] = _contributor(one["contributor"], losses)
    return made


def _contributor(contributor: Native, losses: Losses) -> Native:
    model = contributor.get("model-id")
    losses.update(
        ["ends of names of models"] if model is not None and len(model) > _LONGEST_MODEL else []
    )
    return {"type": contributor["type"]} | (
        {"model_id": model[:_LONGEST_MODEL]} if model is not None else {}
    )


def _time(record: Native) -> str:
    """Give when the trace was recorded: as late as the record knows, in UTC."""
    session = record["session"]
    for stamp in (record.get("created"), session.get("session-end"), session.get("session-start")):
        moment = milliseconds(stamp) if stamp is not None else None
        if moment is not None and (text := as_text(moment)) is not None:
            return text
    hint = "A record with `created`, `session-start` or `session-end` can be exported."
    raise InvalidRecord(
        "the record has no time, and Agent Trace needs one",
        where="/session/session-start",
        hint=hint,
    )


def _named(digest: str) -> str:
    """Name bytes by their digest, RFC 6920."""
    return f"ni:///sha-256;{base64.urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b'=').decode()}"


def _uuid(digest: str) -> str:
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
