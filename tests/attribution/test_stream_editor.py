"""`sed -i` and `perl -pi`: the same text as the programs themselves write."""

import shutil
import subprocess
from itertools import product

import pytest

from tests.attribution.sessions import ROOT, Claude, read_records
from tests.attribution.test_unobserved_changes import find_contributors, make_base
from vacr.attribution.attribute import list_changed_files, replay_records
from vacr.attribution.shell.stream_editor import parse_stream_edit

TEXT = (
    "import os\n\nfoo.bar(1, 2)\n  x = a*b + c\n# comment [x]\nalpha/beta\n"
    "end {\n}\n\tfoo = 'bar'\nlast line\n"
)
SED_PROGRAMS = r"""
s/foo/baz/
s/o/0/g
s/o/0/2
s|alpha/beta|x/y|
s/alpha\/beta/q/
s/a*b/Z/
s/^/  /
s/$/;/
s/\(foo\)\.\(bar\)/\2.\1/
s/(foo)\.(bar)/\2.\1/
/comment/d
2,4d
$d
$!d
/foo/,/end/d
/x/,2d
3,/foo/d
/end/,/}/c\  new\n  block
/foo/i \  before
/foo/a after line
1i\#!/bin/sh
$a\last
5c changed
s/[[:space:]]*$//
s/[{}]/B/g
s/\bx\b/yy/g
s/a\+/A/g
s/a\|e/V/g
s/ \{2,\}/ /g
s/x = .*/& \/\/ ok/
s/foo/one\ntwo/
3s/1/9/
/foo/!s/a/A/
s/FOO/x/I
s/a/b/;s/b/c/
s/a$b/c/
""".strip().split("\n")
PERL_PROGRAMS = r"""
s/foo/baz/
s/o/0/g
s{alpha/beta}{x/y}
s/(foo)\.(bar)/$2.$1/
s/^\s+//
s/\s+$/\n/
s|a|b|g; s/b/c/
s/foo\.bar\(1, 2\)/q(\$1)/
s/A/z/gi
s/\n//
""".strip().split("\n")


def run_program(tmp_path, words, text):
    """Return the text that the program itself makes of a file, or `None` if it fails."""
    path = tmp_path / "f"
    path.write_bytes(text.encode())
    done = subprocess.run([*words, path], capture_output=True, check=False)
    return path.read_bytes().decode() if done.returncode == 0 else None


def has_gnu_sed():
    if shutil.which("sed") is None:
        return False
    return b"GNU" in subprocess.run(["sed", "--version"], capture_output=True, check=False).stdout


@pytest.mark.skipif(not has_gnu_sed(), reason="needs GNU sed")
@pytest.mark.parametrize(
    ("option", "program"), list(product(("-i", "-Ei", "--in-place"), SED_PROGRAMS))
)
def test_sed_program_gives_the_text_of_sed(tmp_path, option, program):
    words = ["sed", *(["-E", "-i"] if option == "-Ei" else [option]), program]
    for text in (TEXT, TEXT[:-1], TEXT.replace("\n", "\r\n"), ""):
        real = run_program(tmp_path, words, text)
        edit = parse_stream_edit([*words, "f"])
        if real is None:
            assert edit is None
            continue
        assert edit is not None
        assert edit.program.rewrite(text) in (real, None)
    assert edit is None or edit.program.rewrite(TEXT) is not None


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs Perl")
@pytest.mark.parametrize(
    ("options", "program"),
    list(product((["-pi", "-e"], ["-i", "-pe"], ["-0777", "-pi", "-e"]), PERL_PROGRAMS)),
)
def test_perl_program_gives_the_text_of_perl(tmp_path, options, program):
    words = ["perl", *options, program]
    edit = parse_stream_edit([*words, "f"])
    assert edit is not None
    assert edit.program.rewrite(TEXT) == run_program(tmp_path, words, TEXT)


