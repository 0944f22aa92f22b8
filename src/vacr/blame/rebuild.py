"""Files as sessions left them, at the end or at the moment of a commit.

A commit is made while a session runs, and its files change again afterwards. So the state of a file
at the end of a session is not the committed one. `rebuild_files` compares every state on the way
with the commit. A state that equals the committed bytes is certain, even if a command might have
changed the file in between.

A session may show a file in another state than its edits give, because a person, another session
or a command changed it in between; or it shows only a part. So a second replay applies the edits of
the sessions alone to the base, and its states are compared with the commit as well.

A rebase commits the changes of a session on top of a base that the session never saw. So if the
base was committed after the session changed a file, the changes are merged into the base's version.

    >>> import vacr
    >>> from vacr.attribution import BaseFiles
    >>> from vacr.blame import CommitFiles, rebuild_files
    >>> records = list(vacr.read("session.jsonl"))
    >>> [file] = rebuild_files(records)
    >>> file.path, file.state, file.data[:27]
    ('total.py', 'complete', b'from decimal import Decimal')
    >>> committed = BaseFiles("c0ffee", ["total.py"], lambda path: file.data)
    >>> [file] = rebuild_files(records, commit=CommitFiles(committed))
    >>> file.match.state, file.match.entry
    ('equal', '/session/entries/14/children/0')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from vacr.agents import CALL_DONE, Agent, SessionStep, ToolCall
from vacr.attribution import (
    DOUBT_UNSEEN,
    BaseFiles,
    Replay,
    TrackedFile,
    list_changed_files,
    replay_records,
)
from vacr.blame.locality import find_worktree_folder
from vacr.edits import (
    AppliedPatch,
    ChangeNotice,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    ObservedDiff,
    ObservedFile,
    ObservedLines,
    PossibleChange,
    Replacement,
    Revert,
    Stash,
    UnplacedEdit,
    Unstash,
    decode_file_text,
    encode_file_text,
    make_absolute_path,
    make_path_key,
    make_relative_path,
    merge_changes,
)

COMMIT_EQUAL = "equal"
COMMIT_UNCHANGED = "unchanged"
COMMIT_DIFFERENT = "different"
COMMIT_ABSENT = "absent"

DOUBT_REBASED = "rebased"
"""The doubt about a file whose changes were merged into a base that the sessions never saw."""

# The number of edits of one file after which a second replay may start.
_MAX_EDIT_STARTS = 40
# These actions change lines of the file that they name.
_LINE_CHANGES = (AppliedPatch, FileWrite, Replacement)
# These actions show files, or may have changed them, and change nothing that is known.
_LOOKS_AND_DOUBTS = (
    ObservedFile,
    ObservedLines,
    ObservedDiff,
    ChangeNotice,
    PossibleChange,
    UnplacedEdit,
)
# These actions may change files that they do not name.
_TREE_ACTIONS = (FileDeletion, FileMove, Revert, Stash, Unstash)


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """How a file of the sessions compares with the same file of a commit."""

    state: str
    """`equal` if the file was at some moment as committed, or its edits over the base give the
    committed text; `unchanged` if the commit left it as it was before; `different` if no known
    state fits; `absent` if the commit does not have it."""
    entry: str = ""
    """The entry after which the file first was as committed; empty if it was from the start."""
    record: str = ""
    """The id of the record with that entry."""


@dataclass(frozen=True, slots=True)
class RebuiltFile:
    """A file that sessions changed."""

    path: str
    data: bytes | None
    """The bytes, or `None` if the file was deleted or not all of it is known."""
    facts: dict[str, Any]
    """Whether it is `complete` or `deleted`, its `evidence`, and any `doubt`."""
    match: CommitMatch | None = None
    """The comparison with the commit, if one was given."""

    @property
    def state(self) -> str:
        """Whether the file is `complete`, `partial` or `deleted`."""
        if self.facts.get("deleted"):
            return "deleted"
        return "complete" if self.facts["complete"] else "partial"


@dataclass(slots=True)
class CommitFiles:
    """The files of a commit, and the moments when files of a replay were the same."""

    files: BaseFiles
    matches: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The record and the entry after which a file first was as committed, by path."""
    texts: dict[str, str] = field(default_factory=dict)

    def compare(self, path: str, tracked: TrackedFile, record: int, entry: str) -> None:
        """Note the moment if a file is now as in the commit, present or deleted."""
        if path in self.matches:
            return
        if path not in self.files.names:
            if tracked.gone:
                self.matches[path] = record, entry
            return
        # Equal bytes prove the whole text, even if a command may have changed it.
        if not tracked.gone and tracked.file.best_text == self._read_text(path):
            self.matches[path] = record, entry

    def note_text(self, path: str, text: str, record: int, entry: str) -> None:
        """Note the moment if a text of a file is the committed one."""
        if path in self.files.names and text == self._read_text(path):
            self.matches.setdefault(path, (record, entry))

    def _read_text(self, path: str) -> str:
        """Return the committed text of a file, from a cache."""
        if path not in self.texts:
            self.texts[path] = decode_file_text(self.files.read(path))
        return self.texts[path]


