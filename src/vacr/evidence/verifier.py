"""The verifier: appraise evidence against a policy (RFC 9334, draft-ietf-rats-ar4si-09).

Malformed evidence raises an error. Evidence that can be read yields an appraisal, good or bad, and
all checks are made, so that a person sees everything that is wrong. The exception is an invalid
signature, because then the claims are worthless.

    >>> from datetime import UTC, datetime
    >>> from vacr.evidence.attester import EvidenceSubject, create_evidence
    >>> from vacr.evidence.measurements import Component
    >>> from vacr.evidence.verifier import AppraisalPolicy, appraise_evidence
    >>> from vacr.signing import KeySigner, generate_key
    >>> key, record, nonce = KeySigner(generate_key("eddsa")), bytes(32), b"challenge"
    >>> vacr = Component("vacr", digest=bytes(32))
    >>> evidence = create_evidence(EvidenceSubject(record, "1.0", [vacr]), nonce, 0, key)
    >>> policy = AppraisalPolicy("example", references=(vacr,), attester_keys=(key.public_key,))
    >>> now = datetime.fromtimestamp(60, UTC)
    >>> appraise_evidence(evidence, policy, nonce=nonce, record=record, now=now).status.label
    'warning'

The example is a warning because of its key. Anybody who can read a key in software may have signed.
So such a key never affirms an identity, and it warns unless the policy accepts it. Hardware is
affirmed only if the TPM's maker certified it and the attestation key was shown to be in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence.attester import JournalHead
from vacr.evidence.measurements import (
    AGENT_COMPONENT_PREFIX,
    CONFIGURATION_COMPONENT_PREFIX,
    PACKAGE_COMPONENT,
    Component,
    decode_component,
    describe_manifest_differences,
)
from vacr.evidence.messages import check_evidence_schema
from vacr.evidence.results import (
    TRUST_APPROVED,
    TRUST_BOOT_APPROVED,
    TRUST_CONFIGURATION_CHANGED,
    TRUST_CONFIGURATION_UNKNOWN,
    TRUST_KEY_IN_SOFTWARE,
    TRUST_NO_CLAIM,
    TRUST_NOT_RECOGNISED,
    TRUST_REFUSED,
    TRUST_UNRECOGNISED_FILES,
    Appraisal,
)
from vacr.evidence.tokens import (
    CLAIM_AGENT,
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_PCRS,
    CLAIM_RECORD,
    EAT_CNF,
    EAT_IAT,
    EAT_MEASUREMENTS,
    EAT_NONCE,
    EAT_PROFILE,
    EAT_SUBMODS,
    EAT_SWVERSION,
    EVIDENCE_PROFILE,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    TPM_SUBMODULE,
    CborToken,
    parse_cwt,
)
from vacr.signing import (
    CNF_COSE_KEY,
    HEADER_KID,
    PublicKey,
    compute_thumbprint,
    compute_thumbprint_uri,
    parse_cose_key,
)

if TYPE_CHECKING:
    from vacr.evidence.tpm_structures import AttestationKey, Quote

DEFAULT_MAXIMUM_AGE, DEFAULT_RESULT_VALIDITY = 3600, 86400

REQUIRABLE_CLAIMS = ("agent", "configuration", "hardware", "journal", "tpm")
"""The optional parts of evidence that a policy can require."""

MAX_CLOCK_SKEW = 300
"""How far another party's clock may be ahead of ours, in seconds."""
_MAX_FILES_SHOWN = 3
"""The maximum number of changed files in a finding."""
_REQUIREMENT_VECTOR_CLAIMS = {
    "journal": "sourced-data",
    "agent": "sourced-data",
    "configuration": "configuration",
}
"""The vector claims that required parts of evidence belong to; all others belong to hardware."""


@dataclass(frozen=True)
class AppraisalPolicy:
    """The known keys, and the requirements on evidence. Without keys, no attester is known."""

    id: str
    """The name of the policy, for results."""
    references: tuple[Component, ...] = ()
    """The reference values for measured components."""
    attester_keys: tuple[PublicKey, ...] = ()
    """Keys of attesters in software."""
    attestation_keys: tuple[PublicKey, ...] = ()
    """Attestation keys of TPMs that are known directly."""
    endorsed: frozenset[bytes] = frozenset()
    """Names of attestation keys that were shown to be in a certified TPM."""
    endorser_keys: tuple[PublicKey, ...] = ()
    """Keys of endorsers, for endorsements that accompany evidence."""
    software_is_enough: bool = False
    """Whether evidence without hardware can be affirmed."""
    profiles: frozenset[str] = frozenset((EVIDENCE_PROFILE,))
    """The accepted EAT profiles of evidence."""
    versions: frozenset[str] = frozenset()
    """The accepted versions of the recorder; all if empty."""
    required: frozenset[str] = frozenset()
    """The required parts of evidence, out of `REQUIRABLE_CLAIMS`."""
    maximum_age: int = DEFAULT_MAXIMUM_AGE
    """The maximum age of evidence, in seconds."""
    result_validity: int = DEFAULT_RESULT_VALIDITY
    """The validity of a result, in seconds."""
    pcrs: dict[int, frozenset[bytes]] = field(default_factory=dict)
    """The accepted values of the TPM's registers, by number; other registers may have any."""


