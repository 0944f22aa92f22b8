r"""Patches in the notations that agents write: the `apply_patch` language, and unified diffs.

The `apply_patch` language names files, and finds the place of a change by its context:

    *** Begin Patch
    *** Update File: path      (or Add File, Delete File; then perhaps *** Move to: path)
    @@ a line to go to first
     context
    -removed
    +added
    *** End Patch

The tool searches for the old lines of a hunk from the end of the previous hunk: first exactly, then
ignoring blanks at the ends of lines, then at both sides, then with typographic characters made
plain. It writes context lines as the patch spells them. `find_patch_lines` repeats that search.

A unified diff counts lines instead. Its hunks become `Hunk`s; agents that record hunks in other
forms parse them to the same type.

    >>> from vacr.edits import find_patch_lines, parse_apply_patch
    >>> [file] = parse_apply_patch('''*** Begin Patch
    ... *** Update File: hello.py
    ... @@ def greet():
    ... -    print("hi")
    ... +    print("hello")
    ... *** End Patch''')
    >>> file.path, file.parts[0].old, file.parts[0].new
    ('hello.py', ['    print("hi")'], ['    print("hello")'])
    >>> find_patch_lines(["def greet():", '    print("hi")  '], file.parts[0].old, 0)
    1
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_PATCH_BEGIN = "*** Begin Patch"
_PATCH_END = "*** End Patch"
_MOVE_TO = "*** Move to: "
_END_OF_FILE = "*** End of File"
_FILE_HEADERS = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}

_TYPOGRAPHIC_TO_ASCII = str.maketrans(
    dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys(
        "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
    )
)

# How the tool compares lines, from the strictest way to the most lenient one.
_LINE_NORMALIZERS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_TYPOGRAPHIC_TO_ASCII),
)

_HUNK_HEADER = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@")
_INDEX_HEADER = re.compile(r"index [0-9a-f]{7,64}\.\.([0-9a-f]{7,64})(?: \d{6})?$")
_NEW_FILE_HEADER = re.compile(r'\+\+\+ (?:"?b/)?(.*?)"?(?:\t.*)?$')


@dataclass(slots=True)
class PatchHunk:
    """One hunk in the `apply_patch` language, found by its lines instead of numbers.

    `old` and `new` are the lines before and after, without marks and line ends.
    """

    anchor: str = ""
    """The line to go to before the old lines are searched; empty for none."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    last: bool = False
    """Whether the old lines end the file."""


@dataclass(slots=True)
class FilePatch:
    """The part of a patch that concerns one file."""

    kind: str
    """`add`, `delete` or `update`."""
    path: str
    to: str | None = None
    """The new path of a file that is moved; None for other files."""
    parts: list[PatchHunk] = field(default_factory=list)
    text: str = ""
    """The content of a file that is added."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a unified diff; `old_first` and `new_first` are line numbers, from 1."""

    old_first: int
    new_first: int
    lines: Sequence[str]
    """The lines with their marks (`-`, `+` or a blank) and their LF."""
    tabs_as_spaces: bool = False
    """Whether each tab that indents a line is shown as two spaces."""

    def before(self) -> list[str]:
        """Return the context and removed lines, without marks: the text that the hunk expects."""
        return [line[1:] for line in self.lines if line[:1] != "+"]

    def after(self) -> list[str]:
        """Return the context and added lines, without marks: the text that the hunk leaves."""
        return [line[1:] for line in self.lines if line[:1] != "-"]


# The apply_patch language


def parse_apply_patch(text: str) -> list[FilePatch]:
    """Parse the first `apply_patch` patch in a text into the changes of each file.

    The text around the patch is ignored. The list is empty when the text has no patch. Malformed
    lines do not raise an error: lines before the first file header are ignored, and a patch without
    an end mark extends to the end of the text.
    """
    start = text.find(_PATCH_BEGIN)
    if start < 0:
        return []
    files: list[FilePatch] = []
    for line in text[start:].split("\n")[1:]:
        if line.strip() == _PATCH_END:
            break
        # The file decides how its lines end, not the patch.
        _parse_patch_line(files, line.removesuffix("\r"))
    for file in files:
        file.parts = [part for part in file.parts if part.old or part.new]
    return files


def _parse_patch_line(files: list[FilePatch], line: str) -> None:
    """Start another file at a header such as `*** Add File: `, or add the line to the last file.

    Lines before the first header are ignored, and so are the lines of a deleted file.
    """
    for header, kind in _FILE_HEADERS.items():
        if line.startswith(header):
            files.append(FilePatch(kind, line.removeprefix(header).strip()))
            return
    if not files:
        return
    file = files[-1]
    if file.kind == "add":
        if line.startswith("+"):
            file.text += line[1:] + "\n"
    elif file.kind == "update":
        _parse_update_line(file, line)


