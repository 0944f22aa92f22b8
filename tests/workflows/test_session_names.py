"""Sessions by name: an id, the beginning of one, `latest`."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.discovery import homes
from vacr.errors import UnreadableInput, UsageError
from vacr.workflows import find_named_session, find_unsealed_session_error


@pytest.fixture
def environment(tmp_path):
    home = homes.fill(tmp_path / "home")
    for number, path in enumerate(sorted(home.rglob("*.json*"))):
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return {"HOME": str(home)}


def test_beginning_of_an_id_finds_a_transcript(environment):
    place = find_named_session("019cf2a1", environment)
    assert (Path(place.path).name, place.session) == ("rollout-1.jsonl", None)


def test_beginning_of_an_id_finds_a_session_of_a_database(environment):
    place = find_named_session("ses_1b9O", environment)
    assert (Path(place.path).name, place.session) == ("opencode.db", "ses_1b9Other")


def test_session_wins_over_its_sub_agents(environment):
    place = find_named_session("3c9e7b10", environment)
    assert Path(place.path).name == f"{homes.CLAUDE}.jsonl"


def test_latest_session_of_an_agent_is_not_a_sub_agent(environment):
    place = find_named_session("latest:opencode", environment)
    assert place.session in ("ses_1b7Nora", "ses_1b9Other")


def test_ambiguous_name_lists_the_candidates(environment):
    with pytest.raises(UsageError, match="2 sessions have an id that begins with ses_1b") as caught:
        find_named_session("ses_1b", environment)
    assert "ses_1b7Nora" in caught.value.hint


def test_ambiguous_name_counts_all_sessions_that_the_list_shows(environment):
    folder = Path(environment["HOME"], ".claude/projects/x")
    for number in range(8):
        homes.claude_session(folder / f"feed0000-000{number}.jsonl", number)
    with pytest.raises(UsageError, match="8 sessions have an id that begins with feed") as caught:
        find_named_session("feed0000", environment)
    assert caught.value.hint.count("feed0000-000") == 5
    assert caught.value.hint.endswith(" and 3 more")


def test_sub_agent_without_its_session_counts_as_a_session(environment):
    database = Path(environment["HOME"], ".local/share/opencode/opencode.db")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("update session set parent_id = 'ses_0gone' where parent_id <> ''")
        connection.commit()
    with pytest.raises(UsageError, match="3 sessions have an id") as caught:
        find_named_session("ses_1b", environment)
    assert "ses_1b6Helper" in caught.value.hint


def test_agent_is_suggested_by_its_short_name():
    for typed, meant in (("clod", "claude-code"), ("codx", "codex-cli"), ("gemni", "gemini-cli")):
        with pytest.raises(UsageError) as caught:
            find_named_session(f"latest:{typed}")
        assert f"Did you mean {meant}?" in caught.value.hint


def test_unknown_names_are_reported(environment, tmp_path):
    with pytest.raises(UnreadableInput, match="no session with this id") as caught:
        find_named_session("ffffffff", environment)
    assert caught.value.hint == "To list sessions with their ids: vacr list"
    with pytest.raises(UsageError, match="unknown agent"):
        find_named_session("latest:parrot", environment)
    nowhere = {"HOME": str(tmp_path / "empty")}
    for name, message in (("latest", "no sessions found"), ("ffffffff", "no session with this id")):
        with pytest.raises(UnreadableInput, match=message) as caught:
            find_named_session(name, nowhere)
        assert caught.value.hint == "Where vacr looks: vacr list -v"


@pytest.mark.parametrize("name", ["abc", "a/b", "x.jsonl", "latest:", "", "../latest", "a b c d"])
def test_other_texts_are_not_names(environment, name):
    assert find_named_session(name, environment) is None


def test_name_of_a_session_is_refused_where_a_sealed_record_is_needed(
    environment, tmp_path, monkeypatch
):
    for name in ("latest", "latest:opencode", "019cf2a1", "ses_1b"):
        error = find_unsealed_session_error(name, "verify", environment)
        assert error.message == "this names a session; verify takes a sealed record"
        hint = f"Seal it first: vacr seal {name} -o sealed/, then vacr verify sealed/"
        assert error.hint == hint
    for name in ("latest:parrot", "ffffffff", "a.acr.json", "abc"):
        assert find_unsealed_session_error(name, "verify", environment) is None
    assert find_unsealed_session_error("latest", "verify", {"HOME": str(tmp_path / "empty")})
    monkeypatch.chdir(tmp_path)
    Path("latest").touch()
    assert find_unsealed_session_error("latest", "verify", environment) is None
