"""What `git blame` reports about a file: the origin of each line, and its output for programs.

Git decides which commit added which line. It gets the user's flags as they are, so `-w`, `-M`, `-C`
and `--ignore-rev` mean what they mean to git. The writers of the lines are found for the whole
file; `-L` only selects the lines to show, so a line has the same writer in every selection.

Editors read the output of `--porcelain`, `--line-porcelain` or `--incremental`. Git's lines stay
unchanged there. Git's documentation allows further headers before the line itself, or before the
`filename` that ends an entry, and ours are there:

    >>> from vacr.blame.git_blame import add_blame_headers
    >>> commit = b"1f3e5c7a9b1d3f5e7a9c1b3d5f7e9a1c3b5d7f9e"
    >>> output = commit + b" 1 1 1\\nsummary Add total\\nfilename total.py\\n\\timport os\\n"
    >>> added = add_blame_headers(output, {1: [b"vacr-contributor ai"]})
    >>> print(added.decode().expandtabs(2), end="")
    1f3e5c7a9b1d3f5e7a9c1b3d5f7e9a1c3b5d7f9e 1 1 1
    summary Add total
    filename total.py
    vacr-contributor ai
      import os

No program of the repository runs: textconv is off, and filters that would convert a file of the
work tree are switched off by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from vacr.blame.git import Repository, decode_git_name
from vacr.edits import decode_file_text, strip_line_end
from vacr.errors import UnreadableInput, UsageError

BLAME_PORCELAIN = "--porcelain"
BLAME_LINE_PORCELAIN = "--line-porcelain"
BLAME_INCREMENTAL = "--incremental"

# Editors expect names as git quotes them by default.
_QUOTE_NAMES = ("-c", "core.quotepath=on")
_FILTER_SETTING = re.compile(r"filter\.(.*)\.(?:clean|process|smudge|required)", re.DOTALL)
_ENTRY_HEADER = re.compile(rb"([0-9a-f]{40,64}) ([0-9]+) ([0-9]+)(?: ([0-9]+))?")
_FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SYMMETRIC_DOTS = "..."

_QUOTED_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPE_BYTES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


@dataclass(frozen=True, slots=True)
class BlameSelection:
    """The lines to blame, as `git blame` takes them: a revision, flags, and other contents."""

    revision: str | None = None
    """A commit, or a range `A..B`; `None` for the file of the work tree."""
    flags: tuple[str, ...] = ()
    """Flags for git that decide about the origin of lines, such as `-w` and `-M0`."""
    ranges: tuple[str, ...] = ()
    """The lines to show, as `-L` takes them; without any, all."""
    contents: bytes | None = None
    """The bytes of the file, instead of those in the work tree."""


class LineOrigin(NamedTuple):
    """The commit that added a line, the line's path and number there, and its number now."""

    commit: str
    """Zeros for a line that is not committed yet."""
    path: str
    number: int
    line: int
    """The number of the line in the file that is blamed."""
    text: str
    """The line without its end, as it is in the file that is blamed."""

    @property
    def is_committed(self) -> bool:
        """Return whether a commit has the line."""
        return bool(self.commit.strip("0"))


@dataclass(slots=True)
class GitBlame:
    """The origin of each line of a file."""

    lines: list[LineOrigin] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """Every name that the file had, and with `-C` the names of files that lines came from."""


def run_git_blame(repository: Repository, path: str, selection: BlameSelection) -> GitBlame:
    """Return the origin of each selected line of a file.

    Raises:
        UnreadableInput: there is no such file, revision or range, or git stopped early.
        UsageError: the revision has three dots.
    """
    output = run_porcelain_blame(repository, path, selection, BLAME_PORCELAIN)
    texts = _decode_blamed_lines(output)
    blame, path_by_commit = GitBlame(paths={path}), dict[str, str]()
    current, number, line_number = "", 0, 0
    expects_header = True
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            text = next(texts)
            origin = LineOrigin(current, path_by_commit[current], number, line_number, text)
            blame.lines.append(origin)
            expects_header = True
        elif expects_header and line:
            commit, original, final = line.split(b" ", 3)[:3]
            current, number, line_number = commit.decode(), int(original), int(final)
            expects_header = False
        elif line.startswith(b"filename "):
            path_by_commit[current] = unquote_git_name(line.removeprefix(b"filename "))
            blame.paths.add(path_by_commit[current])
        elif line.startswith(b"previous "):
            blame.paths.add(unquote_git_name(line.split(b" ", 2)[2]))
    if not expects_header:
        raise UnreadableInput(
            "git blame stopped unexpectedly",
            where=path,
            hint="Check the repository with: git fsck",
        )
    return blame


def _decode_blamed_lines(output: bytes) -> Iterator[str]:
    """Yield the lines of the file in the output of `git blame --porcelain`, without their ends."""
    try:
        text = output.decode()
    except UnicodeDecodeError:
        encoded = (line for line in output.split(b"\n") if line.startswith(b"\t"))
        return (strip_line_end(decode_file_text(line[1:])) for line in encoded)
    # To decode everything at once is much faster, and the same for UTF-8.
    return (strip_line_end(line[1:]) for line in text.split("\n") if line.startswith("\t"))


def run_porcelain_blame(
    repository: Repository, path: str, selection: BlameSelection, form: str
) -> bytes:
    """Return the output of git in a form for programs, such as `--porcelain`.

    Raises:
        UnreadableInput: there is no such file, revision or range.
        UsageError: the revision has three dots.
    """
    words = [*_QUOTE_NAMES, "blame", form, "--no-textconv", *selection.flags]
    words += [word for lines in selection.ranges for word in ("-L", lines)]
    if selection.contents is not None:
        words += ["--contents", "-"]
    if selection.revision is not None:
        words += _resolve_revisions(repository, selection.revision)
        return repository.run_git(*words, "--", path, stdin=selection.contents)
    # Git would run its filters on the file of the work tree, as for a commit.
    settings = _list_filter_settings(repository)
    return repository.run_git(*words, "--", path, stdin=selection.contents, settings=settings)


