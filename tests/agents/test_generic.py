"""Conversations of any program: layouts, maps, labels, and nothing lost."""

import contextlib
import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents import independent, rebuild
from tests.agents.independent import documents
from tests.agents.natives import EXTRA, STAMPS, some
from tests.agents.rebuild import generic
from tests.conftest import FIXTURES, jsonl, limit_examples, stranger
from tests.record.value_strategies import OPAQUE_JSON as JSON
from tests.record.value_strategies import TEXT
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import (
    find_missing_agent,
    find_record_agent,
    load_agents,
    recognise_agent,
)
from vacr.cli import run_command_line
from vacr.discovery.opening import MapFile, read_sessions
from vacr.errors import NotASession, UnreadableInput, UsageError

FOLDER = FIXTURES / "generic"
SESSIONS = ("any-chat.json", "any-blocks.jsonl", "any-many.jsonl")
MANY_MAP = (FOLDER / "any-many.map.toml").read_bytes()


def read(data, member_map=None, name="chat.json"):
    """Return the readings of native bytes with a map."""
    parts = [SourcePart(name, data)]
    if member_map is not None:
        parts.append(SourcePart("chat.map.toml", member_map))
    source = Source(tuple(parts))
    return list(recognise_agent(source, "generic").read_labelled(source))


def records_of(data, member_map=None):
    """Return the records of native bytes, as others parse them."""
    return [stranger(reading) for reading in read(data, member_map)]


def entries_of(value, member_map=None):
    """Return the entries of a conversation without the event of its map."""
    (record,) = records_of(json.dumps(value).encode(), member_map)
    return [e for e in record["session"]["entries"] if e.get("event-type") != "attached-file"]


def open_fixture(name):
    """Return the records of a fixture, with its map."""
    found = read_sessions(FOLDER / name, agent="generic")
    return [stranger(session.reading) for session in found]


CHAT = open_fixture("any-chat.json")[0]
BLOCKS = open_fixture("any-blocks.jsonl")[0]
MANY = open_fixture("any-many.jsonl")


@pytest.mark.parametrize("name", ["any-chat.json", "any-blocks.jsonl"])
def test_entries_agree_with_an_independent_count(name):
    expected = independent.generic((FOLDER / name).read_bytes())
    expected.tokens = +expected.tokens
    assert independent.record(*open_fixture(name)) == expected


# --- layouts ---


@pytest.mark.parametrize("name", SESSIONS)
def test_fixture_comes_back_and_is_valid(name):
    records = open_fixture(name)
    for record in records:
        assert validate(record).findings == []
    values = list(documents((FOLDER / name).read_bytes()))
    # Values before the first conversation come after it.
    order = [values[1], values[0], *values[2:]] if name == "any-many.jsonl" else values
    rebuild.assert_same(records, order)


def test_each_layout_has_its_format_and_records():
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    files = {
        json.dumps({"messages": messages}).encode(): ["generic-json"],
        json.dumps({"messages": messages}, indent=2).encode(): ["generic-json"],
        json.dumps(messages).encode(): ["generic-list"],
        jsonl(*messages): ["generic-jsonl"],
        jsonl({"messages": messages}, messages): ["generic-json", "generic-list"],
    }
    for data, formats in files.items():
        records = records_of(data)
        assert [record["vacr"]["source"]["format"] for record in records] == formats
        for record in records:
            assert [e["type"] for e in record["session"]["entries"]] == ["user", "assistant"]


def test_conversations_of_one_file_have_different_ids():
    records = records_of(jsonl({"messages": [{"role": "user"}]}, {"messages": [{"role": "user"}]}))
    assert len({record["session"]["session-id"] for record in records}) == 2


def test_facts_beside_the_messages_are_learned_and_kept():
    session = CHAT["session"]
    assert session["session-id"] == session["session_id"] == "c-41"
    assert session["temperature"] == 0.2
    assert session["agent-meta"] == {
        "cli-name": "generic",
        "model-id": "finch-1-large",
        "model-provider": "unknown",
        "models": ["finch-1", "finch-1-large"],
    }


# --- both shapes ---


