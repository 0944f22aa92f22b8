"""The output of commands: results on standard output, everything else on standard error.

Verbs and the GitHub actions print through a `Voice`. It knows the output format, escapes control
characters, and obeys `--quiet`. Tables are aligned by the width that characters have on the
screen:

    >>> from vacr.console import align_columns
    >>> print("\\n".join(align_columns([["agent", "size"], ["parrot", "12 kB"]], right={1})))
    agent    size
    parrot  12 kB

When a write fails, every verb follows the same three rules:

- The reader of standard output has ended (`vacr verify … | head`): the verb ends with its own exit
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
import re
import select
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

from vacr.errors import InvalidRecord, UnwritableOutput, VacrError, escape_unprintable
from vacr.record import encode_canonical_json

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OUTPUT_SCHEMA_VERSION = "1"
_STDERR = 2
_DEFAULT_WIDTH = 120
_MIN_LAST_COLUMN_WIDTH = 20
_WORD_ENDS = "/-_. "
_MIN_PATH_WIDTH = 12
_TERMINAL_CONTROL_PATTERN = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_ESCAPED_LINE_ENDS = re.compile(r"(?:\\[nr]){2,}|(?<![\w:\\/])\\n(?=[^a-z]|$)")
_UNBROKEN_WORDS = re.compile(r"(\s*)((?<!\S)vacr [a-z-]+\S*|\S+)")
_SURROGATE_PATTERN = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Voice:
    """The output of a verb: results on standard output, everything else on standard error."""

    format: str
    quiet: bool
    verbose: int

    @property
    def json(self) -> bool:
        """Return whether the output is for programs: the format is `json` or `jsonl`."""
        return self.format != "text"

    def result(self, text: str) -> None:
        """Print a line of the result, unless `--quiet` is set or the format is JSON."""
        if not self.json and not self.quiet:
            print_text(escape_unprintable(text))

    def results(self, lines: Iterable[str]) -> None:
        """Print many lines of the result as `result` does, at once."""
        if not self.json and not self.quiet:
            print_text("\n".join(map(escape_unprintable, lines)))

    def prose(self, text: str) -> None:
        """Print a line of the result as `result` does; a terminal breaks it between words."""
        if not self.json and not self.quiet:
            for line in wrap_to_width(escape_unprintable(text), get_terminal_width(sys.stdout)):
                print_text(line)

    def lines(self, text: str) -> None:
        """Print a result of several lines, even with `--quiet`, but not if the format is JSON."""
        if not self.json:
            print_text(make_lines_printable(text))

    def data(self, document: dict[str, Any]) -> None:
        """Print the whole result as one JSON document, with `schema_version` added.

        Print nothing if the format is not `json`.
        """
        if self.format == "json":
            print_text(encode_output_document(document))

    def line(self, document: dict[str, Any]) -> None:
        """Print a part of the result as a line of JSON, with `schema_version` added.

        Print nothing if the format is not `jsonl`.
        """
        if self.format == "jsonl":
            print_text(encode_output_document(document))

    def notice(self, text: str, level: int = 0) -> None:
        """Print a remark on standard error if `-v` was used at least `level` times.

        With `--quiet`, nothing is printed.
        """
        if not self.quiet and self.verbose >= level:
            _print_wrapped_message(text)

    def tip(self, text: str) -> None:
        """Print a possible next step on standard error, if that is a terminal of a person."""
        if not self.json and sys.stderr.isatty():
            self.notice(text)

    def error(self, text: str, hint: str = "") -> None:
        """Print an error and a hint about the next step on standard error, even with `--quiet`."""
        _print_wrapped_message(text)
        if hint:
            print_hint(hint)


def print_hint(text: str) -> None:
    """Print the next step after an error, on standard error.

    A hint with a command stays in one line, so that it can be copied; see `print_diagnostics`.
    """
    if "vacr " in text:
        print_message(f"  {escape_unprintable(text)}")
    else:
        _print_wrapped_message(f"  {text}", hanging=0)


def print_diagnostics(text: str) -> None:
    """Print an error with its hint, which begins with two blanks in a line of its own."""
    for line in text.split("\n"):
        if line.startswith("  "):
            print_hint(line[2:])
        else:
            _print_wrapped_message(line)


def _print_wrapped_message(text: str, hanging: int = 2) -> None:
    """Print a text on standard error; a terminal breaks it between words."""
    width = get_terminal_width(sys.stderr)
    for line in wrap_to_width(escape_unprintable(text), width, hanging=hanging):
        print_message(line)


def encode_output_document(document: dict[str, Any]) -> bytes:
    """Return a document as a line of JSON, with `schema_version`, that is safe to print."""
    versioned = {"schema_version": OUTPUT_SCHEMA_VERSION, **document}
    try:
        text = encode_canonical_json(versioned).decode()
    except InvalidRecord:  # JSON cannot express lone surrogates.
        text = encode_canonical_json(_replace_surrogates(versioned)).decode()
    # Canonical JSON contains characters that control a terminal or reverse the order of letters;
    # as escapes they mean the same.
    return _TERMINAL_CONTROL_PATTERN.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _replace_surrogates(value: Any) -> Any:
    """Return a value with U+FFFD for each surrogate in its texts; names of files may have some."""
    if isinstance(value, str):
        return _SURROGATE_PATTERN.sub("\ufffd", value)
    if isinstance(value, dict):
        return {
            _replace_surrogates(name): _replace_surrogates(item) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replace_surrogates(item) for item in value]
    return value


def format_error_place(path: str, error: VacrError) -> str:
    """Return the path of an input and the place of an error in it, such as `a.json: /session`.

    If the place already begins with the path, or is unknown, the path is not repeated.
    """
    if error.where.startswith(path):
        return error.where
    return f"{path}: {error.where}" if error.where else path


def make_lines_printable(text: str) -> str:
    """Return a text with the unprintable characters of each line escaped; line ends stay."""
    return "\n".join(map(escape_unprintable, text.split("\n")))


@contextmanager
def show_progress(
    count: Callable[[], int], voice: Voice, label: str = "recording"
) -> Iterator[Callable[[], None]]:
    """Show a progress bar of `count()` steps, and yield the function that advances it by one.

    Without a terminal, with `--quiet` or JSON, or for a single step, no bar is shown, and the
    function does nothing.
    """
    # Counting may take long itself, so it happens only where a bar is shown.
    total = count() if _can_show_progress(voice) else 1
    if total == 1:
        yield lambda: None
        return
    with _run_progress_bar() as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)


@contextmanager
def show_job_progress(
    label: str, voice: Voice, *, in_bytes: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar, and yield the function that sets it: steps done, steps in total.

    With `in_bytes`, a step is a byte. The total is 0 if it is unknown. Without a terminal, no bar
    is shown, and the function does nothing.
    """
    if not _can_show_progress(voice):
        yield lambda _done, _total: None
        return
    with _run_progress_bar(in_bytes=in_bytes) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


