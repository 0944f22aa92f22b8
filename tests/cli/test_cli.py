"""The command as a user sees it: files, exit codes and streams."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from tests.conftest import EXAMPLES, FIXTURES
from vacr.cli import group
from vacr.cli.restore import _check_part_paths
from vacr.errors import InvalidRecord
from vacr.record.encoding import compute_record_id
from vacr.version import __version__

COMMAND = f"{shlex.quote(sys.executable)} -m vacr"
CLAUDE, CODEX = EXAMPLES / "claude-code.jsonl", EXAMPLES / "codex-cli.jsonl"


def test_version_option_imports_little(vacr):
    assert vacr("--version").out == f"vacr {__version__}\n"
    assert vacr("-V").out == f"vacr {__version__}\n"
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "vacr", "--version"],
        capture_output=True,
        check=True,
    ).stderr.decode()
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in loaded.splitlines()}
    assert not names & {
        "click",
        "msgspec",
        "cbor2",
        "rich",
        "cryptography",
        "json",
        "importlib_metadata",
        "typing_extensions",
    }


@pytest.mark.parametrize(
    "verb",
    [
        "record",
        "restore",
        "validate",
        "convert",
        "schema",
        "schema show",
        "schema generate",
        "completion",
    ],
)
def test_every_verb_has_help_with_an_example(vacr, verb):
    done = vacr(*verb.split(), "--help")
    assert done.returncode == 0
    assert "Example:" in done.out


def list_verbs(command, name="vacr", parent=None):
    """Yield the context of a command, 80 columns wide, and of all commands below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=80)
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from list_verbs(command.get_command(context, below), below, context)


def test_help_has_examples_and_fits_into_80_columns():
    contexts = list(list_verbs(group))
    assert len(contexts) > 50
    for context in contexts:
        shown = context.get_help()
        assert "Example:" in shown, context.command_path
        long = [line for line in shown.splitlines() if cell_len(line) > 80]
        assert not long, (context.command_path, long)
        purpose = shown.split("\n\n")[1]
        assert "\n" not in purpose, (context.command_path, purpose)
        _, found, options = shown.partition("\nOptions:\n")
        ungrouped = [line for line in options.split("\n\n")[0].splitlines() if line[2:3] == "-"]
        assert len(ungrouped) <= 10, (context.command_path, found, ungrouped)


def test_help_lists_the_verbs(vacr):
    out = vacr("--help").out
    assert all(
        verb in out for verb in ("record", "restore", "validate", "convert", "schema", "completion")
    )


def test_record_writes_into_the_current_folder(vacr, tmp_path):
    done = vacr("record", CLAUDE)
    assert done.returncode == 0
    assert done.out == "claude-code.acr.json: claude-code 2.1.72, 20 entries, 15.0 kB\n"
    assert done.err == ""
    assert (tmp_path / "claude-code.acr.json").stat().st_size > 10_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claude-code.acr.json"]


def test_record_writes_to_a_file_a_folder_or_standard_output(vacr, tmp_path):
    vacr("record", CLAUDE, "-o", "x/y.json")
    vacr("record", CLAUDE, CODEX, "-o", "records/")
    printed = vacr("record", CLAUDE, "-o", "-")
    written = (tmp_path / "x" / "y.json").read_bytes()
    assert (tmp_path / "records" / "claude-code.acr.json").read_bytes() == written
    assert (tmp_path / "records" / "codex-cli.acr.json").exists()
    assert printed.stdout == written
    both = vacr("record", CLAUDE, CODEX, "-o", "-").out
    assert both.endswith("}\n")
    assert both.count("\n") == 2
    assert [
        json.loads(line)["session"]["agent-meta"]["cli-name"] for line in both.splitlines()
    ] == [
        "claude-code",
        "codex-cli",
    ]


def test_record_reads_standard_input(vacr, tmp_path):
    done = vacr("record", "-", stdin=CODEX.read_bytes())
    assert done.returncode == 0
    assert (tmp_path / "stdin.acr.json").exists()


def test_record_and_convert_write_the_same_cbor(vacr, tmp_path):
    vacr("record", CLAUDE, CODEX)
    vacr("record", CLAUDE, CODEX, "--cbor", "-o", "direct/")
    vacr("convert", "claude-code.acr.json", "codex-cli.acr.json", "--to", "cbor")
    for name in ("claude-code", "codex-cli"):
        assert (tmp_path / f"{name}.acr.cbor").read_bytes() == (
            tmp_path / "direct" / f"{name}.acr.cbor"
        ).read_bytes()
        vacr("convert", f"{name}.acr.cbor", "--to", "json", "-o", "back/")
        assert (tmp_path / "back" / f"{name}.acr.json").read_bytes() == (
            tmp_path / f"{name}.acr.json"
        ).read_bytes()
    assert vacr("validate", "claude-code.acr.cbor").returncode == 0


def test_record_reports_its_result_as_json(vacr):
    done = vacr("record", CLAUDE, "nothing.jsonl", "--format", "json")
    assert done.returncode == 3
    result = json.loads(done.out)
    assert result["schema_version"] == "1"
    (one,) = result["records"]
    assert one["session-id"] == "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113"
    assert one["models"] == ["claude-opus-4-6"]
    assert one["entries"] == 20
    assert result["errors"][0]["error"] == "there is no such file"


