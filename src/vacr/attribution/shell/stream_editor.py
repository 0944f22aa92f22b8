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
    >>> parse_stream_edit(["sed", "-i", "N;s/a/b/", "a.py"]) is None
    True
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from vacr.edits import split_keeping_ends

_Part = str | int
"""A part of a replacement: a text, or the number of a group, where 0 is the whole match."""

# A search for `.*` twice may take the square of the length, and so on.
_MAX_SEARCH_STEPS = 300_000_000
_REPETITION = re.compile(r"(?<!\\)[*+]|\{\d+,\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{)")


@dataclass(frozen=True, slots=True)
class _Substitution:
    """The command `s`: each match, or only the one with a number, becomes a new text."""

    pattern: re.Pattern[str]
    replacement: tuple[_Part, ...]
    every: bool = False
    number: int = 1

    def apply(self, text: str) -> str:
        """Return a text with the matches replaced."""
        parts, at = [], 0
        for number, match in enumerate(self.pattern.finditer(text), 1):
            if not self.every and number < self.number:
                continue
            parts.append(text[at : match.start()])
            parts += [
                part if isinstance(part, str) else match[part] or "" for part in self.replacement
            ]
            at = match.end()
            if not self.every:
                break
        return "".join((*parts, text[at:]))


@dataclass(frozen=True, slots=True)
class _Address:
    """The lines that a command applies to: a line number, the last line, or a pattern."""

    number: int = 0
    last: bool = False
    pattern: re.Pattern[str] | None = None

    def matches(self, line: str, number: int, count: int) -> bool:
        """Return whether it selects a line; `count` is the number of lines of the file."""
        if self.pattern is not None:
            return self.pattern.search(line) is not None
        return number == (count if self.last else self.number)


@dataclass(slots=True)
class _SedCommand:
    """One command of a sed program, with up to two addresses."""

    name: str
    addresses: list[_Address] = field(default_factory=list)
    negated: bool = False
    substitution: _Substitution | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class StreamProgram:
    """A program that edits a text line by line."""

    commands: tuple[_SedCommand, ...] = ()
    slurped: tuple[_Substitution, ...] = ()
    """Substitutions in the whole text at once."""
    keeps_ends: bool = False
    """Whether a line has its line end when the program edits it, as in Perl."""

    @property
    def by_line(self) -> bool:
        """Whether the new text of each line depends on that line alone, and stays one line."""
        return not self.slurped and all(
            command.substitution is not None
            and not command.addresses[1:]
            and all(address.pattern is not None for address in command.addresses)
            and not any("\n" in part for part in _list_texts(command.substitution))
            for command in self.commands
        )

    def rewrite(self, text: str) -> str | None:
        """Return the new text, or `None` if the program does not determine it.

        Return `None` also if the search might take long.
        """
        lines = [text] if self.slurped else split_keeping_ends(text)
        degree = max(map(_count_repetitions, self._list_patterns()), default=1)
        if sum(len(line) ** degree for line in lines) > _MAX_SEARCH_STEPS:
            return None
        if self.slurped:
            for substitution in self.slurped:
                text = substitution.apply(text)
            return text
        adds_lines = any(command.substitution is None for command in self.commands)
        if adds_lines and text and not text.endswith("\n"):
            return None
        runs = [_CommandRun(command) for command in self.commands]
        return "".join(
            self._edit_line(runs, line, number, len(lines)) for number, line in enumerate(lines, 1)
        )

    def _list_patterns(self) -> list[str]:
        """Return the patterns of the program, as Python spells them."""
        substitutions = [*self.slurped, *(command.substitution for command in self.commands)]
        addresses = [address for command in self.commands for address in command.addresses]
        patterns = [address.pattern for address in addresses if address.pattern is not None]
        patterns += [item.pattern for item in substitutions if item is not None]
        return [pattern.pattern for pattern in patterns]

    def _edit_line(self, runs: "Sequence[_CommandRun]", line: str, number: int, count: int) -> str:
        """Return the text that a line becomes: perhaps with lines before and after it, or none."""
        ended = line.endswith("\n") and not self.keeps_ends
        space = line[:-1] if ended else line
        before, after = "", ""
        for run in runs:
            if not run.selects(space, number, count):
                continue
            command = run.command
            if command.substitution is not None:
                space = command.substitution.apply(space)
            elif command.name == "i":
                before += command.text
            elif command.name == "a":
                after += command.text
            else:
                return before + (command.text if run.is_at_end else "") + after
        return before + space + ("\n" if ended else "") + after


def _count_repetitions(pattern: str) -> int:
    """Return how many parts of a pattern may repeat, at least 1; a group that repeats is many."""
    nested = len(_REPEATED_GROUP.findall(pattern))
    return max(1, len(_REPETITION.findall(pattern)) + 10 * nested)


