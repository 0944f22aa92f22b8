"""pyscitt, the client of another service, registers through ours."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from tests.log.authority import TlsAuthority
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import parse_public_keys
from vacr.transparency.receipt import build_log_entry
from vacr.verification.policy import Policy
from vacr.verification.receipts import check_receipt
from vacr.verification.verifying import verify

HERE = Path(__file__).parent
PYTHON = HERE / ".venv-pyscitt" / "bin" / "python"


@pytest.fixture
def run_client():
    """Return a function that sends a request with pyscitt's client."""
    if not PYTHON.exists():
        pytest.skip("pyscitt is not installed: make peers installs it with Python 3.12 or newer")

    def send_request(**request):
        done = subprocess.run(
            [PYTHON, HERE / "pyscitt_client.py"],
            input=json.dumps(request),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return {
            name: bytes.fromhex(value) if isinstance(value, str) else value
            for name, value in json.loads(done.stdout).items()
        }

    return send_request


def test_pyscitt_registers_through_our_service(run_client, tmp_path):
    log = create_log(str(tmp_path / "log"))
    authority = TlsAuthority(tmp_path)
    certificate, key = authority.certify("signer")
    signer = {
        "key": key.read_text(),
        "certificate": certificate.read_text(),
        "issuer": "https://example.org",
        "subject": "a subject",
    }
    log_keys = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    with Running(log.path, "--async") as service:
        for position, answer in (
            (1, run_client(url=service.url, statement=statement().hex())),
            (2, run_client(url=service.url, sign=signer)),
        ):
            registered = parse_sign1(answer["statement"])
            assert (
                check_receipt(registered, answer["receipt"], log_keys, datetime.now(UTC)).index
                == position
            )
            transparent = parse_sign1(answer["transparent"])
            assert build_log_entry(transparent) == build_log_entry(registered)
            (receipt,) = transparent.unprotected[394]
            assert check_receipt(registered, receipt, log_keys, datetime.now(UTC)).index == position
            assert answer["keys"] == 1
    root = x509.load_pem_x509_certificate(authority.path.read_bytes())
    policy = Policy(roots=(root,), log_keys=tuple(log_keys))
    verified = verify(answer["transparent"], policy, now=datetime.now(UTC))
    assert (verified.payload, verified.subject) == (b"signed by pyscitt", "a subject")
    assert run_fsck(log).findings.problems == []