def test_recording_again_rewrites_only_grown_sessions(vacr, tmp_path):
    session = tmp_path / "abc.jsonl"
    session.write_bytes(b"".join(CLAUDE.read_bytes().splitlines(keepends=True)[:9]))
    vacr("record", session)
    before = (tmp_path / "abc.acr.json").stat()
    assert vacr("record", session).out.endswith(", unchanged\n")
    assert (tmp_path / "abc.acr.json").stat().st_mtime_ns == before.st_mtime_ns
    session.write_bytes(CLAUDE.read_bytes())
    assert vacr("record", session).out.endswith(", replaced an older record\n")
    (tmp_path / "abc.acr.json.cose").write_bytes(b"signature")
    session.write_bytes(CLAUDE.read_bytes() + CLAUDE.read_bytes().splitlines(keepends=True)[1])
    refused = vacr("record", session)
    assert refused.returncode == 2
    assert "is signed (abc.acr.json.cose)" in refused.err
    assert vacr("record", session, "--overwrite").returncode == 0


def test_session_folder_of_the_agent_is_not_written_to(vacr, tmp_path):
    store = tmp_path / "home" / ".claude" / "projects" / "x"
    store.mkdir(parents=True)
    shutil.copy(CLAUDE, store / "abc.jsonl")
    done = vacr("record", "abc.jsonl", cwd=store)
    assert done.returncode == 2
    assert "the session folder of the agent" in done.err
    assert [path.name for path in store.iterdir()] == ["abc.jsonl"]
    assert (
        vacr(
            "record", "abc.jsonl", cwd=store, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")
        ).returncode
        == 0
    )


def test_sub_agents_are_recorded_next_to_the_session(vacr, tmp_path):
    project = FIXTURES / "claude" / "project"
    main = next(project.glob("3*.jsonl"))
    vacr("record", main, "-o", "out/")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"{main.stem}.a1b2c3d.acr.json",
        f"{main.stem}.acr.json",
        f"{main.stem}.e4f5a6b.acr.json",
    ]
    vacr("record", main, "-o", "one.acr.json", "--no-sub-agents")
    assert (tmp_path / "one.acr.json").exists()
    assert len(list(tmp_path.glob("one*"))) == 1
    assert vacr("validate", *(tmp_path / "out").iterdir()).returncode == 0


def test_restore_returns_the_native_bytes(vacr, tmp_path):
    project = FIXTURES / "claude" / "project"
    main = next(project.glob("3*.jsonl"))
    vacr("record", main, "--seal-source")
    done = vacr("restore", f"{main.stem}.acr.json", "-o", "back/")
    assert done.returncode == 0
    assert (tmp_path / "back" / main.name).read_bytes() == main.read_bytes()
    assert (
        tmp_path / "back" / main.stem / "tool-results" / "out.txt"
    ).read_bytes() == b"a long output\n"
    assert vacr("restore", f"{main.stem}.acr.json", "-o", "back/").returncode == 0


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("grok/session", "019f7000-0000-7000-8000-000000000001/chat_history.jsonl"),
        ("gptme/2026-07-25-till", "2026-07-25-till/conversation.jsonl"),
    ],
)
def test_restored_session_that_its_folder_names_gives_the_same_record(vacr, tmp_path, folder, name):
    session = tmp_path / name
    shutil.copytree(FIXTURES / folder, session.parent)
    vacr("record", session, "-o", "first.acr.json", "--seal-source")
    assert vacr("restore", "first.acr.json", "-o", "back/").returncode == 0
    vacr("record", tmp_path / "back" / name, "-o", "again.acr.json")
    assert (tmp_path / "again.acr.json").read_bytes() == (tmp_path / "first.acr.json").read_bytes()


@pytest.mark.parametrize(
    ("spoil", "code", "message"),
    [
        (lambda path: path.unlink(), 3, "the sealed source is not here"),
        (
            lambda path: path.write_bytes(b"no zip"),
            3,
            "the sealed source is damaged, or not a zip file",
        ),
        (
            lambda path: rezip(path, "claude-code.jsonl", b"forged"),
            1,
            "does not match the digest in the record",
        ),
        (lambda path: rezip(path, "other.jsonl", b"x"), 1, "does not contain claude-code.jsonl"),
        (
            lambda path: rezip(path, "claude-code.jsonl", bytes(50_000_000)),
            1,
            "does not match the digest in the record",
        ),
    ],
    ids=["missing", "no zip file", "forged", "another part", "a bomb"],
)
def test_restore_fails_closed(vacr, tmp_path, spoil, code, message):
    vacr("record", CLAUDE, "--seal-source")
    spoil(tmp_path / "claude-code.acr.source.zip")
    done = vacr("restore", "claude-code.acr.json", "-o", "back/")
    assert done.returncode == code
    assert message in done.err
    assert not (tmp_path / "back").exists()


def rezip(path, name, data):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)


