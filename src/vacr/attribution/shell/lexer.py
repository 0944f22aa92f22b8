"""A shell script as simple commands. Step: attribute.

Follows the token rules of POSIX (Shell Command Language, 2.2, 2.3, 2.7) as far as a sure answer
needs them. A word whose value only the shell knows (an expansion, a glob, a substitution) is
`None`; a construct that is not read (a loop, a function, a subshell) ends the script with `opaque`.
"""

import re
from dataclasses import dataclass, field

from vacr.attribution.shell.heredocs import EXPANDS, body_at
from vacr.attribution.shell.nesting import passed

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT = re.compile(r"(\d*|&)(<<-|<<<|<<|>>|>\||>&|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_RESERVED = """
if then else elif fi for while until do done case esac function select { } ! [[ time coproc eval source . exec trap exit return
"""
_KEYWORDS = frozenset(_RESERVED.split())
_PLAIN = re.compile(r"[^ \t\n\"'\\$`*?\[{~#;&|()<>]+")
_DOUBLE = re.compile(r"[^\"\\$`]+")
_ENDS = " \t\n;&|()<>"
_ANSI = re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL)


@dataclass(slots=True)
class Redirect:
    """One redirection: its operator, the descriptor, the word after it."""

    operator: str
    descriptor: str
    target: str | None
    body: str | None = None

    @property
    def writes(self) -> bool:
        """Whether what the command prints goes to the target."""
        return self.operator in (">", ">>", ">|") and self.descriptor in ("", "1", "&")


@dataclass(slots=True)
class Command:
    """A simple command: its words, its redirections, and how it is joined to the one before (`""`,
    `;`, `&&`, `||`, `|`).

    `globs` are the patterns of words that are unknown only for their `*` and `?`, by their index.
    """

    joined: str
    words: list[str | None] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    globs: dict[int, str] = field(default_factory=dict)
    assigns: bool = False
    background: bool = False

    @property
    def name(self) -> str:
        """The first word, or nothing where it is not known."""
        return self.words[0] or "" if self.words else ""


@dataclass(slots=True)
class Script:
    """The commands of a script in order; `opaque` when it goes on with something that is not read,
    its text is `unread`.
    """

    commands: list[Command] = field(default_factory=list)
    opaque: bool = False
    unread: str = ""


def parse(text: str) -> Script:
    """Read a script."""
    return _Lexer(text).script()


@dataclass(slots=True)
class _Word:
    """A word while it is read."""

    parts: list[str] = field(default_factory=list)
    known: bool = True
    pattern: bool = False  # an unquoted * or ? is in it
    quoted: bool = False

    @property
    def value(self) -> str | None:
        return "".join(self.parts) if self.known and not self.pattern else None

    @property
    def glob(self) -> str | None:
        return "".join(self.parts) if self.known and self.pattern and not self.quoted else None


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.waiting: list[
            tuple[Redirect, str, bool]
        ] = []  # here-documents whose bodies begin on the next line

    def script(self) -> Script:
        script, joined = Script(), ""
        while True:
            self._blank(lines=True)
            command, start = Command(joined), self.at
            fine = self._fill(command)
            if not fine or (command.words and command.words[0] in _KEYWORDS):
                script.opaque, script.unread = True, self.text[start:]
                return script
            empty = not (command.words or command.redirects or command.assigns)
            if not empty:
                script.commands.append(command)
            if self.at >= len(self.text):
                return script
            operator = _OPERATOR.match(self.text, self.at)
            if operator is None or operator[0] in ("(", ")", ";;") or empty:
                script.opaque, script.unread = True, self.text[start:]
                return script
            self.at = operator.end()
            command.background = operator[0] == "&"
            joined = {"\n": ";", "&": ";", "|&": "|"}.get(operator[0], operator[0])
            if operator[0] == "\n":
                self._bodies()

    def _blank(self, *, lines: bool = False) -> None:
        """Pass over blanks, comments and continued lines, and with `lines` over empty lines too."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\n" and lines:
                self.at += 1
                self._bodies()
            elif char == "\\" and self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _fill(self, command: Command) -> bool:
        """Read words and redirections up to an operator; `False` when the text cannot be read."""
        while True:
            self._blank()
            if self.at >= len(self.text):
                return True
            if self.text.startswith(("<(", ">("), self.at):
                return False
            found = _REDIRECT.match(self.text, self.at)
            if found:
                self.at = found.end()
                if not self._redirect(command, found[1], found[2]):
                    return False
            elif _OPERATOR.match(self.text, self.at):
                return self.text[self.at] not in "()"
            else:
                assigns = not command.words and _ASSIGNMENT.match(self.text, self.at)
                word = self._word()
                if word is None:
                    return False
                if assigns:
                    command.assigns = True
                    continue
                if word.glob is not None:
                    command.globs[len(command.words)] = word.glob
                command.words.append(word.value)

    def _redirect(self, command: Command, descriptor: str, operator: str) -> bool:
        self._blank()
        start = self.at
        word = self._word()
        if word is None or start == self.at:
            return False
        redirect = Redirect(operator, descriptor, word.value)
        command.redirects.append(redirect)
        if operator in ("<<", "<<-"):
            if redirect.target is None:
                return False
            self.waiting.append((redirect, redirect.target, word.quoted))
        return True

    def _bodies(self) -> None:
        for redirect, end, quoted in self.waiting:
            redirect.body, self.at = body_at(
                self.text, self.at, end, quoted=quoted, tabs=redirect.operator == "<<-"
            )
        self.waiting.clear()

    def _word(self) -> _Word | None:
        """Read one word; `None` when its text cannot be read."""
        word, start = _Word(), self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                word.parts.append(plain[0])
                self.at = plain.end()
            elif char in _ENDS:
                break
            elif char in "'\"\\$`":
                if not self._quoted(word, char):
                    return None
            else:
                self._special(word, char, start)
        return word

    def _special(self, word: _Word, char: str, start: int) -> None:
        """Take in a mark that may stand for something else."""
        following = self.text[self.at + 1 : self.at + 2]
        if char in "*?":
            word.pattern = True
        elif char == "[":
            word.known = (
                word.known
                and self.text[start : self.at] in ("", "[")
                and following in ("", "[", *_ENDS)
            )
        elif char == "{":
            word.known = word.known and (
                following in ("", *_ENDS) or (following == "}" and not self._closes_later())
            )
        elif char == "~":
            word.known = word.known and self.at > start and self.text[self.at - 1] not in "=:"
        word.parts.append(char)
        self.at += 1

    def _closes_later(self) -> bool:
        """Tell whether a pair of braces that holds nothing may begin a list: a shell takes the next
        one that closes.
        """
        closes = self.text.find("}", self.at + 2)
        return closes >= 0 and not any(end in self.text[self.at + 2 : closes] for end in " \t\n")

    def _quoted(self, word: _Word, char: str) -> bool:
        if char == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            word.quoted = word.quoted or following != "\n"
            word.parts.append("" if following == "\n" else following or "\\")
            self.at += 2
            return True
        if char in "$`" and not self.text.startswith(("$'", '$"'), self.at):
            return self._expansion(word)
        word.quoted = True
        if char == "'":
            end = self.text.find("'", self.at + 1)
            word.parts.append(self.text[self.at + 1 : end])
            self.at = end + 1
            return end >= 0
        if char == "$":
            word.known = False
            self.at += 1
            return self._ansi() if self.text[self.at] == "'" else True
        return self._double(word)

    def _ansi(self) -> bool:
        """Pass over a quote whose backslashes mean what they mean in C."""
        found = _ANSI.match(self.text, self.at)
        self.at = found.end() if found else len(self.text)
        return found is not None

    def _double(self, word: _Word) -> bool:
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _DOUBLE.match(self.text, self.at)
            if plain:
                word.parts.append(plain[0])
                self.at = plain.end()
            elif char == '"':
                self.at += 1
                return True
            elif char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                word.parts.append(
                    ""
                    if following == "\n"
                    else following
                    if following in ("$", "`", '"', "\\")
                    else char + following
                )
                self.at += 2
            elif not self._expansion(word):
                return False
        return False

    def _expansion(self, word: _Word) -> bool:
        """Step over an expansion; `False` when it does not end."""
        following = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] == "$" and not EXPANDS.match(following):
            word.parts.append("$")
            self.at += 1
            return True
        word.known = False
        if self.text[self.at] == "$" and following not in ("(", "{"):
            self.at += 2
            return following != "["
        end = passed(self.text, self.at)
        self.at = len(self.text) if end is None else end
        return end is not None