def appraise_evidence(
    evidence: bytes,
    policy: AppraisalPolicy,
    *,
    nonce: bytes,
    record: bytes | None,
    now: datetime,
    journal: JournalHead | None = None,
    endorsements: Sequence[bytes] = (),
) -> Appraisal:
    """Appraise evidence against a policy, and return the appraisal, good or bad.

    `nonce` is the challenge that was sent, `record` the SHA-256 of the record that the evidence
    must be about (None if it is unknown), and `journal` the journal head that the record names.
    `endorsements` are the tokens that came with the evidence.

    Raises:
        InvalidStatement: the bytes are not evidence of an accepted profile.
    """
    token = parse_cwt(evidence)
    claims = token.claims
    _check_profile(claims, policy)
    check_evidence_schema(claims, "claims", "claims")
    appraisal = Appraisal(
        policy.id, claims[EAT_NONCE], claims[CLAIM_RECORD][1], claims.get(CLAIM_JOURNAL)
    )
    if not _check_signature(token, appraisal):
        return appraisal
    policy = _add_endorsed_keys(policy, endorsements, appraisal)
    _check_freshness(claims, policy, nonce, now, appraisal)
    _check_record(claims, record, appraisal)
    _check_attester_identity(claims, policy, appraisal)
    _check_journal(claims.get(CLAIM_JOURNAL), journal, policy, appraisal)
    _check_required_claims(claims, policy, appraisal)
    _check_measurements(claims, policy, appraisal)
    appraisal.retract_unproven()
    return appraisal


def _check_profile(claims: dict[Any, Any], policy: AppraisalPolicy) -> None:
    """Raise InvalidStatement if the policy does not accept the profile of the evidence.

    The claims of another profile may have another meaning.
    """
    profile = claims.get(EAT_PROFILE)
    if not isinstance(profile, str) or profile not in policy.profiles:
        raise InvalidStatement(
            f"the policy does not accept evidence of the profile {profile!r}",
            reason="profile",
            hint="List this profile under profiles in the policy, if you know it.",
        )


def _check_signature(token: CborToken, appraisal: Appraisal) -> bool:
    """Check that the key in the claims signed them, and return whether it did.

    Whether that key is known is another check.
    """
    try:
        key = parse_cose_key(token.claims[EAT_CNF][CNF_COSE_KEY])
        token.check(key)
    except (InvalidStatement, UnreadableInput) as error:
        appraisal.add_unbound(
            "signature",
            f"the claims are not signed by the key in them: {error.message}",
            "evidence-signature",
        )
        return False
    if token.message.protected.get(HEADER_KID) != compute_thumbprint(key):
        appraisal.add_unbound(
            "signature", "the header names a different key than the signer's", "evidence-signature"
        )
        return False
    appraisal.add(
        "signature",
        "instance-identity",
        TRUST_NO_CLAIM,
        f"by key {compute_thumbprint(key).hex()[:16]}",
        stands=True,
    )
    return True


def _add_endorsed_keys(
    policy: AppraisalPolicy, endorsements: Sequence[bytes], appraisal: Appraisal
) -> AppraisalPolicy:
    """Return the policy with the attestation keys of endorsements that came with the evidence.

    Endorsements that no trusted endorser signed are ignored, with a remark in the appraisal.
    """
    if not endorsements:
        return policy
    # Imported here, because only evidence of a TPM comes with endorsements.
    from vacr.evidence.endorsement import get_endorsed_key_name

    names = set(policy.endorsed)
    for endorsement in endorsements:
        try:
            names.add(get_endorsed_key_name(endorsement, policy.endorser_keys))
        except InvalidStatement as error:
            reason = f"The endorsement does not count: {error.message}. {error.hint}".rstrip()
            appraisal.add_undecided("endorsement", "hardware", reason)
    return replace(policy, endorsed=frozenset(names))


