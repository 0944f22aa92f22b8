"""The bodies of here-documents. Step: attribute. Follows Shell Command Language, 2.7.4."""

import re

# What makes an expansion of the dollar sign before it.
EXPANDS = re.compile(r"[A-Za-z0-9_{(\[@*#?$!-]")
_ESCAPE = re.compile(r"\\([\\$`\n])|([$`])")


def body_at(text: str, at: int, end: str, *, quoted: bool, tabs: bool) -> tuple[str | None, int]:
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
            return None if unsure else body if quoted else _expanded(body), at
        lines.append(line + "\n")
        goes_on = not quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
    return None, at


def _expanded(body: str) -> str | None:
    """Give the body of a here-document whose delimiter is not quoted; `None` where it holds an
    expansion.
    """
    out, at = [], 0
    for found in _ESCAPE.finditer(body):
        if found[2] == "`" or (found[2] and EXPANDS.match(body[found.end() : found.end() + 1])):
            return None
        out += [body[at : found.start()], "" if found[1] == "\n" else found[1] or "$"]
        at = found.end()
    return "".join((*out, body[at:]))
