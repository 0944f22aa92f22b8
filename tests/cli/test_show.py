"""`vacr show`, as a user runs it."""

import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys

import cbor2
import pytest

from tests.conftest import EXAMPLES
from tests.viewer.browser import build_record
from vacr.viewer.rows import ROW_KINDS

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


def test_session_and_its_record_are_shown_equally(vacr, tmp_path):
    shutil.copy(EXAMPLES / "claude-code.jsonl", tmp_path / "s.jsonl")
    assert vacr("record", "s.jsonl").returncode == 0
    one, other = vacr("show", "s.jsonl"), vacr("show", "s.acr.json")
    assert one.returncode == other.returncode == 0
    assert one.out == other.out
    assert "→ Bash python -m pytest -q ✗" in one.out
    assert "\x1b" not in one.out
    assert "\x1b[36m" in vacr("show", "s.jsonl", "--color", "always").out


def test_sessions_of_every_agent_are_shown(vacr):
    for path in EXAMPLES.iterdir():
        done = vacr(
            "show", path, "--detail", "full", "--only", "event", "--only", "tool", "--only", "user"
        )
        assert done.returncode == 0, done.err
        assert "tool call" in done.out.splitlines()[-1]


def test_filters_select_rows(vacr):
    show = ("show", EXAMPLES / "claude-code.jsonl")
    done = vacr(*show, "--errors", "--format", "jsonl")
    (row,) = map(json.loads, done.out.splitlines())
    assert (row["kind"], row["tool"], row["is-error"]) == ("tool", "Bash", True)
    assert vacr(*show, "--entry", row["place"], "--format", "jsonl").out == done.out
    assert vacr(*show, "--grep", "no such words").returncode == 1


def test_request_and_outcome_come_first(vacr):
    lines = vacr("show", EXAMPLES / "claude-code.jsonl").out.splitlines()
    assert lines[0] == "Fix invoice rounding"
    asked, outcome = lines.index("Asked"), lines.index("Outcome")
    assert asked < outcome < next(at for at, line in enumerate(lines) if line.startswith("User"))
    assert lines[asked + 1].startswith("  The invoice total is off by a cent")
    assert lines[outcome + 1].startswith("  Each line is now rounded to the cent")
    assert lines[outcome + 2] == "  (the last test run failed: python -m pytest)"


def test_summary_names_the_prompt_of_the_last_answer(vacr, tmp_path):
    say = [
        {"type": "user", "content": "Fix it."},
        {"type": "assistant", "content": "Fixed."},
        {"type": "user", "content": "Commit it,\nplease."},
        {"type": "assistant", "content": "Done."},
    ]
    record = build_record(*say)
    (tmp_path / "a.acr.json").write_text(json.dumps(record))
    lines = vacr("show", "a.acr.json").out.splitlines()
    assert lines[lines.index("Outcome") + 1] == '  answer to "Commit it, please."'
    call = {"type": "tool-call", "call-id": "x", "name": "Bash", "input": {"command": "ls"}}
    (tmp_path / "b.acr.json").write_text(json.dumps(build_record(*say, call)))
    assert "Last answer" in vacr("show", "b.acr.json").out.splitlines()


def test_title_that_repeats_the_request_is_left_out(vacr, tmp_path):
    text = (EXAMPLES / "claude-code.jsonl").read_text()
    kept = [line for line in text.splitlines() if "Fix invoice rounding" not in line]
    (tmp_path / "untitled.jsonl").write_text("\n".join(kept) + "\n")
    shown = vacr("show", "untitled.jsonl")
    assert shown.out.startswith("claude-code 2.1.72, claude-opus-4-6\n")
    only = vacr("show", "untitled.jsonl", "--only", "tool")
    assert only.out.startswith("The invoice total is off by a cent for some orders.")


def test_hostile_text_cannot_control_the_terminal(vacr, tmp_path):
    entry = {
        "type": "user",
        "uuid": "u",
        "sessionId": "s",
        "timestamp": "2026-07-25T10:00:00.000Z",
        "version": "2.1.72",
        "cwd": "/x\x1b[2J",
    }
    entry["message"] = {"role": "user", "content": "\x1b]0;title\x07\x1b[31mred\u202e\x9b"}
    (tmp_path / "s.jsonl").write_text(json.dumps(entry))
    done = vacr("show", "s.jsonl", "--detail", "full")
    assert done.returncode == 0
    assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert "\\x1b]0;title" in done.out


def test_files_that_are_not_sessions_are_refused(vacr, tmp_path):
    (tmp_path / "x.txt").write_text("nothing")
    assert vacr("show", "x.txt").returncode == 3
    assert vacr("show", "nowhere.jsonl").returncode == 3


