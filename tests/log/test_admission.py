"""Any bytes sent to a log become an entry, or are refused with a problem that explains why."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from vacr.log.admission import Problem, RegistrationPolicy
from vacr.signing.cose import Sign1, encode_protected_header, encode_sig_structure, parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint, generate_key
from vacr.signing.statement import build_kccs, sign
from vacr.transparency.receipt import build_log_entry
from vacr.verification.policy import Policy
from vacr.verification.trust_store import (
    ROLE_SIGNER,
    TrustedParty,
    TrustStore,
    combine_trust_stores,
)

SIGNERS = [KeySigner(generate_key(kind)) for kind in ("es256", "eddsa", "ps256")]
STATEMENTS = [
    sign(b"what was signed", signer, profile=profile)
    for signer in SIGNERS
    for profile in ("hash-envelope", "attached")
]
POLICIES = (Policy(), Policy(keys=(SIGNERS[0].public_key,)))
LABELS = (1, 2, 3, 4, 14, 15, 16, 32, 33, 34, 35, 100, 258, 259, 260, 269, 270, 394, 395, 396, "x")
ANY = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**64), 2**64 - 1)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.binary(max_size=40)
    | some.text(max_size=9),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.integers(-3, 8) | some.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


def admit_or_get_status(data, policy=POLICIES[0]):
    """Return the entry made of the data, or the status of its refusal; any other error fails."""
    try:
        return RegistrationPolicy(policy).admit(data)
    except Problem as problem:
        return problem.status if problem.encode_body() else None


def test_expired_signer_is_refused_under_its_name_in_a_second_store():
    """The first store that lists a key decides about it, as in `vacr verify`."""
    keys = (SIGNERS[0].public_key,)
    ended = TrustedParty(
        "Alice", (ROLE_SIGNER,), keys, valid_until=datetime(2020, 1, 1, tzinfo=UTC)
    )
    renamed = TrustedParty("Another name", (ROLE_SIGNER,), keys)
    store = combine_trust_stores([TrustStore((ended,)), TrustStore((renamed,))])
    for policy in (Policy(trust_store=store), Policy(trust_store=store, keys=keys)):
        with pytest.raises(Problem, match="Alice is not trusted after 2020"):
            RegistrationPolicy(policy).admit(STATEMENTS[0])


def test_refusal_names_the_key():
    with pytest.raises(
        Problem, match=f"key {compute_thumbprint(SIGNERS[1].public_key).hex()[:16]}"
    ):
        RegistrationPolicy(Policy(keys=(KeySigner(generate_key("eddsa")).public_key,))).admit(
            sign(b"what was signed", SIGNERS[1])
        )


@given(
    some.sampled_from(STATEMENTS),
    some.lists(some.tuples(some.integers(0), some.binary(max_size=3)), min_size=1, max_size=4),
)
def test_changed_bytes_are_refused_or_harmless(data, changes):
    changed = bytearray(data)
    for at, new in changes:
        place = at % len(changed)
        changed[place : place + 1] = new
    found = admit_or_get_status(bytes(changed))
    message = parse_sign1(data)
    if isinstance(found, bytes):
        assert found == build_log_entry(message), "the signed part changed"
    else:
        assert found in (400, 413)


@settings(max_examples=300)
@given(
    some.sampled_from(SIGNERS),
    some.dictionaries(some.sampled_from(LABELS), ANY, max_size=3),
    some.dictionaries(some.sampled_from(LABELS), ANY, max_size=3),
    some.sampled_from(POLICIES),
)
def test_odd_signed_headers_are_refused_or_kept(signer, protected, beside, policy):
    message = parse_sign1(sign(b"what was signed", signer, profile="attached"))
    headers = {**message.protected, **protected}
    written = encode_protected_header(headers)
    signature = signer.sign(encode_sig_structure(written, message.payload))
    data = Sign1(
        written, headers, {14: build_kccs(signer.public_key), **beside}, message.payload, signature
    ).encode()
    assert admit_or_get_status(data, policy) in (
        400,
        build_log_entry(replace(message, protected_bytes=written, signature=signature)),
    )
