"""`vacr convert`: a record → another encoding, or another version of the format.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["record", "examples/codex-cli.jsonl", "-q"])
    0
    >>> run_command_line(["convert", "codex-cli.acr.json", "--to", "v2"])
    codex-cli.v2.acr.json: 10.7 kB
    0

Converting back gives the same bytes, except from version 1, which holds a part of a record.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import click

from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import PATH, Verb, output_options, voice_options
from vacr.console import Voice, write_bytes
from vacr.errors import UsageError, VacrError
from vacr.files import STDIN, hash_pieces
from vacr.record import RecordEncoding, encode, find_record_modification
from vacr.workflows import (
    check_single_output,
    format_count,
    format_size,
    is_output_folder,
    read_json_or_cbor,
    write_output_file,
)

_FORM_SUFFIXES = {"json": ".json", "cbor": ".cbor"}
_VERSIONS = ("v1", "v2", "v3")
_DEFAULT_VERSION = "v3"
_VERSION_SUFFIX = re.compile(r"\.v[123]$")


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option(
    "--to",
    type=click.Choice([*_FORM_SUFFIXES, *_VERSIONS]),
    required=True,
    help="Encoding or version to write.",
)
@output_options
@voice_options
def command(
    files: tuple[str, ...],
    to: str,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Convert records to JSON, to CBOR, or to another version of the format.

    JSON is canonical and CBOR deterministic, so converting back gives the same bytes. The exception
    is v1, which contains only the file attribution; vacr lists the lost members. Converting to
    another version keeps the encoding. If a record was modified after it was made, a warning comes
    first, and the exit code is 1. The result keeps its id, so it counts as modified, too.

    \b
    Example:
      vacr convert abc.acr.json --to cbor   # writes ./abc.acr.cbor
      vacr convert abc.acr.cbor --to json -o -
      vacr convert abc.acr.json --to v2     # writes ./abc.v2.acr.json
      vacr convert old.v2.acr.json --to v3  # writes ./old.acr.json
    """
    check_single_output(files, output)
    voice = Voice(format, quiet, verbose)
    documents: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    worst = 0
    modified = ModifiedRecords(voice, in_results=output != STDIN)
    for path in files:
        try:
            record, encoding = read_json_or_cbor(path)
            modification = find_record_modification(record, json=encoding == "json")
            modified.warn(path, str(modification or ""))
            data, form, behind, name = _convert_record(path, record, encoding, to, voice)
            if output == STDIN:
                write_bytes([b"\n" if form == "json" and path != files[0] else b"", data])
                _report_left_behind(path, behind, voice)
                continue
            target = (
                Path(output or ".") / name
                if is_output_folder(output)
                else _check_output_name(output or "", form)
            )
            state = write_output_file(target, data, path, files, overwrite=overwrite)
        except VacrError as error:
            voice.error(
                f"vacr: {'' if error.where.startswith(path) else f'{path}: '}{error}", error.hint
            )
            errors.append(
                {"source": path, "error": error.message, "where": error.where, "hint": error.hint}
            )
            worst = max(worst, error.exit_code)
            continue
        voice.result(
            f"{target}: {format_size(len(data))}{', unchanged' if state == 'unchanged' else ''}"
        )
        _report_left_behind(path, behind, voice)
        described = {
            "source": path,
            "output": str(target),
            "state": state,
            "left-behind": list(behind),
            "modified": modification is not None,
        }
        documents.append(described | {"bytes": len(data), "sha-256": hash_pieces([data])})
    if output != STDIN:
        voice.data({"records": documents, "errors": errors})
    return max(worst, modified.exit_code)


def _convert_record(
    path: str, record: Any, form: RecordEncoding, to: str, voice: Voice
) -> tuple[bytes, str, dict[str, str], str]:
    """Return a converted record: its bytes, its encoding, its lost members, and a file name.

    `form` is the encoding of the file at `path`. Lost members map a JSON Pointer to its
    description; only v1 loses any. `to` is `json`, `cbor` or a version such as `v2`.

    Raises:
        VacrError: the record cannot be converted.
    """
    json = form == "json"
    if to in _FORM_SUFFIXES:
        if form == to:
            kind = "canonical" if to == "json" else "deterministic"
            voice.notice(f"{path}: already {to.upper()}; written again in {kind} form")
        return encode(record, cast("RecordEncoding", to)), to, {}, _derive_output_name(path, to, to)
    from vacr.record import FormatVersion, convert, list_lost_members

    converted = convert(record, cast("FormatVersion", to), json=json)
    name = _derive_output_name(path, to, form)
    if converted is record:
        voice.notice(f"{path}: already version {to}; written again without conversion")
        name = Path(path).name if path != STDIN else name
    data = encode(converted, form)
    if to != "v1":
        return data, form, {}, name
    behind = {where: where for where in list_lost_members(record, json=json)}
    if "/session/entries" in behind:
        behind["/session/entries"] = (
            f"/session/entries ({format_count(len(record['session']['entries']), 'entry')})"
        )
    return data, form, behind, name


def _check_output_name(output: str, form: str) -> Path:
    """Return the path of the output file.

    Raises:
        UsageError: it has the ending of the other encoding.
    """
    suffix = Path(output).suffix
    if suffix in _FORM_SUFFIXES.values() and suffix != _FORM_SUFFIXES[form]:
        other = suffix.removeprefix(".")
        hint = f"End the name in {_FORM_SUFFIXES[form]}, or use --to {other}."
        raise UsageError(
            f"the record is in {form.upper()}, but {output} ends in {suffix}",
            hint=hint,
        )
    return Path(output)


def _report_left_behind(path: str, behind: dict[str, str], voice: Voice) -> None:
    """Print a notice that lists the lost members of a record, if there are any."""
    if behind:
        voice.notice(f"{path}: lost, because v1 cannot contain it: {', '.join(behind.values())}")


def _derive_output_name(path: str, to: str, form: str) -> str:
    """Return the name of the output file, derived from the input.

    For example, `a.acr.json` becomes `a.acr.cbor` or `a.v2.acr.json`, and `a.v2.acr.json` becomes
    `a.acr.json`. To v3, the version is added only if the name would not change otherwise. `to` is
    `json`, `cbor` or a version such as `v2`, and `form` the encoding to write.
    """
    input_name = "stdin.acr" if path == STDIN else Path(path).name
    stem = input_name
    for suffix in _FORM_SUFFIXES.values():
        stem = stem.removesuffix(suffix)
    if to in _FORM_SUFFIXES:
        return f"{stem}{_FORM_SUFFIXES[to]}"
    acr = ".acr" if stem.endswith(".acr") else ""
    stem = _VERSION_SUFFIX.sub("", stem.removesuffix(".acr"))
    ending = f"{acr}{_FORM_SUFFIXES[form]}"
    if to == _DEFAULT_VERSION and f"{stem}{ending}" != input_name:
        return f"{stem}{ending}"
    return f"{stem}.{to}{ending}"
