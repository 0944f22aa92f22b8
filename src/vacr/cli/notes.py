"""`vacr notes`: the attribution of commits as git notes, for people without the records.

>>> from vacr.cli.notes import command
>>> list(command.commands)
['write', 'show', 'push', 'fetch', 'rewrite']
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click

from vacr.blame import DEFAULT_NOTES_REF, NotesRef, Repository
from vacr.cli.options import PATH, voice_options
from vacr.cli.record_inputs import open_blame_inputs
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, show_job_progress
from vacr.errors import UsageError, VacrError
from vacr.workflows import (
    NOTE_EMPTY,
    NOTE_REFUSED,
    NOTE_UNCHANGED,
    NOTE_WRITTEN,
    NoteResult,
    build_note_document,
    format_count,
    format_line_counts,
    list_note_commits,
    list_unnoted_commits,
    merge_fetched_notes,
    parse_rewritten_commits,
    read_commit_notes,
    rewrite_similar_notes,
    rewrite_stated_notes,
    write_commit_notes,
)

_EXIT_REFUSED = 1
_EXIT_NO_NOTE = 1
_SHORT_COMMIT_LENGTH = 12


def _notes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that all verbs of the group have."""
    for option in (
        voice_options,
        click.option(
            "--ref",
            metavar="REF",
            default=DEFAULT_NOTES_REF,
            show_default=True,
            help="Notes ref. Other tools look for git-ai's notes in the default one.",
        ),
        click.option(
            "--repository",
            metavar="FOLDER",
            type=PATH,
            default=".",
            help="Git repository.  [default: by the current folder]",
        ),
    ):
        function = option(function)
    return function


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Share the attribution of commits as git notes.

    A note has the lines of a commit that records prove, in the form of git-ai 3.0.0. It travels
    with the repository, so people see who wrote a line without the records. Notes are not signed:
    each names its record and the digest, which can be verified.

    \b
    Example:
      vacr notes write main..HEAD
      vacr notes push
      vacr notes fetch
      vacr notes show HEAD
    """


@command.command(short_help="Blame commits, and write the result as notes.")
@click.argument("revision", metavar="COMMIT|A..B")
@click.option(
    "--records",
    metavar="FILE|FOLDER",
    multiple=True,
    type=PATH,
    help="Records or native sessions; repeatable.  [default: the sessions of the repository]",
)
@click.option("--force", is_flag=True, help="Replace notes of other tools.")
@click.option("--no-index", is_flag=True, help="Read all sessions, instead of using the index.")
@_notes_options
def write(
    revision: str,
    records: tuple[str, ...],
    force: bool,
    no_index: bool,
    ref: str,
    repository: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Blame commits, and write the result as notes.

    Each commit with proven lines gets a note. If a note of vacr exists, the two are merged: lines
    that these records prove replace older claims, and other lines keep theirs. A commit with a note
    of another tool is skipped, and the exit code is 1; --force replaces that note. All new notes
    are written in one step. Notes contain no prompts. Without --records, vacr uses the sessions on
    this machine that worked in the repository.

    \b
    Example:
      vacr notes write HEAD
      vacr notes write main..HEAD --records records/
    """
    voice = Voice(format, quiet, verbose)
    notes = NotesRef(Repository(repository), ref)
    commits = list_note_commits(notes.repository, revision)
    with ExitStack() as opened:
        with show_job_progress("reading sessions", voice) as progress:
            inputs = opened.enter_context(
                open_blame_inputs(records, notes.repository, progress, voice, no_index=no_index)
            )
        with show_job_progress("blaming", voice) as progress:
            results = write_commit_notes(notes, commits, inputs, force=force, progress=progress)
    return _report_results(results, notes, voice)


