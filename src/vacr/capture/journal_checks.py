"""Whether the journal of a session still says what it first said, and whether the transcript does.
Changes nothing.

Whether a journal still holds: its checkpoints, the anchors, and each of its sessions. Changes
nothing.

What a log has of a journal: checkpoints that the journal itself does not have any more show that
it was set back.

Whether a journal and a record that was sealed from it speak of each other.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from vacr.capture.checkpoints import (
    CheckpointAnchor,
    EpochKeys,
    JournalCoverage,
    read_checkpoints,
    verify_journal_checkpoint,
)
from vacr.capture.frames import (
    CHECKPOINTS_FILE,
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    ChainScan,
    get_session_journal_path,
    list_session_journals,
    read_frames,
)
from vacr.capture.history import PartRewrite, SessionHistory, SettledChange
from vacr.capture.journal import CapturedPart, SessionState
from vacr.capture.rewrites import (
    ComparableEntry,
    EntryDifference,
    find_line_changes,
    has_activity,
    parse_comparable_entries,
    parse_state_entries,
)
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.files import describe_file_error, read_bytes
from vacr.log import open_log_folder
from vacr.record import decode
from vacr.registration import TiledLog
from vacr.signing import (
    CLAIM_SUB,
    HEADER_CWT_CLAIMS,
    HEADER_KID,
    PublicKey,
    compute_thumbprint,
    format_thumbprint_uri,
    parse_sign1,
)
from vacr.transparency import TILE_WIDTH, parse_checkpoint, parse_signed_note
from vacr.verification import Checks, Policy, check_receipts

CurrentPartsReader = Callable[[SessionState], dict[str, bytes | UnreadableInput]]
"""Gives the bytes of the parts of a session as they are now, by name, or why there are none."""
_WRITE_WAIT_SECONDS = 0.5
"""Seconds in which a file that is written just now is written."""


@dataclass
class JournalReport:
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


def check_session_journal(
    folder: Path,
    name: str,
    vouched: ChainHead,
    checked: JournalReport,
    current: CurrentPartsReader | None,
) -> None:
    """Check the journal of a session, and with `current` the transcript that it was made from."""
    history = SessionHistory(
        get_session_journal_path(folder, name), name, vouched, holding=current is not None
    )
    try:
        for found in history.rewrites():
            if isinstance(found, SettledChange):
                _add_difference(
                    checked,
                    found.difference,
                    f"{name}: {found.difference} {_describe_capture_time(found.frame, found.time)}",
                )
            else:
                # A file beside the transcript that is written anew is so all the time; nobody can
                # tell by whom.
                (checked.remarks if found.part.rewritten else checked.findings).extend(
                    _describe_rewrite(name, found)
                )
    except BrokenJournal as error:
        checked.findings.append(str(error))
        return
    except OSError as error:
        checked.findings.append(f"{name}: {describe_file_error(error)}")
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
            _add_difference(
                checked,
                difference,
                f"{name}: {difference} {_describe_capture_time(state.frames - 1, state.changed)}",
            )
        if current is not None:
            _check_settled_entries(history, checked, current)
    elif current is not None and state.parts:
        now = current(state)
        for part in state.parts:
            _check_part(state, part, checked, now[part.name])


def _describe_capture_time(frame: int, time: int) -> str:
    when = datetime.fromtimestamp(time / 1e9, UTC).isoformat(timespec="seconds")
    return f"after it had been captured (frame {frame}, {when})"


def _describe_rewrite(name: str, rewrite: PartRewrite) -> list[str]:
    seen = _describe_capture_time(rewrite.frame, rewrite.time)
    return [
        f"{name}: {rewrite.part.name}: {change} {seen}"
        for change in find_line_changes(rewrite.before, rewrite.after)
    ]


def _add_difference(checked: JournalReport, difference: EntryDifference, told: str) -> None:
    (checked.findings if difference.is_rewritten else checked.remarks).append(told)


def _check_settled_entries(
    history: SessionHistory, checked: JournalReport, current: CurrentPartsReader
) -> None:
    """Compare what had settled of a session that its agent writes anew with what there is now."""
    state = history.state
    now = current(state)
    if isinstance(error := now[state.parts[0].name], UnreadableInput):
        _report_missing(checked, state, str(state.path), error)
        return
    if (said := _parse_current_entries(state, now)) is None:
        time.sleep(_WRITE_WAIT_SECONDS)
        now = current(state)
        said = _parse_current_entries(state, now)
    if said is None:
        checked.findings.append(f"{state.where}: {state.path} cannot be read any more")
        return
    found = list(history.settled.differences(said))
    for difference in found:
        _add_difference(checked, difference, f"{state.where}: {difference} since it was captured")
    if not found and now != {part.name: bytes(part.content.held or b"") for part in state.parts}:
        checked.notices.append(
            f"{state.where}: {state.path} is not as it was captured last; nothing that had "
            "settled has changed"
        )


def _parse_current_entries(
    state: SessionState, now: dict[str, bytes | UnreadableInput]
) -> list[ComparableEntry] | None:
    return parse_comparable_entries(
        state.agent, [(name, data) for name, data in now.items() if isinstance(data, bytes)]
    )


def _report_missing(
    checked: JournalReport, state: SessionState, what: str, error: UnreadableInput
) -> None:
    """Take it that something is gone: agents clean up what is sealed by then, and at once where
    nothing was said.
    """
    told = f"{state.where}: {what} is not there any more: {error.message}"
    is_tidied = state.sealed is not None or not has_activity(parse_state_entries(state))
    (checked.notices if is_tidied else checked.findings).append(told)


def _check_part(
    state: SessionState, part: CapturedPart, checked: JournalReport, now: bytes | UnreadableInput
) -> None:
    """Compare what was last seen of a part with what there is now."""
    seen = bytes(part.content.held or b"")
    if isinstance(now, UnreadableInput):
        _report_missing(checked, state, part.name, now)
        return
    if now == seen:
        return
    found = [
        f"{state.where}: {part.name}: {change} since it was captured"
        for change in find_line_changes(seen, now)
    ]
    (checked.remarks if part.rewritten else checked.findings).extend(found)
    if len(now) > len(seen) and not found:
        checked.notices.append(
            f"{state.where}: {part.name}: {len(now) - len(seen)} bytes more than were captured"
        )


def check_journal(
    folder: Path,
    *,
    log_keys: Sequence[PublicKey] = (),
    current: CurrentPartsReader | None = None,
    progress: Callable[[str], None] = lambda _name: None,
) -> JournalReport:
    """Check a journal, and with `current` the transcripts that it was made from.

    Raises:
        UnreadableInput: there is no journal, or it cannot be read.
    """
    checked = JournalReport()
    covered = _check_checkpoints(folder, checked, log_keys)
    there = list(list_session_journals(folder))
    known = EpochKeys(folder).known()
    missing = sorted(set(covered.sessions) - set(there))
    if missing or (known and not _has_epoch_key(covered, known)):
        # A watcher may have gone on meanwhile.
        covered, there = _reread_coverage(folder, covered), list(list_session_journals(folder))
        missing = sorted(set(covered.sessions) - set(there))
    for name in missing:
        checked.findings.append(
            f"{name}: the journal of {covered.sessions[name].frames} frames is missing"
        )
    if known and not _has_epoch_key(covered, known | EpochKeys(folder).known()):
        checked.findings.append(
            "the key that is there is not the one that the last checkpoint names: later ones "
            "are missing"
        )
    for name in there:
        progress(name)
        if name in covered.retired:
            checked.notices.append(f"{name}: is sealed and was to be deleted, and is still there")
            continue
        check_session_journal(
            folder, name, covered.sessions.get(name, EMPTY_CHAIN_HEAD), checked, current
        )
    checked.sessions, checked.retired = len(there), len(covered.retired)
    return checked


# --- checkpoints ---


def _check_checkpoints(
    folder: Path, checked: JournalReport, log_keys: Sequence[PublicKey]
) -> JournalCoverage:
    covered = JournalCoverage(str(folder / CHECKPOINTS_FILE))
    scan = ChainScan()
    try:
        for taken in read_checkpoints(folder, covered, scan):
            if isinstance(taken, CheckpointAnchor):
                _check_anchor(taken, log_keys, checked)
        if scan.torn:
            told = (
                f"{scan.torn} bytes at the end are half a frame, which the next vacr watch cuts off"
            )
            checked.notices.append(f"{CHECKPOINTS_FILE}: {told}")
    except BrokenJournal as error:
        checked.findings.append(str(error))
    except OSError as error:
        if not any(list_session_journals(folder)):
            raise UnreadableInput(
                describe_file_error(error),
                where=str(folder / CHECKPOINTS_FILE),
                hint="vacr watch makes one.",
            ) from error
        checked.findings.append(
            f"{CHECKPOINTS_FILE}: {describe_file_error(error)}, though there are journals of sessions"
        )
    checked.identity, checked.checkpoints, checked.anchors = (
        covered.identity,
        len(covered.entries),
        len(covered.anchors),
    )
    if covered.last is None:
        checked.findings.append("there is no checkpoint")
    else:
        checked.epochs = covered.last.epoch + 1
    if log_keys and not covered.anchors:
        checked.notices.append("no checkpoint is anchored in a log: vacr watch --service does that")
    if covered.anchors and not log_keys:
        checked.notices.append(
            f"{len(covered.anchors)} anchors in a log were not checked: no --log-key was named"
        )
    return covered


def _reread_coverage(folder: Path, before: JournalCoverage) -> JournalCoverage:
    """Give what the checkpoints add up to now, unless they do not hold: then what they did before
    counts.
    """
    covered = JournalCoverage(before.where)
    try:
        for _ in read_checkpoints(folder, covered):
            pass
    except (BrokenJournal, OSError):
        return before
    return covered


def _has_epoch_key(covered: JournalCoverage, known: set[bytes]) -> bool:
    """Tell whether one of the keys is that of this epoch, if there is an epoch."""
    return covered.key is None or compute_thumbprint(covered.key) in known


def _check_anchor(
    anchor: CheckpointAnchor, log_keys: Sequence[PublicKey], checked: JournalReport
) -> None:
    if not log_keys:
        return
    checks = Checks()
    try:
        check_receipts(
            parse_sign1(anchor.statement),
            Policy(log_keys=tuple(log_keys)),
            datetime.now(UTC),
            checks,
        )
        checked.anchored = anchor.number
    except InvalidStatement as error:
        checked.findings.append(f"the anchor of checkpoint {anchor.number}: {error.message}")


def read_log_entries(log: str) -> Iterator[bytes]:
    """Give the entries of a log, by its address or its folder.

    Raises:
        Unreachable: it cannot be read.
        UnreadableInput: there is none.
    """
    if "://" not in log:
        with closing(open_log_folder(log).reader()) as reading:
            stored = reading.head()
            size = stored.head.size if stored is not None else 0
            for first in range(0, size, TILE_WIDTH):
                yield from reading.entries(first, min(first + TILE_WIDTH, size))
        return
    tiled = TiledLog(log)
    size = parse_checkpoint(parse_signed_note(tiled.checkpoint()).text).size
    for number in range(-(-size // TILE_WIDTH)):
        yield from tiled.bundle(number, size)


@dataclass
class MissingCheckpoints:
    """What a log has of a journal beyond what the journal has."""

    missing: list[int] = field(default_factory=list)
    """The numbers of checkpoints that a key of the journal has signed, and that it has not, or has
    others for.
    """
    unknown: int = 0
    """How many entries say that they are of the journal, by keys that it does not name: it may have
    been set back by epochs.
    """


def find_missing_checkpoints(covered: JournalCoverage, log: str) -> MissingCheckpoints:
    """Compare a journal with what a log has of it.

    Raises:
        Unreachable: the log cannot be read.
        UnreadableInput: there is none.
    """
    name, found, known = (
        format_thumbprint_uri(covered.identity),
        MissingCheckpoints(),
        set(covered.entries),
    )
    for entry in read_log_entries(log):
        try:
            message = parse_sign1(entry)
            claims = message.protected.get(HEADER_CWT_CLAIMS)
            if (
                not isinstance(claims, dict)
                or claims.get(CLAIM_SUB) != name
                or hashlib.sha256(entry).digest() in known
            ):
                continue
            key = covered.keys.get(message.protected.get(HEADER_KID, b""))
            if key is None:
                found.unknown += 1
            else:
                found.missing.append(verify_journal_checkpoint(entry, key, log, 0)[0].number)
        except (InvalidStatement, TypeError):
            continue
    return found


def check_sealed_record(folder: Path, path: str) -> list[str]:
    """Check that a journal and a record that was sealed from it speak of each other; gives what is
    wrong.

    Raises:
        UnreadableInput: there is no record, or no journal.
        Broken: the journal is not what it was.
    """
    data = read_bytes(path)
    try:
        record = decode(data)
    except UnreadableInput as error:
        raise UnreadableInput(f"no record: {error}", where=path) from error
    try:
        said = record["vacr"]["inputs"]["journal"]
        name, head = str(said["session"]), ChainHead(said["frames"], bytes.fromhex(said["head"]))
        identity = bytes.fromhex(said["identity"])
    except (KeyError, TypeError, ValueError):
        return ["the record names no journal"]
    covered = JournalCoverage(str(folder / CHECKPOINTS_FILE))
    deque(read_checkpoints(folder, covered), maxlen=0)
    if identity != covered.identity:
        return [f"the record was made from another journal, {format_thumbprint_uri(identity)}"]
    digest = hashlib.sha256(data).digest()
    if name in covered.retired:
        return (
            []
            if covered.retired[name] == digest
            else [f"{name}: was deleted, sealed as another record"]
        )
    if name not in list_session_journals(folder):
        return [f"{name}: there is no such journal"]
    sealed, reached = False, EMPTY_CHAIN_HEAD
    with get_session_journal_path(folder, name).open("rb") as file:
        scan, state = ChainScan(), SessionState(name)
        for _, payload in read_frames(
            file, name, scan, covered.sessions.get(name, EMPTY_CHAIN_HEAD)
        ):
            note = state.read(payload)
            state.take(note)
            reached = scan.head if scan.head.frames == head.frames else reached
            sealed = sealed or (note["kind"] == "sealed" and note["record"] == digest)
    found = [] if reached == head else [f"{name}: never had the head that the record names"]
    return (
        found
        if sealed
        else [*found, f"{name}: does not name the record as one that was sealed from it"]
    )
