"""The page builds the same rows as Python, for every session in the fixtures."""

import json

import pytest

import vacr
from tests.conftest import AGENTS, AGENTS_WITHOUT_EXAMPLE, EXAMPLES, jsonl, native_files, record_of
from tests.viewer.in_node import NEEDS_NODE, Viewer, convert_row
from tests.viewer.test_rows import ORDERS, build_ordered_message
from vacr.errors import VacrError
from vacr.record.encoding import decode, encode
from vacr.viewer.rows import RowFilter, build_rows

pytestmark = [pytest.mark.component, NEEDS_NODE]


@pytest.fixture(scope="module")
def viewer():
    process = Viewer()
    yield process
    process.close()


def remove_page_members(rows):
    """Remove the members that only the page has."""
    own = ("session", "anchor", "act", "tests", "commit", "isCommitUnclear")
    return [{name: value for name, value in row.items() if name not in own} for row in rows]


def compare_rows(viewer, record, form="json"):
    data = encode(record, form)
    expected = [convert_row(row) for row in build_rows(decode(data, form))]
    replies = viewer.open_records(data)
    assert "failed" not in replies, replies["failed"]
    rows = remove_page_members(replies["rows"])
    for row, expected_row in zip(rows, expected, strict=True):
        assert row == json.loads(json.dumps(expected_row))
    return len(rows)


def read_records(path):
    try:
        yield from vacr.read(str(path))
    except VacrError:
        return


@pytest.mark.parametrize("agent", AGENTS)
def test_page_builds_the_rows_of_python(viewer, agent):
    count = 0
    for path in [EXAMPLES / AGENTS[agent], *native_files(agent)]:
        if path.stat().st_size < 20_000_000:
            count += sum(compare_rows(viewer, record) for record in read_records(path))
    assert count > 10


@pytest.mark.parametrize("agent", AGENTS_WITHOUT_EXAMPLE)
def test_page_builds_the_rows_of_python_for_newer_agents(viewer, agent):
    count = 0
    for path in native_files(agent):
        if path.stat().st_size < 20_000_000:
            count += sum(compare_rows(viewer, record) for record in read_records(path))
    assert count > 0


@pytest.mark.parametrize("agent", AGENTS)
def test_cbor_record_gives_the_same_rows(viewer, agent):
    for record in read_records(EXAMPLES / AGENTS[agent]):
        assert compare_rows(viewer, record, "cbor")


@pytest.mark.parametrize("order", [order for order, _ in ORDERS])
def test_page_shows_a_message_in_the_native_order(viewer, order):
    [record] = read_records(EXAMPLES / AGENTS["opencode"])
    record["session"]["entries"] = [build_ordered_message(order)]
    assert compare_rows(viewer, record) == 4


def build_message(role, content, **members):
    return {
        "type": role,
        "uuid": f"{role}-1",
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        **members,
    } | {
        "message": {
            "role": role,
            "content": content,
            **({"id": "m", "model": "claude-x"} if role == "assistant" else {}),
        }
    }


EDITS = [
    ("a\nb\nc\n", "a\nx\nc\n"),
    ("", "new\n"),
    ("gone\n", ""),
    ("same", "same"),
    (
        "\n".join(map(str, range(60))),
        "\n".join("x" if number in (3, 40) else str(number) for number in range(60)),
    ),
    (
        "\n".join("ab"[number % 2] for number in range(400)),
        "\n".join("abc"[number % 3] for number in range(450)),
    ),
    ("one\r\ntwo\x0bthree\u2028four", "one\ntwo\x85three"),
    # Too long to compare line by line: first with few differences, then with many.
    (
        "\n".join(map(str, range(3000))),
        "\n".join("x" if number in (9, 99) else str(number) for number in range(3001)),
    ),
    (
        "\n".join(map(str, range(3000))),
        "\n".join(f"{number}{'x' * (number % 2)}" for number in range(3000)),
    ),
    (
        "\n".join(map(str, range(3000))),
        "\n".join("x" if number in (10, 2990) else str(number) for number in range(3000)),
    ),
]


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_page_builds_the_diffs_of_python(viewer, old, new):
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "Edit",
        "input": {"file_path": "/a", "old_string": old, "new_string": new},
    }
    assert (
        compare_rows(
            viewer,
            record_of(jsonl(build_message("user", "go"), build_message("assistant", [call]))),
        )
        == 2
    )


def test_page_separates_hunks(viewer):
    texts = ["\n".join(map(str, numbers)) for numbers in (range(30), [-1, *range(1, 29), -1])]
    arguments = {"file_path": "/a", "old_string": texts[0], "new_string": texts[1]}
    call = {"type": "tool_use", "id": "c", "name": "Edit", "input": arguments}
    record = record_of(jsonl(build_message("user", "go"), build_message("assistant", [call])))
    [_, row] = viewer.open_records(encode(record))["rows"]
    [diff] = row["diffs"]
    assert [at for at, line in enumerate(diff["lines"]) if line == "@@"] == [0, 6]


