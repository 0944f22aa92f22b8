"""`vacr sign`: records and native sessions → signed statements beside them."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli import options, outputs
from vacr.cli.options import PATH, Voice
from vacr.errors import UsageError
from vacr.signing import HASH_ENVELOPE, PROFILES, Claims, Signer, keys, labels, sign
from vacr.signing.algorithms import ALGORITHMS
from vacr.signing.keys import is_encrypted
from vacr.signing.sign1 import Sign1, parse
from vacr.sources import STDIN
from vacr.sources.key_files import PKCS11, certificates_in, passphrase_in, signer_of, trust_bytes
from vacr.sources.signing import LARGE, Signable, signable
from vacr.sources.statements import COSE, RECORDS


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option("--key", required=True, metavar="FILE|pkcs11:…", help="The private key in PEM, or one in a device, by its URI.")
@click.option(
    "--profile", type=click.Choice(PROFILES), default=HASH_ENVELOPE, show_default=True, help="The form of the statement."
)
@click.option("--alg", metavar="NAME", help="Another algorithm than the usual one of the key, such as Ed25519 or ESP256.")
@click.option("--x5chain", metavar="FILE", type=PATH, help="The certificates of the key in PEM, the signer's first.")
@click.option("--issuer", metavar="URI", help="Who signs.  [default: the name of the key]")
@click.option("--subject", metavar="TEXT", help="What it is about.  [default: the record's id, or the digest of the bytes]")
@click.option("--timestamp", metavar="URL", help="Have the signature timestamped by an authority (RFC 3161).")
@click.option("--passphrase-file", metavar="FILE", type=PATH, help="Where the passphrase of the key is, in the first line.")
@click.option("--force", is_flag=True, help="Take a key that others on this machine can read.")
@partial(options.writing_options, default="beside a record, else the current folder")
@options.voice_options
def command(
    files: tuple[str, ...],
    key: str,
    profile: str,
    alg: str | None,
    x5chain: str | None,
    issuer: str | None,
    subject: str | None,
    timestamp: str | None,
    passphrase_file: str | None,
    force: bool,  # noqa: FBT001 - click passes flags so
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Sign records, or native sessions as they are: FILE.cose says who signed which bytes.

    The file itself stays as it is. The statement of a record is written beside it, that of another file into the current folder.

    \b
    Example:
      vacr sign abc.acr.json --key keys/signing.pem        writes abc.acr.json.cose
      vacr sign abc.acr.json --key keys/signing.pem --profile attached
      vacr sign abc.jsonl --key keys/signing.pem --x5chain chain.pem --timestamp https://tsa.example.org/
    """
    voice = Voice(format, quiet, verbose)
    outputs.refuse_one_file_for_many(files, output)
    signer = signer_of(key, algorithm=alg, passphrase=_passphrase(key, passphrase_file), force=force)
    chain = certificates_in(x5chain) if x5chain is not None else []
    done = []
    for path in files:
        found = signable(path, whole=profile != HASH_ENVELOPE)
        if found.data is None:
            voice.notice(f"{path}: larger than {options.size(LARGE)}, so its trace-metadata is left out")
        about = subject or (f"urn:uuid:{found.record_id}" if found.record_id else None)
        statement = sign(
            found.data if profile != HASH_ENVELOPE else None,
            signer,
            digest=found.digest,
            profile=profile,
            content_type=found.content_type,
            claims=Claims(issuer, about, int(time.time())),
            chain=chain,
            unprotected=_unprotected(found, profile),
        )
        if timestamp is not None:
            statement = _timestamped(statement, timestamp)
        done.append(_write(path, statement, signer, output, files, voice, overwrite=overwrite))
    if output != STDIN:
        voice.data({"statements": done})
    return 0


def _passphrase(key: str, passphrase_file: str | None) -> bytes | None:
    """Give the passphrase of a key, if it has one: from a file, or from the person who signs."""
    if passphrase_file is not None:
        return passphrase_in(passphrase_file)
    if key.startswith(PKCS11):
        return None
    if not is_encrypted(trust_bytes(key)):
        return None
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("the key is encrypted", hint="Give --passphrase-file, or sign at a terminal.")
    typed: str = click.prompt("Passphrase", hide_input=True, err=True)
    return typed.encode()


def _unprotected(found: Signable, profile: str) -> dict[int, Any]:
    if found.metadata is None:
        return {}
    metadata = dict(found.metadata)
    if profile != HASH_ENVELOPE:
        metadata["content-hash"] = found.digest.hex()
    return {labels.TRACE_METADATA: metadata}


def _timestamped(statement: bytes, url: str) -> bytes:
    from vacr.sources.time_authority import ask
    from vacr.verification import tokens

    message = parse(statement)
    token = tokens.token_of(ask(url, tokens.request(message.signature)), message.signature)
    unprotected = {**message.unprotected, labels.COSE_THEN_TIMESTAMP: token}
    return Sign1(message.protected_bytes, message.protected, unprotected, message.payload, message.signature).encode()


def _write(
    path: str, statement: bytes, signer: Signer, output: str | None, files: tuple[str, ...], voice: Voice, *, overwrite: bool
) -> dict[str, Any]:
    if output == STDIN:
        outputs.write_stdout([statement])
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
