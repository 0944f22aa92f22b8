"""Paths made absolute, relative and comparable."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacr.edits.paths import make_absolute_path, make_path_key, make_relative_path


@pytest.mark.parametrize(
    ("path", "folder", "name"),
    [
        ("a", "/w", "/w/a"),
        ("./a/../b", "/w", "/w/b"),
        ("/x/a", "/w", "/x/a"),
        ("../../../a", "/w", "/a"),
        ("a/", "/w/", "/w/a"),
        ("a", "", "a"),
        ("../a", "", "../a"),
        ("~/a", "/w", "~/a"),
        ("a\\b", "/w", "/w/a\\b"),
        ("a\\b", "C:\\w", "C:/w/a/b"),
        ("c:\\w\\a", "/w", "C:/w/a"),
        ("D:/w/../a", "C:\\w", "D:/a"),
        ("C:\\..\\..\\a", "C:\\w", "C:/a"),
        ("..\\..\\..\\a", "C:\\w", "C:/a"),
        ("/d/w/a", "D:\\w", "D:/w/a"),
        ("/mnt/d/w/a", "D:\\w", "D:/w/a"),
        ("/cygdrive/d/w/a", "D:\\w", "D:/w/a"),
        ("/d", "D:\\w", "D:/"),
        ("/usr/a", "D:\\w", "D:/usr/a"),
        ("/d/w/a", "/w", "/d/w/a"),
        ("\\\\server\\share\\a", "C:\\w", "//server/share/a"),
        ("a", "\\\\server\\share", "//server/share/a"),
        ("\\\\?\\C:\\w\\a", "C:\\w", "C:/w/a"),
        ("\\\\?\\UNC\\server\\share\\a", "C:\\w", "//server/share/a"),
        ("a b/é\u0301\u2028", "/w", "/w/a b/é\u0301\u2028"),
    ],
)
def test_path_is_made_absolute(path, folder, name):
    assert make_absolute_path(path, folder) == name
    assert make_absolute_path(name, folder) == name


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("/w/a/b", "/w", "a/b"),
        ("/w/a/b", "/w/", "a/b"),
        ("/w", "/w", None),
        ("/wa/b", "/w", None),
        ("/W/a", "/w", None),
        ("/a", "/", "a"),
        ("C:/w/A", "c:\\W", "A"),
        ("C:/w/a", "C:/w/a/b", None),
        ("D:/w/a", "C:/w", None),
        ("//server/share/a", "\\\\SERVER\\share", "a"),
        ("C:/straße/a", "C:/STRASSE", None),
        ("C:/İ/a", "C:/İ", "a"),
        ("a", "", "a"),
        ("../a", "", None),
        (".", "", None),
        ("~/a", "", None),
        ("/a", "", None),
        ("C:/a", "", None),
        ("/w/a\0b", "/w", None),
        ("/w/\ud800", "/w", None),
        ("/w/\udcff", "/w", "\udcff"),
        ("/w/e\u0301", "/w", "e\u0301"),
    ],
)
def test_path_is_made_relative_to_the_root(path, root, name):
    assert make_relative_path(path, root) == name


def test_case_distinguishes_paths_on_posix_only():
    assert make_path_key("/w/A") != make_path_key("/w/a")
    assert make_path_key("C:/w/A") == make_path_key("C:/w/a")
    assert make_path_key("C:/w/ß") != make_path_key("C:/w/ss")


PART = st.one_of(
    st.sampled_from(
        ["..", ".", "", "a", "A", "C:", "d", "mnt", "~", "\\", "..\\..", "\0", "\ud800", "é"]
    ),
    st.text(max_size=3),
)
PATH = st.tuples(
    st.sampled_from(["", "/", "//", "C:\\", "c:/", "\\\\", "\\\\?\\", "/d/", "~/"]),
    st.lists(PART, max_size=6).map("/".join),
).map("".join)


@given(PATH, PATH, PATH)
def test_relative_path_never_leaves_the_root(path, folder, root):
    inside = make_relative_path(make_absolute_path(path, folder), root)
    if inside is not None:
        assert inside
        assert not inside.startswith(("/", "../"))
        assert ".." not in inside.split("/")
        assert posixpath.normpath(inside) == inside
        assert "\0" not in inside
