"""The moment of a session at which a file was as in the base.

A session may have begun before the base was committed: it made a commit itself, went on, and made
the next one. Then the base of the second commit has the first edits already, and to apply them
again would be wrong. So a search replays the session without the base, and compares each changed
file with the base. The last change after which they agree is the moment of the base. From there
on, the file has the text of the base, and all that happened to it before is settled.

    >>> from vacr.agents import CALL_DONE, ToolCall
    >>> from vacr.attribution.base_moments import find_base_moments
    >>> from vacr.attribution.base_files import BaseFiles
    >>> from vacr.edits import Edit, ObservedFile, Replacement
    >>> base = BaseFiles("HEAD", ["a.py"], lambda path: b"x = 2\\n")
    >>> first, second = (ToolCall("Edit", {}, name, name, "model", "/app", state=CALL_DONE)
    ...                  for name in ("call-1", "call-2"))
    >>> first.events = [ObservedFile("a.py", "x = 1\\n"), Replacement("a.py", [Edit("1", "2")])]
    >>> second.events = [Replacement("a.py", [Edit("2", "3")])]
    >>> record = {"session": {"agent-meta": {"cli-name": "parrot"}}}
    >>> find_base_moments(base, ["/app"], [record], [[first, second]])
    {'/app/a.py': 1}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.agents import SessionStep
from vacr.attribution.base_files import BaseFiles
from vacr.attribution.file_state import FileState, TrackedFile
from vacr.attribution.locate import (
    apply_edits,
    apply_patch_hunks,
    convert_to_edits,
    matches_hunks,
    restore_hunk_tabs,
)
from vacr.attribution.replay import LineChange, Replay
from vacr.edits import (
    NO_ORIGIN,
    AppliedPatch,
    FileAction,
    FileMove,
    FileWrite,
    ObservedFile,
    ObservedLines,
    Replacement,
    decode_file_text,
    make_absolute_path,
    make_path_key,
    make_relative_path,
    render_as_host,
    split_keeping_ends,
)

# A shorter text may be in any file.
_MIN_DISTINCTIVE_LENGTH = 8
# Git stores whole seconds, sessions store milliseconds.
_COMMIT_TIME_UNIT = 1000
_LINE_ACTIONS = (ObservedFile, ObservedLines, Replacement, AppliedPatch, FileWrite)
_CHANGES = (Replacement, AppliedPatch, FileWrite, FileMove)


def find_base_moments(
    base: BaseFiles,
    roots: Sequence[str],
    records: Sequence[dict[str, Any]],
    steps: Sequence[list[SessionStep]],
) -> dict[str, int]:
    """Return the step after which each file was as in the base, by path key.

    Steps are counted from 1, like the clock of a replay. A file that was so from the start is left
    out. Return an empty dictionary if the sessions began after the base was committed. `roots` are
    the project folders of the sessions.
    """
    times = [step.time for own in steps for step in own if step.time]
    deadline = base.time + _COMMIT_TIME_UNIT if base.time else 0
    if deadline and times and min(times) > deadline:
        return {}
    search = _BaseSearch(base, roots)
    search.run(records, steps)
    moments = {}
    for key, changes in search.changes.items():
        moment = _choose_moment(changes, deadline)
        if moment:
            moments[key] = moment
    return moments


@dataclass(frozen=True, slots=True)
class _Change:
    """A step that changed a file which the base has."""

    clock: int
    time: int
    agrees: bool
    """Whether the file was as in the base afterwards."""
    fits: bool
    """Whether the change can be applied to the text of the base."""
    kept: bool
    """Whether the base has most of the lines that the change added, in any layout."""


class _BaseSearch(Replay):
    """A replay without a base, which compares each changed file with the base."""

    keeps_actions = True

    def __init__(self, base: BaseFiles, roots: Sequence[str]) -> None:
        """Start without changes; `base` has the files to compare with."""
        super().__init__(None, roots)
        self.compared = base
        self.changes: dict[str, list[_Change]] = {}
        self._texts: dict[str, str | None] = {}

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply the actions of a step, and compare the files that they changed with the base."""
        actions = list(actions)
        super().step(step, actions)
        by_path: dict[str, list[FileAction]] = {}
        for action in actions:
            if isinstance(action, FileMove):
                by_path.setdefault(make_absolute_path(action.to, step.folder), []).append(action)
            elif isinstance(action, _LINE_ACTIONS):
                by_path.setdefault(make_absolute_path(action.path, step.folder), []).append(action)
        for path, own in by_path.items():
            if any(isinstance(action, _CHANGES) for action in own):
                self._compare_file(path, own, step.time)

    def _compare_file(self, path: str, actions: Sequence[FileAction], time: int) -> None:
        """Note whether a file that a step changed is as in the base.

        `actions` are the step's actions on the file, and `time` is the time of the step. Do nothing
        if the base lacks the file.
        """
        key = make_path_key(path)
        tracked, text = self.files.get(key), self._read_base_text(path)
        if tracked is None or text is None:
            return
        change = _Change(
            self.clock,
            time,
            agrees=_is_as_in_base(tracked, text, actions),
            fits=_fits_text(text, actions[0]),
            kept=_has_added_lines(text, actions),
        )
        self.changes.setdefault(key, []).append(change)

    def _read_base_text(self, path: str) -> str | None:
        """Return the text of a file in the base, as hosts show it, or `None` if it has none."""
        if path not in self._texts:
            data = self.compared.read_file(make_relative_path(path, self.root))
            self._texts[path] = None if data is None else render_as_host(decode_file_text(data))
        return self._texts[path]


