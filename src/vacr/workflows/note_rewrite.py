"""Notes of rewritten commits: carried from the old commits to the new ones, by content.

A rebase, squash, amend or cherry-pick makes new commits, and notes stay with the old ones. Git
states which commits replace which to its hook `post-rewrite`:

    >>> from vacr.workflows import parse_rewritten_commits
    >>> first, second, squashed = "1" * 40, "2" * 40, "3" * 40
    >>> olds = parse_rewritten_commits(f"{first} {squashed}\\n{second} {squashed}\\n".encode())
    >>> olds == {squashed: [first, second]}
    True

Without that, as after a squash on a server, the noted commits that a new one replaces are found by
their lines. In both cases a line gets a claim only if an old note has that claim about the same
line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from vacr.blame import (
    CarriedFile,
    FileAdditions,
    NotesRef,
    Repository,
    carry_claims,
    find_missing_objects,
    list_commit_additions,
)
from vacr.edits import decode_file_text, split_keeping_ends, strip_line_end
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.exchange import (
    ClaimedLines,
    NotedClaim,
    build_commit_note,
    format_note,
    parse_note,
    read_noted_lines,
)
from vacr.workflows.commit_notes import (
    NOTE_EMPTY,
    NOTE_REFUSED,
    NOTE_UNCHANGED,
    NOTE_WRITTEN,
    NoteResult,
    collect_added_numbers,
    count_claimed_lines,
    find_foreign_note,
)
from vacr.workflows.output_files import format_count

_PAIR_LINE = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?: .*)?")
# A line that more noted commits have than this does not show which commit was rewritten.
_MAX_LINE_COMMITS = 16
_MIN_LINE_LETTERS = 8

_NotedFile = CarriedFile[NotedClaim]


def parse_rewritten_commits(data: bytes) -> dict[str, list[str]]:
    """Return the old commits of each new one, from lines `OLD NEW` of a post-rewrite hook.

    Blank lines are skipped; without other lines, the dict is empty.

    Raises:
        UsageError: a line is not two full commit ids.
    """
    olds: dict[str, list[str]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        pair = _PAIR_LINE.fullmatch(line)
        if pair is not None:
            olds.setdefault(pair[2].decode(), []).append(pair[1].decode())
        elif line.strip():
            raise UsageError(
                f"line {number} of standard input is not two full commit ids",
                hint="Each line must be OLD NEW, as git gives them to the hook post-rewrite.",
            )
    return olds


def rewrite_stated_notes(
    notes: NotesRef, olds: Mapping[str, Sequence[str]], *, force: bool = False
) -> list[NoteResult]:
    """Carry notes to new commits that replace old ones, and write them all at once.

    `olds` has the old commits of each new one, the oldest first. An old commit that does not
    exist is ignored. Return a result for each new commit. A note of another tool is refused, unless
    `force` is set.

    Raises:
        UnreadableInput: a new commit does not exist.
        UnwritableOutput: the notes cannot be written.
    """
    named = {commit for commits in olds.values() for commit in commits}
    missing = find_missing_objects(notes.repository, named | set(olds))
    if lost := missing & set(olds):
        raise UnreadableInput(
            f"no such commit: {min(lost)}",
            where=str(notes.repository.path),
            hint="Run the command in the repository whose commits standard input names.",
        )
    # A commit that git did not change is named as its own replacement by some commands.
    wanted = {
        new: [old for old in own if old not in missing and old != new] for new, own in olds.items()
    }
    reader = _NoteReader(notes)
    reader.load(commit for new, own in wanted.items() for commit in (new, *own))
    results, written = [], {}
    for new, own in wanted.items():
        files = [reader.read_files(old) for old in own]
        result, data = reader.carry(new, own, files, stated=True, force=force)
        results.append(result)
        if data is not None:
            written[new] = data
    _write_rewritten(notes, written)
    return results


def rewrite_similar_notes(notes: NotesRef, commits: Sequence[str]) -> list[NoteResult]:
    """Carry notes to commits that have no note but lines of noted commits, and write them at once.

    A noted commit is not replaced by its own descendants. Return a result for each commit that gets
    a note; an empty list if none does.

    Raises:
        UnreadableInput: git fails.
        UnwritableOutput: the notes cannot be written.
    """
    repository = notes.repository
    noted = notes.list_notes()
    targets = [commit for commit in commits if commit not in noted]
    sources = sorted(set(noted) - find_missing_objects(repository, set(noted)))
    sources = _sort_commits(repository, sources)
    if not targets or not sources:
        return []
    reader = _NoteReader(notes)
    reader.load([*targets, *sources])
    index = _index_noted_lines(reader, sources)
    results, written = [], {}
    for target in targets:
        likely = _find_likely_sources(reader, target, index)
        own = [
            source
            for source in sources
            if source in likely and not _is_ancestor(repository, source, target)
        ]
        if not own:
            continue
        files = [reader.read_files(source) for source in own]
        result, data = reader.carry(target, own, files, stated=False, force=False)
        if data is not None:
            results.append(result)
            written[target] = data
    _write_rewritten(notes, written)
    return results


def list_unnoted_commits(notes: NotesRef) -> list[str]:
    """Return the commits of HEAD that may replace noted commits, the oldest first.

    They have no note, and are not in the history of a noted commit that HEAD lacks. Return an empty
    list if HEAD has all noted commits.

    Raises:
        UnreadableInput: there is no commit yet.
    """
    repository = notes.repository
    head = repository.resolve_commit("HEAD")
    noted = set(notes.list_notes())
    history = set(repository.run_git("rev-list", head).decode().split())
    others = noted - history
    others -= find_missing_objects(repository, others)
    if not others:
        return []
    stdin = "".join(f"{name}\n" for name in (head, *(f"^{other}" for other in sorted(others))))
    output = repository.run_git(
        "rev-list", "--topo-order", "--reverse", "--stdin", stdin=stdin.encode()
    )
    return [commit for commit in output.decode().split() if commit not in noted]


def _write_rewritten(notes: NotesRef, written: Mapping[str, bytes]) -> None:
    """Write carried notes in one transaction."""
    count = format_count(len(written), "commit")
    notes.write(written, f"Notes added by 'vacr notes rewrite': {count}")


class _NoteReader:
    """Reads commits, their notes and the files with added lines, each once.

    It carries the claims of old commits to new ones as well.
    """

    def __init__(self, notes: NotesRef) -> None:
        """Start without notes; `load` reads them."""
        self.notes = notes
        self.repository = notes.repository
        self.additions: dict[str, list[FileAdditions]] = {}
        self.data: dict[str, bytes] = {}
        self.blobs: dict[str, list[str] | None] = {}
        self.files: dict[str, list[_NotedFile]] = {}

    def load(self, commits: Iterable[str]) -> None:
        """Read the notes and the added lines of commits."""
        names = list(dict.fromkeys(commits))
        self.data = self.notes.read(names)
        if names:
            self.additions = list_commit_additions(self.repository, names)

    def read_lines(self, blob: str) -> list[str] | None:
        """Return the lines of a blob without ends, or `None` if it is binary or missing."""
        if blob not in self.blobs:
            try:
                data = self.repository.read_blob(blob)
            except UnreadableInput:
                data = b"\0"
            self.blobs[blob] = (
                None
                if b"\0" in data
                else [strip_line_end(line) for line in split_keeping_ends(decode_file_text(data))]
            )
        return self.blobs[blob]

    def read_claims(self, commit: str) -> ClaimedLines:
        """Return the claims in the note of a commit; empty if it has no readable note."""
        if commit not in self.data:
            return {}
        try:
            note = parse_note(self.data[commit])
        except VacrError:
            return {}
        added = collect_added_numbers(self.additions[commit])
        return dict(read_noted_lines(note, added).lines)

    def read_files(self, commit: str) -> list[_NotedFile]:
        """Return the files that a commit added lines to, with the claims of its note."""
        if commit not in self.files:
            claims = self.read_claims(commit)
            self.files[commit] = [
                CarriedFile(file.path, lines, file.lines, claims.get(file.path, {}))
                for file in self.additions[commit]
                if file.is_file and (lines := self.read_lines(file.blob)) is not None
            ]
        return self.files[commit]

    def carry(
        self,
        new: str,
        olds: Sequence[str],
        files: Sequence[Sequence[_NotedFile]],
        *,
        stated: bool,
        force: bool,
    ) -> tuple[NoteResult, bytes | None]:
        """Return the result for a new commit, and the bytes of its note; `None` if it gets none.

        `olds` are the old commits, and `files` the files of each. `stated` means that git itself
        named them. A note of another tool is refused, unless `force` is set.
        """
        lines = self._carry_lines(new, files, stated=stated)
        sources = tuple(olds)
        existing = self.data.get(new)
        if existing is not None and (reason := find_foreign_note(existing)) and not force:
            # Git copies notes as they are if it is configured to; such a copy may be replaced.
            if not any(existing == self.data.get(old) for old in olds):
                return NoteResult(new, NOTE_REFUSED, reason=reason), None
        elif existing is not None and not any(existing == self.data.get(old) for old in olds):
            own = self.read_claims(new)
            lines = {path: lines.get(path, {}) | own.get(path, {}) for path in {**lines, **own}}
        if not lines:
            return NoteResult(new, NOTE_EMPTY, carried_from=sources), None
        note = build_commit_note(new, lines, sources).note
        data = format_note(note).encode()
        counts = count_claimed_lines(lines)
        if data == existing:
            return NoteResult(new, NOTE_UNCHANGED, counts, carried_from=sources), None
        return NoteResult(new, NOTE_WRITTEN, counts, carried_from=sources), data

    def _carry_lines(
        self, new: str, files: Sequence[Sequence[_NotedFile]], *, stated: bool
    ) -> ClaimedLines:
        """Return the claims about the lines of a new commit, from the files of old ones.

        `stated` means that git itself named the old commits. Empty if no claim can be carried.
        """
        carried: ClaimedLines = {}
        present: Collection[str] | None = None
        for file in self.additions[new]:
            lines = self.read_lines(file.blob) if file.is_file and file.lines else None
            if lines is None:
                continue
            olds = []
            for own in files:
                for old in own:
                    if old.path == file.path:
                        olds.append(old)
                        continue
                    if present is None:
                        present = self.repository.list_files(new)
                    # The file has another name in the new commit.
                    if old.claims and old.path not in present:
                        olds.append(old)
            claims = carry_claims(olds, file.path, lines, file.lines, stated=stated)
            if claims:
                carried[file.path] = claims
        return carried


def _sort_commits(repository: Repository, commits: Sequence[str]) -> list[str]:
    """Return commits, parents before children, and otherwise by time."""
    if not commits:
        return []
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    output = repository.run_git(
        "rev-list", "--topo-order", "--reverse", "--no-walk=sorted", "--stdin", stdin=stdin
    )
    return output.decode().split()


_LineIndex = dict[str, set[str]]
"""The noted commits with a claim about a line, by its text."""


def _index_noted_lines(reader: _NoteReader, sources: Sequence[str]) -> _LineIndex:
    """Return a map from the text of each noted line to the commits whose notes claim it.

    Lines with few letters are left out, because they occur everywhere.
    """
    index: _LineIndex = defaultdict(set)
    for source in sources:
        for file in reader.read_files(source):
            for number in file.claims:
                text = file.lines[number - 1].strip()
                if sum(map(str.isalnum, text)) >= _MIN_LINE_LETTERS:
                    index[text].add(source)
    return index


def _find_likely_sources(reader: _NoteReader, target: str, index: _LineIndex) -> set[str]:
    """Return the noted commits that share a line with the lines that a commit added.

    Lines that many noted commits have do not count.
    """
    likely: set[str] = set()
    for file in reader.additions[target]:
        lines = reader.read_lines(file.blob) if file.is_file and file.lines else None
        if lines is None:
            continue
        for number in file.lines:
            sources = index.get(lines[number - 1].strip(), set())
            if len(sources) <= _MAX_LINE_COMMITS:
                likely |= sources
    return likely


def _is_ancestor(repository: Repository, commit: str, descendant: str) -> bool:
    """Return whether a commit is in the history of another, or is the same commit."""
    output = repository.run_git("rev-list", "--max-count=1", commit, f"^{descendant}")
    return not output.strip()
