"""A statement of somebody who is not trusted says who that is, as far as it names them."""

from dataclasses import replace
from datetime import UTC, datetime

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
            Policy(keys=tuple(one.public_key for one in trusted)),
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


def test_the_key_that_is_missing_is_named():
    assert f"key {compute_thumbprint(SIGNER.public_key).hex()[:16]}." in hint(
        sign(PAYLOAD, SIGNER), OTHER
    )


def test_a_trusted_key_that_is_named_is_not_missing():
    assert hint(named(compute_thumbprint(OTHER.public_key)), OTHER) == ""


def test_a_name_that_is_no_thumbprint_is_told_as_bytes_or_not_at_all():
    assert "key 1b5b324a." in hint(named(b"\x1b[2J"), OTHER)
    assert hint(named("\x1b[2J"), OTHER) == ""
