"""Claims about the writers of lines, and the facts that tie a session to a repository.

A record claims lines in three ways: as pieces of text that a call wrote, as known states of whole
files, and as ranges known only by their hash. The claims of a record depend on the record and its
base alone, not on the repository that they are joined to.

    >>> from vacr.blame.claims import LineClaim
    >>> claim = LineClaim("ai", "gpt-5", "session-1", "", "entry-9", "call", "", "replayed", 1_000)
    >>> claim.is_possible_at(committed=1_000), claim.is_possible_at(committed=999)
    (True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vacr.attribution import BaseFiles

_ZONE_HOURS = 14
"""The greatest distance of local time from UTC, in hours."""


@dataclass(frozen=True, slots=True)
class LineClaim:
    """A statement about the writer of lines, with its session, call, prompt and evidence."""

    type: str
    """`ai`, `human` or `mixed`."""
    model: str
    session: str
    record: str
    """The id of the record."""
    entry: str
    """The id of the entry that wrote the lines."""
    call_id: str
    prompt: str
    """The latest prompt before that entry."""
    evidence: str
    time: int | None = None
    """When the call was made, in seconds since 1970; `None` if the session does not state it."""
    zoneless: bool = False
    """Whether the session states the time without a time zone."""
    agent: str = ""
    """The name of the agent's program."""

    @property
    def source(self) -> tuple[str, str]:
        """The identity of the writing call: its id and its entry.

        It is the same in each record of a session that continues in another file.
        """
        return self.call_id, self.entry

    @property
    def doubt(self) -> str:
        """Why the time of the call is uncertain: `no-time`, `no-time-zone`, or an empty text."""
        if self.time is None:
            return "no-time"
        return "no-time-zone" if self.zoneless else ""

    def is_possible_at(self, committed: int | None) -> bool:
        """Return whether the call may be earlier than a commit, by the time of its committer.

        Without either time, it may be.
        """
        if self.time is None or committed is None:
            return True
        slack = _ZONE_HOURS * 3600 if self.zoneless else 0
        return self.time - slack <= committed


@dataclass(slots=True)
class TextPiece:
    """Consecutive lines that one call wrote."""

    claim: LineClaim
    path: str
    """The absolute path on the machine of the session."""
    lines: tuple[str, ...]
    moment: int = 0
    """The clock of the replay when the piece was collected."""
    until: int | None = None
    """When the lines were gone from the file again, in seconds; `None` if they stayed."""
    above: str = ""
    """The next line above with letters or digits, if it is known."""
    below: str = ""
    """The next line below with letters or digits, if it is known."""
    seen: frozenset[str] = frozenset()
    """The lines, without their ends, that the file had before the call as well."""


@dataclass(frozen=True, slots=True)
class HashedRange:
    """A range of lines known only by its length and its SHA-256."""

    claim: LineClaim
    path: str
    count: int
    digest: str


ClaimsByLine = dict[int, LineClaim]
"""The claims about lines of one file, by their numbers."""


@dataclass(slots=True)
class KnownState:
    """A file as the session knew it completely, for some time."""

    path: str
    lines: ClaimsByLine
    until: int | None = None
    """When the file changed again, in seconds since 1970; `None` if it stayed."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Facts that tie a session to a repository."""

    session: str = ""
    record: str = ""
    folder: str = ""
    """The project folder on the session's machine; empty if unknown."""
    started: int | None = None
    """The time of the first step, in seconds since 1970."""
    ended: int | None = None
    """The time of the last step, in seconds since 1970."""
    named: tuple[str, ...] = ()
    """Absolute paths of files that calls named."""
    worktrees: tuple[str, ...] = ()
    """Folders in which the session added linked work trees of git."""
    revision: str = ""
    """The commit at the start of the session, if the agent recorded it."""
    commits: tuple[str, ...] = ()
    """Commits that git commands of the session made or showed; some are abbreviated."""
    remotes: tuple[str, ...] = ()
    """Addresses of the repository that the agent recorded, or that git showed."""
    blobs: tuple[tuple[str, int], ...] = ()
    """Files that the session knew completely: the SHA-1 of the git blob, and the length."""


@dataclass(slots=True)
class RecordClaims:
    """All claims of one record."""

    facts: SessionFacts = field(default_factory=SessionFacts)
    pieces: list[TextPiece] = field(default_factory=list)
    hashed: list[HashedRange] = field(default_factory=list)
    states: dict[str, list[KnownState]] = field(default_factory=dict)
    """The known states of files, by their SHA-256."""


BaseLookup = Callable[[str], BaseFiles | None]
"""Returns the base files of a revision, or `None` if they are not available."""
