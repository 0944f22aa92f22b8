"""OpenCode's storage folder: a session is many files, some incomplete, missing or moved."""

import base64
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.conftest import FIXTURES
from tests.discovery.leaves import lost
from tests.discovery.recorded import read_all_sessions, record_bytes, records
from tests.discovery.test_databases import bound_by_permissions
from vacr.discovery.opening import read_sessions
from vacr.discovery.places import walk_places
from vacr.discovery.session_stores import find_folder_store
from vacr.discovery.sessions import list_sessions
from vacr.errors import NotASession, UnreadableInput

SESSION, CHILD = "ses_1e8f3c2b1a0ffeMiraInvoiceFix1", "ses_1e8f3c2b1a0ffeChildSession01"
LAST = "msg_e10000000006AbCdEfGhIjKlMn"


@pytest.fixture
def storage(tmp_path):
    shutil.copytree(FIXTURES / "opencode" / "storage", tmp_path / "storage")
    return tmp_path / "storage"


def said(found):
    """Return the values in the files of a session."""
    return [json.loads(part.data) for part in found.source.parts]


def test_each_session_is_one_record(storage):
    found = {
        session.reading.record["session"]["session-id"]: session
        for session in read_all_sessions(storage)
    }
    assert sorted(found) == [CHILD, SESSION]
    for session in found.values():
        assert lost(said(session), session.reading.record) == set()
        assert session.reading.record["vacr"]["source"]["format"] == "opencode-json"
    assert found[CHILD].reading.record["vacr"]["parent"] == {"session-id": SESSION}
    named = {
        name for session in found.values() for name in (part.name for part in session.source.parts)
    }
    assert named == {file.relative_to(storage).as_posix() for file in storage.rglob("*.json")}


def test_own_file_of_a_session_stands_for_all_of_it(storage):
    whole = {
        session.reading.record["session"]["session-id"]: record_bytes(session)
        for session in read_all_sessions(storage)
    }
    for session, expected in whole.items():
        (file,) = storage.glob(f"session/*/{session}.json")
        (found,) = read_all_sessions(file, sub_agents=False)
        assert record_bytes(found) == expected
        (again,) = read_all_sessions(storage, session=session, sub_agents=False)
        assert record_bytes(again) == expected


def test_sub_agents_come_with_their_session(storage):
    (file,) = storage.glob(f"session/*/{SESSION}.json")
    for found in (read_all_sessions(file), read_all_sessions(storage, session=SESSION)):
        assert [
            (session.reading.record["session"]["session-id"], session.label) for session in found
        ] == [
            (SESSION, ""),
            (CHILD, CHILD),
        ]
    assert len(read_all_sessions(storage, session=CHILD)) == 1


def test_restored_files_yield_the_same_record(storage, tmp_path):
    for session in read_all_sessions(storage):
        back = tmp_path / session.reading.record["session"]["session-id"]
        for part in session.source.parts:
            (back / part.name).parent.mkdir(parents=True, exist_ok=True)
            (back / part.name).write_bytes(part.data)
        (again,) = read_all_sessions(back)
        assert record_bytes(again) == record_bytes(session)


def own(storage):
    return next(storage.glob(f"session/*/{SESSION}.json"))


def message(storage, name=LAST):
    return storage / "message" / SESSION / f"{name}.json"


def part(storage):
    return next((storage / "part" / LAST).glob("*.json"))


def cut(file):
    file.write_bytes(file.read_bytes()[:-9])


def moved(file):
    """Name another session inside, like files that were moved by hand or by an older version."""
    value = json.loads(file.read_bytes())
    file.write_text(
        json.dumps(
            value
            | {
                "sessionID": "ses_before",
                "projectID": "before",
                "messageID": "msg_before",
                "id": "before",
            }
        )
    )


HALVES = {
    "a part that is cut off": lambda storage: cut(part(storage)),
    "a part that is empty": lambda storage: part(storage).write_bytes(b""),
    "a part that is not an object": lambda storage: part(storage).write_bytes(b'["a", 1]'),
    "a part that was elsewhere": lambda storage: moved(part(storage)),
    "a message that is cut off": lambda storage: cut(message(storage)),
    "a message that was elsewhere": lambda storage: moved(message(storage)),
    "a session that is cut off": lambda storage: cut(own(storage)),
    "a session that is empty": lambda storage: own(storage).write_bytes(b""),
    "a session that was elsewhere": lambda storage: moved(own(storage)),
    "no session": lambda storage: own(storage).unlink(),
    "no project": lambda storage: shutil.rmtree(storage / "project"),
    "no parts": lambda storage: shutil.rmtree(storage / "part"),
    "a session of two projects": lambda storage: shutil.copytree(
        own(storage).parent, storage / "session" / "other"
    ),
    "a name with a meaning": lambda storage: part(storage).rename(
        part(storage).with_name("prt_[a]*?.json")
    ),
}


@pytest.mark.parametrize("spoil", HALVES.values(), ids=HALVES)
def test_incomplete_session_is_recorded(storage, spoil):
    spoil(storage)
    made = records(storage)
    assert sorted(made) == [CHILD, SESSION]
    (found,) = [
        session
        for session in read_all_sessions(storage)
        if session.reading.record["session"]["session-id"] == SESSION
    ]
    assert lost([value_or_bytes(part.data) for part in found.source.parts], made[SESSION]) == set()


def value_or_bytes(data):
    """Return the value of a file, or its bytes as a record keeps undecodable ones."""
    try:
        return json.loads(data)
    except ValueError:
        return base64.b64encode(data.strip()).decode() or None


