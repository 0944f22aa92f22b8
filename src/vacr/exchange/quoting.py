"""Text of others in Markdown, from which it cannot get out. Step: export. Follows CommonMark 0.31.

What was said is quoted, so that it cannot pass for a turn of the conversation. Blocks of code in it
are fenced anew, with a fence that is longer than any in them. In all else no HTML, no picture and
no link is left: a page made of it loads nothing and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vacr.viewer.visible import visible

_FENCE = re.compile(r" {0,3}(?:(?P<ticks>`{3,})(?P<info>[^`]*)|(?P<tildes>~{3,})(?P<rest>.*))")
_TICKS = re.compile("`+")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]{1,20}")
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_RISKY = re.compile(r"[<&]|!\[|\]\(|\]\[|\]:")
_NOTHING_BUT_LETTERS = re.compile(r"[!-,.:-@\[-`{-~]")
_NO_LETTER = re.compile(r"[^A-Za-z0-9 .,:/-]")


def quoted(text: str) -> Iterator[str]:
    """Give the lines of a text as a quotation."""
    for line in _rendered(visible(text).strip("\n").split("\n")):
        yield f"> {line}".rstrip()


def fenced(lines: list[str], language: str = "") -> Iterator[str]:
    """Give lines as a block of code."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def code(text: str) -> str:
    """Give a text as code within a line."""
    line = " ".join(visible(text).split())
    if not line:
        return ""
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(line)), default=0))
    room = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def plain(text: str) -> str:
    """Give a text within a line, in which nothing means anything to Markdown."""
    return _NO_LETTER.sub(
        lambda found: f"&#{ord(found[0])};" if found[0].isascii() else found[0],
        " ".join(visible(text).split()),
    )


def cell(text: str) -> str:
    """Give a text as code in a cell of a table, in which nothing means anything to Markdown or to a
    site that shows it.
    """
    return f"<code>{_NOTHING_BUT_LETTERS.sub(lambda found: f'&#{ord(found[0])};', ' '.join(visible(text).split()))}</code>"


def _rendered(lines: list[str]) -> Iterator[str]:
    position = 0
    while position < len(lines):
        opened = _FENCE.fullmatch(lines[position])
        position += 1
        if opened is None:
            yield _harmless(lines[position - 1])
            continue
        mark = opened["ticks"] or opened["tildes"]
        language = _LANGUAGE.match((opened["info"] or opened["rest"] or "").strip())
        held = []
        while position < len(lines) and not _closes(lines[position], mark):
            held.append(lines[position])
            position += 1
        position += 1
        yield from fenced(held, language[0] if language else "")


def _closes(line: str, mark: str) -> bool:
    end = line.strip()
    return len(end) >= len(mark) and set(end) == {mark[0]} and len(line) - len(line.lstrip()) <= 3  # noqa: PLR2004 - as CommonMark has it


def _harmless(line: str) -> str:
    """Leave nothing in a line that would be HTML, a picture or a link; code in it is written as
    such, where it would look odd.
    """
    if not _RISKY.search(line):
        return line
    made, last = [], 0
    for span in _SPAN.finditer(line):
        if _RISKY.search(span[1]):
            made += [_broken(line[last : span.start()]), f"<code>{plain(span[1])}</code>"]
            last = span.end()
    return "".join([*made, _broken(line[last:])])


def _broken(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        text.replace("![", "!\\[").replace("](", "]\\(").replace("][", "]\\[").replace("]:", "]\\:")
    )
