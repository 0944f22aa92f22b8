"""`vacr convert`: one form of a record → another."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from vacr import codec
from vacr.cli import options, outputs
from vacr.cli.options import PATH, Voice, size, text_of
from vacr.codec import Form
from vacr.errors import UsageError, VacrError
from vacr.recording.files import digest, refuse_input, same, write
from vacr.sources import STDIN, read_bytes

_SUFFIXES = {"json": ".json", "cbor": ".cbor"}


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option("--to", type=click.Choice(["json", "cbor"]), required=True, help="The form to write.")
@click.option(
    "-o", "--output", metavar="FILE|FOLDER/|-", type=PATH, help="Where to write; a folder ends in /. Default: the current folder."
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there and differs.")
@options.voice_options
def command(
    files: tuple[str, ...],
    to: str,
    output: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Write records in another form: canonical JSON or deterministic CBOR. There and back gives the same bytes.

    \b
    Example:
      vacr convert abc.acr.json --to cbor                  writes ./abc.acr.cbor
      vacr convert abc.acr.cbor --to json -o -
    """
    outputs.refuse_one_file_for_many(files, output)
    voice = Voice(format, quiet, verbose)
    done: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    worst = 0
    for path in files:
        try:
            data = codec.encode(codec.decode(read_bytes(path)), cast("Form", to))
            if output == STDIN:
                outputs.write_stdout([b"\n" if to == "json" and path != files[0] else b"", data])
                continue
            target = Path(output or ".") / _renamed(path, to) if outputs.is_folder(output) else Path(output or "")
            state = _write(target, data, files, overwrite=overwrite)
        except VacrError as error:
            where = "" if error.where.startswith(path) else f"{path}: "
            voice.error(f"vacr: {where}{error.diagnostics()}")
            errors.append({"source": text_of(path), "error": error.message, "where": text_of(error.where), "hint": error.hint})
            worst = max(worst, error.exit_code)
            continue
        voice.result(f"{target}: {size(len(data))}")
        described = {"source": text_of(path), "output": text_of(str(target)), "state": state}
        done.append(described | {"bytes": len(data), "sha-256": digest([data])})
    if output != STDIN:
        voice.data({"records": done, "errors": errors})
    return worst


def _renamed(path: str, form: str) -> str:
    name = "stdin.acr" if path == STDIN else Path(path).name
    for suffix in _SUFFIXES.values():
        name = name.removesuffix(suffix)
    return f"{name}{_SUFFIXES[form]}"


def _write(target: Path, data: bytes, files: tuple[str, ...], *, overwrite: bool) -> str:
    """Write a converted record; tell whether it was there already.

    Raises:
        UsageError: something else is there.
    """
    if target.is_file():
        if same(target, [data]):
            return "unchanged"
        refuse_input(target, files)
        if not overwrite:
            raise UsageError(f"{target} is there and differs", hint="Give --overwrite, or another place with -o.")
    write(target, [data])
    return "written"