def _check_freshness(
    claims: dict[Any, Any],
    policy: AppraisalPolicy,
    nonce: bytes,
    now: datetime,
    appraisal: Appraisal,
) -> None:
    """Check the nonce, which proves freshness, and the age that the attester claims.

    The results are added to `appraisal`.
    """
    if claims[EAT_NONCE] != nonce:
        appraisal.add_unbound(
            "nonce",
            "not the challenge: replayed, or made for another verifier",
            "nonce",
        )
    else:
        appraisal.add("nonce", "instance-identity", TRUST_NO_CLAIM, "matches the challenge")
    age = int(now.timestamp()) - claims[EAT_IAT]
    issued_at = f"{datetime.fromtimestamp(claims[EAT_IAT], UTC):%Y-%m-%dT%H:%M:%SZ}"
    if age > policy.maximum_age:
        appraisal.add_unbound(
            "age",
            f"created at {issued_at}, more than {policy.maximum_age} seconds ago",
            "evidence-old",
        )
    elif age < -MAX_CLOCK_SKEW:
        appraisal.add_unbound("age", f"dated in the future: {issued_at}", "evidence-in-future")
    else:
        appraisal.add(
            "age", "instance-identity", TRUST_NO_CLAIM, f"created at {issued_at} (claimed)"
        )


def _check_record(claims: dict[Any, Any], record: bytes | None, appraisal: Appraisal) -> None:
    """Check that the evidence is about a record, and add the result to `appraisal`.

    `record` is the SHA-256 of the record, or None if there is no record to compare with: then the
    check is undecided.
    """
    digest = claims[CLAIM_RECORD][1]
    if record is None:
        appraisal.add_undecided(
            "record",
            "instance-identity",
            f"about SHA-256 {digest.hex()}; no record to compare with",
        )
    elif record != digest:
        appraisal.add_unbound(
            "record", f"about a different record, SHA-256 {digest.hex()}", "record-mismatch"
        )
    else:
        appraisal.add("record", "instance-identity", TRUST_NO_CLAIM, "about the given file")


