"""A note of git-ai as a record. Step: import.

Its lines are the file attribution; what its JSON says stays in the session under its own names, but
for the commit, which is that of version control. Transcripts that older notes have are kept as they
are: they are of many sessions, and a record is of one.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidRecord
from vacr.exchange.git_ai import FORMAT, KEYS, SCHEMA_VERSION, notes
from vacr.model import Native
from vacr.readers.assemble import UNKNOWN, Notice, Reading, Session
from vacr.readers.source import Source

_RECORDER = "git-ai"


def read(source: Source) -> Reading:
    """Make a record of a note, not yet identified.

    Raises:
        UnreadableInput: it is no text, or its JSON cannot be read.
        InvalidRecord: it is no note.
    """
    note = notes.parse(source.main.data)
    metadata = note.metadata
    if metadata.get("schema_version") != SCHEMA_VERSION:
        told = (
            f"not a note of git-ai that is known: {metadata.get('schema_version')!r}, not "
            f"{SCHEMA_VERSION!r}"
        )
        raise InvalidRecord(told, where="/schema_version")
    agents = _agents(metadata)
    session = Session(FORMAT, _RECORDER)
    distinct = {(agent.get("tool"), agent.get("id")) for agent in agents.values()}
    if len(distinct) == 1:
        ((tool, name),) = distinct
        session.cli_name = str(tool or _RECORDER)
        session.session_id = name if isinstance(name, str) else None
    keys: list[str] = []
    files: list[Native] = []
    for path, attested in note.files:
        conversations: list[Native] = []
        for key, ranges in attested:
            keys.append(key)
            contributor = _contributor(key, agents)
            if "model-id" in contributor:
                session.models[contributor["model-id"]] += 1
            lines = [{"start-line": start, "end-line": end} for start, end in ranges]
            conversations.append({"contributor": contributor, "ranges": lines})
        files.append({"path": path, "conversations": conversations})
    if isinstance(metadata.get("base_commit_sha"), str):
        session.vcs = {"revision": metadata.pop("base_commit_sha")}
    if said := sum(bool(one.get("messages")) for one in _objects(metadata.get("prompts")).values()):
        session.notices.append(
            Notice(f"transcripts in it: {said}, kept as they are and not made entries")
        )
    session.native = metadata
    reading = session.reading(source)
    record: Any = reading.record
    record["file-attribution"] = {"files": files}
    record["vacr"][KEYS] = keys
    return reading


def _agents(metadata: Native) -> dict[str, Native]:
    """Give the agents that keys stand for, those of sessions and those of the prompts that older
    notes have.
    """
    held = _objects(metadata.get("prompts")) | _objects(metadata.get("sessions"))
    return {
        key: one["agent_id"] for key, one in held.items() if isinstance(one.get("agent_id"), dict)
    }


def _contributor(key: str, agents: dict[str, Native]) -> Native:
    if key.startswith("h_"):
        return {"type": "human"}
    agent = agents.get(key.partition("::")[0])
    if agent is None:
        return {"type": UNKNOWN}
    model = agent.get("model")
    return {"type": "ai"} | ({"model-id": model} if isinstance(model, str) else {})


def _objects(value: Any) -> dict[str, Native]:
    return (
        {key: one for key, one in value.items() if isinstance(one, dict)}
        if isinstance(value, dict)
        else {}
    )
