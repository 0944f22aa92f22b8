"""A large attached payload is in memory twice at most while its statement is verified."""

import tracemalloc
from datetime import UTC, datetime

import pytest

from vacr.signing.keys import KeySigner, generate_key
from vacr.signing.statement import ATTACHED, sign
from vacr.verification.claims import parse_signed_record
from vacr.verification.policy import Policy
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SIZE = 20_000_000
LINE = b'{"type":"user","text":"' + b"x" * 200 + b'"}\n'
PAYLOADS = {"binary": bytes(SIZE), "session": LINE * (SIZE // len(LINE))}
OVERHEAD = 100_000


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("kind", ["eddsa", "es256", "ps256", "ml-dsa-44"])
def test_large_attached_payload_is_copied_once(kind, payload):
    signer = KeySigner(generate_key(kind))
    statement = sign(payload, signer, profile=ATTACHED)
    policy = Policy(keys=(signer.public_key,))
    tracemalloc.start()
    try:
        verified = verify(statement, policy, now=NOW)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # The statement itself is the other copy.
    assert peak < len(statement) + OVERHEAD
    assert (type(verified.payload), type(verified.message.payload)) == (bytes, bytes)
    assert verified.payload == verified.message.payload == payload


@pytest.mark.parametrize(
    ("data", "is_record"),
    [
        (b'{"version":"3","session":{}}', True),
        (b' \r\n\t{"version":"3","session":{}}\n', True),
        (b'{\n"version":"3",\n"files":[]}\n\n', True),
        (b"\xa2\x67version\x613\x67session\xa0", True),
        (b"\xd9\x10\x35\xa2\x67version\x613\x67session\xa0", True),
        (b'{"version":"3","session":{}}\n{}', False),
        (b'{"version":"3","session":{}}\n\x00', False),
        (b'{"version":"3"}', False),
        (b'["version","session"]', False),
        (b"", False),
    ],
)
def test_only_a_single_map_can_be_a_record(data, is_record):
    assert (parse_signed_record(data) is not None) is is_record
