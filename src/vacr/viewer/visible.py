"""Text of others, made safe to be shown. Step: show.

What drives a terminal (escape sequences), or turns the order of letters round (bidi controls), is
shown as what it is and does nothing. Line ends and tabs are kept.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
"""It joins emoji, and nothing else that could deceive."""
_TAB = 4


def visible(text: str) -> str:
    """Give a text in which every control character can be seen."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").expandtabs(_TAB).split("\n")
    return "\n".join(line if line.isprintable() else "".join(map(_letter, line)) for line in lines)


def visible_line(text: str) -> str:
    """Give the same in one line."""
    return visible(text).replace("\n", "\\n")


def _letter(letter: str) -> str:
    return (
        letter
        if letter.isprintable() or letter == _JOINER or unicodedata.category(letter) == "Zs"
        else ascii(letter)[1:-1]
    )
