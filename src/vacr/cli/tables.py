"""Rows of text laid out in columns."""

from __future__ import annotations

import shutil
from collections.abc import Sequence


def laid_out(rows: Sequence[Sequence[str]], *, right: frozenset[int]) -> list[str]:
    """Align the columns of rows, some of them to the right; the last takes what the terminal has left, and is cut to it."""
    last = len(rows[0]) - 1
    widths = [max(len(row[column]) for row in rows) for column in range(last + 1)]
    if last not in right:
        widths[last] = max(20, shutil.get_terminal_size((120, 24)).columns - sum(widths[:last]) - 2 * last)
    return ["  ".join(_cell(row[i], widths[i], right=i in right) for i in range(last + 1)).rstrip() for row in rows]


def _cell(text: str, width: int, *, right: bool) -> str:
    if len(text) > width:
        return f"{text[: width - 1]}…"
    return text.rjust(width) if right else text.ljust(width)
