"""`vacr log rotate`: new keys for a log."""

from __future__ import annotations

from contextlib import closing

import click

from vacr.cli import options
from vacr.cli.log.about import about, tell
from vacr.cli.options import PATH, Voice
from vacr.log.folder import open_folder, rotate


@click.command(no_args_is_help=True)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option("--database", metavar="URL", help="The PostgreSQL that the log is in, where the folder does not say so.")
@options.voice_options
def command(
    folder: str,
    database: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Give a log new keys. It stays the same log: an entry that the old key signs tells of the new one.

    Receipts of before verify with the old key, which stays in receipt-keys.pem; its private part is removed. A service that
    runs goes on with the new keys.

    \b
    Example:
      vacr log rotate mylog/
    """
    voice = Voice(format, quiet, verbose)
    found = open_folder(folder, database)
    rotate(found)
    with closing(found.reader()) as storage:
        facts = about(found, storage)
    voice.result(f"{folder}: new keys")
    tell(facts, voice)
    voice.data(facts)
    return 0
