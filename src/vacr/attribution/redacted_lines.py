"""Lines of a session in which a mark stands for a secret.

Recorders of sessions replace text that looks like a secret with `REDACTED`, also in names of
functions and in test data. A file that shows such a mark did not change. If its lines are known
from the base, the real line is the one that differs from the shown line only at the marks.

    >>> from vacr.attribution.redacted_lines import restore_redacted_lines
    >>> known = ["key = 'a1b2c3'\\n", "print(key)\\n"]
    >>> restore_redacted_lines(["key = 'REDACTED'\\n", "print(key)\\n"], known)
    ["key = 'a1b2c3'\\n", 'print(key)\\n']
"""

import re
from collections.abc import Sequence

_MARK = "REDACTED"
_REDACTION = re.compile(r"\[?(?<![A-Za-z])REDACTED(?![A-Za-z])\]?")
_MAX_MARKS = 4
# A line needs this many characters around its marks.
_MIN_TEXT_AROUND = 4


def has_redaction(text: str) -> bool:
    """Return whether a mark may stand for a part of a text."""
    return _MARK in text and _REDACTION.search(text) is not None


def restore_redacted_lines(seen: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return shown lines, with the known line in the place of each redacted one.

    If several known lines fit, the one between the same two lines counts. A line that no known line
    fits stays as it is shown.
    """
    lines, present = list(seen), set(known)
    for at, line in enumerate(lines):
        if has_redaction(line) and line not in present:
            lines[at] = _find_real_line(line, _get_neighbours(lines, at), known) or line
    return lines


def _find_real_line(
    line: str, neighbours: tuple[Sequence[str], Sequence[str]], known: Sequence[str]
) -> str | None:
    """Return the only known line that differs from a line at its marks, or `None`."""
    parts = _REDACTION.split(line)
    has_text = len("".join("".join(parts).split())) >= _MIN_TEXT_AROUND
    if not has_text or len(parts) > _MAX_MARKS + 1:
        return None
    pattern = re.compile(r"\S+".join(map(re.escape, parts)))
    places = [at for at, other in enumerate(known) if pattern.fullmatch(other)]
    if len({known[at] for at in places}) > 1:
        places = [at for at in places if _get_neighbours(known, at) == neighbours]
    fitting = {known[at] for at in places}
    return fitting.pop() if len(fitting) == 1 else None


def _get_neighbours(lines: Sequence[str], at: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return the line before an index and the line after it; none at the ends of the file."""
    return lines[max(at - 1, 0) : at], lines[at + 1 : at + 2]
