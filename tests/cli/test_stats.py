"""`vacr stats`: totals of sessions, grouped by agent, model and more."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios

import pytest

from tests.conftest import EXAMPLES
from vacr import read
from vacr.record.encoding import assign_record_id, encode, encode_with_id

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


def read_groups(done):
    assert done.returncode == 0, done.err
    return {group["key"]: group for group in json.loads(done.out)["groups"]}


def test_records_and_native_sessions_have_the_same_stats(vacr):
    vacr("record", EXAMPLES, "-o", "records/")
    report = json.loads(vacr("stats", "records", "--format", "json").out)
    assert report == json.loads(vacr("stats", EXAMPLES, "--format", "json").out)
    assert report["total"]["sessions"] == 5
    assert report["total"]["tokens"]["input"] == sum(
        group["tokens"]["input"] for group in report["groups"]
    )


def test_stats_count_tokens_tools_and_time(vacr):
    one = read_groups(vacr("stats", CLAUDE, "--format", "json"))["claude-code"]
    assert one["tokens"]["input"] == 97316
    assert one["tools"] == {"Read": 1, "Edit": 2, "Bash": 1}
    assert one["failed-tools"] == {"Bash": 1}
    assert (one["prompts"], one["calls"], one["errors"], one["files"]) == (1, 4, 1, 1)
    assert one["milliseconds"] == 18750
    assert (
        read_groups(vacr("stats", EXAMPLES / "opencode.json", "--format", "json"))["opencode"][
            "micro-dollars"
        ]
        == 32300
    )


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("agent", ["claude-code", "codex-cli"]),
        ("project", ["/home/mira/invoice"]),
        ("day", ["2026-03-14"]),
        ("model", ["claude-opus-4-6", "gpt-5.5"]),
    ],
)
def test_sessions_are_grouped(vacr, by, keys):
    found = read_groups(vacr("stats", CLAUDE, CODEX, "--by", by, "--format", "json", TZ="UTC"))
    assert list(found) == keys
    assert sum(group["tokens"]["output"] for group in found.values()) == 606 + 291


@pytest.mark.parametrize(
    ("zone", "day"), [("UTC", "14"), ("Etc/GMT+10", "13"), ("Etc/GMT-14", "14"), ("XXX-20", "15")]
)
def test_days_are_those_of_the_time_zone(vacr, tmp_path, zone, day):
    """The session is from 09:26 to 09:27 UTC."""
    store = tmp_path / "home/.claude/projects/-home-mira-invoice"
    store.mkdir(parents=True)
    shutil.copy(CLAUDE, store / "6f0d1c52.jsonl")
    for paths in ((), (CLAUDE,)):
        done = vacr("stats", *paths, "--by", "day", "--format", "json", TZ=zone)
        found = read_groups(done)
        assert list(found) == [f"2026-03-{day}"], paths
        totals = found[f"2026-03-{day}"]
        counted = totals["calls"], totals["tokens"]["output"], totals["milliseconds"]
        assert counted == (4, 606, 18_750)
    shown = vacr("stats", "--by", "day", TZ=zone).out
    assert shown.split("\n")[1].startswith(f"2026-03-{day}  ")
    assert "UTC" not in shown


def test_models_of_one_session_are_counted_separately(vacr):
    done = vacr("stats", EXAMPLES / "gemini-cli.jsonl", "--by", "model", "--format", "json")
    found = read_groups(done)
    assert {key: group["tokens"]["output"] for key, group in found.items()} == {
        "gemini-3-pro-preview": 287,
        "gemini-3-flash-preview": 44,
    }
    assert json.loads(done.out)["total"]["sessions"] == 1
    whole = read_groups(vacr("stats", EXAMPLES / "gemini-cli.jsonl", "--format", "json"))[
        "gemini-cli"
    ]
    for name in ("calls", "errors", "prompts", "entries", "milliseconds"):
        assert sum(group[name] for group in found.values()) == whole[name], name


def test_only_the_longest_recording_of_a_session_counts(vacr, tmp_path):
    short = b"\n".join(CLAUDE.read_bytes().splitlines()[:8]) + b"\n"
    (tmp_path / "short.jsonl").write_bytes(short)
    for order in ((CLAUDE, "short.jsonl"), ("short.jsonl", CLAUDE)):
        done = vacr("stats", *order, "--format", "json")
        assert read_groups(done)["claude-code"]["tokens"]["input"] == 97316
        assert json.loads(done.out)["repeated"] == 1
        assert "1 duplicate recording" in done.err


def test_unmodified_recording_wins_over_a_longer_modified_one(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "long.acr.json")
    long = tmp_path / "long.acr.json"
    long.write_bytes(long.read_bytes().replace(b"off by a cent", b"off by a euro"))
    (tmp_path / "short.jsonl").write_bytes(b"\n".join(CLAUDE.read_bytes().splitlines()[:8]) + b"\n")
    for order in (("long.acr.json", "short.jsonl"), ("short.jsonl", "long.acr.json")):
        done = vacr("stats", *order, "--format", "json")
        report = json.loads(done.out)
        assert report["total"]["calls"] == 1
        assert report["repeated"] == 1
        assert done.returncode == 1


def test_equally_named_sessions_of_two_agents_both_count(vacr, tmp_path):
    name, own = (next(read(path))["session"]["session-id"] for path in (CLAUDE, CODEX))
    (tmp_path / "same.jsonl").write_text(CODEX.read_text("utf-8").replace(own, name), "utf-8")
    done = vacr("stats", CLAUDE, "same.jsonl", "--format", "json")
    assert set(read_groups(done)) == {"claude-code", "codex-cli"}
    assert json.loads(done.out)["repeated"] == 0


def test_unreadable_files_are_reported_and_the_others_counted(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    (tmp_path / "records" / "bad.acr.json").write_text("{")
    done = vacr("stats", "records")
    assert done.returncode == 3
    assert "claude-code" in done.out
    assert "bad.acr.json" in done.err
    missing = vacr("stats", "nowhere", CLAUDE)
    assert missing.returncode == 3
    assert "claude-code" in missing.out
    assert "nowhere: there is no such file" in missing.err
    (tmp_path / "empty").mkdir()
    assert vacr("stats", "empty").returncode == 3


def test_names_cannot_control_the_terminal(vacr, tmp_path):
    (tmp_path / "x.jsonl").write_bytes(
        CLAUDE.read_bytes().replace(b"claude-opus-4-6", b"opus\\u001b[31m")
    )
    done = vacr("stats", "x.jsonl", "--by", "model")
    assert "\x1b" not in done.out
    assert "\\x1b[31m" in done.out


def test_json_cannot_control_the_terminal_and_keeps_the_values(vacr, tmp_path):
    name = "opus\x1b\x9b31m\u202e\x7f\u2028"
    (tmp_path / "x.jsonl").write_bytes(
        CLAUDE.read_bytes().replace(b"claude-opus-4-6", json.dumps(name)[1:-1].encode())
    )
    done = vacr("stats", "x.jsonl", "--by", "model", "--format", "json")
    assert done.stdout.rstrip(b"\n").decode().isprintable()
    assert list(read_groups(done)) == [name]


def test_huge_costs_are_added_up(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    record = json.loads((tmp_path / "records" / "claude-code.acr.json").read_bytes())
    for entry in record["session"]["entries"]:
        entry.setdefault("token-usage", {})["cost"] = 1e308
    (tmp_path / "records" / "dear.acr.json").write_bytes(b"".join(encode_with_id(record)))
    assert (
        read_groups(vacr("stats", "records/dear.acr.json", "--format", "json"))["claude-code"][
            "micro-dollars"
        ]
        > 10**21
    )
    for verb in (["stats"], ["show"], ["view", "-o", "site/"]):
        assert vacr(*verb, "records/dear.acr.json").returncode == 0
    assert vacr("view", "records", "-o", "archive/").returncode == 0


def run_on_terminal(folder, width, *arguments):
    """Return the lines that a verb prints on a terminal of some width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    subprocess.run(
        [sys.executable, "-m", "vacr", *arguments], stdout=theirs, cwd=folder, check=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return shown.decode().splitlines()


def test_bars_are_shown_only_on_terminals(vacr, terminals, tmp_path):
    del terminals
    assert "█" not in vacr("stats", CLAUDE, CODEX).out
    assert any("████" in line for line in run_on_terminal(tmp_path, 200, "stats", CLAUDE, CODEX))


COLUMNS = [
    *("sessions", "prompts", "calls", "failed"),
    *("tokens·in", "cached", "tokens·out", "cost", "elapsed"),
]


@pytest.mark.parametrize(
    ("width", "left_out", "tokens"),
    [
        (200, "", "125,446"),
        (100, "", "125.4k"),
        (80, "cached prompts elapsed", "125.4k"),
        (40, "cached prompts elapsed calls sessions failed cost", "125.4k"),
    ],
)
def test_table_fits_the_width_of_the_terminal(terminals, tmp_path, width, left_out, tokens):
    del terminals
    head, *lines = run_on_terminal(tmp_path, width, "stats", CLAUDE, CODEX, "--by", "project")
    assert max(len(head), len(lines[0])) <= width
    assert lines[0].startswith("/home/mira/invoice" if width > 60 else "…mira/invoice")
    assert tokens in lines[0].split()
    # No column is left out silently.
    shown = head.replace("tokens ", "tokens·").split()[1:]
    assert shown == [name for name in COLUMNS if name not in left_out.split()]
    note = " ".join(" ".join(lines).split()).partition("left out: ")[2].partition(";")[0]
    assert note == ", ".join(left_out.split())


def test_wide_table_has_all_columns_and_exact_numbers(terminals, tmp_path, vacr):
    del terminals
    arguments = ("stats", CLAUDE, CODEX, "--by", "project")
    wide = run_on_terminal(tmp_path, 80, *arguments, "--wide")
    assert wide[:2] == vacr(*arguments).out.splitlines()[:2]


def test_tokens_add_up(vacr):
    report = json.loads(vacr("stats", EXAMPLES, "--format", "json").out)
    for counts in (*report["groups"], report["total"]):
        assert counts["tokens"]["total"] == counts["tokens"]["input"] + counts["tokens"]["output"]


def test_prices_of_ones_own_are_used_and_dated(vacr, tmp_path):
    price = {"input": 1_000, "output": 0}
    model = {"id": "gpt", "match": {"starts-with": "gpt"}, "prices": [price]}
    makers = [{"id": "openai", "models": [model]}]
    (tmp_path / "prices.json").write_text(
        json.dumps({"date": "2026-02-03", "source": "ours", "makers": makers})
    )
    done = vacr("stats", CODEX, "--prices", tmp_path / "prices.json")
    assert "~$28.13 estimated, prices of 2026-02-03" in done.out
    prices = ("--prices", tmp_path / "prices.json")
    for shown in (
        vacr("show", CODEX, *prices).out,
        vacr("export", CODEX, "--to", "markdown", "-o", "-", *prices).out,
        vacr("export", CODEX, "--to", "html", "-o", "-", *prices).out,
        vacr("view", CODEX, "-o", "-", *prices).out,
    ):
        assert "~$28.13 estimated, prices of 2026-02-03" in shown
    refused = vacr("export", CODEX, "--to", "atif", *prices)
    assert refused.returncode == 2
    assert "--prices has no effect on --to atif" in refused.err


def test_marks_of_costs_are_explained(vacr, tmp_path):
    session = CLAUDE.read_text("utf-8").replace("claude-opus-4-6", "my-own-model")
    (tmp_path / "own.jsonl").write_text(session, "utf-8")
    name = next(read(CLAUDE))["session"]["session-id"]
    other = session.replace(name, name[::-1])
    (tmp_path / "own.jsonl").write_text(other, "utf-8")
    done = vacr("stats", CLAUDE, "own.jsonl")
    assert "  ≥~$0.07  " in done.out
    assert "not priced: my-own-model (" in done.out
    assert "(~ is or contains an estimate; ≥ lacks models without a price)" in done.out
    assert "(? no price is known)" in vacr("stats", "own.jsonl").out
    assert "by list prices of" in vacr("stats", EXAMPLES / "opencode.json").out


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "there is no such file"), ("{}", "not a price file: the member 'date' is missing")],
)
def test_a_bad_price_file_is_named(vacr, tmp_path, text, message):
    path = tmp_path / "prices.json"
    if text is not None:
        path.write_text(text)
    done = vacr("stats", CODEX, "--prices", path)
    assert done.returncode == 3
    assert str(path) in done.err
    assert message in done.err


def test_records_without_labels_are_reported(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", tmp_path / "a.acr.json")
    record = json.loads((tmp_path / "a.acr.json").read_text())
    assert "without labels" not in vacr("stats", tmp_path / "a.acr.json").err
    del record["vacr"]["version"]
    assign_record_id(record)
    (tmp_path / "b.acr.json").write_bytes(encode(record))
    done = vacr("stats", tmp_path / "b.acr.json")
    assert done.returncode == 0
    assert "1 record without labels" in done.err
