"""`vacr blame`: who wrote the lines of a file or of a commit, proven by records.

>>> from vacr.cli.blame import _format_line_counts
>>> _format_line_counts({"ai": 6, "human": 0, "mixed": 0, "unknown": 1})
'6 ai, 1 unknown'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from vacr.blame import (
    AddedLines,
    LineBlame,
    Repository,
    blame_commit,
    blame_file,
    find_repository_file,
)
from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import Voice, align_columns
from vacr.errors import InvalidRecord, NotASession, UsageError, VacrError
from vacr.workflows import (
    CONTRIBUTOR_TYPES,
    build_commit_document,
    build_line_counts,
    build_line_document,
    count_lines_by_model,
    format_count,
    read_blame_records,
    shorten_prompt,
)

_EXIT_NOTHING_KNOWN = 1
_MAX_PROMPT_WIDTH = 40
_SHORT_COMMIT_LENGTH = 12


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("file", required=False, type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions; repeatable.  [required]",
)
@click.option(
    "--commit",
    metavar="REVISION|A..B",
    help="Count the lines that a commit or a range of commits added, instead of showing a file.",
)
@click.option(
    "--rev", metavar="REVISION", help="Show the file of this revision, instead of the work tree."
)
@click.option(
    "--repository",
    metavar="FOLDER",
    type=PATH,
    help="Git repository.  [default: by the file, or by the current folder]",
)
@voice_options
def command(
    file: str | None,
    records: tuple[str, ...],
    commit: str | None,
    rev: str | None,
    repository: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Show who wrote the lines of a file, or the lines that a commit added.

    For each line of a file, vacr shows the model, the conversation and the prompt. With --commit,
    it counts lines; for a range of commits, such as a pull request, the lines that are new at its
    end.

    vacr matches lines with records by whole files first, then by blocks of lines; never by time,
    and never by a short line alone. So a match survives a rebase, squash, amend, cherry-pick or
    rename. Lines without proof are unknown. Native sessions are recorded and attributed on the fly.
    A record that was modified after it was made is refused, and in a folder skipped.

    \b
    Example:
      vacr blame src/app.py --records records/
      vacr blame src/app.py --rev HEAD~3 --records abc.jsonl --format json
      vacr blame --commit HEAD --records records/ --format json
      vacr blame --commit origin/main..HEAD --records records/
      vacr blame --commit main --repository ~/mirror.git --records records/
    """
    voice = Voice(format, quiet, verbose)
    _check_arguments(file, commit, records)
    if commit is not None:
        if rev is not None:
            raise UsageError(
                "--rev and --commit exclude each other",
                hint="Omit --rev: --commit already names the revision.",
            )
        return _show_commit_blame(
            Repository(repository or "."), commit, read_records(records, voice), voice
        )
    return _show_file_blame(file or "", repository, rev, read_records(records, voice), voice)


def _check_arguments(file: str | None, commit: str | None, records: tuple[str, ...]) -> None:
    """Raise a UsageError unless there are records, and either a file or a commit."""
    if file is None and commit is None:
        raise UsageError(
            "blame needs a file or --commit",
            hint="For example: vacr blame src/app.py --records records/",
        )
    if file is not None and commit is not None:
        hint = (
            "For the file of a revision: --rev. For all lines of a commit: --commit without a file."
        )
        raise UsageError("a file and --commit exclude each other", hint=hint)
    if not records:
        hint = (
            "Add --records PATH: records, sessions, or folders of them. To find sessions: "
            "vacr list -v"
        )
        raise UsageError("blame needs --records", hint=hint)


def read_records(paths: tuple[str, ...], voice: Voice) -> list[dict[str, Any]]:
    """Return the records at some paths; print a notice about each input that is skipped."""

    def report_skipped(path: str, error: VacrError) -> None:
        """Print that an input is skipped, and why."""
        message = f"{error.where or path}: skipped: {error.message}"
        if isinstance(error, InvalidRecord):
            voice.error(message)
            return
        # Only with -v: in a folder, files that are not sessions are expected.
        voice.notice(message, 1 if isinstance(error, NotASession) else 0)

    return read_blame_records(paths, report_skipped)