@contextmanager
def show_phases(voice: Voice) -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar for work in phases, and yield the function that sets it.

    The function takes the name of the phase, the steps done, and the steps in total; 0 if their
    number is unknown. Without a terminal, no bar is shown, and the function does nothing.
    """
    if not _can_show_progress(voice):
        yield lambda _phase, _done, _total: None
        return
    with _run_progress_bar() as bar:
        tasks: dict[str, Any] = {}

        def show(phase: str, done: int, total: int) -> None:
            """Show a phase instead of the ones before."""
            if phase not in tasks:
                for task in tasks.values():
                    bar.update(task, visible=False)
                tasks[phase] = bar.add_task(phase, total=None)
            bar.update(tasks[phase], completed=done, total=total or None)

        yield show


def _can_show_progress(voice: Voice) -> bool:
    """Return whether standard error is a terminal, and neither `--quiet` nor JSON is set."""
    return (
        not voice.quiet
        and not voice.json
        and sys.stderr.isatty()
        and os.environ.get("TERM") != "dumb"
    )


_shown_bars: list[Any] = []
"""The progress bar on the terminal, if any."""


@contextmanager
def _run_progress_bar(*, in_bytes: bool = False) -> Iterator[Any]:
    """Show a progress bar, from `rich`, that vanishes when it is done."""
    from rich.console import Console
    from rich.progress import DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    counted = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (*Progress.get_default_columns()[:3], counted, TimeRemainingColumn())
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        _shown_bars.append(bar)
        try:
            yield bar
        finally:
            _shown_bars.remove(bar)


@contextmanager
def _hide_progress_bar() -> Iterator[None]:
    """Remove the progress bar from the terminal, so that a line can be printed in its place."""
    for bar in _shown_bars:
        bar.stop()
    try:
        yield
    finally:
        for bar in _shown_bars:
            bar.start()


def get_terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal behind a stream; `None` if it is not a terminal.

    A terminal that does not report its width counts as 120 columns wide.
    """
    try:
        return os.get_terminal_size(stream.fileno()).columns or _DEFAULT_WIDTH
    except (OSError, ValueError):
        return None


