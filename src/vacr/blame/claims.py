"""Claims: the writer of lines according to each record, in any state of any file.

A commit may have been made at any time during a session, so the final files are not enough. The
sessions are replayed as `vacr.attribution` does, and two things are collected on the way: the
states of files that are known completely, and the runs of lines of one maker, without reverted
lines. Runs are collected whenever the user speaks, git is called, or the session ends. If a record
was attributed with a base that is not available, only its stored attribution counts.

    >>> import vacr
    >>> from vacr.blame.claims import gather_claims
    >>> records = list(vacr.read("session.jsonl"))
    >>> piece = gather_claims(records, bases=lambda revision: None).pieces[0]
    >>> piece.path, piece.lines[0], piece.claim.type, piece.claim.evidence
    ('total.py', 'from decimal import Decimal\\n', 'ai', 'recorded')
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vacr.agents import (
    SessionStep,
    ShownEntry,
    ToolCall,
    dict_or_empty,
    find_record_agent,
)
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
_CONTRIBUTOR_TYPES = ("ai", "human", "mixed")
_MAX_RANGE_LINES = 1_000_000  # a longer range in a record cannot be real


@dataclass(frozen=True, slots=True)
class LineClaim:
    """A statement about the writer of lines, with its session, call, prompt and evidence."""

    type: str
    """`ai`, `human` or `mixed`."""
    model: str
    session: str
    record: str
    """The id of the record."""
    entry: str
    """The id of the entry that wrote the lines."""
    call_id: str
    prompt: str
    """The latest prompt before that entry."""
    evidence: str

    @property
    def source(self) -> tuple[str, str]:
        """The identity of the writing call: its id and its entry.

        It is the same in each record of a session that continues in another file.
        """
        return self.call_id, self.entry


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Consecutive lines that one call wrote."""

    claim: LineClaim
    path: str
    lines: tuple[str, ...]
    moment: int
    """The clock of the replay when the piece was collected."""


@dataclass(frozen=True, slots=True)
class HashedRange:
    """A range of lines known only by its length and its SHA-256."""

    claim: LineClaim
    path: str
    count: int
    digest: str


ClaimsByLine = dict[int, LineClaim]
"""The claims about lines of one file, by their numbers."""

BaseLookup = Callable[[str], BaseFiles | None]
"""Returns the base files of a revision, or `None` if they are not available."""


@dataclass(slots=True)
class GatheredClaims:
    """All claims of some records."""

    pieces: list[TextPiece] = field(default_factory=list)
    hashed: list[HashedRange] = field(default_factory=list)
    states: dict[str, list[ClaimsByLine]] = field(default_factory=dict)
    """Claims about whole files, by the SHA-256 of the file."""


def gather_claims(
    records: Sequence[dict[str, Any]], bases: BaseLookup, wanted: Collection[str] = ()
) -> GatheredClaims:
    """Gather the claims of records, from a replay and from their stored attributions.

    `bases` returns the base files of a revision. `wanted` are the SHA-256 of files: claims about a
    whole file are gathered only for these.
    """
    claims = GatheredClaims()
    for group in _group_records(_drop_shorter_recordings(records)):
        stored = [_parse_stored_attribution(record) for record in group]
        revisions = {
            attribution.base
            for attribution in stored
            if attribution is not None and attribution.base
        }
        base = bases(revisions.pop()) if len(revisions) == 1 else None
        trusted = [
            attribution is None or not attribution.base or base is not None
            for attribution in stored
        ]
        piece_count = len(claims.pieces)
        _replay_group(claims, group, base, wanted, trusted)
        replayed = {
            hashlib.sha256(encode_file_text("".join(piece.lines))).hexdigest()
            for piece in claims.pieces[piece_count:]
        }
        for attribution in stored:
            if attribution is not None:
                _add_stored_claims(claims, attribution, replayed, wanted)
    return claims


