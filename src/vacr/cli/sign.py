"""`vacr sign`: records and native sessions → signed statements beside them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import PATH, Voice, format_size, output_options, voice_options
from vacr.cli.outputs import check_single_output, is_output_folder, write_output_file
from vacr.cli.statements import SigningSettings, signing_options
from vacr.cli.streams import write_bytes
from vacr.files import STDIN
from vacr.signing import (
    ALGORITHMS,
    HASH_ENVELOPE,
    STATEMENT_PROFILES,
    Signer,
    compute_thumbprint_uri,
)
from vacr.workflows import LARGE_FILE_SIZE, RECORD_SUFFIXES, STATEMENT_SUFFIX, read_signable_file


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@signing_options
@click.option(
    "--profile",
    type=click.Choice(STATEMENT_PROFILES),
    default=HASH_ENVELOPE,
    show_default=True,
    help="The form of the statement.",
)
@click.option(
    "--subject",
    metavar="TEXT",
    help="What it is about.  [default: the record's id, or the digest of the bytes]",
)
@partial(output_options, default="beside a record, else the current folder")
@voice_options
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
    check_single_output(files, output)
    signing = SigningSettings.of(**asked)
    done = []
    for path in files:
        found = read_signable_file(path, whole=signing.profile != HASH_ENVELOPE)
        if found.data is None:
            voice.notice(
                f"{path}: larger than {format_size(LARGE_FILE_SIZE)}, so its trace-metadata is left out"
            )
        statement = signing.statement(found, subject)
        done.append(
            _write_statement(
                path, statement, signing.signer, output, files, voice, overwrite=overwrite
            )
        )
    if output != STDIN:
        voice.data({"statements": done})
    return 0


def _write_statement(
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
    name = Path(path).name + STATEMENT_SUFFIX
    if output is None:
        target = Path(path).with_name(name) if path.endswith(RECORD_SUFFIXES) else Path(name)
    else:
        target = Path(output) / name if is_output_folder(output) else Path(output)
    write_output_file(target, statement, path, files, overwrite=overwrite)
    algorithm = ALGORITHMS[signer.algorithm].name
    voice.result(f"{target}: {algorithm} by {compute_thumbprint_uri(signer.public_key)}")
    return {
        "file": path,
        "statement": str(target),
        "bytes": len(statement),
        "algorithm": algorithm,
        "thumbprint": compute_thumbprint_uri(signer.public_key),
    }
