"""Shell scripts parsed into simple commands, as far as their text alone determines them.

The parser follows the token rules of POSIX (Shell Command Language, 2.2, 2.3, 2.6 and 2.7). A word
whose value only the shell knows (an expansion, a glob, a substitution) is `None`, unless it is a
variable that the script itself has set to a known text. A construct that is not parsed (a loop, a
function, a subshell) makes the rest of the script `opaque`. PowerShell is parsed only where it is
as plain as a POSIX script.

    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> script = parse_shell_script("cd src && cat $NAME > 'a b'; for f in *; do rm $f; done")
    >>> [(command.joined, command.words) for command in script.commands]
    [('', ['cd', 'src']), ('&&', ['cat', None])]
    >>> script.commands[1].redirects[0].target, script.opaque, script.unread
    ('a b', True, 'for f in *; do rm $f; done')
    >>> parse_shell_script('OUT=/tmp/x; cat "$OUT/a.txt"').commands[1].words
    ['cat', '/tmp/x/a.txt']

A word with an unknown value still has a `shape`: its known text, with `UNKNOWN_PART` in place of
what only the shell knows. The commands inside of a construct that is not parsed are listed by
`parse_inner_commands`; nothing shows which of them ran.

    >>> from vacr.attribution.shell.parser import parse_inner_commands
    >>> [command.words for command in parse_inner_commands('for f in *; do rm "$f"; done')[0]]
    [['rm', None]]
    >>> parse_shell_script("rm src/{a,b}.py *.txt").commands[0].shapes[1]
    ('src/a.py', 'src/b.py')
"""

import re
from dataclasses import dataclass, field

from vacr.attribution.shell.expansions import (
    EXPANSION_START,
    find_expansion_end,
    parse_heredoc_body,
)

