"""What makes the whole text of a file known, and what leaves a doubt about it."""

import pytest

from tests.attribution.sessions import ROOT, Claude, read_records
from tests.attribution.test_unobserved_changes import make_base
from vacr.attribution.attribute import list_changed_files, replay_records

PATH = f"{ROOT}/a.py"


def rebuild(tmp_path, claude, base=None):
    """Return the bytes and the doubt of the rebuilt file; the bytes are `None` if unknown."""
    records = read_records(tmp_path, claude.data())
    files = {path: (data, facts) for path, data, facts in list_changed_files_of(records, base)}
    data, facts = files["a.py"]
    return data, facts.get("doubt")


def list_changed_files_of(records, base):
    return list(list_changed_files(*replay_records(records, base)))


def list_lines(text, first=1):
    """Return a text as Claude Code lists it, with an empty line after the last line end."""
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.split("\n"), first))


def read(claude, text, first=1, **more):
    """Record a read of which only the listing is known, as in a sub-agent."""
    claude.call("Read", {"file_path": PATH, **more}, list_lines(text, first))


def edit(claude, old, new):
    claude.call("Edit", {"file_path": PATH, "old_string": old, "new_string": new})


@pytest.mark.parametrize("text", ["one\ntwo\n", "one\ntwo\n\n"])
def test_listing_with_an_empty_last_line_shows_the_whole_file(tmp_path, text):
    claude = Claude()
    read(claude, text)
    edit(claude, "two", "2")
    assert rebuild(tmp_path, claude) == (text.replace("two", "2").encode(), None)


def test_listing_without_an_empty_last_line_proves_no_end(tmp_path):
    claude = Claude()
    read(claude, "one\ntwo")
    edit(claude, "two", "2")
    assert rebuild(tmp_path, claude) == (None, None)


def test_listing_of_a_full_page_proves_no_end(tmp_path):
    claude = Claude()
    read(claude, "one\ntwo\n", limit=3)
    edit(claude, "two", "2")
    assert rebuild(tmp_path, claude) == (None, None)


def test_listing_after_a_write_does_not_add_an_empty_line(tmp_path):
    claude = Claude()
    claude.call(
        "Write", {"file_path": PATH, "content": "one\ntwo\n"}, "File created successfully at: a.py"
    )
    claude.call("Bash", {"command": "black ."}, "")
    read(claude, "one\ntwo\n")
    assert rebuild(tmp_path, claude) == (b"one\ntwo\n", None)


def test_two_windows_up_to_the_end_show_the_whole_file(tmp_path):
    claude = Claude()
    read(claude, "one\ntwo", limit=2)
    read(claude, "three\nfour\n", first=3, offset=3)
    edit(claude, "four", "4")
    assert rebuild(tmp_path, claude) == (b"one\ntwo\nthree\n4\n", None)


def test_window_up_to_the_end_is_known_from_the_count_of_lines(tmp_path):
    claude = Claude()
    for first, content in ((1, "one\ntwo"), (3, "three\nfour\n")):
        file = {"filePath": PATH, "content": content, "startLine": first, "totalLines": 5}
        claude.call("Read", {"file_path": PATH}, "…", {"type": "text", "file": file})
    edit(claude, "four", "4")
    assert rebuild(tmp_path, claude) == (b"one\ntwo\nthree\n4\n", None)


def test_search_context_that_the_host_shortened_changes_nothing(tmp_path):
    claude = Claude()
    read(claude, "// one: first\ntwo()\n")
    edit(claude, "two()", "two(2)")
    claude.call(
        "Grep",
        {"pattern": "two", "output_mode": "content", "-B": 1},
        "a.py-1-/ one: first\na.py:2:two(2)",
    )
    assert rebuild(tmp_path, claude) == (b"// one: first\ntwo(2)\n", None)


@pytest.mark.parametrize(
    "command",
    [
        "git stash && git stash pop",
        "git stash push --keep-index -m later && make; git stash pop",
    ],
)
def test_stash_that_is_popped_leaves_the_file_as_it_was(tmp_path, command):
    claude = Claude()
    read(claude, "one by a person\ntwo\n")  # The base has another text.
    edit(claude, "two", "2")
    claude.call("Bash", {"command": command}, "Saved working directory and index state On main: x")
    base = make_base(a_py="one\ntwo\n")
    assert rebuild(tmp_path, claude, base) == (b"one by a person\n2\n", None)


def test_redacted_line_is_the_line_of_the_base(tmp_path):
    claude = Claude()
    read(claude, "def REDACTED():\n    pass\n\n\ndef test_b():\n    key = 'REDACTED'\n")
    edit(claude, "    pass", "    return 1")
    base = make_base(a_py="def test_a():\n    pass\n\n\ndef test_b():\n    key = 'x1y2'\n")
    text = b"def test_a():\n    return 1\n\n\ndef test_b():\n    key = 'x1y2'\n"
    assert rebuild(tmp_path, claude, base) == (text, None)


def test_redacted_line_without_a_known_text_is_a_doubt(tmp_path):
    claude = Claude()
    claude.call(
        "Write",
        {"file_path": PATH, "content": "key = 'REDACTED'\n"},
        "File created successfully at: a.py",
    )
    assert rebuild(tmp_path, claude) == (b"key = 'REDACTED'\n", "redacted")


def test_redaction_mark_of_the_base_is_no_doubt(tmp_path):
    claude = Claude()
    read(claude, "MARK = 'REDACTED'\none\n")
    edit(claude, "one", "1")
    base = make_base(a_py="MARK = 'REDACTED'\none\n")
    assert rebuild(tmp_path, claude, base) == (b"MARK = 'REDACTED'\n1\n", None)
