"""The files that a run writes, and how its messages count them.

An output that ends in a slash, or that exists as a folder, takes one file for each result:

    >>> from vacr.workflows import format_count, format_size, is_output_folder
    >>> is_output_folder("records/"), is_output_folder("abc.acr.json"), is_output_folder("-")
    (True, False, False)
    >>> format_count(2, "entry"), format_size(12_218)
    ('2 entries', '12.2 kB')
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from vacr.errors import UsageError
from vacr.files import (
    STDIN,
    check_not_input,
    has_same_bytes,
    is_folder,
    write_file_atomically,
)

_SIZE_UNITS = ("kB", "MB", "GB")
_UNIT_FACTOR = 1000


def is_output_folder(output: str | None) -> bool:
    """Return whether an output is a folder: it ends in a slash, is one, or is None.

    None stands for the current folder.
    """
    if output is None:
        return True
    if output == STDIN:
        return False
    return output.endswith("/") or is_folder(output)


def check_single_output(files: Sequence[str], output: str | None) -> None:
    """Check that the results for several files do not go into one file.

    Raises:
        UsageError: there are several files, and the output is neither a folder nor standard output.
    """
    if len(files) > 1 and not is_output_folder(output) and output != STDIN:
        raise UsageError(
            f"cannot write {len(files)} results into one file, {output}",
            hint=f"Add a slash to make it a folder: -o {output}/",
        )


def reserve_unused_name(name: str, names: set[str]) -> str:
    """Return a name that is not in `names`, and add it there in lower case.

    If `x` or `X` is used, `x` becomes `x-2`.
    """
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
    durable: bool = False,
) -> str:
    """Write a result; return "written", or "unchanged" if the file already has these bytes.

    The file becomes no more readable than its `source` and the files in `also`, and never replaces
    one of the `inputs`. A `durable` file survives a power cut from then on.

    Raises:
        UsageError: the file exists with other content, and `overwrite` is false.
    """
    if target.is_file():
        if has_same_bytes(target, [data]):
            return "unchanged"
        check_not_input(target, inputs)
        if not overwrite:
            raise UsageError(
                f"{target} exists with different content",
                hint="Add --overwrite to replace it, or write elsewhere with -o.",
            )
    sources = (Path(name) for name in (source, *also) if name != STDIN)
    write_file_atomically(target, [data], *sources, durable=durable)
    return "written"


def format_size(count: int) -> str:
    """Return a number of bytes with a unit: 12218 becomes `12.2 kB`."""
    if count < _UNIT_FACTOR:
        return f"{count} B"
    value = float(count)
    for unit in _SIZE_UNITS:
        value /= _UNIT_FACTOR
        if value < _UNIT_FACTOR:
            return f"{value:.1f} {unit}"
    return f"{value:.1f} {_SIZE_UNITS[-1]}"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural, such as `2 entries`."""
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural_noun}"
