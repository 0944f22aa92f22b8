"""Stores in a project, and folders with a file for each event, are captured as they change."""

import json
import shutil

import pytest

from tests.discovery import homes
from tests.discovery.crush_database import SESSION, Crush
from vacr.capture.session_journal import SessionJournal
from vacr.capture.session_sources import TranscriptPlace, follow_session, list_agent_roots
from vacr.discovery import DatabaseFile, list_stored_places


@pytest.fixture
def journal(tmp_path):
    journal = SessionJournal("one", tmp_path / "one.frames")
    yield journal
    journal.close()


def captured(journal):
    return b"".join(journal.read_part(part) for part in journal.state.parts)


def test_database_of_the_project_is_followed_with_its_log(tmp_path, monkeypatch, journal):
    monkeypatch.chdir(tmp_path)
    crush = Crush(tmp_path / ".crush" / "crush.db")
    crush.session()
    crush.ask("Fix it.")
    (root,) = list_agent_roots(("crush",))
    assert list(root.list_places()) == [crush.path]
    assert root.find_holder(tmp_path / ".crush" / "crush.db-wal") == crush.path
    place = TranscriptPlace(root.agent.name, crush.path, SESSION)
    follow_session(journal, place, {})
    crush.ask("And the tax.")
    follow_session(journal, place, {})
    database = DatabaseFile(crush.path)
    assert captured(journal) == database.source(SESSION).main.data
    assert b"And the tax." in captured(journal)
    database.close()
    crush.close()


def test_chat_of_the_project_is_followed(tmp_path, monkeypatch, journal):
    monkeypatch.chdir(tmp_path)
    homes.aider(tmp_path)
    (root,) = list_agent_roots(("aider",))
    (path,) = root.list_places()
    assert path.name == ".aider.chat.history.md"
    follow_session(journal, TranscriptPlace(root.agent.name, path), {})
    with path.open("a") as file:
        file.write("\nBye.\n\n")
    follow_session(journal, TranscriptPlace(root.agent.name, path), {})
    assert captured(journal) == path.read_bytes()


def test_project_without_a_chat_has_nothing_to_watch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (root,) = list_agent_roots(("aider",))
    assert [place for place in root.list_places() if place.exists()] == []


def test_index_of_a_project_without_a_chat_has_no_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed = []
    assert list(list_stored_places({"HOME": str(tmp_path)}, "linux", failed=failed)) == []
    assert failed == []


def test_folder_of_events_is_followed(tmp_path, journal):
    folder = tmp_path / ".openhands" / "conversations" / "c1"
    homes.openhands(folder)
    (root,) = list_agent_roots(("openhands",), {"HOME": str(tmp_path)}, "linux")
    assert list(root.list_places()) == [folder]
    assert root.find_holder(folder / "events" / "event-00000-aaaaaaaa.json") == folder
    place = TranscriptPlace(root.agent.name, folder, "conversation")
    follow_session(journal, place, {})
    first = next((folder / "events").iterdir())
    new = first.with_name("event-00099-0e000099-0000-4000-8000-000000000000.json")
    shutil.copy(first, new)
    event = json.loads(new.read_text()) | {"id": "late"}
    new.write_text(json.dumps(event))
    follow_session(journal, place, {})
    assert b'"id": "late"' in captured(journal)
