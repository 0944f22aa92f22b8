"""Where results go: a file, a folder or standard output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from vacr.errors import UsageError
from vacr.files import STDIN, check_not_input, has_same_bytes, write_file_atomically


def is_output_folder(output: str | None) -> bool:
    """Tell whether an output is a folder: the current one by default, one that exists, or a name
    that ends in a slash.
    """
    return output is None or (output != STDIN and (output.endswith("/") or os.path.isdir(output)))  # noqa: PTH112


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
    """Give a name that nothing else has that this run writes, on any file system, and keep it."""
    found = next(
        one
        for one in chain([name], (f"{name}-{number}" for number in count(2)))
        if one.lower() not in names
    )
    names.add(found.lower())
    return found


def write_output_file(
    target: Path,
    data: bytes,
    source: str,
    files: tuple[str, ...],
    *,
    overwrite: bool,
    also: Sequence[str] = (),
) -> str:
    """Write what was made of a file, and perhaps of others also; tell whether it was there already.

    Raises:
        UsageError: something else is there.
    """
    if target.is_file():
        if has_same_bytes(target, [data]):
            return "unchanged"
        check_not_input(target, files)
        if not overwrite:
            raise UsageError(
                f"{target} is there and differs", hint="Give --overwrite, or another place with -o."
            )
    write_file_atomically(target, [data], *(Path(one) for one in (source, *also) if one != STDIN))
    return "written"
