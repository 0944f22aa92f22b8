"""Lines that a person wrote, because no agent can have written them.

Between a commit and its parent, sessions show what their agents did to each file. A person wrote a
line of the commit if the sessions knew the file exactly all the time: their first look shows it as
in the parent, the replay ends with the bytes of the commit, and the line appeared between two looks
without a call. No command, formatter or other session may have changed the file in between. The
proof holds as far as the records do: an agent without a record is not excluded. Lines that any
session proposed, in a call or in an answer, are never a person's, and neither are generated files.

    >>> from vacr.blame.exclusion import is_generated
    >>> is_generated("web/package-lock.json"), is_generated("web/page.js")
    (True, False)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vacr.agents import SessionStep, ToolCall, find_record_agent
from vacr.attribution import (
    BaseFiles,
    Replay,
    TrackedFile,
    find_entry_times,
    list_line_runs,
    locate_session_steps,
)
from vacr.blame.blocks import FileVersion
from vacr.blame.claims import LineClaim
from vacr.blame.git import CommitTimes, Repository
from vacr.blame.join import BlameByLine, LineBlame
from vacr.blame.line_text import count_letters, split_consecutive_numbers
from vacr.blame.locality import PlacedSession
from vacr.blame.stored_attribution import get_session_id
from vacr.edits import FileAction, make_absolute_path, make_path_key

JOIN_BY_EXCLUSION = "exclusion"
EVIDENCE_EXCLUSION = "exclusion"

# A shorter line may be in the text of an agent by chance.
_MIN_LETTERS = 8
_GENERATED_NAMES = ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum")
_GENERATED_ENDINGS = (".lock", ".lockb", ".min.js", ".min.css", ".map", ".snap", ".pb.go")
_GENERATED_FOLDERS = ("dist", "build", "node_modules", "vendor", "generated", "__snapshots__")
_BOT_MARK = "[bot]"


@dataclass(frozen=True, slots=True)
class CommitWindow:
    """A commit with one parent, and the times between which its changes were made."""

    commit: str
    parent: str
    author: str
    """The name of the commit's author."""
    times: Mapping[str, CommitTimes]

    def contains(self, milliseconds: int) -> bool:
        """Return whether a time lies after the parent and not after the commit."""
        seconds = milliseconds // 1000
        return self.times[self.parent].committed < seconds <= self.times[self.commit].committed

    def overlaps(self, started: int | None, ended: int | None) -> bool:
        """Return whether a session between two times, in seconds, may have worked in the window.

        A session without times may have worked at any time.
        """
        if started is None or ended is None:
            return True
        return (
            started <= self.times[self.commit].committed
            and ended > self.times[self.parent].committed
        )


def blame_people(
    repository: Repository,
    window: CommitWindow,
    versions: Sequence[FileVersion],
    blames: Sequence[BlameByLine],
    sessions: Sequence[PlacedSession],
) -> None:
    """Add the lines that only a person can have written to the blames of a commit's files.

    A `mixed` line in such a file was changed by a person. Add no lines if no session worked on the
    commit.
    """
    if window.author.endswith(_BOT_MARK):
        return
    replayed = _replay_window(repository, window, blames, sessions)
    if replayed is None:
        return
    proposed: dict[str, int] | None = None
    for version, blame in zip(versions, blames, strict=True):
        if is_generated(version.path) or not replayed.ends_with(version):
            continue
        for number, found in blame.items():
            if found.type == "mixed":
                blame[number] = replace(found, changed_by="human")
        seen = replayed.find_outside_lines(version)
        numbers = [number for number in seen if number not in blame]
        if proposed is None and numbers:
            proposed = _find_proposed_lines(sessions)
        for run in split_consecutive_numbers(numbers):
            lines = [(version.bare[number - 1].strip(), seen[number]) for number in run]
            if not _is_proposed(lines, proposed or {}):
                human = LineBlame("human", replayed.claim, JOIN_BY_EXCLUSION)
                blame.update(dict.fromkeys(run, human))


def is_generated(path: str) -> bool:
    """Return whether a file is usually written by a program: a lock file, a bundle, a snapshot."""
    *folders, name = path.split("/")
    return (
        name in _GENERATED_NAMES
        or name.endswith(_GENERATED_ENDINGS)
        or any(folder in _GENERATED_FOLDERS for folder in folders)
    )


# --- the replay of the time between two commits ---


