"""Whose evidence it is: a key in software, or one that a TPM keeps. Role: verifier. Step: appraise.

A key in software says less: whoever can read its file may have signed. So it never affirms an
identity, and where the policy does not say that it is enough, it is a warning. Hardware is affirmed
only where the TPM's maker certified it and the key was shown to be in it.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement
from vacr.evidence import labels
from vacr.evidence import trust_tiers as values
from vacr.evidence.appraisal import Appraisal
from vacr.evidence.policy import AppraisalPolicy
from vacr.evidence.quote import check_quote
from vacr.evidence.tpm_structures import AttestationKey, Quote
from vacr.signing import keys
from vacr.signing import labels as cose
from vacr.signing.algorithms import PublicKey


def check_identity(claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    """Check who vouches for the claims."""
    submodule = claims.get(labels.SUBMODS, {}).get(labels.TPM)
    says_tpm = claims[labels.KEY_STORAGE] == labels.TPM
    if says_tpm and submodule is None:
        appraisal.unbound(
            "quote",
            "the claims say that there is a quote of a TPM, and there is none",
            "quote-missing",
        )
    elif submodule is not None and not says_tpm:
        appraisal.unbound(
            "quote", "there is a quote of a TPM, and the claims say nothing of it", "quote-swapped"
        )
    elif submodule is not None:
        _check_tpm(submodule, claims, policy, appraisal)
    else:
        _check_software(keys.from_cose(claims[labels.CNF][cose.CNF_COSE_KEY]), policy, appraisal)


def _check_software(key: PublicKey, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    name = keys.thumbprint_uri(key)
    if not _is_among(key, policy.attester_keys):
        told = f"the key {name} is not one that the policy knows"
        appraisal.found(
            "identity", "instance-identity", values.NOT_RECOGNISED, told, "attester-unknown"
        )
    elif policy.software_is_enough:
        told = "a key in software, which the policy says is enough: it proves no machine"
        appraisal.undecided("identity", "instance-identity", told)
    else:
        told = "a key in software: whoever could read it may have signed"
        appraisal.found(
            "identity", "instance-identity", values.KEY_IN_SOFTWARE, told, "key-in-software"
        )
    appraisal.key_storage = labels.SOFTWARE
    appraisal.undecided("hardware", "hardware", "none vouches for it")


def _check_tpm(
    submodule: dict[Any, Any], claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    try:
        quote, key = check_quote(submodule, claims)
    except InvalidStatement as error:
        appraisal.unbound("quote", error.message, error.reason)
        return
    appraisal.details |= _counters(quote)
    appraisal.key_storage = labels.TPM
    told = f"over these claims, restart {quote.restart_count} of reset {quote.reset_count}"
    appraisal.found("quote", "instance-identity", values.NO_CLAIM, told)
    _check_key(key, policy, appraisal)
    _check_pcrs(submodule[labels.PCRS], policy, appraisal)


def _check_key(key: AttestationKey, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    name = keys.thumbprint_uri(key.key)
    if key.name in policy.endorsed:
        appraisal.found(
            "identity",
            "instance-identity",
            values.APPROVED,
            f"the attestation key {name}, endorsed",
        )
        appraisal.found("hardware", "hardware", values.APPROVED, "a TPM that its maker certified")
    elif _is_among(key.key, policy.attestation_keys):
        appraisal.found(
            "identity", "instance-identity", values.APPROVED, f"the attestation key {name}"
        )
        appraisal.undecided(
            "hardware", "hardware", "nothing shows that the TPM is a chip and not a program"
        )
    else:
        told = f"the attestation key {name} is not one that the policy knows"
        appraisal.found(
            "identity", "instance-identity", values.NOT_RECOGNISED, told, "attestation-key-unknown"
        )


def _check_pcrs(found: dict[int, bytes], policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    for at, accepted in sorted(policy.pcrs.items()):
        if at not in found:
            told = f"register {at} was not quoted"
            appraisal.found(f"pcr {at}", "executables", values.REFUSED, told, "pcr-missing")
        elif found[at] not in accepted:
            told = f"register {at} is {found[at].hex()}, which is not accepted"
            appraisal.found(f"pcr {at}", "executables", values.REFUSED, told, "pcr-mismatch")
        else:
            appraisal.found(
                f"pcr {at}", "executables", values.BOOT_APPROVED, "as the policy has it"
            )


def _is_among(key: PublicKey, known: tuple[PublicKey, ...]) -> bool:
    name = keys.thumbprint(key)
    return any(keys.thumbprint(one) == name for one in known)


def _counters(quote: Quote) -> dict[str, Any]:
    return {
        "clock": quote.clock,
        "reset-count": quote.reset_count,
        "restart-count": quote.restart_count,
        "safe": quote.safe,
        "firmware-version": f"{quote.firmware_version:016x}",
    }
