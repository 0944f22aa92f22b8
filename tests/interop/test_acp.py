"""`vacr acp` between the editor and the agent of the official Python SDK."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import records_of
from vacr import attribute, validate

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"
AGENT = [str(PYTHON), str(HERE / "acp_peer.py"), "agent"]
RELAY = [sys.executable, "-P", "-m", "vacr", "acp", "--"]

pytestmark = [
    pytest.mark.component,
    pytest.mark.skipif(not PYTHON.exists(), reason="the peers are not installed: make peers"),
]


def converse(folder, answer, relay=()):
    """Let the editor ask the agent, and return its output."""
    folder.mkdir()
    (folder / "notes.txt").write_text("first\n")
    command = [PYTHON, HERE / "acp_peer.py", "editor", folder, answer, *relay, *AGENT]
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"VACR_STATE": str(folder.parent / "state")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_conversation_is_the_same_and_is_recorded(tmp_path, answer):
    plain = converse(tmp_path / "plain", answer)
    relayed = converse(tmp_path / "relayed", answer, RELAY)
    assert relayed == plain
    assert relayed.endswith("end_turn\n")
    text = (tmp_path / "relayed" / "notes.txt").read_text()
    assert text == ("first\nsecond\n" if answer == "yes" else "first\n")

    (path,) = (tmp_path / "state" / "acp").iterdir()
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["acp"] for line in lines if line["acp"] != "message"] == ["start", "exit"]
    (record,) = records_of(path.read_bytes())
    assert validate(record).findings == []
    entries = record["session"]["entries"]
    answers = [entry["content"] for entry in entries if entry["type"] == "assistant"]
    assert answers == ["On my way.", text]
    (result,) = (entry for entry in entries if entry["type"] == "tool-result")
    assert result["status"] == ("success" if answer == "yes" else "denied")
    files = attribute(record).get("file-attribution", {"files": []})["files"]
    spans = [
        (span["start-line"], span["end-line"])
        for file in files
        for talk in file["conversations"]
        for span in talk["ranges"]
    ]
    assert spans == ([(2, 2)] if answer == "yes" else [])