def test_openai_messages_have_calls_results_reasoning_and_usage():
    _, user, call, first, second, empty, last, other, stray = CHAT["session"]["entries"]
    assert user["vacr"] == {
        "native": {"name": "mira"},
        "speaker": "human",
        "speaker-basis": "inferred",
    }
    assert [child["type"] for child in call["children"]] == ["reasoning", "tool-call", "tool-call"]
    assert [child.get("input") for child in call["children"][1:]] == [{"path": "."}, "not json"]
    assert call["token-usage"] == {"input": 40, "output": 7, "cached": 32, "total": 47}
    assert (first["call-id"], first["output"]) == ("t1", "a.py\nb.py")
    assert "status" not in first
    assert (second["status"], second["is-error"], second["is_error"]) == ("error", True, True)
    assert (empty["type"], empty["event-type"]) == ("system-event", "tool")
    assert last["vacr"]["repeats"] == "m-2"
    assert (other["event-type"], stray["data"]) == ("narrator", {"value": "stray"})
    assert CHAT["vacr"]["drift"] == {
        "members": {"assistant.mood": 1},
        "types": {"(text)": 1, "role/narrator": 1},
    }


def test_anthropic_messages_have_calls_results_reasoning_and_usage():
    user, answer, result, other, last = BLOCKS["session"]["entries"]
    assert user["timestamp"] == 1767348900000
    assert [child["type"] for child in answer["children"]] == ["reasoning", "tool-call"]
    assert answer["token-usage"] == {"input": 29, "output": 4, "cached": 20}
    assert result["children"][0]["status"] == "success"
    assert "speaker" not in result.get("vacr", {})
    assert (other["event-type"], other["data"]) == ("unknown", {"kind": "checkpoint", "step": 1})
    assert (last["timestamp"], last["vacr"]["native"]) == (
        1767348907250,
        {"timestamp": 1767348907.25},
    )


def test_call_without_a_result_is_marked_only_where_results_are_kept():
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    asking = {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "c2"}]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    (alone,) = entries_of([asking])
    assert all("vacr" not in child for child in alone["children"])
    answered, _ = entries_of([asking, answer])
    assert [child.get("vacr") for child in answered["children"]] == [None, {"status": "no-result"}]


def test_status_word_of_a_result_is_its_outcome():
    (result,) = entries_of([{"role": "tool", "content": "x", "status": "cancelled"}])
    assert result["status"] == "interrupted"
    assert result["vacr"]["native"]["status"] == "cancelled"


# --- times ---


@pytest.mark.parametrize(
    ("unit", "native", "stamp"),
    [
        (None, "2026-01-02T10:15:01Z", "2026-01-02T10:15:01Z"),
        (None, 1767348900, 1767348900000),
        (None, 1767348900000, 1767348900000),
        (None, "1767348900", None),
        (None, True, None),
        (None, -5, None),
        (None, 1e300, None),
        ("s", "1767348900.5", 1767348900500),
        ("s", 1767348900000, 1767348900000000),
        ("ms", 1767348900, 1767348900),
        ("ms", "1767348900", 1767348900),
        ("ms", "soon", None),
        ("iso", 1767348900, None),
        ("iso", "2026-01-02T10:15:01+01:00", "2026-01-02T10:15:01+01:00"),
    ],
)
def test_time_is_read_in_its_unit(unit, native, stamp):
    member_map = f"time-unit = '{unit}'".encode() if unit else None
    (entry,) = entries_of([{"role": "user", "content": "x", "timestamp": native}], member_map)
    assert entry.get("timestamp") == stamp


@pytest.mark.parametrize("native", ["2026-01-02 10:15:01", "2026-01-02T10:15:01.5"])
def test_local_time_is_kept_and_marked(native):
    (reading,) = read(jsonl({"role": "user", "content": "x", "timestamp": native}))
    (entry,) = reading.record["session"]["entries"]
    assert "timestamp" not in entry
    assert entry["vacr"]["native"] == {"timestamp": native}
    assert entry["vacr"]["time-zone"] == "unknown"
    assert [notice.message for notice in reading.notices] == [
        "times without a zone: 1; kept as they are"
    ]


# --- maps ---


