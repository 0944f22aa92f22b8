"""Rows of text laid out in columns, as wide as they look: some characters take two places, some
take none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len, set_cell_size

from vacr.errors import escape_unprintable

_DEFAULT_WIDTH = 120
_MIN_LAST_COLUMN_WIDTH = 20


def get_terminal_width(stream: TextIO) -> int | None:
    """Tell how wide the terminal is that a stream goes to; nothing where it goes elsewhere."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return None


def align_columns(
    rows: Sequence[Sequence[str]], *, right: frozenset[int], width: int | None = None
) -> list[str]:
    """Align the columns of rows, some of them to the right; the last is cut to what a width leaves
    for it.
    """
    cells = [[escape_unprintable(text) for text in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        widths[-1] = min(
            widths[-1],
            max(_MIN_LAST_COLUMN_WIDTH, width - sum(widths[:-1]) - 2 * (len(widths) - 1)),
        )
    return [
        "  ".join(
            fit_to_width(text, widths[i], right=i in right) for i, text in enumerate(row)
        ).rstrip()
        for row in cells
    ]


def truncate_start(text: str, width: int) -> str:
    """Give the end of a text that is too wide, which tells more about a path than its beginning."""
    if cell_len(text) <= width:
        return text
    end = text[-width:]
    while cell_len(end) >= width:
        end = end[1:]
    return f"…{end}"


def fit_to_width(text: str, width: int, *, right: bool = False) -> str:
    """Make a text as wide as a column: cut, or filled up with blanks."""
    if cell_len(text) > width:
        text = f"{set_cell_size(text, width - 1)}…"
    room = " " * (width - cell_len(text))
    return room + text if right else text + room
