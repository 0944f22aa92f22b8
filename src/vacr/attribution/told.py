"""What records say about who wrote which text, whatever file it ended up in. Step: blame.

Sessions are replayed as `attribute` does it, and what they wrote is gathered on the way, for a
commit may have been made at any time: the states of files that were known whole, and the runs of
lines of one maker, net of what was reverted by then, whenever the user speaks, git is called, or
the session ends. Where a record was attributed with a base that is not at hand, what it holds
counts, and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vacr.attribution import net, paths
from vacr.attribution.attributing import root
from vacr.attribution.base import Base
from vacr.attribution.calls import Call, Shown, Step, steps
from vacr.attribution.diff import NEW, origins
from vacr.attribution.events import Event, Move, Patch, Replace
from vacr.attribution.folders import working_folder
from vacr.attribution.prompts import asked, prompts
from vacr.attribution.replay import Replay
from vacr.attribution.result import contributor
from vacr.attribution.sparse import SparseFile
from vacr.attribution.stored import Claim, Hashed, Stored, map_of, stored
from vacr.attribution.text import bare, lines_of, to_bytes
from vacr.attribution.tracked import CONTENT_ONLY

Bases = Callable[[str], Base | None]


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive lines that one call made; `moment` tells the pieces of one time from those of
    another.
    """

    claim: Claim
    path: str
    lines: tuple[str, ...]
    moment: int


@dataclass(slots=True)
class Told:
    """What records say: pieces of text, ranges of which only the hash is known, and whole files by
    their SHA-256.
    """

    pieces: list[Piece] = field(default_factory=list)
    hashed: list[Hashed] = field(default_factory=list)
    states: dict[str, list[dict[int, Claim]]] = field(default_factory=dict)
    """For each state of a file, who made the lines of which it is known, by their numbers."""


def gather(records: Sequence[dict[str, Any]], bases: Bases, wanted: Collection[str] = ()) -> Told:
    """Gather what records say; of whole files, only those whose SHA-256 is wanted."""
    told = Told()
    for group in _groups(_longest(records)):
        held = [stored(record) for record in group]
        named = {one.base for one in held if one is not None and one.base}
        base = bases(named.pop()) if len(named) == 1 else None
        trusted = [one is None or not one.base or base is not None for one in held]
        before = len(told.pieces)
        _replay(told, group, base, wanted, trusted)
        known = {
            hashlib.sha256(to_bytes("".join(piece.lines))).hexdigest()
            for piece in told.pieces[before:]
        }
        for one in held:
            if one is not None:
                _take(told, one, known, wanted)
    return told


