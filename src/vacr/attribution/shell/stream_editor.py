r"""The programs of `sed` and `perl -p`, applied to the text of a file.

Agents change files with `sed -i 's/old/new/g' FILE` and `perl -pi -e 's/old/new/' FILE`. The text
of such a program determines the new text of a file, if the old one is known. Programs with other
commands than `s`, `d`, `a`, `i` and `c`, and patterns that the programs do not read like Python,
are not parsed.

    >>> from vacr.attribution.shell.stream_editor import parse_stream_edit
    >>> edit = parse_stream_edit(["sed", "-i", "-E", r"s/(\w+) = 1/\1 = 2/; /^#/d", "a.py"])
    >>> edit.files, edit.program.by_line
    (['a.py'], False)
    >>> edit.program.rewrite("# numbers\nx = 1\n")
    'x = 2\n'
    >>> parse_stream_edit(["sed", "-i", "N;s/a/b/", "a.py"]) is None
    True
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vacr.attribution.shell.perl import parse_perl_command_line
from vacr.attribution.shell.sed import parse_sed_command_line
from vacr.attribution.shell.stream_program import StreamEdit, UnparsedProgramError


def parse_stream_edit(words: Sequence[str | None]) -> StreamEdit | None:
    """Parse `sed -i` or `perl -pi`, with its options, its program and its files.

    A file that is `None` is left out. Return `None` for other commands and for programs that are
    not determined.
    """
    name = words[0] if words else None
    try:
        if name in ("sed", "gsed"):
            return parse_sed_command_line(list(words[1:]))
        if name == "perl":
            return parse_perl_command_line(list(words[1:]))
    except (UnparsedProgramError, re.error):
        return None
    return None
