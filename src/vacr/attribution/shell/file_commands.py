"""Commands that remove, move, copy or overwrite the files that they name.

`rm`, `mv` and `cp` have known effects if they surely succeeded and all their words are known.
Otherwise the files that they name, or may name, have possibly changed.

    >>> from vacr.attribution.shell.file_commands import EVENT_DERIVERS
    >>> from vacr.attribution.shell.parser import parse_shell_script
    >>> known, unknown = parse_shell_script("mv a.txt b.txt; rm $(ls)").commands
    >>> for command in (known, unknown):
    ...     for event in EVENT_DERIVERS[command.name](command):
    ...         print(type(event).__name__, repr(event.path))
    FileMove 'a.txt'
    PossibleChange ''
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence

from vacr.attribution.shell.command_outputs import is_abbreviation
from vacr.attribution.shell.parser import ShellCommand
from vacr.attribution.shell.rewriters import collect_base_names
from vacr.attribution.shell.unknown_targets import (
    doubt_files_in_folder,
    doubt_shapes,
    doubt_unknown_words,
)
from vacr.attribution.shell.words import (
    CommandWords,
    is_file_like,
    list_operands,
    list_options,
    remove_remote_host,
)
from vacr.edits import FileAction, FileDeletion, FileMove, PossibleChange

# Commands whose purpose is to change the files that they name.
_FILE_CHANGING_COMMAND_NAMES = "dd ed ex install ln patch rename rsync scp shred sponge truncate"
FILE_CHANGING_COMMANDS = frozenset(_FILE_CHANGING_COMMAND_NAMES.split())
_RECURSIVE_RM_OPTIONS = {"-r", "-R", "--recursive", "-d", "-Recurse"}
_PLAIN_MOVE_OPTION_NAMES = "-f -v -r -R -a -p -k --force --verbose --recursive --archive"
_PLAIN_MOVE_OPTIONS = frozenset(_PLAIN_MOVE_OPTION_NAMES.split())
# Commands whose last word may be a folder that gets the files, options that copy whole folders,
# and options that name the folder first.
_COPYING_COMMANDS = frozenset(["cp", "install", "ln", "mv", "rsync", "scp"])
_FOLDER_COPY_OPTIONS = frozenset(["-r", "-R", "-a", "--recursive", "--archive"])
_TARGET_OPTIONS = frozenset(["-t", "--target-directory"])


# --- certain effects ---


def _derive_rm_events(command: ShellCommand) -> Iterator[FileAction]:
    """Yield the deletions of `rm`, and possible changes of files that unknown words may name."""
    options = list_options(command.words)
    folder = _is_recursive_rm(options)
    for path in list_operands(command.words):
        yield FileDeletion(path, folder=folder)
    for pattern in command.globs.values():
        yield FileDeletion(pattern, folder=folder, pattern=True)
    yield from doubt_unknown_words(command, skipped=command.globs)


def _is_recursive_rm(options: Iterable[str]) -> bool:
    """Return whether one of the options makes `rm` delete folders."""
    return any(
        option in _RECURSIVE_RM_OPTIONS or is_abbreviation(option, "--recursive")
        for option in options
    )


def _derive_mv_events(command: ShellCommand) -> Iterator[FileAction]:
    """Yield the moves that an `mv` command makes, or likely changes if they are uncertain."""
    yield from _derive_move_events(command, copy=False)


def _derive_cp_events(command: ShellCommand) -> Iterator[FileAction]:
    """Yield the copies that a `cp` command makes, or likely changes if they are uncertain."""
    yield from _derive_move_events(command, copy=True)


def _derive_move_events(command: ShellCommand, *, copy: bool) -> Iterator[FileAction]:
    """Yield the moves of `mv` or, with `copy`, the copies of `cp`.

    If words or options are unknown, yield likely changes of the files and patterns instead.
    """
    words = command.words
    files = list_operands(words)
    if None in words or not files[1:] or not list_options(words) <= _PLAIN_MOVE_OPTIONS:
        yield from touch_command_targets(words, () if copy else command.globs.values())
        yield from doubt_possible_targets(command)
        return
    *sources, target = files
    names_folder = target in (".", "..") or target.endswith(("/", "/.", "/.."))
    into_folder = len(sources) > 1 or names_folder
    if names_folder and list_options(words) & _FOLDER_COPY_OPTIONS:
        # A folder may have files that nothing shows.
        yield from doubt_files_in_folder(target, sources)
    for source in sources:
        base_name = posixpath.basename(source.rstrip("/"))
        to = posixpath.join(target, base_name) if into_folder else target
        yield FileMove(source, to, copy=copy)


EVENT_DERIVERS: dict[str, Callable[[ShellCommand], Iterator[FileAction]]] = {
    "rm": _derive_rm_events,
    "mv": _derive_mv_events,
    "cp": _derive_cp_events,
    "unlink": _derive_rm_events,
    "Remove-Item": _derive_rm_events,
}


# --- possible changes ---


def touch_named_files(
    command: ShellCommand, words: CommandWords, patterns: Sequence[str]
) -> Iterator[PossibleChange]:
    """Yield likely changes of the files that a command such as `dd` or `rsync` names.

    `words` are those of the command without wrappers.
    """
    name = words[0]
    files = [path.removeprefix("of=") for path in list_operands(words)]
    if name in ("rsync", "scp"):
        files = [remove_remote_host(path) for path in files]
    yield from touch_likely_files(files, patterns)
    if name in _COPYING_COMMANDS:
        yield from _doubt_copies(command)
    else:
        yield from doubt_unknown_words(command)


def touch_likely_files(
    files: Sequence[str], patterns: Iterable[str] = ()
) -> Iterator[PossibleChange]:
    """Yield likely changes of these paths and patterns, and of known files with the same names."""
    for path in files:
        if is_file_like(path):
            yield PossibleChange(path, likely=True)
    for path in patterns:
        yield PossibleChange(path, likely=True, pattern=True)
    yield PossibleChange("", named=collect_base_names(files))


def touch_command_targets(
    words: CommandWords, patterns: Iterable[str] = ()
) -> Iterator[PossibleChange]:
    """Yield likely changes of the files that `rm`, `mv` or `cp` names; `cp` keeps its sources."""
    files = list_operands(words)
    if words[0] == "cp":
        # The target may be a folder: then it has a file with the name of each source.
        sources, files = (files, []) if words[-1] is None else (files[:-1], files[-1:])
        names = [posixpath.basename(source) for source in sources]
        if not files or not list_options(words) <= _PLAIN_MOVE_OPTIONS:
            yield from (PossibleChange(source, likely=True, elsewhere=True) for source in sources)
        elif not posixpath.splitext(files[0])[1]:
            files += [posixpath.join(files[0], name) for name in names]
    yield from touch_likely_files(files, patterns)


def doubt_possible_targets(command: ShellCommand) -> Iterator[PossibleChange]:
    """Yield possible changes below folders that a command names, and where unknown words point."""
    words = command.words
    if command.name in _COPYING_COMMANDS:
        yield from _doubt_copies(command)
    else:
        yield from doubt_unknown_words(command, skipped=command.globs)
    if command.name == "mv" or _is_recursive_rm(list_options(words)):
        folders = [
            path
            for path in list_operands(words)
            if not posixpath.splitext(path)[1] and path not in (".", "..")
        ]
        yield from doubt_shapes(folders) if folders else ()


def _doubt_copies(command: ShellCommand) -> Iterator[PossibleChange]:
    """Yield possible changes at the target of a copy or move whose words are not all known.

    The target may be a folder. Then its files have the names of the sources, which may be folders
    themselves.
    """
    words = command.words
    last = len(words) - 1
    if not last:
        return
    if command.name == "mv":
        yield from doubt_unknown_words(command, skipped=[*command.globs, last])
    shapes = [
        shape
        for number, word in enumerate(words[1:last], 1)
        for shape in ((word,) if word is not None else command.shapes.get(number, ("",)))
        if not shape.startswith("-")
    ]
    options = list_options(words)
    target = words[-1]
    if options & _TARGET_OPTIONS:
        if None in words or options & _FOLDER_COPY_OPTIONS:
            yield PossibleChange("", folder=True)
    elif target is None:
        targets = command.shapes.get(last, ())
        if not all(shape.endswith("/") for shape in targets) or not targets:
            yield from doubt_shapes(targets)
    elif None in words or options & _FOLDER_COPY_OPTIONS:
        yield from doubt_files_in_folder(target, shapes)
