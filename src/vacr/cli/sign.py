"""`vacr sign`: records and native sessions → signed statements beside them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli import options, outputs
from vacr.cli.options import PATH, Voice
from vacr.cli.statements import Signing, signing_options
from vacr.cli.streams import write_bytes
from vacr.signing import HASH_ENVELOPE, PROFILES, Signer, keys
from vacr.signing.algorithms import ALGORITHMS
from vacr.sources import STDIN
from vacr.sources.signing import LARGE, signable
from vacr.sources.statements import COSE, RECORDS


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@signing_options
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=HASH_ENVELOPE,
    show_default=True,
    help="The form of the statement.",
)
@click.option(
    "--subject",
    metavar="TEXT",
    help="What it is about.  [default: the record's id, or the digest of the bytes]",
)
@partial(options.writing_options, default="beside a record, else the current folder")
@options.voice_options
def command(
    files: tuple[str, ...],
    subject: str | None,
    output: str | None,
    overwrite: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **asked: Any,
) -> int:
    """Sign records, or native sessions as they are: FILE.cose says who signed which bytes.

    The file itself stays as it is. The statement of a record is written beside it, that of another
    file into the current folder.

    \b
    Example:
      vacr sign abc.acr.json --key keys/signing.pem        writes abc.acr.json.cose
      vacr sign abc.acr.json --key keys/signing.pem --profile attached
      vacr sign abc.jsonl --key keys/signing.pem --x5chain chain.pem --timestamp
      https://tsa.example.org/
    """
    voice = Voice(format, quiet, verbose)
    outputs.refuse_one_file_for_many(files, output)
    signing = Signing.of(**asked)
    done = []
    for path in files:
        found = signable(path, whole=signing.profile != HASH_ENVELOPE)
        if found.data is None:
            voice.notice(
                f"{path}: larger than {options.size(LARGE)}, so its trace-metadata is left out"
            )
        statement = signing.statement(found, subject)
        done.append(
            _write(path, statement, signing.signer, output, files, voice, overwrite=overwrite)
        )
    if output != STDIN:
        voice.data({"statements": done})
    return 0


def _write(
    path: str,
    statement: bytes,
    signer: Signer,
    output: str | None,
    files: tuple[str, ...],
    voice: Voice,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    if output == STDIN:
        write_bytes([statement])
        return {}
    name = Path(path).name + COSE
    if output is None:
        target = Path(path).with_name(name) if path.endswith(RECORDS) else Path(name)
    else:
        target = Path(output) / name if outputs.is_folder(output) else Path(output)
    outputs.write_new(target, statement, path, files, overwrite=overwrite)
    algorithm = ALGORITHMS[signer.algorithm].name
    voice.result(f"{target}: {algorithm} by {keys.thumbprint_uri(signer.public_key)}")
    return {
        "file": path,
        "statement": str(target),
        "bytes": len(statement),
        "algorithm": algorithm,
        "thumbprint": keys.thumbprint_uri(signer.public_key),
    }
