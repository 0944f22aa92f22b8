"""Lines shown by searches, listings and reads of many files, in the format of each agent."""

import pytest

from tests.attribution.sessions import ROOT, Claude, Gemini, OpenCode, read_records
from vacr.attribution.attribute import replay_records


def list_known_lines(records):
    """Return the known lines of each file, by number."""
    replay, _ = replay_records(records)
    return {
        file.path.removeprefix(ROOT + "/"): {
            chunk.first + i: line
            for chunk in file.file.chunks
            if chunk.fresh
            for i, line in enumerate(chunk.lines)
        }
        for file in replay.files.values()
        if file.file.chunks
    }


@pytest.mark.parametrize(
    ("arguments", "output", "expected"),
    {
        "several files": (
            {},
            "a.py:3:x = 1\nb.py:9:  x",
            {"a.py": {3: "x = 1\n"}, "b.py": {9: "  x\n"}},
        ),
        "one file": ({"path": f"{ROOT}/a.py"}, "3:x = 1\n7:x", {"a.py": {3: "x = 1\n", 7: "x\n"}}),
        "with lines after": (
            {"-A": 1},
            "a.py:3:x\na.py-4-y\n--\na.py:8:x",
            {"a.py": {3: "x\n", 4: "y\n", 8: "x\n"}},
        ),
        "with lines before": (
            {"-B": 1},
            "a.py-2-w\na.py:3:x\n--\nb.py-1-v\nb.py:2:x",
            {"a.py": {2: "w\n", 3: "x\n"}, "b.py": {1: "v\n", 2: "x\n"}},
        ),
        "around, in one file": (
            {"-C": 1, "path": f"{ROOT}/a.py"},
            "2-w\n3:x\n4-y",
            {"a.py": {2: "w\n", 3: "x\n", 4: "y\n"}},
        ),
        "a path with dashes": (
            {"-A": 1},
            "a-1-b.py:3:x\na-1-b.py-4-y",
            {"a-1-b.py": {3: "x\n", 4: "y\n"}},
        ),
        "a drive": ({"path": "."}, "C:\\a.py:3:x", {"C:/a.py": {3: "x\n"}}),
        "without numbers": ({"path": f"{ROOT}/a.py", "-n": False}, "2024-01-02 x\nx = 1", {}),
        "numbers that do not rise": ({"path": f"{ROOT}/a.py", "-n": False}, "9: x\n3: x", {}),
        "a note at the end": (
            {},
            "a.py:3:x\n\n[Showing results with pagination = limit: 1]",
            {"a.py": {3: "x\n"}},
        ),
        "a cut": ({}, "a.py:3:x\na.py:\n\n... [27 lines truncated] ...", {"a.py": {3: "x\n"}}),
        "files": ({"output_mode": "files_with_matches"}, "Found 2 files\na.py\nb.py", {}),
        "counts": ({"output_mode": "count"}, "a.py:3\nb.py:4", {}),
    }.values(),
)
def test_claude_code_search_shows_lines(tmp_path, arguments, output, expected):
    claude = Claude()
    claude.call("Grep", {"pattern": "x", "output_mode": "content", "-n": True, **arguments}, output)
    assert list_known_lines(read_records(tmp_path, claude.data())) == expected


def test_listing_ends_before_the_hosts_remarks(tmp_path):
    claude = Claude()
    note = (
        f"Note: {ROOT}/b.py was modified, either by the user or by a linter. Lines:\n     2→other"
    )
    shown = f"     1→one\n     2→two\n\n<system-reminder>\n{note}\n</system-reminder>\n"
    claude.call("Read", {"file_path": f"{ROOT}/a.py"}, shown)
    assert list_known_lines(read_records(tmp_path, claude.data())) == {
        "a.py": {1: "one\n", 2: "two\n"},
        "b.py": {2: "other\n"},
    }


HEAD = 'Found 2 matches for pattern "x" in path "{}"{}:\n---\n'


@pytest.mark.parametrize(
    ("output", "expected"),
    {
        "two files": (
            HEAD.format(".", "")
            + "File: a.py\nL3: x = 1\nL4-   y\n---\nFile: b/c.py\nL9:   x\n---",
            {"a.py": {3: "x = 1\n", 4: "  y\n"}, "b/c.py": {9: "  x\n"}},
        ),
        "a folder": (
            HEAD.format("src", "") + "File: b/c.py\nL9:   x\n---",
            {"src/b/c.py": {9: "  x\n"}},
        ),
        "one file": (
            HEAD.format("src/c.py", "") + "File: c.py\nL9:   x\n---",
            {"src/c.py": {9: "  x\n"}},
        ),
        "a filter and a limit": (
            HEAD.format(".", ' (filter: "*.py") (results limited to 2)')
            + "File: a.py\nL9:   x\n---",
            {"a.py": {9: "  x\n"}},
        ),
        "empty lines": (
            HEAD.format(".", "") + "File: a.py\nL9:   x\nL10- \nL11- \n---",
            {"a.py": {9: "  x\n"}},
        ),
        "without indentation": (HEAD.format(".", "") + "File: a.py\nL9: x\nL10: x\n---", {}),
        "nothing": ('No matches found for pattern "x" in path ".".', {}),
        "several folders": (
            (
                'Found 1 match for pattern "x" across 2 workspace directories:\n---\nFile: a.py\n'
                "L9:   x\n---"
            ),
            {},
        ),
    }.values(),
)
@pytest.mark.parametrize("name", ["grep_search", "search_file_content"])
def test_gemini_search_shows_lines(tmp_path, name, output, expected):
    gemini = Gemini()
    gemini.call(name, {"pattern": "x"}, output)
    assert list_known_lines(read_records(tmp_path, gemini.data(), "session.json")) == expected


