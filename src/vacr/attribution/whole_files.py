"""Whole files in a replay: moved, copied, deleted, reverted, stashed.

These actions do not edit lines; they replace one known state of a file with another. Git restores
the base, until the session stages or commits something else. From then on the known state of a file
is a guess that the next observation confirms or corrects.

    >>> from vacr.attribution.file_state import FileState
    >>> from vacr.attribution.replay import Replay
    >>> from vacr.attribution.whole_files import move_path
    >>> replay = Replay()
    >>> replay.track("/app/a.py", "").file = FileState.from_text("import os\\n")
    >>> move_path(replay, "/app/a.py", "/app/b.py", copied=False, reported=False)
    >>> replay.track("/app/a.py", "").gone, replay.track("/app/b.py", "").text
    (True, 'import os\\n')
"""

from __future__ import annotations

import copy
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vacr.attribution.file_state import FileState, TrackedFile
from vacr.edits import decode_file_text, make_absolute_path, make_path_key, make_relative_path

if TYPE_CHECKING:
    from vacr.attribution.replay import Replay

# The number of base files that may be read because their folder is moved.
_MAX_MOVED_BASE_FILES = 1_000


# --- changes of unnamed files ---


@dataclass(frozen=True, slots=True)
class BulkChange:
    """A possible change of all files below a folder whose names end in one of `kinds`.

    Without a folder, files anywhere are meant; without kinds, files of any name. `formatter` when
    only a formatter may have changed them.
    """

    folder: str
    kinds: tuple[str, ...]
    formatter: bool

    def covers(self, path: str) -> bool:
        """Return whether the change may have changed the file at an absolute path."""
        folder_key = make_path_key(self.folder.rstrip("/") + "/") if self.folder else ""
        is_below = (make_path_key(path) + "/").startswith(folder_key)
        return is_below and (not self.kinds or f"/{path}".endswith(self.kinds))


def apply_bulk_change(replay: Replay, change: BulkChange) -> None:
    """Mark every tracked file that a bulk change covers as dirty, until it is seen again.

    Files that are tracked later become dirty too.
    """
    if change not in replay.bulk_changes:
        replay.bulk_changes.append(change)
    for tracked in replay.files.values():
        if not tracked.gone and change.covers(tracked.path):
            tracked.swept = change.formatter and (tracked.swept or not tracked.dirty)
            tracked.dirty = True
            tracked.waiting.clear()


def touch_named_files(replay: Replay, names: frozenset[str]) -> None:
    """Mark the tracked files with these base names as likely changed, in any folder.

    A name may be a pattern with `*` or `?`.
    """
    patterns = [_compile_glob(name) for name in names if "*" in name or "?" in name]
    matching = []
    if patterns:
        matching = [
            name
            for name in replay.files_by_name
            if any(pattern.fullmatch(name) for pattern in patterns)
        ]
    for name in (*names, *matching):
        for tracked in replay.files_by_name.get(name, ()):
            tracked.mark_changed(replay.clock, likely=True)


def touch_namesakes(replay: Replay, path: str) -> None:
    """Mark the tracked files with the name of a file as likely changed, except that file."""
    for tracked in replay.files_by_name.get(path.rpartition("/")[2], ()):
        if make_path_key(tracked.path) != make_path_key(path):
            tracked.mark_changed(replay.clock, likely=True)


def touch_matching_files(replay: Replay, pattern: str) -> None:
    """Mark the tracked files that match a pattern of paths as likely changed.

    Files below a folder that matches count too.
    """
    compiled = _compile_glob(pattern)
    for key, tracked in list(replay.files.items()):
        if compiled.match(key):
            tracked.mark_changed(replay.clock, likely=True)


def find_matching_files(replay: Replay, pattern: str) -> list[TrackedFile]:
    """Return the files that match a pattern of paths, also removed ones.

    Matching files of the base are tracked from now on, up to `_MAX_MOVED_BASE_FILES`.
    """
    compiled = _compile_glob(pattern)
    for path in _list_unseen_base_files(replay, lambda key: bool(compiled.fullmatch(key)))[
        :_MAX_MOVED_BASE_FILES
    ]:
        replay.track(path, "")
    return [tracked for key, tracked in replay.files.items() if compiled.fullmatch(key)]


