"""Standard output and standard error, and what a verb does when a write to one of them fails.

Every verb follows the same three rules:

- Nobody reads standard output any more (`vacr verify … | head`): the verb ends with its own exit
  code, without printing more.
- Standard output cannot be written (a full disk): the result is lost, so the verb stops with exit
  code 3.
- Standard error cannot be written: only messages are lost, so the verb ends with its own exit code.

Two properties of Python get in the way. An unbuffered stream drops the rest of a text that was
written in part, so `prepare_streams` gives every stream a buffer. And Python flushes both streams
at exit and replaces the exit code by 120 if that fails, so `flush_streams` runs just before and
leaves nothing to flush.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

import click

from vacr.errors import UnwritableOutput

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDERR = 2


def prepare_streams() -> None:
    """Make standard output report every write that fails, and standard error none.

    Characters that a stream cannot encode are written as escapes, such as `\\u2713`.

    Raises:
        UnwritableOutput: standard output is closed.
    """
    if sys.platform == "win32":
        return  # The console there has streams of its own kind.
    if sys.stderr is None:
        # The next file to be opened would take its descriptor, and child processes would write
        # their errors into that file.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, _STDERR)
        os.set_inheritable(_STDERR, True)  # noqa: FBT003 - the library's parameter
        if null != _STDERR:
            os.close(null)
        sys.stderr = _open_stream(io.FileIO(_STDERR, "w", closefd=False), "utf-8")
    elif _has_descriptor(sys.stderr):
        sys.stderr = _open_stream(
            _LossyFile(sys.stderr.fileno(), "w", closefd=False), sys.stderr.encoding
        )
    if sys.stdout is None:
        raise UnwritableOutput("is closed", where="standard output")
    if _has_descriptor(sys.stdout):
        # Text from before would be written too late, or not at all.
        check_output()
        sys.stdout = _open_stream(
            io.FileIO(sys.stdout.fileno(), "w", closefd=False), sys.stdout.encoding
        )


def print_text(text: str | bytes, *, newline: bool = True, color: bool | None = None) -> bool:
    """Print to standard output, and return whether anybody still reads it.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        discard_output()
        return False
    except OSError as error:
        raise _make_write_error(error) from error
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
        discard_output()
    except OSError as error:
        raise _make_write_error(error) from error


def print_message(text: str) -> None:
    """Print a message to standard error; a message that is lost never stops the work."""
    click.echo(text, err=True)


def check_output() -> None:
    """Check that all text for standard output was written.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        raise _make_write_error(error) from error


def flush_streams() -> None:
    """Flush both streams; discard what standard output cannot take."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.flush()


def discard_output() -> None:
    """Send standard output to the null device, and forget the text that could not be written.

    The stream object is replaced too: its buffer still holds that text, and the exit code must not
    depend on one more write.
    """
    try:
        fd = sys.stdout.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        # Child processes inherit the descriptor.
        os.dup2(null, fd)
        os.close(null)
        sys.stdout = _open_stream(io.FileIO(fd, "w", closefd=False), "utf-8")
    except OSError:
        # No descriptor is left to open the null device. Python and click print nothing to a stream
        # that is None.
        sys.stdout = None


def is_reader_gone() -> bool:
    """Return whether standard output is a pipe that nobody reads any more."""
    if sys.stdout is None or not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


class _LossyFile(io.FileIO):
    """A file that drops what cannot be written, and never reports it."""

    def write(self, data: ReadableBuffer) -> int:
        """Write as much as possible at once, and return how many bytes are done with."""
        with suppress(OSError):
            written = super().write(data)
            if written:
                return written
        return memoryview(data).nbytes


def _has_descriptor(stream: TextIO) -> bool:
    """Return whether a stream leads out of the process; one that a test captures may not."""
    try:
        return stream.fileno() >= 0
    except (OSError, ValueError):
        return False


def _open_stream(file: io.FileIO, encoding: str) -> TextIO:
    """Open a text stream with a buffer, which holds no finished line back."""
    return io.TextIOWrapper(
        io.BufferedWriter(file), encoding=encoding, errors="backslashreplace", line_buffering=True
    )


def _make_write_error(error: OSError) -> UnwritableOutput:
    return UnwritableOutput(
        f"cannot be written: {error.strerror or error}", where="standard output"
    )
