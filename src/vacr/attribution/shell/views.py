"""Views: the lines of files that a command prints.

A view is built from the first command of a pipeline and narrowed by the commands after it. Given
the printed lines, it yields the lines of files that they show, as far as that is certain.

    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> from vacr.attribution.shell.views import build_output_view
    >>> view = build_output_view(parse_shell_script("cat -n a.py | sed -n '2,3p'").commands)
    >>> view.path, view.spans
    ('a.py', ((2, 3),))
    >>> [(event.first, event.lines) for event in view.derive_events(["2\\tx = 1", "3\\ty = 2"])]
    [(2, ['x = 1\\n', 'y = 2\\n'])]
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
    parse_new_blobs,
    parse_numbered_lines,
    parse_unified_diff,
)

LineSpan = tuple[int, int | None]
"""The numbers of the first and the last line; `None` for the end of the file."""
LineSlice = tuple[int, int | None]
"""A slice of printed lines, from 0; the start is negative when it counts from the end."""

_UNBOUNDED_SLACK = 1 << 20
_COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*[mK]")
_RENAME_LINE = re.compile(r"(?:R[ MD] |\s+renamed:\s+)(.+?) -> (.+)$")
_LINE_NUMBER_PREFIX = re.compile(r"(\d{1,7})[:-]")
_PATH_AND_NUMBER_PREFIX = re.compile(r"((?:[A-Za-z]:)?[^:\n]+?):(\d{1,7}):")
_CONTEXT_LINE_NUMBER = re.compile(r"-(\d{1,7})-")
_MAX_CONTEXT_PATH_LENGTH = 1000

_LINE_COUNT_OPTION = re.compile(
    r"-n ?([+-]?)(\d{1,7})(?= |$)|-([+-]?)(\d{1,7})(?= |$)|--lines=([+-]?)(\d{1,7})(?= |$)"
)
_DEFAULT_LINE_COUNT = 10
_SED_PRINT_COMMAND = re.compile(r"(\d{1,7})(?:,(\d{1,7}|\$|\+\d{1,7}))?p")
_SED_QUIT_COMMAND = re.compile(r"(\d{1,7})q")
_GET_CONTENT_ARGUMENTS = re.compile(
    r"(?:-(?:totalcount|head|first) (\d{1,7}) )?(\S+)"
    r"(?: -(?:totalcount|head|first) (\d{1,7}))?",
    re.IGNORECASE,
)
_PLAIN_GET_CONTENT_WORDS = ("-path", "-literalpath", "-encoding", "utf8", "utf-8")

_GREP_LETTERS = frozenset("EFGHIPRaeinrsvwx")
_RIPGREP_LETTERS = frozenset("FHPSeinsuvwx.")
_FILTER_LETTERS = frozenset("EFGPivwe")
_RECURSIVE_LETTERS = frozenset("rR")
_GREP_LONG_OPTION = re.compile(
    r"--(?:include|exclude|exclude-dir|glob|iglob|type|type-not|max-count|color|colour)=.*"
    r"|--(?:line-number|ignore-case|with-filename|no-heading|hidden|no-ignore|fixed-strings"
    r"|word-regexp|recursive|extended-regexp|perl-regexp|smart-case|case-sensitive|sort=path"
    r"|color=never|no-messages|invert-match)"
)
_GREP_LONG_OPTION_LETTERS = {"--line-number": "n", "--with-filename": "H"}
_GREP_COUNT_OPTION = re.compile(r"-[ABCm]\d{1,5}|-\d{1,5}")
_GREP_SHORT_OPTIONS = re.compile(r"-([a-zA-Z]+?)([ABCm]\d{0,5})?")
_GREP_VALUE_OPTION_NAMES = (
    "-A -B -C -m -g -t -T --glob --iglob --type --type-not --include --exclude"
)
_GREP_VALUE_OPTIONS = frozenset(_GREP_VALUE_OPTION_NAMES.split())

_DIFF_ARGUMENT = re.compile(
    r"--|HEAD(?:[~^]\d*)?|--no-color|--color(?:=\w+)?|-U\d+|--unified=\d+|--no-ext-diff"
    r"|--minimal|--patience|-p|--cached|--staged"
)
# With a colon it would be a file in a commit, with two dots a range of commits.
_FILE_ARGUMENT = re.compile(r"(?!.*\.\.|-)(?:[A-Za-z]:[\\/])?[^:]+(?:\.[A-Za-z]\w*|/)")


@dataclass(frozen=True, slots=True)
class FileLinesView:
    """Lines of one file, in order, bare or numbered."""

    path: str
    spans: tuple[LineSpan, ...] = ((1, None),)
    form: re.Pattern[str] | None = None
    """The pattern of the line numbers, if they are printed."""
    least: int = 0
    """The view is right only if the file has at least this many lines."""

    @property
    def count(self) -> int | None:
        """How many lines it prints at most, or `None` for no limit."""
        total = 0
        for first, last in self.spans:
            if last is None:
                return None
            total += last - first + 1
        return total

    def keep_range(self, start: int, stop: int | None) -> "FileLinesView":
        """Return the view of the printed lines from index `start` up to `stop`, or to the end."""
        spans: list[LineSpan] = []
        passed = 0
        for first, last in self.spans:
            low, high = first + max(0, start - passed), last
            if stop is not None:
                limit = first + stop - passed - 1
                high = limit if last is None else min(last, limit)
            if high is None or low <= high:
                spans.append((low, high))
            if last is None:
                break
            passed += last - first + 1
        return replace(self, spans=tuple(spans))

    def keep_last(self, count: int) -> "FileLinesView | None":
        """Return the view of the last `count` printed lines.

        With printed numbers, the view stays the same. Without, it is right only if the file has all
        lines of the spans. Return `None` if the number of printed lines has no limit.
        """
        if self.form is not None:
            return self
        total = self.count
        if total is None:
            return None
        tail = self.keep_range(max(0, total - count), total)
        return replace(tail, least=self.spans[-1][1] or 0)

    def derive_events(
        self, lines: Sequence[str], slack: int | None = 0, *, complete: bool = False
    ) -> Iterator[ObservedLines]:
        """Yield the lines of the file that the printed lines show.

        `slack` is how many empty lines may be missing before them, `None` for no limit. If the
        output is `complete` and has fewer lines than the span, the file ends with the last line.
        """
        if self.form is not None:
            yield from self._derive_numbered_events(lines, self.form)
            return
        if slack != 0 and len(self.spans) > 1:
            return
        missing = _UNBOUNDED_SLACK if slack is None else slack
        at = 0
        for first, last in self.spans:
            part = lines[at : None if last is None else at + last - first + 1]
            if part or (complete and first == 1):
                stops_early = last is None or first + len(part) <= last
                ends = complete and not self.least and stops_early
                shown = [line + "\n" for line in part]
                yield ObservedLines(
                    self.path, first, shown, last=ends, least=self.least, slack=missing
                )
            at += len(part)

    def _derive_numbered_events(
        self, lines: Sequence[str], form: re.Pattern[str]
    ) -> Iterator[ObservedLines]:
        """Yield the lines of numbered output, if all of them have ascending numbers."""
        numbers = [int(prefix[1]) for line in lines if (prefix := form.match(line))]
        if len(numbers) < len(lines) or any(low >= high for low, high in pairwise(numbers)):
            return
        for first, shown in parse_numbered_lines(lines, form):
            last = first + len(shown) - 1
            if any(low <= first and (high is None or last <= high) for low, high in self.spans):
                yield ObservedLines(self.path, first, shown)

    def find_numbered_end(self, lines: Sequence[str], at: int) -> int | None:
        """Return the index of the first line from index `at` on that breaks the numbering.

        Return `None` if no numbers are printed, or the view has several spans.
        """
        if self.form is None or len(self.spans) != 1:
            return None
        number = self.spans[0][0]
        while at < len(lines):
            prefix = self.form.match(lines[at])
            if not prefix or int(prefix[1]) != number:
                break
            at, number = at + 1, number + 1
        return at


@dataclass(frozen=True, slots=True)
class SearchView:
    """Lines that a search matched, with their numbers, and with paths if it has several files."""

    searched: tuple[str, ...]
    """The files and folders that were searched."""
    prints_paths: bool | None
    """Whether paths are printed; `None` where only the output shows that."""
    count: int | None = None

    def derive_events(self, lines: Sequence[str]) -> Iterator[ObservedLines]:
        """Yield the lines of files that the output shows, if all of them have numbers."""
        plain = [_COLOUR_CODE.sub("", line) for line in lines if line != "--"]
        single = len(self.searched) == 1 and self.prints_paths is not True
        if single and all(_LINE_NUMBER_PREFIX.match(line) for line in plain):
            yield from self._derive_single_file_events(plain)
        elif self.prints_paths is not False:
            yield from self._derive_many_file_events(plain)

    def _derive_single_file_events(self, lines: Sequence[str]) -> Iterator[ObservedLines]:
        """Yield the lines in output such as `12:text`, if the numbers ascend."""
        previous = 0
        for line in lines:
            number = _LINE_NUMBER_PREFIX.match(line)
            if number is None or int(number[1]) <= previous:
                return
            previous = int(number[1])
        for first, shown in parse_numbered_lines(lines, _LINE_NUMBER_PREFIX):
            yield ObservedLines(self.searched[0], first, shown)

    def _derive_many_file_events(self, lines: Sequence[str]) -> Iterator[ObservedLines]:
        """Yield the lines in output such as `path:12:text`, if all lines have this form."""
        prefixes = [_PATH_AND_NUMBER_PREFIX.match(line) for line in lines]
        known = {prefix[1] for prefix in prefixes if prefix and self._is_searched(prefix[1])}
        rows = []
        for line, prefix in zip(lines, prefixes, strict=True):
            if prefix and prefix[1] in known:
                rows.append((prefix[1], int(prefix[2]), line[prefix.end() :]))
                continue
            row = _parse_context_line(line, known)
            if row is None:
                return
            rows.append(row)
        for path, number, text in rows:
            if len(text) < MIN_CUT_LINE_LENGTH:
                yield ObservedLines(path, number, [text + "\n"])

    def _is_searched(self, path: str) -> bool:
        """Return whether a path is a searched file, or lies in a searched folder."""
        plain = path.removeprefix("./").replace("\\", "/")
        for name in self.searched or (".",):
            folder = name.replace("\\", "/").removeprefix("./").rstrip("/")
            if folder in ("", ".") and not plain.startswith("/"):
                return True
            if plain == folder or plain.startswith(folder + "/"):
                return True
        return False


def _parse_context_line(line: str, known: set[str]) -> tuple[str, int, str] | None:
    """Parse `path-12-text`, a line around a match; return the path, the number and the text.

    Return `None` unless exactly one way to split the line has a `known` path.
    """
    marks = [
        mark
        for mark in _CONTEXT_LINE_NUMBER.finditer(line[:_MAX_CONTEXT_PATH_LENGTH])
        if line[: mark.start()] in known
    ]
    if len(marks) != 1:
        return None
    mark = marks[0]
    return line[: mark.start()], int(mark[1]), line[mark.end() :]


@dataclass(frozen=True, slots=True)
class GitReportView:
    """A report in a form of git's own, recognizable anywhere: a diff, or renames in a status."""

    diff: bool
    count: int | None = None
    staged: bool = False
    """Whether the new side of the diff is git's index."""

    def derive_events(self, lines: Sequence[str]) -> Iterator[FileAction]:
        """Yield the diffs or the renames that the printed lines show."""
        plain = [_COLOUR_CODE.sub("", line) for line in lines]
        if self.diff:
            text = "\n".join(plain)
            blobs = parse_new_blobs(text)
            for path, hunks in parse_unified_diff(text):
                blob = blobs.get(path or "", "")
                if path is not None and (blob or not self.staged):
                    yield ObservedDiff(path, hunks, blob, self.staged)
            return
        for line in plain:
            renamed = _RENAME_LINE.match(line)
            if renamed:
                yield FileMove(renamed[1].strip('"'), renamed[2].strip('"'), reported=True)


