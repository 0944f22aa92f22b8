"""Columns of tables are aligned by their width on the screen."""

import pytest

from vacr.console import (
    align_columns,
    get_terminal_width,
    join_escaped_lines,
    truncate_file,
    truncate_path,
    truncate_start,
    wrap_to_width,
)


@pytest.mark.parametrize(
    "text",
    ["ab", "日", "👩", "é", "e\u0301b", "\x1b"],
    ids=["plain", "wide", "emoji", "one", "combined", "control"],
)
def test_columns_are_aligned(text):
    rows = align_columns([("x", "end"), (text, "end")], right=frozenset())
    places = {"ab": 2, "日": 2, "👩": 2, "é": 1, "e\u0301b": 2, "\x1b": 4}[text]
    assert rows[0] == "x" + " " * (places + 1) + "end"
    assert rows[1].endswith("  end")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, "agent  日本語日本語日本語日本語"),
        (31, "agent  日本語日本語日本語日本語"),
        (30, "agent  日本語日本語日本語日本…"),
        (1, "agent  日本語日本語日本語 …"),
    ],
)
def test_last_column_is_cut_only_to_a_width(width, shown):
    assert align_columns(
        [("agent", "日本語日本語日本語日本語")], right=frozenset(), width=width
    ) == [shown]


def test_end_of_a_path_is_kept():
    assert truncate_start("/home/nora", 10) == "/home/nora"
    assert truncate_start("/home/nora", 5) == "…nora"
    assert truncate_start("/日本語", 6) == "…本語"
    assert truncate_start("/home/mira/invoice", 16) == "…/mira/invoice"
    assert truncate_start("/home/mira/invoice", 13) == "…mira/invoice"
    assert truncate_start("qwen/coder-30b/long-name", 20) == "…coder-30b/long-name"
    assert truncate_start("a/very-long-name/b", 12) == "…long-name/b"


def test_no_word_of_a_path_is_cut_at_its_start():
    assert truncate_path("/home/nora", 10) == "/home/nora"
    assert truncate_path("~/src/EveryProcess/agentv", 16) == "…/agentv"
    assert truncate_path("~/src/every-process/agentv", 15) == "…process/agentv"
    assert truncate_path("~/src/EveryProcess/agentv", 20) == "…EveryProcess/agentv"
    assert truncate_path("/home/mira/invoice", 16) == "…/mira/invoice"
    assert truncate_path("/home/mira/EveryProcessOfAgents", 16) == "EveryProcessOfA…"
    assert truncate_path("/home/mira/every-process-of-agents", 16) == "every-process-o…"
    assert truncate_path("/日本語", 6) == "日本語"
    assert truncate_path("/日本語", 5) == "日本…"
    assert truncate_path("/home/mira/EveryProcess/", 8) == "EveryPr…"
    assert truncate_path("/", 8) == "/"


def test_only_a_terminal_has_a_width(tmp_path):
    with (tmp_path / "file").open("w") as file:
        assert get_terminal_width(file) is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("  one two three", ["  one two", "    three"]),
        ("a  = b  | c  d", ["a  = b  |", "  c  d"]),
        ("/a/path/that/is/long x", ["/a/path/that/is/long", "  x"]),
        ("  日本 日本 日本", ["  日本", "    日本", "    日本"]),
    ],
)
def test_lines_are_broken_between_words(text, lines):
    assert wrap_to_width(text, 10) == lines
    assert wrap_to_width(text, None) == [text]
    assert wrap_to_width(text, 10, hanging=0)[1].startswith(" ") == text.startswith(" ")


@pytest.mark.parametrize(
    ("path", "width", "shown"),
    [
        ("sealed/a.acr.json", 20, "sealed/a.acr.json"),
        ("sealed-by-us/abc.acr.json", 16, "…/abc.acr.json"),
        ("sealed/bb7b0be9-8ba8-46a0.acr.json", 20, "bb7b0be9-8….acr.json"),
    ],
)
def test_long_names_of_files_keep_both_ends(path, width, shown):
    assert truncate_file(path, width) == shown


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        (r"Add a code.\nKeep cents", "Add a code. Keep cents"),
        (r"<context>\n\nYour repo", "<context> Your repo"),
        (r"why\n\nthis?\n", "why this?"),
        (r"Move C:\new\notes to .\nodes", r"Move C:\new\notes to .\nodes"),
        (r"print('a\nB')", r"print('a\nB')"),
    ],
)
def test_titles_have_no_escaped_line_ends(title, shown):
    assert join_escaped_lines(title) == shown


def test_a_command_stays_with_its_verb():
    lines = wrap_to_width("none of them matches. To see all of them: vacr list -v", 48)
    assert lines == ["none of them matches. To see all of them:", "  vacr list -v"]


def test_paths_that_would_look_the_same_stay_whole():
    rows = [("", "file", "signer")]
    rows += [("✓", f"folder-{number}/a-session-with-a-long-name.json", "Mira") for number in "12"]
    rows += [("✓", "folder-3/another-file-with-a-long-name.json", "Nora")]
    lines = align_columns(rows, right=frozenset(), width=30, paths=1)
    assert lines[1].split("\n")[0] == "✓  folder-1/a-session-with-a-long-name.json"
    assert lines[2].split("\n")[0] == "✓  folder-2/a-session-with-a-long-name.json"
    assert lines[1].split("\n")[1].split() == ["Mira"]
    assert len(lines[3]) <= 30
    whole = align_columns(rows, right=frozenset(), width=30, paths=1, whole={3})
    assert whole[3].split("\n")[0] == "✓  folder-3/another-file-with-a-long-name.json"