class _WindowReplay(Replay):
    """A replay that notes files which were not as in the base when a session first saw them."""

    def __init__(self, base: BaseFiles, roots: Sequence[str]) -> None:
        super().__init__(base, roots)
        self.unclean_keys: set[str] = set()

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply one step, and note the files that it shows for the first time and changed."""
        known = list(actions)
        keys = [make_path_key(make_absolute_path(action.path, step.folder)) for action in known]
        unseen = [key for key in keys if key not in self.files or not self.files[key].looked]
        super().step(step, known)
        for key in unseen:
            tracked = self.files.get(key)
            if tracked is not None and tracked.file.outside:
                self.unclean_keys.add(key)


@dataclass(frozen=True, slots=True)
class _ReplayedWindow:
    """The files as the sessions left them when the commit was made."""

    replay: _WindowReplay
    roots: Sequence[str]
    claim: LineClaim
    """The claim about the lines of a person."""

    def ends_with(self, version: FileVersion) -> bool:
        """Return whether the replay knew a file all the time, and ends with the commit's bytes."""
        tracked = self._find_file(version)
        if tracked is None or make_path_key(tracked.path) in self.replay.unclean_keys:
            return False
        is_certain = not (tracked.gone or tracked.dirty or tracked.doubted or tracked.unplaced)
        return is_certain and tracked.file.text == "".join(version.lines)

    def find_outside_lines(self, version: FileVersion) -> dict[int, int]:
        """Return the added lines that a session saw appear without a call.

        Each number of a line has the time when the session first saw it, in milliseconds.
        """
        tracked = self._find_file(version)
        if tracked is None:
            return {}
        return {
            number: maker.time
            for run in list_line_runs(tracked.file)
            if (maker := self.replay.makers[-run.maker - 1]).kind == "user"
            for number in range(run.first, run.last + 1)
            if number in version.added and number not in version.line_times
        }

    def _find_file(self, version: FileVersion) -> TrackedFile | None:
        """Return the file as the sessions left it; `None` if they touched no copy, or several."""
        tracked = [
            found
            for root in self.roots
            if (found := self.replay.files.get(make_path_key(f"{root}/{version.path}")))
        ]
        return tracked[0] if len(tracked) == 1 else None


def _replay_window(
    repository: Repository,
    window: CommitWindow,
    blames: Sequence[BlameByLine],
    sessions: Sequence[PlacedSession],
) -> _ReplayedWindow | None:
    """Replay the steps of sessions between a commit and its parent, over the parent.

    Return `None` if no session worked on the commit, or if times of a session are uncertain.
    """
    joined = {
        found.claim.record
        for blame in blames
        for found in blame.values()
        if found.type in ("ai", "mixed")
    }
    records, steps, roots = [], [], []
    is_joined = False
    for own in sessions:
        if not window.overlaps(own.facts.started, own.facts.ended):
            continue
        record = own.load()
        walked = locate_session_steps(record)
        if any(_is_opaque(record, step, window) for step in walked):
            return None
        inside = [step for step in walked if window.contains(step.time)]
        if not own.place.is_tied or not inside:
            continue
        if not own.place.roots:
            return None
        made = any(window.commit.startswith(name) for name in own.facts.commits)
        is_joined = is_joined or made or str(record.get("id", "")) in joined
        records.append(record)
        steps.append(inside)
        roots.append(own.place.roots[0])
    if not is_joined:
        return None
    replay = _WindowReplay(repository.load_base(window.parent), roots)
    replay.run(records, steps)
    last = max((own[-1] for own in steps), key=lambda step: step.time)
    claim = _make_exclusion_claim(records[0], last)
    return _ReplayedWindow(replay, list(dict.fromkeys(roots)), claim)


def _is_opaque(record: dict[str, Any], step: SessionStep, window: CommitWindow) -> bool:
    """Return whether a call has an uncertain time, or may have changed any file until the commit.

    The second holds for a tool that vacr does not know, such as one that starts a sub-agent.
    """
    if not isinstance(step, ToolCall):
        return False
    if step.zoneless:
        return True
    is_earlier = step.requested // 1000 <= window.times[window.commit].committed
    return is_earlier and find_record_agent(record).tool_effect(step) is None


def _make_exclusion_claim(record: dict[str, Any], last: SessionStep) -> LineClaim:
    """Return the claim that a person wrote a line, with the session that shows it."""
    return LineClaim(
        type="human",
        model="",
        session=get_session_id(record),
        record=str(record.get("id", "")),
        entry=last.entry,
        call_id="",
        prompt="",
        evidence=EVIDENCE_EXCLUSION,
        time=last.time // 1000,
    )


# --- lines that an agent proposed ---


def _is_proposed(lines: Sequence[tuple[str, int]], proposed: Mapping[str, int]) -> bool:
    """Return whether an agent proposed one of these lines before it was seen.

    Each line has the time when it was first seen. If all are too short to know, return `True`.
    """
    long = [(text, seen) for text, seen in lines if count_letters(text) >= _MIN_LETTERS]
    return not long or any(text in proposed and proposed[text] <= seen for text, seen in long)


def _find_proposed_lines(sessions: Sequence[PlacedSession]) -> dict[str, int]:
    """Return all lines that agents wrote in calls and answers, with the time of the first one.

    Lines are stripped. A line of a patch is also there without its sign. Times are in milliseconds;
    0 if no entry states one.
    """
    proposed: dict[str, int] = {}
    for own in sessions:
        record = own.load()
        times = find_entry_times(record)
        entries = record["session"].get("entries", ())
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if not isinstance(entry, dict) or entry.get("type") == "user":
                continue
            time = times.get(str(entry.get("id") or f"/session/entries/{index}"), 0)
            for line in _list_written_lines(entry):
                proposed[line] = min(time, proposed.get(line, time))
    return proposed


def _list_written_lines(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the lines in all texts of an entry, except in results of calls."""
    pending: list[Any] = [entry]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if value.get("type") != "tool-result":
                pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and len(value) >= _MIN_LETTERS:
            for line in value.replace("\\n", "\n").split("\n"):
                bare = line.strip()
                yield bare
                if bare[:1] in ("+", "-", ">", "`"):
                    yield bare.lstrip("+->` ").rstrip("`")
