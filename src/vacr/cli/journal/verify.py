"""`vacr journal verify`: whether the journal, and the transcripts, still say what was
first seen.
"""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path

import click

from vacr.capture.checking import check
from vacr.capture.checking_sessions import Checked
from vacr.capture.covered import Covered, covered_by
from vacr.capture.following import current
from vacr.capture.frames import Broken
from vacr.capture.log_entries import beyond
from vacr.capture.vouching import check_record
from vacr.cli import options
from vacr.cli.options import PATH, Voice, plural, size
from vacr.errors import UsageError
from vacr.signing import keys
from vacr.sources.key_files import log_keys_in
from vacr.sources.state import state_folder

FAILED = 1
_DIGEST = re.compile(r"[0-9A-Fa-f]{64}")


@click.command()
@click.argument("folder", required=False, type=PATH, metavar="[FOLDER]")
@options.log_key_option(
    help="A key of the log that checkpoints are anchored in, or its folder; may be given again."
)
@click.option(
    "--log",
    metavar="URL|FOLDER",
    help="The log itself: has it checkpoints that the journal lacks, being set back?",
)
@click.option(
    "--identity",
    metavar="NAME",
    help="The name that the journal must have, as vacr watch prints it, or a record has it.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A sealed record that the journal must name; may be given again.",
)
@click.option(
    "--strict", is_flag=True, help="Exit 5 also for changes of what its agent itself writes anew."
)
@click.option(
    "--no-transcripts",
    is_flag=True,
    help="Check the journal alone, on another machine for example.",
)
@options.voice_options
def command(
    folder: str | None,
    log_key: tuple[str, ...],
    log: str | None,
    identity: str | None,
    record: tuple[str, ...],
    strict: bool,  # noqa: FBT001 - click passes flags so
    no_transcripts: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Check a journal: its chains, the checkpoints, the anchors, and whether the transcripts still
    hold what was captured.

    What changed or is missing is named, line by line, and the exit code is 1. Where an agent itself
    writes its session anew, the entries that had settled are compared; what changed beside their
    words is a remark (!), which counts with --strict. The journal is that of the state folder
    unless another is named. Nothing is changed by it, and it may run while `vacr watch` does.

    \b
    Example:
      vacr journal verify
      vacr journal verify --record abc.acr.json
      vacr journal verify --log https://log.example.org --log-key log.pem
      vacr journal verify copy/journal --no-transcripts --log-key mylog/
    """
    voice = Voice(format, quiet, verbose)
    place = (
        _journal_in(Path(folder)) if folder is not None else state_folder(os.environ) / "journal"
    )
    wanted = _name_of(identity) if identity is not None else None
    log_keys = tuple(key for name in log_key for key in log_keys_in(name))
    checked = check(place, log_keys=log_keys, current=None if no_transcripts else current)
    name = keys.uri_of(checked.identity) if checked.identity else None
    if wanted not in (None, name):
        checked.findings.insert(0, f"this is another journal: {name}")
    if log is not None:
        _compare(checked, place, log)
    for path in record:
        checked.findings += [f"{path}: {told}" for told in check_record(place, path)]
    for finding in checked.findings:
        voice.error(f"✗ {finding}")
    for remark in checked.remarks:
        voice.notice(f"! {remark}")
    for notice in checked.notices:
        voice.notice(f"  {notice}")
    verdict = "does not hold" if checked.findings else "holds"
    anchored = f", the last anchored is {checked.anchored}" if checked.anchored is not None else ""
    voice.result(
        f"{place}: {verdict}: {plural(checked.sessions, 'session')}, "
        f"{plural(checked.frames, 'frame')}, {size(checked.size)}; "
        f"{plural(checked.checkpoints, 'checkpoint')} in "
        f"{plural(checked.epochs, 'epoch')}{anchored}; "
        f"{checked.retired} deleted after sealing"
    )
    if identity is None and name is not None:
        voice.result(
            f"  It is {name}: whether that is the journal you mean, only you can tell (--identity)."
        )
    voice.data(
        {
            "holds": not checked.findings,
            "identity": name,
            "findings": checked.findings,
            "remarks": checked.remarks,
            "notices": checked.notices,
            "sessions": checked.sessions,
            "retired": checked.retired,
            "frames": checked.frames,
            "bytes": checked.size,
            "checkpoints": checked.checkpoints,
            "epochs": checked.epochs,
            "anchors": checked.anchors,
            "anchored": checked.anchored,
        }
    )
    return FAILED if checked.findings else options.FINDINGS if strict and checked.remarks else 0


def _compare(checked: Checked, place: Path, log: str) -> None:
    """Compare the journal with what a log has of it."""
    covered = Covered(str(place))
    try:
        deque(covered_by(place, covered), maxlen=0)
    except Broken:
        return  # that was told already
    found = beyond(covered, log)
    if found.missing:
        named = ", ".join(map(str, found.missing))
        checked.findings.append(
            f"the log has checkpoints that the journal has not, or has others for: {named}; it "
            "was set back"
        )
    if found.unknown:
        told = "entries that say they are of this journal, by keys that it does not name"
        checked.remarks.append(
            f"the log has {found.unknown} {told}: it was set back by epochs, or somebody pretends"
        )


def _name_of(identity: str) -> str:
    """Give the name of a journal, which may be written as records have it.

    Raises:
        UsageError: it is none.
    """
    if _DIGEST.fullmatch(identity):
        return keys.uri_of(bytes.fromhex(identity))
    if not identity.startswith(keys.THUMBPRINT_URI):
        hint = (
            "Give it as vacr watch prints it, or the identity that a sealed record has in "
            "vacr.inputs.journal."
        )
        raise UsageError(f"{identity} is no name of a journal", hint=hint)
    return identity


def _journal_in(folder: Path) -> Path:
    """Take the folder of a journal, or a state folder that has one."""
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is no folder",
            hint="Name the folder of a journal, or none for that of this machine.",
        )
    return folder / "journal" if (folder / "journal" / "checkpoints").exists() else folder
