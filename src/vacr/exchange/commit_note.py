"""The attribution of a commit as a note of git-ai 3.0.0: built, read, checked and merged.

Readers of git-ai take the lines that an agent wrote from the first part of the note, and the
session behind each key from its JSON. They ignore the member `vacr`, which has the rest: for each
key the proof (entry, call, evidence) and the record with its digest, and the lines that git-ai has
no word for (`mixed`, and `human` without a name). A note never has the text of a prompt.

Notes are untrusted input: anyone who can push can write one, and other tools write lines that a
commit does not have. So `read_noted_lines` takes only lines that the commit added, and counts the
others.

    >>> from vacr.exchange import build_commit_note, make_noted_claim, read_noted_lines
    >>> claim = make_noted_claim(
    ...     "ai", tool="agent", session="session-1", model="gpt-5", record="r1", digest="0" * 64,
    ...     proof={"entry": "e-9", "evidence": "replayed", "join": "blob"})
    >>> note = build_commit_note("c0ffee", {"a.py": {1: claim, 2: claim, 9: claim}}).note
    >>> note.files
    [('a.py', [AttestedLines(key='s_ad0f820b5fd35b::t_54f3040b0f6a6b', ranges=[(1, 2), (9, 9)])])]
    >>> noted = read_noted_lines(note, {"a.py": {1, 2, 3}})
    >>> sorted(noted.lines["a.py"]), noted.lines["a.py"][1].evidence, noted.ignored
    ([1, 2], 'replayed', Counter({'lines that the commit did not add': 1}))
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vacr.exchange.git_ai import (
    GIT_AI_SCHEMA_VERSION,
    AttestedLines,
    GitAiNote,
    LineRange,
    can_name_file,
    format_ranges,
    hash_key,
    join_ranges,
)
from vacr.model import JsonObject
from vacr.record import encode_sorted_json
from vacr.version import __version__

NOTE_VERSION = 1
"""The version of the member `vacr` in a note."""

_SESSIONS, _PROMPTS, _HUMANS = "sessions", "prompts", "humans"
_RANGE_LIST = re.compile(r"[0-9]{1,16}(?:-[0-9]{1,16})?(?:,[0-9]{1,16}(?:-[0-9]{1,16})?)*")
_TYPES = ("ai", "human", "mixed")

_NOT_ADDED = "lines that the commit did not add"
_NO_FILE = "files that the commit did not change"
_NO_AUTHOR = "lines of an author that the note does not explain"


@dataclass(frozen=True, slots=True, eq=False)
class NotedClaim:
    """A note's claim about the writer of lines, with all members that explain its key."""

    type: str
    """`ai`, `human` or `mixed`."""
    key: str
    section: str
    """The member of the note's JSON that explains the key: `sessions`, `prompts` or `humans`."""
    author: JsonObject
    """The members of the key there."""
    proof: JsonObject = field(default_factory=dict)
    """The proof of vacr; empty in notes of other tools."""
    records: JsonObject = field(default_factory=dict)
    """The record that proves it, by its id: an object with `sha-256`."""

    @property
    def evidence(self) -> str:
        """The evidence that vacr found when it wrote the note; empty in notes of other tools."""
        return _get_text(self.proof, "evidence")

    @property
    def record(self) -> str:
        """The id of the record that proves the lines; empty in notes of other tools."""
        return _get_text(self.proof, "record")

    @property
    def digest(self) -> str:
        """The SHA-256 of that record; empty if the note does not name it."""
        return _get_text(_get_object(self.records, self.record), "sha-256")

    @property
    def model(self) -> str:
        """The model that wrote the lines; empty if unknown, or if a person wrote them."""
        agent = _get_object(self.author, "agent_id")
        return _get_text(self.proof, "model-id") or _get_text(agent, "model")

    @property
    def tool(self) -> str:
        """The name that git-ai has for the agent; empty for a person."""
        return _get_text(_get_object(self.author, "agent_id"), "tool")

    @property
    def session(self) -> str:
        """The id of the session; empty for a person."""
        return _get_text(_get_object(self.author, "agent_id"), "id")


ClaimedLines = dict[str, dict[int, NotedClaim]]
"""The claims about lines, by path and line number."""


class NotedLines(NamedTuple):
    """The lines that a note rightly speaks of, and how much of it was ignored."""

    lines: ClaimedLines
    ignored: Counter[str]
    """How many lines or files were ignored, by reason."""


class CommitNote(NamedTuple):
    """A note, and the files that it cannot name."""

    note: GitAiNote
    unnamed: list[str]
    """Paths that are not Unicode text, so that no note can have them."""


