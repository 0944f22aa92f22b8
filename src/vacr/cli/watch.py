"""`vacr watch`: capture the sessions of all agents on this machine, as they happen.

The watcher itself is in `vacr.capture`, and sealing in `vacr.workflows.seal`. This module
connects them and shows the sessions, as a table on a terminal and as lines elsewhere:

    >>> import time
    >>> from vacr.cli.watch import _format_age
    >>> _format_age(time.time() - 300)
    '5 min'
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.capture import (
    SPOOL_FOLDER,
    ChainHead,
    CheckpointAnchoring,
    FileChanges,
    FollowedSession,
    Journal,
    RetentionLimits,
    SealedRecord,
    SealFunction,
    SealingQueue,
    SessionCopy,
    Watcher,
    WatchSettings,
    count_record_entries,
    list_agent_roots,
)
from vacr.cli.options import (
    PATH,
    NumberRange,
    Verb,
    complete_agent,
    load_service_settings,
    load_signing_settings,
    pop_signing_options,
    service_options,
    signing_options,
    voice_options,
)
from vacr.console import Voice, print_message
from vacr.errors import UsageError, VacrError, escape_unprintable
from vacr.files import find_state_folder
from vacr.registration import Registrar, RegistrationClient
from vacr.signing import format_thumbprint_uri
from vacr.workflows import (
    SigningSettings,
    ensure_machine_key,
    format_count,
    make_copy_sealer,
    make_pending_registration,
)

_DAY_SECONDS = 86_400.0
_OWNER_ONLY_MODE = 0o700
_EXIT_FAILED = 3
_MAX_SESSIONS_SHOWN = 20
_REPORT_INTERVAL_SECONDS = 10.0
"""Seconds between two lines about the same session."""
_COUNTING_PAUSE_FACTOR = 20
_MINUTES_FROM_SECONDS, _HOURS_FROM_SECONDS = 120, 7200
"""Ages from which minutes, and hours, are shown."""


@click.command(cls=Verb)
@click.option(
    "--agent",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_agent,
    help="Capture only sessions of this agent; repeatable.",
)
@click.option("--no-ui", is_flag=True, help="Print one line per event instead of a live table.")
@click.option(
    "--all", is_flag=True, help="Also capture sessions that have not changed in the last day."
)
@click.option(
    "--once", is_flag=True, help="Capture the present state, seal ended sessions, and exit."
)
@click.option("--poll", is_flag=True, help="Poll for changes; needed for network folders.")
@click.option("--no-seal", is_flag=True, help="Capture sessions without sealing them.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=PATH,
    help="Folder for sealed records.  [default: sealed/ in the state folder]",
)
@click.option(
    "--quiet-after",
    metavar="MINUTES",
    type=NumberRange(0),
    default=30,
    show_default=True,
    help="Treat a session as ended after this time without changes.",
)
@click.option(
    "--checkpoint",
    metavar="SECONDS",
    type=NumberRange(0),
    default=10,
    show_default=True,
    help="Time between two signed checkpoints of the journal.",
)
@click.option(
    "--epoch",
    metavar="HOURS",
    type=NumberRange(0),
    default=24,
    show_default=True,
    help="Lifetime of each key that signs checkpoints of the journal.",
)
@click.option(
    "--anchor",
    metavar="SECONDS",
    type=NumberRange(0),
    default=60,
    show_default=True,
    help="With --service, register a checkpoint of the journal at this interval.",
)
@click.option(
    "--keep",
    metavar="DAYS",
    type=NumberRange(0),
    help="Delete the journal of a session this many days after sealing it.  [default: never]",
)
@click.option(
    "--limit",
    metavar="MB",
    type=NumberRange(0),
    help="Delete the oldest sealed journals above this total size.  [default: none]",
)
@click.option(
    "--service",
    metavar="URL",
    help="Transparency log for checkpoints and records.  [default: none]",
)
@partial(signing_options, key_required=False)
@service_options
@voice_options
def command(
    agent: tuple[str, ...],
    no_ui: bool,
    all: bool,
    once: bool,
    poll: bool,
    no_seal: bool,
    output: str | None,
    quiet_after: float,
    checkpoint: float,
    epoch: float,
    anchor: float,
    keep: float | None,
    limit: float | None,
    service: str | None,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Capture the sessions of all agents on this machine, as they happen.

    The sessions are written to a tamper-evident journal. Hooks are not needed; if they are
    installed, their events are captured too. When a session has ended, vacr seals it from the
    journal, as `vacr seal` does. Stop with Ctrl-C: captured data is safe, and the next run
    continues from there. Without --key, vacr creates and uses a key of this machine.

    \b
    Example:
      vacr watch
      vacr watch --no-ui --service https://log.example.org --key keys/signing.pem
      vacr watch --once
    """
    voice = Voice(format, quiet, verbose)
    state = find_state_folder(os.environ)
    roots = list_agent_roots(agent)
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"{output} is not a folder", hint="Name a folder with -o, or omit -o.")
    signing = pop_signing_options(options)
    # A wrong key is reported before the watch starts.
    named_settings = load_signing_settings(**signing) if signing["key"] and not no_seal else None
    journal = Journal(state / "journal")
    with contextlib.closing(journal):
        services = load_service_settings(**options)
        table = _WatchTable(voice, journal, shown=not no_ui and not once)
        settings = WatchSettings(
            checkpoint,
            epoch=epoch * 3600,
            quiet=quiet_after * 60,
            settling=0.0 if once else WatchSettings.settling,
            since=0.0 if all else _choose_start_time(journal),
        )
        sealing = None
        if not no_seal:
            signing_settings = named_settings or load_signing_settings(
                **{**signing, "key": ensure_machine_key(state)}
            )
            registrar = services.registrar(service) if service is not None else None
            (state / "sealed").mkdir(_OWNER_ONLY_MODE, exist_ok=True)
            sealing = SealingQueue(
                journal,
                _make_sealer(
                    signing_settings, registrar, Path(output) if output else state / "sealed"
                ),
                table.print_remark,
            )
        anchoring = None
        if service is not None:
            client = RegistrationClient(service, services.access)
            anchoring = CheckpointAnchoring(
                client,
                services.log_keys,
                anchor,
                table.print_remark,
                make_pending_registration(services, service, table.print_remark),
            )
        watcher = Watcher(
            journal,
            roots,
            state,
            settings,
            sealing=sealing,
            anchoring=anchoring,
            limits=RetentionLimits.of(keep, limit),
            report=table.print_remark,
        )
        identity = format_thumbprint_uri(journal.covered.identity)
        voice.notice(f"Journal: {journal.folder}, identity {identity}")
        changes = FileChanges(
            [*(root.path for root in roots), state / SPOOL_FOLDER],
            polling=poll,
            report=table.print_remark,
        )
        with table.showing(watcher), _stop_on_signals(changes):
            for changed in changes:
                watcher.step(changed)
                table.refresh(watcher)
                if once:
                    break
            watcher.finish()
            table.refresh(watcher, is_last=True)
    if once and not watcher.capturing.followed:
        voice.notice(
            "No session has changed in the last day or since the last watch. To capture older "
            "sessions, add --all."
        )
    voice.data(
        {"journal": str(journal.folder), "identity": identity, "sessions": table.rows(watcher)}
    )
    # A running watch tries again. With --once, which a timer may run, the exit code reports it.
    return _EXIT_FAILED if once and watcher.fails else 0


