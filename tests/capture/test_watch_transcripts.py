"""`vacr watch` as a real process, with transcripts that grow, rotate, vanish and are rewritten."""

import json
import os
import subprocess
import sys

import pytest

from tests.capture.watching import SESSION, add, line, lines
from tests.conftest import EXAMPLES, FIXTURES

pytestmark = pytest.mark.component


def test_growing_session_is_captured(machine, ways):
    path = machine.transcript()
    watching = machine.watch(*ways)
    half = line(1)
    for piece in (line(0), half[:40]) if ways else (line(0), half[:1], half[1:40]):
        add(path, piece)
        watching.wait_until_captured(path)
    add(path, half[40:] + lines(2000, 2))
    watching.wait_until_captured(path)
    watching.stop()
    assert machine.first_seen(path) == {path.name: path.read_bytes()}
    assert machine.check_intact()["notices"] == []


def test_many_sessions_are_captured_at_once(machine, ways):
    paths = [machine.transcript(f"session-{number}", f"-home-{number % 7}") for number in range(30)]
    add(paths[0], b"")
    watching = machine.watch(*ways)
    writer = [sys.executable, "-c", _WRITER, *map(str, paths)]
    subprocess.run(writer, check=True)
    for path in paths:
        watching.wait_until_captured(path)
    watching.stop()
    assert len(machine.names()) == len(paths)
    assert machine.check_intact()["sessions"] == len(paths)


_WRITER = """
import os, sys, time
handles = []
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handles.append(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
for turn in range(40):
    for number, handle in enumerate(handles):
        text = b'{"turn":%d,"of":%d,"text":"%s"}\\n' % (turn, number, b"x" * (turn * 97 % 5000))
        os.write(handle, text[:len(text) // 2])
        os.write(handle, text[len(text) // 2:])
    time.sleep(0.02)
"""


def test_sub_agents_and_tool_results_are_captured(machine, ways):
    path = machine.transcript()
    sub = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    result = path.with_suffix("") / "tool-results" / "toolu_1.txt"
    watching = machine.watch(*ways)
    add(path, lines(2))
    watching.wait_until_captured(path)
    add(result, b"first result\n")
    add(sub, line(1, text="of a sub-agent"))
    watching.wait_until_captured(sub)
    name = f"{SESSION}/tool-results/toolu_1.txt"
    watching.wait_until(lambda: machine.last_seen(path).get(name) == b"first result\n")
    add(sub, line(2, text="of a sub-agent"))
    add(result, b"more\n")
    watching.wait_until_captured(sub)
    watching.wait_until(lambda: machine.last_seen(path).get(name) == b"first result\nmore\n")
    watching.stop()
    machine.check_intact()


def test_new_folders_are_captured(machine, ways):
    watching = machine.watch(*ways)
    rollout = machine.home / ".codex" / "sessions" / "2026" / "07" / "25" / "rollout-1.jsonl"
    for data in (EXAMPLES / "codex-cli.jsonl").read_bytes().splitlines(keepends=True):
        add(rollout, data)
    watching.wait_until(
        lambda: machine.last_seen(rollout, "codex-cli").get(rollout.name) == rollout.read_bytes()
    )
    other = machine.home / ".codex" / "sessions" / "2026" / "08" / "01" / "rollout-2.jsonl"
    add(other, rollout.read_bytes())
    watching.wait_until(
        lambda: machine.last_seen(other, "codex-cli").get(other.name) == other.read_bytes()
    )
    path = machine.transcript()
    add(path, lines(3))
    watching.wait_until_captured(path)
    # A folder that is removed and made again is another one for the system.
    path.unlink()
    path.parent.rename(path.parent.with_name("away"))
    (machine.home / ".claude").rename(machine.home / "removed")
    add(path, lines(5))
    watching.wait_until_captured(path)
    watching.stop()


