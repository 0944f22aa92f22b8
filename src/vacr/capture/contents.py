"""What a part of a session has held: its bytes after every change, and the lines that were first seen."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_TAIL = 1 << 12
_COMPARABLE = 1 << 22


def splice(old: bytes, new: bytes) -> tuple[int, int, bytes]:
    """Say how bytes became others: from where on, how many were cut, and what came for them."""
    shorter = min(len(old), len(new))
    front = _common(shorter, lambda size: old[:size] == new[:size])
    back = _common(shorter - front, lambda size: old[len(old) - size :] == new[len(new) - size :])
    return front, len(old) - front - back, new[front : len(new) - back]


def _common(most: int, is_common: Callable[[int], bool]) -> int:
    """Give the largest size up to which something is common, by halves."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_common(middle):
            low = middle
        else:
            high = middle - 1
    return low


class Content:
    """The bytes of a part as they were last seen, without the bytes themselves where those only ever grew."""

    def __init__(self, size: int = 0, lines: int = 0, tail: bytes = b"", held: bytearray | None = None) -> None:
        """Begin with what was seen."""
        self.size, self.tail = size, tail
        """How many there are, and the last of them, by which a file is known again."""
        self._lines: int | None = lines
        self._held = held
        self._added: list[bytes] = []
        """What came after the bytes that are held: putting it there takes longer than reading it did."""

    @property
    def held(self) -> bytearray | None:
        """The bytes, if they are held."""
        if self._held is not None and self._added:
            self._held += b"".join(self._added)
            self._added = []
        return self._held

    @held.setter
    def held(self, held: bytearray | None) -> None:
        self._lines = self.lines
        self._held, self._added = held, []

    @property
    def lines(self) -> int:
        """How many lines there are."""
        if self._lines is None:
            self._lines = (self.held or b"").count(b"\n")
        return self._lines

    def replace(self, held: bytearray) -> None:
        """Note that all of it is something else now."""
        self.size, self.tail = len(held), bytes(held[-_TAIL:])
        self._held, self._added, self._lines = held, [], None

    def change(self, at: int, cut: int, data: bytes) -> None:
        """Note a change; the bytes have to be held, unless it is at the end."""
        if (at, cut) == (self.size, 0):
            self.size += len(data)
            self.tail = (self.tail + data[-_TAIL:])[-_TAIL:]
            if self._held is None:
                self._lines = self.lines + data.count(b"\n")
            else:
                self._added.append(data)
                self._lines = None
            return
        held = self.held
        held = held if held is not None else bytearray()
        held[at : at + cut] = data
        self.replace(held)


@dataclass(frozen=True, slots=True)
class Change:
    """Lines that were seen, and later were others or gone, or that others came before; numbered from one, as first seen."""

    first: int
    last: int
    what: str

    def __str__(self) -> str:
        """Name the lines."""
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{lines} {self.what}"


def changes(seen: bytes, now: bytes) -> Iterator[Change]:
    """Tell which lines that were seen are others now, or gone, or have others before them that were not there.

    What was added after them is no change, nor is the rest of a line that was half written when it was seen.
    """
    if now.startswith(seen):
        return
    old, new = _lines(seen), _lines(now)
    if not old[-1].endswith(b"\n") and new[len(old) - 1 : len(old)] and new[len(old) - 1].startswith(old[-1]):
        old.pop()
    front = _common(min(len(old), len(new)), lambda size: old[:size] == new[:size])
    for kind, first, end, begins, stops in _compared(old[front:], new[front:]):
        if kind == "insert" and front + first < len(old):
            yield Change(front + first + 1, front + first + 1, f"has {stops - begins} new before it")
        if kind not in ("replace", "delete"):
            continue
        changed = min(end, first + stops - begins)
        if changed > first:
            yield Change(front + first + 1, front + changed, "changed")
        if end > changed:
            yield Change(front + changed + 1, front + end, "vanished")


def _compared(old: list[bytes], new: list[bytes]) -> Sequence[tuple[str, int, int, int, int]]:
    """Compare lines; many that differ are compared one by one, for to find what moved would take long."""
    if len(old) * len(new) <= _COMPARABLE:
        return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    both = min(len(old), len(new))
    differ = [("replace", at, at + 1, at, at + 1) for at in range(both) if old[at] != new[at]]
    return [*differ, *([("delete", both, len(old), both, both)] if len(old) > both else [])]


def _lines(data: bytes) -> list[bytes]:
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def added(seen: bytes, now: bytes) -> bytes:
    """Give what was added after the lines that were seen, whatever became of those."""
    if now.startswith(seen):
        return now[len(seen) :]
    old, new = _lines(seen), _lines(now)
    front = _common(min(len(old), len(new)), lambda size: old[:size] == new[:size])
    kept = front
    for _, first, end, begins, stops in _compared(old[front:], new[front:]):
        if end > first:
            kept = front + min(stops, begins + end - first)
    return b"".join(new[kept:])
