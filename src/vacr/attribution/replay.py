"""Files of a replay as wholes: moved, copied and removed. Step: attribute.

Sessions replayed over sparse files. Step: attribute.

Each call that succeeded is applied to what is known of its files; each look at a file checks it.
What nobody's call explains is from outside, never an agent's.

What the version control puts back, puts aside and brings again. Step: attribute.

What it puts back is what the base has, as long as the session has given it nothing else to put
back; then what is known becomes a guess that the next look decides.
"""

from __future__ import annotations

import copy
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING, Any

from vacr.agents import Agent, SessionStep, ToolCall, find_record_agent
from vacr.attribution.base import BaseFiles
from vacr.attribution.chunks import LineRanges
from vacr.attribution.derive import derive_file_actions
from vacr.attribution.file_state import (
    EVIDENCE_ANCHORED,
    EVIDENCE_CONTENT_ONLY,
    EVIDENCE_EXTERNAL,
    EVIDENCE_RECORDED,
    EVIDENCE_REPLAYED,
    EVIDENCE_SHELL,
    EVIDENCE_WINDOWED,
    MAX_WAITING_OBSERVATIONS,
    AppliedChange,
    FileState,
    LineMaker,
    TrackedFile,
    has_different_line_count,
    settle_observation,
)
from vacr.attribution.hunk_tabs import restore_hunk_tabs
from vacr.attribution.locate import (
    anchor_loose_edits,
    apply_edits,
    apply_patch_hunks,
    apply_recorded_hunks,
    confirms_hunk_places,
    convert_to_edits,
    matches_hunks,
    place_shown_edit,
)
from vacr.attribution.notices import apply_change_notice, remember_host_text
from vacr.edits import (
    AppliedPatch,
    ChangeNotice,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    GitStateChange,
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
    make_absolute_path,
    make_path_key,
    make_relative_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from vacr.attribution.file_state import TrackedFile

_MAX_MOVED_BASE_FILES = 1_000  # files of the base that are read because their folder is moved


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What something may have changed: any file below a folder, or without one any at all, whose
    name ends so.
    """

    folder: str
    kinds: tuple[str, ...]
    formatter: bool

    def covers(self, path: str) -> bool:
        """Tell whether a file is one of them."""
        under = make_path_key(self.folder.rstrip("/") + "/") if self.folder else ""
        return (make_path_key(path) + "/").startswith(under) and (
            not self.kinds or f"/{path}".endswith(self.kinds)
        )


def apply_bulk_change(replay: Replay, one: BulkChange) -> None:
    """Doubt what is known of files until they are seen again, and of those that only the base has
    told of.
    """
    if one not in replay.sweeps:
        replay.sweeps.append(one)
    for tracked in replay.files.values():
        if not tracked.gone and one.covers(tracked.path):
            tracked.swept = one.formatter and (tracked.swept or not tracked.dirty)
            tracked.dirty = True
            tracked.waiting.clear()


def list_files_below(replay: Replay, path: str) -> list[TrackedFile]:
    """Give the known files in a folder."""
    under = make_path_key(path.rstrip("/") + "/")
    return [one for key, one in replay.files.items() if key.startswith(under)]


def is_in_base(replay: Replay, path: str) -> bool:
    """Tell whether the base has a file."""
    inside = make_relative_path(path, replay.roots[replay.record])
    return replay.base is not None and inside is not None and inside in replay.base.names


def _list_unseen_base_files(replay: Replay, fits: Callable[[str], bool]) -> list[str]:
    """Give the files of the base that nothing has been done with yet, by what their keys have to
    be.
    """
    if replay.base is None:
        return []
    named = [make_absolute_path(name, replay.roots[replay.record]) for name in replay.base.names]
    return [
        path
        for path in named
        if fits(make_path_key(path)) and make_path_key(path) not in replay.files
    ]


def is_known_folder(replay: Replay, path: str) -> bool:
    """Tell whether a path is known to be a folder."""
    under = make_path_key(path.rstrip("/") + "/")
    return any(not one.gone and not one.dirty for one in list_files_below(replay, path)) or bool(
        _list_unseen_base_files(replay, lambda key: key.startswith(under))
    )


def move_tracked_path(
    replay: Replay, source: str, target: str, *, copied: bool, told: bool
) -> None:
    """Give a file or a folder another name, or a second one."""
    if told:
        old, new = replay.tracked(source, ""), replay.tracked(target, "")
        if not old.gone and not new.file.chunks:
            _transfer_file_state(old, new, copied=False)
        return
    if is_known_folder(replay, target):
        target = f"{target.rstrip('/')}/{posixpath.basename(source)}"
    if is_known_folder(replay, source):
        doubted = make_path_key(target) in replay.files or bool(
            list_files_below(replay, target)
        )  # perhaps there is something by that name
        under = make_path_key(source + "/")
        for path in _list_unseen_base_files(replay, lambda key: key.startswith(under))[
            :_MAX_MOVED_BASE_FILES
        ]:
            replay.tracked(path, "")
        for one in list_files_below(replay, source):
            if not one.gone:
                new = replay.tracked(target + one.path[len(source) :], "")
                _transfer_file_state(one, new, copied=copied)
                if doubted:
                    new.file.shake()
                    new.dirty, new.swept = True, False
        return
    known, into = (
        replay.files.get(make_path_key(path))
        for path in (target, f"{target}/{posixpath.basename(source)}")
    )
    if (
        make_path_key(source) not in replay.files
        and not is_in_base(replay, source)
        and not posixpath.splitext(source)[1]
    ):
        known = replay.tracked(target, "")  # the source may be a folder that nothing is known of
        known.file, known.gone, known.dirty = FileState(), False, True
        return
    old = replay.tracked(source, "")
    if old.gone:
        old.file, old.gone = FileState(), False  # it is there, whatever was thought of it
    if (
        posixpath.splitext(source)[1]
        and not posixpath.splitext(target)[1]
        and (known is None or known.gone)
    ):
        if into is not None:  # the target may be a folder that nothing is known of
            into.file, into.gone, into.dirty = FileState(), False, True
        if not copied:
            mark_file_removed(old)
        return
    _transfer_file_state(old, replay.tracked(target, ""), copied=copied)


def _transfer_file_state(source: TrackedFile, target: TrackedFile, *, copied: bool) -> None:
    target.file, target.gone = copy.deepcopy(source.file) if copied else source.file, False
    target.dirty, target.swept, target.drifted = source.dirty, source.swept, source.drifted
    target.looked, target.doubted, target.waiting = source.looked, source.doubted, []
    if not copied:
        target.loose, source.loose = source.loose, []
        mark_file_removed(source)


def mark_file_removed(one: TrackedFile) -> None:
    """Take a file away."""
    one.file, one.gone, one.dirty, one.waiting, one.loose = (
        FileState(length=0),
        True,
        False,
        [],
        [],
    )


def touch_named_files(replay: Replay, named: frozenset[str]) -> None:
    """Take in that the known files of these last names, or patterns of them, were likely
    changed.
    """
    patterns = [_compile_glob(name) for name in named if "*" in name or "?" in name]
    fits = (
        [name for name in replay.names if any(one.fullmatch(name) for one in patterns)]
        if patterns
        else []
    )
    for one in [one for name in (*named, *fits) for one in replay.names.get(name, ())]:
        one.touch(replay.clock, likely=True)


def touch_matching_files(replay: Replay, pattern: str) -> None:
    """Take in that the known files that a pattern names, and those in folders that it names, were
    likely changed.
    """
    named = _compile_glob(pattern)
    for one in [one for key, one in replay.files.items() if named.match(key)]:
        one.touch(replay.clock, likely=True)


def delete_tracked_path(replay: Replay, path: str, *, folder: bool, pattern: bool) -> None:
    """Take a file away, or a folder, or what a pattern names."""
    under, named = make_path_key(path.rstrip("/") + "/"), _compile_glob(path) if pattern else None

    def fits(key: str) -> bool:
        if named is not None:
            found = named.match(key)
            return found is not None and (
                found.end() == len(key) or (folder and key[found.end()] == "/")
            )
        return key == under[:-1] or (folder and key.startswith(under))

    for name in _list_unseen_base_files(replay, fits):
        replay.untouched(name)
    if not folder and not pattern:
        replay.tracked(path, "")
    for one in [one for key, one in replay.files.items() if fits(key)]:
        mark_file_removed(one)


def _compile_glob(pattern: str) -> re.Pattern[str]:
    """Read a pattern of the shell, which matches neither slashes nor the dot that hides a file."""
    text = ""
    for part in re.split(r"([*?])", make_path_key(pattern)):
        if part in ("*", "?") and part:
            hidden = "(?!\\.)" if not text or text.endswith("/") else ""
            text += hidden + ("[^/]*" if part == "*" else "[^/]")
        else:
            text += re.escape(part)
    return re.compile(text + r"(?=/|\Z)")


class Replay:
    """Applies the steps of sessions to files."""

    def __init__(self, base: BaseFiles | None = None, roots: Sequence[str] = ("",)) -> None:
        """Begin with what a base has, for sessions whose roots are named."""
        self.base = base
        self.roots = roots
        self.files: dict[str, TrackedFile] = {}
        self.names: dict[str, list[TrackedFile]] = {}  # the same by the last parts of their paths
        self.makers: list[LineMaker] = []
        self.history: list[AppliedChange] = []
        self.agents: list[Agent] = []
        self.steps: Sequence[list[SessionStep]] = []
        self.record = 0
        self.agent = Agent()
        self.clock = 0
        self.touched = 0
        self.checked = False
        self.sweeps: list[BulkChange] = []
        self.controls: dict[str, VersionControlState] = {}

    def run(self, records: Sequence[dict[str, Any]], walked: Sequence[list[SessionStep]]) -> None:
        """Replay records together, by their steps, in the order of time."""
        self.agents = agents = [find_record_agent(record) for record in records]
        self.steps = walked
        ways = [
            [(step.time, number, at, step) for at, step in enumerate(own)]
            for number, own in enumerate(self.steps)
        ]
        done: dict[tuple[str, str], tuple[int, Any]] = {}
        for _, self.record, _, step in merge(*ways) if len(ways) > 1 else ways[0] if ways else ():
            if isinstance(step, ToolCall):
                first, asked = done.setdefault((step.call_id, step.name), (self.record, step.input))
                if first != self.record and asked == step.input:
                    continue  # a copy: forks and resumed sessions begin with what another one did
            self.agent = agents[self.record]
            self.checked = self.agent.checks_files
            if not isinstance(step, ToolCall):
                self.step(step, self.agent.observations(step.value))
            else:
                self.step(
                    step,
                    derive_file_actions(self.agent, step) if step.events is None else step.events,
                )
                step.events = None

    def step(self, step: SessionStep, events: Iterable[FileAction]) -> None:
        """Apply what one step did."""
        self.clock += 1
        for event in events:
            if isinstance(event, PossibleChange) and (event.folder or not event.path):
                self.touched = self.clock
                if event.folder:
                    folder = make_absolute_path(event.path, step.folder) if event.path else ""
                    apply_bulk_change(self, BulkChange(folder, event.kinds, event.formatter))
                touch_named_files(self, event.named)
            elif event.path and not self._arrange(event, step.folder):
                self._apply(event, step)

    def _arrange(self, event: FileAction, folder: str) -> bool:
        """Apply what happens to files as wholes; tells whether it was that."""
        path = make_absolute_path(event.path, folder)
        match event:
            case FileMove(to=to, copy=copied, told=told):
                move_tracked_path(
                    self, path, make_absolute_path(to, folder), copied=copied, told=told
                )
            case FileDeletion(folder=whole, pattern=pattern):
                delete_tracked_path(self, path, folder=whole, pattern=pattern)
            case Revert(new=True):
                doubt_untracked_files(self)
            case Revert(everything=everything):
                revert_files(self, path, everything=everything)
            case Stash(paths=names, untracked=untracked, known=known, sure=sure):
                named = [make_absolute_path(name, folder) for name in names]
                stash_changes(self, named, untracked=untracked, known=known, sure=sure)
            case Unstash(bring=bring, keep=keep, known=known):
                restore_stash(self, bring=bring, keep=keep, known=known)
            case GitStateChange():
                get_version_control(self).stagings += 1
            case PossibleChange(pattern=True):
                self.touched = self.clock
                touch_matching_files(self, path)
            case _:
                return False
        return True

    def tracked(self, path: str, folder: str) -> TrackedFile:
        """Give a file by its name, new or known."""
        name = make_absolute_path(path, folder)
        found = self.files.get(make_path_key(name))
        if found is None:
            data = (
                self.base.file(make_relative_path(name, self.roots[self.record]))
                if self.base
                else None
            )
            file = FileState() if data is None else FileState.of(decode_file_text(data))
            found = self._know(name, file)
            covering = [one for one in self.sweeps if one.covers(name)]
            found.dirty, found.swept = bool(covering), all(one.formatter for one in covering)
        return found

    def _know(self, path: str, file: FileState) -> TrackedFile:
        one = self.files[make_path_key(path)] = TrackedFile(path, file)
        self.names.setdefault(path.rpartition("/")[2], []).append(one)
        return one

    def untouched(self, path: str) -> None:
        """Know of a file of the base without reading it."""
        self._know(path, FileState())

    def maker(self, kind: str, step: SessionStep, evidence: str) -> int:
        """Give a maker of lines a number."""
        call_id, model = (step.call_id, step.model) if isinstance(step, ToolCall) else ("", "")
        contributor = step.contributor if isinstance(step, ToolCall) and kind == "ai" else None
        entries = (
            [step.entry, step.result_entry]
            if isinstance(step, ToolCall) and step.result_entry
            else [step.entry]
        )
        self.makers.append(
            LineMaker(
                kind,
                list(dict.fromkeys(entries)),
                call_id,
                model,
                evidence,
                self.record,
                contributor,
            )
        )
        return -len(self.makers)

    def _apply(self, event: FileAction, step: SessionStep) -> None:
        tracked = self.tracked(event.path, step.folder)
        match event:
            case ObservedFile(text=str(text)):
                self.look(tracked, step, lambda outside: tracked.file.observe_whole(text, outside))
            case ObservedLines():
                self._observe(tracked, event, step)
            case ChangeNotice():
                apply_change_notice(self, tracked, event, step)
            case ObservedDiff(hunks=hunks):
                for hunk in hunks:
                    self.look(
                        tracked,
                        step,
                        lambda outside: tracked.file.observe(hunk.new_first, hunk.after(), outside),  # noqa: B023
                    )
            case PossibleChange(overwritten=overwritten, likely=likely):
                self.touched = self.clock
                tracked.touch(self.clock, likely=likely)
                if overwritten:
                    tracked.file.shake()
            case UnplacedEdit():
                if isinstance(step, ToolCall):
                    tracked.file.shake()
                    tracked.dirty = True
                    self._remember(
                        AppliedChange(step, tracked.path, [], EVIDENCE_CONTENT_ONLY, self.record)
                    )
            case Replacement() | AppliedPatch() | FileWrite():
                if isinstance(step, ToolCall):
                    self._change(tracked, event, step)
        remember_host_text(self, tracked, event, step)

    def _observe(self, tracked: TrackedFile, event: ObservedLines, step: SessionStep) -> None:
        """Take in a look, and those that waited for it to be certain."""
        look = settle_observation(tracked.file, event)
        if look is None:
            tracked.waiting = [*tracked.waiting, event][-MAX_WAITING_OBSERVATIONS:]
            return
        if has_different_line_count(tracked.file, event):
            tracked.file.shake()
        self.look(
            tracked, step, lambda outside: tracked.file.observe(look.first, look.lines, outside)
        )
        if event.last:
            tracked.file.end_at(
                event.first + len(event.lines) - 1, whole=event.first == 1, ended=not event.unended
            )
        waiting, tracked.waiting = tracked.waiting, []
        for one in waiting:
            held = settle_observation(tracked.file, one)
            if held is None or tracked.file.agrees(
                held.first, held.lines
            ):  # else something happened since it was shown
                self._observe(tracked, one, step)

    def look(
        self,
        tracked: TrackedFile,
        step: SessionStep,
        observe: Callable[[int], bool],
        kind: str = "",
    ) -> None:
        """Look at a file; what is new in it since the last look is the work of whoever could have
        done it.
        """
        if self.touched > tracked.looked:
            kind, tracked.file.shaken = "shell", True
        kind = kind or ("user" if self.base is not None else "unknown")
        if tracked.is_doubtful:
            tracked.file.shake()  # what is not shown now is not proved by what was shown before
        fitted = observe(
            self.maker(kind, step, EVIDENCE_SHELL if tracked.dirty else EVIDENCE_EXTERNAL)
        )
        tracked.drifted = tracked.drifted or not (fitted or tracked.dirty)
        tracked.looked, tracked.dirty, tracked.gone = self.clock, False, False
        if tracked.loose:
            placed = anchor_loose_edits(
                tracked.file, [(edits, maker) for edits, _, maker in tracked.loose]
            )
            for _, change, maker in tracked.loose:
                if maker in placed:
                    change.evidence = self.makers[-maker - 1].evidence = EVIDENCE_ANCHORED
            tracked.loose = [loose for loose in tracked.loose if loose[2] not in placed]

    def _change(
        self, tracked: TrackedFile, event: Replacement | AppliedPatch | FileWrite, call: ToolCall
    ) -> None:
        evidence = (
            EVIDENCE_SHELL if isinstance(event, FileWrite) and event.by_shell else EVIDENCE_REPLAYED
        )
        if (
            isinstance(event, FileWrite)
            and event.created is False
            and not event.append
            and tracked.file.is_unseen
        ):
            # Which of its lines were there before, nobody can say.
            tracked.file.observe_whole(event.text, self.maker("unknown", call, EVIDENCE_EXTERNAL))
            self._remember(
                AppliedChange(call, tracked.path, [], EVIDENCE_CONTENT_ONLY, self.record)
            )
            return
        if call.inherited:
            evidence = EVIDENCE_EXTERNAL
        maker = self.maker("unknown" if call.inherited else "ai", call, evidence)
        tracked.file.shaken = tracked.file.shaken or self.touched > tracked.looked
        if not self.checked and not isinstance(event, FileWrite) and tracked.dirty:
            tracked.file.shake()
        if isinstance(event, FileWrite):
            ranges = self._write(tracked, event, maker)
            evidence = EVIDENCE_RECORDED if event.recorded else evidence
        elif isinstance(event, AppliedPatch):
            ranges, evidence = self._patch(tracked, event, call, maker)
        else:
            ranges, evidence = self._replace(tracked, event, call, maker)
        if evidence == EVIDENCE_REPLAYED and not tracked.file.is_whole:
            evidence = EVIDENCE_WINDOWED
        if isinstance(event, FileWrite) and event.by_shell:
            tracked.dirty = tracked.dirty and event.append
        elif self.checked or isinstance(event, FileWrite):
            tracked.dirty = (
                False  # a host that checks changes no file that it has not seen as it is
            )
        tracked.looked = tracked.changed = self.clock
        tracked.waiting.clear()
        if ranges is None:
            change = AppliedChange(call, tracked.path, [], EVIDENCE_CONTENT_ONLY, self.record)
            edits = convert_to_edits(event)
            if isinstance(event, FileWrite):
                tracked.file.length = None
            elif not edits or any(edit.old.count("\n") != edit.new.count("\n") for edit in edits):
                tracked.file.shake()
            if edits:
                tracked.loose.append((edits, change, maker))
            self._remember(change)
            return
        if not all(self._fresh(tracked.file, ranges)):
            ranges, evidence = [], EVIDENCE_CONTENT_ONLY
        if not call.inherited:
            self.makers[-maker - 1].evidence = evidence
        self._remember(AppliedChange(call, tracked.path, ranges, evidence, self.record))

    def _remember(self, change: AppliedChange) -> None:
        if not change.call.inherited:
            self.history.append(change)

    def _fresh(self, file: FileState, ranges: LineRanges) -> list[bool]:
        return [
            chunk.fresh
            for chunk in file.chunks
            for first, _ in ranges
            if chunk.first <= first < chunk.next
        ]

    def _replace(
        self, tracked: TrackedFile, event: Replacement, call: ToolCall, maker: int
    ) -> tuple[LineRanges | None, str]:
        file = tracked.file
        hunks = restore_hunk_tabs(event.hunks, file.line, event.edits)
        if hunks and (not file.is_whole or not event.edits or not matches_hunks(file, hunks)):
            ranges = apply_recorded_hunks(
                file, hunks, maker, self.maker("unknown", call, EVIDENCE_EXTERNAL)
            )
            if ranges is not None:
                return ranges, EVIDENCE_RECORDED
        offered = next((one for one in event.offers if confirms_hunk_places(file, one)), None)
        ranges = apply_edits(file, event.edits, maker)
        if ranges is None and offered is not None:
            return apply_recorded_hunks(
                file, offered, maker, self.maker("unknown", call, EVIDENCE_EXTERNAL)
            ), EVIDENCE_RECORDED
        if ranges is None and event.shown:
            ranges = place_shown_edit(
                file,
                event.edits,
                event.shown,
                maker,
                self.maker("unknown", call, EVIDENCE_EXTERNAL),
            )
        return ranges, EVIDENCE_RECORDED if event.hunks else EVIDENCE_REPLAYED

    def _patch(
        self, tracked: TrackedFile, event: AppliedPatch, call: ToolCall, maker: int
    ) -> tuple[LineRanges | None, str]:
        if event.hunks and not matches_hunks(tracked.file, event.hunks):
            ranges = apply_recorded_hunks(
                tracked.file, event.hunks, maker, self.maker("unknown", call, EVIDENCE_EXTERNAL)
            )
            if ranges is not None:
                return ranges, EVIDENCE_RECORDED
        return apply_patch_hunks(tracked.file, event.parts, maker), EVIDENCE_REPLAYED

    def _write(self, tracked: TrackedFile, event: FileWrite, maker: int) -> LineRanges | None:
        if event.created or tracked.gone:
            tracked.created = tracked.created or (
                event.created is True and not tracked.gone and not tracked.looked
            )
            tracked.file, tracked.gone = FileState(length=0), False
        if not event.append:
            return tracked.file.write(
                event.text if event.by_shell else tracked.file.spelled(event.text), maker
            )
        whole = tracked.file.text if not tracked.dirty else None
        return None if whole is None else tracked.file.write(whole + event.text, maker)


if TYPE_CHECKING:
    from collections.abc import Sequence

    from vacr.attribution.file_state import TrackedFile


@dataclass(frozen=True, slots=True)
class _StashedFile:
    """A file as it was put aside, and what was left in its place."""

    file: FileState
    gone: bool
    dirty: bool
    left: FileState


@dataclass(slots=True)
class StashedChanges:
    """What a stash holds: each file's state by its key; `states` is `None` when what it holds is
    not known.

    `sure` when it was surely made: without changes, none is.
    """

    states: dict[str, _StashedFile] | None
    time: int
    stagings: int
    sure: bool


@dataclass(slots=True)
class VersionControlState:
    """What the version control of one root has been given to put back."""

    stagings: int = 0
    asides: list[StashedChanges] = field(default_factory=list)


def get_version_control(replay: Replay) -> VersionControlState:
    """Give what is known of the version control of the session at hand."""
    return replay.controls.setdefault(replay.roots[replay.record], VersionControlState())


def revert_files(replay: Replay, path: str, *, everything: bool) -> None:
    """Put back a file, the files of a folder, or all."""
    for one in _list_root_files(replay) if everything else list_files_below(replay, path):
        _restore_from_base(replay, one)
    if not everything and not is_known_folder(replay, path):
        one = replay.tracked(path, "")
        if _is_untracked(replay, one):
            _doubt_file(one)  # somebody has added it, or it could not be put back
        _restore_from_base(replay, one)
        one.file.doubted = one.dirty


def doubt_untracked_files(replay: Replay) -> None:
    """Take in that what the version control knows nothing of was likely removed; what it ignores
    was not.
    """
    for one in _list_root_files(replay):
        if not one.gone and _is_untracked(replay, one):
            one.touch(replay.clock, likely=True)


def _list_root_files(replay: Replay) -> list[TrackedFile]:
    root = replay.roots[replay.record]
    return [
        one
        for one in replay.files.values()
        if not root or make_relative_path(one.path, root) is not None
    ]


def _is_untracked(replay: Replay, one: TrackedFile) -> bool:
    """Tell whether the version control knows nothing of a file."""
    if get_version_control(replay).stagings:
        return False
    return one.created if replay.base is None else not is_in_base(replay, one.path)


def _restore_from_base(replay: Replay, one: TrackedFile) -> None:
    if _is_untracked(replay, one):
        return
    one.waiting, one.loose = [], []
    data = (
        replay.base.file(make_relative_path(one.path, replay.roots[replay.record]))
        if replay.base
        else None
    )
    if get_version_control(replay).stagings or one.drifted:
        _doubt_file(one)
    elif data is not None:
        one.file, one.dirty, one.gone = FileState.of(decode_file_text(data)), False, False
    else:
        one.file, one.dirty, one.gone = FileState(), True, False


def _doubt_file(one: TrackedFile) -> None:
    """Keep what is known of a file as a guess."""
    one.file.shake()
    if one.gone:
        one.file, one.gone = FileState(), False
    one.file.doubted = bool(one.file.chunks)
    one.dirty, one.swept, one.waiting = True, False, []


def stash_changes(
    replay: Replay, names: Sequence[str], *, untracked: bool, known: bool, sure: bool
) -> None:
    """Put changes aside; `known` when it is certain which ones, `sure` when there surely
    were any.
    """
    about = get_version_control(replay)
    named = [
        one for name in names for one in (*list_files_below(replay, name), replay.tracked(name, ""))
    ]
    states: dict[str, _StashedFile] = {}
    for one in named if names else _list_root_files(replay):
        new = _is_untracked(replay, one)
        if new and not untracked:
            continue
        file, gone, dirty = one.file, one.gone, one.dirty
        if not (known and sure) or about.stagings:
            one.file = copy.deepcopy(one.file)
            _doubt_file(one)
        elif new:
            mark_file_removed(one)
        else:
            _restore_from_base(replay, one)
        states[make_path_key(one.path)] = _StashedFile(file, gone, dirty, one.file)
    about.asides.append(
        StashedChanges(states if known else None, replay.clock, about.stagings, sure)
    )


def restore_stash(replay: Replay, *, bring: bool, keep: bool, known: bool) -> None:
    """Bring back what was put aside last."""
    about = get_version_control(replay)
    aside = about.asides[-1] if about.asides else None
    if not known and aside is not None:
        aside.states = None  # perhaps it is still there
    elif aside is not None and not keep:
        about.asides.pop()
    if not bring:
        return
    if aside is None or aside.states is None or (not aside.sure and about.asides):
        for one in _list_root_files(replay):
            _doubt_file(one)
        return
    for key, state in aside.states.items():
        one = replay.files[key]
        same = one.changed <= aside.time and one.file is state.left
        if same:
            kept = copy.deepcopy(state.file) if keep else state.file
            one.file = _overlay_known_lines(one.file, kept) if one.looked > aside.time else kept
            one.gone, one.dirty, one.swept, one.waiting = state.gone, state.dirty, False, []
        if not same or about.stagings != aside.stagings or (about.stagings and state.gone):
            _doubt_file(one)  # of what was staged and removed, something may come back


def _overlay_known_lines(file: FileState, lines: FileState) -> FileState:
    """Put known lines over what was seen of a file while they were aside, which stays as
    a guess.
    """
    if lines.is_whole or not file.chunks:
        return lines
    file.shake()
    for chunk in [chunk for chunk in lines.chunks if chunk.fresh]:
        file.observe(chunk.first, chunk.lines, 0)
        for other in file.chunks:
            for number in range(max(chunk.first, other.first), min(chunk.next, other.next)):
                maker, at = chunk.makers[number - chunk.first], number - other.first
                if maker and not other.makers[at]:
                    file.base.forget(other.places[at])
                    other.makers[at] = maker
    return file