MANY = (
    f"--- {ROOT}/a.py ---\n\nx = 1\n\n\n--- {ROOT}/b.py ---\n\ny = 1\n--- z ---\n\n\n\n\n--- "
    "End of content ---"
)


def read_many(tmp_path, output, count):
    gemini = Gemini()
    display = (
        f"### ReadManyFiles Result (Target Dir: `{ROOT}`)\n\nSuccessfully read content "
        f"from **{count} file(s)**.\n"
    )
    gemini.call("read_many_files", {"include": ["*.py"]}, output, display if count else None)
    return list_known_lines(read_records(tmp_path, gemini.data(), "session.json"))


def test_read_of_many_files_shows_each(tmp_path):
    plain = MANY.replace("--- z ---\n", "")
    assert read_many(tmp_path, plain, 2) == {"a.py": {1: "x = 1\n"}, "b.py": {1: "y = 1\n"}}
    assert read_many(tmp_path, plain.replace(f"{ROOT}/", ""), 2) == {
        "a.py": {1: "x = 1\n"},
        "b.py": {1: "y = 1\n"},
    }


def test_read_of_many_files_with_an_ambiguous_border_shows_none(tmp_path):
    assert read_many(tmp_path, MANY, 2) == {}
    assert read_many(tmp_path, MANY.replace("--- z ---\n", ""), 0) == {}


def test_read_of_many_files_omits_truncated_files(tmp_path):
    cut = MANY.replace("--- z ---\n", "").replace(
        "x = 1", "[WARNING: This file was truncated.]\n\nx = 1"
    )
    assert read_many(tmp_path, cut, 2) == {"b.py": {1: "y = 1\n"}}


def test_file_that_gemini_may_not_read_is_not_shown(tmp_path):
    gemini = Gemini()
    gemini.call(
        "read_file",
        {"file_path": ".env"},
        f"File path '{ROOT}/.env' is ignored by configured ignore patterns.",
    )
    assert list_known_lines(read_records(tmp_path, gemini.data(), "session.json")) == {}


@pytest.mark.parametrize(
    ("output", "expected"),
    {
        "until 2026": (
            "<file>\n00001| a\n00002| b\n\n(End of file - total 2 lines)\n</file>",
            {1: "a\n", 2: "b"},
        ),
        "a part": (
            (
                "<file>\n00005| a\n\n(File has more lines. Use 'offset' parameter to read beyond "
                "line 5)\n</file>"
            ),
            {5: "a\n"},
        ),
        "since": (
            (
                f"<path>{ROOT}/a.py</path>\n<type>file</type>\n<content>\n1: a\n2: 3: b\n\n(End of "
                "file - total 2 lines)\n</content>"
            ),
            {1: "a\n", 2: "3: b\n"},
        ),
        "with remarks of the host": (
            (
                "<content>\n1: a\n\n(Showing lines 1-1 of 9.)\n</content>\n\n<system-reminder>\n2: "
                "no\n</system-reminder>"
            ),
            {1: "a\n"},
        ),
        "nothing": (f"File not found: {ROOT}/a.py", None),
    }.values(),
)
def test_opencode_read_shows_lines(tmp_path, output, expected):
    opencode = OpenCode()
    opencode.call("read", {"filePath": f"{ROOT}/a.py"}, output)
    assert (
        list_known_lines(read_records(tmp_path, opencode.data(), "session.json")).get("a.py")
        == expected
    )


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_opencode_search_shows_lines(tmp_path, gap):
    opencode = OpenCode()
    list_changes = gap.join([f"{ROOT}/a.py:", "  Line 3:   x: 1", "  Line 4: y:"])
    opencode.call(
        "grep",
        {"pattern": "x"},
        f"Found 2 matches\n{list_changes}\n\n(Results are truncated. Consider a more specific pattern.)",
    )
    assert list_known_lines(read_records(tmp_path, opencode.data(), "session.json")) == {
        "a.py": {3: "  x: 1\n", 4: "y:\n"}
    }
