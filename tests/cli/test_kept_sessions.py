"""Sessions that `vacr keep` copied, in all verbs, after their agent has deleted them."""

import json
import os
import shutil
import time

import pytest

from tests.attribution.working_agent import Agent, commit, repository
from tests.conftest import EXAMPLES, FIXTURES
from tests.discovery import homes
from tests.log.scrapi import Scrapi
from tests.vectors.statements import Key
from vacr.discovery import list_sessions
from vacr.workflows import keep_session

pytestmark = pytest.mark.component

DAY = 86_400
SESSION = "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113"
PROJECT = "/home/mira/invoice"
NATIVE = (EXAMPLES / "claude-code.jsonl").read_bytes()
IDENTITY = {
    f"GIT_{role}_{name}": value
    for role in ("AUTHOR", "COMMITTER")
    for name, value in {"NAME": "Mira", "EMAIL": "mira@example.org"}.items()
}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "home/.claude/projects"


@pytest.fixture
def kept_folder(tmp_path):
    return tmp_path / "home/.local/state/vacr/kept"


@pytest.fixture
def transcript(vacr, store):
    """Return a session that is kept, and still there."""
    path = store / f"-home-mira-invoice/{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(NATIVE)
    keep_all(vacr, store)
    return path


@pytest.fixture
def deleted(transcript):
    """Return the path of a session that is kept, and that the agent has deleted."""
    transcript.unlink()
    return transcript


def keep_all(vacr, store):
    for path in store.rglob("*.jsonl"):
        os.utime(path, (time.time() - 27 * DAY,) * 2)
    done = vacr("keep", "-q")
    assert (done.returncode, done.err) == (0, "")


def list_documents(vacr, *options):
    done = vacr("list", "--format", "json", *options)
    assert done.returncode in (0, 1), done.err
    sessions = json.loads(done.out)["sessions"] if done.out else []
    return [(item["session-id"], item["kept"]) for item in sessions]


@pytest.mark.usefixtures("deleted")
def test_list_has_the_deleted_session_marked_kept(vacr, kept_folder):
    assert list_documents(vacr) == [(SESSION, True)]
    done = vacr("list", "-v")
    assert done.returncode == 0
    assert "(kept) Fix invoice rounding" in done.out
    assert PROJECT in done.out
    assert f"  {next(kept_folder.rglob('*.acr.json'))}" in done.out


@pytest.mark.usefixtures("transcript")
def test_session_that_is_still_there_is_listed_once(vacr):
    assert list_documents(vacr) == [(SESSION, False)]
    assert "(kept)" not in vacr("list").out


@pytest.mark.parametrize(
    ("options", "matches"),
    [
        (("--agent", "claude"), True),
        (("--agent", "codex"), False),
        (("--since", "2026-03-01"), True),
        (("--since", "2026-03-01", "--until", "2026-03-02"), False),
        (("--project", PROJECT), True),
        (("--project", "/home/mira/other"), False),
        (("--repo", "no-such-repository"), False),
    ],
)
@pytest.mark.usefixtures("deleted")
def test_options_choose_kept_sessions(vacr, options, matches):
    assert list_documents(vacr, *options) == ([(SESSION, True)] if matches else [])
    for verb, *more in (("show",), ("show", "latest"), ("stats",), ("view", "-o", "pages/")):
        done = vacr(verb, *more, *options)
        assert (done.returncode == 0) == matches, (verb, more, done.err)


def test_repository_chooses_kept_sessions(vacr, tmp_path):
    home = tmp_path / "home"
    path = home / ".codex/sessions/2026/07/25/rollout-1.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copy(EXAMPLES / "codex-cli.jsonl", path)
    [session] = list_sessions(environment={"HOME": str(home)})
    assert keep_session(home / ".local/state/vacr", session).errors == []
    assert list_documents(vacr, "--repo", "git.example/invoice") == [(session.session_id, False)]
    path.unlink()
    assert list_documents(vacr, "--repo", "git.example/invoice") == [(session.session_id, True)]
    assert vacr("show", "latest", "--repo", "git.example/invoice").returncode == 0


@pytest.mark.usefixtures("deleted")
def test_latest_is_a_kept_session(vacr, store):
    expected = vacr("show", SESSION[:8]).out
    assert expected
    for name in ("latest", "latest:claude", "latest:claude-code"):
        done = vacr("show", name)
        assert (done.returncode, done.out) == (0, expected), done.err
    assert vacr("view", "latest:claude", "-o", "page.html").returncode == 0
    homes.claude_session(store / "x/session-2.jsonl", 20)
    assert "question 20" in vacr("show", "latest").out


def test_summary_of_a_kept_session_is_that_of_its_transcript(vacr, transcript):
    before = json.loads(vacr("list", "--format", "json").out)["sessions"][0]
    transcript.unlink()
    for _ in range(2):  # The second list knows the record from the cache.
        after = json.loads(vacr("list", "--format", "json").out)["sessions"][0]
        changed = {name for name in before if before[name] != after[name]}
        assert changed == {"path", "size", "kept"}