def test_values_that_only_cbor_can_encode_are_shown(vacr, tmp_path):
    entries = [
        {"type": "user", "content": "asked"},
        {"type": "tool-call", "call-id": "1", "name": "T", "input": {"a": b"\x02"}},
        {"type": "tool-result", "call-id": "1", "output": b"\x03"},
        {"type": "system-event", "event-type": "e", "data": {"a": b"\x04"}},
    ]
    meta = {"model-id": "m", "model-provider": "p"}
    record = {
        "version": "3.0.0-draft",
        "id": "r",
        "session": {"session-id": b"\x05", "agent-meta": meta, "entries": entries},
    }
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "r.acr.cbor").write_bytes(cbor2.dumps(record))
    done = vacr(
        "show",
        "records/r.acr.cbor",
        "--detail",
        "full",
        *(word for kind in ROW_KINDS for word in ("--only", kind)),
    )
    assert done.returncode == 0, done.err
    assert "asked" in done.out
    assert all(f"h'0{number}'" in done.out for number in (2, 3, 4))
    for verb in (
        ["stats"],
        ["view", "-o", "site/"],
        ["export", "--to", "html", "-o", "out/"],
        ["export", "--to", "markdown"],
    ):
        assert vacr(*verb, "records").returncode == 0


@pytest.fixture
def two_records(vacr, tmp_path):
    """Return a folder of two records; one has a long command with a rare word at its end."""
    lines = (
        (EXAMPLES / "claude-code.jsonl")
        .read_text()
        .replace("python -m pytest -q", f"true {'x ' * 200}; rm -rf build")
    )
    (tmp_path / "long.jsonl").write_text(lines)
    for path in (tmp_path / "long.jsonl", EXAMPLES / "codex-cli.jsonl"):
        assert vacr("record", path, "-o", "records/").returncode == 0
    return tmp_path / "records"


def test_folder_is_searched(vacr, two_records):
    done = vacr("show", two_records, "--grep", "RM -RF", "--only", "tool", "-v")
    assert done.returncode == 0
    head, _, _, _, call, place, found, *_ = done.out.splitlines()
    assert head == str(two_records / "long.acr.json")
    assert call.startswith("  → Bash true x x")
    assert "rm -rf" not in call
    assert place.endswith("  /session/entries/10/children/0")
    assert found.endswith("x ; rm -rf build")
    assert "codex-cli" not in done.out
    (row,) = map(
        json.loads,
        vacr(
            "show", two_records, "--grep", "rm -rf", "--only", "tool", "--format", "jsonl"
        ).out.splitlines(),
    )
    assert (row["source"], row["place"]) == (head, place.split()[-1])
    assert row["time"].startswith("2026-03-14T09:26")


def test_folder_is_shown(vacr, two_records):
    (two_records / "broken.acr.json").write_text("{")
    done = vacr("show", two_records)
    assert done.returncode == 3
    assert f"{two_records / 'broken.acr.json'}: " in done.err
    heads = [f"{two_records / name}.acr.json" for name in ("codex-cli", "long")]
    assert [line for line in done.out.splitlines() if line in heads] == heads


def test_empty_folder_is_reported(vacr, tmp_path):
    (tmp_path / "empty").mkdir()
    done = vacr("show", "empty")
    assert done.returncode == 3
    assert "no records or sessions found" in done.err


def test_whole_input_is_shown_in_full_detail(vacr, two_records):
    assert "rm -rf build" not in vacr("show", two_records / "long.acr.json").out
    assert (
        "x ; rm -rf build"
        in vacr("show", two_records / "long.acr.json", "--detail", "full", "--only", "tool").out
    )


def test_empty_result_lists_the_tools(vacr):
    done = vacr("show", EXAMPLES / "claude-code.jsonl", "--tool", "bash")
    assert (done.returncode, done.out) == (1, "")
    assert "no entries match\n  Tools that occur: Bash, Edit, Read." in done.err


def test_json_is_one_document(vacr):
    done = vacr("show", EXAMPLES / "claude-code.jsonl", "--format", "json", "--errors")
    (row,) = json.loads(done.out)["rows"]
    assert (row["tool"], row["is-error"]) == ("Bash", True)


def test_empty_reasoning_is_not_shown(vacr, tmp_path):
    lines = (
        (EXAMPLES / "claude-code.jsonl")
        .read_text()
        .replace("Totals off by a cent smell of float or late rounding.", "")
    )
    (tmp_path / "s.jsonl").write_text(lines.replace(" Read the code first.", ""))
    assert "Thought" not in vacr("show", "s.jsonl").out
    assert "Thought" in vacr("show", "s.jsonl", "--detail", "full").out


