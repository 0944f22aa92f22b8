"""Sessions replayed over sparse files. Step: attribute.

Each call that succeeded is applied to what is known of its files; each look at a file checks it.
What nobody's call explains is from outside, never an agent's.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from typing import Any

from vacr.attribution import control, locate, looks, notices, paths, tabs, tools, tree
from vacr.attribution.base import Base
from vacr.attribution.calls import Call, Step, agent_of
from vacr.attribution.chunks import Ranges
from vacr.attribution.derive import events_of, shown_events
from vacr.attribution.events import (
    Delete,
    DiffSeen,
    Event,
    Move,
    Notice,
    Observe,
    Patch,
    Replace,
    Revert,
    Sketch,
    Snapshot,
    Staged,
    Stash,
    Touch,
    Unstash,
    Write,
)
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import from_bytes
from vacr.attribution.tracked import (
    ANCHORED,
    CONTENT_ONLY,
    EXTERNAL,
    RECORDED,
    REPLAYED,
    SHELL,
    WINDOWED,
    Change,
    Maker,
    Tracked,
)


class Replay:
    """Applies the steps of sessions to files."""

    def __init__(self, base: Base | None = None, roots: Sequence[str] = ("",)) -> None:
        """Begin with what a base has, for sessions whose roots are named."""
        self.base = base
        self.roots = roots
        self.files: dict[str, Tracked] = {}
        self.names: dict[str, list[Tracked]] = {}  # the same by the last parts of their paths
        self.makers: list[Maker] = []
        self.history: list[Change] = []
        self.agents: list[str] = []
        self.steps: Sequence[list[Step]] = []
        self.record = 0
        self.agent = ""
        self.clock = 0
        self.touched = 0
        self.checked = False
        self.sweeps: list[tree.Sweep] = []
        self.controls: dict[str, control.Control] = {}

    def run(self, records: Sequence[dict[str, Any]], walked: Sequence[list[Step]]) -> None:
        """Replay records together, by their steps, in the order of time."""
        self.agents = agents = [agent_of(record) for record in records]
        self.steps = walked
        ways = [
            [(step.time, number, at, step) for at, step in enumerate(own)]
            for number, own in enumerate(self.steps)
        ]
        done: dict[tuple[str, str], tuple[int, Any]] = {}
        for _, self.record, _, step in merge(*ways) if len(ways) > 1 else ways[0] if ways else ():
            if isinstance(step, Call):
                first, asked = done.setdefault((step.call_id, step.name), (self.record, step.input))
                if first != self.record and asked == step.input:
                    continue  # a copy: forks and resumed sessions begin with what another one did
            self.agent = agents[self.record]
            self.checked = self.agent in tools.CHECKING
            if not isinstance(step, Call):
                self.step(step, shown_events(step))
            else:
                self.step(step, events_of(step, self.agent) if step.events is None else step.events)
                step.events = None

    def step(self, step: Step, events: Iterable[Event]) -> None:
        """Apply what one step did."""
        self.clock += 1
        for event in events:
            if isinstance(event, Touch) and (event.folder or not event.path):
                self.touched = self.clock
                if event.folder:
                    folder = paths.absolute(event.path, step.folder) if event.path else ""
                    tree.sweep(self, tree.Sweep(folder, event.kinds, event.formatter))
                tree.touch(self, event.named)
            elif event.path and not self._arrange(event, step.folder):
                self._apply(event, step)

    def _arrange(self, event: Event, folder: str) -> bool:
        """Apply what happens to files as wholes; tells whether it was that."""
        path = paths.absolute(event.path, folder)
        match event:
            case Move(to=to, copy=copied, told=told):
                tree.move(self, path, paths.absolute(to, folder), copied=copied, told=told)
            case Delete(folder=whole, pattern=pattern):
                tree.delete(self, path, folder=whole, pattern=pattern)
            case Revert(new=True):
                control.clean(self)
            case Revert(everything=everything):
                control.revert(self, path, everything=everything)
            case Stash(paths=names, untracked=untracked, known=known, sure=sure):
                named = [paths.absolute(name, folder) for name in names]
                control.stash(self, named, untracked=untracked, known=known, sure=sure)
            case Unstash(bring=bring, keep=keep, known=known):
                control.unstash(self, bring=bring, keep=keep, known=known)
            case Staged():
                control.of(self).stagings += 1
            case Touch(pattern=True):
                self.touched = self.clock
                tree.touch_matching(self, path)
            case _:
                return False
        return True

    def tracked(self, path: str, folder: str) -> Tracked:
        """Give a file by its name, new or known."""
        name = paths.absolute(path, folder)
        found = self.files.get(paths.key(name))
        if found is None:
            data = (
                self.base.file(paths.relative(name, self.roots[self.record])) if self.base else None
            )
            file = SparseFile() if data is None else SparseFile.of(from_bytes(data))
            found = self._know(name, file)
            covering = [one for one in self.sweeps if one.covers(name)]
            found.dirty, found.swept = bool(covering), all(one.formatter for one in covering)
        return found

    def _know(self, path: str, file: SparseFile) -> Tracked:
        one = self.files[paths.key(path)] = Tracked(path, file)
        self.names.setdefault(path.rpartition("/")[2], []).append(one)
        return one

    def untouched(self, path: str) -> None:
        """Know of a file of the base without reading it."""
        self._know(path, SparseFile())

    def maker(self, kind: str, step: Step, evidence: str) -> int:
        """Give a maker of lines a number."""
        call_id, model = (step.call_id, step.model) if isinstance(step, Call) else ("", "")
        contributor = step.contributor if isinstance(step, Call) and kind == "ai" else None
        entries = (
            [step.entry, step.result_entry]
            if isinstance(step, Call) and step.result_entry
            else [step.entry]
        )
        self.makers.append(
            Maker(
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

    def _apply(self, event: Event, step: Step) -> None:
        tracked = self.tracked(event.path, step.folder)
        match event:
            case Snapshot(text=str(text)):
                self.look(tracked, step, lambda outside: tracked.file.observe_whole(text, outside))
            case Observe():
                self._observe(tracked, event, step)
            case Notice():
                notices.take(self, tracked, event, step)
            case DiffSeen(hunks=hunks):
                for hunk in hunks:
                    self.look(
                        tracked,
                        step,
                        lambda outside: tracked.file.observe(hunk.new_first, hunk.after(), outside),  # noqa: B023
                    )
            case Touch(overwritten=overwritten, likely=likely):
                self.touched = self.clock
                tracked.touch(self.clock, likely=likely)
                if overwritten:
                    tracked.file.shake()
            case Sketch():
                if isinstance(step, Call):
                    tracked.file.shake()
                    tracked.dirty = True
                    self._remember(Change(step, tracked.path, [], CONTENT_ONLY, self.record))
            case Replace() | Patch() | Write():
                if isinstance(step, Call):
                    self._change(tracked, event, step)
        notices.hold(self, tracked, event, step)

    def _observe(self, tracked: Tracked, event: Observe, step: Step) -> None:
        """Take in a look, and those that waited for it to be certain."""
        look = looks.settled(tracked.file, event)
        if look is None:
            tracked.waiting = [*tracked.waiting, event][-looks.MOST :]
            return
        if looks.counts_others(tracked.file, event):
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
            held = looks.settled(tracked.file, one)
            if held is None or tracked.file.agrees(
                held.first, held.lines
            ):  # else something happened since it was shown
                self._observe(tracked, one, step)

    def look(
        self, tracked: Tracked, step: Step, observe: Callable[[int], bool], kind: str = ""
    ) -> None:
        """Look at a file; what is new in it since the last look is the work of whoever could have
        done it.
        """
        if self.touched > tracked.looked:
            kind, tracked.file.shaken = "shell", True
        kind = kind or ("user" if self.base is not None else "unknown")
        if tracked.is_doubtful:
            tracked.file.shake()  # what is not shown now is not proved by what was shown before
        fitted = observe(self.maker(kind, step, SHELL if tracked.dirty else EXTERNAL))
        tracked.drifted = tracked.drifted or not (fitted or tracked.dirty)
        tracked.looked, tracked.dirty, tracked.gone = self.clock, False, False
        if tracked.loose:
            placed = locate.anchor(
                tracked.file, [(edits, maker) for edits, _, maker in tracked.loose]
            )
            for _, change, maker in tracked.loose:
                if maker in placed:
                    change.evidence = self.makers[-maker - 1].evidence = ANCHORED
            tracked.loose = [loose for loose in tracked.loose if loose[2] not in placed]

    def _change(self, tracked: Tracked, event: Replace | Patch | Write, call: Call) -> None:
        evidence = SHELL if isinstance(event, Write) and event.by_shell else REPLAYED
        if (
            isinstance(event, Write)
            and event.created is False
            and not event.append
            and tracked.file.is_unseen
        ):
            # Which of its lines were there before, nobody can say.
            tracked.file.observe_whole(event.text, self.maker("unknown", call, EXTERNAL))
            self._remember(Change(call, tracked.path, [], CONTENT_ONLY, self.record))
            return
        if call.inherited:
            evidence = EXTERNAL
        maker = self.maker("unknown" if call.inherited else "ai", call, evidence)
        tracked.file.shaken = tracked.file.shaken or self.touched > tracked.looked
        if not self.checked and not isinstance(event, Write) and tracked.dirty:
            tracked.file.shake()
        if isinstance(event, Write):
            ranges = self._write(tracked, event, maker)
            evidence = RECORDED if event.recorded else evidence
        elif isinstance(event, Patch):
            ranges, evidence = self._patch(tracked, event, call, maker)
        else:
            ranges, evidence = self._replace(tracked, event, call, maker)
        if evidence == REPLAYED and not tracked.file.is_whole:
            evidence = WINDOWED
        if isinstance(event, Write) and event.by_shell:
            tracked.dirty = tracked.dirty and event.append
        elif self.checked or isinstance(event, Write):
            tracked.dirty = (
                False  # a host that checks changes no file that it has not seen as it is
            )
        tracked.looked = tracked.changed = self.clock
        tracked.waiting.clear()
        if ranges is None:
            change = Change(call, tracked.path, [], CONTENT_ONLY, self.record)
            edits = locate.edits_of(event)
            if isinstance(event, Write):
                tracked.file.length = None
            elif not edits or any(edit.old.count("\n") != edit.new.count("\n") for edit in edits):
                tracked.file.shake()
            if edits:
                tracked.loose.append((edits, change, maker))
            self._remember(change)
            return
        if not all(self._fresh(tracked.file, ranges)):
            ranges, evidence = [], CONTENT_ONLY
        if not call.inherited:
            self.makers[-maker - 1].evidence = evidence
        self._remember(Change(call, tracked.path, ranges, evidence, self.record))

    def _remember(self, change: Change) -> None:
        if not change.call.inherited:
            self.history.append(change)

    def _fresh(self, file: SparseFile, ranges: Ranges) -> list[bool]:
        return [
            chunk.fresh
            for chunk in file.chunks
            for first, _ in ranges
            if chunk.first <= first < chunk.next
        ]

    def _replace(
        self, tracked: Tracked, event: Replace, call: Call, maker: int
    ) -> tuple[Ranges | None, str]:
        file = tracked.file
        hunks = tabs.with_tabs(event.hunks, file.line, event.edits)
        if hunks and (not file.is_whole or not event.edits or not locate.fits(file, hunks)):
            ranges = locate.recorded(file, hunks, maker, self.maker("unknown", call, EXTERNAL))
            if ranges is not None:
                return ranges, RECORDED
        offered = next((one for one in event.offers if locate.confirmed(file, one)), None)
        ranges = locate.replace(file, event.edits, maker)
        if ranges is None and offered is not None:
            return locate.recorded(
                file, offered, maker, self.maker("unknown", call, EXTERNAL)
            ), RECORDED
        if ranges is None and event.shown:
            ranges = locate.shown(
                file, event.edits, event.shown, maker, self.maker("unknown", call, EXTERNAL)
            )
        return ranges, RECORDED if event.hunks else REPLAYED

    def _patch(
        self, tracked: Tracked, event: Patch, call: Call, maker: int
    ) -> tuple[Ranges | None, str]:
        if event.hunks and not locate.fits(tracked.file, event.hunks):
            ranges = locate.recorded(
                tracked.file, event.hunks, maker, self.maker("unknown", call, EXTERNAL)
            )
            if ranges is not None:
                return ranges, RECORDED
        return locate.patch(tracked.file, event.parts, maker), REPLAYED

    def _write(self, tracked: Tracked, event: Write, maker: int) -> Ranges | None:
        if event.created or tracked.gone:
            tracked.created = tracked.created or (
                event.created is True and not tracked.gone and not tracked.looked
            )
            tracked.file, tracked.gone = SparseFile(length=0), False
        if not event.append:
            return tracked.file.write(
                event.text if event.by_shell else tracked.file.spelled(event.text), maker
            )
        whole = tracked.file.text if not tracked.dirty else None
        return None if whole is None else tracked.file.write(whole + event.text, maker)
