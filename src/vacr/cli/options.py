"""What the verbs have in common: their options, how they speak, and how they write files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from vacr.codec import canonical_json
from vacr.errors import UnreadableInput

SCHEMA_VERSION = "1"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Voice:
    """How a verb speaks: results on standard output, everything else on standard error."""

    format: str
    quiet: bool
    verbose: int

    @property
    def json(self) -> bool:
        """Whether results are for programs."""
        return self.format == "json"

    def result(self, text: str) -> None:
        """Print a line of the result for a person."""
        if not self.json and not self.quiet:
            click.echo(printable(text))

    def data(self, document: dict[str, Any]) -> None:
        """Print the result for a program."""
        if self.json:
            click.echo(canonical_json.encode({"schema_version": SCHEMA_VERSION, **document}))

    def notice(self, text: str, level: int = 0) -> None:
        """Tell the person something beside the result; details only when asked for."""
        if not self.quiet and self.verbose >= level:
            click.echo(printable(text), err=True)

    def error(self, text: str) -> None:
        """Tell the person what went wrong, even when asked to be quiet."""
        click.echo(printable(text), err=True)


def voice_options(function: F) -> F:
    """Add `--format`, `-q` and `-v` to a verb."""
    for option in (
        click.option("-v", "--verbose", count=True, help="Say more."),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
        click.option(
            "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print the result."
        ),
    ):
        function = option(function)
    return function


@contextmanager
def progress(total: int, voice: Voice) -> Iterator[Callable[[], None]]:
    """Show on a terminal how far a long run is; give the function to call when one more is done."""
    if total == 1 or voice.quiet or voice.json or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:3], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("recording", total=total)
        yield lambda: bar.advance(task)


def printable(text: str) -> str:
    """Make control characters of names and values visible, so that nothing drives the terminal; lines stay lines."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape", "backslashreplace").decode()
        for char in text
    )


def write_file(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file whole or not at all: an interruption leaves what was there before.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    file.write(piece)
            os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101 - a path that mkstemp gave
            os.replace(name, path)  # noqa: PTH105 - a path that mkstemp gave
        except BaseException:
            os.unlink(name)  # noqa: PTH108 - a path that mkstemp gave
            raise
    except OSError as error:
        raise UnreadableInput(f"cannot be written: {error.strerror or error}", where=str(path)) from error


def write_stdout(pieces: Iterable[bytes | memoryview]) -> None:
    """Write bytes to standard output as they are."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def size(count: int) -> str:
    """Say a number of bytes as a person would."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":  # noqa: PLR2004 - SI units
            break
        value /= 1000
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def plural(count: int, noun: str) -> str:
    """Say how many of something there are."""
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural_noun}"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