def align_columns(
    rows: Sequence[Sequence[str]],
    *,
    right: AbstractSet[int],
    width: int | None = None,
    paths: int | None = None,
    whole: AbstractSet[int] = frozenset(),
) -> list[str]:
    """Return rows as lines with aligned columns.

    There must be at least one row, and all rows have the same number of cells. `right` contains the
    indexes of columns that are aligned to the right. With a `width`, the column `paths` is cut at
    its start to at least 12 columns, a long file name in its middle, and then the last column at
    its end to at least 20, so that lines fit. A path stays whole, in a line of its own before the
    rest of its row, if another path would look the same, or if `whole` has the index of its row.
    """
    cells = [[escape_unprintable(text) for text in row] for row in rows]
    widths = [max(map(measure_width, column)) for column in zip(*cells, strict=True)]
    if width is not None and paths is not None:
        over = sum(widths) + 2 * (len(widths) - 1) - width
        if over > 0:
            widths[paths] = max(_MIN_PATH_WIDTH, widths[paths] - over)
            _shorten_paths(cells, paths, widths[paths], whole)
    if width is not None:
        space_left = width - sum(widths[:-1]) - 2 * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(_MIN_LAST_COLUMN_WIDTH, space_left))

    def join_cells(row: Sequence[str]) -> str:
        """Return a row as a line."""
        fitted = (fit_to_width(text, widths[i], right=i in right) for i, text in enumerate(row))
        return "  ".join(fitted).rstrip()

    lines = []
    for row in cells:
        if paths is not None and measure_width(row[paths]) > widths[paths]:
            before = [fit_to_width(text, widths[i]) for i, text in enumerate(row[:paths])]
            after = join_cells([*([""] * (paths + 1)), *row[paths + 1 :]])
            lines.append("\n".join(filter(None, ("  ".join([*before, row[paths]]), after))))
        else:
            lines.append(join_cells(row))
    return lines


def _shorten_paths(
    cells: list[list[str]], column: int, width: int, whole: AbstractSet[int]
) -> None:
    """Cut the paths in a column to a width, except for `whole` rows and paths that look the same.

    Different paths would look the same if they differ only in the part that is cut.
    """
    shortened = [truncate_file(row[column], width) for row in cells]
    meant = defaultdict[str, set[str]](set)
    for row, text in zip(cells, shortened, strict=True):
        meant[text].add(row[column])
    for number, (row, text) in enumerate(zip(cells, shortened, strict=True)):
        if number not in whole and len(meant[text]) == 1:
            row[column] = text


def wrap_to_width(text: str, width: int | None, *, hanging: int = 2) -> list[str]:
    """Return a text as lines that fit a width, broken between words; one line without a width.

    Further lines are indented by `hanging` blanks more than the first one. A longer word stays
    whole, and so does `vacr` with its verb.
    """
    from rich.cells import cell_len

    if width is None or cell_len(text) <= width:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    lines, line = [], indent
    for blanks, word in _UNBROKEN_WORDS.findall(text.lstrip()):
        begun = line.strip() != ""
        if begun and cell_len(line) + len(blanks) + cell_len(word) > width:
            lines.append(line)
            line, begun = indent + " " * hanging, False
        line += f"{blanks}{word}" if begun else word
    return [*lines, line]


def truncate_start(text: str, width: int) -> str:
    """Return a text, or `…` and its end if it is too wide: the end of a path matters most.

    A path is cut before one of its parts, if that is near. `width` counts columns of the screen.
    """
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    end = text[-width:]
    while cell_len(end) >= width:
        end = end[1:]
    part = end.find("/")
    if 0 < part < len(end) // 2 and not text.endswith(f"/{end}"):
        end = end[part:]
    return f"…{end}"


def truncate_file(path: str, width: int) -> str:
    """Return the path of a file, or `…` and its end if it is too wide.

    Of a name that is too wide itself, both ends stay: the id of a session, and the ending.
    """
    from rich.cells import cell_len, set_cell_size

    name = path.rpartition("/")[2]
    if cell_len(path) <= width or cell_len(name) < width:
        return truncate_start(path, width)
    kept = width // 2
    return f"{set_cell_size(name, kept)}{truncate_start(name, width - kept)}"


