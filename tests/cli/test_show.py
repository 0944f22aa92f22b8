"""`vacr show`, as a user runs it."""

import json
import shutil

from tests.conftest import EXAMPLES


def test_a_session_and_its_record_show_the_same(vacr, tmp_path):
    shutil.copy(EXAMPLES / "claude-code.jsonl", tmp_path / "s.jsonl")
    assert vacr("record", "s.jsonl").returncode == 0
    one, other = vacr("show", "s.jsonl"), vacr("show", "s.acr.json")
    assert one.returncode == other.returncode == 0
    assert one.out == other.out
    assert "→ Bash python -m pytest -q ✗" in one.out
    assert "\x1b" not in one.out
    assert "\x1b[36m" in vacr("show", "s.jsonl", "--color", "always").out


def test_every_agent(vacr):
    for path in EXAMPLES.iterdir():
        done = vacr("show", path, "--detail", "full", "--only", "event", "--only", "tool", "--only", "user")
        assert done.returncode == 0, done.err
        assert "tool call" in done.out.splitlines()[-1]


def test_filters(vacr):
    show = ("show", EXAMPLES / "claude-code.jsonl")
    done = vacr(*show, "--errors", "--format", "jsonl")
    (row,) = map(json.loads, done.out.splitlines())
    assert (row["kind"], row["tool"], row["is_error"]) == ("tool", "Bash", True)
    assert vacr(*show, "--entry", row["place"], "--format", "jsonl").out == done.out
    assert vacr(*show, "--grep", "no such words").returncode == 1


def test_hostile_words_do_nothing(vacr, tmp_path):
    said = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "timestamp": "2026-07-25T10:00:00.000Z",
        "version": "2.1.72",
        "cwd": "/x\x1b[2J",
    }
    said["message"] = {"role": "user", "content": "\x1b]0;title\x07\x1b[31mred\u202e\x9b"}
    (tmp_path / "s.jsonl").write_text(json.dumps(said))
    done = vacr("show", "s.jsonl", "--detail", "full")
    assert done.returncode == 0
    assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "\\x1b]0;title" in done.out


def test_what_is_no_session(vacr, tmp_path):
    (tmp_path / "x.txt").write_text("nothing")
    assert vacr("show", "x.txt").returncode == 3
    assert vacr("show", "nowhere.jsonl").returncode == 3
