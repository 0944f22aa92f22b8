"""The moment of a session at which a file was as in the base.

A session may have begun before the base was committed: it made a commit itself, went on, and made
the next one. Then the base of the second commit has the first edits already, and to apply them
again would be wrong. So a search replays the session without the base, and compares each changed
file with the base. The last change after which they agree is the moment of the base. From there
on, the file has the text of the base, and all that happened to it before is settled.

    >>> from vacr.agents import CALL_DONE, ToolCall
    >>> from vacr.attribution.base_moments import find_base_moments
    >>> from vacr.attribution.replay import BaseFiles
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
from typing import Any

from vacr.agents import SessionStep
from vacr.attribution.file_state import TrackedFile
from vacr.attribution.locate import convert_to_edits
from vacr.attribution.replay import BaseFiles, LineChange, Replay
from vacr.edits import (
    AppliedPatch,
    FileAction,
    FileMove,
    FileWrite,
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


def find_base_moments(
    base: BaseFiles,
    roots: Sequence[str],
    records: Sequence[dict[str, Any]],
    steps: Sequence[list[SessionStep]],
) -> dict[str, int]:
    """Return for each file that the base has later than at the start the step that left it so.

    The files are path keys, the steps are counted from 1 as the clock of a replay does. The result
    is empty if the sessions began after the base was committed.
    """
    times = [step.time for own in steps for step in own if step.time]
    if base.time and times and min(times) > base.time + _COMMIT_TIME_UNIT:
        return {}
    search = _BaseSearch(base, roots)
    search.run(records, steps)
    return search.found


# Git stores whole seconds.
_COMMIT_TIME_UNIT = 1000


class _BaseSearch(Replay):
    """A replay without a base, which compares each changed file with the base."""

    keeps_actions = True

    def __init__(self, base: BaseFiles, roots: Sequence[str]) -> None:
        super().__init__(None, roots)
        self.wanted = base
        self.found: dict[str, int] = {}
        self._texts: dict[str, str | None] = {}

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply the actions of a step, and compare the files that they changed with the base."""
        actions = list(actions)
        super().step(step, actions)
        changes: dict[str, list[LineChange]] = {}
        for action in actions:
            if isinstance(action, FileMove):
                changes.setdefault(make_absolute_path(action.to, step.folder), [])
            elif isinstance(action, Replacement | AppliedPatch | FileWrite):
                path = make_absolute_path(action.path, step.folder)
                changes.setdefault(path, []).append(action)
        for path, made in changes.items():
            key = make_path_key(path)
            tracked, text = self.files.get(key), self._read_wanted(path)
            if tracked is not None and text is not None and _is_as_in_base(tracked, text, made):
                self.found[key] = self.clock

    def _read_wanted(self, path: str) -> str | None:
        """Return the text of a file in the base, as hosts show it, or `None`."""
        if path not in self._texts:
            data = self.wanted.read_file(make_relative_path(path, self.root))
            self._texts[path] = None if data is None else render_as_host(decode_file_text(data))
        return self._texts[path]


def _is_as_in_base(tracked: TrackedFile, text: str, changes: Sequence[LineChange]) -> bool:
    """Return whether all certain lines of a changed file are those of a text.

    If none is certain, return whether the text has the new lines of the changes, and not the old
    ones.
    """
    if tracked.gone:
        return False
    file, lines = tracked.file, split_keeping_ends(text)
    fresh = [chunk for chunk in file.chunks if chunk.fresh]
    if not fresh:
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