ReadProjectFile = Callable[[str], bytes | None]
"""Returns the bytes of a file of the project by its path, or `None` if it is not known."""


class FormattedText(NamedTuple):
    """The text that a formatter made, and the name and version of the formatter."""

    text: str
    formatter: str


FormatText = Callable[[Sequence[str], str, str, ReadProjectFile], FormattedText | None]
"""Runs the formatter of a command on a path and its text; `None` if it cannot be run."""


def rebuild_files(
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None = None,
    commit: CommitFiles | None = None,
    format_text: FormatText | None = None,
) -> list[RebuiltFile]:
    """Replay sessions over a base, and return the files that they changed.

    With a commit, a file has the committed bytes if it had them at any moment of the sessions, and
    else its last state. With `format_text`, formatters that a session ran are run again, and the
    evidence names them. A path occurs twice if sessions in several folders changed it.
    If the base is newer than the changes of a session, a file has the text of the base with these
    changes, and the doubt `rebased`.

    Raises:
        PluginError: the plugin of an agent failed; `record` of the error is the record.
    """
    formatted: dict[str, set[str]] = {}

    def make_replay(base: BaseFiles | None, roots: Sequence[str]) -> Replay:
        """Return a replay that compares its files with the commit, and runs formatters."""
        return _RebuildingReplay(base, roots, commit, format_text, formatted)

    replay, roots = replay_records(records, base, make_replay)
    edits = replay.edits if isinstance(replay, _RebuildingReplay) else None
    if commit is not None and edits is not None:
        edits.compare_later_edits(commit, replay.agents)
    rebased = replay.rebase_files(commit) if isinstance(replay, _RebuildingReplay) else {}
    matched = commit.matches if commit is not None else ()
    changed = [_ChangedFile(*file) for file in list_changed_files(replay, roots)]
    joined = _join_worktrees(changed, base, matched)
    files = []
    for (worktree_path, _, _), (path, data, facts) in zip(changed, joined, strict=True):
        evidence = {*facts["evidence"], *formatted.get(worktree_path, ())}
        file = RebuiltFile(path, data, facts | {"evidence": sorted(evidence)})
        if (worktree_path, path) in rebased and data is not None:
            merged = encode_file_text(rebased[worktree_path, path])
            file = replace(file, data=merged, facts=file.facts | {"doubt": DOUBT_REBASED})
        files.append(file)
    if commit is None:
        return files
    return [_match_commit(file, commit, base, records) for file in files]


class _ChangedFile(NamedTuple):
    """A file that sessions changed: its path, its bytes if they are known, and its facts."""

    path: str
    data: bytes | None
    facts: dict[str, Any]


