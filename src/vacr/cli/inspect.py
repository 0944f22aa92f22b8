"""`vacr inspect`: a readable dump of signed statements and of any CBOR. It verifies nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import cbor2
import click

from vacr import errors
from vacr.cli import options
from vacr.cli.options import PATH, Voice
from vacr.cli.tokens import tokens_in
from vacr.codec.cbor_scan import Scanner
from vacr.codec.depth import MAX_DEPTH
from vacr.codec.diagnostic import diagnostic
from vacr.errors import InvalidStatement, UnreadableInput, VacrError
from vacr.receipts.receipt import Receipt, parse_receipt
from vacr.signing import keys, labels
from vacr.signing.algorithms import ALGORITHMS
from vacr.signing.carried import key_in
from vacr.signing.certificates import chain_of
from vacr.signing.sign1 import Sign1, parse
from vacr.sources import read_bytes

_SHORT = 64


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@options.voice_options
def command(
    files: tuple[str, ...],
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Show what is in a signed statement, in evidence or in any CBOR. Nothing is verified: it shows
    what files say, true or not.

    \b
    Example:
      vacr inspect abc.acr.json.cose
      vacr inspect abc.acr.cbor
      vacr inspect abc.acr.json.evidence.cbor
    """
    voice = Voice(format, quiet, verbose)
    shown = []
    for path in files:
        data = read_bytes(path)
        if len(files) > 1:
            voice.result(f"{path}:")
        message, tokens = _message(data), tokens_in(data)
        if tokens:
            voice.lines("\n".join(f"{kind}\n{diagnostic(claims)}" for kind, claims in tokens))
            shown.append(
                {"file": path, "kind": "token", "tokens": [_plain(claims) for _, claims in tokens]}
            )
        elif message is not None:
            voice.lines("\n".join(_lines(message)))
            shown.append({"file": path, "kind": "COSE_Sign1", **_document(message)})
        else:
            text = diagnostic(_item(data, path))
            voice.lines(text)
            shown.append({"file": path, "kind": "CBOR", "diagnostic": text})
    which = (
        "vacr appraise, or vacr verify with a verifier's key,"
        if shown[-1]["kind"] == "token"
        else "vacr verify"
    )
    voice.notice(f"Not verified: {which} tells whether it holds.")
    voice.data({"files": shown})
    return 0


def _message(data: bytes) -> Sign1 | None:
    try:
        return parse(data)
    except InvalidStatement:
        return None


def _item(data: bytes, path: str) -> Any:
    try:
        return Scanner(data, MAX_DEPTH).whole()
    except (UnreadableInput, TypeError, ValueError) as error:
        raise UnreadableInput(
            f"not CBOR: {error}", where=path, hint="Records in JSON are readable as they are."
        ) from error


def _lines(message: Sign1) -> list[str]:
    lines = ["COSE_Sign1", "protected header:"]
    lines += [f"  {_told(label, value)}" for label, value in message.protected.items()] or [
        "  (empty)"
    ]
    lines.append("unprotected header, which nobody signed:")
    lines += [f"  {_told(label, value)}" for label, value in message.unprotected.items()] or [
        "  (empty)"
    ]
    payload = message.payload
    if payload is None:
        lines.append("payload: detached")
    elif len(payload) <= _SHORT:
        lines.append(f"payload: {payload.hex()}")
    else:
        lines.append(
            f"payload: {len(payload)} bytes, SHA-256 {hashlib.sha256(payload).hexdigest()}"
        )
    lines.append(f"signature: {len(message.signature)} bytes, {message.signature[:_SHORT].hex()}")
    return lines


def _told(label: Any, value: Any) -> str:
    name = labels.name_of(label)
    told = f"{name} ({label})" if name != repr(label) else name
    if label == labels.ALG and type(value) is int and value in ALGORITHMS:
        return f"{told}: {ALGORITHMS[value].name} ({value})"
    if label == labels.CWT_CLAIMS and isinstance(value, dict):
        return f"{told}: {diagnostic({_claim(key, value): item for key, item in value.items()}, 2)}"
    try:
        if label == labels.X5CHAIN:
            return errors.printable(
                f"{told}: {'; '.join(one.subject.rfc4514_string() for one in chain_of(value))}"
            )
        if label == labels.KCCS:
            return f"{told}: {keys.thumbprint_uri(key_in(value))}"
        if label == labels.RECEIPTS and isinstance(value, list | tuple):
            return errors.printable(
                f"{told}: {'; '.join(_receipt(parse_receipt(one)) for one in value)}"
            )
    except VacrError:
        pass  # it is shown as it is
    return f"{told}: {diagnostic(value, 2)}"


def _receipt(receipt: Receipt) -> str:
    """Say what a receipt says, true or not."""
    places = [f"entry {proof.index} of {proof.size}" for proof in receipt.inclusions]
    places += [f"from {proof.older} to {proof.newer} entries" for proof in receipt.consistencies]
    return f"of {receipt.claims.get(labels.ISS)}, {', '.join(places)}"


_CLAIMS = {
    labels.ISS: "iss",
    labels.SUB: "sub",
    labels.EXP: "exp",
    labels.NBF: "nbf",
    labels.IAT: "iat",
}


def _claim(key: Any, claims: dict[Any, Any]) -> Any:
    """Name a claim as people know it, unless another one has that name as its label."""
    name = _CLAIMS.get(key, key) if type(key) is int else key
    return key if name in claims else name


def _document(message: Sign1) -> dict[str, Any]:
    return {
        "protected": {
            str(labels.name_of(label)): _plain(value) for label, value in message.protected.items()
        },
        "unprotected": {
            str(labels.name_of(label)): _plain(value)
            for label, value in message.unprotected.items()
        },
        "payload": None
        if message.payload is None
        else {"bytes": len(message.payload), "sha-256": _sha256(message.payload)},
        "signature": message.signature.hex(),
    }


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """Write what JSON cannot hold as text: bytes in hexadecimal, other keys and tags in diagnostic
    notation.
    """
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        others = {diagnostic(key) for key in value if not isinstance(key, str)}
        named = {
            key: key if isinstance(key, str) and key not in others else diagnostic(key)
            for key in value
        }
        return {named[key]: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return (
        value
        if isinstance(value, str | int | float | None) and not isinstance(value, cbor2.CBORTag)
        else diagnostic(value)
    )
