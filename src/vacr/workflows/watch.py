"""Sealing for `vacr watch`: sessions of the journal become sealed records on the disk.

The journal keeps what was first seen of a session. When the session has ended, its copy is sealed,
and the record names the journal in `vacr.inputs`. A session that goes on after that is sealed
again, under the next number:

    >>> from pathlib import Path
    >>> from vacr.workflows.watch import choose_unused_target, name_generation
    >>> choose_unused_target(Path("sealed/abc.acr.json"), b"{}")
    PosixPath('sealed/abc.acr.json')
    >>> name_generation(Path("sealed/abc.acr.json"), 2)
    PosixPath('sealed/abc.2.acr.json')
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
from vacr.workflows.record_files import STATEMENT_SUFFIX
from vacr.workflows.record_many import plan_file_task
from vacr.workflows.register import ServiceSettings
from vacr.workflows.seal import Sealer, UnsealedSession
from vacr.workflows.sign import SigningSettings


class SealedCopy(NamedTuple):
    """A sealed record: the journal of its session, the digests of record and entry, its file."""

    journal: str
    record: bytes
    entry: bytes
    path: Path


CopySealer = Callable[[str, Path, str | None, Mapping[str, dict[str, Any]]], list[SealedCopy]]
"""Seals the copy of an agent's session; the last argument has what a record says about its journal,
by the digests of the files that the record is made of.
"""


def make_copy_sealer(
    signing: SigningSettings, registrar: Registrar | None, output: Path
) -> CopySealer:
    """Return the function that seals the copy of a session into a folder."""
    sealer = Sealer(signing, registrar=registrar, choose_target=choose_unused_target)

    def seal(
        agent: str, path: Path, session: str | None, journals: Mapping[str, dict[str, Any]]
    ) -> list[SealedCopy]:
        opened: list[tuple[Path, OpenedSession]] = []
        options = RecordingOptions(agent=agent)
        task = plan_file_task(str(path), str(output / agent), None, options, session)
        outcome = read_place(task, lambda target, found: opened.append((target, found)))
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


def make_pending_registration(
    services: ServiceSettings, url: str, tell: Callable[[str], None]
) -> Callable[[], None]:
    """Return the function that registers what waits in the outbox for a service."""

    def register() -> None:
        for item in services.outbox.items():
            if not isinstance(item, OutboxItem) or item.service != url.rstrip("/"):
                continue
            outcome = services.registrar(url).finish(item)
            if outcome.state == STATE_REGISTERED:
                tell(f"registered: {item.statement}")
            if outcome.state == STATE_PENDING:
                return  # The service is still not there.

    return register


def choose_unused_target(target: Path, data: bytes) -> Path:
    """Return the first numbered file that does not exist, or already holds the same bytes."""
    candidates = (name_generation(target, number) for number in count(1))
    return next(path for path in candidates if not path.exists() or has_same_bytes(path, [data]))


def name_generation(target: Path, number: int) -> Path:
    """Return the file for the record of a session that was sealed for the n-th time."""
    if number == 1:
        return target
    return target.with_name(target.name.replace(".acr", f".{number}.acr", 1))


def _find_journal_input(
    copy: OpenedSession, journals: Mapping[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the part of a record about the journal, by the digests of the record's files."""
    parts = copy.reading.record["vacr"]["source"]["parts"]
    digests = (part["sha-256"] for part in parts)
    return next((journals[digest] for digest in digests if digest in journals), None)


def _persist_sealed_record(journal: str, record: Path) -> SealedCopy:
    """Force a record and its statement to the disk: the journal may be deleted after that.

    Raises:
        OSError: that failed.
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
