"""`vacr evidence endorse`: the enrolment of a TPM's attestation key, in four steps.

The attester's machine sends its key and its certificate; the verifier's machine answers with a
secret that only this TPM can decrypt, and endorses the key once the secret comes back. A step never
overwrites the file of another:

    >>> from vacr.cli.endorse import _check_file_absent
    >>> _check_file_absent("examples/cursor.jsonl", "-o")
    Traceback (most recent call last):
    vacr.errors.UsageError: examples/cursor.jsonl already exists
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import PATH, F, key_options, load_signer_from_options, voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import (
    SECRET_LENGTH,
    SEED_LENGTH,
    Tpm,
    create_challenge,
    create_endorsement,
    decode_enrolment,
    encode_enrolment,
)
from vacr.files import OutputFile, read_bytes, write_files_atomically
from vacr.signing import read_certificate_file
from vacr.workflows import write_output_file

_MAX_MESSAGE_BYTES = 1 << 20


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Enrol the attestation key of a TPM, in four steps between two machines.

    The steps prove that the key is in a TPM with a certificate of its manufacturer. A is the
    attester's machine, V the verifier's.

    \b
    Example:
      A$ vacr evidence endorse request -o request.cbor
      V$ vacr evidence endorse challenge request.cbor --ek-root maker.pem \\
        -o challenge.cbor --secret secret.cbor
      A$ vacr evidence endorse answer challenge.cbor -o answer.cbor
      V$ vacr evidence endorse confirm answer.cbor --secret secret.cbor \\
        --key verifier/signing.pem -o laptop.endorsement.cbor
    """


def _tcti_option(function: F) -> F:
    """Add `--tcti`, the name of a TPM, to a verb; without it, tpm2-tools choose the TPM."""
    return click.option(
        "--tcti",
        metavar="NAME",
        help="TPM to use, such as device:/dev/tpmrm0.  [default: the one that tpm2-tools use]",
    )(function)


def _output_option(content: str) -> Callable[[F], F]:
    """Return a decorator that adds a required `-o`, the file for `content`, to a verb."""
    return click.option(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        type=PATH,
        help=f"Output file for the {content}.",
    )


def _check_file_absent(name: str, option: str) -> None:
    """Check that a file does not exist: repeating a step would invalidate the later steps.

    Raises:
        UsageError: the file exists; the hint names the option to change.
    """
    if Path(name).exists():
        raise UsageError(f"{name} already exists", hint=f"Name another file with {option}.")


def _read_enrolment_message(name: str, kind: str) -> bytes:
    """Return the bytes of a file that an enrolment step wrote.

    `kind` is `request`, `challenge`, `secret` or `answer`.

    Raises:
        UnreadableInput: the file is not of this kind.
    """
    data = read_bytes(name, _MAX_MESSAGE_BYTES)
    try:
        decode_enrolment(data, kind)
    except InvalidStatement as error:
        hint = "For the steps and their files: vacr evidence endorse --help"
        raise UnreadableInput(
            f"not the {kind} of an enrolment: {error.message}", where=name, hint=hint
        ) from error
    return data


def _write_enrolment_message(
    output: str, data: bytes, summary: str, voice: Voice, **document: Any
) -> int:
    """Write the file of a step, print a line about it, and return the exit code, 0.

    `document` has further members for JSON output.

    Raises:
        UsageError: the file exists.
    """
    _check_file_absent(output, "-o")
    write_output_file(Path(output), data, "", (), overwrite=False)
    voice.result(f"{output}: {summary}")
    voice.data({"output": output, "bytes": len(data), **document})
    return 0


