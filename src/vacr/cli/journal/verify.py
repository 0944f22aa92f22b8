"""`vacr journal verify`: whether the journal, and the transcripts, still say what was
first seen.
"""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path

import click

from vacr.capture import (
    BrokenJournal,
    JournalCoverage,
    JournalReport,
    check_journal,
    check_sealed_record,
    find_missing_checkpoints,
    read_checkpoints,
    read_current_parts,
)
from vacr.cli.options import (
    EXIT_FINDINGS,
    PATH,
    Voice,
    format_count,
    format_size,
    log_key_option,
    voice_options,
)
from vacr.errors import UsageError
from vacr.files import find_state_folder
from vacr.signing import THUMBPRINT_URI_PREFIX, format_thumbprint_uri, read_log_keys

EXIT_FAILED = 1
_DIGEST_PATTERN = re.compile(r"[0-9A-Fa-f]{64}")


@click.command()
@click.argument("folder", required=False, type=PATH, metavar="[FOLDER]")
@log_key_option(
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
@voice_options
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
        _find_journal_folder(Path(folder))
        if folder is not None
        else find_state_folder(os.environ) / "journal"
    )
    wanted = _parse_journal_name(identity) if identity is not None else None
    log_keys = tuple(key for name in log_key for key in read_log_keys(name))
    checked = check_journal(
        place, log_keys=log_keys, current=None if no_transcripts else read_current_parts
    )
    name = format_thumbprint_uri(checked.identity) if checked.identity else None
    if wanted not in (None, name):
        checked.findings.insert(0, f"this is another journal: {name}")
    if log is not None:
        _compare_with_log(checked, place, log)
    for path in record:
        checked.findings += [f"{path}: {told}" for told in check_sealed_record(place, path)]
    for finding in checked.findings:
        voice.error(f"✗ {finding}")
    for remark in checked.remarks:
        voice.notice(f"! {remark}")
    for notice in checked.notices:
        voice.notice(f"  {notice}")
    verdict = "does not hold" if checked.findings else "holds"
    anchored = f", the last anchored is {checked.anchored}" if checked.anchored is not None else ""
    voice.result(
        f"{place}: {verdict}: {format_count(checked.sessions, 'session')}, "
        f"{format_count(checked.frames, 'frame')}, {format_size(checked.size)}; "
        f"{format_count(checked.checkpoints, 'checkpoint')} in "
        f"{format_count(checked.epochs, 'epoch')}{anchored}; "
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
    return EXIT_FAILED if checked.findings else EXIT_FINDINGS if strict and checked.remarks else 0


def _compare_with_log(checked: JournalReport, place: Path, log: str) -> None:
    """Compare the journal with what a log has of it."""
    covered = JournalCoverage(str(place))
    try:
        deque(read_checkpoints(place, covered), maxlen=0)
    except BrokenJournal:
        return  # that was told already
    found = find_missing_checkpoints(covered, log)
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


def _parse_journal_name(identity: str) -> str:
    """Give the name of a journal, which may be written as records have it.

    Raises:
        UsageError: it is none.
    """
    if _DIGEST_PATTERN.fullmatch(identity):
        return format_thumbprint_uri(bytes.fromhex(identity))
    if not identity.startswith(THUMBPRINT_URI_PREFIX):
        hint = (
            "Give it as vacr watch prints it, or the identity that a sealed record has in "
            "vacr.inputs.journal."
        )
        raise UsageError(f"{identity} is no name of a journal", hint=hint)
    return identity


def _find_journal_folder(folder: Path) -> Path:
    """Take the folder of a journal, or a state folder that has one."""
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is no folder",
            hint="Name the folder of a journal, or none for that of this machine.",
        )
    return folder / "journal" if (folder / "journal" / "checkpoints").exists() else folder
