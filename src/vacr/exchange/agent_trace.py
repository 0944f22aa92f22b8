"""Agent Trace 0.1.0, a format for the authors of lines in files: import and export.

A record's file attribution is the same tree with other names: files, conversations, ranges. The
export follows the JSON Schema in Agent Trace's README. The import makes a record without entries,
because a trace has no conversation. Members without a place in a file attribution are kept by their
pointers, so that the record can return the original trace. A file may hold many traces, one a line,
as the reference implementation stores them.

    >>> import json
    >>> from vacr.exchange import EXCHANGE_FORMATS, ExportRequest
    >>> lines = {"start-line": 3, "end-line": 9, "content-hash": "1f40"}
    >>> conversation = {"contributor": {"type": "ai", "model-id": "gpt-5"}, "ranges": [lines]}
    >>> files = [{"path": "a.py", "conversations": [conversation]}]
    >>> record = {"id": "r-1", "session": {"session-start": "2026-03-01T10:00:00Z"}}
    >>> record["file-attribution"] = {"files": files}
    >>> exported = EXCHANGE_FORMATS["agent-trace"].export(record, ExportRequest("00" * 32))
    >>> json.loads(exported.data)["files"][0]["conversations"][0]["ranges"]
    [{'content_hash': 'sha256:1f40', 'end_line': 9, 'start_line': 3}]
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from typing import Any

from vacr.agents import UNKNOWN, Reading, SessionBuilder, Source, get_native_members
from vacr.errors import InvalidRecord
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_lost_session,
    get_attributed_files,
    is_uri,
)
from vacr.exchange.formats import check_document, parse_json_or_lines, restore_document
from vacr.model import JsonObject
from vacr.record import (
    encode,
    format_timestamp,
    get_epoch_milliseconds,
    get_vacr_metadata,
    is_timestamp,
)
from vacr.version import __version__

AGENT_TRACE_VERSION = "0.1.0"
AGENT_TRACE_FORMAT = "agent-trace"
"""The trace format id of an imported record."""

NATIVE_FILES_MEMBER = "native-files"
"""The member of `vacr` with the native members of files, by their pointers."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_VERSION_CONTROL_SYSTEMS = ("git", "jj", "hg", "svn")
_MAX_MODEL_LENGTH = 250

_CONTRIBUTOR_NAMES = {"type": "type", "model_id": "model-id"}
_RANGE_NAMES = {"start_line": "start-line", "end_line": "end-line"}
_RELATED_NAMES = {"type": "type", "url": "url"}
_NATIVE_NAMES = {"start-line": "start_line", "end-line": "end_line", "model-id": "model_id"}
_TOOL_NAMES = {"name": "cli-name", "version": "cli-version"}

# The algorithm of a hash in a record that does not name one, and how others write it.
_DEFAULT_HASH_ALGORITHM = "sha-256"
_DEFAULT_HASH_PREFIX = "sha256"
_UNSPECIFIED_ALGORITHM = "unspecified"