@command.command(short_help="Attester: write the key of the TPM and its certificate.")
@_tcti_option
@_output_option("request")
@voice_options
def request(
    tcti: str | None,
    output: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """On the attester's machine: write the TPM's attestation key and certificate.

    The certificate is from the manufacturer of the TPM.

    \b
    Example:
      vacr evidence endorse request -o request.cbor
    """
    tpm = Tpm(tcti)
    content = {"attestation-key": tpm.attestation_key(), "ek-certificate": tpm.ek_certificate()}
    summary = "the request; send it to the verifier"
    return _write_enrolment_message(
        output, encode_enrolment("request", content), summary, Voice(format, quiet, verbose)
    )


@command.command(short_help="Verifier: check the request, and write a secret for that TPM.")
@click.argument("file", metavar="REQUEST", type=PATH)
@click.option(
    "--ek-root",
    required=True,
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Root certificates of TPM manufacturers; repeatable.",
)
@click.option(
    "--ek-chain",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Intermediate certificates of TPM manufacturers; repeatable.",
)
@click.option(
    "--secret",
    required=True,
    metavar="FILE",
    type=PATH,
    help="Output file for the secret, which `confirm` needs.",
)
@_output_option("challenge")
@voice_options
def challenge(
    file: str,
    ek_root: tuple[str, ...],
    ek_chain: tuple[str, ...],
    secret: str,
    output: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """On the verifier's machine: check the certificate, and write a challenge.

    The challenge is a file with a secret that only this TPM can decrypt.

    \b
    Example:
      vacr evidence endorse challenge request.cbor --ek-root maker.pem \\
        -o challenge.cbor --secret secret.cbor
    """
    voice = Voice(format, quiet, verbose)
    roots = [certificate for name in ek_root for certificate in read_certificate_file(name)]
    between = [certificate for name in ek_chain for certificate in read_certificate_file(name)]
    random = (secrets.token_bytes(SECRET_LENGTH), secrets.token_bytes(SEED_LENGTH))
    message = create_challenge(
        _read_enrolment_message(file, "request"), roots, between, datetime.now(UTC), random
    )
    _check_file_absent(output, "-o")
    _check_file_absent(secret, "--secret")
    path = Path(secret)
    path.touch(0o600)
    write_files_atomically(
        [OutputFile(path, [message.kept], (path,))]
    )  # As readable as the empty file.
    return _write_enrolment_message(
        output,
        message.sent,
        f"the challenge; send it to the attester, and keep {secret} here",
        voice,
        secret=secret,
    )


@command.command(short_help="Attester: let the TPM decrypt the secret.")
@click.argument("file", metavar="CHALLENGE", type=PATH)
@_tcti_option
@_output_option("answer")
@voice_options
def answer(
    file: str,
    tcti: str | None,
    output: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """On the attester's machine: let the TPM decrypt the secret of the challenge.

    \b
    Example:
      vacr evidence endorse answer challenge.cbor -o answer.cbor
    """
    content = decode_enrolment(_read_enrolment_message(file, "challenge"), "challenge")
    secret = Tpm(tcti).activate(content["credential"], content["ek"])
    return _write_enrolment_message(
        output,
        encode_enrolment("answer", {"secret": secret}),
        "the answer; send it to the verifier",
        Voice(format, quiet, verbose),
    )


@command.command(short_help="Verifier: check the answer, and sign the endorsement.")
@click.argument("file", metavar="ANSWER", type=PATH)
@click.option(
    "--secret",
    required=True,
    metavar="FILE",
    type=PATH,
    help="File that `vacr evidence endorse challenge --secret` wrote.",
)
@partial(key_options, required=True)
@_output_option("endorsement")
@voice_options
def confirm(
    file: str,
    secret: str,
    key: str,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,
    output: str,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """On the verifier's machine: check the answer, and sign the endorsement.

    Appraisal policies accept the endorsement as proof that the key is in a TPM.

    \b
    Example:
      vacr evidence endorse confirm answer.cbor --secret secret.cbor \\
        --key verifier/signing.pem -o laptop.endorsement.cbor
    """
    signer = load_signer_from_options(
        key=key, alg=alg, passphrase_file=passphrase_file, force=force
    )
    endorsement = create_endorsement(
        _read_enrolment_message(secret, "secret"),
        _read_enrolment_message(file, "answer"),
        signer,
        int(time.time()),
    )
    return _write_enrolment_message(
        output, endorsement, "the endorsement", Voice(format, quiet, verbose)
    )
