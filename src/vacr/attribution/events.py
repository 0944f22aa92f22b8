"""What happens to files in a session, whatever the agent. Step: attribute.

Each event names a file as the session does; `replay` resolves it against the working directory of
the call it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from vacr.attribution.apply_patch import Part


@dataclass(frozen=True, slots=True)
class Edit:
    """One text put in the place of another, once or everywhere."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a unified diff: the lines it takes away and adds, with their first letters; places
    count from 1.
    """

    old_first: int
    new_first: int
    lines: Sequence[str]
    tabs_as_spaces: bool = False  # whether each tab that indents a line is shown as two spaces

    def before(self) -> list[str]:
        """Give the lines it expects."""
        return [line[1:] for line in self.lines if line[:1] != "+"]

    def after(self) -> list[str]:
        """Give the lines it leaves."""
        return [line[1:] for line in self.lines if line[:1] != "-"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that concerns one file."""

    path: str


@dataclass(frozen=True, slots=True)
class Observe(Event):
    """Lines were shown, from the line numbered `first` on; `last` when the file ends with them.

    It holds only if the file has `least` lines. Up to `slack` empty lines before them may not have
    been shown, and when it is `trimmed` not what the first one is indented by. The last of them may
    have no end when it was shown as `unended`. `total` is how many lines the host counts in all,
    with the empty one after the last line end, or 0 where it does not say.
    """

    first: int
    lines: Sequence[str]
    last: bool = False
    least: int = 0
    slack: int = 0
    trimmed: bool = False
    unended: bool = False
    total: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The whole text was shown; hosts show CR LF as LF."""

    text: str


@dataclass(frozen=True, slots=True)
class Replace(Event):
    """Texts were replaced; `shown` are numbered lines that the result showed afterwards.

    `offers` are the ways to read the hunks of a host that known lines have to confirm.
    """

    edits: Sequence[Edit]
    hunks: Sequence[Hunk] = ()
    shown: Sequence[Observe] = ()
    offers: Sequence[Sequence[Hunk]] = ()


@dataclass(frozen=True, slots=True)
class Write(Event):
    """The whole text was written, over a file or, if `created`, as a new one; `append` adds it at
    the end.

    `recorded` when the host says what the file became, `by_shell` when a command wrote it.
    """

    text: str
    created: bool | None = None
    append: bool = False
    recorded: bool = False
    by_shell: bool = False


@dataclass(frozen=True, slots=True)
class Sketch(Event):
    """The file was changed, or was to be, and nothing says where, or whether it was."""


@dataclass(frozen=True, slots=True)
class Patch(Event):
    """The parts of a patch were applied where their lines were found, or where the host recorded
    it.
    """

    parts: Sequence[Part]
    hunks: Sequence[Hunk] = ()


@dataclass(frozen=True, slots=True)
class Move(Event):
    """The file has another name now; `copy` when the first name stays too, `told` when somebody
    else's move is reported.
    """

    to: str
    copy: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Delete(Event):
    """The file is gone, or the folder; `pattern` when the path has `*` and `?` in it that stand for
    others.
    """

    folder: bool = False
    pattern: bool = False


@dataclass(frozen=True, slots=True)
class Revert(Event):
    """The version control put back what it had of a file or a folder, or of `everything`; or it
    removed what is `new` to it.
    """

    everything: bool = False
    new: bool = False


@dataclass(frozen=True, slots=True)
class Stash(Event):
    """The version control took all changes away, or those of some paths, to bring them back later.

    `known` when it is certain which ones, `sure` when there surely were any.
    """

    paths: Sequence[str] = ()
    untracked: bool = False
    known: bool = True
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Unstash(Event):
    """The version control brought back the changes it took away last, or only forgot them; `keep`
    when it can do so again.
    """

    bring: bool = True
    keep: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Staged(Event):
    """The version control may have something else to put back from now on: a commit, an index,
    another branch.
    """


@dataclass(frozen=True, slots=True)
class Touch(Event):
    """Something may have changed the file, or without a path any file: a script, the version
    control, a formatter.

    `overwritten` when nothing of what it held is left, `likely` when to change it is what was asked
    for. With a `pattern`, the path has `*` and `?` in it that stand for others, and only known
    files are meant. `named` are the last parts of paths, or patterns of them, that were likely
    among any files. With `folder` it is any file below the path, or without one any at all, if its
    name ends with one of `kinds`, where these are told.
    """

    formatter: bool = False
    overwritten: bool = False
    folder: bool = False
    kinds: tuple[str, ...] = ()
    likely: bool = False
    pattern: bool = False
    named: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """The host says that somebody else changed the file, and shows hunks of it; `whole` when these
    are all.
    """

    parts: Sequence[tuple[int, list[str]]] = field(default=())
    whole: bool = False


@dataclass(frozen=True, slots=True)
class DiffSeen(Event):
    """A diff of the file was printed; its new side is what the file holds now."""

    hunks: Sequence[Hunk]
