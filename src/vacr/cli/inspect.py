"""`vacr inspect`: a readable dump of statements, tokens and any CBOR. It verifies nothing.

>>> from pathlib import Path
>>> _ = Path("a.cbor").write_bytes(bytes.fromhex("a1616101"))
>>> from vacr.cli import run_command_line
>>> run_command_line(["inspect", "a.cbor"])
{"a": 1}
0
"""

from __future__ import annotations

import hashlib
from typing import Any

import cbor2
import click

from vacr.cli.options import PATH, Verb, voice_options
from vacr.console import Voice
from vacr.errors import InvalidStatement, UnreadableInput, VacrError, escape_unprintable
from vacr.evidence import (
    CLAIM_AGENT,
    CLAIM_ATTESTATION_KEY,
    CLAIM_ENDORSED_BY,
    CLAIM_ENDORSED_KEY,
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_PCRS,
    CLAIM_QUOTE,
    CLAIM_QUOTE_SIGNATURE,
    CLAIM_RECORD,
    CWT_PREFIX,
    EAR_JSON_NAMES,
    EAT_CNF,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EAT_MEASUREMENTS,
    EAT_SWNAME,
    EAT_SWVERSION,
    decode_cmw,
    decode_component,
    list_cmw_records,
    looks_like_jwt,
    parse_cwt,
    parse_jwt,
)
from vacr.files import read_bytes
from vacr.record import MAX_DEPTH, CborScanner, format_diagnostic
from vacr.signing import (
    ALGORITHMS,
    CLAIM_EXP,
    CLAIM_IAT,
    CLAIM_ISS,
    CLAIM_NBF,
    CLAIM_SUB,
    HEADER_ALG,
    HEADER_CWT_CLAIMS,
    HEADER_KCCS,
    HEADER_RECEIPTS,
    HEADER_X5CHAIN,
    Sign1,
    compute_thumbprint_uri,
    format_header_label,
    parse_kccs,
    parse_sign1,
    parse_x5chain,
)
from vacr.transparency import Receipt, parse_receipt
from vacr.workflows import find_unsealed_session_error

