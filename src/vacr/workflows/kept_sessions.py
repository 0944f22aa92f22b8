"""Sessions that the user keeps: copies in the state folder, which outlive the agent's own files.

A copy is a record with its sealed source, so nothing of the session is lost: `vacr restore` gives
the agent's files back. The index reads these records like the agents' files, so a kept session
stays in the app, in searches and in `vacr show`, also after the agent has deleted it.

    >>> from pathlib import Path
    >>> from vacr.discovery import SessionSummary, read_sessions
    >>> from vacr.workflows import is_session_recorded, keep_session, list_kept_sessions
    >>> [opened] = read_sessions("session.jsonl")
    >>> session = SessionSummary(
    ...     opened.agent.name, "session.jsonl", None, "6f0d1c52", "", None, None, None, "A title"
    ... )
    >>> is_session_recorded(Path("state"), session)
    False
    >>> keep_session(Path("state"), session).errors
    []
    >>> is_session_recorded(Path("state"), session)
    True
    >>> [kept.session_id for kept in list_kept_sessions(Path("state"))]
    ['6f0d1c52']

The copy of a session has the time of its transcript. So a session that goes on is newer than its
copy, and can be kept again; the longer copy replaces the shorter one.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from vacr.discovery import SessionSummary
from vacr.errors import UsageError
from vacr.files import make_absolute
from vacr.workflows.record import (
    RecordingOptions,
    RecordingOutcome,
    RecordingTask,
    record_place,
)

_FOLDER_NAME = "kept"
_SUFFIX = ".acr.json"
_REPLACE_HINT = "Move the older copy to another folder, and run: vacr keep"
_UNSAFE_CHARACTERS = re.compile(r"[^0-9A-Za-z_-]")
_MAX_ID_LENGTH = 100
_DIGEST_DIGITS = 8
_NAME_PATTERN = re.compile(r"([0-9A-Za-z_-]+)\.[0-9a-f]{8}\.acr\.json")
"""The record of a session; a sub-agent's record has one more part in its name."""


def find_kept_folder(state: Path) -> Path:
    """Return the folder of the kept sessions in the state folder; it need not exist."""
    return state / _FOLDER_NAME


def list_kept_records(state: Path) -> list[Path]:
    """Return the records of all kept sessions and their sub-agents; empty if nothing was kept."""
    return sorted(find_kept_folder(state).glob(f"*/*{_SUFFIX}"))


def list_kept_sessions(state: Path) -> Iterator[SessionSummary]:
    """Yield the kept sessions without their sub-agents; each path names the record."""
    for path in list_kept_records(state):
        name = _NAME_PATTERN.fullmatch(path.name)
        if name is not None:
            status = path.stat()
            updated = status.st_mtime_ns // 1_000_000
            yield SessionSummary(
                path.parent.name, str(path), None, name[1], "", None, updated, status.st_size, ""
            )


def is_session_recorded(state: Path, session: SessionSummary) -> bool:
    """Return whether a kept copy has all of a session; False if the session cannot be read."""
    try:
        kept = _build_record_path(state, session).stat().st_mtime_ns
        return kept >= Path(session.path).stat().st_mtime_ns
    except OSError:
        return False


def keep_session(state: Path, session: SessionSummary) -> RecordingOutcome:
    """Record a session and its sub-agents into the state folder, and return the outcome.

    Only the user can read the copy. The outcome has the errors, if the session cannot be kept.
    """
    target = _build_record_path(state, session)
    output = str(target).removesuffix(_SUFFIX)
    options = RecordingOptions(keep_source=True, agent=session.agent)
    task = RecordingTask(session.path, output, options, session=session.session)
    try:
        # Take the time before the session is read: the copy lacks later entries.
        modified = Path(session.path).stat().st_mtime_ns
        for folder in (state, find_kept_folder(state), target.parent):
            folder.mkdir(0o700, parents=True, exist_ok=True)
        find_kept_folder(state).chmod(0o700)
        outcome = record_place(task)
        for path in target.parent.glob(f"{Path(output).name}.*"):
            path.chmod(0o600)
        if not outcome.errors:
            os.utime(target, ns=(modified, modified))
        elif outcome.exit_code == UsageError.exit_code:
            # The hints of `vacr record` name its options.
            for error in outcome.errors:
                error["hint"] = _REPLACE_HINT
    except OSError as error:
        outcome = RecordingOutcome(task)
        outcome.add_error(error)
    return outcome


def _build_record_path(state: Path, session: SessionSummary) -> Path:
    """Return the path for the copy of a session: its id, and a digest of its place.

    Two files may have the same id, for example after a session was continued in another folder.
    """
    place = os.fsencode(make_absolute(session.path))
    session_bytes = (session.session or "").encode("utf-8", "replace")
    digest = hashlib.sha256(b"\0".join([place, session_bytes])).hexdigest()[:_DIGEST_DIGITS]
    name = _UNSAFE_CHARACTERS.sub("-", session.session_id)[:_MAX_ID_LENGTH]
    return find_kept_folder(state) / session.agent / f"{name}.{digest}{_SUFFIX}"