def _list_texts(substitution: _Substitution) -> list[str]:
    """Return the literal texts of a replacement."""
    return [part for part in substitution.replacement if isinstance(part, str)]


class _CommandRun:
    """A command of a running program, which knows whether its range of lines is open."""

    def __init__(self, command: _SedCommand) -> None:
        self.command = command
        self.is_open = False
        self.is_at_end = True  # Whether the last selected line ended the range.

    def selects(self, line: str, number: int, count: int) -> bool:
        """Return whether the command applies to a line."""
        selected = self._is_in_range(line, number, count)
        return selected != self.command.negated

    def _is_in_range(self, line: str, number: int, count: int) -> bool:
        """Return whether a line is selected by the addresses, and open or close the range."""
        addresses = self.command.addresses
        if not addresses:
            return True
        first, last = addresses[0], addresses[-1]
        if len(addresses) == 1:
            return first.matches(line, number, count)
        if self.is_open:
            self.is_open = not last.matches(line, number, count) and number < count
            is_past = bool(last.number) and number > last.number
            self.is_open = self.is_open and not is_past
            self.is_at_end = not self.is_open
            return not is_past
        if not first.matches(line, number, count):
            return False
        is_single = (last.number and last.number <= number) or (last.last and number == count)
        self.is_open = not is_single and number < count
        self.is_at_end = not self.is_open
        return True


@dataclass(frozen=True, slots=True)
class StreamEdit:
    """A command that edits files in place: its program, and the files and patterns it names."""

    program: StreamProgram
    files: list[str]


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
    except (_UnparsedProgramError, re.error):
        return None
    return None


class _UnparsedProgramError(Exception):
    """A program has a construct that is not parsed."""


# --- sed ---

_SED_SHORT_OPTIONS = re.compile(r"-([Ersu]*)(i(\S*))?")
_NUMERIC_FLAGS = re.compile(r"(?:[gIi]|[1-9]\d*)*")


