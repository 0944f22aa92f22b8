"""Chats of Cursor's editor before the composer, all stored in one value."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from tests.discovery.cursor_databases import START, composer_rows, editor
from tests.discovery.leaves import lost
from tests.discovery.recorded import read_all_sessions, record_bytes, shape
from tests.discovery.test_cursor_editor import CID, FORMS
from vacr import validate
from vacr.agents.cursor import stores as cursor_stores
from vacr.agents.cursor.stores import group_chats_by_id
from vacr.errors import NotASession

OLD_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
CHATS = {
    "tabs": [
        {
            "tabId": "tab-1",
            "chatTitle": "An old chat",
            "lastSendTime": START,
            "bubbles": [
                {"type": "user", "id": "u1", "text": "words of one", "initText": '{"root":{}}'},
                {"type": "ai", "id": "a1", "rawText": "an answer", "modelType": "gpt-4"},
            ],
        },
        {"tabId": "tab-2", "bubbles": [{"type": "user", "text": "words of two"}, 5]},
        {"chatTitle": "no id"},
        "no tab",
    ]
}


@pytest.mark.parametrize(
    "key",
    ["workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata"],
)
def test_chats_from_before_composers_are_read(tmp_path, key):
    found = {
        session.label: session
        for session in read_all_sessions(
            editor(tmp_path / "state.vscdb", {}, {key: CHATS, "aiService.prompts": []})
        )
    }
    assert sorted(found) == ["", "tab-1", "tab-2"]
    record = found["tab-1"].reading.record
    assert [shape(entry) for entry in record["session"]["entries"]] == ["user", "assistant"]
    assert record["session"]["entries"][1]["model-id"] == "gpt-4"
    assert record["session"]["session-id"] == "tab-1"
    assert lost([CHATS["tabs"][0]], record) == set()
    assert lost([CHATS["tabs"][1]], found["tab-2"].reading.record) == set()
    assert lost(CHATS["tabs"][2:], found[""].reading.record) == set()
    assert b"words of two" not in found["tab-1"].source.main.data


@pytest.mark.parametrize(
    "text", ['{"tabs":[{"tabId":"tab-1","bubbles":[],"n":1.50,"n":2.0}]}', '{"tabs":[{', b"\xff"]
)
def test_chats_that_cannot_be_split_without_loss_are_kept_whole(tmp_path, text):
    path = editor(tmp_path / "state.vscdb", {}, {OLD_CHATS: text})
    (found,) = read_all_sessions(path)
    assert found.label == ""
    assert lost([text], found.reading.record) == set()
    assert validate(json.loads(record_bytes(found))).findings == []


@pytest.mark.parametrize("value", [None, "", {}, {"tabs": []}, {"tabs": None}, []])
def test_value_without_chats_has_no_session(tmp_path, value):
    with pytest.raises(NotASession, match="the database has no sessions"):
        read_all_sessions(editor(tmp_path / "state.vscdb", {}, {OLD_CHATS: value}))


def test_chat_with_the_id_of_a_composer_joins_its_session(tmp_path):
    tab = CHATS["tabs"][0] | {"tabId": CID}
    path = editor(
        tmp_path / "state.vscdb",
        FORMS["headers"],
        {OLD_CHATS: {"tabs": [tab, tab | {"chatTitle": "once more"}]}},
    )
    (found,) = read_all_sessions(path)
    record = found.reading.record
    assert lost([*composer_rows(path, CID), tab, "once more"], record) == set()
    assert record["session"]["name"] == "Fix the till"
    assert [shape(entry) for entry in record["session"]["entries"][3:6]] == [
        "user",
        "assistant",
        "chatdata",
    ]


def test_many_chats_are_split_once(tmp_path, monkeypatch):
    tabs = [
        {"tabId": f"tab-{number}", "bubbles": [{"type": "user", "text": "hi"}]}
        for number in range(50)
    ]
    path = editor(tmp_path / "state.vscdb", {}, {OLD_CHATS: {"tabs": tabs}})
    os.utime(path, (0, 0))  # a fresh change is not cached: the next one could go unnoticed
    taken, chats = [], group_chats_by_id
    monkeypatch.setattr(
        cursor_stores, "group_chats_by_id", lambda value: taken.append(value) or chats(value)
    )
    assert len(read_all_sessions(path)) == 50
    assert len(taken) == 1


def test_two_values_of_one_key_are_both_read(tmp_path):
    with closing(sqlite3.connect(tmp_path / "state.vscdb")) as connection, connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
        rows = [(OLD_CHATS, json.dumps({"tabs": [tab]})) for tab in CHATS["tabs"][:2]]
        connection.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows)
    assert [session.label for session in read_all_sessions(tmp_path / "state.vscdb")] == [
        "tab-1",
        "tab-2",
    ]
