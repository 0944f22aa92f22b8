"""The attribution of commits in git notes: written from records, shown, and merged after a fetch.

Notes are written in the form of git-ai 3.0.0, so that other tools read them. A note of another tool
is not replaced, unless the user forces it. Notes of vacr are merged: lines that the new records
prove replace older claims, and other lines keep theirs.

    >>> from vacr.workflows.commit_notes import find_foreign_note
    >>> find_foreign_note(b'---\\n{"schema_version": "authorship/3.0.0", "git_ai_version": "1.0"}')
    'it has a note of git-ai 1.0'
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vacr.agents import UNKNOWN, find_agent
from vacr.blame import (
    AddedLines,
    BlamedLine,
    FetchedNotes,
    IndexedRecords,
    LineBlame,
    LineClaim,
    NotesRef,
    Repository,
    blame_commits,
    list_commit_additions,
    list_range_commits,
)
from vacr.errors import UnreadableInput, VacrError
from vacr.exchange import (
    ClaimedLines,
    GitAiNote,
    NotedClaim,
    NotedLines,
    build_commit_note,
    format_note,
    is_note_of_vacr,
    make_noted_claim,
    merge_notes,
    parse_note,
    read_noted_lines,
)
from vacr.record import encode
from vacr.workflows.attribute import EVIDENCE_NOTED
from vacr.workflows.blame_records import BlameInputs, get_blame_records
from vacr.workflows.inputs import InputRecord
from vacr.workflows.output_files import format_count

if TYPE_CHECKING:
    from vacr.blame import FileAdditions

NOTE_WRITTEN = "written"
NOTE_UNCHANGED = "unchanged"
NOTE_REFUSED = "refused"
NOTE_EMPTY = "nothing proven"

JOIN_BY_NOTE = "note"


@dataclass(frozen=True, slots=True)
class NoteResult:
    """What happened to the note of one commit."""

    commit: str
    state: str
    """`written`, `unchanged`, `refused` or `nothing proven`."""
    lines: Counter[str] = field(default_factory=Counter)
    """The lines in the note, by type of contributor."""
    reason: str = ""
    """Why the note was refused."""
    carried_from: tuple[str, ...] = ()
    """The commits whose notes the lines come from, after a rewrite."""
    unnamed: tuple[str, ...] = ()
    """Files that a note cannot name, because their names are not Unicode."""


# Writing


def list_note_commits(repository: Repository, revision: str) -> list[str]:
    """Return the commits of a range `A..B`, the oldest first, or the one commit of a revision.

    A range without commits gives an empty list.

    Raises:
        UnreadableInput: there is no such commit.
    """
    if ".." in revision:
        return [commit.name for commit in list_range_commits(repository, revision)]
    return [repository.resolve_commit(revision)]


def write_commit_notes(
    notes: NotesRef,
    commits: Sequence[str],
    inputs: BlameInputs,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[NoteResult]:
    """Blame commits, write a note for each commit with proven lines, and return the results.

    All notes are written at once. `force` replaces notes of other tools, too.

    Raises:
        UnreadableInput: there is no such commit, or git fails.
        UnwritableOutput: the notes cannot be written.
    """
    claims = _ClaimMaker(inputs)
    existing = notes.read(commits)
    records = get_blame_records(inputs)
    results, written = [], {}
    for added in blame_commits(notes.repository, commits, records, progress=progress):
        lines = {
            path: {line.number: claim for line in own if (claim := claims.make(line.blame))}
            for path, own in added.files
        }
        result, data = _settle_note(
            added.commit,
            {path: own for path, own in lines.items() if own},
            existing.get(added.commit),
            _list_added_numbers(added),
            force=force,
        )
        results.append(result)
        if data is not None:
            written[added.commit] = data
    count = format_count(len(written), "commit")
    notes.write(written, f"Notes added by 'vacr notes write': {count}")
    return results


def _list_added_numbers(added: AddedLines) -> dict[str, set[int]]:
    """Return the numbers of the lines that a commit added, by path."""
    return {path: {line.number for line in lines} for path, lines in added.files}


class _ClaimMaker:
    """Turns the blame of lines into claims for notes; each proof becomes one claim."""

    def __init__(self, inputs: BlameInputs) -> None:
        """Take the records that prove lines: with their sources, or from the index."""
        self.indexed = inputs if isinstance(inputs, IndexedRecords) else None
        self.inputs: dict[str, InputRecord] = {}
        if not isinstance(inputs, IndexedRecords):
            self.inputs = {str(recording.record["id"]): recording for recording in inputs}
        self.digests: dict[str, str] = {}
        self.claims: dict[tuple[LineClaim, str, str], NotedClaim] = {}

    def make(self, blame: LineBlame | None) -> NotedClaim | None:
        """Return the claim for a line, or `None` if no record proves it."""
        if blame is None or self._find_input(blame.claim.record) is None:
            return None
        key = blame.claim, blame.type, blame.join
        if key not in self.claims:
            self.claims[key] = self._build(blame)
        return self.claims[key]

    def _find_input(self, record_id: str) -> InputRecord | None:
        """Return the input with a record, read again if an index knew it; `None` without one."""
        if record_id not in self.inputs and self.indexed is not None:
            handle = self.indexed.gathered.get(record_id)
            if handle is not None:
                self.inputs[record_id] = handle.read_input()
        return self.inputs.get(record_id)

    def _build(self, blame: LineBlame) -> NotedClaim:
        """Build the claim for a line; all lines with the same proof share it.

        `self.inputs` must have the record of the claim: `make` checks that.
        """
        claim = blame.claim
        record = self.inputs[claim.record].record
        meta = record["session"].get("agent-meta", {})
        name = str(meta.get("cli-name", UNKNOWN))
        proof = {"entry": claim.entry, "evidence": claim.evidence, "join": blame.join}
        if claim.call_id:
            proof["call-id"] = claim.call_id
        if claim.model and blame.type != "human":
            proof["model-id"] = claim.model
        if claim.doubt:
            proof["doubt"] = claim.doubt
        return make_noted_claim(
            blame.type,
            tool=find_agent(name).short_name or name,
            session=claim.session,
            model=str(meta.get("model-id", claim.model or UNKNOWN)),
            record=claim.record,
            digest=self._hash_record(claim.record),
            proof=proof,
        )

    def _hash_record(self, record_id: str) -> str:
        """Return the SHA-256 of a record in hexadecimal: as stored, or else as canonical JSON."""
        if record_id not in self.digests:
            recording = self.inputs[record_id]
            if recording.stored:
                data = recording.stored_bytes()
            else:
                data = encode(recording.record, "json")
            self.digests[record_id] = hashlib.sha256(data).hexdigest()
        return self.digests[record_id]


def _settle_note(
    commit: str,
    lines: ClaimedLines,
    existing: bytes | None,
    added: Mapping[str, set[int]],
    *,
    force: bool,
) -> tuple[NoteResult, bytes | None]:
    """Return the result for a commit, and the bytes of its note; `None` if it stays as it is.

    `lines` are the new claims, and `added` the numbers of the lines that the commit added. Claims
    of an older note of vacr are kept where `lines` has none. A note of another tool is refused,
    unless `force` is set.
    """
    if not lines:
        return NoteResult(commit, NOTE_EMPTY), None
    if existing is not None and (reason := find_foreign_note(existing)):
        if not force:
            return NoteResult(commit, NOTE_REFUSED, reason=reason), None
    elif existing is not None:
        for path, claims in read_noted_lines(parse_note(existing), added).lines.items():
            lines[path] = claims | lines.get(path, {})
    built = build_commit_note(commit, lines)
    data = format_note(built.note).encode()
    result = NoteResult(
        commit, NOTE_WRITTEN, count_claimed_lines(lines), unnamed=tuple(built.unnamed)
    )
    if data == existing:
        return replace(result, state=NOTE_UNCHANGED), None
    return result, data


def find_foreign_note(data: bytes) -> str:
    """Return why a note must not be replaced: another tool wrote it; empty for a note of vacr."""
    try:
        note = parse_note(data)
    except VacrError as error:
        return f"it has a note in another form: {error.message}"
    if is_note_of_vacr(note):
        return ""
    version = note.metadata.get("git_ai_version")
    return f"it has a note of git-ai {version}" if version else "it has a note of another tool"


def count_claimed_lines(lines: ClaimedLines) -> Counter[str]:
    """Return the number of lines with a claim, by type of contributor."""
    return Counter(claim.type for claims in lines.values() for claim in claims.values())


# Reading


@dataclass(frozen=True, slots=True)
class ReadNote:
    """The note of a commit, read and compared with the lines that the commit added."""

    commit: str
    note: GitAiNote
    noted: NotedLines
    added: int
    """How many lines the commit added."""


def read_commit_notes(
    notes: NotesRef, commits: Sequence[str], failed: Callable[[str, VacrError], None]
) -> Iterator[ReadNote]:
    """Yield the notes of commits; commits without a note are left out.

    `failed` gets the commit and the error of each note that is not in the form of git-ai.
    """
    existing = notes.read(commits)
    additions = list_commit_additions(notes.repository, list(existing)) if existing else {}
    for commit, data in existing.items():
        try:
            note = parse_note(data)
        except VacrError as error:
            failed(commit, error)
            continue
        added = collect_added_numbers(additions[commit])
        count = sum(map(len, added.values()))
        yield ReadNote(commit, note, read_noted_lines(note, added), count)


def collect_added_numbers(files: Iterable[FileAdditions]) -> dict[str, frozenset[int]]:
    """Return the numbers of added lines by path; links and submodules have none."""
    return {file.path: file.lines for file in files if file.is_file}


def add_noted_blame(
    notes: NotesRef, lines: Sequence[BlamedLine], failed: Callable[[str, VacrError], None]
) -> tuple[list[BlamedLine], Counter[str]]:
    """Return lines with the claims of notes about lines that no record proves.

    Their evidence is `noted`. Also return how much of the notes was ignored, by reason. `failed`
    gets the commit and the error of each unreadable note.
    """
    ignored: Counter[str] = Counter()
    commits = dict.fromkeys(line.commit for line in lines if line.commit.strip("0"))
    noted: dict[str, ClaimedLines] = {}
    for read in read_commit_notes(notes, list(commits), failed):
        noted[read.commit] = read.noted.lines
        ignored += read.noted.ignored
    blamed = []
    for line in lines:
        claim = noted.get(line.commit, {}).get(line.path, {}).get(line.number)
        if line.blame is None and claim is not None:
            blamed.append(line._replace(blame=_make_noted_blame(claim)))
        else:
            blamed.append(line)
    return blamed, ignored


def _make_noted_blame(claim: NotedClaim) -> LineBlame:
    """Return the blame of a line that only a note claims."""
    line_claim = LineClaim(
        type=claim.type,
        model="" if claim.type == "human" else claim.model,
        session=claim.session,
        record=claim.record,
        entry=str(claim.proof.get("entry", "")),
        call_id=str(claim.proof.get("call-id", "")),
        prompt="",
        evidence=EVIDENCE_NOTED,
    )
    return LineBlame(claim.type, line_claim, JOIN_BY_NOTE)


# Merging


@dataclass(frozen=True, slots=True)
class MergedNotes:
    """The result of a merge of notes."""

    received: int
    """How many notes are new here, or changed."""
    merged: int
    """How many commits had different notes on both sides."""


def merge_fetched_notes(notes: NotesRef, fetched: FetchedNotes) -> MergedNotes:
    """Merge the notes of a remote into those of this repository; no note is lost.

    If only one side changed a note, its version counts. If both did, the new note has the lines and
    members of both. A note that one side deleted stays.

    Raises:
        UnreadableInput: two different notes of a commit cannot be merged; nothing was changed.
        UnwritableOutput: the notes cannot be written.
    """
    tip = notes.find_tip()
    theirs = notes.list_notes(fetched.commit)
    ours = notes.list_notes(tip) if tip is not None else {}
    base = notes.find_merge_base(tip, fetched.commit) if tip is not None else None
    received = [commit for commit, blob in theirs.items() if ours.get(commit) != blob]
    if tip is None or base == tip:
        if tip != fetched.commit:
            notes.move(fetched.commit)
        return MergedNotes(len(received), 0)
    if base == fetched.commit:
        return MergedNotes(0, 0)
    before = notes.list_notes(base) if base is not None else {}
    written: dict[str, bytes] = {}
    merged = 0
    for commit in received:
        their_data = notes.repository.read_blob(theirs[commit])
        if commit not in ours or before.get(commit) == ours[commit]:
            written[commit] = their_data
        elif before.get(commit) != theirs[commit]:
            our_data = notes.repository.read_blob(ours[commit])
            written[commit] = _merge_note_texts(commit, their_data, our_data, fetched)
            merged += 1
    notes.write(written, f"notes: Merged {fetched.remote}", merged=fetched.commit)
    return MergedNotes(len(written), merged)


def _merge_note_texts(commit: str, theirs: bytes, ours: bytes, fetched: FetchedNotes) -> bytes:
    """Return a note with the lines and members of two.

    `theirs` is the note of the remote, and `ours` the one here.

    Raises:
        UnreadableInput: one of them is not in the form of git-ai.
    """
    try:
        merged = merge_notes(parse_note(theirs), parse_note(ours))
    except VacrError as error:
        raise UnreadableInput(
            f"the notes of {commit[:12]} differ here and at {fetched.remote}, and one of them "
            f"cannot be read: {error.message}",
            hint=f"Nothing was changed. Merge by hand: git notes --ref=ai merge {fetched.ref}",
        ) from error
    return format_note(merged).encode()


def build_note_document(read: ReadNote) -> dict[str, Any]:
    """Return a note for JSON output: counts and ranges for each file, and the ignored lines."""
    files = []
    for path, claims in read.noted.lines.items():
        ranges: list[dict[str, Any]] = []
        for number, claim in claims.items():
            described = _describe_claim(claim)
            start = ranges[-1]["start-line"] if ranges else 0
            if ranges and ranges[-1] == {
                "start-line": start,
                "end-line": number - 1,
                **described,
            }:
                ranges[-1]["end-line"] = number
            else:
                ranges.append({"start-line": number, "end-line": number, **described})
        counts = Counter(claim.type for claim in claims.values())
        files.append({"path": path, **counts, "ranges": ranges})
    return {
        "commit": read.commit,
        "by": "vacr" if is_note_of_vacr(read.note) else "another tool",
        "signed": False,
        "lines": dict(count_claimed_lines(read.noted.lines)),
        "added": read.added,
        "files": files,
        "ignored": dict(read.noted.ignored),
    }


def _describe_claim(claim: NotedClaim) -> dict[str, Any]:
    """Return a claim for JSON output; members that the note does not have are left out."""
    members = {
        "type": claim.type,
        "tool": claim.tool,
        "model-id": claim.model,
        "session-id": claim.session,
        "record": claim.record,
        "sha-256": claim.digest,
        "evidence": claim.evidence,
        "key": claim.key,
    }
    return {name: value for name, value in members.items() if value}