OutputView = FileLinesView | SearchView | GitReportView


def build_output_view(pipeline: Sequence[ShellCommand]) -> OutputView | None:
    """Return the view of the lines that a pipeline prints.

    Return `None` if it prints anything but lines of files, or if a word is unknown.
    """
    first = pipeline[0]
    words = _list_known_words(first.words)
    build_view = _VIEW_BUILDERS.get(first.name)
    view = build_view(words) if words is not None and build_view is not None else None
    for command in pipeline[1:]:
        words = _list_known_words(command.words)
        reads_other = any(redirect.operator.startswith("<") for redirect in command.redirects)
        if view is None or words is None or reads_other:
            return None
        view = _narrow_view(view, words)
    return view


def _list_known_words(words: Sequence[str | None]) -> list[str] | None:
    """Return the words, or `None` if one of them is unknown."""
    known = [word for word in words if word is not None]
    return known if len(known) == len(words) else None


# --- commands that narrow a view ---


def _narrow_view(view: OutputView, words: Sequence[str]) -> OutputView | None:
    """Return the view of the lines that a command after a pipe lets through.

    Return `None` if these lines are unknown.
    """
    if list(words) in (["cat"], ["cat", "-"], ["less"], ["more"]):
        return view
    if words[0] in ("grep", "egrep", "fgrep", "rg"):
        return _narrow_by_search(view, words)
    line_range = _parse_line_range(words)
    if line_range is None:
        return None
    (start, stop), files = line_range
    if files:
        return None
    if isinstance(view, FileLinesView):
        return view.keep_last(-start) if start < 0 else view.keep_range(start, stop)
    if isinstance(view, GitReportView):
        return view if start == 0 else None
    if start >= 0 and stop is not None:
        limit = stop - start
        return replace(view, count=limit if view.count is None else min(view.count, limit))
    return view


