"""`vacr log fsck`: whether every stored byte still hashes to what the log has signed."""

from __future__ import annotations

import click

from vacr.cli.log.which import log_options, open_log
from vacr.cli.options import Voice, format_count, show_job_progress, voice_options
from vacr.log import run_fsck

EXIT_DAMAGED = 1


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
    """Check a log: entries, tree, every head that was signed, the index, and what is published. It
    may be served meanwhile.

    \b
    Example:
      vacr log fsck mylog/
    """
    voice = Voice(format, quiet, verbose)
    found = open_log(folder, database)
    with show_job_progress("checking", voice) as advance:
        checked = run_fsck(found, advance)
    problems, more = checked.findings.found, checked.findings.more
    for problem in problems:
        voice.error(f"{found.path}: {problem}")
    if more:
        voice.error(f"{found.path}: and {more} more")
    heads = format_count(checked.heads, "signed head")
    verdict = "damaged" if problems else "clean"
    voice.result(
        f"{found.path}: {verdict}: {format_count(checked.size, 'entry')}, {heads}, "
        f"{format_count(checked.files, 'published file')}"
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
    return EXIT_DAMAGED if problems else 0