def record_with_part_name(vacr, folder, name):
    """Record a session with its sealed source, and give its native file another name."""
    vacr("record", CLAUDE, "--seal-source")
    path = folder / "claude-code.acr.json"
    record = json.loads(path.read_bytes())
    record["vacr"]["source"]["parts"][0]["name"] = name
    record["id"] = compute_record_id(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize("name", ["../out.jsonl", "/vacr-out.jsonl", "a/../../b", ""])
def test_restore_never_leaves_its_folder(vacr, tmp_path, name):
    record_with_part_name(vacr, tmp_path, name)
    done = vacr("restore", "claude-code.acr.json", "-o", "deep/back/")
    assert done.returncode == 1
    assert "leads out of the folder" in done.err
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize("name", [".git/config", "a/.GIT/hooks/x", "git~1/config"])
def test_restore_writes_into_no_git_folder(vacr, tmp_path, name):
    record_with_part_name(vacr, tmp_path, name)
    rezip(tmp_path / "claude-code.acr.source.zip", name, CLAUDE.read_bytes())
    done = vacr("restore", "claude-code.acr.json", "-o", "back/")
    assert (done.returncode, "lies in a .git folder" in done.err) == (1, True)
    assert not (tmp_path / "back").exists()


def test_restore_compares_names_once_each(tmp_path):
    class Walked(list):
        begun = 0

        def __iter__(self):
            self.begun += 1
            return super().__iter__()

        def count(self, _value):
            raise AssertionError("goes through all names for one of them")

    paths = Walked(tmp_path / f"part/{number}.json" for number in range(100))
    _check_part_paths(tmp_path, paths)
    assert paths.begun < 5
    for clash in (tmp_path / "part/7.json", tmp_path / "part"):
        with pytest.raises(InvalidRecord, match="twice"):
            _check_part_paths(tmp_path, [*paths, clash])


def test_restore_overwrites_only_on_request(vacr, tmp_path):
    vacr("record", CLAUDE, "--seal-source")
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "claude-code.jsonl").write_text("mine")
    assert vacr("restore", "claude-code.acr.json", "-o", "back/").returncode == 2
    assert (tmp_path / "back" / "claude-code.jsonl").read_text() == "mine"
    assert vacr("restore", "claude-code.acr.json", "-o", "back/", "--overwrite").returncode == 0


def test_validate_reports_problem_place_and_rule(vacr, tmp_path):
    vacr("record", CLAUDE)
    assert (
        vacr("validate", "claude-code.acr.json").out
        == "claude-code.acr.json: valid (verifiable-agent-record, schema v3, 20 entries)\n"
    )
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    del record["session"]["entries"][2]["type"]
    (tmp_path / "bad.json").write_text(json.dumps(record))
    done = vacr("validate", "bad.json", "claude-code.acr.json")
    assert done.returncode == 1
    assert "bad.json: invalid" in done.out
    assert "/session/entries/2" in done.out
    assert "claude-code.acr.json: valid" in done.out
    result = json.loads(vacr("validate", "bad.json", "--format", "json").out)
    assert result["schema_version"] == "1"
    finding = result["results"][0]["findings"][0]
    assert set(finding) == {"pointer", "rule", "found", "expected"}


def test_validate_detects_a_modified_record(vacr, tmp_path):
    vacr("record", CLAUDE)
    text = (tmp_path / "claude-code.acr.json").read_text()
    (tmp_path / "claude-code.acr.json").write_text(
        text.replace("rounded to the cent", "rounded to the euro")
    )
    done = vacr("validate", "claude-code.acr.json")
    assert done.returncode == 1
    assert "the record was modified" in done.out


def test_validate_supports_parts_rules_and_schemas(vacr, tmp_path):
    vacr("record", CLAUDE)
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    (tmp_path / "session.json").write_text(json.dumps(record["session"]))
    (tmp_path / "entries.json").write_text(json.dumps(record["session"]["entries"]))
    assert vacr("validate", "session.json", "entries.json").returncode == 0
    assert vacr("validate", "entries.json", "--rule", "[* entry]").returncode == 0
    assert vacr("validate", "entries.json", "--rule", "session-trace").returncode == 1
    (tmp_path / "my.cddl").write_text("thing = {name: tstr, ? size: uint}\n")
    (tmp_path / "thing.json").write_text('{"name": "x", "size": 3.0}')
    assert vacr("validate", "thing.json", "--schema", "my.cddl").returncode == 0
    (tmp_path / "thing.json").write_text('{"name": 5}')
    assert vacr("validate", "thing.json", "--schema", "my.cddl").returncode == 1
    assert (
        vacr("validate", "thing.json", "--schema", "my.cddl", "--rule", "nothing").returncode == 2
    )
    assert vacr("validate", "thing.json", "--rule", "nothing").returncode == 2
    (tmp_path / "broken.cddl").write_text("thing = {")
    broken = vacr("validate", "thing.json", "--schema", "broken.cddl")
    assert broken.returncode == 3
    assert "broken.cddl:1" in broken.err


@pytest.mark.parametrize(("count", "is_cut"), [(100, False), (101, True)])
def test_validate_reports_whether_findings_were_cut(vacr, tmp_path, count, is_cut):
    (tmp_path / "my.cddl").write_text("things = [* uint]\n")
    (tmp_path / "things.json").write_text(json.dumps(["x"] * count))
    check = ("validate", "things.json", "--schema", "my.cddl")
    (result,) = json.loads(vacr(*check, "--format", "json").out)["results"]
    assert (len(result["findings"]), result["findings-cut"]) == (100, is_cut)
    assert ("at least 100 findings" in vacr(*check).out) == is_cut


def test_validate_shows_remarks_with_v_and_counts_them_with_strict(vacr):
    shapes = FIXTURES / "claude" / "shapes.jsonl"
    vacr("record", shapes)
    assert vacr("validate", "shapes.acr.json").out.endswith("3 remarks)\n")
    assert "calls and results must pair" in vacr("validate", "shapes.acr.json", "-v").err
    assert vacr("validate", "shapes.acr.json", "--strict").returncode == 5


def test_unreadable_input_gets_no_verdict(vacr, tmp_path):
    (tmp_path / "twice.json").write_text('{"version":"3.0.0-draft","version":"3.0.0-draft"}')
    (tmp_path / "empty.json").write_bytes(b"")
    for name in ("twice.json", "empty.json", "missing.json"):
        done = vacr("validate", name)
        assert done.returncode == 3
        assert "unreadable" in done.err


