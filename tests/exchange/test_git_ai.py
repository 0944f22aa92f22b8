"""Notes of git-ai: import, export, storage in a repository, and losses."""

import copy
import json
import shutil
import subprocess

import pytest
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

import vacr
from tests.exchange.sessions import load_example, read_all_records
from vacr import validate
from vacr.agents.agent import Source, SourcePart
from vacr.errors import InvalidRecord, UnreadableInput
from vacr.exchange.export import ExportRequest
from vacr.exchange.formats import detect_format
from vacr.exchange.git_ai import (
    AttestedLines,
    GitAiNote,
    can_name_file,
    export,
    format_note,
    parse_note,
    read,
)
from vacr.record.encoding import encode_with_id

REQUEST = ExportRequest("ab" * 32)
NOTE = b"""src/main.rs
  s_a76964380084ef::t_a3a130d3e145e3 1-10,15
  h_dca485b1adf836 11-14
"docs/my file.md"
  d4a7828bfdafe456 5-6
---
{
  "schema_version": "authorship/3.0.0",
  "git_ai_version": "1.3.4",
  "base_commit_sha": "ae20f6f29e22293875cbfa6e6252db59360d960a",
  "prompts": {
    "d4a7828bfdafe456": {
      "agent_id": {"tool": "cursor", "id": "x", "model": "gpt-5"},
      "messages": [{"type": "user", "text": "hi"}],
      "human_author": null
    }
  },
  "sessions": {
    "s_a76964380084ef": {"agent_id": {"tool": "claude", "id": "y", "model": "claude-opus-5"}, "human_author": "A <a@b.example>"}
  },
  "humans": {"h_dca485b1adf836": {"author": "A <a@b.example>"}}
}
"""


def read_note(data):
    return read(Source((SourcePart("note.txt", data),)))


def import_document(data):
    return json.loads(b"".join(encode_with_id(read_note(data).record)))


def test_note_becomes_a_file_attribution():
    record = import_document(NOTE)
    validate(record).raise_for_errors()
    first, second = record["file-attribution"]["files"]
    assert [conversation["contributor"] for conversation in first["conversations"]] == [
        {"type": "ai", "model-id": "claude-opus-5"},
        {"type": "human"},
    ]
    assert first["conversations"][0]["ranges"] == [
        {"start-line": 1, "end-line": 10},
        {"start-line": 15, "end-line": 15},
    ]
    assert second["path"] == "docs/my file.md"
    assert record["vcs"] == {"type": "git", "revision": "ae20f6f29e22293875cbfa6e6252db59360d960a"}
    assert record["session"]["humans"]
    assert "transcripts in the note: 1" in read_note(NOTE).notices[0].message


def test_imported_note_is_exported_unchanged():
    again = export(import_document(NOTE), REQUEST).data
    assert parse_note(again) == parse_note(NOTE)
    assert again.partition(b"---\n")[0] == NOTE.partition(b"---\n")[0]


_paths = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    can_name_file
)
_ranges = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))),
    min_size=1,
    max_size=3,
)
_keys = st.sampled_from(
    ["s_a76964380084ef::t_a3a130d3e145e3", "h_dca485b1adf836", "d4a7828bfdafe456", "abcdef0"]
)
_files = st.lists(
    st.tuples(_paths, st.lists(st.builds(AttestedLines, _keys, _ranges), max_size=2)), max_size=3
)


@such_as([("{", [])], {})
@given(
    _files,
    st.dictionaries(
        st.sampled_from(["prompts", "format", "entries", "note"]),
        st.integers() | st.dictionaries(st.text("ab"), st.none()),
    ),
)
def test_any_note_survives_import_and_export(files, more):
    note = GitAiNote(files, {"schema_version": "authorship/3.0.0", "base_commit_sha": "a", **more})
    assert parse_note(format_note(note).encode()) == note
    record = import_document(format_note(note).encode())
    validate(record).raise_for_errors()
    assert parse_note(export(record, REQUEST).data) == note


