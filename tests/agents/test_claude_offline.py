"""The newest Claude Code, run offline against a scripted model: every member it writes is known.

The test installs nothing. It needs `claude` on the path, or in the folder that VACR_CLAUDE names:

    npm install --prefix /tmp/claude @anthropic-ai/claude-code
    VACR_CLAUDE=/tmp/claude/node_modules/.bin pytest tests/agents/test_claude_offline.py
"""

import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest

from tests.agents import independent, rebuild
from tests.conftest import records_of
from vacr import validate

CLAUDE = shutil.which("claude", path=os.environ.get("VACR_CLAUDE") or None)
pytestmark = [
    pytest.mark.component,
    pytest.mark.skipif(
        CLAUDE is None, reason="CLAUDE: claude is not on the path or in VACR_CLAUDE"
    ),
]

USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_read_input_tokens": 50,
    "cache_creation_input_tokens": 0,
}
PROMPT, LATER_PROMPT = "Try the tools.", "And then the others."
FORGED = "echo 'Exit code 0'; exit 3"
SLEEP = "python3 -c 'import time; time.sleep(4)'"
STEPS = [
    ("Bash", {"command": "echo 'Exit code 7'"}),
    ("Bash", {"command": FORGED}),
    ("Bash", {"command": "grep absent hello.txt"}),
    ("Bash", {"command": SLEEP, "timeout": 1000}),
    ("Bash", {"command": SLEEP, "run_in_background": True}),
    ("TaskStop", {"task_id": None}),
    ("Bash", {"command": "touch forbidden"}),
    ("Bash", {"command": "touch hooked"}),
    ("Read", {"file_path": "absent.txt"}),
    ("NoSuchTool", {}),
    ("Bash", {"command": "sleep 3; echo slow"}),
]
OUTCOMES = [
    ("Bash", "success", None),
    ("Bash", "error", 3),
    ("Bash", "error", 1),
    ("Bash", "running", None),
    ("Bash", "running", None),
    ("TaskStop", "success", None),
    ("Bash", "denied", None),
    ("Bash", "denied", None),
    ("Read", "error", None),
    ("NoSuchTool", "error", None),
    ("Bash", "success", None),
]


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """A model that makes the calls of STEPS, one a request, and then says that it is done."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Stay silent."""

    def do_GET(self):
        """Refuse everything but messages."""
        self.send_error(404)

    def do_POST(self):
        """Stream the next call."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        block = self.make_block(request)
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        number = self.server.answered
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": USAGE,
        }
        start, delta = dict(block), {"type": "text_delta", "text": block.get("text")}
        if reason == "tool_use":
            start["input"] = {}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            start["text"] = ""
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": USAGE,
            },
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.close_connection = True

    def make_block(self, request):
        """Make the next call, or a text after the last one and for requests without tools."""
        number = self.server.answered
        if not request.get("tools") or number >= len(STEPS):
            return {"type": "text", "text": "Done."}
        self.server.answered += 1
        name, arguments = STEPS[number]
        if "task_id" in arguments:
            arguments = {"task_id": self.server.find_task(request["messages"])}
        if number == len(STEPS) - 1:
            self.server.last_step.set()
        return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}


class ModelServer(http.server.ThreadingHTTPServer):
    """The state of the script."""

    def __init__(self):
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), ScriptedModel)
        self.answered = 0
        self.last_step = threading.Event()

    def find_task(self, messages):
        """Return the id of the background task that the newest result names."""
        return json.dumps(messages).rpartition("with ID: ")[2].partition(".")[0]


CALL_HOOK = """#!/bin/sh
if grep -q 'touch hooked'; then echo 'not this file' >&2; exit 2; fi
"""
STOP_HOOK = """#!/bin/sh
[ -e "$HOME/stopped" ] && exit 0
touch "$HOME/stopped"
echo 'look again' >&2
exit 2
"""


def make_hook(path, script):
    """Write a hook, and return its settings."""
    path.write_text(script)
    path.chmod(0o755)
    return {"matcher": "", "hooks": [{"type": "command", "command": str(path)}]}


@pytest.fixture(scope="module")
def transcript(tmp_path_factory):
    """Run Claude Code once, and return the bytes of its transcript."""
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    (work / "hello.txt").write_text("hello\n")
    settings = {
        "permissions": {"deny": ["Bash(touch forbidden)"]},
        "hooks": {
            "PreToolUse": [make_hook(home / "call.sh", CALL_HOOK)],
            "Stop": [make_hook(home / "stop.sh", STOP_HOOK)],
        },
    }
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    server = ModelServer()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "IS_SANDBOX": "1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    command = [CLAUDE, "-p", "--permission-mode", "bypassPermissions", "--verbose"]
    command += ["--input-format", "stream-json", "--output-format", "stream-json"]
    process = subprocess.Popen(
        command,
        cwd=work,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        send(process, PROMPT)
        assert server.last_step.wait(100)
        send(process, LATER_PROMPT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    finally:
        process.kill()
        server.shutdown()
        server.server_close()
    (path,) = (home / ".claude" / "projects").glob("*/*.jsonl")
    return path.read_bytes()


def send(process, text):
    """Type a message."""
    line = {"type": "user", "message": {"role": "user", "content": text}}
    process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()


@pytest.fixture(scope="module")
def record(transcript):
    (record,) = records_of(transcript)
    return record


def test_every_member_is_known(record):
    assert "drift" not in record["vacr"]


def test_record_is_valid_and_complete(transcript, record):
    assert validate(record).findings == []
    rebuild.assert_same([record], list(independent.documents(transcript)))
    assert independent.record(record).messages == independent.claude(transcript).messages


def test_outcomes_are_labelled(record):
    children = [
        child for entry in record["session"]["entries"] for child in entry.get("children", ())
    ]
    names = {child["call-id"]: child["name"] for child in children if child["type"] == "tool-call"}
    results = [child for child in children if child["type"] == "tool-result"]
    assert [
        (names[result["call-id"]], result["status"], result.get("vacr", {}).get("exit-code"))
        for result in results
    ] == OUTCOMES
    assert results[4]["vacr"]["resolved-by"] == results[5]["call-id"]


def test_speakers_are_labelled(record):
    speakers = [
        (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"], "attachment" in entry)
        for entry in record["session"]["entries"]
        if "speaker" in entry.get("vacr", ())
    ]
    # A person or a program may have typed the prompts of `claude -p`.
    assert speakers[:3] == [
        ("unknown", "inferred", False),
        ("unknown", "inferred", True),
        ("hook", "stated", False),
    ]
    # The command that was moved to the background may end before or after the turn.
    assert speakers[3:] in ([], [("host", "stated", False)])


def test_prompt_in_mid_turn_is_a_user_message(record):
    prompts = [
        entry["content"]
        for entry in record["session"]["entries"]
        if entry.get("vacr", {}).get("speaker") == "unknown"
    ]
    assert prompts == [PROMPT, LATER_PROMPT]
