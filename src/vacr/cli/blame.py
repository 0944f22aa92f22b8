"""`vacr blame`: who wrote the lines of a file or of a commit, proven by records.

>>> from vacr.cli.blame import _format_line_counts
>>> _format_line_counts({"ai": 6, "human": 0, "mixed": 0, "unknown": 1})
'6 ai, 1 unknown'
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import click

from vacr.blame import (
    BLAME_INCREMENTAL,
    BLAME_LINE_PORCELAIN,
    BLAME_PORCELAIN,
    AddedLines,
    BlamedLine,
    BlameRecords,
    BlameSelection,
    ClaimIndex,
    LineBlame,
    NotesRef,
    Repository,
    RepositoryFile,
    add_blame_headers,
    add_incremental_headers,
    blame_commit,
    blame_file,
    find_repository_file,
    find_work_trees,
    read_commit_authors,
    run_porcelain_blame,
)
from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import (
    Voice,
    align_columns,
    cut_to_width,
    get_terminal_width,
    show_job_progress,
    write_bytes,
)
from vacr.errors import (
    InvalidRecord,
    NotASession,
    UnreadableInput,
    UsageError,
    VacrError,
    escape_unprintable,
)
from vacr.files import find_state_folder, read_bytes
from vacr.workflows import (
    CONTRIBUTOR_TYPES,
    EVIDENCE_NOTED,
    add_noted_blame,
    build_commit_document,
    build_line_counts,
    build_line_document,
    build_line_headers,
    count_lines_by_model,
    format_count,
    read_blame_records,
    read_project_records,
    shorten_prompt,
)

F = TypeVar("F", bound=Callable[..., Any])

_EXIT_NOTHING_KNOWN = 1
_MAX_PROMPT_WIDTH = 40
_MIN_PROMPT_WIDTH = 12
_MIN_TEXT_WIDTH = 40
_MIN_TEXT_WIDTH_WITH_SESSION = 30
_MAX_MODEL_WIDTH = 24
_SHORT_COMMIT_LENGTH = 12
_COLUMN_COMMIT_LENGTH = 8
_SESSION_COLUMN, _PROMPT_COLUMN = 1, 3  # among those of _format_contributor_columns
_MAX_POSITIONALS = 2
_DEFAULT_DATE_FORMAT = "iso"
_OPTIONAL_SCORE = re.compile(r"(-[A-Za-z]*?)([MC])([0-9]*)")


class _BlameVerb(Verb):
    """A verb that takes the flags of `git blame`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `-M` and `-C` may have a number attached, but none after a blank.

        To git, 0 means its default, so `-M` becomes `-M0`.
        """
        end = args.index("--") if "--" in args else len(args)
        words = []
        for number, word in enumerate(args):
            found = _OPTIONAL_SCORE.fullmatch(word) if number < end else None
            is_value = number > 0 and args[number - 1] == "-L"
            if found is None or is_value:
                words.append(word)
                continue
            flags, letter, score = found.groups()
            words += [flags] if flags != "-" else []
            words.append(f"-{letter}{score or '0'}")
        return super().parse_args(ctx, words)


def _git_blame_options(function: F) -> F:
    """Add the flags of `git blame` to the verb."""
    options = (
        click.option(
            "-L",
            "ranges",
            metavar="RANGE",
            multiple=True,
            help="Show only these lines: N,M or N,+K or /REGEX/ or :FUNCTION; repeatable.",
        ),
        click.option("-w", "ignore_space", is_flag=True, help="Ignore changes of white space."),
        click.option(
            "-M", "moves", metavar="[N]", multiple=True, help="Follow lines moved in a file."
        ),
        click.option(
            "-C",
            "copies",
            metavar="[N]",
            multiple=True,
            help="Follow lines copied from other files; repeatable.",
        ),
        click.option("--since", metavar="DATE", help="Do not look for older commits."),
        click.option(
            "--ignore-rev",
            metavar="REVISION",
            multiple=True,
            help="Ignore the changes of this commit; repeatable.",
        ),
        click.option(
            "--ignore-revs-file",
            metavar="FILE",
            multiple=True,
            type=click.Path(readable=False),
            help="Ignore the changes of the commits in this file; repeatable.",
        ),
        click.option(
            "--contents",
            metavar="FILE|-",
            type=PATH,
            help="Take the content of the file from here, such as an unsaved buffer.",
        ),
        click.option("--root", is_flag=True, help="Do not treat first commits as boundaries."),
        click.option(
            "-p",
            "--porcelain",
            is_flag=True,
            help="Print as git blame does for programs, with vacr- headers.",
        ),
        click.option(
            "--line-porcelain", is_flag=True, help="The same, with all headers on every line."
        ),
        click.option("--incremental", is_flag=True, help="The same, without the lines themselves."),
        click.option("-l", "long_ids", is_flag=True, help="Show full commit ids."),
        click.option("-s", "short_rows", is_flag=True, help="Show only commit and model."),
        click.option("-e", "--show-email", is_flag=True, help="Show the e-mail of the author."),
        click.option(
            "--date", metavar="FORMAT", help="Show the date of the commit; FORMAT as in git log."
        ),
        # Editors pass these; they do not change what we print.
        *(
            click.option(flag, is_flag=True, expose_value=False, hidden=True)
            for flag in ["-t", "-b", "-f", "-n"]
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True)
class _RowStyle:
    """The columns of the text output that the user asked for."""

    long_ids: bool
    short_rows: bool
    show_email: bool
    date: str | None


@click.command(no_args_is_help=True, cls=_BlameVerb)
@click.argument("target", nargs=-1, metavar="[REVISION] [FILE]", type=PATH)
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions; repeatable.  [default: the sessions of this repository]",
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
@click.option(
    "--notes",
    is_flag=True,
    help="For lines that no record proves, use the git notes of their commits, which are not "
    "signed.",
)
@click.option("--no-index", is_flag=True, help="Read all sessions, instead of using the index.")
@_git_blame_options
@voice_options
def command(
    target: tuple[str, ...],
    records: tuple[str, ...],
    commit: str | None,
    rev: str | None,
    repository: str | None,
    notes: bool,
    no_index: bool,
    porcelain: bool,
    line_porcelain: bool,
    incremental: bool,
    long_ids: bool,
    short_rows: bool,
    show_email: bool,
    date: str | None,
    format: str,
    quiet: bool,
    verbose: int,
    **flags: Any,
) -> int:
    """Show who wrote the lines of a file, or the lines that a commit added.

    For each line of a file, vacr shows the model, the session, the evidence and the prompt. A
    narrow terminal leaves out the last of these columns; -v lists sessions and prompts below. A
    question mark after the evidence means that the time of the call is uncertain. With --commit,
    vacr counts lines; for a range of commits, such as a pull request, the lines that are new at its
    end. Without --records, vacr uses the sessions on this machine that worked in the repository.

    vacr matches lines with records by whole files first, then by blocks of lines. So a match
    survives a rebase, squash, amend, cherry-pick or rename. A call that is later than the commit,
    or that worked in another project, does not count, and neither does a common line alone. Lines
    without proof are unknown. Native sessions are recorded and attributed on the fly.
    A record that was modified after it was made is refused, and in a folder skipped.

    The common flags of git blame mean what they mean to git, so an editor that calls git blame can
    call vacr blame instead.

    With --notes, lines that only a note of `vacr notes` or git-ai speaks of have the evidence
    `noted`. It needs no records.

    \b
    Example:
      vacr blame src/app.py
      vacr blame -v -L 42,42 src/app.py
      vacr blame --commit HEAD~10..HEAD
      vacr blame -w -C -L 10,20 HEAD~3 -- src/app.py
      vacr blame src/app.py --rev HEAD~3 --records abc.jsonl --format json
      vacr blame --commit HEAD --records records/ --format json
      vacr blame --commit origin/main..HEAD --records records/
      vacr blame --commit main --repository ~/mirror.git --records records/
      vacr blame src/app.py --notes
    """
    form = _choose_form(porcelain, line_porcelain, incremental)
    # Editors show everything on standard error as an error.
    voice = Voice(format, quiet or (form is not None and not verbose), verbose)
    file, revision = _split_target(target, rev, commit)
    if commit is not None:
        given = any(flags.values()) or form or long_ids or short_rows or show_email or date
        if given or rev is not None:
            raise UsageError(
                "--commit excludes --rev and the flags of git blame",
                hint="Omit them, or name a file: vacr blame REVISION FILE",
            )
        if notes and ".." in commit:
            raise UsageError(
                "--notes cannot be used with a range: a note is about a single commit",
                hint="Name a file or one commit, or see: vacr notes show A..B",
            )
        container = Repository(repository or ".")
        with _index_records(records, container, no_index, voice, may_be_empty=notes) as found:
            added = blame_commit(container, commit, found)
        if notes:
            added = _add_notes_to_commit(container, added, voice)
        return _show_commit_blame(added, len(found), voice)
    if form is not None and voice.json:
        raise UsageError(f"{form} and --format json exclude each other", hint="Omit one of them.")
    place = find_repository_file(file, repository)
    selection = _build_selection(revision, **flags)
    with _index_records(records, place.repository, no_index, voice, may_be_empty=notes) as found:
        lines = blame_file(place, revision, found, selection)
    if notes:
        lines = _add_notes(place.repository, lines, voice)
    if form is not None:
        return _print_porcelain(place, selection, form, lines)
    style = _RowStyle(long_ids, short_rows, show_email, date)
    return _show_file_blame(place, lines, style, len(found), voice)


@contextmanager
def _index_records(
    paths: tuple[str, ...],
    repository: Repository,
    no_index: bool,
    voice: Voice,
    *,
    may_be_empty: bool,
) -> Iterator[BlameRecords]:
    """Yield the records to blame with, while a progress bar is shown and the index is open.

    If they `may_be_empty`, the machine need not have sessions of the repository.
    """
    index = _open_index(no_index, voice)
    try:
        with show_job_progress("reading sessions", voice) as progress:
            try:
                found = _read_records(paths, repository, index, progress, voice)
            except UnreadableInput as error:
                if paths:
                    raise
                if not may_be_empty:
                    if NotesRef(repository).find_tip() is not None:
                        error.hint = (
                            "To use the notes of the repository, add --notes. To use records, add "
                            "--records PATH."
                        )
                    raise
                found = []
            yield found
    finally:
        if index is not None:
            index.close()


def _choose_form(porcelain: bool, line_porcelain: bool, incremental: bool) -> str | None:
    """Return the flag of git for the output, as git chooses it; `None` for our own output."""
    if incremental:
        return BLAME_INCREMENTAL
    if line_porcelain:
        return BLAME_LINE_PORCELAIN
    return BLAME_PORCELAIN if porcelain else None


def _split_target(
    target: tuple[str, ...], rev: str | None, commit: str | None
) -> tuple[str, str | None]:
    """Return the file and the revision that the arguments name.

    Raises:
        UsageError: there is neither a file nor `--commit`, or there is too much.
    """
    if commit is not None:
        if target:
            hint = (
                "For the file of a revision: vacr blame REVISION FILE. For all lines of a commit: "
                "--commit without a file."
            )
            raise UsageError("a file and --commit exclude each other", hint=hint)
        return "", None
    if not target:
        raise UsageError(
            "blame needs a file or --commit",
            hint="For example: vacr blame src/app.py",
        )
    *revisions, file = target
    if len(target) > _MAX_POSITIONALS or (revisions and rev is not None):
        raise UsageError(
            "blame takes one revision and one file",
            hint="For example: vacr blame HEAD~3 -- src/app.py",
        )
    return file, revisions[0] if revisions else rev


def _build_selection(
    revision: str | None,
    *,
    ranges: tuple[str, ...],
    ignore_space: bool,
    moves: tuple[str, ...],
    copies: tuple[str, ...],
    since: str | None,
    ignore_rev: tuple[str, ...],
    ignore_revs_file: tuple[str, ...],
    contents: str | None,
    root: bool,
) -> BlameSelection:
    """Return the lines that the flags of `git blame` select."""
    words = ["-w"] if ignore_space else []
    words += [f"-M{score}" for score in moves]
    words += [f"-C{score}" for score in copies]
    words += [f"--since={since}"] if since is not None else []
    words += [f"--ignore-rev={name}" for name in ignore_rev]
    # Like git, which reads it from the top of the work tree; an empty name clears the list.
    words += [f"--ignore-revs-file={name}" for name in ignore_revs_file]
    words += ["--root"] if root else []
    data = None if contents is None else read_bytes(contents)
    return BlameSelection(revision, tuple(words), ranges, data)


def _read_records(
    paths: tuple[str, ...],
    repository: Repository,
    index: ClaimIndex | None,
    progress: Callable[[int, int], None],
    voice: Voice,
) -> BlameRecords:
    """Return the records at some paths, or of the repository's sessions if there are no paths.

    Print a notice about each input that is skipped.
    """
    report_skipped = make_skip_reporter(voice)
    if paths:
        return read_blame_records(paths, report_skipped, index=index, progress=progress)
    folders = find_work_trees(repository)
    return read_project_records(folders, report_skipped, index=index, progress=progress)


def read_records(
    paths: tuple[str, ...],
    repository: Repository,
    progress: Callable[[int, int], None],
    voice: Voice,
) -> Sequence[dict[str, Any]]:
    """Return the records at some paths, or of the repository's sessions if there are no paths.

    Print a notice about each input that is skipped.
    """
    records = _read_records(paths, repository, None, progress, voice)
    return cast("Sequence[dict[str, Any]]", records)  # Without an index, they are records.


def make_skip_reporter(voice: Voice) -> Callable[[str, VacrError], None]:
    """Return a function that prints a notice about a skipped input."""

    def report_skipped(path: str, error: VacrError) -> None:
        """Print that an input is skipped, and why."""
        message = f"{error.where or path}: skipped: {error.message}"
        if isinstance(error, InvalidRecord):
            voice.error(message)
            return
        # Only with -v: in a folder, files that are not sessions are expected.
        voice.notice(message, 1 if isinstance(error, NotASession) else 0)

    return report_skipped


def _open_index(no_index: bool, voice: Voice) -> ClaimIndex | None:
    """Return the index in the state folder; `None` if the user wants none, or none can be used."""
    if no_index:
        return None
    try:
        index = ClaimIndex.open(find_state_folder(os.environ))
    except UsageError:  # There is no state folder.
        return None
    if not index.is_usable:
        voice.notice("The index cannot be used, so all sessions are read.", 1)
        return None
    return index


def _print_porcelain(
    place: RepositoryFile, selection: BlameSelection, form: str, lines: list[BlamedLine]
) -> int:
    """Print the output of git for programs, with headers about the writers; return 0.

    An editor takes any other exit code for a failure.
    """
    headers = {line.line: build_line_headers(line) for line in lines}
    output = run_porcelain_blame(place.repository, place.path, selection, form)
    add = add_incremental_headers if form == BLAME_INCREMENTAL else add_blame_headers
    write_bytes([add(output, headers)])
    return 0


def _show_file_blame(
    place: RepositoryFile,
    lines: list[BlamedLine],
    style: _RowStyle,
    record_count: int,
    voice: Voice,
) -> int:
    """Print who wrote each line of a file; return the exit code, 1 if all authors are unknown."""
    counts = Counter(line.type for line in lines)
    if not voice.json:
        for row in _format_rows(place.repository, lines, style, get_terminal_width(sys.stdout)):
            voice.result(row)
    voice.data(
        {
            "path": place.path,
            "lines": [{"line": line.line, **build_line_document(line)} for line in lines],
            "total": build_line_counts(counts),
            "models": count_lines_by_model(line.blame for line in lines),
        }
    )
    if set(counts) - {"unknown"}:
        for text in _describe_calls(lines) if voice.verbose else ():
            voice.notice(text, 1)
        return 0
    return _report_nothing_known(voice, record_count, "file", len(lines))


def _describe_calls(lines: Sequence[BlamedLine]) -> list[str]:
    """Return texts about the calls that wrote lines: session, lines, prompt and entry."""
    calls: dict[tuple[str, str], list[BlamedLine]] = {}
    for line in lines:
        if line.blame is not None:
            claim = line.blame.claim
            calls.setdefault((claim.session, claim.entry), []).append(line)
    texts = []
    for (session, entry), own in calls.items():
        numbers = _format_line_numbers([line.line for line in own])
        texts.append(f"session {session or 'unknown'}: {numbers}")
        claim = next(line.blame.claim for line in own if line.blame is not None)
        texts += [f"  prompt: {shorten_prompt(claim)}"] if claim.prompt.strip() else []
        texts += [f"  entry: {entry}"] if entry else []
    texts.append("To read a call: vacr show FILE --entry ENTRY. To find the FILE: vacr list -v")
    return texts


def _format_line_numbers(numbers: Sequence[int]) -> str:
    """Return ascending numbers of lines as ranges, such as `line 7` or `lines 1-5, 7`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    shown = ", ".join("-".join(map(str, item)) for item in ranges)
    return f"{'line' if len(numbers) == 1 else 'lines'} {shown}"


