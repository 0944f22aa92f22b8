"""The words of a command: its options, its operands, and those that look like files.

A word may have any length, so a test of a word takes time in proportion to it. A word of more than
`MAX_PATH_LENGTH` characters names no file.

    >>> from vacr.attribution.shell.words import is_file_like, list_operands, list_options
    >>> words = ["rm", "-rf", "--mode=x", "a.txt", None, "--", "-b"]
    >>> list_operands(words), sorted(list_options(words))
    (['a.txt', '-b'], ['--mode', '-f', '-r'])
    >>> [is_file_like(word) for word in ("src/a", "a.txt", "build", "src/", "a:b.txt")]
    [True, True, False, False, False]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CommandWords = Sequence[str | None]
"""The words of a command, `None` where only the shell knows the value."""

MAX_PATH_LENGTH = 4096
_WORD_OF_A_PATH = re.compile(r"[^:=\s]+")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]+$")
_REMOTE_HOST = re.compile(r"[\w.@-]{2,}:")
_SAVES_BY_NAME = re.compile(r"-[^\WO]*O\w*|--remote-name(?:-all)?")


def list_operands(words: CommandWords) -> list[str]:
    """Return the known words after the command's name that are not options."""
    operands, options_ended = [], False
    for word in words[1:]:
        if word == "--" and not options_ended:
            options_ended = True
        elif word and (options_ended or not word.startswith("-")):
            operands.append(word)
    return operands


def list_options(words: CommandWords) -> set[str]:
    """Return the options of a command: `-rf --mode=x` becomes `-r`, `-f` and `--mode`."""
    options: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word and word.startswith("--"):
            options.add(word.partition("=")[0])
        elif word and word.startswith("-"):
            options |= {"-" + letter for letter in word[1:]}
    return options


def is_file_like(path: str) -> bool:
    """Return whether a word looks like the path of a file: with a slash or an extension."""
    if len(path) > MAX_PATH_LENGTH or path.endswith("/") or not _WORD_OF_A_PATH.fullmatch(path):
        return False
    return "/" in path or _EXTENSION.search(path) is not None


def remove_remote_host(path: str) -> str:
    """Return a path of `rsync` or `scp` without the host before it.

    >>> remove_remote_host("mira@example.org:src/a.py"), remove_remote_host("docs/ab:c/a.txt")
    ('src/a.py', 'docs/ab:c/a.txt')
    """
    host = _REMOTE_HOST.match(path)
    return path[host.end() :] if host else path


def saves_by_name(word: str) -> bool:
    """Return whether a word is the option of `curl` that names the file after the URL."""
    return _SAVES_BY_NAME.fullmatch(word) is not None
