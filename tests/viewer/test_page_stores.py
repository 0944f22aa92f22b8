"""The page and Python come to the same verdicts about made-up trust stores.

Each case is made from a seed: parties with several roles, keys of each other, and limits of
validity; a statement of one of the keys; and receipts of logs that any of the keys signs.
"""

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.transparency.logs import Log
from tests.transparency.witnessed import Cosigner, WitnessedLog, build_store
from tests.vectors.receipts import put_receipts_into
from tests.viewer.in_node import NEEDS_NODE, Viewer
from tests.viewer.test_page_verdicts import (
    EQUIVALENT_REASONS,
    NOW,
    describe_parties,
    encode_key,
)
from vacr.signing.keys import KeySigner, compute_thumbprint_uri, generate_key
from vacr.signing.statement import StatementClaims, sign
from vacr.transparency.checkpoint import build_verifier_key
from vacr.transparency.tlog_proof import add_tlog_proof
from vacr.verification.policy import Policy, VerificationFailed
from vacr.verification.trust_store import (
    ROLE_LOG,
    ROLE_REDACTOR,
    ROLE_SIGNER,
    ROLE_VERIFIER,
    TrustedParty,
    TrustStore,
    combine_trust_stores,
    find_party_problem,
)
from vacr.verification.verifying import verify
from vacr.viewer.page import Page, PageRecord
from vacr.workflows.page_trust import build_page_trust, limit_page_trust
from vacr.workflows.verify import VerificationOptions

pytestmark = [pytest.mark.component, NEEDS_NODE]

RECORD = b"{}"
SIGNERS = [KeySigner(generate_key(kind)) for kind in ("eddsa", "es256", "eddsa", "es256")]
NOTE_KEYS = [build_verifier_key("log.example", SIGNERS[number].public_key) for number in (0, 2)]
ROLES = (ROLE_SIGNER, ROLE_LOG, ROLE_VERIFIER, ROLE_REDACTOR)
REFUSED = ("signature", "untrusted")
ISSUERS = ["https://example.org/alice", "https://example.org/bob"]


@pytest.fixture(scope="module")
def viewer():
    process = Viewer(NOW.timestamp())
    yield process
    process.close()


def day(number):
    return NOW + timedelta(days=number)


def draw_keys(draw, counts):
    return tuple(signer.public_key for signer in draw.sample(SIGNERS, draw.choice(counts)))


def draw_store(draw, suffix=""):
    parties = []
    for name in draw.sample(["Alice", "Bob", "Log", "Clock"], draw.randint(1, 4)):
        roles = tuple(dict.fromkeys(draw.choices(ROLES, (4, 3, 1, 1), k=draw.randint(1, 3))))
        party = TrustedParty(
            name + suffix,
            roles,
            draw_keys(draw, [1, 2, 3]),
            issuers=tuple(draw.sample(ISSUERS, draw.randint(0, 2))),
            valid_from=draw.choice([None, None, day(-9), day(-4), day(1)]),
            valid_until=draw.choice([None, None, day(-6), day(-1), day(3)]),
            note_key=draw.choice([None, None, *NOTE_KEYS]) if ROLE_LOG in roles else None,
        )
        if not find_party_problem(party):
            parties.append(party)
    return TrustStore(tuple(parties))


def draw_statement(draw):
    signer = draw.choice(SIGNERS)
    issued_at = draw.choice([None, *map(day, (-10, -5, -2, 0, 2))])
    claims = StatementClaims(
        draw.choice([None, *ISSUERS, compute_thumbprint_uri(signer.public_key)]),
        issued_at=int(issued_at.timestamp()) if issued_at is not None else None,
    )
    profile = draw.choice(["attached", "detached", "hash-envelope"])
    statement = sign(RECORD, signer, claims=claims, profile=profile)
    receipts = []
    for _ in range(draw.choice([0, 1, 1, 2])):
        log = Log(began=int(day(draw.choice([-8, -5, -2])).timestamp()))
        log.signer = draw.choice(SIGNERS)
        log.fill(2)
        log.add(statement)
        receipts.append(log.receipt(statement))
    return put_receipts_into(statement, receipts) if receipts else statement


def describe_python(statement, policy):
    """Return the verdict of Python: the facts, or the reasons that the page may have."""
    try:
        verified = verify(statement, policy, payload=RECORD, now=NOW)
    except VerificationFailed as error:
        same = EQUIVALENT_REASONS.get(error.reason, ())
        return {error.reason, *([same] if isinstance(same, str) else same)}
    party, time = verified.signer.party, verified.logged_at
    return {
        "party": party.name if party is not None else None,
        "bound": verified.issuer_is_bound if verified.issuer is not None else None,
        "logged": f"{time:%Y-%m-%dT%H:%M:%SZ}" if time is not None else None,
    }


