"""The regular expressions of XML Schema, by hand and against Python's own."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.cddl.generator import make_pattern_text
from vacr.cddl.regexp import (
    Automaton,
    PatternError,
    PatternTooLargeError,
    compile_pattern,
    parse_pattern,
)

CASES = [
    ("abc", ["abc"], ["ab", "abcd", "xabc", ""]),
    ("", [""], ["a"]),
    ("a|b|", ["a", "b", ""], ["ab"]),
    ("a{2}b{1,}c{0,2}", ["aab", "aabbcc"], ["ab", "aabccc"]),
    ("^a$", ["^a$"], ["a"]),
    (".", ["x", "\u2028"], ["\n", "\r", ""]),
    ("[a-c-[b]]", ["a", "c"], ["b", "-"]),
    ("[a-z-[aeiou]]+", ["xyz"], ["xay"]),
    ("[^a-c]", ["d", "\n"], ["a"]),
    ("[^a-z-[A]]", ["B", "1"], ["A", "b"]),
    ("[\\-a\\]]+", ["-a]"], ["b"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[-a]", ["a", "-"], ["b"]),
    ("[\\d.]+", ["1.2", "٣"], ["a"]),
    ("\\d{2}", ["12", "٣٤"], ["1a"]),
    ("\\D", ["a"], ["1"]),
    ("\\w+", ["aé1", "漢"], ["a b", "a-b", "a_b"]),
    ("\\W", [" ", "-", "_"], ["a"]),
    ("\\s\\S", [" a", "\tb"], ["a ", "\u00a0a"]),
    ("\\i\\c*", ["a-b.c", "_x:1"], ["1a", "-a"]),
    ("\\I\\C", ["1 "], ["ab"]),
    ("\\p{L}+", ["aé漢"], ["a1"]),
    ("\\p{Lu}\\P{Lu}", ["Ab", "É1"], ["ab", "AB"]),
    ("\\p{IsBasicLatin}+", ["abc"], ["é"]),
    ("[\\p{Nd}a]", ["1", "a", "٣"], ["b"]),
    ("\\n\\t\\r\\.\\\\\\(\\)\\[\\]\\{\\}\\|\\?\\*\\+\\-\\^", ["\n\t\r.\\()[]{}|?*+-^"], ["x"]),
    ("(a(b(c)?)?)?", ["", "a", "ab", "abc"], ["ac", "b"]),
    ("([a-z]+)*", ["", "abc"], ["a1"]),
    ("(a|aa)+b", ["aab"], ["aa", "a" * 5000]),
    ("(a?){30}a{30}", ["a" * 30, "a" * 60], ["a" * 29, "a" * 61]),
    ("(x+x+)+y", ["xxy"], ["x" * 3000]),
    ("a*a*a*a*a*a*b", ["b", "aab"], ["a" * 3000]),
    (".*.*=", ["=", "ab="], ["x" * 5000]),
]
BAD = [
    "(",
    ")",
    "a)",
    "[",
    "[]",
    "[a",
    "*",
    "a**",
    "a{2",
    "a{3,2}",
    "a{99999}",
    "\\",
    "\\q",
    "\\p{Xx}",
    "\\p{IsNowhere}",
]
BAD += ["[b-a]", "(?:a)", "[a-z-[b]c]", "{", "a|*", "(" * 100 + ")" * 100, "[[a]]"]


@pytest.mark.parametrize(("pattern", "good", "bad"), CASES)
def test_pattern_matches_whole_texts(pattern, good, bad):
    matches = compile_pattern(pattern)
    automaton = Automaton(parse_pattern(pattern))
    for text in good:
        assert matches(text), text
        assert automaton.matches(text), text
    for text in bad:
        assert not matches(text), text
        assert not automaton.matches(text), text


@pytest.mark.parametrize("pattern", BAD)
def test_invalid_pattern_is_refused(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern)


def test_multiplying_counts_are_refused():
    with pytest.raises((PatternError, PatternTooLargeError)):
        compile_pattern("((a?){100}){1000}")


@pytest.mark.parametrize("pattern", [pattern for pattern, _, _ in CASES])
def test_generated_texts_match(pattern):
    matches = compile_pattern(pattern)
    for seed in range(20):
        random = Random(seed)  # noqa: S311 - reproducible on purpose
        assert matches(make_pattern_text(random, parse_pattern(pattern)))


PIECES = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "c"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from("?*+")).map(lambda pair: f"({pair[0]}){pair[1]}"),
        st.tuples(inner, st.sampled_from(["{2}", "{1,2}", "{0,}"])).map(
            lambda pair: f"({pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.lists(st.text("abcd", max_size=6), max_size=8))
def test_both_engines_agree_with_python(pattern, texts):
    python, matches = re.compile(pattern), compile_pattern(pattern)
    automaton = Automaton(parse_pattern(pattern))
    for text in texts:
        expected = python.fullmatch(text) is not None
        assert bool(matches(text)) is expected
        assert automaton.matches(text) is expected


@settings(max_examples=300, deadline=None)
@given(st.text("ab()[]{}|*+?^$-\\.,0123pLdw\n", max_size=25), st.booleans())
def test_random_pattern_compiles_or_is_refused(pattern, pcre):
    try:
        matches = compile_pattern(pattern, pcre=pcre)
        automaton = Automaton(parse_pattern(pattern, pcre=pcre))
    except (PatternError, PatternTooLargeError):
        return
    for text in ("", "a", "ab0", "a\nb"):
        assert bool(matches(text)) is automaton.matches(text)
