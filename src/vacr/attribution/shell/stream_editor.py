r"""The programs of `sed` and `perl -p`, applied to the text of a file.

Agents change files with `sed -i 's/old/new/g' FILE` and `perl -pi -e 's/old/new/' FILE`. The text
of such a program determines the new text of a file, if the old one is known. Programs with other
commands than `s`, `d`, `a`, `i` and `c`, and patterns that the programs do not read like Python,
are not parsed.

    >>> from vacr.attribution.shell.stream_editor import parse_stream_edit
    >>> edit = parse_stream_edit(["sed", "-i", "-E", r"s/(\w+) = 1/\1 = 2/; /^#/d", "a.py"])
    >>> edit.files, edit.program.by_line
    (['a.py'], False)
    >>> edit.program.rewrite("# numbers\nx = 1\n")
    'x = 2\n'
    >>> edit = parse_stream_edit(["perl", "-pi", "-e", r"s/(\w+) = 1/$1 = 2/g", "a.py"])
    >>> edit.program.rewrite("x = 1\n")
    'x = 2\n'
    >>> parse_stream_edit(["sed", "-i", "N;s/a/b/", "a.py"]) is None
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vacr.attribution.shell.sed import parse_sed_command_line
from vacr.attribution.shell.stream_program import (
    ReplacementPart,
    StreamCommand,
    StreamEdit,
    StreamProgram,
    Substitution,
    UnparsedProgramError,
    check_groups,
    join_texts,
    refuse_empty_matches,
    require_word,
)

_PERL_OPTION = re.compile(r"-(0(?:777)?)?([pi]*)(\.\w+)?(e?)")
_PERL_CLOSERS = {"{": "}", "(": ")", "[": "]", "<": ">"}
_PERL_ONLY_PATTERN = re.compile(r"\\[QEUKLRhHvVNXpPGzGlu]|[$@][\w{(]|\(\?[{?#|R&>P]|[*+?}]\+")


def parse_stream_edit(words: Sequence[str | None]) -> StreamEdit | None:
    """Parse `sed -i` or `perl -pi`, with its options, its program and its files.

    A file that is `None` is left out. Return `None` for other commands and for programs that are
    not determined.
    """
    name = words[0] if words else None
    try:
        if name in ("sed", "gsed"):
            return parse_sed_command_line(list(words[1:]))
        if name == "perl":
            return _parse_perl_command_line(list(words[1:]))
    except (UnparsedProgramError, re.error):
        return None
    return None


def _parse_perl_command_line(words: list[str | None]) -> StreamEdit:
    """Parse the arguments of `perl -pi -e PROGRAM FILE…`; files that are `None` are left out.

    Raises:
        UnparsedProgramError: an option or the program is not known, or `-p` or `-i` is missing.
        re.error: Python cannot compile a pattern.
    """
    scripts: list[str] = []
    options, slurps, at = "", False, 0
    while at < len(words):
        word = words[at]
        if word is None or not word.startswith("-"):
            break
        at += 1
        option = _PERL_OPTION.fullmatch(word)
        if option is None:
            raise UnparsedProgramError
        slurps = slurps or bool(option[1])
        options += option[2]
        if option[4]:
            scripts.append(require_word(words[at] if at < len(words) else None))
            at += 1
    if "p" not in options or "i" not in options or not scripts:
        raise UnparsedProgramError
    substitutions = [
        substitution for script in scripts for substitution in _parse_perl_program(script)
    ]
    files = [file for file in words[at:] if file is not None]
    if slurps:
        return StreamEdit(StreamProgram(slurped=tuple(substitutions)), files)
    commands = tuple(StreamCommand("s", substitution=item) for item in substitutions)
    return StreamEdit(StreamProgram(commands, keeps_ends=True), files)


def _parse_perl_program(text: str) -> Iterator[Substitution]:
    """Yield the substitutions of a program that has nothing else.

    Raises:
        UnparsedProgramError: it has other statements, or a pattern that Python reads differently.
    """
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\n;":
            at += 1
        if at >= len(text):
            return
        if text[at] != "s" or text[at + 1 : at + 2].isalnum() or not text[at + 1 : at + 2].strip():
            raise UnparsedProgramError
        pattern, after = _read_perl_part(text, at + 1)
        opener = text[at + 1]
        begin = after if opener in _PERL_CLOSERS else after - 1
        replacement, at = _read_perl_part(text, begin)
        flags = re.match(r"[a-z]*", text[at:])
        names = flags[0] if flags else ""
        at += len(names)
        if set(names) - set("gims") or opener == "'" or not pattern:
            raise UnparsedProgramError
        if _PERL_ONLY_PATTERN.search(pattern):
            raise UnparsedProgramError
        options = sum(
            {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}[name]
            for name in set(names) - {"g"}
        )
        compiled = re.compile(pattern, options)
        refuse_empty_matches(compiled, pattern, every="g" in names)
        parts = _parse_perl_replacement(replacement)
        check_groups(compiled, parts)
        yield Substitution(compiled, parts, "g" in names)


def _read_perl_part(text: str, at: int) -> tuple[str, int]:
    """Return the text between the delimiters at an offset, and the offset after it.

    Raises:
        UnparsedProgramError: the text does not end, or brackets in it are not balanced.
    """
    opener = text[at : at + 1]
    closer = _PERL_CLOSERS.get(opener, opener)
    if not opener:
        raise UnparsedProgramError
    parts: list[str] = []
    depth, at = 1, at + 1
    while at < len(text):
        char = text[at]
        if char == "\\":
            following = text[at + 1 : at + 2]
            parts.append(following if following == opener == "/" else char + following)
            at += 2
            continue
        if char == closer:
            depth -= 1
            if not depth:
                return "".join(parts), at + 1
        elif char == opener:
            depth += 1
        parts.append(char)
        at += 1
    raise UnparsedProgramError


def _parse_perl_replacement(text: str) -> tuple[ReplacementPart, ...]:
    """Parse a replacement, where `$1` and `${1}` stand for groups, and `$&` for the match.

    Raises:
        UnparsedProgramError: it has a variable, or an escape that is not supported.
    """
    parts: list[ReplacementPart] = []
    at = 0
    while at < len(text):
        group = re.compile(r"\$(?:(\d)(?!\d)|\{(\d)\}|(&))").match(text, at)
        char = text[at]
        if group:
            parts.append(int(group[1] or group[2] or 0))
            at = group.end()
            continue
        if char in "$@" and re.match(r"[\w{(:]", text[at + 1 : at + 2]):
            raise UnparsedProgramError
        at += 1
        if char == "\\":
            escaped = text[at : at + 1]
            at += 1
            if escaped in ("n", "t"):
                parts.append("\n" if escaped == "n" else "\t")
            elif escaped.isdigit():
                parts.append(int(escaped))
            elif not escaped or escaped.isalpha():
                raise UnparsedProgramError
            else:
                parts.append(escaped)
        else:
            parts.append(char)
    return join_texts(parts)
