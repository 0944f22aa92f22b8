r"""Programs that edit a text line by line, as `sed` and `perl -p` run them.

A program is a list of commands. Each command applies to the lines that its addresses select, and
substitutes matches, deletes the line, or adds lines. If the text before is known, the program
determines the text after.

    >>> import re
    >>> from vacr.attribution.shell.stream_program import StreamCommand, StreamProgram, Substitution
    >>> substitution = Substitution(re.compile("= (\\d)"), ("= 1", 1))
    >>> program = StreamProgram((StreamCommand("s", substitution=substitution),))
    >>> program.rewrite("x = 2\ny = 3\n")
    'x = 12\ny = 13\n'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacr.edits import split_keeping_ends

ReplacementPart = str | int
"""A part of a replacement: a text, or the number of a group, where 0 is the whole match."""

# A search for `.*` twice may take the square of the length, and so on.
_MAX_SEARCH_STEPS = 300_000_000
_REPETITION = re.compile(r"(?<!\\)[*+]|\{\d+,\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{)")
# A bracket expression that POSIX, GNU and BSD read in the same way. The delimiter is literal in it.
_SED_BRACKET = r"\[\^?+\]?+(?:[^]\[\\\n]|\\[^]\n]|\[:\w+:\]|\[(?![:.=]))*+\]"
_SED_REGEX_PART = rf"\\.|{_SED_BRACKET}|[^\[\\]"


def _make_address_pattern(end: str) -> str:
    """Return a pattern for an address of `sed`; `end` names the group of its own delimiter."""
    own = rf"\\(?P<{end}>[^]\[\\\w\s])(?:(?!(?P={end})|\n)(?:{_SED_REGEX_PART}))*+(?P={end})"
    return rf"(?:\d+(?:~\d+)?|\$|[+~]\d+|(?:/(?:(?![/\n])(?:{_SED_REGEX_PART}))*+/|{own})[IM]*)"


_READING_SED_PROGRAM = re.compile(
    rf"(?:[ \t\n;]*(?:{_make_address_pattern('first')}[ \t]*"
    rf"(?:,[ \t]*{_make_address_pattern('last')})?)?[ \t]*!?[ \t]*"
    r"(?:[{}DdFGgHhNnPpxz=]|[qQlL][ \t]*\d*|[btT][ \t]*[\w-]*|:[ \t]*[\w-]+|\#[^\n]*"
    r"|[aicrR][^\n]*"
    rf"|s(?P<end>[^]\[\\\w\s])(?:(?!(?P=end))(?:{_SED_REGEX_PART}))*+(?P=end)"
    r"(?:\\.|(?!(?P=end))[^\\])*+(?P=end)[gpIiMm\d]*"
    r"|y(?P<stop>[^\\\w\s])(?:\\.|(?!(?P=stop))[^\\])*+(?P=stop)"
    r"(?:\\.|(?!(?P=stop))[^\\])*+(?P=stop))?)*+[ \t\n;]*",
    re.DOTALL,
)


def may_sed_program_write(program: str) -> bool:
    """Return whether a program of `sed` may do more than print: one of its commands is unknown."""
    return _READING_SED_PROGRAM.fullmatch(program) is None


@dataclass(frozen=True, slots=True)
class Substitution:
    """The command `s`: each match (`every`), or only the one with a `number`, becomes a new text.

    An integer in `replacement` is the number of a group; 0 is the whole match.
    """

    pattern: re.Pattern[str]
    replacement: tuple[ReplacementPart, ...]
    every: bool = False
    number: int = 1

    def apply(self, text: str) -> str:
        """Return a text with all matches replaced, or with the match of this number alone.

        A text without that match stays as it is.
        """
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
class LineAddress:
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
class StreamCommand:
    """One command of a sed program, with up to two addresses."""

    name: str
    addresses: list[LineAddress] = field(default_factory=list)
    negated: bool = False
    substitution: Substitution | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class StreamProgram:
    """A program that edits a text line by line."""

    commands: tuple[StreamCommand, ...] = ()
    slurped: tuple[Substitution, ...] = ()
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

    def _edit_line(self, runs: Sequence[_CommandRun], line: str, number: int, count: int) -> str:
        """Return the text that a line becomes: perhaps with lines before and after it, or none.

        `number` is the number of the line, and `count` the number of lines.
        """
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


def _list_texts(substitution: Substitution) -> list[str]:
    """Return the literal texts of a replacement, without its groups."""
    return [part for part in substitution.replacement if isinstance(part, str)]


class _CommandRun:
    """A command of a running program, which knows whether its range of lines is open."""

    def __init__(self, command: StreamCommand) -> None:
        """Start before the first line, with a closed range."""
        self.command = command
        self.is_open = False
        self.is_at_end = True  # Whether the last selected line ended the range.

    def selects(self, line: str, number: int, count: int) -> bool:
        """Return whether the command applies to a line.

        `number` is the number of the line, and `count` the number of lines.
        """
        selected = self._is_in_range(line, number, count)
        return selected != self.command.negated

    def _is_in_range(self, line: str, number: int, count: int) -> bool:
        """Return whether a line is selected by the addresses, and open or close the range.

        `number` is the number of the line, and `count` the number of lines.
        """
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


# --- checks that the parsers of both languages share ---


class UnparsedProgramError(Exception):
    """A program has a construct that is not parsed."""


def require_word(word: str | None) -> str:
    """Return a known word.

    Raises:
        UnparsedProgramError: the word is unknown.
    """
    if word is None:
        raise UnparsedProgramError
    return word


def join_texts(parts: Sequence[ReplacementPart]) -> tuple[ReplacementPart, ...]:
    """Return the parts of a replacement, with texts that follow each other joined."""
    joined: list[ReplacementPart] = []
    for part in parts:
        last = joined[-1] if joined else 0
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        else:
            joined.append(part)
    return tuple(joined)


def check_groups(pattern: re.Pattern[str], parts: Sequence[ReplacementPart]) -> None:
    """Check that a pattern has the groups that a replacement names.

    Raises:
        UnparsedProgramError: a group is missing.
    """
    if any(isinstance(part, int) and part > pattern.groups for part in parts):
        raise UnparsedProgramError


def refuse_empty_matches(pattern: re.Pattern[str], text: str, *, every: bool) -> None:
    """Check that repeated matches are not empty: programs do not agree on where these are.

    `text` is the pattern as the program spells it; `^` and `$` alone are allowed. Unless `every` is
    set, matches are not repeated, and the check passes.

    Raises:
        UnparsedProgramError: the pattern may match an empty text.
    """
    if every and pattern.search("") is not None and text not in ("^", "$"):
        raise UnparsedProgramError
