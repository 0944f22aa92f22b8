r"""Checking that a journal is intact, and that transcripts still have the captured content.

`check_journal` verifies the checkpoints and their anchors, and then every session: its chain of
frames, rewrites of captured content, and on request the transcript as it is now.
`find_missing_checkpoints` asks a log for checkpoints that the journal has lost: a sign that an
older copy replaced it. `check_sealed_record` checks that a record and its journal name each other.
All of these functions only read.

>>> from pathlib import Path
>>> from vacr.capture.journal import Journal
>>> from vacr.capture.journal_checks import check_journal
>>> journal = Journal(Path("state/journal"))
>>> session = journal.session("some-agent/abc")
>>> session.begin("some-agent", Path("abc.jsonl"), "")
>>> part = session.open_part("abc.jsonl", Path("abc.jsonl"), rewritten=False)
>>> session.note_changes(part, (0, 0, b"one\ntwo\n"))
>>> _ = journal.checkpoint()
>>> journal.close()
>>> check_journal(journal.folder, current=lambda _: {"abc.jsonl": b"one\nthree\n"}).findings
['some-agent/abc: abc.jsonl: line 2 changed since it was captured']
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
from typing import Any

from vacr.capture.chains import (
    CHECKPOINTS_FILE,
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    ChainScan,
    CheckpointAnchor,
    JournalCoverage,
    read_checkpoints,
    read_frames,
    verify_journal_checkpoint,
)
from vacr.capture.history import PartRewrite, SessionHistory, SettledChange
from vacr.capture.journal import EpochKeys
from vacr.capture.line_changes import find_line_changes
from vacr.capture.session_journal import (
    CapturedPart,
    SessionState,
    get_session_journal_path,
    list_session_journals,
)
from vacr.capture.settled_entries import (
    ComparableEntry,
    EntryDifference,
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
"""Returns the current bytes of a session's parts by name, or the error of reading a part."""

_WRITE_WAIT_SECONDS = 0.5
"""After this time, a file that was half written is complete."""


@dataclass
class JournalReport:
    """The results of checking a journal: messages for people, and counts."""

    findings: list[str] = field(default_factory=list)
    """Content that changed or is missing: the check failed."""
    remarks: list[str] = field(default_factory=list)
    """Changes in files that agents rewrite; the agent itself may have made them."""
    notices: list[str] = field(default_factory=list)
    """Information that is not a sign of tampering."""
    identity: bytes = b""
    """The thumbprint of the journal's first key."""
    checkpoints: int = 0
    epochs: int = 0
    anchors: int = 0
    anchored: int | None = None
    """The number of the last checkpoint that is provably in a log."""
    sessions: int = 0
    retired: int = 0
    frames: int = 0
    """The number of intact frames in all session journals."""
    size: int = 0
    """The number of bytes in these frames."""


def check_journal(
    folder: Path,
    *,
    log_keys: Sequence[PublicKey] = (),
    current: CurrentPartsReader | None = None,
    progress: Callable[[str], None] = lambda _name: None,
) -> JournalReport:
    """Check the journal in a folder, and return a report; problems do not raise.

    With `log_keys`, verify the anchors. With `current`, compare the captured content with the
    transcripts as they are now. `progress` is called with the name of each session journal.

    Raises:
        UnreadableInput: the journal does not exist, or cannot be read.
    """
    report = JournalReport()
    covered = _check_checkpoints(folder, report, log_keys)
    names = list(list_session_journals(folder))
    thumbprints = EpochKeys(folder).list_thumbprints()
    missing = sorted(set(covered.sessions) - set(names))
    if missing or (thumbprints and not _has_epoch_key(covered, thumbprints)):
        # A watcher may have written, deleted or changed keys in the meantime: look again.
        covered, names = _reread_coverage(folder, covered), list(list_session_journals(folder))
        missing = sorted(set(covered.sessions) - set(names))
    for name in missing:
        report.findings.append(
            f"{name}: its journal is missing; it had {covered.sessions[name].frames} frames"
        )
    if thumbprints and not _has_epoch_key(
        covered, thumbprints | EpochKeys(folder).list_thumbprints()
    ):
        report.findings.append(
            "the journal was reset to an older state: its key is newer than the last checkpoint, "
            "so later checkpoints are missing"
        )
    for name in names:
        progress(name)
        if name in covered.retired:
            report.notices.append(
                f"{name}: vacr watch marked this journal as deleted, but the file still exists"
            )
            continue
        required = covered.sessions.get(name, EMPTY_CHAIN_HEAD)
        check_session_journal(folder, name, required, report, current)
    report.sessions, report.retired = len(names), len(covered.retired)
    return report


# --- checkpoints ---


