"""Endorsements of real TPMs (swtpm) with RSA and P-256 endorsement keys."""

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

from tests.evidence.samples import POLICY, TPM, appraise, make_evidence
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
from vacr.evidence.endorsement import (
    EK_ECC,
    EK_RSA,
    create_challenge,
    create_endorsement,
    decode_enrolment,
    encode_enrolment,
    get_ek_kind,
    get_endorsed_key_name,
    get_endorsement_key,
    make_credential,
)
from vacr.evidence.tpm import Tpm
from vacr.evidence.tpm_structures import compute_key_name
from vacr.signing.statement import parse_pem_certificates

pytestmark = [pytest.mark.component, needs_swtpm]


def run(tcti, folder, *arguments):
    environment = os.environ | {"TPM2TOOLS_TCTI": tcti}
    subprocess.run(
        ["tpm2", *arguments], env=environment, cwd=folder, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def ecc_tpm():
    """Run a TPM with a certificate only for its P-256 key, as some makers do."""
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
def rsa_tpm(software_tpm):
    tcti, folder = software_tpm
    roots = parse_pem_certificates((folder / "ca" / "swtpm-localca-rootca-cert.pem").read_bytes())
    return Tpm(tcti), roots, parse_pem_certificates((folder / "ca" / "issuercert.pem").read_bytes())


@pytest.fixture(params=[EK_RSA, EK_ECC])
def certified(request):
    """A TPM with certificates of its maker, and which kind of key they are for."""
    return *request.getfixturevalue(
        "rsa_tpm" if request.param == EK_RSA else "ecc_tpm"
    ), request.param


def test_a_real_tpm_is_endorsed_and_then_affirms_hardware(certified):
    tpm, roots, between, kind = certified
    asked = encode_enrolment(
        "request",
        {"attestation-key": tpm.attestation_key(), "ek-certificate": tpm.ek_certificate()},
    )
    made_of = create_challenge(
        asked, roots, between, datetime.now(UTC), (os.urandom(32), os.urandom(32))
    )
    sent = decode_enrolment(made_of.sent, "challenge")
    assert sent["ek"] == kind
    answer = encode_enrolment("answer", {"secret": tpm.activate(sent["credential"], sent["ek"])})
    name = get_endorsed_key_name(
        bare(create_endorsement(made_of.kept, answer, ENDORSER, 1)), [ENDORSER.public_key]
    )
    policy = replace(POLICY, attestation_keys=(), endorsed=frozenset((name,)))
    assert appraise(make_evidence(tpm=tpm), policy).vector == {
        "instance-identity": 2,
        "file-system": 2,
        "hardware": 2,
    }


def test_tpm_does_not_answer_for_a_key_it_does_not_have(certified):
    tpm, _, _, kind = certified
    ek = get_endorsement_key(x509.load_der_x509_certificate(tpm.ek_certificate()))
    assert get_ek_kind(ek) == kind
    other = (
        EK.public_key() if kind == EK_RSA else ec.generate_private_key(ec.SECP256R1()).public_key()
    )
    with pytest.raises(Unreachable):
        tpm.activate(
            make_credential(ek, compute_key_name(TPM.public()), *SECRETS), kind
        )  # another attestation key
    with pytest.raises(Unreachable):
        tpm.activate(
            make_credential(other, compute_key_name(tpm.attestation_key()), *SECRETS), kind
        )  # another TPM
    assert (
        tpm.activate(make_credential(ek, compute_key_name(tpm.attestation_key()), *SECRETS), kind)
        == SECRETS[0]
    )