def test_strict_fails_on_drift_and_undecodable_lines(vacr, tmp_path):
    session = tmp_path / "abc.jsonl"
    session.write_bytes(CLAUDE.read_bytes())
    assert vacr("record", session, "--strict").returncode == 0
    session.write_bytes(CLAUDE.read_bytes() + b'{"type":"brand-new","sessionId":"s"}\n')
    done = vacr("record", session, "--strict")
    assert done.returncode == 5
    assert "1 unknown type: brand-new (1)" in done.err
    session.write_bytes(CLAUDE.read_bytes() + b'{"type":"us')
    done = vacr("record", session, "--strict")
    assert done.returncode == 5
    assert "abc.jsonl:21: cannot be decoded" in done.err
    assert vacr("record", session).returncode == 0
    assert vacr("record", session, "-q").err == ""


def test_unreadable_paths_are_reported(vacr, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name, message in (
        ("loop", "symbolic links form a loop"),
        ("missing", "there is no such file"),
        ("/dev/zero", "a device, not a file"),
        ("x" * 5000, "the name is too long"),
    ):
        done = vacr("record", name)
        assert done.returncode == 3, name
        assert message in done.err


def test_bad_file_does_not_stop_the_others(vacr, tmp_path):
    done = vacr("record", "missing", CLAUDE, EXAMPLES.parent / "README.md", CODEX)
    assert done.returncode == 3
    assert sorted(path.name for path in tmp_path.glob("*.acr.json")) == [
        "claude-code.acr.json",
        "codex-cli.acr.json",
    ]


def test_unwritable_output_is_reported(vacr, tmp_path):
    (tmp_path / "file").write_text("x")
    done = vacr("record", CLAUDE, "-o", "file/x.json")
    assert done.returncode == 3
    assert "cannot be written" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("record", "."),
        ("record", ".", "-o", "-"),
        ("record", CLAUDE, "--cluster", "tcp://127.0.0.1:1"),
        ("record", CLAUDE, CODEX, "-o", "one.json"),
        ("record", CLAUDE, "-o", "-", "--seal-source"),
        ("record", CLAUDE, "--agent", "nobody"),
        ("record", CLAUDE, "--nothing"),
        ("convert", CLAUDE),
        ("convert", CLAUDE, "--to", "xml"),
        ("schema", "generate", "--count", "0"),
        ("nothing",),
    ],
)
def test_usage_errors_exit_with_2(vacr, arguments):
    assert vacr(*arguments).returncode == 2


NO_FOLDER_HINT = "Name a folder for the records: -o DIR/"


@pytest.mark.parametrize(
    ("arguments", "problem", "hint"),
    [
        (("in",), "recording a folder needs -o", NO_FOLDER_HINT),
        (("in", "-o", "-"), "the sessions of a folder cannot be recorded to -o -", NO_FOLDER_HINT),
        (
            ("in", "-o", "file"),
            "recording a folder writes one file per session, but file is one file",
            NO_FOLDER_HINT,
        ),
        (
            ("in", "-o", "out/", "--session", "x", "--cluster", "tcp://127.0.0.1:1"),
            "--cluster and --session exclude each other",
            "Omit one of them.",
        ),
        (
            (CLAUDE, "--cluster", "tcp://127.0.0.1:1"),
            "--cluster needs a folder",
            "Name the folder that holds the sessions.",
        ),
        (
            ("--session", "x"),
            "--session needs exactly one file or folder",
            "Name one file or folder: the one that holds the session.",
        ),
    ],
)
def test_hints_for_folders_fit_the_problem(vacr, tmp_path, arguments, problem, hint):
    (tmp_path / "in").mkdir()
    (tmp_path / "file").write_text("x")
    done = vacr("record", *arguments)
    assert (done.returncode, done.err) == (2, f"vacr: {problem}\n  {hint}\n")


def test_agent_can_be_named(vacr):
    assert vacr("record", CODEX, "--agent", "claude-code", "-o", "-", "-q").returncode == 0
    done = vacr("record", CODEX, "--agent", "nobody")
    assert "Known agents: claude-code, codex-cli" in done.err


def test_options_can_be_set_by_variables(vacr, tmp_path):
    done = vacr(
        "record",
        CLAUDE,
        VACR_RECORD_OUTPUT="from-env/",
        VACR_RECORD_CBOR="1",
        VACR_RECORD_FORMAT="json",
    )
    assert json.loads(done.out)["records"][0]["output"] == "from-env/claude-code.acr.cbor"
    assert vacr("record", CLAUDE, VACR_RECORD_QUIET="1").out == ""
    assert (tmp_path / "from-env" / "claude-code.acr.cbor").exists()


def test_schema_is_shown_and_instances_are_generated(vacr, tmp_path):
    assert "verifiable-agent-record = {" in vacr("schema", "show").out
    assert "vendor-extension" in vacr("schema", "show", "--schema", "v2").out
    rule = vacr("schema", "show", "--rule", "token-usage").out
    assert rule.startswith("token-usage = {")
    assert rule.rstrip().endswith("}")
    assert vacr("schema", "show", "--rule", "nothing").returncode == 2
    assert vacr("schema", "generate", "--cbor", "--format", "json").returncode == 2
    generated = vacr("schema", "generate", "--rule", "entry", "--count", "5", "--seed", "1")
    assert len(generated.out.splitlines()) == 5
    assert (
        generated.out
        == vacr("schema", "generate", "--rule", "entry", "--count", "5", "--seed", "1").out
    )
    (tmp_path / "entries.json").write_text(f"[{','.join(generated.out.splitlines())}]")
    assert vacr("validate", "entries.json", "--rule", "[* entry]", "--schema", "v3").returncode in (
        0,
        1,
    )
    document = json.loads(
        vacr("schema", "generate", "--rule", "entry", "--format", "json", "--seed", "3").out
    )
    assert document["schema_version"] == "1"
    assert document["seed"] == 3


