"""Whether the journal of a session still says what it first said, and whether the transcript does.
Changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from vacr.capture.frames import Broken, Head
from vacr.capture.history import History, Rewrite, Unsettled
from vacr.capture.layout import path_of
from vacr.capture.rewrites import changes
from vacr.capture.sayings import Saying, is_begun, sayings
from vacr.capture.session_journal import CapturedPart, State
from vacr.capture.settled import Difference, said_in
from vacr.errors import UnreadableInput
from vacr.sources.files import reason_of

Current = Callable[[State], dict[str, bytes | UnreadableInput]]
"""Gives the bytes of the parts of a session as they are now, by name, or why there are none."""
_WRITING = 0.5
"""Seconds in which a file that is written just now is written."""


@dataclass
class Checked:
    """What was checked, and what was found."""

    findings: list[str] = field(default_factory=list)
    """What is not as it was."""
    remarks: list[str] = field(default_factory=list)
    """What changed of what its agent itself writes anew, by whomever."""
    notices: list[str] = field(default_factory=list)
    """What somebody may want to know, though it proves nothing."""
    identity: bytes = b""
    checkpoints: int = 0
    epochs: int = 0
    anchors: int = 0
    anchored: int | None = None
    """The last checkpoint that a log has; nothing when none was shown to be in one."""
    sessions: int = 0
    retired: int = 0
    frames: int = 0
    size: int = 0


def check_session(
    folder: Path, name: str, vouched: Head, checked: Checked, current: Current | None
) -> None:
    """Check the journal of a session, and with `current` the transcript that it was made from."""
    history = History(path_of(folder, name), name, vouched, holding=current is not None)
    try:
        for found in history.rewrites():
            if isinstance(found, Unsettled):
                _take(
                    checked,
                    found.difference,
                    f"{name}: {found.difference} {_when(found.frame, found.time)}",
                )
            else:
                # A file beside the transcript that is written anew is so all the time; nobody can
                # tell by whom.
                (checked.remarks if found.part.rewritten else checked.findings).extend(
                    _told(name, found)
                )
    except Broken as error:
        checked.findings.append(str(error))
        return
    except OSError as error:
        checked.findings.append(f"{name}: {reason_of(error)}")
        return
    finally:
        checked.frames += history.scan.head.frames
        checked.size += history.scan.size
    scan, state = history.scan, history.state
    if scan.torn:
        checked.notices.append(
            f"{name}: {scan.torn} bytes at the end are half a frame, which the next vacr watch "
            "cuts off"
        )
    if scan.head.frames > vouched.frames:
        checked.notices.append(
            f"{name}: {scan.head.frames - vouched.frames} frames are not covered by a "
            "checkpoint yet"
        )
    if state.is_rewritten:
        for difference in history.settled.look(state, time.time_ns()):
            _take(
                checked,
                difference,
                f"{name}: {difference} {_when(state.frames - 1, state.changed)}",
            )
        if current is not None:
            _check_settled(history, checked, current)
    elif current is not None and state.parts:
        now = current(state)
        for part in state.parts:
            _check_part(state, part, checked, now[part.name])


def _when(frame: int, time: int) -> str:
    when = datetime.fromtimestamp(time / 1e9, UTC).isoformat(timespec="seconds")
    return f"after it had been captured (frame {frame}, {when})"


def _told(name: str, rewrite: Rewrite) -> list[str]:
    seen = _when(rewrite.frame, rewrite.time)
    return [
        f"{name}: {rewrite.part.name}: {change} {seen}"
        for change in changes(rewrite.before, rewrite.after)
    ]


def _take(checked: Checked, difference: Difference, told: str) -> None:
    (checked.findings if difference.is_rewritten else checked.remarks).append(told)


def _check_settled(history: History, checked: Checked, current: Current) -> None:
    """Compare what had settled of a session that its agent writes anew with what there is now."""
    state = history.state
    now = current(state)
    if isinstance(error := now[state.parts[0].name], UnreadableInput):
        _take_gone(checked, state, str(state.path), error)
        return
    if (said := _said(state, now)) is None:
        time.sleep(_WRITING)
        now = current(state)
        said = _said(state, now)
    if said is None:
        checked.findings.append(f"{state.where}: {state.path} cannot be read any more")
        return
    found = list(history.settled.differences(said))
    for difference in found:
        _take(checked, difference, f"{state.where}: {difference} since it was captured")
    if not found and now != {part.name: bytes(part.content.held or b"") for part in state.parts}:
        checked.notices.append(
            f"{state.where}: {state.path} is not as it was captured last; nothing that had "
            "settled has changed"
        )


def _said(state: State, now: dict[str, bytes | UnreadableInput]) -> list[Saying] | None:
    return sayings(
        state.agent, [(name, data) for name, data in now.items() if isinstance(data, bytes)]
    )


def _take_gone(checked: Checked, state: State, what: str, error: UnreadableInput) -> None:
    """Take it that something is gone: agents clean up what is sealed by then, and at once where
    nothing was said.
    """
    told = f"{state.where}: {what} is not there any more: {error.message}"
    is_tidied = state.sealed is not None or not is_begun(said_in(state))
    (checked.notices if is_tidied else checked.findings).append(told)


def _check_part(
    state: State, part: CapturedPart, checked: Checked, now: bytes | UnreadableInput
) -> None:
    """Compare what was last seen of a part with what there is now."""
    seen = bytes(part.content.held or b"")
    if isinstance(now, UnreadableInput):
        _take_gone(checked, state, part.name, now)
        return
    if now == seen:
        return
    found = [
        f"{state.where}: {part.name}: {change} since it was captured"
        for change in changes(seen, now)
    ]
    (checked.remarks if part.rewritten else checked.findings).extend(found)
    if len(now) > len(seen) and not found:
        checked.notices.append(
            f"{state.where}: {part.name}: {len(now) - len(seen)} bytes more than were captured"
        )