def _choose_moment(changes: Sequence[_Change], deadline: int) -> int:
    """Return the step after which the file was as in the base, or 0 if that was at the start.

    Usually, it is the last step after which the file agrees with the base. If a formatter changed
    the file before it was committed, later steps do not agree, although they came before the
    commit. So the last step up to the `deadline` counts instead, if the base has its lines, the
    step after the agreeing one does not fit the base, and the step after the deadline does. A
    rebase moves the deadline, so the time alone proves nothing.
    """
    agreeing = [number for number, change in enumerate(changes, 1) if change.agrees]
    settled = agreeing[-1] if agreeing else 0
    before = sum(1 for change in changes if deadline and change.time <= deadline)
    if before > settled and changes[before - 1].kept and not changes[settled].fits:
        following = changes[before] if before < len(changes) else None
        if following is None or following.fits:
            settled = before
    return changes[settled - 1].clock if settled else 0


def _is_as_in_base(tracked: TrackedFile, text: str, actions: Sequence[FileAction]) -> bool:
    """Return whether a text has all certain lines of a changed file, at their places.

    If none is certain, or the place of a change is unknown, return whether the text has the new
    lines of the changes, and not the old ones.
    """
    if tracked.gone:
        return False
    file, lines = tracked.file, split_keeping_ends(text)
    fresh = [chunk for chunk in file.chunks if chunk.fresh]
    if not fresh or tracked.unplaced:
        changes = [
            action
            for action in actions
            if isinstance(action, Replacement | AppliedPatch | FileWrite)
        ]
        return bool(changes) and all(_has_result(text, change) for change in changes)
    return file.length in (None, len(lines)) and all(
        chunk.next <= len(lines) + 1 and chunk.agrees(1, lines) for chunk in fresh
    )


def _has_result(text: str, change: LineChange) -> bool:
    """Return whether a text has the new lines of a change, and lacks the old ones."""
    edits = [edit for edit in convert_to_edits(change) if edit.old != edit.new]
    return (
        any(len(edit.new.strip()) >= _MIN_DISTINCTIVE_LENGTH for edit in edits)
        and all(edit.new in text for edit in edits)
        and any(edit.old not in text or edit.old in edit.new for edit in edits)
    )


def _has_added_lines(text: str, actions: Sequence[FileAction]) -> bool:
    """Return whether a text has most lines that actions added; blanks in lines do not count."""
    added: set[str] = set()
    for action in actions:
        match action:
            case Replacement(hunks=hunks) | AppliedPatch(hunks=hunks) if hunks:
                old = {_remove_blanks(line) for hunk in hunks for line in hunk.before()}
                added |= {_remove_blanks(line) for hunk in hunks for line in hunk.after()} - old
            case Replacement() | AppliedPatch() | FileWrite():
                for edit in convert_to_edits(action):
                    old = {_remove_blanks(line) for line in edit.old.split("\n")}
                    added |= {_remove_blanks(line) for line in edit.new.split("\n")} - old
    telling = {line for line in added if len(line) >= _MIN_DISTINCTIVE_LENGTH}
    there = {_remove_blanks(line) for line in text.split("\n")}
    return bool(telling) and 2 * len(telling & there) > len(telling)


def _remove_blanks(line: str) -> str:
    """Return a line without any white space."""
    return "".join(line.split())


def _fits_text(text: str, action: FileAction) -> bool:
    """Return whether an action shows a text, or can be applied to it.

    Return False for actions other than observations, replacements and patches.
    """
    file = FileState.from_text(text)
    match action:
        case ObservedFile(text=seen):
            return render_as_host(seen) == text
        case ObservedLines(first=first, lines=lines):
            return file.agrees(first, lines)
        case Replacement(hunks=hunks, edits=edits) if hunks:
            return matches_hunks(file, restore_hunk_tabs(hunks, file.get_line, edits))
        case Replacement(edits=edits):
            return apply_edits(file, edits, NO_ORIGIN) is not None
        case AppliedPatch(hunks=hunks) if hunks:
            return matches_hunks(file, hunks)
        case AppliedPatch(parts=parts):
            return apply_patch_hunks(file, parts, NO_ORIGIN) is not None
    return False
