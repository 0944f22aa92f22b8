"""The page shows the rows that Python has: the shipped viewer, over every session there is."""

import json

import pytest

import vacr
from tests.conftest import AGENTS, EXAMPLES, jsonl, native_files, record_of
from tests.viewer.in_node import NEEDS_NODE, Viewer, row_as_page
from vacr.errors import VacrError
from vacr.record.encoding import decode, encode
from vacr.viewer.rows import RowFilter, build_rows

pytestmark = [pytest.mark.component, NEEDS_NODE]


@pytest.fixture(scope="module")
def viewer():
    found = Viewer()
    yield found
    found.close()


def without_numbers(rows_told):
    """Leave out what only the page has."""
    return [
        {name: value for name, value in row.items() if name not in ("session", "anchor")}
        for row in rows_told
    ]


def compared(viewer, record, form="json"):
    data = encode(record, form)
    expected = [row_as_page(row) for row in build_rows(decode(data, form))]
    told = viewer.opened(data)
    assert "failed" not in told, told["failed"]
    found = without_numbers(told["rows"])
    for one, other in zip(found, expected, strict=True):
        assert one == json.loads(json.dumps(other))
    return len(found)


def records_in(path):
    try:
        yield from vacr.read(str(path))
    except VacrError:
        return


@pytest.mark.parametrize("agent", AGENTS)
def test_rows_are_those_of_python(viewer, agent):
    found = 0
    for path in [EXAMPLES / AGENTS[agent], *native_files(agent)]:
        if path.stat().st_size < 20_000_000:
            found += sum(compared(viewer, record) for record in records_in(path))
    assert found > 10


@pytest.mark.parametrize("agent", AGENTS)
def test_a_record_in_cbor_gives_the_same(viewer, agent):
    for record in records_in(EXAMPLES / AGENTS[agent]):
        assert compared(viewer, record, "cbor")


def message(role, content, **members):
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
        "\n".join("x" if one in (3, 40) else str(one) for one in range(60)),
    ),
    (
        "\n".join("ab"[one % 2] for one in range(400)),
        "\n".join("abc"[one % 3] for one in range(450)),
    ),
    ("one\r\ntwo\x0bthree\u2028four", "one\ntwo\x85three"),
    # So long that not all of it is compared: where little differs, and where everything does.
    (
        "\n".join(map(str, range(3000))),
        "\n".join("x" if one in (9, 99) else str(one) for one in range(3001)),
    ),
    ("\n".join(map(str, range(3000))), "\n".join(f"{one}{'x' * (one % 2)}" for one in range(3000))),
]


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_diffs_are_those_of_python(viewer, old, new):
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "Edit",
        "input": {"file_path": "/a", "old_string": old, "new_string": new},
    }
    assert (
        compared(viewer, record_of(jsonl(message("user", "go"), message("assistant", [call])))) == 2
    )


def test_numbers_of_any_length_are_exact(viewer):
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "Odd",
        "input": {"n": 2**70, "f": 1.5, "__proto__": {"x": 1}},
    }
    told = viewer.opened(
        encode(record_of(jsonl(message("user", "go"), message("assistant", [call]))))
    )
    assert told["rows"][1]["summary"] == '{"__proto__":{"x":1},"f":1.5,"n":1180591620717411303424}'


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"kinds": ["tool"]},
        {"text": "TEST"},
        {"errors": True},
        {"tools": ["Bash"]},
        {"names": ["/session/entries/2"]},
    ],
)
def test_filters_choose_what_those_of_python_choose(viewer, wanted):
    (record,) = records_in(EXAMPLES / "claude-code.jsonl")
    viewer.opened(encode(record))
    asked = {
        name: frozenset(value) if isinstance(value, list) else value
        for name, value in wanted.items()
    }
    expected = [row.place for row in RowFilter(**asked).chosen(build_rows(record))]
    places = [row.place for row in build_rows(record)]
    assert [places[at] for at in viewer.chosen(**wanted)] == expected


ODD_JSON = {
    "a member twice": b'{"session":{"entries":[{"type":"user","content":"one","content":"two"}]}}',
    "a member twice, spelled": b'{"session":{"entries":[{"type":"user","content":"one","c\\u006fntent":"two"}]}}',
    "out of range": b'{"session":{"entries":[{"type":"user","content":1e400}]}}',
    "a lone surrogate": b'{"session":{"entries":[{"type":"user","content":"\\ud800"}]}}',
    "half a pair": b'{"session":{"entries":[{"type":"user","content":"\\ud83e\\ud83e"}]}}',
}


@pytest.mark.parametrize("name", ODD_JSON)
def test_what_python_refuses_to_read_the_page_does_not_show(viewer, name):
    with pytest.raises(VacrError):
        decode(ODD_JSON[name])
    told = viewer.opened(ODD_JSON[name])
    assert (told["rows"], "failed" in told) == ([], True)


def test_json_that_is_not_canonical_gives_the_same_rows(viewer):
    (record,) = records_in(EXAMPLES / "claude-code.jsonl")
    told = [
        viewer.opened(json.dumps(record, indent=2, ensure_ascii=one).encode())["rows"]
        for one in (True, False)
    ]
    assert told == [viewer.opened(encode(record))["rows"]] * 2


def test_what_cannot_be_read_is_told(viewer):
    assert "failed" in viewer.opened(b'{"version": ')
    assert "failed" in viewer.opened(b"\xa1\x01")


LONG = "true " + "x " * 200 + "; rm -rf build"


@pytest.mark.parametrize(
    "given", [{"command": LONG}, {"script": {"lines": ["a", LONG]}}, LONG, [LONG], {}, None, 5]
)
def test_all_of_an_input_is_searched(viewer, given):
    call = {"type": "tool_use", "id": "c", "name": "Odd", "input": given}
    record = record_of(jsonl(message("user", "go"), message("assistant", [call])))
    viewer.opened(encode(record))
    expected = [
        at
        for at, row in enumerate(build_rows(record))
        if row in list(RowFilter(text="RM -RF").chosen(build_rows(record)))
    ]
    assert (
        viewer.chosen(text="RM -RF") == expected == ([1] if "rm -rf" in json.dumps(given) else [])
    )
