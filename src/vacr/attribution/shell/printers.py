"""Which commands print lines of files, and which lines. Step: attribute."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from vacr.attribution import listings
from vacr.attribution.shell import git
from vacr.attribution.shell.lexer import Command
from vacr.attribution.shell.views import Found, Lines, Span, Told, View

_SED = re.compile(r"(\d{1,7})(?:,(\d{1,7}|\$|\+\d{1,7}))?p")
_GREP = frozenset("EFGHIPRaeinrsvwx")
_RIPGREP = frozenset("FHPSeinsuvwx.")
_FILTERS = frozenset("EFGPivwe")
_GREP_LONG = re.compile(
    r"--(?:include|exclude|exclude-dir|glob|iglob|type|type-not|max-count|color|colour)=.*"
    r"|--(?:line-number|ignore-case|with-filename|no-heading|hidden|no-ignore|fixed-strings|word-regexp|recursive"
    r"|extended-regexp|perl-regexp|smart-case|case-sensitive|sort=path|color=never|no-messages|invert-match)"
)
_VALUED = frozenset(
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
_DIFF = re.compile(
    r"--|HEAD(?:[~^]\d*)?|--no-color|--color(?:=\w+)?|-U\d+|--unified=\d+|--no-ext-diff|--minimal|--patience|-p"
)
_FILE = re.compile(
    r"(?!.*\.\.|-)(?:[A-Za-z]:[\\/])?[^:]+(?:\.[A-Za-z]\w*|/)"
)  # with a colon it is a file of a commit


def view_of(pipeline: Sequence[Command]) -> View | None:
    """Say what lines of files a pipeline prints; `None` when that is not known."""
    first = pipeline[0]
    words = _known(first.words)
    maker = _MAKERS.get(first.name)
    view = maker(words) if words is not None and maker is not None else None
    for command in pipeline[1:]:
        words = _known(command.words)
        if (
            view is None
            or words is None
            or any(one.operator.startswith("<") for one in command.redirects)
        ):
            return None
        view = _narrowed(view, words)
    return view


def _known(words: Sequence[str | None]) -> list[str] | None:
    known = [word for word in words if word is not None]
    return known if len(known) == len(words) else None


def _narrowed(view: View, words: Sequence[str]) -> View | None:
    """Say what a command leaves of what it is given to read."""
    if list(words) in (["cat"], ["cat", "-"], ["less"], ["more"]):
        return view
    if words[0] in ("grep", "egrep", "fgrep", "rg"):
        return _searched(view, words)
    piece = _piece(words)
    if piece is None:
        return None
    (start, stop), rest = piece
    if rest:
        return None
    if isinstance(view, Lines):
        return view.tail(-start) if start < 0 else view.cut(start, stop)
    if isinstance(view, Found) and start >= 0 and stop is not None:
        return replace(
            view, count=stop - start if view.count is None else min(view.count, stop - start)
        )
    return view if isinstance(view, Found) or (start == 0 and isinstance(view, Told)) else None


def _searched(view: View, words: Sequence[str]) -> View | None:
    options = _grep_options(words[1:])
    if options is None:
        return None
    letters, arguments = options
    if len(arguments) > 1:
        return None
    if (
        isinstance(view, Lines)
        and view.form is None
        and view.spans == ((1, None),)
        and "n" in letters
        and "H" not in letters
    ):
        return Found((view.path,), names=False)
    filters = letters <= _FILTERS
    if filters and isinstance(view, Found):
        return replace(view, count=None)
    return view if filters and isinstance(view, Lines) and view.form is not None else None


def _piece(words: Sequence[str]) -> tuple[tuple[int, int | None], list[str]] | None:
    """Read `head`, `tail` or `sed` that leave one piece: from and to which line, counted from 0,
    and the files they name.
    """
    name, rest = words[0], list(words[1:])
    if name == "sed":
        spans = _sed(rest)
        if spans is None or len(spans[0]) != 1:
            return None
        (first, last), files = spans[0][0], spans[1]
        return (first - 1, last), files
    if name == "Select-Object":
        return _select(rest)
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


def _sed(rest: Sequence[str]) -> tuple[list[Span], list[str]] | None:
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
    spans: list[Span] = []
    for part in parts[:-1] if quits else parts:
        found = _SED.fullmatch(part)
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


def _make_sed(words: Sequence[str]) -> View | None:
    read = _sed(words[1:])
    return Lines(read[1][0], tuple(read[0])) if read and len(read[1]) == 1 else None


def _make_piece(words: Sequence[str]) -> View | None:
    piece = _piece(words)
    if piece is None or len(piece[1]) != 1 or piece[0][0] < 0:
        return None
    return Lines(piece[1][0]).cut(*piece[0])


def _make_cat(words: Sequence[str]) -> View | None:
    files = [word for word in words[1:] if not word.startswith("-") and word != "--"]
    options = [word for word in words[1:] if word.startswith("-") and word != "--"]
    if len(files) != 1 or options not in ([], ["-n"]):
        return None
    return Lines(files[0], form=listings.ARROW if options else None)


def _make_nl(words: Sequence[str]) -> View | None:
    rest = words[2:] if words[1:2] == ["-ba"] else words[3:] if words[1:3] == ["-b", "a"] else None
    return (
        Lines(rest[0], form=listings.ARROW)
        if rest and len(rest) == 1 and not rest[0].startswith("-")
        else None
    )


def _select(rest: Sequence[str]) -> tuple[tuple[int, int | None], list[str]] | None:
    """Read `Select-Object -Skip a -First b`."""
    if len(rest) % 2 or any(not re.fullmatch(r"\d{1,7}", value) for value in rest[1::2]):
        return None
    given = {name.lower(): int(value) for name, value in zip(rest[::2], rest[1::2], strict=True)}
    if not given or not set(given) <= {"-skip", "-first"}:
        return None
    start = given.get("-skip", 0)
    return (start, start + given["-first"] if "-first" in given else None), []


def _make_get_content(words: Sequence[str]) -> View | None:
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
    return Lines(found[2]).cut(0, int(count) if count else None)


def _grep_options(rest: Sequence[str]) -> tuple[set[str], list[str]] | None:
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
        elif word in _VALUED:
            skip = True
        elif word in ("-e", "--regexp"):
            skip = pattern = True
        elif re.fullmatch(r"-[ABCm]\d{1,5}|-\d{1,5}", word) or _GREP_LONG.fullmatch(word):
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


def _make_grep(words: Sequence[str]) -> View | None:
    options = _grep_options(words[1:])
    if options is None or "n" not in options[0] or not options[1]:
        return None
    letters, (_, *files) = options[0], options[1]
    ripgrep = words[0] == "rg"
    if not letters <= (_RIPGREP if ripgrep else _GREP):
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
    return Found(tuple(files), names)


def _make_git(words: Sequence[str]) -> View | None:
    """Read `git status` and a diff whose new side is the work tree.

    `git show HEAD:file`, `git cat-file` and a diff of two commits show what was committed. The file
    may differ from it in any line, and what it was before the session is what the first look at it
    or a base says, so they prove nothing.
    """
    _, rest = git.arguments(words)
    if rest[:1] == ["status"]:
        return Told(diff=False)
    if rest[:1] != ["diff"]:
        return None
    named = rest[rest.index("--") :] if "--" in rest else []
    for word in rest[1 : len(rest) - len(named)]:
        if not word or not (_DIFF.fullmatch(word) or _FILE.fullmatch(word)):
            return None
    return Told(diff=True)


_MAKERS: dict[str, Callable[[Sequence[str]], View | None]] = {
    "sed": _make_sed,
    "head": _make_piece,
    "tail": _make_piece,
    "cat": _make_cat,
    "nl": _make_nl,
    "grep": _make_grep,
    "egrep": _make_grep,
    "rg": _make_grep,
    "git": _make_git,
    "Get-Content": _make_get_content,
    "gc": _make_get_content,
}
