"""What the verbs have in common: their options, and how they speak."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from vacr.cli.streams import print_message, print_text
from vacr.errors import escape_unprintable
from vacr.record import encode_canonical_json

OUTPUT_SCHEMA_VERSION = "1"
EXIT_FINDINGS = 5
"""The exit code of a verb that finished with findings under `--strict`."""

_TERMINAL_CONTROL_PATTERN = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")

F = TypeVar("F", bound=Callable[..., Any])


class _NonEmptyPath(click.Path):
    """A path that the shell completes and that we check ourselves, but for one that is none: a
    variable that was not set.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty name."""
        return (
            super().convert(value, param, ctx)
            if value
            else self.fail("the name is empty", param, ctx)
        )


PATH = _NonEmptyPath(readable=False)


class NumberRange(click.FloatRange):
    """A number in a range, which one that is none (`nan`) is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what compares with nothing."""
        found = super().convert(value, param, ctx)
        return self.fail(f"{value} is no number", param, ctx) if math.isnan(found) else found


@dataclass(frozen=True)
class Voice:
    """How a verb speaks: results on standard output, everything else on standard error."""

    format: str
    quiet: bool
    verbose: int

    @property
    def json(self) -> bool:
        """Whether results are for programs."""
        return self.format != "text"

    def result(self, text: str) -> None:
        """Print a line of the result for a person."""
        if not self.json and not self.quiet:
            print_text(escape_unprintable(text))

    def lines(self, text: str) -> None:
        """Print a result that is text of several lines."""
        if not self.json:
            print_text(make_lines_printable(text))

    def data(self, document: dict[str, Any]) -> None:
        """Print the result for a program, in one document."""
        if self.format == "json":
            print_text(encode_output_document(document))

    def line(self, document: dict[str, Any]) -> None:
        """Print a part of the result for a program that takes it line by line."""
        if self.format == "jsonl":
            print_text(encode_output_document(document))

    def notice(self, text: str, level: int = 0) -> None:
        """Tell the person something beside the result; details only when asked for."""
        if not self.quiet and self.verbose >= level:
            print_message(escape_unprintable(text))

    def error(self, text: str, hint: str = "") -> None:
        """Tell the person what went wrong and what to do, even when asked to be quiet."""
        print_message(
            escape_unprintable(text) + (f"\n  {escape_unprintable(hint)}" if hint else "")
        )


def output_options(function: F, default: str = "the current folder") -> F:
    """Add `-o` and `--overwrite` to a verb that writes a file for each one it is given."""
    where = f"Where to write; a folder ends in /.  [default: {default}]"
    function = click.option(
        "--overwrite", is_flag=True, help="Replace a file that is there and differs."
    )(function)
    return click.option("-o", "--output", metavar="FILE|FOLDER/|-", type=PATH, help=where)(function)


def voice_options(function: F) -> F:
    """Add `--format`, `-q` and `-v` to a verb."""
    return _add_voice_options(function, ["text", "json"])


def streaming_voice_options(function: F) -> F:
    """Add the same to a verb whose result may be long, with one more format that prints it as it
    comes.
    """
    return _add_voice_options(function, ["text", "json", "jsonl"])


def _add_voice_options(function: F, formats: list[str]) -> F:
    for option in (
        click.option("-v", "--verbose", count=True, help="Say more."),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
        click.option(
            "--format",
            type=click.Choice(formats),
            default="text",
            show_default=True,
            help="How to print the result.",
        ),
    ):
        function = option(function)
    return function


def schema_option(**settings: Any) -> Callable[[F], F]:
    """Add `--schema` to a verb."""
    return click.option("--schema", metavar="v3|v2|v1|FILE", type=PATH, **settings)


def log_key_option(**settings: Any) -> Callable[[F], F]:
    """Add `--log-key` to a verb."""
    return click.option("--log-key", metavar="FILE|FOLDER", type=PATH, multiple=True, **settings)


def complete_rule(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete the name of a rule."""
    from vacr.cli.schemas import load_schema

    return [
        name
        for name in load_schema(context.params.get("schema") or "v3").rules
        if name.startswith(typed)
    ]


def complete_agent(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete the name of an agent."""
    from vacr.agents import load_readers

    return [name for name in load_readers() if name.startswith(typed)]


@contextmanager
def show_progress(
    count: Callable[[], int], voice: Voice, doing: str = "recording"
) -> Iterator[Callable[[], None]]:
    """Show on a terminal how far a long run is; give the function to call when one more is done."""
    total = count() if _can_show_progress(voice) else 1
    if total == 1:
        yield lambda: None
        return
    with _make_progress_bar() as bar:
        task = bar.add_task(doing, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def show_job_progress(what: str, voice: Voice) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how far a long job is; give the function to call with how much is done, of
    how much.
    """
    if not _can_show_progress(voice):
        yield lambda _done, _of: None
        return
    with _make_progress_bar() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def _can_show_progress(voice: Voice) -> bool:
    return (
        not voice.quiet
        and not voice.json
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
    )


def _make_progress_bar() -> Any:
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:3], MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def make_lines_printable(text: str) -> str:
    """Make text of several lines printable; lines stay lines."""
    return "\n".join(map(escape_unprintable, text.split("\n")))


def encode_output_document(document: dict[str, Any]) -> bytes:
    """Give a document for programs as it is printed, with the version of what it consists of."""
    text = encode_canonical_json(
        _replace_surrogates({"schema_version": OUTPUT_SCHEMA_VERSION, **document})
    ).decode()
    # JSON leaves characters as they are that drive a terminal, or turn the order of letters round;
    # spelled, they say the same.
    return _TERMINAL_CONTROL_PATTERN.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _replace_surrogates(value: Any) -> Any:
    """Replace what is no character in texts: names of files, and messages with such names, may hold
    any bytes.
    """
    if isinstance(value, str):
        return _SURROGATE_PATTERN.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _replace_surrogates(name): _replace_surrogates(item) for name, item in value.items()
        }
    return (
        [_replace_surrogates(item) for item in value] if isinstance(value, list | tuple) else value
    )


def format_size(count: int) -> str:
    """Say a number of bytes as a person would."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB"):  # noqa: B007 - the unit that was reached is used below
        if value < 1000:  # noqa: PLR2004 - SI units
            break
        value /= 1000
    return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"


def format_count(count: int, noun: str) -> str:
    """Say how many of something there are."""
    plural_noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural_noun}"
