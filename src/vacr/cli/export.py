"""`vacr export`: records → the formats of other tools.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["export", "examples/claude-code.jsonl", "--to", "atif"])
    claude-code.atif.json: 3.7 kB
    0

Losses are reported on standard error: members of the record that the format cannot represent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import (
    PATH,
    Verb,
    build_filter,
    filter_options,
    key_options,
    load_prices,
    load_signer_from_options,
    output_options,
    prices_option,
    voice_options,
)
from vacr.cli.selection import Selection, selection_options
from vacr.cli.sharing import SharingCaution
from vacr.console import Voice, format_error_place, write_bytes
from vacr.errors import NotASession, UnreadableInput, UsageError, VacrError
from vacr.exchange import (
    ATIF_VERSIONS,
    EXCHANGE_FORMATS,
    ExchangeFormat,
    ExportedDocument,
    ExportRequest,
    format_losses,
)
from vacr.files import STDIN, hash_pieces, is_file, read_bytes
from vacr.record import encode
from vacr.viewer import RowFilter
from vacr.workflows import (
    STATEMENT_SUFFIX,
    InputRecord,
    check_single_output,
    format_count,
    format_size,
    is_output_folder,
    make_modified_error,
    reserve_unused_name,
    scan_input_records,
    write_output_file,
)

_COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WRITABLE_FORMATS = [name for name, format_ in EXCHANGE_FORMATS.items() if format_.writer]


class _FormatName(click.Choice[str]):
    """The name of a format; `md` means Markdown, and Parquet leads to the verb that writes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the format.

        Raises:
            click.BadParameter: no format has this name.
        """
        if value == "parquet":
            self.fail("for tables of all sessions: vacr sql --to parquet -o tables/", param, ctx)
        return super().convert("markdown" if value == "md" else value, param, ctx)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("paths", nargs=-1, metavar="[RECORD|SESSION|FOLDER]...", type=PATH)
@click.option("--to", type=_FormatName(_WRITABLE_FORMATS), required=True, help="Format to write.")
@click.option(
    "--atif-version",
    type=click.Choice(ATIF_VERSIONS),
    help="Version of ATIF.  [default: 1.7, or 1.8 for sessions with audio]",
)
@click.option(
    "--commit", metavar="SHA", help="Commit that contains the files, for in-toto and git-ai-notes."
)
@partial(
    key_options,
    required=False,
    default="none; needed for in-toto",
    force_help="Sign a record that was modified; accept a key that other users can read.",
)
@selection_options
@filter_options
@prices_option
@output_options
@voice_options
def command(
    paths: tuple[str, ...],
    to: str,
    atif_version: str | None,
    commit: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,
    prices: str | None,
    agent: str | None,
    project: str | None,
    repo: str | None,
    since: str | None,
    until: str | None,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **filters: Any,
) -> int:
    """Write records or native sessions in the format of another tool.

    Losses are reported on standard error: members that the format cannot represent, and rows that a
    filter removed. An export is not evidence. It names the record it was made from; only that
    record can be verified. If a record was modified after it was made, a warning comes first,
    Markdown and HTML say so at the top, and the exit code is 1. An in-toto statement about such a
    record is refused, unless --force is given.

    \b
    Example:
      vacr export abc.acr.json --to atif  # writes ./abc.atif.json
      vacr export abc.acr.json --to markdown --only user --only assistant -o -
      vacr export --since yesterday --to markdown -o notes/
      vacr export records/ --to atif -o trajectories/
      vacr export abc.acr.json --to in-toto --key keys/signing.pem \\
        --commit $(git rev-parse HEAD)
      vacr export abc.acr.json --to git-ai-notes -o - |
        git notes --ref=ai add -F - HEAD
    """
    voice = Voice(format, quiet, verbose)
    paths = Selection(agent, project, repo, since, until).choose(paths, voice)
    row_filter = build_filter(**filters)
    _check_options_apply(
        to, row_filter, atif_version=atif_version, key=key, commit=commit, prices=prices
    )
    signer = (
        load_signer_from_options(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
        if key is not None
        else None
    )
    request = ExportRequest("", row_filter, atif_version, commit=commit, signer=signer)
    if prices is not None:
        request = replace(request, prices=load_prices(prices))
    run = _ExportRun(
        EXCHANGE_FORMATS[to], request, output, paths, voice, overwrite=overwrite, force=force
    )
    check_single_output(paths, output)
    for path in paths:
        run.export_path(path)
    return run.finish()


def _check_options_apply(
    to: str,
    chosen: RowFilter,
    *,
    atif_version: str | None,
    key: str | None,
    commit: str | None,
    prices: str | None,
) -> None:
    """Check that every option has an effect on the format `to`.

    Raises:
        UsageError: an option has no effect, or the commit is not a full commit id.
    """
    for name, value, formats in (
        ("--atif-version", atif_version, ["atif"]),
        ("--key", key, ["in-toto"]),
        ("--commit", commit, ["in-toto", "git-ai-notes"]),
        ("--prices", prices, ["markdown", "html"]),
    ):
        if value is not None and to not in formats:
            raise UsageError(
                f"{name} has no effect on --to {to}",
                hint=f"Use {name} with --to {' or --to '.join(formats)}.",
            )
    if commit is not None and not _COMMIT_PATTERN.fullmatch(commit):
        raise UsageError(
            f"{commit} is not a full commit id", hint="To get the id: git rev-parse HEAD"
        )
    if chosen != RowFilter() and not EXCHANGE_FORMATS[to].of_rows:
        raise UsageError(
            f"filters have no effect on {EXCHANGE_FORMATS[to].title}: it does not contain the "
            "conversation",
            hint="Omit --only, --tool, --grep, --errors and --entry.",
        )


@dataclass
class _ExportRun:
    """One run of `vacr export`: its settings, and the results so far."""

    to: ExchangeFormat
    request: ExportRequest
    output: str | None
    paths: tuple[str, ...]
    voice: Voice
    overwrite: bool = field(kw_only=True)
    force: bool = field(kw_only=True)
    """Whether to sign statements about modified records."""
    documents: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    losses: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """The names of files that this run has written."""
    exit_code: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        """Prepare the warnings about records; keep them out of a document on standard output."""
        self.modified = ModifiedRecords(self.voice, in_results=self.output != STDIN)
        self.caution = SharingCaution(self.voice)

    def export_path(self, path: str) -> None:
        """Export the records at a path; an unreadable one does not stop the others."""
        is_folder = Path(path).is_dir()
        try:
            for item in self._scan_items(path):
                if isinstance(item, NotASession) and is_folder:
                    continue
                if isinstance(item, VacrError):
                    self._fail(path, item)
                    continue
                self.count += 1
                try:
                    self._export_record(item, level=1 if is_folder or len(self.paths) > 1 else 0)
                except VacrError as error:
                    self._fail(item.path, error)
        except VacrError as error:
            self._fail(path, error)

    def _scan_items(self, path: str) -> Iterator[InputRecord | VacrError]:
        """Return the records at a path, and an error for each unreadable one.

        Raises:
            UsageError: several records would be written to one output file.
            VacrError: the path itself cannot be read.
        """
        items = scan_input_records(path, changed=True)
        if is_output_folder(self.output) or self.output == STDIN:
            return items
        # Two records are enough to refuse a single output file.
        first = list(islice(items, 2))
        check_single_output(
            [item.path for item in first if isinstance(item, InputRecord)], self.output
        )
        return iter(first)

    def _export_record(self, recording: InputRecord, level: int) -> None:
        """Write a record in the other format; report losses if `-v` is used `level` times.

        Raises:
            InvalidRecord: the record was modified, and the export would be signed without
                `--force`.
            VacrError: the format cannot represent the record, or the output cannot be written.
        """
        if recording.modified and self.request.signer is not None and not self.force:
            raise make_modified_error(
                recording.path, recording.modified, "To sign it anyway, add --force."
            )
        self.modified.warn(recording.path, recording.modified)
        self.exit_code = max(self.exit_code, self.modified.exit_code)
        data = recording.stored_bytes() if recording.stored else encode(recording.record, "json")
        statement_path = f"{recording.path}{STATEMENT_SUFFIX}"
        has_statement = recording.stored and is_file(statement_path)
        statement = read_bytes(statement_path) if has_statement else None
        document = self.to.export(
            recording.record,
            replace(
                self.request,
                digest=hash_pieces([data]),
                form=recording.form,
                statement=statement,
                modified=recording.modified,
            ),
        )
        described = {
            "source": recording.path,
            "record": recording.record["id"],
            "modified": bool(recording.modified),
            "losses": dict(document.losses),
            "left-out": document.left_out,
        }
        if self.output == STDIN:
            write_bytes([document.data])
        else:
            target = Path(self.output or "")
            if is_output_folder(self.output):
                target /= f"{reserve_unused_name(recording.stem, self.names)}{self.to.ending}"
            state = write_output_file(
                target,
                document.data,
                recording.path,
                (recording.path, *self.paths),
                overwrite=self.overwrite,
            )
            unchanged = ", unchanged" if state == "unchanged" else ""
            self.voice.result(f"{target}: {format_size(len(document.data))}{unchanged}")
            described |= {
                "output": str(target),
                "state": state,
                "bytes": len(document.data),
                "sha-256": hash_pieces([document.data]),
            }
        if self.to.of_rows:
            self.caution.add((recording.record,))
        if self.voice.json:
            self.documents.append(described)
        self.losses.update(document.losses)
        self._report_losses(recording.path, document, level)

    def _report_losses(self, path: str, document: ExportedDocument, level: int) -> None:
        """Print how many rows the filters removed, and which members the format lacks.

        They are printed if `-v` is used `level` times.
        """
        if document.left_out:
            self.voice.notice(
                f"vacr: {path}: {format_count(document.left_out, 'row')} removed by the filters",
                level,
            )
        if document.losses:
            self.voice.notice(
                f"vacr: {path}: lost in {self.to.title}: {format_losses(document.losses)}",
                level,
            )

    def _fail(self, path: str, error: VacrError) -> None:
        """Print an error, keep it for the JSON output, and raise the exit code to its own."""
        place = format_error_place(path, error)
        self.voice.error(f"vacr: {place}: {error.message}", error.hint)
        self.errors.append(
            {"source": path, "error": error.message, "where": error.where, "hint": error.hint}
        )
        self.exit_code = max(self.exit_code, error.exit_code)

    def finish(self) -> int:
        """Print the totals, or an error if no record was found; return the exit code."""
        if self.output != STDIN:
            self.voice.data(
                {"exports": self.documents, "errors": self.errors, "losses": dict(self.losses)}
            )
        if self.count > 1:
            lost = f"; lost in {self.to.title}: {format_losses(self.losses)}" if self.losses else ""
            records = format_count(self.count, "record")
            failures = format_count(len(self.errors), "failure")
            self.voice.notice(f"vacr: {records}, {failures}{lost}")
        elif not self.count and not self.errors:
            error = UnreadableInput(
                "no records or sessions found",
                hint="To find sessions: vacr list -v",
            )
            self._fail(self.paths[0], error)
        self.caution.print_tip()
        return self.exit_code