_MAX_BYTES_SHOWN = 64
_TOKEN_CLAIM_NAMES = {
    **EAR_JSON_NAMES,
    EAT_CNF: "cnf",
    EAT_SWNAME: "swname",
    EAT_SWVERSION: "swversion",
    EAT_MEASUREMENTS: "measurements",
    CLAIM_RECORD: "record",
    CLAIM_JOURNAL: "journal",
    CLAIM_MANIFESTS: "manifests",
    CLAIM_KEY_STORAGE: "key-storage",
    CLAIM_AGENT: "agent",
    CLAIM_QUOTE: "quote",
    CLAIM_QUOTE_SIGNATURE: "quote-signature",
    CLAIM_ATTESTATION_KEY: "attestation-key",
    CLAIM_PCRS: "pcrs",
    CLAIM_ENDORSED_KEY: "endorsed-key",
    CLAIM_ENDORSED_BY: "endorsed-by",
}
_SUBMODULES = "submods"


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@voice_options
def command(
    files: tuple[str, ...],
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Show the content of a signed statement, of evidence, or of any CBOR.

    Nothing is verified.

    \b
    Example:
      vacr inspect abc.acr.json.cose
      vacr inspect abc.acr.cbor
      vacr inspect abc.acr.json.evidence.cbor
    """
    voice = Voice(format, quiet, verbose)
    shown = []
    for path in files:
        data = _read_file(path)
        if len(files) > 1:
            voice.result(f"{path}:")
        message, tokens = _try_parse_statement(data), _parse_evidence_tokens(data)
        if tokens:
            voice.lines(
                "\n".join(f"{kind}\n{format_diagnostic(claims)}" for kind, claims in tokens)
            )
            shown.append(
                {
                    "file": path,
                    "kind": "token",
                    "tokens": [_convert_for_json(claims) for _, claims in tokens],
                }
            )
        elif message is not None:
            voice.lines("\n".join(_format_statement(message)))
            shown.append({"file": path, "kind": "COSE_Sign1", **_build_statement_document(message)})
        else:
            text = format_diagnostic(_parse_cbor(data, path))
            voice.lines(text)
            shown.append({"file": path, "kind": "CBOR", "diagnostic": text})
    verb = "appraise" if shown[-1]["kind"] == "token" else "verify"
    voice.notice(f"Not verified. To verify: vacr {verb}")
    voice.data({"files": shown})
    return 0


def _read_file(path: str) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnreadableInput: it cannot be read; for the name of a session, the error says so.
    """
    try:
        return read_bytes(path)
    except UnreadableInput as error:
        raise find_unsealed_session_error(path, "inspect") or error from error


def _try_parse_statement(data: bytes) -> Sign1 | None:
    """Return the parsed COSE_Sign1 message; `None` if the data is not one."""
    try:
        return parse_sign1(data)
    except InvalidStatement:
        return None


def _parse_cbor(data: bytes, path: str) -> Any:
    """Return the value of a CBOR item.

    Raises:
        UnreadableInput: the data is not CBOR; the error names the file `path`.
    """
    try:
        return CborScanner(data, MAX_DEPTH).read_whole_item()
    except (UnreadableInput, TypeError, ValueError) as error:
        if data.lstrip()[:1] in (b"{", b"["):
            raise UnreadableInput(
                "this is JSON, and only CBOR can be inspected",
                where=path,
                hint="To read a record: vacr show FILE. To check it: vacr validate FILE",
            ) from error
        hint = "To read a record or a session: vacr show FILE"
        raise UnreadableInput(f"not CBOR: {error}", where=path, hint=hint) from error


def _format_statement(message: Sign1) -> list[str]:
    """Return lines about the headers, the payload and the signature of a statement."""
    lines = ["COSE_Sign1", "protected header:"]
    lines += [
        f"  {_format_header_parameter(label, value)}" for label, value in message.protected.items()
    ] or ["  (empty)"]
    lines.append("unprotected header (not signed):")
    lines += [
        f"  {_format_header_parameter(label, value)}"
        for label, value in message.unprotected.items()
    ] or ["  (empty)"]
    payload = message.payload
    if payload is None:
        lines.append("payload: detached")
    elif len(payload) <= _MAX_BYTES_SHOWN:
        lines.append(f"payload: {payload.hex()}")
    else:
        lines.append(f"payload: {len(payload)} bytes, SHA-256 {_compute_sha256(payload)}")
    lines.append(
        f"signature: {len(message.signature)} bytes, {message.signature[:_MAX_BYTES_SHOWN].hex()}"
    )
    return lines


def _format_header_parameter(label: Any, value: Any) -> str:
    """Return a line about a header parameter, such as `alg (1): EdDSA (-8)`.

    A value that cannot be explained is shown in diagnostic notation.
    """
    known_name = format_header_label(label)
    label_text = f"{known_name} ({label})" if known_name != repr(label) else known_name
    if label == HEADER_ALG and type(value) is int and value in ALGORITHMS:
        return f"{label_text}: {ALGORITHMS[value].name} ({value})"
    if label == HEADER_CWT_CLAIMS and isinstance(value, dict):
        claims = {_choose_claim_name(key, value): item for key, item in value.items()}
        return f"{label_text}: {format_diagnostic(claims, 2)}"
    try:
        if label == HEADER_X5CHAIN:
            subjects = "; ".join(
                certificate.subject.rfc4514_string() for certificate in parse_x5chain(value)
            )
            return escape_unprintable(f"{label_text}: {subjects}")
        if label == HEADER_KCCS:
            return f"{label_text}: {compute_thumbprint_uri(parse_kccs(value))}"
        if label == HEADER_RECEIPTS and isinstance(value, list | tuple):
            receipts = "; ".join(_format_receipt(parse_receipt(data)) for data in value)
            return escape_unprintable(f"{label_text}: {receipts}")
    except VacrError:
        pass  # Show it in diagnostic notation.
    return f"{label_text}: {format_diagnostic(value, 2)}"


def _format_receipt(receipt: Receipt) -> str:
    """Return the log of a receipt and the entries that it is about, without verifying them."""
    places = [f"entry {proof.index} of {proof.size}" for proof in receipt.inclusions]
    places += [f"transaction {proof.transaction}" for proof in receipt.ccf_proofs]
    places += [f"from {proof.older} to {proof.newer} entries" for proof in receipt.consistencies]
    log = receipt.claims.get(CLAIM_ISS, "an unnamed log")
    return f"of {log}, {', '.join(places)}"


_CLAIM_NAMES = {
    CLAIM_ISS: "iss",
    CLAIM_SUB: "sub",
    CLAIM_EXP: "exp",
    CLAIM_NBF: "nbf",
    CLAIM_IAT: "iat",
}


def _choose_claim_name(key: Any, claims: dict[Any, Any]) -> Any:
    """Return the usual name of a claim, such as `iss` for 1.

    Return the key itself if it has no usual name, or if another claim has that name as its key.
    """
    name = _CLAIM_NAMES.get(key, key) if type(key) is int else key
    return key if name in claims else name


def _build_statement_document(message: Sign1) -> dict[str, Any]:
    """Return the content of a statement for JSON output."""
    return {
        "protected": {
            str(format_header_label(label)): _convert_for_json(value)
            for label, value in message.protected.items()
        },
        "unprotected": {
            str(format_header_label(label)): _convert_for_json(value)
            for label, value in message.unprotected.items()
        },
        "payload": None
        if message.payload is None
        else {"bytes": len(message.payload), "sha-256": _compute_sha256(message.payload)},
        "signature": message.signature.hex(),
    }


def _compute_sha256(data: bytes) -> str:
    """Return the SHA-256 hash of data in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _convert_for_json(value: Any) -> Any:
    """Return a value for JSON: bytes in hexadecimal, other CBOR types in diagnostic notation."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        others = {format_diagnostic(key) for key in value if not isinstance(key, str)}
        names = {
            key: key if isinstance(key, str) and key not in others else format_diagnostic(key)
            for key in value
        }
        return {names[key]: _convert_for_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_convert_for_json(item) for item in value]
    return (
        value
        if isinstance(value, str | int | float | None) and not isinstance(value, cbor2.CBORTag)
        else format_diagnostic(value)
    )


def _parse_evidence_tokens(data: bytes) -> list[tuple[str, dict[Any, Any]]]:
    """Return the kind and the named claims of each token in a file.

    Return an empty list if the data contains no token, or a malformed one.
    """
    try:
        if looks_like_jwt(data) or data.startswith(CWT_PREFIX):
            return [_parse_token(data)]
        records = [
            record.value
            for record in list_cmw_records(decode_cmw(data))
            if record.media_type in (EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE)
        ]
        return [(f"{kind} in a CMW", claims) for kind, claims in map(_parse_token, records)]
    except InvalidStatement:
        return []


def _parse_token(data: bytes) -> tuple[str, dict[Any, Any]]:
    """Return the kind of a token, `JWT` or `CWT`, and its unverified claims by name.

    Raises:
        InvalidStatement: the token is malformed.
    """
    if looks_like_jwt(data):
        return "JWT", parse_jwt(data).claims
    return "CWT", _name_token_claims(parse_cwt(data).claims)


def _name_token_claims(claims: dict[Any, Any]) -> dict[Any, Any]:
    """Return the claims of a token, by their names where they have one.

    Long claims are shortened: a manifest becomes its number of files.
    """
    named = {_get_token_claim_name(label): value for label, value in claims.items()}
    if isinstance(named.get(_SUBMODULES), dict):
        named[_SUBMODULES] = {
            name: _name_token_claims(claim) if isinstance(claim, dict) else claim
            for name, claim in named[_SUBMODULES].items()
        }
    if isinstance(named.get("manifests"), dict):
        named["manifests"] = {
            name: f"{len(claim)} files"
            for name, claim in named["manifests"].items()
            if isinstance(claim, dict)
        }
    if isinstance(named.get("measurements"), list):
        named["measurements"] = [_describe_component(claim) for claim in named["measurements"]]
    return named


def _get_token_claim_name(label: Any) -> Any:
    """Return the name of a claim in evidence or in a result; an unknown label as it is."""
    return _TOKEN_CLAIM_NAMES.get(label, label) if type(label) is int else label


def _describe_component(measured: Any) -> Any:
    """Return name, version and digest of a measured component; a malformed one as it is."""
    try:
        component = decode_component(measured[1], {})
    except (VacrError, LookupError, TypeError):
        return measured
    return {"name": component.name, "version": component.version, "sha-256": component.digest}