def _join_worktrees(
    files: Sequence[_ChangedFile], base: BaseFiles | None, matched: Collection[str]
) -> list[_ChangedFile]:
    """Return changed files with the paths of the project for files in linked work trees.

    The file `.worktrees/fix/a.py` becomes `a.py`, unless several files would get that path. Then
    the first one gets it if the path is in `matched`: it was as in the commit. Otherwise all keep
    their paths.

    A work tree may have another revision than the base. So a file that no session changed keeps
    its path, and a known text has a doubt.
    """
    project_paths = [_leave_worktree(file.path, base) for file in files]
    counts = Counter(project_paths)
    taken = {file.path for file in files}
    joined = []
    for project_path, file in zip(project_paths, files, strict=True):
        worktree_path, data, facts = file
        if project_path != worktree_path and data is not None:
            facts = {"doubt": DOUBT_UNSEEN, **facts}
        is_only = counts[project_path] == 1 and bool(facts["evidence"])
        is_free = project_path not in taken
        if is_free and (is_only or project_path in matched):
            taken.add(project_path)
            joined.append(_ChangedFile(project_path, data, facts))
        else:
            joined.append(_ChangedFile(worktree_path, data, facts))
    return joined


class _WorktreeReplay(Replay):
    """A replay in which a linked work tree of the project has the files of the base."""

    def find_base_path(self, path: str) -> str | None:
        """Return the path in the base of an absolute path, or `None` outside of the root."""
        inside = make_relative_path(path, self.root)
        return None if inside is None else _leave_worktree(inside, self.base)


def _leave_worktree(path: str, base: BaseFiles | None) -> str:
    """Return the path of a file within its linked work tree, if it is in one.

    A folder with such a name that the base has is an ordinary folder.
    """
    folder = find_worktree_folder(path)
    if not folder or base is None or folder in base.folders:
        return path
    return path[len(folder) + 1 :]


