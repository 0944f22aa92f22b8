"""The attribution that a record holds, as claims. Step: blame.

What records say about who wrote which text, whatever file it ended up in. Step: blame.

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

from vacr.agents import SessionStep, ShownEntry, ToolCall, find_record_agent
from vacr.attribution import (
    EVIDENCE_CONTENT_ONLY,
    BaseFiles,
    FileState,
    LineRun,
    Replay,
    build_contributor,
    find_entry_prompts,
    find_session_root,
    list_line_runs,
    release_reverted_lines,
    walk_session_steps,
)
from vacr.edits import (
    NO_ORIGIN,
    AppliedPatch,
    FileAction,
    FileMove,
    Replacement,
    encode_file_text,
    find_line_origins,
    make_absolute_path,
    make_path_key,
    make_relative_path,
    split_keeping_ends,
    strip_line_end,
)

_SHA_256_NAMES = ("sha-256", "sha256")
_MAX_RANGE_LINES = 1_000_000  # lines of a range; nobody wrote more, but a record may say so


@dataclass(frozen=True, slots=True)
class LineClaim:
    """Who made lines, in which conversation, by which call and for which prompt, and what proves
    it.
    """

    type: str
    model: str
    session: str
    record: str
    entry: str
    call_id: str
    prompt: str
    evidence: str

    @property
    def source(self) -> tuple[str, str]:
        """What tells two makers apart; a session that goes on in another file has the same calls in
        both.
        """
        return self.call_id, self.entry


@dataclass(frozen=True, slots=True)
class HashedRange:
    """A range of which only the length and the SHA-256 are known."""

    claim: LineClaim
    path: str
    count: int
    digest: str


@dataclass(slots=True)
class StoredAttribution:
    """What a record holds: its ranges, its whole files by their SHA-256, and the base it was
    attributed with.
    """

    base: str = ""
    ranges: list[HashedRange] = field(default_factory=list)
    files: dict[str, dict[int, LineClaim]] = field(default_factory=dict)


def dict_or_empty(value: Any) -> dict[str, Any]:
    """Give a map that a record may hold, or an empty one where it holds something else."""
    return value if isinstance(value, dict) else {}


def parse_stored_attribution(record: dict[str, Any]) -> StoredAttribution | None:
    """Read the attribution of a record; `None` when it has none, or one that cannot be read."""
    if not isinstance(record.get("file-attribution"), dict):
        return None
    try:
        return _parse_file_attribution(record)
    except (AttributeError, KeyError, TypeError):
        return None


def _parse_file_attribution(record: dict[str, Any]) -> StoredAttribution:
    ours = record.get("vacr", {})
    proofs = ours.get("attribution", {}).get("files", {})
    asked = find_entry_prompts(record)
    found = StoredAttribution(str(ours.get("inputs", {}).get("base", {}).get("revision", "")))
    for file in record["file-attribution"].get("files", ()):
        proof = proofs.get(file["path"], {})
        proved = {(one["start-line"], one["end-line"]): one for one in proof.get("ranges", ())}
        lines: dict[int, LineClaim] = {}
        for conversation in file.get("conversations", ()):
            for one in conversation.get("ranges", ()):
                first, last = one["start-line"], one["end-line"]
                who = one.get("contributor", conversation.get("contributor", {}))
                claim = _build_claim(record, who, proved.get((first, last), {}), asked)
                if claim.type not in ("ai", "human", "mixed") or last - first >= _MAX_RANGE_LINES:
                    continue
                lines |= dict.fromkeys(range(first, last + 1), claim)
                if (
                    one.get("content-hash")
                    and one.get("content-hash-alg", "sha-256") in _SHA_256_NAMES
                ):
                    found.ranges.append(
                        HashedRange(claim, file["path"], last - first + 1, one["content-hash"])
                    )
        if "sha-256" in proof:
            found.files[proof["sha-256"]] = lines
    return found


def _build_claim(
    record: dict[str, Any], who: dict[str, Any], proof: dict[str, Any], asked: dict[str, str]
) -> LineClaim:
    entry = next(iter(proof.get("entries", ())), "")
    return LineClaim(
        who.get("type", "unknown"),
        who.get("model-id", ""),
        str(record["session"].get("session-id", "")),
        str(record.get("id", "")),
        entry,
        "",
        asked.get(entry, ""),
        proof.get("evidence", ""),
    )


BaseLookup = Callable[[str], BaseFiles | None]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Consecutive lines that one call made; `moment` tells the pieces of one time from those of
    another.
    """

    claim: LineClaim
    path: str
    lines: tuple[str, ...]
    moment: int