def _make_sealer(
    signing: SigningSettings, registrar: Registrar | None, output: Path
) -> SealFunction:
    """Return the function that the watcher calls to seal a session into the folder `output`.

    Without a registrar, records are signed but not registered.
    """
    seal = make_copy_sealer(signing, registrar, output)

    def seal_copy(agent: str, copy: SessionCopy) -> list[SealedRecord]:
        """Seal a copy of a session, and return its records."""
        sealed = seal(agent, copy.path, copy.session, copy.inputs)
        return [SealedRecord(*facts) for facts in sealed]

    return seal_copy


def _choose_start_time(journal: Journal) -> float:
    """Return the time, in seconds since 1970, since which a captured session must have changed.

    It is the earlier of two times: the last checkpoint of the journal, and a day ago.
    """
    last = journal.covered.last
    seen = last.time / 1000 if last is not None and last.number else time.time() - _DAY_SECONDS
    return min(seen, time.time() - _DAY_SECONDS)


@contextlib.contextmanager
def _stop_on_signals(changes: FileChanges) -> Iterator[None]:
    """Within the block, end the iteration over changes on Ctrl-C or a termination signal."""

    def stop(*_: object) -> None:
        """End the iteration over changes."""
        changes.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    if sys.platform != "win32":
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _WatchTable:
    """The captured sessions, as a table on a terminal and as lines elsewhere."""

    def __init__(self, voice: Voice, journal: Journal, *, shown: bool) -> None:
        """Take the output and the journal; show a table if `shown`, and if there is a terminal."""
        self._voice, self._journal = voice, journal
        self._shown = (
            shown
            and not voice.quiet
            and not voice.json
            and sys.stdout.isatty()
            and os.environ.get("TERM") != "dumb"
        )
        self._live: Any = None
        self._reported: dict[str, tuple[int, float]] = {}
        self._entries = _EntryCounter(journal)

    def print_remark(self, text: str) -> None:
        """Print a remark with the current time, above the table if there is one."""
        text = f"{time.strftime('%H:%M:%S')} {escape_unprintable(text)}"
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        elif not self._voice.quiet:
            print_message(text)

    @contextlib.contextmanager
    def showing(self, watcher: Watcher) -> Iterator[None]:
        """Show the table while the block runs; without a table, do nothing."""
        if not self._shown:
            yield
            return
        from rich.live import Live

        with Live(self._draw(watcher), auto_refresh=False) as self._live:
            yield

    def refresh(self, watcher: Watcher, *, is_last: bool = False) -> None:
        """Update the table; without one, print a line about each session with new entries.

        A line about the same session follows after ten seconds at the earliest, unless `is_last`.
        """
        if self._live is not None:
            self._live.update(self._draw(watcher), refresh=True)
            return
        if self._voice.quiet:
            return
        now = time.monotonic()
        for name, session in watcher.capturing.followed.items():
            count_before, printed_at = self._reported.get(name, (0, 0.0))
            if not is_last and printed_at and now - printed_at < _REPORT_INTERVAL_SECONDS:
                continue
            entries = self._entries.count(session, exactly=is_last)
            if not printed_at or entries != count_before:
                self.print_remark(
                    f"{session.place.agent}: {session.project or session.place.path}: "
                    f"{format_count(entries, 'entry')}"
                )
                self._reported[name] = (entries, now)

    def rows(self, watcher: Watcher) -> list[dict[str, Any]]:
        """Return facts about each captured session for JSON output."""
        return [
            {
                "agent": session.place.agent,
                "path": str(session.place.path),
                "session": session.place.session or None,
                "journal": session.journal,
                "project": session.project,
                "entries": self._entries.count(session, exactly=True),
                "anchored": self._format_anchor(session),
            }
            for session in watcher.capturing.followed.values()
        ]

    def _draw(self, watcher: Watcher) -> Any:
        """Return the table, for `rich`, of the sessions that changed last."""
        from rich.table import Table as Drawn
        from rich.text import Text

        table = Drawn(
            "agent", "project", "entries", "last change", "last anchor", box=None, pad_edge=False
        )
        recent = sorted(watcher.capturing.followed.values(), key=lambda session: -session.changed)
        for session in recent[:_MAX_SESSIONS_SHOWN]:
            entries = str(self._entries.count(session))
            cells = (
                session.place.agent,
                session.project or session.place.path.name,
                entries,
                _format_age(session.changed),
                self._format_anchor(session),
            )
            table.add_row(*(Text(escape_unprintable(cell)) for cell in cells))
        if len(recent) > _MAX_SESSIONS_SHOWN:
            table.caption = f"and {len(recent) - _MAX_SESSIONS_SHOWN} more"
        if not recent:
            table.caption = "no sessions yet"
        return table

    def _format_anchor(self, session: FollowedSession) -> str:
        """Return the checkpoint that covers a session: `#7` if a log has it, else `(checkpoint 7)`.

        Return an empty text if no checkpoint covers the session yet.
        """
        covered = self._journal.covered
        checkpoint = covered.where_covered.get(session.journal)
        if checkpoint is None:
            return ""
        anchor = next((anchor for anchor in covered.anchors if anchor.number >= checkpoint), None)
        return f"#{anchor.number}" if anchor is not None else f"(checkpoint {checkpoint})"


