"""The newest Codex CLI, run offline against a scripted model: every member it writes is known.

The test installs nothing. It needs `codex` on the path, or in the folder that VACR_CODEX names:

    npm install --prefix /tmp/codex @openai/codex
    VACR_CODEX=/tmp/codex/node_modules/.bin pytest tests/agents/test_codex_offline.py
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading

import pytest

from tests.agents import independent, rebuild
from tests.conftest import records_of
from vacr import validate

CODEX = shutil.which("codex", path=os.environ.get("VACR_CODEX") or None)
pytestmark = [
    pytest.mark.component,
    pytest.mark.skipif(CODEX is None, reason="CODEX: codex is not on the path or in VACR_CODEX"),
]

CONFIG = """
model = "gpt-5.5"
model_auto_compact_token_limit = 200000
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
requires_openai_auth = false
"""
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 50},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
}
PATCH = "*** Begin Patch\n*** Update File: absent.txt\n@@\n-old\n+new\n*** End Patch"

NEW_FILE = "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch"


def call(name, **arguments):
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments)}


STEPS = [
    call("exec_command", cmd="echo fine"),
    call("exec_command", cmd="echo 'Process exited with code 0'; exit 3"),
    call("exec_command", cmd="sleep 2; exit 4", yield_time_ms=250),
    call("write_stdin", session_id=None, chars="", yield_time_ms=10_000),
    call("write_stdin", session_id=987654, chars=""),
    {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH},
    call("view_image", path="absent.png"),
    {"type": "custom_tool_call", "name": "apply_patch", "input": NEW_FILE},
    call("no_such_tool"),
]
OUTCOMES = [
    ("exec_command", "success", 0),
    ("exec_command", "error", 3),
    ("exec_command", "running", None),
    ("write_stdin", "error", 4),
    ("write_stdin", "error", None),
    ("apply_patch", "error", None),
    ("view_image", "error", None),
    ("apply_patch", "success", 0),
    ("no_such_tool", "error", None),
]


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """A model that makes the calls of STEPS, one a request, and then says that it is done.

    The last call fills the context, so that Codex asks for a summary.
    """

    def log_message(self, *_):
        """Stay silent."""

    def do_GET(self):
        """Refuse the list of models; Codex has its own."""
        self.send_error(404)

    def do_POST(self):
        """Stream the next call."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = self.server.answered
        self.server.answered += 1
        item = self.make_item(number, request["input"][-1])
        usage = USAGE | ({"input_tokens": 300_000} if number == len(STEPS) - 1 else {})
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
        response = {"id": f"response_{number}", "output": [item], "usage": usage}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, members in (
            ("response.created", {"response": {"id": response["id"]}}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": response}),
        ):
            event = json.dumps({"type": name, **members})
            self.wfile.write(f"event: {name}\ndata: {event}\n\n".encode())

    def make_item(self, number, last_item):
        """Make the next call, or a message after the last one."""
        if number >= len(STEPS):
            content = [{"type": "output_text", "text": "Done.", "annotations": []}]
            return {"type": "message", "id": f"m_{number}", "role": "assistant", "content": content}
        item = {**STEPS[number], "id": f"item_{number}", "call_id": f"call_{number}"}
        if '"session_id": null' in item.get("arguments", ""):
            session = re.search(r"session ID (\d+)", str(last_item["output"]))[1]
            item["arguments"] = item["arguments"].replace("null", session)
        return item


@pytest.fixture(scope="module")
def rollout(tmp_path_factory):
    """Run Codex once, and return the bytes of its rollout."""
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    server.answered = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (home / "config.toml").write_text(CONFIG.format(port=server.server_port))
    command = [CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    try:
        subprocess.run(
            [*command, "Try the tools."],
            cwd=work,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=120,
        )
    finally:
        server.shutdown()
        server.server_close()
    (path,) = (home / "sessions").rglob("*.jsonl")
    return path.read_bytes()


@pytest.fixture(scope="module")
def record(rollout):
    (record,) = records_of(rollout)
    return record


def test_every_member_is_known(record):
    assert "drift" not in record["vacr"]


def test_record_is_valid_and_complete(rollout, record):
    assert validate(record).findings == []
    rebuild.assert_same([record], list(independent.documents(rollout)))


def test_outcomes_are_labelled(record):
    entries = record["session"]["entries"]
    names = {entry["call-id"]: entry["name"] for entry in entries if entry["type"] == "tool-call"}
    results = [entry for entry in entries if entry["type"] == "tool-result"]
    assert [
        (names[entry["call-id"]], entry.get("status"), entry.get("vacr", {}).get("exit-code"))
        for entry in results
    ] == OUTCOMES
    assert results[2]["vacr"]["resolved-by"] == results[3]["call-id"]


def test_speakers_are_labelled(record):
    speakers = [
        (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"])
        for entry in record["session"]["entries"]
        if entry["type"] == "user"
    ]
    # A person or a program may have typed the prompt of `codex exec`.
    assert speakers == [("host", "stated"), ("unknown", "inferred")]


def test_tokens_are_the_native_total(rollout, record):
    totals = [
        value["payload"]["info"]["total_token_usage"]
        for value in independent.values(rollout)
        if value["payload"].get("type") == "token_count" and value["payload"]["info"]
    ]
    tokens = independent.record(record).tokens
    assert tokens["input"] == totals[-1]["input_tokens"] == 300_000 + 100 * (len(STEPS) + 1)
    assert tokens["output"] == totals[-1]["output_tokens"]
    assert any(entry.get("event-type") == "compacted" for entry in record["session"]["entries"])
