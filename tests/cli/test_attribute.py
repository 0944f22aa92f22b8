"""`vacr attribute`: written files, printed reports, checks and refusals."""

import json
import subprocess

import pytest

from tests.attribution.claude_session import ROOT, ClaudeSession
from tests.attribution.working_agent import commit, repository
from tests.discovery.opencode_database import OpenCode, conversation
from vacr.record.encoding import assign_record_id

TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def session(tmp_path):
    claude_session = ClaudeSession()
    claude_session.read("a.py", TEXT)
    claude_session.edit("a.py", "two", "2")
    (tmp_path / "s.jsonl").write_bytes(claude_session.native())
    return claude_session


@pytest.mark.usefixtures("session")
def test_session_and_its_record_are_attributed_equally(vacr, tmp_path):
    assert vacr("record", "s.jsonl").returncode == 0
    done = vacr("attribute", "s.acr.json")
    assert (done.returncode, done.out) == (0, "s.attributed.acr.json: 1 file, lines: 1 ai\n")
    assert vacr("attribute", "s.jsonl", "-o", "n/").returncode == 0
    assert (tmp_path / "n" / "s.attributed.acr.json").read_bytes() == (
        tmp_path / "s.attributed.acr.json"
    ).read_bytes()
    assert vacr("validate", "s.attributed.acr.json").returncode == 0
    assert vacr("attribute", "s.acr.json").out.endswith(", unchanged\n")
    assert vacr("convert", "s.attributed.acr.json", "--to", "v1").returncode == 0


@pytest.mark.usefixtures("session")
def test_name_of_the_output_selects_the_encoding(vacr, tmp_path):
    assert vacr("attribute", "s.jsonl", "-o", "s.acr.cbor").returncode == 0
    assert vacr("attribute", "s.acr.cbor", "-o", "s.acr.json").returncode == 0
    assert vacr("convert", "s.acr.json", "--to", "cbor", "-o", "again.acr.cbor").returncode == 0
    assert (tmp_path / "again.acr.cbor").read_bytes() == (tmp_path / "s.acr.cbor").read_bytes()
    assert json.loads((tmp_path / "s.acr.json").read_bytes())["file-attribution"]["files"]


@pytest.mark.usefixtures("session")
def test_history_lists_each_call(vacr):
    (line,) = vacr("attribute", "s.jsonl", "--history").out.splitlines()
    call = {
        "call-id": "s-call-2",
        "path": "a.py",
        "ranges": [[2, 2]],
        "evidence": "replayed",
        "model-id": "anthropic/claude-opus-4-5",
    }
    assert json.loads(line) == call


@pytest.mark.usefixtures("session")
def test_changed_attribution_is_detected(vacr, tmp_path):
    vacr("attribute", "s.jsonl")
    assert vacr("attribute", "s.attributed.acr.json", "--check").returncode == 0
    path = tmp_path / "s.attributed.acr.json"
    record = json.loads(path.read_bytes())
    record["file-attribution"]["files"][0]["conversations"][0]["ranges"][0]["end-line"] = 3
    path.write_text(json.dumps(record))
    done = vacr("attribute", path, "--check", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.out)["results"][0]["same"] is False
    vacr("record", "s.jsonl")
    assert vacr("attribute", "s.acr.json", "--check").returncode == 1


def test_base_repository_supplies_file_contents(vacr, tmp_path, session):
    repository = tmp_path / "with space"
    repository.mkdir()
    (repository / "a.py").write_text(TEXT)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=m", "-c", "user.email=m@x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", repository, *command], check=True)
    session.lines = [
        line
        for line in session.lines
        if "Read" not in json.dumps(line) and '"startLine"' not in json.dumps(line)
    ]
    (tmp_path / "s.jsonl").write_bytes(session.native())
    done = vacr("attribute", "s.jsonl", "--base", repository, "--format", "json")
    assert json.loads(done.out)["records"][0]["lines"] == {"ai": 1}
    assert vacr("attribute", "s.attributed.acr.json", "--check").returncode == 1
    assert (
        vacr(
            "attribute", "s.attributed.acr.json", "--check", "--base", f"{repository}@HEAD"
        ).returncode
        == 0
    )
    for wrong, code in ((f"{repository}@nope", 3), (tmp_path / "nowhere", 2)):
        done = vacr("attribute", "s.jsonl", "--base", wrong)
        assert done.returncode == code