def _check_attester_identity(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check the key that vouches for the claims: in a TPM with its quote, or in software.

    The results are added to `appraisal`.
    """
    submodule = claims.get(EAT_SUBMODS, {}).get(TPM_SUBMODULE)
    claims_tpm = claims[CLAIM_KEY_STORAGE] == KEY_STORAGE_TPM
    if claims_tpm and submodule is None:
        appraisal.add_unbound(
            "quote",
            "the claims announce the quote of a TPM, but it is missing",
            "quote-missing",
        )
    elif submodule is not None and not claims_tpm:
        appraisal.add_unbound(
            "quote",
            "contains the quote of a TPM, but the claims do not announce it",
            "quote-swapped",
        )
    elif submodule is not None:
        _check_tpm_quote(submodule, claims, policy, appraisal)
    else:
        _check_software_key(parse_cose_key(claims[EAT_CNF][CNF_COSE_KEY]), policy, appraisal)


def _check_software_key(key: PublicKey, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    """Check that the policy lists a key in software, and add the result to `appraisal`.

    A listed key is a warning, unless the policy accepts keys in software.
    """
    name = compute_thumbprint_uri(key)
    if not _is_known_key(key, policy.attester_keys):
        finding = f"the policy does not list the key {name}"
        appraisal.add(
            "identity", "instance-identity", TRUST_NOT_RECOGNISED, finding, "attester-unknown"
        )
    elif policy.software_is_enough:
        finding = "a key in software, accepted by the policy; it does not identify a machine"
        appraisal.add_undecided("identity", "instance-identity", finding)
    else:
        finding = "a key in software: anyone who can read it may have signed"
        appraisal.add(
            "identity", "instance-identity", TRUST_KEY_IN_SOFTWARE, finding, "key-in-software"
        )
    appraisal.key_storage = KEY_STORAGE_SOFTWARE
    appraisal.add_undecided(
        "hardware", "hardware", "not used: only software vouches for the evidence"
    )


def _check_tpm_quote(
    submodule: dict[Any, Any], claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check the quote of a TPM, its attestation key, and the quoted registers.

    The results are added to `appraisal`.
    """
    # Imported here, because only evidence of a TPM needs it.
    from vacr.evidence.tpm_structures import check_quote

    try:
        quote, key = check_quote(submodule, claims)
    except InvalidStatement as error:
        appraisal.add_unbound("quote", error.message, error.reason)
        return
    appraisal.details |= _list_tpm_counters(quote)
    appraisal.key_storage = KEY_STORAGE_TPM
    finding = f"covers these claims; reset {quote.reset_count}, restart {quote.restart_count}"
    appraisal.add("quote", "instance-identity", TRUST_NO_CLAIM, finding)
    _check_attestation_key(key, policy, appraisal)
    _check_pcrs(submodule[CLAIM_PCRS], policy, appraisal)


def _list_tpm_counters(quote: Quote) -> dict[str, Any]:
    """Return the TPM's clock, counters and firmware version in a quote, for JSON output."""
    return {
        "clock": quote.clock,
        "reset-count": quote.reset_count,
        "restart-count": quote.restart_count,
        "safe": quote.safe,
        "firmware-version": f"{quote.firmware_version:016x}",
    }


def _check_attestation_key(
    key: AttestationKey, policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check that an attestation key is known, and add the result to `appraisal`.

    Only an endorsed key also affirms the hardware.
    """
    name = compute_thumbprint_uri(key.key)
    if key.name in policy.endorsed:
        appraisal.add(
            "identity",
            "instance-identity",
            TRUST_APPROVED,
            f"the attestation key {name}, endorsed",
        )
        appraisal.add("hardware", "hardware", TRUST_APPROVED, "a TPM certified by its maker")
    elif _is_known_key(key.key, policy.attestation_keys):
        appraisal.add(
            "identity", "instance-identity", TRUST_APPROVED, f"the attestation key {name}"
        )
        appraisal.add_undecided(
            "hardware", "hardware", "not proven: the TPM may be a program instead of a chip"
        )
    else:
        finding = f"the policy does not list the attestation key {name}"
        appraisal.add(
            "identity",
            "instance-identity",
            TRUST_NOT_RECOGNISED,
            finding,
            "attestation-key-unknown",
        )


def _check_pcrs(reported: dict[int, bytes], policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    """Check that each register in the policy was quoted, with an accepted value.

    The results are added to `appraisal`.
    """
    for register, accepted in sorted(policy.pcrs.items()):
        if register not in reported:
            finding = f"register {register} was not quoted"
            appraisal.add(f"pcr {register}", "executables", TRUST_REFUSED, finding, "pcr-missing")
        elif reported[register] not in accepted:
            finding = (
                f"the policy does not accept {reported[register].hex()} in register {register}"
            )
            appraisal.add(f"pcr {register}", "executables", TRUST_REFUSED, finding, "pcr-mismatch")
        else:
            appraisal.add(
                f"pcr {register}", "executables", TRUST_BOOT_APPROVED, "accepted by the policy"
            )


def _is_known_key(key: PublicKey, known: tuple[PublicKey, ...]) -> bool:
    """Return whether a key is one of the known keys, by its thumbprint."""
    thumbprint = compute_thumbprint(key)
    return any(compute_thumbprint(candidate) == thumbprint for candidate in known)


def _check_journal(
    claimed: dict[str, Any] | None,
    expected: JournalHead | None,
    policy: AppraisalPolicy,
    appraisal: Appraisal,
) -> None:
    """Check that the evidence has the journal head of the record, if the record names one.

    The result is added to `appraisal`.
    """
    if expected is not None and claimed != expected.claim():
        appraisal.add_unbound(
            "journal", "the record names a different journal or journal head", "journal-mismatch"
        )
    elif claimed is not None:
        finding = f"{claimed['frames']} frames, head {claimed['head'].hex()[:16]}"
        if expected is not None:
            appraisal.add(
                "journal", "sourced-data", TRUST_NO_CLAIM, f"{finding}, matches the record"
            )
        else:
            finding += ", claimed by the evidence; the record names none to compare with"
            appraisal.add_undecided("journal", "sourced-data", finding)
    elif "journal" not in policy.required:
        finding = "the evidence names no journal, and none is required"
        appraisal.add_undecided("journal", "sourced-data", finding)


def _check_required_claims(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check that the evidence has all required parts, and an accepted version of the recorder.

    The results are added to `appraisal`.
    """
    missing = {
        "journal": CLAIM_JOURNAL not in claims,
        "agent": CLAIM_AGENT not in claims,
        "tpm": claims[CLAIM_KEY_STORAGE] != KEY_STORAGE_TPM,
        "configuration": not _has_measured_configuration(claims),
        "hardware": appraisal.vector.get("hardware") != TRUST_APPROVED,
    }
    for name in sorted(policy.required):
        if missing.get(name, True):
            claim = _REQUIREMENT_VECTOR_CLAIMS.get(name, "hardware")
            value = TRUST_NOT_RECOGNISED if claim == "hardware" else TRUST_REFUSED
            appraisal.add(
                name, claim, value, "required by the policy, but missing", "claim-missing"
            )
    version = claims[EAT_SWVERSION][0]
    if policy.versions and version not in policy.versions:
        appraisal.add(
            "version", "file-system", TRUST_REFUSED, f"vacr {version} is not accepted", "version"
        )
    elif policy.versions:
        appraisal.add("version", "file-system", TRUST_NO_CLAIM, f"vacr {version} is accepted")


def _has_measured_configuration(claims: dict[Any, Any]) -> bool:
    """Return whether the evidence measures a configuration file."""
    return any(
        component.name.startswith(CONFIGURATION_COMPONENT_PREFIX)
        for component in _parse_measured_components(claims)
    )


def _check_measurements(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Compare the measured components with the reference values, and report missing ones.

    Raises:
        InvalidStatement: a component cannot be read, or two have the same name.
    """
    components = _parse_measured_components(claims)
    for component in components:
        _check_component(component, policy, appraisal)
    measured = {component.name for component in components}
    expected = {
        reference.name
        for reference in policy.references
        if not reference.name.startswith(AGENT_COMPONENT_PREFIX)
    } | {PACKAGE_COMPONENT}
    for name in sorted(expected - measured):
        claim = _choose_vector_claim(name)
        appraisal.add(name, claim, TRUST_REFUSED, "not measured", "measurement-missing")


def _parse_measured_components(claims: dict[Any, Any]) -> list[Component]:
    """Return the measured components in evidence, with their manifests.

    Raises:
        InvalidStatement: a component is malformed or measured twice, or a manifest belongs to a
            component that was not measured.
    """
    manifests = claims[CLAIM_MANIFESTS]
    components = [decode_component(body, manifests) for _, body in claims[EAT_MEASUREMENTS]]
    names = [component.name for component in components]
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        raise InvalidStatement(
            f"the evidence measures the component {repeated[0]} twice",
            reason="evidence-malformed",
        )
    if manifests.keys() - set(names):
        raise InvalidStatement(
            "the evidence lists files of a component that was not measured",
            reason="evidence-malformed",
        )
    return components


def _check_component(component: Component, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    """Compare a measured component with its reference values, and add the result to `appraisal`.

    Without a reference value in the policy, the component is unknown; but an agent is undecided,
    unless the policy requires it.
    """
    name, claim = component.name, _choose_vector_claim(component.name)
    references = [reference for reference in policy.references if reference.name == name]
    version = "" if component.version is None else f"version {component.version}, "
    is_configuration = name.startswith(CONFIGURATION_COMPONENT_PREFIX)
    if any(_matches_reference(component, reference) for reference in references):
        # The vector is about the recorder, and a known agent does not make it better.
        value = TRUST_NO_CLAIM if claim == "sourced-data" else TRUST_APPROVED
        appraisal.add(name, claim, value, f"{version}matches its reference value")
    elif references:
        value = TRUST_CONFIGURATION_CHANGED if is_configuration else TRUST_REFUSED
        finding = version + _describe_changes(component, references)
        appraisal.add(name, claim, value, finding, "measurement-changed")
    elif name.startswith(AGENT_COMPONENT_PREFIX) and "agent" not in policy.required:
        finding = f"{version}no reference value to compare with"
        appraisal.add_undecided(name, "sourced-data", finding)
    else:
        value = TRUST_CONFIGURATION_UNKNOWN if is_configuration else TRUST_UNRECOGNISED_FILES
        finding = f"{version}no reference value to compare with"
        appraisal.add(name, claim, value, finding, "measurement-unknown")


def _matches_reference(component: Component, reference: Component) -> bool:
    """Return whether digest and version match; a reference without a version matches any."""
    is_same_version = reference.version is None or component.version == reference.version
    return component.digest == reference.digest and is_same_version


def _describe_changes(component: Component, references: list[Component]) -> str:
    """Describe the first changed files, compared with the most similar reference value.

    Without manifests, return `differs from its reference value`.
    """
    expected = [reference.manifest for reference in references if reference.manifest is not None]
    if component.manifest is None or not expected:
        return "differs from its reference value"
    measured = component.manifest
    changes = min(
        (describe_manifest_differences(measured, manifest) for manifest in expected), key=len
    )
    shown = ", ".join(changes[:_MAX_FILES_SHOWN])
    hidden = len(changes) - _MAX_FILES_SHOWN
    more = f", and {hidden} more" if hidden > 0 else ""
    return f"{shown or 'differs from its reference value'}{more}"


def _choose_vector_claim(name: str) -> str:
    """Return the claim of the trustworthiness vector that a component of this name belongs to."""
    if name.startswith(CONFIGURATION_COMPONENT_PREFIX):
        return "configuration"
    return "sourced-data" if name.startswith(AGENT_COMPONENT_PREFIX) else "file-system"