@pytest.mark.usefixtures("deleted")
def test_damaged_copy_is_reported_and_hides_nothing(vacr, kept_folder):
    record = next(kept_folder.rglob("*.acr.json"))
    for text in ("{", "[]", '{"version": "3", "session": 1}', '{"session": {"session-id": 1}}'):
        damaged = record.with_name("7a0d1c52.01234567.acr.json")
        damaged.write_text(text)
        done = vacr("list")
        assert done.returncode == 0
        assert SESSION[:8] in done.out
        assert damaged.name in done.err, text
        assert "Move the file to another folder" in done.err


@pytest.mark.usefixtures("deleted")
def test_doctor_counts_kept_sessions(vacr):
    done = vacr("doctor", "--format", "json")
    messages = [finding["message"] for finding in json.loads(done.out)["findings"]]
    assert "claude-code: 1 session, 1 of them deleted by the agent and kept by you" in messages
    assert "no sessions found on this machine" not in messages


def test_sub_agents_of_a_kept_session_belong_to_it(vacr, store):
    shutil.copytree(FIXTURES / "claude/project", store / "-home-nora-till")
    before = vacr("list", "--format", "json", "--agent", "claude").out
    shown = vacr("show", homes.CLAUDE).out
    keep_all(vacr, store)
    shutil.rmtree(store)
    after = vacr("list", "--format", "json", "--agent", "claude").out
    counts = [
        {item["session-id"]: item["sub-agents"] for item in json.loads(listed)["sessions"]}
        for listed in (before, after)
    ]
    assert counts[0][homes.CLAUDE] == counts[1][homes.CLAUDE] > 0
    assert vacr("show", homes.CLAUDE).out == shown


# --- blame, stats --lines, notes ---


@pytest.fixture
def work(vacr, tmp_path, store):
    """Return a repository with the work of an agent whose session is kept, and deleted."""
    repo = repository(tmp_path / "repo")
    (repo / "app.py").write_text("first = 1\n")
    commit(repo, "Start")
    agent = Agent(repo).asked("Add a line").read("app.py")
    agent.edit("app.py", "first = 1\n", "first = 1\nsecond = 2\n")
    agent.save(store / "some-folder")
    commit(repo, "Add")
    keep_all(vacr, store)
    return repo


def test_blame_statistics_and_notes_use_kept_sessions(vacr, work, store):
    blame = ("blame", "app.py", "--format", "json")
    count = ("stats", "--lines", "HEAD~1..HEAD", "--format", "json")

    def list_contributors():
        """Return the type of the contributor of each line."""
        return [
            line["contributor"]["type"] for line in json.loads(vacr(*blame, cwd=work).out)["lines"]
        ]

    before = list_contributors(), json.loads(vacr(*count, cwd=work).out)
    assert before[0] == ["unknown", "ai"]
    shutil.rmtree(store)
    assert (list_contributors(), json.loads(vacr(*count, cwd=work).out)) == before
    done = vacr("notes", "write", "HEAD", "--format", "json", cwd=work, **IDENTITY)
    assert done.returncode == 0, done.err
    assert json.loads(done.out)["commits"][0]["state"] == "written"


# --- seal, record ---


@pytest.mark.usefixtures("deleted")
def test_seal_signs_and_registers_the_kept_record(vacr, tmp_path):
    assert vacr("key", "generate", "-o", "keys/", "-q").returncode == 0
    with Scrapi() as service:
        (tmp_path / "log.pem").write_bytes(Key(service.log.signer.key).public_pem)
        reached = ("--service", service.url, "--log-key", "log.pem")
        seal = ("seal", SESSION[:8], "--key", "keys/signing.pem", *reached, "-o", "sealed/")
        done = vacr(*seal, "--seal-source", "--format", "json")
        assert done.returncode == 0, done.err
        [sealed] = json.loads(done.out)["sealed"]
        assert (sealed["record"], sealed["state"]) == (f"sealed/{SESSION}.acr.json", "registered")
        assert sealed["signed"]
        again = vacr(*seal, "--format", "json")
        assert not json.loads(again.out)["sealed"][0]["signed"]
    record = json.loads((tmp_path / sealed["record"]).read_bytes())
    assert record["file-attribution"]["files"][0]["path"] == "total.py"
    done = vacr("verify", "sealed/", "--trust", "keys/signing.pub.pem", "--log-key", "log.pem")
    assert done.returncode == 0, done.err
    assert vacr("restore", sealed["record"], "-o", "back/").returncode == 0
    assert [path.read_bytes() for path in (tmp_path / "back").rglob("*.jsonl")] == [NATIVE]