@pytest.mark.usefixtures("session")
def test_unknown_kind_of_related_link_is_refused(vacr):
    assert vacr("attribute", "s.jsonl", "--related", "issue").returncode == 2


def test_longer_of_two_recordings_counts(vacr, tmp_path, session):
    session.edit("a.py", "three", "3")
    (tmp_path / "longer.jsonl").write_bytes(session.native())
    done = vacr("attribute", "s.jsonl", "longer.jsonl", "--history")
    assert len(done.out.splitlines()) == 2
    assert "s.jsonl: skipped: a shorter recording of the session in longer.jsonl" in done.err


@pytest.mark.usefixtures("session")
def test_unreadable_record_does_not_stop_the_checks_of_others(vacr, tmp_path):
    vacr("attribute", "s.jsonl")
    (tmp_path / "bad.acr.json").write_text("{")
    for names in (
        ["bad.acr.json", "s.attributed.acr.json"],
        ["s.attributed.acr.json", "bad.acr.json"],
    ):
        done = vacr("attribute", "--check", *names)
        assert (done.returncode, done.out) == (
            3,
            "s.attributed.acr.json: attribution recomputed, identical\n",
        )
        assert "bad.acr.json" in done.err
    (tmp_path / "invalid.acr.json").write_text('{"version": "3.0.0-draft", "session": {}}')
    done = vacr("attribute", "--check", "bad.acr.json", "invalid.acr.json", "--format", "json")
    assert (done.returncode, [result["same"] for result in json.loads(done.out)["results"]]) == (
        1,
        [False, False],
    )


@pytest.mark.usefixtures("session")
def test_every_record_of_a_folder_is_checked(vacr, tmp_path):
    vacr("attribute", "s.jsonl", "-o", "checked/")
    good = tmp_path / "checked/s.attributed.acr.json"
    forged = json.loads(good.read_bytes())
    forged["file-attribution"]["files"][0]["conversations"][0]["ranges"][0]["end-line"] = 3
    assign_record_id(forged)
    (tmp_path / "checked/t.acr.json").write_text(json.dumps(forged))
    done = vacr("attribute", "--check", "checked", "--format", "json")
    assert done.returncode == 1
    reasons = {result["source"]: result["reason"] for result in json.loads(done.out)["results"]}
    assert reasons == {
        "checked/s.attributed.acr.json": "",
        "checked/t.acr.json": "the recomputed attribution differs from the one in the record",
    }


def test_modified_record_is_refused(vacr, tmp_path, session):
    session.line(type="user", message={"role": "user", "content": "Thank you"})
    (tmp_path / "s.jsonl").write_bytes(session.native())
    vacr("attribute", "s.jsonl")
    path = tmp_path / "s.attributed.acr.json"
    path.write_bytes(path.read_bytes().replace(b"Thank you", b"Go on now"))
    for arguments in (
        ["attribute"],
        ["attribute", "--history"],
        ["attribute", "--check"],
        ["replay"],
    ):
        done = vacr(*arguments, path)
        assert (done.returncode, "the record was modified" in done.out + done.err) == (
            1,
            True,
        ), arguments


@pytest.mark.usefixtures("session")
def test_records_are_checked_with_the_records_attributed_with_them(vacr, tmp_path):
    other = ClaudeSession("t", start=600)
    other.read("a.py", TEXT.replace("two", "2"))
    other.edit("a.py", "2", "second")
    (tmp_path / "t.jsonl").write_bytes(other.native())
    vacr("attribute", "s.jsonl", "t.jsonl", "-o", "joined/")
    vacr("attribute", "s.jsonl", "-o", "alone/")
    vacr("attribute", "t.jsonl", "-o", "alone/")
    alone, joined = (
        (tmp_path / folder / "s.attributed.acr.json").read_bytes() for folder in ("alone", "joined")
    )
    assert alone != joined
    for names in (["joined"], ["alone"], ["alone", "joined"]):
        done = vacr("attribute", "--check", *names)
        assert done.returncode == 0, done.out
    done = vacr("attribute", "--check", "joined/s.attributed.acr.json")
    assert (done.returncode, "made from several records; name all of them" in done.out) == (1, True)


@pytest.mark.usefixtures("session")
def test_check_reports_why_attributions_differ(vacr, tmp_path):
    path = tmp_path / "s.attributed.acr.json"
    for member, message in (
        ("version", "another version of vacr"),
        ("files", "the recomputed attribution differs"),
    ):
        path.unlink(missing_ok=True)
        vacr("attribute", "s.jsonl")
        record = json.loads(path.read_bytes())
        record["vacr"]["attribution"][member] = {} if member == "files" else 0
        assign_record_id(record)
        path.write_text(json.dumps(record))
        assert message in vacr("attribute", "--check", path).out


