"""Sessions → claims: the writer of lines according to a record, in any state of any file.

A commit may have been made at any time during a session, so the final files are not enough. Each
session is replayed as `vacr.attribution` does, and two things are collected on the way: the states
of files that are known completely, and the runs of lines of one maker, without reverted lines. Runs
are collected whenever the user speaks, git is called, or the session ends. Both carry the time when
they were gone again, so that a line which a person typed after the agent had removed it is not the
agent's. If a record was attributed with a base that is not available, only its stored attribution
counts.

    >>> import vacr
    >>> from vacr.blame.session_claims import gather_record_claims
    >>> [record] = vacr.read("session.jsonl")
    >>> piece = gather_record_claims(record).pieces[0]
    >>> piece.path.rpartition("/")[2], piece.lines[0], piece.claim.type, piece.claim.evidence
    ('total.py', 'from decimal import Decimal\\n', 'ai', 'recorded')
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vacr.agents import (
    SessionStep,
    ShownEntry,
    ToolCall,
    extract_command,
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
    locate_session_steps,
    store_file_actions,
    unattribute_reverted_lines,
)
from vacr.blame.claims import (
    BaseLookup,
    ClaimsByLine,
    KnownState,
    LineClaim,
    RecordClaims,
    TextPiece,
)
from vacr.blame.copied_lines import SeenText, ShownLine
from vacr.blame.line_text import (
    count_letters,
    count_lines_with_letters,
    remove_blanks,
    split_consecutive_numbers,
)
from vacr.blame.session_facts import (
    describe_recording,
    drop_shorter_recordings,
    find_session_facts,
)
from vacr.blame.stored_attribution import (
    StoredAttribution,
    get_agent_name,
    get_session_id,
    parse_stored_attribution,
)
from vacr.edits import (
    NO_ORIGIN,
    AppliedPatch,
    ChangeNotice,
    FileAction,
    FileDeletion,
    FileMove,
    FileWrite,
    ObservedDiff,
    ObservedFile,
    ObservedLines,
    Replacement,
    UnplacedEdit,
    encode_file_text,
    find_line_origins,
    make_absolute_path,
    make_path_key,
    split_keeping_ends,
    strip_line_end,
)

_OBSERVATIONS = (ObservedDiff, ObservedFile, ObservedLines)
_LOOKS = (*_OBSERVATIONS, ChangeNotice)
_EDITS = (AppliedPatch, FileDeletion, FileMove, FileWrite, Replacement, UnplacedEdit)
_COMMITTING = re.compile(r"\bgit\b.*\b(?:commit|stash|merge|rebase|cherry-pick|am)\b", re.DOTALL)
_MIN_OUTPUT = 40  # letters of a single line that may be copied
_MIN_BLOB_LENGTH = 200  # a shorter file may be in any repository
_MIN_STRAY = 30  # letters of a line that is recognized without the lines around it


def gather_claims(
    records: Sequence[dict[str, Any]], bases: BaseLookup, wanted: Collection[str] | None = ()
) -> list[RecordClaims]:
    """Gather the claims of records, from replays and from their stored attributions.

    `bases` returns the base files of a revision. `wanted` is as in `gather_record_claims`. A record
    that another one contains is left out.
    """
    kept = drop_shorter_recordings(records, describe_recording)
    return [gather_own_claims(record, bases, wanted) for record in kept]


def gather_own_claims(
    record: dict[str, Any], bases: BaseLookup, wanted: Collection[str] | None
) -> RecordClaims:
    """Gather the claims of a record, from its replay and from its stored attribution.

    The arguments are as in `gather_claims`.
    """
    stored = parse_stored_attribution(record)
    base = bases(stored.base) if stored is not None and stored.base else None
    claims = gather_record_claims(record, base, wanted)
    if stored is not None:
        if stored.base and base is None:
            claims.pieces, claims.states = [], {}  # The replay lacks its base.
        _add_stored_claims(claims, stored, wanted)
    return claims


def _add_stored_claims(
    claims: RecordClaims, stored: StoredAttribution, wanted: Collection[str] | None
) -> None:
    """Add the stored claims of a record, except ranges that the replay found as well."""
    replayed = {
        hashlib.sha256(encode_file_text("".join(piece.lines))).hexdigest()
        for piece in claims.pieces
    }
    claims.hashed += [hashed for hashed in stored.ranges if hashed.digest not in replayed]
    for digest, (path, lines) in stored.files.items():
        if wanted is None or digest in wanted:
            claims.states.setdefault(digest, []).append(KnownState(path, lines))


def gather_record_claims(
    record: dict[str, Any], base: BaseFiles | None = None, wanted: Collection[str] | None = None
) -> RecordClaims:
    """Gather the claims of a record from a replay over a base.

    `wanted` are the SHA-256 of files: only these states are gathered; `None` gathers all states.
    """
    return gather_joint_claims([record], base, wanted)[0]


def gather_joint_claims(
    records: Sequence[dict[str, Any]],
    base: BaseFiles | None,
    wanted: Collection[str] | None,
    steps: Sequence[list[SessionStep]] | None = None,
) -> list[RecordClaims]:
    """Gather the claims of records that are replayed together, in the order of time.

    `steps` are the steps of each record to replay; `None` for all of them.
    """
    walked = [locate_session_steps(record) for record in records] if steps is None else steps
    roots = []
    for record, own in zip(records, walked, strict=True):
        if base is not None:
            store_file_actions(record, own)
        roots.append(find_session_root(record, own, base))
    replay = ClaimReplay(records, base, roots, wanted)
    replay.run(records, walked)
    replay.finish()
    for record, own, claims in zip(records, walked, replay.claims, strict=True):
        named = [tracked.path for tracked in replay.files.values()]
        claims.facts = find_session_facts(record, own, named, replay.blobs)
    return replay.claims


# --- the replay that collects claims ---


@dataclass(slots=True)
class _LivePiece:
    """A collected piece whose lines are still in the file, and their maker."""

    maker: int
    text: str
    """All lines of the piece, after a line end."""
    piece: TextPiece
    is_committed: bool = False
    """Whether git may have the lines, and can bring them back."""


@dataclass(slots=True)
class _OpenState:
    """The present state of a file: its SHA-256, empty if unknown, and the claims about it."""

    digest: str
    known: KnownState | None
    is_committed: bool = False
    """Whether git may have this state, and can bring it back."""


class ClaimReplay(Replay):
    """A replay that collects claims on the way."""

    def __init__(
        self,
        records: Sequence[dict[str, Any]],
        base: BaseFiles | None,
        roots: Sequence[str],
        wanted: Collection[str] | None,
    ) -> None:
        """Prepare the replay of records; `wanted` as in `gather_record_claims`."""
        super().__init__(base, roots)
        self.claims = [RecordClaims() for _ in records]
        self.sessions = [(record, find_entry_prompts(record)) for record in records]
        self.wanted = wanted
        self.blobs: dict[str, int] = {}
        self.maker_claims: dict[int, LineClaim | None] = {}
        self.changed_keys: dict[str, int] = {}  # with the time of the last change
        self.edited_keys: set[str] = set()  # the files among them that a call edited
        self.live_pieces: dict[str, list[_LivePiece]] = {}
        self.open_states: dict[str, _OpenState] = {}
        self.replaced_lines: set[str] = set()
        self.seen_text = SeenText()
        self.maker_moments: dict[int, int] = {}
        self.copied_lines: dict[tuple[int, str], set[int]] = {}  # by maker and text

    def add_maker(self, kind: str, step: SessionStep, evidence: str) -> int:
        """Add a maker of lines, and note when it made them."""
        maker = super().add_maker(kind, step, evidence)
        self.maker_moments[maker] = self.clock
        return maker

    def step(self, step: SessionStep, actions: Iterable[FileAction]) -> None:
        """Apply one step, and collect claims before a step that may commit or end a change."""
        actions = list(actions)
        if isinstance(step, ShownEntry):
            ends_change = bool(self.agent.prompt_text(step.value))
        else:
            ends_change = "git" in str(step.input)
        if ends_change:
            self.collect_pieces()
        history_length = len(self.history)
        replaced = list(self._list_replaced_texts(actions, step.folder))
        super().step(step, actions)
        for path, lines in replaced:
            self.seen_text.add_file(path, lines, self.clock - 1)
        self._note_changes(step, actions)
        self._note_seen_text(step, actions)
        if isinstance(step, ToolCall) and _COMMITTING.search(str(step.input)):
            self._note_commit()
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

    def finish(self) -> None:
        """Collect the pieces that are in the files at the end."""
        self.collect_pieces()

    def _note_changes(self, step: SessionStep, actions: Sequence[FileAction]) -> None:
        """Note which files a step showed or changed, and their states."""
        seconds = step.time // 1000
        for action in actions:
            paths = (action.path, action.to) if isinstance(action, FileMove) else (action.path,)
            keys = [make_path_key(make_absolute_path(path, step.folder)) for path in paths]
            if not all(key in self.files for key in keys):
                keys = list(self.files)  # A folder, or everything, was moved, restored or removed.
            for key in keys:
                if key not in self.changed_keys or not isinstance(action, _OBSERVATIONS):
                    self.changed_keys[key] = seconds
                if isinstance(action, _EDITS):
                    self.edited_keys.add(key)
                self._note_file_state(key, seconds, edited=isinstance(action, _EDITS))

    def _list_replaced_texts(
        self, actions: Sequence[FileAction], folder: str
    ) -> Iterator[tuple[str, list[ShownLine]]]:
        """Yield the lines that edits are about to replace, and whether others wrote them.

        The agent knew them, perhaps from an earlier session that this one continues.
        """
        for action in actions:
            path = make_absolute_path(action.path, folder)
            tracked = self.files.get(make_path_key(path))
            shown = [] if tracked is None else self._list_shown_lines(tracked.file)
            own = {line[0] for line in shown if line is not None and not line[1]}
            for old, _ in _list_changed_texts(action):
                yield (
                    tracked.path if tracked is not None else path,
                    [(line, line not in own and not self.seen_text.is_own(line)) for line in old],
                )

    def _note_seen_text(self, step: SessionStep, actions: Sequence[FileAction]) -> None:
        """Note the lines that a step showed, or that it wrote itself."""
        is_edit = any(isinstance(action, _EDITS) for action in actions)
        for action in actions:
            if is_edit:
                for lines in _list_written_texts(action):
                    self.seen_text.add_written(lines, self.clock)
            elif isinstance(action, _LOOKS):
                path = make_path_key(make_absolute_path(action.path, step.folder))
                tracked = self.files.get(path)
                if tracked is not None:
                    shown = self._list_shown_lines(tracked.file)
                    self.seen_text.add_file(tracked.path, shown, self.clock)
        self._note_output(step)

    def _note_output(self, step: SessionStep) -> None:
        """Note the lines in the output of a call, in a prompt, or in a text of the host."""
        if isinstance(step, ShownEntry):
            text = self.agent.shown_text(step.value)
        else:
            script, _ = extract_command(step.input)
            self.seen_text.add_written((script or "").split("\n"), self.clock)
            text = step.output
        if "\n" in text or len(text) > _MIN_OUTPUT:
            self.seen_text.add_output(text, self.clock)

    def _list_shown_lines(self, file: FileState) -> Iterator[ShownLine]:
        """Yield the known lines of a file, and whether others wrote them; `None` for a gap."""
        for chunk in file.chunks:
            yield None
            for line, maker in zip(chunk.lines, chunk.makers, strict=True):
                if maker == 0:
                    yield line, True
                    continue
                is_from_call = self.makers[-maker - 1].kind == "ai"
                yield line, not self.seen_text.is_own(line, is_from_call=is_from_call)

    def _note_commit(self) -> None:
        """Note that git may have all present lines from now on."""
        self.collect_pieces()
        for pieces in self.live_pieces.values():
            for known in pieces:
                known.is_committed = True
        for state in self.open_states.values():
            state.is_committed = True

    def _note_file_state(self, key: str, seconds: int, *, edited: bool) -> None:
        """Note the state of a file after a step, if its text is known, and end the one before.

        A committed state does not end unless the file was `edited`.
        """
        tracked = self.files[key]
        text = tracked.file.text
        data = None if text is None or tracked.gone else encode_file_text(text)
        digest = "" if data is None else hashlib.sha256(data).hexdigest()
        before = self.open_states.get(key)
        if before is not None and digest == before.digest:
            return
        if before is not None and before.known is not None and (edited or not before.is_committed):
            before.known.until = seconds or None
        state = None
        if data is not None:
            if len(data) >= _MIN_BLOB_LENGTH:
                self.blobs[hash_git_blob(data)] = len(data)
            if self.wanted is None or digest in self.wanted:
                state = self._add_state(digest, tracked.path, tracked.file)
        self.open_states[key] = _OpenState(digest, state)

    def _add_state(self, digest: str, path: str, file: FileState) -> KnownState:
        """Add a known state to the claims of the current record, and return it."""
        lines: ClaimsByLine = {}
        for run in self._list_own_runs(file):
            claim = self._get_claim(run.maker)
            if claim is not None:
                lines |= dict.fromkeys(range(run.first, run.last + 1), claim)
        state = KnownState(path, lines)
        self.claims[self.record].states.setdefault(digest, []).append(state)
        return state

    def _list_own_runs(self, file: FileState) -> Iterator[LineRun]:
        """Yield the runs of lines of each maker, without lines that it copied, and stray lines."""
        for run in _list_net_runs(file):
            if self._is_stray(file, run):
                continue
            key = run.maker, run.text
            if key not in self.copied_lines:
                self.copied_lines[key] = self.seen_text.find_copied_lines(
                    split_keeping_ends(run.text), self.maker_moments[run.maker]
                )
            copied = self.copied_lines[key]
            if not copied:
                yield run
                continue
            lines = split_keeping_ends(run.text)
            kept = [index for index in range(len(lines)) if index not in copied]
            for part in split_consecutive_numbers(kept):
                text = "".join(lines[part[0] : part[-1] + 1])
                first, last = run.first + part[0], run.first + part[-1]
                yield replace(run, first=first, last=last, text=text)

    def _is_stray(self, file: FileState, run: LineRun) -> bool:
        """Return whether a run is a short line, and others replaced both of its neighbours.

        The file may have a person's line with the same text instead.
        """
        lines = [remove_blanks(line) for line in split_keeping_ends(run.text)]
        if count_lines_with_letters(lines) > 1 or sum(map(count_letters, lines)) >= _MIN_STRAY:
            return False
        above = self._find_line_of_others(file, run.first - 1)
        below = self._find_line_of_others(file, run.last + 1)
        if not above or not below:
            return False
        moment = self.maker_moments[run.maker]
        return self.seen_text.is_cut_out(lines, above, below, moment)

    def _find_line_of_others(self, file: FileState, number: int) -> str:
        """Return a line without blanks, or an empty text if it is unknown, blank or an agent's."""
        for chunk in file.chunks:
            if chunk.first <= number < chunk.next:
                maker = chunk.makers[number - chunk.first]
                is_own = maker != 0 and self.makers[-maker - 1].kind == "ai"
                return "" if is_own else remove_blanks(chunk.lines[number - chunk.first])
        return ""

    def collect_pieces(self) -> None:
        """Collect a piece for each run of lines in the files that changed since the last time.

        Leave out a run that is part of a collected piece of the same call, and end the pieces whose
        lines are gone.
        """
        for key, seconds in self.changed_keys.items():
            tracked = self.files[key]
            runs = list(self._list_own_runs(tracked.file))
            texts: dict[int, list[str]] = {}
            for run in runs:
                texts.setdefault(run.maker, []).append("\n" + run.text)
            live = []
            for known in self.live_pieces.get(key, ()):
                if any(known.text in text for text in texts.get(known.maker, ())):
                    live.append(known)
                elif key in self.edited_keys or not known.is_committed:
                    known.piece.until = seconds or None
            base_lines: set[str] | None = None
            for run in runs:
                text = "\n" + run.text
                if any(text in known.text for known in live if known.maker == run.maker):
                    continue
                if base_lines is None:
                    base_lines = {strip_line_end(line) for line in tracked.file.base.lines.values()}
                piece = self._add_piece(
                    run.maker, tracked.path, split_keeping_ends(run.text), base_lines
                )
                if piece is not None:
                    piece.above, piece.below = _find_neighbours(tracked.file, run)
                    live.append(_LivePiece(run.maker, text, piece))
            self.live_pieces[key] = live
        self.changed_keys.clear()
        self.edited_keys.clear()

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
                    copied = self.seen_text.find_copied_lines(lines, self.clock)
                    kept = [index for index in range(len(lines)) if index not in copied]
                    for part in split_consecutive_numbers(kept):
                        own = lines[part[0] : part[-1] + 1]
                        self._add_piece(-len(self.makers), path, own, set())

    def _add_piece(
        self, maker: int, path: str, lines: Sequence[str], existing: Collection[str]
    ) -> TextPiece | None:
        """Add lines of a maker to the pieces; return `None` if no claim about the maker exists.

        `existing` are the lines that the file had before, without their ends.
        """
        claim = self._get_claim(maker)
        if claim is None:
            return None
        seen = frozenset(bare for line in lines if (bare := strip_line_end(line)) in existing)
        piece = TextPiece(claim, path, tuple(lines), self.clock, seen=seen)
        self.claims[self.makers[-maker - 1].record].pieces.append(piece)
        return piece

    def _get_claim(self, maker: int) -> LineClaim | None:
        """Return the claim about the lines of a maker, from a cache; `None` if it has none."""
        if maker not in self.maker_claims:
            self.maker_claims[maker] = self._build_maker_claim(maker)
        return self.maker_claims[maker]

    def _build_maker_claim(self, maker: int) -> LineClaim | None:
        """Build the claim about the lines of a maker; return `None` if the writer is unknown."""
        line_maker = self.makers[-maker - 1]
        contributor = build_contributor(line_maker)
        if contributor["type"] == "unknown":
            return None
        record, prompts = self.sessions[line_maker.record]
        entry = line_maker.entries[0]
        return LineClaim(
            type=contributor["type"],
            model=contributor.get("model-id", ""),
            session=get_session_id(record),
            record=str(record.get("id", "")),
            entry=entry,
            call_id=line_maker.call_id,
            prompt=prompts.get(entry, ""),
            evidence=line_maker.evidence,
            time=line_maker.time // 1000 if line_maker.time else None,
            zoneless=line_maker.zoneless,
            agent=get_agent_name(record),
        )


def hash_git_blob(data: bytes) -> str:
    """Return the name that git gives a file with these bytes, in a repository with SHA-1."""
    header = b"blob %d\0" % len(data)
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()


def _find_neighbours(file: FileState, run: LineRun) -> tuple[str, str]:
    """Return the next lines with letters or digits above and below a run, without their ends.

    An empty text stands for the beginning or end of the file, or for an unknown line.
    """

    def find_line(number: int, step: int) -> str:
        """Return the next known line with letters or digits, in steps of 1 or -1."""
        while (line := file.get_line(number)) is not None:
            if any(map(str.isalnum, line)):
                return strip_line_end(line)
            number += step
        return ""

    return find_line(run.first - 1, -1), find_line(run.last + 1, 1)


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
    unattribute_reverted_lines(copy, ended=False)
    return copy


def _list_written_texts(action: FileAction) -> Iterator[Sequence[str]]:
    """Yield the lines of each text that an action wrote."""
    if isinstance(action, FileWrite):
        yield action.text.split("\n")
    for _, new in _list_changed_texts(action):
        yield new


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