@command.command(short_help="Show the notes of commits.")
@click.argument("revision", metavar="[COMMIT|A..B]", default="HEAD")
@_notes_options
def show(revision: str, ref: str, repository: str, format: str, quiet: bool, verbose: int) -> int:
    """Show the notes of commits: who wrote their lines.

    Lists lines by file and type, and the records behind them. Anyone who can push can write a note,
    and other tools may write wrong ones. So vacr counts only lines that the commit added, and says
    how much it ignored. The exit code is 1 if there is no note.

    \b
    Example:
      vacr notes show
      vacr notes show main..HEAD --format json
    """
    voice = Voice(format, quiet, verbose)
    notes = NotesRef(Repository(repository), ref)
    commits = list_note_commits(notes.repository, revision)
    errors: list[dict[str, str]] = []

    def report_failed(commit: str, error: VacrError) -> None:
        """Print that a note cannot be read."""
        voice.error(f"vacr: {commit[:_SHORT_COMMIT_LENGTH]}: unreadable note: {error}")
        errors.append({"commit": commit, "error": str(error)})

    documents = [
        build_note_document(note) for note in read_commit_notes(notes, commits, report_failed)
    ]
    for document in documents:
        _print_note(document, voice)
    voice.data({"notes": documents, "errors": errors})
    if documents:
        voice.notice("Notes are not signed. To prove a line: vacr blame FILE")
        return 0
    if not errors:
        subject = f"commit {commits[0][:_SHORT_COMMIT_LENGTH]} has no note"
        if len(commits) != 1:
            subject = f"none of {len(commits)} commits has a note"
        voice.notice(
            f"vacr: {subject} in {ref}. For others: vacr notes show A..B. To get notes of a "
            "remote: vacr notes fetch"
        )
    return _EXIT_NO_NOTE


def _print_note(document: Mapping[str, Any], voice: Voice) -> None:
    """Print the files of a note, its totals, and how much of it was ignored."""
    short = document["commit"][:_SHORT_COMMIT_LENGTH]
    for file in document["files"]:
        voice.result(f"{short} {file['path']}: {format_line_counts(file)}")
        sources = {
            (item.get("tool", ""), item.get("model-id", ""), item.get("record", ""))
            for item in file["ranges"]
        }
        for tool, model, record in sorted(sources):
            known = ", ".join(part for part in (tool, model) if part) or "a person"
            voice.notice(f"  {known}" + (f", record {record}" if record else ""), 1)
    ignored = ", ".join(f"{count} {reason}" for reason, count in document["ignored"].items())
    voice.result(
        f"{short}: {format_line_counts(document['lines'])} of "
        f"{format_count(document['added'], 'added line')}; note of {document['by']}"
        + (f"; ignored: {ignored}" if ignored else "")
    )


@command.command(short_help="Push the notes to a remote.")
@click.argument("remote", required=False)
@_notes_options
def push(
    remote: str | None, ref: str, repository: str, format: str, quiet: bool, verbose: int
) -> int:
    """Push the notes to a remote.

    If the remote has notes that this repository lacks, nothing is pushed: run `vacr notes fetch`
    first. REMOTE is by default the remote of the current branch, or else origin. No hook runs.

    \b
    Example:
      vacr notes push
      vacr notes push origin
    """
    voice = Voice(format, quiet, verbose)
    notes = NotesRef(Repository(repository), ref)
    target = remote or notes.find_remote()
    is_new = notes.push(target)
    voice.data({"remote": target, "ref": ref, "state": "pushed" if is_new else "unchanged"})
    voice.result(f"{target}: {ref} {'pushed' if is_new else 'is up to date'}")
    return 0


@command.command(short_help="Fetch the notes of a remote, and merge them.")
@click.argument("remote", required=False)
@_notes_options
def fetch(
    remote: str | None, ref: str, repository: str, format: str, quiet: bool, verbose: int
) -> int:
    """Fetch the notes of a remote, and merge them with those of this repository.

    No note is lost. If only one side changed a note, its version counts. If both did, the new note
    has the lines of both. If that is impossible because a note has another form, nothing changes.

    \b
    Example:
      vacr notes fetch
      vacr notes fetch upstream && vacr notes push upstream
    """
    voice = Voice(format, quiet, verbose)
    notes = NotesRef(Repository(repository), ref)
    source = remote or notes.find_remote()
    fetched = notes.fetch(source)
    document: dict[str, Any] = {"remote": source, "ref": ref, "received": 0, "merged": 0}
    if fetched is None:
        voice.notice(f"{source} has no notes in {ref}.")
    else:
        result = merge_fetched_notes(notes, fetched)
        document |= {"received": result.received, "merged": result.merged}
        received = format_count(result.received, "new or changed note")
        merged = f", {result.merged} of them merged" if result.merged else ""
        voice.result(f"{source}: {received}{merged}")
    voice.data(document)
    return 0


