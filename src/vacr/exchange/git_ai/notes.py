"""The text of a note: files with their lines, a line of three hyphens, and JSON. Step: export,
import.

Follows the Git AI Standard 3.0.0, section 1.2. A line of the first section names whoever wrote some
lines by a key, which the JSON explains.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from vacr.codec import canonical_json
from vacr.codec.json_text import sorted_text
from vacr.errors import InvalidRecord, UnreadableInput

DIVIDER = "---"
_ENTRY = re.compile(r"  (\S+) ([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)")
_TO_QUOTE = re.compile(r"[\s\"]")
_LARGEST = 2**53
_DIGITS = 20
"""More than the largest number has; Python refuses to read thousands."""

Range = tuple[int, int]


class Attested(NamedTuple):
    """Lines of a file, and the key of whoever wrote them."""

    key: str
    ranges: list[Range]


class Note(NamedTuple):
    """What a note says."""

    files: list[tuple[str, list[Attested]]]
    metadata: dict[str, Any]


def can_hold(path: str) -> bool:
    """Tell whether a note can name a file so that it is found again."""
    return path != "" and '"' not in path and path.splitlines() == [path]


def write(note: Note) -> str:
    """Give the text of a note."""
    lines = []
    for path, attested in note.files:
        lines.append(f'"{path}"' if _TO_QUOTE.search(path) or path == DIVIDER else path)
        lines += [f"  {one.key} {','.join(map(_written, one.ranges))}" for one in attested]
    return (
        "\n".join(
            [*lines, DIVIDER, msgspec.json.format(sorted_text(note.metadata), indent=2).decode()]
        )
        + "\n"
    )


def parse(data: bytes) -> Note:
    """Read the text of a note; one of JSON alone attests nothing.

    Raises:
        UnreadableInput: it is no text, or its JSON cannot be read.
        InvalidRecord: a line of it is none that a note has.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableInput("not a note of git-ai: it is no UTF-8 text") from error
    lines = text.split("\n")
    if DIVIDER not in lines and text.lstrip().startswith("{"):
        lines = [DIVIDER, *lines]
    if DIVIDER not in lines:
        hint = "git notes --ref=ai show COMMIT gives one."
        raise InvalidRecord("not a note of git-ai: it has no line of three hyphens", hint=hint)
    end = lines.index(DIVIDER)
    metadata = canonical_json.decode("\n".join(lines[end + 1 :]).encode())
    if not isinstance(metadata, dict):
        raise InvalidRecord(
            "not a note of git-ai: what follows the hyphens is no object", where=f"line {end + 2}"
        )
    return Note(_files(lines[:end]), metadata)


def _files(lines: list[str]) -> list[tuple[str, list[Attested]]]:
    files: list[tuple[str, list[Attested]]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not line.startswith(" "):
            quoted = len(line) > 1 and line.startswith('"') and line.endswith('"')
            files.append((line[1:-1] if quoted else line, []))
            continue
        found = _ENTRY.fullmatch(line)
        if found is None or not files:
            told = "no lines of a file before it" if found else "not a key and lines"
            raise InvalidRecord(
                f"not a note of git-ai: {told}",
                where=f"line {number}",
                hint="Lines look so:   s_… 1-4,9",
            )
        files[-1][1].append(
            Attested(found[1], [_range(text, number) for text in found[2].split(",")])
        )
    return files


def _range(text: str, number: int) -> Range:
    first, _, last = text.partition("-")
    start, end = (int(one) if len(one) <= _DIGITS else 0 for one in (first, last or first))
    if not 1 <= start <= end < _LARGEST:
        raise InvalidRecord(f"not a note of git-ai: {text} are no lines", where=f"line {number}")
    return start, end


def _written(one: Range) -> str:
    return str(one[0]) if one[0] == one[1] else f"{one[0]}-{one[1]}"
