"""`vacr replay`: sessions over a base → the files as the sessions left them.

>>> from vacr.cli import run_command_line
>>> run_command_line(["replay", "examples/claude-code.jsonl"])
total.py: complete, recorded
0
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from vacr.blame import (
    COMMIT_ABSENT,
    COMMIT_DIFFERENT,
    COMMIT_EQUAL,
    COMMIT_UNCHANGED,
    CommitFiles,
    RebuiltFile,
    rebuild_files,
)
from vacr.cli.options import PATH, Verb, voice_options
from vacr.cli.selection import Selection, selection_options
from vacr.console import Voice, show_job_progress
from vacr.edits import is_inside_git_folder
from vacr.errors import UsageError, VacrError
from vacr.files import OutputFile, has_same_bytes, write_files_atomically
from vacr.workflows import (
    FormatterRunner,
    build_replay_document,
    format_count,
    load_replay_base,
    name_failed_input,
    read_replay_inputs,
)

_MAX_PATHS_SHOWN = 3
_COMMIT_STATES = {
    COMMIT_EQUAL: "equals the commit",
    COMMIT_UNCHANGED: "equals the commit, which did not change it",
    COMMIT_DIFFERENT: "differs from the commit",
    COMMIT_ABSENT: "not in the commit",
}


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, metavar="[RECORD|SESSION|FOLDER]...", type=PATH)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="Git repository with the files before the sessions.  [default revision: HEAD]",
)
@click.option(
    "--at",
    metavar="COMMIT",
    help="Compare with this commit of the base's repository, and take the states that equal it. "
    "The base is then the commit's parent in the repository of the current folder, unless --base "
    "names another.",
)
@click.option(
    "--run-formatters",
    is_flag=True,
    help="Run the formatters that a session ran (gofmt, black, ruff, prettier), if they are "
    "installed, on the rebuilt text, in a sandbox without network.",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=PATH,
    help="Folder for the rebuilt files; vacr writes only completely known files.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist with different content.")
@selection_options
@voice_options
def command(
    files: tuple[str, ...],
    base: str | None,
    at: str | None,
    run_formatters: bool,
    out: str | None,
    overwrite: bool,
    agent: str | None,
    project: str | None,
    repo: str | None,
    since: str | None,
    until: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Rebuild the files that sessions changed.

    vacr applies the edits in the sessions to the files in --base. Name records, native sessions,
    folders of them, or sessions on this machine: `latest`, or an id that `vacr list` shows. Without
    paths, --agent, --project, --repo, --since and --until choose among all sessions on this
    machine. Several are replayed together, in order of time. The report lists every changed file,
    whether it is complete, partial or deleted, and the evidence. A file is written only if every
    byte of it is known. The report names a doubt where the file may differ from that: a formatter
    or another command ran since, only a part was shown after a change from outside, a part is
    redacted, or the base is newer than the changes, which are then merged into it. Files in the
    folder are never removed, and replaced only with --overwrite.

    With --at, each file is compared with the commit at every moment of the sessions. If it was the
    same at one of them, the report says "equals the commit" and names the entry, and this state is
    written instead of the last one. For everything that a session changed up to the commit, name
    the revision before the session with --base.

    With --run-formatters, a text that a formatter rewrote is formatted again, and the evidence
    names the formatter, such as "formatter: black 24.1.0". The installed version counts.

    A session that cannot be read is named on standard error and skipped, if there are others. A
    record that was modified after it was made is refused.

    \b
    Example:
      vacr replay latest
      vacr replay --project . --since yesterday --out tree/
      vacr replay a.jsonl b.jsonl --base ~/repo@HEAD~3 --out tree/
      vacr replay a.jsonl --at HEAD
      vacr replay a.jsonl --base ~/repo@HEAD~3 --at HEAD~1 --out tree/
      vacr replay abc.acr.json --format json |
        jq '.files[] | select(.complete | not)'
    """
    voice = Voice(format, quiet, verbose)
    files = Selection(agent, project, repo, since, until).choose(files, voice)
    replay_base = load_replay_base(base, at)
    errors: list[VacrError] = []
    with show_job_progress("reading sessions", voice) as progress:
        inputs = read_replay_inputs(files, voice.notice, errors.append, progress=progress)
    for error in errors:
        voice.error(f"vacr: {error.where}: skipped: {error.message}", error.hint)
    commit = CommitFiles(replay_base.commit) if replay_base.commit is not None else None
    runner = _make_formatter_runner(voice) if run_formatters else None
    with show_job_progress("replaying", voice), name_failed_input(inputs):
        rebuilt = rebuild_files(
            [recording.record for recording in inputs], replay_base.before, commit, runner
        )
    if runner is not None and runner.missing:
        names = ", ".join(sorted(runner.missing))
        voice.notice(f"Formatters not run, because they are not installed or failed: {names}")
    clashing = _find_clashing_paths(rebuilt)
    known = {
        file.path: file.data
        for file in rebuilt
        if file.data is not None
        and file.path not in clashing
        and not is_inside_git_folder(file.path)
    }
    if out is not None:
        _write_replayed_files(Path(out), known, overwrite=overwrite)
    for file in rebuilt:
        if file.path in clashing:
            voice.notice(
                f"{file.path}: sessions in several folders left different versions, so none is "
                "written. Replay the sessions of each folder separately."
            )
        elif out is not None and is_inside_git_folder(file.path):
            voice.notice(f"{file.path}: not written: vacr writes no files into a .git folder")
        voice.result(_format_rebuilt_file(file))
    document = build_replay_document(rebuilt, replay_base, errors)
    if not rebuilt:
        voice.notice(
            "The sessions changed no files."
            if replay_base.before is None
            else "The sessions change no file of the base; it may have their changes already. Name "
            "the revision before them: --base REPOSITORY@REVISION"
        )
    if document.get("not-replayed"):
        voice.notice(_format_missing_files(document["not-replayed"], shows_all=verbose > 0))
    voice.data(document)
    return 0