# Export


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export a file attribution as a trace; an unchanged imported record gives its own trace.

    Raises:
        InvalidRecord: the record attributes no files, or has no time.
    """
    original = restore_document(
        record, AGENT_TRACE_FORMAT, _restore_trace, lambda source: read(source)[0]
    )
    if original is not None:
        return ExportedDocument(original)
    losses: ExportLosses = Counter()
    files = get_attributed_files(record, "Agent Trace")
    count_lost_session(record, losses)
    related = {"type": "record", "url": _format_digest_uri(request.digest)}
    record_id = record["id"]
    trace: JsonObject = {
        "version": AGENT_TRACE_VERSION,
        "id": record_id if _UUID.fullmatch(record_id) else _derive_uuid(request.digest),
        "timestamp": _find_trace_time(record),
        "files": [_build_file(file, related, losses) for file in files],
        "metadata": {
            "vacr": {
                "record": record_id,
                "sha-256": request.digest,
                "exporter": f"vacr {__version__}",
            }
        },
    }
    vcs = record.get("vcs", {})
    if vcs.get("type") in _VERSION_CONTROL_SYSTEMS and "revision" in vcs:
        trace["vcs"] = {"type": vcs["type"], "revision": vcs["revision"]}
    lost_members = vcs.keys() - trace.get("vcs", {}).keys()
    losses.update(f"version control: {name}" for name in lost_members)
    meta = record["session"].get("agent-meta", {})
    if "cli-name" in meta:
        trace["tool"] = {"name": meta["cli-name"], "version": meta.get("cli-version", UNKNOWN)}
    return ExportedDocument(encode(trace) + b"\n", losses)


def _find_trace_time(record: JsonObject) -> str:
    """Return `created`, or else the session's end or start, in UTC.

    Raises:
        InvalidRecord: the record has none of these times.
    """
    session = record["session"]
    for stamp in (record.get("created"), session.get("session-end"), session.get("session-start")):
        moment = get_epoch_milliseconds(stamp) if stamp is not None else None
        if moment is not None and (text := format_timestamp(moment)) is not None:
            return text
    raise InvalidRecord(
        "Agent Trace needs a time, and the record has none",
        where="/session/session-start",
        hint="Export to another format.",
    )


def _format_digest_uri(digest: str) -> str:
    """Return the `ni:` URI (RFC 6920) of a SHA-256 in hex."""
    encoded = base64.urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=").decode()
    return f"ni:///sha-256;{encoded}"


def _derive_uuid(digest: str) -> str:
    """Return a UUIDv8 made of the digits of a digest in hex."""
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _build_file(file: JsonObject, related: JsonObject, losses: ExportLosses) -> JsonObject:
    """Return an attributed file with Agent Trace's names; each conversation links to `related`.

    Addresses without a scheme are left out, and counted in `losses`.
    """
    conversations = []
    for conversation in file["conversations"]:
        ranges = [_build_range(line_range, losses) for line_range in conversation["ranges"]]
        built: JsonObject = {"ranges": [line_range for line_range in ranges if line_range]}
        others = conversation.get("related", ())
        if is_uri(conversation.get("url")):
            built["url"] = conversation["url"]
        if "contributor" in conversation:
            built["contributor"] = _build_contributor(conversation["contributor"], losses)
        built["related"] = [*(other for other in others if is_uri(other["url"])), related]
        addresses = [conversation.get("url", related["url"]), *(other["url"] for other in others)]
        losses.update("addresses without a scheme" for address in addresses if not is_uri(address))
        conversations.append(built)
    return {"path": file["path"], "conversations": conversations}


def _build_range(line_range: JsonObject, losses: ExportLosses) -> JsonObject | None:
    """Return a line range with Agent Trace's names, or None if it has no lines.

    Such a range starts before line 1, or ends before it starts; it is counted in `losses`.
    """
    first, last = line_range["start-line"], line_range["end-line"]
    if first < 1 or last < first:
        losses["ranges without a line"] += 1
        return None
    built: JsonObject = {"start_line": first, "end_line": last}
    if "content-hash" in line_range:
        built["content_hash"] = _format_range_hash(line_range)
    if "contributor" in line_range:
        built["contributor"] = _build_contributor(line_range["contributor"], losses)
    return built


def _build_contributor(contributor: JsonObject, losses: ExportLosses) -> JsonObject:
    """Return a contributor with Agent Trace's names; cut its model name to 250 characters."""
    built: JsonObject = {"type": contributor["type"]}
    model = contributor.get("model-id")
    if model is not None:
        built["model_id"] = model[:_MAX_MODEL_LENGTH]
        if len(model) > _MAX_MODEL_LENGTH:
            losses["ends of long model names"] += 1
    return built


# The hash of a range: Agent Trace writes the algorithm before it, as in `sha256:1f40`


