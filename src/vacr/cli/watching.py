"""What `vacr watch` shows, and how it seals."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from vacr.attribution import JointRecords
from vacr.capture import (
    ChainHead,
    FollowedSession,
    Journal,
    SealedRecord,
    SealFunction,
    SessionCopy,
    Watcher,
    count_record_entries,
)
from vacr.cli.options import Voice, format_count
from vacr.cli.sealed import Sealer, SealResult, UnsealedRecord
from vacr.cli.services import ServiceSettings
from vacr.cli.statements import SigningSettings
from vacr.cli.streams import print_message
from vacr.errors import UnreadableInput, VacrError, escape_unprintable
from vacr.files import has_same_bytes, read_bytes, rewrite_and_sync, sync_folder_and_parents
from vacr.record import decode, encode
from vacr.registration import (
    STATE_PENDING,
    STATE_REGISTERED,
    OutboxItem,
    Registrar,
    compute_entry_digest,
)
from vacr.workflows import STATEMENT_SUFFIX, RecordingOptions, plan_file_task, record_place

_MAX_SESSIONS_SHOWN = 20
_REPORT_INTERVAL_SECONDS = 10.0
"""Seconds between two lines about the same session."""
_COUNTING_PAUSE_FACTOR = 20


def make_pending_registration(
    services: ServiceSettings, url: str, tell: Callable[[str], None]
) -> Callable[[], None]:
    """Give what registers the statements that wait in the outbox for a service."""

    def register() -> None:
        for item in services.outbox.items():
            if not isinstance(item, OutboxItem) or item.service != url.rstrip("/"):
                continue
            outcome = services.registrar(url).finish(item)
            if outcome.state == STATE_REGISTERED:
                tell(f"registered: {item.statement}")
            if outcome.state == STATE_PENDING:
                return

    return register


def make_session_sealer(
    signing: SigningSettings, registrar: Registrar | None, output: Path, voice: Voice
) -> SealFunction:
    """Give what seals a session into a folder."""
    sealer = _NumberingSealer(
        signing, None, registrar, overwrite=False, voice=Voice(voice.format, quiet=True, verbose=0)
    )

    def sealed(agent: str, copy: SessionCopy) -> list[SealedRecord]:
        wish = RecordingOptions(agent=agent)
        outcome = record_place(
            plan_file_task(str(copy.path), str(copy.work / "records"), None, wish, copy.session)
        )
        if outcome.errors:
            raise UnreadableInput(outcome.errors[0]["error"], where=agent)
        together = []
        names = []
        for path in (Path(record["output"]) for record in outcome.records):
            parts = decode(read_bytes(path))["vacr"]["source"]["parts"]
            said = next(
                (copy.inputs[part["sha-256"]] for part in parts if part["sha-256"] in copy.inputs),
                None,
            )
            names.append(said["session"] if said else "")
            together.append(
                UnsealedRecord(
                    str(copy.path),
                    path,
                    output / agent / path.name,
                    {"journal": said} if said else {},
                )
            )
        return [
            _persist_sealed_record(name, one.one.target)
            for name, one in zip(names, sealer.seal(together), strict=True)
            if name
        ]

    return sealed


def _persist_sealed_record(journal: str, record: Path) -> SealedRecord:
    """Have a sealed record on the disk, with its statement: once the journal notes it, the journal
    may be deleted.

    Raises:
        OSError: that failed.
    """
    statement = record.with_name(f"{record.name}{STATEMENT_SUFFIX}")
    for path in (record, statement):
        rewrite_and_sync(path)
    sync_folder_and_parents(record.parent)
    return SealedRecord(
        journal,
        _hash_file(record),
        bytes.fromhex(compute_entry_digest(read_bytes(statement))),
        record,
    )


class _NumberingSealer(Sealer):
    """Seals a session that went on after it was sealed beside what it was; what was sealed as it
    is, is not sealed again.
    """

    def _one(self, one: UnsealedRecord, record: dict[str, Any], joint: JointRecords) -> SealResult:
        data = encode(record)
        number = 1
        while True:
            target = one.target.with_name(
                one.target.name.replace(".acr", f".{number}.acr" if number > 1 else ".acr", 1)
            )
            if not target.exists() or has_same_bytes(target, [data]):
                return super()._one(replace(one, target=target), record, joint)
            number += 1


def _hash_file(path: Path) -> bytes:
    return hashlib.sha256(read_bytes(path)).digest()


class WatchTable:
    """The sessions that are followed, on a terminal; elsewhere a line for what happens."""

    def __init__(self, voice: Voice, journal: Journal, *, shown: bool) -> None:
        """Say where it is shown."""
        self._voice, self._journal = voice, journal
        self._shown = (
            shown
            and not voice.quiet
            and not voice.json
            and sys.stdout.isatty()
            and os.environ.get("TERM") != "dumb"
        )
        self._live: Any = None
        self._told: dict[str, tuple[int, float]] = {}
        self._entries = EntryCounter(journal)

    def tell(self, text: str) -> None:
        """Tell something; above the table, where there is one."""
        text = f"{time.strftime('%H:%M:%S')} {escape_unprintable(text)}"
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        elif not self._voice.quiet:
            print_message(text)

    @contextlib.contextmanager
    def showing(self, watcher: Watcher) -> Iterator[None]:
        """Show the table meanwhile."""
        if not self._shown:
            yield
            return
        from rich.live import Live

        with Live(self._drawn(watcher), auto_refresh=False) as self._live:
            yield

    def refresh(self, watcher: Watcher, *, is_last: bool = False) -> None:
        """Show what has changed; without a table, a session is told of at once, and then now and
        again.
        """
        if self._live is not None:
            self._live.update(self._drawn(watcher), refresh=True)
            return
        if self._voice.quiet:
            return
        now = time.monotonic()
        for name, one in watcher.capturing.followed.items():
            told, when = self._told.get(name, (0, 0.0))
            if not is_last and when and now - when < _REPORT_INTERVAL_SECONDS:
                continue
            entries = self._entries.of(one, exactly=is_last)
            if not when or entries != told:
                self.tell(
                    f"{one.place.agent}: {one.project or one.place.path}: "
                    f"{format_count(entries, 'entry')}"
                )
                self._told[name] = (entries, now)

    def rows(self, watcher: Watcher) -> list[dict[str, Any]]:
        """Give the sessions for programs."""
        return [
            {
                "agent": one.place.agent,
                "path": str(one.place.path),
                "session": one.place.session or None,
                "journal": one.journal,
                "project": one.project,
                "entries": self._entries.of(one, exactly=True),
                "anchored": self._anchored(one),
            }
            for one in watcher.capturing.followed.values()
        ]

    def _drawn(self, watcher: Watcher) -> Any:
        from rich.table import Table as Drawn
        from rich.text import Text

        table = Drawn(
            "agent", "project", "entries", "last change", "last anchor", box=None, pad_edge=False
        )
        recent = sorted(watcher.capturing.followed.values(), key=lambda one: -one.changed)
        for one in recent[:_MAX_SESSIONS_SHOWN]:
            entries = str(self._entries.of(one))
            cells = (
                one.place.agent,
                one.project or one.place.path.name,
                entries,
                _format_age(one.changed),
                self._anchored(one),
            )
            table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))
        if len(recent) > _MAX_SESSIONS_SHOWN:
            table.caption = f"and {len(recent) - _MAX_SESSIONS_SHOWN} more"
        if not recent:
            table.caption = "no session yet"
        return table

    def _anchored(self, one: FollowedSession) -> str:
        covered = self._journal.covered
        checkpoint = covered.where_covered.get(one.journal)
        if checkpoint is None:
            return ""
        anchor = next((anchor for anchor in covered.anchors if anchor.number >= checkpoint), None)
        return f"#{anchor.number}" if anchor is not None else f"(checkpoint {checkpoint})"


class EntryCounter:
    """How many entries sessions have: those of a transcript that only grows are its lines, all else
    is read for it.
    """

    def __init__(self, journal: Journal) -> None:
        """Say where they are captured."""
        self._journal = journal
        self._known: dict[str, tuple[ChainHead, int, float]] = {}

    def of(self, one: FollowedSession, *, exactly: bool = False) -> int:
        """Count the entries of a session; unless it has to be exact, reading takes no more than a
        twentieth of the time.
        """
        if not one.is_rewritten:
            return one.lines
        head, entries, due = self._known.get(one.journal, (None, 0, 0.0))
        began = time.monotonic()
        if head == one.head or (began < due and not exactly):
            return entries
        with contextlib.suppress(VacrError):
            parts = self._journal.session(one.journal).state.parts
            found = count_record_entries(
                one.place.agent, [(part.name, bytes(part.content.held or b"")) for part in parts]
            )
            entries = entries if found is None else found
        now = time.monotonic()
        self._known[one.journal] = (one.head, entries, now + _COUNTING_PAUSE_FACTOR * (now - began))
        return entries


def _format_age(moment: float) -> str:
    passed = max(0, int(time.time() - moment))
    return (
        f"{passed} s"
        if passed < 120  # noqa: PLR2004
        else f"{passed // 60} min"
        if passed < 7200  # noqa: PLR2004
        else f"{passed // 3600} h"
    )
