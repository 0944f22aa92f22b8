"""`vacr log rotate`: new keys for a log."""

from __future__ import annotations

from contextlib import closing

import click

from vacr.cli.log.about import build_log_document, print_log_summary
from vacr.cli.log.which import log_options, open_log
from vacr.cli.options import Voice, voice_options
from vacr.log import rotate_log_keys


@click.command(no_args_is_help=True)
@log_options
@voice_options
def command(
    folder: str | None,
    database: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Give a log new keys. It stays the same log: an entry that the old key signs tells of the new
    one.

    Receipts of before verify with the old key, which stays in receipt-keys.pem; its private part is
    removed. A service that runs goes on with the new keys.

    \b
    Example:
      vacr log rotate mylog/
    """
    voice = Voice(format, quiet, verbose)
    found = open_log(folder, database)
    with closing(found.reader()) as storage:
        before = build_log_document(found, storage)["checkpoint-key"]
    rotate_log_keys(found)
    with closing(found.reader()) as storage:
        facts = build_log_document(found, storage) | {"checkpoint-key-before": before}
    voice.result(f"{found.path}: new keys")
    print_log_summary(facts, voice)
    voice.result(f"                  witnesses need it, and the one before: {before}")
    voice.data(facts)
    return 0
