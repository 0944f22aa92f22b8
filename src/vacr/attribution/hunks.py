"""Unified diffs as sessions hold them. Step: attribute."""

import re
from collections.abc import Iterator, Sequence

from vacr.attribution.events import Hunk

_HEAD = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@")
_TARGET = re.compile(r'\+\+\+ (?:"?b/)?(.*?)"?(?:\t.*)?$')


def hunks_of(text: str) -> list[Hunk]:
    """Read the hunks of one file's diff; damaged ones are left out."""
    return [hunk for _, hunks in files_of(text) for hunk in hunks]


def files_of(text: str) -> Iterator[tuple[str | None, list[Hunk]]]:
    """Read a diff of any number of files; gives each file's new name, `None` for a deleted one, and
    its hunks.
    """
    lines = text.split("\n")
    name: str | None = None
    hunks: list[Hunk] = []
    at, open_file = 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith("+++ ") and at and lines[at - 1].startswith("--- "):
            if open_file and hunks:
                yield name, hunks
            target = _TARGET.match(line)
            name = target[1] if target and target[1] != "/dev/null" else None
            hunks, open_file = [], True
        elif head := _HEAD.match(line):
            open_file = True
            hunk, at = _hunk(lines, at + 1, head)
            if hunk:
                hunks.append(hunk)
            continue
        at += 1
    if open_file and hunks:
        yield name, hunks


def _hunk(lines: Sequence[str], at: int, head: re.Match[str]) -> tuple[Hunk | None, int]:
    old, new = int(head[2] or 1), int(head[4] or 1)
    body: list[str] = []
    while at < len(lines) and (old > 0 or new > 0):
        line = lines[at]
        first = (
            line[:1] or " "
        )  # an editor or a terminal may have cut the blank of an empty context line
        if first not in " +-\\":
            return None, at
        at += 1
        if first == "\\":
            if body:
                body[-1] = body[-1].removesuffix("\n")
            continue
        old -= first != "+"
        new -= first != "-"
        body.append((line or " ") + "\n")
    if old or new:
        return None, at
    if at < len(lines) and lines[at].startswith("\\") and body:
        body[-1] = body[-1].removesuffix("\n")
        at += 1
    return Hunk(int(head[1]), int(head[3]), body), at


def structured(patch: object) -> list[Hunk]:
    """Read hunks from the list of objects that Claude Code records."""
    hunks = []
    for item in patch if isinstance(patch, list) else ():
        if (
            isinstance(item, dict)
            and isinstance(item.get("lines"), list)
            and all(isinstance(line, str) for line in item["lines"])
        ):
            old, new = item.get("oldStart"), item.get("newStart")
            if isinstance(old, int) and isinstance(new, int):
                hunks.append(Hunk(old, new, _ended(item["lines"]), tabs_as_spaces=True))
    return hunks


def chunked(result: object, width: int) -> list[Hunk]:
    """Read hunks from the chunks that Cursor's editor records, whose lines begin with a mark of so
    many letters.

    Gives nothing where they do not add up.
    """
    diff = result.get("diff") if isinstance(result, dict) else None
    chunks = (
        diff.get("chunks")
        if isinstance(diff, dict) and diff.get("hitTimeout") is not True
        else None
    )
    found = [_chunk(chunk, width) for chunk in chunks] if isinstance(chunks, list) else []
    return [hunk for hunk in found if hunk is not None] if None not in found else []


def _chunk(chunk: object, width: int) -> Hunk | None:
    if not isinstance(chunk, dict) or not isinstance(chunk.get("diffString"), str):
        return None
    lines = [line or " " for line in chunk["diffString"].removesuffix("\n").split("\n")]
    if any(line[0] not in " +-" or line[1:width].strip() for line in lines):
        return None
    hunk = Hunk(
        chunk.get("oldStart", 0),
        chunk.get("newStart", 0),
        [line[0] + line[min(width, len(line)) :] + "\n" for line in lines],
    )
    counts = (len(hunk.before()), len(hunk.after()))
    told = tuple(chunk.get(name, 0) for name in ("oldLines", "newLines"))
    places = (
        type(hunk.old_first) is int
        and type(hunk.new_first) is int
        and hunk.old_first >= 0
        and hunk.new_first >= 0
    )
    return hunk if counts == told and places else None


def _ended(lines: Sequence[str]) -> list[str]:
    body: list[str] = []
    for line in lines:
        if line.startswith("\\"):
            if body:
                body[-1] = body[-1].removesuffix("\n")
        else:
            body.append(line + "\n")
    return body


def indented(hunks: Sequence[Hunk], spelled: Sequence[str]) -> list[Hunk]:
    """Give back the indentation that OpenCode cuts off all lines of a diff alike; nothing where it
    is not certain.

    `spelled` are lines of the file as the call writes them.
    """
    known: dict[str, set[str]] = {}
    for line in spelled:
        known.setdefault(line.lstrip(" \t"), set()).add(line)
    cut: set[str] | None = None
    for line in [
        line[1:].removesuffix("\n") for hunk in hunks for line in hunk.lines if line[:1] in "+-"
    ]:
        full = known.get(line.lstrip(" \t"), ()) if line.strip() else ()
        fits = {one[: len(one) - len(line)] for one in full if one.endswith(line)}
        if fits:
            cut = fits if cut is None else cut & fits
    if cut is None or len(cut) != 1:
        return []
    indent = cut.pop()
    return [
        Hunk(
            hunk.old_first,
            hunk.new_first,
            [line[:1] + indent + line[1:] if line[1:].strip() else line for line in hunk.lines],
        )
        for hunk in hunks
    ]
