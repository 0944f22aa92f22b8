"""`vacr sign`: records and native sessions → signed statements.

>>> from vacr.cli import run_command_line
>>> run_command_line(["key", "generate", "-o", "keys/", "-q"])
0
>>> run_command_line(["sign", "examples/codex-cli.jsonl", "--key", "keys/signing.pem"])
codex-cli.jsonl.cose: signed with EdDSA by urn:ietf:params:oauth:ckt:sha-256:...
0
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli.modified import ModifiedRecords
from vacr.cli.options import (
    PATH,
    Verb,
    load_signing_settings,
    output_options,
    signing_options,
    voice_options,
)
from vacr.console import Voice, write_bytes
from vacr.errors import InvalidRecord
from vacr.files import STDIN
from vacr.signing import (
    ALGORITHMS,
    HASH_ENVELOPE,
    STATEMENT_PROFILES,
    Signer,
    compute_thumbprint_uri,
)
from vacr.workflows import (
    LARGE_FILE_SIZE,
    RECORD_SUFFIXES,
    STATEMENT_SUFFIX,
    check_single_output,
    find_unsealed_session_error,
    format_size,
    is_output_folder,
    make_modified_error,
    read_signable_file,
    write_output_file,
)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@partial(
    signing_options,
    force_help="Sign a modified or invalid record; accept a key that other users can read.",
)
@click.option(
    "--profile",
    type=click.Choice(STATEMENT_PROFILES),
    default=HASH_ENVELOPE,
    show_default=True,
    help="Content of the statement: the hash of the file, no content (detached), or the file.",
)
@click.option(
    "--subject",
    metavar="TEXT",
    help="Subject of the statement.  [default: the id of the record, or the digest of the file]",
)
@partial(output_options, default="next to a record; else the current folder")
@voice_options
def command(
    files: tuple[str, ...],
    subject: str | None,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Sign records or native sessions.

    For each FILE, vacr writes a signed statement, FILE.cose. FILE does not change. The statement
    about a record is written next to it; a statement about another file goes into the current
    folder. A record that was modified after it was made is refused. So is a file named .acr.json or
    .acr.cbor that is not a valid record. With --force it is signed, a warning comes first, and the
    exit code is 1; `vacr verify` still fails for it.

    \b
    Example:
      vacr sign abc.acr.json --key keys/signing.pem  # writes abc.acr.json.cose
      vacr sign abc.acr.json --key keys/signing.pem --profile attached
      vacr sign abc.jsonl --key keys/signing.pem --x5chain chain.pem \\
        --timestamp https://tsa.example.org/
    """
    voice = Voice(format, quiet, verbose)
    check_single_output(files, output)
    signing = load_signing_settings(**options)
    modified = ModifiedRecords(voice, in_results=output != STDIN)
    documents = []
    for path in files:
        if error := find_unsealed_session_error(path, "sign"):
            raise error
        file = read_signable_file(path, whole=signing.profile != HASH_ENVELOPE)
        if file.data is None:
            voice.notice(
                f"{path}: signed without trace-metadata and without checking the id of a record, "
                f"because it is larger than {format_size(LARGE_FILE_SIZE)} and its name does not "
                f"end in {' or '.join(RECORD_SUFFIXES)}"
            )
        if file.modified and not options["force"]:
            raise make_modified_error(path, file.modified, "To sign it anyway, add --force.")
        if file.invalid and not options["force"]:
            raise InvalidRecord(
                file.invalid,
                where=path,
                hint=f"To see all findings: vacr validate {path}. If the file was cut off, record "
                "the session again. To sign it anyway, add --force.",
            )
        modified.warn(path, file.modified)
        modified.warn_invalid(path, file.invalid)
        statement = signing.sign_file(file, subject)
        if output == STDIN:
            write_bytes([statement])
            continue
        target = _choose_target(path, output)
        write_output_file(target, statement, path, files, overwrite=overwrite)
        document = _report_statement(path, target, statement, signing.signer, voice)
        documents.append({**document, "modified": bool(file.modified), "valid": not file.invalid})
    if output != STDIN:
        voice.data({"statements": documents})
    return modified.exit_code


def _choose_target(path: str, output: str | None) -> Path:
    """Return the file for the statement about `path`.

    Without `-o`, it is next to a record, and for another file in the current folder.
    """
    name = Path(path).name + STATEMENT_SUFFIX
    if output is None:
        return Path(path).with_name(name) if path.endswith(RECORD_SUFFIXES) else Path(name)
    return Path(output) / name if is_output_folder(output) else Path(output)


def _report_statement(
    path: str, target: Path, statement: bytes, signer: Signer, voice: Voice
) -> dict[str, Any]:
    """Print a line about a statement, and return the facts for JSON output."""
    algorithm = ALGORITHMS[signer.algorithm].name
    thumbprint = compute_thumbprint_uri(signer.public_key)
    voice.result(f"{target}: signed with {algorithm} by {thumbprint}")
    return {
        "file": path,
        "statement": str(target),
        "bytes": len(statement),
        "algorithm": algorithm,
        "thumbprint": thumbprint,
    }