def _check_checkpoints(
    folder: Path, report: JournalReport, log_keys: Sequence[PublicKey]
) -> JournalCoverage:
    """Check the chain of checkpoints, and add the results to `report`.

    Return the coverage by the intact checkpoints.

    Raises:
        UnreadableInput: the journal does not exist, or cannot be read.
    """
    covered = JournalCoverage(str(folder / CHECKPOINTS_FILE))
    scan = ChainScan()
    try:
        for frame in read_checkpoints(folder, covered, scan):
            if isinstance(frame, CheckpointAnchor):
                _check_anchor(frame, log_keys, report)
        if scan.torn:
            report.notices.append(f"{CHECKPOINTS_FILE}: {_describe_torn_end(scan)}")
    except BrokenJournal as error:
        report.findings.append(str(error))
    except OSError as error:
        if not any(list_session_journals(folder)):
            is_missing = isinstance(error, FileNotFoundError)
            raise UnreadableInput(
                describe_file_error(error),
                where=str(folder / CHECKPOINTS_FILE),
                hint="Run vacr watch to create a journal." if is_missing else "",
            ) from error
        report.findings.append(
            f"{CHECKPOINTS_FILE}: {describe_file_error(error)}, but session journals exist"
        )
    report.identity = covered.identity
    report.checkpoints, report.anchors = len(covered.entries), len(covered.anchors)
    if covered.last is None:
        report.findings.append("the journal has no checkpoints")
    else:
        report.epochs = covered.last.epoch + 1
    if log_keys and not covered.anchors:
        report.notices.append("no checkpoint is anchored in a log; use vacr watch --service")
    if covered.anchors and not log_keys:
        report.notices.append(
            f"{len(covered.anchors)} anchors in a log were not checked; add --log-key"
        )
    return covered


def _describe_torn_end(scan: ChainScan) -> str:
    """Return a sentence about the incomplete frame at the end of a chain."""
    return f"the last frame is incomplete ({scan.torn} bytes); the next vacr watch removes it"


def _check_anchor(
    anchor: CheckpointAnchor, log_keys: Sequence[PublicKey], report: JournalReport
) -> None:
    """Verify the receipt of an anchor by the keys of the log, and add the result to `report`.

    Without keys, do nothing.
    """
    if not log_keys:
        return
    policy = Policy(log_keys=tuple(log_keys))
    try:
        check_receipts(parse_sign1(anchor.statement), policy, datetime.now(UTC), Checks())
        report.anchored = anchor.number
    except InvalidStatement as error:
        report.findings.append(
            f"the anchor of checkpoint {anchor.number} is not valid: {error.message}"
        )


def _reread_coverage(folder: Path, before: JournalCoverage) -> JournalCoverage:
    """Read the checkpoints again, and return their coverage; `before` if they do not verify."""
    covered = JournalCoverage(before.where)
    try:
        for _ in read_checkpoints(folder, covered):
            pass
    except (BrokenJournal, OSError):
        return before
    return covered


def _has_epoch_key(covered: JournalCoverage, thumbprints: set[bytes]) -> bool:
    """Return whether the thumbprints include the key of the current epoch.

    Also return True for a journal without checkpoints.
    """
    return covered.key is None or compute_thumbprint(covered.key) in thumbprints


# --- sessions ---


def check_session_journal(
    folder: Path,
    name: str,
    required: ChainHead,
    report: JournalReport,
    current: CurrentPartsReader | None,
) -> None:
    """Check the journal of a session, and add the results to `report`.

    `required` is the head that the checkpoints cover. With `current`, also compare the captured
    content with the transcript as it is now.
    """
    history = SessionHistory(
        get_session_journal_path(folder, name), name, required, keep_bytes=current is not None
    )
    try:
        for change in history.read_changes():
            _report_change(report, name, change)
    except BrokenJournal as error:
        report.findings.append(str(error))
        return
    except OSError as error:
        report.findings.append(f"{name}: {describe_file_error(error)}")
        return
    finally:
        report.frames += history.scan.head.frames
        report.size += history.scan.size
    scan, state = history.scan, history.state
    if scan.torn:
        report.notices.append(f"{name}: {_describe_torn_end(scan)}")
    if scan.head.frames > required.frames:
        uncovered = scan.head.frames - required.frames
        report.notices.append(f"{name}: {uncovered} frames are not covered by a checkpoint yet")
    if state.is_rewritten:
        for difference in history.settled.compare_if_due(state, time.time_ns()):
            capture_time = _describe_capture_time(state.frames - 1, state.changed)
            _report_difference(report, difference, f"{name}: {difference} {capture_time}")
        if current is not None:
            _check_settled_entries(history, report, current)
    elif current is not None and state.parts:
        current_parts = current(state)
        for part in state.parts:
            _check_part(state, part, report, current_parts[part.name])