def _format_rows(
    repository: Repository, lines: list[BlamedLine], style: _RowStyle, width: int | None
) -> list[str]:
    """Return a row for each line: commit, author if asked for, writer, number and text.

    With a `width`, rows are cut to it, and where space is short they have fewer columns.
    """
    length = None if style.long_ids else _COLUMN_COMMIT_LENGTH
    leading = [[line.commit[:length]] for line in lines]
    if style.show_email or style.date is not None:
        authors = read_commit_authors(
            repository, (line.commit for line in lines), style.date or _DEFAULT_DATE_FORMAT
        )
        for columns, line in zip(leading, lines, strict=True):
            author = authors.get(line.commit)
            if style.show_email:
                columns.append(author.mail if author is not None else "")
            if style.date is not None:
                columns.append(author.date if author is not None else "")
    writers = [_format_contributor_columns(line.blame) for line in lines]
    if style.short_rows:
        writers = [columns[:1] for columns in writers]
    numbers = [[f"{line.line})"] for line in lines]
    if width is not None:
        used = _measure_columns(leading) + _measure_columns(numbers) + 1
        writers = _fit_contributor_columns(writers, width - used - _MIN_TEXT_WIDTH)
    rows = [
        [*first, *who, *last] for first, who, last in zip(leading, writers, numbers, strict=True)
    ]
    aligned = align_columns(rows, right={len(rows[0]) - 1}) if rows else []
    shown = [
        f"{row} {escape_unprintable(line.text)}" for row, line in zip(aligned, lines, strict=True)
    ]
    return shown if width is None else [cut_to_width(row, width) for row in shown]


