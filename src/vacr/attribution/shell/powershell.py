"""A PowerShell script as simple commands, where it is as plain as one of a POSIX shell. Step:
attribute.
"""

import re

from vacr.attribution.shell.lexer import Command, Redirect, Script

_TOKEN = re.compile(
    r"[ \t]+|(?P<single>'(?:[^'\n]|'')*+')|(?P<double>\"[^\"\n$`]*\")|(?P<operator>;|\r?\n|\|)"
    r"|(?P<merge>2>(?:&1|\$null))|(?P<word>[^\s;|&$`'\"(){}@<>,#]+)"
)


def parse(text: str) -> Script:
    """Read a script up to the first thing that is more than words, quotes, `;` and `|`."""
    script, command, at = Script(), Command(""), 0
    blank = True
    while at < len(text):
        token = _TOKEN.match(text, at)
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
            command = Command("|" if token[0] == "|" else ";")
        elif token.lastgroup == "merge":
            command.redirects.append(Redirect(">&", "2", "1"))
        elif token.lastgroup is not None:
            command.words.append(_value(token[0]))
    if command.words:
        script.commands.append(command)
    return script


def _value(token: str) -> str:
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    return token[1:-1] if token.startswith('"') else token
