"""Notes of git-ai, version 3.0.0 of its standard, which say at a commit who wrote which lines, both
ways.

The text of a note: files with their lines, a line of three hyphens, and JSON. Step: export,
import.

Follows the Git AI Standard 3.0.0, section 1.2. A line of the first section names whoever wrote some
lines by a key, which the JSON explains.

A note of git-ai as a record. Step: import.

Its lines are the file attribution; what its JSON says stays in the session under its own names, but
for the commit, which is that of version control. Transcripts that older notes have are kept as they
are: they are of many sessions, and a record is of one.

The file attribution of a record as a note of git-ai. Step: export.

A note is about the lines that an agent wrote. Who the people were, a record does not know, so their
lines, and those of nobody known, are left out and counted.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Any, NamedTuple

import msgspec

from vacr.agents import UNKNOWN, Reading, SessionBuilder, Source, SourceNotice
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.export import (
    ExportedDocument,
    ExportLosses,
    ExportRequest,
    count_lost_session,
    get_attributed_files,
    restore_document,
)
from vacr.model import SESSION_MEMBERS, JsonObject
from vacr.record import decode_json, encode_sorted_json, get_vacr_metadata
from vacr.version import __version__

GIT_AI_FORMAT = "git-ai-notes"
"""The trace format id of a record that was made of one."""
GIT_AI_SCHEMA_VERSION = "authorship/3.0.0"
ATTESTED_BY_MEMBER = "attested-by"
"""Where a record keeps the keys of a note, one for each conversation of its file attribution, in
their order.
"""


NOTE_DIVIDER = "---"
_ATTESTATION_LINE = re.compile(r"  (\S+) ([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)")
_NEEDS_QUOTES = re.compile(r"[\s\"]")
_LINE_NUMBER_LIMIT = 2**53
_MAX_LINE_DIGITS = 20
"""More than the largest number has; Python refuses to read thousands."""

LineRange = tuple[int, int]


class AttestedLines(NamedTuple):
    """Lines of a file, and the key of whoever wrote them."""

    key: str
    ranges: list[LineRange]


class GitAiNote(NamedTuple):
    """What a note says."""

    files: list[tuple[str, list[AttestedLines]]]
    metadata: dict[str, Any]


def can_name_file(path: str) -> bool:
    """Tell whether a note can name a file so that it is found again."""
    return path != "" and '"' not in path and path.splitlines() == [path]


def format_note(note: GitAiNote) -> str:
    """Give the text of a note."""
    lines = []
    for path, attested in note.files:
        lines.append(f'"{path}"' if _NEEDS_QUOTES.search(path) or path == NOTE_DIVIDER else path)
        lines += [f"  {one.key} {','.join(map(_format_range, one.ranges))}" for one in attested]
    return (
        "\n".join(
            [
                *lines,
                NOTE_DIVIDER,
                msgspec.json.format(encode_sorted_json(note.metadata), indent=2).decode(),
            ]
        )
        + "\n"
    )


def parse_note(data: bytes) -> GitAiNote:
    """Read the text of a note; one of JSON alone attests nothing.

    Raises:
        UnreadableInput: it is no text, or its JSON cannot be read.
        InvalidRecord: a line of it is none that a note has.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput("not a note of git-ai: it is no UTF-8 text") from error
    lines = text.split("\n")
    if NOTE_DIVIDER not in lines and text.lstrip().startswith("{"):
        lines = [NOTE_DIVIDER, *lines]
    if NOTE_DIVIDER not in lines:
        hint = "git notes --ref=ai show COMMIT gives one."
        raise InvalidRecord("not a note of git-ai: it has no line of three hyphens", hint=hint)
    end = lines.index(NOTE_DIVIDER)
    metadata = decode_json("\n".join(lines[end + 1 :]).encode())
    if not isinstance(metadata, dict):
        raise InvalidRecord(
            "not a note of git-ai: what follows the hyphens is no object", where=f"line {end + 2}"
        )
    return GitAiNote(_parse_files(lines[:end]), metadata)


