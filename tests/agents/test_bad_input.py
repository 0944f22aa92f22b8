"""Bad input: readable values are recorded, and undecodable bytes are kept in an event."""

import base64
import json

import pytest

from tests.conftest import jsonl, read_one, record_of
from vacr import validate
from vacr.agents.documents import MAX_NATIVE_DEPTH
from vacr.errors import UnreadableInput

FIRST = {
    "type": "user",
    "uuid": "u1",
    "sessionId": "s1",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "message": {"role": "user", "content": "hi"},
}
LAST = {
    "type": "user",
    "uuid": "u2",
    "sessionId": "s1",
    "timestamp": "2026-01-01T00:00:01.000Z",
    "message": {"role": "user", "content": "bye"},
}


def around(line: bytes) -> bytes:
    """Put a line between two good ones."""
    return jsonl(FIRST) + line + b"\n" + jsonl(LAST)


def message(content: bytes) -> bytes:
    """Write a line with this raw JSON as its content."""
    return (
        b'{"type":"user","uuid":"x","sessionId":"s1","message":{"role":"user","content":'
        + content
        + b"}}"
    )


def events(record, name="undecodable"):
    return [entry for entry in record["session"]["entries"] if entry.get("event-type") == name]


def kept_bytes(record):
    return [base64.b64decode(entry["data"]["bytes"]) for entry in events(record)]


def by_id(record, identity):
    (entry,) = [entry for entry in record["session"]["entries"] if entry.get("id") == identity]
    return entry


KEPT_AS_BYTES = [
    ("cut off", b'{"type":"user","message":{"content":"mo', "not JSON"),
    ("binary", bytes(range(128, 256)), "not UTF-8"),
    ("nul bytes", b"\x00" * 40, "not JSON"),
    ("nested 100,000 deep", message(b"[" * 100_000 + b"]" * 100_000), "nested deeper than"),
    (
        "nested just too deep",
        message(b"[" * MAX_NATIVE_DEPTH + b"]" * MAX_NATIVE_DEPTH),
        "nested deeper than",
    ),
    ("prose", b"Error: something happened", "not JSON"),
]


@pytest.mark.parametrize(
    ("line", "reason"),
    [case[1:] for case in KEPT_AS_BYTES],
    ids=[case[0] for case in KEPT_AS_BYTES],
)
def test_undecodable_line_is_kept_as_bytes(line, reason):
    reading = read_one(around(line))
    record = record_of(around(line))
    assert kept_bytes(record) == [line]
    assert reason in events(record)[0]["data"]["reason"]
    assert events(record)[0]["data"]["line"] == 2
    assert [notice.line for notice in reading.notices] == [2]
    assert by_id(record, "u1")["content"] == "hi"
    assert by_id(record, "u2")["content"] == "bye"
    assert validate(record).valid


REPAIRED = [
    ("invalid UTF-8", message(b'"a\xffb"'), "a\ufffdb", "byte 0xff is not UTF-8"),
    ("lone surrogate", message(b'"a\\ud800b"'), "a\ufffdb", "lone surrogate"),
    ("raw surrogate", message(b'"a\xed\xa0\x80b"'), None, "not UTF-8"),
    ("number out of range", message(b'["n",1e400]'), ["n", "1e400"], "number out of range"),
    ("not a number", message(b'["n",NaN]'), ["n", "NaN"], "number out of range"),
    (
        "repeated member",
        message(b'[{"a":1,"a":2}]'),
        [{"a": 2}],
        "member 'a' occurs more than once",
    ),
    ("control character", message(b'"a\x01b"'), "a\x01b", "control character"),
]


@pytest.mark.parametrize(
    ("line", "content", "reason"),
    [case[1:] for case in REPAIRED],
    ids=[case[0] for case in REPAIRED],
)
def test_partly_undecodable_line_is_read_and_its_bytes_are_kept(line, content, reason):
    record = record_of(around(line))
    entry = by_id(record, "x")
    if content is not None:
        assert entry["content"] == content
    assert reason in entry["vacr"]["repaired"]
    assert kept_bytes(record) == [line]
    assert by_id(record, "u2")["content"] == "bye"
    assert validate(record).valid


