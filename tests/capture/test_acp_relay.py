"""The relay between an editor and an agent changes no byte, and keeps what passes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from vacr.capture.acp_relay import AGENT_EXIT, FROM_AGENT, FROM_CLIENT, StreamCopy
from vacr.capture.acp_transcript import TranscriptWriter
from vacr.capture.journal import Journal

pytestmark = pytest.mark.component

ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    if b'"exit"' in line:
        sys.exit(7)
"""
# Answers like ECHO, but first stops or kills the process that writes the transcript.
KILLER = """
import os, signal, sys, time
def writers():
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\\0")
            except OSError:
                continue
            if b"vacr.capture.acp_transcript" in words and os.environb[b"VACR_STATE"] in words[-2]:
                yield int(name)
for line in sys.stdin.buffer:
    for word, number in ((b'"stop"', signal.SIGSTOP), (b'"kill"', signal.SIGKILL)):
        while word in line and not (found := list(writers())):
            time.sleep(0.05)
        for process in found if word in line else ():
            os.kill(process, number)
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    if b'"exit"' in line:
        sys.exit(7)
"""


def relay(tmp_path, program, given=b"", *, state=None, arguments=()):
    """Run `vacr acp` with a Python program as its agent, and return the finished process."""
    # As the installed command: without modules of the folder it runs in.
    command = [sys.executable, "-P", "-m", "vacr", "acp", *arguments, "--"]
    return subprocess.run(
        [*command, sys.executable, "-c", program],
        input=given,
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"VACR_STATE": str(state or tmp_path / "state")},
    )


def read_transcript(state):
    """Return the lines of the only transcript in a state folder."""
    (path,) = (state / "acp").iterdir()
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def message(number, method="echo", **params):
    """Return a line of the protocol."""
    value = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(value).encode() + b"\n"


def test_streams_and_exit_code_are_unchanged(tmp_path):
    given = message(1, text="Grüße\u2028") + b"not JSON\n\xff\xfe\n\n" + message(2, "exit")
    done = relay(tmp_path, ECHO, given)
    assert done.stdout == given
    assert done.returncode == 7
    lines = read_transcript(tmp_path / "state")
    assert [line["acp"] for line in lines[:1] + lines[-1:]] == ["start", "exit"]
    assert lines[-1]["status"] == 7
    for side in ("client", "agent"):
        own = [line for line in lines if line.get("from") == side]
        assert [line["acp"] for line in own] == ["message", "text", "base64", "message"]
        assert own[0]["message"]["params"]["text"] == "Grüße\u2028"
        assert own[-1]["end"] == len(given)


def test_large_message_passes_and_is_kept(tmp_path):
    given = message(1, text="x" * 8_000_000) + message(2, "exit")
    done = relay(tmp_path, ECHO, given)
    assert done.stdout == given
    texts = [
        line["message"]["params"].get("text", "")
        for line in read_transcript(tmp_path / "state")
        if line["acp"] == "message"
    ]
    assert sorted(map(len, texts)) == [0, 0, 8_000_000, 8_000_000]


def test_killed_writer_changes_no_stream_and_leaves_a_marked_gap(tmp_path):
    state = tmp_path / "state"
    command = [sys.executable, "-m", "vacr", "acp", "--", sys.executable, "-c", KILLER]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        env=os.environ | {"VACR_STATE": str(state)},
    ) as process:
        # The bytes that a stopped writer has not read are lost when it is killed.
        given = [message(0), message(1, "stop"), message(2), message(3, "kill")]
        given += [*(message(number) for number in range(4, 8)), message(8, "exit")]
        for line in given:
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == line
            # The next writer starts only after a pause; some messages must come later.
            time.sleep(0.5)
    assert process.returncode == 7
    lines = read_transcript(state)
    assert lines[-1] == {**lines[-1], "acp": "exit", "status": 7}
    for side in ("client", "agent"):
        own = [line for line in lines if line.get("from") == side]
        gaps = sum(line["bytes"] for line in own if line["acp"] == "gap")
        kept = sum(len(message(*describe(line))) for line in own if line["acp"] == "message")
        assert gaps > 0
        assert gaps + kept == sum(map(len, given))


def test_writer_killed_before_the_end_leaves_a_marked_gap_and_the_exit_code(tmp_path):
    given = [message(0), message(1, "kill"), message(2), message(3), message(4, "exit")]
    done = relay(tmp_path, KILLER, b"".join(given))
    assert (done.stdout, done.returncode) == (b"".join(given), 7)
    lines = read_transcript(tmp_path / "state")
    assert lines[-1] == {**lines[-1], "acp": "exit", "status": 7}
    for side in ("client", "agent"):
        own = [line for line in lines if line.get("from") == side]
        gaps = sum(line["bytes"] for line in own if line["acp"] == "gap")
        kept = sum(len(message(*describe(line))) for line in own if line["acp"] == "message")
        assert gaps + kept == sum(map(len, given))
    assert any(line["acp"] == "gap" for line in lines)


