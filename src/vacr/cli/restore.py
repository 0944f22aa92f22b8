"""`vacr restore`: record + sealed source → the native bytes again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options, sealing
from vacr.cli.options import Voice, size
from vacr.errors import InvalidRecord, UsageError
from vacr.sources import read_bytes


@click.command(no_args_is_help=True)
@click.argument("record", metavar="RECORD")
@click.option("-o", "--output", required=True, metavar="FOLDER/", help="The folder to restore into; made if need be.")
@click.option("--source", metavar="FILE", help="The sealed source.  [default: beside the record]")
@click.option("--overwrite", is_flag=True, help="Replace files that are there and differ.")
@options.voice_options
def command(
    record: str,
    output: str,
    source: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> None:
    """Give back the native files of a record, byte for byte, from its sealed source.

    Every file is compared with the digest in the record before it is written.

    \b
    Example:
      vacr record abc.jsonl --seal-source
      vacr restore abc.acr.json -o restored/
    """
    voice = Voice(format, quiet, verbose)
    manifest = _manifest(codec.decode(read_bytes(record)), record)
    sealed = Path(source) if source else sealing.sealed_path(Path(record))
    parts = list(sealing.unseal(sealed, manifest))
    folder = Path(output)
    for name, data in parts:
        path = folder / name
        if path.exists() and not overwrite and (not path.is_file() or path.read_bytes() != data):
            raise UsageError(f"{path} is there and differs", hint="Give --overwrite, or another folder.")
    for name, data in parts:
        options.write_file(folder / name, [data])
        voice.result(f"{folder / name}: {size(len(data))}, as recorded")
    voice.data({"record": record, "files": [{"name": str(name), "bytes": len(data)} for name, data in parts]})


def _manifest(record: Any, where: str) -> list[dict[str, Any]]:
    """Give the manifest of a record's source.

    Raises:
        InvalidRecord: the record names no source, or not as we do.
    """
    try:
        parts = record["vacr"]["source"]["parts"]
        manifest = [{"name": part["name"], "size": part["size"], "sha-256": part["sha-256"]} for part in parts]
        well_formed = all(type(part["size"]) is int and part["size"] >= 0 for part in manifest)
    except (TypeError, KeyError, IndexError):
        well_formed, manifest = False, []
    if not well_formed or not manifest:
        raise InvalidRecord("the record names no source to restore", where=where)
    return manifest