def test_sealed_record_is_that_of_the_transcript(vacr, transcript, tmp_path):
    assert vacr("key", "generate", "-o", "keys/", "-q").returncode == 0
    seal = ("seal", "--key", "keys/signing.pem", "-q")
    assert vacr(*seal, SESSION, "-o", "before/").returncode == 0
    transcript.unlink()
    for options in ((SESSION,), ("latest",), ("--agent", "claude"), ("--project", PROJECT)):
        shutil.rmtree(tmp_path / "after", ignore_errors=True)
        done = vacr(*seal, *options, "-o", "after/")
        assert done.returncode == 0, (options, done.err)
        name = f"{SESSION}.acr.json"
        assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "before" / name).read_bytes()
    assert f"vacr verify after/{SESSION}.acr.json" in vacr("verify", SESSION).err


def test_sub_agents_are_sealed_and_restored_with_their_kept_session(vacr, store, tmp_path):
    folder = store / "-home-nora-till"
    shutil.copytree(FIXTURES / "claude/project", folder)
    assert vacr("key", "generate", "-o", "keys/", "-q").returncode == 0
    seal = ("seal", homes.CLAUDE, "--key", "keys/signing.pem", "-q", "-o")
    assert vacr(*seal, "before/").returncode == 0
    keep_all(vacr, store)
    shutil.rmtree(store)
    assert vacr(*seal, "after/").returncode == 0
    names = sorted(path.name for path in (tmp_path / "before").glob("*.acr.json"))
    assert len(names) > 1
    for name in names:
        assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "before" / name).read_bytes()
    done = vacr("restore", homes.CLAUDE, "-o", "back/")
    assert done.returncode == 0, done.err
    natives = {path.read_bytes() for path in (FIXTURES / "claude/project").rglob("*.jsonl")}
    restored = [path.read_bytes() for path in (tmp_path / "back").rglob("*.jsonl")]
    assert len(restored) == len(names)
    assert natives.issuperset(restored)


@pytest.mark.usefixtures("deleted")
def test_modified_copy_is_not_sealed(vacr, kept_folder, tmp_path):
    assert vacr("key", "generate", "-o", "keys/", "-q").returncode == 0
    record = next(kept_folder.rglob("*.acr.json"))
    record.write_text(record.read_text().replace("rounding", "roundinG"))
    done = vacr("seal", SESSION, "--key", "keys/signing.pem", "-o", "sealed/")
    assert done.returncode != 0
    assert "modified" in done.err
    assert not list(tmp_path.glob("sealed/*"))


def test_kept_session_is_recorded_like_any_other(vacr, transcript, tmp_path):
    assert vacr("record", SESSION, "-o", "before/").returncode == 0
    transcript.unlink()
    done = vacr("record", SESSION, "-o", "after/", "--seal-source")
    assert done.returncode == 0, done.err
    name = f"{SESSION}.acr.json"
    assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "before" / name).read_bytes()
    assert vacr("record", "-o", "newest/x.acr.json").returncode == 0


# --- restore ---


def test_restore_takes_the_id_of_a_kept_session(vacr, transcript, tmp_path):
    for number, name in enumerate((SESSION, "latest", SESSION[:8])):
        done = vacr("restore", name, "-o", f"back{number}/")
        assert done.returncode == 0, done.err
        assert (tmp_path / f"back{number}" / transcript.name).read_bytes() == NATIVE
        transcript.unlink(missing_ok=True)


@pytest.mark.usefixtures("deleted")
def test_restore_says_what_is_missing(vacr, kept_folder, tmp_path):
    sealed = next(kept_folder.rglob("*.source.zip"))
    sealed.unlink()
    done = vacr("restore", SESSION, "-o", "back/")
    assert done.returncode == 3
    assert "the sealed source is not here" in done.err
    assert f"vacr show {SESSION}" in done.err
    assert not (tmp_path / "back").exists()
    done = vacr("restore", "ffffffff", "-o", "back/")
    assert (done.returncode, "no session with this id" in done.err) == (3, True)


def test_restore_of_a_session_that_is_not_kept_names_its_file(vacr, store):
    path = homes.claude_session(store / "x/session-2.jsonl", 20)
    done = vacr("restore", "session-2", "-o", "back/")
    assert done.returncode == 3
    assert "no copy of this session is kept" in done.err
    assert str(path) in done.err.replace("\n", "")
    assert "vacr record session-2 --seal-source" in done.err


# --- keep ---


def test_keep_says_how_many_at_risk_are_kept_already(vacr, transcript, store):
    done = vacr("keep")
    assert done.out.startswith("Nothing new to keep: 1 of 1 at risk are already kept in ")
    assert done.err.count("at least once a week") == 1
    shutil.copy(transcript, store / "-home-mira-invoice/7a0d1c52-8a3e-4b57-9c1d-2e7a90b4d113.jsonl")
    for path in store.rglob("*.jsonl"):
        os.utime(path, (transcript.stat().st_mtime,) * 2)
    numbers = json.loads(vacr("keep", "--format", "json").out)
    assert (numbers["kept"], numbers["at-risk"], numbers["already-kept"]) == (1, 2, 1)
    for path in store.rglob("*.jsonl"):
        path.unlink()
    assert vacr("keep").out == "No session is deleted within 7 days.\n"
