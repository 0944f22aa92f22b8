"""`vacr import`: documents of other tools → records.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["export", "examples/claude-code.jsonl", "--to", "atif", "-q"])
    0
    >>> run_command_line(["import", "claude-code.atif.json"])
    claude-code.acr.json: 6 entries, 4.1 kB
    0

All members are kept, so exporting the record to the same format gives the same document.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vacr.agents import Reading, Source, SourcePart, validate_record
from vacr.cli.options import PATH, Verb, output_options, voice_options
from vacr.console import Voice, format_error_place, write_bytes
from vacr.discovery import make_part_name, make_record_name
from vacr.errors import UnreadableInput, VacrError
from vacr.exchange import EXCHANGE_FORMATS, detect_format
from vacr.files import STDIN, hash_pieces, read_bytes
from vacr.record import encode_with_id
from vacr.workflows import (
    check_single_output,
    format_count,
    format_size,
    is_output_folder,
    reserve_unused_name,
    write_output_file,
)

_READABLE_FORMATS = [name for name, format_ in EXCHANGE_FORMATS.items() if format_.reader]
_DOCUMENT_SUFFIXES = tuple(EXCHANGE_FORMATS[name].ending for name in _READABLE_FORMATS)


@click.command("import", no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--from",
    "from",
    type=click.Choice(_READABLE_FORMATS),
    help="Format of the documents.  [default: detected]",
)
@output_options
@voice_options
def command(
    files: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **asked: Any,
) -> int:
    """Turn documents of other tools into records.

    All members are kept; members unknown to the record format keep their own names. Exporting the
    record to the same format gives the same document. In a FOLDER, vacr imports the files with the
    endings that `vacr export` writes, and -o gets the same tree of folders.

    \b
    Example:
      vacr import run.atif.json  # writes ./run.acr.json
      vacr import run.json --from atif -o abc.acr.json
      vacr import trajectories/ -o records/
    """
    voice = Voice(format, quiet, verbose)
    done: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    names: set[str] = set()
    worst = 0
    documents = [document for path in files for document in _find_documents(path)]
    check_single_output([path for path, _ in documents], output)
    for path, folder in documents:
        try:
            name, readings = _read_document(path, asked["from"])
            check_single_output([path] * len(readings), output)
            for reading in readings:
                data = _encode_valid_record(reading)
                if output == STDIN:
                    write_bytes([data, b"\n"])
                    continue
                label = str(reading.record["session"]["session-id"]) if len(readings) > 1 else ""
                stem = make_record_name(
                    _strip_document_suffix(path, EXCHANGE_FORMATS[name].ending), ".", label
                )
                target = Path(output or "")
                if is_output_folder(output):
                    target /= f"{reserve_unused_name((folder / stem).as_posix(), names)}.acr.json"
                state = write_output_file(target, data, path, files, overwrite=overwrite)
                _report_import(path, target, reading, len(data), state, voice)
                described: dict[str, Any] = {
                    "source": path,
                    "from": name,
                    "output": str(target),
                    "state": state,
                }
                done.append(
                    described
                    | {
                        "id": reading.record["id"],
                        "bytes": len(data),
                        "sha-256": hash_pieces([data]),
                    }
                )
        except VacrError as error:
            place = format_error_place(path, error)
            voice.error(f"vacr: {place}: {error.message}", error.hint)
            errors.append(
                {"source": path, "error": error.message, "where": error.where, "hint": error.hint}
            )
            worst = max(worst, error.exit_code)
    if output != STDIN:
        voice.data({"records": done, "errors": errors})
    return worst


def _find_documents(path: str) -> list[tuple[str, Path]]:
    """Return the documents at a path, each with its subfolder relative to the path.

    Any file, or `-`, is a document itself, with an empty subfolder; it is not read yet.

    Raises:
        UnreadableInput: the folder has no documents.
    """
    if path == STDIN or not Path(path).is_dir():
        return [(path, Path())]
    documents = sorted(
        file
        for file in Path(path).rglob("*")
        if file.name.endswith(_DOCUMENT_SUFFIXES) and file.is_file()
    )
    if not documents:
        endings = " or ".join(_DOCUMENT_SUFFIXES)
        hint = (
            f"In a folder, vacr imports files that end in {endings}. Name other files one by one."
        )
        raise UnreadableInput("no documents to import found", where=path, hint=hint)
    return [(str(file), file.parent.relative_to(path)) for file in documents]


def _read_document(path: str, chosen_format: str | None) -> tuple[str, list[Reading]]:
    """Return the name of a document's format, and the sessions that the document contains.

    If no format is chosen, it is detected.

    Raises:
        VacrError: the file cannot be read, or is not a document in that format.
    """
    data = read_bytes(path)
    name = chosen_format or detect_format(data)
    part = "stdin" if path == STDIN else make_part_name(Path(path))
    return name, EXCHANGE_FORMATS[name].read(Source((SourcePart(part, data),)))


def _encode_valid_record(reading: Reading) -> bytes:
    """Assign the id of a record, and return its bytes.

    Raises:
        InvalidRecord: the record does not follow its schema.
    """
    data = b"".join(encode_with_id(reading.record))
    validate_record(reading.record).raise_for_errors()
    return data


def _report_import(
    path: str, target: Path, reading: Reading, count: int, state: str, voice: Voice
) -> None:
    """Print the notices about a document, and a line about its record of `count` bytes."""
    for notice in reading.notices:
        voice.notice(f"vacr: {path}: {notice.message}")
    entries = format_count(len(reading.record["session"]["entries"]), "entry")
    voice.result(
        f"{target}: {entries}, {format_size(count)}{', unchanged' if state == 'unchanged' else ''}"
    )


def _strip_document_suffix(path: str, ending: str) -> str:
    """Return the name of a file without the ending of its format: `a.atif.json` becomes `a`.

    Other names lose `.jsonl`, `.json` or `.txt`, or stay the same. Standard input is named `stdin`.
    """
    name = "stdin" if path == STDIN else Path(path).name
    for suffix in (ending, ".jsonl", ".json", ".txt"):
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name