def test_sessions_of_a_database_have_results_named_like_their_records(vacr, tmp_path):
    database = OpenCode(tmp_path / "opencode.db")
    conversation(database, "ses_one", "a")
    conversation(database, "ses_two", "b")
    database.close()
    assert vacr("record", "opencode.db", "-o", "records/").returncode == 0
    assert vacr("attribute", "opencode.db", "-o", "out/").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "opencode.ses_one.attributed.acr.json",
        "opencode.ses_two.attributed.acr.json",
    ]
    assert vacr("attribute", "records", "-o", "out/").out.count(", unchanged") == 2


def test_sessions_of_a_folder_have_results_with_their_own_names(vacr, tmp_path, session):
    other = ClaudeSession("t", start=600)
    other.write("b.py", "b = 1\n")
    (tmp_path / "in/below").mkdir(parents=True)
    (tmp_path / "in/s.jsonl").write_bytes(session.native())
    (tmp_path / "in/below/s.jsonl").write_bytes(other.native())
    (tmp_path / "in/notes.txt").write_text("no session\n")
    names = {"s.attributed.acr.json", "below/s.attributed.acr.json"}
    assert vacr("attribute", "in", "-o", "out/").returncode == 0
    assert {
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.json")
    } == names
    vacr("record", "in", "-o", "records/")
    assert vacr("attribute", "records", "-o", "out/").out.count(", unchanged") == 2
    third = ClaudeSession("u", start=900)
    third.write("c.py", "c = 1\n")
    (tmp_path / "records/u.jsonl").write_bytes(third.native())
    done = vacr("attribute", "records", "--history")
    assert len(done.out.splitlines()) == 3, "records and sessions in one folder both count"
    done = vacr("attribute", "in", "-o", "one.acr.json")
    assert (done.returncode, (tmp_path / "one.acr.json").exists()) == (2, False)


def test_folder_without_sessions_is_reported(vacr, tmp_path):
    (tmp_path / "empty").mkdir()
    for verb in ("attribute", "replay"):
        done = vacr(verb, "empty")
        assert (
            done.returncode,
            "no records or sessions found" in done.err,
            "vacr list" in done.err,
        ) == (
            3,
            True,
            True,
        )


@pytest.mark.usefixtures("session")
def test_record_can_have_any_file_name(vacr, tmp_path):
    vacr("attribute", "s.jsonl", "-o", "proof.json")
    assert vacr("attribute", "proof.json", "--check").returncode == 0
    (tmp_path / "list.json").write_text("[1]")
    done = vacr("attribute", "list.json")
    assert (done.returncode, "--agent" in done.err) == (3, False)
    (tmp_path / "bad.acr.json").write_text("{")
    assert "bad.acr.json: line 1" in vacr("attribute", "bad.acr.json").err


@pytest.mark.usefixtures("session")
def test_conflicting_options_are_refused(vacr):
    for arguments in (["--history", "--check"], ["--history", "-o", "x"], ["--check", "-o", "x"]):
        assert vacr("attribute", "s.jsonl", *arguments).returncode == 2, arguments


@pytest.mark.usefixtures("session")
def test_history_is_the_same_in_both_formats(vacr):
    assert (
        vacr("attribute", "s.jsonl", "--history", "--format", "json").out
        == vacr("attribute", "s.jsonl", "--history").out
    )


@pytest.mark.usefixtures("session")
def test_lines_are_listed_on_request(vacr):
    assert vacr("attribute", "s.jsonl", "-v").out.splitlines()[1:] == ["  a.py: 2 ai replayed"]


@pytest.mark.usefixtures("session")
def test_base_of_another_project_is_reported(vacr, tmp_path):
    folder = repository(tmp_path / "other")
    (folder / "b.py").write_text("b\n")
    commit(folder)
    assert (
        "either it is the wrong repository, or all of them are new"
        in vacr("attribute", "s.jsonl", "--base", folder, "-o", "-").err
    )