def describe(line):
    """Return the number and the method of a message."""
    return line["message"]["id"], line["message"]["method"]


def test_agent_ended_by_a_signal_gives_128_plus_its_number(tmp_path):
    done = relay(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode == 128 + signal.SIGTERM
    assert read_transcript(tmp_path / "state")[-1]["status"] == -signal.SIGTERM


def test_signal_reaches_the_agent(tmp_path):
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
        "print('{}', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-m", "vacr", "acp", "--", sys.executable, "-c", program]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"VACR_STATE": str(tmp_path / "state")},
    ) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 9


def test_missing_agent_is_reported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "vacr", "acp", "--", "no-such-agent"],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"VACR_STATE": str(tmp_path / "state")},
    )
    assert done.returncode == 3
    assert "no-such-agent: the agent cannot be started" in done.stderr


def test_agent_runs_without_a_place_for_the_transcript(tmp_path):
    (tmp_path / "state").write_text("a file")
    given = message(1) + message(2, "exit")
    done = relay(tmp_path, ECHO, given)
    assert (done.stdout, done.returncode) == (given, 7)
    assert b"runs without being recorded" in done.stderr


def test_options_after_the_agent_are_the_agents(tmp_path):
    command = [
        sys.executable,
        "-m",
        "vacr",
        "acp",
        sys.executable,
        "-c",
        "import sys; print(sys.argv)",
    ]
    done = subprocess.run(
        [*command, "-q", "--help"],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"VACR_STATE": str(tmp_path / "state")},
    )
    assert done.stdout == "['-c', '-q', '--help']\n"


def test_hostile_folder_cannot_replace_modules_of_the_writer(tmp_path):
    (tmp_path / "cbor2.py").write_text("open('trapped', 'w')")
    (tmp_path / "json.py").write_text("open('trapped', 'w')")
    relay(tmp_path, ECHO, message(1, "exit"), state=tmp_path / "state")
    assert read_transcript(tmp_path / "state")[-1]["acp"] == "exit"
    assert not (tmp_path / "trapped").exists()


def test_transcript_and_folder_are_private(tmp_path):
    relay(tmp_path, ECHO, message(1, "exit"))
    folder = tmp_path / "state" / "acp"
    (path,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_conversation_is_in_the_journal_when_it_ends(tmp_path):
    state = tmp_path / "state"
    relay(tmp_path, ECHO, message(1, "exit"), state=state)
    done = subprocess.run(
        [sys.executable, "-m", "vacr", "journal", "verify"],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"VACR_STATE": str(state)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "intact: 1 session" in done.stdout
    assert list((state / "journal" / "sessions" / "acp").glob("*.frames"))


def test_busy_journal_is_left_to_its_watcher(tmp_path):
    state = tmp_path / "state"
    with closing(Journal(state / "journal")):
        done = relay(tmp_path, ECHO, message(1, "exit"), state=state)
    assert done.returncode == 7
    assert read_transcript(state)[-1]["acp"] == "exit"
    assert not list((state / "journal" / "sessions").rglob("*.frames"))


# --- the writer ---


def write_copies(path, *copies):
    """Write copies to a transcript, and return all its lines."""
    with closing(TranscriptWriter(path)) as writer:
        for copy in copies:
            writer.add(copy)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_line_in_pieces_is_one_message(tmp_path):
    lines = write_copies(
        tmp_path / "t.jsonl",
        StreamCopy(FROM_CLIENT, 0, 0, b'{"a"'),
        StreamCopy(FROM_AGENT, 0, 0, b"[]\n"),
        StreamCopy(FROM_CLIENT, 4, 0, b":1}\r\n"),
    )
    assert [(line["from"], line["message"]) for line in lines] == [
        ("agent", []),
        ("client", {"a": 1}),
    ]


def test_next_writer_continues_where_the_last_one_was_killed(tmp_path):
    path = tmp_path / "t.jsonl"
    write_copies(path, StreamCopy(FROM_AGENT, 0, 0, b'{"n":1}\n'))
    with path.open("ab") as file:
        file.write(b'{"acp":"message","at":"20')  # Killed in the middle of a line.
    data = b'{"n":3}\n'
    with closing(TranscriptWriter(path)) as writer:
        writer.add(StreamCopy(FROM_AGENT, 16, 0, data))
        writer.add(StreamCopy(FROM_AGENT, 16, 0, data))  # The same bytes again count once.
        writer.add(StreamCopy(AGENT_EXIT, 0, 0, b"0"))
    kinds = []
    for line in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError):
            kinds.append(json.loads(line)["acp"])
    assert kinds == ["message", "gap", "message", "exit"]
