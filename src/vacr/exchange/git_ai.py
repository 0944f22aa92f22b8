"""Notes of git-ai 3.0.0, a format for the authors of a commit's lines: import and export.

A note has files with their lines, a line of three hyphens, and JSON (section 1.2 of the Git AI
Standard). A line of the first section gives the key of the author of some lines, and the JSON
explains the keys.

An exported note has the lines that the agent wrote. A record does not know the names of people, so
their lines, and lines of unknown writers, are counted as losses. An imported note becomes a file
attribution; its JSON stays in the session under its own names, except for the commit. The
transcripts of older notes are kept as they are, because they belong to many sessions.

    >>> from vacr.exchange.git_ai import parse_note
    >>> parse_note(b'src/app.py\\n  s_1a2b 1-4,9\\n---\\n{"schema_version": "3.0.0"}').files
    [('src/app.py', [AttestedLines(key='s_1a2b', ranges=[(1, 4), (9, 9)])])]
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from vacr.agents import (
    UNKNOWN,
    Reading,
    SessionBuilder,
    Source,
    SourceNotice,
    find_agent,
    get_native_members,
)
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_lost_session,
    get_attributed_files,
)
from vacr.exchange.formats import restore_document
from vacr.model import JsonObject
from vacr.record import decode_json, encode_sorted_json, get_vacr_metadata
from vacr.version import __version__

GIT_AI_FORMAT = "git-ai-notes"
"""The trace format id of an imported record."""
GIT_AI_SCHEMA_VERSION = "authorship/3.0.0"
ATTESTED_BY_MEMBER = "attested-by"
"""The member of `vacr` with the keys of a note, one for each conversation of the attribution."""

_NOTE_DIVIDER = "---"
_ATTESTATION_LINE = re.compile(r"  (\S+) ([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)")
_NEEDS_QUOTES = re.compile(r"[\s\"]")
_LINE_NUMBER_LIMIT = 2**53
_MAX_LINE_DIGITS = 20  # more than the limit has; Python refuses to parse thousands

_RECORDING_TOOL = "git-ai"
_KEY_LENGTH = 14
_NO_COMMIT = "0" * 40

LineRange = tuple[int, int]


class AttestedLines(NamedTuple):
    """Line ranges of a file, and the key of their author in the note's JSON."""

    key: str
    ranges: list[LineRange]


class GitAiNote(NamedTuple):
    """A parsed note."""

    files: list[tuple[str, list[AttestedLines]]]
    """The path and the attested lines of each file."""
    metadata: dict[str, Any]
    """The JSON after the line of three hyphens."""


# Export


def export(record: JsonObject, request: ExportRequest) -> ExportedDocument:
    """Export the lines that the agent wrote as a note for the commit with the record's files.

    The commit is `request.commit`, or else the record's revision. An unchanged imported record
    gives its own note.

    Raises:
        InvalidRecord: the record attributes no files.
    """
    original = restore_document(record, GIT_AI_FORMAT, _restore_note, read)
    if original is not None:
        return ExportedDocument(original)
    losses: ExportLosses = Counter()
    files = get_attributed_files(record, "a note of git-ai")
    count_lost_session(record, losses)
    session = record["session"]
    meta = session.get("agent-meta", {})
    name = str(meta.get("cli-name", UNKNOWN))
    agent = {
        "tool": find_agent(name).short_name or name,
        "id": str(session["session-id"]),
        "model": str(meta.get("model-id", UNKNOWN)),
    }
    author = "s_" + hash_key(f"{agent['tool']}:{agent['id']}")
    key = f"{author}::t_{hash_key(record['id'])}"
    attested = []
    for file in files:
        if not can_name_file(file["path"]):
            losses["files whose names a note cannot hold"] += 1
        elif lines := _collect_agent_lines(file, agent["model"], losses):
            attested.append((file["path"], [AttestedLines(key, lines)]))
    metadata = {
        "schema_version": GIT_AI_SCHEMA_VERSION,
        "base_commit_sha": request.commit or record.get("vcs", {}).get("revision", _NO_COMMIT),
        "prompts": {},
        "sessions": {author: {"agent_id": agent}},
        "humans": {},
        "vacr": {
            "record": record["id"],
            "sha-256": request.digest,
            "exporter": f"vacr {__version__}",
        },
    }
    return ExportedDocument(format_note(GitAiNote(attested, metadata)).encode(), losses)


def hash_key(text: str) -> str:
    """Return the first 14 hex digits of a text's SHA-256, as git-ai makes keys."""
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]


