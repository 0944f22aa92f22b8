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

from vacr.attribution.shell.stream_program import (
    LineAddress,
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


def parse_stream_edit(words: Sequence[str | None]) -> StreamEdit | None:
    """Parse `sed -i` or `perl -pi`, with its options, its program and its files.

    A file that is `None` is left out. Return `None` for other commands and for programs that are
    not determined.
    """
    name = words[0] if words else None
    try:
        if name in ("sed", "gsed"):
            return _parse_sed_command_line(list(words[1:]))
        if name == "perl":
            return _parse_perl_command_line(list(words[1:]))
    except (UnparsedProgramError, re.error):
        return None
    return None


# --- sed ---

_SED_SHORT_OPTIONS = re.compile(r"-([Ersu]*)(i(\S*))?")
_NUMERIC_FLAGS = re.compile(r"(?:[gIi]|[1-9]\d*)*")


def _parse_sed_command_line(words: list[str | None]) -> StreamEdit:
    """Parse the arguments of `sed -i`; files that are `None` are left out.

    Raises:
        UnparsedProgramError: an option or the program is not known, or `-i` is missing.
        re.error: Python cannot compile a pattern.
    """
    scripts: list[str] = []
    files: list[str | None] = []
    extended = in_place = bsd = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word is None or not word.startswith("-") or word == "-":
            files.append(word)
        elif word == "--":
            files += words[at:]
            break
        elif word in ("-e", "--expression") and at < len(words):
            scripts.append(require_word(words[at]))
            at += 1
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word in ("--regexp-extended", "--separate"):
            extended = extended or word == "--regexp-extended"
        elif word.startswith("--in-place"):
            in_place = True
        else:
            option = _SED_SHORT_OPTIONS.fullmatch(word)
            if option is None or option[3] == "e":
                raise UnparsedProgramError
            extended = extended or "E" in option[1] or "r" in option[1]
            if option[2]:
                in_place = True
                if not option[3] and words[at : at + 1] == [""]:
                    bsd, at = True, at + 1  # The empty suffix of BSD's sed is a word of its own.
    if not in_place:
        raise UnparsedProgramError
    if not scripts:
        scripts, files = [require_word(files[0] if files else None)], files[1:]
    if bsd and any("\\" in script for script in scripts):
        raise UnparsedProgramError  # BSD's sed has other escapes.
    commands = [
        command
        for script in scripts
        for command in _SedParser(script, extended=extended).parse_commands()
    ]
    return StreamEdit(StreamProgram(tuple(commands)), [file for file in files if file is not None])


class _SedParser:
    """A position in the text of a sed program."""

    def __init__(self, text: str, *, extended: bool) -> None:
        """Start at the beginning of a program; `extended` chooses the syntax of its patterns."""
        self.text = text
        self.extended = extended
        self.at = 0

    def parse_commands(self) -> Iterator[StreamCommand]:
        """Yield the commands of the program.

        Raises:
            UnparsedProgramError: a command is not supported.
        """
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.text):
                return
            command = StreamCommand("")
            address = self._parse_address()
            if address is not None:
                command.addresses.append(address)
                self._skip(" \t")
                if self._peek() == ",":
                    self.at += 1
                    self._skip(" \t")
                    command.addresses.append(_require_address(self._parse_address()))
            self._skip(" \t")
            if self._peek() == "!":
                command.negated = True
                self.at += 1
                self._skip(" \t")
            command.name = self._peek()
            self.at += 1
            if command.name == "s":
                command.substitution = self._parse_substitution()
            elif command.name in ("a", "i", "c"):
                if command.negated and command.name == "c":
                    raise UnparsedProgramError
                command.text = self._parse_text()
            elif command.name != "d":
                raise UnparsedProgramError
            self._skip(" \t")
            if self._peek() not in ("", ";", "\n"):
                raise UnparsedProgramError
            yield command

    def _peek(self) -> str:
        """Return the next character, or an empty string at the end."""
        return self.text[self.at : self.at + 1]

    def _skip(self, chars: str) -> None:
        """Step over all characters that follow and are in `chars`."""
        while self._peek() and self._peek() in chars:
            self.at += 1

    def _parse_address(self) -> LineAddress | None:
        """Parse a line number, `$` or a pattern between slashes; return `None` without one.

        Raises:
            UnparsedProgramError: the address has a form that is not supported.
        """
        char = self._peek()
        if char == "$":
            self.at += 1
            return LineAddress(last=True)
        if char.isdigit():
            start = self.at
            self._skip("0123456789")
            number = int(self.text[start : self.at])
            if not number or self._peek() == "~":
                raise UnparsedProgramError
            return LineAddress(number)
        if char != "/":
            return None
        self.at += 1
        pattern = self._parse_delimited("/")
        flags = re.IGNORECASE if self._peek() == "I" else 0
        self.at += bool(flags)
        if not pattern:
            raise UnparsedProgramError  # It stands for the last pattern that was used.
        return LineAddress(pattern=_compile_posix_pattern(pattern, flags, extended=self.extended))

    def _parse_delimited(self, delimiter: str) -> str:
        """Return the text up to the next delimiter; an escaped delimiter stands for itself.

        Raises:
            UnparsedProgramError: the delimiter is missing, or its escape is ambiguous.
        """
        parts = []
        while self._peek() != delimiter:
            char = self._peek()
            if not char:
                raise UnparsedProgramError
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == delimiter and delimiter in ".*[]^$+?(){}|&\\":
                    raise UnparsedProgramError  # Versions of sed do not agree on it.
                char = following if following == delimiter else char + following
                self.at += 1
            parts.append(char)
            self.at += 1
        self.at += 1
        return "".join(parts)

    def _parse_substitution(self) -> Substitution:
        """Parse the rest of the command `s`, from its first delimiter on.

        Raises:
            UnparsedProgramError: it has a flag or a construct that is not supported.
        """
        delimiter = self._peek()
        if not delimiter or delimiter in "\\\n":
            raise UnparsedProgramError
        self.at += 1
        pattern = self._parse_delimited(delimiter)
        replacement = self._parse_delimited(delimiter)
        start = self.at
        while self._peek() and self._peek() not in " \t;\n":
            self.at += 1
        flags = self.text[start : self.at]
        if not _NUMERIC_FLAGS.fullmatch(flags) or not pattern:
            raise UnparsedProgramError
        digits = re.findall(r"\d+", flags)
        every = "g" in flags
        if len(digits) > 1 or (digits and every):
            raise UnparsedProgramError
        ignore_case = re.IGNORECASE if "I" in flags or "i" in flags else 0
        compiled = _compile_posix_pattern(pattern, ignore_case, extended=self.extended)
        refuse_empty_matches(compiled, pattern, every=every or bool(digits))
        parts = _parse_sed_replacement(replacement)
        check_groups(compiled, parts)
        return Substitution(compiled, parts, every, int(digits[0]) if digits else 1)

    def _parse_text(self) -> str:
        """Parse the text of `a`, `i` or `c`, which reaches to the end of the program or line.

        The result ends in LF.

        Raises:
            UnparsedProgramError: the text is empty, or has an escape that is not supported.
        """
        self._skip(" \t")
        if self._peek() == "\\":
            self.at += 1
            start = self.at
            self._skip(" \t")
            if self._peek() == "\n":
                self.at += 1
            else:
                self.at = start
        parts = []
        while self._peek() not in ("", "\n"):
            char = self._peek()
            if char == "\\":
                self.at += 1
                char = _SED_TEXT_ESCAPES.get(self._peek(), self._peek())
                if char.isalnum():
                    raise UnparsedProgramError
            parts.append(char)
            self.at += 1
        if not parts:
            raise UnparsedProgramError
        return "".join(parts) + "\n"


