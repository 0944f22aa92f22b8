"""Whether a journal still holds: its checkpoints, the anchors, and each of its sessions. Changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from vacr.capture.checking_sessions import Checked, Current, check_session
from vacr.capture.covered import Anchor, Covered, covered_by
from vacr.capture.epoch_keys import EpochKeys
from vacr.capture.frames import NOTHING, Broken, Scan
from vacr.capture.layout import CHECKPOINTS, names
from vacr.errors import InvalidStatement, UnreadableInput
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.signing.sign1 import parse
from vacr.sources.files import reason_of
from vacr.verification.checks import Checks
from vacr.verification.policy import Policy
from vacr.verification.receipts import check_receipts


def check(
    folder: Path,
    *,
    log_keys: Sequence[PublicKey] = (),
    current: Current | None = None,
    progress: Callable[[str], None] = lambda _name: None,
) -> Checked:
    """Check a journal, and with `current` the transcripts that it was made from.

    Raises:
        UnreadableInput: there is no journal, or it cannot be read.
    """
    checked = Checked()
    covered = _check_checkpoints(folder, checked, log_keys)
    there = list(names(folder))
    known = EpochKeys(folder).known()
    missing = sorted(set(covered.sessions) - set(there))
    if missing or (known and not _is_signed_by(covered, known)):
        # A watcher may have gone on meanwhile.
        covered, there = _now(folder, covered), list(names(folder))
        missing = sorted(set(covered.sessions) - set(there))
    for name in missing:
        checked.findings.append(
            f"{name}: the journal of {covered.sessions[name].frames} frames is missing"
        )
    if known and not _is_signed_by(covered, known | EpochKeys(folder).known()):
        checked.findings.append(
            "the key that is there is not the one that the last checkpoint names: later ones "
            "are missing"
        )
    for name in there:
        progress(name)
        if name in covered.retired:
            checked.notices.append(f"{name}: is sealed and was to be deleted, and is still there")
            continue
        check_session(folder, name, covered.sessions.get(name, NOTHING), checked, current)
    checked.sessions, checked.retired = len(there), len(covered.retired)
    return checked


# --- checkpoints ---


def _check_checkpoints(folder: Path, checked: Checked, log_keys: Sequence[PublicKey]) -> Covered:
    covered = Covered(str(folder / CHECKPOINTS))
    scan = Scan()
    try:
        for taken in covered_by(folder, covered, scan):
            if isinstance(taken, Anchor):
                _check_anchor(taken, log_keys, checked)
        if scan.torn:
            told = (
                f"{scan.torn} bytes at the end are half a frame, which the next vacr watch cuts off"
            )
            checked.notices.append(f"{CHECKPOINTS}: {told}")
    except Broken as error:
        checked.findings.append(str(error))
    except OSError as error:
        if not any(names(folder)):
            raise UnreadableInput(
                reason_of(error), where=str(folder / CHECKPOINTS), hint="vacr watch makes one."
            ) from error
        checked.findings.append(
            f"{CHECKPOINTS}: {reason_of(error)}, though there are journals of sessions"
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


def _now(folder: Path, before: Covered) -> Covered:
    """Give what the checkpoints add up to now, unless they do not hold: then what they did before
    counts.
    """
    covered = Covered(before.where)
    try:
        for _ in covered_by(folder, covered):
            pass
    except (Broken, OSError):
        return before
    return covered


def _is_signed_by(covered: Covered, known: set[bytes]) -> bool:
    """Tell whether one of the keys is that of this epoch, if there is an epoch."""
    return covered.key is None or keys.thumbprint(covered.key) in known


def _check_anchor(anchor: Anchor, log_keys: Sequence[PublicKey], checked: Checked) -> None:
    if not log_keys:
        return
    checks = Checks()
    try:
        check_receipts(
            parse(anchor.statement), Policy(log_keys=tuple(log_keys)), datetime.now(UTC), checks
        )
        checked.anchored = anchor.number
    except InvalidStatement as error:
        checked.findings.append(f"the anchor of checkpoint {anchor.number}: {error.message}")
