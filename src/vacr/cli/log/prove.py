"""`vacr log prove`: proofs from a log, as receipts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from vacr.cli.log.which import log_options, open_log
from vacr.cli.options import PATH, Voice, voice_options
from vacr.cli.outputs import write_output_file
from vacr.cli.streams import write_bytes
from vacr.errors import UsageError
from vacr.files import STDIN
from vacr.log import build_consistency_receipt, build_inclusion_receipt
from vacr.transparency import parse_receipt


@click.command(no_args_is_help=True)
@log_options
@click.option(
    "--entry", metavar="N", type=click.IntRange(0), help="Prove that entry N is in the log."
)
@click.option(
    "--consistency",
    metavar="A B",
    type=click.IntRange(1),
    nargs=2,
    help="Prove that the log only grew from A to B.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE|-",
    type=PATH,
    help="Where to write the receipt.  [default: it is only shown]",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there and differs.")
@voice_options
def command(
    folder: str | None,
    entry: int | None,
    consistency: tuple[int, int] | None,
    database: str | None,
    output: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Write the receipt that proves that an entry is in the log, or that an older state is the
    beginning of a newer one.

    \b
    Example:
      vacr log prove mylog/ --entry 17 -o 17.receipt.cose
      vacr log prove mylog/ --consistency 100 200
    """
    voice = Voice(format, quiet, verbose)
    if (entry is None) == (consistency is None):
        raise UsageError("what is to be proved?", hint="Give --entry N, or --consistency A B.")
    found = open_log(folder, database)
    with closing(found.reader()) as storage:
        if consistency is not None:
            receipt = build_consistency_receipt(storage, found.keyring, *consistency)
        else:
            made = build_inclusion_receipt(storage, entry or 0)
            if made is None:
                head = storage.head()
                last = f"The last one is {head.head.size - 1}." if head is not None else ""
                raise UsageError(f"there is no entry {entry} in the log", hint=last)
            receipt = made
    told = _build_receipt_document(receipt)
    if output == STDIN:
        write_bytes([receipt])
        return 0
    if output is not None:
        write_output_file(Path(output), receipt, STDIN, (), overwrite=overwrite)
        told["receipt"] = output
    for name, value in told.items():
        for line in value if isinstance(value, list) else [value]:
            voice.result(f"{name}: {line}")
    voice.data(told)
    return 0


def _build_receipt_document(receipt: bytes) -> dict[str, Any]:
    read = parse_receipt(receipt)
    for one in read.inclusions:
        return {"entry": one.index, "size": one.size, "path": [node.hex() for node in one.path]}
    (proof,) = read.consistencies
    return {"older": proof.older, "newer": proof.newer, "path": [node.hex() for node in proof.path]}
