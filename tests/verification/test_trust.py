"""An untrusted statement names the key that is missing, if it can."""

from dataclasses import replace
from datetime import UTC, datetime

import cbor2
import pytest

from vacr.signing.cose import encode_protected_header, parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint, generate_key
from vacr.signing.statement import sign
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PAYLOAD = b"what was signed"
SIGNER, OTHER = (KeySigner(generate_key("eddsa")) for _ in range(2))


def hint(statement, *trusted):
    with pytest.raises(VerificationFailed) as failed:
        verify(
            statement,
            Policy(keys=tuple(signer.public_key for signer in trusted)),
            payload=PAYLOAD,
            now=NOW,
        )
    assert failed.value.reason == "signature"
    return failed.value.hint


def named(kid):
    message = parse_sign1(sign(PAYLOAD, SIGNER))
    headers = {**message.protected, 4: kid}
    return replace(
        message, protected=headers, protected_bytes=encode_protected_header(headers)
    ).encode()


def test_missing_key_is_named():
    assert f"key {compute_thumbprint(SIGNER.public_key).hex()[:16]}." in hint(
        sign(PAYLOAD, SIGNER), OTHER
    )


def test_signature_over_external_data_gets_its_own_hint():
    message = parse_sign1(sign(PAYLOAD, SIGNER))
    signed = ["Signature1", message.protected_bytes, b"external", message.payload]
    statement = replace(message, signature=SIGNER.sign(cbor2.dumps(signed))).encode()
    assert "the signature covers external data" in hint(statement, SIGNER)


def test_trusted_key_is_not_reported_as_missing():
    assert hint(named(compute_thumbprint(OTHER.public_key)), OTHER) == (
        "The statement names this key: it or the file changed after signing, or is forged. "
        "Or the signature covers external data (RFC 9052), which vacr does not support."
    )


def test_key_id_that_is_not_a_thumbprint_is_shown_as_bytes():
    assert "key 1b5b324a." in hint(named(b"\x1b[2J"), OTHER)
    assert hint(named("\x1b[2J"), OTHER) == ""
