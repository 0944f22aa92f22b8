"""`vacr log fsck`: whether every stored byte still hashes to what the log has signed."""

from __future__ import annotations

import click

from vacr.cli import options
from vacr.cli.log.which import log_of, log_options
from vacr.cli.options import Voice, plural
from vacr.log.fsck import check

FAILED = 1


@click.command(no_args_is_help=True)
@log_options
@options.voice_options
def command(
    folder: str | None,
    database: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Check a log: entries, tree, every head that was signed, the index, and what is published. It
    may be served meanwhile.

    \b
    Example:
      vacr log fsck mylog/
    """
    voice = Voice(format, quiet, verbose)
    found = log_of(folder, database)
    with options.advancing("checking", voice) as advance:
        checked = check(found, advance)
    problems, more = checked.findings.found, checked.findings.more
    for problem in problems:
        voice.error(f"{found.path}: {problem}")
    if more:
        voice.error(f"{found.path}: and {more} more")
    heads = plural(checked.heads, "signed head")
    verdict = "damaged" if problems else "clean"
    voice.result(
        f"{found.path}: {verdict}: {plural(checked.size, 'entry')}, {heads}, "
        f"{plural(checked.files, 'published file')}"
    )
    for remark in checked.remarks:
        voice.notice(f"{found.path}: {remark}")
    voice.data(
        {
            "clean": not problems,
            "size": checked.size,
            "heads": checked.heads,
            "files": checked.files,
            "findings": problems,
        }
        | {"more": more, "remarks": list(checked.remarks)}
    )
    return FAILED if problems else 0
