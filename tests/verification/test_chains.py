"""Certificate chains that do not lead to a trusted root."""

import pytest
from cryptography import x509

from tests.vectors.certificates import Authority, certificate
from tests.vectors.statements import Key
from vacr.errors import InvalidStatement
from vacr.signing.keys import generate_key
from vacr.verification.certificates import check_certificate_chain


def test_uncertified_chain_costs_one_signature_check():
    """An untrusted end of the chain is found before a false signature at the signer's end."""
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
