"""Verification loads no code that it does not need."""

import subprocess
import sys

SCRIPT = """
import sys
from datetime import UTC, datetime
import vacr.cli.verify
from vacr.signing import KeySigner, generate_key, sign
from vacr.verification import Policy, verify

signer = KeySigner(generate_key("eddsa"))
policy, now = Policy(keys=(signer.public_key,)), datetime.now(UTC)
assert verify(sign(b"data", signer), policy, payload=b"data", now=now).payload == b"data"
print(*sorted(name for name in sys.modules if name.startswith("vacr.")))
"""


def test_verification_without_evidence_loads_no_tpm_code():
    command = [sys.executable, "-c", SCRIPT]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert "vacr.verification.verifying" in loaded
    assert not [name for name in loaded if "tpm" in name or "endorsement" in name]
