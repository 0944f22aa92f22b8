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
from vacr.signing import HASH_ENVELOPE, Claims, Signer, labels, sign
from vacr.signing.keys import is_encrypted
from vacr.signing.sign1 import Sign1, parse
from vacr.sources.key_files import PKCS11, certificates_in, key_bytes, passphrase_in, signer_of
from vacr.sources.signing import Signable

F = TypeVar("F", bound=Callable[..., Any])


def key_options(function: F, *, required: bool = True, default: str = "one of this machine") -> F:
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


def key_signer(*, key: str, alg: str | None, passphrase_file: str | None, force: bool) -> Signer:
    """Give what signs with the key that the options of a verb name.

    Raises:
        UsageError: others can read the key, or it is encrypted and there is nobody to ask.
        UnreadableInput: there is no key.
    """
    return signer_of(key, algorithm=alg, passphrase=_passphrase(key, passphrase_file), force=force)


def signing_options(function: F, *, key_required: bool = True) -> F:
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
class Signing:
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
    ) -> Signing:
        """Take the options of a verb, and read the files they name."""
        signer = key_signer(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
        chain = certificates_in(x5chain) if x5chain is not None else []
        return cls(signer, chain, issuer, timestamp, profile)

    def statement(self, found: Signable, subject: str | None = None) -> bytes:
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
            claims=Claims(self.issuer, about, int(time.time())),
            chain=self.chain,
            unprotected=self._unprotected(found),
        )
        return _timestamped(statement, self.timestamp) if self.timestamp is not None else statement

    def _unprotected(self, found: Signable) -> dict[int, Any]:
        if found.metadata is None:
            return {}
        metadata = dict(found.metadata)
        if self.profile != HASH_ENVELOPE:
            metadata["content-hash"] = found.digest.hex()
        return {labels.TRACE_METADATA: metadata}


def _passphrase(key: str, passphrase_file: str | None) -> bytes | None:
    """Give the passphrase of a key, if it has one: from a file, or from the person who signs."""
    if passphrase_file is not None:
        return passphrase_in(passphrase_file)
    if key.startswith(PKCS11):
        return None
    if not is_encrypted(key_bytes(key)):
        return None
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "the key is encrypted", hint="Give --passphrase-file, or sign at a terminal."
        )
    typed: str = click.prompt("Passphrase", hide_input=True, err=True)
    return typed.encode()


def _timestamped(statement: bytes, url: str) -> bytes:
    from vacr.sources.time_authority import ask
    from vacr.verification import tokens

    message = parse(statement)
    token = tokens.token_of(ask(url, tokens.request(message.signature)), message.signature)
    unprotected = {**message.unprotected, labels.COSE_THEN_TIMESTAMP: token}
    return Sign1(
        message.protected_bytes, message.protected, unprotected, message.payload, message.signature
    ).encode()