def test_replay_writes_only_completely_known_files(vacr, tmp_path, session):
    session.call(
        "Edit",
        {
            "file_path": f"{ROOT}/b.py",
            "old_string": "old words here",
            "new_string": "new words here",
        },
    )
    (tmp_path / "s.jsonl").write_bytes(session.native())
    done = vacr("replay", "s.jsonl", "--out", "tree", "--format", "json")
    report = {file["path"]: file["complete"] for file in json.loads(done.out)["files"]}
    assert report == {"a.py": True, "b.py": False}
    assert (tmp_path / "tree" / "a.py").read_text() == TEXT.replace("two", "2")
    assert not (tmp_path / "tree" / "b.py").exists()


@pytest.fixture
def attribute_two_sessions(vacr, tmp_path):
    """Attribute two sessions that changed one line, each alone and both together."""
    for number, (name, old, new) in enumerate((("s", "two", "2"), ("t", "2", "II"))):
        claude_session = ClaudeSession(name=name, start=number * 1000)
        claude_session.read("a.py", TEXT.replace("two", old))
        claude_session.edit("a.py", old, new)
        (tmp_path / f"{name}.jsonl").write_bytes(claude_session.native())
        assert vacr("attribute", f"{name}.jsonl", "-o", "alone/").returncode == 0
    assert vacr("attribute", "s.jsonl", "t.jsonl", "-o", "both/").returncode == 0


@pytest.mark.usefixtures("attribute_two_sessions")
@pytest.mark.parametrize("folder", ["alone", "both"])
def test_records_are_checked_like_they_were_attributed(vacr, tmp_path, folder):
    assert vacr("attribute", *sorted((tmp_path / folder).iterdir()), "--check").returncode == 0


@pytest.mark.usefixtures("session")
def test_check_ignores_a_base_that_the_attribution_did_not_use(vacr, tmp_path):
    vacr("attribute", "s.jsonl")
    git = ["git", "-C", tmp_path, "-c", "user.name=m", "-c", "user.email=m@example.org"]
    (tmp_path / "a.py").write_text("other\n")
    for words in (["init", "-q"], ["add", "a.py"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *words], check=True)
    assert vacr("attribute", "s.attributed.acr.json", "--check", "--base", tmp_path).returncode == 0


@pytest.mark.usefixtures("session")
def test_number_does_not_equal_a_boolean(vacr, tmp_path):
    vacr("attribute", "s.jsonl")
    path = tmp_path / "s.attributed.acr.json"
    record = json.loads(path.read_bytes())
    record["vacr"]["attribution"]["files"]["a.py"]["complete"] = 0
    path.write_text(json.dumps(record))
    assert vacr("attribute", path, "--check").returncode == 1


@pytest.mark.usefixtures("session")
def test_records_of_versions_2_and_3_are_attributed_equally(vacr, tmp_path):
    vacr("record", "s.jsonl")
    vacr("convert", "s.acr.json", "--to", "v2", "-o", "old.acr.json")
    assert vacr("attribute", "s.acr.json", "-o", "new.acr.json").returncode == 0
    assert vacr("attribute", "old.acr.json", "-o", "back.acr.json").returncode == 0
    new, back = (
        json.loads((tmp_path / name).read_bytes()) for name in ("new.acr.json", "back.acr.json")
    )
    assert new == back


@pytest.mark.usefixtures("session")
def test_attribution_without_its_session_is_not_replaced(vacr):
    vacr("attribute", "s.jsonl")
    vacr("convert", "s.attributed.acr.json", "--to", "v1", "-o", "old.acr.json")
    done = vacr("attribute", "old.acr.json", "-o", "-")
    assert (done.returncode, done.out) == (3, "")
    assert "The file may be a part of a record, or have version 1." in done.err


def test_unreadable_inputs_are_named(vacr, tmp_path):
    (tmp_path / "bad.acr.json").write_text("{")
    (tmp_path / "part.acr.json").write_text("[]")
    done = vacr("attribute", "bad.acr.json")
    assert (done.returncode, done.err.startswith("vacr: bad.acr.json: line 1")) == (3, True)
    done = vacr("replay", "part.acr.json")
    assert (done.returncode, done.err.startswith("vacr: part.acr.json: not the record")) == (
        3,
        True,
    )


@pytest.mark.usefixtures("attribute_two_sessions")
def test_results_with_the_same_name_do_not_overwrite_each_other(vacr, tmp_path):
    for folder, name in (("x", "s"), ("y", "t")):
        (tmp_path / folder).mkdir()
        (tmp_path / f"{name}.jsonl").rename(tmp_path / folder / "same.jsonl")
    done = vacr("attribute", "x/same.jsonl", "y/same.jsonl", "-o", "out/", "--overwrite")
    assert (done.returncode, "two records would be written to" in done.err) == (2, True)
