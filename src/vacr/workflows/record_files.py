"""Files that verbs read and write: statements with their files, and the outputs of a run.

The statement about a file has the name of that file and the ending `.cose`. A user may name either:

    >>> from vacr.workflows import StatementPair, find_statement_pairs
    >>> StatementPair("abc.acr.json.cose", "abc.acr.json").is_record
    True
    >>> [pair] = find_statement_pairs("session.jsonl")
    >>> pair.file, pair.statement
    ('session.jsonl', None)

An output that ends in a slash, or that exists as a folder, takes one file for each result:

    >>> from vacr.workflows import format_count, format_size, is_output_folder
    >>> is_output_folder("records/"), is_output_folder("abc.acr.json"), is_output_folder("-")
    (True, False, False)
    >>> format_count(2, "entry"), format_size(12_218)
    ('2 entries', '12.2 kB')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from vacr.errors import UnreadableInput, UsageError
from vacr.files import (
    STDIN,
    check_not_input,
    describe_file_error,
    has_same_bytes,
    is_file,
    is_folder,
    read_bytes,
    walk_files,
    write_file_atomically,
)
from vacr.record import RecordEncoding, detect_and_decode

STATEMENT_SUFFIX = ".cose"
RECORD_SUFFIXES = (".acr.json", ".acr.cbor")
_SIZE_UNITS = ("kB", "MB", "GB")
_UNIT_FACTOR = 1000


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A statement and the file it is about; either may be missing."""

    statement: str | None
    file: str | None

    @property
    def name(self) -> str:
        """Return the name of the file, or of its statement if the file is missing."""
        return self.file or self.statement or ""

    @property
    def is_record(self) -> bool:
        """Return whether the file is named like a record: `.acr.json` or `.acr.cbor`.

        If the file is missing, the name of its statement without `.cose` counts.
        """
        return self.name.removesuffix(STATEMENT_SUFFIX).endswith(RECORD_SUFFIXES)


def find_statement_pairs(path: str) -> Iterator[StatementPair]:
    """Yield the statement and the file that a path stands for.

    For a folder, yield all statements and unsigned records in it, sorted by name.

    Raises:
        UnreadableInput: the folder cannot be listed.
    """
    if not is_folder(path):
        yield _find_statement_pair(path)
        return
    failed: list[OSError] = []
    names = set(walk_files(path, failed.append))
    if failed:
        raise UnreadableInput(describe_file_error(failed[0]), where=str(failed[0].filename))
    for name in sorted(names):
        if name.endswith(STATEMENT_SUFFIX):
            file = name.removesuffix(STATEMENT_SUFFIX)
            yield StatementPair(name, file if file in names else None)
        elif name.endswith(RECORD_SUFFIXES) and name + STATEMENT_SUFFIX not in names:
            yield StatementPair(None, name)


def _find_statement_pair(path: str) -> StatementPair:
    """Return a named statement with its file, or a named file with its statement, if any."""
    if path.endswith(STATEMENT_SUFFIX):
        file = path.removesuffix(STATEMENT_SUFFIX)
        return StatementPair(path, file if Path(file).exists() else None)
    # `vacr sign` writes the statement of a native session into the current folder.
    candidates = (path + STATEMENT_SUFFIX, Path(path).name + STATEMENT_SUFFIX)
    statement = next((name for name in candidates if is_file(name)), None)
    return StatementPair(statement, path)


def read_json_or_cbor(path: str) -> tuple[Any, RecordEncoding]:
    """Read the value in a file, and return it with its encoding.

    Raises:
        UnreadableInput: the file does not exist, or is not exactly one value in JSON or CBOR.
    """
    return decode_json_or_cbor(read_bytes(path))


def decode_json_or_cbor(data: bytes) -> tuple[Any, RecordEncoding]:
    """Decode a value, and return it with its encoding.

    Raises:
        UnreadableInput: the data is not exactly one value in JSON or CBOR.
    """
    try:
        return detect_and_decode(data)
    except UnreadableInput as error:
        hint = error.hint or "If this is a native session, record it first: vacr record FILE."
        raise UnreadableInput(error.message, where=error.where, hint=hint) from error


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
