"""`vacr blame`: who wrote the lines of a file or of a commit, proven by records.

>>> from vacr.cli.blame import _split_target
>>> _split_target(("HEAD~3", "src/app.py"), rev=None, commit=None)
('src/app.py', 'HEAD~3')
"""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from vacr.agents import pause_garbage_collector
from vacr.blame import (
    BLAME_INCREMENTAL,
    BLAME_LINE_PORCELAIN,
    BLAME_PORCELAIN,
    AddedLines,
    BlamedLine,
    BlameSelection,
    NotesRef,
    Repository,
    RepositoryFile,
    add_blame_headers,
    add_incremental_headers,
    blame_commit,
    blame_file,
    find_repository_file,
    run_porcelain_blame,
)
from vacr.cli.blame_rows import RowStyle, describe_calls, format_blame_rows
from vacr.cli.options import PATH, Verb, voice_options
from vacr.cli.record_inputs import open_blame_records
from vacr.console import Voice, get_terminal_width, write_bytes
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes
from vacr.workflows import (
    build_commit_document,
    build_line_counts,
    build_line_document,
    build_line_headers,
    count_lines_by_model,
    format_count,
    format_line_counts,
)

F = TypeVar("F", bound=Callable[..., Any])

_EXIT_NOTHING_KNOWN = 1
_SHORT_COMMIT_LENGTH = 12
_MAX_POSITIONALS = 2
_FETCH_HISTORY = "Fetch the whole history with: git fetch --unshallow"
_OPTIONAL_SCORE = re.compile(r"(-[A-Za-z]*?)([MC])([0-9]*)")