def test_completion_scripts_are_printed(vacr):
    for shell in ("bash", "zsh", "fish"):
        assert "_VACR_COMPLETE" in vacr("completion", shell).out
    done = vacr(
        "record", "--agent", _VACR_COMPLETE="bash_complete", COMP_WORDS="vacr rec", COMP_CWORD="1"
    )
    assert (done.out, done.err, done.returncode) == ("plain,record\n", "", 0)


def test_session_that_lost_entries_does_not_replace_its_record(vacr, tmp_path):
    session = tmp_path / "s.jsonl"
    whole = CLAUDE.read_bytes()
    session.write_bytes(whole)
    assert vacr("record", session).returncode == 0
    before = (tmp_path / "s.acr.json").read_bytes()
    session.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    refused = vacr("record", session)
    assert refused.returncode == 2
    assert "the session now has only" in refused.err
    assert (tmp_path / "s.acr.json").read_bytes() == before
    assert vacr("record", session, "--overwrite").returncode == 0


def test_name_of_the_output_selects_the_encoding(vacr, tmp_path):
    assert vacr("record", CLAUDE, "-o", "x.acr.cbor").returncode == 0
    assert (tmp_path / "x.acr.cbor").read_bytes()[:1] != b"{"
    assert vacr("record", CLAUDE, "--cbor", "-o", "x.acr.json").returncode == 2


def test_closed_pipe_is_not_an_error(tmp_path):
    command = f'{COMMAND} record "{CLAUDE}" "{CODEX}" -o - | head -c 10'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""


def test_names_cannot_control_the_terminal(vacr, tmp_path):
    session = tmp_path / "a\x1b[31mb.jsonl"
    session.write_bytes(CLAUDE.read_bytes() + b'{"type":"\\u001b[2Jnew"}\n')
    done = vacr("record", session)
    assert "\x1b" not in done.out + done.err
    assert "\\x1b" in done.err


def test_command_is_installed(tmp_path):
    command = shutil.which("vacr", path=str(Path(sys.executable).parent))
    assert command
    assert subprocess.run(
        [command, "--version"], capture_output=True, check=True, cwd=tmp_path
    ).stdout.startswith(b"vacr ")


SPAWN = """
import os, pty, sys
os.environ["TERM"] = "xterm"
sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, "-m", "vacr", "record", *sys.argv[1:]])))
"""


@pytest.mark.usefixtures("terminals")
def test_progress_is_shown_only_on_a_terminal(tmp_path):
    command = [sys.executable, "-c", SPAWN, str(CLAUDE), str(CODEX)]
    done = subprocess.run(
        command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"recording" in done.stdout
    assert b"2/2" in done.stdout
    assert b"codex-cli.acr.json: codex-cli 0.121.0, 22 entries" in done.stdout


def test_output_never_overwrites_another_file(vacr, tmp_path):
    session = tmp_path / "self.jsonl"
    session.write_bytes(CLAUDE.read_bytes())
    (tmp_path / "notes.txt").write_text("mine")
    for output in ("self.jsonl", "notes.txt"):
        done = vacr("record", session, "-o", output)
        assert done.returncode == 2, done.err
    assert session.read_bytes() == CLAUDE.read_bytes()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert vacr("record", session, "-o", "notes.txt", "--overwrite").returncode == 0
    assert vacr("record", session, "-o", "self.jsonl", "--overwrite").returncode == 2


def test_sessions_with_the_same_name_do_not_overwrite_each_other(vacr, tmp_path):
    for folder, session in (("a", CLAUDE), ("b", CODEX)):
        (tmp_path / folder).mkdir()
        shutil.copy(session, tmp_path / folder / "s.jsonl")
    done = vacr("record", "a/s.jsonl", "b/s.jsonl")
    assert done.returncode == 2
    assert "b/s.jsonl: it would have the same record file as a/s.jsonl: s.acr.json" in done.err
    assert "not an older record of this session" in vacr("record", "b/s.jsonl").err
    assert (
        json.loads((tmp_path / "s.acr.json").read_bytes())["session"]["agent-meta"]["cli-name"]
        == "claude-code"
    )


def test_pipes_and_links_are_written_through(vacr, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.json").write_bytes(b"")
    (tmp_path / "link.json").symlink_to("real/x.json")
    vacr("record", CLAUDE, "-o", "link.json", "--overwrite")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "x.json").stat().st_size > 10_000
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE)
    assert vacr("record", CLAUDE, "-o", "pipe").returncode == 0
    assert reader.communicate()[0] == (tmp_path / "real" / "x.json").read_bytes()
    assert (tmp_path / "pipe").is_fifo()


def test_named_sub_agents_are_recorded_once(vacr, tmp_path):
    shutil.copytree(FIXTURES / "claude" / "project", tmp_path / "project")
    vacr("record", *sorted((tmp_path / "project").glob("*.jsonl")), "-o", "out/")
    sessions = [
        json.loads(path.read_bytes())["session"]["session-id"]
        for path in (tmp_path / "out").iterdir()
    ]
    assert len(sessions) == len(set(sessions)) == 4


