"""Agent Trace 0.1.0, which says who wrote which lines of which files, both ways. A record's file
attribution is the same tree.

Hashes of ranges, which Agent Trace writes with their algorithm before a colon. Step: export,
import.

An Agent Trace record as a record of ours. Step: import.

Its files are the file attribution; it tells of no conversation, so there are no entries. Members
that a file attribution cannot have are kept beside, by their pointers, so that `restoring` puts
them back. A file may hold many traces, one a line, as the reference implementation stores them.

The Agent Trace record that a record was made of. Step: export. The inverse of `reading`, member
by member.

The file attribution of a record as an Agent Trace record. Step: export. Follows the JSON Schema
in Agent Trace's README.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from typing import Any

from vacr.agents import UNKNOWN, Reading, SessionBuilder, Source
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    check_document,
    count_lost_session,
    get_attributed_files,
    is_uri,
    restore_document,
)
from vacr.model import SESSION_MEMBERS, JsonObject
from vacr.record import (
    decode_json,
    encode,
    format_timestamp,
    get_epoch_milliseconds,
    get_vacr_metadata,
    is_timestamp,
)
from vacr.version import __version__

AGENT_TRACE_VERSION = "0.1.0"
AGENT_TRACE_FORMAT = "agent-trace"
"""The trace format id of a record that was made of it."""


_DEFAULT_HASH_ALGORITHM, _DEFAULT_HASH_PREFIX = "sha-256", "sha256"
"""What a range of a record has where it names no algorithm, and how others write it."""
_UNSPECIFIED_ALGORITHM = "unspecified"


def format_range_hash(one: JsonObject) -> str:
    """Give the hash of a range as one text."""
    algorithm = one.get("content-hash-alg", _DEFAULT_HASH_ALGORITHM)
    if algorithm == _UNSPECIFIED_ALGORITHM:
        return str(one["content-hash"])
    return f"{_DEFAULT_HASH_PREFIX if algorithm == _DEFAULT_HASH_ALGORITHM else algorithm}:{one['content-hash']}"


def parse_range_hash(text: str) -> JsonObject:
    """Give a hash as the members of a range."""
    algorithm, colon, value = text.partition(":")
    if not colon or algorithm in (_DEFAULT_HASH_ALGORITHM, _UNSPECIFIED_ALGORITHM):
        return {"content-hash": text, "content-hash-alg": _UNSPECIFIED_ALGORITHM}
    return {"content-hash": value} | (
        {} if algorithm == _DEFAULT_HASH_PREFIX else {"content-hash-alg": algorithm}
    )


NATIVE_FILES_MEMBER = "native-files"
"""Where a record keeps, by their pointers, what stood in files and cannot stand in a file
attribution.
"""
_CONTRIBUTOR_NAMES = {"type": "type", "model_id": "model-id"}
_RANGE_NAMES = {"start_line": "start-line", "end_line": "end-line"}


def read(source: Source) -> list[Reading]:
    """Make records of traces, not yet identified.

    Raises:
        UnreadableInput: it is no JSON.
        InvalidRecord: it is no Agent Trace.
    """
    return [
        _read_trace(document, source, where)
        for where, document in parse_json_or_lines(source.main.data)
    ]


def parse_json_or_lines(data: bytes) -> list[tuple[str, Any]]:
    """Give the value in a document with its place, or one value a line.

    Raises:
        UnreadableInput: it is neither.
    """
    try:
        return [("", decode_json(data))]
    except UnreadableInput:
        lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - one line was tried already
            raise
        return [(f"line {number}: ", _parse_json_line(number, line)) for number, line in lines]


def _parse_json_line(number: int, line: bytes) -> Any:
    try:
        return decode_json(line)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=f"line {number}: {error.where}", hint=error.hint
        ) from error


def _read_trace(document: Any, source: Source, where: str) -> Reading:
    try:
        check_document(document, "vacr.exchange", "agent-trace.cddl", "Agent Trace record")
    except InvalidRecord as error:
        raise InvalidRecord(
            error.message, where=f"{where}{error.where}", hint=error.hint
        ) from error
    tool = document.pop("tool", None)
    session = SessionBuilder(AGENT_TRACE_FORMAT, _take_tool_member(tool, "name") or UNKNOWN)
    session.cli_version = _take_tool_member(tool, "version")
    session.session_id = document.pop("id")
    if is_timestamp(document["timestamp"]):
        session.start = document.pop("timestamp")
    session.vcs = document.pop("vcs", {})
    beside: JsonObject = {}
    files = [
        _lift_file(file, f"/files/{number}", beside)
        for number, file in enumerate(document.pop("files"))
    ]
    for name in _list_models(files):
        session.models[name] += 1
    if tool is not None:
        # Also where nothing is left of it: that there was one is not to be forgotten.
        document["tool"] = tool
    session.native = document
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    if beside:
        record["vacr"][NATIVE_FILES_MEMBER] = beside
    return reading


def _take_tool_member(tool: JsonObject | None, name: str) -> str | None:
    """Take a name out of what is said of the tool, unless it is one that stands for none."""
    return tool.pop(name) if tool and tool.get(name, UNKNOWN) not in ("", UNKNOWN) else None


def _list_models(files: list[JsonObject]) -> list[str]:
    held = [one for file in files for one in file["conversations"]]
    held += [part for one in held for part in one["ranges"]]
    return [
        one["contributor"]["model-id"] for one in held if "model-id" in one.get("contributor", ())
    ]


def _lift_file(file: JsonObject, where: str, beside: JsonObject) -> JsonObject:
    made: JsonObject = {"path": file.pop("path"), "conversations": []}
    for number, one in enumerate(file.pop("conversations")):
        place = f"{where}/conversations/{number}"
        conversation: JsonObject = {"ranges": []}
        if "url" in one:
            conversation["url"] = one.pop("url")
        if "contributor" in one:
            conversation["contributor"] = _lift_members(
                one.pop("contributor"), _CONTRIBUTOR_NAMES, f"{place}/contributor", beside
            )
        for position, part in enumerate(one.pop("ranges")):
            conversation["ranges"].append(_lift_range(part, f"{place}/ranges/{position}", beside))
        if "related" in one:
            named = {"type": "type", "url": "url"}
            related = enumerate(one.pop("related"))
            conversation["related"] = [
                _lift_members(other, named, f"{place}/related/{index}", beside)
                for index, other in related
            ]
        _keep_remaining_members(one, place, beside)
        made["conversations"].append(conversation)
    _keep_remaining_members(file, where, beside)
    return made


def _lift_range(part: JsonObject, where: str, beside: JsonObject) -> JsonObject:
    contributor = part.pop("contributor", None)
    text = part.pop("content_hash", None)
    made = _lift_members(part, _RANGE_NAMES, where, beside)
    if text is not None:
        made |= parse_range_hash(text)
    if contributor is not None:
        made["contributor"] = _lift_members(
            contributor, _CONTRIBUTOR_NAMES, f"{where}/contributor", beside
        )
    return made


def _lift_members(
    native: JsonObject, names: dict[str, str], where: str, beside: JsonObject
) -> JsonObject:
    made = {names[name]: native.pop(name) for name in [name for name in names if name in native]}
    _keep_remaining_members(native, where, beside)
    return made


def _keep_remaining_members(rest: JsonObject, where: str, beside: JsonObject) -> None:
    if rest:
        beside[where] = rest


_NATIVE_NAMES = {"start-line": "start_line", "end-line": "end_line", "model-id": "model_id"}


def restore_agent_trace(record: JsonObject) -> bytes:
    """Give the trace."""
    return encode(_rebuild_trace(record)) + b"\n"


def _rebuild_trace(record: JsonObject) -> JsonObject:
    session, said = record["session"], get_vacr_metadata(record)
    made: JsonObject = {
        name: value for name, value in session.items() if name not in SESSION_MEMBERS
    } | said.get("native", {})
    made["id"] = session["session-id"]
    if "timestamp" not in made:
        made["timestamp"] = session["session-start"]
    if "tool" in made:
        meta = session["agent-meta"]
        names = {"name": "cli-name", "version": "cli-version"}
        told = {
            name: meta[member]
            for name, member in names.items()
            if meta.get(member, "unknown") != "unknown"
        }
        made["tool"] = told | made["tool"]
    if "vcs" in record:
        made["vcs"] = record["vcs"]
    made["files"] = _rename_to_native(
        record["file-attribution"]["files"], "/files", said.get(NATIVE_FILES_MEMBER, {})
    )
    return made


def _rename_to_native(value: Any, where: str, beside: JsonObject) -> Any:
    """Give a part of a file attribution with the names that Agent Trace has, and what stood
    beside.
    """
    if isinstance(value, list):
        return [
            _rename_to_native(item, f"{where}/{number}", beside)
            for number, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    made = {
        _NATIVE_NAMES.get(name, name): _rename_to_native(item, f"{where}/{name}", beside)
        for name, item in value.items()
    }
    if "content-hash" in value:
        del made["content-hash"]
        made.pop("content-hash-alg", None)
        made["content_hash"] = format_range_hash(value)
    return made | beside.get(where, {})


_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_VERSION_CONTROL_SYSTEMS = ("git", "jj", "hg", "svn")
_MAX_MODEL_LENGTH = 250
_UNKNOWN = "unknown"


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give who wrote which lines; a record that was made of a trace gives that again.

    Raises:
        InvalidRecord: the record attributes no files, or has no time.
    """
    if (
        data := restore_document(
            record, AGENT_TRACE_FORMAT, restore_agent_trace, lambda source: read(source)[0]
        )
    ) is not None:
        return ExportedDocument(data)
    losses: ExportLosses = Counter()
    files = get_attributed_files(record, "Agent Trace")
    count_lost_session(record, losses)
    related = {"type": "record", "url": _format_digest_uri(asked.digest)}
    made: JsonObject = {
        "version": AGENT_TRACE_VERSION,
        "id": record["id"] if _UUID.fullmatch(record["id"]) else _derive_uuid(asked.digest),
        "timestamp": _find_trace_time(record),
        "files": [_build_file(file, related, losses) for file in files],
        "metadata": {
            "vacr": {
                "record": record["id"],
                "sha-256": asked.digest,
                "exporter": f"vacr {__version__}",
            }
        },
    }
    vcs = record.get("vcs", {})
    if vcs.get("type") in _VERSION_CONTROL_SYSTEMS and "revision" in vcs:
        made["vcs"] = {"type": vcs["type"], "revision": vcs["revision"]}
    if rest := vcs.keys() - made.get("vcs", {}).keys():
        losses.update(f"{name} of version control" for name in rest)
    meta = record["session"].get("agent-meta", {})
    if "cli-name" in meta:
        made["tool"] = {"name": meta["cli-name"], "version": meta.get("cli-version", _UNKNOWN)}
    return ExportedDocument(encode(made) + b"\n", losses)


