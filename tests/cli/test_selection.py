"""Sessions chosen by agent, project, repository and time, in all verbs that take sessions."""

import json
import os
import shutil
import subprocess
import time

import pytest

from tests.conftest import EXAMPLES
from tests.discovery import homes
from tests.docs import home as reader

pytestmark = pytest.mark.component

MARCH = ("--since", "2026-03-14", "--until", "2026-03-14")


@pytest.fixture
def sessions(tmp_path):
    """Create the home of a person who used every agent, and return the folder of a store."""
    reader.fill_home(tmp_path / "home")
    return tmp_path / "home/.claude/projects"


def list_ids(vacr, *options):
    done = vacr("list", "--format", "json", *options)
    return {session["session-id"][:8] for session in json.loads(done.out)["sessions"]}


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (MARCH, {"3c9e7b10", "019cf2a1", "6f0d1c52"}),
        (("--agent", "claude-code", "--until", "2026-04-01"), {"3c9e7b10", "6f0d1c52"}),
        (("--since", "2026-05-01"), {"b6b1f0f4", "2f6c1b0e", "ses_1e8f", "7e2b9c54"}),
        (("--project", "/home/mira"), {"ses_1e8f", "3c9e7b10", "019cf2a1", "6f0d1c52"}),
        (("--project", "/home/mira/inv"), set()),
        (("--since", "2027-01-01"), set()),
    ],
)
def test_list_shows_the_selected_sessions(vacr, options, expected):
    assert list_ids(vacr, *options) == expected


@pytest.mark.usefixtures("sessions")
def test_verbs_without_paths_choose_among_all_sessions(vacr, tmp_path):
    options = ("--agent", "claude-code", "--project", "/home/mira/invoice", *MARCH)
    done = vacr("show", *options, "--only", "prompt")
    assert (done.returncode, done.out.count("claude-code ")) == (0, 2)
    assert vacr("view", *options, "-o", "site/").returncode == 0
    assert len(list((tmp_path / "site").glob("*.html"))) == 3
    assert vacr("export", *options, "--to", "markdown", "-o", "notes/").returncode == 0
    assert len(list((tmp_path / "notes").glob("*.md"))) >= 2
    assert vacr("init", "--yes").returncode == 0
    assert vacr("seal", *options[2:], "-o", "sealed/").returncode == 0
    assert len(list((tmp_path / "sealed").glob("*.cose"))) >= 2


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("options", [(), MARCH])
def test_seal_chooses_sessions_by_agent(vacr, tmp_path, options):
    expected = list_ids(vacr, "--agent", "codex-cli", *options)
    assert vacr("init", "--yes").returncode == 0
    done = vacr("seal", "--agent", "codex-cli", *options, "-o", "sealed/")
    assert done.returncode == 0, done.err
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "sealed").glob("*.acr.json")]
    assert {record["session"]["agent-meta"]["cli-name"] for record in records} == {"codex-cli"}
    assert {record["session"]["session-id"][:8] for record in records} == expected


@pytest.fixture
def twins(tmp_path):
    """Create two sessions of Copilot, whose files have one name, and some in one database."""
    homes.copilot(tmp_path / "home/.copilot")
    store = tmp_path / "home/.copilot/session-state"
    [first] = [path.name for path in store.iterdir() if (path / "events.jsonl").exists()][:1]
    second = f"9{first[1:]}"
    shutil.copytree(store / first, store / second)
    events = store / second / "events.jsonl"
    events.write_text(events.read_text().replace(first, second))
    homes.hermes(tmp_path / "home/.hermes")
    return first, second


@pytest.mark.parametrize("agent", ["copilot", "hermes"])
def test_selected_sessions_in_files_of_one_name_are_all_sealed(vacr, tmp_path, twins, agent):
    assert vacr("init", "--yes").returncode == 0
    expected = json.loads(vacr("list", "--agent", agent, "--format", "json").out)["sessions"]
    assert len(expected) > 1
    done = vacr("seal", "--agent", agent, "-o", "sealed/")
    assert done.returncode == 0, done.err
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "sealed").glob("*.acr.json")]
    sealed = {record["session"]["session-id"] for record in records}
    assert {session["session-id"] for session in expected} <= sealed
    if agent == "copilot":
        names = {path.name for path in (tmp_path / "sealed").glob("*.acr.json")}
        assert {f"{name}.acr.json" for name in twins} <= names


