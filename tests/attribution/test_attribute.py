"""File attribution of a session: ranges, contributors, hashes and evidence."""

import hashlib
import json

import pytest

from tests.attribution.claude_session import ROOT, ClaudeSession
from vacr import validate
from vacr.attribution.attribute import (
    ConversationLinks,
    attribute_records,
    list_applied_changes,
    replay_records,
)
from vacr.attribution.base_files import BaseFiles
from vacr.attribution.check import (
    ATTRIBUTION_DIFFERS,
    ATTRIBUTION_HOLDS,
    JointRecords,
    compare_attribution,
)
from vacr.record.encoding import assign_record_id, encode

TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def session():
    return ClaudeSession()


def files(attributed):
    return {file["path"]: file["conversations"] for file in attributed["file-attribution"]["files"]}


def ranges(attributed, path):
    """Return the ranges of a file with contributor and evidence."""
    (conversation,) = files(attributed).get(path, [{"ranges": []}])
    proofs = (
        attributed["vacr"]["attribution"]["files"][path]["ranges"] if conversation["ranges"] else []
    )
    return [
        (
            line_range["start-line"],
            line_range["end-line"],
            line_range.get("contributor", conversation.get("contributor"))["type"],
            proof["evidence"],
        )
        for line_range, proof in zip(conversation["ranges"], proofs, strict=True)
    ]


def attribute_session(session, tmp_path, base=None, **links):
    (attributed,) = attribute_records([session.record(tmp_path)], base, ConversationLinks(**links))
    return attributed


def make_base(**texts):
    data = {name.replace("_", "."): text.encode() for name, text in texts.items()}
    return BaseFiles("0" * 40, data.keys(), data.__getitem__)


def test_only_changed_lines_are_attributed_to_the_agent(session, tmp_path):
    session.read("a.py", TEXT)
    call = session.edit("a.py", "two\nthree\nfour", "two\nTHREE\nthree and a half\nfour")
    attributed = attribute_session(session, tmp_path)
    assert ranges(attributed, "a.py") == [(3, 4, "ai", "replayed")]
    (conversation,) = files(attributed)["a.py"]
    assert conversation["contributor"] == {"type": "ai", "model-id": "anthropic/claude-opus-4-5"}
    assert (
        conversation["ranges"][0]["content-hash"]
        == hashlib.sha256(b"THREE\nthree and a half\n").hexdigest()
    )
    (proof,) = attributed["vacr"]["attribution"]["files"]["a.py"]["ranges"]
    entries = [
        entry
        for entry in attributed["session"]["entries"]
        if entry["id"] in proof["entries"][0] or call in str(entry)
    ]
    assert entries
    assert validate(attributed).findings == []


def test_call_without_a_model_names_the_model_of_the_session(session, tmp_path):
    session.write("a.py", "x\n")
    record = session.record(tmp_path)
    for entry in record["session"]["entries"]:
        entry.pop("model-id", None)
    record["session"]["agent-meta"] |= {"model-id": "one", "model-provider": "acme"}
    (attributed,) = attribute_records([record])
    assert files(attributed)["a.py"][0]["contributor"] == {"type": "ai", "model-id": "acme/one"}


def test_revert_shows_only_in_the_history(session, tmp_path):
    session.read("a.py", TEXT)
    session.edit("a.py", "two", "2")
    session.edit("a.py", "2", "two")
    record = session.record(tmp_path)
    (attributed,) = attribute_records([record])
    assert files(attributed) == {}
    replay, roots = replay_records([record])
    assert [line["ranges"] for line in list_applied_changes(replay, roots)] == [[[2, 2]], [[2, 2]]]


def test_restored_line_is_unattributed_when_others_move_across_it(session, tmp_path):
    session.read("a.py", TEXT)
    session.edit("a.py", "two\nthree\n", "2\n")
    session.edit("a.py", "2\n", "two\n")
    session.edit("a.py", "one\n", "one\nthree\n")
    assert ranges(attribute_session(session, tmp_path), "a.py") == [(2, 2, "ai", "replayed")]


