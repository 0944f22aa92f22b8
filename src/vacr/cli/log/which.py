"""Which log a verb is about: its folder, or the PostgreSQL that it is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vacr.cli.options import PATH
from vacr.errors import UsageError
from vacr.log import LogFolder, open_database_log, open_log_folder

F = TypeVar("F", bound=Callable[..., Any])


def log_options(function: F) -> F:
    """Add `FOLDER` and `--database` to a verb."""
    told = (
        "The PostgreSQL that the log is in, where the folder does not say so, or where none "
        "is named."
    )
    function = click.option("--database", metavar="URL", help=told)(function)
    return click.argument("folder", metavar="[FOLDER]", required=False, type=PATH)(function)


def open_log(folder: str | None, database: str | None, *, create: bool = False) -> LogFolder:
    """Find the log that is asked for; without a folder, one may be made in a database that has
    none.

    Raises:
        UsageError: neither is given, or the keys are not here.
        UnreadableInput: there is no log.
    """
    if folder is not None:
        return open_log_folder(folder, database)
    if database is None:
        raise UsageError("which log?", hint="Name its folder, or --database URL.")
    return open_database_log(database, create=create)
