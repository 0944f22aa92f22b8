"""File actions: the things that happen to files in a session, in one vocabulary for all agents.

An agent's tool calls, their results and its shell commands all come down to these few types.
`vacr.attribution` derives them from a session and replays them to find out who wrote which line.
An action names its file as the session does; the replay resolves the name against the working
directory of the call.

    >>> from vacr.edits import Edit, ObservedFile, Replacement
    >>> shown = ObservedFile("hello.py", text="print('hi')")
    >>> changed = Replacement("hello.py", edits=[Edit("hi", "hello")])
    >>> shown.path == changed.path, changed.edits[0].every
    (True, False)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vacr.edits.patch import Hunk, PatchHunk


@dataclass(frozen=True, slots=True)
class Edit:
    """One text replaced by another, once or at every occurrence."""

    old: str
    new: str
    every: bool = False
    """Whether every occurrence is replaced, instead of one."""


@dataclass(frozen=True, slots=True)
class FileAction:
    """An action that concerns one file; the base of all others."""

    path: str
    """The path as the session spells it: absolute, or relative to the working directory."""


# Observations: the session shows the content of a file.


@dataclass(frozen=True, slots=True)
class ObservedLines(FileAction):
    """Lines of the file were shown, starting with line number `first`."""

    first: int
    lines: Sequence[str]
    last: bool = False
    """Whether the file ends with these lines."""
    least: int = 0
    """The observation holds only if the file has at least this many lines."""
    slack: int = 0
    """How many empty lines before these may be missing from the listing."""
    trimmed: bool = False
    """Whether the indentation of the first line may be missing."""
    unended: bool = False
    """Whether the last line may lack its line end."""
    total: int = 0
    """Line count of the host, with the empty line after the last line end; 0 if not stated."""
    ends_file: bool = False
    """Whether the file surely ends with these lines, and the last of them has a line end."""


@dataclass(frozen=True, slots=True)
class ObservedFile(FileAction):
    """The whole text was shown; hosts show CR LF as LF."""

    text: str


@dataclass(frozen=True, slots=True)
class ObservedDiff(FileAction):
    """A diff of the file was printed; its new side is in the file now."""

    hunks: Sequence[Hunk]
    blob: str = ""
    """The abbreviated id that git gives to the whole text, or `""`."""
    staged: bool = False
    """Whether the new side is the version in git's index, which the file need not equal."""


@dataclass(frozen=True, slots=True)
class ChangeNotice(FileAction):
    """The host reports that somebody else changed the file, and shows parts of it."""

    parts: Sequence[tuple[int, list[str]]] = field(default=())
    """First line number and lines of each part."""
    whole: bool = False
    """Whether the parts are the whole change."""


# Changes that an agent makes.


@dataclass(frozen=True, slots=True)
class Replacement(FileAction):
    """Texts in the file were replaced by others."""

    edits: Sequence[Edit]
    hunks: Sequence[Hunk] = ()
    """The change as the host recorded it; empty without a record."""
    shown: Sequence[ObservedLines] = ()
    """Numbered lines that the result showed afterwards."""
    offers: Sequence[Sequence[Hunk]] = ()
    """Alternative readings of the host's hunks; known lines of the file have to confirm one."""


@dataclass(frozen=True, slots=True)
class FileWrite(FileAction):
    """The whole text of the file was written, or with `append` a text at its end."""

    text: str
    created: bool | None = None
    """Whether the file is new; `None` if not known."""
    append: bool = False
    """Whether the text was added at the end of the file."""
    recorded: bool = False
    """Whether the host states the resulting content."""
    by_shell: bool = False
    """Whether a shell command wrote the file."""


@dataclass(frozen=True, slots=True)
class FileRewrite(FileAction):
    """A program changed the text of the file in a known way."""

    rewrite: Callable[[str], str | None]
    """Returns the new text for the old one, or `None` where it is not certain."""
    by_line: bool = False
    """Whether it changes each line alone, so that it applies to parts of the file too."""
    pattern: bool = False
    """Whether `*` and `?` in the path are wildcards."""


@dataclass(frozen=True, slots=True)
class AppliedPatch(FileAction):
    """The hunks of an `apply_patch` patch were applied to the file."""

    parts: Sequence[PatchHunk]
    """The hunks of the patch, to be found by their lines."""
    hunks: Sequence[Hunk] = ()
    """The change as the host recorded it; empty without a record."""


@dataclass(frozen=True, slots=True)
class UnplacedEdit(FileAction):
    """The file was changed, or may have been, at an unknown place."""


@dataclass(frozen=True, slots=True)
class FileMove(FileAction):
    """The file was renamed or copied."""

    to: str
    copy: bool = False
    """Whether the file also keeps its old name."""
    reported: bool = False
    """Whether a command only reports a move that somebody else made."""


@dataclass(frozen=True, slots=True)
class FileDeletion(FileAction):
    """The file was deleted, or a folder with all files in it."""

    folder: bool = False
    """Whether the files below the path were deleted too."""
    pattern: bool = False
    """Whether `*` and `?` in the path are wildcards."""


@dataclass(frozen=True, slots=True)
class MissingFile(FileAction):
    """The host said that the file does not exist: only a file known before was deleted."""


@dataclass(frozen=True, slots=True)
class PossibleChange(FileAction):
    """A script, git or a formatter may have changed the file, or any file if the path is empty."""

    formatter: bool = False
    """Whether a code formatter may have made the change."""
    command: tuple[str, ...] = ()
    """The words of the formatter's command; empty if they are not all known."""
    overwritten: bool = False
    """Whether the old content is gone."""
    folder: bool = False
    """Whether any file below the path is meant, or any file at all if the path is empty."""
    kinds: tuple[str, ...] = ()
    """With `folder`, the endings of the file names that are meant; empty for all."""
    likely: bool = False
    """Whether the change was the purpose of the command."""
    pattern: bool = False
    """Whether `*` and `?` in the path are wildcards; then only known files are meant."""
    named: frozenset[str] = frozenset()
    """Names of files, or patterns of names, that probably changed in any folder."""
    elsewhere: bool = False
    """Whether the files with the path's last part in other folders are meant, but not the path."""


# Changes by git.


@dataclass(frozen=True, slots=True)
class Revert(FileAction):
    """Git restored its version of a file or folder."""

    everything: bool = False
    """Whether the whole work tree was restored."""
    new: bool = False
    """Whether untracked files were removed instead."""


@dataclass(frozen=True, slots=True)
class Stash(FileAction):
    """Git put all changes aside, or the changes of some paths, to restore them later."""

    paths: Sequence[str] = ()
    """The files and folders whose changes were put aside; empty for all."""
    untracked: bool = False
    """Whether files that git does not track were put aside too."""
    known: bool = True
    """Whether it is certain which changes were put aside."""
    sure: bool = True
    """Whether git certainly had changes to put aside."""


@dataclass(frozen=True, slots=True)
class Unstash(FileAction):
    """Git took the newest stash: to restore it, or to drop it."""

    bring: bool = True
    """Whether the changes were restored."""
    keep: bool = False
    """Whether the stash can be restored again."""
    known: bool = True
    """Whether it is certain that the command took the newest stash."""


@dataclass(frozen=True, slots=True)
class GitStateChange(FileAction):
    """A later revert may restore another version: a commit, an index, another branch."""
