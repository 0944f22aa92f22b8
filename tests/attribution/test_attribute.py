"""What a session did, as file attribution: ranges, contributors, hashes, proofs."""

import hashlib
import json

import pytest

from tests.attribution.told import ROOT, Told
from vacr.attribution.attribute import (
    ConversationLinks,
    attribute_records,
    list_applied_changes,
    replay_records,
)
from vacr.attribution.check import (
    ATTRIBUTION_DIFFERS,
    ATTRIBUTION_HOLDS,
    JointRecords,
    compare_attribution,
)
from vacr.attribution.replay import BaseFiles
from vacr.record.encoding import assign_record_id, encode
from vacr.record.validation import validate

TEXT = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def told():
    return Told()


def files(made):
    return {file["path"]: file["conversations"] for file in made["file-attribution"]["files"]}


def ranges(made, path):
    """Give the ranges of a file with what is said of them."""
    (conversation,) = files(made).get(path, [{"ranges": []}])
    proofs = made["vacr"]["attribution"]["files"][path]["ranges"] if conversation["ranges"] else []
    return [
        (
            one["start-line"],
            one["end-line"],
            one.get("contributor", conversation.get("contributor"))["type"],
            proof["evidence"],
        )
        for one, proof in zip(conversation["ranges"], proofs, strict=True)
    ]


def made_of(told, tmp_path, base=None, **wishes):
    (made,) = attribute_records([told.record(tmp_path)], base, ConversationLinks(**wishes))
    return made


def base_of(**texts):
    held = {name.replace("_", "."): text.encode() for name, text in texts.items()}
    return BaseFiles("0" * 40, held.keys(), held.__getitem__)


def test_only_the_changed_lines_are_the_agents(told, tmp_path):
    told.read("a.py", TEXT)
    call = told.edit("a.py", "two\nthree\nfour", "two\nTHREE\nthree and a half\nfour")
    made = made_of(told, tmp_path)
    assert ranges(made, "a.py") == [(3, 4, "ai", "replayed")]
    (conversation,) = files(made)["a.py"]
    assert conversation["contributor"] == {"type": "ai", "model-id": "anthropic/claude-opus-4-5"}
    assert (
        conversation["ranges"][0]["content-hash"]
        == hashlib.sha256(b"THREE\nthree and a half\n").hexdigest()
    )
    (proof,) = made["vacr"]["attribution"]["files"]["a.py"]["ranges"]
    entries = [
        entry
        for entry in made["session"]["entries"]
        if entry["id"] in proof["entries"][0] or call in str(entry)
    ]
    assert entries
    assert validate(made).findings == []


def test_a_call_of_a_message_without_a_model_is_of_the_sessions_model(told, tmp_path):
    told.write("a.py", "x\n")
    record = told.record(tmp_path)
    for entry in record["session"]["entries"]:
        entry.pop("model-id", None)
    record["session"]["agent-meta"] |= {"model-id": "one", "model-provider": "acme"}
    (made,) = attribute_records([record])
    assert files(made)["a.py"][0]["contributor"] == {"type": "ai", "model-id": "acme/one"}


def test_a_revert_leaves_no_trace_but_in_the_history(told, tmp_path):
    told.read("a.py", TEXT)
    told.edit("a.py", "two", "2")
    told.edit("a.py", "2", "two")
    record = told.record(tmp_path)
    (made,) = attribute_records([record])
    assert files(made) == {}
    replay, roots = replay_records([record])
    assert [line["ranges"] for line in list_applied_changes(replay, roots)] == [[[2, 2]], [[2, 2]]]


def test_what_is_back_in_its_place_is_nobodys_whatever_moved_across(told, tmp_path):
    told.read("a.py", TEXT)
    told.edit("a.py", "two\nthree\n", "2\n")
    told.edit("a.py", "2\n", "two\n")
    told.edit("a.py", "one\n", "one\nthree\n")
    assert ranges(made_of(told, tmp_path), "a.py") == [(2, 2, "ai", "replayed")]


