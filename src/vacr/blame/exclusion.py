"""Lines that a person wrote, because no agent can have written them.

Between a commit and its parent, sessions show what their agents did to each file. A person wrote a
line of the commit if the sessions knew the file exactly all the time: their first look shows it as
in the parent, the replay ends with the bytes of the commit, and the line appeared between two looks
without a call. No command, formatter or other session may have changed the file in between, and no
tool of unknown effect, such as a sub-agent, may have run. The proof holds as far as the records do:
an agent without a record is not excluded. Lines that any session proposed, in a call or in an
answer, are never a person's. Neither are lines that a program only reformatted, nor lines of
generated files.

    >>> from vacr.blame.exclusion import CommitWindow
    >>> from vacr.blame.git import CommitTimes
    >>> times = {"c1": CommitTimes(100, 100), "c2": CommitTimes(300, 300)}
    >>> window = CommitWindow("c2", "c1", "Mira", times)
    >>> [window.contains(seconds * 1000) for seconds in (100, 200, 300)]
    [False, True, True]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vacr.agents import SessionStep, ToolCall, extract_command, find_record_agent
from vacr.attribution import (
    EVIDENCE_EXTERNAL,
    BaseFiles,
    Replay,
    TrackedFile,
    find_entry_times,
    is_left_running,
    list_line_runs,
    locate_session_steps,
)
from vacr.blame.blocks import FileVersion
from vacr.blame.claims import LineClaim
from vacr.blame.git import CommitTimes, Repository
from vacr.blame.join import BlameByLine, LineBlame
from vacr.blame.line_text import count_letters, split_consecutive_numbers
from vacr.blame.locality import PlacedSession
from vacr.blame.stored_attribution import get_agent_name, get_session_id
from vacr.edits import FileAction, make_absolute_path, make_path_key

JOIN_BY_EXCLUSION = "exclusion"
EVIDENCE_EXCLUSION = "exclusion"

# A shorter line may be in the text of an agent by chance.
_MIN_LETTERS = 8
_BOT_MARK = "[bot]"
# A program whose output becomes a word, such as `echo $(./generate.sh)`; some only print.
_SUBSTITUTION = re.compile(
    r"(?:\$\(|`|<\()\s*(?!\(|(?:basename|cat|date|dirname|echo|head|ls|printf|pwd|tail|wc|which)\b)"
)


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

    A `mixed` line was changed by a person under the same conditions. Add no lines if no session
    worked on the commit.
    """
    if window.author.endswith(_BOT_MARK):
        return
    replayed = _replay_window(repository, window, blames, sessions)
    if replayed is None:
        return
    proposed: dict[str, int] | None = None
    for version, blame in zip(versions, blames, strict=True):
        if version.is_generated or not replayed.ends_with(version):
            continue
        seen = replayed.find_outside_lines(version)
        for number, found in blame.items():
            is_changed = number in seen and not replayed.is_rearranged(version, number)
            if found.type == "mixed" and is_changed:
                blame[number] = replace(found, changed_by="human")
        numbers = [number for number in seen if number not in blame]
        if proposed is None and numbers:
            proposed = _find_proposed_lines(sessions)
        for run in split_consecutive_numbers(numbers):
            lines = [(_keep_letters(version.bare[number - 1]), seen[number]) for number in run]
            is_rearranged = any(replayed.is_rearranged(version, number) for number in run)
            if not is_rearranged and not _is_proposed(lines, proposed or {}):
                human = LineBlame("human", replayed.claim, JOIN_BY_EXCLUSION)
                blame.update(dict.fromkeys(run, human))


# --- the replay of the time between two commits ---


