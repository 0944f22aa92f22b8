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

from vacr.capture import spool
from vacr.capture.anchoring import Anchoring
from vacr.capture.capturing import Settings
from vacr.capture.changes import Changes
from vacr.capture.journal import Journal
from vacr.capture.places import watched
from vacr.capture.retention import Limits
from vacr.capture.sealing import Sealing
from vacr.capture.watcher import Watcher
from vacr.cli import options
from vacr.cli.machine_keys import machine_key
from vacr.cli.options import PATH, Number, Voice
from vacr.cli.services import Services, service_options
from vacr.cli.statements import Signing, signing_options
from vacr.cli.watching import Table, pending, seal
from vacr.errors import UsageError
from vacr.log.client import Client
from vacr.signing import keys
from vacr.sources.state import state_folder

_SIGNING = ("key", "alg", "x5chain", "issuer", "timestamp", "passphrase_file", "force")
_DAY = 86_400.0
_OWNER_ONLY = 0o700
_FAILED = 3


@click.command()
@click.option(
    "--agent",
    metavar="NAME",
    multiple=True,
    shell_complete=options.complete_agent,
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
    type=Number(0),
    default=30,
    show_default=True,
    help="When a quiet session has ended.",
)
@click.option(
    "--checkpoint",
    metavar="SECONDS",
    type=Number(0),
    default=10,
    show_default=True,
    help="How often a checkpoint is signed.",
)
@click.option(
    "--epoch",
    metavar="HOURS",
    type=Number(0),
    default=24,
    show_default=True,
    help="How long a key of the journal lasts.",
)
@click.option(
    "--anchor",
    metavar="SECONDS",
    type=Number(0),
    default=60,
    show_default=True,
    help="How often a checkpoint is registered, with --service.",
)
@click.option(
    "--keep",
    metavar="DAYS",
    type=Number(0),
    help="Delete journals that were sealed so long ago.  [default: never]",
)
@click.option(
    "--limit",
    metavar="MB",
    type=Number(0),
    help="Delete sealed journals, oldest first, above so many.  [default: none]",
)
@click.option(
    "--service",
    metavar="URL",
    help="The transparency service for checkpoints and records.  [default: none]",
)
@partial(signing_options, key_required=False)
@service_options
@options.voice_options
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
    state = state_folder(os.environ)
    roots = watched(agent)
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(
            f"{output} is no folder", hint="Sealed records go into a folder: name one with -o."
        )
    signing = {name: asked.pop(name) for name in _SIGNING}
    # What is wrong with a key that was named is told before anything is begun.
    named = Signing.of(**signing) if signing["key"] and not no_seal else None
    journal = Journal(state / "journal")
    with contextlib.closing(journal):
        services = Services.of(**asked)
        table = Table(voice, journal, shown=not no_ui and not once)
        settings = Settings(
            checkpoint,
            epoch=epoch * 3600,
            quiet=quiet_after * 60,
            settling=0.0 if once else Settings.settling,
            since=0.0 if all else _since(journal),
        )
        sealing = None
        if not no_seal:
            how = named or Signing.of(**{**signing, "key": machine_key(state)})
            registrar = services.registrar(service) if service is not None else None
            (state / "sealed").mkdir(_OWNER_ONLY, exist_ok=True)
            sealing = Sealing(
                journal,
                seal(how, registrar, Path(output) if output else state / "sealed", voice),
                table.tell,
            )
        anchoring = None
        if service is not None:
            client = Client(service, services.access)
            anchoring = Anchoring(
                client,
                services.log_keys,
                anchor,
                table.tell,
                pending(services, service, table.tell),
            )
        watcher = Watcher(
            journal,
            roots,
            state,
            settings,
            sealing=sealing,
            anchoring=anchoring,
            limits=Limits.of(keep, limit),
            tell=table.tell,
        )
        identity = keys.uri_of(journal.covered.identity)
        voice.notice(f"The journal is in {journal.folder}; its name is {identity}.")
        changes = Changes(
            [*(root.path for root in roots), state / spool.FOLDER], polling=poll, tell=table.tell
        )
        with table.showing(watcher), _stopping(changes):
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
    return _FAILED if once and watcher.fails else 0


def _since(journal: Journal) -> float:
    """Give the time from which on sessions are captured though they do not change: when the last
    watch was seen, or a day ago.
    """
    last = journal.covered.last
    seen = last.time / 1000 if last is not None and last.number else time.time() - _DAY
    return min(seen, time.time() - _DAY)


@contextlib.contextmanager
def _stopping(changes: Changes) -> Iterator[None]:
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