def test_map_names_members_roles_and_facts():
    first, second, third = MANY
    assert [record["session"]["session-id"] for record in MANY[:2]] == ["d-1", "d-2"]
    assert first["session"]["agent-meta"]["cli-name"] == "parrot"
    assert first["session"]["agent-meta"]["cli-version"] == "3.1"
    assert first["session"]["talk"] == {"id": "d-1", "bot": "parrot"}
    user, answer, result, *_ = first["session"]["entries"]
    assert (user["type"], user["content"], user["from"]) == ("user", "Hello", "human")
    assert (user["timestamp"], user["sent"]) == (1767348900500, "1767348900.5")
    assert answer["children"] == [
        {
            "type": "tool-call",
            "call-id": "k1",
            "name": "fly",
            "input": {"place": "Oslo"},
        }
    ]
    assert (result["type"], result["call-id"], result["status"]) == ("tool-result", "k1", "success")
    assert second["session"]["entries"][1]["vacr"]["native"] == {"type": "shrug"}
    assert third["vacr"]["source"]["format"] == "generic-list"


def test_map_is_a_part_of_the_source():
    for record in MANY:
        assert [part["name"] for part in record["vacr"]["source"]["parts"]] == [
            "any-many.jsonl",
            "any-many.map.toml",
        ]
        event = record["session"]["entries"][-1]
        assert event["data"] == {"name": "any-many.map.toml", "text": MANY_MAP.decode()}


def test_record_that_names_its_program_is_still_read_by_this_agent():
    assert find_record_agent(MANY[0]).name == "generic"
    assert find_missing_agent(MANY[0]) == ""


def test_facts_of_a_map_count_in_lines():
    facts = {
        "id": "s-1",
        "model": "wren-2",
        "folder": "/home/mira/app",
        "start": "2026-01-02T10:15:01Z",
        "agent": "robin",
        "agent-version": "2",
    }
    lines = "\n".join(f"{name} = '{value}'" for name, value in facts.items())
    (record,) = records_of(
        jsonl({"role": "user", "content": "Hi"}), f"[session]\n{lines}\n".encode()
    )
    session = record["session"]
    assert session["session-id"] == "s-1"
    assert session["session-start"] == "2026-01-02T10:15:01Z"
    assert session["environment"] == {"working-dir": "/home/mira/app"}
    assert session["agent-meta"] == {
        "cli-name": "robin",
        "cli-version": "2",
        "model-id": "wren-2",
        "model-provider": "unknown",
        "models": ["wren-2"],
    }


def test_facts_are_read_from_members_of_the_session():
    member_map = b"""
        [session-members]
        id = "meta.id"
        folder = ["meta", "work.dir"]
        start = "began"
        agent = "by"
    """
    meta = {"id": "s-7", "work.dir": "/w"}
    chat = {"meta": meta, "began": 1767348900, "by": "robin", "messages": [{"role": "user"}]}
    (record,) = records_of(json.dumps(chat).encode(), member_map)
    session = record["session"]
    assert (session["session-id"], session["session-start"]) == ("s-7", 1767348900000)
    assert session["environment"]["working-dir"] == "/w"
    assert session["agent-meta"]["cli-name"] == "robin"
    assert session["meta"] == meta


