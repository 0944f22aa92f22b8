"""`vacr export` and `vacr import`: written files, messages and refusals."""

import base64
import hashlib
import json

import pytest

from tests.conftest import EXAMPLES

CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"
TRAJECTORY = {
    "schema_version": "ATIF-v1.6",
    "session_id": "s",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "hello", "timestamp": "2026-01-01T00:00:00Z"}
    ],
}


def test_export_is_named_after_its_record_and_refers_to_it(vacr, tmp_path):
    vacr("record", CLAUDE)
    done = vacr("export", "claude-code.acr.json", "--to", "atif")
    assert done.returncode == 0
    assert done.out.startswith("claude-code.atif.json: ")
    assert "lost in ATIF: " in done.err
    assert "events (" in done.err
    provenance = json.loads((tmp_path / "claude-code.atif.json").read_bytes())["extra"]["vacr"]
    assert (
        provenance["sha-256"]
        == hashlib.sha256((tmp_path / "claude-code.acr.json").read_bytes()).hexdigest()
    )
    assert vacr("export", "claude-code.acr.json", "--to", "atif").out.endswith(", unchanged\n")
    assert (
        vacr("export", CLAUDE, "--to", "atif", "-o", "-").stdout
        == (tmp_path / "claude-code.atif.json").read_bytes()
    )


def test_folder_is_exported_to_one_file_per_record(vacr, tmp_path):
    vacr("record", EXAMPLES, "-o", "records/")
    done = vacr("export", "records", "--to", "atif", "-o", "out/", "--format", "json")
    report = json.loads(done.out)
    assert len(report["exports"]) == 5
    assert all(export["losses"] for export in report["exports"] if "cursor" not in export["source"])
    assert min(path.name for path in (tmp_path / "out").iterdir()) == "claude-code.atif.json"
    assert "5 records, 0 failures" in done.err


def test_unreadable_record_does_not_stop_the_others(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "records/")
    (tmp_path / "records" / "bad.acr.json").write_text("{")
    done = vacr("export", "records", "--to", "atif", "-o", "out/")
    assert done.returncode == 3
    assert "bad.acr.json" in done.err
    assert (tmp_path / "out" / "claude-code.atif.json").exists()


def test_several_records_need_an_output_folder(vacr, tmp_path):
    done = vacr("export", CLAUDE, CODEX, "--to", "atif", "-o", "one.json")
    assert done.returncode == 2
    assert "Add a slash to make it a folder: -o" in done.err
    assert not (tmp_path / "one.json").exists()
    assert vacr("export", EXAMPLES, "--to", "atif", "-o", "one.json").returncode == 2
    assert not (tmp_path / "one.json").exists()


def test_filters_are_reported(vacr):
    done = vacr("export", CLAUDE, "--to", "atif", "--only", "user", "-o", "-")
    assert {step["source"] for step in json.loads(done.out)["steps"]} == {"user"}
    assert "rows removed by the filters" in done.err
    nothing = vacr("export", CLAUDE, "--to", "atif", "--grep", "no such words", "-o", "-")
    assert nothing.returncode == 1
    assert "filters" in nothing.err


def test_existing_output_is_not_overwritten(vacr, tmp_path):
    (tmp_path / "claude-code.atif.json").write_text("mine")
    assert vacr("export", CLAUDE, "--to", "atif").returncode == 2
    assert (tmp_path / "claude-code.atif.json").read_text() == "mine"
    assert vacr("export", CLAUDE, "--to", "atif", "--overwrite").returncode == 0


def test_trajectory_survives_a_round_trip(vacr, tmp_path):
    (tmp_path / "run.atif.json").write_text(json.dumps(TRAJECTORY, indent=2))
    done = vacr("import", "run.atif.json")
    assert done.out.startswith("run.acr.json: 1 entry")
    assert vacr("validate", "run.acr.json", "--strict").returncode == 0
    assert "hello" in vacr("show", "run.acr.json").out
    assert json.loads(vacr("export", "run.acr.json", "--to", "atif", "-o", "-").out) == TRAJECTORY


def test_failed_calls_survive_a_round_trip(vacr):
    assert (
        vacr(
            "export", EXAMPLES / "claude-code.jsonl", "--to", "atif", "-o", "a.atif.json"
        ).returncode
        == 0
    )
    assert vacr("import", "a.atif.json").returncode == 0
    (row,) = json.loads(vacr("show", "a.acr.json", "--errors", "--format", "json").out)["rows"]
    assert row["tool"] == "Bash"
    assert (
        vacr("export", "a.acr.json", "--to", "atif", "-o", "a.atif.json").out.count("unchanged")
        == 1
    )