@command.command(short_help="Carry notes to commits that were rewritten.")
@click.argument("revision", metavar="[COMMIT|A..B]", required=False)
@click.option(
    "--stdin",
    is_flag=True,
    help="Read lines OLD NEW from standard input, as git gives them to the hook post-rewrite.",
)
@click.option("--force", is_flag=True, help="With --stdin: replace notes of other tools.")
@_notes_options
def rewrite(
    revision: str | None,
    stdin: bool,
    force: bool,
    ref: str,
    repository: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Carry notes to rewritten commits.

    They follow a rebase, squash, amend or cherry-pick. Lines are found by their content, and a line
    gets a claim only if an old note has that claim about the same line. With --stdin, git states
    which commits replace which. Otherwise, vacr looks in commits without a note for the lines of
    noted commits, by default in all commits of HEAD that may be new. Notes of old commits stay.

    \b
    Example:
      vacr notes rewrite --stdin  # in .git/hooks/post-rewrite
      vacr notes rewrite          # after a squash on the server, and a pull
      vacr notes rewrite main~3..main
    """
    voice = Voice(format, quiet, verbose)
    if stdin and revision is not None:
        raise UsageError(
            "--stdin and a revision exclude each other",
            hint="Omit the revision: standard input names the commits.",
        )
    notes = NotesRef(Repository(repository), ref)
    if stdin:
        olds = parse_rewritten_commits(sys.stdin.buffer.read())
        results = rewrite_stated_notes(notes, olds, force=force)
    else:
        commits = (
            list_unnoted_commits(notes)
            if revision is None
            else list_note_commits(notes.repository, revision)
        )
        results = rewrite_similar_notes(notes, commits)
    return _report_results(results, notes, voice)


def _report_results(results: Sequence[NoteResult], notes: NotesRef, voice: Voice) -> int:
    """Print what happened to each note; return the exit code, 1 if one was refused."""
    documents = []
    for result in results:
        short = result.commit[:_SHORT_COMMIT_LENGTH]
        if result.state == NOTE_REFUSED:
            voice.error(
                f"vacr: {short}: note not written: {result.reason}", "To replace it, add --force."
            )
        elif result.state == NOTE_EMPTY:
            voice.notice(f"{short}: no proven lines", 1)
        else:
            unchanged = ", unchanged" if result.state == NOTE_UNCHANGED else ""
            voice.result(f"{short}: {format_line_counts(result.lines)}{unchanged}")
        if result.unnamed:
            names = ", ".join(result.unnamed)
            voice.notice(f"{short}: the note leaves out files whose names are not Unicode: {names}")
        document: dict[str, Any] = {
            "commit": result.commit,
            "state": result.state,
            "lines": dict(result.lines),
        }
        if result.reason:
            document["reason"] = result.reason
        if result.unnamed:
            document["left-out"] = list(result.unnamed)
        if result.carried_from:
            document["from"] = list(result.carried_from)
        documents.append(document)
    states = Counter(result.state for result in results)
    voice.data({"ref": notes.ref, "commits": documents})
    others = {
        "unchanged": states[NOTE_UNCHANGED],
        "refused": states[NOTE_REFUSED],
        "without proven lines": states[NOTE_EMPTY],
    }
    rest = "".join(f", {count} {name}" for name, count in others.items() if count)
    voice.notice(f"{notes.ref}: {format_count(states[NOTE_WRITTEN], 'note')} written{rest}")
    return _EXIT_REFUSED if states[NOTE_REFUSED] else 0
