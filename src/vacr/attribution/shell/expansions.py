r"""Where expansions and here-documents end in a shell script.

The parser skips an expansion such as `$(…)`, whose value only the shell knows. It must still find
the end, past the quotes, brackets and here-documents inside. Where shells do not agree, or the end
is uncertain, the answer is `None`. The body of a here-document is read as the command reads it.

    >>> from vacr.attribution.shell.expansions import find_expansion_end, parse_heredoc_body
    >>> text = "echo $(cat ')' $(date)) done"
    >>> text[: find_expansion_end(text, 5)]
    "echo $(cat ')' $(date))"
    >>> parse_heredoc_body("price: \\$5\nEOF\n", 0, "EOF", quoted=False, strip_tabs=False)
    ('price: $5\n', 15)
"""

import re

EXPANSION_START = re.compile(r"[A-Za-z0-9_{(\[@*#?$!-]")
"""A character that makes an expansion of the dollar sign before it."""
_SIMPLE_ARITHMETIC = re.compile(r"\$\(\([^()'\"`$\\\n]*\)\)")
_NESTING_MARK = re.compile(r"[\"'\\$`(){}#\n<]|\bcase\b")
_WORD_SEPARATORS = " \t\n;&|("
_HEREDOC_OPERATOR = re.compile(
    r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|\\?([A-Za-z_][A-Za-z0-9_]*))"
)
_HEREDOC_ESCAPE = re.compile(r"\\([\\$`\n])|([$`])")


# --- here-documents ---


def parse_heredoc_body(
    text: str, at: int, delimiter: str, *, quoted: bool, strip_tabs: bool
) -> tuple[str | None, int]:
    """Return the body of a here-document as the command reads it, and the offset after it.

    The body begins at offset `at`. It is `None` if it contains an expansion, does not end, or has
    a continued line while tabs are stripped, because shells differ there. A `quoted` delimiter
    switches escapes and expansions off; `strip_tabs` removes leading tabs.
    """
    lines: list[str] = []
    continued = uncertain = False
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line, at = text[at:stop], min(stop + 1, len(text))
        if strip_tabs:
            # Shells do not agree on whether tabs of a continued line are removed.
            uncertain = uncertain or continued
            line = line.lstrip("\t")
        if line == delimiter and not continued:
            body = "".join(lines)
            if uncertain:
                return None, at
            return body if quoted else _unescape_heredoc_body(body), at
        lines.append(line + "\n")
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = not quoted and backslashes % 2 == 1
    return None, at


def _unescape_heredoc_body(body: str) -> str | None:
    """Return the body of a here-document without escapes, or `None` if it has an expansion."""
    parts, at = [], 0
    for mark in _HEREDOC_ESCAPE.finditer(body):
        escaped, special = mark[1], mark[2]
        following = body[mark.end() : mark.end() + 1]
        if special == "`" or (special and EXPANSION_START.match(following)):
            return None
        parts.append(body[at : mark.start()])
        parts.append("" if escaped == "\n" else escaped or "$")
        at = mark.end()
    return "".join((*parts, body[at:]))


# --- expansions ---


def find_expansion_end(text: str, at: int) -> int | None:
    """Return the offset after the expansion that begins at offset `at`.

    The expansion begins with `$` or a backquote. Return `None` if its end is uncertain.
    """
    simple = _SIMPLE_ARITHMETIC.match(text, at)
    if simple:
        return simple.end()
    return _ExpansionScanner(text, at).find_end()


class _ExpansionScanner:
    """One pass over nested expansions, with its own stack: depth cannot exhaust Python's.

    Methods that return a boolean return `False` where the end of the expansion is uncertain.
    """

    def __init__(self, text: str, at: int) -> None:
        """Start at the offset `at`, where an expansion begins."""
        self.text = text
        self.at = at
        self.closers: list[str] = []
        # Here-documents whose bodies begin on the next line: the operator's dash, the delimiter.
        self.pending_heredocs: list[tuple[str, str]] = []
        self.in_backquotes = False  # A second backquote always closes the first.

    def find_end(self) -> int | None:
        """Return the offset after the expansion, or `None` if its end is uncertain."""
        if not self._open_expansion():
            return None
        while self.closers:
            mark = _NESTING_MARK.search(self.text, self.at)
            if mark is None:
                return None
            self.at = mark.start()
            if not self._step_over(mark[0]):
                return None
        return None if self.pending_heredocs else self.at

    def _open_expansion(self) -> bool:
        """Enter the expansion at this place; skip a `$` that does not begin an expansion.

        Return `True`, or `False` for arithmetic and nested backquotes, whose end is uncertain.
        """
        following = self.text[self.at + 1 : self.at + 2]
        if self.text[self.at] == "`":
            if self.in_backquotes:
                return False
            self.in_backquotes = True
            self.closers.append("`")
            self.at += 1
        elif following in ("(", "{"):
            if self.text.startswith("$((", self.at):
                return False
            self.closers.append(")" if following == "(" else "}")
            self.at += 2
        else:
            self.at += 1
        return True

    def _step_over(self, mark: str) -> bool:
        """Step over a quote, bracket, escape or other mark, and note what it opens or closes.

        Return whether the end of the expansion is still certain.
        """
        closer = self.closers[-1]
        if mark == "\\":
            self.at += 2
            return True
        if mark == closer:
            self.closers.pop()
            self.in_backquotes = self.in_backquotes and mark != "`"
            self.at += 1
            return True
        if mark in "$`":
            return self._open_expansion()
        if closer == '"' or (closer == "}" and mark not in "'\""):
            self.at += len(mark)
            return True
        return self._step_over_unquoted(mark, closer)

    def _step_over_unquoted(self, mark: str, closer: str) -> bool:
        """Step over a mark outside of double quotes; `closer` ends the innermost construct.

        Return whether the end of the expansion is still certain.
        """
        if mark == '"':
            self.closers.append('"')
        elif mark == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0 or closer == "}":
                return False
            self.at = end
        elif mark == "case":
            return False  # Its patterns end with parentheses that nothing opened.
        elif mark == "(":
            self.closers.append(")")
        elif mark == "#" and self.text[self.at - 1] in _WORD_SEPARATORS:
            end = self.text.find("\n", self.at)
            if end < 0 or closer == "`":
                return False
            self.at = end - 1
        elif mark == "<" and self.text.startswith("<<", self.at):
            return self._open_heredoc(closer)
        elif mark == "\n" and self.pending_heredocs:
            return self._skip_heredoc_bodies()
        self.at += 1
        return True

    def _open_heredoc(self, closer: str) -> bool:
        """Step over `<<` and its delimiter; the body is then pending until the next line.

        Return whether the delimiter is plain, and not in backquotes.
        """
        if self.text.startswith("<<<", self.at):
            self.at += 3
            return True
        operator = _HEREDOC_OPERATOR.match(self.text, self.at)
        if operator is None or closer == "`":
            return False
        dash, *delimiters = operator.groups()
        self.pending_heredocs.append((dash, next(filter(None, delimiters))))
        self.at = operator.end()
        return True

    def _skip_heredoc_bodies(self) -> bool:
        """Step over the bodies of the pending here-documents, which begin on the next line.

        Return whether all of them end.
        """
        self.at += 1
        for dash, delimiter in self.pending_heredocs:
            while True:
                stop = self.text.find("\n", self.at)
                if stop < 0:
                    return False
                line, self.at = self.text[self.at : stop], stop + 1
                if (line.lstrip("\t") if dash else line) == delimiter:
                    break
        self.pending_heredocs.clear()
        self.at -= 1  # The newline separates words, so a `#` after it begins a comment.
        return True