def _report_change(report: JournalReport, name: str, change: PartRewrite | SettledChange) -> None:
    """Add a change of captured content to the findings or the remarks of a report."""
    capture_time = _describe_capture_time(change.frame, change.time)
    if isinstance(change, SettledChange):
        difference = change.difference
        _report_difference(report, difference, f"{name}: {difference} {capture_time}")
        return
    # A file next to the transcript that its agent rewrites changes all the time.
    messages = report.remarks if change.part.rewritten else report.findings
    for line_change in find_line_changes(change.before, change.after):
        messages.append(f"{name}: {change.part.name}: {line_change} {capture_time}")


def _report_difference(report: JournalReport, difference: EntryDifference, message: str) -> None:
    """Add a message to the findings if the difference is rewritten history, or to the remarks."""
    (report.findings if difference.is_rewritten else report.remarks).append(message)


def _describe_capture_time(frame: int, nanoseconds: int) -> str:
    """Return the end of a message about a change: after capture, in which frame, and when.

    The time is given in nanoseconds since 1970.
    """
    moment = datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="seconds")
    return f"after it had been captured (frame {frame}, {moment})"


def _check_settled_entries(
    history: SessionHistory, report: JournalReport, current: CurrentPartsReader
) -> None:
    """Compare the settled entries of a session that its agent rewrites with the current ones.

    Add the results to `report`. A session that cannot be parsed is read again after a moment, as it
    may be half written.
    """
    state = history.state
    current_parts = current(state)
    if isinstance(error := current_parts[state.parts[0].name], UnreadableInput):
        _report_missing(report, state, str(state.path), error)
        return
    entries = _parse_current_entries(state, current_parts)
    if entries is None:
        time.sleep(_WRITE_WAIT_SECONDS)
        current_parts = current(state)
        entries = _parse_current_entries(state, current_parts)
    if entries is None:
        report.findings.append(f"{state.where}: {state.path} is no longer a readable session")
        return
    differences = list(history.settled.find_differences(entries))
    for difference in differences:
        message = f"{state.where}: {difference} since it was captured"
        _report_difference(report, difference, message)
    captured_parts = {part.name: bytes(part.content.loaded or b"") for part in state.parts}
    if not differences and current_parts != captured_parts:
        report.notices.append(
            f"{state.where}: {state.path} changed since the last capture, but no settled entry did"
        )


def _parse_current_entries(
    state: SessionState, current_parts: dict[str, bytes | UnreadableInput]
) -> list[ComparableEntry] | None:
    """Return the entries in the readable parts of a session, or None if they cannot be parsed."""
    readable = [(name, data) for name, data in current_parts.items() if isinstance(data, bytes)]
    return parse_comparable_entries(state.agent, readable)


def _check_part(
    state: SessionState,
    part: CapturedPart,
    report: JournalReport,
    current: bytes | UnreadableInput,
) -> None:
    """Compare the captured bytes of a part with the current ones, and add results to `report`.

    `current` are the bytes of the part now, or the error of reading it.
    """
    if isinstance(current, UnreadableInput):
        _report_missing(report, state, part.name, current)
        return
    captured = bytes(part.content.loaded or b"")
    if current == captured:
        return
    changes = [
        f"{state.where}: {part.name}: {change} since it was captured"
        for change in find_line_changes(captured, current)
    ]
    (report.remarks if part.rewritten else report.findings).extend(changes)
    if len(current) > len(captured) and not changes:
        report.notices.append(
            f"{state.where}: {part.name}: {len(current) - len(captured)} bytes are not captured yet"
        )


def _report_missing(
    report: JournalReport, state: SessionState, subject: str, error: UnreadableInput
) -> None:
    """Report that a part of a session, the `subject`, cannot be read.

    It is a notice if the session is sealed or empty, because agents delete such sessions, and a
    finding otherwise.
    """
    message = f"{state.where}: {subject} is missing: {error.message}"
    is_cleaned_up = state.sealed is not None or not has_activity(parse_state_entries(state))
    (report.notices if is_cleaned_up else report.findings).append(message)


# --- the log's copy of the checkpoints ---


@dataclass
class MissingCheckpoints:
    """The checkpoints of a journal that are in a log and not in the journal itself."""

    missing: list[int] = field(default_factory=list)
    """The numbers of such checkpoints that a known key of the journal signed."""
    unknown: int = 0
    """How many log entries for the journal have an unknown key: it may have lost whole epochs."""


