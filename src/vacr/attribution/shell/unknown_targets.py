"""Files that a command may change although no word names them exactly.

A word with a wildcard, a list in braces, a variable or a substitution may name any file that fits
its known parts. An archive, a patch or a download has the names of its files inside, so any file
below the target folder may change.

    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> from vacr.attribution.shell.unknown_targets import doubt_shapes
    >>> [command] = parse_shell_script('rm src/*.py "$DIR/a.txt" $(ls)').commands
    >>> for shapes in command.shapes.values():
    ...     [change] = doubt_shapes(shapes)
    ...     print(repr(change.path), change.kinds)
    'src' ('.py',)
    '' ('/a.txt',)
    '' ()
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from vacr.attribution.shell.parser import UNKNOWN_PART, WILDCARD_PART, ShellCommand
from vacr.attribution.shell.words import CommandWords, saves_by_name
from vacr.edits import PossibleChange

_UNKNOWN_TEXT = re.compile(f"[{UNKNOWN_PART}{WILDCARD_PART}]+")
# To look for letters in a long word may take the square of its length.
_MAX_OPTION_LENGTH = 256
_SLASHES = re.compile(r"/{2,}")
_FILE_EXTENSION = re.compile(r"\.[A-Za-z]\w*$")

# Commands that write files whose names are inside of an archive, a patch or an address, and the
# options that name their folder. Glued values, as in `-Cdir`, count too.
_UNPACKER_FOLDER_OPTIONS = {
    "7z": ("-o",),
    "7za": ("-o",),
    "bsdtar": ("-C", "--directory", "--cd"),
    "cpio": ("-D", "--directory"),
    "curl": ("--output-dir",),
    "gtar": ("-C", "--directory"),
    "jar": ("-C",),
    "patch": ("-d", "--directory"),
    "tar": ("-C", "--directory"),
    "unar": ("-o", "-output-directory"),
    "unzip": ("-d",),
    "wget": ("-P", "--directory-prefix"),
}
# Unless one of these words is there, the command unpacks nothing; without any, it always does.
_UNPACKING_WORDS = {
    "7z": re.compile(r"[ex]"),
    "7za": re.compile(r"[ex]"),
    "cpio": re.compile(r"-\w*[ip]\w*|--extract|--pass-through"),
    "curl": re.compile(r"-[a-zA-Z#]*J\w*|--remote-header-name|--output-dir(?:=.*)?"),
    "jar": re.compile(r"-?\w*x\w*|--extract"),
    "wget": re.compile(
        r"-\w*[irmpPx].*|--(?:input|recursive|mirror|page|directory|content|force-dir|trust).*"
    ),
}
_TAR_WORDS = re.compile(r"-?[A-Za-z]*x[A-Za-z]*|--(?:extract|get)")
_UNPACKING_WORDS |= dict.fromkeys(["bsdtar", "gtar", "tar"], _TAR_WORDS)
# With one of these words the command only lists, checks, or prints.
_LISTING_WORDS = {
    "bsdtar": re.compile(r"-\w*O\w*|--to-stdout"),
    "gtar": re.compile(r"-\w*O\w*|--to-stdout"),
    "patch": re.compile(r"--dry-run|-C|--check|-o|--output.*"),
    "tar": re.compile(r"-\w*O\w*|--to-stdout"),
    "unzip": re.compile(r"-\w*[lZtpvzc]\w*"),
}


def doubt_unknown_words(
    command: ShellCommand, *, skipped: Iterable[int] = ()
) -> Iterator[PossibleChange]:
    """Yield possible changes of all files that the unknown words of a command may name.

    `skipped` are the indexes of words whose effect is known.
    """
    for number, word in enumerate(command.words):
        if word is None and number not in skipped:
            yield from doubt_shapes(command.shapes.get(number, ()))


def doubt_shapes(shapes: Sequence[str]) -> Iterator[PossibleChange]:
    """Yield possible changes of all files that fit the shapes of a word; without any, of all."""
    for shape in shapes or (UNKNOWN_PART,):
        text = _SLASHES.sub("/", shape)
        found = _UNKNOWN_TEXT.split(text)
        if text.startswith("-"):  # The value of an option.
            yield PossibleChange("", folder=True)
        elif not found[1:]:
            if _FILE_EXTENSION.search(text):
                yield PossibleChange(text, likely=True)
            yield PossibleChange(text, folder=True)
        else:
            # A wildcard stays in the folder; an expansion may be an absolute path.
            here = "" if text.startswith(UNKNOWN_PART) else "."
            folder = posixpath.dirname(found[0]) or here
            yield PossibleChange(folder, folder=True, kinds=_list_kinds(found[-1]))


def doubt_files_in_folder(folder: str, sources: Iterable[str]) -> Iterator[PossibleChange]:
    """Yield possible changes in a folder that a command copies files to, by their shapes."""
    for shape in sources:
        yield PossibleChange(folder, folder=True, kinds=_list_kinds(_UNKNOWN_TEXT.split(shape)[-1]))


def _list_kinds(ending: str) -> tuple[str, ...]:
    """Return the ending that names of files must have; none where it may be that of a folder."""
    return (ending,) if _FILE_EXTENSION.search(ending) else ()


def doubt_unpacked_files(words: CommandWords) -> Iterator[PossibleChange]:
    """Yield a possible change of all files in the folder that a command unpacks into."""
    name = words[0] if words else None
    if name is None or name not in _UNPACKER_FOLDER_OPTIONS:
        return
    known = [word[:_MAX_OPTION_LENGTH] for word in words[1:] if word is not None]
    unpacks, lists = _UNPACKING_WORDS.get(name), _LISTING_WORDS.get(name)
    if unpacks is not None and not any(map(unpacks.fullmatch, known)):
        is_unknown = None in words and (name != "curl" or any(map(saves_by_name, known)))
        if not is_unknown:
            return
    if lists is not None and any(map(lists.fullmatch, known)):
        return
    yield PossibleChange(_find_target_folder(words, _UNPACKER_FOLDER_OPTIONS[name]), folder=True)


def _find_target_folder(words: CommandWords, options: Sequence[str]) -> str:
    """Return the folder that one of the options names, `.` without one; empty if unknown."""
    folder = "."
    for word, value in pairwise([*words, ""]):
        if word in options:
            folder = value or ""
            continue
        for option in options:
            if word is not None and word.startswith(option) and word != option:
                folder = word.removeprefix(option).removeprefix("=")
    return folder
