"""Sessions of Kimi CLI: wire files and contexts, with calls in pieces and sub-agents."""

import pytest

from tests.agents.entries import list_typed
from tests.attribution.sessions import list_changes
from tests.conftest import FIXTURES, jsonl, record_of
from vacr.agents.kimi_cli.tools import build_hunk
from vacr.agents.registry import find_agent
from vacr.record import walk_entries

FOLDER = FIXTURES / "kimi-cli"
HASH = "eebe15ef5af9cd65080c47fca0e56fa2"


def read(name, folder=f"{HASH}/0c9d"):
    return record_of((FOLDER / HASH / "0c9d" / name).read_bytes(), name=f"{folder}/{name}")


WIRE = read("wire.jsonl")
CONTEXT = read("context.jsonl")


@pytest.mark.parametrize("record", [WIRE, CONTEXT], ids=["wire", "context"])
def test_folders_name_the_session(record):
    assert record["session"]["session-id"] == "0c9d"
    assert record["session"]["workDirHash"] == HASH
    assert "parent" not in record["vacr"]


def test_a_sub_agent_names_its_parent():
    record = read("wire.jsonl", f"{HASH}/0c9d/subagents/a24d")
    assert record["session"]["session-id"] == "0c9d/a24d"
    assert record["vacr"]["parent"] == {"session-id": "0c9d"}


def test_seconds_become_milliseconds_and_are_kept():
    entry = WIRE["session"]["entries"][1]
    assert entry["timestamp"] == 1770000000250
    assert entry["vacr"]["native"] == {"timestamp": 1770000000.25}
    assert WIRE["session"]["entries"][-2]["vacr"]["native"] == {"timestamp": "soon"}


@pytest.mark.parametrize("kind", ["metadata", "unknown"])
def test_message_named_like_a_plain_line_stays_in_its_line(kind):
    wrapped = {"message": {"type": kind, "payload": 7}}
    plain = {"type": kind, "payload": 7}
    first = {"type": "metadata", "protocol_version": "1.3"}
    record = record_of(jsonl(first, wrapped, plain), "kimi-cli")
    assert [entry["data"] for entry in record["session"]["entries"]] == [first, wrapped, plain]


def test_pieces_of_arguments_are_joined():
    calls = {call["call-id"]: call for call in list_typed(WIRE, "tool-call")}
    assert calls["c1"]["input"] == {"path": "/home/nora/till/till.py"}
    assert calls["c7"]["input"] == '{"path": "/home/nora/till/x'


def test_a_sub_agent_is_told_apart():
    own = walk_entries(WIRE["session"]["entries"])
    inside = [entry for entry in own if "sub-agent" in entry.get("vacr", {})]
    assert [entry["type"] for entry in inside] == ["user", "assistant", "tool-call", "tool-result"]
    assert {find_agent("kimi-cli").chain_of(entry) for entry in inside} == {"c8"}
    assert inside[0]["vacr"]["speaker"] == "parent-agent"


def test_tokens_count_once():
    usages = [
        entry["token-usage"] for entry in WIRE["session"]["entries"] if "token-usage" in entry
    ]
    assert usages == [{"input": 100, "output": 20, "cached": 40, "total": 120}] * 2


def test_thoughts_may_be_encrypted():
    (thought,) = list_typed(CONTEXT, "reasoning")
    assert (thought["content"], thought["encrypted"]) == ("First the file.", "c2VhbGVk")


def test_unknown_lines_are_counted():
    assert WIRE["vacr"]["drift"] == {"types": {"(null)": 1, "Weather": 1}}
    assert CONTEXT["vacr"]["drift"] == {"types": {"oracle": 1}, "members": {"assistant.mood": 1}}


OUTCOMES = {
    "c1": ("success", None),
    "c2": ("success", None),
    "c3": ("error", 3),
    "c4": ("timeout", None),
    "c5": ("denied", None),
}


def test_outcomes_of_a_wire_file():
    ends = {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(WIRE, "tool-result")
    }
    rest = {"c6": "success", "c7": "error", "d1": "success", "c8": "success"}
    assert ends == OUTCOMES | {call: (status, None) for call, status in rest.items()}
    (glob,) = [call for call in list_typed(WIRE, "tool-call") if call["call-id"] == "c9"]
    assert glob["vacr"]["status"] == "no-result"


def test_outcomes_of_a_context_are_unknown_without_the_hosts_words():
    ends = {
        result["call-id"]: (result.get("status"), result.get("vacr", {}).get("exit-code"))
        for result in list_typed(CONTEXT, "tool-result")
    }
    assert ends == OUTCOMES | {"c6": (None, None)}


def test_each_user_message_has_its_speaker():
    assert [entry["vacr"]["speaker"] for entry in list_typed(CONTEXT, "user")] == ["human", "host"]
    assert [entry["vacr"]["speaker"] for entry in list_typed(WIRE, "user")] == [
        "human",
        "parent-agent",
    ]


# --- attribution ---


def find_changes(record):
    """Return the changes of a record with its working folder, whose MD5 is only an invented one."""
    session = record["session"] | {"environment": {"working-dir": "/home/nora/till"}}
    return list_changes([record | {"session": session}])


def test_changes_of_a_wire_file():
    assert find_changes(WIRE) == [
        ("till.py", [[2, 2]], "recorded"),
        ("till.py", [[3, 3]], "recorded"),
        ("new.txt", [[1, 1]], "replayed"),
    ]


def test_changes_of_a_context():
    ((path, ranges, _),) = find_changes(CONTEXT)
    assert (path, ranges) == ("till.py", [[2, 2]])


@pytest.mark.parametrize(
    "block",
    [
        {"old_text": "a", "new_text": "b"},
        {
            "old_text": "(9 lines)",
            "new_text": "b",
            "old_start": 1,
            "new_start": 1,
            "is_summary": True,
        },
        {"old_text": None, "new_text": "b", "old_start": 1, "new_start": 1},
    ],
)
def test_a_block_without_numbers_or_text_is_not_a_hunk(block):
    assert build_hunk(block) is None