def _format_range_hash(line_range: JsonObject) -> str:
    """Return the hash of a record's line range as Agent Trace writes it: `ALGORITHM:HASH`.

    A hash of an unspecified algorithm has no prefix.
    """
    algorithm = line_range.get("content-hash-alg", _DEFAULT_HASH_ALGORITHM)
    if algorithm == _UNSPECIFIED_ALGORITHM:
        return str(line_range["content-hash"])
    prefix = _DEFAULT_HASH_PREFIX if algorithm == _DEFAULT_HASH_ALGORITHM else algorithm
    return f"{prefix}:{line_range['content-hash']}"


def _parse_range_hash(text: str) -> JsonObject:
    """Return the members of a record's line range for a hash of Agent Trace, `ALGORITHM:HASH`.

    They are `content-hash` and, unless it is the default, `content-hash-alg`. `_format_range_hash`
    restores the same text.
    """
    algorithm, colon, value = text.partition(":")
    # A prefix that the export would not write stays in the value, so that it can be restored.
    if not colon or algorithm in (_DEFAULT_HASH_ALGORITHM, _UNSPECIFIED_ALGORITHM):
        return {"content-hash": text, "content-hash-alg": _UNSPECIFIED_ALGORITHM}
    if algorithm == _DEFAULT_HASH_PREFIX:
        return {"content-hash": value}
    return {"content-hash": value, "content-hash-alg": algorithm}


# Import


def read(source: Source) -> list[Reading]:
    """Import the traces of a document as records without ids, one for each trace.

    Raises:
        UnreadableInput: the document is neither JSON nor JSON lines.
        InvalidRecord: a trace does not match the schema of Agent Trace.
    """
    return [
        _read_trace(trace, source, place) for place, trace in parse_json_or_lines(source.main.data)
    ]


def _read_trace(trace: Any, source: Source, place: str) -> Reading:
    """Import one trace; `place` precedes the pointer in errors, such as `line 2: `.

    Raises:
        InvalidRecord: the trace does not match the schema.
    """
    try:
        check_document(trace, "agent-trace.cddl", "Agent Trace record")
    except InvalidRecord as error:
        raise InvalidRecord(
            error.message, where=f"{place}{error.where}", hint=error.hint
        ) from error
    tool = trace.pop("tool", None)
    session = SessionBuilder(AGENT_TRACE_FORMAT, _take_tool_member(tool, "name") or UNKNOWN)
    session.cli_version = _take_tool_member(tool, "version")
    session.session_id = trace.pop("id")
    if is_timestamp(trace["timestamp"]):
        session.start = trace.pop("timestamp")
    session.vcs = trace.pop("vcs", {})
    native_files: JsonObject = {}
    files = [
        _lift_file(file, f"/files/{number}", native_files)
        for number, file in enumerate(trace.pop("files"))
    ]
    for model in _list_models(files):
        session.models[model] += 1
    if tool is not None:
        # An empty tool stays too, so that it can be restored.
        trace["tool"] = tool
    session.native = trace
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    if native_files:
        record["vacr"][NATIVE_FILES_MEMBER] = native_files
    return reading


def _take_tool_member(tool: JsonObject | None, name: str) -> str | None:
    """Remove and return a member of the tool; return None if it is missing, empty or unknown."""
    if not tool or tool.get(name, UNKNOWN) in ("", UNKNOWN):
        return None
    value: str = tool.pop(name)
    return value


def _list_models(files: list[JsonObject]) -> list[str]:
    """Return the model of each contributor with one, repeated for each occurrence."""
    conversations = [conversation for file in files for conversation in file["conversations"]]
    ranges = [line_range for conversation in conversations for line_range in conversation["ranges"]]
    return [
        attributed["contributor"]["model-id"]
        for attributed in (*conversations, *ranges)
        if "model-id" in attributed.get("contributor", ())
    ]


def _lift_file(file: JsonObject, place: str, native_files: JsonObject) -> JsonObject:
    """Return a file with canonical names; move its other members to `native_files[place]`."""
    path, conversations = file.pop("path"), file.pop("conversations")
    lifted: JsonObject = {
        "path": path,
        "conversations": [
            _lift_conversation(conversation, f"{place}/conversations/{number}", native_files)
            for number, conversation in enumerate(conversations)
        ],
    }
    _keep_remaining_members(file, place, native_files)
    return lifted