def test_note_survives_storage_in_a_repository(tmp_path):
    if not shutil.which("git"):
        pytest.skip("needs git")

    def git(*arguments, data=None):
        command = [
            "git",
            "-C",
            str(tmp_path),
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b.example",
            *arguments,
        ]
        return subprocess.run(command, check=True, capture_output=True, input=data).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    made = export(vacr.attribute(copy.deepcopy(load_example("claude-code.jsonl"))), REQUEST)
    git("notes", "--ref=ai", "add", "-F", "-", "HEAD", data=made.data)
    stored = git("notes", "--ref=ai", "show", "HEAD")
    assert detect_format(stored) == "git-ai-notes"
    record = import_document(stored)
    (file,) = record["file-attribution"]["files"]
    assert file["path"] == "total.py"
    assert file["conversations"][0]["ranges"] == [
        {"start-line": 1, "end-line": 5},
        {"start-line": 7, "end-line": 7},
    ]
    assert parse_note(export(record, REQUEST).data) == parse_note(made.data)


def test_keys_follow_the_standard():
    record = vacr.attribute(copy.deepcopy(load_example("claude-code.jsonl")))
    note = parse_note(export(record, REQUEST).data)
    ((_, (attested,)),) = note.files
    assert note.metadata["sessions"][attested.key.partition("::")[0]]["agent_id"] == {
        "tool": "claude",
        "id": "6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113",
        "model": "claude-opus-4-6",
    }
    hashed = subprocess.run(
        ["sha256sum"],
        input=b"claude:6f0d1c52-8a3e-4b57-9c1d-2e7a90b4d113",
        capture_output=True,
        check=True,
    ).stdout
    assert attested.key[2:16] == hashed[:14].decode()


def test_note_has_only_lines_of_the_agent_and_counts_the_others():
    record = copy.deepcopy(load_example("claude-code.jsonl"))
    kinds = [
        ("ai", 1, 3),
        ("human", 4, 5),
        ("ai", 6, 6),
        ("ai", 4, 4),
        ("mixed", 7, 9),
        ("unknown", 10, 10),
    ]
    ranges = [
        {"start-line": first, "end-line": last, "contributor": {"type": kind}}
        for kind, first, last in kinds
    ]
    files = [
        {"path": path, "conversations": [{"ranges": ranges}]}
        for path in ("a b.py", 'a"b.py', "a\nb.py", "---")
    ]
    record["file-attribution"] = {"files": files}
    made = export(record, REQUEST)
    assert [
        (path, conversation.ranges) for path, (conversation,) in parse_note(made.data).files
    ] == [
        ("a b.py", [(1, 4), (6, 6)]),
        ("---", [(1, 4), (6, 6)]),
    ]
    assert made.losses["files whose names a note cannot hold"] == 2
    assert made.losses["lines of contributors of type mixed"] == 6
    assert made.losses["lines of contributors of type human"] == 4


def test_every_attributed_session_gives_a_note():
    found = 0
    for _, record in read_all_records():
        attributed = vacr.attribute(record)
        if attributed.get("file-attribution", {}).get("files"):
            found += 1
            assert import_document(export(attributed, REQUEST).data)
    assert found > 5


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"\xff---\n{}", UnreadableInput, "not UTF-8"),
        (b"a\n  s_1 1\n", InvalidRecord, "three hyphens"),
        (b"  s_1 1\n---\n{}", InvalidRecord, "line 1"),
        (b"a\n  s_1 x\n---\n{}", InvalidRecord, "line 2"),
        (b"a\n  s_1 5-4\n---\n{}", InvalidRecord, "5-4 is not a range"),
        (b"a\n  s_1 0\n---\n{}", InvalidRecord, "0 is not a range"),
        (b"---\n[]", InvalidRecord, "no JSON object"),
        (b"---\n{", UnreadableInput, "column"),
        (b'---\n{"schema_version":"authorship/9.0.0"}', InvalidRecord, "authorship/9.0.0"),
    ],
)
def test_invalid_note_is_rejected(data, error, message):
    with pytest.raises(error, match=message):
        read_note(data)