def test_repeated_member_is_found_at_any_place():
    line = jsonl(LAST).strip().replace(b'"content":"bye"', b'"content":"one","content":"two"')
    record = record_of(jsonl(FIRST) + line + b"\n")
    assert kept_bytes(record) == [line]


def test_integers_past_64_bits_are_exact():
    line = message(
        b"[18446744073709551616,-340282366920938463463374607431768211456,123456789012345678901234567890]"
    )
    assert by_id(record_of(around(line)), "x")["content"] == [
        2**64,
        -(2**128),
        123456789012345678901234567890,
    ]
    assert read_one(around(line)).notices == ()


def test_two_objects_on_one_line_are_two_entries():
    data = jsonl(FIRST).strip() + jsonl(LAST)
    record = record_of(data)
    assert [entry["id"] for entry in record["session"]["entries"]] == ["u1", "u2"]
    assert read_one(data).notices == ()


def test_text_after_an_object_is_kept():
    record = record_of(jsonl(FIRST).strip() + b" trailing words\n")
    assert by_id(record, "u1")["content"] == "hi"
    assert kept_bytes(record) == [b"trailing words"]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + jsonl(FIRST, LAST),
        jsonl(FIRST, LAST).replace(b"\n", b"\r\n"),
        jsonl(FIRST, LAST).strip(),
        b"\n\n" + jsonl(FIRST) + b"  \n\n" + jsonl(LAST) + b"\n",
        b"".join(
            json.dumps(line, indent=None, separators=(", ", " : ")).encode() + b"\n"
            for line in (FIRST, LAST)
        ),
        jsonl(FIRST, LAST).replace(b"hi", b"\\u0068i"),
    ],
    ids=["byte order mark", "CRLF", "no final newline", "blank lines", "spaces", "escapes"],
)
def test_other_ways_to_write_the_same_lines_give_the_same_entries(data):
    plain = record_of(jsonl(FIRST, LAST))["session"]
    assert record_of(data)["session"] == plain
    assert read_one(data).notices == ()


def test_line_numbers_count_physical_lines():
    data = jsonl(FIRST) + b"\r\n\n" + jsonl(LAST) + b"broken\n" + jsonl(FIRST)
    assert [notice.line for notice in read_one(data).notices] == [5]


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-13-01T00:00:00Z",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "",
        -5,
        1.5,
        True,
        [],
        "2026-01-01T00:00:00Z\n",
        "2026-01-01T00:00:00.000Z\n2026-01-01T00:00:00.000Z",
    ],
)
def test_a_timestamp_outside_the_pattern_is_set_aside(stamp):
    record = record_of(jsonl(FIRST | {"timestamp": stamp}))
    entry = by_id(record, "u1")
    (notice,) = read_one(jsonl(FIRST | {"timestamp": stamp})).notices
    assert "timestamps in another format: 1, the first in entry 0" in notice.message
    assert "timestamp" not in entry
    assert entry["vacr"]["native"]["timestamp"] == stamp
    assert "session-start" not in record["session"]
    assert validate(record).valid


