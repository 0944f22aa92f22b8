"""Listing the sessions of a machine again: unchanged files come from the cache, changed ones not."""

import json
import os
import shutil
import sqlite3
import stat
import time
from dataclasses import replace
from zlib import crc32

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from tests.discovery import homes
from vacr.discovery.sessions import list_sessions

CACHE = ".local/state/vacr/index/index.db"
OLD = 1_700_000_000
TITLE = "A title that only the cache has"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def transcript(home):
    path = homes.put(EXAMPLES / "claude-code.jsonl", home / ".claude/projects/-p/a.jsonl")
    make_old(path)
    return path


def make_old(path):
    os.utime(path, (OLD, OLD))


def list_all(home, agent=None):
    failed = []
    sessions = list(list_sessions(agent, {"HOME": str(home)}, "linux", failed))
    assert failed == []
    return sessions


def open_cache(home):
    return sqlite3.connect(home / CACHE, isolation_level=None)


def change_cached_titles(home):
    """Change all titles in the cache, so that a title shows where it comes from."""
    connection = open_cache(home)
    rows = connection.execute("SELECT agent, path, summaries FROM listed_files").fetchall()
    for agent, path, summaries in rows:
        rows = json.loads(summaries.partition(" ")[2])
        changed = json.dumps([{**row, "title": TITLE} for row in rows])
        connection.execute(
            "UPDATE listed_files SET summaries = ? WHERE agent = ? AND path = ?",
            (f"{crc32(changed.encode()):08x} {changed}", agent, path),
        )
    connection.close()


def list_cached_paths(home):
    if not (home / CACHE).exists():
        return set()
    connection = open_cache(home)
    rows = connection.execute("SELECT path FROM listed_files").fetchall()
    connection.close()
    return {os.fsdecode(path) for (path,) in rows}


def test_unchanged_file_is_not_read_again(home, transcript):
    [session] = list_all(home)
    assert list_all(home) == [session]
    change_cached_titles(home)
    assert list_all(home) == [replace(session, title=TITLE)]
    assert list_cached_paths(home) == {str(transcript)}


def test_every_agent_is_listed_the_same_way_again(home):
    homes.fill(home, "linux")
    for path in home.rglob("*"):
        make_old(path)
    first = list_all(home)
    assert len(first) > 10
    assert list_all(home) == first


@pytest.mark.parametrize("change", ["longer", "same size", "replaced"])
def test_changed_file_is_read_again(home, transcript, change):
    [session] = list_all(home)
    change_cached_titles(home)
    data = transcript.read_bytes()
    if change == "longer":
        transcript.write_bytes(data + b"\n")
    elif change == "same size":
        transcript.write_bytes(data)
    else:
        copy = transcript.with_name("new")
        copy.write_bytes(data)
        make_old(copy)
        copy.replace(transcript)
    make_old(transcript)
    [again] = list_all(home)
    assert again == replace(session, size=again.size)


def test_file_that_was_just_written_is_not_cached(home, transcript):
    transcript.write_bytes(transcript.read_bytes())
    os.utime(transcript, (time.time() + 60, time.time() + 60))
    assert len(list_all(home)) == 1
    assert list_cached_paths(home) == set()


def test_changed_description_is_read_again(home):
    folder = home / ".vibe/logs/session/session_20260725_172000_5e0a7f1c"
    shutil.copytree(FIXTURES / "vibe/session_20260725_172000_5e0a7f1c", folder)
    shutil.rmtree(folder / "agents", ignore_errors=True)
    for path in folder.iterdir():
        make_old(path)
    [session] = list_all(home)
    description = folder / "meta.json"
    meta = json.loads(description.read_bytes())
    meta["environment"]["working_directory"] = "/home/nora/moved"
    description.write_text(json.dumps(meta))
    make_old(description)
    assert list_all(home) == [replace(session, project="/home/nora/moved")]