def test_export_names_sessions_after_their_folders(vacr, tmp_path, twins):
    done = vacr("export", "--agent", "copilot", "--to", "markdown", "-o", "notes/")
    assert done.returncode == 0, done.err
    assert {f"{name}.md" for name in twins} <= {
        path.name for path in (tmp_path / "notes").iterdir()
    }


def test_an_unreadable_session_does_not_stop_an_archive(vacr, tmp_path, twins):
    _, second = twins
    events = tmp_path / "home/.copilot/session-state" / second / "events.jsonl"
    assert vacr("search", "anything-at-all").returncode == 1
    events.write_text("{}\n")
    done = vacr("view", "--agent", "copilot", "-o", "site/")
    assert done.returncode == 3
    assert "unrecognised session format" in done.err
    assert (tmp_path / "site/index.html").exists()
    assert len(list((tmp_path / "site").glob("*.html"))) > 1


def test_verbs_with_a_folder_choose_in_that_folder(vacr, sessions, tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    done = vacr("show", "examples", "--agent", "codex-cli", "--only", "user")
    assert "Add type hints" in done.out
    assert "off by a cent" not in done.out
    done = vacr("stats", "examples", "--until", "2026-03-31", "--format", "json")
    assert json.loads(done.out)["total"]["sessions"] == 2
    assert sessions.exists()


@pytest.mark.usefixtures("sessions")
def test_one_selected_session_becomes_one_page(vacr, tmp_path):
    done = vacr("view", "--agent", "codex-cli", "-o", "page.html")
    assert done.returncode == 0, done.err
    assert b"Add type hints" in (tmp_path / "page.html").read_bytes()


@pytest.mark.parametrize("verb", ["show", "export --to markdown", "view", "seal --key k.pem"])
def test_nothing_selected_is_reported(vacr, sessions, verb):
    assert sessions.exists()
    done = vacr(*verb.split(), "--since", "2027-01-01")
    assert (done.returncode, "no sessions match" in done.err) == (1, True)


def test_repository_selects_by_its_address(vacr, tmp_path):
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    remote = ["remote", "add", "origin", "git@example.org:acme/pay.git"]
    subprocess.run(["git", *remote], cwd=project, check=True)
    text = (EXAMPLES / "codex-cli.jsonl").read_text()
    store = tmp_path / "home/.codex/sessions/2026/03/14"
    store.mkdir(parents=True)
    rollout = store / "rollout-2026-03-14T09-36-00-019cf2a1-7c40-7d20-9a51-5b1d0c7e4f21.jsonl"
    rollout.write_text(text)
    os.utime(rollout, (time.time(),) * 2)
    repositories = vacr("sql", "select repo from records", "--format", "json")
    [row] = json.loads(repositories.out)["rows"]
    assert row["repo"]
    assert vacr("show", "--repo", row["repo"][-6:], "-q").returncode == 0
    assert vacr("list", "--repo", row["repo"][-6:]).returncode == 0
    assert vacr("show", "--repo", "elsewhere/else").returncode == 1


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("name", ["latest:codex-cli", "019cf2a1", "{path}"])
@pytest.mark.parametrize("verb", ["show", "view -o page.html", "seal -o sealed/"])
def test_every_name_of_a_session_works(vacr, tmp_path, verb, name):
    assert vacr("init", "--yes").returncode == 0
    [path] = (tmp_path / "home/.codex/sessions/2026/03/14").glob("*.jsonl")
    word, *options = verb.split()
    done = vacr(word, name.format(path=path), *options)
    assert done.returncode == 0, done.err


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--agent", "codex"), "019cf2a1"),
        (("--agent", "claude", "--project", "/home/mira/invoice", *MARCH), "3c9e7b10"),
        (("--until", "2026-03-14"), "3c9e7b10"),
    ],
)
@pytest.mark.parametrize(
    "verb", ["show", "view -o out/", "export --to atif -o out/", "stats", "seal -o out/"]
)
def test_latest_is_the_first_that_the_options_select(vacr, tmp_path, verb, options, expected):
    assert vacr("init", "--yes").returncode == 0
    word, *more = verb.split()
    done = vacr(word, "latest", *options, *more, "--format", "json")
    assert done.returncode == 0, done.err
    [listed] = json.loads(vacr("list", "-n", "1", *options, "--format", "json").out)["sessions"]
    assert listed["session-id"].startswith(expected)
    if word in ("show", "stats"):
        assert json.loads(done.out) == json.loads(
            vacr(word, listed["path"], "--format", "json").out
        )
    else:
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names
        assert any(expected in name for name in names)