def test_tool_name_may_be_any_text():
    name = 'Task" >\n<parameter name="description\x1b[31m'
    block = {"type": "tool_use", "id": "t1", "name": name, "input": {}}
    line = {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": [block]}}
    record = record_of(jsonl(FIRST, line))
    assert by_id(record, "a1")["children"] == [
        {
            "type": "tool-call",
            "name": name,
            "input": {},
            "call-id": "t1",
            "vacr": {"status": "no-result"},
        }
    ]
    assert validate(record).valid


def test_value_that_is_not_an_object_is_kept():
    record = record_of(jsonl(FIRST, LAST, FIRST) + b'[1,2]\n"text"\n7\nnull\n')
    assert [entry["data"]["value"] for entry in events(record, "unknown")] == [
        [1, 2],
        "text",
        7,
        None,
    ]
    assert record["vacr"]["drift"]["types"] == {
        "(null)": 1,
        "(number)": 1,
        "(array)": 1,
        "(text)": 1,
    }


def test_one_very_long_line_is_read():
    text = "x" * 5_000_000 + "\U0001f600"
    record = record_of(around(message(json.dumps(text).encode())))
    assert by_id(record, "x")["content"] == text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\x00\x01\x02" * 100, "unrecognised session format"),
        (b"\x7fELF" + bytes(2000), "unrecognised session format"),
        (b"just text\n", "unrecognised session format"),
        (b'{"some":"json"}\n', "unrecognised session format"),
        (b"[1,2,3]", "unrecognised session format"),
        ('{"type":"user"}'.encode("utf-16"), "the file is UTF-16"),
    ],
    ids=["empty", "blank", "binary", "executable", "prose", "other JSON", "an array", "UTF-16"],
)
def test_file_that_is_not_a_session_is_refused_with_a_reason(data, message):
    with pytest.raises(UnreadableInput) as caught:
        read_one(data)
    assert message in caught.value.diagnostics()
    assert caught.value.exit_code == 3


def test_member_that_would_invalidate_the_record_is_set_aside():
    usage = {"input_tokens": 2**64, "output_tokens": 2**70, "cache_read_input_tokens": -1}
    line = {
        "type": "assistant",
        "uuid": "a",
        "timestamp": 2**64,
        "message": {"role": "assistant", "content": "x", "usage": usage},
    }
    record = record_of(jsonl(FIRST, line))
    assert validate(record).valid
    assert by_id(record, "a")["token-usage"] == usage
    assert by_id(record, "a")["vacr"]["native"]["timestamp"] == 2**64


@pytest.mark.parametrize(
    "stamp", ["9999-12-31T23:59:60Z", "0001-01-01T00:00:00+23:59", "2026-02-30T00:00:00Z"]
)
def test_times_at_the_edge_of_the_calendar(stamp):
    assert validate(record_of(jsonl(FIRST | {"timestamp": stamp}, LAST))).valid


def test_arguments_too_deep_for_a_record_stay_text():
    meta = {
        "type": "session_meta",
        "payload": {"id": "s", "timestamp": "2030-01-01T00:00:00Z"},
        "timestamp": "2026-01-01T00:00:00Z",
    }
    text = '{"a":' + "[" * 398 + "]" * 398 + "}"
    call = {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "f", "arguments": text, "call_id": "c"},
    }
    record = record_of(jsonl(meta, call))
    assert record["session"]["entries"][1]["input"] == text
    assert validate(json.loads(json.dumps(record))).valid


def test_the_reason_does_not_depend_on_the_interpreter():
    record = record_of(jsonl(FIRST, LAST, FIRST) + b'{"a":1,}\n[1,]\n{"a":"x\n')
    assert [entry["data"]["reason"] for entry in events(record)] == ["not JSON"] * 3


def test_deep_keys_that_sort_differently_in_utf16():
    content = ('{"\ufb33":1,"\U0001f600":' * 370 + "1" + "}" * 370).encode()
    assert validate(record_of(around(message(content)))).valid


def test_many_objects_on_one_line_are_read():
    record = record_of(
        jsonl(FIRST) + b'{"type":"mode","mode":"x","sessionId":"s"}' * 20_000 + b"\n"
    )
    assert len(record["session"]["entries"]) == 20_001


def test_a_line_that_starts_with_a_byte_order_mark_is_read():
    assert by_id(record_of(jsonl(FIRST) + b"\xef\xbb\xbf" + jsonl(LAST)), "u2")["content"] == "bye"
