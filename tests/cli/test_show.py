"""`vacr show`, as a user runs it."""

import json
import shutil

import cbor2

from tests.conftest import EXAMPLES
from vacr.viewer.rows import KINDS


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


def test_what_only_cbor_holds_keeps_nobody_from_seeing_the_rest(vacr, tmp_path):
    entries = [
        {"type": "user", "content": "asked"},
        {"type": "tool-call", "call-id": "1", "name": "T", "input": {"a": b"\x02"}},
        {"type": "tool-result", "call-id": "1", "output": b"\x03"},
        {"type": "system-event", "event-type": "e", "data": {"a": b"\x04"}},
    ]
    meta = {"model-id": "m", "model-provider": "p"}
    record = {"version": "3.0.0-draft", "id": "r", "session": {"session-id": b"\x05", "agent-meta": meta, "entries": entries}}
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "r.acr.cbor").write_bytes(cbor2.dumps(record))
    done = vacr("show", "records/r.acr.cbor", "--detail", "full", *(one for kind in KINDS for one in ("--only", kind)))
    assert done.returncode == 0, done.err
    assert "asked" in done.out
    assert all(f"h'0{number}'" in done.out for number in (2, 3, 4))
    for verb in (["stats"], ["view", "-o", "site/"], ["export", "--to", "html", "-o", "out/"], ["export", "--to", "markdown"]):
        assert vacr(*verb, "records").returncode == 0