def _show_file_blame(
    file: str, repository: str | None, rev: str | None, records: list[dict[str, Any]], voice: Voice
) -> int:
    """Print who wrote each line of a file; return the exit code, 1 if all authors are unknown."""
    place = find_repository_file(file, repository)
    lines = blame_file(place, rev, records)
    counts = Counter(line.type for line in lines)
    rows = [
        [line.commit[:8], *_format_contributor_columns(line.blame), f"{number})"]
        for number, line in enumerate(lines, 1)
    ]
    aligned = align_columns(rows, right={len(rows[0]) - 1}) if rows else []
    for columns, line in zip(aligned, lines, strict=True):
        voice.result(f"{columns} {line.text}")
    voice.data(
        {
            "path": place.path,
            "lines": [
                {"line": number, **build_line_document(line)}
                for number, line in enumerate(lines, 1)
            ],
            "total": build_line_counts(counts),
            "models": count_lines_by_model(line.blame for line in lines),
        }
    )
    if set(counts) - {"unknown"}:
        return 0
    return _report_nothing_known(voice, len(records), "file", len(lines))


def _show_commit_blame(
    repository: Repository, revision: str, records: list[dict[str, Any]], voice: Voice
) -> int:
    """Print the lines that commits added, by file and author type.

    Return the exit code, 1 if all authors are unknown.
    """
    added = blame_commit(repository, revision, records)
    document = build_commit_document(added)
    for file in document["files"]:
        voice.result(f"{file['path']}: {_format_line_counts(file)}")
    files, lines = format_count(len(added.files), "file"), _format_line_counts(document["total"])
    voice.result(f"{_format_commit_range(added)}: {files}, {lines}")
    if added.no_text:
        voice.notice(f"Not counted, because they are not text: {', '.join(added.no_text)}")
    voice.data(document)
    count, unknown = document["total"]["lines"], document["total"]["unknown"]
    if count > unknown:
        return 0
    kind = "commit" if added.since is None else "range"
    return _report_nothing_known(voice, len(records), kind, count)


def _format_commit_range(added: AddedLines) -> str:
    """Return the short id of a commit, or for a range both ids and the number of commits."""
    commit = added.commit[:_SHORT_COMMIT_LENGTH]
    if added.since is None:
        return commit
    since = added.since[:_SHORT_COMMIT_LENGTH]
    return f"{since}..{commit}: {format_count(len(added.commits), 'commit')}"


def _report_nothing_known(voice: Voice, record_count: int, kind: str, lines: int) -> int:
    """Print why no author is known: no lines, or no proof; return the exit code, 1.

    `kind` is `file`, `commit` or `range`.
    """
    if not lines:
        voice.notice(
            "The file has no lines." if kind == "file" else f"The {kind} adds no lines of text."
        )
    else:
        records = format_count(record_count, "record")
        voice.notice(
            f"No line of this {kind} is proven by {records}. To find the sessions of a folder: "
            "vacr list"
        )
    return _EXIT_NOTHING_KNOWN


def _format_contributor_columns(blame: LineBlame | None) -> list[str]:
    """Return four columns about a line: model, conversation, evidence and prompt.

    For a line without proof, the first is `unknown` and the others are empty.
    """
    if blame is None:
        return ["unknown", "", "", ""]
    model = blame.claim.model or "ai"
    if blame.type == "mixed":
        model = f"{model} + {blame.changed_by or 'unknown'}"
    # A question mark: the time of the call is uncertain.
    evidence = blame.claim.evidence + ("?" if blame.claim.doubt else "")
    return [
        "human" if blame.type == "human" else model,
        blame.claim.session[:8],
        evidence,
        shorten_prompt(blame.claim, _MAX_PROMPT_WIDTH),
    ]


def _format_line_counts(counts: Mapping[str, int]) -> str:
    """Return the counts above zero by author type, such as `6 ai, 1 unknown`, or `no lines`."""
    return (
        ", ".join(f"{counts[kind]} {kind}" for kind in CONTRIBUTOR_TYPES if counts[kind])
        or "no lines"
    )
