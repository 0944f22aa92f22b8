"""Keep the sessions that their agents will delete soon: in the app, and by `vacr keep`.

A copy in the state folder outlives the agent's own file, and stays in the app and in searches.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from vacr.app import SessionKeeper
    >>> with tempfile.TemporaryDirectory() as home:
    ...     keeper = SessionKeeper(Path(home) / "state", {"HOME": home})
    ...     keeper.find_sessions()
    ...     keeper.describe()["count"]
    0
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vacr.capture import EndangeredSession, list_endangered_sessions
from vacr.discovery import find_kept_folder
from vacr.viewer import make_visible
from vacr.workflows import abbreviate_home, is_session_recorded, keep_session

_LOOK_SECONDS = 600.0
"""How often to look for sessions that are deleted soon."""
_MAX_LISTED = 200
_RETRY_HINT = "Correct this, and press Keep again."


@dataclass
class KeepReport:
    """What keeping some sessions did so far."""

    done: int = 0
    total: int = 0
    kept: int = 0
    is_running: bool = False
    failed: list[dict[str, Any]] = field(default_factory=list)
    """For each session that could not be kept: its source, the error and the next step."""
    exit_code: int = 0
    """The exit code of the worst error, or 0."""


def list_unkept_sessions(
    state: Path, environment: Mapping[str, str], now: float | None = None
) -> list[EndangeredSession]:
    """Return the sessions that agents delete soon and that have no copy, the most urgent first."""
    now = time.time() if now is None else now
    return drop_kept_sessions(state, list_endangered_sessions(state, environment, now))


def drop_kept_sessions(
    state: Path, sessions: Sequence[EndangeredSession]
) -> list[EndangeredSession]:
    """Return the sessions that have no copy, or only a copy of their beginning, in their order."""
    return [
        endangered for endangered in sessions if not is_session_recorded(state, endangered.session)
    ]


def keep_sessions(
    state: Path,
    sessions: Sequence[EndangeredSession],
    report: KeepReport,
    is_ended: Callable[[], bool] = lambda: False,
) -> None:
    """Keep a copy of each session, and note in `report` how far that is.

    An error in one session does not stop the others. End early as soon as `is_ended` returns True.
    """
    report.total = len(sessions)
    for endangered in sessions:
        if is_ended():
            return
        outcome = keep_session(state, endangered.session)
        report.failed += outcome.errors
        report.kept += not outcome.errors
        report.exit_code = max(report.exit_code, outcome.exit_code)
        report.done += 1


class SessionKeeper:
    """The sessions at risk that the page shows, and the thread that keeps them."""

    def __init__(self, state: Path, environment: Mapping[str, str]) -> None:
        """Prepare to keep sessions in the state folder; no session is looked at yet."""
        self._state, self._environment = state, environment
        self._sessions: list[EndangeredSession] = []
        self._last_look = -_LOOK_SECONDS
        self._report = KeepReport()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def find_sessions_if_due(self) -> None:
        """Look for sessions at risk, unless that was done some minutes ago."""
        if time.monotonic() - self._last_look >= _LOOK_SECONDS:
            self.find_sessions()

    def find_sessions(self) -> None:
        """Look for the sessions at risk that have no copy yet."""
        self._last_look = time.monotonic()
        self._sessions = list_unkept_sessions(self._state, self._environment)

    def start(self) -> None:
        """Start to keep all sessions at risk in a thread; do nothing if that goes on already."""
        with self._lock:
            if self._report.is_running:
                return
            self._report = KeepReport(is_running=True)
            self._thread = threading.Thread(target=self._run)
            self._thread.start()

    def end(self) -> None:
        """End after the session that is being kept, and wait for that."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def describe(self) -> dict[str, Any]:
        """Return the sessions at risk, and the progress of keeping them, as JSON."""
        sessions = self._sessions
        report = asdict(self._report)
        del report["exit_code"]
        return {
            **report,
            "failed": [_make_error_visible(error) for error in report["failed"][:_MAX_LISTED]],
            "failures": len(report["failed"]),
            "folder": make_visible(abbreviate_home(str(find_kept_folder(self._state)))),
            "count": len(sessions),
            "sessions": [_describe_session(endangered) for endangered in sessions[:_MAX_LISTED]],
        }

    def _run(self) -> None:
        """Keep the sessions that are at risk now, and look which are left."""
        report = self._report
        try:
            self.find_sessions()
            keep_sessions(self._state, self._sessions, report, self._ended.is_set)
            self.find_sessions()
        except Exception as error:  # noqa: BLE001 - the page must say why nothing is kept
            reason = f"vacr failed: {type(error).__name__}"
            report.failed.append({"source": "", "error": reason, "hint": "Run: vacr keep"})
        finally:
            report.is_running = False


def _describe_session(endangered: EndangeredSession) -> dict[str, Any]:
    """Return a session at risk for the page; the time is in milliseconds since 1970."""
    session = endangered.session
    return {
        "session": session.session_id,
        "agent": session.agent,
        "title": make_visible(session.title or session.session_id),
        "deleted_ms": int(endangered.deleted_at * 1000),
    }


def _make_error_visible(error: Mapping[str, Any]) -> dict[str, str]:
    """Return an error for the page, with a next step."""
    return {
        "source": make_visible(error["source"] or ""),
        "error": make_visible(error["error"]),
        "hint": make_visible(error["hint"] or _RETRY_HINT),
    }