def test_failed_rejected_and_pending_calls_change_nothing(session, tmp_path):
    session.read("a.py", TEXT)
    session.call(
        "Edit",
        {"file_path": f"{ROOT}/a.py", "old_string": "one", "new_string": "1"},
        "String not found",
        error=True,
    )
    block = {
        "type": "tool_use",
        "id": "open",
        "name": "Edit",
        "input": {"file_path": f"{ROOT}/a.py", "old_string": "one", "new_string": "1"},
    }
    session.line(
        type="assistant",
        message={"role": "assistant", "model": "claude-opus-4-5", "content": [block]},
    )
    assert files(attribute_session(session, tmp_path)) == {}


def test_changes_by_others_are_not_attributed_to_the_agent(session, tmp_path):
    session.read("a.py", TEXT)
    session.edit("a.py", "two", "2")
    session.read("a.py", "one\n2\nthree\nadded by hand\nfour\nfive\n")
    assert ranges(attribute_session(session, tmp_path), "a.py") == [
        (2, 2, "ai", "replayed"),
        (4, 4, "unknown", "external"),
    ]
    assert ranges(attribute_session(session, tmp_path, make_base(a_py=TEXT)), "a.py") == [
        (2, 2, "ai", "replayed"),
        (4, 4, "human", "external"),
    ]


AT_THE_ENDS = [
    (
        "top by hand\none\n2\nthree\nfour\nfive\n",
        [(1, 1, "human", "external"), (3, 3, "ai", "replayed")],
    ),
    (
        "one\n2\nthree\nfour\nfive\nend by hand\n",
        [(2, 2, "ai", "replayed"), (6, 6, "human", "external")],
    ),
    (
        "one\n2\nthree\nfour\nchanged by hand\n",
        [(2, 2, "ai", "replayed"), (5, 5, "human", "external")],
    ),
]


@pytest.mark.parametrize(("text", "expected"), AT_THE_ENDS)
def test_changes_by_others_at_either_end_of_a_file_are_noticed(session, tmp_path, text, expected):
    session.edit("a.py", "two", "2")
    session.read("a.py", text)
    assert ranges(attribute_session(session, tmp_path, make_base(a_py=TEXT)), "a.py") == expected


def test_lines_beyond_the_known_ones_are_unattributed(session, tmp_path):
    session.edit("a.py", "two", "2")
    session.read("a.py", "zero\none\n2\nthree\nsix\n")
    assert all(
        kind != "human" for _, _, kind, _ in ranges(attribute_session(session, tmp_path), "a.py")
    )


def test_line_changed_by_two_writers_is_mixed(session, tmp_path):
    session.read("a.py", TEXT)
    session.edit("a.py", "two", "total = price * count")
    session.read("a.py", TEXT.replace("two", "total = price * count + tax"))
    assert ranges(attribute_session(session, tmp_path), "a.py") == [(2, 2, "mixed", "external")]


def test_change_by_a_command_is_unknown(session, tmp_path):
    session.read("a.py", TEXT)
    session.bash("python fix.py")
    session.read("a.py", TEXT.replace("two", "2"))
    assert ranges(attribute_session(session, tmp_path, make_base(a_py=TEXT)), "a.py") == [
        (2, 2, "unknown", "external")
    ]


def test_formatted_lines_keep_their_writer(session, tmp_path):
    session.read("a.py", TEXT)
    session.edit("a.py", "two\n", "if x:\n  y = 1\n")
    session.bash("black a.py")
    session.read("a.py", TEXT.replace("two\n", "if x:\n    y = 1\n"))
    assert [
        (first, last, kind)
        for first, last, kind, _ in ranges(attribute_session(session, tmp_path), "a.py")
    ] == [(2, 3, "ai")]


def test_attribution_follows_renamed_and_deleted_files(session, tmp_path):
    session.write("a.py", "new\n")
    session.write("b.py", "gone\n")
    session.bash("git mv a.py c.py")
    session.bash("rm b.py")
    assert {
        path: len(found) for path, found in files(attribute_session(session, tmp_path)).items()
    } == {"c.py": 1}