MAP_ERRORS = {
    "messages = 5": "chat.map.toml:1: 'messages' must be a path",
    "\nmessages = ''": "chat.map.toml:2: 'messages' must be a path",
    "mesages = 'x'": "chat.map.toml:1: unknown table or member 'mesages'",
    "[member]\nrole = 'x'": "chat.map.toml:1: unknown table or member 'member'",
    "members = 3": "chat.map.toml:1: 'members' must be a table: [members]",
    "[members]\n\nrol = 'from'": "chat.map.toml:3: [members] has no member 'rol'",
    "[members]\nrole = ['a', 5]": "chat.map.toml:2: 'role' in [members] must be a path",
    "[call]\nname = {}": "chat.map.toml:2: 'name' in [call] must be a path",
    "[roles]\nhuman = 'person'": "chat.map.toml:2: 'human' in [roles] must be one of user, ",
    "[roles]\nhuman = 1": "chat.map.toml:2: 'human' in [roles] must be a text; found 1",
    "[session]\nid = 'a'\nstart = '10:15'": "chat.map.toml:3: 'start' in [session] must be a time",
    "[session]\nfolders = 'a'": "chat.map.toml:2: [session] has no member 'folders'",
    "time-unit = 'h'": "chat.map.toml:1: 'time-unit' must be one of iso, s, ms; found 'h'",
    "a = 1\nb = [": "chat.map.toml: the map is not TOML",
    "a = 1\nb c\n": "chat.map.toml:2: the map is not TOML",
    "members.rol = 'from'": "chat.map.toml: [members] has no member 'rol'",
    f"messages = {'1' * 5000}": "chat.map.toml: the map is not TOML: Exceeds the limit",
    f"messages = 0x{'f' * 6000}": "chat.map.toml:1: 'messages' must be a path, such as "
    '"data.role"; found a large number',
    f"time-unit.{'a.' * 3000}b = 1": "chat.map.toml:1: 'time-unit' must be one of iso, s, ms; "
    "found a table",
    "[members]\nrole = 2026-01-02": "chat.map.toml:2: 'role' in [members] must be a path",
}


@pytest.mark.parametrize("text", MAP_ERRORS)
def test_error_in_a_map_names_file_line_and_member(text):
    with pytest.raises(UnreadableInput) as caught:
        read(jsonl({"role": "user", "content": "Hi"}), text.encode())
    assert str(caught.value).startswith(MAP_ERRORS[text])
    assert caught.value.hint


def test_map_that_is_not_utf_8_is_reported():
    with pytest.raises(UnreadableInput, match="not TOML"):
        read(jsonl({"role": "user"}), b"\xff")


def test_one_id_for_many_conversations_is_reported():
    data = jsonl(*([{"messages": [{"role": "user", "content": "x"}]}] * 2))
    with pytest.raises(UnreadableInput, match="one id, but the file has 2") as caught:
        read(data, b"[session]\nid = 'a'")
    assert "[session-members]" in caught.value.hint


def test_file_without_messages_is_reported_with_the_next_step():
    (reading,) = read(jsonl({"speaker": "mira", "text": "Hi"}))
    (notice,) = reading.notices
    assert "no object has a known role in 'role'" in notice.message
    assert "--map" in notice.message


# --- the command line ---


def run(command):
    """Run a command of words without blanks, and return its exit code."""
    return run_command_line(command.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with a session, and a map elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "many.jsonl").write_bytes((FOLDER / "any-many.jsonl").read_bytes())
    (tmp_path / "parrot.toml").write_bytes(MANY_MAP)
    return tmp_path


def test_named_map_gives_the_same_bytes_as_a_neighbour(folder):
    assert run("record many.jsonl --agent generic --map parrot.toml -o a/") == 0
    (folder / "many.map.toml").write_bytes(MANY_MAP)
    assert run("record many.jsonl --agent generic -o b/") == 0
    names = sorted(path.name for path in (folder / "a").iterdir())
    assert len(names) == 3
    for name in names:
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()


def test_named_map_replaces_the_neighbour(folder):
    (folder / "many.map.toml").write_text("[roles]\n")
    found = read_sessions("many.jsonl", agent="generic", map_file=MapFile("x", MANY_MAP))
    assert next(session.reading.record["session"]["session-id"] for session in found) == "d-1"


def test_map_of_a_folder_is_no_session_itself(folder):
    (folder / "many.map.toml").write_bytes(MANY_MAP)
    (folder / "parrot.toml").unlink()
    assert run("record . --agent generic -o out/") == 0
    assert len(list((folder / "out").glob("*.acr.json"))) == 3


def test_error_in_a_named_map_names_that_file(folder, capsys):
    (folder / "parrot.toml").write_text("\n[members]\nrol = 'x'\n")
    code = run("record many.jsonl --agent generic --map parrot.toml")
    assert code == 3
    assert "parrot.toml:3: [members] has no member 'rol'" in capsys.readouterr().err


