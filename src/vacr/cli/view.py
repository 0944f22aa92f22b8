"""`vacr view`: a conversation as a page that verifies itself; a folder as an archive of pages.

>>> from vacr.cli import run_command_line
>>> run_command_line(["view", "examples/codex-cli.jsonl", "-o", "page.html"])
page.html: written, ... kB, not signed
0
"""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli.line_stats import LineOptions
from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import (
    PATH,
    Verb,
    build_filter,
    check_commit_options,
    commit_options,
    entry_rule_option,
    filter_options,
    load_prices,
    load_stores,
    log_key_option,
    output_options,
    prices_option,
    trust_options,
    voice_options,
)
from vacr.cli.selection import Selection, selection_options
from vacr.cli.sharing import SharingCaution
from vacr.console import Voice, write_bytes
from vacr.errors import InvalidRecord, UsageError, VacrError
from vacr.files import STDIN
from vacr.viewer import RowFilter
from vacr.workflows import (
    LINE_GROUPINGS,
    STATEMENT_SUFFIX,
    PageRun,
    VerificationOptions,
    build_statistics_page,
    find_sealed_page_record,
    format_count,
)

_PICTURE_SUFFIXES = (".svg", ".png")


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("path", required=False, metavar="[RECORD|SESSION|FOLDER]", type=PATH)
@trust_options
@log_key_option(
    help="Public key of a trusted log, or the log's folder; repeatable. Requires a receipt from "
    "one of these logs."
)
@entry_rule_option
@partial(selection_options, times=False)
@filter_options
@click.option(
    "--lines",
    metavar="A..B|REVISION",
    help="Also show who wrote the lines that commits added, as vacr stats --lines counts them.",
)
@commit_options
@prices_option
@partial(output_options, default="the current folder; for a FOLDER, site/")
@click.option(
    "--og",
    is_flag=True,
    help="Also draw the summary as a picture for a pull request: an SVG file next to the page.",
)
@click.option("--open", is_flag=True, help="Open the page in a browser.")
@voice_options
def command(
    path: str | None,
    trust: tuple[str, ...],
    trust_store: tuple[str, ...],
    log_key: tuple[str, ...],
    entry_rule: str,
    agent: str | None,
    project: str | None,
    repo: str | None,
    lines: str | None,
    repository: str | None,
    since: str | None,
    until: str | None,
    prices: str | None,
    output: str | None,
    overwrite: bool,
    og: bool,
    open: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **filters: Any,
) -> int:
    """Write a conversation as a web page that verifies itself.

    The page is one HTML file that works offline. It contains the bytes of the record, its
    statement, and what verifies them: of your trust store and --trust only who signed, logged or
    witnessed it, and the keys of --log-key. Sub-agents are shown in the page of their session. A
    FOLDER becomes an archive: one page per session, and index.html with search. Without a path,
    --agent, --project, --repo, --since and --until choose among all sessions on this machine;
    several become an archive. Filters choose the rows to show first; the page still contains the
    whole record. If verification fails, the page gives the reason, and the exit code is 1. This
    includes a record that was modified after it was made; then a warning also comes first.

    With --lines, the page or the index of the archive also shows the lines of a range of commits:
    who wrote them, according to the shown records, and how many survived.

    \b
    Example:
      vacr view abc.acr.json -o abc.html --trust keys/signing.pub.pem
      vacr view latest --open
      vacr view --agent claude-code --since yesterday -o yesterday/
      vacr view records/ -o site/ --trust keys/signing.pub.pem --log-key mylog/
      vacr view latest -o story.html --og
      vacr view records/ -o site/ --lines main --since 2026-01-01
    """
    voice = Voice(format, quiet, verbose)
    selection = Selection(agent, project, repo, since, until)
    if lines is None:
        check_commit_options(repository=repository)
    else:
        # With --lines, the times choose commits.
        selection = replace(selection, since=None, until=None)
    selected = selection.choose((path,) if path is not None else (), voice)
    is_chosen = not selection.is_empty
    path = path if path is not None and not is_chosen else selected[0]
    if og and output == STDIN:
        raise UsageError(
            "--og writes a picture next to the page, and standard output has no place for it",
            hint="Write the page to a file: -o page.html",
        )
    _refuse_picture_name(output, path)
    options = VerificationOptions(
        trust=trust,
        stores=load_stores(trust, trust_store, voice),
        log_keys=log_key,
        entry_rule=entry_rule,
    )
    row_filter = build_filter(**filters)

    def report_error(error: VacrError) -> None:
        """Print why a page was not written."""
        voice.error(f"vacr: {error}", error.hint)

    run = PageRun(
        path,
        options,
        row_filter if row_filter != RowFilter() else None,
        report_error,
        selected=selected if is_chosen and len(selected) > 1 else (),
    )
    modified = ModifiedRecords(voice, in_results=output != STDIN)
    run.prices = load_prices(prices)
    run.draws_pictures = og
    if lines is not None:
        run.lines = _count_lines(path, LineOptions(lines, repository, since, until), voice)
    run.report_modified = lambda part: modified.warn(part.path, part.modified)
    if output == STDIN:
        write_bytes(run.render_single())
        return run.exit_code
    run.report_page = lambda page: voice.result(page.describe())
    run.write(output, overwrite=overwrite)
    _point_to_sealed_record(run, voice)
    caution = SharingCaution(voice)
    for page in run.pages:
        caution.add(part.record for part in page.conversation.parts)
    if run.is_archive:
        voice.result(f"{run.index}: {format_count(len(run.pages), 'conversation')}")
    caution.print_tip()
    voice.data(
        {
            "results": [page.build_document() for page in run.pages],
            "index": str(run.index) if run.is_archive else None,
        }
    )
    if open and run.first is not None:
        webbrowser.open(run.first.resolve().as_uri())
    return run.exit_code


def _refuse_picture_name(output: str | None, path: str) -> None:
    """Refuse the name of a picture for a page.

    Raises:
        UsageError: `output` has such a name, and is not a folder.
    """
    suffix = Path(output or "").suffix
    if output is None or suffix.lower() not in _PICTURE_SUFFIXES or Path(output).is_dir():
        return
    page = f"{output.removesuffix(suffix)}.html"
    raise UsageError(
        f"-o names the web page, but {output} is the name of a picture",
        hint=f"For a page, and its picture as SVG next to it: vacr view {path} --og -o {page}",
    )


def _point_to_sealed_record(run: PageRun, voice: Voice) -> None:
    """Print where the sealed record of the shown session is, if it is next to it or here."""
    if run.is_archive or len(run.pages) != 1:
        return
    record = find_sealed_page_record(run.pages[0].conversation)
    if record is not None:
        voice.notice(
            f"vacr: this session has a sealed record. To show it with its signature: vacr view "
            f"{record}"
        )


def _count_lines(path: str, options: LineOptions, voice: Voice) -> dict[str, Any] | None:
    """Return the lines of a range for the page, joined to the records at a path.

    Return `None`, and print the reason, if the record was modified: it proves no line.

    Raises:
        UsageError: the record comes through a pipe.
        UnreadableInput: there is no such repository, range or record.
    """
    if path == STDIN:
        raise UsageError(
            "--lines cannot read the record from standard input", hint="Save it to a file first."
        )
    try:
        statistics = options.collect((path.removesuffix(STATEMENT_SUFFIX),), voice)
    except InvalidRecord as error:
        voice.error(f"vacr: --lines: {error}")
        return None
    return build_statistics_page(statistics, LINE_GROUPINGS)
