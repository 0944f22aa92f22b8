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

from vacr import codec
from vacr.attribution.checking import Joint
from vacr.capture.followed import Followed
from vacr.capture.frames import Head
from vacr.capture.journal import Journal
from vacr.capture.sayings import entries_in
from vacr.capture.sealing import Copy, Seal, SealedRecord
from vacr.capture.watcher import Watcher
from vacr.cli.options import Voice, plural
from vacr.cli.sealed import Recorded, Sealed, Sealer
from vacr.cli.services import Services
from vacr.cli.statements import Signing
from vacr.cli.streams import print_message
from vacr.errors import UnreadableInput, VacrError, printable
from vacr.log import durable
from vacr.log.outbox import Item, digest_of
from vacr.log.registering import PENDING, REGISTERED, Registrar
from vacr.recording import plan
from vacr.recording.files import same, sync_path
from vacr.recording.tasks import Wish
from vacr.recording.work import record_place
from vacr.sources.files import read_bytes
from vacr.sources.statements import COSE

_SHOWN = 20
_PAUSE = 10.0
"""Seconds between two lines about the same session."""
_SHARE = 20


def pending(services: Services, url: str, tell: Callable[[str], None]) -> Callable[[], None]:
    """Give what registers the statements that wait in the outbox for a service."""

    def register() -> None:
        for item in services.outbox.items():
            if not isinstance(item, Item) or item.service != url.rstrip("/"):
                continue
            outcome = services.registrar(url).finish(item)
            if outcome.state == REGISTERED:
                tell(f"registered: {item.statement}")
            if outcome.state == PENDING:
                return

    return register


def seal(signing: Signing, registrar: Registrar | None, output: Path, voice: Voice) -> Seal:
    """Give what seals a session into a folder."""
    sealer = _Beside(
        signing, None, registrar, overwrite=False, voice=Voice(voice.format, quiet=True, verbose=0)
    )

    def sealed(agent: str, copy: Copy) -> list[SealedRecord]:
        wish = Wish(agent=agent)
        outcome = record_place(
            plan.file_task(str(copy.path), str(copy.work / "records"), None, wish, copy.session)
        )
        if outcome.errors:
            raise UnreadableInput(outcome.errors[0]["error"], where=agent)
        together = []
        names = []
        for path in (Path(record["output"]) for record in outcome.records):
            parts = codec.decode(read_bytes(path))["vacr"]["source"]["parts"]
            said = next(
                (copy.inputs[part["sha-256"]] for part in parts if part["sha-256"] in copy.inputs),
                None,
            )
            names.append(said["session"] if said else "")
            together.append(
                Recorded(
                    str(copy.path),
                    path,
                    output / agent / path.name,
                    {"journal": said} if said else {},
                )
            )
        return [
            _kept(name, one.one.target)
            for name, one in zip(names, sealer.seal(together), strict=True)
            if name
        ]

    return sealed


def _kept(journal: str, record: Path) -> SealedRecord:
    """Have a sealed record on the disk, with its statement: once the journal notes it, the journal
    may be deleted.

    Raises:
        OSError: that failed.
    """
    statement = record.with_name(f"{record.name}{COSE}")
    for path in (record, statement):
        durable.write_again(path)
    sync_path(record.parent)
    return SealedRecord(
        journal, _digest(record), bytes.fromhex(digest_of(read_bytes(statement))), record
    )


class _Beside(Sealer):
    """Seals a session that went on after it was sealed beside what it was; what was sealed as it
    is, is not sealed again.
    """

    def _one(self, one: Recorded, record: dict[str, Any], joint: Joint) -> Sealed:
        data = codec.encode(record)
        number = 1
        while True:
            target = one.target.with_name(
                one.target.name.replace(".acr", f".{number}.acr" if number > 1 else ".acr", 1)
            )
            if not target.exists() or same(target, [data]):
                return super()._one(replace(one, target=target), record, joint)
            number += 1


def _digest(path: Path) -> bytes:
    return hashlib.sha256(read_bytes(path)).digest()


class Table:
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
        self._entries = Entries(journal)

    def tell(self, text: str) -> None:
        """Tell something; above the table, where there is one."""
        text = f"{time.strftime('%H:%M:%S')} {printable(text)}"
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
            if not is_last and when and now - when < _PAUSE:
                continue
            entries = self._entries.of(one, exactly=is_last)
            if not when or entries != told:
                self.tell(
                    f"{one.place.agent}: {one.project or one.place.path}: "
                    f"{plural(entries, 'entry')}"
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
        for one in recent[:_SHOWN]:
            entries = str(self._entries.of(one))
            cells = (
                one.place.agent,
                one.project or one.place.path.name,
                entries,
                _ago(one.changed),
                self._anchored(one),
            )
            table.add_row(*(Text(printable(cell)) for cell in cells))
        if len(recent) > _SHOWN:
            table.caption = f"and {len(recent) - _SHOWN} more"
        if not recent:
            table.caption = "no session yet"
        return table

    def _anchored(self, one: Followed) -> str:
        covered = self._journal.covered
        checkpoint = covered.where_covered.get(one.journal)
        if checkpoint is None:
            return ""
        anchor = next((anchor for anchor in covered.anchors if anchor.number >= checkpoint), None)
        return f"#{anchor.number}" if anchor is not None else f"(checkpoint {checkpoint})"


class Entries:
    """How many entries sessions have: those of a transcript that only grows are its lines, all else
    is read for it.
    """

    def __init__(self, journal: Journal) -> None:
        """Say where they are captured."""
        self._journal = journal
        self._known: dict[str, tuple[Head, int, float]] = {}

    def of(self, one: Followed, *, exactly: bool = False) -> int:
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
            found = entries_in(
                one.place.agent, [(part.name, bytes(part.content.held or b"")) for part in parts]
            )
            entries = entries if found is None else found
        now = time.monotonic()
        self._known[one.journal] = (one.head, entries, now + _SHARE * (now - began))
        return entries


def _ago(moment: float) -> str:
    passed = max(0, int(time.time() - moment))
    return (
        f"{passed} s"
        if passed < 120  # noqa: PLR2004
        else f"{passed // 60} min"
        if passed < 7200  # noqa: PLR2004
        else f"{passed // 3600} h"
    )