def _narrow_by_search(view: OutputView, words: Sequence[str]) -> OutputView | None:
    """Return the view of the lines that `grep` lets through.

    Return `None` if nothing shows the numbers of these lines.
    """
    options = _parse_grep_options(words[1:])
    if options is None:
        return None
    letters, arguments = options
    if len(arguments) > 1:
        return None
    only_filters = letters <= _FILTER_LETTERS
    if isinstance(view, SearchView):
        return replace(view, count=None) if only_filters else None
    if not isinstance(view, FileLinesView):
        return None
    if view.form is not None:
        return view if only_filters else None
    is_whole_file = view.spans == ((1, None),)
    if is_whole_file and "n" in letters and "H" not in letters:
        return SearchView((view.path,), prints_paths=False)
    return None


# --- commands that print a range of lines ---


def _build_range_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `head FILE` or `tail -n +N FILE`.

    Return `None` for several files, and for lines counted from the end of the file.
    """
    line_range = _parse_line_range(words)
    if line_range is None:
        return None
    (start, stop), files = line_range
    if len(files) != 1 or start < 0:
        return None
    return FileLinesView(files[0]).keep_range(start, stop)


def _parse_line_range(words: Sequence[str]) -> tuple[LineSlice, list[str]] | None:
    """Return the slice of lines that `head`, `tail`, `sed` or `Select-Object` keeps, and its files.

    For example, `head -n 5 a.py` becomes `((0, 5), ["a.py"])`. A negative start, as of `tail -5`,
    counts from the end. Return `None` for other commands and options.
    """
    name, rest = words[0], list(words[1:])
    if name == "sed":
        ranges = _parse_sed_ranges(rest)
        if ranges is None or len(ranges[0]) != 1:
            return None
        ((first, last),), files = ranges
        return (first - 1, last), files
    if name == "Select-Object":
        return _parse_select_object(rest)
    return _parse_head_or_tail(name, rest) if name in ("head", "tail") else None


def _parse_head_or_tail(name: str, rest: list[str]) -> tuple[LineSlice, list[str]] | None:
    """Return the slice of lines and the files of `head` or `tail`; `None` for other options.

    A negative start counts from the end of the file.
    """
    sign, count, files = "", _DEFAULT_LINE_COUNT, rest
    option = _LINE_COUNT_OPTION.match(" ".join(rest[:2]))
    if option:
        sign, digits = (group for group in option.groups() if group is not None)
        count = int(digits)
        files = rest[option[0].count(" ") + 1 :]
    if any(word.startswith("-") for word in files):
        return None
    if sign and (name, sign) != ("tail", "+"):
        return None
    if name == "head":
        return (0, count), files
    return ((max(count, 1) - 1, None) if sign else (-count, None)), files


def _parse_select_object(rest: Sequence[str]) -> tuple[LineSlice, list[str]] | None:
    """Return the slice of `Select-Object -Skip a -First b`, and an empty list of files.

    Return `None` for other options.
    """
    if len(rest) % 2 or any(not re.fullmatch(r"\d{1,7}", value) for value in rest[1::2]):
        return None
    options = {name.lower(): int(value) for name, value in zip(rest[::2], rest[1::2], strict=True)}
    if not options or not set(options) <= {"-skip", "-first"}:
        return None
    start = options.get("-skip", 0)
    return (start, start + options["-first"] if "-first" in options else None), []


def _build_sed_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of a `sed` command that prints ranges of one file, or else `None`."""
    ranges = _parse_sed_ranges(words[1:])
    if ranges is None:
        return None
    spans, files = ranges
    return FileLinesView(files[0], tuple(spans)) if len(files) == 1 else None


