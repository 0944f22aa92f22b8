"""Bad input to readers of whole JSON, logs and text.

Readable values are recorded; the rest is kept as bytes or refused.
"""

import base64
import contextlib
import json
import random

import pytest

from tests.agents import rebuild
from tests.conftest import (
    AGENTS,
    AGENTS_WITHOUT_EXAMPLE,
    EXAMPLES,
    FIXTURES,
    QUICK,
    jsonl,
    native_files,
    record_of,
    records_of,
)
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.agents.documents import MAX_NATIVE_DEPTH, RepairedValue, parse_json_documents
from vacr.agents.registry import load_agents, recognise_agent
from vacr.errors import UnreadableInput
from vacr.record import canonical_json
from vacr.record.json_text import format_pointer

MESSAGE = b'{"id":"m1","timestamp":"2026-05-02T08:15:02.000Z","type":"user","content":CONTENT}'
# Agent → a session with one message, as a whole value; CONTENT stands for the content of the message.
WHOLE = {
    "gemini-cli": b'{"sessionId":"s1","projectHash":"ab","messages":[' + MESSAGE + b"]}",
    "opencode": b'{"info":{"id":"s1","directory":"/w"},"messages":[{"info":{"id":"m1","role":"user"},"parts":CONTENT}]}',
    "cursor": b'{"role":"user","message":{"content":CONTENT}}',
}
LINES = {
    "gemini-cli": (b'{"sessionId":"s1","projectHash":"ab"}', MESSAGE),
    "opencode": (
        b'{"id":"ses_1","directory":"/w"}',
        b'{"id":"msg_1","sessionID":"ses_1","role":"user","said":CONTENT}',
    ),
    "cursor": (WHOLE["cursor"].replace(b"CONTENT", b'"hi"'), WHOLE["cursor"]),
}


def indented(data: bytes) -> bytes:
    """Spread a value over several lines without decoding its errors."""
    return data.replace(b"{", b"{\n  ", 1).replace(b",", b",\n  ", 1)


def said(record: dict):
    """Return the content of the only message."""
    (entry,) = [entry for entry in record["session"]["entries"] if entry["type"] == "user"]
    return entry["said"] if "said" in entry else entry["content"]


def kept_bytes(record: dict) -> list[bytes]:
    events = [
        entry for entry in record["session"]["entries"] if entry.get("event-type") == "undecodable"
    ]
    return [base64.b64decode(entry["data"]["bytes"]) for entry in events]


def repaired(record: dict) -> str:
    """Return the repairs that a record names, in the session or in an entry."""
    marks = [entry.get("vacr", {}).get("repaired", "") for entry in record["session"]["entries"]]
    return "; ".join([*record["vacr"].get("repaired", ()), *marks])


REPAIRED = [
    ("invalid UTF-8", b'["a\xffb"]', ["a\ufffdb"], "byte 0xff is not UTF-8"),
    ("lone surrogate", b'["a\\ud800b"]', ["a\ufffdb"], "lone surrogate"),
    ("number out of range", b'["n",1e400]', ["n", "1e400"], "number out of range"),
    ("repeated member", b'[{"a":1,"a":2}]', [{"a": 2}], "member 'a' occurs more than once"),
    ("control character", b'["a\x01b"]', ["a\x01b"], "control character"),
]
CASES = [
    pytest.param(agent, *case[1:], id=f"{agent}, {case[0]}") for agent in WHOLE for case in REPAIRED
]


@pytest.mark.parametrize("layout", [bytes, indented], ids=["one line", "several lines"])
@pytest.mark.parametrize(("agent", "content", "read", "reason"), CASES)
def test_partly_undecodable_document_is_read_and_its_bytes_are_kept(
    agent, content, read, reason, layout
):
    data = layout(WHOLE[agent].replace(b"CONTENT", content))
    record = record_of(data)
    if agent != "opencode":
        assert said(record) == read
    else:
        assert [
            child["data"].get("value", child["data"])
            for child in record["session"]["entries"][0]["children"]
        ] == read
    assert reason in repaired(record)
    assert kept_bytes(record) == [data]
    assert validate(record).valid