def test_outdated_sealed_source_is_reported(vacr, tmp_path):
    session = tmp_path / "abc.jsonl"
    session.write_bytes(b"".join(CLAUDE.read_bytes().splitlines(keepends=True)[:9]))
    vacr("record", session, "--seal-source")
    session.write_bytes(CLAUDE.read_bytes())
    assert "is the sealed source of the older record" in vacr("record", session).err
    assert vacr("restore", "abc.acr.json", "-o", "back/").returncode == 1
    vacr("record", session, "--seal-source")
    assert vacr("restore", "abc.acr.json", "-o", "back/").returncode == 0


def test_modified_record_is_not_restored(vacr, tmp_path):
    vacr("record", CLAUDE, "--seal-source")
    text = (tmp_path / "claude-code.acr.json").read_text()
    (tmp_path / "claude-code.acr.json").write_text(
        text.replace("rounded to the cent", "rounded to the euro")
    )
    done = vacr("restore", "claude-code.acr.json", "-o", "back/")
    assert done.returncode == 1
    assert "the record was modified: its id is '" in done.err
    assert not (tmp_path / "back").exists()


def test_uncheckable_id_is_a_remark(vacr, tmp_path):
    vacr("record", CLAUDE)
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    del record["recording-agent"]
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert vacr("validate", "a.json").returncode == 1
    del record["vacr"]
    (tmp_path / "b.json").write_text(json.dumps(record))
    assert vacr("validate", "b.json").returncode == 0
    assert vacr("validate", "b.json", "--strict").returncode == 5
    assert "recorded by 'an unnamed tool'" in vacr("validate", "b.json", "-v").err


def test_exit_code_carries_the_verdict_if_output_is_not_read(tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    names = " ".join(["bad.json"] * 3000)
    command = f"{COMMAND} validate {names} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("verb", "code"), [("validate nowhere", 3), ("nothing", 2), ("schema show", 3)]
)
def test_exit_code_is_kept_if_both_streams_are_full(tmp_path, verb, code):
    line = f"{COMMAND} {verb} > /dev/full 2> /dev/full"
    assert subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False).returncode == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_is_reported_with_a_reason(tmp_path):
    for verb in (f'record "{CLAUDE}" -o -', "schema show"):
        done = subprocess.run(
            ["bash", "-c", f"{COMMAND} {verb} > /dev/full"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 3
        assert b"No space left" in done.stderr


def test_file_names_of_any_bytes_and_length_are_supported(vacr, tmp_path):
    odd = os.fsencode(tmp_path) + b"/a\xff b.jsonl"
    Path(os.fsdecode(odd)).write_bytes(CLAUDE.read_bytes())
    done = vacr("record", os.fsdecode(odd), "--format", "json")
    assert done.returncode == 0, done.err
    assert json.loads(done.out)["records"][0]["entries"] == 20
    long = tmp_path / f"{'x' * 249}.jsonl"
    long.write_bytes(CLAUDE.read_bytes())
    assert vacr("record", long, "--seal-source").returncode == 0
    (record,) = tmp_path.glob("xxx*.acr.json")
    assert vacr("restore", record, "-o", "back/").returncode == 0
    assert (tmp_path / "back" / long.name).read_bytes() == CLAUDE.read_bytes()


def test_record_and_native_session_are_not_confused(vacr):
    done = vacr("validate", CLAUDE)
    assert done.returncode == 3
    assert "vacr record" in done.err
    vacr("record", CLAUDE)
    done = vacr("record", "claude-code.acr.json")
    assert done.returncode == 3
    assert "already a record" in done.err


def test_wrong_agent_shows_as_drift(vacr):
    assert (
        vacr("record", CLAUDE, "--agent", "codex-cli", "-o", "x.json", "--strict").returncode == 5
    )
    assert (
        vacr("record", CODEX, "--agent", "claude-code", "-o", "y.json", "--strict").returncode == 5
    )


def test_generated_records_are_valid(vacr, tmp_path):
    for schema in ("v3", "v2"):
        generated = vacr(
            "schema",
            "generate",
            "--schema",
            schema,
            "--rule",
            "verifiable-agent-record",
            "--seed",
            "4",
            "--count",
            "3",
        )
        for number, line in enumerate(generated.out.splitlines()):
            (tmp_path / f"{schema}-{number}.json").write_text(line)
            result = json.loads(
                vacr("validate", f"{schema}-{number}.json", "--format", "json").out
            )["results"][0]
            assert result["schema"] == f"{schema}.cddl"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vacr re", "plain,record"),
        ("vacr validate x", "file,x"),
        ("vacr record -o x", "file,x"),
        ("vacr record --agent c", "plain,claude-code"),
        ("vacr validate --rule tok", "plain,token-usage"),
        ("vacr validate --schema x", "file,x"),
        ("vacr convert --to c", "plain,cbor"),
    ],
)
def test_completion_offers_verbs_files_and_values(vacr, words, expected):
    done = vacr(
        _VACR_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1)
    )
    assert expected in done.out.splitlines()


def test_every_option_of_every_verb_reads_its_variable(vacr):
    import click

    from vacr.cli import group

    def list_leaf_commands(command, prefix):
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from list_leaf_commands(command.get_command(context, name), [*prefix, name])
        else:
            yield command, prefix

    for command, prefix in list_leaf_commands(group, []):
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                long = max(parameter.opts, key=len).lstrip("-").replace("-", "_")
                if len(long) == 1:  # A flag of git, which has no long form.
                    continue
                assert parameter.name == long, (
                    f"{' '.join(prefix)} --{long} reads VACR_…_{parameter.name.upper()}"
                )
    assert vacr("convert", "missing", VACR_CONVERT_TO="cbor").returncode == 3


