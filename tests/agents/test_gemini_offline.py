"""The newest Gemini CLI, run offline against a scripted model: every member it writes is known.

The test installs nothing. It needs `gemini` on the path, or in the folder that VACR_GEMINI names:

    npm install --prefix /tmp/gemini @google/gemini-cli
    VACR_GEMINI=/tmp/gemini/node_modules/.bin pytest tests/agents/test_gemini_offline.py
"""

import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest

from tests.agents import independent, rebuild
from tests.conftest import record_of
from vacr import validate

GEMINI = shutil.which("gemini", path=os.environ.get("VACR_GEMINI") or None)
pytestmark = [
    pytest.mark.component,
    pytest.mark.skipif(
        GEMINI is None, reason="GEMINI: gemini is not on the path or in VACR_GEMINI"
    ),
]

PROMPT = "Try the tools on @notes.md"
REFUSAL = json.dumps({"decision": "deny", "reason": "not this file"})
ADDITION = json.dumps({"hookSpecificOutput": {"additionalContext": "be brief"}})
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False},
    "hooks": {
        "BeforeAgent": [{"hooks": [{"type": "command", "command": f"echo '{ADDITION}'"}]}],
        "BeforeTool": [
            {
                "matcher": "write_file",
                "hooks": [{"type": "command", "command": f"echo '{REFUSAL}'"}],
            }
        ],
    },
}


def call(name, **arguments):
    return {"functionCall": {"name": name, "args": arguments}}


def run(command, **arguments):
    return call("run_shell_command", command=command, description="try", **arguments)


STEPS = [
    [run("echo fine"), run("echo oops; exit 3"), run("echo 'Exit Code: 9'")],
    [run("exit 4"), run("kill -9 $$"), run("echo $(id)"), run("sleep 5", is_background=True)],
    [call("no_such_tool"), call("read_file", file_path="absent.txt")],
    [call("write_file", file_path="new.txt", content="new\n")],
    [call("invoke_agent", agent_name="codebase_investigator", prompt="Find the notes.")],
]
OUTCOMES = [
    ("run_shell_command", "success", None),
    ("run_shell_command", "error", 3),
    ("run_shell_command", "success", None),
    ("run_shell_command", "error", 4),
    ("run_shell_command", "error", None),
    ("run_shell_command", "denied", None),
    ("run_shell_command", "running", None),
    ("no_such_tool", "error", None),
    ("read_file", "error", None),
    ("write_file", "denied", None),
    ("invoke_agent", "success", None),
]
REPORT = {"SummaryOfFindings": "x", "ExplorationTrace": [], "RelevantLocations": []}


class ScriptedModel(http.server.BaseHTTPRequestHandler):
    """A model that makes the calls of STEPS and then says that it is done.

    A sub-agent reads a file and reports. Requests without tools are about the choice of a model.
    """

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Stay silent."""

    def do_POST(self):
        """Answer with the next calls."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        candidate = {
            "content": {"role": "model", "parts": self.make_parts(request)},
            "finishReason": "STOP",
            "index": 0,
        }
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 5, "totalTokenCount": 105}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": usage}).encode()
        is_stream = "stream" in self.path
        body = b"data: " + answer + b"\r\n\r\n" if is_stream else answer
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def make_parts(self, request):
        """Return the calls that follow the answers in a request, or a text after the last."""
        tools = {
            declaration["name"]
            for tool in request.get("tools", ())
            for declaration in tool.get("functionDeclarations", ())
        }
        answers = sum(
            any("functionResponse" in part for part in content["parts"])
            for content in request["contents"]
        )
        if not tools:
            choice = {"complexity_reasoning": "x", "complexity_score": 1}
            return [{"text": json.dumps(choice)}]
        if "complete_task" in tools:
            steps = [[call("read_file", file_path="notes.md")]]
            return (steps + [[call("complete_task", report=REPORT)]] * 9)[answers]
        return STEPS[answers] if answers < len(STEPS) else [{"text": "Done."}]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """Run Gemini CLI once, and return the bytes of its session and of the sub-agent's."""
    home, work = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("work")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(SETTINGS))
    (work / "notes.md").write_text("a note\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        subprocess.run(
            [GEMINI, "--yolo", "-p", PROMPT],
            cwd=work,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "GEMINI_CLI_HOME": str(home),
                "GEMINI_API_KEY": "none",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{server.server_port}",
                # Nothing but the scripted model can be reached.
                "HTTPS_PROXY": "http://127.0.0.1:9",
                "NO_PROXY": "127.0.0.1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=120,
        )
    finally:
        server.shutdown()
        server.server_close()
    (main,) = home.rglob("chats/session-*.jsonl")
    (child,) = home.rglob("chats/*/*.jsonl")
    return main.read_bytes(), child.read_bytes()


@pytest.fixture(scope="module")
def records(sessions):
    return [record_of(data) for data in sessions]


def list_children(record, kind):
    return [
        child
        for entry in record["session"]["entries"]
        for child in entry.get("children", ())
        if child["type"] == kind
    ]


def list_speakers(record):
    marks = [entry.get("vacr", {}) for entry in record["session"]["entries"]]
    return [(ours["speaker"], ours.get("prompt")) for ours in marks if "speaker" in ours]


def test_every_member_is_known(records):
    assert [record["vacr"].get("drift") for record in records] == [None, None]


def test_records_are_valid_and_complete(sessions, records):
    for data, record in zip(sessions, records, strict=True):
        assert validate(record).findings == []
        rebuild.assert_same([record], list(independent.documents(data)))


def test_outcomes_are_labelled_and_copies_are_marked(records):
    names = {child["call-id"]: child["name"] for child in list_children(records[0], "tool-call")}
    first, copies = [], []
    for child in list_children(records[0], "tool-result"):
        marks = child.get("vacr", {})
        end = (names[child["call-id"]], child.get("status"), marks.get("exit-code"))
        (copies if "repeats" in marks else first).append(end)
    assert first == copies == OUTCOMES


def test_results_are_dated_and_calls_are_not(records):
    assert all("timestamp" not in call for call in list_children(records[0], "tool-call"))
    results = list_children(records[0], "tool-result")
    assert all("timestamp" in child for child in results if "repeats" not in child["vacr"])


def test_speakers_are_labelled(records):
    assert list_speakers(records[0]) == [("host", None), ("human", PROMPT)]
    assert {speaker for speaker, _ in list_speakers(records[1])} == {"parent-agent"}


def test_labels_agree_with_independent_counts(sessions, records):
    for data, record in zip(sessions, records, strict=True):
        assert independent.record_labels(record) == independent.gemini_labels(data)