def _drop_shorter_recordings(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records, but drop a record if another one of its session has all its entries.

    Of equal recordings, one with an attribution stays.
    """
    kept: dict[str, list[tuple[dict[str, Any], set[str]]]] = {}
    for record in sorted(records, key=_rank_recording, reverse=True):
        names = {name for name in find_entry_prompts(record) if not name.startswith("/")}
        recordings = kept.setdefault(_get_session_id(record), [])
        if not any(names <= others for _, others in recordings):
            recordings.append((record, names))
    return [record for recordings in kept.values() for record, _ in recordings]


def _rank_recording(record: dict[str, Any]) -> tuple[int, bool]:
    """Return a sort key: the number of entries, then whether the record has an attribution."""
    return len(record["session"].get("entries", ())), "file-attribution" in record


def _get_session_id(record: dict[str, Any]) -> str:
    """Return the id of a record's session, or an empty text if it has none."""
    return str(record["session"].get("session-id", ""))


def _group_records(records: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield groups of records that worked in the same folder; each group is replayed together.

    Records that were attributed alone, or with another base, are in groups of their own.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record in records:
        key: tuple[Any, ...] = (find_record_agent(record).project_folder(record),)
        if "file-attribution" in record:
            inputs = dict_or_empty(dict_or_empty(record.get("vacr")).get("inputs"))
            revision = str(dict_or_empty(inputs.get("base")).get("revision", ""))
            others = inputs.get("records")
            if isinstance(others, list) and others:
                key += (revision, len(others))
            else:
                key += (revision, _get_session_id(record))
        groups.setdefault(key, []).append(record)
    yield from groups.values()


# The attribution in a record


@dataclass(slots=True)
class _StoredAttribution:
    """The attribution in a record, and the revision of the base it was made with."""

    base: str = ""
    ranges: list[HashedRange] = field(default_factory=list)
    files: dict[str, ClaimsByLine] = field(default_factory=dict)
    """Claims about whole files, by the SHA-256 of the file."""


def _parse_stored_attribution(record: dict[str, Any]) -> _StoredAttribution | None:
    """Return the attribution of a record, or `None` if it is missing or malformed."""
    if not isinstance(record.get("file-attribution"), dict):
        return None
    try:
        return _parse_file_attribution(record)
    except (AttributeError, KeyError, TypeError):
        return None


def _parse_file_attribution(record: dict[str, Any]) -> _StoredAttribution:
    """Return the attribution of a record, without ranges of an unknown writer.

    Raises:
        AttributeError, KeyError, TypeError: a member is malformed.
    """
    metadata = record.get("vacr", {})
    proofs = metadata.get("attribution", {}).get("files", {})
    prompts = find_entry_prompts(record)
    revision = metadata.get("inputs", {}).get("base", {}).get("revision", "")
    stored = _StoredAttribution(str(revision))
    for file in record["file-attribution"].get("files", ()):
        path = file["path"]
        proof = proofs.get(path, {})
        lines: ClaimsByLine = {}
        for line_range, claim in _list_claimed_ranges(record, file, proof, prompts):
            first, last = line_range["start-line"], line_range["end-line"]
            if claim.type not in _CONTRIBUTOR_TYPES or last - first >= _MAX_RANGE_LINES:
                continue
            lines |= dict.fromkeys(range(first, last + 1), claim)
            digest = line_range.get("content-hash")
            if digest and line_range.get("content-hash-alg", "sha-256") in _SHA_256_NAMES:
                stored.ranges.append(HashedRange(claim, path, last - first + 1, digest))
        if "sha-256" in proof:
            stored.files[proof["sha-256"]] = lines
    return stored


def _list_claimed_ranges(
    record: dict[str, Any],
    file: dict[str, Any],
    proof: dict[str, Any],
    prompts: dict[str, str],
) -> Iterator[tuple[dict[str, Any], LineClaim]]:
    """Yield each range of a file in an attribution, with the claim about its lines.

    `proof` is the evidence for the file, `prompts` has the prompt of each entry.
    """
    range_proofs = {
        (proved["start-line"], proved["end-line"]): proved for proved in proof.get("ranges", ())
    }
    for conversation in file.get("conversations", ()):
        for line_range in conversation.get("ranges", ()):
            contributor = line_range.get("contributor", conversation.get("contributor", {}))
            lines = line_range["start-line"], line_range["end-line"]
            range_proof = range_proofs.get(lines, {})
            yield line_range, _build_claim(record, contributor, range_proof, prompts)


def _build_claim(
    record: dict[str, Any],
    contributor: dict[str, Any],
    proof: dict[str, Any],
    prompts: dict[str, str],
) -> LineClaim:
    """Build the claim about one stored range, from its contributor and the evidence for it."""
    entry = next(iter(proof.get("entries", ())), "")
    return LineClaim(
        type=contributor.get("type", "unknown"),
        model=contributor.get("model-id", ""),
        session=_get_session_id(record),
        record=str(record.get("id", "")),
        entry=entry,
        call_id="",
        prompt=prompts.get(entry, ""),
        evidence=proof.get("evidence", ""),
    )


def _add_stored_claims(
    claims: GatheredClaims,
    stored: _StoredAttribution,
    replayed: Collection[str],
    wanted: Collection[str],
) -> None:
    """Add the stored claims of a record to the gathered ones.

    Leave out ranges whose SHA-256 is in `replayed`, and files whose SHA-256 is not wanted.
    """
    claims.hashed += [hashed for hashed in stored.ranges if hashed.digest not in replayed]
    for digest, lines in stored.files.items():
        if digest in wanted:
            claims.states.setdefault(digest, []).append(lines)


# The replay that collects claims


def _replay_group(
    claims: GatheredClaims,
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None,
    wanted: Collection[str],
    trusted: Sequence[bool],
) -> None:
    """Replay records together, and add the claims that follow from the replay.

    `trusted` has `False` for each record whose base is not available; it yields no claims.
    """
    walked = [list(walk_session_steps(record)) for record in records]
    roots = [
        find_session_root(record, steps, base)
        for record, steps in zip(records, walked, strict=True)
    ]
    replay = _ClaimReplay(claims, records, base, roots, wanted, trusted)
    replay.run(records, walked)
    replay.collect_pieces()


class _ClaimReplay(Replay):
    """A replay that collects claims on the way."""

    def __init__(
        self,
        claims: GatheredClaims,
        records: Sequence[dict[str, Any]],
        base: BaseFiles | None,
        roots: Sequence[str],
        wanted: Collection[str],
        trusted: Sequence[bool],
    ) -> None:
        super().__init__(base, roots)
        self.claims = claims
        self.sessions = [(record, find_entry_prompts(record)) for record in records]
        self.wanted = wanted
        self.trusted = trusted
        self.maker_claims: dict[int, LineClaim | None] = {}
        self.changed_keys: dict[str, None] = {}
        self.collected_texts: dict[int, list[str]] = {}
        self.replaced_lines: set[str] = set()

    def step(self, step: SessionStep, events: Iterable[FileAction]) -> None:
        """Apply one step, and collect claims before a step that may commit or end a change."""
        actions = list(events)
        if isinstance(step, ShownEntry):
            ends_change = bool(self.agent.prompt_text(step.value))
        else:
            ends_change = "git" in str(step.input)
        if ends_change:
            self.collect_pieces()
        history_length = len(self.history)
        super().step(step, actions)
        for action in actions:
            paths = (action.path, action.to) if isinstance(action, FileMove) else (action.path,)
            for path in paths:
                self._note_file_state(make_path_key(make_absolute_path(path, step.folder)))
        unplaced = any(
            change.evidence == EVIDENCE_CONTENT_ONLY for change in self.history[history_length:]
        )
        if unplaced and isinstance(step, ToolCall):
            self._collect_unplaced_pieces(actions, step.folder)
        self.replaced_lines |= {
            strip_line_end(line)
            for action in actions
            for old, _ in _list_changed_texts(action)
            for line in old
        }

    def _note_file_state(self, key: str) -> None:
        """Note that the file with a path key may have changed.

        If its whole text is known and wanted, collect the claims about its lines.
        """
        tracked = self.files.get(key)
        if tracked is None:
            return
        self.changed_keys[key] = None
        text = tracked.file.text if self.wanted else None
        if text is None:
            return
        digest = hashlib.sha256(encode_file_text(text)).hexdigest()
        if digest in self.wanted:
            lines = {
                number: claim
                for run in _list_net_runs(tracked.file)
                if (claim := self._get_claim(run.maker))
                for number in range(run.first, run.last + 1)
            }
            self.claims.states.setdefault(digest, []).append(lines)

    def collect_pieces(self) -> None:
        """Collect a piece for each run of lines in the files that changed since the last time.

        Leave out a run that is part of an earlier piece of the same call.
        """
        new: list[tuple[int, str]] = []
        for key in self.changed_keys:
            tracked = self.files[key]
            for run in _list_net_runs(tracked.file):
                # A call's lines only ever get fewer, so a run is mostly part of an earlier one.
                text = "\n" + run.text
                if any(text in earlier for earlier in self.collected_texts.get(run.maker, ())):
                    continue
                self._add_piece(run.maker, tracked.path, split_keeping_ends(run.text))
                new.append((run.maker, text))
        for maker, text in new:
            self.collected_texts.setdefault(maker, []).append(text)
        self.changed_keys.clear()

    def _collect_unplaced_pieces(self, actions: Sequence[FileAction], folder: str) -> None:
        """Collect a piece for each run of lines that changes at an unknown place added.

        Lines that existed before are left out.
        """
        for action in actions:
            path = make_absolute_path(action.path, folder)
            tracked = self.files.get(make_path_key(path))
            existing = (
                {strip_line_end(line) for line in tracked.file.base.lines.values()}
                if tracked is not None
                else set()
            )
            for old, new in _list_changed_texts(action):
                for lines in _find_new_runs(old, new, existing | self.replaced_lines):
                    self._add_piece(-len(self.makers), path, lines)

    def _add_piece(self, maker: int, path: str, lines: Sequence[str]) -> None:
        """Add lines of a maker to the pieces, if a claim about the maker exists."""
        claim = self._get_claim(maker)
        if claim is not None:
            root = self.roots[self.makers[-maker - 1].record]
            name = make_relative_path(path, root) or path
            self.claims.pieces.append(TextPiece(claim, name, tuple(lines), self.clock))

    def _get_claim(self, maker: int) -> LineClaim | None:
        """Return the claim about the lines of a maker, from a cache; `None` if it has none."""
        if maker not in self.maker_claims:
            self.maker_claims[maker] = self._build_maker_claim(maker)
        return self.maker_claims[maker]

    def _build_maker_claim(self, maker: int) -> LineClaim | None:
        """Build the claim about the lines of a maker.

        Return `None` if the writer is unknown, or if only the record's stored attribution counts.
        """
        line_maker = self.makers[-maker - 1]
        contributor = build_contributor(line_maker)
        if contributor["type"] == "unknown" or not self.trusted[line_maker.record]:
            return None
        record, prompts = self.sessions[line_maker.record]
        entry = line_maker.entries[0]
        return LineClaim(
            type=contributor["type"],
            model=contributor.get("model-id", ""),
            session=_get_session_id(record),
            record=str(record.get("id", "")),
            entry=entry,
            call_id=line_maker.call_id,
            prompt=prompts.get(entry, ""),
            evidence=line_maker.evidence,
        )


def _list_net_runs(file: FileState) -> Iterator[LineRun]:
    """Yield the runs of lines of each maker, without lines that are again as in the base."""
    base_lines: set[str] = set()
    for run in list_line_runs(_copy_without_reverted(file)):
        if not run.text.endswith("\n"):
            # A last line that only lost its end, or was seen without it, may be a line of the base.
            base_lines = base_lines or set(file.base.lines.values())
            last = split_keeping_ends(run.text)[-1]
            if f"{last}\n" in base_lines or f"{last}\r\n" in base_lines:
                if run.last > run.first:
                    yield replace(run, last=run.last - 1, text=run.text.removesuffix(last))
                continue
        yield run


def _copy_without_reverted(file: FileState) -> FileState:
    """Return a copy of a file's state, where reverted lines have no maker.

    Line ends are not compared, so a line that only gained its end loses its maker too.
    """
    chunks = [
        replace(chunk, lines=chunk.lines, makers=chunk.makers[:], places=chunk.places[:])
        for chunk in file.chunks
    ]
    copy = replace(file, chunks=chunks, base=file.base.copy(), outside=file.outside.copy())
    release_reverted_lines(copy, ended=False)
    return copy


def _list_changed_texts(action: FileAction) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the old and the new lines of each edit or hunk; an empty list for other actions."""
    if isinstance(action, Replacement):
        return [
            (split_keeping_ends(edit.old), split_keeping_ends(edit.new)) for edit in action.edits
        ]
    if isinstance(action, AppliedPatch):
        return [(part.old, part.new) for part in action.parts]
    return []


def _find_new_runs(
    old: Sequence[str], new: Sequence[str], existing: Collection[str]
) -> Iterator[list[str]]:
    """Yield the runs of lines in `new` that are neither in `old` nor among the `existing` ones.

    `existing` lines have no line ends.
    """
    run: list[str] = []
    origins = find_line_origins(
        [strip_line_end(line) for line in old], [strip_line_end(line) for line in new]
    )
    for line, origin in zip(new, origins, strict=True):
        if origin == NO_ORIGIN and strip_line_end(line) not in existing:
            run.append(line)
        elif run:
            yield run
            run = []
    if run:
        yield run