@pytest.mark.usefixtures("sessions")
def test_latest_selects_by_repository_and_excludes_other_paths(vacr, tmp_path):
    done = vacr("show", "latest", "--repo", "elsewhere")
    assert (done.returncode, "no sessions match" in done.err) == (1, True)
    done = vacr("show", "latest", "--agent", "claude-code", "--since", "2027-01-01")
    assert (done.returncode, "no sessions match" in done.err) == (1, True)
    done = vacr("show", "latest:codex-cli", "--agent", "claude-code")
    assert (done.returncode, "names a session already" in done.err) == (2, True)
    shutil.copy(EXAMPLES / "codex-cli.jsonl", tmp_path / "latest")
    done = vacr("show", "latest", "--agent", "codex-cli", "--format", "json")
    assert done.returncode == 0, done.err
    assert str(tmp_path / "home") not in done.out


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("folder", [".", "sealed/"])
def test_verify_of_a_session_names_its_sealed_record(vacr, folder):
    assert vacr("init", "--yes").returncode == 0
    assert "vacr seal 019cf2a1" in vacr("verify", "019cf2a1").err
    assert vacr("seal", "019cf2a1", "-o", folder).returncode == 0
    for verb in ("verify", "inspect"):
        hint = vacr(verb, "019cf2a1").err.splitlines()[-1]
        command = hint.removeprefix("  It has a sealed record: ").split()
        assert command[:2] == ["vacr", verb]
        assert vacr(*command[1:]).returncode == 0


@pytest.mark.usefixtures("sessions")
def test_verify_of_a_folder_names_the_next_step_once(vacr):
    assert vacr("init", "--yes").returncode == 0
    assert vacr("seal", "--agent", "claude-code", "-o", "sealed/").returncode == 0
    done = vacr("verify", "sealed/", VACR_CONFIG="elsewhere/")
    assert (done.returncode, done.out.count("no trusted key given") > 1) == (1, True)
    assert done.err.count("--trust-store FILE") == 1


def test_trust_of_a_file_without_a_name_is_explained(vacr):
    assert vacr("init", "--yes").returncode == 0
    assert vacr("trust", "export", "-o", "team.toml").returncode == 0
    done = vacr("trust", "add", "team.toml")
    assert (done.returncode, "vacr verify FILE --trust-store team.toml" in done.err) == (2, True)


@pytest.mark.parametrize(
    "verb",
    ["show --only prompt", "export --to markdown -o notes/", "view -o site/", "seal -o sealed/"],
)
def test_sessions_of_a_database_in_a_named_folder_are_chosen(vacr, tmp_path, verb):
    homes.hermes(tmp_path / "elsewhere")
    assert vacr("init", "--yes").returncode == 0
    done = vacr(*verb.split(), "elsewhere", "--agent", "hermes")
    assert done.returncode == 0, done.err
    assert not list((tmp_path / "home").rglob("state.db"))
    if verb.startswith("show"):
        assert done.out.count("\nUser ") > 1
    else:
        folder = next(path for path in tmp_path.iterdir() if path.name in verb.replace("/", ""))
        assert len(list(folder.iterdir())) > 1


@pytest.mark.usefixtures("sessions")
def test_replay_chooses_sessions(vacr):
    named = vacr("replay", "6f0d1c52", "--format", "json")
    assert named.returncode == 0, named.err
    options = ("--agent", "claude-code", "--project", "/home/mira/invoice", *MARCH)
    chosen = vacr("replay", *options, "--format", "json")
    assert chosen.returncode == 0, chosen.err
    paths = {file["path"] for file in json.loads(chosen.out)["files"]}
    assert {file["path"] for file in json.loads(named.out)["files"]} <= paths
    assert vacr("replay", "latest", *options).returncode == 0


@pytest.mark.usefixtures("sessions")
def test_stats_without_a_session_name_the_newest(vacr):
    done = vacr("stats", "--agent", "codex-cli", "--since", "2027-01-01")
    assert done.returncode == 1
    assert "The newest at any time is of 2026-03-14." in done.err


@pytest.mark.usefixtures("sessions")
def test_agent_in_place_of_an_option_is_recognised(vacr):
    done = vacr("list", "claude")
    assert (done.returncode, "To choose an agent: --agent claude" in done.err) == (2, True)
    assert "--agent" not in vacr("list", "parrot").err


@pytest.mark.parametrize("option", ["--key", "--public-key"])
def test_key_to_verify_with_is_called_trust(vacr, option):
    done = vacr("verify", "x.acr.json", option, "signing.pub.pem")
    assert done.returncode == 2
    assert "Did you mean '--trust'?" in done.err
    assert "--log-key" not in done.err
