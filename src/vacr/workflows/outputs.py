"""Results of verbs: where they go, and how they are counted.

An output that ends in a slash, or that exists as a folder, takes one file for each result:

    >>> from vacr.workflows import format_count, format_size, is_output_folder
    >>> is_output_folder("records/"), is_output_folder("abc.acr.json"), is_output_folder("-")
    (True, False, False)
    >>> format_count(2, "entry"), format_size(12_218)
    ('2 entries', '12.2 kB')
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from vacr.errors import UsageError
from vacr.files import STDIN, check_not_input, has_same_bytes, write_file_atomically

_SIZE_UNITS = ("B", "kB", "MB", "GB")
_UNIT_FACTOR = 1000


def is_output_folder(output: str | None) -> bool:
    """Return whether an output is a folder; without an output, it is the current one."""
    if output is None:
        return True
    return output != STDIN and (output.endswith("/") or os.path.isdir(output))  # noqa: PTH112 - Path drops the slash


def check_single_output(files: Sequence[str], output: str | None) -> None:
    """Refuse to write several results into one file.

    Raises:
        UsageError: there are several, and the output is neither a folder nor standard output.
    """
    if len(files) > 1 and not is_output_folder(output) and output != STDIN:
        raise UsageError(
            f"several results cannot go into one file, {output}",
            hint="End the name in / for a folder.",
        )


def reserve_unused_name(name: str, names: set[str]) -> str:
    """Return a name that this run has not used yet, in any case of letters, and reserve it."""
    candidates = chain([name], (f"{name}-{number}" for number in count(2)))
    unused = next(candidate for candidate in candidates if candidate.lower() not in names)
    names.add(unused.lower())
    return unused


def write_output_file(
    target: Path,
    data: bytes,
    source: str,
    inputs: tuple[str, ...],
    *,
    overwrite: bool,
    also: Sequence[str] = (),
) -> str:
    """Write a result, and return "written", or "unchanged" where the same bytes are there already.

    The file becomes no more readable than its `source` and those in `also`, and replaces none of
    the `inputs`.

    Raises:
        UsageError: something else is there.
    """
    if target.is_file():
        if has_same_bytes(target, [data]):
            return "unchanged"
        check_not_input(target, inputs)
        if not overwrite:
            raise UsageError(
                f"{target} is there and differs", hint="Give --overwrite, or another place with -o."
            )
    sources = (Path(name) for name in (source, *also) if name != STDIN)
    write_file_atomically(target, [data], *sources)
    return "written"


def format_size(count: int) -> str:
    """Return a number of bytes with the unit that a person would use."""
    if count < _UNIT_FACTOR:
        return f"{count} B"
    value, unit = float(count), "B"
    for unit in _SIZE_UNITS:  # noqa: B007 - the unit that was reached is used below
        if value < _UNIT_FACTOR:
            break
        value /= _UNIT_FACTOR
    return f"{value:.1f} {unit}"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural_noun}"