def test_overwrite_of_an_unseen_file_is_content_only(session, tmp_path):
    session.write("a.py", TEXT, kind="update")
    attributed = attribute_session(session, tmp_path)
    assert files(attributed) == {}
    assert attributed["vacr"]["attribution"]["files"]["a.py"]["content-only"]


def test_bytes_that_are_not_text_survive(session, tmp_path):
    base = {"a.py": "\ufeffone\r\ntwo\r\ncaf\u00e9 ".encode() + b"\xe9\r\nlast"}
    session.edit("a.py", "two", "2")
    attributed = attribute_session(
        session, tmp_path, BaseFiles("0" * 40, base.keys(), base.__getitem__)
    )
    (one,) = files(attributed)["a.py"][0]["ranges"]
    assert one["content-hash"] == hashlib.sha256(b"2\r\n").hexdigest()
    whole = attributed["vacr"]["attribution"]["files"]["a.py"]["sha-256"]
    assert whole == hashlib.sha256(base["a.py"].replace(b"two", b"2")).hexdigest()


def test_two_sessions_on_one_file_are_two_conversations(tmp_path):
    first, second = (
        ClaudeSession("first", start=0),
        ClaudeSession("second", "claude-sonnet-5", start=100),
    )
    first.read("a.py", TEXT)
    first.edit("a.py", "two", "2")
    second.read("a.py", TEXT.replace("two", "2"))
    second.edit("a.py", "four", "4")
    attributed = attribute_records([first.record(tmp_path), second.record(tmp_path)])
    assert [ranges(record, "a.py") for record in attributed] == [
        [(2, 2, "ai", "replayed")],
        [(4, 4, "ai", "replayed")],
    ]
    assert attributed[0]["vacr"]["inputs"]["records"] == [attributed[1]["id"]]


def test_file_outside_the_root_is_only_named(session, tmp_path):
    session.call(
        "Write",
        {"file_path": "/etc/x", "content": "x\n"},
        "File created",
        {"type": "create", "filePath": "/etc/x"},
    )
    attributed = attribute_session(session, tmp_path)
    assert files(attributed) == {}
    assert attributed["vacr"]["attribution"]["outside"] == ["/etc/x"]


def test_links_and_pull_requests_are_written(session, tmp_path):
    session.write("a.py", "x\n")
    session.line(type="pr-link", prUrl="https://example.org/pull/7")
    attributed = attribute_session(
        session,
        tmp_path,
        url="https://example.org/c/1",
        related=(("issue", "https://example.org/i/2"),),
    )
    (conversation,) = files(attributed)["a.py"]
    assert conversation["url"] == "https://example.org/c/1"
    assert [link["type"] for link in conversation["related"]] == ["issue", "pull-request"]
    assert attributed["vacr"]["inputs"]["url"] == "https://example.org/c/1"
    assert validate(attributed).findings == []


def test_newest_commit_becomes_the_revision(session, tmp_path):
    session.write("a.py", "x\n")
    session.bash("git commit -m x", "[main 1a2b3c4] x\n 1 file changed")
    assert attribute_session(session, tmp_path)["vcs"]["revision"] == "1a2b3c4"


def test_input_record_is_not_changed(session, tmp_path):
    session.write("a.py", "x\n")
    record = session.record(tmp_path)
    before = encode(record)
    attribute_records([record])
    assert encode(record) == before


def test_joint_attribution_is_recomputed_once(tmp_path):
    records = []
    for number in range(4):
        session = ClaudeSession(f"s{number}", start=100 * number)
        session.read("a.py", TEXT)
        session.edit("a.py", "two", f"two of {number}")
        session.edit("a.py", f"two of {number}", "two")
        session.write(f"{number}.py", "new\n")
        records.append(session.record(tmp_path))
    attributed = attribute_records(records)
    for record in attributed:
        assign_record_id(record)
    joint = JointRecords(attributed)
    forged = {**attributed[1], "file-attribution": attributed[2]["file-attribution"]}
    assert compare_attribution(forged, joint, None)[0] == ATTRIBUTION_DIFFERS
    assert [
        compare_attribution(json.loads(encode(record)), joint, None)[0] for record in attributed
    ] == [ATTRIBUTION_HOLDS] * 4
    assert len(joint._recomputed) == 2  # once with the forged one
