"""`vacr blame`: who wrote the lines of a file or of a commit, as far as records prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import click

from vacr.attribution.blame import Found
from vacr.cli import options
from vacr.cli.blamed import KINDS, added_told, asked_for, counts_told, line_told, models_told
from vacr.cli.given import Given, opened
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.tables import laid_out
from vacr.errors import NotASession, UnreadableInput, UsageError
from vacr.sources.blaming import Added, blame_commit, blame_file
from vacr.sources.git import Repository
from vacr.sources.worktrees import place_of

NOTHING = 1
_ASKED = 40
_SHORT = 12


@click.command(no_args_is_help=True)
@click.argument("file", required=False, type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions; may be given again.  [required]",
)
@click.option(
    "--commit",
    metavar="REVISION|A..B",
    help="Count the lines that a commit, or a range of them, added, instead of showing a file.",
)
@click.option(
    "--rev", metavar="REVISION", help="Show the file as it is there, instead of in the work tree."
)
@click.option(
    "--repository",
    metavar="FOLDER",
    type=PATH,
    help="The repository.  [default: that of the file, or of the current folder]",
)
@options.voice_options
def command(
    file: str | None,
    records: tuple[str, ...],
    commit: str | None,
    rev: str | None,
    repository: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Say who wrote each line of a file, or the lines that a commit added: which model, in which
    conversation, for which prompt.

    Of a range of commits, such as those of a pull request, counted are the lines that are new at
    its end.

    Lines are joined to records by whole files first, then by blocks of lines; never by time, and
    never by a short line alone. So they stay known when a commit is rebased, squashed, amended or
    picked, and when a file is renamed. What nothing proves is unknown. Records may be attributed
    already; native sessions are read as `vacr record` reads them.

    \b
    Example:
      vacr blame src/app.py --records records/
      vacr blame src/app.py --rev HEAD~3 --records abc.jsonl --format json
      vacr blame --commit HEAD --records records/ --format json
      vacr blame --commit origin/main..HEAD --records records/
      vacr blame --commit main --repository ~/mirror.git --records records/
    """
    voice = Voice(format, quiet, verbose)
    _refuse(file, commit, records)
    if commit is not None:
        if rev is not None:
            raise UsageError(
                "--rev goes with a file, not with --commit",
                hint="Name the commit with --commit alone.",
            )
        return _commit(Repository(repository or "."), commit, _records(records, voice), voice)
    return _file(file or "", repository, rev, _records(records, voice), voice)


def _refuse(file: str | None, commit: str | None, records: tuple[str, ...]) -> None:
    """Refuse a call that does not say what to blame, or by what."""
    if file is None and commit is None:
        raise UsageError(
            "name a file, or a commit with --commit",
            hint="For example: vacr blame src/app.py --records records/",
        )
    if file is not None and commit is not None:
        hint = "For a file as a commit has it: --rev; for all that a commit added: --commit alone."
        raise UsageError("a file and --commit do not go together", hint=hint)
    if not records:
        hint = (
            "They are files or folders of records or sessions. vacr list -v shows the "
            "sessions here; vacr record keeps them."
        )
        raise UsageError("name what is known of the lines with --records", hint=hint)


def _records(named: tuple[str, ...], voice: Voice) -> list[dict[str, Any]]:
    """Read all records and sessions; what cannot be read in a folder does not keep the
    others back.
    """
    found: list[dict[str, Any]] = []
    for name in named:
        for one in opened(name):
            if isinstance(one, Given):
                found.append(one.record)
            else:
                where = one.where or name
                voice.notice(f"{where}: left out: {one.message}", isinstance(one, NotASession))
    if not found:
        raise UnreadableInput(
            "there are no records",
            where=", ".join(named),
            hint="Make some: vacr record FOLDER -o records/",
        )
    return found


def _file(
    file: str, repository: str | None, rev: str | None, records: list[dict[str, Any]], voice: Voice
) -> int:
    place = place_of(file, repository)
    lines = blame_file(place, rev, records)
    counts = Counter(line.type for line in lines)
    rows = [
        [line.commit[:8], *_who(line.found), f"{number})"] for number, line in enumerate(lines, 1)
    ]
    for told, line in zip(
        laid_out(rows, right=frozenset({len(rows[0]) - 1})) if rows else (), lines, strict=True
    ):
        voice.result(f"{told} {line.text}")
    voice.data(
        {
            "path": place.path,
            "lines": [{"line": number, **line_told(line)} for number, line in enumerate(lines, 1)],
            "total": counts_told(counts),
            "models": models_told(line.found for line in lines),
        }
    )
    return 0 if set(counts) - {"unknown"} else _nothing(voice, len(records), "file", len(lines))


def _commit(
    repository: Repository, revision: str, records: list[dict[str, Any]], voice: Voice
) -> int:
    added = blame_commit(repository, revision, records)
    told = added_told(added)
    for file in told["files"]:
        voice.result(f"{file['path']}: {_said(file)}")
    voice.result(f"{_span(added)}: {plural(len(added.files), 'file')}, {_said(told['total'])}")
    if added.no_text:
        voice.notice(f"Not counted, for there are no lines in it: {', '.join(added.no_text)}")
    voice.data(told)
    lines, unknown = told["total"]["lines"], told["total"]["unknown"]
    return (
        0
        if lines > unknown
        else _nothing(voice, len(records), "commit" if added.since is None else "range", lines)
    )


def _span(added: Added) -> str:
    """Name a commit, or a range of them."""
    if added.since is None:
        return added.commit[:_SHORT]
    return (
        f"{added.since[:_SHORT]}..{added.commit[:_SHORT]}: {plural(len(added.commits), 'commit')}"
    )


def _nothing(voice: Voice, count: int, what: str, lines: int) -> int:
    """Say that nothing is known, and why."""
    if not lines:
        voice.notice(
            "This file has no lines." if what == "file" else f"This {what} adds no line of text."
        )
    else:
        hint = "vacr list shows which sessions worked in which folder."
        voice.notice(f"No line of this {what} is in {plural(count, 'record')}. {hint}")
    return NOTHING


def _who(found: Found | None) -> list[str]:
    """Say in columns who made a line, in which conversation, what proves it, and what was asked
    for.
    """
    if found is None:
        return ["unknown", "", "", ""]
    model = found.type if found.type != "ai" else found.claim.model or "ai"
    return [model, found.claim.session[:8], found.claim.evidence, asked_for(found.claim, _ASKED)]


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind]) or "no lines"
