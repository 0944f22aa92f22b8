"""A file of a replay, who made its lines, and how that is proved. Step: attribute."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.attribution.calls import Call
from vacr.attribution.chunks import Ranges
from vacr.attribution.events import Edit, Observe
from vacr.attribution.sparse import SparseFile

# How a range is proved.
RECORDED, REPLAYED, WINDOWED, ANCHORED = "recorded", "replayed", "windowed", "diff-anchored"
CONTENT_ONLY, EXTERNAL, SHELL = "content-only", "external", "shell"


@dataclass(slots=True)
class Maker:
    """Who made lines: a call of an agent (`ai`), or somebody outside: the user, a command, or
    nobody knows.
    """

    kind: str
    entries: list[str]
    call_id: str
    model: str
    evidence: str
    record: int = 0
    contributor: Any = None


@dataclass(slots=True)
class Change:
    """One applied call in one file: the lines it made, numbered as they were just after it, if that
    is known.
    """

    call: Call
    path: str
    ranges: Ranges
    evidence: str
    record: int = 0


@dataclass(slots=True)
class Tracked:
    """One file of a replay: what is known of it, and when somebody last looked."""

    path: str
    file: SparseFile
    gone: bool = False
    dirty: bool = False
    swept: bool = False  # it is dirty only because a formatter went over its folder, which leaves most files as they are
    looked: int = 0
    changed: int = 0
    doubted: int = 0  # when something last set out to change it, whatever came of that
    created: bool = False  # in these sessions, so that the version control knows nothing of it
    drifted: bool = False  # somebody else changed it, and may have committed that
    held: dict[tuple[int, str], str] = field(default_factory=dict)
    """What a host keeps of it, by the record and the sub-agent."""
    waiting: list[Observe] = field(default_factory=list)
    loose: list[tuple[Sequence[Edit], Change, int]] = field(default_factory=list)

    @property
    def is_doubtful(self) -> bool:
        """Whether something set out to change it that nobody has looked at since."""
        return self.dirty and self.doubted >= self.looked and self.doubted > 0

    @property
    def text(self) -> str | None:
        """The whole text, or `None` while a part is not known or may be another."""
        return self.file.text if not self.dirty or self.swept else None

    def touch(self, when: int, *, likely: bool) -> None:
        """Take in that something may have changed it, or likely did."""
        self.dirty, self.swept, self.doubted = True, False, when if likely else self.doubted
        self.waiting.clear()
        if self.gone:  # perhaps it is there again
            self.file, self.gone = SparseFile(), False