@pytest.mark.parametrize("settings", [{}, {"LESS": "-X"}, {"NO_COLOR": "1"}])
def test_pager_gets_colours_only_if_it_supports_them(tmp_path, settings):
    pager = tmp_path / "less"
    pager.write_text('#!/bin/sh\necho "LESS=$LESS" > paged; cat >> paged\n')
    pager.chmod(0o755)
    around = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LESS", "PAGER", "NO_COLOR")
    }
    around |= {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "xterm", **settings}
    line = shlex.join([sys.executable, "-m", "vacr", "show", str(EXAMPLES / "claude-code.jsonl")])
    subprocess.run(
        ["script", "-qec", line, "/dev/null"],
        cwd=tmp_path,
        env=around,
        check=True,
        capture_output=True,
    )
    paged = (tmp_path / "paged").read_text()
    assert "User" in paged
    assert paged.startswith(f"LESS={settings.get('LESS', '-FRX')}\n")
    assert ("\x1b[1m" in paged) == (not settings)


def test_times_are_shown_alike_for_all_agents(vacr):
    done = vacr("show", EXAMPLES / "opencode.json", "--only", "tool", "--format", "jsonl")
    assert {json.loads(line)["time"][:11] for line in done.out.splitlines()} == {"2026-05-02T"}


def test_several_paths_are_shown_one_after_the_other(vacr):
    done = vacr("show", CLAUDE, CODEX)
    assert done.returncode == 0
    heads = [line for line in done.out.splitlines() if line in (str(CLAUDE), str(CODEX))]
    assert heads == [str(CLAUDE), str(CODEX)]
    rows = json.loads(vacr("show", CLAUDE, CODEX, "--format", "json").out)["rows"]
    assert {row["source"] for row in rows} == {str(CLAUDE), str(CODEX)}


def test_unreadable_path_does_not_hide_the_others(vacr):
    done = vacr("show", "missing", CODEX)
    assert done.returncode == 3
    assert "missing: there is no such file or folder" in done.err
    assert "codex-cli" in done.out


def test_programs_can_list_the_prompts(vacr):
    done = vacr("show", CODEX, "--only", "prompt", "--format", "jsonl")
    rows = [json.loads(line) for line in done.out.splitlines()]
    rows = [row for row in rows if "kind" in row]
    assert rows
    assert all(row["kind"] == "user" and row["text"] for row in rows)
    assert all(row["speaker"] in ("human", "unknown") for row in rows)


def test_call_below_a_thought_is_the_models(vacr):
    lines = vacr("show", EXAMPLES / "gemini-cli.jsonl").out.splitlines()
    for above, line in itertools.pairwise(lines):
        assert not (line.startswith("  → ") and above.startswith(("User", "Thought")))


def test_times_are_local_like_those_of_list(vacr, tmp_path):
    store = tmp_path / "home/.claude/projects/-home-mira-invoice"
    store.mkdir(parents=True)
    shutil.copy(CLAUDE, store / "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113.jsonl")
    for zone, time in (("UTC", "2026-03-14 09:26"), ("Asia/Tokyo", "2026-03-14 18:26")):
        shown = vacr("show", "6f0d1c52", TZ=zone).out
        assert time in vacr("list", TZ=zone).out
        assert f"/home/mira/invoice · {time}:01" in shown
        assert f"User  {time}:01" in shown


def test_time_without_a_readable_form_is_shown_as_recorded(vacr, tmp_path):
    record = build_record({"type": "user", "content": "Hi", "timestamp": 253402300799999000})
    (tmp_path / "odd.acr.json").write_text(json.dumps(record))
    assert vacr("show", "odd.acr.json", "-q", TZ="Asia/Tokyo").returncode in (0, 1)


def test_all_arguments_are_resolved_before_anything_is_shown(vacr):
    done = vacr("show", CODEX, "claude")
    assert (done.returncode, done.out) == (3, "")
    assert "latest:claude" in done.err
    assert "--agent claude" in done.err


def test_damaged_record_is_called_damaged(vacr, tmp_path):
    assert vacr("key", "generate", "-q").returncode == 0
    assert vacr("seal", CODEX, "--key", "signing.pem").returncode == 0
    record = tmp_path / "codex-cli.acr.json"
    record.write_bytes(b"{\xff" + record.read_bytes()[2:])
    verbs = ["show", "view", "stats", "validate"]
    for verb in verbs:
        done = vacr(verb, record.name)
        assert done.returncode != 0
        assert "the record is damaged: " in done.out + done.err
        assert "vacr verify codex-cli.acr.json" in done.out + done.err
        assert "native session" not in done.out + done.err
    record.with_name(f"{record.name}.cose").unlink()
    assert "Get it again, or record the session again" in vacr("show", record.name).err