def _collect_agent_lines(file: JsonObject, model: str, losses: ExportLosses) -> list[LineRange]:
    """Return the line ranges that agents wrote, sorted and joined.

    Lines of other authors are left out, and counted in `losses`. Lines of models other than `model`
    are included, and counted too: the note names only one model.
    """
    ranges = []
    for conversation in file["conversations"]:
        for line_range in conversation["ranges"]:
            contributor = line_range.get("contributor", conversation.get("contributor", {}))
            kind = contributor.get("type", UNKNOWN)
            first, last = line_range["start-line"], line_range["end-line"]
            count = last - first + 1
            if kind != "ai" or first < 1 or count < 1:
                losses[f"lines of contributors of type {kind}"] += max(count, 0)
                continue
            # Models may be named with their provider or without.
            line_model = contributor.get("model-id", model)
            if line_model.rpartition("/")[2] != model.rpartition("/")[2]:
                losses["lines of models that the note does not name"] += count
            ranges.append((first, last))
    return join_ranges(ranges)


def join_ranges(ranges: list[LineRange]) -> list[LineRange]:
    """Return ranges in order, with overlapping and adjacent ones joined."""
    joined: list[LineRange] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined


# Import


def read(source: Source) -> Reading:
    """Import a note as a record without an id and without entries.

    Raises:
        UnreadableInput: it is not text, or its JSON cannot be read.
        InvalidRecord: it is not a note, or of another version.
    """
    note = parse_note(source.main.data)
    metadata = note.metadata
    schema_version = metadata.get("schema_version")
    if schema_version != GIT_AI_SCHEMA_VERSION:
        raise InvalidRecord(
            f"unsupported version of a git-ai note: {schema_version!r}, "
            f"expected {GIT_AI_SCHEMA_VERSION!r}",
            where="/schema_version",
        )
    agents = _collect_agents(metadata)
    session = SessionBuilder(GIT_AI_FORMAT, _RECORDING_TOOL)
    conversations = {(agent.get("tool"), agent.get("id")) for agent in agents.values()}
    if len(conversations) == 1:
        [(tool, session_id)] = conversations
        session.cli_name = str(tool or _RECORDING_TOOL)
        session.session_id = session_id if isinstance(session_id, str) else None
    files = [_build_attributed_file(path, lines, agents) for path, lines in note.files]
    for file in files:
        for conversation in file["conversations"]:
            if "model-id" in conversation["contributor"]:
                session.models[conversation["contributor"]["model-id"]] += 1
    if isinstance(metadata.get("base_commit_sha"), str):
        session.vcs = {"revision": metadata.pop("base_commit_sha")}
    prompts = _select_objects(metadata.get("prompts")).values()
    if transcripts := sum(bool(prompt.get("messages")) for prompt in prompts):
        session.notices.append(
            SourceNotice(f"transcripts in the note: {transcripts}; kept, but not made entries")
        )
    session.native = metadata
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    record["vacr"][ATTESTED_BY_MEMBER] = [
        lines.key for _, attested in note.files for lines in attested
    ]
    return reading


def _collect_agents(metadata: JsonObject) -> dict[str, JsonObject]:
    """Return the `agent_id` of each key, from sessions and from the prompts of older notes."""
    explained = _select_objects(metadata.get("prompts")) | _select_objects(metadata.get("sessions"))
    return {
        key: members["agent_id"]
        for key, members in explained.items()
        if isinstance(members.get("agent_id"), dict)
    }


def _select_objects(value: Any) -> dict[str, JsonObject]:
    """Return the members of a map that are maps; empty for a value that is not a map."""
    if not isinstance(value, dict):
        return {}
    return {key: member for key, member in value.items() if isinstance(member, dict)}


def _build_attributed_file(
    path: str, attested: list[AttestedLines], agents: dict[str, JsonObject]
) -> JsonObject:
    """Return the attribution of a file, with a conversation for each item of `attested`."""
    conversations = [
        {
            "contributor": _find_contributor(key, agents),
            "ranges": [{"start-line": first, "end-line": last} for first, last in ranges],
        }
        for key, ranges in attested
    ]
    return {"path": path, "conversations": conversations}


def _find_contributor(key: str, agents: dict[str, JsonObject]) -> JsonObject:
    """Return the contributor for a key: a human, a known agent, or unknown."""
    if key.startswith("h_"):
        return {"type": "human"}
    agent = agents.get(key.partition("::")[0])
    if agent is None:
        return {"type": UNKNOWN}
    model = agent.get("model")
    return {"type": "ai"} | ({"model-id": model} if isinstance(model, str) else {})


