"""`vacr restore`: a record and its sealed source → the native bytes again.

>>> from vacr.cli import run_command_line
>>> run_command_line(["record", "examples/codex-cli.jsonl", "--seal-source", "-q"])
0
>>> run_command_line(["restore", "codex-cli.acr.json", "-o", "native/"])
native/codex-cli.jsonl: 6.8 kB, digest matches
0
"""

from __future__ import annotations

import glob
import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import click

from vacr.agents import Agent, find_record_agent
from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import Voice
from vacr.errors import InvalidRecord, UnreadableInput, UsageError
from vacr.files import STDIN, write_file_atomically
from vacr.record import find_record_modification
from vacr.workflows import (
    build_sealed_source_path,
    find_restorable_records,
    format_size,
    get_source_manifest,
    make_modified_error,
    read_json_or_cbor,
    unseal_source,
)

_NativeFile = tuple[Path, bytes, Path]
"""Where a native file goes, its bytes, and the sealed source that they come from."""
_KEPT_HINT = "If it is elsewhere, name it with --source. The record is still here: vacr show {0}"


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("record", metavar="RECORD", type=PATH)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FOLDER/",
    type=PATH,
    help="Folder to restore into; created if missing.",
)
@click.option(
    "--source",
    metavar="FILE",
    type=PATH,
    help="Sealed source of the record, a zip file.  [default: next to the record]",
)
@click.option("--overwrite", is_flag=True, help="Replace files that exist with different content.")
@voice_options
def command(
    record: str,
    output: str,
    source: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> None:
    """Restore the native files of a record, byte for byte.

    The bytes come from the sealed source of the record. Instead of a record, name a session that
    `vacr keep` copied, by its id: its own files and those of its sub-agents are restored. Before
    anything is written, vacr checks that the record is unmodified and that every file matches its
    digest in the record.

    \b
    Example:
      vacr record abc.jsonl --seal-source
      vacr restore abc.acr.json -o restored/
      vacr restore 6f0d1c52 -o restored/  # a session of vacr keep
    """
    if output == STDIN:
        raise UsageError(
            "cannot restore to standard output: a source may have several files",
            hint="Name a folder: -o DIR/",
        )
    voice = Voice(format, quiet, verbose)
    folder = Path(output)
    kept = find_restorable_records(record)
    # A sealed source that the user names is that of one record.
    main, *sub_agents = [str(path) for path in kept] or [record]
    hint = _KEPT_HINT.format(shlex.quote(record)) if kept else ""
    native = _unseal_record(main, source, folder, hint)
    for sub_agent in sub_agents if source is None else ():
        native += _drop_repeated(native, _unseal_record(sub_agent, None, folder, hint))
    _check_part_paths(folder, [path for path, _, _ in native])
    for path, data, _ in native:
        if path.exists() and not overwrite and (not path.is_file() or path.read_bytes() != data):
            raise UsageError(
                f"{path} exists with different content",
                hint="Add --overwrite to replace it, or name another folder.",
            )
    for path, data, sealed in native:
        write_file_atomically(path, [data], sealed)
        voice.result(f"{path}: {format_size(len(data))}, digest matches")
    files = [
        {"path": str(path), "bytes": len(data), "sha-256": hashlib.sha256(data).hexdigest()}
        for path, data, _ in native
    ]
    voice.data({"record": main, "files": files})


def _unseal_record(
    record: str, source: str | None, folder: Path, missing_hint: str
) -> list[_NativeFile]:
    """Return the native files of a record, each with its place in the folder; write nothing.

    `source` names the sealed source, and `missing_hint` is the next step if it is not here; by
    default it is next to the record.

    Raises:
        InvalidRecord: the record or its sealed source was modified, or lists no native files.
        UnreadableInput: the record or its sealed source cannot be read.
    """
    manifest, agent = _read_source_manifest(record)
    main_folder = _find_main_folder((part["name"] for part in manifest), agent)
    sealed = Path(source) if source else build_sealed_source_path(Path(record))
    try:
        return [
            (folder / _place_part(name, main_folder, agent), data, sealed)
            for name, data in unseal_source(sealed, manifest)
        ]
    except (InvalidRecord, UnreadableInput) as error:
        hint = error.hint if sealed.exists() else missing_hint or error.hint
        raise type(error)(
            error.message, where=error.where, hint=hint or "Nothing was restored."
        ) from error


def _drop_repeated(
    earlier: Sequence[_NativeFile], files: Sequence[_NativeFile]
) -> list[_NativeFile]:
    """Return the files of a sub-agent, without those that its session has, too."""
    known = {(path, data) for path, data, _ in earlier}
    return [file for file in files if file[:2] not in known]


def _check_part_paths(folder: Path, paths: list[Path]) -> None:
    """Check that restored files do not overwrite each other, and stay inside the folder.

    Raises:
        InvalidRecord: the record names a file twice, or a link leads out of the folder.
    """
    times = Counter(paths)
    folders = {above for path in paths for above in path.parents}
    root = os.path.realpath(folder)
    for path in paths:
        if times[path] > 1 or path in folders:
            hint = "Record the session again, or find an unmodified copy of the record."
            raise InvalidRecord(
                f"the record names {path.name} twice", where="/vacr/source/parts", hint=hint
            )
        if not Path(os.path.realpath(path)).is_relative_to(root):
            raise InvalidRecord(
                f"{path} leads out of the folder through a symbolic link",
                where=str(folder),
                hint="Restore into a folder without symbolic links, such as a new folder.",
            )


def _find_main_folder(names: Iterable[str], agent: Agent) -> PurePosixPath:
    """Return the folder in the name of the session's own file, or an empty path without one.

    Some agents name a session by its folder. The names of its other files begin in that folder.
    """
    for name in names:
        match = agent.part_name.search(name) if agent.part_name else None
        if match and match[0] == name:
            return PurePosixPath(name).parent
    return PurePosixPath()


def _place_part(name: PurePosixPath, main_folder: PurePosixPath, agent: Agent) -> PurePosixPath:
    """Return where a file goes: into the session's folder, unless its name begins in another one.

    So does the name of a parent's note about a sub-agent.
    """
    note = agent.parent_note.format(folder=glob.escape(main_folder.name))
    is_whole = name.is_relative_to(main_folder) or (note and name.match(note))
    return name if is_whole else main_folder / name


def _read_source_manifest(path: str) -> tuple[list[dict[str, Any]], Agent]:
    """Return name, size and digest of each native file of a record, and the record's agent.

    Raises:
        InvalidRecord: the record does not list its native files, or was modified.
        UnreadableInput: the file cannot be read, or is not a record.
    """
    try:
        record, form = read_json_or_cbor(path)
    except UnreadableInput as error:
        place = error.where if error.where.startswith(path) else f"{path}: {error.where}"
        raise UnreadableInput(
            error.message, where=place, hint="Name a record, such as abc.acr.json."
        ) from error
    manifest = get_source_manifest(record)
    if not manifest:
        hint = (
            "Name a record that vacr made with --seal-source. Convert a record of version 1 or 2 "
            "first: vacr convert --to v3"
        )
        raise InvalidRecord(
            "the record does not list the native files it was made from", where=path, hint=hint
        )
    modification = find_record_modification(record, json=form == "json")
    if modification is not None:
        raise make_modified_error(path, str(modification))
    return manifest, find_record_agent(record)
