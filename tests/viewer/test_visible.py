"""Untrusted text has no effect on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from vacr.viewer.content import make_visible


def test_control_characters_become_escapes():
    assert make_visible("\x1b[2J\x1b]0;title\x07") == "\\x1b[2J\\x1b]0;title\\x07"
    assert make_visible("a\rb\x9b31m\x00") == "a\\rb\\x9b31m\\x00"
    assert make_visible("ab\u202egnp.exe\u2066") == "ab\\u202egnp.exe\\u2066"
    assert make_visible("\ud800") == "\\ud800"


def test_ordinary_text_stays():
    for text in ("plain", "über 日本語\u3000全角", "👩\u200d💻", "one\ntwo\n", "a\u00a0b"):
        assert make_visible(text) == text
    assert make_visible("a\tb\r\nc") == "a   b\nc"


@given(st.text())
def test_no_control_character_remains(text):
    shown = make_visible(text)
    assert all(letter.isprintable() or letter in "\n\u200d" or letter.isspace() for letter in shown)
    assert not any(ord(letter) < 32 and letter != "\n" for letter in shown)
