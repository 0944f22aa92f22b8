"""What lines of a file a command prints. Step: attribute.

A view is made by the first command of a pipeline and narrowed by those after it. It is given the
lines that were printed and says what they show; what it cannot say for certain it does not say.

Which commands print lines of files, and which lines. Step: attribute.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellCommand
from vacr.edits import (
    ARROW_LINE_NUMBER,
    MIN_CUT_LINE_LENGTH,
    FileAction,
    FileMove,
    ObservedDiff,
    ObservedLines,
    parse_numbered_lines,
    parse_unified_diff,
)

LineSpan = tuple[int, int | None]

_COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*[mK]")
_RENAME_LINE = re.compile(r"(?:R[ MD] |\s+renamed:\s+)(.+?) -> (.+)$")
_LINE_NUMBER_PREFIX = re.compile(r"(\d{1,7})[:-]")
_PATH_AND_NUMBER_PREFIX = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")


@dataclass(frozen=True, slots=True)
class FileLinesView:
    """Lines of one file: the spans of their numbers in order, bare or numbered."""

    path: str
    spans: tuple[LineSpan, ...] = ((1, None),)
    form: re.Pattern[str] | None = None
    least: int = 0
    apart = False

    @property
    def count(self) -> int | None:
        """How many lines it prints at most."""
        total = 0
        for first, last in self.spans:
            if last is None:
                return None
            total += last - first + 1
        return total

    def cut(self, start: int, stop: int | None) -> "FileLinesView":
        """Leave only the lines printed from one place to another, counted from 0."""
        spans: list[LineSpan] = []
        passed = 0
        for first, last in self.spans:
            low = first + max(0, start - passed)
            high = (
                last
                if stop is None
                else first + stop - passed - 1
                if last is None
                else min(last, first + stop - passed - 1)
            )
            if high is None or low <= high:
                spans.append((low, high))
            if last is None:
                break
            passed += last - first + 1
        return replace(self, spans=tuple(spans))

    def tail(self, count: int) -> "FileLinesView | None":
        """Leave the last lines; where they begin is known only of a file that goes on to the end of
        the spans.
        """
        total = self.count
        if self.form is not None:
            return self
        return (
            None
            if total is None
            else replace(self.cut(max(0, total - count), total), least=self.spans[-1][1] or 0)
        )

    def shows(
        self, lines: Sequence[str], slack: int | None = 0, *, full: bool = False
    ) -> Iterator[FileAction]:
        """Say what the printed lines show; `slack` is how many empty ones may be missing before
        them, `None` without bound.

        When they are in `full` all that was printed, the file ends where they end before their span
        does.
        """
        if self.form is not None:
            numbers = [int(found[1]) for line in lines if (found := self.form.match(line))]
            if len(numbers) < len(lines) or any(low >= high for low, high in pairwise(numbers)):
                return
            for first, seen in parse_numbered_lines(lines, self.form):
                if any(
                    low <= first and (high is None or first + len(seen) - 1 <= high)
                    for low, high in self.spans
                ):
                    yield ObservedLines(self.path, first, seen)
            return
        if slack != 0 and len(self.spans) > 1:
            return
        at = 0
        for first, last in self.spans:
            part = lines[at : None if last is None else at + last - first + 1]
            if part or (full and first == 1):
                missing = slack if slack is not None else 1 << 20
                shown = [line + "\n" for line in part]
                ends = full and not self.least and (last is None or first + len(part) <= last)
                yield ObservedLines(
                    self.path, first, shown, last=ends, least=self.least, slack=missing
                )
            at += len(part)

    def take(self, lines: Sequence[str], at: int) -> int | None:
        """Find where the lines end that carry numbers; `None` when they carry none."""
        if self.form is None or len(self.spans) != 1:
            return None
        number = self.spans[0][0]
        while at < len(lines) and (found := self.form.match(lines[at])) and int(found[1]) == number:
            at, number = at + 1, number + 1
        return at


@dataclass(frozen=True, slots=True)
class SearchView:
    """Lines that a search found, each with its number, and with its file's name where there are
    several.
    """

    named: tuple[str, ...]
    names: bool | None  # whether names are printed; `None` when only the output tells
    count: int | None = None
    least: int = 0
    apart = False

    def shows(
        self,
        lines: Sequence[str],
        slack: int | None = 0,  # noqa: ARG002
        *,
        full: bool = False,  # noqa: ARG002
    ) -> Iterator[FileAction]:
        """Say what the printed lines show, if they are all of the form that a search prints."""
        plain = [_COLOUR_CODE.sub("", line) for line in lines if line != "--"]
        if (
            self.names is not True
            and len(self.named) == 1
            and all(_LINE_NUMBER_PREFIX.match(line) for line in plain)
        ):
            last = 0
            for line in plain:
                number = _LINE_NUMBER_PREFIX.match(line)
                if number is None or int(number[1]) <= last:
                    return
                last = int(number[1])
            for first, seen in parse_numbered_lines(plain, _LINE_NUMBER_PREFIX):
                yield ObservedLines(self.named[0], first, seen)
        elif self.names is not False:
            yield from self._several(plain)

    def _several(self, lines: Sequence[str]) -> Iterator[FileAction]:
        matches = [_PATH_AND_NUMBER_PREFIX.match(line) for line in lines]
        known = {found[1] for found in matches if found and self._under(found[1])}
        rows = []
        for line, found in zip(lines, matches, strict=True):
            row = (
                (found[1], int(found[2]), line[found.end() :])
                if found and found[1] in known
                else _parse_context_line(line, known)
            )
            if row is None:
                return
            rows.append(row)
        for path, number, text in rows:
            if len(text) < MIN_CUT_LINE_LENGTH:
                yield ObservedLines(path, number, [text + "\n"])

    def _under(self, path: str) -> bool:
        """Tell whether a file is one that was searched."""
        plain = path.removeprefix("./").replace("\\", "/")
        for name in self.named or (".",):
            folder = name.replace("\\", "/").removeprefix("./").rstrip("/")
            if folder in ("", ".") and not plain.startswith("/"):
                return True
            if plain == folder or plain.startswith(folder + "/"):
                return True
        return False


def _parse_context_line(line: str, known: set[str]) -> tuple[str, int, str] | None:
    """Read `path-12-text`, a line beside one that was found."""
    fits = [
        found
        for found in re.finditer(r"-(\d{1,7})-", line[:1000])
        if line[: found.start()] in known
    ]
    return (
        (line[: fits[0].start()], int(fits[0][1]), line[fits[0].end() :])
        if len(fits) == 1
        else None
    )


@dataclass(frozen=True, slots=True)
class GitReportView:
    """What git tells in a form of its own, wherever it stands in an output: a diff, or the renames
    of a status.
    """

    diff: bool
    count: int | None = None
    least: int = 0
    apart = True

    def shows(
        self,
        lines: Sequence[str],
        slack: int | None = 0,  # noqa: ARG002
        *,
        full: bool = False,  # noqa: ARG002
    ) -> Iterator[FileAction]:
        """Say what the printed lines show."""
        plain = [_COLOUR_CODE.sub("", line) for line in lines]
        if self.diff:
            for path, found in parse_unified_diff("\n".join(plain)):
                if path is not None:
                    yield ObservedDiff(path, found)
            return
        for line in plain:
            renamed = _RENAME_LINE.match(line)
            if renamed:
                yield FileMove(renamed[1].strip('"'), renamed[2].strip('"'), told=True)


OutputView = FileLinesView | SearchView | GitReportView


_SED_PRINT_COMMAND = re.compile(r"(\d{1,7})(?:,(\d{1,7}|\$|\+\d{1,7}))?p")
_GREP_LETTERS = frozenset("EFGHIPRaeinrsvwx")
_RIPGREP_LETTERS = frozenset("FHPSeinsuvwx.")
_FILTER_LETTERS = frozenset("EFGPivwe")
_GREP_LONG_OPTION = re.compile(
    r"--(?:include|exclude|exclude-dir|glob|iglob|type|type-not|max-count|color|colour)=.*"
    r"|--(?:line-number|ignore-case|with-filename|no-heading|hidden|no-ignore|fixed-strings|word-regexp|recursive"
    r"|extended-regexp|perl-regexp|smart-case|case-sensitive|sort=path|color=never|no-messages|invert-match)"
)
_GREP_VALUE_OPTIONS = frozenset(
    [
        "-A",
        "-B",
        "-C",
        "-m",
        "-g",
        "-t",
        "-T",
        "--glob",
        "--iglob",
        "--type",
        "--type-not",
        "--include",
        "--exclude",
    ]
)
_DIFF_ARGUMENT = re.compile(
    r"--|HEAD(?:[~^]\d*)?|--no-color|--color(?:=\w+)?|-U\d+|--unified=\d+|--no-ext-diff|--minimal|--patience|-p"
)
_FILE_ARGUMENT = re.compile(
    r"(?!.*\.\.|-)(?:[A-Za-z]:[\\/])?[^:]+(?:\.[A-Za-z]\w*|/)"
)  # with a colon it is a file of a commit


def build_output_view(pipeline: Sequence[ShellCommand]) -> OutputView | None:
    """Say what lines of files a pipeline prints; `None` when that is not known."""
    first = pipeline[0]
    words = _list_known_words(first.words)
    maker = _VIEW_MAKERS.get(first.name)
    view = maker(words) if words is not None and maker is not None else None
    for command in pipeline[1:]:
        words = _list_known_words(command.words)
        if (
            view is None
            or words is None
            or any(one.operator.startswith("<") for one in command.redirects)
        ):
            return None
        view = _narrow_view(view, words)
    return view


def _list_known_words(words: Sequence[str | None]) -> list[str] | None:
    known = [word for word in words if word is not None]
    return known if len(known) == len(words) else None


def _narrow_view(view: OutputView, words: Sequence[str]) -> OutputView | None:
    """Say what a command leaves of what it is given to read."""
    if list(words) in (["cat"], ["cat", "-"], ["less"], ["more"]):
        return view
    if words[0] in ("grep", "egrep", "fgrep", "rg"):
        return _narrow_by_search(view, words)
    piece = _parse_line_range(words)
    if piece is None:
        return None
    (start, stop), rest = piece
    if rest:
        return None
    if isinstance(view, FileLinesView):
        return view.tail(-start) if start < 0 else view.cut(start, stop)
    if isinstance(view, SearchView) and start >= 0 and stop is not None:
        return replace(
            view, count=stop - start if view.count is None else min(view.count, stop - start)
        )
    return (
        view
        if isinstance(view, SearchView) or (start == 0 and isinstance(view, GitReportView))
        else None
    )


def _narrow_by_search(view: OutputView, words: Sequence[str]) -> OutputView | None:
    options = _parse_grep_options(words[1:])
    if options is None:
        return None
    letters, arguments = options
    if len(arguments) > 1:
        return None
    if (
        isinstance(view, FileLinesView)
        and view.form is None
        and view.spans == ((1, None),)
        and "n" in letters
        and "H" not in letters
    ):
        return SearchView((view.path,), names=False)
    filters = letters <= _FILTER_LETTERS
    if filters and isinstance(view, SearchView):
        return replace(view, count=None)
    return view if filters and isinstance(view, FileLinesView) and view.form is not None else None


def _parse_line_range(words: Sequence[str]) -> tuple[tuple[int, int | None], list[str]] | None:
    """Read `head`, `tail` or `sed` that leave one piece: from and to which line, counted from 0,
    and the files they name.
    """
    name, rest = words[0], list(words[1:])
    if name == "sed":
        spans = _parse_sed_ranges(rest)
        if spans is None or len(spans[0]) != 1:
            return None
        (first, last), files = spans[0][0], spans[1]
        return (first - 1, last), files
    if name == "Select-Object":
        return _parse_select_object(rest)
    if name not in ("head", "tail"):
        return None
    number, files = 10, []
    signed = ""
    text = " ".join(rest[:2])
    found = re.match(
        r"-n ?([+-]?)(\d{1,7})(?= |$)|-([+-]?)(\d{1,7})(?= |$)|--lines=([+-]?)(\d{1,7})(?= |$)",
        text,
    )
    if found:
        used = found[0].count(" ") + 1
        signed, number = next(
            (found[i], int(found[i + 1])) for i in (1, 3, 5) if found[i + 1] is not None
        )
        rest = rest[used:]
    files = rest
    if any(word.startswith("-") for word in files) or (signed and (name, signed) != ("tail", "+")):
        return None
    if name == "head":
        return (0, number), files
    return ((max(number, 1) - 1, None) if signed else (-number, None)), files


def _parse_sed_ranges(rest: Sequence[str]) -> tuple[list[LineSpan], list[str]] | None:
    """Read `sed -n 'a,bp;c,dp'`, with `-e` too, and `sed 10q`; gives the spans and the files."""
    scripts, files, silent, expects = [], [], False, False
    for word in rest:
        if expects:
            scripts.append(word)
            expects = False
        elif word in ("-n", "--quiet", "--silent", "-nE", "-En"):
            silent = True
        elif word in ("-e", "-ne"):
            silent, expects = silent or "n" in word, True
        elif word in ("-E", "-r", "--"):
            pass
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    if not scripts and files:
        scripts.append(files.pop(0))
    parts = [
        part.strip().replace(" ", "")
        for script in scripts
        for part in re.split(r"[;\n]", script)
        if part.strip()
    ]
    quits = re.fullmatch(r"(\d{1,7})q", parts[-1]) if parts else None
    if not silent:
        return ([(1, int(quits[1]))], files) if quits and len(parts) == 1 else None
    spans: list[LineSpan] = []
    for part in parts[:-1] if quits else parts:
        found = _SED_PRINT_COMMAND.fullmatch(part)
        if not found or (spans and (spans[-1][1] is None or int(found[1]) <= spans[-1][1])):
            return None
        first, end = int(found[1]), found[2]
        last = (
            first
            if not end
            else None
            if end == "$"
            else first + int(end[1:])
            if end[0] == "+"
            else max(first, int(end))
        )
        spans.append((first, last))
    if not spans or spans[0][0] < 1 or (quits and int(quits[1]) < (spans[-1][1] or 0)):
        return None
    return spans, files


def _make_sed_view(words: Sequence[str]) -> OutputView | None:
    read = _parse_sed_ranges(words[1:])
    return FileLinesView(read[1][0], tuple(read[0])) if read and len(read[1]) == 1 else None


def _make_range_view(words: Sequence[str]) -> OutputView | None:
    piece = _parse_line_range(words)
    if piece is None or len(piece[1]) != 1 or piece[0][0] < 0:
        return None
    return FileLinesView(piece[1][0]).cut(*piece[0])


def _make_cat_view(words: Sequence[str]) -> OutputView | None:
    files = [word for word in words[1:] if not word.startswith("-") and word != "--"]
    options = [word for word in words[1:] if word.startswith("-") and word != "--"]
    if len(files) != 1 or options not in ([], ["-n"]):
        return None
    return FileLinesView(files[0], form=ARROW_LINE_NUMBER if options else None)


def _make_nl_view(words: Sequence[str]) -> OutputView | None:
    rest = words[2:] if words[1:2] == ["-ba"] else words[3:] if words[1:3] == ["-b", "a"] else None
    return (
        FileLinesView(rest[0], form=ARROW_LINE_NUMBER)
        if rest and len(rest) == 1 and not rest[0].startswith("-")
        else None
    )


def _parse_select_object(rest: Sequence[str]) -> tuple[tuple[int, int | None], list[str]] | None:
    """Read `Select-Object -Skip a -First b`."""
    if len(rest) % 2 or any(not re.fullmatch(r"\d{1,7}", value) for value in rest[1::2]):
        return None
    given = {name.lower(): int(value) for name, value in zip(rest[::2], rest[1::2], strict=True)}
    if not given or not set(given) <= {"-skip", "-first"}:
        return None
    start = given.get("-skip", 0)
    return (start, start + given["-first"] if "-first" in given else None), []


def _make_get_content_view(words: Sequence[str]) -> OutputView | None:
    rest = [
        word
        for word in words[1:]
        if word.lower() not in ("-path", "-literalpath", "-encoding", "utf8", "utf-8")
    ]
    found = re.fullmatch(
        (
            r"(?:-(?:totalcount|head|first) (\d{1,7}) )?(\S+)(?: -(?:totalcount|head|first) "
            r"(\d{1,7}))?"
        ),
        " ".join(rest),
        re.IGNORECASE,
    )
    if (
        not found
        or found[2].startswith("-")
        or len(rest) not in (1, 3)
        or re.search(r"[*?\[]", found[2])
    ):
        return None
    count = found[1] or found[3]
    return FileLinesView(found[2]).cut(0, int(count) if count else None)


def _parse_grep_options(rest: Sequence[str]) -> tuple[set[str], list[str]] | None:
    """Give the letters of a search's options and its other arguments; `None` when one is
    not known.
    """
    letters: set[str] = set()
    arguments: list[str] = []
    skip = pattern = options = False
    for word in rest:
        if skip:
            skip = False
        elif options or not word.startswith("-") or word == "-":
            arguments.append(word)
        elif word == "--":
            options = True
        elif word in _GREP_VALUE_OPTIONS:
            skip = True
        elif word in ("-e", "--regexp"):
            skip = pattern = True
        elif re.fullmatch(r"-[ABCm]\d{1,5}|-\d{1,5}", word) or _GREP_LONG_OPTION.fullmatch(word):
            letters |= (
                {"n"} if word == "--line-number" else {"H"} if word == "--with-filename" else set()
            )
        elif found := re.fullmatch(r"-([a-zA-Z]+?)([ABCm]\d{0,5})?", word):
            letters |= set(found[1])
            skip = bool(found[2]) and len(found[2]) == 1
        else:
            return None
    if pattern:
        arguments.insert(0, "")
    return letters, arguments


def _make_grep_view(words: Sequence[str]) -> OutputView | None:
    options = _parse_grep_options(words[1:])
    if options is None or "n" not in options[0] or not options[1]:
        return None
    letters, (_, *files) = options[0], options[1]
    ripgrep = words[0] == "rg"
    if not letters <= (_RIPGREP_LETTERS if ripgrep else _GREP_LETTERS):
        return None
    if not files and not ripgrep and not letters & {"r", "R"}:
        return None
    names = (
        True
        if "H" in letters or len(files) != 1
        else None
        if ripgrep or letters & {"r", "R"}
        else False
    )
    return SearchView(tuple(files), names)


def _make_git_view(words: Sequence[str]) -> OutputView | None:
    """Read `git status` and a diff whose new side is the work tree.

    `git show HEAD:file`, `git cat-file` and a diff of two commits show what was committed. The file
    may differ from it in any line, and what it was before the session is what the first look at it
    or a base says, so they prove nothing.
    """
    _, rest = parse_git_arguments(words)
    if rest[:1] == ["status"]:
        return GitReportView(diff=False)
    if rest[:1] != ["diff"]:
        return None
    named = rest[rest.index("--") :] if "--" in rest else []
    for word in rest[1 : len(rest) - len(named)]:
        if not word or not (_DIFF_ARGUMENT.fullmatch(word) or _FILE_ARGUMENT.fullmatch(word)):
            return None
    return GitReportView(diff=True)


_VIEW_MAKERS: dict[str, Callable[[Sequence[str]], OutputView | None]] = {
    "sed": _make_sed_view,
    "head": _make_range_view,
    "tail": _make_range_view,
    "cat": _make_cat_view,
    "nl": _make_nl_view,
    "grep": _make_grep_view,
    "egrep": _make_grep_view,
    "rg": _make_grep_view,
    "git": _make_git_view,
    "Get-Content": _make_get_content_view,
    "gc": _make_get_content_view,
}