def make_noted_claim(
    kind: str,
    *,
    tool: str,
    session: str,
    model: str,
    record: str,
    digest: str,
    proof: Mapping[str, str],
) -> NotedClaim:
    """Return a claim of vacr, with the keys that git-ai derives from tool and session.

    `kind` is `ai`, `human` or `mixed`. `proof` has `entry`, `evidence` and `join`, and may have
    `call-id` and `model-id`. `record` is the id of the record, and `digest` its SHA-256 in hex.
    """
    author = f"s_{hash_key(f'{tool}:{session}')}"
    members = {"type": kind, "record": record, **proof}
    trace = hash_key(encode_sorted_json(members).decode())
    return NotedClaim(
        type=kind,
        key=f"{author}::t_{trace}",
        section=_SESSIONS,
        # Git-ai keeps custom attributes when it rewrites a note, unlike members of others.
        author={
            "agent_id": {"tool": tool, "id": session, "model": model},
            "human_author": None,
            "custom_attributes": {"vacr.record": record, "vacr.sha-256": digest},
        },
        proof=members,
        records={record: {"sha-256": digest}},
    )


def build_commit_note(
    commit: str, lines: Mapping[str, Mapping[int, NotedClaim]], carried_from: Collection[str] = ()
) -> CommitNote:
    """Return the note of a commit, from the claims about its lines by path and line number.

    A path that is not Unicode text is left out, and listed in `unnamed`. Without lines, the note
    has no claims. `carried_from` are the commits whose notes the claims were taken from, if any.
    """
    attested: list[tuple[str, list[AttestedLines]]] = []
    other_lines: dict[str, dict[str, str]] = {}
    sections: dict[str, JsonObject] = {_PROMPTS: {}, _SESSIONS: {}, _HUMANS: {}}
    proofs: JsonObject = {}
    records: JsonObject = {}
    unnamed = []
    for path, claims in sorted(lines.items()):
        if not _is_unicode(path):
            unnamed.append(path)
            continue
        numbers: dict[str, list[LineRange]] = {}
        by_key = {claim.key: claim for claim in claims.values()}
        for number, claim in sorted(claims.items()):
            numbers.setdefault(claim.key, []).append((number, number))
        in_text = []
        for key, claim in by_key.items():
            ranges = join_ranges(numbers[key])
            if _is_known_to_git_ai(claim) and can_name_file(path):
                in_text.append(AttestedLines(key, ranges))
            else:
                other_lines.setdefault(path, {})[key] = format_ranges(ranges)
            sections[claim.section][_get_author_key(key)] = claim.author
            if claim.proof:
                proofs[key] = claim.proof
            records |= claim.records
        if in_text:
            attested.append((path, in_text))
    vacr: JsonObject = {"version": NOTE_VERSION, "exporter": f"vacr {__version__}"}
    if proofs:
        vacr |= {"proofs": proofs, "records": records}
    if other_lines:
        vacr["lines"] = other_lines
    if carried_from:
        vacr["from"] = sorted(carried_from)
    metadata = {
        "schema_version": GIT_AI_SCHEMA_VERSION,
        "base_commit_sha": commit,
        **sections,
        "vacr": vacr,
    }
    return CommitNote(GitAiNote(attested, metadata), unnamed)


def _is_known_to_git_ai(claim: NotedClaim) -> bool:
    """Return whether git-ai has a word for the claim: an agent, or a person with a name."""
    return claim.type == "ai" or claim.section == _HUMANS


