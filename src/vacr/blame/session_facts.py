"""Facts about a session that tie it to a repository: folders, remotes, commits and files.

A session may have been recorded several times while it grew; then the longest recording counts.

>>> import vacr
>>> from vacr.attribution import locate_session_steps
>>> from vacr.blame.session_facts import find_session_facts
>>> [record] = vacr.read("session.jsonl")
>>> facts = find_session_facts(record, locate_session_steps(record), [], {})
>>> facts.started < facts.ended
True
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from vacr.agents import (
    CALL_FAILED,
    SessionStep,
    ToolCall,
    dict_or_empty,
    extract_command,
    find_record_agent,
)
from vacr.blame.claims import SessionFacts
from vacr.blame.stored_attribution import get_session_id
from vacr.edits import make_absolute_path, make_relative_path

T = TypeVar("T")

_REMOTE_ADDRESS = re.compile(r"(?:https?://|ssh://|git://|git@)[^\s'\"<>()]+")
_MAX_NAMED_FILES = 2_000
_MAX_KNOWN_BLOBS = 64


def find_session_facts(
    record: dict[str, Any],
    steps: Sequence[SessionStep],
    named: Sequence[str],
    blobs: Mapping[str, int],
) -> SessionFacts:
    """Return the facts that tie a session to a repository.

    `named` are the files that its calls named, `blobs` the lengths of the files that it knew
    completely, by the name that git gives them.
    """
    from vacr.attribution import list_shown_revisions

    environment = dict_or_empty(record["session"].get("environment"))
    own = environment.get("vcs")
    remotes = [_get_text(own, "repository"), _get_text(record.get("vcs"), "repository")]
    times = [step.time for step in steps if step.time]
    folder = find_record_agent(record).project_folder(record)
    return SessionFacts(
        session=get_session_id(record),
        record=str(record.get("id", "")),
        folder=folder,
        started=min(times) // 1000 if times else None,
        ended=max(times) // 1000 if times else None,
        named=tuple(named[:_MAX_NAMED_FILES]),
        worktrees=tuple(_list_added_worktrees(steps, folder)),
        revision=_get_text(own, "revision"),
        commits=tuple(list_shown_revisions(steps)),
        remotes=tuple(dict.fromkeys(filter(None, (*remotes, *_list_remotes(steps))))),
        blobs=tuple(blobs.items())[:_MAX_KNOWN_BLOBS],
    )


def _get_text(container: Any, name: str) -> str:
    """Return a text member of a dictionary, or an empty text."""
    value = dict_or_empty(container).get(name)
    return value if isinstance(value, str) else ""


def _list_added_worktrees(steps: Iterable[SessionStep], project: str) -> Iterator[str]:
    """Yield the folder of each `git worktree add` that a call ran, as an absolute path.

    Leave out calls that failed, and work trees of a repository outside of the project folder.
    """
    for step in steps:
        if not isinstance(step, ToolCall) or step.state == CALL_FAILED:
            continue
        text, _ = extract_command(step.input)
        folder = step.folder
        for command in re.split(r"&&|\|\||[;\n|]", text or ""):
            words = [word.strip("'\"") for word in command.split()]
            if words[:1] == ["cd"] and words[1:]:
                folder = make_absolute_path(words[1], folder)
            if "worktree" not in words or "add" not in words:
                continue
            here = folder
            if words[:2] == ["git", "-C"]:
                here = make_absolute_path(words[2], folder)
            target = _find_first_operand(words[words.index("add") + 1 :])
            if target and (not project or make_relative_path(f"{here}/.", project) is not None):
                yield make_absolute_path(target, here)


def _find_first_operand(words: Iterable[str]) -> str:
    """Return the first word that is neither an option nor the name of a new branch."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word
        is_value = word in ("-b", "-B") and not is_value
    return ""


def _list_remotes(steps: Iterable[SessionStep]) -> Iterator[str]:
    """Yield the addresses of remotes that `git remote` printed."""
    for step in steps:
        if isinstance(step, ToolCall) and step.output:
            text, _ = extract_command(step.input)
            if text is not None and "git remote" in text:
                yield from _REMOTE_ADDRESS.findall(step.output)


# --- several recordings of one session ---


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """The facts that decide which of several recordings of a session counts."""

    session: str
    entry_count: int
    is_attributed: bool
    names: frozenset[int]
    """A hash of the name of each entry."""


def describe_recording(record: dict[str, Any]) -> RecordingHeader:
    """Return the header of a record, to compare it with other recordings of its session."""
    from vacr.attribution import find_entry_prompts

    names = (name for name in find_entry_prompts(record) if not name.startswith("/"))
    return RecordingHeader(
        get_session_id(record),
        len(record["session"].get("entries", ())),
        "file-attribution" in record,
        frozenset(map(_hash_entry_name, names)),
    )


def _hash_entry_name(name: str) -> int:
    """Return a number of 64 bits for the name of an entry."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def drop_shorter_recordings(
    recordings: Sequence[T], describe: Callable[[T], RecordingHeader]
) -> list[T]:
    """Return recordings, but drop one if another one of its session has all its entries.

    Of equal recordings, one with an attribution stays. The result is grouped by session, and the
    longest recording of each comes first. `describe` returns the header of a recording.
    """
    described = [(recording, describe(recording)) for recording in recordings]
    described.sort(key=lambda pair: (pair[1].entry_count, pair[1].is_attributed), reverse=True)
    kept: dict[str, list[tuple[T, RecordingHeader]]] = {}
    for recording, header in described:
        others = kept.setdefault(header.session, [])
        if not any(header.names <= other.names for _, other in others):
            others.append((recording, header))
    return [recording for pairs in kept.values() for recording, _ in pairs]
