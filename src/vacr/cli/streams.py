"""Standard output and standard error, and what a verb does when a write to one of them fails.

Every verb follows the same three rules:

- Nobody reads standard output any more (`vacr verify … | head`): the verb ends with its own exit code, without printing more.
- Standard output cannot be written (a full disk): the result is lost, so the verb stops with exit code 3.
- Standard error cannot be written: only messages are lost, so the verb ends with its own exit code.

Two properties of Python get in the way. An unbuffered stream drops the rest of a text that was written in part, so
`prepare_streams` gives every stream a buffer. And Python flushes both streams at exit and replaces the exit code by 120 if that
fails, so `flush_streams` runs just before and leaves nothing to flush.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TextIO

import click

from vacr.errors import UnwritableOutput

StreamName = Literal["stdout", "stderr"]

_STREAMS: tuple[StreamName, ...] = ("stdout", "stderr")


def prepare_streams() -> None:
    """Give both streams a buffer, and write characters that they cannot encode as escapes, such as `\\u2713`."""
    for name in _STREAMS:
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if isinstance(stream.buffer, io.RawIOBase):
            stream = _open_stream(stream.fileno(), stream.encoding)
            setattr(sys, name, stream)
        if stream.errors in {"strict", "surrogateescape"}:
            # This flushes the stream first. If that fails, so does the next write, which reports it.
            with suppress(OSError):
                stream.reconfigure(errors="backslashreplace")


def print_text(text: str | bytes, *, newline: bool = True, color: bool | None = None) -> bool:
    """Print to standard output, and return whether anybody still reads it.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        discard_stream("stdout")
        return False
    except OSError as error:
        raise _describe(error) from error
    return True


def write_bytes(pieces: Iterable[bytes | memoryview]) -> None:
    """Write bytes to standard output as they are.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        discard_stream("stdout")
    except OSError as error:
        raise _describe(error) from error


def print_message(text: str) -> None:
    """Print a message to standard error; losing a message never stops the work."""
    with suppress(OSError):
        click.echo(text, err=True)


def check_output() -> None:
    """Check that all text for standard output was written.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stream("stdout")
    except OSError as error:
        raise _describe(error) from error


def flush_streams() -> None:
    """Flush both streams, and discard a stream that cannot be flushed."""
    for name in _STREAMS:
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            discard_stream(name)


def discard_stream(name: StreamName) -> None:
    """Send a stream to the null device, and forget the text that could not be written.

    The stream object is replaced too: its buffer still holds that text, and the exit code must not depend on one more write.
    """
    try:
        fd = getattr(sys, name).fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        # Child processes inherit the descriptor.
        os.dup2(null, fd)
        os.close(null)
        setattr(sys, name, _open_stream(fd, "utf-8"))
    except OSError:
        # No descriptor is left to open the null device. Python and click print nothing to a stream that is None.
        setattr(sys, name, None)


def is_reader_gone() -> bool:
    """Return whether standard output is a pipe that nobody reads any more."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _open_stream(fd: int, encoding: str) -> TextIO:
    """Open a buffered text stream that leaves its descriptor open, as the standard streams do."""
    buffer = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
    return io.TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace", line_buffering=True)


def _describe(error: OSError) -> UnwritableOutput:
    return UnwritableOutput(f"cannot be written: {error.strerror or error}", where="standard output")