def test_long_numbers_keep_all_digits(viewer):
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "Odd",
        "input": {"n": 2**70, "f": 1.5, "__proto__": {"x": 1}},
    }
    replies = viewer.open_records(
        encode(record_of(jsonl(build_message("user", "go"), build_message("assistant", [call]))))
    )
    assert (
        replies["rows"][1]["summary"] == '{"__proto__":{"x":1},"f":1.5,"n":1180591620717411303424}'
    )


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"kinds": ["tool"]},
        {"kinds": ["prompt"]},
        {"text": "TEST"},
        {"errors": True},
        {"tools": ["Bash"]},
        {"names": ["/session/entries/2"]},
    ],
)
def test_filters_agree_with_python(viewer, wanted):
    (record,) = read_records(EXAMPLES / "claude-code.jsonl")
    viewer.open_records(encode(record))
    arguments = {
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in wanted.items()
    }
    expected = [row.place for row in RowFilter(**arguments).chosen(build_rows(record))]
    places = [row.place for row in build_rows(record)]
    assert [places[at] for at in viewer.filter_rows(**wanted)] == expected


ODD_JSON = {
    "a member twice": b'{"session":{"entries":[{"type":"user","content":"one","content":"two"}]}}',
    "a member twice, spelled": b'{"session":{"entries":[{"type":"user","content":"one","c\\u006fntent":"two"}]}}',
    "out of range": b'{"session":{"entries":[{"type":"user","content":1e400}]}}',
    "a lone surrogate": b'{"session":{"entries":[{"type":"user","content":"\\ud800"}]}}',
    "half a pair": b'{"session":{"entries":[{"type":"user","content":"\\ud83e\\ud83e"}]}}',
}


@pytest.mark.parametrize("name", ODD_JSON)
def test_page_rejects_json_that_python_rejects(viewer, name):
    with pytest.raises(VacrError):
        decode(ODD_JSON[name])
    replies = viewer.open_records(ODD_JSON[name])
    assert (replies["rows"], "failed" in replies) == ([], True)


def test_non_canonical_json_gives_the_same_rows(viewer):
    (record,) = read_records(EXAMPLES / "claude-code.jsonl")
    rows = [
        viewer.open_records(json.dumps(record, indent=2, ensure_ascii=ascii_only).encode())["rows"]
        for ascii_only in (True, False)
    ]
    assert rows == [viewer.open_records(encode(record))["rows"]] * 2


def test_unreadable_record_is_reported(viewer):
    assert "failed" in viewer.open_records(b'{"version": ')
    assert "failed" in viewer.open_records(b"\xa1\x01")


@pytest.mark.parametrize("order", ["crcr", "ccrr", "rccr", "rrcr", "crrc"])
def test_calls_that_share_an_id_have_the_results_of_python(viewer, order):
    entries = [
        {"type": "tool-call", "call-id": "x", "name": "Bash", "input": {"command": str(number)}}
        if letter == "c"
        else {"type": "tool-result", "call-id": "x", "output": str(number)}
        for number, letter in enumerate(order)
    ]
    assert compare_rows(viewer, {"session": {"entries": entries}})


@pytest.mark.parametrize("status", ["no-result", "denied"])
def test_call_without_a_result_has_the_status_of_python(viewer, status):
    call = {"type": "tool-call", "call-id": "x", "name": "Bash", "input": {"command": "ls"}}
    assert compare_rows(viewer, {"session": {"entries": [{**call, "vacr": {"status": status}}]}})


FAILED_ANSWERS = {
    "reason": {"content": [], "stop-reason": "error", "message": {"errorMessage": "401 no key"}},
    "no reason": {"content": "", "stop-reason": "error"},
    "broken off": {"content": "I will", "stop-reason": "error", "error": "overloaded"},
    "text of the host": {"content": "API error", "isApiErrorMessage": True},
    "no failure": {"content": "", "stop-reason": "end_turn"},
    "image": {"content": [{"type": "image", "url": "data:image/png;base64,iVBO"}]},
}


@pytest.mark.parametrize("name", FAILED_ANSWERS)
def test_failed_answer_is_the_failure_of_python(viewer, name):
    entry = {"type": "assistant", **FAILED_ANSWERS[name]}
    assert compare_rows(viewer, {"session": {"entries": [entry]}}) == 1


PLANS = {
    "begun": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}],
    "done": [{"step": "a", "status": "done"}],
    "without words": [{"id": 1, "status": "pending"}],
    "without a status": [{"step": "a"}],
    "empty": [],
    "words": ["a", "b"],
}


@pytest.mark.parametrize("name", PLANS)
def test_plan_has_the_summary_of_python(viewer, name):
    call = {"type": "tool-call", "call-id": "x", "name": "todo", "input": {"todos": PLANS[name]}}
    assert compare_rows(viewer, {"session": {"entries": [call]}}) == 1


LONG = "true " + "x " * 200 + "; rm -rf build"


@pytest.mark.parametrize(
    "arguments", [{"command": LONG}, {"script": {"lines": ["a", LONG]}}, LONG, [LONG], {}, None, 5]
)
def test_search_covers_the_whole_input(viewer, arguments):
    call = {"type": "tool_use", "id": "c", "name": "Odd", "input": arguments}
    record = record_of(jsonl(build_message("user", "go"), build_message("assistant", [call])))
    viewer.open_records(encode(record))
    expected = [
        at
        for at, row in enumerate(build_rows(record))
        if row in list(RowFilter(text="RM -RF").chosen(build_rows(record)))
    ]
    assert (
        viewer.filter_rows(text="RM -RF")
        == expected
        == ([1] if "rm -rf" in json.dumps(arguments) else [])
    )
