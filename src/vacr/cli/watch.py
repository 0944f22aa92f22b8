"""`vacr watch`: follow the sessions of all agents on this machine, as they happen."""

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
    CheckpointAnchoring,
    FileChanges,
    Journal,
    RetentionLimits,
    SealingQueue,
    Watcher,
    WatchSettings,
    list_agent_roots,
)
from vacr.cli.machine_keys import ensure_machine_key
from vacr.cli.options import PATH, NumberRange, Voice, complete_agent, voice_options
from vacr.cli.services import ServiceSettings, service_options
from vacr.cli.statements import SigningSettings, signing_options
from vacr.cli.watching import WatchTable, make_pending_registration, make_session_sealer
from vacr.errors import UsageError
from vacr.files import find_state_folder
from vacr.registration import RegistrationClient
from vacr.signing import format_thumbprint_uri

_SIGNING_OPTIONS = ("key", "alg", "x5chain", "issuer", "timestamp", "passphrase_file", "force")
_DAY_SECONDS = 86_400.0
_OWNER_ONLY_MODE = 0o700
_EXIT_FAILED = 3


@click.command()
@click.option(
    "--agent",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_agent,
    help="Only this agent; may be given again.",
)
@click.option("--no-ui", is_flag=True, help="Print a line for what happens, instead of a table.")
@click.option("--all", is_flag=True, help="Capture also what was there before, however old.")
@click.option(
    "--once", is_flag=True, help="Capture what there is now, seal what has ended, and end."
)
@click.option(
    "--poll", is_flag=True, help="Look for changes, where the system cannot tell (network folders)."
)
@click.option("--no-seal", is_flag=True, help="Capture only.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=PATH,
    help="Where sealed records go.  [default: sealed/ in the state folder]",
)
@click.option(
    "--quiet-after",
    metavar="MINUTES",
    type=NumberRange(0),
    default=30,
    show_default=True,
    help="When a quiet session has ended.",
)
@click.option(
    "--checkpoint",
    metavar="SECONDS",
    type=NumberRange(0),
    default=10,
    show_default=True,
    help="How often a checkpoint is signed.",
)
@click.option(
    "--epoch",
    metavar="HOURS",
    type=NumberRange(0),
    default=24,
    show_default=True,
    help="How long a key of the journal lasts.",
)
@click.option(
    "--anchor",
    metavar="SECONDS",
    type=NumberRange(0),
    default=60,
    show_default=True,
    help="How often a checkpoint is registered, with --service.",
)
@click.option(
    "--keep",
    metavar="DAYS",
    type=NumberRange(0),
    help="Delete journals that were sealed so long ago.  [default: never]",
)
@click.option(
    "--limit",
    metavar="MB",
    type=NumberRange(0),
    help="Delete sealed journals, oldest first, above so many.  [default: none]",
)
@click.option(
    "--service",
    metavar="URL",
    help="The transparency service for checkpoints and records.  [default: none]",
)
@partial(signing_options, key_required=False)
@service_options
@voice_options
def command(
    agent: tuple[str, ...],
    no_ui: bool,  # noqa: FBT001 - click passes flags so
    all: bool,  # noqa: A002, FBT001
    once: bool,  # noqa: FBT001
    poll: bool,  # noqa: FBT001
    no_seal: bool,  # noqa: FBT001
    output: str | None,
    quiet_after: float,
    checkpoint: float,
    epoch: float,
    anchor: float,
    keep: float | None,
    limit: float | None,
    service: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Follow the sessions of all agents on this machine into a journal that keeps what was first
    seen.

    It needs no hook, and takes what hooks tell where they are installed. A session that has ended
    is sealed, as by `vacr seal`, from the journal. Ctrl-C ends it; nothing that was captured is
    lost, and the next one goes on from there. Without --key a key of this machine is made and used.

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
        raise UsageError(
            f"{output} is no folder", hint="Sealed records go into a folder: name one with -o."
        )
    signing = {name: asked.pop(name) for name in _SIGNING_OPTIONS}
    # What is wrong with a key that was named is told before anything is begun.
    named = SigningSettings.of(**signing) if signing["key"] and not no_seal else None
    journal = Journal(state / "journal")
    with contextlib.closing(journal):
        services = ServiceSettings.of(**asked)
        table = WatchTable(voice, journal, shown=not no_ui and not once)
        settings = WatchSettings(
            checkpoint,
            epoch=epoch * 3600,
            quiet=quiet_after * 60,
            settling=0.0 if once else WatchSettings.settling,
            since=0.0 if all else _choose_start_time(journal),
        )
        sealing = None
        if not no_seal:
            how = named or SigningSettings.of(**{**signing, "key": ensure_machine_key(state)})
            registrar = services.registrar(service) if service is not None else None
            (state / "sealed").mkdir(_OWNER_ONLY_MODE, exist_ok=True)
            sealing = SealingQueue(
                journal,
                make_session_sealer(
                    how, registrar, Path(output) if output else state / "sealed", voice
                ),
                table.tell,
            )
        anchoring = None
        if service is not None:
            client = RegistrationClient(service, services.access)
            anchoring = CheckpointAnchoring(
                client,
                services.log_keys,
                anchor,
                table.tell,
                make_pending_registration(services, service, table.tell),
            )
        watcher = Watcher(
            journal,
            roots,
            state,
            settings,
            sealing=sealing,
            anchoring=anchoring,
            limits=RetentionLimits.of(keep, limit),
            tell=table.tell,
        )
        identity = format_thumbprint_uri(journal.covered.identity)
        voice.notice(f"The journal is in {journal.folder}; its name is {identity}.")
        changes = FileChanges(
            [*(root.path for root in roots), state / SPOOL_FOLDER], polling=poll, tell=table.tell
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
            "No session has changed in the last day, or since the last watch. --all takes "
            "older ones."
        )
    voice.data(
        {"journal": str(journal.folder), "identity": identity, "sessions": table.rows(watcher)}
    )
    # One who watches on tries again; whoever runs it by a timer wants to know.
    return _EXIT_FAILED if once and watcher.fails else 0


def _choose_start_time(journal: Journal) -> float:
    """Give the time from which on sessions are captured though they do not change: when the last
    watch was seen, or a day ago.
    """
    last = journal.covered.last
    seen = last.time / 1000 if last is not None and last.number else time.time() - _DAY_SECONDS
    return min(seen, time.time() - _DAY_SECONDS)


@contextlib.contextmanager
def _stop_on_signals(changes: FileChanges) -> Iterator[None]:
    """End in order when asked to."""

    def stop(*_: object) -> None:
        changes.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    if sys.platform != "win32":
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
