"""Sealing for `vacr watch`: sessions that have ended, as the journal first saw them.

`make_copy_sealer` seals the journal's copy of a session once the session has ended, and the record
names the journal in `vacr.inputs`. A session that continues after that is sealed again, under the
next number:

    >>> from pathlib import Path
    >>> from vacr.workflows.watch import name_generation
    >>> name_generation(Path("sealed/abc.acr.json"), 2)
    PosixPath('sealed/abc.2.acr.json')

Every file reaches the disk before the next one is written. After a power cut there may be a record
without its statement, and the next run signs it. A statement never exists without its record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

from vacr.discovery import OpenedSession
from vacr.errors import UnreadableInput
from vacr.files import has_same_bytes, read_bytes, rewrite_and_sync, sync_folder_and_parents
from vacr.registration import (
    STATE_PENDING,
    STATE_REGISTERED,
    OutboxItem,
    Registrar,
    compute_entry_digest,
)
from vacr.workflows.record import RecordingOptions, read_place
from vacr.workflows.record_many import plan_file_task
from vacr.workflows.register import ServiceSettings
from vacr.workflows.seal import Sealer, UnsealedSession
from vacr.workflows.sign import SigningSettings
from vacr.workflows.statement_files import STATEMENT_SUFFIX


class SealedCopy(NamedTuple):
    """A sealed record of a session in the watcher's journal."""

    journal: str
    """The name of the session in the journal."""
    record: bytes
    """The SHA-256 of the record."""
    entry: bytes
    """The digest of its statement as an entry of a log."""
    path: Path
    """The file of the record."""


CopySealer = Callable[[str, Path, str | None, Mapping[str, dict[str, Any]]], list[SealedCopy]]
"""Seals the copy of a session: the agent, the copied file, the session in it, and the journals.

The journals map the SHA-256 of native files to the description of their journal for the record.
"""


def make_copy_sealer(
    signing: SigningSettings, registrar: Registrar | None, output: Path
) -> CopySealer:
    """Return a function that seals the copy of a session into the folder `output`.

    It returns the sealed records that belong to a journal, and raises UnreadableInput if the copy
    cannot be read.
    """
    sealer = Sealer(signing, registrar=registrar, choose_target=choose_unused_target, durable=True)

    def seal(
        agent: str, path: Path, session: str | None, journals: Mapping[str, dict[str, Any]]
    ) -> list[SealedCopy]:
        """Seal a copy of a session, and return the sealed records that belong to a journal.

        `journals` has the reference to a journal by the digest of a native file.

        Raises:
            UnreadableInput: the copy cannot be read.
        """
        opened: list[tuple[Path, OpenedSession]] = []
        options = RecordingOptions(agent=agent)
        task = plan_file_task(str(path), str(output / agent), None, options, session)
        outcome = read_place(task, lambda target, session: opened.append((target, session)))
        if outcome.errors:
            raise UnreadableInput(outcome.errors[0]["error"], where=agent)
        group, names = [], []
        for target, copy in opened:
            journal = _find_journal_input(copy, journals)
            inputs = {"journal": journal} if journal else {}
            record = cast("dict[str, Any]", copy.reading.record)
            group.append(UnsealedSession(str(path), record, target, copy.files, inputs=inputs))
            names.append(journal["session"] if journal else "")
        return [
            _persist_sealed_record(name, result.target)
            for name, result in zip(names, sealer.seal(group), strict=True)
            if name
        ]

    return seal


def choose_unused_target(target: Path, data: bytes) -> Path:
    """Return the first of `abc.acr.json`, `abc.2.acr.json`, … that is free or already has `data`.

    Writing `data` there replaces no other record, and no statement of another record.
    """
    candidates = (name_generation(target, number) for number in count(1))
    return next(path for path in candidates if _can_hold_record(path, data))


def _can_hold_record(path: Path, data: bytes) -> bool:
    """Return whether writing a record to a path replaces neither another record nor its statement.

    An existing statement must contain the digest of the record.
    """
    if path.exists() and not has_same_bytes(path, [data]):
        return False
    statement = path.with_name(path.name + STATEMENT_SUFFIX)
    return not statement.exists() or hashlib.sha256(data).digest() in read_bytes(statement)


def name_generation(target: Path, number: int) -> Path:
    """Return the file for a record that is sealed for the n-th time.

    The first file is `target`; for 2, `abc.acr.json` becomes `abc.2.acr.json`.
    """
    if number == 1:
        return target
    return target.with_name(target.name.replace(".acr", f".{number}.acr", 1))


def _find_journal_input(
    copy: OpenedSession, journals: Mapping[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the journal of a session, found by the digests of its native files, or None."""
    parts = copy.reading.record["vacr"]["source"]["parts"]
    digests = (part["sha-256"] for part in parts)
    return next((journals[digest] for digest in digests if digest in journals), None)


def _persist_sealed_record(journal: str, record: Path) -> SealedCopy:
    """Force a record and its statement to the disk, and return their digests.

    The journal may be deleted after that.

    Raises:
        OSError: the disk did not confirm the write.
    """
    statement = record.with_name(f"{record.name}{STATEMENT_SUFFIX}")
    for path in (record, statement):
        rewrite_and_sync(path)
    sync_folder_and_parents(record.parent)
    return SealedCopy(
        journal,
        hashlib.sha256(read_bytes(record)).digest(),
        bytes.fromhex(compute_entry_digest(read_bytes(statement))),
        record,
    )


def make_pending_registration(
    services: ServiceSettings, url: str, tell: Callable[[str], None]
) -> Callable[[], None]:
    """Return a function that registers the items of the outbox for the service at a URL.

    It stops at the first item if the service cannot be reached; `tell` gets each success.
    """

    def register() -> None:
        """Register the items of the outbox for the service; errors do not raise."""
        for item in services.outbox.items():
            if not isinstance(item, OutboxItem) or item.service != url.rstrip("/"):
                continue
            outcome = services.registrar(url).finish(item)
            if outcome.state == STATE_REGISTERED:
                tell(f"registered: {item.statement}")
            if outcome.state == STATE_PENDING:
                return  # The service is still unreachable.

    return register
