"""Record names in a folder are unique, and plain names stay plain."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacr.discovery.places import (
    NameJoints,
    assign_place_names,
    make_record_name,
    make_session_name,
    strip_native_suffix,
)

LETTERS = st.sampled_from(["a", "b", "1", ".", "~", ".~1.", "~1"])
WORDS = st.lists(LETTERS, min_size=1, max_size=4).map("".join)
FILES = st.tuples(WORDS, st.sampled_from(["", ".json", ".jsonl", ".db"])).map("".join)
LABELS = st.lists(st.one_of(LETTERS, st.sampled_from(["/", "é"])), min_size=1, max_size=4).map(
    "".join
)


@given(
    st.sets(FILES, min_size=1, max_size=6).map(sorted),
    st.sets(WORDS, max_size=2).map(sorted),
    st.sets(LABELS, min_size=1, max_size=5),
    st.sets(st.integers(0, 7)),
)
def test_record_names_in_a_folder_are_unique(files, sessions, record_names, databases):
    names = [*assign_place_names(files, sessions).values(), *sessions]
    assert len(set(names)) == len(names)
    joints = NameJoints(names)
    found = [make_record_name(name, ".", "") for name in names]
    for number, name in enumerate(names):
        # The sessions of a database are listed before they are read.
        found += [
            make_record_name(name, joints.of(name, label if number in databases else None), label)
            for label in record_names
        ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a.jsonl"], ["a"]),
        (["a.jsonl", "b.json"], ["a", "b"]),
        (["a.json", "a.jsonl"], ["a.json", "a.jsonl"]),
        (["a.json", "a.json.jsonl", "a.jsonl"], ["a.json", "a.json.jsonl", "a.jsonl"]),
    ],
)
def test_plain_names_stay_plain(files, expected):
    assert list(assign_place_names(files).values()) == expected


def test_only_a_clashing_session_gets_another_joint():
    joints = NameJoints(["opencode", "opencode.ses_1", "opencode.db.bak"])
    assert joints.of("opencode", "ses_2") == "."
    assert joints.of("opencode", "ses_1") == ".~1."
    assert joints.of("opencode") == ".~1."
    assert joints.of("opencode.ses_1") == "."


def test_unsafe_labels_get_a_digest():
    assert make_record_name("a", ".", "ses_1") == "a.ses_1"
    record_names = [
        make_record_name("a", ".", label)
        for label in ("x-y", "x/y", "x y", "x" * 300, "x" * 301, "é" * 300)
    ]
    assert len(set(record_names)) == len(record_names)
    assert record_names[0] == "a.x-y"
    assert make_record_name("a", ".", record_names[1].removeprefix("a.")) != record_names[1]
    assert all("/" not in name and len(os.fsencode(name)) <= 240 for name in record_names)


@pytest.mark.parametrize("name", [".jsonl", "..jsonl", "...json"])
def test_reserved_stem_keeps_its_ending(name):
    assert strip_native_suffix(name) == name


@pytest.mark.parametrize("session_id", ["", ".", "..", "a"])
def test_reserved_session_ids_are_marked(session_id):
    assert make_session_name(session_id) not in ("", ".", "..")