def test_parts_without_a_message_are_a_record_of_their_own(storage):
    words = part(storage).read_bytes()
    message(storage).unlink()
    found = read_all_sessions(storage)
    assert len(found) == 3
    (orphan,) = [session for session in found if session.name == f"{LAST}.json"]
    assert orphan.reading.record["session"]["session-id"] == SESSION
    assert [part.data for part in orphan.source.parts] == [words]
    assert lost(said(orphan), orphan.reading.record) == set()


def test_records_of_a_folder_are_named_after_the_sessions(vacr, storage, tmp_path):
    message(storage).unlink()
    done = vacr("record", storage, "-o", "out/")
    assert done.returncode == 0
    names = {file.name for file in (tmp_path / "out").glob("*.acr.json")}
    assert names == {f"{name}.acr.json" for name in (SESSION, CHILD, LAST)}


def test_link_is_not_followed(storage, tmp_path):
    (tmp_path / "secret.json").write_text('{"elsewhere": true}')
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "prt.json").write_text('{"elsewhere": true}')
    file, folder = storage / "message" / SESSION / "msg_z.json", storage / "part" / "msg_y"
    (storage / "message" / SESSION / "msg_y.json").write_text("{}")
    file.symlink_to(tmp_path / "secret.json")
    folder.symlink_to(tmp_path / "parts")
    found, *_ = read_all_sessions(storage, session=SESSION)
    assert all(b"elsewhere" not in part.data for part in found.source.parts)
    assert {(error.where, error.message) for error in found.left_out} == {
        (str(path), "a link, not followed") for path in (file, folder)
    }


def test_folder_of_links_is_not_a_store(storage, tmp_path):
    (tmp_path / "linked").mkdir()
    for name in ("session", "message", "part"):
        (tmp_path / "linked" / name).symlink_to(storage / name)
    assert find_folder_store(tmp_path / "linked") is None


def test_unreadable_file_hides_nothing_else():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        storage = Path(shutil.copytree(FIXTURES / "opencode" / "storage", Path(name) / "storage"))
        message(storage).chmod(0)
        with bound_by_permissions():
            good, bad = sorted(
                read_sessions(storage), key=lambda session: isinstance(session, UnreadableInput)
            )
        assert good.reading.record["session"]["session-id"] == CHILD
        assert (bad.message, bad.where) == ("no permission to read it", str(message(storage)))


@pytest.mark.parametrize(
    "folder", [f"message/{SESSION}", "session/9c", "part/msg_e10000000002AbCdEfGhIjKlMn"]
)
def test_unlistable_folder_hides_nothing_else(folder):
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        storage = Path(shutil.copytree(FIXTURES / "opencode" / "storage", Path(name) / "storage"))
        unlisted = next(storage.glob(f"{folder}*"))
        told = []
        unlisted.chmod(0)
        try:
            with bound_by_permissions():
                made = list(read_sessions(storage))
                list(
                    list_sessions(
                        "opencode", {"HOME": name, "OPENCODE_DB": str(storage)}, failed=told
                    )
                )
                at = [place for place in walk_places(storage) if place.session is None]
        finally:
            unlisted.chmod(0o755)
        failed = {
            (error.message, error.where) for error in made if isinstance(error, UnreadableInput)
        }
        good = {
            found.reading.record["session"]["session-id"]
            for found in made
            if not isinstance(found, UnreadableInput)
        }
        assert str(unlisted) in {where for _, where in failed}
        assert {message for message, _ in failed} == {"no permission to read it"}
        assert good == ({CHILD} if folder != "session/9c" else set())
        assert str(unlisted) in [place.path for place in at]
        assert (str(unlisted) in [error.where for error in told]) == (
            not folder.startswith("message")
        )


def test_missing_session_is_reported(storage):
    (error,) = read_sessions(storage, session="ses_nobody")
    assert "session ses_nobody not found" in error.message


def test_other_folder_is_not_a_store(tmp_path):
    (tmp_path / "session").mkdir()
    with pytest.raises(UnreadableInput, match="a folder, not a file"):
        list(read_sessions(tmp_path))


def test_undecodable_file_is_reported(storage):
    broken = message(storage)
    broken.write_bytes(b'{"id": ')
    found, *_ = read_all_sessions(storage, session=SESSION)
    name = broken.relative_to(storage).as_posix()
    (notice,) = [
        notice for notice in found.reading.notices if "cannot be decoded" in notice.message
    ]
    assert notice.message.startswith(f"{name} cannot be decoded: not JSON")
    (event,) = [
        entry
        for entry in found.reading.record["session"]["entries"]
        if entry.get("event-type") == "undecodable"
    ]
    assert event["data"]["file"] == name


@pytest.mark.parametrize("kept", ["session", "message", "part"])
def test_restored_incomplete_session_is_a_store(storage, tmp_path, kept):
    """Restored files of an incomplete session yield the same record."""
    for folder in storage.iterdir():
        if folder.name not in (kept, "project"):
            shutil.rmtree(folder)
    for folder in ("session", "message"):
        (storage / folder).mkdir(exist_ok=True)
    for found in read_all_sessions(storage):
        restored = tmp_path / found.name
        for part in found.source.parts:
            (restored / part.name).parent.mkdir(parents=True, exist_ok=True)
            (restored / part.name).write_bytes(part.data)
        (again,) = read_all_sessions(restored)
        assert record_bytes(again) == record_bytes(found)


def test_piece_of_a_session_is_refused(storage, tmp_path):
    for piece in (message(storage), next(storage.glob("part/*/*.json"))):
        with pytest.raises(NotASession, match="only one of the files of a session") as caught:
            list(read_sessions(piece))
        assert str(storage) in caught.value.hint
    # Outside of a store, it is read as a session.
    shutil.copy(message(storage), tmp_path / "alone.json")
    assert len(read_all_sessions(tmp_path / "alone.json")) == 1
