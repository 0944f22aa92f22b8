"""Hostile names of sessions and files cannot redirect, overwrite or suppress an output."""

import json

import pytest

from tests.conftest import EXAMPLES, FIXTURES

DUMP = (FIXTURES / "opencode" / "dump.jsonl").read_text()
OWN = "ses_1e8f3c2b1a0ffeMiraInvoiceFix1"
VERBS = {"markdown": ["export", "--to", "markdown"], "view": ["view"], "attribute": ["attribute"]}
HOSTILE = {
    "up": "../../../../up/x",
    "root": "/up/x",
    "folder": "..",
    "nul": r"x\u0000y",
    "long": "n" * 400,
    "windows": r"..\\..\\CON",
}


def build_two_sessions(name: str) -> bytes:
    """Return a stream of two sessions, the second with a chosen name."""
    return f"{DUMP}\n{DUMP.replace(OWN, name)}".encode()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("verb", VERBS)
def test_session_from_a_pipe_is_written_to_the_chosen_folder(vacr, tmp_path, verb, name):
    done = vacr(*VERBS[verb], "-", "-o", "a/b/c/d/", stdin=build_two_sessions(HOSTILE[name]))
    # With the ending of an attributed record, the longest name becomes too long, which is an error.
    assert done.returncode == (3 if (verb, name) == ("attribute", "long") else 0), done.err
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert {path.parent for path in written} == {tmp_path / "a" / "b" / "c" / "d"}


MODEL = "x\x1b[2J\x1b]0;owned\x07\n<script>alert(1)</script>\n# Verified by Alice ✓"


def test_name_of_a_model_writes_neither_to_the_terminal_nor_into_markdown(vacr, tmp_path):
    lines = [json.loads(line) for line in (EXAMPLES / "claude-code.jsonl").read_text().splitlines()]
    for line in lines:
        if "model" in line.get("message", {}):
            line["message"]["model"] = MODEL
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = vacr("show", "s.jsonl")
    assert "not priced: x\\x1b[2J" in done.out
    for text in ("\x1b", "\x07", "\n<script>", "\n# Verified"):
        assert text not in done.out
    first, *_, last = done.out.splitlines()
    assert "✓" not in first + last
    assert vacr("export", "s.jsonl", "--to", "markdown", "-o", "s.md").returncode == 0
    written = (tmp_path / "s.md").read_text()
    (cost,) = (line for line in written.splitlines() if line.startswith("- cost: not priced: x"))
    assert "<" not in cost
    for text in ("\x1b", "\x07", "\n<script>", "\n# Verified"):
        assert text not in written


@pytest.mark.parametrize("options", [[], ["--overwrite"]])
def test_sessions_of_one_file_are_exported_under_their_own_names(vacr, tmp_path, options):
    (tmp_path / "both.jsonl").write_bytes(build_two_sessions("other"))
    done = vacr(
        "export", "both.jsonl", "--to", "markdown", "-o", "out/", "--format", "json", *options
    )
    report = json.loads(done.out)
    assert (done.returncode, report["errors"]) == (0, [])
    assert (
        len({export["output"] for export in report["exports"]})
        == len(list((tmp_path / "out").iterdir()))
        == 3
    )


def test_records_with_the_same_name_get_separate_exports(vacr, tmp_path):
    vacr("record", EXAMPLES / "claude-code.jsonl", "-o", "records/a.acr.json")
    vacr("attribute", "records/a.acr.json", "-o", "records/")
    vacr("record", EXAMPLES / "codex-cli.jsonl", "-o", "records/A.acr.json")
    assert vacr("export", "records", "--to", "html", "-o", "out/", "--overwrite").returncode == 0
    assert len({path.name.lower() for path in (tmp_path / "out").iterdir()}) == 3
    assert "unchanged" in vacr("export", "records", "--to", "html", "-o", "out/").out


def test_traces_with_the_same_id_get_separate_records(vacr, tmp_path):
    ranges = [{"ranges": [{"start_line": 1, "end_line": 2}]}]
    trace = {
        "version": "0.1.0",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-01-25T10:00:00Z",
    }
    lines = [
        json.dumps(trace | {"files": [{"path": path, "conversations": ranges}]}) for path in "ab"
    ]
    (tmp_path / "traces.jsonl").write_text("\n".join(lines))
    assert vacr("import", "traces.jsonl", "-o", "out/", "--overwrite").returncode == 0
    paths = [
        json.loads(path.read_bytes())["file-attribution"]["files"][0]["path"]
        for path in (tmp_path / "out").iterdir()
    ]
    assert sorted(paths) == ["a", "b"]


@pytest.mark.parametrize(
    "name", [".acr.json", "...acr.json", f"{'n' * 245}.acr.json", "a\nb\x1b[31m.acr.json"]
)
def test_hostile_name_in_a_folder_does_not_stop_the_others(vacr, tmp_path, name):
    vacr("record", EXAMPLES / "claude-code.jsonl")
    vacr("record", EXAMPLES / "codex-cli.jsonl", "-o", "records/~last.acr.json")
    (tmp_path / "claude-code.acr.json").rename(tmp_path / "records" / name)
    assert vacr("export", "records", "--to", "markdown", "-o", "out/").returncode == 0
    assert vacr("view", "records", "-o", "site/").returncode == 0
    assert [len(list((tmp_path / folder).iterdir())) for folder in ("out", "site")] == [2, 3]


def test_export_does_not_overwrite_its_record(vacr, tmp_path):
    vacr("record", EXAMPLES / "claude-code.jsonl", "-o", "records/a.acr.json")
    before = (tmp_path / "records" / "a.acr.json").read_bytes()
    done = vacr("export", "records", "--to", "html", "-o", "records/a.acr.json", "--overwrite")
    assert done.returncode == 2
    assert "would overwrite the input" in done.err
    assert (tmp_path / "records" / "a.acr.json").read_bytes() == before