def _make_formatter_runner(voice: Voice) -> FormatterRunner:
    """Return the runner of formatters; warn if they cannot be isolated from the network.

    Raises:
        UsageError: they cannot be isolated, and the option is not on the command line itself.
    """
    runner = FormatterRunner(needs_isolation=False)
    if runner.isolation is None:
        source = click.get_current_context().get_parameter_source("run_formatters")
        if source is not ParameterSource.COMMANDLINE:
            raise UsageError(
                "--run-formatters: neither bwrap nor unshare can isolate a program here",
                hint="Install bubblewrap. To run formatters with network all the same, write the "
                "option on the command line, not in the environment or the settings.",
            )
        voice.notice(
            "Formatters run with network: neither bwrap nor unshare works here. To isolate them, "
            "install bubblewrap."
        )
    return runner


def _format_rebuilt_file(file: RebuiltFile) -> str:
    """Return a line about a file, such as `a.py: complete, replayed, equals the commit at e-4`."""
    parts = [file.state, ", ".join(file.facts["evidence"]) or "no evidence"]
    if "doubt" in file.facts:
        parts.insert(1, f"doubt: {file.facts['doubt']}")
    if file.match is not None:
        parts.append(_COMMIT_STATES[file.match.state])
        if file.match.entry:
            parts[-1] += f" at {file.match.entry}"
    return f"{file.path}: {', '.join(parts)}"


def _format_missing_files(paths: Sequence[str], *, shows_all: bool) -> str:
    """Return a text about files that the commit changed, and the sessions left as in the base.

    `paths` must not be empty; only the first are listed, unless `shows_all`.
    """
    shown = paths if shows_all else paths[:_MAX_PATHS_SHOWN]
    rest = f" and {len(paths) - len(shown)} more: -v" if len(shown) < len(paths) else ""
    count = format_count(len(paths), "file")
    fact = f"The commit changed {count} that the sessions left as in the base"
    return f"{fact}: {', '.join(shown)}{rest}"


def _find_clashing_paths(files: Iterable[RebuiltFile]) -> set[str]:
    """Return the paths that occur several times with different contents."""
    first_seen: dict[str, bytes | None] = {}
    return {file.path for file in files if first_seen.setdefault(file.path, file.data) != file.data}


_LINK_HINT = "Remove the link, or write into an empty folder: --out FOLDER"


def _write_replayed_files(folder: Path, files: dict[str, bytes], *, overwrite: bool) -> None:
    """Write files, by their paths, into a folder: all of them, or on an error none.

    Raises:
        UsageError: a link leads out of the folder, or a file exists with different content and
            `overwrite` is not set.
        UnreadableInput: a file cannot be written.
    """
    root = Path(os.path.realpath(folder))
    outputs: dict[Path, OutputFile] = {}
    for path, data in files.items():
        target = folder / path
        real_path = Path(os.path.realpath(target))
        if not real_path.is_relative_to(root):
            raise UsageError(
                f"{target} leads out of the folder {folder} through a symbolic link",
                hint=_LINK_HINT,
            )
        if is_inside_git_folder(str(real_path.relative_to(root))):
            raise UsageError(
                f"{target} leads into a .git folder through a symbolic link", hint=_LINK_HINT
            )
        if real_path in outputs:
            raise UsageError(
                f"{target} and {outputs[real_path].path} are the same file through a symbolic link",
                hint=_LINK_HINT,
            )
        if real_path.exists() and not (real_path.is_file() or real_path.is_dir()):
            raise UsageError(
                f"{target} is a pipe or a device, not a file",
                hint="Remove it, or write into an empty folder: --out FOLDER",
            )
        if not overwrite and target.is_file() and not has_same_bytes(target, [data]):
            raise UsageError(
                f"{target} exists with different content",
                hint="Add --overwrite to replace the file, or write into an empty folder: "
                "--out FOLDER",
            )
        is_new = not overwrite and not real_path.exists()
        outputs[real_path] = OutputFile(target, [data], new=is_new)
    try:
        write_files_atomically(list(outputs.values()))
    except FileExistsError as error:
        raise UsageError(
            f"another program just created a file in {folder}", hint="Run the same command again."
        ) from error