_FILE_AND_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")


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
            "-M",
            "moves",
            metavar="[N]",
            multiple=True,
            help="Follow lines moved in a file; N is the minimum number of letters and digits.",
        ),
        click.option(
            "-C",
            "copies",
            metavar="[N]",
            multiple=True,
            help="Follow lines copied from other files; N is as for -M. Repeat -C to search more "
            "files, like git.",
        ),
        click.option("--since", metavar="DATE", help="Stop at commits before this date."),
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
        click.option(
            "--root", is_flag=True, help="Do not mark the first commit as a boundary (^)."
        ),
        click.option(
            "-p",
            "--porcelain",
            is_flag=True,
            help="Print as git blame does for programs, with vacr- headers.",
        ),
        click.option(
            "--line-porcelain", is_flag=True, help="Like -p, with all headers on every line."
        ),
        click.option("--incremental", is_flag=True, help="Like -p, without the lines themselves."),
        click.option("-l", "long_ids", is_flag=True, help="Show full commit ids."),
        click.option("-s", "short_rows", is_flag=True, help="Show only commit and model."),
        click.option("-e", "--show-email", is_flag=True, help="Show the e-mail of the author."),
        click.option(
            "--date", metavar="FORMAT", help="Show the date of the commit; FORMAT as in git log."
        ),
        # Editors pass these; they do not change what we print.
        *(
            click.option(
                flag,
                is_flag=True,
                expose_value=False,
                hidden=True,
                help="Accepted, because editors pass it to git blame; changes nothing.",
            )
            for flag in ["-t", "-b", "-f", "-n"]
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


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
    help="Count the lines that a commit or a range of commits added, by writer, instead of showing "
    "a file.",
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
@pause_garbage_collector()  # It would look through all lines and claims again and again.
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
    narrow terminal leaves out the last of these columns; -v lists sessions and prompts below, and
    so does FILE:LINE or FILE:FIRST-LAST for these lines. A question mark after the evidence means
    that the time of the call is uncertain. With --commit, vacr counts lines; for a range of
    commits, such as a pull request, the lines that are new at its end. Without --records, vacr uses
    the sessions on this machine that worked in the repository.

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
      vacr blame src/app.py:42
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
    target, chosen = _split_lines(target, repository)
    if chosen and not flags.get("ranges"):
        flags["ranges"] = (chosen,)
        voice = replace(voice, verbose=max(voice.verbose, 1))
    file, revision = _split_target(target, rev, commit)
    if commit is not None:
        given = any(flags.values()) or form or long_ids or short_rows or show_email or date
        if given or rev is not None:
            raise UsageError(
                "--commit excludes --rev and the flags of git blame",
                hint="Omit them. Or blame a file, without --commit: vacr blame REVISION FILE",
            )
        if notes and ".." in commit:
            raise UsageError(
                "--notes cannot be used with a range: a note is about a single commit",
                hint="Name a file or one commit, or see: vacr notes show A..B",
            )
        container = Repository(repository or ".")
        with open_blame_records(records, container, no_index, voice, may_be_empty=notes) as found:
            added = blame_commit(container, commit, found)
        _report_shallow_commit(container, added, voice)
        if notes:
            added = _add_notes_to_commit(container, added, voice)
        return _show_commit_blame(added, len(found), voice)
    if form is not None and voice.json:
        raise UsageError(f"{form} and --format json exclude each other", hint="Omit one of them.")
    place = find_repository_file(file, repository)
    selection = _build_selection(revision, **flags)
    container = place.repository
    may_be_empty = notes or form is not None  # An editor needs git's lines in any case.
    with open_blame_records(
        records, container, no_index, voice, may_be_empty=may_be_empty
    ) as found:
        try:
            lines = blame_file(place, revision, found, selection)
        except UnreadableInput as error:
            if revision is None and _names_commits(container, file):
                error.hint = f"To count the lines of commits: vacr blame --commit {file}"
            raise
    _report_undated_lines(place, lines, voice)
    if notes:
        lines = _add_notes(container, lines, voice)
    if form is not None:
        return _print_porcelain(place, selection, form, lines)
    style = RowStyle(long_ids, short_rows, show_email, date)
    kind = "file"
    if flags.get("ranges"):
        kind = "line" if len(lines) == 1 else "lines"
    return _show_file_blame(place, lines, style, voice, _Compared(records, len(found), kind, file))


def _report_shallow_commit(repository: Repository, added: AddedLines, voice: Voice) -> None:
    """Print that the parent of a commit is missing, and that its lines may therefore be older."""
    cut = repository.list_shallow_commits().intersection(added.commits)
    if cut:
        names = ", ".join(sorted(commit[:_SHORT_COMMIT_LENGTH] for commit in cut))
        voice.notice(
            f"The clone is shallow: the parent of {names} is missing, so git cannot tell how old "
            f"its lines are. vacr does not attribute them to calls with a time. {_FETCH_HISTORY}"
        )


def _report_undated_lines(place: RepositoryFile, lines: list[BlamedLine], voice: Voice) -> None:
    """Print how many lines may be older than git says: of a shallow clone, or behind a filter."""
    repository = place.repository
    cut = repository.list_shallow_commits()
    older = sum(line.commit in cut for line in lines)
    if older:
        voice.notice(
            f"The clone is shallow, so git cannot tell how old {format_count(older, 'line')} of "
            "its oldest commit are. vacr does not attribute them to calls with a time. "
            f"{_FETCH_HISTORY}"
        )
    new = sum(not line.commit.strip("0") for line in lines)
    name = repository.find_filter(place.path) if new else ""
    if name:
        voice.notice(
            f"The git filter {name} converts this file: {format_count(new, 'line')} of the work "
            "tree may be committed in another form. vacr does not attribute them to calls with a "
            "time. "
            f"To blame the stored text: vacr blame HEAD -- {shlex.quote(place.path)}"
        )


@dataclass(frozen=True)
class _Compared:
    """What was compared: the lines of a file, or some of them, with records."""

    paths: tuple[str, ...]
    """The paths of `--records`."""
    record_count: int
    kind: str
    """`file`, or for the lines that the user chose `line` or `lines`."""
    file: str
    """The file as the user named it."""


def _names_commits(repository: Repository, text: str) -> bool:
    """Return whether a text names a commit or a range of commits."""
    try:
        repository.resolve_range(text) if ".." in text else repository.resolve_commit(text)
    except (UnreadableInput, UsageError):
        return False
    return True


def _choose_form(porcelain: bool, line_porcelain: bool, incremental: bool) -> str | None:
    """Return the flag of git for the output; `None` for our own output.

    As for git, `--incremental` outranks `--line-porcelain`, which outranks `--porcelain`.
    """
    if incremental:
        return BLAME_INCREMENTAL
    if line_porcelain:
        return BLAME_LINE_PORCELAIN
    return BLAME_PORCELAIN if porcelain else None


def _split_lines(target: tuple[str, ...], repository: str | None) -> tuple[tuple[str, ...], str]:
    """Return the arguments, and the lines of a last one such as `src/app.py:42` or `app.py:4-9`.

    The lines are in the form of `-L`, or empty. A file whose name ends so wins.

    Raises:
        UsageError: there is no such line, because lines begin at 1.
    """
    found = _FILE_AND_LINES.fullmatch(target[-1]) if target else None
    if found is None or Path(repository or "", target[-1]).exists():
        return target, ""
    if not all(int(number) for number in found.groups()[1:] if number is not None):
        raise UsageError(
            f"{target[-1]}: there is no line 0, because lines begin at 1",
            hint=f"For the first line: vacr blame {found[1]}:1",
        )
    return (*target[:-1], found[1]), f"{found[2]},{found[3] or found[2]}"


def _split_target(
    target: tuple[str, ...], rev: str | None, commit: str | None
) -> tuple[str, str | None]:
    """Return the file and the revision that the arguments name.

    The file is empty with `--commit`. The revision is `None` for the work tree.

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
            "blame takes one file, and at most one revision",
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


def _print_porcelain(
    place: RepositoryFile, selection: BlameSelection, form: str, lines: list[BlamedLine]
) -> int:
    """Print the output of git for programs, with headers about the writers; return 0.

    An editor takes any other exit code for a failure. `form` is the flag of git: porcelain,
    line-porcelain or incremental.
    """
    headers = {line.line: build_line_headers(line) for line in lines}
    output = run_porcelain_blame(place.repository, place.path, selection, form)
    add = add_incremental_headers if form == BLAME_INCREMENTAL else add_blame_headers
    write_bytes([add(output, headers)])
    return 0


def _show_file_blame(
    place: RepositoryFile,
    lines: list[BlamedLine],
    style: RowStyle,
    voice: Voice,
    compared: _Compared,
) -> int:
    """Print who wrote each line of a file; return the exit code, 1 if all authors are unknown."""
    counts = Counter(line.type for line in lines)
    if voice.json:
        voice.data(
            {
                "path": place.path,
                "lines": [{"line": line.line, **build_line_document(line)} for line in lines],
                "total": build_line_counts(counts),
                "models": count_lines_by_model(line.blame for line in lines),
            }
        )
    else:
        width = get_terminal_width(sys.stdout)
        for row in format_blame_rows(place.repository, lines, style, width):
            voice.result(row)
    if set(counts) - {"unknown"}:
        if voice.verbose:
            *facts, next_step = describe_calls(lines, compared.paths)
            for text in facts:
                voice.prose(text)
            voice.result(next_step)  # In one line, so that the command can be copied.
        elif not voice.json:
            number = next(line.line for line in lines if line.blame is not None)
            voice.tip(f"To see why a line is there: vacr blame {compared.file}:{number}")
        return 0
    return _report_nothing_known(voice, compared.record_count, compared.kind, len(lines))


def _add_notes(repository: Repository, lines: list[BlamedLine], voice: Voice) -> list[BlamedLine]:
    """Return the lines; a line that no record proves gets the claim of its commit's note, if any.

    Print how many lines only notes claim. A note that cannot be read is reported and skipped.
    """
    from vacr.workflows import add_noted_blame  # Notes load much that blame does without.

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
    """Return the lines of a commit, with claims of its note for lines that no record proves."""
    lines = [line for _, own in added.files for line in own]
    noted = iter(_add_notes(repository, lines, voice))
    return replace(added, files=[(path, [next(noted) for _ in own]) for path, own in added.files])


def _show_commit_blame(added: AddedLines, record_count: int, voice: Voice) -> int:
    """Print the lines that commits added, by file and author type.

    Return the exit code, 1 if all authors are unknown.
    """
    document = build_commit_document(added)
    for file in document["files"]:
        voice.result(f"{file['path']}: {format_line_counts(file)}")
    files, lines = format_count(len(added.files), "file"), format_line_counts(document["total"])
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

    `kind` is `file`, `line`, `lines`, `commit` or `range`. `record_count` and `lines` are the
    numbers of compared records and of lines.
    """
    subjects = {"line": "This line is not", "lines": "None of these lines is"}
    if not lines:
        voice.notice(
            f"The {kind} adds no lines of text."
            if kind in ("commit", "range")
            else "The file has no lines."
        )
    else:
        records = format_count(record_count, "record")
        subject = subjects.get(kind, f"No line of this {kind} is")
        voice.notice(f"{subject} proven by {records}. To find sessions: vacr list --project .")
    return _EXIT_NOTHING_KNOWN
