"""The verbs `vacr log init`, `fsck` and `rotate`: create a log, check it, and change its keys.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["log", "init", "mylog/", "-q"])
    0
    >>> run_command_line(["log", "fsck", "mylog/"])
    mylog: clean: 1 entry, 1 signed head, 0 published files
    0

A log is stored in a folder, or in a PostgreSQL database.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from typing import Any

import click

from vacr.cli.options import PATH, F, Verb, voice_options
from vacr.console import Voice, show_job_progress
from vacr.errors import UsageError
from vacr.log import (
    LogFolder,
    LogReader,
    create_log,
    open_database_log,
    open_log_folder,
    read_log_descriptions,
    rotate_log_keys,
    run_fsck,
)
from vacr.signing import RECEIPT_KEYS_FILE, compute_thumbprint_uri
from vacr.transparency import build_verifier_key, compute_log_identity
from vacr.workflows import format_count


def log_options(function: F) -> F:
    """Add `FOLDER` and `--database` to a verb."""
    description = "PostgreSQL database of the log.  [default: from FOLDER; required without it]"
    function = click.option("--database", metavar="URL", help=description)(function)
    return click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)(function)


@click.command("init", no_args_is_help=True, cls=Verb)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option("--origin", metavar="NAME", help="Name of the log, such as log.example.org/agents.")
@click.option(
    "--database",
    metavar="URL",
    help="Store the log in PostgreSQL: postgresql://user@host/database.",
)
@voice_options
def init_command(
    folder: str,
    origin: str | None,
    database: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Create a transparency log.

    FOLDER gets the keys, the first entry and, unless --database is set, the database of the log.

    \b
    Example:
      vacr log init mylog/
      vacr log init mylog/ --origin log.example.org/agents \\
        --database postgresql://vacr@db/log
    """
    voice = Voice(format, quiet, verbose)
    log = create_log(folder, origin=origin, database=database)
    with closing(log.reader()) as storage:
        document = build_log_document(log, storage)
    voice.result(f"{folder}: new log created")
    print_log_summary(document, voice)
    more = f" --database {shlex.quote(database)}" if database is not None else ""
    voice.tip(f"To serve it: vacr log serve {shlex.quote(folder)}{more} --port 8080")
    voice.data(document)
    return 0


def open_log(folder: str | None, database: str | None, *, create: bool = False) -> LogFolder:
    """Return the log in a folder, or without a folder the log in a database.

    With `create`, an empty database gets a new log.

    Raises:
        UsageError: neither is set, or the keys are missing.
        UnreadableInput: the log does not exist.
    """
    if folder is not None:
        return open_log_folder(folder, database)
    if database is None:
        raise UsageError(
            "no log named", hint="Name its folder, or its database with --database URL."
        )
    return open_database_log(database, create=create)


_EXIT_DAMAGED = 1


@click.command("fsck", no_args_is_help=True, cls=Verb)
@log_options
@voice_options
def fsck_command(
    folder: str | None,
    database: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Check the stored data of a log against its signatures.

    vacr checks the entries, the tree, signed heads, the index and published files. The log may be
    in use.

    \b
    Example:
      vacr log fsck mylog/
    """
    voice = Voice(format, quiet, verbose)
    log = open_log(folder, database)
    with show_job_progress("checking", voice) as advance:
        result = run_fsck(log, advance)
    problems, more = result.findings.problems, result.findings.more
    for problem in problems:
        voice.error(f"{log.path}: {problem}")
    if more:
        voice.error(f"{log.path}: and {more} more problems")
    if problems:
        voice.notice("  Stop serving this log. docs/running-a-log.md shows how to restore it.")
    heads = format_count(result.heads, "signed head")
    verdict = "damaged" if problems else "clean"
    voice.result(
        f"{log.path}: {verdict}: {format_count(result.size, 'entry')}, {heads}, "
        f"{format_count(result.files, 'published file')}"
    )
    for remark in result.remarks:
        voice.notice(f"{log.path}: {remark}")
    voice.data(
        {
            "clean": not problems,
            "size": result.size,
            "heads": result.heads,
            "files": result.files,
            "findings": problems,
        }
        | {"more": more, "remarks": list(result.remarks)}
    )
    return _EXIT_DAMAGED if problems else 0


@click.command("rotate", no_args_is_help=True, cls=Verb)
@log_options
@voice_options
def rotate_command(
    folder: str | None,
    database: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Replace the keys of a log.

    The identity of the log stays: the old key signs an entry that names the new one. Older receipts
    verify with the old key, which stays in receipt-keys.pem; its private half is deleted. A running
    service continues with the new keys.

    \b
    Example:
      vacr log rotate mylog/
    """
    voice = Voice(format, quiet, verbose)
    log = open_log(folder, database)
    with closing(log.reader()) as storage:
        before = build_log_document(log, storage)["checkpoint-key"]
    rotate_log_keys(log)
    with closing(log.reader()) as storage:
        document = build_log_document(log, storage) | {"checkpoint-key-before": before}
    voice.result(f"{log.path}: keys replaced")
    print_log_summary(document, voice)
    voice.result(f"                  witnesses need both this key and the previous one, {before}")
    voice.data(document)
    return 0


def build_log_document(folder: LogFolder, reading: LogReader) -> dict[str, Any]:
    """Return the facts about a log for JSON output."""
    last = read_log_descriptions(reading)[-1]
    head = reading.head()
    return {
        "folder": str(folder.path),
        "origin": last.origin,
        "identity": compute_log_identity(reading.entries(0, 1)[0]),
        "receipt-key": compute_thumbprint_uri(last.receipt_key),
        "receipt-keys-file": str(folder.path / RECEIPT_KEYS_FILE),
        "checkpoint-key": str(build_verifier_key(last.origin, last.checkpoint_key)),
        "size": head.head.size if head is not None else 0,
    }


def print_log_summary(document: dict[str, Any], voice: Voice) -> None:
    """Print the name, the identity and the keys of a log."""
    voice.result(f"  origin          {document['origin']}")
    voice.result(f"  identity        {document['identity']}")
    voice.result("                  issuer of all receipts; stays when keys change")
    voice.result(f"  receipt key     {document['receipt-key']}")
    voice.result(f"                  verifiers of receipts need {document['receipt-keys-file']}")
    voice.result(f"  checkpoint key  {document['checkpoint-key']}")