@dataclass(slots=True)
class GatheredClaims:
    """What records say: pieces of text, ranges of which only the hash is known, and whole files by
    their SHA-256.
    """

    pieces: list[TextPiece] = field(default_factory=list)
    hashed: list[HashedRange] = field(default_factory=list)
    states: dict[str, list[dict[int, LineClaim]]] = field(default_factory=dict)
    """For each state of a file, who made the lines of which it is known, by their numbers."""


def gather_claims(
    records: Sequence[dict[str, Any]], bases: BaseLookup, wanted: Collection[str] = ()
) -> GatheredClaims:
    """Gather what records say; of whole files, only those whose SHA-256 is wanted."""
    told = GatheredClaims()
    for group in _group_records(_drop_shorter_recordings(records)):
        held = [parse_stored_attribution(record) for record in group]
        named = {one.base for one in held if one is not None and one.base}
        base = bases(named.pop()) if len(named) == 1 else None
        trusted = [one is None or not one.base or base is not None for one in held]
        before = len(told.pieces)
        _replay_group(told, group, base, wanted, trusted)
        known = {
            hashlib.sha256(encode_file_text("".join(piece.lines))).hexdigest()
            for piece in told.pieces[before:]
        }
        for one in held:
            if one is not None:
                _add_stored_claims(told, one, known, wanted)
    return told