def _parse_sed_ranges(rest: Sequence[str]) -> tuple[list[LineSpan], list[str]] | None:
    """Return the spans of lines that `sed -n '1,5p;8,9p'` or `sed 10q` prints, and the files.

    Return `None` for other commands and options of `sed`.
    """
    arguments = _parse_sed_arguments(rest)
    if arguments is None:
        return None
    scripts, files, silent = arguments
    commands = [
        command.strip().replace(" ", "")
        for script in scripts
        for command in re.split(r"[;\n]", script)
        if command.strip()
    ]
    quit_command = _SED_QUIT_COMMAND.fullmatch(commands[-1]) if commands else None
    quit_line = int(quit_command[1]) if quit_command else None
    if not silent:
        only_quits = quit_line is not None and len(commands) == 1
        return ([(1, quit_line)], files) if only_quits else None
    spans = _parse_sed_spans(commands if quit_line is None else commands[:-1])
    if not spans or spans[0][0] < 1:
        return None
    if quit_line is not None and quit_line < (spans[-1][1] or 0):
        return None
    return spans, files


def _parse_sed_arguments(rest: Sequence[str]) -> tuple[list[str], list[str], bool] | None:
    """Return the scripts and the files of `sed`, and whether `-n` makes it silent.

    Return `None` for other options.
    """
    scripts: list[str] = []
    files: list[str] = []
    silent = expects_script = False
    for word in rest:
        if expects_script:
            scripts.append(word)
            expects_script = False
        elif word in ("-n", "--quiet", "--silent", "-nE", "-En"):
            silent = True
        elif word in ("-e", "-ne"):
            silent, expects_script = silent or "n" in word, True
        elif word in ("-E", "-r", "--"):
            continue
        elif word.startswith("-"):
            return None
        else:
            files.append(word)
    if not scripts and files:
        scripts.append(files.pop(0))
    return scripts, files, silent