def test_error_in_a_neighbour_names_its_path(folder, capsys):
    (folder / "in").mkdir()
    (folder / "many.jsonl").rename(folder / "in" / "many.jsonl")
    (folder / "in" / "many.map.toml").write_text("[members]\nrol = 'x'\n")
    assert run("record in/many.jsonl --agent generic") == 3
    assert "in/many.map.toml:2: " in capsys.readouterr().err


@pytest.mark.parametrize("agent", [None, "cursor"])
def test_map_for_another_agent_is_refused(agent):
    with pytest.raises(UsageError, match="no map") as caught:
        next(read_sessions(FOLDER / "any-many.jsonl", agent=agent, map_file=MapFile("x", MANY_MAP)))
    assert "--agent generic" in caught.value.hint


def test_changed_map_records_a_folder_again(folder):
    (folder / "in").mkdir()
    (folder / "many.jsonl").rename(folder / "in" / "many.jsonl")
    command = "record in --agent generic --map parrot.toml -o out/ --overwrite"
    assert run(command) == 0
    before = {path: path.read_bytes() for path in (folder / "out").glob("*.acr.json")}
    (folder / "parrot.toml").write_bytes(MANY_MAP.replace(b"3.1", b"3.2"))
    assert run(command) == 0
    assert all(path.read_bytes() != data for path, data in before.items())


@pytest.mark.parametrize("has_map", [True, False])
def test_source_verifies_with_its_map_only(folder, capsys, has_map):
    assert run_command_line(["key", "generate", "-o", "k"]) == 0
    record = "record many.jsonl --session d-1 --agent generic --map parrot.toml -o one.acr.json"
    (folder / "many.jsonl").write_bytes((FOLDER / "any-many.jsonl").read_bytes().split(b"\n")[1])
    assert run(record) == 0
    assert run("sign one.acr.json --key k/signing.pem") == 0
    if has_map:
        (folder / "many.map.toml").write_bytes(MANY_MAP)
    check = "verify one.acr.json --trust k/signing.pub.pem --source many.jsonl"
    capsys.readouterr()
    assert run(check) == (0 if has_map else 1)
    told = capsys.readouterr()
    if has_map:
        assert "converting it again gives the same record" in told.out
    else:
        assert "source-mismatch" in told.err
        assert "map" in told.err


def test_sealed_source_restores_session_and_map(folder):
    record = "record many.jsonl --agent generic --map parrot.toml -o a/ --seal-source -q"
    assert run(record) == 0
    sealed = min((folder / "a").glob("*.acr.json"))
    assert run_command_line(["restore", str(sealed), "-o", "r", "-q"]) == 0
    assert (folder / "r" / "many.jsonl").read_bytes() == (folder / "many.jsonl").read_bytes()
    assert (folder / "r" / "many.map.toml").read_bytes() == MANY_MAP


# --- never recognised by itself, and named for files that look like a session ---


@pytest.mark.parametrize("name", SESSIONS)
def test_conversation_is_never_recognised_by_itself(name):
    source = Source((SourcePart(name, (FOLDER / name).read_bytes()),))
    assert load_agents()["generic"].recognises(source.main.sample()) == 0
    with pytest.raises(NotASession) as caught:
        recognise_agent(source)
    assert "vacr record --agent generic FILE" in caught.value.hint


LIKELY = {
    "JSON lines of messages with 'role' and 'content'": jsonl(
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    ),
    "JSON lines of messages with 'sender' and 'text'": jsonl(
        {"version": 1}, {"sender": "human", "text": "Hi"}
    ),
    "a JSON list of messages with 'role' and 'body'": b'[{"role": "bot", "body": 5}]',
    "JSON with messages in 'messages' with 'role' and 'content'": (
        b'{"messages": [{"role": "system", "content": "x"}]}'
    ),
    "JSON with messages in 'chat.log' with 'from' and 'value'": (
        b'{"chat": {"id": 1, "log": [{"from": "GPT", "value": "x"}]}}'
    ),
}