class _EditReplay(_WorktreeReplay):
    """A replay of the edits of sessions alone: nothing that they show counts."""

    skips_unplaced = True

    def __init__(self, base: BaseFiles | None, roots: Sequence[str]) -> None:
        super().__init__(base, roots)
        self.changes: dict[str, list[_FileChange]] = {}
        """The changes of the lines of each file in order, by path key."""

    def follow(self, leader: Replay, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply the edits among the actions of a step that another replay has applied."""
        self._enter(leader)
        edits = [
            _drop_shown_text(action)
            for action in actions
            if not isinstance(action, _LOOKS_AND_DOUBTS)
        ]
        for edit in edits:
            if isinstance(edit, _LINE_CHANGES):
                key = make_path_key(make_absolute_path(edit.path, step.folder))
                self.changes.setdefault(key, []).append(_FileChange(self.record, step, edit))
        self.step(step, edits)

    def _enter(self, leader: Replay) -> None:
        """Enter the session where another replay is."""
        self.record, self.agent, self.checked = leader.record, leader.agent, leader.checked
        self.moments = leader.moments

    def compare_later_edits(self, commit: CommitFiles, agents: Sequence[Agent]) -> None:
        """Compare each file with the commit, as it is when only its later edits are applied.

        The base may have the earlier edits of a session already, in a form that the session never
        showed: after a formatter, or after a person changed them.
        """
        for changes in self.changes.values():
            first = changes[0]
            self.record = first.record
            path = self.find_base_path(make_absolute_path(first.edit.path, first.step.folder))
            if path is None or path in commit.matches or path not in commit.files.names:
                continue
            seen: set[tuple[int, str]] = set()
            for start in range(1, min(len(changes), _MAX_EDIT_STARTS)):
                self._compare_edits_from(start, changes, path, seen, commit, agents)
                if path in commit.matches:
                    break

    def _compare_edits_from(
        self,
        start: int,
        changes: Sequence[_FileChange],
        path: str,
        seen: set[tuple[int, str]],
        commit: CommitFiles,
        agents: Sequence[Agent],
    ) -> None:
        """Apply the changes of a file from one on to the base, and compare each text.

        Stop at a text that is in `seen`, which has the texts after each change: the same changes
        follow, so the texts after it are the same as well.
        """
        later = _EditReplay(self.base, self.roots)
        key = make_path_key(make_absolute_path(changes[0].edit.path, changes[0].step.folder))
        for number, change in enumerate(changes[start:], start):
            later.record, later.agent = change.record, agents[change.record]
            later.checked = later.agent.checks_files
            later.step(change.step, [change.edit])
            tracked = later.files[key]
            commit.compare(path, tracked, change.record, change.step.entry)
            text = None if tracked.gone else tracked.file.best_text
            if text is None:
                continue
            if path in commit.matches or (number, text) in seen:
                return
            seen.add((number, text))


class _FileChange(NamedTuple):
    """A change of the lines of a file, by a step of a record."""

    record: int
    step: SessionStep
    edit: FileAction


def _drop_shown_text(action: FileAction) -> FileAction:
    """Return a change without the lines that the host showed with it; others stay as they are."""
    if isinstance(action, AppliedPatch):
        return AppliedPatch(action.path, action.parts)
    if isinstance(action, Replacement) and action.edits:
        return Replacement(action.path, action.edits)
    return action


class _RebuildingReplay(_WorktreeReplay):
    """A replay that compares the files of each step with a commit, and runs formatters."""

    def __init__(
        self,
        base: BaseFiles | None,
        roots: Sequence[str],
        commit: CommitFiles | None,
        format_text: FormatText | None,
        formatted: dict[str, set[str]],
    ) -> None:
        super().__init__(base, roots)
        self.commit = commit
        self.format_text = format_text
        self.formatted = formatted
        self.originals: dict[str, str] = {}
        """The text of each file before its first change, by path key, if it was known."""
        self.last_changes: dict[str, tuple[int, int, str]] = {}
        """The time, the record and the entry of the last change of each file, by path key."""
        self.edits = _EditReplay(base, roots) if base is not None and commit is not None else None

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply one step, then compare the files that it may have changed."""
        actions = list(actions)
        super().step(step, actions)
        if self.commit is None:
            return
        self._compare_files(self.files, step, actions, self.commit)
        if self.edits is not None:
            self.edits.follow(self, step, actions)
            self._compare_files(self.edits.files, step, actions, self.commit)

    def _compare_files(
        self,
        files: dict[str, TrackedFile],
        step: SessionStep,
        actions: Sequence[FileAction],
        commit: CommitFiles,
    ) -> None:
        """Compare the files that a step may have changed with a commit."""
        changed: Iterable[TrackedFile] = files.values()
        is_bulk = any(isinstance(action, PossibleChange) and action.folder for action in actions)
        if not is_bulk and not any(isinstance(action, _TREE_ACTIONS) for action in actions):
            paths = {make_absolute_path(action.path, step.folder) for action in actions}
            keys = map(make_path_key, paths)
            changed = [files[key] for key in keys if key in files]
        for tracked in changed:
            path = self.find_base_path(tracked.path)
            if path is not None:
                commit.compare(path, tracked, self.record, step.entry)

    def note_staged_text(self, tracked: TrackedFile, text: str, step: SessionStep) -> None:
        """Compare the text that git's index has of a file with the commit."""
        path = self.find_base_path(tracked.path)
        if self.commit is not None and path is not None:
            self.commit.note_text(path, text, self.record, step.entry)

    def apply_action(self, action: FileAction, step: SessionStep) -> None:
        """Apply one file action; if it ran a formatter, run it on the files that were known."""
        if self.base is not None and isinstance(action, _LINE_CHANGES):
            self._note_change(action, step)
        runs = isinstance(action, PossibleChange) and action.formatter and bool(action.command)
        if self.format_text is None or not runs or not isinstance(step, ToolCall):
            super().apply_action(action, step)
            return
        known = {
            key: tracked.file.text
            for key, tracked in self.files.items()
            if not tracked.dirty and not tracked.gone
        }
        super().apply_action(action, step)
        if step.state != CALL_DONE:
            return
        for key, text in known.items():
            if text is not None and self.files[key].dirty and not self.files[key].gone:
                self._format_file(self.files[key], text, action, step)

    def _note_change(self, action: FileAction, step: SessionStep) -> None:
        """Note the time of a change, and the text of the file before its first change."""
        key = make_path_key(make_absolute_path(action.path, step.folder))
        if key not in self.last_changes:
            tracked = self.files.get(key)
            text = tracked.file.best_text if tracked is not None and not tracked.gone else None
            if text is not None:
                self.originals[key] = text
        self.last_changes[key] = step.time, self.record, step.entry

    def rebase_files(self, commit: CommitFiles | None) -> dict[tuple[str, str], str]:
        """Return texts of the base with the changes of the sessions, by path and path in the base.

        The two paths differ for a file of a linked work tree.

        Only files count that the base has in another version than the sessions saw, because it was
        committed after their last change. Leave out files whose changes do not merge, and files
        whose changes the base has already. A text that equals the commit is noted as such.
        """
        texts: dict[tuple[str, str], str] = {}
        if self.base is None:
            return texts
        for key, original in self.originals.items():
            changed_at, record, entry = self.last_changes[key]
            name = make_relative_path(self.files[key].path, self.roots[record])
            path = _leave_worktree(name, self.base) if name is not None else None
            text, data = self.files[key].best_text, self.base.read_file(path)
            is_older = 0 < changed_at < self.base.time
            if text is None or data is None or name is None or path is None or not is_older:
                continue
            base_text = decode_file_text(data)
            merged = None if original == base_text else merge_changes(original, text, base_text)
            if merged is None or merged in (base_text, text):
                continue
            texts[name, path] = merged
            if commit is not None:
                commit.note_text(path, merged, record, entry)
        return texts

    def _format_file(
        self, tracked: TrackedFile, text: str, action: FileAction, step: SessionStep
    ) -> None:
        """Run the formatter of an action on a file, and take over its text if it gave one."""
        name = make_relative_path(tracked.path, self.root)
        path = self.find_base_path(tracked.path)
        if name is None or path is None or self.format_text is None:
            return
        if not isinstance(action, PossibleChange):
            return
        result = self.format_text(action.command, path, text, self._read_project_file)
        if result is None:
            return
        self.formatted.setdefault(name, set()).add(f"formatter: {result.formatter}")
        self.observe_file(tracked, step, partial(tracked.file.observe_whole, result.text))

    def _read_project_file(self, path: str) -> bytes | None:
        """Return a file of the project as it is now, or as in the base; `None` if unknown."""
        tracked = self.files.get(make_path_key(make_absolute_path(path, self.root)))
        if tracked is not None:
            text = tracked.text if not tracked.gone else None
            return None if text is None else encode_file_text(text)
        return self.base.read_file(path) if self.base is not None else None


def _match_commit(
    file: RebuiltFile,
    commit: CommitFiles,
    base: BaseFiles | None,
    records: Sequence[dict[str, Any]],
) -> RebuiltFile:
    """Return a file with its comparison, and with the committed bytes if it had them."""
    committed = commit.files.read_file(file.path)
    if committed is not None and base is not None and committed == base.read_file(file.path):
        match = CommitMatch(COMMIT_UNCHANGED)
    elif file.path in commit.matches:
        number, entry = commit.matches[file.path]
        match = CommitMatch(COMMIT_EQUAL, entry, str(records[number].get("id", "")))
    else:
        match = CommitMatch(COMMIT_ABSENT if committed is None else COMMIT_DIFFERENT)
        return replace(file, match=match)
    facts = {"complete": True, "evidence": file.facts["evidence"]}
    if committed is None:
        facts["deleted"] = True
    return RebuiltFile(file.path, committed, facts, match)