def test_file_that_becomes_a_session_is_listed(home, transcript):
    data = transcript.read_bytes()
    shutil.copy(EXAMPLES / "codex-cli.jsonl", transcript)
    make_old(transcript)
    assert list_all(home) == []
    assert list_cached_paths(home) == {str(transcript)}
    transcript.write_bytes(data)
    make_old(transcript)
    assert len(list_all(home)) == 1


def test_deleted_file_is_forgotten(home, transcript):
    list_all(home)
    other = transcript.with_name("b.jsonl")
    transcript.rename(other)
    assert [session.path for session in list_all(home)] == [str(other)]
    assert list_cached_paths(home) == {str(other)}


def test_last_deleted_file_of_an_agent_is_forgotten(home, transcript):
    list_all(home)
    transcript.unlink()
    assert list_all(home) == []
    assert list_cached_paths(home) == set()


@pytest.mark.parametrize(
    "summaries", ["", "{bad", "[]", "00000000 []", '[{"title": "x"}]', b"\xff", 7]
)
def test_damaged_row_does_not_hide_the_session(home, transcript, summaries):
    [session] = list_all(home)
    connection = open_cache(home)
    connection.execute("UPDATE listed_files SET summaries = ?", (summaries,))
    connection.close()
    assert list_all(home) == [session]
    assert list_cached_paths(home) == {str(transcript)}
    change_cached_titles(home)
    assert list_all(home) == [replace(session, title=TITLE)]


def test_search_that_ends_early_forgets_nothing(home, transcript):
    list_all(home)
    other = homes.put(
        EXAMPLES / "codex-cli.jsonl", home / ".codex/sessions/2026/03/14/rollout-a.jsonl"
    )
    make_old(other)
    list_all(home)
    assert list_cached_paths(home) == {str(transcript), str(other)}
    sessions = list_sessions(None, {"HOME": str(home)}, "linux")
    next(sessions)
    sessions.close()
    assert list_cached_paths(home) == {str(transcript), str(other)}


def test_same_file_of_another_project_has_that_project(home):
    path = homes.put(EXAMPLES / "claude-code.jsonl", home / ".claude/projects/-p/a.jsonl")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps({**line, "cwd": ""}) + "\n" for line in lines))
    make_old(path)
    [session] = list_all(home)
    assert list_all(home) == [session]
    path.parent.rename(path.parent.with_name("-q"))
    [moved] = list_all(home)
    assert moved.project != session.project


@pytest.mark.parametrize("name", [b"caf\xe9", b"a'b\n"])
def test_file_with_any_name_is_cached(home, name):
    folder = home / ".claude/projects" / os.fsdecode(name)
    path = homes.put(EXAMPLES / "claude-code.jsonl", folder / "a.jsonl")
    make_old(path)
    [session] = list_all(home)
    change_cached_titles(home)
    assert list_all(home) == [replace(session, title=TITLE)]


@pytest.mark.parametrize("obstacle", ["locked", "damaged", "a folder"])
def test_cache_that_cannot_be_used_hides_nothing(home, transcript, obstacle):
    [session] = list_all(home)
    file = home / CACHE
    if obstacle == "locked":
        connection = open_cache(home)
        connection.execute("BEGIN IMMEDIATE")
        transcript.write_bytes(transcript.read_bytes() + b"\n")
        make_old(transcript)
        assert [again.session_id for again in list_all(home)] == [session.session_id]
        connection.close()
        return
    for path in file.parent.iterdir():
        path.unlink()
    if obstacle == "damaged":
        file.write_bytes(b"no database" * 1000)
    else:
        file.mkdir()
    assert list_all(home) == [session]
    assert list_all(home) == [session]


@pytest.mark.usefixtures("transcript")
def test_only_the_owner_can_read_the_cache(home):
    list_all(home)
    file = home / CACHE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.usefixtures("transcript")
def test_sessions_are_listed_without_a_state_folder(home):
    environment = {"HOME": str(home), "VACR_STATE": "relative"}
    assert len(list(list_sessions(None, environment, "linux"))) == 1
    assert not (home / ".local").exists()