@pytest.mark.parametrize("likely", LIKELY)
def test_unknown_file_with_messages_names_the_likely_format(likely):
    with pytest.raises(NotASession) as caught:
        recognise_agent(Source((SourcePart("a.json", LIKELY[likely]),)))
    assert caught.value.message == f"unrecognised session format; it looks like {likely}"
    assert "vacr record --agent generic FILE" in caught.value.hint
    is_usual = "'content'" in likely and "chat.log" not in likely
    assert ("--map" in caught.value.hint) is not is_usual


@pytest.mark.parametrize(
    "data",
    [
        b'{"name": "a", "version": "1"}',
        b'[{"role": "admin", "content": "x"}]',
        b'{"type": "module", "body": []}',
        b'[1, 2, {"role": "user", "content": "x"}, 3, 4]',
        b"plain text",
    ],
)
def test_other_unknown_file_keeps_the_general_error(data):
    with pytest.raises(NotASession) as caught:
        recognise_agent(Source((SourcePart("a.json", data),)))
    assert caught.value.message == "unrecognised session format"
    assert "Supported agents" in caught.value.hint


# --- nothing is lost ---

CALLS = st.lists(
    some(
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        {"id": "c2", "function": {"name": "f", "arguments": "no"}, "more": None},
        {"id": 7, "function": {"name": 5}},
        {"key": "k", "does": {"verb": "fly", "to": None}},
        {"function": "f"},
        "text",
        None,
    ),
    max_size=3,
)
CONTENT = (
    TEXT
    | st.none()
    | JSON
    | st.lists(
        some(
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            {"type": "tool_result", "tool_use_id": "t", "content": "y", "is_error": True},
            {"type": "thinking", "thinking": "hm"},
            {"type": 5},
            "text",
        ),
        max_size=3,
    )
)
WORDS = some("user", "human", "assistant", "tool", "system", "parrot", "sky", "nobody", 5, None)
IDS = some("m1", "m1", "m2", "", None, 7)
MESSAGE = st.builds(
    lambda base, extra: {**extra, **base},
    st.fixed_dictionaries(
        {},
        optional={
            "role": WORDS,
            "from": WORDS,
            "content": CONTENT,
            "value": CONTENT,
            "timestamp": STAMPS,
            "sent": STAMPS | some("17.5", "17", "2026-01-02 10:15:01"),
            "id": IDS,
            "parent_id": IDS,
            "model": IDS,
            "name": IDS,
            "for": IDS,
            "tool_call_id": IDS,
            "tool_calls": CALLS | JSON,
            "acts": CALLS,
            "reasoning_content": TEXT | JSON,
            "is_error": some(True, False, None, "no"),
            "failed": some(True, False, None),
            "usage": some({"prompt_tokens": 3}, {"input_tokens": 2, "output_tokens": -1}, 5, None),
            "meta": some(
                {"role": "user", "id": "m3"}, {"role": "tool", "text": "x"}, {"text": None}, 5
            ),
        },
    ),
    EXTRA,
)
LIST = st.lists(MESSAGE | JSON, max_size=4)
OBJECT = st.builds(
    lambda extra, base: {**extra, **base},
    EXTRA,
    st.fixed_dictionaries(
        {},
        optional={
            "messages": LIST,
            "talk": st.fixed_dictionaries({}, optional={"turns": LIST, "id": IDS}) | JSON,
            "model": IDS,
            "session_id": IDS,
        },
    ),
)
NESTED_MAP = b"""
[members]
role = "meta.role"
content = "meta.text"
id = "meta.id"
[roles]
parrot = "assistant"
"""


@pytest.mark.parametrize("member_map", [None, MANY_MAP, NESTED_MAP], ids=["none", "many", "nested"])
def test_any_values_come_back(member_map):
    @settings(max_examples=limit_examples(300))
    @given(st.lists(OBJECT | LIST | MESSAGE | JSON, min_size=1, max_size=3))
    def holds(native):
        records = records_of(jsonl(*native), member_map)
        for record in records:
            assert validate(record).findings == []
        found, there = rebuild.values(records), native
        normal = rebuild.normal_of("generic-json")
        # Values before the first conversation come after it.
        assert sorted(map(normal, found)) == sorted(map(normal, there))
        if len(records) == 1 and records[0]["vacr"]["source"]["format"] == "generic-jsonl":
            assert list(map(normal, found)) == list(map(normal, there))

    holds()


