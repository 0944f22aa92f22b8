"""From version 1 to version 3, and from the file attribution of version 3 to version 1."""

import pytest

from tests.record.test_schema_v1 import RECORD
from vacr.errors import InvalidRecord
from vacr.record.conversion import convert, list_lost_members

AS_V3 = convert(RECORD, "v3")


def get_at(record, pointer):
    """Return the value at a JSON pointer."""
    for step in pointer.split("/")[1:]:
        record = record[int(step) if isinstance(record, list) else step]
    return record


MOVES = [
    ("/version", "/vacr/converted/version"),
    ("/id", "/id"),
    ("/id", "/session/session-id"),
    ("/timestamp", "/session/session-start"),
    ("/vcs/type", "/session/environment/vcs/type"),
    ("/vcs/revision", "/session/environment/vcs/revision"),
    ("/tool/name", "/session/agent-meta/cli-name"),
    ("/tool/version", "/session/agent-meta/cli-version"),
    ("/metadata", "/session/vendor-ext/data"),
    ("/files/0/path", "/file-attribution/files/0/path"),
    ("/files/0/conversations/0/url", "/file-attribution/files/0/conversations/0/url"),
    ("/files/0/conversations/0/related", "/file-attribution/files/0/conversations/0/related"),
    (
        "/files/0/conversations/0/contributor/model_id",
        "/file-attribution/files/0/conversations/0/contributor/model-id",
    ),
    (
        "/files/0/conversations/0/ranges/0/start_line",
        "/file-attribution/files/0/conversations/0/ranges/0/start-line",
    ),
    (
        "/files/0/conversations/0/contributor/type",
        "/file-attribution/files/0/conversations/0/contributor/type",
    ),
    (
        "/files/0/conversations/0/ranges/0/end_line",
        "/file-attribution/files/0/conversations/0/ranges/0/end-line",
    ),
    (
        "/files/0/conversations/0/ranges/0/content_hash",
        "/file-attribution/files/0/conversations/0/ranges/0/content-hash",
    ),
    (
        "/files/0/conversations/0/ranges/0/contributor",
        "/file-attribution/files/0/conversations/0/ranges/0/contributor",
    ),
]


@pytest.mark.parametrize(("old", "new"), MOVES)
def test_every_member_moves_to_its_place(old, new):
    assert get_at(RECORD, old) == get_at(AS_V3, new)


def test_stubs_are_marked():
    for pointer in AS_V3["vacr"]["converted"]["stubs"]:
        assert get_at(AS_V3, pointer) in ("unknown", "", [])


def test_round_trip_loses_nothing():
    for record in (RECORD, AS_V3, convert(RECORD, "v2")):
        assert list_lost_members(record) == []


ATTRIBUTION = AS_V3["file-attribution"]
SESSION = {
    "session-id": "s",
    "session-start": "2026-01-01T00:00:00Z",
    "agent-meta": {"model-id": "m", "model-provider": "p", "cli-name": "c"},
    "entries": [{"type": "user", "timestamp": "2026-01-01T00:00:01Z"}],
}
FULL = {"version": "3.0.0-draft", "id": "x", "session": SESSION, "file-attribution": ATTRIBUTION}


def convert_full_record(members, session):
    return convert(FULL | members | {"session": SESSION | session}, "v1", json=False)


CONVERTED = [
    (
        {},
        {},
        {"version": "1.0.0", "id": "s", "timestamp": "2026-01-01T00:00:01Z", "tool": {"name": "c"}},
    ),
    ({}, {"session-end": 1767225602000}, {"timestamp": "2026-01-01T00:00:02.000Z"}),
    ({}, {"entries": []}, {"timestamp": "2026-01-01T00:00:00Z"}),
    ({}, {"session-id": b"\x01"}, {"id": "01"}),
    (
        {"vcs": {"type": "git", "revision": "r", "branch": "b"}},
        {},
        {"vcs": {"type": "git", "revision": "r"}},
    ),
    (
        {},
        {"environment": {"working-dir": "/", "vcs": {"type": "hg", "revision": "r"}}},
        {"vcs": {"type": "hg", "revision": "r"}},
    ),
    (
        {"recording-agent": {"name": "r", "version": "2", "x": 1}},
        {"agent-meta": {"model-id": "m", "model-provider": "p"}},
        {"tool": {"name": "r", "version": "2"}},
    ),
    ({}, {"vendor-ext": {"vendor": "acme", "data": {1: 2}}}, {"metadata": {1: 2}}),
]


@pytest.mark.parametrize(("members", "session", "expected"), CONVERTED)
def test_record_with_a_session_becomes_version_1(members, session, expected):
    result = convert_full_record(members, session)
    assert {name: result[name] for name in expected} == expected
    assert result["files"] == RECORD["files"]


@pytest.mark.parametrize("member", ["vcs", "tool", "metadata"])
def test_unknown_values_are_omitted(member):
    assert member not in convert_full_record(
        {"vcs": {"type": "git"}}, {"agent-meta": {"model-id": "m", "model-provider": "p"}}
    )


def test_stubs_of_version_2_are_left_out_of_version_1():
    old = {
        "version": "2.0.0-draft",
        "id": "x",
        "created": 0,
        "vcs": {"revision": "r"},
        "recording-agent": {},
    }
    result = convert(old | {"file-attribution": {"files": []}}, "v1")
    assert result == {
        "version": "1.0.0",
        "id": "x",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "files": [],
    }


def test_hash_algorithm_is_kept():
    files = [
        {
            "path": "a",
            "conversations": [
                {
                    "ranges": [
                        {
                            "start-line": 1,
                            "end-line": 1,
                            "content-hash": "h",
                            "content-hash-alg": "sha-512",
                        }
                    ]
                }
            ],
        }
    ]
    record = FULL | {"file-attribution": {"files": files}}
    older = convert(record, "v1")
    where = "/files/0/conversations/0/ranges/0"
    assert older["metadata"] == {"vacr": {"content-hash-alg": {where: "sha-512"}}}
    assert convert(older, "v3")["file-attribution"] == record["file-attribution"]


def test_lost_members_are_listed():
    more = {
        "created": 1,
        "vcs": {"type": "git", "revision": "r", "branch": "b"},
        "recording-agent": {"name": "r"},
        "vacr": {"source": {}},
        "a/b": 1,
    }
    assert list_lost_members(FULL | more) == [
        "/id",
        "/session/session-start",
        "/session/agent-meta/model-id",
        "/session/agent-meta/model-provider",
        "/session/entries",
        "/created",
        "/vcs/branch",
        "/recording-agent/name",
        "/vacr/source",
        "/a~1b",
    ]


INCOMPLETE = [
    (
        {name: value for name, value in FULL.items() if name != "file-attribution"},
        "/file-attribution",
    ),
    (
        FULL
        | {
            "session": {name: value for name, value in SESSION.items() if name != "session-start"}
            | {"entries": []}
        },
        "/session/session-start",
    ),
    (
        FULL | {"session": SESSION | {"session-start": float("inf"), "entries": []}},
        "/session/session-start",
    ),
]


@pytest.mark.parametrize(("record", "where"), INCOMPLETE)
def test_members_version_1_requires_must_exist(record, where):
    with pytest.raises(InvalidRecord) as caught:
        convert(record, "v1")
    assert caught.value.where == where
    assert caught.value.hint