_SED_TEXT_ESCAPES = {"t": "\t", "n": "\n"}


def _require_address(address: LineAddress | None) -> LineAddress:
    """Return an address unchanged.

    Raises:
        UnparsedProgramError: the address is None.
    """
    if address is None:
        raise UnparsedProgramError
    return address


def _parse_sed_replacement(text: str) -> tuple[ReplacementPart, ...]:
    r"""Parse the replacement of the command `s`: `&` and `\1` stand for parts of the match.

    Raises:
        UnparsedProgramError: it has an escape that is not supported.
    """
    parts: list[ReplacementPart] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "&":
            parts.append(0)
        elif char != "\\":
            parts.append(char)
        else:
            escaped = text[at : at + 1]
            at += 1
            if escaped.isdigit():
                parts.append(int(escaped))
            elif escaped in ("n", "t"):
                parts.append("\n" if escaped == "n" else "\t")
            elif not escaped or escaped.isalpha():
                raise UnparsedProgramError
            else:
                parts.append(escaped)
    return join_texts(parts)


# --- Patterns of POSIX, for sed ---

_SAME_ESCAPES = frozenset("wWsSbB")
_CHARACTER_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "space": r"\s",
    "blank": r" \t",
    "upper": "A-Z",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
}
_BRACKET = re.compile(r"\[(\^?)(\]?(?:\[:\w+:\]|[^\]])*)\]")
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")