@pytest.mark.parametrize("seed", range(8))
def test_page_and_python_agree_about_any_trust_store(viewer, seed):
    draw = random.Random(seed)  # noqa: S311 - seeded, so that a case can be repeated
    verified = 0
    for number in range(60):
        store = draw_store(draw)
        if draw.random() < 0.3:  # Two stores may list one key.
            store = combine_trust_stores([store, draw_store(draw, " two")])
        statement = draw_statement(draw)
        keys, log_keys = draw_keys(draw, [0, 0, 0, 1]), draw_keys(draw, [0, 0, 0, 1, 2])
        expected = describe_python(statement, Policy(keys, trust_store=store, log_keys=log_keys))
        [verdict] = viewer.open_records(
            RECORD,
            statements=[statement],
            keys=list(map(encode_key, keys)),
            logKeys=list(map(encode_key, log_keys)),
            **describe_parties(store),
        )["verdicts"]["verdicts"]
        case = f"seed {seed}, case {number}"
        if isinstance(expected, dict):
            facts = [verdict.get(name) for name in ("party", "issuerBound", "loggedAt")]
            assert (verdict["state"], facts) == ("trusted", list(expected.values())), case
            verified += 1
        elif "no-trust" in expected:
            assert verdict["state"] != "trusted", case
        else:
            assert verdict["reason"] in expected, case
    assert verified > 3


def draw_cosigned(draw):
    """Return a statement with a proof of up to three witnesses, and a store that lists them."""
    log, witnesses = WitnessedLog(), [Cosigner(f"w{number}.example") for number in range(3)]
    log.fill(2)
    statement = sign(RECORD, draw.choice(SIGNERS))
    cosigners = draw.sample(witnesses, draw.randint(1, 3))
    proof = log.proof(statement, *cosigners, time=int(NOW.timestamp()) - 5)
    store = build_store(log, witnesses, draw.randint(1, 3))
    return add_tlog_proof(statement, proof, [log.vkey]), store


def open_page(viewer, statements, trust):
    """Return the verdicts of a page about the record with each of these statements."""
    records = [PageRecord("r", RECORD, statement) for statement in statements]
    island = Page("", records, trust).describe()
    return viewer.open_records(
        *(record.data for record in records), statements=statements, **island
    )


@pytest.mark.parametrize("seed", range(8))
def test_page_without_the_other_parties_has_the_same_verdict(viewer, seed):
    draw = random.Random(seed)  # noqa: S311 - seeded, so that a case can be repeated
    trusted = failed = left_out = 0
    for number in range(60):
        store = draw_store(draw)
        if draw.random() < 0.3:
            store = combine_trust_stores([store, draw_store(draw, " two")])
        statement = draw_statement(draw)
        if draw.random() < 0.3:
            statement, witnessed = draw_cosigned(draw)
            required = witnessed.witnesses_required
            store = TrustStore((*store.parties, *witnessed.parties), required)
        if draw.random() < 0.2:
            statement = statement[:-1] + bytes([statement[-1] ^ 1])
        statements = [statement, draw.choice([None, draw_statement(draw)])]
        keys, log_keys = draw_keys(draw, [0, 0, 0, 1]), draw_keys(draw, [0, 0, 0, 1, 2])
        policy = Policy(keys, trust_store=store, log_keys=log_keys)
        trust = build_page_trust(policy, VerificationOptions())
        trust = replace(trust, names_only=draw.random() < 0.5, roots=draw.random() < 0.2)
        limited = limit_page_trust(trust, [PageRecord("r", RECORD, item) for item in statements])
        expected, actual = (
            open_page(viewer, statements, each)["verdicts"]["verdicts"] for each in (trust, limited)
        )
        left_out += len(limited.parties) < len(trust.parties)
        for whole, part in zip(expected, actual, strict=True):
            case = f"seed {seed}, case {number}"
            if part.get("reason") == "untrusted" and whole.get("reason") in REFUSED:
                # A page without any key of a trusted signer has none to try.
                assert part["state"] == whole["state"] == "failed", case
            else:
                assert part == whole, case
            trusted += whole["state"] == "trusted"
            failed += whole["state"] == "failed"
    assert min(trusted, failed, left_out) > 5
