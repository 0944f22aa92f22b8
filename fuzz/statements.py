"""Fuzz verification: any bytes verify or raise our error, in bounded time and memory.

    pip install atheris && python fuzz/statements.py corpus/ -max_total_time=3600

Inputs are mutated statements; the vectors in tests/vectors/files are a good first corpus. The first
byte of an input selects the detached payload, and whether the policy requires receipts of logs.
"""

import sys
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["vacr", "cbor2"]):
    from vacr.signing.keys import parse_public_keys
    from vacr.signing.statement import parse_pem_certificates
    from vacr.verification.policy import Policy, VerificationFailed
    from vacr.verification.verifying import verify

FILES = Path(__file__).parent.parent / "tests" / "vectors" / "files"
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PAYLOADS = (None, b'{"what":"was signed"}', b'{"version":"3.0.0-draft","session":{}}', b"")


def _build_policy() -> Policy:
    trusted = [
        key
        for name in sorted(FILES.glob("*.pub.pem"))
        for key in parse_public_keys(name.read_bytes())
    ]
    roots = parse_pem_certificates((FILES / "root.pem").read_bytes())
    times = parse_pem_certificates((FILES / "time-root.pem").read_bytes())
    return Policy(keys=tuple(trusted), roots=tuple(roots), timestamp_roots=tuple(times))


POLICY = _build_policy()
POLICY_WITH_LOGS = replace(POLICY, log_keys=POLICY.keys)


def verify_input(data: bytes) -> None:
    """Verify one input; anything but a result or our error ends the run."""
    if not data:
        return
    with suppress(VerificationFailed):
        verify(
            data[1:],
            POLICY_WITH_LOGS if data[0] & 128 else POLICY,
            payload=PAYLOADS[data[0] % len(PAYLOADS)],
            now=NOW,
        )


if __name__ == "__main__":
    atheris.Setup(sys.argv, verify_input)
    atheris.Fuzz()