def find_blamed_commit(repository: Repository, revision: str | None) -> str:
    """Return the commit whose file is blamed: the end of a range, and HEAD for the work tree.

    Raises:
        UnreadableInput: there is no such commit.
        UsageError: the revision has three dots.
    """
    commit = _resolve_revisions(repository, "HEAD" if revision is None else revision)[0]
    return repository.resolve_commit(commit)


def _resolve_revisions(repository: Repository, revision: str) -> list[str]:
    """Return the commit of a revision; for a range, its end, and its beginning as `^COMMIT`."""
    if _SYMMETRIC_DOTS in revision:
        raise UsageError(f"cannot blame {revision}", hint="Name a commit, or a range A..B.")
    first, dots, last = revision.rpartition("..")
    names = [last or "HEAD", first or "HEAD"] if dots else [revision]
    commits = [
        name if _FULL_NAME.fullmatch(name) else repository.resolve_commit(name) for name in names
    ]
    return [commits[0], *(f"^{commit}" for commit in commits[1:])]


def _list_filter_settings(repository: Repository) -> dict[str, str]:
    """Return settings that switch off every filter in git's configuration."""
    output = repository.run_git("config", "--list", "--name-only", "-z")
    settings: dict[str, str] = {}
    for encoded in output.split(b"\0"):
        if found := _FILTER_SETTING.fullmatch(decode_git_name(encoded)):
            name = f"filter.{found[1]}"
            settings |= {f"{name}.clean": "", f"{name}.process": "", f"{name}.required": "false"}
    return settings


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """The author of a commit, and when it was authored."""

    mail: str
    date: str


def read_commit_authors(
    repository: Repository, commits: Iterable[str], date_format: str
) -> dict[str, CommitAuthor]:
    """Return the author of each commit; `date_format` is a format of git's `--date`.

    Leave out the commit of zeros.

    Raises:
        UnreadableInput: git does not know the format.
    """
    committed = [commit for commit in dict.fromkeys(commits) if commit.strip("0")]
    lines = repository.describe_commits(committed, "%H%x00%aE%x00%ad", f"--date={date_format}")
    rows = (line.split("\0") for line in lines)
    return {commit: CommitAuthor(mail, date) for commit, mail, date in rows}


def unquote_git_name(name: bytes) -> str:
    r"""Decode the name of a file; if git has quoted it, `"a\tb"`, also replace its escapes."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _QUOTED_ESCAPE.sub(lambda escape: _decode_escape(escape[1]), name[1:-1])
    return decode_git_name(name)


def _decode_escape(escape: bytes) -> bytes:
    """Return the byte for an escape without its backslash: three octal digits, or a letter."""
    return bytes([int(escape, 8)]) if len(escape) > 1 else _ESCAPE_BYTES.get(escape, escape)


# Output for programs, with headers of our own


HeadersByLine = Mapping[int, Sequence[bytes]]
"""The headers to add to each line, by its number in the file."""


def add_blame_headers(output: bytes, headers: HeadersByLine) -> bytes:
    """Return the output of `--porcelain` or `--line-porcelain` with more headers for each line.

    They come last, before the line itself. Git's own lines stay as they are.
    """
    result: list[bytes] = []
    current: Sequence[bytes] = ()
    expects_header = True
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            result += current
            expects_header = True
        elif expects_header and (entry := _ENTRY_HEADER.fullmatch(line)):
            current, expects_header = headers.get(int(entry[3]), ()), False
        result.append(line)
    return b"\n".join(result)


def add_incremental_headers(output: bytes, headers: HeadersByLine) -> bytes:
    """Return the output of `--incremental` with more headers for each line.

    An entry covers several lines. It is split where their headers differ. The headers come before
    `filename`, which ends an entry, and before `previous`, which belongs to it.
    """
    return b"".join(
        piece for entry in _split_entries(output) for piece in _divide_entry(entry, headers)
    )


def _split_entries(output: bytes) -> Iterator[list[bytes]]:
    """Yield the lines of each entry of an incremental output, with their ends."""
    entry: list[bytes] = []
    for line in output.split(b"\n"):
        entry.append(line + b"\n")
        if line.startswith(b"filename "):
            yield entry
            entry = []


def _divide_entry(entry: list[bytes], headers: HeadersByLine) -> Iterator[bytes]:
    """Yield an entry as one or more entries, each for lines that have the same headers."""
    parsed = _ENTRY_HEADER.match(entry[0])
    if parsed is None or parsed[4] is None:
        yield b"".join(entry)
        return
    original, final, count = int(parsed[2]), int(parsed[3]), int(parsed[4])
    tail_length = 2 if entry[-2].startswith(b"previous ") else 1  # The first line is the place.
    about, tail = entry[1:-tail_length], b"".join(entry[-tail_length:])

    def get_headers(offset: int) -> tuple[bytes, ...]:
        """Return the headers of a line of the entry."""
        return tuple(headers.get(final + offset, ()))

    for same, group in groupby(range(count), get_headers):
        offsets = list(group)
        place = b"%s %d %d %d\n" % (
            parsed[1],
            original + offsets[0],
            final + offsets[0],
            len(offsets),
        )
        yield place + b"".join(about) + b"".join(header + b"\n" for header in same) + tail
        about = []  # Like git, describe a commit only once.