class _WindowReplay(Replay):
    """A replay that notes where lines which no call explains need not be a person's."""

    def __init__(self, base: BaseFiles, roots: Sequence[str]) -> None:
        super().__init__(base, roots)
        self.unclean_keys: set[str] = set()
        """Files that were not as in the base when a session first saw them."""
        self.rearranged: defaultdict[str, set[str]] = defaultdict(set)
        """The lines of each file that were there before in another layout."""

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply one step, and note files that were not as in the base when it first saw them."""
        known = list(actions)
        keys = {make_path_key(make_absolute_path(action.path, step.folder)) for action in known}
        unseen = [key for key in keys if key not in self.files or not self.files[key].looked]
        before = {key: self.files[key].file for key in keys if key in self.files}
        texts = {key: file.best_text or "" for key, file in before.items()}
        places = {key: set(file.outside) for key, file in before.items()}
        super().step(step, known)
        for key in unseen:
            tracked = self.files.get(key)
            if tracked is not None and tracked.file.outside:
                self.unclean_keys.add(key)
        for key, text in texts.items():
            if self.files[key].file.outside.keys() - places[key]:
                self._note_rearranged_lines(key, text)
        if isinstance(step, ToolCall):
            self._note_hidden_command(step)

    def _note_hidden_command(self, call: ToolCall) -> None:
        """Note a call that runs a program that the shell hides."""
        command, _ = extract_command(call.input)
        if _SUBSTITUTION.search(command or ""):
            self.touched = self.clock

    def _note_rearranged_lines(self, key: str, before: str) -> None:
        """Note the lines of a file whose letters were in its text before, as after a formatter."""
        letters = _keep_letters(before)
        for line in (self.files[key].file.best_text or "").split("\n"):
            if _keep_letters(line) in letters:
                self.rearranged[key].add(line.strip())


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
            and maker.evidence == EVIDENCE_EXTERNAL
            for number in range(run.first, run.last + 1)
            if number in version.added and number not in version.line_times
        }

    def is_rearranged(self, version: FileVersion, number: int) -> bool:
        """Return whether the file had the letters of a line before the line appeared."""
        tracked = self._find_file(version)
        if tracked is None or count_letters(version.bare[number - 1]) < _MIN_LETTERS:
            return False
        lines = self.replay.rearranged[make_path_key(tracked.path)]
        return version.bare[number - 1].strip() in lines

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
    is_joined = runs_on = False
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
        runs_on = runs_on or any(
            is_left_running(step)
            for step in walked
            if isinstance(step, ToolCall) and step.time < inside[0].time
        )
        made = any(window.commit.startswith(name) for name in own.facts.commits)
        is_joined = is_joined or made or str(record.get("id", "")) in joined
        records.append(record)
        steps.append(inside)
        roots.append(own.place.roots[0])
    if not is_joined:
        return None
    replay = _WindowReplay(repository.load_base(window.parent), roots)
    replay.runs_on = runs_on
    replay.run(records, steps)
    last = max((own[-1] for own in steps), key=lambda step: step.time)
    claim = _make_exclusion_claim(records[0], last)
    return _ReplayedWindow(replay, list(dict.fromkeys(roots)), claim)


def _is_opaque(record: dict[str, Any], step: SessionStep, window: CommitWindow) -> bool:
    """Return whether a call has an uncertain time, or may have changed any file until the commit.

    A tool that vacr does not know may change any file: it may start a sub-agent.
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
        agent=get_agent_name(record),
    )


# --- lines that an agent proposed ---


def _keep_letters(text: str) -> str:
    """Return the letters and digits of a text in one case, which a formatter keeps."""
    return "".join(filter(str.isalnum, text)).casefold()


def _is_proposed(lines: Sequence[tuple[str, int]], proposed: Mapping[str, int]) -> bool:
    """Return whether an agent proposed one of these lines before it was seen.

    Each line is given by its letters, with the time when it was first seen. If all are too short to
    know, return `True`.
    """
    long = [(text, seen) for text, seen in lines if len(text) >= _MIN_LETTERS]
    return not long or any(text in proposed and proposed[text] <= seen for text, seen in long)


def _find_proposed_lines(sessions: Sequence[PlacedSession]) -> dict[str, int]:
    """Return all lines that agents wrote in calls and answers, with the time of the first one.

    Lines are given by their letters. Times are in milliseconds; 0 if a session wrote the line
    before it stated a time.
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
            # A program in a call may be escaped, and a line of a program may contain an escape.
            for text in {value, value.replace("\\n", "\n")}:
                yield from map(_keep_letters, text.split("\n"))