def _parse_sed_spans(commands: Sequence[str]) -> list[LineSpan] | None:
    """Return the spans of lines that `p` commands print, such as `3,7p`.

    Return `None` if the spans overlap or descend, or for any other command.
    """
    spans: list[LineSpan] = []
    for command in commands:
        printed = _SED_PRINT_COMMAND.fullmatch(command)
        if not printed:
            return None
        first, end = int(printed[1]), printed[2]
        previous = spans[-1][1] if spans else 0
        if previous is None or (spans and first <= previous):
            return None
        spans.append((first, _parse_sed_end(first, end)))
    return spans


def _parse_sed_end(first: int, end: str | None) -> int | None:
    """Return the last line of a `sed` range that begins at line `first`.

    `end` is a number, `+` and a number of further lines, or `$`: then return `None`, the end of the
    file. Without `end`, or before `first`, the range is one line.
    """
    if not end:
        return first
    if end == "$":
        return None
    return first + int(end[1:]) if end[0] == "+" else max(first, int(end))


# --- commands that print whole files ---


def _build_cat_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `cat FILE` or `cat -n FILE`, or else `None`."""
    files = [word for word in words[1:] if not word.startswith("-") and word != "--"]
    options = [word for word in words[1:] if word.startswith("-") and word != "--"]
    if len(files) != 1 or options not in ([], ["-n"]):
        return None
    return FileLinesView(files[0], form=ARROW_LINE_NUMBER if options else None)


def _build_nl_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `nl -ba FILE`, or else `None`."""
    if words[1:2] == ["-ba"]:
        files = words[2:]
    elif words[1:3] == ["-b", "a"]:
        files = words[3:]
    else:
        return None  # Without `-b a`, empty lines are not numbered.
    if len(files) != 1 or files[0].startswith("-"):
        return None
    return FileLinesView(files[0], form=ARROW_LINE_NUMBER)


