"""A shell script as simple commands. Step: attribute.

Follows the token rules of POSIX (Shell Command Language, 2.2, 2.3, 2.7) as far as a sure answer needs them. A word whose value
only the shell knows (an expansion, a glob, a substitution) is `None`; a construct that is not read (a loop, a function, a
subshell) ends the script with `opaque`.
"""

import re
from dataclasses import dataclass, field

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT = re.compile(r"(\d*|&)(<<-|<<<|<<|>>|>\||>&|<&|<>|>|<)")
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "select",
        "{",
        "}",
        "!",
        "[[",
        "time",
        "coproc",
        "eval",
        "source",
        ".",
        "exec",
        "trap",
    ]
)
_PLAIN = re.compile(r"[^\s\"'\\$`*?\[{~#;&|()<>!=]+")


@dataclass(slots=True)
class Redirect:
    """One redirection: its operator, the descriptor, the word after it."""

    operator: str
    descriptor: str
    target: str | None
    body: str | None = None


@dataclass(slots=True)
class Command:
    """A simple command: its words, its redirections, and how it is joined to the one before (`""`, `;`, `&&`, `||`, `|`)."""

    joined: str
    words: list[str | None] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Script:
    """The commands of a script in order; `opaque` when it goes on with something that is not read."""

    commands: list[Command] = field(default_factory=list)
    opaque: bool = False


def parse(text: str) -> Script:
    """Read a script."""
    return _Lexer(text).script()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.waiting: list[tuple[Redirect, str, bool]] = []  # here-documents whose bodies begin on the next line

    def script(self) -> Script:
        script, joined = Script(), ""
        while True:
            self._blank()
            command = Command(joined)
            if not self._fill(command) or (command.words and command.words[0] in _KEYWORDS):
                script.opaque = True
                return script
            if command.words or command.redirects:
                script.commands.append(command)
            if self.at >= len(self.text):
                return script
            operator = _OPERATOR.match(self.text, self.at)
            if operator is None or operator[0] in ("(", ")", ";;"):
                script.opaque = True
                return script
            self.at = operator.end()
            joined = {"\n": ";", "&": ";", "|&": "|"}.get(operator[0], operator[0])
            if operator[0] == "\n":
                self._bodies()

    def _blank(self) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "\n":
                self.at += 1
                self._bodies()
            elif char == "\\" and self.text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _fill(self, command: Command) -> bool:
        """Read words and redirections up to an operator; `False` when the text cannot be read."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "\\" and self.text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif (found := _REDIRECT.match(self.text, self.at)) and not self.text.startswith(("<(", ">("), self.at):
                self.at = found.end()
                if not self._redirect(command, found[1], found[2]):
                    return False
            elif _OPERATOR.match(self.text, self.at) or self.text.startswith(("<(", ">("), self.at):
                return char not in "()<>"
            else:
                word, fine = self._word()
                if not fine:
                    return False
                command.words.append(word)
        return True

    def _redirect(self, command: Command, descriptor: str, operator: str) -> bool:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        start = self.at
        target, fine = self._word()
        if not fine or start == self.at:
            return False
        redirect = Redirect(operator, descriptor, target)
        command.redirects.append(redirect)
        if operator in ("<<", "<<-"):
            raw = self.text[start : self.at]
            quoted = any(mark in raw for mark in "'\"\\")
            if target is None:
                return False
            self.waiting.append((redirect, target, quoted))
        return True

    def _bodies(self) -> None:
        for redirect, end, quoted in self.waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                if redirect.operator == "<<-":
                    line = line.lstrip("\t")
                if line == end:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            redirect.body = body if quoted else _expanded(body)
        self.waiting.clear()

    def _word(self) -> tuple[str | None, bool]:
        """Read one word; gives its value, `None` where only the shell knows it, and whether its text could be read."""
        parts: list[str] = []
        known, start = True, self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                parts.append(plain[0])
                self.at = plain.end()
            elif char == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    return None, False
                parts.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                value, fine = self._double()
                if not fine:
                    return None, False
                known = known and value is not None
                parts.append(value or "")
            elif char == "\\":
                parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char in "$`":
                known = False
                if not self._substitution():
                    return None, False
            elif char in " \t\r\n;&|()<>":
                break
            else:
                known = known and (char in "=#" or (char in "{~!" and self.at > start and char != "{"))
                parts.append(char)
                self.at += 1
        return ("".join(parts) if known else None), True

    def _double(self) -> tuple[str | None, bool]:
        parts: list[str] = []
        known = True
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return ("".join(parts) if known else None), True
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                following = self.text[self.at + 1]
                parts.append("" if following == "\n" else following)
                self.at += 2
            elif char in "$`":
                known = False
                if not self._substitution():
                    return None, False
            else:
                parts.append(char)
                self.at += 1
        return None, False

    def _substitution(self) -> bool:
        """Step over an expansion; `False` when it does not end."""
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            self.at = end + 1
            return end >= 0
        following = self.text[self.at + 1 : self.at + 2]
        if following not in ("(", "{"):
            self.at += 2 if following and not following.isspace() and following not in "\"'" else 1
            return True
        opening, closing, depth = following, ")" if following == "(" else "}", 0
        for at in range(self.at + 1, len(self.text)):
            depth += (self.text[at] == opening) - (self.text[at] == closing)
            if not depth:
                self.at = at + 1
                return True
        return False


def _expanded(body: str) -> str | None:
    """Give the body of a here-document whose delimiter is not quoted, where the shell would not change it."""
    if "$" in body or "`" in body:
        return None
    return re.sub(r"\\([\\\n])", lambda found: "" if found[1] == "\n" else "\\", body)