def _parse_sed_command_line(words: list[str | None]) -> StreamEdit:
    """Parse the arguments of `sed -i`.

    Raises:
        _UnparsedProgramError: an option or the program is not known.
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
            scripts.append(_require(words[at]))
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
                raise _UnparsedProgramError
            extended = extended or "E" in option[1] or "r" in option[1]
            if option[2]:
                in_place = True
                if not option[3] and words[at : at + 1] == [""]:
                    bsd, at = True, at + 1  # The empty suffix of BSD's sed is a word of its own.
    if not in_place:
        raise _UnparsedProgramError
    if not scripts:
        scripts, files = [_require(files[0] if files else None)], files[1:]
    if bsd and any("\\" in script for script in scripts):
        raise _UnparsedProgramError  # BSD's sed has other escapes.
    commands = [
        command
        for script in scripts
        for command in _SedParser(script, extended=extended).parse_commands()
    ]
    return StreamEdit(StreamProgram(tuple(commands)), [file for file in files if file is not None])


def _require(word: str | None) -> str:
    """Return a known word.

    Raises:
        _UnparsedProgramError: the word is unknown.
    """
    if word is None:
        raise _UnparsedProgramError
    return word


class _SedParser:
    """A position in the text of a sed program."""

    def __init__(self, text: str, *, extended: bool) -> None:
        self.text = text
        self.extended = extended
        self.at = 0

    def parse_commands(self) -> Iterator[_SedCommand]:
        """Yield the commands of the program.

        Raises:
            _UnparsedProgramError: a command is not supported.
        """
        while True:
            self._skip(" \t\n;")
            if self.at >= len(self.text):
                return
            command = _SedCommand("")
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
                    raise _UnparsedProgramError
                command.text = self._parse_text()
            elif command.name != "d":
                raise _UnparsedProgramError
            self._skip(" \t")
            if self._peek() not in ("", ";", "\n"):
                raise _UnparsedProgramError
            yield command

    def _peek(self) -> str:
        """Return the next character, or an empty string at the end."""
        return self.text[self.at : self.at + 1]

    def _skip(self, chars: str) -> None:
        """Step over these characters."""
        while self._peek() and self._peek() in chars:
            self.at += 1

    def _parse_address(self) -> _Address | None:
        """Parse a line number, `$` or a pattern between slashes; return `None` without one."""
        char = self._peek()
        if char == "$":
            self.at += 1
            return _Address(last=True)
        if char.isdigit():
            start = self.at
            self._skip("0123456789")
            number = int(self.text[start : self.at])
            if not number or self._peek() == "~":
                raise _UnparsedProgramError
            return _Address(number)
        if char != "/":
            return None
        self.at += 1
        pattern = self._parse_delimited("/")
        flags = re.IGNORECASE if self._peek() == "I" else 0
        self.at += bool(flags)
        if not pattern:
            raise _UnparsedProgramError  # It stands for the last pattern that was used.
        return _Address(pattern=_compile_posix_pattern(pattern, flags, extended=self.extended))

    def _parse_delimited(self, delimiter: str) -> str:
        """Return the text up to the next delimiter; an escaped delimiter stands for itself."""
        parts = []
        while self._peek() != delimiter:
            char = self._peek()
            if not char:
                raise _UnparsedProgramError
            if char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                if following == delimiter and delimiter in ".*[]^$+?(){}|&\\":
                    raise _UnparsedProgramError  # Versions of sed do not agree on it.
                char = following if following == delimiter else char + following
                self.at += 1
            parts.append(char)
            self.at += 1
        self.at += 1
        return "".join(parts)

    def _parse_substitution(self) -> _Substitution:
        """Parse the rest of the command `s`."""
        delimiter = self._peek()
        if not delimiter or delimiter in "\\\n":
            raise _UnparsedProgramError
        self.at += 1
        pattern = self._parse_delimited(delimiter)
        replacement = self._parse_delimited(delimiter)
        start = self.at
        while self._peek() and self._peek() not in " \t;\n":
            self.at += 1
        flags = self.text[start : self.at]
        if not _NUMERIC_FLAGS.fullmatch(flags) or not pattern:
            raise _UnparsedProgramError
        digits = re.findall(r"\d+", flags)
        every = "g" in flags
        if len(digits) > 1 or (digits and every):
            raise _UnparsedProgramError
        ignore_case = re.IGNORECASE if "I" in flags or "i" in flags else 0
        compiled = _compile_posix_pattern(pattern, ignore_case, extended=self.extended)
        _refuse_empty_matches(compiled, pattern, every=every or bool(digits))
        parts = _parse_sed_replacement(replacement)
        _check_groups(compiled, parts)
        return _Substitution(compiled, parts, every, int(digits[0]) if digits else 1)

    def _parse_text(self) -> str:
        """Parse the text of `a`, `i` or `c`, which reaches to the end of the program or line."""
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
                    raise _UnparsedProgramError
            parts.append(char)
            self.at += 1
        if not parts:
            raise _UnparsedProgramError
        return "".join(parts) + "\n"


_SED_TEXT_ESCAPES = {"t": "\t", "n": "\n"}


def _require_address(address: _Address | None) -> _Address:
    """Return an address.

    Raises:
        _UnparsedProgramError: there is none.
    """
    if address is None:
        raise _UnparsedProgramError
    return address


def _parse_sed_replacement(text: str) -> tuple[_Part, ...]:
    """Parse the replacement of the command `s`: `&` and `\\1` stand for parts of the match."""
    parts: list[_Part] = []
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
                raise _UnparsedProgramError
            else:
                parts.append(escaped)
    return _join_texts(parts)


def _join_texts(parts: Sequence[_Part]) -> tuple[_Part, ...]:
    """Return the parts of a replacement, with texts that follow each other joined."""
    joined: list[_Part] = []
    for part in parts:
        last = joined[-1] if joined else 0
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        else:
            joined.append(part)
    return tuple(joined)


def _check_groups(pattern: re.Pattern[str], parts: Sequence[_Part]) -> None:
    """Check that a pattern has the groups that a replacement names.

    Raises:
        _UnparsedProgramError: a group is missing.
    """
    if any(isinstance(part, int) and part > pattern.groups for part in parts):
        raise _UnparsedProgramError


def _refuse_empty_matches(pattern: re.Pattern[str], text: str, *, every: bool) -> None:
    """Check that repeated matches are not empty: programs do not agree on where these are.

    Raises:
        _UnparsedProgramError: the pattern may match an empty text.
    """
    if every and pattern.search("") is not None and text not in ("^", "$"):
        raise _UnparsedProgramError


# --- patterns of POSIX ---

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

    Raises:
        _UnparsedProgramError: it has a construct that Python reads in another way.
    """
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "[":
            bracket = _BRACKET.match(text, at)
            if bracket is None:
                raise _UnparsedProgramError
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
                raise _UnparsedProgramError
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
    """Return an escaped character as Python spells it."""
    if char in "+?(){}|" and char:
        return "\\" + char if extended else char
    if char in _SAME_ESCAPES or (char.isdigit() and char != "0"):
        return "\\" + char
    if char in ("n", "t"):
        return "\\" + char
    if char in ("<", ">"):
        return r"\b"
    if not char or char.isalnum() or char in "'`":
        raise _UnparsedProgramError
    return re.escape(char)


