"""`vacr log init`: make a log."""

from __future__ import annotations

from contextlib import closing

import click

from vacr.cli.log.about import build_log_document, print_log_summary
from vacr.cli.options import PATH, Voice, voice_options
from vacr.log import create_log


@click.command(no_args_is_help=True)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option(
    "--origin", metavar="NAME", help="What the log is called, such as log.example.org/agents."
)
@click.option(
    "--database",
    metavar="URL",
    help="Keep it in a PostgreSQL instead: postgresql://user@host/database.",
)
@voice_options
def command(
    folder: str,
    origin: str | None,
    database: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Make a transparency log: a folder with its keys, its first entry and its database.

    \b
    Example:
      vacr log init mylog/
      vacr log init mylog/ --origin log.example.org/agents --database postgresql://vacr@db/log
    """
    voice = Voice(format, quiet, verbose)
    made = create_log(folder, origin=origin, database=database)
    with closing(made.reader()) as storage:
        found = build_log_document(made, storage)
    voice.result(f"{folder}: a new log")
    print_log_summary(found, voice)
    voice.data(found)
    return 0