def _longest(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out recordings of which a longer one has all entries, and of equal ones those that were
    not attributed.
    """
    kept: dict[str, list[tuple[dict[str, Any], set[str]]]] = {}
    for record in sorted(records, key=_weight, reverse=True):
        names = {name for name in prompts(record) if not name.startswith("/")}
        same = kept.setdefault(str(record["session"].get("session-id", "")), [])
        if not any(names <= others for _, others in same):
            same.append((record, names))
    return [record for same in kept.values() for record, _ in same]


def _weight(record: dict[str, Any]) -> tuple[int, bool]:
    return len(record["session"].get("entries", ())), "file-attribution" in record


def _groups(records: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Put together what worked in one folder, but for what was attributed alone or with another
    base.
    """
    together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        inputs = map_of(map_of(record.get("vacr")).get("inputs"))
        key: tuple[Any, ...] = (working_folder(record),)
        if "file-attribution" in record:
            others = inputs.get("records")
            alone = str(record["session"].get("session-id", ""))
            key += (
                str(map_of(inputs.get("base")).get("revision", "")),
                len(others) if isinstance(others, list) and others else alone,
            )
        together.setdefault(key, []).append(record)
    yield from together.values()


def _take(told: Told, held: Stored, known: Collection[str], wanted: Collection[str]) -> None:
    """Take what a record holds and its replay did not give."""
    told.hashed += [one for one in held.ranges if one.digest not in known]
    for digest, claims in held.files.items():
        if digest in wanted:
            told.states.setdefault(digest, []).append(claims)


def _replay(
    told: Told,
    records: Sequence[dict[str, Any]],
    base: Base | None,
    wanted: Collection[str],
    trusted: Sequence[bool],
) -> None:
    walked = [list(steps(record)) for record in records]
    roots = [root(record, own, base) for record, own in zip(records, walked, strict=True)]
    replay = _Remembering(told, records, base, roots, wanted, trusted)
    replay.run(records, walked)
    replay.remember()


class _Remembering(Replay):
    """A replay that keeps what files were on the way."""

    def __init__(
        self,
        told: Told,
        records: Sequence[dict[str, Any]],
        base: Base | None,
        roots: Sequence[str],
        wanted: Collection[str],
        trusted: Sequence[bool],
    ) -> None:
        super().__init__(base, roots)
        self.told = told
        self.sessions = [(record, prompts(record)) for record in records]
        self.wanted = wanted
        self.trusted = trusted
        self.claims: dict[int, Claim | None] = {}
        self.changed: dict[str, str] = {}
        self.kept: dict[int, list[str]] = {}
        self.replaced: set[str] = set()

    def step(self, step: Step, events: Iterable[Event]) -> None:
        """Apply what one step did, and keep what it may end."""
        events = list(events)
        if asked(step.value) if isinstance(step, Shown) else "git" in str(step.input):
            self.remember()
        done = len(self.history)
        super().step(step, events)
        for event in events:
            for path in (event.path, event.to) if isinstance(event, Move) else (event.path,):
                self._note(paths.key(paths.absolute(path, step.folder)))
        if any(change.evidence == CONTENT_ONLY for change in self.history[done:]) and isinstance(
            step, Call
        ):
            self._loose(events, step.folder)
        self.replaced |= {
            bare(line) for event in events for old, _ in _texts(event) for line in old
        }

    def _note(self, key: str) -> None:
        tracked = self.files.get(key)
        if tracked is None:
            return
        self.changed[key] = tracked.path
        text = tracked.file.text if self.wanted else None
        if text is None:
            return
        digest = hashlib.sha256(to_bytes(text)).hexdigest()
        if digest in self.wanted:
            lines = {
                number: claim
                for run in _made(tracked.file)
                if (claim := self.claim(run.maker))
                for number in range(run.first, run.last + 1)
            }
            self.told.states.setdefault(digest, []).append(lines)

    def remember(self) -> None:
        """Keep the runs of lines of the files that changed since this was last done."""
        new: list[tuple[int, str]] = []
        for key in self.changed:
            tracked = self.files[key]
            for run in _made(tracked.file):
                # What a call made only ever gets less, so most of what is there is a part of what
                # was kept before.
                if not any("\n" + run.text in earlier for earlier in self.kept.get(run.maker, ())):
                    self._keep(run.maker, tracked.path, lines_of(run.text))
                    new.append((run.maker, "\n" + run.text))
        for maker, text in new:
            self.kept.setdefault(maker, []).append(text)
        self.changed.clear()

    def _loose(self, events: Sequence[Event], folder: str) -> None:
        """Keep the lines of changes whose place is not known, but for those that were there
        before.
        """
        for event in events:
            tracked = self.files.get(paths.key(paths.absolute(event.path, folder)))
            before = (
                {bare(line) for line in tracked.file.base.lines.values()}
                if tracked is not None
                else set()
            )
            for old, new in _texts(event):
                for lines in _new_runs(old, new, before | self.replaced):
                    self._keep(-len(self.makers), paths.absolute(event.path, folder), lines)

    def _keep(self, maker: int, path: str, lines: Sequence[str]) -> None:
        claim = self.claim(maker)
        if claim is not None:
            name = paths.relative(path, self.roots[self.makers[-maker - 1].record]) or path
            self.told.pieces.append(Piece(claim, name, tuple(lines), self.clock))

    def claim(self, maker: int) -> Claim | None:
        """Say who a maker is; nobody where that is not known, or where the record says it and not
        the replay.
        """
        if maker not in self.claims:
            one = self.makers[-maker - 1]
            record, before = self.sessions[one.record]
            who = contributor(one)
            self.claims[maker] = (
                Claim(
                    who["type"],
                    who.get("model-id", ""),
                    str(record["session"].get("session-id", "")),
                    str(record.get("id", "")),
                    one.entries[0],
                    one.call_id,
                    before.get(one.entries[0], ""),
                    one.evidence,
                )
                if who["type"] != "unknown" and self.trusted[one.record]
                else None
            )
        return self.claims[maker]


def _made(file: SparseFile) -> Iterator[net.Run]:
    """Give the runs of lines of each maker, net of what was reverted."""
    texts: set[str] = set()
    for run in net.runs(_settled(file)):
        if not run.text.endswith("\n"):
            # A last line that only lost its end, or was seen without it, may be one that was there
            # before.
            texts = texts or set(file.base.lines.values())
            last = lines_of(run.text)[-1]
            if f"{last}\n" in texts or f"{last}\r\n" in texts:
                if run.last > run.first:
                    yield replace(run, last=run.last - 1, text=run.text.removesuffix(last))
                continue
        yield run


def _settled(file: SparseFile) -> SparseFile:
    """Give a copy in which what was reverted is nobody's, and a line that was only ended too: ends
    are not compared.
    """
    chunks = [
        replace(chunk, lines=chunk.lines, makers=chunk.makers[:], places=chunk.places[:])
        for chunk in file.chunks
    ]
    copy = replace(file, chunks=chunks, base=file.base.copy(), outside=file.outside.copy())
    net.settle(copy, ended=False)
    return copy


def _texts(event: Event) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Give the lines that a change took away and those that it put there."""
    if isinstance(event, Replace):
        return [(lines_of(edit.old), lines_of(edit.new)) for edit in event.edits]
    if isinstance(event, Patch):
        return [(part.old, part.new) for part in event.parts]
    return []


def _new_runs(
    old: Sequence[str], new: Sequence[str], before: Collection[str]
) -> Iterator[list[str]]:
    run: list[str] = []
    found = origins([bare(line) for line in old], [bare(line) for line in new])
    for line, origin in zip(new, found, strict=True):
        if origin == NEW and bare(line) not in before:
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