def test_sealed_source_of_another_session_is_not_overwritten(vacr):
    assert vacr("record", CLAUDE, "-o", "col.json", "--seal-source").returncode == 0
    done = vacr("record", CODEX, "-o", "col.cbor", "--cbor", "--seal-source")
    assert done.returncode == 2
    assert "contains another source" in done.err
    assert vacr("restore", "col.json", "-o", "back/").returncode == 0
    assert vacr("record", CLAUDE, "-o", "col.cbor", "--cbor", "--seal-source").returncode == 0


@pytest.mark.parametrize(
    "change",
    [
        {"name": ["a"]},
        {"name": {}},
        {"size": 10**30},
        {"size": 2**63 - 1},
        {"size": -1},
        {"size": True},
        {"sha-256": 5},
    ],
)
def test_malformed_manifest_is_refused(vacr, tmp_path, change):
    vacr("record", CLAUDE, "--seal-source")
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    record["vacr"]["source"]["parts"][0] |= change
    record["id"] = compute_record_id(record)
    (tmp_path / "claude-code.acr.json").write_text(json.dumps(record))
    assert vacr("restore", "claude-code.acr.json", "-o", "back/").returncode == 1
    assert not (tmp_path / "back").exists()


def test_restore_follows_no_link_out_of_its_folder(vacr, tmp_path):
    main = next((FIXTURES / "claude" / "project").glob("3*.jsonl"))
    vacr("record", main, "--seal-source")
    (tmp_path / "victim").mkdir()
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / main.stem).symlink_to(tmp_path / "victim")
    done = vacr("restore", f"{main.stem}.acr.json", "-o", "back/")
    assert done.returncode == 1
    assert list((tmp_path / "victim").iterdir()) == []


def test_closed_streams_are_handled(tmp_path):
    for command, code in (
        (f'record "{CLAUDE}" -o - >&-', 3),
        ("record - <&-", 3),
        (f'record "{CLAUDE}" 2>&-', 0),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{COMMAND} {command}"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == code, command
    assert (tmp_path / "claude-code.acr.json").exists()


def test_name_with_a_line_break_cannot_forge_lines(vacr, tmp_path):
    session = tmp_path / "a\nb: valid.jsonl"
    session.write_bytes(CLAUDE.read_bytes() + b"broken\n")
    done = vacr("record", session)
    assert len(done.out.splitlines()) == 1
    assert len(done.err.splitlines()) == 1


def test_many_bad_lines_are_summarised(vacr, tmp_path):
    (tmp_path / "abc.jsonl").write_bytes(CLAUDE.read_bytes() + b"x\n" * 500)
    done = vacr("record", "abc.jsonl")
    assert len(done.err.splitlines()) == 21
    more = "abc.jsonl: 480 more lines with notices; --format json lists all of them"
    assert more in done.err


def test_checks_beyond_the_schema_always_run(vacr, tmp_path):
    vacr("record", CLAUDE)
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes())
    record["session"]["entries"][5]["id"] = record["session"]["entries"][4]["id"]
    (tmp_path / "bad.json").write_text(json.dumps(record))
    for options in (
        [],
        ["--schema", "v3"],
        ["--rule", "start"],
        ["--rule", "(verifiable-agent-record)"],
    ):
        assert vacr("validate", "bad.json", *options).returncode == 1, options


def test_schema_of_a_user_can_reuse_our_names(vacr, tmp_path):
    (tmp_path / "v3my.cddl").write_text(
        "verifiable-agent-record = any\nsigned-agent-record = { * tstr => any }\nsession-trace "
        "= [* int]\n"
    )
    for value, rule in (
        ("5", "verifiable-agent-record"),
        ('{"session":{}}', "signed-agent-record"),
        ("[1,2]", "session-trace"),
    ):
        (tmp_path / "x.json").write_text(value)
        assert vacr("validate", "x.json", "--schema", "v3my.cddl", "--rule", rule).returncode == 0


def test_signed_records_are_validated(vacr, tmp_path):
    import cbor2

    from vacr.record.encoding import encode

    vacr("record", CLAUDE)
    payload = (tmp_path / "claude-code.acr.json").read_bytes()
    digest = hashlib.sha256(payload).hexdigest()
    metadata = {
        "session-id": "s",
        "agent-vendor": "anthropic",
        "trace-format": "ietf-vac-v3.0",
        "timestamp-start": "2026-01-01T00:00:00Z",
        "content-hash": digest,
    }
    protected = encode({1: -8, 3: "application/json"}, "cbor")

    def verdict(content, **changes):
        signed = cbor2.CBORTag(18, [protected, {100: metadata | changes}, content, bytes(64)])
        (tmp_path / "x.cose").write_bytes(encode(signed, "cbor"))
        return vacr("validate", "x.cose").returncode

    assert verdict(payload) == 0
    assert verdict(None) == 0
    assert verdict(payload, **{"content-hash": "00" * 32}) == 1
    tampered = payload.replace(b"off by a cent", b"off by a euro")
    assert verdict(tampered, **{"content-hash": hashlib.sha256(tampered).hexdigest()}) == 1
    native = b'{"sessionId":"x","messages":[]}'
    assert (
        verdict(
            native,
            **{"content-hash": hashlib.sha256(native).hexdigest(), "trace-format": "gemini-json"},
        )
        == 0
    )


