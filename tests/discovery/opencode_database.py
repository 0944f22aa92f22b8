"""OpenCode's database in each of its versions, with the rows of a test."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

TIMES = "time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL"
_FIRST_SESSION = """id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL, directory TEXT NOT NULL,
    title TEXT NOT NULL, version TEXT NOT NULL, share_url TEXT, summary_additions INTEGER, summary_deletions INTEGER,
    summary_files INTEGER, summary_diffs TEXT, revert TEXT, permission TEXT"""
_PROJECT = (
    "id TEXT PRIMARY KEY, worktree TEXT NOT NULL, vcs TEXT, name TEXT, icon_url TEXT, "
    "icon_color TEXT"
)
_USAGE = (
    "tokens_input INTEGER, tokens_output INTEGER, tokens_reasoning INTEGER, "
    "tokens_cache_read INTEGER"
)
_FIRST = {
    "project": f"{_PROJECT}, {TIMES}, time_initialized INTEGER, sandboxes TEXT NOT NULL",
    "session": f"{_FIRST_SESSION}, {TIMES}, time_compacting INTEGER, time_archived INTEGER",
    "message": f"id TEXT PRIMARY KEY, session_id TEXT NOT NULL, {TIMES}, data TEXT NOT NULL",
    "part": (
        f"id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, {TIMES}, "
        "data TEXT NOT NULL"
    ),
    "permission": f"project_id TEXT PRIMARY KEY, {TIMES}, data TEXT NOT NULL",
    "todo": f"""session_id TEXT NOT NULL, content TEXT NOT NULL, status TEXT NOT NULL, priority TEXT NOT NULL,
        position INTEGER NOT NULL, {TIMES}, PRIMARY KEY (session_id, position)""",
    "session_share": (
        "session_id TEXT PRIMARY KEY, id TEXT NOT NULL, secret TEXT NOT NULL, url "
        f"TEXT NOT NULL, {TIMES}"
    ),
    "__drizzle_migrations": "id INTEGER PRIMARY KEY, hash TEXT NOT NULL, created_at NUMERIC",
}
_MIDDLE = _FIRST | {
    "project": f"{_FIRST['project']}, commands TEXT",
    "session": f"{_FIRST['session']}, workspace_id TEXT, path TEXT",
    "control_account": f"email TEXT, url TEXT, access_token TEXT, refresh_token TEXT, {TIMES}",
    "account": f"id TEXT PRIMARY KEY, email TEXT, access_token TEXT, refresh_token TEXT, {TIMES}",
    "event_sequence": "aggregate_id TEXT PRIMARY KEY, seq INTEGER NOT NULL",
    "event": (
        "id TEXT PRIMARY KEY, aggregate_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT "
        "NOT NULL, data TEXT NOT NULL"
    ),
    "session_entry": (
        "id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, "
        f"{TIMES}, data TEXT NOT NULL"
    ),
}
_NEWEST = {
    table: columns
    for table, columns in _MIDDLE.items()
    if table not in ("session_entry", "__drizzle_migrations")
} | {
    "session": (
        f"{_MIDDLE['session']}, agent TEXT, model TEXT, cost REAL, {_USAGE}, "
        "tokens_cache_write INTEGER, metadata TEXT"
    ),
    "session_message": f"""id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL, {TIMES},
        data TEXT NOT NULL""",
    "session_input": """id TEXT PRIMARY KEY, session_id TEXT NOT NULL, prompt TEXT NOT NULL, delivery TEXT NOT NULL,
        admitted_seq INTEGER, promoted_seq INTEGER, time_created INTEGER NOT NULL""",
    "session_context_epoch": (
        "session_id TEXT PRIMARY KEY, baseline TEXT, snapshot TEXT, baseline_seq INTEGER"
    ),
    "credential": f"id TEXT PRIMARY KEY, session_id TEXT, label TEXT, value TEXT NOT NULL, {TIMES}",
    "migration": "id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL",
}
_SYNTHETIC = {
    "session": (
        "id TEXT, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title "
        f"TEXT, version TEXT, {TIMES}"
    ),
    "message": _FIRST["message"].replace(" PRIMARY KEY", ""),
    "part": _FIRST["part"].replace(" PRIMARY KEY", ""),
}
SCHEMAS = {"first": _FIRST, "middle": _MIDDLE, "newest": _NEWEST, "synthetic": _SYNTHETIC}
_INDEXES = (
    "CREATE INDEX message_session_idx ON message (session_id, time_created, id)",
    "CREATE INDEX part_message_idx ON part (message_id, id)",
    "CREATE INDEX part_session_idx ON part (session_id)",
)
SHARE = {"secret": "s3cret-of-share", "url": "https://opncd.ai/s/share1"}
SECRETS = ("sk-never-1", "sk-never-2", "sk-never-3")
SESSION, CHILD, START = "ses_1b7Nora", "ses_1b6Helper", 1_785_000_000_000


class OpenCode:
    """A database that a test fills."""

    def __init__(self, path: Path, schema: str = "newest", journal: str = "wal") -> None:
        self.path = path
        self.tables = SCHEMAS[schema]
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute(f"PRAGMA journal_mode = {journal}")
        self.connection.execute("PRAGMA synchronous = OFF")  # No test needs to wait for the disk.
        for table, columns in self.tables.items():
            self.connection.execute(f'CREATE TABLE "{table}" ({columns})')
        for index in _INDEXES if schema != "synthetic" else ():
            self.connection.execute(index)

    def add(self, table: str, **values) -> None:
        """Add a row, without the tables and columns that this version lacks."""
        if table in self.tables:
            columns = [row[1] for row in self.connection.execute(f'PRAGMA table_info("{table}")')]
            times = {"time_created": START, "time_updated": START}
            values = {name: value for name, value in (times | values).items() if name in columns}
            values = {
                name: json.dumps(value) if isinstance(value, dict | list) else value
                for name, value in values.items()
            }
            marks = ", ".join("?" * len(values))
            statement = f'INSERT INTO "{table}" ({", ".join(values)}) VALUES ({marks})'  # noqa: S608 - the test's own names
            self.connection.execute(statement, [*values.values()])

    def add_session(self, session: str = SESSION, **columns) -> None:
        """Add a session's own row."""
        given = {
            "project_id": "prj_1",
            "slug": f"slug of {session}",
            "title": f"Title of {session}",
            "version": "1.18.21",
        }
        given |= {
            "directory": f"/home/nora/{session}",
            "time_created": START,
            "time_updated": START + 60_000,
        }
        self.add("session", id=session, **(given | columns))

    def add_message(self, identity: str, session: str, created: int, data, **columns) -> None:
        """Add a message."""
        self.add(
            "message",
            id=identity,
            session_id=session,
            time_created=created,
            time_updated=created + 5,
            data=data,
            **columns,
        )

    def add_part(self, identity: str, message: str, session: str, data, **columns) -> None:
        """Add a part; its creation time may be the time of an import."""
        self.add(
            "part",
            id=identity,
            message_id=message,
            session_id=session,
            time_created=1_799_000_000_000,
            data=data,
            **columns,
        )

    def close(self) -> Path:
        """Close the database, which removes the journal."""
        self.connection.close()
        return self.path