def test_copilot_log_is_followed_with_its_attached_files(machine, ways):
    folder = machine.home / ".copilot" / "session-state" / "7d1f0c52-3b6e-4a8d-9c15-2e4f6a8b0c1d"
    folder.mkdir(parents=True)
    watching = machine.watch(*ways)
    source = FIXTURES / "copilot" / "session-state" / folder.name
    (folder / "workspace.yaml").write_bytes((source / "workspace.yaml").read_bytes())
    path = folder / "events.jsonl"
    for event in (source / "events.jsonl").read_bytes().splitlines()[:6]:
        add(path, event + b"\n")
    data = path.read_bytes()
    watching.wait_until(lambda: machine.last_seen(path, "copilot").get(path.name) == data)
    watching.wait_until(lambda: "workspace.yaml" in machine.last_seen(path, "copilot"))
    watching.stop()


@pytest.mark.parametrize("by", ["truncating", "renaming"])
def test_rewritten_file_is_captured(machine, ways, by):
    path = machine.home / ".gemini" / "tmp" / "till" / "chats" / "session-1.json"
    path.parent.mkdir(parents=True)
    watching = machine.watch(*ways)
    chat = {
        "sessionId": "s",
        "projectHash": "p",
        "startTime": "2026-07-25T10:00:00.000Z",
        "messages": [],
    }
    for number in range(2 if ways else 4):
        chat["messages"].append(
            {"id": str(number), "type": "user", "content": f"question {number}"}
        )
        chat["lastUpdated"] = f"2026-07-25T10:00:0{number}.000Z"
        data = json.dumps(chat, indent=2).encode()
        if by == "truncating":
            path.write_bytes(data)
        else:
            path.with_suffix(".tmp").write_bytes(data)
            path.with_suffix(".tmp").replace(path)
        watching.wait_until(
            lambda data=data: machine.last_seen(path, "gemini-cli").get(path.name) == data
        )
    watching.stop()
    assert machine.check_intact()["notices"] == []


def test_rotated_transcript_is_a_finding(machine, ways):
    path = machine.transcript()
    add(path, lines(5))
    watching = machine.watch(*ways)
    watching.wait_until_captured(path)
    path.rename(path.with_suffix(".old"))
    add(path, lines(3, first=100))
    watching.wait_until_captured(path)
    watching.stop()
    found = machine.verify()["findings"]
    assert len(found) == 2
    assert "lines 1 to 3 changed after it had been captured" in found[0]
    assert "lines 4 to 5 vanished after it had been captured" in found[1]
    assert machine.first_seen(path)[path.name].startswith(lines(5))


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: data[:2], ["lines 3 to 6 vanished"]),
        (lambda data: [data[0], b'{"forged":1}\n', *data[2:]], ["line 2 changed"]),
        (
            lambda data: [data[0], data[1].replace(b"question", b"QUESTION"), *data[2:]],
            ["line 2 changed"],
        ),
        (
            lambda data: [*data[:3], b'{"forged":1}\n', *data[3:]],
            ["line 4 has 1 new line before it"],
        ),
        (lambda data: [*data[:3], *data[4:]], ["line 4 vanished"]),
        (lambda data: [*data[:5], data[5][:-1].upper() + b"\n", line(9)], ["line 6 changed"]),
        (lambda _: [], ["lines 1 to 6 vanished"]),
    ],
    ids=[
        "cut",
        "rewritten",
        "rewritten-in-the-same-size",
        "inserted",
        "removed",
        "rewritten-and-grown",
        "emptied",
    ],
)
def test_rewritten_history_is_found_and_restored(machine, running, change, expected):
    path = machine.transcript()
    add(path, lines(6))
    before = path.read_bytes()
    if running:
        watching = machine.watch()
        watching.wait_until_captured(path)
    else:
        machine.once("--no-seal")
    with path.open("r+b") as file:
        data = b"".join(change(before.splitlines(keepends=True)))
        file.write(data)
        file.truncate()
    now = [f"{text} since it was captured" for text in expected]
    if running:
        watching.wait_until_captured(path)
        watching.stop()
    else:
        found = machine.verify()["findings"]
        assert [words in text for words, text in zip(now, found, strict=True)] == [True] * len(
            now
        ), found
        machine.once("--no-seal")
        assert machine.captured(path) == data
    found = machine.verify()["findings"]
    then = [f"{text} after it had been captured" for text in expected]
    assert [words in text for words, text in zip(then, found, strict=True)] == [True] * len(then), (
        found
    )
    assert machine.first_seen(path)[path.name].startswith(before)