def truncate_path(path: str, width: int) -> str:
    """Return a path, or `…` and its last parts if it is too wide; no word is cut at its start.

    If the last part alone is too wide, return its beginning and `…`.
    """
    path = path.rstrip("/") or path
    shown = truncate_start(path, width)
    end = shown.removeprefix("…")
    if shown == path or path.endswith(f"/{end}"):
        return shown
    part = end.find("/")
    if part < 0:
        return cut_to_width(path.rpartition("/")[2], width)
    before = path[-len(end) - 1]
    return shown if before in _WORD_ENDS or end[0] in _WORD_ENDS else f"…{end[part:]}"


def measure_width(text: str) -> int:
    """Return how many columns of the screen a text fills."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut_to_width(text: str, width: int) -> str:
    """Return a text, or its beginning and `…` if it is too wide.

    `width` counts columns of the screen.
    """
    from rich.cells import cell_len

    return text if cell_len(text) <= width else fit_to_width(text, width)


def fit_to_width(text: str, width: int, *, right: bool = False) -> str:
    """Return a text that fills a column of `width`: cut with `…`, or padded with blanks.

    The blanks are after the text, or before it with `right`.
    """
    if measure_width(text) > width:
        from rich.cells import set_cell_size

        text = f"{set_cell_size(text, width - 1)}…"
    padding = " " * (width - measure_width(text))
    return padding + text if right else text + padding


def join_escaped_lines(text: str) -> str:
    r"""Return a title without the line ends that a script wrote into its prompt as `\n`.

    In a path of Windows, the same characters begin the name of a file, so they stay.
    """
    return _ESCAPED_LINE_ENDS.sub(" ", text).strip()


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
        raise UnwritableOutput(
            "is closed", where="standard output", hint="Run the command without >&-."
        )
    if _has_descriptor(sys.stdout):
        # Text from before would be written too late, or not at all.
        check_output()
        sys.stdout = _open_stream(
            io.FileIO(sys.stdout.fileno(), "w", closefd=False), sys.stdout.encoding
        )


def print_text(text: str | bytes, *, newline: bool = True, color: bool | None = None) -> bool:
    """Print to standard output; return whether its reader is still there, unlike an ended `head`.

    `newline` ends the text with a line end. `color` keeps or removes colours; None decides by the
    terminal.

    Raises:
        UnwritableOutput: standard output cannot be written.
    """
    try:
        with _hide_progress_bar():
            click.echo(text, nl=newline, color=color)
    except BrokenPipeError:
        discard_output()
        return False
    except OSError as error:
        raise _make_write_error(error) from error
    return True


def write_bytes(pieces: Iterable[bytes | memoryview]) -> None:
    """Write bytes to standard output unchanged; discard them if its reader has ended.

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
    """Print a message to standard error; if that fails, the message is lost without an error."""
    with _hide_progress_bar():
        click.echo(text, err=True)


def check_output() -> None:
    """Flush standard output, to check that all its text was written.

    A reader that has ended is not an error.

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
    """Flush standard output and standard error; discard text that cannot be written."""
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
    """Return whether standard output is a pipe without a reader; True if that is unknown."""
    if sys.stdout is None or not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


class _LossyFile(io.FileIO):
    """A file that drops bytes that it cannot write, and never reports an error."""

    def write(self, data: ReadableBuffer) -> int:
        """Return the number of bytes that one write took; on an error, drop and count all."""
        with suppress(OSError):
            written = super().write(data)
            if written:
                return written
        return memoryview(data).nbytes


def _has_descriptor(stream: TextIO) -> bool:
    """Return whether a stream has a file descriptor; a stream captured by a test may not."""
    try:
        return stream.fileno() >= 0
    except (OSError, ValueError):
        return False


def _open_stream(file: io.FileIO, encoding: str) -> TextIO:
    """Return a text stream with a buffer that is flushed after each line."""
    return io.TextIOWrapper(
        io.BufferedWriter(file), encoding=encoding, errors="backslashreplace", line_buffering=True
    )


def _make_write_error(error: OSError) -> UnwritableOutput:
    """Return the error that standard output cannot be written, with the system's reason."""
    return UnwritableOutput(
        f"cannot be written: {error.strerror or error}", where="standard output"
    )