def conversation(database: OpenCode, session: str = SESSION, letter: str = "a", **columns) -> None:
    """Add a session with one of most things."""
    database.add_session(session, **columns)
    words = f"words of {session}"
    one, two, three = (f"msg_{letter}0{number}" for number in (1, 2, 3))
    model = {"providerID": "openai", "modelID": "gpt-5.2"}
    said = {
        "role": "user",
        "time": {"created": START + 1},
        "agent": "build",
        "model": model,
        "summary": {"title": f"t {words}"},
    }
    database.add_message(one, session, START + 1, said)
    database.add_part(
        f"prt_{letter}011", one, session, {"type": "text", "text": f"please, {words}"}
    )
    usage = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 1000, "write": 1}}
    answer = {
        "role": "assistant",
        "time": {"created": START + 10, "completed": START + 90},
        "parentID": one,
        "cost": 0.0125,
    }
    answer |= {
        "modelID": "gpt-5.2",
        "providerID": "openai",
        "mode": "build",
        "agent": "build",
        "tokens": usage,
        "finish": "stop",
    }
    database.add_message(
        two, session, START + 10, answer | {"path": {"cwd": "/home/nora/x", "root": "/home/nora"}}
    )
    state = {
        "status": "completed",
        "input": {"filePath": f"a {words}"},
        "output": f"done {words}",
        "title": f"Edit {words}",
    }
    state |= {
        "metadata": {"diff": f"--- {words}"},
        "time": {"start": START + 20, "end": START + 30},
    }
    failed = {
        "status": "error",
        "input": {"command": f"false {words}"},
        "error": f"failed {words}",
        "time": {"start": 1, "end": 2},
    }
    parts = [
        {"type": "step-start", "snapshot": f"snap {words}"},
        {
            "type": "reasoning",
            "text": f"hm, {words}",
            "time": {"start": START + 11, "end": START + 12},
        },
        {"type": "tool", "tool": "edit", "callID": f"call_{letter}1", "state": state},
        {"type": "tool", "tool": "bash", "callID": f"call_{letter}2", "state": failed},
        {
            "type": "text",
            "text": f"it is done, {words}",
            "time": {"start": START + 80, "end": START + 85},
        },
        {"type": "patch", "hash": f"hash of {words}", "files": [f"/home/nora/{session}.py"]},
        {"type": "step-finish", "reason": "stop", "cost": 0.0125, "tokens": usage},
    ]
    # Rows have no order of their own; ids and times determine it.
    for number, part in reversed([*enumerate(parts, 1)]):
        database.add_part(f"prt_{letter}02{number}", two, session, part)
    database.add_message(three, session, START + 100, said | {"time": {"created": START + 100}})
    database.add_part(
        f"prt_{letter}031",
        three,
        session,
        {"type": "text", "text": f"thanks, {words}", "synthetic": True},
    )


