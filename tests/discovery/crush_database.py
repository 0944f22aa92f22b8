"""Crush's database, with the rows of a test and with its changes still in the write-ahead log."""

import json
import shutil
import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL, tstamp TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0, prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0,
    updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
CREATE TABLE files (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, path TEXT NOT NULL,
    content TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, UNIQUE (path, session_id, version));
CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
    parts TEXT NOT NULL DEFAULT '[]', model TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT,
    is_summary_message INTEGER NOT NULL DEFAULT 0);
CREATE TABLE read_files (session_id TEXT NOT NULL, path TEXT NOT NULL, read_at INTEGER NOT NULL,
    PRIMARY KEY (path, session_id));
"""
START = 1_785_000_000
SESSION, CHILD = "5e0a7f1c-till", "m05$$call_help"
ROOT = "/home/nora/till"


class Crush:
    """A database that a test fills; its clock moves one second with each message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = wal")
        self.connection.execute("PRAGMA wal_autocheckpoint = 0")
        self.connection.executescript(TABLES)
        self.now = START
        self.count = 0
        self.add("goose_db_version", id=1, version_id=20260127000000, is_applied=1)

    def add(self, table: str, **values) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - the test's own names
        self.connection.execute(statement, [*values.values()])

    def session(self, session=SESSION, **columns) -> None:
        times = {"created_at": self.now, "updated_at": self.now + 60}
        self.add("sessions", id=session, title=f"Title of {session}", **(times | columns))

    def message(self, role, *parts, session=SESSION, **columns) -> str:
        """Add a message with parts such as `("text", {"text": "hi"})`."""
        self.count += 1
        self.now += 1
        columns = {"id": f"m{self.count:02}", "session_id": session, "role": role} | columns
        columns |= {"created_at": self.now, "updated_at": self.now}
        native = [{"type": kind, "data": data} for kind, data in parts]
        self.add("messages", parts=json.dumps(native), **columns)
        return columns["id"]

    def ask(self, text, session=SESSION) -> None:
        """Add a request, as Crush writes it."""
        end = ("finish", {"reason": "stop", "time": 0})
        self.message("user", ("text", {"text": text}), end, session=session, model="")

    def call(self, call_id, tool, arguments, output, *, error=False, metadata=None, **more) -> None:
        """Add a call and its result; `more` are columns of both messages."""
        call = {"id": call_id, "name": tool, "input": json.dumps(arguments), "finished": True}
        end = ("finish", {"reason": "tool_use", "time": self.now + 1})
        model = {"model": "sonnet-9", "provider": "anthropic"}
        self.message("assistant", ("tool_call", call), end, **(model | more))
        result = {"tool_call_id": call_id, "name": tool, "content": output, "is_error": error}
        result["metadata"] = "" if metadata is None else json.dumps(metadata)
        self.message("tool", ("tool_result", result), **more)

    def versions(self, path, *texts, first=0) -> None:
        """Add versions of a file, all within the second of the last message."""
        for version, text in enumerate(texts, first):
            self.count += 1
            self.add(
                "files",
                id=f"f{self.count:02}",
                session_id=SESSION,
                path=path,
                content=text,
                version=version,
                created_at=self.now,
                updated_at=self.now,
            )

    def copy_live(self, target: Path) -> Path:
        """Copy the database with its log, as a running Crush leaves it."""
        target.parent.mkdir(parents=True, exist_ok=True)
        for suffix in ("", "-wal"):
            shutil.copy(f"{self.path}{suffix}", f"{target}{suffix}")
        return target

    def close(self) -> Path:
        self.connection.close()
        return self.path


OLD = "def total(items):\n    return sum(items)\n"
NEW = OLD.replace("sum(items)", "round(sum(items), 2)")


def filled(path: Path) -> Crush:
    """Make a database with one session of most things, and one of its sub-agent."""
    crush = Crush(path)
    crush.session(prompt_tokens=900, completion_tokens=80, cost=0.25, todos="[]")
    crush.ask("`Please analyze this codebase and create a **CRUSH.md** file containing:\n\n- x")
    finish = {"reason": "error", "time": crush.now, "message": "API Error", "details": "404"}
    crush.message("assistant", ("finish", finish), model="sonnet-9", provider="anthropic")
    crush.ask("The total is off by a cent.")
    thought = {"thinking": "Floats.", "signature": "c2ln", "started_at": crush.now}
    view = {"id": "call_view", "name": "view", "input": '{"file_path": "till/total.py"}'}
    view |= {"type": "function", "finished": True}
    crush.message(
        "assistant",
        ("reasoning", thought | {"finished_at": crush.now + 1}),
        ("text", {"text": "I read it <first> & foremost."}),
        ("tool_call", view),
        ("finish", {"reason": "tool_use", "time": crush.now}),
        model="sonnet-9",
        provider="anthropic",
    )
    shown = {"file_path": f"{ROOT}/till/total.py", "content": OLD}
    result = {"tool_call_id": "call_view", "name": "", "metadata": json.dumps(shown)}
    listing = "<file>\n     1|def total(items):\n     2|    return sum(items)\n     3|\n</file>\n"
    crush.message("tool", ("tool_result", result | {"content": listing, "is_error": False}))
    crush.add("read_files", session_id=SESSION, path=f"{ROOT}/till/total.py", read_at=crush.now)
    edit = {"file_path": "till/total.py", "old_string": "sum(items)"}
    edit |= {"new_string": "round(sum(items), 2)"}
    done = f"<result>\nContent replaced in file: {ROOT}/till/total.py\n</result>\n"
    crush.call("call_edit", "edit", edit, done, metadata={"diff": "", "additions": 1})
    crush.versions(f"{ROOT}/till/total.py", OLD, NEW)
    ran = {"start_time": 1, "end_time": 2, "output": "1 failed", "working_directory": ROOT}
    crush.call(
        "call_test",
        "bash",
        {"command": "make test"},
        f"1 failed\n\nExit code 2\n\n<cwd>{ROOT}</cwd>",
        metadata=ran,
    )
    crush.call("call_no", "bash", {"command": "rm -r /"}, "User denied permission", error=True)
    crush.call(
        "call_stop", "bash", {"command": "sleep 9"}, "Tool execution canceled by user", error=True
    )
    crush.call("call_help", "agent", {"prompt": "Find the tests."}, "They are in till/tests.")
    png = ("binary", {"Path": "till.png", "MIMEType": "image/png", "Data": "iVBORw0KGgo="})
    crush.message("user", ("text", {"text": "Like this:"}), png, ("smell", {"of": "coffee"}))
    typed = {"command": "git status", "output": "clean", "exit_code": 0}
    crush.message("user", ("shell_command", typed))
    crush.message("system", ("text", {"text": "a role of its own"}))
    end = ("finish", {"reason": "end_turn", "time": crush.now})
    crush.message("assistant", ("text", {"text": "Done."}), end, is_summary_message=1)
    crush.session(CHILD, parent_session_id=SESSION)
    crush.ask("Find the tests.", session=CHILD)
    crush.message("assistant", ("text", {"text": "They are in till/tests."}), session=CHILD)
    return crush