def _build_file(file: JsonObject, related: JsonObject, losses: ExportLosses) -> JsonObject:
    conversations = []
    for one in file["conversations"]:
        made: JsonObject = {
            "ranges": [
                part for other in one["ranges"] if (part := _build_range(other, losses)) is not None
            ]
        }
        if is_uri(one.get("url")):
            made["url"] = one["url"]
        if "contributor" in one:
            made["contributor"] = _build_contributor(one["contributor"], losses)
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


def _build_range(one: JsonObject, losses: ExportLosses) -> JsonObject | None:
    if one["start-line"] < 1 or one["end-line"] < one["start-line"]:
        losses["ranges without a line"] += 1
        return None
    made: JsonObject = {"start_line": one["start-line"], "end_line": one["end-line"]}
    if "content-hash" in one:
        made["content_hash"] = format_range_hash(one)
    if "contributor" in one:
        made["contributor"] = _build_contributor(one["contributor"], losses)
    return made


def _build_contributor(contributor: JsonObject, losses: ExportLosses) -> JsonObject:
    model = contributor.get("model-id")
    losses.update(
        ["ends of names of models"] if model is not None and len(model) > _MAX_MODEL_LENGTH else []
    )
    return {"type": contributor["type"]} | (
        {"model_id": model[:_MAX_MODEL_LENGTH]} if model is not None else {}
    )


def _find_trace_time(record: JsonObject) -> str:
    """Give when the trace was recorded: as late as the record knows, in UTC."""
    session = record["session"]
    for stamp in (record.get("created"), session.get("session-end"), session.get("session-start")):
        moment = get_epoch_milliseconds(stamp) if stamp is not None else None
        if moment is not None and (text := format_timestamp(moment)) is not None:
            return text
    hint = "A record with `created`, `session-start` or `session-end` can be exported."
    raise InvalidRecord(
        "the record has no time, and Agent Trace needs one",
        where="/session/session-start",
        hint=hint,
    )


def _format_digest_uri(digest: str) -> str:
    """Name bytes by their digest, RFC 6920."""
    return f"ni:///sha-256;{base64.urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b'=').decode()}"


def _derive_uuid(digest: str) -> str:
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