def test_rewritten_early_line_with_reset_time_is_found(machine):
    """An attacker replaces text by text of the same size, and resets the time of the file."""
    path = machine.transcript()
    add(path, lines(500))
    machine.once("--no-seal")
    status = path.stat()
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(data.index(b"question 7"))
        file.write(b"QUESTION")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    (found,) = machine.verify()["findings"]
    assert "line 8 changed since it was captured" in found
    machine.once("--no-seal")
    assert machine.first_seen(path)[path.name] == data
    (found,) = machine.verify()["findings"]
    assert "line 8 changed" in found


def test_deleted_transcript_is_a_finding(machine, ways):
    path = machine.transcript()
    add(path, lines(5))
    watching = machine.watch(*ways)
    watching.wait_until_captured(path)
    path.unlink()
    watching.wait_until(lambda: machine.state_of(machine.name_of(path)).parts[0].is_gone)
    watching.stop()
    (found,) = machine.verify()["findings"]
    assert f"{path.name} is missing" in found
    assert machine.first_seen(path) == {path.name: lines(5)}
    # It comes back unchanged, and continues.
    add(path, lines(6))
    machine.once("--no-seal")
    machine.check_intact()


def test_session_deleted_after_capture_is_covered_and_sealed(machine):
    path = machine.transcript()
    add(path, lines(5))
    watching = machine.watch("--checkpoint", 3600)
    watching.wait_until_captured(path)
    watching.stop(9)
    path.unlink()
    assert any("not covered" in notice for notice in machine.verify()["notices"])
    machine.once("--quiet-after", 0)
    assert machine.check_intact()["notices"] == [
        f"{machine.name_of(path)}: {path.name} is missing: there is no such file"
    ]
    assert len(machine.sealed()) == 1


def test_project_is_shown_once_the_transcript_states_it(machine):
    path = machine.transcript()
    add(path, b'{"type": "summary", "summary": "Till", "leafUuid": "u1"}\n')
    watching = machine.watch()
    watching.wait_until(lambda: "claude-code: -home-nora-till: 1 entry\n" in watching.output)
    for number in range(3):
        add(path, lines(1, number))
        watching.wait_until_captured(path)
    lines_shown = watching.stop().splitlines()
    assert [shown.partition(" ")[2] for shown in lines_shown if "claude-code: " in shown][1:] == [
        "claude-code: /home/nora: 4 entries"
    ]


@pytest.mark.parametrize(
    "messages",
    [[], [{"id": "m2", "type": "user", "content": [{"text": "hello"}]}]],
    ids=["nothing", "hello"],
)
def test_deleted_empty_session_is_not_a_finding(machine, messages):
    """Gemini CLI deletes empty sessions when it starts again."""
    path = (
        machine.home
        / ".gemini"
        / "tmp"
        / "till"
        / "chats"
        / "session-2026-07-25T10-00-3c9e7b10.jsonl"
    )
    context = {
        "id": "m1",
        "type": "user",
        "content": [{"text": "<session_context>\nThis is the Gemini CLI."}],
    }
    head = {
        "sessionId": SESSION,
        "projectHash": "till",
        "startTime": "2026-07-25T10:00:00.000Z",
        "kind": "main",
    }
    written = [head, {"$set": {"messages": [context]}}, *messages]
    add(path, b"".join(json.dumps(line).encode() + b"\n" for line in written))
    machine.once("--all")
    path.unlink()
    found = machine.verify()
    assert (len(found["findings"]), len(found["notices"])) == ((1, 0) if messages else (0, 1))