def test_record_that_only_cbor_can_encode_does_not_stop_the_others(vacr, tmp_path):
    from vacr.record.encoding import encode

    vacr("record", CLAUDE)
    record = json.loads((tmp_path / "claude-code.acr.json").read_bytes()) | {"blob": b"\x00"}
    (tmp_path / "odd.cbor").write_bytes(encode(record, "cbor"))
    done = vacr("validate", "odd.cbor", "claude-code.acr.json")
    assert done.returncode == 1
    assert "odd.cbor: invalid" in done.out
    assert "claude-code.acr.json: valid" in done.out


@pytest.mark.parametrize(
    "verb",
    [("validate",), ("convert", "--to", "v2"), ("restore", "-o", "out/")],
    ids=lambda verb: verb[0],
)
def test_refusal_of_a_file_names_the_place_and_the_next_step(vacr, verb):
    done = vacr(verb[0], CLAUDE, *verb[1:])
    assert done.returncode == 3
    message, hint = done.err.splitlines()
    assert "claude-code.jsonl: " in message
    assert "line 2, column 1" in message
    assert "record" in hint


def test_missing_session_is_an_error(vacr, tmp_path):
    for place in (CLAUDE, FIXTURES / "opencode" / "storage"):
        done = vacr("record", place, "--session", "nobody's")
        assert done.returncode == 3
        assert (
            "session nobody's not found\n  To list the sessions: vacr list -v. Without --session"
            in done.err
        )
    assert vacr("record", "--session", "nobody's").returncode == 2
    assert not list(tmp_path.glob("*.acr.json"))


def test_many_findings_are_limited(vacr, tmp_path):
    (tmp_path / "entries.json").write_text(json.dumps([{"type": 1}] * 200))
    assert "invalid, at least 100 findings\n" in vacr("validate", "entries.json").out


def test_missing_schema_or_version_is_reported(vacr):
    assert (
        "A schema is v3, v2, v1 or a file in CDDL."
        in vacr("validate", CLAUDE, "--schema", "v4").err
    )
    done = vacr("validate", "-", stdin=b'{"version":"9","id":"x","session":{}}')
    assert 'no schema for version text "9", expected 3.* or 2.* or 1.*' in done.out


@pytest.mark.parametrize(
    "arguments",
    [("record", CLAUDE, "-o", ""), ("record", ""), ("convert", "", "--to", "v2"), ("validate", "")],
)
def test_empty_name_is_refused(vacr, arguments):
    done = vacr(*arguments)
    assert done.returncode == 2
    assert "The path is empty" in done.err


def test_records_of_a_folder_are_validated(vacr, tmp_path):
    vacr("record", EXAMPLES, "-o", "records/deep/")
    done = vacr("validate", "records")
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.out.splitlines()] == sorted(
        f"records/deep/{example.stem}.acr.json" for example in EXAMPLES.iterdir()
    )
    (tmp_path / "records" / "bad.acr.json").write_text("{")
    assert vacr("validate", "records").returncode == 3
    (tmp_path / "none").mkdir()
    done = vacr("validate", "none")
    assert done.returncode == 3
    assert "none: unreadable: no records found" in done.err


def test_sealed_source_is_mentioned(vacr):
    assert vacr("record", CLAUDE, "--seal-source").out.endswith("kB, source sealed\n")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_records_on_standard_output_follow_each_other_directly(vacr, form):
    plain = vacr("record", CLAUDE, "examples", CODEX, "-o", "-")
    assert [
        json.loads(line)["session"]["agent-meta"]["cli-name"] for line in plain.out.splitlines()
    ] == [
        "claude-code",
        "codex-cli",
    ]
    assert vacr("record", CLAUDE, "examples", CODEX, "-o", "-", "--format", form).out == plain.out


def test_json_reports_errors_about_any_file_name(vacr, tmp_path):
    name = os.fsdecode(b"a\xff")
    shutil.copy(CLAUDE, tmp_path / f"{name}.jsonl")
    (tmp_path / f"{name}.acr.json").write_text("something else")
    done = vacr("record", f"{name}.jsonl", "--format", "json")
    assert done.returncode == 2
    assert "a\ufffd.acr.json exists" in json.loads(done.out)["errors"][0]["error"]


def test_help_groups_the_options_of_a_verb_with_many(vacr):
    text = vacr("verify", "--help").out
    headings = ["Options:", "Signature:", "Log:", "Evidence:", "General:"]
    assert sorted(headings, key=text.index) == headings
    assert text.index("Signature:") < text.index("--trust FILE") < text.index("Log:")
    every_option = set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", text, re.MULTILINE))
    assert {"--trust", "--source", "--log-key", "--nonce", "--format", "--help"} <= every_option
    assert "Signature:" not in vacr("list", "--help").out


def test_help_gives_no_heading_to_a_lone_option(vacr):
    text = vacr("search", "--help").out
    assert "Filters:" in text
    assert "Journal:" not in text
    assert text.index("Options:") < text.index("--limit N") < text.index("Filters:")


def test_folder_is_not_sealed_into_the_agents_own_store(vacr, tmp_path):
    store = tmp_path / "home" / ".claude" / "projects" / "x"
    store.mkdir(parents=True)
    shutil.copy(CLAUDE, store / "abc.jsonl")
    vacr("key", "generate", "-o", tmp_path / "keys")
    key = ("--key", tmp_path / "keys" / "signing.pem")
    for arguments in (("abc.jsonl",), (".",), (".", "-o", "./")):
        done = vacr("seal", *arguments, *key, cwd=store)
        assert "the session folder of the agent" in done.err
        assert [path.name for path in store.iterdir()] == ["abc.jsonl"]
