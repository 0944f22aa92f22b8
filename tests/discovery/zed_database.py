"""Zed's database of threads, with the messages of a test."""

import json
import sqlite3
from pathlib import Path

import zstandard

TABLES = """
CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
    data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT, folder_paths TEXT,
    folder_paths_order TEXT, created_at TEXT);
"""
FOLDER = "/home/nora/till"
THREAD, CHILD, PLAIN = (f"5e0a7f1c-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
OLD = "def total(items):\n    return sum(items)\n"
NEW = OLD.replace("sum(items)", "round(sum(items), 2)")
DENIED = "Permission to run tool denied by user"


def user(number, *blocks):
    content = [{"Text": block} if isinstance(block, str) else block for block in blocks]
    return {"User": {"id": f"u-{number}", "content": content}}


def use(call_id, tool, arguments):
    return {
        "ToolUse": {
            "id": call_id,
            "name": tool,
            "raw_input": json.dumps(arguments),
            "input": {"type": "json", "value": arguments},
            "is_input_complete": True,
            "thought_signature": None,
        }
    }


def result(call_id, tool, text, is_error=False, output=None):
    return {
        "tool_use_id": call_id,
        "tool_name": tool,
        "is_error": is_error,
        "content": [{"Text": text}],
        "output": output,
    }


def agent(*blocks, results=()):
    content = [{"Text": block} if isinstance(block, str) else block for block in blocks]
    kept = {result["tool_use_id"]: result for result in results}
    return {"Agent": {"content": content, "tool_results": kept, "reasoning_details": None}}


def call(call_id, tool, arguments, text, **more):
    """Return the answer with a call; a result of `None` is missing."""
    results = [] if text is None else [result(call_id, tool, text, **more)]
    return agent(use(call_id, tool, arguments), results=results)


def edited(old, new, path="till/till/total.py"):
    return {"input_path": path, "old_text": old, "new_text": new, "diff": "@@ changed @@"}


def thread(*messages, **more):
    repository = {"head_sha": "0f1e2d3c4b5a69788796a5b4c3d2e1f001122334"}
    repository |= {"current_branch": "main", "remote_url": None, "diff": ""}
    snapshot = {"worktree_snapshots": [{"worktree_path": FOLDER, "git_state": repository}]}
    return {
        "version": "0.3.0",
        "title": "Round the total",
        "messages": list(messages),
        "updated_at": "2026-07-25T17:21:00.500Z",
        "initial_project_snapshot": snapshot | {"timestamp": "2026-07-25T17:20:00.250Z"},
        "cumulative_token_usage": {"input_tokens": 900, "output_tokens": 80},
        "model": {"provider": "anthropic", "model": "sonnet-9"},
        "profile": "write",
    } | more


class Zed:
    """A database that a test fills."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.executescript(TABLES)

    def add(self, value, thread_id=THREAD, parent=None, data_type="zstd") -> None:
        """Add a thread: a value, or the bytes of one."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        if data_type == "zstd" and not isinstance(value, bytes):
            data = zstandard.ZstdCompressor(level=3).compress(data)
        times = "2026-07-25T17:21:00.500+00:00", "2026-07-25T17:20:00.250+00:00"
        row = (thread_id, "Round the total", times[0], data_type, data, parent, FOLDER, "0")
        self.connection.execute("INSERT INTO threads VALUES (?,?,?,?,?,?,?,?,?)", (*row, times[1]))

    def close(self) -> Path:
        self.connection.close()
        return self.path


def filled(path: Path) -> Zed:
    """Make a database with a thread of most things, one of its sub-agent, and a plain one."""
    zed = Zed(path)
    mention = {"uri": {"File": {"abs_path": f"{FOLDER}/README.md"}}, "content": "# Till\n"}
    total = {"path": "till/till/total.py"}
    shown = "     1\tdef total(items):\n     2\t    return sum(items)\n"
    thought = {"Thinking": {"text": "Floats, I guess.", "signature": "c2ln"}}
    reading = agent(
        thought,
        "Let me look.",
        use("c1", "read_file", total),
        results=[result("c1", "read_file", shown)],
    )
    failed = 'Command "make" failed with exit code 2.\n\n```\nno rule\n```'
    late = 'Command "sleep 9" timed out. No output was captured.'
    stopped = "The user stopped this command. No output was captured before stopping."
    done = "Edited till/till/total.py successfully"
    edit = total | {"edits": [{"old_text": "sum(items)", "new_text": "round(sum(items), 2)"}]}
    notes = {"path": "till/NOTES.md", "content": "# Till\n"}
    written = edited("", "# Till\n", "till/NOTES.md")
    zed.add(
        thread(
            user(1, "The total is off by a cent.", {"Mention": mention}),
            reading,
            call("c2", "edit_file", edit, done, output=edited(OLD, NEW)),
            call("c3", "write_file", notes, "Edited till/NOTES.md successfully", output=written),
            call("c4", "terminal", {"command": "make", "cd": "till"}, failed),
            call("c5", "terminal", {"command": "ls", "cd": "till"}, "```\nNOTES.md\n```"),
            call("c6", "terminal", {"command": "sleep 9", "cd": "till"}, late),
            call("c7", "terminal", {"command": "make serve", "cd": "till"}, stopped),
            call("c8", "delete_path", {"path": "till/NOTES.md"}, DENIED, is_error=True),
            call("c9", "grep", {"regex": "x"}, "Tool canceled by user", is_error=True),
            call("c10", "shop_query", {"sql": "SELECT"}, "no table", is_error=True),
            "Resume",
            {"Compaction": {"Summary": "They fixed the total."}},
            agent({"RedactedThinking": "ZGF0YQ=="}, "Done.", use("c11", "now", {})),
        )
    )
    context = {"parent_thread_id": THREAD, "depth": 1}
    zed.add(
        thread(user(2, "Find the tax."), agent("It is in till/."), subagent_context=context),
        CHILD,
        THREAD,
    )
    zed.add(thread(user(3, "And the tax?")), PLAIN, data_type="json")
    return zed
