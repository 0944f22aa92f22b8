"""Sessions replayed over partly known files.

The replay applies each successful call to the known lines of its files, and checks these lines
against everything that the session shows. A line is the agent's only while an entry proves it. A
change that no call explains came from outside.

    >>> from vacr.agents import CALL_DONE, ToolCall
    >>> from vacr.attribution.replay import Replay
    >>> from vacr.edits import Edit, ObservedFile, Replacement
    >>> replay = Replay()
    >>> call = ToolCall("Edit", {}, "entry-1", "call-1", "model", "/app", state=CALL_DONE)
    >>> replay.step(call, [ObservedFile("a.py", "x = 1\\n"),
    ...                    Replacement("a.py", [Edit("1", "2")])])
    >>> replay.files["/app/a.py"].text
    'x = 2\\n'
    >>> [(change.ranges, change.evidence) for change in replay.history]
    [([(1, 1)], 'replayed')]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge
from typing import Any

from vacr.agents import (
    DENIED,
    RUNNING,
    Agent,
    RunShell,
    SessionStep,
    ToolCall,
    ToolEffect,
    dict_or_empty,
    extract_command,
    find_record_agent,
)
from vacr.attribution.base_files import BaseFiles
from vacr.attribution.chunks import LineRanges
from vacr.attribution.file_state import (
    EVIDENCE_ANCHORED,
    EVIDENCE_CONTENT_ONLY,
    EVIDENCE_EXTERNAL,
    EVIDENCE_RECORDED,
    EVIDENCE_REPLAYED,
    EVIDENCE_SHELL,
    EVIDENCE_WINDOWED,
    MAX_PROVEN_TEXTS,
    MAX_WAITING_OBSERVATIONS,
    AppliedChange,
    FileState,
    LineMaker,
    TrackedFile,
    has_blob_id,
    has_different_line_count,
    settle_observation,
)
from vacr.attribution.locate import (
    adds_to_edits,
    anchor_unplaced_edits,
    apply_edits,
    apply_notice_hunks,
    apply_patch_hunks,
    apply_recorded_hunks,
    apply_shown_diff,
    confirms_hunk_places,
    convert_to_edits,
    matches_hunks,
    place_notice_hunks,
    place_shown_edit,
    restore_hunk_tabs,
)
from vacr.attribution.reconcile import replace_lines_from_outside
from vacr.attribution.shell.effects import derive_shell_events
from vacr.attribution.whole_files import (
    BulkChange,
    VersionControlState,
    apply_bulk_change,
    delete_path,
    doubt_untracked_files,
    find_matching_files,
    get_version_control,
    move_path,
    note_missing_file,
    restore_stash,
    revert_path,
    stash_changes,
    touch_matching_files,
    touch_named_files,
    touch_namesakes,
)
from vacr.edits import (
    AppliedPatch,
    ChangeNotice,
    FileAction,
    FileDeletion,
    FileMove,
    FileRewrite,
    FileWrite,
    GitStateChange,
    Hunk,
    MissingFile,
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
    render_as_host,
    split_keeping_ends,
)

# A shell command that runs on after its call: `serve &`.
_BACKGROUND = re.compile(r"(?<![&>|<\\])&(?=\s|\)|$)")

LineChange = Replacement | AppliedPatch | FileWrite
PlacedChange = tuple[LineRanges | None, str]
"""The line ranges that a change wrote, or `None` where its place is unknown, and the evidence."""


def derive_file_actions(agent: Agent, call: ToolCall) -> Iterator[FileAction]:
    """Yield the effects of an ended call on files, and the lines of files that it showed.

    The agent knows what its tools do. Only shell scripts are parsed here, because their commands do
    the same to files, no matter which agent ran them.
    """
    for action in agent.file_actions(call):
        if isinstance(action, RunShell):
            yield from derive_shell_events(call, action)
        else:
            yield action


def is_left_running(call: ToolCall) -> bool:
    """Return whether a call started a command or sub-agent that ran on after its result."""
    command, _ = extract_command(call.input)
    has_later_end = "resolved-by" in dict_or_empty(call.native.get("vacr"))
    is_running = call.native.get("status") == RUNNING or has_later_end
    return is_running or bool(_BACKGROUND.search(command or ""))


class Replay:
    """The files of one or more sessions, as known after each step."""

    keeps_actions = False
    """Whether the file actions that were stored in a call are needed again."""
    skips_unplaced = False
    """Whether an edit is left out if its place is unknown, instead of making the file doubtful."""

    def __init__(self, base: BaseFiles | None = None, roots: Sequence[str] = ("",)) -> None:
        """Start from the files of a base; `roots` are the project folders of the sessions."""
        self.base = base
        self.roots = roots
        self.files: dict[str, TrackedFile] = {}
        self.files_by_name: dict[str, list[TrackedFile]] = {}
        self.makers: list[LineMaker] = []
        self.history: list[AppliedChange] = []
        self.agents: list[Agent] = []
        self.steps: Sequence[list[SessionStep]] = []
        self.record = 0
        self.agent = Agent()
        self.checked = False  # Whether the host refuses to edit a file that changed unseen.
        self.clock = 0  # The number of steps so far.
        self.touched = 0  # The time of the last possible change of unnamed files.
        self.delegated = 0  # The time of the last call that may have changed files in any way.
        self.runs_on = False
        """Whether a command or sub-agent may still run that a call has started."""
        self.bulk_changes: list[BulkChange] = []
        self.moments: dict[str, int] = {}
        """Path keys → the time at which the file was as in the base, if that is not the start."""
        self.controls: dict[str, VersionControlState] = {}

    @property
    def root(self) -> str:
        """The project folder of the current session."""
        return self.roots[self.record]

    def run(self, records: Sequence[dict[str, Any]], steps: Sequence[list[SessionStep]]) -> None:
        """Apply the steps of all records, in the order of time.

        Skip a call that another record has too: it was copied into a continued session.
        """
        self.agents = [find_record_agent(record) for record in records]
        self.steps = steps
        applied: dict[tuple[str, str], tuple[int, Any]] = {}
        for number, step in self._merge_steps():
            self.record = number
            if isinstance(step, ToolCall):
                key = (step.call_id, step.name)
                first, arguments = applied.setdefault(key, (self.record, step.input))
                if first != self.record and arguments == step.input:
                    continue  # Forks and resumed sessions begin with copies of earlier calls.
            self.agent = self.agents[self.record]
            self.checked = self.agent.checks_files
            self.step(step, self._derive_actions(step))

    def _merge_steps(self) -> Iterator[tuple[int, SessionStep]]:
        """Yield the steps of all records by time, each with the index of its record."""
        if len(self.steps) == 1:
            yield from ((0, step) for step in self.steps[0])
            return
        timed = (
            [(step.time, number, index, step) for index, step in enumerate(own)]
            for number, own in enumerate(self.steps)
        )
        for _, number, _, step in merge(*timed):
            yield number, step

    def _derive_actions(self, step: SessionStep) -> Iterable[FileAction]:
        """Return the file actions of a step: of a call, those stored in it or else derived ones.

        Actions stored in a call are dropped from it, unless `keeps_actions` is set.
        """
        if not isinstance(step, ToolCall):
            return self.agent.observations(step.value)
        actions = step.events
        if not self.keeps_actions:
            step.events = None
        return derive_file_actions(self.agent, step) if actions is None else actions

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply the file actions of one step to the tracked files, and advance the clock."""
        self.clock += 1
        for action in actions:
            self.apply_action(action, step)
        if isinstance(step, ToolCall) and step.native.get("status") != DENIED:
            self.runs_on = self.runs_on or is_left_running(step)
            if self.agent.tool_effect(step) is None:  # Such as a sub-agent without a record.
                self.delegated = self.clock

    def apply_action(self, action: FileAction, step: SessionStep) -> None:
        """Apply one file action of a step to the tracked files."""
        if isinstance(action, PossibleChange) and (action.folder or not action.path):
            self._apply_unnamed_change(action, step.folder)
        elif self.moments and self._precedes_base(action, step.folder):
            return
        elif isinstance(action, FileRewrite):
            if isinstance(step, ToolCall):
                self._rewrite_files(action, step)
        elif action.path and not self._apply_to_whole_file(action, step.folder):
            self._apply_to_lines(action, step)

    def _precedes_base(self, action: FileAction, folder: str) -> bool:
        """Return whether the base already has the effect of an action.

        At the moment of the base, set the file to the text that the base has.
        """
        path = make_absolute_path(
            action.to if isinstance(action, FileMove) else action.path, folder
        )
        moment = self.moments.get(make_path_key(path), 0)
        if self.clock == moment:
            tracked = self.track(path, "")
            data = self.read_base(path)
            if data is not None:
                tracked.restart(FileState.from_text(decode_file_text(data)), self.clock)
        return self.clock <= moment

    def _apply_unnamed_change(self, action: PossibleChange, folder: str) -> None:
        """Doubt the files that a command may have changed without naming them."""
        self.touched = self.clock
        if action.folder:
            path = make_absolute_path(action.path, folder) if action.path else ""
            apply_bulk_change(self, BulkChange(path, action.kinds, action.formatter))
        touch_named_files(self, action.named)

    def _apply_to_whole_file(self, action: FileAction, folder: str) -> bool:
        """Apply an action that moves, deletes or restores files; return whether it is one of these.

        Relative paths begin at `folder`.
        """
        path = make_absolute_path(action.path, folder)
        match action:
            case FileMove(to=to, copy=copied, reported=reported):
                target = make_absolute_path(to, folder)
                move_path(self, path, target, copied=copied, reported=reported)
            case FileDeletion(folder=whole, pattern=pattern):
                delete_path(self, path, folder=whole, pattern=pattern)
            case MissingFile():
                note_missing_file(self, path)
            case Revert(new=True):
                doubt_untracked_files(self)
            case Revert(everything=everything):
                revert_path(self, path, everything=everything)
            case Stash(paths=names, untracked=untracked, known=known, sure=sure):
                paths = [make_absolute_path(name, folder) for name in names]
                stash_changes(self, paths, untracked=untracked, known=known, sure=sure)
            case Unstash(bring=bring, keep=keep, known=known):
                restore_stash(self, bring=bring, keep=keep, known=known)
            case GitStateChange():
                get_version_control(self).stagings += 1
            case PossibleChange(elsewhere=True):
                self.touched = self.clock
                touch_namesakes(self, path)
            case PossibleChange(pattern=True):
                self.touched = self.clock
                touch_matching_files(self, path)
            case _:
                return False
        return True

    # --- files and makers ---

    def track(self, path: str, folder: str) -> TrackedFile:
        """Return the tracked file of a path, which may be relative to a folder.

        A path that is new here gets its lines from the base, if the base has the file.
        """
        name = make_absolute_path(path, folder)
        tracked = self.files.get(make_path_key(name))
        if tracked is not None:
            return tracked
        data = self.read_base(name)
        state = FileState() if data is None else FileState.from_text(decode_file_text(data))
        tracked = self._add_file(name, state)
        covering = [change for change in self.bulk_changes if change.covers(name)]
        tracked.dirty = bool(covering)
        tracked.swept = all(change.formatter for change in covering)
        return tracked

    def read_base(self, path: str) -> bytes | None:
        """Return the bytes that the base has for an absolute path, or `None`."""
        return None if self.base is None else self.base.read_file(self.find_base_path(path))

    def find_base_path(self, path: str) -> str | None:
        """Return the path in the base of an absolute path, or `None` outside of the root."""
        return make_relative_path(path, self.root)

    def track_unread(self, path: str) -> None:
        """Track a file by its absolute path without reading its lines from the base."""
        self._add_file(path, FileState())

    def _add_file(self, path: str, state: FileState) -> TrackedFile:
        """Track a file by its absolute path, and return it."""
        tracked = self.files[make_path_key(path)] = TrackedFile(path, state)
        self.files_by_name.setdefault(path.rpartition("/")[2], []).append(tracked)
        return tracked

    def add_maker(self, kind: str, step: SessionStep, evidence: str) -> int:
        """Add a maker of lines; return the negative number that its lines carry.

        `kind` is `ai`, `user`, `shell` or `unknown`, and `evidence` one of the constants
        `EVIDENCE_…`.
        """
        entries, call_id, model, contributor = [step.entry], "", "", None
        time, zoneless = step.time, False
        if isinstance(step, ToolCall):
            call_id, model = step.call_id, step.model
            time, zoneless = step.requested, step.zoneless
            contributor = step.contributor if kind == "ai" else None
            if step.result_entry and step.result_entry != step.entry:
                entries.append(step.result_entry)
        maker = LineMaker(
            kind, entries, call_id, model, evidence, self.record, contributor, time, zoneless
        )
        self.makers.append(maker)
        return -len(self.makers)

    def _add_outside_maker(self, call: ToolCall) -> int:
        """Add a maker for lines that a call shows and did not write."""
        return self.add_maker("unknown", call, EVIDENCE_EXTERNAL)

    # --- observations ---

    def _apply_to_lines(self, action: FileAction, step: SessionStep) -> None:
        """Apply an action that shows or changes lines of one file."""
        tracked = self.track(action.path, step.folder)
        match action:
            case ObservedFile(text=str(text)):
                self.observe_file(tracked, step, partial(tracked.file.observe_whole, text))
            case ObservedLines():
                self._observe_lines(tracked, action, step)
            case ChangeNotice():
                self._apply_change_notice(tracked, action, step)
            case ObservedDiff(hunks=hunks, blob=blob, staged=True):
                staged = self._find_diffed_text(tracked, hunks, blob)
                if staged is not None:
                    self.note_staged_text(tracked, staged, step)
            case ObservedDiff(hunks=hunks, blob=blob):
                self._observe_diff(tracked, hunks, step)
                if blob:
                    self._confirm_blob(tracked, hunks, blob, step)
            case PossibleChange(overwritten=overwritten, likely=likely, formatter=formatter):
                self.touched = self.clock
                tracked.mark_changed(self.clock, likely=likely, formatter=formatter)
                if overwritten:
                    tracked.file.mark_stale()
            case UnplacedEdit():
                if isinstance(step, ToolCall):
                    tracked.file.mark_stale()
                    tracked.dirty = True
                    self._remember_unplaced(tracked, step)
            case Replacement() | AppliedPatch() | FileWrite():
                if isinstance(step, ToolCall):
                    self._change_file(tracked, action, step)
        self._remember_host_text(tracked, action, step)

    def _observe_lines(
        self, tracked: TrackedFile, action: ObservedLines, step: SessionStep
    ) -> None:
        """Take over shown lines, and earlier ones that waited for certain line numbers.

        Shown lines whose numbers are uncertain have to wait.
        """
        settled = settle_observation(tracked.file, action)
        if settled is None:
            tracked.waiting = [*tracked.waiting, action][-MAX_WAITING_OBSERVATIONS:]
            return
        if has_different_line_count(tracked.file, action):
            tracked.file.mark_stale()
        self.observe_file(
            tracked, step, partial(tracked.file.observe, settled.first, settled.lines)
        )
        last_line = action.first + len(action.lines) - 1
        if action.ends_file:
            tracked.file.end_surely_at(last_line)
        elif action.last:
            tracked.file.end_at(last_line, whole=action.first == 1, ended=not action.unended)
        waiting, tracked.waiting = tracked.waiting, []
        for earlier in waiting:
            settled = settle_observation(tracked.file, earlier)
            # Where it disagrees, the file changed after it was shown.
            if settled is None or tracked.file.agrees(settled.first, settled.lines):
                self._observe_lines(tracked, earlier, step)

    def _observe_diff(self, tracked: TrackedFile, hunks: Sequence[Hunk], step: SessionStep) -> None:
        """Take over the new lines of a printed diff.

        If the known text fits neither side, the file changed from outside. Then the lines between
        the hunks keep their order, and are a guess.
        """
        file, text = tracked.file, tracked.file.best_text
        if text is not None and not all(file.agrees(h.new_first, h.after()) for h in hunks):
            changed = apply_shown_diff(text, hunks)
            if changed is not None:
                self.observe_file(tracked, step, partial(file.observe_whole, changed))
                file.mark_stale()
        for hunk in hunks:
            observe = partial(file.observe, hunk.new_first, hunk.after())
            self.observe_file(tracked, step, observe)

    def _confirm_blob(
        self, tracked: TrackedFile, hunks: Sequence[Hunk], blob: str, step: SessionStep
    ) -> None:
        """Take over the whole text of a printed diff, if the id that git gives to it proves it."""
        if not tracked.file.confirm_blob(blob):
            text = self._find_diffed_text(tracked, hunks, blob)
            if text is None:
                return
            self.observe_file(tracked, step, partial(tracked.file.observe_whole, text))
        tracked.waiting, tracked.unplaced = [], []

    def _find_diffed_text(
        self, tracked: TrackedFile, hunks: Sequence[Hunk], blob: str
    ) -> str | None:
        """Return the text after a printed diff, if git's id proves it, and keep it as proven.

        It is the base's text, the known one or an earlier proven one, with the changes of the diff.
        """
        data = self.read_base(tracked.path)
        olds = [] if data is None else [decode_file_text(data)]
        olds += [text for text in [tracked.file.text] if text is not None]
        for old in (*olds, *reversed(tracked.proven_texts)):
            text = apply_shown_diff(old, hunks)
            if text is not None and has_blob_id(text, blob):
                tracked.proven_texts = [*tracked.proven_texts, text][-MAX_PROVEN_TEXTS:]
                return text
        return None

    def note_staged_text(self, tracked: TrackedFile, text: str, step: SessionStep) -> None:
        """Take note of the whole text that git's index has of a file; nothing here needs it."""

    def _apply_change_notice(
        self, tracked: TrackedFile, notice: ChangeNotice, step: SessionStep
    ) -> None:
        """Apply a host's notice that the user changed a file.

        Apply it to the whole text if the text that the host kept is known, else at known places.
        """
        file, host = tracked.file, (self.record, step.chain)
        host_text = tracked.host_texts.pop(host, None)
        new = None
        if host_text is not None and notice.whole:
            new = apply_notice_hunks(render_as_host(host_text), notice.parts)
        if new is not None:
            text, ended = new
            tracked.host_texts[host] = text
            if ended:
                self.observe_file(tracked, step, partial(file.observe_whole, text), "user")
            else:
                self.observe_file(
                    tracked, step, partial(file.observe, 1, split_keeping_ends(text)), "user"
                )
            return
        placed = list(place_notice_hunks(file, notice.parts))
        if not notice.whole or len(placed) < len(notice.parts):
            file.mark_stale()
        for first, lines in placed:
            seen = [line + "\n" for line in lines]
            self.observe_file(tracked, step, partial(tracked.file.observe, first, seen), "user")

    def _remember_host_text(
        self, tracked: TrackedFile, action: FileAction, step: SessionStep
    ) -> None:
        """Remember the text that the host keeps of a file after a read or an edit.

        Forget the earlier text if the new one is not known as a whole. Only hosts that report
        changes keep texts.
        """
        if not self.agent.reports_changes:
            return
        effect: ToolEffect | None = ToolEffect.READ
        if isinstance(step, ToolCall):
            effect = self.agent.tool_effect(step)
        is_read = effect is ToolEffect.READ and isinstance(action, ObservedFile | ObservedLines)
        is_edit = effect in (ToolEffect.REPLACE, ToolEffect.WRITE) and isinstance(
            action, Replacement | FileWrite
        )
        if not is_read and not is_edit:
            return
        if is_edit:
            text = tracked.text
        else:
            text = action.text if isinstance(action, ObservedFile) else None
        host = (self.record, step.chain)
        if text is None:
            tracked.host_texts.pop(host, None)
        else:
            tracked.host_texts[host] = text

    def observe_file(
        self,
        tracked: TrackedFile,
        step: SessionStep,
        observe: Callable[[int], bool],
        kind: str = "",
    ) -> None:
        """Compare a file with the lines that a step shows, and attribute the difference.

        New lines since the last look are attributed to the possible author: a command that ran in
        between, else the author in `kind`, else the user, or an unknown writer without a base, or
        if a sub-agent may have worked in between.
        `observe` compares: it takes the number of that maker, and returns whether the lines fit.
        """
        if self.touched > tracked.looked:
            kind, tracked.file.may_have_moved = "shell", True
        kind = kind or ("user" if self.base is not None else "unknown")
        if kind == "user" and (self.runs_on or self.delegated > tracked.looked):
            kind = "unknown"
        likely_text = tracked.file.best_text if tracked.is_doubtful else None
        if tracked.is_doubtful:
            # Earlier looks no longer prove the lines that are not shown now.
            tracked.file.mark_stale()
        evidence = EVIDENCE_SHELL if tracked.dirty else EVIDENCE_EXTERNAL
        fitted = observe(self.add_maker(kind, step, evidence))
        if likely_text is not None and likely_text == tracked.file.best_text:
            tracked.file.bounded = False  # The likely change is still to be seen.
        tracked.drifted = tracked.drifted or not (fitted or tracked.dirty)
        tracked.looked, tracked.dirty, tracked.gone = self.clock, False, False
        if tracked.unplaced:
            self._anchor_unplaced_edits(tracked)

    def _anchor_unplaced_edits(self, tracked: TrackedFile) -> None:
        """Look for the places of the file's unplaced edits, now that more lines are known.

        Edits that are found are no longer unplaced, and their evidence changes.
        """
        edits = [(edits, maker) for edits, _, maker in tracked.unplaced]
        placed = anchor_unplaced_edits(tracked.file, edits)
        for _, change, maker in tracked.unplaced:
            if maker in placed:
                change.evidence = self.makers[-maker - 1].evidence = EVIDENCE_ANCHORED
        tracked.unplaced = [unplaced for unplaced in tracked.unplaced if unplaced[2] not in placed]

    # --- changes ---

    def _change_file(self, tracked: TrackedFile, action: LineChange, call: ToolCall) -> None:
        """Apply a call's change to a file, and add it to the history with its evidence."""
        write = action if isinstance(action, FileWrite) else None
        if write is not None and _hides_earlier_lines(tracked, write):
            tracked.file.observe_whole(write.text, self._add_outside_maker(call))
            self._remember_unplaced(tracked, call)
            return
        by_shell = write is not None and write.by_shell
        evidence = EVIDENCE_SHELL if by_shell else EVIDENCE_REPLAYED
        if call.inherited:
            evidence = EVIDENCE_EXTERNAL
        maker = self.add_maker("unknown" if call.inherited else "ai", call, evidence)
        tracked.file.may_have_moved = tracked.file.may_have_moved or self.touched > tracked.looked
        if not self.checked and write is None and tracked.dirty:
            tracked.file.mark_stale()
        ranges, evidence = self._place_change(tracked, action, call, maker, evidence)
        if evidence == EVIDENCE_REPLAYED and not tracked.file.is_whole:
            evidence = EVIDENCE_WINDOWED
        if write is not None and write.by_shell:
            tracked.dirty = tracked.dirty and write.append
        elif self.checked or write is not None:
            # A host that checks files has just read this one.
            tracked.dirty = False
        tracked.looked = tracked.changed = self.clock
        tracked.waiting.clear()
        if ranges is None:
            if self.skips_unplaced:
                self._remember_unplaced(tracked, call)
            else:
                self._keep_unplaced(tracked, action, call, maker)
            return
        if not _are_fresh(tracked.file, ranges):
            ranges, evidence = [], EVIDENCE_CONTENT_ONLY
        if not call.inherited:
            self.makers[-maker - 1].evidence = evidence
        self._remember(AppliedChange(call, tracked.path, ranges, evidence, self.record))

    def _rewrite_files(self, action: FileRewrite, call: ToolCall) -> None:
        """Apply a program to a file, or to all files that match a pattern."""
        path = make_absolute_path(action.path, call.folder)
        files = find_matching_files(self, path) if action.pattern else [self.track(path, "")]
        for tracked in files:
            if not tracked.gone:
                self._rewrite_file(tracked, action, call)

    def _rewrite_file(self, tracked: TrackedFile, action: FileRewrite, call: ToolCall) -> None:
        """Apply a program to the known lines of a file, and attribute the lines it changed.

        If the new text is not certain, mark the file as likely changed instead.
        """
        file = tracked.file
        is_known = file.is_whole or (action.by_line and bool(file.chunks))
        texts = [action.rewrite(chunk.text) for chunk in file.chunks] if is_known else [None]
        if None in texts:
            self.touched = self.clock
            tracked.mark_changed(self.clock, likely=True)
            return
        maker = self.add_maker("shell", call, EVIDENCE_SHELL)
        for chunk, text in zip(list(file.chunks), texts, strict=True):
            if text is None or text == chunk.text:
                continue
            tracked.changed = self.clock
            if action.by_line:
                replace_lines_from_outside(file, chunk, split_keeping_ends(text), maker)
            else:
                file.observe_whole(text, maker)
        tracked.waiting.clear()

    def _place_change(
        self,
        tracked: TrackedFile,
        action: LineChange,
        call: ToolCall,
        maker: int,
        evidence: str,
    ) -> PlacedChange:
        """Apply a change; return the line ranges that it wrote, and the evidence.

        The ranges are `None` if the place is unknown. `evidence` applies to a write that the host
        did not record. Written lines get `maker`.
        """
        if isinstance(action, FileWrite):
            ranges = self._write_file(tracked, action, maker)
            return ranges, EVIDENCE_RECORDED if action.recorded else evidence
        if isinstance(action, AppliedPatch):
            return self._apply_patch(tracked.file, action, call, maker)
        return self._replace_text(tracked.file, action, call, maker)

    @staticmethod
    def _write_file(tracked: TrackedFile, action: FileWrite, maker: int) -> LineRanges | None:
        """Write or append to a file, and return the ranges of the new lines.

        Return `None` if text is appended to a file that is not known as a whole. The new lines get
        `maker`.
        """
        if action.created or tracked.gone:
            is_new = action.created is True and not tracked.gone and not tracked.looked
            tracked.created = tracked.created or is_new
            tracked.file, tracked.gone = FileState(length=0), False
        if not action.append:
            text = action.text if action.by_shell else tracked.file.convert_line_ends(action.text)
            return tracked.file.write_text(text, maker)
        known = tracked.file.text if not tracked.dirty else None
        return None if known is None else tracked.file.write_text(known + action.text, maker)

    def _apply_patch(
        self, file: FileState, action: AppliedPatch, call: ToolCall, maker: int
    ) -> PlacedChange:
        """Apply a patch at the lines that the host recorded, or where its lines are found.

        Return the ranges of the added lines, which get `maker`, and the evidence. The ranges are
        `None` if the place is unknown.
        """
        if action.hunks and not matches_hunks(file, action.hunks):
            ranges = self._apply_recorded_hunks(file, action.hunks, call, maker)
            if ranges is not None:
                return ranges, EVIDENCE_RECORDED
        return apply_patch_hunks(file, action.parts, maker), EVIDENCE_REPLAYED

    def _replace_text(
        self, file: FileState, action: Replacement, call: ToolCall, maker: int
    ) -> PlacedChange:
        """Replace text where the host recorded it, where it is found, or where it was shown.

        Return the ranges of the written lines, which get `maker`, and the evidence. The ranges are
        `None` if the place is unknown.
        """
        hunks = restore_hunk_tabs(action.hunks, file.get_line, action.edits)
        is_other = not action.edits or adds_to_edits(hunks, action.edits)
        if hunks and (is_other or not file.is_whole or not matches_hunks(file, hunks)):
            ranges = self._apply_recorded_hunks(file, hunks, call, maker)
            if ranges is not None:
                return ranges, EVIDENCE_RECORDED
        readings = (hunks for hunks in action.offers if confirms_hunk_places(file, hunks))
        confirmed = next(readings, None)
        ranges = apply_edits(file, action.edits, maker)
        if ranges is None and confirmed is not None:
            return self._apply_recorded_hunks(file, confirmed, call, maker), EVIDENCE_RECORDED
        if ranges is None and action.shown:
            outside = self._add_outside_maker(call)
            ranges = place_shown_edit(file, action.edits, action.shown, maker, outside)
        return ranges, EVIDENCE_RECORDED if action.hunks else EVIDENCE_REPLAYED

    def _apply_recorded_hunks(
        self, file: FileState, hunks: Sequence[Hunk], call: ToolCall, maker: int
    ) -> LineRanges | None:
        """Apply hunks of the host; return the added ranges, or `None` if they do not apply."""
        return apply_recorded_hunks(file, hunks, maker, self._add_outside_maker(call))

    def _keep_unplaced(
        self, tracked: TrackedFile, action: LineChange, call: ToolCall, maker: int
    ) -> None:
        """Keep a change whose place is unknown, until shown lines reveal the place.

        Its lines will get `maker`.
        """
        edits = convert_to_edits(action)
        if isinstance(action, FileWrite):
            tracked.file.length = None
        elif not edits or any(edit.old.count("\n") != edit.new.count("\n") for edit in edits):
            tracked.file.mark_stale()
        change = self._remember_unplaced(tracked, call)
        if edits:
            tracked.unplaced.append((edits, change, maker))

    def _remember_unplaced(self, tracked: TrackedFile, call: ToolCall) -> AppliedChange:
        """Add a change without line ranges to the history, and return it."""
        change = AppliedChange(call, tracked.path, [], EVIDENCE_CONTENT_ONLY, self.record)
        self._remember(change)
        return change

    def _remember(self, change: AppliedChange) -> None:
        """Add a change to the history, unless an earlier session made it."""
        if not change.call.inherited:
            self.history.append(change)


def _are_fresh(file: FileState, ranges: LineRanges) -> bool:
    """Return whether the line numbers of all ranges are certain."""
    return all(
        chunk.fresh
        for chunk in file.chunks
        for first, _ in ranges
        if chunk.first <= first < chunk.next
    )


def _hides_earlier_lines(tracked: TrackedFile, write: FileWrite) -> bool:
    """Return whether a write replaced an existing file without known lines."""
    is_overwrite = write.created is False and not write.append
    return is_overwrite and tracked.file.is_unseen