def _is_unicode(path: str) -> bool:
    """Return whether a path can be written as UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_note_of_vacr(note: GitAiNote) -> bool:
    """Return whether vacr wrote a note, and no other tool changed it since."""
    version = _get_object(note.metadata, "vacr").get("version")
    return isinstance(version, int) and "git_ai_version" not in note.metadata


# Reading


def read_noted_lines(note: GitAiNote, added: Mapping[str, Collection[int]]) -> NotedLines:
    """Return the claims of a note about the lines that its commit added.

    `added` are the added lines by path. If a note speaks of a line twice, the last entry counts.
    All other lines are ignored and counted.
    """
    ignored: Counter[str] = Counter()
    lines: ClaimedLines = {}
    claims: dict[str, NotedClaim | None] = {}
    added_numbers = {path: sorted(numbers) for path, numbers in added.items()}
    remaining = {path: numbers[:] for path, numbers in added_numbers.items()}
    # Of two entries for a line the last one counts, so the first to take it, from the end.
    for path, key, ranges in reversed(_list_entries(note)):
        if path not in added:
            ignored[_NO_FILE] += 1
            continue
        if key not in claims:
            claims[key] = _explain_key(key, note.metadata)
        claim = claims[key]
        numbers, left = added_numbers[path], remaining[path]
        for first, last in ranges:
            inside = bisect_right(numbers, last) - bisect_left(numbers, first)
            ignored[_NOT_ADDED] += last - first + 1 - inside
            low, high = bisect_left(left, first), bisect_right(left, last)
            if claim is None:
                ignored[_NO_AUTHOR] += high - low
                continue
            lines.setdefault(path, {}).update(dict.fromkeys(left[low:high], claim))
            del left[low:high]
    kept = {path: dict(sorted(claimed.items())) for path, claimed in lines.items() if claimed}
    return NotedLines(kept, +ignored)


def _list_entries(note: GitAiNote) -> list[tuple[str, str, list[LineRange]]]:
    """Return path, key and ranges of each entry: of the text, then of the member `vacr`."""
    entries = [
        (path, attested.key, attested.ranges) for path, lines in note.files for attested in lines
    ]
    for path, keys in _get_object(_get_object(note.metadata, "vacr"), "lines").items():
        for key, text in (keys if isinstance(keys, dict) else {}).items():
            if isinstance(text, str) and _RANGE_LIST.fullmatch(text):
                entries.append((path, key, _parse_ranges(text)))
    return entries


def _parse_ranges(text: str) -> list[LineRange]:
    """Parse ranges such as `1-4,9`; drop a range that starts at 0, or ends before it begins."""
    ranges = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if 0 < int(first) <= int(last or first):
            ranges.append((int(first), int(last or first)))
    return ranges


def _explain_key(key: str, metadata: JsonObject) -> NotedClaim | None:
    """Return the claim that a key stands for, or `None` if the note does not explain it.

    Return `None` for a claim of an unknown type, too.
    """
    name = _get_author_key(key)
    vacr = _get_object(metadata, "vacr")
    proof = _get_object(_get_object(vacr, "proofs"), key)
    if name.startswith("h_"):
        author = _get_object(_get_object(metadata, _HUMANS), name)
        return NotedClaim("human", key, _HUMANS, author) if author else None
    for section in (_SESSIONS, _PROMPTS):
        author = _get_object(_get_object(metadata, section), name)
        if isinstance(author.get("agent_id"), dict):
            kind = proof.get("type", "ai")
            if kind not in _TYPES:
                return None
            record = _get_text(proof, "record")
            known = _get_object(_get_object(vacr, "records"), record)
            records = {record: known} if record and known else {}
            return NotedClaim(kind, key, section, author, proof, records)
    return None


def _get_author_key(key: str) -> str:
    """Return the part of a key that names the author: `s_1a2b` of `s_1a2b::t_3c4d`."""
    return key.partition("::")[0]


def _get_object(value: JsonObject, name: str) -> JsonObject:
    """Return a member that is an object, or else an empty one."""
    member = value.get(name)
    return member if isinstance(member, dict) else {}


def _get_text(value: JsonObject, name: str) -> str:
    """Return a member that is a text, or else an empty one."""
    member = value.get(name)
    return member if isinstance(member, str) else ""


# Merging


def merge_notes(theirs: GitAiNote, ours: GitAiNote) -> GitAiNote:
    """Return a note with the lines and members of both; where both have a member, ours counts.

    No entry is dropped. For a line with two entries, the last one counts, which is ours.
    """
    files: dict[str, dict[str, list[LineRange]]] = {}
    for path, attested in (*theirs.files, *ours.files):
        entries = files.setdefault(path, {})
        for key, ranges in attested:
            joined = join_ranges(entries.pop(key, []) + ranges)
            entries[key] = joined
    attested_files = [
        (path, [AttestedLines(key, ranges) for key, ranges in entries.items()])
        for path, entries in files.items()
    ]
    return GitAiNote(attested_files, _merge_objects(theirs.metadata, ours.metadata))


def _merge_objects(theirs: JsonObject, ours: JsonObject) -> JsonObject:
    """Return an object with the members of both, merged where both have an object.

    Where both have another value, ours counts.
    """
    merged = {**theirs, **ours}
    for name in theirs.keys() & ours.keys():
        first, second = theirs[name], ours[name]
        if isinstance(first, dict) and isinstance(second, dict):
            merged[name] = _merge_objects(first, second)
    return merged
