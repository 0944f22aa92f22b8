"""What happens to files in a session, whatever the agent. Step: attribute.

Each event names a file as the session does; `replay` resolves it against the working directory of the call it came from.
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
    """A hunk of a unified diff: the lines it takes away and adds, with their first letters; places count from 1."""

    old_first: int
    new_first: int
    lines: Sequence[str]

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
    """Lines were shown, from the line numbered `first` on; `last` when the file ends with them."""

    first: int
    lines: Sequence[str]
    last: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot(Event):
    """The whole text was shown; hosts show CR LF as LF."""

    text: str


@dataclass(frozen=True, slots=True)
class Replace(Event):
    """Texts were replaced; `shown` are numbered lines that the result showed afterwards."""

    edits: Sequence[Edit]
    hunks: Sequence[Hunk] = ()
    shown: Sequence[Observe] = ()


@dataclass(frozen=True, slots=True)
class Write(Event):
    """The whole text was written, over a file or, if `created`, as a new one; `append` adds it at the end.

    `recorded` when the host says what the file became.
    """

    text: str
    created: bool | None = None
    append: bool = False
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Sketch(Event):
    """The file was changed, or was to be, and nothing says where, or whether it was."""


@dataclass(frozen=True, slots=True)
class Patch(Event):
    """The parts of a patch were applied where their lines were found, or where the host recorded it."""

    parts: Sequence[Part]
    hunks: Sequence[Hunk] = ()


@dataclass(frozen=True, slots=True)
class Move(Event):
    """The file has another name now; `copy` when the first name stays too, `told` when somebody else's move is reported."""

    to: str
    copy: bool = False
    told: bool = False


@dataclass(frozen=True, slots=True)
class Delete(Event):
    """The file is gone."""

    folder: bool = False


@dataclass(frozen=True, slots=True)
class Revert(Event):
    """The version control put back what it had."""


@dataclass(frozen=True, slots=True)
class Touch(Event):
    """Something may have changed the file: a formatter, a script, the version control."""

    reason: str = "shell"


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """The host says that somebody else changed the file, and shows lines of it."""

    shown: Sequence[Observe] = field(default=())


@dataclass(frozen=True, slots=True)
class DiffSeen(Event):
    """A diff of the file was printed; its new side is what the file holds now."""

    hunks: Sequence[Hunk]
