"""Sessions replayed over sparse files. Step: attribute.

Each call that succeeded is applied to what is known of its files; each look at a file checks it. What nobody's call explains is external,
never an agent's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.attribution import apply_patch, paths
from vacr.attribution.calls import Call, Shown, steps
from vacr.attribution.derive import events_of, shown_events
from vacr.attribution.events import (
    Delete,
    DiffSeen,
    Edit,
    Event,
    Move,
    Notice,
    Observe,
    Patch,
    Replace,
    Revert,
    Snapshot,
    Touch,
    Write,
)
from vacr.attribution.chunks import Ranges
from vacr.attribution.sparse import SparseFile
from vacr.attribution.text import bare, lines_of

RECORDED, REPLAYED, WINDOWED, ANCHORED, CONTENT, EXTERNAL, SHELL = (
    "recorded",
    "replayed",
    "windowed",
    "diff-anchored",
    "content-only",
    "external",
    "shell",
)


@dataclass(slots=True)
class Maker:
    """Who made lines: a call of an agent, or somebody outside."""

    kind: str
    entry: str
    call_id: str = ""
    model: str = ""
    evidence: str = EXTERNAL


@dataclass(slots=True)
class Change:
    """One applied call in one file: the lines it made, numbered as they were just after it."""

    call_id: str
    path: str
    ranges: Ranges
    evidence: str
    model: str


@dataclass(slots=True)
class Tracked:
    """One file of a replay."""

    path: str
    file: SparseFile = field(default_factory=SparseFile)
    gone: bool = False
    dirty: bool = False


class Replay:
    """Applies the steps of sessions to files."""

    def __init__(self, base: Mapping[str, str] | None = None) -> None:
        self.base = base
        self.files: dict[str, Tracked] = {}
        self.makers: list[Maker] = []
        self.history: list[Change] = []
        self.missed: list[tuple[Call, str, str]] = []

    def run(self, record: dict[str, Any]) -> None:
        """Replay one record."""
        agent = str(record["session"].get("agent-meta", {}).get("cli-name", ""))
        for step in steps(record):
            if isinstance(step, Call):
                for event in events_of(step, agent):
                    self.apply(event, step)
            else:
                for event in shown_events(step):
                    self.apply(event, step)

    def tracked(self, path: str, folder: str) -> Tracked:
        name = paths.absolute(path, folder)
        found = self.files.get(paths.key(name))
        if found is None:
            found = self.files[paths.key(name)] = Tracked(name)
        return found

    def maker(self, kind: str, step: Call | Shown, evidence: str) -> int:
        if isinstance(step, Call):
            self.makers.append(Maker(kind, step.entry, step.call_id, step.model, evidence))
        else:
            self.makers.append(Maker(kind, step.entry, evidence=evidence))
        return -len(self.makers)

    def apply(self, event: Event, step: Call | Shown) -> None:
        """Apply one event."""
        if not event.path:
            return
        tracked = self.tracked(event.path, step.folder)
        outside = self.maker("external", step, EXTERNAL)
        file = tracked.file
        match event:
            case Snapshot(text=text):
                if text is not None:
                    file.observe_whole(text, outside)
            case Observe(first=first, lines=lines):
                file.observe(first, lines, outside)
            case Notice(shown=shown):
                for seen in shown:
                    file.observe(seen.first, seen.lines, outside)
            case Replace():
                assert isinstance(step, Call)
                self._replace(tracked, event, step)
            case Write():
                self._write(tracked, event, step)
            case Patch(hunks=parts):
                self._patch(tracked, parts, step)
            case Move(to=to, copy=copy):
                self._move(tracked, self.tracked(to, step.folder), copy=copy)
            case Delete():
                tracked.file, tracked.gone = SparseFile(length=0), True
            case Revert():
                tracked.file = SparseFile()
            case DiffSeen(hunks=hunks):
                for hunk in hunks:
                    file.observe(hunk.new_first, hunk.after(), outside)
            case Touch():
                tracked.dirty = True

    def _changed(self, tracked: Tracked, ranges: Ranges, step: Call, evidence: str) -> None:
        self.history.append(Change(step.call_id, tracked.path, ranges, evidence, step.model))

    def _replace(self, tracked: Tracked, event: Replace, step: Call) -> None:
        file = tracked.file
        maker = self.maker("ai", step, REPLAYED)
        if file.text is None and event.hunks:
            ranges = self._recorded(file, event, maker, self.maker("external", step, EXTERNAL))
            if ranges is not None:
                self._changed(tracked, ranges, step, RECORDED)
                return
        whole = file.text is not None
        ranges = _replaced(file, event.edits, maker)
        if ranges is None and event.shown:
            ranges = self._shown(file, event, maker)
        if ranges is None:
            self.missed.append((step, tracked.path, repr([(c.first, c.next) for c in file.chunks])))
            return
        self._changed(tracked, ranges, step, REPLAYED if whole else WINDOWED)

    def _recorded(self, file: SparseFile, event: Replace, maker: int, outside: int) -> Ranges | None:
        ranges: Ranges = []
        for hunk in event.hunks:
            file.observe(hunk.new_first, hunk.before(), outside)
            made = file.apply(hunk.new_first, hunk.lines, maker)
            if made is None:
                return None
            ranges += made
        return ranges

    def _shown(self, file: SparseFile, event: Replace, maker: int) -> Ranges | None:
        """Place an edit by the lines that its result shows around it."""
        for seen in event.shown:
            text = "".join(seen.lines)
            for edit in event.edits:
                if text.count(edit.new) == 1 and len(edit.new.strip()) > 3:
                    before = lines_of(text.replace(edit.new, edit.old))
                    file.observe(seen.first, before, maker)
                    return _replaced(file, event.edits, maker)
        return None

    def _write(self, tracked: Tracked, event: Write, step: Call | Shown) -> None:
        file = tracked.file
        maker = self.maker("ai", step, REPLAYED)
        if event.created or tracked.gone:
            tracked.file = file = SparseFile(length=0)
            tracked.gone = False
        if event.append:
            whole = file.text
            if whole is None:
                tracked.dirty = True
                return
            ranges = file.write(whole + event.text, maker)
        else:
            ranges = file.write(event.text, maker)
        if isinstance(step, Call):
            self._changed(tracked, ranges, step, REPLAYED)

    def _patch(self, tracked: Tracked, parts: Sequence[Any], step: Call | Shown) -> None:
        maker = self.maker("ai", step, REPLAYED)
        ranges = _patched(tracked.file, parts, maker)
        assert isinstance(step, Call)
        if ranges is None:
            self.missed.append((step, tracked.path, "patch " + repr([(c.first, c.next) for c in tracked.file.chunks])))
        else:
            self._changed(tracked, ranges, step, REPLAYED if tracked.file.text is not None else WINDOWED)

    def _move(self, source: Tracked, target: Tracked, *, copy: bool) -> None:
        if copy:
            target.file = SparseFile()
            if source.file.text is not None:
                target.file = SparseFile.of(source.file.text)
            return
        target.file, target.gone = source.file, False
        source.file, source.gone = SparseFile(length=0), True


def _replaced(file: SparseFile, edits: Sequence[Edit], maker: int) -> Ranges | None:
    made: Ranges = []
    for edit in edits:
        ranges = _replaced_one(file, edit, maker)
        if ranges is None:
            return None
        made += ranges
    return made


def _replaced_one(file: SparseFile, edit: Edit, maker: int) -> Ranges | None:
    if not edit.old:
        return file.write(edit.new, maker) if not file.chunks else None
    hits = list(file.find(edit.old))
    if not hits:
        return None
    if not edit.every:
        if len(hits) > 1:
            return None
        chunk, at = hits[0]
        return file.change(chunk, lambda: chunk.rewrite(at, at + len(edit.old), edit.new, maker))
    made: Ranges = []
    for chunk in list(dict.fromkeys(id(c) for c, _ in hits)):
        one = next(c for c, _ in hits if id(c) == chunk)
        text = one.text
        start, stop = text.find(edit.old), text.rfind(edit.old) + len(edit.old)
        made += file.change(one, lambda one=one, text=text, start=start, stop=stop: one.rewrite(start, stop, text[start:stop].replace(edit.old, edit.new), maker))
    return made


def _patched(file: SparseFile, parts: Sequence[apply_patch.Part], maker: int) -> Ranges | None:
    made: Ranges = []
    start_line = 0
    for part in parts:
        placed = None
        for chunk in file.chunks:
            if chunk.next <= start_line:
                continue
            begin = max(0, start_line - chunk.first)
            lines = [bare(line) for line in chunk.lines]
            if part.anchor:
                found = apply_patch.seek(lines, [part.anchor], begin)
                if found is None:
                    continue
                begin = found + 1
            if not part.old:
                at = len(lines)
            else:
                at = apply_patch.seek(lines, part.old, begin, last=part.last and file.text is not None)
                if at is None and part.old and part.old[-1] == "":
                    at = apply_patch.seek(lines, part.old[:-1], begin)
            if at is not None:
                placed = (chunk, at)
                break
        if placed is None:
            return None
        chunk, at = placed
        new = [line + "\n" for line in part.new]
        stop = at + len(part.old)
        made += file.change(chunk, lambda: chunk.splice(at, min(stop, len(chunk.lines)), new, maker))
        start_line = chunk.first + at + len(new)
    return made
