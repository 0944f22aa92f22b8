"""`vacr evidence endorse` without a TPM: refusals, and files that are never overwritten. The tests with a
TPM are in tests/evidence/test_walkthrough.py.
"""

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from tests.evidence.test_endorsement import (
    MIDDLE,
    OTHER,
    ROOT,
    SECRETS,
    certificate,
    challenged,
    request,
)
from vacr.evidence.endorsement import encode_enrolment

CHALLENGE = (
    "endorse",
    "challenge",
    "request.cbor",
    "--ek-chain",
    "between.pem",
    "--secret",
    "secret.cbor",
    "-o",
    "challenge.cbor",
)


@pytest.fixture
def folder(tmp_path, vacr):
    made_of = challenged(request())
    (tmp_path / "request.cbor").write_bytes(request())
    (tmp_path / "maker.pem").write_bytes(ROOT.public_bytes(Encoding.PEM))
    (tmp_path / "between.pem").write_bytes(MIDDLE.public_bytes(Encoding.PEM))
    (tmp_path / "other.pem").write_bytes(
        certificate(OTHER, "maker", "maker", OTHER, usage=None, ca=True).public_bytes(Encoding.PEM)
    )
    (tmp_path / "kept.cbor").write_bytes(made_of.kept)
    (tmp_path / "answer.cbor").write_bytes(encode_enrolment("answer", {"secret": SECRETS[0]}))
    (tmp_path / "wrong.cbor").write_bytes(encode_enrolment("answer", {"secret": bytes(32)}))
    assert vacr("key", "generate", "-o", "keys/").returncode == 0
    return tmp_path


def test_untrusted_maker_gets_no_challenge(vacr, folder):
    done = vacr(*CHALLENGE, "--ek-root", "other.pem")
    assert (done.returncode, "does not lead to a trusted maker" in done.err) == (1, True)
    assert not (folder / "secret.cbor").exists()
    assert not (folder / "challenge.cbor").exists()


def test_secret_is_private_and_never_overwritten(vacr, folder):
    done = vacr(*CHALLENGE, "--ek-root", "maker.pem")
    assert done.returncode == 0, done.err
    assert (folder / "secret.cbor").stat().st_mode & 0o777 == 0o600
    before = (folder / "secret.cbor").read_bytes()
    (folder / "challenge.cbor").unlink()
    done = vacr(*CHALLENGE, "--ek-root", "maker.pem")
    assert (done.returncode, "secret.cbor already exists" in done.err) == (2, True)
    assert (folder / "secret.cbor").read_bytes() == before


def test_wrong_answer_is_not_endorsed(vacr, folder):
    confirm = ("--secret", "kept.cbor", "--key", "keys/signing.pem", "-o", "endorsement.cbor")
    done = vacr("endorse", "confirm", "wrong.cbor", *confirm)
    assert (done.returncode, "not in the TPM of the request" in done.err) == (1, True)
    assert not (folder / "endorsement.cbor").exists()
    assert vacr("endorse", "confirm", "answer.cbor", *confirm).returncode == 0
    again = vacr("endorse", "confirm", "answer.cbor", *confirm)
    assert (again.returncode, "endorsement.cbor already exists" in again.err) == (2, True)


def test_swapped_messages_are_refused(vacr, folder):
    done = vacr("endorse", "answer", "request.cbor", "-o", "x.cbor")
    assert (done.returncode, "request.cbor: not the challenge of an enrolment" in done.err) == (
        3,
        True,
    )
    for name in ("keys/signing.pub.pem", "empty", "keys", "nowhere"):
        (folder / "empty").touch()
        done = vacr("endorse", "answer", name, "-o", "x.cbor")
        assert (done.returncode, done.err.startswith(f"vacr: {name}: ")) == (3, True)
    done = vacr(
        "endorse",
        "confirm",
        "kept.cbor",
        "--secret",
        "answer.cbor",
        "--key",
        "keys/signing.pem",
        "-o",
        "x.cbor",
    )
    assert (done.returncode, "answer.cbor: not the secret of an enrolment" in done.err) == (
        3,
        True,
    )
    assert not (folder / "x.cbor").exists()
