"""Which rows are shown. Step: show, view, export: all of them take the same filters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from vacr.viewer.inputs import inputs_of
from vacr.viewer.parts import Other, Part, Text
from vacr.viewer.rows import TOOL, Row


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
        found = searching(self.text)
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
            if found is not None and not any(map(found, texts_of(row))):
                continue
            yield row


def searching(text: str) -> Callable[[str], object] | None:
    """Give what looks for a text in another, in any case of letters; nothing where no text is asked
    for.
    """
    return re.compile(re.escape(text), re.IGNORECASE).search if text else None


def texts_of(row: Row) -> Iterator[str]:
    """Give the texts in which a row is looked for: all of a call's input, of which its summary may
    be a part.
    """
    yield row.tool
    yield row.summary
    yield from bodies_of(row)
    for diff in row.diffs:
        yield diff.path
        yield from diff.lines


def bodies_of(row: Row) -> Iterator[str]:
    """Give what was said, or what a call was given and what came of it."""
    if row.kind == TOOL:
        for _, text in inputs_of(row.entry.get("input")):
            yield text
    yield from _said(row.parts)
    if row.result is not None:
        yield from _said(row.result.parts)


def _said(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Other):
            yield str(part.value)