def _convert_bracket(negation: str, body: str) -> str:
    """Return a bracket expression as Python spells it; a backslash stands for itself in it."""
    parts = []
    for name, char in re.findall(r"\[:(\w+):\]|(.)", body, re.DOTALL):
        if name:
            if name not in _CHARACTER_CLASSES:
                raise _UnparsedProgramError
            parts.append(_CHARACTER_CLASSES[name])
        elif char in "[]\\^&~|":
            parts.append("\\" + char)
        else:
            parts.append(char)
    if "\\" in body:
        raise _UnparsedProgramError  # GNU's sed reads some escapes here too.
    return f"[{negation}{''.join(parts)}]"


# --- perl ---

_PERL_OPTION = re.compile(r"-(0(?:777)?)?([pi]*)(\.\w+)?(e?)")
_PERL_CLOSERS = {"{": "}", "(": ")", "[": "]", "<": ">"}
_PERL_ONLY_PATTERN = re.compile(r"\\[QEUKLRhHvVNXpPGzGlu]|[$@][\w{(]|\(\?[{?#|R&>P]|[*+?}]\+")


def _parse_perl_command_line(words: list[str | None]) -> StreamEdit:
    """Parse the arguments of `perl -pi -e PROGRAM FILE…`.

    Raises:
        _UnparsedProgramError: an option or the program is not known.
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
            raise _UnparsedProgramError
        slurps = slurps or bool(option[1])
        options += option[2]
        if option[4]:
            scripts.append(_require(words[at] if at < len(words) else None))
            at += 1
    if "p" not in options or "i" not in options or not scripts:
        raise _UnparsedProgramError
    substitutions = [
        substitution for script in scripts for substitution in _parse_perl_program(script)
    ]
    files = [file for file in words[at:] if file is not None]
    if slurps:
        return StreamEdit(StreamProgram(slurped=tuple(substitutions)), files)
    commands = tuple(_SedCommand("s", substitution=item) for item in substitutions)
    return StreamEdit(StreamProgram(commands, keeps_ends=True), files)


def _parse_perl_program(text: str) -> Iterator[_Substitution]:
    """Yield the substitutions of a program that has nothing else.

    Raises:
        _UnparsedProgramError: it has other statements, or a pattern that Python reads differently.
    """
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\n;":
            at += 1
        if at >= len(text):
            return
        if text[at] != "s" or text[at + 1 : at + 2].isalnum() or not text[at + 1 : at + 2].strip():
            raise _UnparsedProgramError
        pattern, after = _read_perl_part(text, at + 1)
        opener = text[at + 1]
        begin = after if opener in _PERL_CLOSERS else after - 1
        replacement, at = _read_perl_part(text, begin)
        flags = re.match(r"[a-z]*", text[at:])
        names = flags[0] if flags else ""
        at += len(names)
        if set(names) - set("gims") or opener == "'" or not pattern:
            raise _UnparsedProgramError
        if _PERL_ONLY_PATTERN.search(pattern):
            raise _UnparsedProgramError
        options = sum(
            {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}[name]
            for name in set(names) - {"g"}
        )
        compiled = re.compile(pattern, options)
        _refuse_empty_matches(compiled, pattern, every="g" in names)
        parts = _parse_perl_replacement(replacement)
        _check_groups(compiled, parts)
        yield _Substitution(compiled, parts, "g" in names)


def _read_perl_part(text: str, at: int) -> tuple[str, int]:
    """Return the text between the delimiters at an offset, and the offset after it.

    Raises:
        _UnparsedProgramError: the text does not end, or brackets in it are not balanced.
    """
    opener = text[at : at + 1]
    closer = _PERL_CLOSERS.get(opener, opener)
    if not opener:
        raise _UnparsedProgramError
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
    raise _UnparsedProgramError


def _parse_perl_replacement(text: str) -> tuple[_Part, ...]:
    """Parse a replacement, where `$1` and `${1}` stand for groups, and `$&` for the match."""
    parts: list[_Part] = []
    at = 0
    while at < len(text):
        group = re.compile(r"\$(?:(\d)(?!\d)|\{(\d)\}|(&))").match(text, at)
        char = text[at]
        if group:
            parts.append(int(group[1] or group[2] or 0))
            at = group.end()
            continue
        if char in "$@" and re.match(r"[\w{(:]", text[at + 1 : at + 2]):
            raise _UnparsedProgramError
        at += 1
        if char == "\\":
            escaped = text[at : at + 1]
            at += 1
            if escaped in ("n", "t"):
                parts.append("\n" if escaped == "n" else "\t")
            elif escaped.isdigit():
                parts.append(int(escaped))
            elif not escaped or escaped.isalpha():
                raise _UnparsedProgramError
            else:
                parts.append(escaped)
        else:
            parts.append(char)
    return _join_texts(parts)
