"""`vacr replay`: sessions over a base → the files as the sessions left them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from vacr.attribution import list_changed_files, replay_records
from vacr.blame import load_git_base
from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import Voice
from vacr.errors import UsageError
from vacr.files import has_same_bytes, write_file_atomically
from vacr.workflows import drop_duplicate_recordings, name_failed_input, read_input_records


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="Git repository, and the revision before the sessions.  [default revision: HEAD]",
)
@click.option(
    "--out",
    metavar="FOLDER",
    type=PATH,
    help="Folder for the rebuilt files; vacr writes only completely known files.",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist with different content.")
@voice_options
def command(
    files: tuple[str, ...],
    base: str | None,
    out: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Rebuild the files that sessions changed.

    vacr applies the edits in the sessions to the files in --base. FILE is a record or a native
    session. Several are replayed together, in order of time. The report lists every changed file,
    whether it is complete, partial or deleted, and the evidence. A file is written only if every
    byte of it is known. The report names a doubt where the file may differ from that: a formatter
    or another command ran since, or only a part was shown after a change from outside. Files in
    the folder are never removed, and replaced only with --overwrite. A record that was modified
    after it was made is refused.

    \b
    Example:
      vacr replay a.jsonl b.jsonl --base ~/repo@HEAD~3 --out tree/
      vacr replay abc.acr.json --format json | jq '.files[] | select(.complete | not)'
    """
    voice = Voice(format, quiet, verbose)
    tree = load_git_base(base) if base is not None else None
    inputs = drop_duplicate_recordings(
        [recording for path in files for recording in read_input_records(path)], voice.notice
    )
    records = [recording.record for recording in inputs]
    with name_failed_input(inputs):
        replay, roots = replay_records(records, tree)
    report: list[dict[str, Any]] = []
    changed_files = list(list_changed_files(replay, roots))
    clashing = _find_clashing_paths(changed_files)
    known = {
        path: data
        for path, data, _ in changed_files
        if data is not None and path not in clashing and not _is_inside_git_folder(path)
    }
    if out is not None:
        _write_replayed_files(Path(out), known, overwrite=overwrite)
    for path, _, about in changed_files:
        report.append({"path": path, **about})
        if path in clashing:
            voice.notice(
                f"{path}: not written: sessions in several folders left different versions of it"
            )
        elif out is not None and _is_inside_git_folder(path):
            voice.notice(f"{path}: not written: vacr writes no files into a .git folder")
        if about.get("deleted"):
            state = "deleted"
        else:
            state = "complete" if about["complete"] else "partial"
            if "doubt" in about:
                state += f", doubt: {about['doubt']}"
        voice.result(f"{path}: {state}, {', '.join(about['evidence']) or 'no evidence'}")
    if not changed_files:
        voice.notice("The sessions changed no files.")
    voice.data({"files": report})
    return 0


def _find_clashing_paths(
    changed_files: Iterable[tuple[str, bytes | None, dict[str, Any]]],
) -> set[str]:
    """Return the paths that occur several times with different contents.

    Each changed file is its path, its bytes if known, and facts about it.
    """
    first_seen: dict[str, bytes | None] = {}
    return {path for path, data, _ in changed_files if first_seen.setdefault(path, data) != data}


def _is_inside_git_folder(path: str) -> bool:
    """Return whether a path leads into a `.git` folder: files there can make git run commands."""
    # Some file systems ignore format characters.
    seen = "".join(char for char in path if unicodedata.category(char) != "Cf")
    return any(
        part.partition(":")[0].rstrip(". ").casefold() in (".git", "git~1")
        for part in re.split(r"[/\\]", seen)
    )


def _write_replayed_files(folder: Path, files: dict[str, bytes], *, overwrite: bool) -> None:
    """Write files, by their paths, into a folder: all of them, or on an error none.

    Raises:
        UsageError: a link leads out of the folder, or a file exists with different content and
            `overwrite` is not set.
    """
    for path, data in files.items():
        target = folder / path
        if not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder)):
            raise UsageError(
                f"{target} is outside the folder, because of a symbolic link",
                hint="Write into an empty folder: --out FOLDER",
            )
        if not overwrite and target.is_file() and not has_same_bytes(target, [data]):
            raise UsageError(
                f"{target} exists with different content",
                hint="Add --overwrite to replace the file, or write into an empty folder: "
                "--out FOLDER",
            )
    for path, data in files.items():
        write_file_atomically(folder / path, [data])