def find_missing_checkpoints(covered: JournalCoverage, log: str) -> MissingCheckpoints:
    """Read a log, and return the numbers of a journal's checkpoints that only the log has.

    `log` is a URL or the path of a folder. Entries with an unknown key are only counted; invalid
    entries are skipped.

    Raises:
        Unreachable: the log cannot be read.
        UnreadableInput: the log does not exist.
        InvalidStatement: the checkpoint of the log is malformed.
    """
    journal_name = format_thumbprint_uri(covered.identity)
    known_entries = set(covered.entries)
    result = MissingCheckpoints()
    for entry in read_log_entries(log):
        try:
            message = parse_sign1(entry)
            claims = message.protected.get(HEADER_CWT_CLAIMS)
            if not isinstance(claims, dict) or claims.get(CLAIM_SUB) != journal_name:
                continue
            if hashlib.sha256(entry).digest() in known_entries:
                continue
            key = covered.keys.get(message.protected.get(HEADER_KID, b""))
            if key is None:
                result.unknown += 1
            else:
                checkpoint, _ = verify_journal_checkpoint(entry, key, log, 0)
                result.missing.append(checkpoint.number)
        except (InvalidStatement, TypeError):
            continue
    return result


def read_log_entries(log: str) -> Iterator[bytes]:
    """Yield the entries of a log in order; `log` is a URL or the path of a folder.

    Raises:
        Unreachable: the log cannot be read.
        UnreadableInput: the log does not exist.
        InvalidStatement: the checkpoint of the log is malformed.
    """
    if "://" not in log:
        with closing(open_log_folder(log).reader()) as reader:
            stored = reader.head()
            size = stored.head.size if stored is not None else 0
            for first in range(0, size, TILE_WIDTH):
                yield from reader.entries(first, min(first + TILE_WIDTH, size))
        return
    tiled_log = TiledLog(log)
    size = parse_checkpoint(parse_signed_note(tiled_log.checkpoint()).text).size
    bundles = -(-size // TILE_WIDTH)
    for number in range(bundles):
        yield from tiled_log.bundle(number, size)


# --- sealed records ---


@dataclass(frozen=True, slots=True)
class _JournalReference:
    """The journal and its head that a record names as its source."""

    identity: bytes
    """The thumbprint of the journal's first key."""
    name: str
    """The name of the session's journal."""
    head: ChainHead


def check_sealed_record(folder: Path, path: str) -> list[str]:
    """Check that the record at `path` and the journal in `folder` name each other.

    Return a list of problems for people; it is empty if both agree.

    Raises:
        UnreadableInput: the record cannot be read, or is not a record.
        BrokenJournal: the journal does not verify.
        OSError: the journal cannot be read.
    """
    data = read_bytes(path)
    try:
        record = decode(data)
    except UnreadableInput as error:
        raise UnreadableInput(
            f"not a record: {error}",
            where=path,
            hint="Name a sealed record, such as abc.acr.json.",
        ) from error
    reference = _parse_journal_reference(record)
    if reference is None:
        return ["the record does not name a journal: vacr watch did not seal it"]
    covered = JournalCoverage(str(folder / CHECKPOINTS_FILE))
    deque(read_checkpoints(folder, covered), maxlen=0)
    if reference.identity != covered.identity:
        other = format_thumbprint_uri(reference.identity)
        return [f"the record was made from another journal: {other}"]
    name, digest = reference.name, hashlib.sha256(data).digest()
    if name in covered.retired:
        is_same = covered.retired[name] == digest
        return [] if is_same else [f"{name}: this deleted journal was sealed as another record"]
    if name not in list_session_journals(folder):
        return [f"{name}: the journal does not have this session"]
    required = covered.sessions.get(name, EMPTY_CHAIN_HEAD)
    return _check_reference(folder, reference, required, digest)


def _parse_journal_reference(record: Any) -> _JournalReference | None:
    """Return the journal that a decoded record names, or None if it does not name one."""
    try:
        reference = record["vacr"]["inputs"]["journal"]
        head = ChainHead(reference["frames"], bytes.fromhex(reference["head"]))
        identity = bytes.fromhex(reference["identity"])
        return _JournalReference(identity, str(reference["session"]), head)
    except (KeyError, TypeError, ValueError):
        return None


def _check_reference(
    folder: Path, reference: _JournalReference, required: ChainHead, digest: bytes
) -> list[str]:
    """Check that a session's journal had the record's head, and notes the record as sealed.

    `digest` is the SHA-256 of the record, and `required` the head that the checkpoints cover.
    Return the problems.

    Raises:
        BrokenJournal: the journal does not verify.
        OSError: the journal cannot be read.
    """
    name, head = reference.name, reference.head
    is_sealed, reached = False, EMPTY_CHAIN_HEAD
    scan, state = ChainScan(), SessionState(name)
    with get_session_journal_path(folder, name).open("rb") as file:
        for _, payload in read_frames(file, name, scan, required):
            note = state.decode_note(payload)
            state.apply_note(note)
            reached = scan.head if scan.head.frames == head.frames else reached
            is_sealed = is_sealed or (note["kind"] == "sealed" and note["record"] == digest)
    findings = []
    if reached != head:
        findings.append(f"{name}: the journal does not contain the frames that the record names")
    if not is_sealed:
        findings.append(f"{name}: the journal does not list this record as sealed")
    return findings
