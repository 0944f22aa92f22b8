"""Evidence of a real TPM: swtpm, through tpm2-tools."""

import hashlib
import os
import subprocess
from dataclasses import replace

import pytest

from tests.evidence.samples import ATTESTER, NONCE, POLICY, appraise, make_evidence
from tests.evidence.software_tpm import needs_swtpm
from vacr.errors import Unreachable, UsageError
from vacr.evidence.results import Tier
from vacr.evidence.tokens import EAT_SUBMODS, KEY_STORAGE_TPM, parse_cwt, sign_cwt
from vacr.evidence.tpm import Tpm
from vacr.evidence.tpm_structures import (
    check_quote,
    compute_qualifying_data,
    parse_attestation_key,
    parse_quote,
)

pytestmark = [pytest.mark.component, needs_swtpm]


@pytest.fixture
def tpm(software_tpm):
    return Tpm(software_tpm[0], (0, 7, 16))


def run(tpm, *arguments):
    subprocess.run(
        ["tpm2", *arguments],
        env=os.environ | {"TPM2TOOLS_TCTI": tpm.tcti},
        check=True,
        capture_output=True,
    )


def policy_for(tpm, **rules):
    return replace(
        POLICY, attestation_keys=(parse_attestation_key(tpm.attestation_key()).key,), **rules
    )


def test_evidence_of_a_tpm_is_affirmed(tpm):
    appraisal = appraise(make_evidence(tpm=tpm), policy_for(tpm))
    assert (appraisal.status, appraisal.vector) == (
        Tier.AFFIRMING,
        {"instance-identity": 2, "file-system": 2, "hardware": 0},
    )
    assert appraisal.details["clock"] > 0


def test_the_attestation_key_is_restricted_and_always_the_same(tpm):
    first, second = tpm.attestation_key(), tpm.attestation_key()
    assert first == second
    assert parse_attestation_key(first).is_restricted()


def test_quote_covers_the_request(tpm):
    quoted = tpm.quote(b"\x05" * 32)
    quote = parse_quote(quoted.quote)
    assert (quote.extra_data, quote.selected) == (b"\x05" * 32, (0, 7, 16))
    assert hashlib.sha256(b"".join(quoted.pcrs.values())).digest() == quote.pcr_digest
    assert quote.safe


def test_quote_covers_the_journal_and_all_claims(tpm):
    claims = parse_cwt(make_evidence(tpm=tpm)).claims
    quote, _ = check_quote(claims[EAT_SUBMODS][KEY_STORAGE_TPM], claims)
    assert quote.extra_data == compute_qualifying_data(claims)
    for label in claims.keys() - {EAT_SUBMODS}:
        assert (
            compute_qualifying_data(
                {name: value for name, value in claims.items() if name != label}
            )
            != quote.extra_data
        )


def test_quote_of_another_time_is_refused(tpm):
    policy, earlier, later = (
        policy_for(tpm),
        make_evidence(tpm=tpm),
        make_evidence(tpm=tpm, nonce=b"\x09" * 32),
    )
    claims = parse_cwt(later).claims
    claims[EAT_SUBMODS] = parse_cwt(earlier).claims[EAT_SUBMODS]
    appraisal = appraise(sign_cwt(claims, ATTESTER), policy, nonce=b"\x09" * 32)
    assert (appraisal.status, appraisal.worst_check.reason) == (
        Tier.CONTRAINDICATED,
        "quote-swapped",
    )


def test_registers_are_compared_with_the_policy(tpm):
    run(tpm, "pcrreset", "16")
    run(tpm, "pcrextend", f"16:sha256={'ab' * 32}")
    extended = hashlib.sha256(bytes(32) + b"\xab" * 32).digest()
    policy = policy_for(tpm, pcrs={16: frozenset((extended,))})
    assert appraise(make_evidence(tpm=tpm), policy).vector["executables"] == 3
    run(tpm, "pcrextend", f"16:sha256={'ab' * 32}")
    appraisal = appraise(make_evidence(tpm=tpm), policy)
    assert (appraisal.status, appraisal.worst_check.reason) == (
        Tier.CONTRAINDICATED,
        "pcr-mismatch",
    )
    # A register that can be reset has no history: the first value comes back. Only the
    # qualifying data distinguishes the two quotes.
    run(tpm, "pcrreset", "16")
    run(tpm, "pcrextend", f"16:sha256={'ab' * 32}")
    assert appraise(make_evidence(tpm=tpm), policy).status is Tier.AFFIRMING
    assert (
        appraise(make_evidence(tpm=tpm), policy, nonce=b"\x09" * 32).status is Tier.CONTRAINDICATED
    )


def test_many_quotes_leave_room_in_the_tpm(tpm):
    for _ in range(5):
        assert appraise(make_evidence(tpm=tpm), policy_for(tpm)).nonce == NONCE


def test_relative_tcti_is_resolved_in_the_current_folder(tpm, monkeypatch):
    name, _, path = tpm.tcti.partition("path=")
    folder, _, socket = path.rpartition("/")
    monkeypatch.chdir(folder)
    assert Tpm(f"{name}path={socket}").attestation_key() == tpm.attestation_key()
    monkeypatch.setenv("TPM2TOOLS_TCTI", f"{name}path=./{socket}")
    assert Tpm().attestation_key() == tpm.attestation_key()


def test_impossible_requests_are_explained(tmp_path):
    with pytest.raises(Unreachable, match=r"^tpm2-tools failed: (?!ERROR)"):
        Tpm(f"swtpm:path={tmp_path / 'nothing'}").quote(b"\x00" * 32)
    with pytest.raises(UsageError, match="no register 24"):
        Tpm(None, (24,))
    with pytest.raises(UsageError, match="no registers"):
        Tpm(None, ())
