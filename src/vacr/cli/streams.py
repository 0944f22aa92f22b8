"""Standard output and standard error, and what a verb does when a write to one of them fails.

Every verb follows the same three rules:

- Nobody reads standard output any more (`vacr verify … | head`): the verb finishes in silence, with its own exit code.
- Standard output cannot be written (a full disk): the result is lost, so the verb stops with exit code 3.
- Standard error cannot be written: only messages are lost, so the verb finishes with its own exit code.

Python flushes both streams again at exit and replaces the exit code by 120 if that fails. `flush_or_discard` runs just before
and leaves nothing to flush.
"""

from __future__ import annotations

import io
import os
import select
import sys
from contextlib import suppress
from typing import Literal, TextIO

import click

from vacr.errors import UnreadableInput

Name = Literal["stdout", "stderr"]


def print_result(text: str | bytes) -> None:
    """Print a line of the result, and print nothing more once nobody reads it.

    Raises:
        UnreadableInput: standard output cannot be written.
    """
    try:
        print_text(text)
    except BrokenPipeError:
        discard("stdout")


def print_text(text: str | bytes, *, newline: bool = True, color: bool | None = None) -> None:
    """Print to standard output.

    Raises:
        BrokenPipeError: nobody reads standard output any more.
        UnreadableInput: standard output cannot be written.
    """
    try:
        click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise output_failure(error) from error


def print_message(text: str) -> None:
    """Print a message to standard error; losing a message never stops the work."""
    with suppress(OSError):
        click.echo(text, err=True)


def escape_unencodable() -> None:
    """Let characters that the encoding of a stream lacks be written as escapes: `\\u2713` for a tick in Latin-1."""
    for name in _NAMES:
        stream = _stream(name)
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def output_failure(error: OSError) -> UnreadableInput:
    """Discard standard output after a failed write, and return the error to raise."""
    discard("stdout")
    return UnreadableInput(f"cannot be written: {error.strerror or error}", where="standard output")


def flush_or_discard() -> None:
    """Flush both streams, and discard a stream that cannot be flushed."""
    for name in _NAMES:
        stream = _stream(name)
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            discard(name)


def discard(name: Name) -> None:
    """Send a stream to the null device and forget the text that could not be written.

    The stream object is replaced, because its buffer keeps that text and would try to write it again.
    """
    stream = _stream(name)
    if stream is None:
        return
    handle = stream.fileno()
    null = os.open(os.devnull, os.O_WRONLY)
    # Child processes inherit the handle, so it has to lead to the null device too.
    os.dup2(null, handle)
    os.close(null)
    # As for all standard streams, the handle stays open until the process ends.
    null_stream = open(handle, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    setattr(sys, name, null_stream)


def is_output_closed() -> bool:
    """Return whether standard output is a pipe that nobody reads any more."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


_NAMES: tuple[Name, ...] = ("stdout", "stderr")


def _stream(name: Name) -> TextIO | None:
    """Return a standard stream; it is None if the process was started with its handle closed."""
    stream: TextIO | None = getattr(sys, name)
    return stream
