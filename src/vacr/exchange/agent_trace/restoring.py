"""The Agent Trace record that a record was made of. Step: export. The inverse of `reading`, member
by member.
"""

from __future__ import annotations

from typing import Any

from vacr import codec
from vacr.exchange.agent_trace.hashes import joined
from vacr.exchange.agent_trace.reading import BESIDE
from vacr.identity import ours
from vacr.model import SESSION_MEMBERS, Native

_NAMES = {"start-line": "start_line", "end-line": "end_line", "model-id": "model_id"}


def written(record: Native) -> bytes:
    """Give the trace."""
    return codec.encode(_document(record)) + b"\n"


def _document(record: Native) -> Native:
    session, said = record["session"], ours(record)
    made: Native = {
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
    made["files"] = _spelled(record["file-attribution"]["files"], "/files", said.get(BESIDE, {}))
    return made


def _spelled(value: Any, where: str, beside: Native) -> Any:
    """Give a part of a file attribution with the names that Agent Trace has, and what stood
    beside.
    """
    if isinstance(value, list):
        return [_spelled(item, f"{where}/{number}", beside) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made = {
        _NAMES.get(name, name): _spelled(item, f"{where}/{name}", beside)
        for name, item in value.items()
    }
    if "content-hash" in value:
        del made["content-hash"]
        made.pop("content-hash-alg", None)
        made["content_hash"] = joined(value)
    return made | beside.get(where, {})