def _drop_shorter_recordings(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out recordings of which a longer one has all entries, and of equal ones those that were
    not attributed.
    """
    kept: dict[str, list[tuple[dict[str, Any], set[str]]]] = {}
    for record in sorted(records, key=_rank_recording, reverse=True):
        names = {name for name in find_entry_prompts(record) if not name.startswith("/")}
        same = kept.setdefault(str(record["session"].get("session-id", "")), [])
        if not any(names <= others for _, others in same):
            same.append((record, names))
    return [record for same in kept.values() for record, _ in same]


def _rank_recording(record: dict[str, Any]) -> tuple[int, bool]:
    return len(record["session"].get("entries", ())), "file-attribution" in record


def _group_records(records: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Put together what worked in one folder, but for what was attributed alone or with another
    base.
    """
    together: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        inputs = dict_or_empty(dict_or_empty(record.get("vacr")).get("inputs"))
        key: tuple[Any, ...] = (find_record_agent(record).project_folder(record),)
        if "file-attribution" in record:
            others = inputs.get("records")
            alone = str(record["session"].get("session-id", ""))
            key += (
                str(dict_or_empty(inputs.get("base")).get("revision", "")),
                len(others) if isinstance(others, list) and others else alone,
            )
        together.setdefault(key, []).append(record)
    yield from together.values()


def _add_stored_claims(
    told: GatheredClaims, held: StoredAttribution, known: Collection[str], wanted: Collection[str]
) -> None:
    """Take what a record holds and its replay did not give."""
    told.hashed += [one for one in held.ranges if one.digest not in known]
    for digest, claims in held.files.items():
        if digest in wanted:
            told.states.setdefault(digest, []).append(claims)


def _replay_group(
    told: GatheredClaims,
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None,
    wanted: Collection[str],
    trusted: Sequence[bool],
) -> None:
    walked = [list(walk_session_steps(record)) for record in records]
    roots = [
        find_session_root(record, own, base) for record, own in zip(records, walked, strict=True)
    ]
    replay = _ClaimReplay(told, records, base, roots, wanted, trusted)
    replay.run(records, walked)
    replay.remember()


class _ClaimReplay(Replay):
    """A replay that keeps what files were on the way."""

    def __init__(
        self,
        told: GatheredClaims,
        records: Sequence[dict[str, Any]],
        base: BaseFiles | None,
        roots: Sequence[str],
        wanted: Collection[str],
        trusted: Sequence[bool],
    ) -> None:
        super().__init__(base, roots)
        self.told = told
        self.sessions = [(record, find_entry_prompts(record)) for record in records]
        self.wanted = wanted
        self.trusted = trusted
        self.claims: dict[int, LineClaim | None] = {}
        self.changed: dict[str, str] = {}
        self.kept: dict[int, list[str]] = {}
        self.replaced: set[str] = set()

    def step(self, step: SessionStep, events: Iterable[FileAction]) -> None:
        """Apply what one step did, and keep what it may end."""
        events = list(events)
        if (
            self.agent.prompt_text(step.value)
            if isinstance(step, ShownEntry)
            else "git" in str(step.input)
        ):
            self.remember()
        done = len(self.history)
        super().step(step, events)
        for event in events:
            for path in (event.path, event.to) if isinstance(event, FileMove) else (event.path,):
                self._note(make_path_key(make_absolute_path(path, step.folder)))
        if any(
            change.evidence == EVIDENCE_CONTENT_ONLY for change in self.history[done:]
        ) and isinstance(step, ToolCall):
            self._loose(events, step.folder)
        self.replaced |= {
            strip_line_end(line)
            for event in events
            for old, _ in _list_changed_texts(event)
            for line in old
        }

    def _note(self, key: str) -> None:
        tracked = self.files.get(key)
        if tracked is None:
            return
        self.changed[key] = tracked.path
        text = tracked.file.text if self.wanted else None
        if text is None:
            return
        digest = hashlib.sha256(encode_file_text(text)).hexdigest()
        if digest in self.wanted:
            lines = {
                number: claim
                for run in _list_net_runs(tracked.file)
                if (claim := self.claim(run.maker))
                for number in range(run.first, run.last + 1)
            }
            self.told.states.setdefault(digest, []).append(lines)

    def remember(self) -> None:
        """Keep the runs of lines of the files that changed since this was last done."""
        new: list[tuple[int, str]] = []
        for key in self.changed:
            tracked = self.files[key]
            for run in _list_net_runs(tracked.file):
                # What a call made only ever gets less, so most of what is there is a part of what
                # was kept before.
                if not any("\n" + run.text in earlier for earlier in self.kept.get(run.maker, ())):
                    self._keep(run.maker, tracked.path, split_keeping_ends(run.text))
                    new.append((run.maker, "\n" + run.text))
        for maker, text in new:
            self.kept.setdefault(maker, []).append(text)
        self.changed.clear()

    def _loose(self, events: Sequence[FileAction], folder: str) -> None:
        """Keep the lines of changes whose place is not known, but for those that were there
        before.
        """
        for event in events:
            tracked = self.files.get(make_path_key(make_absolute_path(event.path, folder)))
            before = (
                {strip_line_end(line) for line in tracked.file.base.lines.values()}
                if tracked is not None
                else set()
            )
            for old, new in _list_changed_texts(event):
                for lines in _find_new_runs(old, new, before | self.replaced):
                    self._keep(-len(self.makers), make_absolute_path(event.path, folder), lines)

    def _keep(self, maker: int, path: str, lines: Sequence[str]) -> None:
        claim = self.claim(maker)
        if claim is not None:
            name = make_relative_path(path, self.roots[self.makers[-maker - 1].record]) or path
            self.told.pieces.append(TextPiece(claim, name, tuple(lines), self.clock))

    def claim(self, maker: int) -> LineClaim | None:
        """Say who a maker is; nobody where that is not known, or where the record says it and not
        the replay.
        """
        if maker not in self.claims:
            one = self.makers[-maker - 1]
            record, before = self.sessions[one.record]
            who = build_contributor(one)
            self.claims[maker] = (
                LineClaim(
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


def _list_net_runs(file: FileState) -> Iterator[LineRun]:
    """Give the runs of lines of each maker, net of what was reverted."""
    texts: set[str] = set()
    for run in list_line_runs(_copy_without_reverted(file)):
        if not run.text.endswith("\n"):
            # A last line that only lost its end, or was seen without it, may be one that was there
            # before.
            texts = texts or set(file.base.lines.values())
            last = split_keeping_ends(run.text)[-1]
            if f"{last}\n" in texts or f"{last}\r\n" in texts:
                if run.last > run.first:
                    yield replace(run, last=run.last - 1, text=run.text.removesuffix(last))
                continue
        yield run


def _copy_without_reverted(file: FileState) -> FileState:
    """Give a copy in which what was reverted is nobody's, and a line that was only ended too: ends
    are not compared.
    """
    chunks = [
        replace(chunk, lines=chunk.lines, makers=chunk.makers[:], places=chunk.places[:])
        for chunk in file.chunks
    ]
    copy = replace(file, chunks=chunks, base=file.base.copy(), outside=file.outside.copy())
    release_reverted_lines(copy, ended=False)
    return copy


def _list_changed_texts(event: FileAction) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Give the lines that a change took away and those that it put there."""
    if isinstance(event, Replacement):
        return [
            (split_keeping_ends(edit.old), split_keeping_ends(edit.new)) for edit in event.edits
        ]
    if isinstance(event, AppliedPatch):
        return [(part.old, part.new) for part in event.parts]
    return []


def _find_new_runs(
    old: Sequence[str], new: Sequence[str], before: Collection[str]
) -> Iterator[list[str]]:
    run: list[str] = []
    found = find_line_origins(
        [strip_line_end(line) for line in old], [strip_line_end(line) for line in new]
    )
    for line, origin in zip(new, found, strict=True):
        if origin == NO_ORIGIN and strip_line_end(line) not in before:
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