def _compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a shell pattern to a regular expression that matches a path or its first folders.

    `*` and `?` match neither a slash nor the dot at the beginning of a hidden file's name.
    """
    text = ""
    for part in re.split(r"([*?])", make_path_key(pattern)):
        if part in ("*", "?") and part:
            hidden = "(?!\\.)" if not text or text.endswith("/") else ""
            text += hidden + ("[^/]*" if part == "*" else "[^/]")
        else:
            text += re.escape(part)
    return re.compile(text + r"(?=/|\Z)")


# --- moves and deletions ---


def move_path(replay: Replay, source: str, target: str, *, copied: bool, reported: bool) -> None:
    """Move the known lines of a file, or of all files of a folder; with `copied`, copy them.

    Paths are absolute. A target that is a known folder gets the source inside it. A move that git
    `reported` has already happened, so it counts only while no line of the target is known.
    """
    if reported:
        old, new = replay.track(source, ""), replay.track(target, "")
        if not old.gone and not new.file.chunks:
            _transfer_state(old, new, copied=False)
        return
    if _is_known_folder(replay, target):
        target = f"{target.rstrip('/')}/{posixpath.basename(source)}"
    if _is_known_folder(replay, source):
        _move_folder(replay, source, target, copied=copied)
    else:
        _move_file(replay, source, target, copied=copied)


def _move_folder(replay: Replay, source: str, target: str, *, copied: bool) -> None:
    """Move or copy all files below a folder, including files of the base."""
    # If the target exists, it is unknown which of its files were overwritten.
    may_exist = make_path_key(target) in replay.files or bool(_list_files_below(replay, target))
    folder_key = make_path_key(source + "/")
    unseen = _list_unseen_base_files(replay, lambda key: key.startswith(folder_key))
    for path in unseen[:_MAX_MOVED_BASE_FILES]:
        replay.track(path, "")
    for old in _list_files_below(replay, source):
        if old.gone:
            continue
        new = replay.track(target + old.path[len(source) :], "")
        _transfer_state(old, new, copied=copied)
        if may_exist:
            new.file.mark_stale()
            new.dirty, new.swept = True, False


def _move_file(replay: Replay, source: str, target: str, *, copied: bool) -> None:
    """Move or copy one file; doubt the target where the source or the target may be a folder."""
    known = replay.files.get(make_path_key(target))
    inside = replay.files.get(make_path_key(f"{target}/{posixpath.basename(source)}"))
    source_has_suffix = bool(posixpath.splitext(source)[1])
    is_known = make_path_key(source) in replay.files or _is_in_base(replay, source)
    if not is_known and not source_has_suffix:
        # The source may be an unknown folder.
        known = replay.track(target, "")
        known.file, known.gone, known.dirty = FileState(), False, True
        return
    old = replay.track(source, "")
    if old.gone:
        old.file, old.gone = FileState(), False  # It must exist, because it was moved.
    target_is_free = known is None or known.gone
    if source_has_suffix and not posixpath.splitext(target)[1] and target_is_free:
        # The target may be an unknown folder.
        if inside is not None:
            inside.file, inside.gone, inside.dirty = FileState(), False, True
        if not copied:
            _mark_removed(old)
        return
    _transfer_state(old, replay.track(target, ""), copied=copied)


def _transfer_state(source: TrackedFile, target: TrackedFile, *, copied: bool) -> None:
    """Copy the state of the source to the target; mark a source that moved as removed."""
    target.file, target.gone = copy.deepcopy(source.file) if copied else source.file, False
    target.dirty, target.swept, target.drifted = source.dirty, source.swept, source.drifted
    target.looked, target.doubted, target.waiting = source.looked, source.doubted, []
    if not copied:
        target.unplaced, source.unplaced = source.unplaced, []
        _mark_removed(source)


def _mark_removed(tracked: TrackedFile) -> None:
    """Mark a file as gone, and forget its lines and its unplaced changes."""
    tracked.file, tracked.gone, tracked.dirty = FileState(length=0), True, False
    tracked.waiting, tracked.unplaced = [], []


def delete_path(replay: Replay, path: str, *, folder: bool, pattern: bool) -> None:
    """Mark a file as removed, with `folder` also all files below the path.

    With `pattern`, `*` and `?` in the path are wildcards. Files of the base count too.
    """
    folder_key = make_path_key(path.rstrip("/") + "/")
    compiled = _compile_glob(path) if pattern else None

    def is_deleted(key: str) -> bool:
        """Return whether the deletion covers the file with a path key."""
        if compiled is None:
            return key == folder_key[:-1] or (folder and key.startswith(folder_key))
        match = compiled.match(key)
        if match is None:
            return False
        return match.end() == len(key) or (folder and key[match.end()] == "/")

    for name in _list_unseen_base_files(replay, is_deleted):
        replay.track_unread(name)
    if not folder and not pattern:
        replay.track(path, "")
    for key, tracked in list(replay.files.items()):
        if is_deleted(key):
            _mark_removed(tracked)


def note_missing_file(replay: Replay, path: str) -> None:
    """Mark a file as removed if it is tracked, or in the base; another one never existed."""
    if make_path_key(path) in replay.files or _is_in_base(replay, path):
        delete_path(replay, path, folder=False, pattern=False)


def _list_files_below(replay: Replay, path: str) -> list[TrackedFile]:
    """Return the tracked files below a folder, including removed ones."""
    folder_key = make_path_key(path.rstrip("/") + "/")
    return [tracked for key, tracked in replay.files.items() if key.startswith(folder_key)]


def _is_in_base(replay: Replay, path: str) -> bool:
    """Return whether the base has the file at an absolute path; `False` without a base."""
    inside = make_relative_path(path, replay.root)
    return replay.base is not None and inside is not None and inside in replay.base.names


def _list_unseen_base_files(replay: Replay, matches: Callable[[str], bool]) -> list[str]:
    """Return the absolute paths of base files that are not tracked yet and whose key matches."""
    if replay.base is None:
        return []
    paths = (make_absolute_path(name, replay.root) for name in replay.base.names)
    keyed = ((path, make_path_key(path)) for path in paths)
    return [path for path, key in keyed if matches(key) and key not in replay.files]


def _is_known_folder(replay: Replay, path: str) -> bool:
    """Return whether a path is surely a folder, because a file is known to exist below it."""
    folder_key = make_path_key(path.rstrip("/") + "/")
    if any(not file.gone and not file.dirty for file in _list_files_below(replay, path)):
        return True
    return bool(_list_unseen_base_files(replay, lambda key: key.startswith(folder_key)))


# --- version control ---


@dataclass(frozen=True, slots=True)
class _StashedFile:
    """A file as it was when it was stashed, and the state that the stash `left` in its place."""

    file: FileState
    gone: bool
    dirty: bool
    swept: bool
    left: FileState


@dataclass(slots=True)
class _StashedChanges:
    """The files of a stash by their path keys, or `None` when its content is unknown.

    `time` is the clock, and `stagings` the number of stagings, when the stash was made. `sure` when
    it was surely made: without changes, git makes no stash.
    """

    files: dict[str, _StashedFile] | None
    time: int
    stagings: int
    sure: bool


@dataclass(slots=True)
class VersionControlState:
    """The state of git in one root: how often something was staged, and the stashes."""

    stagings: int = 0
    stashes: list[_StashedChanges] = field(default_factory=list)


def get_version_control(replay: Replay) -> VersionControlState:
    """Return the state of git in the root of the current session; a new one the first time."""
    return replay.controls.setdefault(replay.root, VersionControlState())


def revert_path(replay: Replay, path: str, *, everything: bool) -> None:
    """Restore the base version of a file, of the files of a folder, or of `everything`.

    A file that git may not track becomes doubtful instead.
    """
    below = _list_root_files(replay) if everything else _list_files_below(replay, path)
    for tracked in below:
        _restore_from_base(replay, tracked)
    if not everything and not _is_known_folder(replay, path):
        tracked = replay.track(path, "")
        if _is_untracked(replay, tracked):
            _doubt_file(tracked)  # Somebody has added it, or git could not restore it.
        _restore_from_base(replay, tracked)
        tracked.file.doubted = tracked.dirty


def doubt_untracked_files(replay: Replay) -> None:
    """Mark the files that git does not track as likely changed, because `git clean` ran."""
    for tracked in _list_root_files(replay):
        if not tracked.gone and _is_untracked(replay, tracked):
            tracked.mark_changed(replay.clock, likely=True)


def _list_root_files(replay: Replay) -> list[TrackedFile]:
    """Return the tracked files below the root of the current session; without a root, all."""
    root = replay.root
    return [
        tracked
        for tracked in replay.files.values()
        if not root or make_relative_path(tracked.path, root) is not None
    ]


def _is_untracked(replay: Replay, tracked: TrackedFile) -> bool:
    """Return whether git surely does not track a file; after something was staged, it may."""
    if get_version_control(replay).stagings:
        return False
    return tracked.created if replay.base is None else not _is_in_base(replay, tracked.path)


def _restore_from_base(replay: Replay, tracked: TrackedFile) -> None:
    """Set a file to its base version, unless git does not track it.

    If a commit may have changed that version, or no base has it, the file becomes doubtful.
    """
    if _is_untracked(replay, tracked):
        return
    tracked.waiting, tracked.unplaced = [], []
    data = None
    if replay.base is not None:
        data = replay.base.read_file(make_relative_path(tracked.path, replay.root))
    if get_version_control(replay).stagings or tracked.drifted:
        _doubt_file(tracked)
    elif data is not None:
        tracked.file = FileState.from_text(decode_file_text(data))
        tracked.dirty, tracked.gone = False, False
    else:
        tracked.file, tracked.dirty, tracked.gone = FileState(), True, False


def _doubt_file(tracked: TrackedFile) -> None:
    """Keep the known lines of a file as a guess; a removed file may exist again."""
    tracked.file.mark_stale()
    if tracked.gone:
        tracked.file, tracked.gone = FileState(), False
    tracked.file.doubted = bool(tracked.file.chunks)
    tracked.dirty, tracked.swept, tracked.waiting = True, False, []


def stash_changes(
    replay: Replay, paths: Sequence[str], *, untracked: bool, known: bool, sure: bool
) -> None:
    """Put the changes of these paths aside, or all changes, and restore the base version.

    With `untracked`, also put aside files that git does not track. `known` when it is certain
    which changes were stashed, `sure` when there surely were any; otherwise the files become
    doubtful.
    """
    control = get_version_control(replay)
    files = _list_root_files(replay)
    if paths:
        files = [
            tracked
            for path in paths
            for tracked in (*_list_files_below(replay, path), replay.track(path, ""))
        ]
    stashed: dict[str, _StashedFile] = {}
    for tracked in files:
        is_new = _is_untracked(replay, tracked)
        if is_new and not untracked:
            continue
        file, gone, dirty, swept = tracked.file, tracked.gone, tracked.dirty, tracked.swept
        if is_new and known and sure and not control.stagings:
            _mark_removed(tracked)
        else:
            tracked.file = copy.deepcopy(file)  # The stashed state stays as it is.
            if known and sure:
                _restore_from_base(replay, tracked)
            else:
                _doubt_file(tracked)
        stashed[make_path_key(tracked.path)] = _StashedFile(file, gone, dirty, swept, tracked.file)
    # Files that were not stashed stay as they are, so a pop leaves all files as they were.
    contents = stashed if known or sure else None
    control.stashes.append(_StashedChanges(contents, replay.clock, control.stagings, sure))


def restore_stash(replay: Replay, *, bring: bool, keep: bool, known: bool) -> None:
    """Take the newest stash: restore its changes if `bring`, and drop it unless `keep`.

    `known` when the command surely took the newest stash. Files become doubtful where the content
    of the stash is unknown, or where they changed after it was made.
    """
    control = get_version_control(replay)
    stash = control.stashes[-1] if control.stashes else None
    if not known and stash is not None:
        stash.files = None  # Perhaps it is still there.
    elif stash is not None and not keep:
        control.stashes.pop()
    if not bring:
        return
    if stash is None or stash.files is None or (not stash.sure and control.stashes):
        for tracked in _list_root_files(replay):
            _doubt_file(tracked)
        return
    for key, state in stash.files.items():
        tracked = replay.files[key]
        is_unchanged = tracked.changed <= stash.time and tracked.file is state.left
        if is_unchanged:
            restored = copy.deepcopy(state.file) if keep else state.file
            if tracked.looked > stash.time:
                restored = _overlay_known_lines(tracked.file, restored)
            tracked.file, tracked.gone, tracked.dirty = restored, state.gone, state.dirty
            tracked.swept, tracked.waiting = state.swept, []
        # Files that were staged and removed may come back.
        may_come_back = bool(control.stagings) and state.gone
        if not is_unchanged or control.stagings != stash.stagings or may_come_back:
            _doubt_file(tracked)


def _overlay_known_lines(seen: FileState, lines: FileState) -> FileState:
    """Return the state of a restored file: its stashed `lines`, and other `seen` lines as a guess.

    If the stashed file is known as a whole, return only that.
    """
    if lines.is_whole or not seen.chunks:
        return lines
    seen.mark_stale()
    for chunk in [chunk for chunk in lines.chunks if chunk.fresh]:
        seen.observe(chunk.first, chunk.lines, 0)
        for other in seen.chunks:
            for number in range(max(chunk.first, other.first), min(chunk.next, other.next)):
                maker, index = chunk.makers[number - chunk.first], number - other.first
                if maker and not other.makers[index]:
                    seen.base.forget(other.places[index])
                    other.makers[index] = maker
    return seen
