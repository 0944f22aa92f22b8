"""The places of sessions in a folder, and the fingerprints that show their changes."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES, FIXTURES
from vacr.discovery.places import SessionPlace, fingerprint_place, walk_places
from vacr.errors import UnreadableInput
from vacr.files.writing import make_folder_tree

CLAUDE = EXAMPLES / "claude-code.jsonl"


def list_place_names(folder, leave_out=None):
    return [
        (place.name, place.session)
        for place in walk_places(folder, leave_out)
        if not place.passed_over
    ]


def list_passed_over(folder, leave_out=None):
    return {
        os.path.relpath(place.path, folder): place.passed_over
        for place in walk_places(folder, leave_out)
        if place.passed_over
    }


def touch(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(b"x")


def test_tree_is_walked_in_order(tmp_path):
    touch(tmp_path, "b.jsonl", "a/z.json", "a/y.txt", "c", "a.jsonl")
    assert list_place_names(tmp_path) == [
        ("a/y", None),
        ("a/z", None),
        ("a", None),
        ("b", None),
        ("c", None),
    ]


def test_files_with_one_stem_keep_their_endings(tmp_path):
    touch(tmp_path, "s.json", "s.jsonl", "t.json")
    assert list_place_names(tmp_path) == [("s.json", None), ("s.jsonl", None), ("t", None)]


def test_files_with_clashing_names_keep_their_endings(tmp_path):
    touch(
        tmp_path, "a.json", "a.jsonl", "a.json.jsonl", "b", "b.txt.jsonl", "b.txt", "c.json.jsonl"
    )
    assert [name for name, _ in list_place_names(tmp_path)] == [
        "a.json",
        "a.json.jsonl",
        "a.jsonl",
        "b",
        "b.txt",
        "b.txt.jsonl",
        "c.json",
    ]


def test_files_written_by_vacr_are_passed_over(tmp_path):
    ours = [
        "a.acr.json",
        "a.acr.cbor",
        "a.acr.source.zip",
        "a.acr.json.cose",
        ".vacr-journal.jsonl",
        ".vacr-tmp1",
    ]
    touch(tmp_path, *ours, "out/a.jsonl", ".git/a.jsonl", "node_modules/a.jsonl", "own.jsonl")
    assert list_place_names(tmp_path, tmp_path / "out") == [("own", None)]
    assert list_passed_over(tmp_path, tmp_path / "out") == dict.fromkeys(
        ours, "written by vacr"
    ) | {
        "out": "the folder that the records go to",
        ".git": "a folder that is not entered",
        "node_modules": "a folder that is not entered",
    }


def test_only_side_files_of_real_databases_are_not_places(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.db")) as database:
        database.executescript("CREATE TABLE t (a)")
    touch(
        tmp_path,
        "x.db-wal",
        "x.db-shm",
        "x.db-journal",
        "work-journal",
        "y.db",
        "y.db-wal",
        "z.db-shm",
    )
    assert [name for name, _ in list_place_names(tmp_path)] == [
        "work-journal",
        "x",
        "y",
        "y.db-wal",
        "z.db-shm",
    ]


def test_special_files_and_links_are_passed_over(tmp_path):
    touch(tmp_path, "real/a.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.jsonl").symlink_to(CLAUDE)
    (tmp_path / "dangling.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert list_place_names(tmp_path) == [("real/a", None)]
    link = "a link, not followed"
    odd = {
        "loop": link,
        "link.jsonl": link,
        "dangling.jsonl": link,
        "pipe.jsonl": "a pipe, socket or device, not a file",
    }
    assert list_passed_over(tmp_path) == odd


def test_folders_are_walked_at_any_depth(deep):
    make_folder_tree(Path(f"{deep}{'/d' * 1200}"))
    Path(f"{deep}{'/d' * 1200}/x.jsonl").write_bytes(b"x")
    assert list_place_names(deep) == [("d/" * 1200 + "x", None)]


def test_files_next_to_a_file_without_a_session_are_places(tmp_path):
    touch(tmp_path, "a.meta.json", "a.txt", "b.jsonl", "b/tool-results/x.jsonl")
    assert {name for name, _ in list_place_names(tmp_path)} == {
        "a",
        "a.meta",
        "b",
        "b/tool-results/x",
    }


def test_attached_files_are_not_places(tmp_path):
    shutil.copytree(FIXTURES / "claude" / "project", tmp_path / "p")
    found = {name for name, _ in list_place_names(tmp_path)}
    main = "p/3c9e7b10-5d42-4f6a-8b1e-7a2c4d6e8f01"
    assert {main, f"{main}/subagents/agent-a1b2c3d", "p/agent-e4f5a6b"} <= found
    assert not any("tool-results" in name or "meta" in name for name in found)
    touch(tmp_path, f"{main}/tool-results/deeper/x.jsonl")
    assert {name for name, _ in list_place_names(tmp_path)} - found == {
        f"{main}/tool-results/deeper/x"
    }


def test_storage_folder_yields_its_sessions(tmp_path):
    shutil.copytree(FIXTURES / "opencode" / "storage", tmp_path / "share" / "storage")
    found = list(walk_places(tmp_path))
    assert {place.path for place in found} == {str(tmp_path / "share" / "storage")}
    assert [place.name for place in found] == [f"share/storage/{place.session}" for place in found]
    assert len(found) == 2


def test_other_files_in_a_storage_folder_are_places(tmp_path):
    shutil.copytree(FIXTURES / "opencode" / "storage", tmp_path / "storage")
    session = next((tmp_path / "storage").glob("session/*/*.json")).stem
    before = list_place_names(tmp_path)
    touch(
        tmp_path,
        "storage/real.jsonl",
        "storage/session/x.jsonl",
        f"storage/{session}.jsonl",
        "storage/part/x/y.txt",
    )
    added = {"storage/real", "storage/session/x", f"storage/{session}.jsonl", "storage/part/x/y"}
    assert {name for name, _ in list_place_names(tmp_path)} == {name for name, _ in before} | added


def test_folder_that_resembles_a_storage_folder_is_walked(tmp_path):
    touch(tmp_path, "p/session/s.jsonl", "p/message/m.txt", "p/real.jsonl")
    assert list_place_names(tmp_path) == [
        ("p/message/m", None),
        ("p/real", None),
        ("p/session/s", None),
    ]


def test_database_yields_its_sessions_and_a_damaged_one_itself(tmp_path):
    database = sqlite3.connect(tmp_path / "opencode.db")
    database.execute("CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT)")
    database.execute("CREATE TABLE message (id TEXT, session_id TEXT, data TEXT)")
    database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
    database.executemany("INSERT INTO session VALUES (?, ?)", [("ses_2", "b"), ("ses_1", "a")])
    database.commit()
    database.close()
    (tmp_path / "broken.db").write_bytes((tmp_path / "opencode.db").read_bytes()[:600])
    assert list_place_names(tmp_path) == [
        ("broken", None),
        ("opencode", "ses_1"),
        ("opencode", "ses_2"),
    ]


def test_missing_folder_is_an_error(tmp_path):
    with pytest.raises(UnreadableInput, match="no such file"):
        list(walk_places(tmp_path / "gone"))


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(path.read_bytes() + b"\n"),
        lambda path: os.utime(path, ns=(1, 1)),
        lambda path: path.with_suffix(".meta.json").write_text("{}"),
        lambda path: touch(path.parent, f"{path.stem}/tool-results/1.txt"),
    ],
)
def test_changed_place_has_another_fingerprint(tmp_path, change):
    path = tmp_path / "abc.jsonl"
    shutil.copy(CLAUDE, path)
    place = SessionPlace(str(path), "abc")
    before = fingerprint_place(place)
    assert before == fingerprint_place(place)
    assert before[1] == path.stat().st_size
    change(path)
    assert fingerprint_place(place)[0] not in ("", before[0])


def test_missing_place_has_no_fingerprint(tmp_path):
    assert fingerprint_place(SessionPlace(str(tmp_path / "gone"), "gone")) == ("", 0)
