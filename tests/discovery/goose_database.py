"""Goose's database and session files, with the rows of a test."""

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

TABLES = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
    session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
    created_at TIMESTAMP, updated_at TIMESTAMP, extension_data TEXT DEFAULT '{}',
    total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER, provider_name TEXT,
    model_config_json TEXT, goose_mode TEXT NOT NULL DEFAULT 'auto');
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
    session_id TEXT NOT NULL, role TEXT NOT NULL, content_json TEXT NOT NULL,
    created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
"""
START = 1_785_000_000
SESSION, CHILD, TIMED = "20260725_1", "20260725_2", "20260725_3"
FOLDER = "/home/nora/till"
DECLINED = (
    "The user has declined to run this tool. DO NOT attempt to call this tool again. If there are "
    "no alternative methods to proceed, clearly explain the situation and STOP."
)
SEEN = {"userVisible": True, "agentVisible": True}
SUMMARY = {"userVisible": False, "agentVisible": True}


def text(value, **more):
    return {"type": "text", "text": value, **more}


def request(call_id, tool, arguments, **more):
    value = {"name": tool, "arguments": arguments}
    return {
        "type": "toolRequest",
        "id": call_id,
        "toolCall": {"status": "success", "value": value},
        **more,
    }


def response(call_id, blocks, is_error=False, structured=None):
    """Return the result of a call; `blocks` are a text, or the blocks for model and user."""
    content = [text(blocks)] if isinstance(blocks, str) else blocks
    value = {"content": content, "isError": is_error}
    if structured is not None:
        value["structuredContent"] = structured
    result = {"status": "success", "value": value}
    return {"type": "toolResponse", "id": call_id, "toolResult": result}


def for_both(model, user=None):
    """Return the blocks of an older result: one for the model, one for the user."""
    return [
        text(model, annotations={"audience": ["assistant"]}),
        text(user or model, annotations={"audience": ["user"], "priority": 0.0}),
    ]


def ran(code, stdout="", stderr="", **more):
    return {"stdout": stdout, "stderr": stderr, "exit_code": code, **more}


def sql_time(seconds):
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"


class Goose:
    """A database that a test fills; its clock moves a second with each message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(TABLES)
        self.now = START
        self.count = 0
        self.add("schema_version", version=9, applied_at=sql_time(START))

    def add(self, table: str, **values) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - the test's own names
        self.connection.execute(statement, [*values.values()])

    def session(self, session=SESSION, **columns) -> None:
        columns = {
            "working_dir": FOLDER,
            "created_at": sql_time(self.now),
            "updated_at": sql_time(self.now + 60),
            "provider_name": "anthropic",
            "model_config_json": '{"model_name":"sonnet-9","context_limit":200000}',
        } | columns
        self.add("sessions", id=session, name=f"Title of {session}", **columns)

    def message(self, role, *blocks, session=SESSION, visible=SEEN, **columns) -> None:
        self.now += 1
        self.count += 1
        content = json.dumps([text(block) if isinstance(block, str) else block for block in blocks])
        columns = {
            "message_id": f"msg_{self.count}",
            "role": role,
            "content_json": content,
            "created_timestamp": self.now,
            "timestamp": sql_time(self.now),
            "metadata_json": json.dumps(visible),
        } | columns
        self.add("messages", session_id=session, **columns)

    def call(self, call_id, tool, arguments, blocks, **more) -> None:
        """Add a call and its result; a result of `None` is missing."""
        self.message("assistant", request(call_id, tool, arguments))
        if blocks is not None:
            self.message("user", response(call_id, blocks, **more))

    def close(self) -> Path:
        self.connection.close()
        return self.path


