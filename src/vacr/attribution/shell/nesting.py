"""The end of an expansion, however deep it nests. Step: attribute.

Follows Shell Command Language, 2.2.3 and 2.6.3. One pass with a stack of its own, so that neither
depth nor length can hurt.
"""

import re

_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n$`\\]+)\"|\\?([A-Za-z_][A-Za-z0-9_]*))")
_ARITHMETIC = re.compile(r"\$\(\([^()'\"`$\\\n]*\)\)")
_STOPS = re.compile(r"[\"'\\$`(){}#\n<]|\bcase\b")
_WORD_START = " \t\n;&|("

Here = tuple[str, str]  # the operator's dash, the delimiter


def passed(text: str, at: int) -> int | None:
    """Give the place after the expansion that begins at `at` with `$` or a backquote; `None` when
    that is not certain.
    """
    simple = _ARITHMETIC.match(text, at)
    if simple:
        return simple.end()
    return _Nest(text, at).end()


class _Nest:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.closers: list[str] = []
        self.waiting: list[Here] = []
        self.quoted_back = False  # inside backquotes, where a second one always closes

    def end(self) -> int | None:
        if not self._open():
            return None
        while self.closers:
            found = _STOPS.search(self.text, self.at)
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
        elif char == "#" and self.text[self.at - 1] in _WORD_START:
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
        found = _HERE.match(self.text, self.at)
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