def test_failed_rejected_and_pending_calls_change_nothing(told, tmp_path):
    told.read("a.py", TEXT)
    told.call(
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
    told.line(
        type="assistant",
        message={"role": "assistant", "model": "claude-opus-4-5", "content": [block]},
    )
    assert files(made_of(told, tmp_path)) == {}


def test_what_somebody_else_changed_is_not_the_agents(told, tmp_path):
    told.read("a.py", TEXT)
    told.edit("a.py", "two", "2")
    told.read("a.py", "one\n2\nthree\nadded by hand\nfour\nfive\n")
    assert ranges(made_of(told, tmp_path), "a.py") == [
        (2, 2, "ai", "replayed"),
        (4, 4, "unknown", "external"),
    ]
    assert ranges(made_of(told, tmp_path, base_of(a_py=TEXT)), "a.py") == [
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
def test_what_somebody_else_wrote_at_the_ends_of_a_file_is_seen(told, tmp_path, text, expected):
    told.edit("a.py", "two", "2")
    told.read("a.py", text)
    assert ranges(made_of(told, tmp_path, base_of(a_py=TEXT)), "a.py") == expected


def test_what_lies_beyond_what_is_known_is_nobodys(told, tmp_path):
    told.edit("a.py", "two", "2")
    told.read("a.py", "zero\none\n2\nthree\nsix\n")
    assert all(kind != "human" for _, _, kind, _ in ranges(made_of(told, tmp_path), "a.py"))


def test_a_line_that_two_wrote_is_mixed(told, tmp_path):
    told.read("a.py", TEXT)
    told.edit("a.py", "two", "total = price * count")
    told.read("a.py", TEXT.replace("two", "total = price * count + tax"))
    assert ranges(made_of(told, tmp_path), "a.py") == [(2, 2, "mixed", "external")]


def test_what_a_command_changed_is_unknown(told, tmp_path):
    told.read("a.py", TEXT)
    told.bash("python fix.py")
    told.read("a.py", TEXT.replace("two", "2"))
    assert ranges(made_of(told, tmp_path, base_of(a_py=TEXT)), "a.py") == [
        (2, 2, "unknown", "external")
    ]


def test_a_formatter_keeps_the_owner(told, tmp_path):
    told.read("a.py", TEXT)
    told.edit("a.py", "two\n", "if x:\n  y = 1\n")
    told.bash("black a.py")
    told.read("a.py", TEXT.replace("two\n", "if x:\n    y = 1\n"))
    assert [
        (first, last, kind) for first, last, kind, _ in ranges(made_of(told, tmp_path), "a.py")
    ] == [(2, 3, "ai")]


def test_renamed_and_deleted_files(told, tmp_path):
    told.write("a.py", "new\n")
    told.write("b.py", "gone\n")
    told.bash("git mv a.py c.py")
    told.bash("rm b.py")
    assert {path: len(found) for path, found in files(made_of(told, tmp_path)).items()} == {
        "c.py": 1
    }


def test_what_was_overwritten_unseen_is_not_the_agents(told, tmp_path):
    told.write("a.py", TEXT, kind="update")
    made = made_of(told, tmp_path)
    assert files(made) == {}
    assert made["vacr"]["attribution"]["files"]["a.py"]["content-only"]


def test_bytes_survive(told, tmp_path):
    base = {"a.py": "\ufeffone\r\ntwo\r\ncaf\u00e9 ".encode() + b"\xe9\r\nlast"}
    told.edit("a.py", "two", "2")
    made = made_of(told, tmp_path, BaseFiles("0" * 40, base.keys(), base.__getitem__))
    (one,) = files(made)["a.py"][0]["ranges"]
    assert one["content-hash"] == hashlib.sha256(b"2\r\n").hexdigest()
    whole = made["vacr"]["attribution"]["files"]["a.py"]["sha-256"]
    assert whole == hashlib.sha256(base["a.py"].replace(b"two", b"2")).hexdigest()


def test_two_sessions_on_one_file_are_two_conversations(tmp_path):
    first, second = Told("first", start=0), Told("second", "claude-sonnet-5", start=100)
    first.read("a.py", TEXT)
    first.edit("a.py", "two", "2")
    second.read("a.py", TEXT.replace("two", "2"))
    second.edit("a.py", "four", "4")
    made = attribute_records([first.record(tmp_path), second.record(tmp_path)])
    assert [ranges(one, "a.py") for one in made] == [
        [(2, 2, "ai", "replayed")],
        [(4, 4, "ai", "replayed")],
    ]
    assert made[0]["vacr"]["inputs"]["records"] == [made[1]["id"]]


def test_what_lies_outside_the_root_is_named_only(told, tmp_path):
    told.call(
        "Write",
        {"file_path": "/etc/x", "content": "x\n"},
        "File created",
        {"type": "create", "filePath": "/etc/x"},
    )
    made = made_of(told, tmp_path)
    assert files(made) == {}
    assert made["vacr"]["attribution"]["outside"] == ["/etc/x"]


def test_wishes_and_pull_requests(told, tmp_path):
    told.write("a.py", "x\n")
    told.line(type="pr-link", prUrl="https://example.org/pull/7")
    made = made_of(
        told,
        tmp_path,
        url="https://example.org/c/1",
        related=(("issue", "https://example.org/i/2"),),
    )
    (conversation,) = files(made)["a.py"]
    assert conversation["url"] == "https://example.org/c/1"
    assert [one["type"] for one in conversation["related"]] == ["issue", "pull-request"]
    assert made["vacr"]["inputs"]["url"] == "https://example.org/c/1"
    assert validate(made).findings == []


def test_the_newest_commit_is_the_revision(told, tmp_path):
    told.write("a.py", "x\n")
    told.bash("git commit -m x", "[main 1a2b3c4] x\n 1 file changed")
    assert made_of(told, tmp_path)["vcs"]["revision"] == "1a2b3c4"


def test_the_given_record_is_not_changed(told, tmp_path):
    told.write("a.py", "x\n")
    record = told.record(tmp_path)
    before = encode(record)
    attribute_records([record])
    assert encode(record) == before


def test_records_attributed_together_are_redone_once(tmp_path):
    records = []
    for number in range(4):
        told = Told(f"s{number}", start=100 * number)
        told.read("a.py", TEXT)
        told.edit("a.py", "two", f"two of {number}")
        told.edit("a.py", f"two of {number}", "two")
        told.write(f"{number}.py", "new\n")
        records.append(told.record(tmp_path))
    made = attribute_records(records)
    for record in made:
        assign_record_id(record)
    joint = JointRecords(made)
    forged = {**made[1], "file-attribution": made[2]["file-attribution"]}
    assert compare_attribution(forged, joint, None)[0] == ATTRIBUTION_DIFFERS
    assert [compare_attribution(json.loads(encode(record)), joint, None)[0] for record in made] == [
        ATTRIBUTION_HOLDS
    ] * 4
    assert len(joint._recomputed) == 2  # once with the forged one
