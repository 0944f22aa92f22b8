"""The bodies of here-documents. Step: attribute. Follows Shell Command Language, 2.7.4.

The end of an expansion, however deep it nests. Step: attribute.

Follows Shell Command Language, 2.2.3 and 2.6.3. One pass with a stack of its own, so that neither
depth nor length can hurt.

A shell script as simple commands. Step: attribute.

Follows the token rules of POSIX (Shell Command Language, 2.2, 2.3, 2.7) as far as a sure answer
needs them. A word whose value only the shell knows (an expansion, a glob, a substitution) is
`None`; a construct that is not read (a loop, a function, a subshell) ends the script with `opaque`.

A PowerShell script as simple commands, where it is as plain as one of a POSIX shell. Step:
attribute.
"""

import re
from dataclasses import dataclass, field

# What makes an expansion of the dollar sign before it.
EXPANSION_START = re.compile(r"[A-Za-z0-9_{(\[@*#?$!-]")
_HEREDOC_ESCAPE = re.compile(r"\\([\\$`\n])|([$`])")


def parse_heredoc_body(
    text: str, at: int, end: str, *, quoted: bool, tabs: bool
) -> tuple[str | None, int]:
    """Read a body up to its delimiter; gives it as the command reads it, or `None`, and the place
    after it.
    """
    lines: list[str] = []
    goes_on = unsure = False
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line, at = text[at:stop], min(stop + 1, len(text))
        if tabs:
            unsure = (
                unsure or goes_on
            )  # whether the tabs of a continued line are taken away, shells do not agree
            line = line.lstrip("\t")
        if line == end and not goes_on:
            body = "".join(lines)
            return None if unsure else body if quoted else _unescape_heredoc_body(body), at
        lines.append(line + "\n")
        goes_on = not quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
    return None, at


def _unescape_heredoc_body(body: str) -> str | None:
    """Give the body of a here-document whose delimiter is not quoted; `None` where it holds an
    expansion.
    """
    out, at = [], 0
    for found in _HEREDOC_ESCAPE.finditer(body):
        if found[2] == "`" or (
            found[2] and EXPANSION_START.match(body[found.end() : found.end() + 1])
        ):
            return None
        out += [body[at : found.start()], "" if found[1] == "\n" else found[1] or "$"]
        at = found.end()
    return "".join((*out, body[at:]))


_HEREDOC_OPERATOR = re.compile(
    r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|\\?([A-Za-z_][A-Za-z0-9_]*))"
)
_SIMPLE_ARITHMETIC = re.compile(r"\$\(\([^()'\"`$\\\n]*\)\)")
_NESTING_MARK = re.compile(r"[\"'\\$`(){}#\n<]|\bcase\b")
_WORD_SEPARATORS = " \t\n;&|("

PendingHeredoc = tuple[str, str]  # the operator's dash, the delimiter


def find_expansion_end(text: str, at: int) -> int | None:
    """Give the place after the expansion that begins at `at` with `$` or a backquote; `None` when
    that is not certain.
    """
    simple = _SIMPLE_ARITHMETIC.match(text, at)
    if simple:
        return simple.end()
    return _ExpansionScanner(text, at).end()


class _ExpansionScanner:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.closers: list[str] = []
        self.waiting: list[PendingHeredoc] = []
        self.quoted_back = False  # inside backquotes, where a second one always closes

    def end(self) -> int | None:
        if not self._open():
            return None
        while self.closers:
            found = _NESTING_MARK.search(self.text, self.at)
            if found is None:
                return None
            self.at = found.start()
            if not self._step(found[0]):
                return None
        return None if self.waiting else self.at

    def _open(self) -> bool:
        """Enter the expansion at the place; a `$` that opens nothing is passed over."""
        following = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] == "`":
            if self.quoted_back:
                return False
            self.quoted_back = True
            self.closers.append("`")
            self.at += 1
        elif following in ("(", "{") and following:
            if self.text.startswith("$((", self.at):
                return False
            self.closers.append(")" if following == "(" else "}")
            self.at += 2
        else:
            self.at += 1
        return True

    def _step(self, char: str) -> bool:
        top = self.closers[-1]
        if char == "\\":
            self.at += 2
            return True
        if char == top:
            self.closers.pop()
            self.quoted_back = self.quoted_back and char != "`"
            self.at += 1
            return True
        if char in "$`":
            return self._open()
        if top == '"' or (top == "}" and char not in "'\""):
            self.at += len(char)
            return True
        return self._plain(char, top)

    def _plain(self, char: str, top: str) -> bool:
        """Step over a mark that means something outside of quotes."""
        if char == '"':
            self.closers.append('"')
        elif char == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0 or top == "}":
                return False
            self.at = end
        elif char == "case":
            return False
        elif char == "(":
            self.closers.append(")")
        elif char == "#" and self.text[self.at - 1] in _WORD_SEPARATORS:
            end = self.text.find("\n", self.at)
            if end < 0 or top == "`":
                return False
            self.at = end - 1
        elif char == "<" and self.text.startswith("<<", self.at):
            return self._here(top)
        elif char == "\n" and self.waiting:
            return self._bodies()
        self.at += 1
        return True

    def _here(self, top: str) -> bool:
        if self.text.startswith("<<<", self.at):
            self.at += 3
            return True
        found = _HEREDOC_OPERATOR.match(self.text, self.at)
        if found is None or top == "`":
            return False
        self.waiting.append((found[1], found[2] or found[3] or found[4]))
        self.at = found.end()
        return True

    def _bodies(self) -> bool:
        self.at += 1
        for dash, delimiter in self.waiting:
            while True:
                stop = self.text.find("\n", self.at)
                if stop < 0:
                    return False
                line, self.at = self.text[self.at : stop], stop + 1
                if (line.lstrip("\t") if dash else line) == delimiter:
                    break
        self.waiting.clear()
        self.at -= 1  # the newline before what follows begins a word
        return True