def filled(path: Path, schema: str = "newest", journal: str = "wal") -> OpenCode:
    """Make a database with two sessions, a sub-agent's session, and rows of all other tables."""
    database = OpenCode(path, schema, journal)
    database.add(
        "project",
        id="prj_1",
        worktree="/home/nora",
        vcs="git",
        sandboxes=["/home/nora/sandbox"],
        commands={"start": "x"},
    )
    database.add("project", id="prj_other", worktree="/home/nora/other", sandboxes=[])
    conversation(database, "ses_1b9Other", "o", project_id="prj_other")
    model = {"id": "gpt-5.2", "providerID": "openai", "variant": "high"}
    newer = {
        "agent": "build",
        "model": model,
        "cost": 0.5,
        "tokens_input": 11,
        "tokens_cache_read": 2**62,
        "metadata": {"k": "v"},
    }
    diffs = [{"file": "a.py", "additions": 1, "deletions": 2, "patch": "@@"}]
    newer |= {
        "summary_diffs": diffs,
        "summary_files": 1,
        "permission": [{"permission": "bash", "action": "allow"}],
    }
    conversation(database, SESSION, "a", **newer)
    conversation(database, CHILD, "c", parent_id=SESSION)
    for number, content in enumerate(("write it", "test it")):
        database.add(
            "todo",
            session_id=SESSION,
            content=content,
            status="pending",
            priority="high",
            position=number,
        )
    database.add("session_share", session_id=SESSION, id="share1", **SHARE)
    database.add(
        "session_input",
        id="inp_1",
        session_id=SESSION,
        prompt={"text": "queued words"},
        delivery="queue",
        admitted_seq=3,
    )
    database.add(
        "session_context_epoch",
        session_id=SESSION,
        baseline="base words",
        snapshot="snapshot words",
        baseline_seq=1,
    )
    database.add("event_sequence", aggregate_id=SESSION, seq=2)
    for number in (2, 1):
        data = {"info": f"event words {number}"}
        database.add(
            "event",
            id=f"evt_{9 - number}",
            aggregate_id=SESSION,
            seq=number,
            type="session.updated",
            data=data,
        )
    database.add(
        "event",
        id="evt_x",
        aggregate_id="ses_1b9Other",
        seq=1,
        type="session.updated",
        data={"info": "other's event"},
    )
    database.add("credential", id="cred_1", session_id=SESSION, label="openai", value=SECRETS[0])
    database.add(
        "account",
        id="acc_1",
        email="nora@example.org",
        access_token=SECRETS[1],
        refresh_token=SECRETS[2],
    )
    database.add(
        "control_account",
        email="nora@example.org",
        access_token=SECRETS[1],
        refresh_token=SECRETS[2],
    )
    database.add("permission", project_id="prj_1", data=[{"pattern": "*"}])
    return database


def rows_of(path: Path, session: str) -> list[dict]:
    """Return the rows of a session, found by the schema without code of the package."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        tables = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        found = [
            dict(row) for row in connection.execute("SELECT * FROM session WHERE id = ?", [session])
        ]
        for row in list(found) if "project" in tables else []:
            found += map(
                dict, connection.execute("SELECT * FROM project WHERE id = ?", [row["project_id"]])
            )
        for table in (
            "message",
            "part",
            "todo",
            "session_share",
            "session_message",
            "session_entry",
            "session_input",
            "event",
        ):
            key = "aggregate_id" if table == "event" else "session_id"
            if table in tables:
                statement = f"SELECT * FROM {table} WHERE {key} = ?"  # noqa: S608 - the test's own names
                found += map(dict, connection.execute(statement, [session]))
    return found
