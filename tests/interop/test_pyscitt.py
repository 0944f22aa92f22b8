"""pyscitt, the client of another service, registers through ours."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.log.authority import TlsAuthority
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import parse_public_keys
from vacr.transparency.receipt import build_log_entry
from vacr.verification.receipts import check_receipt

HERE = Path(__file__).parent
PYTHON = HERE / ".venv-pyscitt" / "bin" / "python"


@pytest.fixture
def ask():
    if not PYTHON.exists():
        pytest.skip(
            "NO PYSCITT HERE: it needs Python 3.12 or newer; make peers installs it where "
            "there is one"
        )

    def asked(**request):
        done = subprocess.run(
            [PYTHON, HERE / "pyscitt_client.py"],
            input=json.dumps(request),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return {
            name: bytes.fromhex(one) if isinstance(one, str) else one
            for name, one in json.loads(done.stdout).items()
        }

    return asked


def test_pyscitt_registers_through_our_service(ask, tmp_path):
    log = create_log(str(tmp_path / "log"))
    certificate, key = TlsAuthority(tmp_path).certify("signer")
    signer = {
        "key": key.read_text(),
        "certificate": certificate.read_text(),
        "issuer": "https://example.org",
        "subject": "it",
    }
    known = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    with Running(log.path, "--async") as service:
        for position, answer in (
            (1, ask(url=service.url, statement=statement().hex())),
            (2, ask(url=service.url, sign=signer)),
        ):
            given = parse_sign1(answer["statement"])
            assert (
                check_receipt(given, answer["receipt"], known, datetime.now(UTC)).index == position
            )
            transparent = parse_sign1(answer["transparent"])
            assert build_log_entry(transparent) == build_log_entry(given)
            (receipt,) = transparent.unprotected[394]
            assert check_receipt(given, receipt, known, datetime.now(UTC)).index == position
            assert answer["keys"] == 1
    assert run_fsck(log).findings.found == []