_OPERATOR = re.compile(r"&&|\|\||;;|\|&|[;|&\n()]")
_REDIRECT_OPERATOR = re.compile(r"(\d*|&)(<<-|<<<|<<|>>|>\||>&|<&|<>|>|<)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_KEYWORD_NAMES = """
if then else elif fi for while until do done case esac function select { } ! [[ time coproc
eval source . exec trap exit return
"""
_KEYWORDS = frozenset(_KEYWORD_NAMES.split())
# These begin something else than a simple command; the words after them are no command either.
_HEADER_KEYWORDS = frozenset(["for", "case", "select", "function", "[[", "return", "exit", "esac"])
UNKNOWN_PART = "\0"
"""Stands for any text in the shape of a word."""
WILDCARD_PART = "\1"
"""Stands for a wildcard in the shape of a word: any text, below the folder before it."""
_OPEN_BRACKET = "\2"
_OPEN_BRACE = "\3"
_BRACKET_SHAPE = re.compile(rf"{_OPEN_BRACKET}[^\]]*\]")
_BRACE_SHAPE = re.compile(rf"{_OPEN_BRACE}(?:.*\}})?", re.DOTALL)
_BRACE_LIST = re.compile(rf"{_OPEN_BRACE}([^{_OPEN_BRACE}{{}}]*)\}}")
_SPECIAL_MARKS = {
    "*": WILDCARD_PART,
    "?": WILDCARD_PART,
    "[": _OPEN_BRACKET,
    "{": _OPEN_BRACE,
    "~": UNKNOWN_PART,
}
_MAX_SHAPES = 64
# Values of variables are followed up to this length, and all of them together up to the total:
# `a=$a$a` in each line would double the text again and again.
_MAX_VALUE_LENGTH = 4096
_MAX_EXPANDED_TEXT = 1 << 18
# A longer word with unknown parts does not name a file.
_MAX_SHAPE_LENGTH = 4096
_FOLDER_VARIABLE = re.compile(r"\$(?:\{(?:PWD|OLDPWD|HOME|TMPDIR)\}|(?:PWD|OLDPWD|HOME|TMPDIR)\b)")
"""A variable that always names a folder."""
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_PLAIN_VALUE = re.compile(r"[^\s*?\[\]{}~\\]+")
"""A value that an unquoted variable stands for as one word."""
# Commands that may set variables in ways that are not followed.
_VARIABLE_SETTERS = frozenset(
    ["builtin", "getopts", "let", "mapfile", "read", "readarray", "unset", "wait"]
)
_VARIABLE_DECLARERS = frozenset(["export", "readonly", "declare", "local", "typeset"])
_EXPORTING_OPTIONS = frozenset(["-g", "-r", "-x", "-gx", "-rx"])
"""Options of a declaration that leave the value as it is; others compute with it."""
# Variables that the shell itself sets.
_SHELL_VARIABLE = re.compile(
    r"_|BASH\w*|DIRSTACK|EPOCH\w+|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OLDPWD|PIPESTATUS|PPID|PWD"
    r"|RANDOM|REPLY|SECONDS|SRANDOM|UID"
)
_SETTING_EXPANSION = re.compile(r"\$\(\(.*(?:=|\+\+|--)|\$\{[^}]*=", re.DOTALL)
"""An expansion that sets variables: `$((x = 1))` or `${x:=1}`."""
_DESCRIPTOR_VARIABLE = re.compile(r"\{[A-Za-z_]\w*\}")
_DESCRIPTOR = re.compile(r"\d+-?|-")
_UNQUOTED_TEXT = re.compile(r"[^ \t\n\"'\\$`*?\[{~#;&|()<>]+")
_DOUBLE_QUOTED_TEXT = re.compile(r"[^\"\\$`]+")
_ANSI_C_QUOTE = re.compile(r"'(?:[^'\\]|\\.)*+'", re.DOTALL)
_WORD_ENDS = " \t\n;&|()<>"
_COMMAND_JOINS = {"\n": ";", "&": ";", "|&": "|"}
"""The joins that other operators amount to."""

_POWERSHELL_TOKEN = re.compile(
    r"[ \t]+|(?P<single>'(?:[^'\n]|'')*+')|(?P<double>\"[^\"\n$`]*\")|(?P<operator>;|\r?\n|\|)"
    r"|(?P<merge>2>(?:&1|\$null))|(?P<word>[^\s;|&$`'\"(){}@<>,#]+)"
)


@dataclass(slots=True)
class Redirect:
    """One redirection: its operator, the descriptor, and the word after it, `None` if unknown."""

    operator: str
    descriptor: str
    target: str | None
    body: str | None = None
    """The text of a here-document, or `None` where it is unknown."""
    shapes: tuple[str, ...] = ()
    """What is known of an unknown target, as in `ShellCommand.shapes`."""

    @property
    def writes(self) -> bool:
        """Whether the command's standard output goes to the target, a file."""
        return self.operator in (">", ">>", ">|") and self.descriptor in ("", "1", "&")

    @property
    def writes_something_else(self) -> bool:
        """Whether the target is a file for something else, such as the errors in `2> FILE`."""
        if self.operator == ">&":
            return self.target is not None and not _DESCRIPTOR.fullmatch(self.target)
        return self.operator in (">", ">>", ">|", "<>") and not self.writes


@dataclass(slots=True)
class ShellCommand:
    """A simple command: its words and its redirections."""

    joined: str
    """The operator between this command and the one before: `""`, `;`, `&&`, `||` or `|`."""
    words: list[str | None] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    globs: dict[int, str] = field(default_factory=dict)
    """The patterns of words that are unknown only for their `*` and `?`, by their index."""
    shapes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """What unknown words may stand for, by their index: their known text around unknown parts."""
    assigns: bool = False
    """Whether variables are assigned before the first word."""
    values: dict[str, str | None] = field(default_factory=dict)
    """The values of these variables by name, `None` where a value is unknown."""
    background: bool = False

    @property
    def name(self) -> str:
        """The first word, or an empty string where it is unknown."""
        return self.words[0] or "" if self.words else ""


@dataclass(slots=True)
class ShellScript:
    """The commands of a script, in order."""

    commands: list[ShellCommand] = field(default_factory=list)
    opaque: bool = False
    """Whether the script goes on with a construct that is not parsed."""
    unread: str = ""
    """The text from that construct on."""
    is_powershell: bool = False


def parse_shell_script(text: str) -> ShellScript:
    """Parse a script of a POSIX shell, up to the first construct that is not supported.

    From there on, the script is `opaque`, and `unread` has the text.
    """
    return _Lexer(text).parse_script()


def parse_inner_commands(text: str) -> tuple[list[ShellCommand], bool]:
    """Return the simple commands in the unread part of a script, and whether these are all.

    Keywords, loop headers, labels of `case` and parentheses are left out.
    """
    return _Lexer(text).parse_inner_commands()


def parse_powershell_script(text: str) -> ShellScript:
    """Parse a PowerShell script up to the first token that is not a word, a quote, `;` or `|`.

    From there on, the script is `opaque`, and the command with that token is left out. `unread` has
    the text from its pipeline on.
    """
    script, command, at = ShellScript(is_powershell=True), ShellCommand(""), 0
    start, blank = 0, True
    while at < len(text):
        token = _POWERSHELL_TOKEN.match(text, at)
        after_blank, blank = blank, token is not None and token.lastgroup is None
        kind = token.lastgroup if token is not None else None
        is_text = kind in ("single", "double", "word")
        # Two tokens without a blank between them are one word.
        if token is None or (is_text and not after_blank and command.words):
            script.opaque, script.unread = True, text[start:]
            return script
        at = token.end()
        if kind == "operator":
            blank = True
            if command.words:
                script.commands.append(command)
            command = ShellCommand("|" if token[0] == "|" else ";")
            start = start if token[0] == "|" else at
        elif kind == "merge":
            command.redirects.append(Redirect(">&", "2", "1"))
        elif is_text:
            command.words.append(_unquote_powershell_word(token[0]))
    if command.words:
        script.commands.append(command)
    return script


def _unquote_powershell_word(token: str) -> str:
    """Return a token without its quotes: `'it''s'` becomes `it's`."""
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    return token[1:-1] if token.startswith('"') else token


# --- commands and words ---


@dataclass(slots=True)
class _Word:
    """A word that is being parsed."""

    parts: list[str] = field(default_factory=list)
    known: bool = True
    pattern: bool = False
    """Whether the word contains an unquoted `*` or `?`."""
    quoted: bool = False
    shape: list[str] = field(default_factory=list)
    """The parts as far as they are known, with marks for the others."""

    def add_text(self, text: str) -> None:
        """Add a part with a known text."""
        self.parts.append(text)
        self.shape.append(text)

    def add_mark(self, text: str, mark: str) -> None:
        """Add a character that stands for something else."""
        self.parts.append(text)
        self.shape.append(mark)

    @property
    def shapes(self) -> tuple[str, ...]:
        """The texts that the word may stand for, with marks in place of unknown parts."""
        text = "".join(self.shape)
        if len(text) > _MAX_SHAPE_LENGTH:
            return (UNKNOWN_PART,)
        text = _BRACKET_SHAPE.sub(WILDCARD_PART, text)
        text = text.replace(_OPEN_BRACKET, WILDCARD_PART)
        if self.quoted or _OPEN_BRACE not in text:
            return (_BRACE_SHAPE.sub(UNKNOWN_PART, text),)
        return tuple(_expand_braces(text))

    @property
    def value(self) -> str | None:
        """The text of the word, or `None` if only the shell knows it."""
        return "".join(self.parts) if self.known and not self.pattern else None

    @property
    def glob(self) -> str | None:
        """The pattern, if the word is unknown only for its `*` and `?`, or else `None`."""
        if not self.known or not self.pattern or self.quoted:
            return None
        text = "".join(self.parts)
        return text if len(text) <= _MAX_SHAPE_LENGTH else None


def _expand_braces(text: str) -> list[str]:
    """Return the texts that lists in braces stand for; nested and long ones stay unknown."""
    texts = [""]
    at = 0
    for group in _BRACE_LIST.finditer(text):
        before, at = text[at : group.start()], group.end()
        choices = group[1].split(",") if "," in group[1] else [UNKNOWN_PART]
        if len(texts) * len(choices) > _MAX_SHAPES:
            choices = [UNKNOWN_PART]
        texts = [f"{known}{before}{choice}" for known in texts for choice in choices]
    return [_BRACE_SHAPE.sub(UNKNOWN_PART, known + text[at:]) for known in texts]


class _Lexer:
    """A position in the text of a script.

    Methods that return a boolean return `False` at a construct that is not supported.
    """

    def __init__(self, text: str) -> None:
        """Start at the beginning of a script."""
        self.text = text
        self.at = 0
        # Here-documents whose bodies begin on the next line: redirect, delimiter, quoted.
        self.pending_heredocs: list[tuple[Redirect, str, bool]] = []
        self.variables: dict[str, str] = {}  # The ones that the script has set to known texts.
        self.listed_variables: set[str] = set()  # Those of them that only this list has set.
        self.expanded_length = 0  # How much text the variables stood for.
        self.separators_at = text.find("IFS")  # Where the script may change the separators.

    def parse_script(self) -> ShellScript:
        """Parse commands up to the end, or up to a construct that is not supported."""
        script, joined = ShellScript(), ""
        while True:
            self._skip_blanks(newlines=True)
            command, start = ShellCommand(joined), self.at
            parsed = self._parse_command(command)
            if not parsed or (command.words and command.words[0] in _KEYWORDS):
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
            self._follow_variables(command, operator[0])
            joined = _COMMAND_JOINS.get(operator[0], operator[0])
            if operator[0] == "\n":
                self._parse_heredoc_bodies()

    def parse_inner_commands(self) -> tuple[list[ShellCommand], bool]:
        """Parse all commands, also inside of constructs; return whether the end was reached."""
        commands: list[ShellCommand] = []
        depth = 0
        while True:
            self._skip_blanks(newlines=True)
            if self.at >= len(self.text):
                return commands, True
            command, start = ShellCommand(";"), self.at
            parsed = self._parse_command(command)
            self.at = max(self.at, start)
            following = self.text[self.at : self.at + 1]
            is_label = not parsed and (following == "(" or (following == ")" and not depth))
            if not is_label and _strip_keywords(command):
                commands.append(command)
            if not parsed and following in ("(", ")"):
                depth = max(depth + (1 if following == "(" else -1), 0)
                self.at += 1
            elif not parsed and self.text.startswith(("<(", ">("), self.at):
                depth += 1
                self.at += 2
            elif not parsed:
                return commands, False
            elif operator := _OPERATOR.match(self.text, self.at):
                self.at = operator.end()
                if operator[0] == "\n":
                    self._parse_heredoc_bodies()
            if self.at == start:
                self.at += 1

    def _follow_variables(self, command: ShellCommand, operator: str) -> None:
        """Note the variables that a command sets; `operator` is the one after it.

        A command of a pipeline, in the background or after `||` may not set them for the rest. What
        a command after `&&` sets is known up to the end of the list.
        """
        self._set_variables(command, operator)
        if operator != "&&":
            for name in self.listed_variables:
                self.variables.pop(name, None)
            self.listed_variables.clear()

    def _set_variables(self, command: ShellCommand, operator: str) -> None:
        """Note the variables that a command sets."""
        words = command.words[1:] if command.name == "command" else command.words
        name = words[0] if words else ""
        sets_by_option = (name, words[1] if words[1:] else "") == ("printf", "-v")
        if name in _VARIABLE_SETTERS or sets_by_option or (name and words is not command.words):
            self.variables.clear()
            return
        if words and name not in _VARIABLE_DECLARERS:
            return
        values = dict(command.values)
        computes = any(
            word is not None and word.startswith("-") and word not in _EXPORTING_OPTIONS
            for word in words[1:]
        )
        for word in words[1:]:
            if word is None:
                self.variables.clear()
            elif "=" in word:
                variable, _, text = word.partition("=")
                values[variable.rstrip("+")] = None if computes or variable[-1:] == "+" else text
        is_certain = operator not in ("|", "|&", "&") and command.joined not in ("|", "||")
        for variable, value in values.items():
            is_followed = is_certain and not _SHELL_VARIABLE.fullmatch(variable)
            if is_followed and value is not None and len(value) <= _MAX_VALUE_LENGTH:
                self.variables[variable] = value
                if command.joined == "&&":
                    self.listed_variables.add(variable)
            else:
                self.variables.pop(variable, None)

    def _skip_blanks(self, *, newlines: bool = False) -> None:
        """Skip blanks, comments and line continuations, and with `newlines` empty lines too."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\n" and newlines:
                self.at += 1
                self._parse_heredoc_bodies()
            elif char == "\\" and self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _parse_command(self, command: ShellCommand) -> bool:
        """Parse words and redirections into a command, up to an operator or the end.

        Return whether all constructs up to there are supported.
        """
        while True:
            self._skip_blanks()
            if self.at >= len(self.text):
                return True
            if self.text.startswith(("<(", ">("), self.at):
                return False
            redirect = _REDIRECT_OPERATOR.match(self.text, self.at)
            if redirect:
                self.at = redirect.end()
                if not self._parse_redirect(command, redirect[1], redirect[2]):
                    return False
            elif _OPERATOR.match(self.text, self.at):
                return self.text[self.at] not in "()"
            else:
                assigns = not command.words and _ASSIGNMENT.match(self.text, self.at)
                start = self.at
                word = self._parse_word()
                if word is None:
                    return False
                if assigns:
                    command.assigns = True
                    name, text = assigns[0][:-1], word.value
                    is_known = text is not None and not name.endswith("+")
                    value = text[len(name) + 1 :] if is_known and text is not None else None
                    command.values[name.rstrip("+")] = value
                    continue
                is_redirect_next = self.text.startswith(("<", ">"), self.at)
                if is_redirect_next and _DESCRIPTOR_VARIABLE.fullmatch(self.text[start : self.at]):
                    self.variables.clear()  # `{name}>` sets a variable to a new descriptor.
                if word.glob is not None:
                    command.globs[len(command.words)] = word.glob
                if word.value is None:
                    command.shapes[len(command.words)] = word.shapes
                command.words.append(word.value)

    def _parse_redirect(self, command: ShellCommand, descriptor: str, operator: str) -> bool:
        """Parse the word after a redirection operator, and add the redirection to the command.

        Return `True`, or `False` if the word is missing or does not end, or a delimiter is unknown.
        `descriptor` is the number before the operator, `&` or empty.
        """
        self._skip_blanks()
        start = self.at
        word = self._parse_word()
        if word is None or start == self.at:
            return False
        shapes = word.shapes if word.value is None else ()
        redirect = Redirect(operator, descriptor, word.value, shapes=shapes)
        command.redirects.append(redirect)
        if operator in ("<<", "<<-"):
            if redirect.target is None:
                return False
            self.pending_heredocs.append((redirect, redirect.target, word.quoted))
        return True

    def _parse_heredoc_bodies(self) -> None:
        """Parse the bodies of the pending here-documents, which begin at this line."""
        for redirect, delimiter, quoted in self.pending_heredocs:
            strip_tabs = redirect.operator == "<<-"
            redirect.body, self.at = parse_heredoc_body(
                self.text, self.at, delimiter, quoted=quoted, strip_tabs=strip_tabs
            )
        self.pending_heredocs.clear()

    def _parse_word(self) -> _Word | None:
        """Parse one word; return `None` if its end is unknown, as after an open quote."""
        word, start = _Word(), self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _UNQUOTED_TEXT.match(self.text, self.at)
            if plain:
                word.add_text(plain[0])
                self.at = plain.end()
            elif char in _WORD_ENDS:
                break
            elif char in "'\"\\$`":
                if not self._parse_quoted(word, char):
                    return None
            else:
                self._parse_special(word, char, start)
        return word

    def _parse_special(self, word: _Word, char: str, start: int) -> None:
        """Parse a character that may stand for something else: `*`, `?`, `[`, `{` or `~`.

        It may make the word unknown or a pattern. The word begins at offset `start`.
        """
        if char not in _SPECIAL_MARKS or self._is_literal(char, start):
            word.add_text(char)
        else:
            word.add_mark(char, _SPECIAL_MARKS[char])
            if char in "*?":
                word.pattern = True
            else:
                word.known = False
        self.at += 1

    def _is_literal(self, char: str, start: int) -> bool:
        """Return whether a special character stands for itself, in the word that begins there."""
        following = self.text[self.at + 1 : self.at + 2]
        if char == "[":
            # `[` and `[[` are commands when they stand alone.
            alone = self.text[start : self.at] in ("", "[")
            return alone and following in ("", "[", *_WORD_ENDS)
        if char == "{":
            is_empty = following == "}" and not self._is_brace_list()
            return is_empty or following in ("", *_WORD_ENDS)
        return char == "~" and self.at > start and self.text[self.at - 1] not in "=:"

    def _is_brace_list(self) -> bool:
        """Return whether `{}` may begin a list, because the word has another closing brace."""
        closing = self.text.find("}", self.at + 2)
        between = self.text[self.at + 2 : closing]
        return closing >= 0 and not any(blank in between for blank in " \t\n")

    def _parse_quoted(self, word: _Word, char: str) -> bool:
        """Parse the escape, quote or expansion that begins with `char`, as a part of the word.

        Return whether its end is certain.
        """
        if char == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            word.quoted = word.quoted or following != "\n"
            word.add_text("" if following == "\n" else following or "\\")
            self.at += 2
            return True
        if char in "$`" and not self.text.startswith(("$'", '$"'), self.at):
            return self._expand_variable(word) or self._skip_expansion(word)
        word.quoted = True
        if char == "'":
            start, end = self.at + 1, self.text.find("'", self.at + 1)
            self.at = len(self.text) if end < 0 else end + 1
            word.add_text(self.text[start:end] if end >= 0 else "")
            return end >= 0
        if char == "$":
            # `$'…'` has escapes as in C, `$"…"` is translated: neither value is computed.
            word.known = False
            word.shape.append(UNKNOWN_PART)
            self.at += 1
            return self._skip_ansi_c_quote() if self.text[self.at] == "'" else True
        return self._parse_double_quoted(word)

    def _skip_ansi_c_quote(self) -> bool:
        """Skip the quote of `$'…'`, and return whether it ends."""
        quote = _ANSI_C_QUOTE.match(self.text, self.at)
        self.at = quote.end() if quote else len(self.text)
        return quote is not None

    def _parse_double_quoted(self, word: _Word) -> bool:
        """Parse text in double quotes as a part of the word; return whether its end is certain."""
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _DOUBLE_QUOTED_TEXT.match(self.text, self.at)
            if plain:
                word.add_text(plain[0])
                self.at = plain.end()
            elif char == '"':
                self.at += 1
                return True
            elif char == "\\":
                word.add_text(self._read_double_quoted_escape())
                self.at += 2
            elif not (self._expand_variable(word, quoted=True) or self._skip_expansion(word)):
                return False
        return False

    def _expand_variable(self, word: _Word, *, quoted: bool = False) -> bool:
        """Add the value of a variable to the word; return whether its value is known.

        Outside of quotes, a value with blanks or wildcards is not one word, nor is one with other
        separators that the script may have set.
        """
        variable = _VARIABLE.match(self.text, self.at)
        value = self.variables.get(variable[1] or variable[2]) if variable else None
        if variable is None or value is None:
            return False
        has_separators = 0 <= self.separators_at < self.at
        if not quoted and (has_separators or not _PLAIN_VALUE.fullmatch(value)):
            return False
        self.expanded_length += len(value)
        if self.expanded_length > _MAX_EXPANDED_TEXT:
            return False
        word.add_text(value)
        self.at = variable.end()
        return True

    def _read_double_quoted_escape(self) -> str:
        """Return the text for a backslash in double quotes and the character after it.

        It is empty for the end of a line, which the backslash continues.
        """
        following = self.text[self.at + 1 : self.at + 2]
        if following == "\n":
            return ""
        return following if following in ("$", "`", '"', "\\") else "\\" + following

    def _skip_expansion(self, word: _Word) -> bool:
        """Skip an expansion, which makes the word unknown; a lone `$` is an ordinary character.

        Return whether the end of the expansion is certain.
        """
        following = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] == "$" and not EXPANSION_START.match(following):
            word.add_text("$")
            self.at += 1
            return True
        word.known = False
        is_folder = _FOLDER_VARIABLE.match(self.text, self.at) is not None
        word.shape.append(UNKNOWN_PART + "/" * is_folder)
        variable = _VARIABLE.match(self.text, self.at)
        if self.text[self.at] == "$" and following not in ("(", "{"):
            self.at = variable.end() if variable else self.at + 2
            return following != "["
        end = find_expansion_end(self.text, self.at)
        if _SETTING_EXPANSION.match(self.text[self.at : end]):
            self.variables.clear()
        self.at = len(self.text) if end is None else end
        return end is not None


def _strip_keywords(command: ShellCommand) -> bool:
    """Remove the keywords before a command; return whether a command is left.

    The header of a loop, a test in `[[` and an end such as `]]` are no commands.
    """
    skipped = 0
    while command.words[skipped:] and command.words[skipped] in _KEYWORDS - _HEADER_KEYWORDS:
        skipped += 1
    name = command.words[skipped] if command.words[skipped:] else None
    if name in _HEADER_KEYWORDS or "]]" in command.words:
        return False
    del command.words[:skipped]
    command.globs = {at - skipped: text for at, text in command.globs.items()}
    command.shapes = {at - skipped: text for at, text in command.shapes.items()}
    return bool(command.words or command.redirects)
