"""Lines of files that searches show, and reads of many files at once. Step: attribute.

Gemini CLI's first searches cut the indentation off; what they show proves no line. A file that it
shows together with others is told from them only where the host says how many there are.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from vacr.attribution import listings
from vacr.attribution.calls import Call
from vacr.attribution.events import Event, Observe

_NAMED = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")
_NUMBER = re.compile(r"(\d{1,7})[:-]")
_BESIDE = re.compile(r"-(\d{1,7})-")
_NOTE = re.compile(
    (
        r"\n\s*(?:\[Showing results with pagination|\.\.\. \[\d+ lines truncated\]|\(Results are "
        r"truncated).*\Z"
    ),
    re.DOTALL,
)
_GEMINI = re.compile(
    r'\AFound \d+ match(?:es)? for pattern "[\s\S]*?" in path "([^"\n]+)".*:\n---\n'
)
_GEMINI_ROW = re.compile(r"L(\d{1,7})[:-] (.*)")
_MANY = re.compile(r"^--- (.+) ---$", re.MULTILINE)
_MANY_READ = re.compile(r"\(Target Dir: `(.+?)`\)[\s\S]*?from \*\*(\d{1,5}) file\(s\)\*\*")
_END = "End of content"

Row = tuple[str, int, str]


def found(call: Call, named: str | None) -> Iterator[Event]:
    """Say what a search shows; `named` is the file or the folder that it was told to search."""
    lines = _NOTE.sub("", call.output).split("\n")
    head = _GEMINI.match(call.output)
    if head:
        yield from _observed(_gemini(call.output[head.end() :].split("\n"), head[1]))
    elif any(line.startswith("  Line ") for line in lines):
        for path, (first, seen) in listings.found_under(lines):
            yield Observe(path, first, seen)
    elif named is not None and _counts(lines):
        for first, seen in listings.numbered(lines, _NUMBER):
            yield Observe(named, first, seen)
    else:
        yield from _observed(_several(lines))


def _observed(rows: Sequence[Row]) -> Iterator[Event]:
    for path, number, text in rows:
        if len(text) < listings.LONGEST:
            yield Observe(path, number, [text + "\n"])


def _counts(lines: Sequence[str]) -> bool:
    """Tell whether all lines carry numbers that rise, as those of one file do."""
    matches = [_NUMBER.match(line) for line in lines if line not in ("--", "")]
    numbers = [int(one[1]) for one in matches if one]
    return len(numbers) == len(matches) > 0 and all(low < high for low, high in pairwise(numbers))


def _several(lines: Sequence[str]) -> list[Row]:
    """Read `path:12:text`, and `path-13-text` beside it."""
    matches = [_NAMED.match(line) for line in lines]
    known = {one[1] for one in matches if one}
    rows = []
    for line, one in zip(lines, matches, strict=True):
        if one:
            rows.append((one[1], int(one[2]), line[one.end() :]))
            continue
        fits = [mark for mark in _BESIDE.finditer(line[:1000]) if line[: mark.start()] in known]
        if len(fits) == 1:
            rows.append((line[: fits[0].start()], int(fits[0][1]), line[fits[0].end() :]))
    return rows


def _gemini(lines: Sequence[str], folder: str) -> list[Row]:
    """Read `File: path` and below it `L12: text` or `L13- text`, told from the folder that was
    searched.
    """
    path, rows = None, []
    for line in lines:
        row = _GEMINI_ROW.fullmatch(line)
        if line.startswith("File: "):
            name = line.removeprefix("File: ").replace("\\", "/")
            path = folder if posixpath.basename(folder) == name else posixpath.join(folder, name)
        elif (
            row and path is not None and row[2]
        ):  # an empty line may have blanks, which are cut off
            rows.append((path, int(row[1]), row[2]))
    return rows if any(text[0] in " \t" for _, _, text in rows) else []


def read_together(call: Call) -> Iterator[Event]:
    """Say what a read of many files shows, if the host tells how many it read."""
    told = _MANY_READ.search(str(call.native.get("resultDisplay")))
    marks = list(_MANY.finditer(call.output))
    if told is None or len(marks) != int(told[2]) + 1 or marks[-1][1] != _END:
        return
    for mark, after in pairwise(marks):
        text = call.output[mark.end() : after.start()]
        lines = text[2:].rstrip("\n").split("\n")  # how the last line ends is not told
        if (
            text.startswith("\n\n")
            and text.strip()
            and not text.startswith(("\n\n[WARNING: ", "\n\n\nIMPORTANT: "))
        ):
            for first, seen in listings.whole_lines(1, lines):
                yield Observe(
                    posixpath.join(told[1].replace("\\", "/"), mark[1].replace("\\", "/")),
                    first,
                    seen,
                )