NAMES = some(
    *("role", "from", "content", "value", "meta", "text", "id", "messages", "talk", "turns"),
    *("type", "vacr", "tool_calls", "timestamp", "usage", "name", "children", "a.b", "é\n"),
)
PATH = st.lists(NAMES, min_size=1, max_size=3)
FACTS = ("id", "model", "folder", "start", "agent", "agent-version")
MAPS = st.fixed_dictionaries(
    {},
    optional={
        "messages": PATH,
        "time-unit": some("iso", "s", "ms"),
        "members": st.dictionaries(some(*generic.MEMBERS, "usage", "tool-calls", "is-error"), PATH),
        "call": st.dictionaries(some("id", "name", "input"), PATH),
        "roles": st.dictionaries(
            some("user", "human", "parrot", "assistant"),
            some("user", "assistant", "tool", "system"),
        ),
        "session": st.dictionaries(
            some("model", "folder", "agent"), some("claude-code", "/w", "é")
        ),
        "session-members": st.dictionaries(some(*FACTS), PATH),
    },
)
"""Maps whose paths may overlap, repeat, or lead into other members."""
TREE = st.deferred(
    lambda: st.dictionaries(
        NAMES, WORDS | IDS | STAMPS | CALLS | TREE | st.lists(TREE, max_size=2), max_size=5
    )
)


def write_map(tables):
    """Return the TOML of a map; a text of JSON without nulls is one of TOML."""
    lines = [f"{name} = {json.dumps(v)}" for name, v in tables.items() if type(v) is not dict]
    for name, table in tables.items():
        if type(table) is dict:
            lines.append(f"[{name}]")
            lines += [f"{json.dumps(member)} = {json.dumps(v)}" for member, v in table.items()]
    return "\n".join(lines).encode()


def count_leaves(*values):
    """Count the texts, numbers and booleans in values, at any depth."""
    found, stack = Counter(), list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            stack.extend(value.values() if isinstance(value, dict) else value)
        elif value is not None:
            found["number" if type(value) in (int, float) else type(value), value] += 1
    return found


def test_any_map_loses_nothing():
    @settings(max_examples=limit_examples(400), deadline=None)
    @given(MAPS, st.lists(TREE | OBJECT | LIST, min_size=1, max_size=3))
    def holds(tables, native):
        records = records_of(jsonl(*native), write_map(tables))
        for record in records:
            assert validate(record).findings == []
        kept = count_leaves(*(r["session"] for r in records))
        assert not count_leaves(json.loads(json.dumps(native))) - kept

    holds()


@pytest.mark.parametrize("seed", range(20))
def test_damaged_map_is_used_or_refused(seed):
    chance = random.Random(seed)  # noqa: S311 - a seed makes the same damage again
    pieces = (b"[", b"]", b"{", b'"', b"=", b".", b"1" * 5000, b"0x" + b"f" * 6000, b"\xff", b"nan")
    for _ in range(20):
        damaged = bytearray(MANY_MAP)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(damaged))
            damaged[place : place + chance.randint(0, 6)] = chance.choice(pieces)
        with contextlib.suppress(UnreadableInput):
            records_of((FOLDER / "any-many.jsonl").read_bytes(), bytes(damaged))


@pytest.mark.parametrize("name", SESSIONS)
def test_cut_file_keeps_every_byte(name):
    data = (FOLDER / name).read_bytes()
    member_map = MANY_MAP if name == "any-many.jsonl" else None
    for end in range(1, len(data), 37):
        for record in records_of(data[:end], member_map):
            assert validate(record).valid


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", SESSIONS)
def test_damaged_file_is_recorded_or_refused(name, seed):
    random_numbers = random.Random(seed)  # noqa: S311 - repeatable, not secret
    data = bytearray((FOLDER / name).read_bytes())
    for _ in range(random_numbers.randint(1, 6)):
        data[random_numbers.randrange(len(data))] = random_numbers.choice(b'\x00\xff"{}[],:x0')
    member_map = MANY_MAP if name == "any-many.jsonl" else None
    for record in records_of(bytes(data), member_map):
        assert validate(record).valid