def _measure_columns(rows: list[list[str]]) -> int:
    """Return the width of aligned columns, each with the gap after it."""
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True))


def _fit_contributor_columns(rows: list[list[str]], space: int) -> list[list[str]]:
    """Return the columns about writers that fit into a space: the model, then as many as possible.

    The name of a model loses its vendor. The prompt, in the last column, may be cut.
    """
    rows = [[_shorten_model(row[0]), *row[1:]] for row in rows]
    kept = [row[:1] for row in rows]
    for index in range(1, len(rows[0]) if rows else 1):
        rest = space - _measure_columns(kept) - 2
        if index == _SESSION_COLUMN:
            # The session matters more than the end of long lines.
            rest += _MIN_TEXT_WIDTH - _MIN_TEXT_WIDTH_WITH_SESSION
        column = [row[index] for row in rows]
        needed = max(map(len, column))
        if index == _PROMPT_COLUMN and rest >= min(needed, _MIN_PROMPT_WIDTH):
            column = [cut_to_width(text, rest) for text in column]
        elif needed > rest:
            break
        kept = [[*row, text] for row, text in zip(kept, column, strict=True)]
    return kept


def _shorten_model(name: str) -> str:
    """Return the name of a model without its vendor, cut if it is long."""
    return cut_to_width(name.rpartition("/")[2] or name, _MAX_MODEL_WIDTH)


