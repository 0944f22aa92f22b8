"""Sessions that the user keeps: copies in the state folder, which outlive the agent's own files.

A copy is a record with its sealed source, so nothing of the session is lost: `vacr restore` gives
the agent's files back. The index reads these records like the agents' files, so a kept session
stays in the app, in searches and in `vacr show`, also after the agent has deleted it.

    >>> from pathlib import Path
    >>> from vacr.discovery import SessionSummary, list_kept_sessions, read_sessions
    >>> from vacr.workflows import is_session_recorded, keep_session
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
    >>> [kept.session_id[:8] for kept in list_kept_sessions()]
    ['6f0d1c52']

The copy of a session has the time of its transcript. So a session that goes on is newer than its
copy, and can be kept again; the longer copy replaces the shorter one.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from vacr.discovery import KEPT_SUFFIX, SessionSummary, find_kept_folder
from vacr.errors import UsageError
from vacr.files import make_absolute
from vacr.workflows.record import (
    RecordingOptions,
    RecordingOutcome,
    RecordingTask,
    record_place,
)

_REPLACE_HINT = "Move the older copy to another folder, and run: vacr keep"
_UNSAFE_CHARACTERS = re.compile(r"[^0-9A-Za-z_-]")
_MAX_ID_LENGTH = 100
_DIGEST_DIGITS = 8


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
    output = str(target).removesuffix(KEPT_SUFFIX)
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
    return find_kept_folder(state) / session.agent / f"{name}.{digest}{KEPT_SUFFIX}"