def _compile_posix_pattern(text: str, flags: int, *, extended: bool) -> re.Pattern[str]:
    """Compile a basic or `extended` regular expression of POSIX, with the additions of GNU.

    `flags` are flags of Python's `re`.

    Raises:
        UnparsedProgramError: it has a construct that Python reads in another way.
    """
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "[":
            bracket = _BRACKET.match(text, at)
            if bracket is None:
                raise UnparsedProgramError
            parts.append(_convert_bracket(bracket[1], bracket[2]))
            at = bracket.end()
            continue
        step = 1
        if char == "\\":
            following = text[at + 1 : at + 2]
            step = 2
            parts.append(_convert_posix_escape(following, extended=extended))
        elif char == "*" and (not parts or parts[-1] in ("(", "^", "|")):
            if extended:
                raise UnparsedProgramError
            parts.append(r"\*")
        elif char == "^":
            is_anchor = extended or not parts or parts[-1] in ("(", "|")
            parts.append("^" if is_anchor else r"\^")
        elif char == "$":
            is_anchor = extended or text[at + 1 :] == "" or text[at + 1 : at + 3] in (r"\)", r"\|")
            parts.append(r"\Z" if is_anchor else r"\$")
        elif char == "{" and extended and not _QUANTIFIER.match(text, at):
            parts.append(r"\{")
        elif char in "+?(){}|":
            parts.append(char if extended else "\\" + char)
        elif char in ".*":
            parts.append(char)
        else:
            parts.append(re.escape(char))
        at += step
    return re.compile("".join(parts), flags)


def _convert_posix_escape(char: str, *, extended: bool) -> str:
    """Return an escaped character as Python spells it; `char` is the one after the backslash.

    `extended` tells which marks an escape makes literal.

    Raises:
        UnparsedProgramError: the escape is not supported.
    """
    if char in "+?(){}|" and char:
        return "\\" + char if extended else char
    if char in _SAME_ESCAPES or (char.isdigit() and char != "0"):
        return "\\" + char
    if char in ("n", "t"):
        return "\\" + char
    if char in ("<", ">"):
        return r"\b"
    if not char or char.isalnum() or char in "'`":
        raise UnparsedProgramError
    return re.escape(char)


def _convert_bracket(negation: str, body: str) -> str:
    """Return a bracket expression as Python spells it; `negation` is `^` or empty.

    Raises:
        UnparsedProgramError: it has an unknown class or a backslash.
    """
    parts = []
    for name, char in re.findall(r"\[:(\w+):\]|(.)", body, re.DOTALL):
        if name:
            if name not in _CHARACTER_CLASSES:
                raise UnparsedProgramError
            parts.append(_CHARACTER_CLASSES[name])
        elif char in "[]\\^&~|":
            parts.append("\\" + char)
        else:
            parts.append(char)
    if "\\" in body:
        raise UnparsedProgramError  # GNU's sed reads some escapes here too.
    return f"[{negation}{''.join(parts)}]"


# --- perl -p ---

_PERL_OPTION = re.compile(r"-(0(?:777)?)?([pi]*)(\.\w+)?(e?)")
_PERL_CLOSERS = {"{": "}", "(": ")", "[": "]", "<": ">"}
_PERL_ONLY_PATTERN = re.compile(r"\\[QEUKLRhHvVNXpPGzGlu]|[$@][\w{(]|\(\?[{?#|R&>P]|[*+?}]\+")


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