def _add_notes(repository: Repository, lines: list[BlamedLine], voice: Voice) -> list[BlamedLine]:
    """Return lines with the claims of notes; print how many only notes speak of."""

    def report_failed(commit: str, error: VacrError) -> None:
        """Print that a note cannot be read."""
        voice.error(f"vacr: {commit[:_SHORT_COMMIT_LENGTH]}: skipped an unreadable note: {error}")

    noted, ignored = add_noted_blame(NotesRef(repository), lines, report_failed)
    count = sum(new.blame is not old.blame for new, old in zip(noted, lines, strict=True))
    if count:
        voice.notice(f"{format_count(count, 'line')} known only from notes, which are not signed")
    for reason, ignored_count in ignored.items():
        voice.notice(f"ignored in notes: {ignored_count} {reason}", 1)
    return noted


def _add_notes_to_commit(repository: Repository, added: AddedLines, voice: Voice) -> AddedLines:
    """Return the lines of a commit with the claims of its note."""
    lines = [line for _, own in added.files for line in own]
    noted = iter(_add_notes(repository, lines, voice))
    return replace(added, files=[(path, [next(noted) for _ in own]) for path, own in added.files])


def _show_commit_blame(added: AddedLines, record_count: int, voice: Voice) -> int:
    """Print the lines that commits added, by file and author type.

    Return the exit code, 1 if all authors are unknown.
    """
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
    return _report_nothing_known(voice, record_count, kind, count)


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
    # A question mark: the time of the call is uncertain. Notes never have one.
    is_doubtful = blame.claim.doubt and blame.claim.evidence != EVIDENCE_NOTED
    evidence = blame.claim.evidence + ("?" if is_doubtful else "")
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
