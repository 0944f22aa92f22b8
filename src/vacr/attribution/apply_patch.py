"""The patch language of `apply_patch`. Step: attribute.

    *** Begin Patch
    *** Update File: path      (or Add File, Delete File; then perhaps *** Move to: path)
    @@ a line to go to first
     context
    -taken away
    +added
    *** End Patch

Places are found as the tool finds them: from where the last hunk ended, first exactly, then without
blanks at the ends of lines, then without blanks at both sides, then with typographic characters
made plain. Context lines are written as the patch spells them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE, _LAST = (
    "*** Add File: ",
    "*** Delete File: ",
    "*** Update File: ",
    "*** Move to: ",
    "*** End of File",
)

_PLAIN = str.maketrans(
    {**dict.fromkeys("‐‑‒–—―−", "-"), **dict.fromkeys("‘’‚‛", "'"), **dict.fromkeys("“”„‟", '"')}
    | dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    )
)


@dataclass(slots=True)
class Part:
    """One hunk: the line to go to first, the lines it takes away, those it puts there, and whether
    it ends the file.
    """

    anchor: str = ""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    last: bool = False


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file: `add`, `delete` or `update`."""

    kind: str
    path: str
    to: str | None = None
    parts: list[Part] = field(default_factory=list)
    text: str = ""


def parse(text: str) -> list[FilePatch]:
    """Read a patch; text around it is passed over. An empty list means that there is none."""
    start = text.find(BEGIN)
    if start < 0:
        return []
    files: list[FilePatch] = []
    for line in text[start:].split("\n")[1:]:
        if line.strip() == END:
            break
        _line(files, line.removesuffix("\r"))  # how a line ends is the file's, not the patch's
    for file in files:
        file.parts = [part for part in file.parts if part.old or part.new]
    return files


def _line(files: list[FilePatch], line: str) -> None:
    for head, kind in ((_ADD, "add"), (_DELETE, "delete"), (_UPDATE, "update")):
        if line.startswith(head):
            files.append(FilePatch(kind, line[len(head) :].strip()))
            return
    if not files:
        return
    file = files[-1]
    if file.kind == "add":
        if line.startswith("+"):
            file.text += line[1:] + "\n"
    elif file.kind == "update":
        _update(file, line)


def _update(file: FilePatch, line: str) -> None:
    if line.startswith(_MOVE):
        file.to = line[len(_MOVE) :].strip()
    elif line.startswith("@@"):
        file.parts.append(Part(line[2:].strip() if line[2:3] == " " else line[2:].rstrip()))
    elif line.strip() == _LAST:
        if file.parts:
            file.parts[-1].last = True
    else:
        if not file.parts:
            file.parts.append(Part())
        part, first, rest = file.parts[-1], line[:1], line[1:]
        if first != "+":
            part.old.append(rest)
        if first != "-":
            part.new.append(rest)


_STAGES: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_PLAIN),
)


def spellings(part: Part) -> list[tuple[list[str], list[str]]]:
    """Give what a hunk takes away and puts there; an empty line at its end may only stand for the
    end of the line before.
    """
    given = [(part.old, part.new)]
    if part.old[1:] and not part.old[-1] and part.new and not part.new[-1]:
        given.append((part.old[:-1], part.new[:-1]))
    return given


def seek(
    lines: Sequence[str], wanted: Sequence[str], start: int, *, last: bool = False
) -> int | None:
    """Find lines from a place on, as the tool does."""
    if not wanted:
        return start
    if len(wanted) > len(lines):
        return None
    begin = len(lines) - len(wanted) if last else start
    for stage in _STAGES:
        goal = [stage(line) for line in wanted]
        for at in range(begin, len(lines) - len(wanted) + 1):
            if (
                stage(lines[at]) == goal[0]
                and [stage(line) for line in lines[at : at + len(goal)]] == goal
            ):
                return at
    return None
