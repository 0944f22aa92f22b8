"""Trust stores: strict parsing, and verdicts that depend on names, roles and validity."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.transparency.logs import Log
from tests.vectors.certificates import Authority, certificate
from tests.vectors.receipts import put_receipts_into
from tests.vectors.statements import Key
from tests.vectors.timestamps import TimeAuthority
from vacr.errors import UnreadableInput, UsageError
from vacr.evidence import EvidenceRequirement, Tier
from vacr.signing.cose import encode_protected_header, encode_sig_structure, parse_sign1
from vacr.signing.keys import (
    KeySigner,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_public_pem,
    generate_key,
    parse_private_key,
)
from vacr.signing.statement import StatementClaims, sign
from vacr.signing.timestamps import encode_stamped_signature
from vacr.transparency.checkpoint import NOTE_KEY_COSIGNATURE, build_verifier_key
from vacr.verification.displayed_names import find_name_problem
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.record import _add_store_verifiers
from vacr.verification.trust_store import (
    ROLE_LOG,
    ROLE_REDACTOR,
    ROLE_SIGNER,
    ROLE_TIMESTAMP_AUTHORITY,
    ROLE_VERIFIER,
    ROLE_WITNESS,
    CertificateIdentity,
    TrustedParty,
    TrustStore,
    add_party,
    combine_trust_stores,
)
from vacr.verification.trust_store_file import format_party, format_trust_store, parse_trust_store
from vacr.verification.verifying import verify

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
PAYLOAD = b"a file"
ALICE, BOB, MALLORY = (KeySigner(generate_key("eddsa")) for _ in range(3))
LOG_KEY, WITNESS_KEY, OTHER_WITNESS_KEY = (generate_key("eddsa") for _ in range(3))
ALICE_URI, BOB_URI = "https://example.org/alice", "https://example.org/bob"
ROOT = Authority("root")
PEM = encode_public_pem(ALICE.public_key).decode()
ROOT_PEM = ROOT.pem.decode()
NOTE_KEY = build_verifier_key("log.example.org", LOG_KEY.public_key())
WITNESS_NOTE_KEY, OTHER_WITNESS_NOTE_KEY = (
    build_verifier_key(f"w{number}.example.org", key.public_key(), NOTE_KEY_COSIGNATURE)
    for number, key in enumerate((WITNESS_KEY, OTHER_WITNESS_KEY))
)


def trust(name, signer, *roles, **members):
    return TrustedParty(name, roles or (ROLE_SIGNER,), (signer.public_key,), **members)


TEAM = TrustStore(
    (
        trust("Alice", ALICE, issuers=(ALICE_URI,)),
        trust("Bob", BOB, issuers=(BOB_URI,)),
    )
)


def judge(statement, store=TEAM, now=NOW, **policy):
    return verify(statement, Policy(trust_store=store, **policy), payload=PAYLOAD, now=now)


def find_reason(statement, store=TEAM, **policy):
    with pytest.raises(VerificationFailed) as failed:
        judge(statement, store, **policy)
    return failed.value.reason


def claim(signer, issuer=None, at=NOW):
    return sign(PAYLOAD, signer, claims=StatementClaims(issuer, issued_at=int(at.timestamp())))


def list_findings(verified, outcome):
    return [
        f"{check.name}: {check.finding}" for check in verified.checks if check.outcome == outcome
    ]


# --- the signer ---


def test_verdict_names_the_party():
    verified = judge(claim(ALICE, ALICE_URI), issuer=ALICE_URI)
    key = f"key {compute_thumbprint(ALICE.public_key).hex()[:16]}"
    assert (verified.signer.party.name, verified.issuer_is_bound) == ("Alice", True)
    assert f"trust: signed by Alice ({key})" in list_findings(verified, "passed")


def test_bare_key_gets_no_name_from_the_statement():
    policy = Policy(keys=(ALICE.public_key,))
    verified = verify(claim(ALICE, BOB_URI), policy, payload=PAYLOAD, now=NOW)
    assert verified.signer.party is None
    assert str(verified.signer).startswith("a key you gave (key ")
    passed = list_findings(verified, "passed")
    assert not [finding for finding in passed if BOB_URI in finding]


def test_one_trusted_key_cannot_sign_as_another():
    statement = claim(ALICE, BOB_URI)
    assert find_reason(statement, issuer=BOB_URI) == "issuer-unbound"
    keys = (ALICE.public_key, BOB.public_key)
    assert find_reason(statement, None, keys=keys, issuer=BOB_URI) == "issuer-unbound"


def test_bare_key_binds_only_its_thumbprint():
    keys = (ALICE.public_key, BOB.public_key)
    assert find_reason(claim(BOB, BOB_URI), None, keys=keys, issuer=BOB_URI) == "issuer-unbound"
    own = compute_thumbprint_uri(BOB.public_key)
    assert judge(claim(BOB, own), None, keys=keys, issuer=own).issuer_is_bound
    assert find_reason(claim(ALICE, own), None, keys=keys) == "issuer-unbound"


def test_unbound_issuer_is_undecided_and_never_passed():
    verified = judge(claim(ALICE, BOB_URI))
    assert not verified.issuer_is_bound
    text = f"the statement claims the issuer {BOB_URI}; nothing binds it to the signer"
    assert f"claims: {text}" in list_findings(verified, "not decidable")
    assert not [finding for finding in list_findings(verified, "passed") if BOB_URI in finding]


def test_store_decides_about_a_key_that_is_also_bare():
    ended = replace(TEAM.parties[0], valid_until=NOW - timedelta(days=1))
    store = TrustStore((ended,))
    assert find_reason(claim(ALICE), store, keys=(ALICE.public_key,)) == "party-expired"


def test_expired_key_is_not_revived_by_a_certificate_and_a_required_usage():
    """A required usage needs the certificate, but the store still decides about the key."""
    key = Key.generate("es256")
    leaf = certificate(key, ROOT, names=["https://example.org"], usage="code")
    signer, chain = KeySigner(key.private), [x509.load_der_x509_certificate(leaf)]
    statement = sign(PAYLOAD, signer, claims=StatementClaims("https://example.org"), chain=chain)
    party = trust("Alice", signer)
    policy = {"roots": (ROOT.certificate,), "extended_key_usage": "1.3.6.1.5.5.7.3.3"}
    verified = judge(statement, TrustStore((party,)), **policy)
    assert (verified.signer.party, len(verified.signer.path)) == (party, 2)
    ended = replace(party, valid_until=NOW - timedelta(days=1))
    assert find_reason(statement, TrustStore((ended,)), **policy) == "party-expired"


def test_empty_store_trusts_nobody():
    assert find_reason(claim(ALICE), TrustStore()) == "no-trust"
    only_log = TrustStore((trust("Log", MALLORY, ROLE_LOG),))
    assert find_reason(claim(ALICE), only_log) == "no-trust"


@pytest.mark.parametrize("role", [ROLE_LOG, ROLE_VERIFIER, ROLE_REDACTOR])
def test_key_of_another_role_cannot_sign_a_record(role):
    store = TrustStore((*TEAM.parties, trust("Service", MALLORY, role)))
    assert find_reason(claim(MALLORY), store) == "role"


def test_key_of_another_role_that_hides_its_name_cannot_sign_a_record():
    store = TrustStore((*TEAM.parties, trust("Log", MALLORY, ROLE_LOG)))
    message = parse_sign1(claim(MALLORY))
    nameless = {label: value for label, value in message.protected.items() if label != 4}
    header = encode_protected_header(nameless)
    signature = MALLORY.sign(encode_sig_structure(header, message.payload))
    forged = replace(
        message, protected=nameless, protected_bytes=header, signature=signature
    ).encode()
    assert find_reason(forged, store) == "signature"


# --- certificates ---


def sign_certified(names, *, authority=ROOT, issuer="https://example.org", subject="s"):
    key = Key.generate("es256")
    leaf = x509.load_der_x509_certificate(certificate(key, authority, names=names, subject=subject))
    return sign(PAYLOAD, KeySigner(key.private), claims=StatementClaims(issuer), chain=[leaf])


def trust_identity(name, kind, value, authority=ROOT, **members):
    identity = CertificateIdentity(authority.certificate, kind, value)
    return TrustedParty(name, (ROLE_SIGNER,), identities=(identity,), **members)


CERTIFIED = TrustStore((trust_identity("Alice", "email", "alice@example.org"),))


def test_certificate_is_recognised_by_its_alternative_name():
    verified = judge(sign_certified(["alice@example.org"]), CERTIFIED)
    assert str(verified.signer) == "Alice (email alice@example.org, certified by CN=root)"


@pytest.mark.parametrize(
    "address", ["Alice@example.org", "alice@EXAMPLE.ORG", "alice@example.org."]
)
def test_address_in_another_case_is_another_address(address):
    assert find_reason(sign_certified([address]), CERTIFIED) == "identity-unknown"
    statement = sign_certified(["alice@example.org"], issuer=f"mailto:{address}")
    assert find_reason(statement, CERTIFIED, issuer=f"mailto:{address}") == "issuer-unbound"


def test_common_name_under_a_bare_root_does_not_name_the_signer():
    key = Key.generate("es256")
    policy = Policy(roots=(ROOT.certificate,))

    def name_signer(subject, *names):
        der = certificate(key, ROOT, subject=subject, names=names)
        chain = [x509.load_der_x509_certificate(der)]
        claims = StatementClaims(BOB_URI)
        statement = sign(PAYLOAD, key.signer, claims=claims, chain=chain)
        return str(verify(statement, policy, payload=PAYLOAD, now=NOW).signer)

    short = f"key {key.thumbprint.hex()[:16]}"
    given = "a key certified by a root you gave"
    assert name_signer("Bob Example") == f"{given} ({short}, certified by CN=root)"
    named = name_signer("Bob Example", "mallory@example.org")
    assert named == f"{given} (email mallory@example.org, certified by CN=root)"
    imitation = "https://example.org, certified by CN=another"
    assert name_signer("Bob Example", imitation) == f"{given} ({short}, certified by CN=root)"
    many = name_signer("Bob Example", "d.example", "c.example", "b.example", "a.example")
    assert (
        many
        == f"{given} (dns a.example, dns b.example, dns c.example and 1 more, certified by CN=root)"
    )


def test_certificate_without_alternative_names_proves_no_issuer():
    statement = sign_certified([])
    roots = (ROOT.certificate,)
    assert find_reason(statement, None, roots=roots, issuer="https://example.org") == (
        "issuer-unbound"
    )
    assert find_reason(statement, CERTIFIED) == "identity-unknown"


def test_common_name_is_not_an_identity():
    assert find_reason(sign_certified([], subject="alice@example.org"), CERTIFIED) == (
        "identity-unknown"
    )


def test_other_authority_with_the_same_name_is_not_trusted():
    statement = sign_certified(["alice@example.org"], authority=Authority("root"))
    assert find_reason(statement, CERTIFIED) == "untrusted"


def test_authority_of_one_party_cannot_certify_another():
    other = Authority("other")
    store = TrustStore((*CERTIFIED.parties, trust_identity("Bob", "uri", BOB_URI, other)))
    statement = sign_certified([BOB_URI], authority=ROOT, issuer=BOB_URI)
    assert find_reason(statement, store) == "untrusted"


def test_certificate_that_names_two_parties_is_refused():
    store = TrustStore((*CERTIFIED.parties, trust_identity("Bob", "uri", BOB_URI)))
    statement = sign_certified(["alice@example.org", BOB_URI])
    assert find_reason(statement, store) == "identity-ambiguous"


def test_certificate_of_a_key_that_another_party_owns_is_refused():
    """The key is listed for Bob, and an authority certified it for Alice."""
    key = Key.generate("es256")
    [alice] = CERTIFIED.parties
    bob = TrustedParty("Bob", (ROLE_SIGNER,), (key.private.public_key(),))

    def sign_with(names, authority=ROOT):
        leaf = x509.load_der_x509_certificate(certificate(key, authority, names=names))
        claims = StatementClaims("https://example.org")
        return sign(PAYLOAD, KeySigner(key.private), claims=claims, chain=[leaf])

    statement = sign_with(["alice@example.org"])
    assert find_reason(statement, TrustStore((alice, bob))) == "identity-ambiguous"
    # Without the key in the store, the name counts; and Bob may have certificates of his own.
    assert judge(statement, CERTIFIED).signer.party.name == "Alice"
    own = TrustStore((alice, bob))
    assert judge(sign_with(["bob@example.org"]), own).signer.party.name == "Bob"
    # Anybody can name Alice in a certificate of their own authority.
    assert judge(sign_with(["alice@example.org"], Authority("root")), own).signer.party == bob
    both = replace(bob, identities=alice.identities)
    other = trust_identity("Alice at work", "email", "alice@example.org")
    assert judge(statement, TrustStore((both, other))).signer.party.name == "Bob"


@pytest.mark.parametrize("separator", ["@", "\\@", ":443@", ":@"])
def test_host_after_a_user_binds_no_issuer(separator):
    """A reader takes the user, here the name of somebody else, for the host."""
    roots = (ROOT.certificate,)
    for issuer, is_bound in (
        ("https://mallory.org/", True),
        (f"https://alice.example{separator}mallory.org/", False),
    ):
        statement = sign_certified(["mallory.org"], issuer=issuer)
        assert judge(statement, None, roots=roots).issuer_is_bound == is_bound


@pytest.mark.parametrize(
    ("host", "issuer"),
    [
        ("alice.example", "mallory.example://alice.example/"),
        ("alice.example", "spiffe://alice.example/ci"),
        ("alice.example", "https://alice.example:x/"),
        ("alice.example", "https:alice.example"),
        ("*.example.org", "https://*.example.org/"),
    ],
)
def test_host_binds_only_its_plain_address(host, issuer):
    roots = (ROOT.certificate,)
    assert not judge(sign_certified([host], issuer=issuer), None, roots=roots).issuer_is_bound
    address = sign_certified(["alice.example"], issuer="https://alice.example:8443/ci")
    assert judge(address, None, roots=roots).issuer_is_bound


def test_issuer_must_be_the_listed_name_of_a_certificate():
    statement = sign_certified(["alice@example.org", BOB_URI], issuer=BOB_URI)
    assert find_reason(statement, CERTIFIED, issuer=BOB_URI) == "issuer-unbound"
    [party] = CERTIFIED.parties
    listed = TrustStore((replace(party, issuers=(BOB_URI,)),))
    assert judge(statement, listed, issuer=BOB_URI).signer.party.name == "Alice"


def test_each_listed_name_of_a_certificate_binds_its_issuer():
    other = Authority("other")
    email = CertificateIdentity(ROOT.certificate, "email", "alice@example.org")
    uri = CertificateIdentity(ROOT.certificate, "uri", ALICE_URI)
    foreign = CertificateIdentity(other.certificate, "uri", BOB_URI)
    alice = TrustedParty("Alice", (ROLE_SIGNER,), identities=(email, uri, foreign))
    names = ["alice@example.org", ALICE_URI, BOB_URI]
    judge(sign_certified(names, issuer=ALICE_URI), TrustStore((alice,)), issuer=ALICE_URI)
    # Another authority must certify this one.
    statement = sign_certified(names, issuer=BOB_URI)
    assert find_reason(statement, TrustStore((alice,)), issuer=BOB_URI) == "issuer-unbound"


def test_authority_with_store_does_not_trust_bare_roots_less():
    statement = sign_certified(["https://example.org"])
    verified = judge(statement, CERTIFIED, roots=(ROOT.certificate,), issuer="https://example.org")
    assert verified.signer.party is None


# --- time ---


def limit(days_from=None, days_until=None):
    [alice, *_] = TEAM.parties
    return replace(
        alice,
        valid_from=None if days_from is None else NOW + timedelta(days=days_from),
        valid_until=None if days_until is None else NOW + timedelta(days=days_until),
    )


def log_statement(statement, days, log=None):
    log = log or Log(began=int((NOW + timedelta(days=days)).timestamp()))
    log.fill(2)
    log.add(statement)
    return put_receipts_into(statement, [log.receipt(statement)]), log


def trust_log(log, **members):
    return TrustedParty("Log", (ROLE_LOG,), (log.key,), **members)


def test_expired_party_fails_now():
    assert find_reason(claim(ALICE), TrustStore((limit(-9, -1),))) == "party-expired"


def test_party_is_not_trusted_before_its_beginning():
    assert find_reason(claim(ALICE), TrustStore((limit(1),))) == "party-not-yet-valid"


def test_claimed_time_outside_the_validity_fails():
    early = claim(ALICE, at=NOW - timedelta(days=30))
    assert find_reason(early, TrustStore((limit(-9, 9),))) == "party-not-yet-valid"


def test_receipt_from_before_the_end_keeps_a_statement_valid():
    statement, log = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -5)
    verified = judge(statement, TrustStore((limit(-9, -1), trust_log(log))))
    assert "trust: Alice is trusted at the time of the receipt" in list_findings(verified, "passed")


def test_receipt_from_after_the_end_does_not_help():
    statement, log = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -0.5)
    assert find_reason(statement, TrustStore((limit(-9, -1), trust_log(log)))) == "party-expired"


def test_receipt_of_a_retired_log_proves_no_time():
    statement, log = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -5)
    retired = trust_log(log, valid_until=NOW - timedelta(days=6))
    assert find_reason(statement, TrustStore((limit(-9, -1), retired))) == "party-expired"


def test_receipt_of_a_retired_log_does_not_count():
    statement, log = log_statement(claim(ALICE), -5)
    store = TrustStore((*TEAM.parties, trust_log(log, valid_until=NOW - timedelta(days=6))))
    verified = judge(statement, store)
    assert (verified.receipts, verified.logged_at) == ((), None)
    assert find_reason(statement, store, needs_receipt=True) == "log-expired"


def test_signer_cannot_issue_receipts():
    log = Log(began=int(NOW.timestamp()) - 60)
    log.signer = MALLORY
    statement, _ = log_statement(claim(ALICE), 0, log)
    store = TrustStore((*TEAM.parties, trust("Mallory", MALLORY)))
    assert judge(statement, store).receipts == ()
    assert find_reason(statement, store, needs_receipt=True) == "receipt-untrusted"


def test_log_of_the_signer_proves_no_time():
    """A former signer who also has a log could date a new statement back."""
    own_log = Log(began=int((NOW - timedelta(days=5)).timestamp()))
    own_log.signer = ALICE
    statement, _ = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -5, own_log)
    former = limit(-9, -1)
    both = replace(former, roles=(ROLE_SIGNER, ROLE_LOG))
    renamed = TrustStore((former, trust("Own log", ALICE, ROLE_LOG)))
    for store, log_keys in (
        (TrustStore((both,)), ()),
        (renamed, ()),
        (TrustStore((former,)), (ALICE.public_key,)),
    ):
        assert find_reason(statement, store, log_keys=log_keys) == "party-expired"
    other, log = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -5)
    keys = (ALICE.public_key, log.key)
    assert find_reason(other, TrustStore((replace(both, keys=keys),))) == "party-expired"


def test_log_that_shares_a_key_with_the_signer_proves_no_time():
    """The log may sign with another key than the shared one, and have another name."""
    own_log = Log(began=int((NOW - timedelta(days=5)).timestamp()))
    statement, _ = log_statement(claim(ALICE, at=NOW - timedelta(days=5)), -5, own_log)
    former = limit(-9, -1)
    assert judge(statement, TrustStore((former, trust_log(own_log)))).logged_at is not None
    both = replace(former, keys=(*former.keys, own_log.key))
    note_key = build_verifier_key("log.example.org", ALICE.public_key)
    for signer, log, bare in (
        (both, trust_log(own_log), ()),
        (both, None, (own_log.key,)),
        (former, replace(trust_log(own_log), keys=(ALICE.public_key, own_log.key)), ()),
        (former, replace(trust_log(own_log), note_key=note_key), ()),
    ):
        store = TrustStore((signer, *([log] if log else ())))
        assert find_reason(statement, store, log_keys=bare) == "party-expired"


def test_own_log_of_a_trusted_signer_gives_a_receipt_without_a_time():
    statement, log = log_statement(claim(ALICE), -5)
    party = TrustedParty("Alice", (ROLE_SIGNER, ROLE_LOG), (ALICE.public_key, log.key))
    verified = judge(statement, TrustStore((party,)), needs_receipt=True)
    assert (len(verified.receipts), verified.logged_at) == (1, None)
    finding = "receipt: proves no time: the log belongs to the signer"
    assert finding in list_findings(verified, "not decidable")


def test_log_of_the_store_does_not_satisfy_a_required_log_key():
    statement, log = log_statement(claim(ALICE), -1)
    store = TrustStore((*TEAM.parties, trust_log(log)))
    assert judge(statement, store, needs_receipt=True).receipts[0].party.name == "Log"
    other = generate_key("es256").public_key()
    assert find_reason(statement, store, log_keys=(other,)) == "receipt-untrusted"


def test_timestamp_with_a_certified_key_of_the_signer_proves_no_time(tmp_path):
    """One root may certify a key for timestamps, and a former signer could date them back."""
    authority = TimeAuthority(tmp_path)
    own = KeySigner(parse_private_key((tmp_path / "key.pem").read_bytes()))
    now = datetime.now(UTC) + timedelta(minutes=1)
    clock = trust_clock(authority)
    for signer, keys, is_proven in (
        (own, [own.public_key], False),
        (ALICE, [ALICE.public_key, own.public_key], False),
        (ALICE, [ALICE.public_key], True),
    ):
        message = parse_sign1(claim(signer))
        token = authority.token(encode_stamped_signature(message.signature))
        stamped = replace(message, unprotected={270: token}).encode()
        party = TrustedParty("Alice", (ROLE_SIGNER,), tuple(keys))
        for store, roots in (
            (TrustStore((party, clock)), ()),
            (TrustStore((party,)), (authority.root.certificate,)),
        ):
            policy = {"timestamp_roots": roots, "needs_timestamp": True}
            if is_proven:
                assert judge(stamped, store, now, **policy).timestamp is not None
            else:
                found = find_reason(stamped, store, now=now, **policy)
                assert found == "timestamp-untrusted"


def trust_clock(authority):
    """Return the entry of a timestamp authority in a trust store."""
    identity = CertificateIdentity(authority.root.certificate)
    return TrustedParty("Clock", (ROLE_TIMESTAMP_AUTHORITY,), identities=(identity,))


def test_timestamp_authority_counts_only_while_it_is_trusted(tmp_path):
    authority = TimeAuthority(tmp_path)
    message = parse_sign1(claim(ALICE))
    token = authority.token(encode_stamped_signature(message.signature))
    stamped = replace(message, unprotected={270: token}).encode()
    clock = trust_clock(authority)
    now = datetime.now(UTC) + timedelta(minutes=1)
    verified = judge(stamped, TrustStore((*TEAM.parties, clock)), now, needs_timestamp=True)
    assert verified.timestamp is not None
    [finding] = [check.finding for check in verified.checks if check.name == "timestamp"]
    assert finding.endswith(", by Clock")
    retired = replace(clock, valid_until=NOW - timedelta(days=3650))
    store = TrustStore((*TEAM.parties, retired))
    assert judge(stamped, store, now).timestamp is None
    assert find_reason(stamped, store, now=now, needs_timestamp=True) == "timestamp-untrusted"
    # Neither a second name nor the bare root revives it.
    renamed = replace(clock, name="Another clock")
    # Nor does an authority of the signer prove a time.
    own = replace(TEAM.parties[0], roles=(ROLE_SIGNER, ROLE_TIMESTAMP_AUTHORITY))
    own = replace(own, identities=clock.identities)
    assert judge(stamped, TrustStore((own,)), now).timestamp is None
    # Nor does an authority with a key of the signer, under any name.
    shared = trust("Alice", ALICE)
    shared = replace(shared, keys=(ALICE.public_key, authority.root.private.public_key()))
    assert judge(stamped, TrustStore((shared, clock)), now).timestamp is None
    for other in (
        {
            "store": TrustStore((shared,)),
            "timestamp_roots": (authority.root.certificate,),
            "needs_timestamp": True,
        },
        {"store": TrustStore((own,)), "needs_timestamp": True},
        {"store": TrustStore((*store.parties, renamed)), "needs_timestamp": True},
        {"store": store, "timestamp_roots": (authority.root.certificate,)},
    ):
        assert find_reason(stamped, now=now, **other) == "timestamp-untrusted"


def test_timestamp_that_can_be_forged_proves_no_time(tmp_path):
    authority = TimeAuthority(tmp_path, Authority("weak clock", rsa_bits=1024))
    message = parse_sign1(claim(ALICE))
    token = authority.token(encode_stamped_signature(message.signature))
    stamped = replace(message, unprotected={270: token}).encode()
    identity = CertificateIdentity(authority.root.certificate)
    clock = TrustedParty("Clock", (ROLE_TIMESTAMP_AUTHORITY,), identities=(identity,))
    store = TrustStore((*TEAM.parties, clock))
    now = datetime.now(UTC) + timedelta(minutes=1)
    verified = judge(stamped, store, now)
    assert verified.timestamp is None
    [finding] = [text for text in list_findings(verified, "not decidable") if "timestamp" in text]
    assert "too short: 1024 bits" in finding
    assert find_reason(stamped, store, now=now, needs_timestamp=True) == "timestamp-key-weak"


def test_authority_for_servers_cannot_certify_a_clock(tmp_path):
    """An owner of such an authority, or of any certificate, could choose the time."""
    root = Authority("root")
    servers = Authority("servers", root, usage="server")
    clocks = Authority("clocks", root, usage="time")
    leaf = Key.generate("es256")
    owner = x509.load_der_x509_certificate(certificate(leaf, root, subject="mallory"))
    # The same name and key again, certified by the owner of an ordinary certificate.
    again = Authority("servers", Below(owner, leaf.private), private=servers.private)

    def find_token_reason(above, *added):
        folder = tmp_path / f"{above.subject.rfc4514_string()}-{len(added)}"
        folder.mkdir()
        authority = TimeAuthority(
            folder, above, [certificate.public_bytes(Encoding.PEM) for certificate in added]
        )
        message = parse_sign1(claim(ALICE))
        token = authority.raw_token(encode_stamped_signature(message.signature))
        stamped = replace(message, unprotected={270: token}).encode()
        policy = {"timestamp_roots": (root.certificate,), "needs_timestamp": True}
        try:
            judge(stamped, now=datetime.now(UTC) + timedelta(minutes=1), **policy)
        except VerificationFailed as failure:
            return failure.reason
        return ""

    assert find_token_reason(clocks, clocks.certificate) == ""
    assert find_token_reason(servers, servers.certificate) == "timestamp-untrusted"
    helpers = (servers.certificate, again.certificate, owner)
    assert find_token_reason(servers, *helpers) == "timestamp-untrusted"


class Below:
    """The owner of a certificate, who certifies others although it does not allow that."""

    def __init__(self, owner, private):
        self.subject, self.private = owner.subject, private


def test_expired_verifier_counts_neither_as_a_bare_key_nor_under_another_name():
    ended = trust("Verifier", ALICE, ROLE_VERIFIER, valid_until=NOW - timedelta(days=1))
    renamed, other = trust("Renamed", ALICE, ROLE_VERIFIER), trust("Other", BOB, ROLE_VERIFIER)
    policy = Policy(trust_store=TrustStore((ended, renamed, other)))
    bare = EvidenceRequirement(Tier.AFFIRMING, verifiers=(ALICE.public_key, MALLORY.public_key))
    chosen = _add_store_verifiers(policy, bare, NOW)
    assert chosen.verifiers == (MALLORY.public_key, BOB.public_key)
    assert chosen.names == ((compute_thumbprint(BOB.public_key), "Other"),)


# --- the file ---


def write(*entries, head="version = 1"):
    return "\n".join([head, *entries]).encode()


def entry(name="Alice", roles='["signer"]', more=f"keys = ['''{PEM}''']"):
    return f'[[trusted]]\nname = "{name}"\nroles = {roles}\n{more}\n'


WITNESS = entry("Witness", '["witness"]', f'note-key = "{WITNESS_NOTE_KEY}"')


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"version = 1\nversion = 1", "not a trust store"),
        (b"\xff", "not a trust store"),
        (b"", "version is missing"),
        (b"version = true", "version must be a whole number"),
        (b"version = 2", "unknown version 2"),
        (write(head="version = 1\nvresion = 1"), "unknown member 'vresion'"),
        (write(head="version = 1\ntrusted = 7"), "trusted must be a list"),
        (write("[[trusted]]\nroles = ['signer']"), "name is missing"),
        (write(entry(more=f"keys = ['''{PEM}''']\nrole = 'log'")), "unknown member 'role'"),
        (write(entry(roles='["signer", "king"]')), "unknown role 'king'"),
        (write(entry(roles="[]")), "roles must be a list of one or more strings"),
        (write(entry(roles='["signer", "signer"]')), "roles lists a value twice"),
        (write(entry(more="")), "the role signer needs keys, or certificates"),
        (write(entry(more="keys = []")), "keys must be a list of one or more strings"),
        (write(entry(more=f"keys = '''{PEM}'''")), "keys must be a list"),
        (write(entry(more=f"keys = ['''{PEM}{PEM}''']")), "must be one public key in PEM"),
        (write(entry(more="keys = ['x']")), "must be one public key in PEM"),
        (write(entry(more=f"keys = ['''{PEM[:60]}''']")), "must be one public key in PEM"),
        (write(entry(more=f"keys = ['''{PEM}''', '''{PEM}\n''']")), "lists a key twice"),
        (write(entry(roles='["log"]', more="")), "the role log needs keys"),
        (write(entry(roles='["witness"]', more="")), "the role witness needs the note-key"),
        (
            write(entry(roles='["witness"]', more=f'note-key = "{NOTE_KEY}"')),
            "the role witness needs the note-key of its cosignatures",
        ),
        (
            write(
                entry(
                    roles='["log"]', more=f"keys = ['''{PEM}''']\nnote-key = \"{WITNESS_NOTE_KEY}\""
                )
            ),
            "the note-key of a log must be the key of its checkpoints",
        ),
        (
            write(entry(roles='["log"]', more=f"keys = ['''{PEM}''']\nnote-key = 'x'")),
            "not the key of a log or witness",
        ),
        (
            write(entry(roles='["timestamp-authority"]', more="")),
            "the role timestamp-authority needs certificates with only an authority",
        ),
        (
            write(
                entry(roles='["witness"]', more=f"keys = ['''{PEM}''']\nnote-key = '{NOTE_KEY}'")
            ),
            "the role witness needs",
        ),
        (
            write(
                entry(
                    roles='["witness"]',
                    more=f"keys = ['''{PEM}''']\nnote-key = '{WITNESS_NOTE_KEY}'",
                )
            ),
            "keys are of no use for the role witness",
        ),
        (write(entry(), entry()), "the name 'Alice' is already listed under 'Alice'"),
        (write(entry(), entry("ALICE")), "the name 'ALICE' is already listed under 'Alice'"),
        (write(entry(), entry("Ａlice")), "is not in the Unicode form NFKC"),
        (write(entry(), entry("Eve")), "is already listed under 'Alice'"),
        (
            write(WITNESS, WITNESS.replace("Witness", "Another")),
            "is already listed under 'Witness'",
        ),
        (write(entry(name="")), "must have 1 to 100 characters"),
        (write(entry(name="x" * 101)), "must have 1 to 100 characters"),
        (write(entry(name="Alice\\u202ebob")), "text-direction characters"),
        (write(entry(name="Alice\\u0007")), "has control, invisible"),
        (write(entry(name="Al\\u200bice")), "has control, invisible"),
        (write(entry(name="Al\\u3164ice")), "has control, invisible"),
        (write(entry(name=" Alice")), "starts or ends with a space"),
        (write(entry(name="Alice  B")), "two in a row"),
        (write(entry(name="A\\u0301")), "is not in the Unicode form NFKC"),
        (
            write(entry(more=f"keys = ['''{PEM}''']\nvalid-from = 2026-01-01")),
            "must be a date-time",
        ),
        (
            write(entry(more=f"keys = ['''{PEM}''']\nvalid-from = 2026-01-01T00:00:00")),
            "valid-from needs a time zone",
        ),
        (
            write(
                entry(
                    more=f"keys = ['''{PEM}''']\nvalid-from = 2026-01-01T00:00:00Z\n"
                    "valid-until = 2025-01-01T00:00:00Z"
                )
            ),
            "valid-from is not before valid-until",
        ),
        (
            write(entry(more=f"keys = ['''{PEM}''']\nissuers = ['a\\tb', \"\\t\"]")),
            "an issuer is empty, too long, or has spaces or invisible characters",
        ),
        (
            write(
                entry(
                    more=f"keys = ['''{PEM}''']\n"
                    f"issuers = ['{compute_thumbprint_uri(BOB.public_key)}']"
                )
            ),
            "an issuer is the thumbprint of a key",
        ),
        (write(head="version = 1\nwitnesses-required = 1"), "the store lists 0 witnesses"),
        (write(WITNESS, head="version = 1\nwitnesses-required = 2"), "lists 1 witnesses"),
        (write(WITNESS, head="version = 1\nwitnesses-required = -1"), "witnesses-required is -1"),
        (write(WITNESS, head="version = 1\nwitnesses-required = true"), "must be a whole number"),
        (f"version = 0x{'f' * 5000}".encode(), "version must be a whole number"),
    ],
)
def test_malformed_store_is_refused(data, problem):
    with pytest.raises(UnreadableInput) as refused:
        parse_trust_store(data, "trust.toml")
    assert str(refused.value).startswith("trust.toml")
    assert problem in refused.value.message


@pytest.mark.parametrize(
    "character", ["\u180b", "\u180c", "\u180d", "\u180f", "\ufffc", "\U00016fe4", "\U0001d159"]
)
def test_invisible_character_cannot_make_a_second_alice(character):
    with pytest.raises(UnreadableInput, match="invisible"):
        parse_trust_store(write(entry(), entry(f"Al{character}ice", '["log"]')), "trust.toml")


@pytest.mark.parametrize(
    "name",
    [
        "Bob Example (key 32e7deef65d54a69)",
        "Bob Example: signer",
        "Bob Example; until 2020-01-01",
        "Bob Example\uff1b until 2020-01-01",
        "Bob Example (email bob@example.org",
        "Bob Example, certified by CN=root",
        "Bob Example, Certified By CN=root",
        "Bob Example (Key 32e7deef65d54a69)",
        "Bob Example, signed by Alice",
        "a key you gave",
        "Bob Example \u221a",
        "\U0001f5f8 Bob Example",
        "✓ verified",
    ],
)
def test_name_cannot_imitate_a_verdict(name):
    with pytest.raises(UnreadableInput, match="that verdicts use"):
        parse_trust_store(write(entry(name)), "trust.toml")


@pytest.mark.parametrize(
    "name",
    [
        "\u0410lice",
        "\u0391lice",
        "Alic\u0435",
        "Bob \u0391lice",
        "\u0410\u0301lice",
        "\u15c5lice",
        "Al\u2d4fce",
        "Jo\u05e1n",
        "\u10a0lice",
    ],
)
def test_letter_of_another_alphabet_cannot_make_a_second_alice(name):
    with pytest.raises(UnreadableInput, match="mixes letters of different alphabets"):
        parse_trust_store(write(entry(name)), "trust.toml")


@pytest.mark.parametrize(
    "name",
    [
        "Алиса",
        "Αλίκη",
        "Alice Αλίκη",
        "Tシャツ",
        "田中さん",
        "김철수",
        "Zoë O'Neill-Öz",
        "Kaʻena",
        "李雷",
        "नेहा",
        "דנה",
        "Team 7b",
    ],
)
def test_names_in_any_alphabet_are_accepted(name):
    assert parse_trust_store(write(entry(name)), "trust.toml").parties[0].name == name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Joe", "\u0408\u043e\u0435"),
        ("Cop", "\u0421\u043e\u0440"),
        ("AX", "\u0391\u03a7"),
        ("Alice", "AIice"),
        ("Alice", "A1ice"),
        ("BOB", "B0B"),
        ("Alice Joe", "AIice \u0408\u043e\u0435"),
    ],
)
def test_word_of_look_alike_letters_cannot_make_a_second_name(name, other):
    for first, second in ((name, other), (other, name)):
        with pytest.raises(UnreadableInput, match="a name that looks like"):
            parse_trust_store(write(entry(first), entry(second, '["log"]')), "trust.toml")
        stores = [TrustStore((trust(first, ALICE),)), TrustStore((trust(second, MALLORY),))]
        with pytest.raises(UnreadableInput, match="which looks like"):
            combine_trust_stores(stores)


def test_names_that_only_share_some_letters_are_different():
    names = ("Alice", "Elice", "Ali", "Al", "Bob 1", "Bob 2", "\u0421\u043e\u043d\u044f", "Sonja")
    signers = [KeySigner(generate_key("eddsa")) for _ in names]
    parties = tuple(map(trust, names, signers))
    assert combine_trust_stores([TrustStore((party,)) for party in parties]).parties == parties


@pytest.mark.parametrize(
    "line",
    [
        "# \u202eZ00:00:00T10-10-0202 = litnu-dilav",
        "# \u2067valid-until = 2020-01-01T00:00:00Z",
        "# who left\u2028valid-until = 2020-01-01T00:00:00Z",
        "# who left\u2029valid-until = 2020-01-01T00:00:00Z",
        "# who left\u0085valid-until = 2020-01-01T00:00:00Z",
        "# \u200fvalid-until = 2020-01-01T00:00:00Z",
    ],
)
def test_hidden_character_cannot_show_a_comment_as_a_member(line):
    """An editor would show an end of the trust, and the file has none."""
    with pytest.raises(UnreadableInput, match="which can show a comment as a member") as caught:
        parse_trust_store(write(entry(more=f"{line}\nkeys = ['''{PEM}''']")), "trust.toml")
    assert caught.value.where == "trust.toml:5"


@pytest.mark.parametrize("character", ["\u3164", "\u2800", "\ufe0f"])
def test_invisible_character_cannot_make_a_second_issuer_or_origin(character):
    keys = f"keys = ['''{PEM}''']"
    issuers = write(entry(more=f"{keys}\nissuers = ['{ALICE_URI}{character}']"))
    with pytest.raises(UnreadableInput, match="invisible"):
        parse_trust_store(issuers, "trust.toml")
    note_key = build_verifier_key(f"log.example{character}", LOG_KEY.public_key())
    log = write(entry("Log", '["log"]', f"{keys}\nnote-key = '{note_key}'"))
    with pytest.raises(UnreadableInput, match="the name in note-key has invisible"):
        parse_trust_store(log, "trust.toml")


def test_issuer_cannot_imitate_an_end_of_trust():
    issuers = "issuers = ['https://example.org/bob; until 2020-01-01T00:00:00Z']"
    with pytest.raises(UnreadableInput, match="has spaces"):
        parse_trust_store(write(entry(more=f"keys = ['''{PEM}''']\n{issuers}")), "trust.toml")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ("", "certificates with an email, uri or dns"),
        ('email = "a@b"\nuri = "https://a"', "exactly one of email, uri and dns"),
        ('email = ""', "email is empty"),
        ('dns = "Example.org"', "must be in lower case"),
        ('uri = "https://ex\\u00e4mple.org"', "must be printable ASCII"),
        ('name = "x"', "unknown member 'name'"),
    ],
)
def test_malformed_identity_is_refused(members, problem):
    table = f"[[trusted.certificates]]\nauthority = '''{ROOT_PEM}'''\n{members}"
    with pytest.raises(UnreadableInput, match="Alice") as refused:
        parse_trust_store(write(entry(more=table)), "trust.toml")
    assert problem in refused.value.message


@pytest.mark.parametrize("address", ["a@example.org", "A@example.org", "a@EXAMPLE.org"])
def test_identity_under_two_names_is_refused(address):
    table = f"[[trusted.certificates]]\nauthority = '''{ROOT_PEM}'''\nemail = 'a@example.org'"
    other = table.replace("a@example.org", address)
    with pytest.raises(UnreadableInput, match="already listed under 'Alice'"):
        parse_trust_store(write(entry(more=table), entry("Bob", more=other)), "trust.toml")


@pytest.mark.parametrize("hidden", ["before", "after"])
@pytest.mark.parametrize("what", ["key", "authority"])
def test_text_beside_a_pem_cannot_imitate_members(what, hidden):
    """A reviewer may take this limit for one; it is within the text of another member."""
    limit = "valid-until = 2026-01-01T00:00:00Z"
    pem = PEM if what == "key" else ROOT_PEM
    text = f'"""\n{limit}\n{pem}' if hidden == "before" else f'{pem}"""]\n{limit}\n'
    more = f"[[trusted.certificates]]\nauthority = '''{text}'''\nemail = 'a@example.org'"
    material = f"keys = ['''{text}''']" if what == "key" else more
    with pytest.raises(UnreadableInput, match="in PEM, without other text"):
        parse_trust_store(write(entry(more=material)), "trust.toml")


def test_log_cannot_be_its_own_witness():
    own = build_verifier_key("w.example.org", LOG_KEY.public_key(), NOTE_KEY_COSIGNATURE)
    log = entry("Log", '["log"]', f"keys = ['''{PEM}''']\nnote-key = '{NOTE_KEY}'")
    witness = entry("Witness", '["witness"]', f"note-key = '{own}'")
    with pytest.raises(UnreadableInput, match="already listed under 'Log'"):
        parse_trust_store(write(log, witness), "trust.toml")


def test_key_may_have_one_name_in_each_role():
    store = parse_trust_store(write(entry(), entry("Service", '["verifier"]')), "trust.toml")
    assert store.find_by_key(ALICE.public_key, ROLE_SIGNER).name == "Alice"
    assert store.find_by_key(ALICE.public_key, ROLE_VERIFIER).name == "Service"


def test_too_large_store_is_refused():
    with pytest.raises(UnreadableInput, match="too large"):
        parse_trust_store(b"#" * (1 << 20) + b"\n", "trust.toml")


def test_key_with_many_dots_does_not_keep_the_parser_busy():
    with pytest.raises(UnreadableInput, match="more than 500 dots"):
        parse_trust_store(b"version = 1\n" + b"a." * 500_000 + b"a = 1\n", "trust.toml")


def test_key_of_another_kind_is_refused():
    other = x25519.X25519PrivateKey.generate().public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for damaged in (pem, PEM.replace("A", "B", 3)):
        with pytest.raises(UnreadableInput, match="cannot read a key"):
            parse_trust_store(write(entry(more=f"keys = ['''{damaged}''']")), "trust.toml")


def test_error_names_the_file_and_the_entry():
    with pytest.raises(UnreadableInput) as refused:
        parse_trust_store(write(entry(more="keys = ['x']")), "trust.toml")
    assert refused.value.where == "trust.toml: Alice"


# --- witnesses ---


def make_witness(name, key):
    return TrustedParty(name, (ROLE_WITNESS,), note_key=key)


def test_store_lists_witnesses_and_note_keys():
    log = TrustedParty("Log", (ROLE_LOG,), (ALICE.public_key,), note_key=NOTE_KEY)
    witnesses = (make_witness("W0", WITNESS_NOTE_KEY), make_witness("W1", OTHER_WITNESS_NOTE_KEY))
    store = parse_trust_store(format_trust_store(TrustStore((log, *witnesses), 2)), "trust.toml")
    assert store.witnesses_required == 2
    assert store.witness_keys == (WITNESS_NOTE_KEY, OTHER_WITNESS_NOTE_KEY)
    assert store.find_log_by_note_key(NOTE_KEY).name == "Log"
    assert store.find_log_by_note_key(WITNESS_NOTE_KEY) is None


def test_combined_stores_count_a_witness_key_once():
    renamed = build_verifier_key("other", WITNESS_KEY.public_key(), NOTE_KEY_COSIGNATURE)
    stores = [
        TrustStore((make_witness("A", WITNESS_NOTE_KEY),), 1),
        TrustStore((make_witness("B", renamed),)),
    ]
    combined = combine_trust_stores(stores)
    assert (combined.witness_keys, combined.witnesses_required) == ((WITNESS_NOTE_KEY,), 1)


def test_log_of_one_store_cannot_be_a_witness_of_another():
    own = build_verifier_key("w.example.org", LOG_KEY.public_key(), NOTE_KEY_COSIGNATURE)
    log = TrustedParty("Log", (ROLE_LOG,), (ALICE.public_key,), note_key=NOTE_KEY)
    stores = [TrustStore((log,)), TrustStore((make_witness("Witness", own),))]
    assert combine_trust_stores(stores).witness_keys == ()


# --- several stores, and writing ---


def test_first_store_decides_about_a_key():
    own = TrustStore((trust("My key", ALICE),))
    combined = combine_trust_stores([own, TEAM])
    assert combined.find_by_key(ALICE.public_key, ROLE_SIGNER).name == "My key"


def test_one_name_for_two_keys_in_two_stores_is_refused():
    with pytest.raises(UnreadableInput, match="different entry with the name 'alice'"):
        combine_trust_stores([TEAM, TrustStore((trust("alice", MALLORY),))])
    assert combine_trust_stores([TEAM, TEAM]) == TEAM


def test_incomplete_party_is_not_added():
    with pytest.raises(UsageError, match="the role log needs keys"):
        add_party(TEAM, TrustedParty("Log", (ROLE_LOG,)), "trust.toml")
    with pytest.raises(UsageError, match="already listed under 'Alice'"):
        add_party(TEAM, trust("Eve", ALICE), "trust.toml")
    with pytest.raises(UsageError, match="text-direction"):
        add_party(TEAM, trust("Eve\u202e", MALLORY), "trust.toml")


_NAMES = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["C", "Z", "M"]),
    min_size=1,
    max_size=20,
)


@given(
    _NAMES.filter(lambda name: not find_name_problem(name)),
    st.lists(_NAMES, max_size=3, unique=True),
    st.datetimes(timezones=st.just(UTC)),
)
def test_written_store_reads_back(name, issuers, until):
    party = trust(name, ALICE, issuers=tuple(issuers), valid_until=until)
    identities = (
        CertificateIdentity(ROOT.certificate, "uri", 'https://a"b\\c'),
        CertificateIdentity(ROOT.certificate, "dns", "example.org"),
    )
    party = replace(party, identities=identities)
    log = TrustedParty("\U0001f332 log", (ROLE_LOG,), (BOB.public_key,), note_key=NOTE_KEY)
    try:
        store = add_party(TrustStore((log,)), party, "trust.toml")
    except UsageError:
        return  # The name is not in a normal form, for example.
    data = format_trust_store(store)
    assert parse_trust_store(data, "trust.toml") == store
    assert format_trust_store(parse_trust_store(data, "trust.toml")) == data
    assert data.endswith(format_party(party).encode())


WHOLE = format_trust_store(
    TrustStore(
        (
            *TEAM.parties,
            replace(trust("Limited", MALLORY), valid_from=NOW, valid_until=NOW + timedelta(1)),
            trust_identity("Certified", "email", "c@example.org"),
            TrustedParty("Log", (ROLE_LOG,), (WITNESS_KEY.public_key(),), note_key=NOTE_KEY),
            make_witness("Witness", WITNESS_NOTE_KEY),
        ),
        1,
    )
)


def find_place_of_error(data):
    """Return the file that an error names, or an empty text if the store can be read."""
    try:
        parse_trust_store(data, "trust.toml")
    except UnreadableInput as error:
        return error.where.partition(":")[0]
    return ""


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3), st.integers(0, 40))
def test_damaged_store_is_read_or_refused_with_its_place(at, inserted, removed):
    damaged = WHOLE[:at] + inserted + WHOLE[at + removed :]
    assert find_place_of_error(damaged) in ("", "trust.toml")


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.datetimes()
    | st.dates()
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(
    st.sampled_from(
        [
            "name",
            "roles",
            "keys",
            "issuers",
            "certificates",
            "note-key",
            "valid-from",
            "valid-until",
        ]
    ),
    _VALUES,
)
def test_member_of_another_type_is_refused_with_its_place(member, value):
    text = _encode_toml(value)
    members = {"name": '"A"', "roles": '["signer"]', "keys": f"['''{PEM}''']", member: text}
    table = "".join(f"{name} = {value}\n" for name, value in members.items())
    data = f"version = 1\n[[trusted]]\n{table}".encode()
    assert find_place_of_error(data) in ("", "trust.toml")


def _encode_toml(value):
    if isinstance(value, list):
        return f"[{', '.join(map(_encode_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(k)} = {_encode_toml(v)}' for k, v in value.items())}}}"
    if value is None or isinstance(value, str | bool):
        return json.dumps(value or "")
    return value.isoformat() if isinstance(value, date) else str(value)


def test_witness_that_shares_a_key_with_a_log_does_not_count():
    """All keys of a party have one owner: here, the log has a second name for its cosignatures."""
    log = TrustedParty("Log", (ROLE_LOG,), (BOB.public_key,), note_key=NOTE_KEY)
    witness = make_witness("Witness", WITNESS_NOTE_KEY)
    own = replace(witness, roles=(ROLE_WITNESS, ROLE_VERIFIER), keys=(BOB.public_key,))
    assert TrustStore((log, witness)).witness_keys == (WITNESS_NOTE_KEY,)
    assert TrustStore((log, own)).witness_keys == ()
    with pytest.raises(UnreadableInput, match="is 1, but the store lists 0 witnesses"):
        parse_trust_store(format_trust_store(TrustStore((log, own), 1)), "trust.toml")


def test_receipt_key_of_a_log_cannot_be_a_witness():
    own = build_verifier_key("w.example.org", ALICE.public_key, NOTE_KEY_COSIGNATURE)
    log = TrustedParty("Log", (ROLE_LOG,), (ALICE.public_key,), note_key=NOTE_KEY)
    store = TrustStore((log, make_witness("Witness", own)), 1)
    assert store.witness_keys == ()
    with pytest.raises(UnreadableInput, match="already listed under 'Log'"):
        parse_trust_store(format_trust_store(store), "trust.toml")