def _parse_files(lines: list[str]) -> list[tuple[str, list[AttestedLines]]]:
    files: list[tuple[str, list[AttestedLines]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not line.startswith(" "):
            quoted = len(line) > 1 and line.startswith('"') and line.endswith('"')
            files.append((line[1:-1] if quoted else line, []))
            continue
        found = _ATTESTATION_LINE.fullmatch(line)
        if found is None or not files:
            told = "no lines of a file before it" if found else "not a key and lines"
            raise InvalidRecord(
                f"not a note of git-ai: {told}",
                where=f"line {number}",
                hint="Lines look so:   s_… 1-4,9",
            )
        files[-1][1].append(
            AttestedLines(found[1], [_parse_range(text, number) for text in found[2].split(",")])
        )
    return files


def _parse_range(text: str, number: int) -> LineRange:
    first, _, last = text.partition("-")
    start, end = (int(one) if len(one) <= _MAX_LINE_DIGITS else 0 for one in (first, last or first))
    if not 1 <= start <= end < _LINE_NUMBER_LIMIT:
        raise InvalidRecord(f"not a note of git-ai: {text} are no lines", where=f"line {number}")
    return start, end


def _format_range(one: LineRange) -> str:
    return str(one[0]) if one[0] == one[1] else f"{one[0]}-{one[1]}"


_RECORDING_TOOL = "git-ai"


def read(source: Source) -> Reading:
    """Make a record of a note, not yet identified.

    Raises:
        UnreadableInput: it is no text, or its JSON cannot be read.
        InvalidRecord: it is no note.
    """
    note = parse_note(source.main.data)
    metadata = note.metadata
    if metadata.get("schema_version") != GIT_AI_SCHEMA_VERSION:
        told = (
            f"not a note of git-ai that is known: {metadata.get('schema_version')!r}, not "
            f"{GIT_AI_SCHEMA_VERSION!r}"
        )
        raise InvalidRecord(told, where="/schema_version")
    agents = _collect_agents(metadata)
    session = SessionBuilder(GIT_AI_FORMAT, _RECORDING_TOOL)
    distinct = {(agent.get("tool"), agent.get("id")) for agent in agents.values()}
    if len(distinct) == 1:
        ((tool, name),) = distinct
        session.cli_name = str(tool or _RECORDING_TOOL)
        session.session_id = name if isinstance(name, str) else None
    keys: list[str] = []
    files: list[JsonObject] = []
    for path, attested in note.files:
        conversations: list[JsonObject] = []
        for key, ranges in attested:
            keys.append(key)
            contributor = _find_contributor(key, agents)
            if "model-id" in contributor:
                session.models[contributor["model-id"]] += 1
            lines = [{"start-line": start, "end-line": end} for start, end in ranges]
            conversations.append({"contributor": contributor, "ranges": lines})
        files.append({"path": path, "conversations": conversations})
    if isinstance(metadata.get("base_commit_sha"), str):
        session.vcs = {"revision": metadata.pop("base_commit_sha")}
    if said := sum(
        bool(one.get("messages")) for one in _select_objects(metadata.get("prompts")).values()
    ):
        session.notices.append(
            SourceNotice(f"transcripts in it: {said}, kept as they are and not made entries")
        )
    session.native = metadata
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    record["vacr"][ATTESTED_BY_MEMBER] = keys
    return reading


def _collect_agents(metadata: JsonObject) -> dict[str, JsonObject]:
    """Give the agents that keys stand for, those of sessions and those of the prompts that older
    notes have.
    """
    held = _select_objects(metadata.get("prompts")) | _select_objects(metadata.get("sessions"))
    return {
        key: one["agent_id"] for key, one in held.items() if isinstance(one.get("agent_id"), dict)
    }


def _find_contributor(key: str, agents: dict[str, JsonObject]) -> JsonObject:
    if key.startswith("h_"):
        return {"type": "human"}
    agent = agents.get(key.partition("::")[0])
    if agent is None:
        return {"type": UNKNOWN}
    model = agent.get("model")
    return {"type": "ai"} | ({"model-id": model} if isinstance(model, str) else {})


def _select_objects(value: Any) -> dict[str, JsonObject]:
    return (
        {key: one for key, one in value.items() if isinstance(one, dict)}
        if isinstance(value, dict)
        else {}
    )


_TOOL_NAMES = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini"}
"""What git-ai calls agents that we call otherwise."""
_KEY_LENGTH = 14
_NO_COMMIT = "0" * 40


def export(record: JsonObject, asked: ExportRequest) -> ExportedDocument:
    """Give the note for the commit that has the record's files; a record that was made of a note
    gives that again.

    Raises:
        InvalidRecord: the record attributes no files.
    """
    if (
        data := restore_document(
            record, GIT_AI_FORMAT, lambda one: format_note(_rebuild_note(one)).encode(), read
        )
    ) is not None:
        return ExportedDocument(data)
    losses: ExportLosses = Counter()
    files = get_attributed_files(record, "a note of git-ai")
    count_lost_session(record, losses)
    session = record["session"]
    meta = session.get("agent-meta", {})
    name = str(meta.get("cli-name", "unknown"))
    agent = {
        "tool": _TOOL_NAMES.get(name, name),
        "id": str(session["session-id"]),
        "model": str(meta.get("model-id", "unknown")),
    }
    author = "s_" + _hash_key(f"{agent['tool']}:{agent['id']}")
    key = f"{author}::t_{_hash_key(record['id'])}"
    attested = []
    for file in files:
        if not can_name_file(file["path"]):
            losses["files whose names a note cannot hold"] += 1
        elif lines := _collect_agent_lines(file, agent["model"], losses):
            attested.append((file["path"], [AttestedLines(key, lines)]))
    metadata = {
        "schema_version": GIT_AI_SCHEMA_VERSION,
        "base_commit_sha": asked.commit or record.get("vcs", {}).get("revision", _NO_COMMIT),
        "prompts": {},
        "sessions": {author: {"agent_id": agent}},
        "humans": {},
        "vacr": {
            "record": record["id"],
            "sha-256": asked.digest,
            "exporter": f"vacr {__version__}",
        },
    }
    return ExportedDocument(format_note(GitAiNote(attested, metadata)).encode(), losses)


def _collect_agent_lines(file: JsonObject, model: str, losses: ExportLosses) -> list[LineRange]:
    """Give the lines that the agent wrote, in order and joined."""
    found = []
    for conversation in file["conversations"]:
        for one in conversation["ranges"]:
            who = one.get("contributor", conversation.get("contributor", {}))
            count = one["end-line"] - one["start-line"] + 1
            if who.get("type") != "ai" or one["start-line"] < 1 or count < 1:
                losses[f"lines of contributors of type {who.get('type', 'unknown')}"] += max(
                    count, 0
                )
                continue
            if who.get("model-id", model).rpartition("/")[2] != model.rpartition("/")[2]:
                losses["lines of other models, whose names are not told"] += count
            found.append((one["start-line"], one["end-line"]))
    joined: list[LineRange] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _rebuild_note(record: JsonObject) -> GitAiNote:
    """Give the note that a record was made of."""
    session, said = record["session"], get_vacr_metadata(record)
    metadata: JsonObject = {
        name: value for name, value in session.items() if name not in SESSION_MEMBERS
    } | said.get("native", {})
    if "vcs" in record:
        metadata["base_commit_sha"] = record["vcs"]["revision"]
    keys = iter(said[ATTESTED_BY_MEMBER])
    files = []
    for file in record["file-attribution"]["files"]:
        attested = [
            AttestedLines(
                next(keys), [(one["start-line"], one["end-line"]) for one in conversation["ranges"]]
            )
            for conversation in file["conversations"]
        ]
        files.append((file["path"], attested))
    return GitAiNote(files, metadata)


def _hash_key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]