def _restore_note(record: JsonObject) -> bytes:
    """Return the encoded note that a record was imported from."""
    vacr_metadata = get_vacr_metadata(record)
    metadata = get_native_members(record)
    if "vcs" in record:
        metadata["base_commit_sha"] = record["vcs"]["revision"]
    keys = iter(vacr_metadata[ATTESTED_BY_MEMBER])
    files = []
    for file in record["file-attribution"]["files"]:
        attested = []
        for conversation in file["conversations"]:
            key = next(keys)
            ranges = [(item["start-line"], item["end-line"]) for item in conversation["ranges"]]
            attested.append(AttestedLines(key, ranges))
        files.append((file["path"], attested))
    return format_note(GitAiNote(files, metadata)).encode()


# The text of a note


def can_name_file(path: str) -> bool:
    """Return whether a note can contain a path: not empty, one line, and without quotes."""
    return path != "" and '"' not in path and path.splitlines() == [path]


def format_note(note: GitAiNote) -> str:
    """Return the text of a note, for `git notes`: files and lines, a divider, then JSON."""
    lines = []
    for path, attested in note.files:
        is_quoted = _NEEDS_QUOTES.search(path) or path == _NOTE_DIVIDER
        lines.append(f'"{path}"' if is_quoted else path)
        lines += [f"  {key} {format_ranges(ranges)}" for key, ranges in attested]
    metadata = msgspec.json.format(encode_sorted_json(note.metadata), indent=2).decode()
    return "\n".join([*lines, _NOTE_DIVIDER, metadata]) + "\n"


def format_ranges(ranges: list[LineRange]) -> str:
    """Return ranges as a note has them, such as `1-4,9`."""
    return ",".join(map(_format_range, ranges))


def _format_range(line_range: LineRange) -> str:
    """Return `1-4` for several lines, `9` for one."""
    first, last = line_range
    return str(first) if first == last else f"{first}-{last}"


def parse_note(data: bytes) -> GitAiNote:
    """Parse the text of a note; JSON alone is a note without files.

    Raises:
        UnreadableInput: it is not text, or its JSON cannot be read.
        InvalidRecord: a line is not allowed in a note, or the JSON is not an object.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput("invalid note of git-ai: not UTF-8 text") from error
    lines = text.split("\n")
    if _NOTE_DIVIDER not in lines and text.lstrip().startswith("{"):
        lines = [_NOTE_DIVIDER, *lines]
    if _NOTE_DIVIDER not in lines:
        hint = "To get a note, run: git notes --ref=ai show COMMIT"
        raise InvalidRecord("invalid note of git-ai: it has no line of three hyphens", hint=hint)
    end = lines.index(_NOTE_DIVIDER)
    metadata = decode_json("\n".join(lines[end + 1 :]).encode())
    if not isinstance(metadata, dict):
        raise InvalidRecord(
            "invalid note of git-ai: no JSON object after the line of three hyphens",
            where=f"line {end + 2}",
        )
    return GitAiNote(_parse_files(lines[:end]), metadata)


def _parse_files(lines: list[str]) -> list[tuple[str, list[AttestedLines]]]:
    """Return the path and the attested lines of each file; `lines` precede the divider.

    Raises:
        InvalidRecord: an indented line is malformed, or precedes the first file.
    """
    files: list[tuple[str, list[AttestedLines]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not line.startswith(" "):
            is_quoted = len(line) > 1 and line.startswith('"') and line.endswith('"')
            files.append((line[1:-1] if is_quoted else line, []))
            continue
        attestation = _ATTESTATION_LINE.fullmatch(line)
        if attestation is None or not files:
            problem = "no file name before it" if attestation else "expected a key and line numbers"
            raise InvalidRecord(
                f"invalid note of git-ai: {problem}",
                where=f"line {number}",
                hint="For example, two spaces and: s_1a2b 1-4,9",
            )
        ranges = [_parse_range(text, number) for text in attestation[2].split(",")]
        files[-1][1].append(AttestedLines(attestation[1], ranges))
    return files


def _parse_range(text: str, line_number: int) -> LineRange:
    """Parse `1-4` or `9` to the first and last line; `line_number` is its line in the note.

    Raises:
        InvalidRecord: the numbers are not a range of lines, or too large.
    """
    first, _, last = text.partition("-")
    start, end = _parse_line_number(first), _parse_line_number(last or first)
    if not 1 <= start <= end < _LINE_NUMBER_LIMIT:
        raise InvalidRecord(
            f"invalid note of git-ai: {text} is not a range of lines",
            where=f"line {line_number}",
            hint="For example: 1-4,9. Report this to the authors of the tool that wrote the note.",
        )
    return start, end


def _parse_line_number(digits: str) -> int:
    """Parse a line number; return 0 if it has too many digits, so that the caller refuses it."""
    return int(digits) if len(digits) <= _MAX_LINE_DIGITS else 0
