"""`vacr convert`: one form of a record → another."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import Voice, size
from vacr.codec import Form
from vacr.errors import UsageError, VacrError
from vacr.sources import STDIN, read_bytes

_SUFFIXES = {"json": ".json", "cbor": ".cbor"}


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--to", "form", type=click.Choice(["json", "cbor"]), required=True, help="The form to write.")
@click.option("-o", "--output", metavar="FILE|FOLDER/|-", help="Where to write; a folder ends in /. Default: the current folder.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there and differs.")
@options.voice_options
def command(
    files: tuple[str, ...],
    form: str,
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
    voice = Voice(format, quiet, verbose)
    folder = output is None or output.endswith("/") or (output != STDIN and Path(output).is_dir())
    if len(files) > 1 and not folder and output != STDIN:
        raise UsageError(f"several records cannot go into one file, {output}", hint="End the name in / for a folder.")
    done, worst = [], 0
    for path in files:
        try:
            data = codec.encode(codec.decode(read_bytes(path)), cast("Form", form))
            if output == STDIN:
                options.write_stdout([data, b"\n" if form == "json" else b""])
                continue
            target = Path(output or ".") / _renamed(path, form) if folder else Path(output or "")
            _write(target, data, overwrite=overwrite)
        except VacrError as error:
            where = "" if error.where.startswith(path) else f"{path}: "
            voice.error(f"vacr: {where}{error.diagnostics()}")
            worst = max(worst, error.exit_code)
            continue
        voice.result(f"{target}: {size(len(data))}")
        done.append({"source": path, "output": str(target), "bytes": len(data)})
    if output != STDIN:
        voice.data({"records": done})
    return worst


def _renamed(path: str, form: str) -> str:
    name = "stdin.acr" if path == STDIN else Path(path).name
    for suffix in _SUFFIXES.values():
        name = name.removesuffix(suffix)
    return f"{name}{_SUFFIXES[form]}"


def _write(target: Path, data: bytes, *, overwrite: bool) -> None:
    if target.is_file() and not overwrite and target.read_bytes() != data:
        raise UsageError(f"{target} is there and differs", hint="Give --overwrite, or another place with -o.")
    options.write_file(target, [data])