def filled(path: Path) -> Goose:
    """Make a database with a session of most things, one of a sub-agent, and a scheduled one."""
    goose = Goose(path)
    goose.session(total_tokens=980, input_tokens=900, output_tokens=80)
    goose.message("user", "The total is off by a cent.")
    thinking = {"type": "thinking", "thinking": "Floats, I guess.", "signature": "c2ln"}
    listing = request("c1", "shell", {"command": "cat till/total.py"}, metadata={"turn": 1})
    goose.message("assistant", thinking, "Let me look.", listing)
    shown = "def total(items):\n    return sum(items)"
    goose.message("user", response("c1", shown, structured=ran(0, shown)))
    edit = {"path": "till/total.py", "before": "sum(items)", "after": "round(sum(items), 2)"}
    goose.call("c2", "edit", edit, "Edited till/total.py (1 lines -> 1 lines)")
    notes = {"path": "NOTES.md", "content": "# Till\n"}
    goose.call("c3", "write", notes, "Created NOTES.md (1 lines)")
    failed = "no rule\n\nCommand exited with code 2"
    failure = ran(2, "", "no rule")
    goose.call("c4", "shell", {"command": "make"}, failed, is_error=True, structured=failure)
    confirmation = {"actionType": "toolConfirmation", "id": "c5", "toolName": "shell"}
    goose.message(
        "assistant",
        {"type": "actionRequired", "data": confirmation | {"arguments": {"command": "rm -r /"}}},
        visible={"userVisible": True, "agentVisible": False},
    )
    goose.call("c5", "shell", {"command": "rm -r /"}, DECLINED, is_error=True)
    late = {"stdout": "", "stderr": "", "timed_out": True}
    goose.call(
        "c6",
        "shell",
        {"command": "sleep 9", "timeout_secs": 1},
        "Command timed out after 1 seconds",
        is_error=True,
        structured=late,
    )
    broken = {"type": "toolRequest", "id": "c7"}
    error = "-32602: Could not interpret tool use parameters for id c7"
    goose.message("assistant", broken | {"toolCall": {"status": "error", "error": error}})
    result = {"status": "error", "error": error}
    goose.message("user", {"type": "toolResponse", "id": "c7", "toolResult": result})
    goose.call("c8", "shop__query", {"sql": "SELECT 1"}, "1")
    note = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Compacting"}
    goose.message("assistant", note, visible={"userVisible": True, "agentVisible": False})
    goose.message("user", "They fixed the total of the till.", visible=SUMMARY)
    goose.message("assistant", {"type": "redactedThinking", "data": "ZGF0YQ=="}, "Done.")
    goose.call("c9", "tree", {"path": "."}, None)
    goose.session(CHILD, session_type="sub_agent")
    goose.message("user", "Find the tax.", session=CHILD)
    goose.message("assistant", "It is in till/.", session=CHILD)
    goose.session(TIMED, session_type="scheduled")
    goose.message("user", "Sum up the day.", session=TIMED)
    return goose


def build_session_file() -> list[dict]:
    """Build the lines of a session file of an older version."""
    editor, shell = "developer__text_editor", "developer__shell"
    view = {"command": "view", "path": "/home/nora/till/tax.py"}
    shown = "### /home/nora/till/tax.py\n```python\n1: RATE = 7\n2: LOW = 5\n```\n"
    put = {"command": "str_replace", "path": "/home/nora/till/tax.py"}
    put |= {"old_str": "RATE = 7", "new_str": "RATE = 8"}
    told = "Successfully replaced text in /home/nora/till/tax.py"
    add = {"command": "write", "path": "/home/nora/till/rates.txt", "file_text": "8"}
    header = {
        "working_dir": FOLDER,
        "description": "Raise the tax",
        "message_count": 8,
        "total_tokens": 1200,
    }
    blocks = [
        ("user", [text("Raise the tax to 8.")]),
        ("assistant", [text("Reading."), request("t1", editor, view)]),
        ("user", [response("t1", for_both(shown))]),
        ("assistant", [request("t2", editor, put)]),
        ("user", [response("t2", for_both(f"{told}.", f"{told} at line 1.\n```python\n```\n"))]),
        ("assistant", [request("t3", editor, add), request("t4", shell, {"command": "make"})]),
        ("user", [response("t3", for_both("Successfully wrote to /home/nora/till/rates.txt"))]),
        ("user", [response("t4", for_both("all passed"))]),
        ("assistant", [text("8.")]),
    ]
    # Old versions had the blocks of a result without members around them.
    blocks[6][1][0]["toolResult"]["value"] = blocks[6][1][0]["toolResult"]["value"]["content"]
    lines = [
        {"role": role, "created": START + number, "content": content}
        for number, (role, content) in enumerate(blocks)
    ]
    return [header, *lines]