def test_folder_of_documents_becomes_a_folder_of_records(vacr, tmp_path):
    for name in ("claude-code.jsonl", "codex-cli.jsonl"):
        done = vacr(
            "export",
            EXAMPLES / name,
            "--to",
            "atif",
            "-o",
            f"atif/{name.split('-')[0]}/same.atif.json",
        )
        assert done.returncode == 0, done.err
    (tmp_path / "atif" / "notes.json").write_text("{}")
    assert vacr("import", "atif", "-o", "one.acr.json").returncode == 2
    assert vacr("import", "atif", "-o", "records/").returncode == 0
    found = sorted(
        path.relative_to(tmp_path / "records").as_posix()
        for path in (tmp_path / "records").rglob("*.json")
    )
    assert found == ["claude/same.acr.json", "codex/same.acr.json"]
    done = vacr("import", "records")
    assert (done.returncode, "files that end in .atif.json" in done.err) == (3, True)


def test_standard_input_is_imported(vacr, tmp_path):
    data = json.dumps(TRAJECTORY).encode()
    report = json.loads(vacr("import", "-", "--format", "json", stdin=data).out)["records"][0]
    assert (report["from"], report["output"]) == ("atif", "stdin.acr.json")
    printed = vacr("import", "-", "-o", "-", stdin=data).stdout
    assert printed.strip() == (tmp_path / "stdin.acr.json").read_bytes()


@pytest.mark.parametrize(
    ("data", "exit_code", "report"),
    [
        (b'{"version": "3.0.0-draft", "id": "x", "session": {}}', 3, "already a vacr record"),
        (b"{", 3, "line 1, column 2"),
        (b"{}", 3, "not a document that vacr can import"),
        (b'{"schema_version":"ATIF-v1.7"}', 1, 'missing member "agent"'),
        (b"", 3, "no JSON value"),
    ],
)
def test_unimportable_documents_are_reported(vacr, tmp_path, data, exit_code, report):
    (tmp_path / "x.json").write_bytes(data)
    done = vacr("import", "x.json")
    assert done.returncode == exit_code
    assert "x.json" in done.err
    assert report in done.err


def test_signed_statement_names_commit_and_file(vacr, tmp_path):
    vacr("key", "generate", "-o", "keys/")
    vacr("attribute", CLAUDE, "-o", "a.acr.json")
    done = vacr(
        "export", "a.acr.json", "--to", "in-toto", "--key", "keys/signing.pem", "--commit", "a" * 40
    )
    assert done.returncode == 0, done.err
    payload = json.loads(
        base64.b64decode(json.loads((tmp_path / "a.intoto.json").read_bytes())["payload"])
    )
    assert [subject["name"] for subject in payload["subject"]] == ["commit", "total.py"]
    assert (
        payload["predicate"]["record"]["digest"]["sha256"]
        == hashlib.sha256((tmp_path / "a.acr.json").read_bytes()).hexdigest()
    )


@pytest.mark.parametrize(
    ("arguments", "report"),
    [
        (["--to", "in-toto"], "Add --key"),
        (
            ["--to", "atif", "--key", "k.pem"],
            "--key has no effect on --to atif\n  Use --key with --to in-toto.",
        ),
        (["--to", "in-toto", "--commit", "HEAD"], "git rev-parse HEAD"),
        (
            ["--to", "markdown", "--atif-version", "1.7"],
            "--atif-version has no effect on --to markdown\n  Use --atif-version with --to atif.",
        ),
        (["--to", "agent-trace", "--only", "user"], "filters have no effect"),
        (["--to", "agent-trac"], "agent-trace"),
    ],
)
def test_meaningless_options_are_refused(vacr, tmp_path, arguments, report):
    done = vacr("export", CLAUDE, *arguments)
    assert done.returncode == 2
    assert report in done.err
    assert list(tmp_path.iterdir()) == []


def test_note_is_written_to_standard_output(vacr, tmp_path):
    vacr("attribute", CLAUDE, "-o", "a.acr.json")
    note = vacr("export", "a.acr.json", "--to", "git-ai-notes", "-o", "-", "--commit", "b" * 40)
    assert note.out.startswith("total.py\n  s_")
    assert "b" * 40 in note.out
    (tmp_path / "note.txt").write_bytes(note.stdout)
    assert vacr("import", "note.txt").out.startswith("note.acr.json: 0 entries")
    assert vacr("validate", "note.acr.json").returncode == 0
    assert vacr("export", "note.acr.json", "--to", "git-ai-notes", "-o", "-").out == note.out


def test_each_line_of_traces_becomes_a_record(vacr, tmp_path):
    vacr("attribute", CLAUDE, "-o", "a.acr.json")
    vacr("attribute", CODEX, "-o", "b.acr.json")
    lines = vacr("export", "a.acr.json", "b.acr.json", "--to", "agent-trace", "-o", "-").stdout
    (tmp_path / "traces.jsonl").write_bytes(lines)
    done = vacr("import", "traces.jsonl", "-o", "in/")
    assert done.returncode == 0, done.err
    assert len(list((tmp_path / "in").iterdir())) == 2
    assert vacr("import", "traces.jsonl", "-o", "one.acr.json").returncode == 2
