"""`vacr journal`: check the journal of captured sessions.

The identity of a journal is the thumbprint of its first key. Users paste it in two forms, from the
output of `vacr watch` or from a record:

    >>> from vacr.cli.journal import _parse_journal_name
    >>> _parse_journal_name("00" * 32)[:40]
    'urn:ietf:params:oauth:ckt:sha-256:AAAAAA'
"""

from __future__ import annotations

import os
import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vacr.cli.options import EXIT_FINDINGS, PATH, log_key_option, voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice
from vacr.errors import UsageError
from vacr.files import find_state_folder
from vacr.workflows import format_count, format_size

if TYPE_CHECKING:
    from vacr.capture import JournalReport

_EXIT_FAILED = 1
_DIGEST_PATTERN = re.compile(r"[0-9A-Fa-f]{64}")
_FINDINGS_HINT = (
    "  Do not rely on the sessions named above. Compare them with a backup, and keep this journal "
    "as evidence."
)


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Check the journal of captured sessions.

    \b
    Example:
      vacr journal verify
    """


@command.command(
    short_help="Check that the journal is intact, and that transcripts have not changed."
)
@click.argument("folder", required=False, type=PATH, metavar="[FOLDER]")
@log_key_option(
    help="Public key of the log that anchors checkpoints, or the log's folder; repeatable."
)
@click.option(
    "--log",
    metavar="URL|FOLDER",
    help="Log to compare with: detects a journal that was reset to an older state.",
)
@click.option(
    "--identity",
    metavar="NAME",
    help="Expected identity of the journal, from vacr watch or from a record.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Sealed record that the journal must contain; repeatable.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 5 instead of 0 if there are remarks, but no findings.",
)
@click.option(
    "--no-transcripts",
    is_flag=True,
    help="Check only the journal, for example on another machine.",
)
@voice_options
def verify(
    folder: str | None,
    log_key: tuple[str, ...],
    log: str | None,
    identity: str | None,
    record: tuple[str, ...],
    strict: bool,
    no_transcripts: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Check that a journal is intact, and that transcripts have not changed.

    The check covers hash chains, checkpoints, anchors and the session files of agents. Each change
    is reported with its line, and the exit code is 1. Some agents rewrite their session files. For
    these, vacr compares the text of finished entries; other changes are remarks (!), which count
    only with --strict. FOLDER defaults to the journal of this machine. The check changes nothing,
    and may run while `vacr watch` runs.

    \b
    Example:
      vacr journal verify
      vacr journal verify --record abc.acr.json
      vacr journal verify --log https://log.example.org --log-key log.pem
      vacr journal verify copy/journal --no-transcripts --log-key mylog/
    """
    from vacr.capture import check_journal, check_sealed_record, read_current_parts
    from vacr.signing import format_thumbprint_uri, read_log_keys

    voice = Voice(format, quiet, verbose)
    place = find_state_folder(os.environ) / "journal"
    if folder is not None:
        place = _find_journal_folder(Path(folder))
    wanted = _parse_journal_name(identity) if identity is not None else None
    report = check_journal(
        place,
        log_keys=tuple(key for name in log_key for key in read_log_keys(name)),
        current=None if no_transcripts else read_current_parts,
    )
    name = format_thumbprint_uri(report.identity) if report.identity else None
    if wanted not in (None, name):
        report.findings.insert(0, f"this is a different journal: its identity is {name}")
    if log is not None:
        _compare_with_log(report, place, log)
    for path in record:
        report.findings += [f"{path}: {finding}" for finding in check_sealed_record(place, path)]
    _print_report(report, place, voice)
    if identity is None and name is not None:
        voice.result(
            f"  Identity: {name}. Compare it with the one you noted, or pass that as --identity."
        )
    voice.data(
        {
            "holds": not report.findings,
            "identity": name,
            "findings": report.findings,
            "remarks": report.remarks,
            "notices": report.notices,
            "sessions": report.sessions,
            "retired": report.retired,
            "frames": report.frames,
            "bytes": report.size,
            "checkpoints": report.checkpoints,
            "epochs": report.epochs,
            "anchors": report.anchors,
            "anchored": report.anchored,
        }
    )
    if report.findings:
        return _EXIT_FAILED
    return EXIT_FINDINGS if strict and report.remarks else 0


def _find_journal_folder(folder: Path) -> Path:
    """Return the journal in a state folder; any other folder is returned as it is.

    Raises:
        UsageError: the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder",
            hint="Name the folder of a journal, or omit it to check the journal of this machine.",
        )
    inside = folder / "journal"
    return inside if (inside / "checkpoints").exists() else folder


def _parse_journal_name(identity: str) -> str:
    """Return the identity of a journal as a thumbprint URI.

    `identity` is that URI, or its digest in hexadecimal, as in records.

    Raises:
        UsageError: it is neither.
    """
    from vacr.signing import THUMBPRINT_URI_PREFIX, format_thumbprint_uri

    if _DIGEST_PATTERN.fullmatch(identity):
        return format_thumbprint_uri(bytes.fromhex(identity))
    if not identity.startswith(THUMBPRINT_URI_PREFIX):
        hint = (
            "Copy it from the output of vacr watch, or from vacr.inputs.journal.identity of a "
            "sealed record."
        )
        raise UsageError(f"{identity} is not the identity of a journal", hint=hint)
    return identity


def _compare_with_log(report: JournalReport, place: Path, log: str) -> None:
    """Compare a journal with the log at an address or in a folder, and add to its report.

    Checkpoints that only the log has become a finding, entries by unknown keys a remark.
    """
    from vacr.capture import (
        BrokenJournal,
        JournalCoverage,
        find_missing_checkpoints,
        read_checkpoints,
    )

    coverage = JournalCoverage(str(place))
    try:
        deque(read_checkpoints(place, coverage), maxlen=0)
    except BrokenJournal:
        return  # The report says so already.
    comparison = find_missing_checkpoints(coverage, log)
    if comparison.missing:
        numbers = ", ".join(map(str, comparison.missing))
        report.findings.append(
            "the journal was reset to an older state: these checkpoints of the log are missing or "
            f"different in it: {numbers}"
        )
    if comparison.unknown:
        report.remarks.append(
            f"the log has {comparison.unknown} entries for this journal, signed by keys that are "
            "not in it: either the journal was reset to an older state, or the entries are forged"
        )


def _print_report(report: JournalReport, place: Path, voice: Voice) -> None:
    """Print the findings, remarks and notices about a journal, then the verdict and totals."""
    for finding in report.findings:
        voice.error(f"✗ {finding}")
    if report.findings:
        voice.notice(_FINDINGS_HINT)
    for remark in report.remarks:
        voice.notice(f"! {remark}")
    for notice in report.notices:
        voice.notice(f"  {notice}")
    verdict = "damaged" if report.findings else "intact"
    anchored = f", last anchored: {report.anchored}" if report.anchored is not None else ""
    voice.result(
        f"{place}: {verdict}: {format_count(report.sessions, 'session')}, "
        f"{format_count(report.frames, 'frame')}, {format_size(report.size)}; "
        f"{format_count(report.checkpoints, 'checkpoint')} in "
        f"{format_count(report.epochs, 'epoch')}{anchored}; "
        f"{report.retired} deleted after sealing"
    )