@pytest.mark.parametrize(
    "words",
    [
        ["sed", "s/a/b/", "f"],  # not in place
        ["sed", "-n", "-i", "s/a/b/p", "f"],
        ["sed", "-i", "N;s/a/b/", "f"],
        ["sed", "-i", "/a/{s/a/b/}", "f"],
        ["sed", "-i", r"s/.*/\U&/", "f"],
        ["sed", "-i", "s/x*/-/g", "f"],
        ["sed", "-i", "s/a/b/w out", "f"],
        ["sed", "-i", "s/a/b/e", "f"],
        ["sed", "-i", "", r"s/a/\n/", "f"],  # BSD's sed
        ["sed", "-i", None, "f"],
        ["perl", "-pi", "-e", "s/a/$x/", "f"],
        ["perl", "-pi", "-e", "s/a/b/e", "f"],
        ["perl", "-pi", "-e", "$n++", "f"],
        ["perl", "-ne", "s/a/b/", "f"],
        ["awk", "-i", "inplace", "{print}", "f"],
    ],
)
def test_other_programs_are_not_parsed(words):
    assert parse_stream_edit(words) is None


def test_slow_search_is_not_made():
    edit = parse_stream_edit(["sed", "-i", r"s/\(a*\)*b/c/", "f"])
    assert edit is not None
    assert edit.program.rewrite("a" * 100 + "\n") is None


def rebuild(tmp_path, claude, base):
    """Return the text and the doubt of each changed file."""
    left = list_changed_files(*replay_records(read_records(tmp_path, claude.data()), base))
    return {path: (data, about.get("doubt")) for path, data, about in left}


def test_edited_lines_are_known_and_belong_to_the_shell(tmp_path):
    base = make_base(a_py="one = 1\ntwo = 2\n", b_py="one = 1\n", c_md="one = 1\n")
    claude = Claude()
    claude.call(
        "Edit",
        {"file_path": f"{ROOT}/a.py", "old_string": "two = 2", "new_string": "two = one + 1"},
    )
    claude.call("Bash", {"command": "sed -i 's/one/first/g' *.py"}, "")
    assert rebuild(tmp_path, claude, base) == {
        "a.py": (b"first = 1\ntwo = first + 1\n", None),
        "b.py": (b"first = 1\n", None),
    }
    kinds = find_contributors(read_records(tmp_path, claude.data()), base)
    assert kinds == {("a.py", 1): "unknown", ("a.py", 2): "mixed", ("b.py", 1): "unknown"}


def test_failed_edit_leaves_a_doubt(tmp_path):
    base = make_base(a_py="one\n")
    claude = Claude()
    claude.call("Bash", {"command": "sed -i s/one/1/ a.py"}, "", error=True)
    assert rebuild(tmp_path, claude, base) == {}


@pytest.mark.parametrize("mv", ["mv", "mv -f", "mv --"])
def test_output_of_sed_that_replaces_its_file_is_an_edit(tmp_path, mv):
    base = make_base(a_py="one\ntwo\n")
    claude = Claude()
    claude.call("Bash", {"command": f"sed s/one/1/ a.py > /tmp/a.py && {mv} /tmp/a.py a.py"}, "")
    assert rebuild(tmp_path, claude, base) == {"a.py": (b"1\ntwo\n", None)}


@pytest.mark.parametrize(
    "command",
    [
        "awk 'NR != 1' a.py > /tmp/a.py && mv /tmp/a.py a.py",
        "sed s/one/1/ a.py b.py > /tmp/a.py && mv /tmp/a.py a.py",
        "cat a.py | sed s/one/1/ > /tmp/a.py && mv /tmp/a.py a.py",
        "sed s/one/1/ < a.py > /tmp/a.py; mv /tmp/a.py a.py",
    ],
)
def test_output_of_a_filter_that_replaces_its_file_is_a_doubt(tmp_path, command):
    base = make_base(a_py="one\ntwo\nthree\n")
    claude = Claude()
    claude.call("Edit", {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2"})
    claude.call("Bash", {"command": command}, "")
    assert rebuild(tmp_path, claude, base) == {"a.py": (None, None)}
    claude.read("a.py", "1\n2\nthree\n")
    assert rebuild(tmp_path, claude, base)["a.py"][0] == b"1\n2\nthree\n"
