"""Hermes's database and session files, with the rows of a test."""

import json
import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT,
    model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL,
    ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, billing_provider TEXT,
    estimated_cost_usd REAL, actual_cost_usd REAL, title TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT,
    timestamp REAL NOT NULL, token_count INTEGER, finish_reason TEXT, reasoning TEXT,
    reasoning_details TEXT, codex_reasoning_items TEXT);
"""
START = 1_785_000_000.25
SESSION, CHILD, NEXT = "20260725_172000_5e0a7f", "20260725_172100_c41d00", "20260725_173000_0e1f2a"
SUB_AGENT_PROMPT = "You are a focused subagent working on a specific delegated task.\n\nFind it."
OLD = "def total(items):\n    return sum(items)\n"
NEW = OLD.replace("sum(items)", "round(sum(items), 2)")
DIFF = (
    "--- a/till/total.py\n+++ b/till/total.py\n@@ -1,2 +1,2 @@\n def total(items):\n"
    "-    return sum(items)\n+    return round(sum(items), 2)\n"
)


class Hermes:
    """A database that a test fills; its clock moves half a second with each message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(TABLES)
        self.now = START
        self.add("schema_version", version=6)

    def add(self, table: str, **values) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"  # noqa: S608 - the test's own names
        self.connection.execute(statement, [*values.values()])

    def session(self, session=SESSION, **columns) -> None:
        columns = {"source": "cli", "model": "sonnet-9", "started_at": self.now} | columns
        self.add("sessions", id=session, title=f"Title of {session}", **columns)

    def message(self, role, content, session=SESSION, **columns) -> None:
        self.now += 0.5
        columns |= {"role": role, "content": content, "timestamp": self.now}
        self.add("messages", session_id=session, **columns)

    def call(self, call_id, tool, arguments, output, **columns) -> None:
        """Add a call and its result; a result of `None` is missing."""
        function = {"name": tool, "arguments": json.dumps(arguments)}
        call = {"id": call_id, "call_id": call_id, "response_item_id": f"fc_{call_id}"}
        calls = json.dumps([call | {"type": "function", "function": function}])
        self.message("assistant", "", tool_calls=calls, finish_reason="tool_calls", **columns)
        if output is not None:
            text = output if isinstance(output, str) else json.dumps(output)
            self.message("tool", text, tool_call_id=call_id)

    def close(self) -> Path:
        self.connection.close()
        return self.path


def terminal(code, output="", error=None, **more):
    return {"output": output, "exit_code": code, "error": error, **more}


def filled(path: Path) -> Hermes:
    """Make a database with a session of most things, one of its sub-agent, and one after it."""
    hermes = Hermes(path)
    hermes.session(
        system_prompt="You are Hermes Agent.",
        ended_at=START + 90,
        end_reason="compression",
        input_tokens=900,
        output_tokens=80,
        billing_provider="openrouter",
        estimated_cost_usd=0.25,
    )
    hermes.message("user", "The total is off by a cent.")
    shown = "     1|def total(items):\n     2|    return sum(items)\n     3|"
    result = {"content": shown, "total_lines": 2, "file_size": 41, "truncated": False}
    hermes.call("c1", "read_file", {"path": "till/total.py"}, result, reasoning="Floats, I guess.")
    replaced = {"path": "till/total.py", "old_string": "sum(items)"}
    replaced |= {"new_string": "round(sum(items), 2)", "mode": "replace"}
    hermes.call("c2", "patch", replaced, {"success": True, "diff": DIFF})
    hermes.call("c3", "terminal", {"command": "make test"}, terminal(2, "1 failed"))
    blocked = terminal(-1, "", "BLOCKED: User denied. Do NOT retry.", status="blocked")
    hermes.call("c4", "terminal", {"command": "rm -r /"}, blocked)
    hermes.call("c5", "terminal", {"command": "sleep 900"}, terminal(124, "timed out"))
    background = terminal(0, "Background process started", session_id="proc_1", pid=7)
    hermes.call("c6", "terminal", {"command": "make serve", "background": True}, background)
    hermes.call("c7", "fly", {}, "Tool 'fly' does not exist. Available tools: patch, terminal")
    failed = {"status": "error", "output": "", "error": "NameError", "tool_calls_made": 0}
    hermes.call("c8", "execute_code", {"code": "print(x)"}, failed)
    hermes.call("c9", "search_files", {"pattern": "nothing"}, {"total_count": 0})
    written = {"bytes_written": 7, "dirs_created": True}
    hermes.call("c10", "write_file", {"path": "NOTES.md", "content": "# Till\n"}, written)
    hermes.message("user", "You just executed tool calls but returned an empty response. Go on.")
    hermes.call("c11", "shop_query", {"sql": "SELECT 1"}, {"rows": [], "row_count": 0})
    hermes.call("c12", "delegate_task", {"goal": "Find it."}, None)
    hermes.message("session_meta", None)
    hermes.message("assistant", "Done.", finish_reason="stop", reasoning_details='[{"x": 1}]')
    hermes.session(CHILD, parent_session_id=SESSION, system_prompt=SUB_AGENT_PROMPT)
    hermes.message("user", "Find it.", session=CHILD)
    hermes.message("assistant", "It is in till/.", session=CHILD, finish_reason="stop")
    hermes.session(NEXT, parent_session_id=SESSION, system_prompt="You are Hermes Agent.")
    hermes.message("user", "And the tax?", session=NEXT)
    return hermes


def build_session_file(session: str = "20260725_180000_7a11ed") -> dict:
    """Build the content of a session file."""
    function = {"name": "write_file", "arguments": '{"path": "tax.py", "content": "TAX = 7\\n"}'}
    call = {"id": "t1", "call_id": "t1", "response_item_id": "fc_t1", "type": "function"}
    messages = [
        {"role": "user", "content": '[SYSTEM: The user has invoked the "plan" skill.]'},
        {"role": "user", "content": "Write the tax down."},
        {
            "role": "assistant",
            "content": "",
            "reasoning": None,
            "finish_reason": "tool_calls",
            "tool_calls": [call | {"function": function}],
        },
        {"role": "tool", "content": '{"bytes_written": 8}', "tool_call_id": "t1"},
        {"role": "assistant", "content": "7.", "reasoning": "Easy.", "finish_reason": "stop"},
    ]
    return {
        "session_id": session,
        "model": "sonnet-9",
        "base_url": "https://models.example/v1",
        "platform": "cli",
        "session_start": "2026-07-25T18:00:00.000250",
        "last_updated": "2026-07-25T18:01:00.500000",
        "system_prompt": "You are Hermes Agent.",
        "tools": [{"type": "function", "function": {"name": "write_file"}}],
        "message_count": len(messages),
        "messages": messages,
    }