@pytest.mark.parametrize(("agent", "content", "read", "reason"), CASES)
def test_partly_undecodable_line_is_read_and_its_bytes_are_kept(agent, content, read, reason):
    head, line = LINES[agent]
    line = line.replace(b"CONTENT", content)
    record = record_of(head + b"\n" + line + b"\n", agent)
    found = [
        entry.get("said", entry.get("content"))
        for entry in record["session"]["entries"]
        if entry["type"] == "user"
    ]
    assert found[-1] == read
    assert reason in repaired(record)
    assert kept_bytes(record) == [line]
    assert validate(record).valid


BROKEN = [
    ("cut off", b'{"type":"user","message":{"content":"mo'),
    ("binary", bytes(range(128, 256))),
    ("nul bytes", b"\x00" * 40),
    ("nested too deep", b'{"content":' + b"[" * MAX_NATIVE_DEPTH + b"]" * MAX_NATIVE_DEPTH + b"}"),
    ("nested 100,000 deep", b"[" * 100_000 + b"]" * 100_000),
    ("prose", b"Error: something happened"),
]


@pytest.mark.parametrize("agent", LINES)
@pytest.mark.parametrize("line", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_undecodable_line_is_kept_as_bytes(agent, line):
    head, message = (part.replace(b"CONTENT", b'"hi"') for part in LINES[agent])
    record = record_of(b"\n".join([head, line, message]), agent)
    assert kept_bytes(record) == [line]
    assert [entry["type"] for entry in record["session"]["entries"]].count("user") == (
        2 if agent == "cursor" else 1
    )
    assert validate(record).valid


@pytest.mark.parametrize("agent", WHOLE)
@pytest.mark.parametrize("layout", [bytes, indented], ids=["one line", "several lines"])
def test_truncated_value_is_refused_or_kept_if_the_agent_is_named(agent, layout):
    data = layout(WHOLE[agent].replace(b"CONTENT", b'["hi"]'))[:-4]
    with pytest.raises(UnreadableInput, match=r"unrecognised session format|damaged"):
        record_of(data)
    record = record_of(data, agent)
    assert b"".join(b"".join(kept_bytes(record)).split()) == b"".join(data.split())
    assert validate(record).valid


@pytest.mark.parametrize("agent", LINES)
def test_two_objects_on_one_line_are_two_values(agent):
    head, message = (part.replace(b"CONTENT", b'"hi"') for part in LINES[agent])
    apart, together = record_of(head + b"\n" + message, agent), record_of(head + message, agent)
    assert together["session"]["entries"] == apart["session"]["entries"]
    assert kept_bytes(together) == []


SAME = [
    ("byte order mark", lambda data: b"\xef\xbb\xbf" + data),
    ("blank lines around", lambda data: b"\n\n" + data + b"\n \n"),
    ("several lines", lambda data: json.dumps(json.loads(data), indent=2).encode()),
    ("tabs", lambda data: json.dumps(json.loads(data), indent="\t").encode()),
    ("CRLF", lambda data: json.dumps(json.loads(data), indent=2).replace("\n", "\r\n").encode()),
    ("escapes", lambda data: data.replace(b"hi", b"\\u0068i")),
]


@pytest.mark.parametrize("agent", WHOLE)
@pytest.mark.parametrize("layout", [case[1] for case in SAME], ids=[case[0] for case in SAME])
def test_other_ways_to_write_the_same_value_give_the_same_entries(agent, layout):
    data = WHOLE[agent].replace(b"CONTENT", b'[{"text":"hi","type":"text"}]')
    plain, other = record_of(data), record_of(layout(data))
    assert other["session"]["entries"] == plain["session"]["entries"]
    assert other["vacr"].get("repaired") is None


@pytest.mark.parametrize("agent", sorted(load_agents()))
@pytest.mark.parametrize("value", [b"{}", b"[]", b"[{}]", b"{}\n{}", b"[[]]", b"null", b'""', b"0"])
def test_empty_value_is_refused_or_kept_if_the_agent_is_named(agent, value):
    with pytest.raises(UnreadableInput):
        record_of(value)
    record = record_of(value, agent)
    assert len(record["session"]["entries"]) == len(value.split(b"\n"))
    assert validate(record).valid


def test_session_with_repaired_first_object_stays_separate():
    one = {"sessionId": "s1", "projectHash": "ab", "messages": []}
    data = jsonl(one) + WHOLE["gemini-cli"].replace(b"s1", b"s2").replace(
        b"CONTENT", b'"a\\ud800b"'
    )
    assert [record["session"]["session-id"] for record in records_of(data)] == ["s1", "s2"]


def test_text_that_is_not_utf_8_is_kept_as_bytes():
    record = record_of(b"user:\nhi\xff\n", "cursor")
    assert kept_bytes(record) == [b"user:", b"hi\xff"]


# --- any damage at all ---

SEEDS = range(40)
OTHER_SEEDS = range(4)
"""Seeds where an agent is named that did not write the session."""
READ_BY = {folder: [None, *load_agents()] for folder in AGENTS} | {
    folder: [None, agent] for folder, agent in AGENTS_WITHOUT_EXAMPLE.items()
}
"""The folder of an agent's sessions → the agents that read them, damaged."""
FILES = [
    pytest.param(path, agent, id=f"{path.parent.name}/{path.name[-24:]}-{agent}")
    for folder, agents in READ_BY.items()
    for path in native_files(folder)
    if EXAMPLES in path.parents or FIXTURES in path.parents
    for agent in agents
]
BYTES = [
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\\ud800",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r",
    b"null",
    b"1e999",
    b"\\",
]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Cut, repeat, move or overwrite a few places."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(data) or 1)
        stop = min(len(data), start + chance.choice([0, 1, 1, 2, 20, 300]))
        middle = chance.choice(
            [b"", chance.choice(BYTES), data[start:stop] * 2, bytes(reversed(data[start:stop]))]
        )
        data = data[:start] + middle + data[stop:]
        if chance.random() < 0.1:
            data = data[: chance.randrange(len(data) or 1)]
    return data


def native_values(data: bytes, *, repaired: bool) -> list:
    """Return the readable values of damaged bytes, and the bytes of unreadable or repaired ones."""
    found = [
        value
        for _, batch in parse_json_documents(data)
        for value in batch
        if repaired or not isinstance(value, RepairedValue)
    ]
    return [
        value.value if isinstance(value, RepairedValue) else getattr(value, "data", value)
        for value in found
    ]


# In `make quick`, each agent gets a part of the files.
@pytest.mark.parametrize(("path", "agent"), FILES[::7] if QUICK else FILES)
def test_damage_gives_valid_records_that_keep_everything_or_a_clear_error(path, agent):
    own = recognise_agent(Source((SourcePart(path.name, path.read_bytes()),))).name
    for seed in SEEDS if agent in (None, own) else OTHER_SEEDS:
        data = damaged(path.read_bytes(), random.Random(seed))  # noqa: S311 - the same damage every time
        with contextlib.suppress(*([UnreadableInput] if agent is None else [])):
            check(records_of(data, agent), data)


def check(records: list[dict], data: bytes) -> None:
    for record in records:
        assert validate(record).findings == []
    if (form := rebuild.format_of(records[0])) in rebuild.TEXTS:
        assert rebuild.TEXTS[form](*records) == data
    else:
        # The bytes of a repaired line come back; a repaired value of several entries comes back
        # with its bytes.
        native = native_values(data, repaired=rebuild.format_of(records[0]) in rebuild.WHOLE)
        rebuild.assert_same(records, native, with_bytes=True)


def test_many_problems_under_a_long_name_cost_no_more_than_the_text(monkeypatch):
    formatted = []
    monkeypatch.setattr(
        canonical_json,
        "format_pointer",
        lambda place: formatted.append(place) or format_pointer(place),
    )
    name = b"k" * 10_000
    line = b'{"' + name + b'":[' + b",".join([b'"\\ud800"'] * 1000) + b"]}" + b" 1" * 1000
    values = [value for _, batch in parse_json_documents(line) for value in batch]
    assert len(formatted) == 8
    assert values[0].value == {name.decode(): ["\ufffd"] * 1000}
    assert [value.value for value in values[1:-1]] == [1] * 1000
    assert values[-1].data == line
    assert sum(len(value.reason) for value in values) < 2 * len(line)
