"""Lines that a session saw before its agent wrote them.

An agent that reads a file and writes its text into another one is not the author of that text: the
older author stays. It may also have read the text in the output of any call, in a prompt, or in a
text of its host, such as a reminder or a selection in an editor. Idioms are the exception. Every
test file of a project has the same first lines, and an agent that writes one more of them has not
copied a certain one. So a copy is a block of lines that were seen next to each other, with 40
letters and digits in lines that few places have, as in `git blame -C`; 20 are enough if the call
wrote nothing else there. Blanks do not count. In a block that the agent wrote in part, only the
lines of others are copies.

    >>> from vacr.blame.copied_lines import SeenText
    >>> seen = SeenText()
    >>> typed = ["def total(lines):", "    return sum(line.price for line in lines)", ""]
    >>> seen.add_file("old.py", [(line, True) for line in typed], moment=1)
    >>> written = ["import prices", *typed, "def mean(lines):"]
    >>> sorted(seen.find_copied_lines(written, moment=2))
    [1, 2, 3]
    >>> seen.find_copied_lines(written, moment=1)       # written before it was seen
    set()
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from vacr.blame.line_text import count_letters, remove_blanks

_MIN_COPIED_LETTERS = 40
_MIN_LONE_LETTERS = 20  # of a block that is all that was written
# A line in more files than this, or so often in one, is an idiom.
_MAX_FILES = 2
_MAX_REPETITIONS = 2
# The names of outputs begin with this character, because no path contains it.
_OUTPUT = "\0"
_MAX_OUTPUT_LINES = 20_000
_NUMBER = re.compile(r"[^\s:]*?:?\s*\d+(?:[:\t→│|]|-(?=\s|$))\s?")

# What may come before a line in the output of `diff`, `git blame`, `grep` or a test runner.
_MARK = re.compile(
    r"\^?[0-9a-f]{7,40} [^)\n]*\d\) ?|[^\s:]*[./][^\s:]*[:-]|[<>|+!E-](?=\s)", re.ASCII
)

ShownLine = tuple[str, bool] | None
"""A line and whether somebody else than the agent wrote it; `None` for lines that are not known."""


def _list_output_lines(text: str) -> Iterator[list[str]]:
    """Yield the lines of an output, and again without marks before them, if any has one.

    The texts in a JSON output count as outputs of their own.
    """
    for part in _list_json_texts(text) or [text]:
        lines = _split_output(part)
        yield lines
        unmarked = [_MARK.sub("", line, count=1) if _MARK.match(line) else line for line in lines]
        if unmarked != lines:
            yield unmarked


def _list_json_texts(text: str) -> list[str]:
    """Return the texts in a JSON output, the texts of a list as one; empty for other outputs."""
    if text[:1] not in ("{", "["):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    texts, open_values = [], [value]
    while open_values:
        value = open_values.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            open_values += value.values()
        elif isinstance(value, list):
            texts.append("\n".join(item for item in value if isinstance(item, str)))
            open_values += (item for item in value if not isinstance(item, str))
    return texts


def _split_output(text: str) -> list[str]:
    """Return the lines of an output, without the marks of diffs and the numbers of listings.

    Return the beginning of a long output only.
    """
    lines, is_diff = [], False
    for line in text.split("\n", _MAX_OUTPUT_LINES)[:_MAX_OUTPUT_LINES]:
        is_diff = line.startswith("@@ ") or (is_diff and not line.startswith("diff "))
        if is_diff and line[:1] in ("+", "-", " "):
            lines.append(line[1:])
        else:
            numbered = _NUMBER.match(line)
            lines.append(line[numbered.end() :] if numbered else line)
    return lines


def _squeeze_lines(lines: Iterable[ShownLine]) -> list[ShownLine]:
    """Return lines without blanks, and without the empty ones."""
    return [
        line if line is None else (squeezed, line[1])
        for line in lines
        if line is None or (squeezed := remove_blanks(line[0]))
    ]


class SeenText:
    """The lines that a session saw, and the lines that its agent wrote."""

    def __init__(self) -> None:
        """Start without any lines."""
        self._files: dict[str, dict[str, int]] = {}
        """Line → some of the files that have it, and when it was first seen there."""
        self._pairs: dict[tuple[str, str], tuple[int, bool, bool]] = {}
        """Two lines → when they were first seen next to each other, and which are of others."""
        self._others: dict[str, int] = {}
        """Line → when it was first seen as a line of others."""
        self._repeated: dict[str, int] = {}
        """Line → when one file was first seen to have it several times."""
        self._indexed: dict[str, int] = {}
        """A hash of the lines that were last added for a path."""
        self._own: set[str] = set()
        """The lines that calls wrote."""
        self._taken: set[str] = set()
        """The lines that calls only copied."""
        self._written: dict[int, list[list[str]]] = {}
        """Moment → the texts that calls wrote then."""
        self._originals: dict[str, str] = {}
        """Path → the path that the file was first seen at, before it was moved or copied."""

    def add_file(self, path: str, lines: Iterable[ShownLine], moment: int) -> None:
        """Add the lines of a file that a session saw at a moment."""
        shown = _squeeze_lines(lines)
        digest = hash(tuple(shown))
        if self._indexed.get(path) == digest:
            return
        self._indexed[path] = digest
        counts = Counter(line[0] for line in shown if line is not None)
        if path not in self._originals:
            self._originals[path] = self._find_original(counts) or path
        original = self._originals[path]
        for text in counts:
            files = self._files.setdefault(text, {})
            if len(files) <= _MAX_FILES:
                files.setdefault(original, moment)
        self._add_lines(shown, counts, moment)

    def add_output(self, text: str, moment: int) -> None:
        """Add the lines that a session saw in the output of a command, or in a prompt.

        They may come from files that the session saw as well, so they count as another place only
        if no file has them.
        """
        for lines in _list_output_lines(text):
            self._add_output_lines(lines, moment)

    def _add_output_lines(self, lines: Sequence[str], moment: int) -> None:
        """Add the lines of an output, without marks."""
        shown = _squeeze_lines((line, not self.is_own(line)) for line in lines)
        counts = Counter(line[0] for line in shown if line is not None)
        original = self._find_original(counts) or f"{_OUTPUT}{moment}"
        for line in counts:
            files = self._files.setdefault(line, {})
            if len(files) <= _MAX_FILES and all(name.startswith(_OUTPUT) for name in files):
                files.setdefault(original, moment)
        self._add_lines(shown, counts, moment)

    def add_written(self, lines: Sequence[str], moment: int) -> None:
        """Add the lines that a call wrote, or the lines of its command, at a moment."""
        copied = self.find_copied_lines(lines, moment)
        bare = [remove_blanks(line) for line in lines]
        for index, line in enumerate(bare):
            (self._taken if index in copied else self._own).add(line)
        self._written.setdefault(moment, []).append(bare)

    def is_own(self, line: str, *, is_from_call: bool = False) -> bool:
        """Return whether the agent wrote a line, and did not copy it.

        `is_from_call` states that a call changed the line, perhaps only a part of it.
        """
        bare = remove_blanks(line)
        return bare in self._own or (is_from_call and bare not in self._taken)

    def is_cut_out(self, lines: Sequence[str], above: str, below: str, moment: int) -> bool:
        """Return whether a text that was written at a moment has lines between other neighbours.

        The lines and their neighbours `above` and `below` have no blanks. Return False if one place
        in such a text has one of these neighbours, or is at its beginning or end.
        """
        is_inside = False
        for text in self._written.get(moment, ()):
            for start in range(len(text) - len(lines) + 1):
                end = start + len(lines)
                if text[start:end] != lines:
                    continue
                if (
                    not 0 < start < end < len(text)
                    or text[start - 1] == above
                    or text[end] == below
                ):
                    return False
                is_inside = True
        return is_inside

    def _add_lines(
        self, shown: Sequence[ShownLine], counts: Mapping[str, int], moment: int
    ) -> None:
        """Add lines without blanks, their neighbours, and how often one place has each."""
        for text, count in counts.items():
            if count > _MAX_REPETITIONS:
                self._repeated.setdefault(text, moment)
        above: ShownLine = None
        for line in shown:
            if line is not None and line[1]:
                self._others.setdefault(line[0], moment)
            if line is not None and above is not None:
                self._pairs.setdefault((above[0], line[0]), (moment, above[1], line[1]))
            above = line

    def _find_original(self, lines: Collection[str]) -> str:
        """Return a file with at least half of these lines; empty if no file has them."""
        shared = Counter(file for line in lines for file in self._files.get(line, ()))
        file, count = max(shared.items(), key=lambda item: item[1], default=("", 0))
        return file if 2 * count >= len(lines) else ""

    def find_copied_lines(self, lines: Sequence[str], moment: int) -> set[int]:
        """Return the indexes of lines of others that were seen before a moment, and written then.

        Empty lines belong to the copied line above them.
        """
        copied: set[int] = set()
        written = sum(bool(line.strip()) for line in lines)
        for block in self._split_blocks(lines, moment):
            letters = sum(count_letters(line) for _, line in block if self._is_rare(line, moment))
            is_all = len(block) == written
            if letters >= (_MIN_LONE_LETTERS if is_all else _MIN_COPIED_LETTERS):
                copied.update(self._list_lines_of_others(block, moment))
        for index, line in enumerate(lines):
            if index - 1 in copied and not line.strip():
                copied.add(index)
        return copied

    def _split_blocks(self, lines: Sequence[str], moment: int) -> Iterator[list[tuple[int, str]]]:
        """Yield the blocks of lines that were seen next to each other before a moment."""
        block: list[tuple[int, str]] = []
        for index, text in enumerate(lines):
            line = remove_blanks(text)
            if not line:
                continue
            if block and not self._is_seen_pair(block[-1][1], line, moment):
                yield block
                block = []
            if block or any(seen < moment for seen in self._files.get(line, {}).values()):
                block.append((index, line))
        if block:
            yield block

    def _is_seen_pair(self, first: str, second: str, moment: int) -> bool:
        """Return whether two lines were seen next to each other before a moment."""
        pair = self._pairs.get((first, second))
        return pair is not None and pair[0] < moment

    def _list_lines_of_others(self, block: Sequence[tuple[int, str]], moment: int) -> Iterator[int]:
        """Yield the indexes of the lines in a block that somebody else than the agent wrote."""
        if len(block) == 1:
            index, line = block[0]
            if self._others.get(line, moment) < moment:
                yield index
        for (index, line), (next_index, next_line) in pairwise(block):
            _, is_others, is_next_others = self._pairs[line, next_line]
            if is_others:
                yield index
            if is_next_others:
                yield next_index

    def _is_rare(self, line: str, moment: int) -> bool:
        """Return whether few places had a line at a moment."""
        files = sum(seen < moment for seen in self._files[line].values())
        return self._repeated.get(line, moment) >= moment and files <= _MAX_FILES
