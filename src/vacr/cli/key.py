"""`vacr key`: generate signing keys, and show their thumbprints.

>>> from vacr.cli import run_command_line
>>> run_command_line(["key", "generate", "-o", "keys/"])
keys/signing.pem: private key; keep it secret
keys/signing.pub.pem: public key, for verifiers; urn:ietf:params:oauth:ckt:sha-256:...
0
"""

from __future__ import annotations

import os
from pathlib import Path

import click

from vacr.cli.options import PATH, voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice
from vacr.errors import UnreadableInput, UsageError
from vacr.files import find_state_folder
from vacr.signing import (
    NEW_KEY_ALGORITHMS,
    PublicKey,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_private_pem,
    encode_public_pem,
    generate_key,
    parse_pem_certificates,
    parse_public_keys,
    read_passphrase,
    read_trust_file,
    write_key_pair,
)
from vacr.workflows import STORE_OWN, get_machine_key_paths, read_settings_files


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Generate signing keys, and show the thumbprints of public keys.

    \b
    Example:
      vacr key generate -o keys/
      vacr key show keys/signing.pub.pem
    """


@command.command(short_help="Generate a key pair.")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=PATH,
    default=".",
    help="Output folder.  [default: the current folder]",
)
@click.option(
    "--alg",
    type=click.Choice(NEW_KEY_ALGORITHMS),
    default="eddsa",
    show_default=True,
    help="Signature algorithm.",
)
@click.option(
    "--passphrase", is_flag=True, help="Encrypt the private key; prompts for the passphrase."
)
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=PATH,
    help="Encrypt the private key with the first line of this file.",
)
@voice_options
def generate(
    output: str,
    alg: str,
    passphrase: bool,
    passphrase_file: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Generate a key pair for signing.

    The private key, signing.pem, is readable only by you. The public key, signing.pub.pem, is for
    verifiers.

    \b
    Example:
      vacr key generate -o keys/
      vacr key generate -o keys/ --alg es256 --passphrase
    """
    voice = Voice(format, quiet, verbose)
    secret = None
    if passphrase_file is not None:
        secret = read_passphrase(passphrase_file)
    elif passphrase:
        secret = click.prompt(
            "Passphrase", hide_input=True, confirmation_prompt=True, err=True
        ).encode()
    if secret == b"":
        raise UsageError(
            f"the first line of {passphrase_file} is empty",
            hint="Write a passphrase into it, or omit --passphrase-file for an unencrypted key.",
        )
    key = generate_key(alg)
    public = encode_public_pem(key.public_key())
    signing, verifying = write_key_pair(Path(output), encode_private_pem(key, secret), public)
    voice.result(f"{signing}: private key; keep it secret")
    voice.result(
        f"{verifying}: public key, for verifiers; {compute_thumbprint_uri(key.public_key())}"
    )
    voice.data(
        {
            "private": str(signing),
            "public": str(verifying),
            "algorithm": alg,
            "thumbprint": compute_thumbprint_uri(key.public_key()),
        }
    )
    return 0


@command.command(short_help="Show the thumbprints of public keys and certificates.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=PATH)
@voice_options
def show(
    files: tuple[str, ...],
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Show the thumbprints of public keys and certificates.

    Statements name the key of their signer by its thumbprint. Without a file, your own key is
    shown: the public half of the one that vacr init chose, or of this machine's.

    \b
    Example:
      vacr key show
      vacr key show keys/signing.pub.pem
    """
    voice = Voice(format, quiet, verbose)
    shown = []
    for path in files or (_find_own_public_key(),):
        for key in _read_public_keys(path):
            voice.result(
                f"{path}: key {compute_thumbprint(key).hex()[:16]}: {compute_thumbprint_uri(key)}"
            )
            shown.append(
                {
                    "file": path,
                    "thumbprint": compute_thumbprint_uri(key),
                    "kid": compute_thumbprint(key).hex(),
                }
            )
    voice.data({"keys": shown})
    return 0


def _find_own_public_key() -> str:
    """Return the path of the user's own public key.

    Raises:
        UnreadableInput: there is none, or the settings cannot be read.
    """
    chosen = [
        str(setting.value)
        for file in read_settings_files()
        if file.state == STORE_OWN
        for setting in file.find_options(("seal",))
        if setting.name == "key"
    ]
    private, public = get_machine_key_paths(find_state_folder(os.environ))
    if chosen and chosen[0] != str(private):
        public = Path(chosen[0]).with_suffix(".pub.pem")
    if not public.is_file():
        raise UnreadableInput(
            "you have no public key here",
            where=str(public),
            hint="To make a key: vacr init. For another key: vacr key show FILE",
        )
    return str(public)


def _read_public_keys(path: str) -> list[PublicKey]:
    """Return the public keys in a file of keys or certificates.

    Raises:
        UnreadableInput: the file has no keys that can be read; the error names it.
    """
    data = read_trust_file(path)
    try:
        if b"-----BEGIN CERTIFICATE-----" in data:
            return [certificate.public_key() for certificate in parse_pem_certificates(data)]
        return parse_public_keys(data)
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=path, hint=error.hint) from error
