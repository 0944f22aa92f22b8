"""Which rows are shown. Step: show, view, export: all of them take the same filters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vacr.viewer.parts import Other, Part, Text
from vacr.viewer.rows import Row


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for; nothing asked for is everything."""

    kinds: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    text: str = ""
    errors: bool = False
    names: frozenset[str] = frozenset()
    """Entries by their ids or pointers."""
    repeated: bool = False
    """Whether what repeats other entries is shown, too."""

    def chosen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Give the rows that are asked for."""
        found = re.compile(re.escape(self.text), re.IGNORECASE).search if self.text else None
        for row in rows:
            if row.is_repeated and not self.repeated and not self.names:
                continue
            if self.kinds and row.kind not in self.kinds:
                continue
            if self.tools and row.tool not in self.tools:
                continue
            if self.errors and not row.is_error:
                continue
            if self.names and not {row.name, row.place} & self.names:
                continue
            if found is not None and not any(map(found, _texts(row))):
                continue
            yield row


def _texts(row: Row) -> Iterator[str]:
    yield row.tool
    yield row.summary
    yield from _said(row.parts)
    if row.result is not None:
        yield from _said(row.result.parts)
    for diff in row.diffs:
        yield diff.path
        yield from diff.lines


def _said(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Other):
            yield str(part.value)
