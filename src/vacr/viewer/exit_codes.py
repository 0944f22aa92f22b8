"""What the exit code of a command means, where that is certain.

A search without a match ends with exit code 1, like a program that fails. Both are recorded as a
non-zero exit. Readers want to tell them apart, and for a few programs that is possible:

    >>> from vacr.viewer.exit_codes import explain_exit_code
    >>> explain_exit_code("grep -rn 'TODO|FIXME' src", 1)
    'no match'
    >>> explain_exit_code("git log --oneline | grep fix", 1)
    'no match'

It is certain only if the exit code can come from nothing but that program. In a list of commands,
another one may have failed:

    >>> explain_exit_code("cd src && grep TODO app.py", 1)
    ''
    >>> explain_exit_code("grep TODO app.py", 2)
    ''

web/src/exit-codes.ts has the same rules, and a test compares both.
"""

from __future__ import annotations

import re

EXIT_CODE_MEANINGS = {
    "grep": "no match",
    "egrep": "no match",
    "fgrep": "no match",
    "rg": "no match",
    "ag": "no match",
    "ack": "no match",
    "pgrep": "no match",
    "diff": "files differ",
    "cmp": "files differ",
    "test": "condition is false",
    "[": "condition is false",
}
"""Program → what its exit code 1 means."""

# A `$` before a blank or the end of the quotation is one, and no variable.
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\$`]|\$(?=["\s|)]))*\"""")
# Whatever may run another program, or change where the exit code comes from. A redirection may fail
# by itself, also with exit code 1.
_OTHER_COMMANDS = re.compile(r"[;&`#<>\\\n\r(){}'\"]|\$\(|\|\||^\s*!")
_MAX_COMMAND_LENGTH = 10_000


def explain_exit_code(command: str, code: int) -> str:
    """Return what the exit code of a command means, such as `no match` for `grep` and 1.

    Return an empty text if that is not certain, and for any other code than 1.
    """
    if code != 1 or len(command) > _MAX_COMMAND_LENGTH:
        return ""
    bare = _QUOTED.sub("Q", command.strip())
    if _OTHER_COMMANDS.search(bare):
        return ""
    # A pipeline ends with the exit code of its last command.
    last = bare.rpartition("|")[2].split()
    if not last:
        return ""
    return EXIT_CODE_MEANINGS.get(last[0].rpartition("/")[2], "")
