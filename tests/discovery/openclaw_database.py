"""OpenClaw's database of an agent, with the rows of a test."""

import json
import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE schema_meta (meta_key TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL,
    schema_version INTEGER NOT NULL) STRICT;
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY,
    current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL, updated_at INTEGER NOT NULL,
    spawned_by TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, model TEXT, spawned_by TEXT) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
    created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER,
    PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE transcript_event_identities (session_id TEXT NOT NULL, event_id TEXT NOT NULL,
    seq INTEGER NOT NULL, PRIMARY KEY (session_id, event_id)) STRICT;
"""
START = 1_795_000_000_000
SESSION, CHILD = "7e0c1d52-0000-4000-8000-000000000001", "7e0c1d52-0000-4000-8000-000000000002"
KEYS = {SESSION: "agent:main:main", CHILD: "agent:main:subagent:c1"}
FOLDER = "/home/mira/till"
PROMPT = 'Sender (untrusted metadata):\n```json\n{"id": 7}\n```\n\nRound the total of the till.'


class OpenClaw:
    """A database that a test fills; its clock moves a second with each line."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(TABLES)
        self.now, self.number = START, 0
        self.add("schema_meta", meta_key="main", role="agent", schema_version=9)

    def add(self, table: str, **values) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - the test's own names
        self.connection.execute(statement, [*values.values()])

    def session(self, session=SESSION, spawned_by=None) -> None:
        key, entry = KEYS[session], json.dumps({"sessionId": session, "updatedAt": self.now})
        times = {"updated_at": self.now, "spawned_by": spawned_by}
        self.add(
            "session_nodes", session_key=key, current_session_id=session, entry_json=entry, **times
        )
        self.add(
            "session_windows",
            session_id=session,
            session_key=key,
            created_at=self.now,
            model="m-1",
            **times,
        )
        header = {"type": "session", "version": 4, "id": session, "cwd": FOLDER}
        self.line(header | {"timestamp": "2026-11-18T11:06:40.000Z"}, session)

    def line(self, line: dict, session=SESSION, pack=None) -> None:
        """Add a line of a session; `pack` compresses it."""
        self.now += 1000
        self.number += 1
        text = json.dumps(line, separators=(",", ":"))
        columns = {"event_json": text, "event_utf8_bytes": len(text.encode())}
        if pack is not None:
            columns |= {"event_json": None, "event_zstd": pack(text.encode())}
        self.add(
            "transcript_events",
            session_id=session,
            seq=self.number,
            created_at=self.now,
            **columns,
        )
        if "id" in line:
            name = {"session_id": session, "event_id": line["id"], "seq": self.number}
            self.add("transcript_event_identities", **name)

    def message(self, role, session=SESSION, pack=None, **members) -> None:
        number = self.number + 1
        members = {"role": role, **members, "timestamp": self.now}
        head = {"type": "message", "id": f"e{number}", "parentId": f"e{number - 1}"}
        time = f"2026-11-18T11:07:{number:02}.000Z"
        self.line(head | {"timestamp": time, "message": members}, session, pack)

    def call(self, call_id, tool, arguments, text, details, session=SESSION) -> None:
        """Add a call and its result."""
        block = {"type": "toolCall", "id": call_id, "name": tool, "arguments": arguments}
        usage = {"input": 10, "output": 2, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 17}
        self.message("assistant", session, content=[block], provider="p", model="m-1", usage=usage)
        content = [{"type": "text", "text": text}]
        result = {"toolCallId": call_id, "toolName": tool, "isError": False, "details": details}
        self.message("toolResult", session, content=content, **result)

    def close(self) -> None:
        self.connection.close()


def filled(path: Path) -> OpenClaw:
    """Return a database with a session, and one of its sub-agent."""
    claw = OpenClaw(path)
    claw.session()
    claw.message("user", content=[{"type": "text", "text": PROMPT}])
    claw.call("c1", "write", {"path": f"{FOLDER}/a.py", "content": "x = 1\n"}, "Wrote it.", {})
    claw.call(
        "c2",
        "exec",
        {"command": "python3 a.py; exit 3"},
        "(no output)\n\n(Command exited with code 3)",
        {"status": "completed", "exitCode": 3, "exitReason": "exit"},
    )
    claw.message("assistant", content="Done.", provider="p", model="m-1", usage={})
    claw.session(CHILD, spawned_by=KEYS[SESSION])
    claw.message("user", CHILD, content="Look at it.", provenance={"kind": "inter_session"})
    return claw