def _lift_conversation(
    conversation: JsonObject, place: str, native_files: JsonObject
) -> JsonObject:
    """Return a conversation with canonical names; move other members to `native_files`.

    `place` is the conversation's pointer. Members of its parts have keys that begin with it.
    """
    lifted: JsonObject = {"ranges": []}
    if "url" in conversation:
        lifted["url"] = conversation.pop("url")
    if "contributor" in conversation:
        contributor = conversation.pop("contributor")
        lifted["contributor"] = _lift_members(
            contributor, _CONTRIBUTOR_NAMES, f"{place}/contributor", native_files
        )
    for number, line_range in enumerate(conversation.pop("ranges")):
        lifted["ranges"].append(_lift_range(line_range, f"{place}/ranges/{number}", native_files))
    if "related" in conversation:
        lifted["related"] = [
            _lift_members(related, _RELATED_NAMES, f"{place}/related/{number}", native_files)
            for number, related in enumerate(conversation.pop("related"))
        ]
    _keep_remaining_members(conversation, place, native_files)
    return lifted


def _lift_range(line_range: JsonObject, place: str, native_files: JsonObject) -> JsonObject:
    """Return a line range with canonical names; move other members to `native_files`.

    `place` is the range's pointer, the key of these members.
    """
    contributor = line_range.pop("contributor", None)
    content_hash = line_range.pop("content_hash", None)
    lifted = _lift_members(line_range, _RANGE_NAMES, place, native_files)
    if content_hash is not None:
        lifted |= _parse_range_hash(content_hash)
    if contributor is not None:
        lifted["contributor"] = _lift_members(
            contributor, _CONTRIBUTOR_NAMES, f"{place}/contributor", native_files
        )
    return lifted


def _lift_members(
    native: JsonObject, names: dict[str, str], place: str, native_files: JsonObject
) -> JsonObject:
    """Return the members in `names`, renamed; move all others to `native_files[place]`."""
    lifted = {canonical: native.pop(name) for name, canonical in names.items() if name in native}
    _keep_remaining_members(native, place, native_files)
    return lifted


def _keep_remaining_members(rest: JsonObject, place: str, native_files: JsonObject) -> None:
    """Store members without a canonical name under their pointer, if there are any."""
    if rest:
        native_files[place] = rest


# The original trace of an imported record: the inverse of `read`, member by member


def _restore_trace(record: JsonObject) -> bytes:
    """Return the trace that a record was imported from, encoded."""
    session, metadata = record["session"], get_vacr_metadata(record)
    trace = get_native_members(record)
    trace["id"] = session["session-id"]
    if "timestamp" not in trace:
        trace["timestamp"] = session["session-start"]
    if "tool" in trace:
        meta = session["agent-meta"]
        known = {
            name: meta[member]
            for name, member in _TOOL_NAMES.items()
            if meta.get(member, UNKNOWN) != UNKNOWN
        }
        trace["tool"] = known | trace["tool"]
    if "vcs" in record:
        trace["vcs"] = record["vcs"]
    native_files = metadata.get(NATIVE_FILES_MEMBER, {})
    trace["files"] = _restore_names(record["file-attribution"]["files"], "/files", native_files)
    return encode(trace) + b"\n"


def _restore_names(value: Any, place: str, native_files: JsonObject) -> Any:
    """Return a part of a file attribution with Agent Trace's names and its native members.

    `place` is the pointer of the part; `native_files` has the native members by pointer.
    """
    if isinstance(value, list):
        return [
            _restore_names(item, f"{place}/{number}", native_files)
            for number, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    native = {
        _NATIVE_NAMES.get(name, name): _restore_names(item, f"{place}/{name}", native_files)
        for name, item in value.items()
    }
    if "content-hash" in value:
        del native["content-hash"]
        native.pop("content-hash-alg", None)
        native["content_hash"] = _format_range_hash(value)
    return native | native_files.get(place, {})
