"""The file attribution of a record as a note of git-ai. Step: export.

A note is about the lines that an agent wrote. Who the people were, a record does not know, so their
lines, and those of nobody known, are left out and counted.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from vacr.exchange.attributed import files_of, lose_the_session
from vacr.exchange.exported import Asked, Exported, Losses
from vacr.exchange.git_ai import FORMAT, KEYS, SCHEMA_VERSION, notes, reading
from vacr.exchange.git_ai.notes import Attested, Note, Range
from vacr.exchange.restored import restored
from vacr.identity import ours
from vacr.model import SESSION_MEMBERS, Native
from vacr.version import __version__

_TOOLS = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini"}
"""What git-ai calls agents that we call otherwise."""
_KEY = 14
_NO_COMMIT = "0" * 40


def export(record: Native, asked: Asked) -> Exported:
    """Give the note for the commit that has the record's files; a record that was made of a note
    gives that again.

    Raises:
        InvalidRecord: the record attributes no files.
    """
    if (
        data := restored(record, FORMAT, lambda one: notes.write(_note(one)).encode(), reading.read)
    ) is not None:
        return Exported(data)
    losses: Losses = Counter()
    files = files_of(record, "a note of git-ai")
    lose_the_session(record, losses)
    session = record["session"]
    meta = session.get("agent-meta", {})
    name = str(meta.get("cli-name", "unknown"))
    agent = {
        "tool": _TOOLS.get(name, name),
        "id": str(session["session-id"]),
        "model": str(meta.get("model-id", "unknown")),
    }
    author = "s_" + _hashed(f"{agent['tool']}:{agent['id']}")
    key = f"{author}::t_{_hashed(record['id'])}"
    attested = []
    for file in files:
        if not notes.can_hold(file["path"]):
            losses["files whose names a note cannot hold"] += 1
        elif lines := _lines(file, agent["model"], losses):
            attested.append((file["path"], [Attested(key, lines)]))
    metadata = {
        "schema_version": SCHEMA_VERSION,
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
    return Exported(notes.write(Note(attested, metadata)).encode(), losses)


def _lines(file: Native, model: str, losses: Losses) -> list[Range]:
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
    joined: list[Range] = []
    for start, end in sorted(found):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _note(record: Native) -> Note:
    """Give the note that a record was made of."""
    session, said = record["session"], ours(record)
    metadata: Native = {
        name: value for name, value in session.items() if name not in SESSION_MEMBERS
    } | said.get("native", {})
    if "vcs" in record:
        metadata["base_commit_sha"] = record["vcs"]["revision"]
    keys = iter(said[KEYS])
    files = []
    for file in record["file-attribution"]["files"]:
        attested = [
            Attested(
                next(keys), [(one["start-line"], one["end-line"]) for one in conversation["ranges"]]
            )
            for conversation in file["conversations"]
        ]
        files.append((file["path"], attested))
    return Note(files, metadata)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY]
