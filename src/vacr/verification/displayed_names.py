"""Names and texts of strangers on the screen, where they must not mislead.

A verdict consists of lines such as `✓ signed by Alice Example`. The name of a party or a file, an
id or an address may come from somebody who wants to imitate such a line, or to look like another
party. A trust store refuses names that can mislead; all other texts are quoted or escaped.

    >>> from vacr.verification.displayed_names import find_name_problem, list_name_forms
    >>> from vacr.verification.displayed_names import quote_misleading_name, quote_words
    >>> find_name_problem("Alice Example")
    ''
    >>> find_name_problem("\\u0410lice")                      # the first letter is Cyrillic
    'mixes letters of different alphabets within a word'
    >>> list_name_forms("Paypal")[1] == list_name_forms("PaypaI")[1]
    True
    >>> print(quote_misleading_name("a.json: verified"))
    "a.json: verified"
    >>> print(quote_words("s1"), quote_words("s1 since 2020"))
    s1 "s1 since 2020"
"""

from __future__ import annotations

import re
import unicodedata

_MAX_NAME_LENGTH = 100
# Characters that `str.isprintable` accepts and nobody can see: blanks, and characters with the
# Unicode property Default_Ignorable_Code_Point.
_INVISIBLE_CHARACTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc"
    "\U00016fe4\U0001d159"
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

# What separates a name from the rest in a list of parties or a verdict, and the marks of verdicts.
_VERDICT_MARK = re.compile("[√✓✔✅☑🗸🗹⍻🆗✕✖✗✘❌❎☒🗴🗵🗶🗷❓❔]")
_VERDICT_TEXT = re.compile(
    r";|: |\((?:key|email|uri|dns) |signed by |certified by |a key you gave|"
    + _VERDICT_MARK.pattern,
    re.IGNORECASE,
)

_WORD = re.compile(r"\w+")
_MIXED_ALPHABETS = frozenset(
    ["LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"]
)
"""The alphabets that people mix within a word, as the Unicode names of letters begin.

Other alphabets have letters that look like Latin ones, or like each other.
"""

# Letters that look like a Latin letter, in upper and in lower case.
_LOOK_ALIKES = str.maketrans(
    "1I|0" "АВЕЅІЈКМНОРСТУХԌԚԜӀѴΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "lllO" "ABESlJKMHOPCTYXGQWlVABEZHlKMNOPTYX",
)  # fmt: skip
_SMALL_LOOK_ALIKES = str.maketrans("асеԁһіјӏоԛрѕԝхуѵοανικρτυχγ", "acedhijloqpswxyvoavikptuxy")


def find_name_problem(name: str) -> str:
    """Return why a text cannot be the name of a party, or an empty text."""
    if not 1 <= len(name) <= _MAX_NAME_LENGTH:
        return f"must have 1 to {_MAX_NAME_LENGTH} characters"
    if not name.isprintable() or not _INVISIBLE_CHARACTERS.isdisjoint(name):
        return "has control, invisible or text-direction characters"
    if _VERDICT_TEXT.search(unicodedata.normalize("NFKC", name)):
        return (
            "has text that verdicts use: `;`, `: `, `(key `, `signed by `, `certified by `, "
            "`a key you gave` or a check mark"
        )
    if name != name.strip(" ") or "  " in name:
        return "starts or ends with a space, or has two in a row"
    if unicodedata.normalize("NFKC", name) != name:
        return "is not in the Unicode form NFKC: write plain letters"
    # Accents do not end a word.
    bare = "".join(char for char in name if not unicodedata.category(char).startswith("M"))
    alphabets = map(_list_alphabets, _WORD.findall(bare))
    if any(len(used) > 1 and not used <= _MIXED_ALPHABETS for used in alphabets):
        return "mixes letters of different alphabets within a word"
    return ""


def _list_alphabets(word: str) -> set[str]:
    """Return the alphabets of the letters in a word."""
    # The category Lm has marks that several alphabets use, such as the one in Ka'ena.
    letters = [char for char in word if unicodedata.category(char) in ("Lu", "Ll", "Lt", "Lo")]
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}


def list_name_forms(name: str) -> tuple[str, ...]:
    """Return a name without differences of case and Unicode form, then as it looks.

    Names with one of these in common are duplicates. The second form has one letter for all that
    look alike, such as `I`, `l` and `1`, or `o` in Latin, Greek and Cyrillic.
    """
    plain = unicodedata.normalize("NFKC", name)
    shape = plain.translate(_LOOK_ALIKES).casefold().translate(_SMALL_LOOK_ALIKES)
    return unicodedata.normalize("NFKC", plain.casefold()), unicodedata.normalize("NFKC", shape)


def escape_verdict_marks(text: str) -> str:
    """Return a stranger's text with check marks as escapes, such as `\\u2713`.

    A terminal breaks lines: the text could imitate the line of a check that passed.
    """
    return _VERDICT_MARK.sub(lambda mark: ascii(mark[0])[1:-1], text)


def quote_misleading_name(name: str) -> str:
    """Return the name of a file for a verdict, in quotes if it has text that verdicts use.

    The name could imitate the verdict about another file.
    """
    plain = unicodedata.normalize("NFKC", name)
    is_misleading = "  " in plain or _VERDICT_TEXT.search(plain) is not None
    if not is_misleading and _INVISIBLE_CHARACTERS.isdisjoint(name):
        return name
    return _quote(name)


def quote_words(text: str) -> str:
    """Return an id or an address that a stranger chose, in quotes unless it is one word.

    Further words could imitate the rest of a verdict, such as a proven time.
    """
    is_plain = text != "" and is_one_word(text) and _VERDICT_MARK.search(text) is None
    return text if is_plain else _quote(text)


def _quote(text: str) -> str:
    escaped = escape_verdict_marks(text).replace('"', '\\"')
    return f'"{escaped}"'


def is_one_word(text: str) -> bool:
    """Return whether a text is visible and has no spaces, so that it imitates no other member."""
    return text.isprintable() and _INVISIBLE_CHARACTERS.isdisjoint(text) and " " not in text
