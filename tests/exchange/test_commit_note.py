"""Notes of commits: what is written is read back, and hostile notes claim nothing more."""

import json
from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from vacr.errors import VacrError
from vacr.exchange.commit_note import (
    build_commit_note,
    is_note_of_vacr,
    make_noted_claim,
    merge_notes,
    read_noted_lines,
)
from vacr.exchange.git_ai import AttestedLines, GitAiNote, format_note, parse_note

TYPES = st.sampled_from(["ai", "human", "mixed"])
CLAIMS = st.builds(
    lambda kind, session, entry: make_noted_claim(
        kind,
        tool="agent",
        session=session,
        model="gpt-5",
        record=f"record-{session}",
        digest="ab" * 32,
        proof={"entry": entry, "evidence": "replayed", "join": "content"},
    ),
    TYPES,
    st.sampled_from(["one", "two"]),
    st.sampled_from(["e-1", "e-2"]),
)
LINES = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.dictionaries(st.integers(1, 40), CLAIMS, min_size=1, max_size=10),
    max_size=3,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def describe(lines):
    return {
        path: {number: (claim.type, claim.key, claim.record) for number, claim in own.items()}
        for path, own in lines.items()
    }


@given(LINES)
def test_note_is_read_back_as_it_was_written(lines):
    text = format_note(build_commit_note("c0ffee", lines).note)
    note = parse_note(text.encode())
    noted = read_noted_lines(note, {path: range(1, 41) for path in lines})
    assert describe(noted.lines) == describe(lines)
    assert noted.ignored == Counter()
    assert is_note_of_vacr(note)


@given(LINES)
def test_readers_of_git_ai_see_only_the_lines_of_agents(lines):
    note = build_commit_note("c0ffee", lines).note
    for path, attested in note.files:
        for key, ranges in attested:
            for first, last in ranges:
                for number in range(first, last + 1):
                    claim = lines[path][number]
                    assert (claim.type, claim.key) == ("ai", key)
            assert key.partition("::")[0] in note.metadata["sessions"]


@given(
    files=st.lists(
        st.tuples(
            st.sampled_from(["a.py", "b.py"]),
            st.lists(
                st.builds(
                    AttestedLines,
                    st.sampled_from(["s_1::t_2", "s_1", "h_1", "abc", "x" * 36]),
                    st.lists(
                        st.tuples(st.integers(1, 2**53 - 1), st.integers(1, 2**53 - 1)).map(
                            lambda pair: (min(pair), max(pair))
                        ),
                        max_size=3,
                    ),
                ),
                max_size=3,
            ),
        ),
        max_size=4,
    ),
    metadata=st.dictionaries(
        st.sampled_from(["sessions", "prompts", "humans", "vacr", "git_ai_version"]),
        JSON
        | st.dictionaries(
            st.sampled_from(["s_1", "h_1", "abc", "proofs", "lines", "records", "version"]),
            JSON | st.fixed_dictionaries({"agent_id": JSON}),
        ),
    ),
    added=st.dictionaries(st.sampled_from(["a.py", "c.py"]), st.sets(st.integers(1, 9))),
)
@example(
    files=[],
    metadata={"vacr": {"version": 1, "lines": {"a.py": {"abc": "1-9999999999999999"}}}},
    added={"a.py": {1}},
)
def test_hostile_note_claims_only_added_lines(files, metadata, added):
    note = GitAiNote(files, metadata)
    noted = read_noted_lines(note, added)
    for path, claims in noted.lines.items():
        assert set(claims) <= set(added[path])
        for claim in claims.values():
            assert claim.type in ("ai", "human", "mixed")
            texts = (claim.model, claim.tool, claim.session, claim.record, claim.digest)
            assert all(isinstance(text, str) for text in (*texts, claim.evidence))
    assert all(count > 0 for count in noted.ignored.values())
    build_commit_note("c0ffee", noted.lines)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_note_of_any_bytes_is_read_or_refused(data):
    try:
        note = parse_note(data)
    except VacrError:
        return
    read_noted_lines(note, {"a.py": {1}})


def test_last_entry_of_a_line_counts():
    metadata = {"prompts": {key: {"agent_id": {"id": key}} for key in ("one", "two")}}
    files = [("a.py", [AttestedLines("one", [(1, 3)]), AttestedLines("two", [(2, 2)])])]
    noted = read_noted_lines(GitAiNote(files, metadata), {"a.py": {1, 2, 3}})
    assert [claim.session for claim in noted.lines["a.py"].values()] == ["one", "two", "one"]


@given(LINES, LINES)
def test_merged_note_has_every_entry_of_both(theirs, ours):
    notes = [build_commit_note("c0ffee", lines).note for lines in (theirs, ours)]
    merged = merge_notes(*notes)
    entries = {
        (path, key, number)
        for path, attested in merged.files
        for key, ranges in attested
        for first, last in ranges
        for number in range(first, last + 1)
    }
    for note in notes:
        for path, attested in note.files:
            for key, ranges in attested:
                assert {(path, key, first) for first, _ in ranges} <= entries
        assert note.metadata["sessions"].keys() <= merged.metadata["sessions"].keys()
    assert json.loads(format_note(merged).partition("---\n")[2])
    # Where both speak of a line, ours counts.
    added = {path: range(1, 41) for path in ours}
    alone = describe(read_noted_lines(notes[1], added).lines)
    both = describe(read_noted_lines(merged, added).lines)
    for path, claims in alone.items():
        for number, claim in claims.items():
            if claim[0] == "ai" and number not in theirs.get(path, {}):
                assert both[path][number] == claim


def test_path_that_is_not_unicode_is_left_out():
    claim = make_noted_claim(
        "ai", tool="t", session="s", model="m", record="r", digest="", proof={}
    )
    built = build_commit_note("c0ffee", {"caf\udce9.py": {1: claim}, "b.py": {1: claim}})
    assert (built.unnamed, [path for path, _ in built.note.files]) == (["caf\udce9.py"], ["b.py"])