def _build_get_content_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `Get-Content FILE`, also with `-TotalCount N`, or else `None`."""
    rest = [word for word in words[1:] if word.lower() not in _PLAIN_GET_CONTENT_WORDS]
    arguments = _GET_CONTENT_ARGUMENTS.fullmatch(" ".join(rest))
    if not arguments or len(rest) not in (1, 3):
        return None
    path, count = arguments[2], arguments[1] or arguments[3]
    if path.startswith("-") or re.search(r"[*?\[]", path):
        return None
    return FileLinesView(path).keep_range(0, int(count) if count else None)


# --- searches ---


def _build_grep_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `grep -n` or `rg -n`; `None` without numbers or with other options."""
    options = _parse_grep_options(words[1:])
    if options is None:
        return None
    letters, arguments = options
    if "n" not in letters or not arguments:
        return None
    files = arguments[1:]
    is_ripgrep = words[0] == "rg"
    if not letters <= (_RIPGREP_LETTERS if is_ripgrep else _GREP_LETTERS):
        return None
    searches_folders = is_ripgrep or bool(letters & _RECURSIVE_LETTERS)
    if not files and not searches_folders:
        return None
    prints_paths: bool | None = "H" in letters or len(files) != 1
    if not prints_paths and searches_folders:
        prints_paths = None  # They are printed if the operand is a folder.
    return SearchView(tuple(files), prints_paths)


def _parse_grep_options(rest: Sequence[str]) -> tuple[set[str], list[str]] | None:
    """Return the option letters of a search, and its operands: the pattern, then the files.

    The pattern is `""` if an option has it. Return `None` for unknown options.
    """
    letters: set[str] = set()
    operands: list[str] = []
    skips_value = has_pattern_option = options_ended = False
    for word in rest:
        if skips_value:
            skips_value = False
        elif options_ended or not word.startswith("-") or word == "-":
            operands.append(word)
        elif word == "--":
            options_ended = True
        elif word in _GREP_VALUE_OPTIONS:
            skips_value = True
        elif word in ("-e", "--regexp"):
            skips_value = has_pattern_option = True
        elif _GREP_COUNT_OPTION.fullmatch(word) or _GREP_LONG_OPTION.fullmatch(word):
            letters.update(_GREP_LONG_OPTION_LETTERS.get(word, ""))
        elif short := _GREP_SHORT_OPTIONS.fullmatch(word):
            letters.update(short[1])
            skips_value = bool(short[2]) and len(short[2]) == 1
        else:
            return None
    if has_pattern_option:
        operands.insert(0, "")
    return letters, operands


# --- git ---


def _build_git_view(words: Sequence[str]) -> OutputView | None:
    """Return the view of `git status`, or of a diff whose new side is not a commit, else `None`.

    The new side of a diff is the work tree, or with `--cached` the index. `git show HEAD:file`,
    `git cat-file` and a diff of two commits show committed content. The file may differ from it in
    any line, and its content before the session comes from the first look at it or from a base. So
    they prove nothing.
    """
    _, rest = parse_git_arguments(words)
    if rest[:1] == ["status"]:
        return GitReportView(diff=False)
    if rest[:1] != ["diff"]:
        return None
    if rest[1:2] == ["--no-index"]:
        # Compared with nothing, all lines of the file are new.
        shows_file = [word for word in rest[2:-1] if word != "--"] == ["/dev/null"]
        return GitReportView(diff=True) if shows_file else None
    before_paths = rest[1 : rest.index("--")] if "--" in rest else rest[1:]
    staged = bool({"--cached", "--staged"} & set(before_paths))
    for word in before_paths:
        if not word or not (_DIFF_ARGUMENT.fullmatch(word) or _FILE_ARGUMENT.fullmatch(word)):
            return None
    return GitReportView(diff=True, staged=staged)


_VIEW_BUILDERS: dict[str, Callable[[Sequence[str]], OutputView | None]] = {
    "sed": _build_sed_view,
    "head": _build_range_view,
    "tail": _build_range_view,
    "cat": _build_cat_view,
    "nl": _build_nl_view,
    "grep": _build_grep_view,
    "egrep": _build_grep_view,
    "rg": _build_grep_view,
    "git": _build_git_view,
    "Get-Content": _build_get_content_view,
    "gc": _build_get_content_view,
}