_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT_OPERATOR = re.compile(r"(\d*|&)(<<-|<<<|<<|>>|>\||>&|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_KEYWORD_NAMES = """
if then else elif fi for while until do done case esac function select { } ! [[ time coproc eval source . exec trap exit return
"""
_KEYWORDS = frozenset(_KEYWORD_NAMES.split())
_UNQUOTED_TEXT = re.compile(r"[^ \t\n\"'\\$`*?\[{~#;&|()<>]+")
_DOUBLE_QUOTED_TEXT = re.compile(r"[^\"\\$`]+")
_WORD_ENDS = " \t\n;&|()<>"
_ANSI_C_QUOTE = re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL)


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
class ShellCommand:
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
class ShellScript:
    """The commands of a script in order; `opaque` when it goes on with something that is not read,
    its text is `unread`.
    """

    commands: list[ShellCommand] = field(default_factory=list)
    opaque: bool = False
    unread: str = ""


def parse_shell_script(text: str) -> ShellScript:
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

    def script(self) -> ShellScript:
        script, joined = ShellScript(), ""
        while True:
            self._blank(lines=True)
            command, start = ShellCommand(joined), self.at
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

    def _fill(self, command: ShellCommand) -> bool:
        """Read words and redirections up to an operator; `False` when the text cannot be read."""
        while True:
            self._blank()
            if self.at >= len(self.text):
                return True
            if self.text.startswith(("<(", ">("), self.at):
                return False
            found = _REDIRECT_OPERATOR.match(self.text, self.at)
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

    def _redirect(self, command: ShellCommand, descriptor: str, operator: str) -> bool:
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
            redirect.body, self.at = parse_heredoc_body(
                self.text, self.at, end, quoted=quoted, tabs=redirect.operator == "<<-"
            )
        self.waiting.clear()

    def _word(self) -> _Word | None:
        """Read one word; `None` when its text cannot be read."""
        word, start = _Word(), self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _UNQUOTED_TEXT.match(self.text, self.at)
            if plain:
                word.parts.append(plain[0])
                self.at = plain.end()
            elif char in _WORD_ENDS:
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
                and following in ("", "[", *_WORD_ENDS)
            )
        elif char == "{":
            word.known = word.known and (
                following in ("", *_WORD_ENDS) or (following == "}" and not self._closes_later())
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
        found = _ANSI_C_QUOTE.match(self.text, self.at)
        self.at = found.end() if found else len(self.text)
        return found is not None

    def _double(self, word: _Word) -> bool:
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _DOUBLE_QUOTED_TEXT.match(self.text, self.at)
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
        if self.text[self.at] == "$" and not EXPANSION_START.match(following):
            word.parts.append("$")
            self.at += 1
            return True
        word.known = False
        if self.text[self.at] == "$" and following not in ("(", "{"):
            self.at += 2
            return following != "["
        end = find_expansion_end(self.text, self.at)
        self.at = len(self.text) if end is None else end
        return end is not None


_POWERSHELL_TOKEN = re.compile(
    r"[ \t]+|(?P<single>'(?:[^'\n]|'')*+')|(?P<double>\"[^\"\n$`]*\")|(?P<operator>;|\r?\n|\|)"
    r"|(?P<merge>2>(?:&1|\$null))|(?P<word>[^\s;|&$`'\"(){}@<>,#]+)"
)


def parse_powershell_script(text: str) -> ShellScript:
    """Read a script up to the first thing that is more than words, quotes, `;` and `|`."""
    script, command, at = ShellScript(), ShellCommand(""), 0
    blank = True
    while at < len(text):
        token = _POWERSHELL_TOKEN.match(text, at)
        after_blank, blank = blank, token is not None and token.lastgroup is None
        if token is None or (
            token.lastgroup in ("single", "double", "word") and not after_blank and command.words
        ):
            script.opaque = True
            return script
        at = token.end()
        if token.lastgroup == "operator":
            blank = True
            if command.words:
                script.commands.append(command)
            command = ShellCommand("|" if token[0] == "|" else ";")
        elif token.lastgroup == "merge":
            command.redirects.append(Redirect(">&", "2", "1"))
        elif token.lastgroup is not None:
            command.words.append(_unquote_powershell_word(token[0]))
    if command.words:
        script.commands.append(command)
    return script


def _unquote_powershell_word(token: str) -> str:
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    return token[1:-1] if token.startswith('"') else token
