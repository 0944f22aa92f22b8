"""Chains of certificates that lead to nobody."""

import pytest
from cryptography import x509

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
from vacr.errors import InvalidStatement
from vacr.signing.keys import generate_key
from vacr.verification.trust import check_certificate_chain


def test_whoever_is_not_certified_has_nobody_check_all_their_certificates():
    """What is wrong at the signer's end is not even looked at: that nobody certified the other end
    is found before.
    """
    middle, root, trusted = (
        Authority("middle", Authority("root")),
        Authority("root"),
        Authority("trusted"),
    )
    forged = x509.load_der_x509_certificate(
        certificate(Key(generate_key("eddsa")), Authority("middle"))
    )
    with pytest.raises(InvalidStatement) as caught:
        check_certificate_chain(
            [forged, middle.certificate], [trusted.certificate, root.certificate], None
        )
    assert caught.value.reason == "untrusted"
