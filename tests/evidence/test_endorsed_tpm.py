"""Endorsements of real TPMs, with an endorsement key of RSA and with one on a curve: swtpm, asked
through tpm2-tools.
"""

import os
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_public_key

from tests.evidence.making import POLICY, TPM, appraised, made
from tests.evidence.software_tpm import needs_swtpm, running
from tests.evidence.test_endorsement import (
    BETWEEN,
    EK,
    ENDORSER,
    MIDDLE,
    ROOT,
    SECRETS,
    bare,
    certificate,
)
from vacr.errors import Unreachable
from vacr.evidence import endorsement
from vacr.evidence.credential import ECC, RSA, ek_of, kind_of, make_credential
from vacr.evidence.tpm_structures import name_of
from vacr.signing.certificates import load_certificates
from vacr.sources.tpm import Tpm

pytestmark = needs_swtpm


def run(tcti, folder, *arguments):
    environment = os.environ | {"TPM2TOOLS_TCTI": tcti}
    subprocess.run(
        ["tpm2", *arguments], env=environment, cwd=folder, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def on_a_curve():
    """Run a TPM of which only the key on the curve P-256 is certified, as some makers do."""
    with tempfile.TemporaryDirectory(prefix="tpm-") as name, running(Path(name)) as tcti:
        folder = Path(name)
        run(tcti, folder, "createek", "-G", "ecc", "-c", "ek", "-u", "ek.pem", "-f", "pem")
        run(tcti, folder, "flushcontext", "-t")
        ek = load_pem_public_key((folder / "ek.pem").read_bytes())
        found = certificate(SimpleNamespace(public_key=lambda: ek), "tpm", "between", BETWEEN)
        (folder / "ek.der").write_bytes(found.public_bytes(Encoding.DER))
        run(tcti, folder, "nvundefine", "-C", "p", "0x1c00002")
        readable = "ppwrite|writedefine|ppread|ownerread|authread|no_da|platformcreate"
        # Makers leave room behind a certificate.
        size = len(found.public_bytes(Encoding.DER)) + 100
        run(tcti, folder, "nvdefine", "-C", "p", "-s", str(size), "-a", readable, "0x1c0000a")
        run(tcti, folder, "nvwrite", "-C", "p", "-i", "ek.der", "0x1c0000a")
        yield Tpm(tcti), [ROOT], [MIDDLE]


@pytest.fixture
def of_rsa(software_tpm):
    tcti, folder = software_tpm
    roots = load_certificates((folder / "ca" / "swtpm-localca-rootca-cert.pem").read_bytes())
    return Tpm(tcti), roots, load_certificates((folder / "ca" / "issuercert.pem").read_bytes())


@pytest.fixture(params=[RSA, ECC])
def certified(request):
    """A TPM with certificates of its maker, and which kind of key they are for."""
    return *request.getfixturevalue(
        "of_rsa" if request.param == RSA else "on_a_curve"
    ), request.param


def test_a_real_tpm_is_endorsed_and_then_affirms_hardware(certified):
    tpm, roots, between, kind = certified
    asked = endorsement.encode(
        "request",
        {"attestation-key": tpm.attestation_key(), "ek-certificate": tpm.ek_certificate()},
    )
    made_of = endorsement.challenge(
        asked, roots, between, datetime.now(UTC), (os.urandom(32), os.urandom(32))
    )
    sent = endorsement.decode(made_of.sent, "challenge")
    assert sent["ek"] == kind
    answer = endorsement.encode("answer", {"secret": tpm.activate(sent["credential"], sent["ek"])})
    name = endorsement.endorsed_key(
        bare(endorsement.confirm(made_of.kept, answer, ENDORSER, 1)), [ENDORSER.public_key]
    )
    policy = replace(POLICY, attestation_keys=(), endorsed=frozenset((name,)))
    assert appraised(made(tpm=tpm), policy).vector == {
        "instance-identity": 2,
        "file-system": 2,
        "hardware": 2,
    }


def test_a_tpm_does_not_answer_for_a_key_that_is_not_in_it(certified):
    tpm, _, _, kind = certified
    ek = ek_of(x509.load_der_x509_certificate(tpm.ek_certificate()))
    assert kind_of(ek) == kind
    other = EK.public_key() if kind == RSA else ec.generate_private_key(ec.SECP256R1()).public_key()
    with pytest.raises(Unreachable):
        tpm.activate(
            make_credential(ek, name_of(TPM.public()), *SECRETS), kind
        )  # another attestation key
    with pytest.raises(Unreachable):
        tpm.activate(
            make_credential(other, name_of(tpm.attestation_key()), *SECRETS), kind
        )  # another TPM
    assert (
        tpm.activate(make_credential(ek, name_of(tpm.attestation_key()), *SECRETS), kind)
        == SECRETS[0]
    )
