"""What lines of a file a command prints. Step: attribute.

A view is made by the first command of a pipeline and narrowed by those after it. It is given the
lines that were printed and says what they show; what it cannot say for certain it does not say.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from vacr.attribution import hunks, listings
from vacr.attribution.events import DiffSeen, Event, Move, Observe

Span = tuple[int, int | None]

_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_RENAMED = re.compile(r"(?:R[ MD] |\s+renamed:\s+)(.+?) -> (.+)$")
_NUMBER = re.compile(r"(\d{1,7})[:-]")
_NAMED = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one file: the spans of their numbers in order, bare or numbered."""

    path: str
    spans: tuple[Span, ...] = ((1, None),)
    form: re.Pattern[str] | None = None
    least: int = 0
    apart = False

    @property
    def count(self) -> int | None:
        """How many lines it prints at most."""
        total = 0
        for first, last in self.spans:
            if last is None:
                return None
            total += last - first + 1
        return total

    def cut(self, start: int, stop: int | None) -> "Lines":
        """Leave only the lines printed from one place to another, counted from 0."""
        spans: list[Span] = []
        passed = 0
        for first, last in self.spans:
            low = first + max(0, start - passed)
            high = (
                last
                if stop is None
                else first + stop - passed - 1
                if last is None
                else min(last, first + stop - passed - 1)
            )
            if high is None or low <= high:
                spans.append((low, high))
            if last is None:
                break
            passed += last - first + 1
        return replace(self, spans=tuple(spans))

    def tail(self, count: int) -> "Lines | None":
        """Leave the last lines; where they begin is known only of a file that goes on to the end of
        the spans.
        """
        total = self.count
        if self.form is not None:
            return self
        return (
            None
            if total is None
            else replace(self.cut(max(0, total - count), total), least=self.spans[-1][1] or 0)
        )

    def shows(
        self, lines: Sequence[str], slack: int | None = 0, *, full: bool = False
    ) -> Iterator[Event]:
        """Say what the printed lines show; `slack` is how many empty ones may be missing before
        them, `None` without bound.

        When they are in `full` all that was printed, the file ends where they end before their span
        does.
        """
        if self.form is not None:
            numbers = [int(found[1]) for line in lines if (found := self.form.match(line))]
            if len(numbers) < len(lines) or any(low >= high for low, high in pairwise(numbers)):
                return
            for first, seen in listings.numbered(lines, self.form):
                if any(
                    low <= first and (high is None or first + len(seen) - 1 <= high)
                    for low, high in self.spans
                ):
                    yield Observe(self.path, first, seen)
            return
        if slack != 0 and len(self.spans) > 1:
            return
        at = 0
        for first, last in self.spans:
            part = lines[at : None if last is None else at + last - first + 1]
            if part or (full and first == 1):
                missing = slack if slack is not None else 1 << 20
                shown = [line + "\n" for line in part]
                ends = full and not self.least and (last is None or first + len(part) <= last)
                yield Observe(self.path, first, shown, last=ends, least=self.least, slack=missing)
            at += len(part)

    def take(self, lines: Sequence[str], at: int) -> int | None:
        """Find where the lines end that carry numbers; `None` when they carry none."""
        if self.form is None or len(self.spans) != 1:
            return None
        number = self.spans[0][0]
        while at < len(lines) and (found := self.form.match(lines[at])) and int(found[1]) == number:
            at, number = at + 1, number + 1
        return at


@dataclass(frozen=True, slots=True)
class Found:
    """Lines that a search found, each with its number, and with its file's name where there are
    several.
    """

    named: tuple[str, ...]
    names: bool | None  # whether names are printed; `None` when only the output tells
    count: int | None = None
    least: int = 0
    apart = False

    def shows(
        self,
        lines: Sequence[str],
        slack: int | None = 0,  # noqa: ARG002
        *,
        full: bool = False,  # noqa: ARG002
    ) -> Iterator[Event]:
        """Say what the printed lines show, if they are all of the form that a search prints."""
        plain = [_COLOUR.sub("", line) for line in lines if line != "--"]
        if (
            self.names is not True
            and len(self.named) == 1
            and all(_NUMBER.match(line) for line in plain)
        ):
            last = 0
            for line in plain:
                number = _NUMBER.match(line)
                if number is None or int(number[1]) <= last:
                    return
                last = int(number[1])
            for first, seen in listings.numbered(plain, _NUMBER):
                yield Observe(self.named[0], first, seen)
        elif self.names is not False:
            yield from self._several(plain)

    def _several(self, lines: Sequence[str]) -> Iterator[Event]:
        matches = [_NAMED.match(line) for line in lines]
        known = {found[1] for found in matches if found and self._under(found[1])}
        rows = []
        for line, found in zip(lines, matches, strict=True):
            row = (
                (found[1], int(found[2]), line[found.end() :])
                if found and found[1] in known
                else _context(line, known)
            )
            if row is None:
                return
            rows.append(row)
        for path, number, text in rows:
            if len(text) < listings.LONGEST:
                yield Observe(path, number, [text + "\n"])

    def _under(self, path: str) -> bool:
        """Tell whether a file is one that was searched."""
        plain = path.removeprefix("./").replace("\\", "/")
        for name in self.named or (".",):
            folder = name.replace("\\", "/").removeprefix("./").rstrip("/")
            if folder in ("", ".") and not plain.startswith("/"):
                return True
            if plain == folder or plain.startswith(folder + "/"):
                return True
        return False


def _context(line: str, known: set[str]) -> tuple[str, int, str] | None:
    """Read `path-12-text`, a line beside one that was found."""
    fits = [
        found
        for found in re.finditer(r"-(\d{1,7})-", line[:1000])
        if line[: found.start()] in known
    ]
    return (
        (line[: fits[0].start()], int(fits[0][1]), line[fits[0].end() :])
        if len(fits) == 1
        else None
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What git tells in a form of its own, wherever it stands in an output: a diff, or the renames
    of a status.
    """

    diff: bool
    count: int | None = None
    least: int = 0
    apart = True

    def shows(
        self,
        lines: Sequence[str],
        slack: int | None = 0,  # noqa: ARG002
        *,
        full: bool = False,  # noqa: ARG002
    ) -> Iterator[Event]:
        """Say what the printed lines show."""
        plain = [_COLOUR.sub("", line) for line in lines]
        if self.diff:
            for path, found in hunks.files_of("\n".join(plain)):
                if path is not None:
                    yield DiffSeen(path, found)
            return
        for line in plain:
            renamed = _RENAMED.match(line)
            if renamed:
                yield Move(renamed[1].strip('"'), renamed[2].strip('"'), told=True)


View = Lines | Found | Told
