"""Statements about files, as the options of a verb ask for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from cryptography import x509

from vacr.cli.options import PATH
from vacr.errors import UsageError
from vacr.signing import (
    HASH_ENVELOPE,
    HEADER_COSE_THEN_TIMESTAMP,
    HEADER_TRACE_METADATA,
    PKCS11_PREFIX,
    Sign1,
    Signer,
    StatementClaims,
    is_encrypted_pem,
    load_signer,
    parse_sign1,
    read_certificate_file,
    read_key_file,
    read_passphrase,
    sign,
)
from vacr.workflows import SignableFile

SigningCommand = TypeVar("SigningCommand", bound=Callable[..., Any])


def key_options(
    function: SigningCommand, *, required: bool = True, default: str = "one of this machine"
) -> SigningCommand:
    """Add to a verb what it takes to sign with a key."""
    for option in (
        click.option(
            "--force", is_flag=True, help="Take a key that others on this machine can read."
        ),
        click.option(
            "--passphrase-file",
            metavar="FILE",
            type=PATH,
            help="Where the passphrase of the key is, in the first line.",
        ),
        click.option(
            "--alg",
            metavar="NAME",
            help="Another algorithm than the usual one of the key, such as Ed25519 or ESP256.",
        ),
        click.option(
            "--key",
            required=required,
            metavar="FILE|pkcs11:…",
            help="The private key in PEM, or one in a device, by its URI."
            + ("" if required else f"  [default: {default}]"),
        ),
    ):
        function = option(function)
    return function


def load_signer_from_options(
    *, key: str, alg: str | None, passphrase_file: str | None, force: bool
) -> Signer:
    """Give what signs with the key that the options of a verb name.

    Raises:
        UsageError: others can read the key, or it is encrypted and there is nobody to ask.
        UnreadableInput: there is no key.
    """
    return load_signer(
        key, algorithm=alg, passphrase=_obtain_passphrase(key, passphrase_file), force=force
    )


def signing_options(function: SigningCommand, *, key_required: bool = True) -> SigningCommand:
    """Add to a verb what it takes to sign statements."""
    function = key_options(function, required=key_required)
    for option in (
        click.option(
            "--timestamp",
            metavar="URL",
            help="Have the signature timestamped by an authority (RFC 3161).",
        ),
        click.option("--issuer", metavar="URI", help="Who signs.  [default: the name of the key]"),
        click.option(
            "--x5chain",
            metavar="FILE",
            type=PATH,
            help="The certificates of the key in PEM, the signer's first.",
        ),
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class SigningSettings:
    """How statements are made, the same for all of a run."""

    signer: Signer
    chain: Sequence[x509.Certificate] = ()
    issuer: str | None = None
    timestamp: str | None = None
    profile: str = HASH_ENVELOPE

    @classmethod
    def of(
        cls,
        *,
        key: str,
        alg: str | None,
        x5chain: str | None,
        issuer: str | None,
        timestamp: str | None,
        passphrase_file: str | None,
        force: bool,
        profile: str = HASH_ENVELOPE,
    ) -> SigningSettings:
        """Take the options of a verb, and read the files they name."""
        signer = load_signer_from_options(
            key=key, alg=alg, passphrase_file=passphrase_file, force=force
        )
        chain = read_certificate_file(x5chain) if x5chain is not None else []
        return cls(signer, chain, issuer, timestamp, profile)

    def statement(self, found: SignableFile, subject: str | None = None) -> bytes:
        """Make the statement about a file.

        Raises:
            UsageError: what is asked for does not go together.
            Unreachable: the timestamp authority does not answer.
        """
        about = subject or (f"urn:uuid:{found.record_id}" if found.record_id else None)
        statement = sign(
            found.data if self.profile != HASH_ENVELOPE else None,
            self.signer,
            digest=found.digest,
            profile=self.profile,
            content_type=found.content_type,
            claims=StatementClaims(self.issuer, about, int(time.time())),
            chain=self.chain,
            unprotected=self._unprotected(found),
        )
        return (
            _add_timestamp(statement, self.timestamp) if self.timestamp is not None else statement
        )

    def _unprotected(self, found: SignableFile) -> dict[int, Any]:
        if found.metadata is None:
            return {}
        metadata = dict(found.metadata)
        if self.profile != HASH_ENVELOPE:
            metadata["content-hash"] = found.digest.hex()
        return {HEADER_TRACE_METADATA: metadata}


def _obtain_passphrase(key: str, passphrase_file: str | None) -> bytes | None:
    """Give the passphrase of a key, if it has one: from a file, or from the person who signs."""
    if passphrase_file is not None:
        return read_passphrase(passphrase_file)
    if key.startswith(PKCS11_PREFIX):
        return None
    if not is_encrypted_pem(read_key_file(key)):
        return None
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "the key is encrypted", hint="Give --passphrase-file, or sign at a terminal."
        )
    typed: str = click.prompt("Passphrase", hide_input=True, err=True)
    return typed.encode()


def _add_timestamp(statement: bytes, url: str) -> bytes:
    from vacr.signing import ask_time_authority, build_timestamp_request, parse_timestamp_reply

    message = parse_sign1(statement)
    token = parse_timestamp_reply(
        ask_time_authority(url, build_timestamp_request(message.signature)), message.signature
    )
    unprotected = {**message.unprotected, HEADER_COSE_THEN_TIMESTAMP: token}
    return Sign1(
        message.protected_bytes, message.protected, unprotected, message.payload, message.signature
    ).encode()