class _EntryCounter:
    """Counts the entries of sessions, without reading a session again each time it changes."""

    def __init__(self, journal: Journal) -> None:
        """Take the journal that contains the sessions."""
        self._journal = journal
        self._known: dict[str, tuple[ChainHead, int, float]] = {}

    def count(self, session: FollowedSession, *, exactly: bool = False) -> int:
        """Return the number of entries of a session.

        In a file that only grows, each line is an entry. A file that its agent rewrites must be
        read again; unless `exactly`, an older count is returned while that would take too long.
        """
        if not session.is_rewritten:
            return session.lines
        head, entries, due = self._known.get(session.journal, (None, 0, 0.0))
        began = time.monotonic()
        if head == session.head or (began < due and not exactly):
            return entries
        with contextlib.suppress(VacrError):
            parts = self._journal.session(session.journal).state.parts
            count = count_record_entries(
                session.place.agent,
                [(part.name, bytes(part.content.loaded or b"")) for part in parts],
            )
            entries = entries if count is None else count
        now = time.monotonic()
        self._known[session.journal] = (
            session.head,
            entries,
            now + _COUNTING_PAUSE_FACTOR * (now - began),
        )
        return entries


def _format_age(moment: float) -> str:
    """Return the time since a moment, rounded down: up to `119 s`, then to `119 min`, then in `h`.

    A moment in the future counts as now: `0 s`.
    """
    passed = max(0, int(time.time() - moment))
    if passed < _MINUTES_FROM_SECONDS:
        return f"{passed} s"
    if passed < _HOURS_FROM_SECONDS:
        return f"{passed // 60} min"
    return f"{passed // 3600} h"