def _parse_update_line(file: FilePatch, line: str) -> None:
    """Add one line of an updated file: a move, an `@@` anchor, an end mark or a hunk line.

    A hunk line before any anchor begins a hunk without an anchor.
    """
    if line.startswith(_MOVE_TO):
        file.to = line.removeprefix(_MOVE_TO).strip()
    elif line.startswith("@@"):
        anchor = line[2:].strip() if line[2:3] == " " else line[2:].rstrip()
        file.parts.append(PatchHunk(anchor))
    elif line.strip() == _END_OF_FILE:
        if file.parts:
            file.parts[-1].last = True
    else:
        if not file.parts:
            file.parts.append(PatchHunk())
        part, mark, content = file.parts[-1], line[:1], line[1:]
        if mark != "+":
            part.old.append(content)
        if mark != "-":
            part.new.append(content)


def list_hunk_variants(part: PatchHunk) -> list[tuple[list[str], list[str]]]:
    """Return the old and new lines of a hunk, and a second reading where the patch is ambiguous.

    An empty line at the end of both may only stand for the line break before it. The second
    reading leaves that line out.
    """
    variants = [(part.old, part.new)]
    if part.old[1:] and not part.old[-1] and part.new and not part.new[-1]:
        variants.append((part.old[:-1], part.new[:-1]))
    return variants


def find_patch_lines(
    lines: Sequence[str], wanted: Sequence[str], start: int, *, last: bool = False
) -> int | None:
    """Return the index in `lines` where the tool finds `wanted`, or `None` if it does not.

    The search goes forward from `start`; with `last`, only the end of the file counts. If no lines
    are equal, it is repeated more leniently: blanks at line ends, then at both sides, then
    typographic characters make no difference. Without wanted lines the result is `start`.
    """
    if not wanted:
        return start
    if len(wanted) > len(lines):
        return None
    begin = len(lines) - len(wanted) if last else start
    for normalize in _LINE_NORMALIZERS:
        goal = [normalize(line) for line in wanted]
        for index in range(begin, len(lines) - len(wanted) + 1):
            if (
                normalize(lines[index]) == goal[0]
                and [normalize(line) for line in lines[index : index + len(goal)]] == goal
            ):
                return index
    return None


# Unified diffs


def parse_diff_hunks(text: str) -> list[Hunk]:
    """Return all hunks of a unified diff, without file names; damaged hunks are left out."""
    return [hunk for _, hunks in parse_unified_diff(text) for hunk in hunks]


def parse_unified_diff(text: str) -> Iterator[tuple[str | None, list[Hunk]]]:
    """Yield the new name of each file of a unified diff, without git's `b/`, and its hunks.

    The name is `None` for a deleted file, and for hunks before any file header. A file without
    hunks is left out, and so are damaged hunks.
    """
    lines = text.split("\n")
    name: str | None = None
    hunks: list[Hunk] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("+++ ") and index and lines[index - 1].startswith("--- "):
            if hunks:
                yield name, hunks
            target = _NEW_FILE_HEADER.match(line)
            name = target[1] if target and target[1] != "/dev/null" else None
            hunks = []
        elif header := _HUNK_HEADER.match(line):
            hunk, index = _parse_hunk_body(lines, index + 1, header)
            if hunk:
                hunks.append(hunk)
            continue
        index += 1
    if hunks:
        yield name, hunks


def parse_new_blobs(text: str) -> dict[str, str]:
    """Return the abbreviated id of each file's new blob in a diff by git, by the file's new name.

    The names lack git's `b/`. Deleted files are left out, and so are files without such an id.
    """
    blobs: dict[str, str] = {}
    blob = ""
    for line in text.split("\n"):
        if index := _INDEX_HEADER.match(line):
            blob = index[1]
        elif blob and line.startswith("+++ "):
            target = _NEW_FILE_HEADER.match(line)
            if target and target[1] != "/dev/null":
                blobs[target[1]] = blob
            blob = ""
    return blobs


def _parse_hunk_body(
    lines: Sequence[str], index: int, header: re.Match[str]
) -> tuple[Hunk | None, int]:
    """Return the hunk whose body starts at `index`, and the index after it.

    The hunk is `None` if its lines do not add up to the counts in the header. `header` is the match
    of the hunk's header. The given lines have no line ends; the hunk's lines have.
    """
    old_left, new_left = int(header[2] or 1), int(header[4] or 1)
    body: list[str] = []
    while index < len(lines) and (old_left > 0 or new_left > 0):
        line = lines[index]
        # An editor or a terminal may have cut the blank of an empty context line.
        mark = line[:1] or " "
        if mark not in " +-\\":
            return None, index
        index += 1
        if mark == "\\":
            drop_last_line_end(body)
            continue
        old_left -= mark != "+"
        new_left -= mark != "-"
        body.append((line or " ") + "\n")
    if old_left or new_left:
        return None, index
    if index < len(lines) and lines[index].startswith("\\") and body:
        drop_last_line_end(body)
        index += 1
    return Hunk(int(header[1]), int(header[3]), body), index


def drop_last_line_end(body: list[str]) -> None:
    r"""Remove the LF of the last line in `body`, as `\ No newline at end of file` asks.

    Do nothing if `body` is empty or the line has no LF.
    """
    if body:
        body[-1] = body[-1].removesuffix("\n")
