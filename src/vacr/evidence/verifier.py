"""What a verifier asks of evidence. Role: verifier. Step: appraise. Trust has no default: a policy
without keys knows nobody.

Whose evidence it is: a key in software, or one that a TPM keeps. Role: verifier. Step: appraise.

A key in software says less: whoever can read its file may have signed. So it never affirms an
identity, and where the policy does not say that it is enough, it is a warning. Hardware is affirmed
only where the TPM's maker certified it and the key was shown to be in it.

What was measured, against reference values. Role: verifier. Step: appraise.

Reference values: what a release measures as. Step: appraise.

They are a map of components in deterministic CBOR, signed by whoever made the release or not at
all; then it is the policy that vouches for them. CoRIM would say the same with a data model for
whole platforms; what is here can be moved into it.

The verifier: evidence + policy → appraisal. Role: verifier. Step: appraise. Follows RFC 9334 and
draft-ietf-rats-ar4si-09.

Bytes that are no evidence raise. Evidence that can be read gives an appraisal, good or bad, for a
bad one is worth telling, too. All checks are made, so that a person sees all that is wrong; but for
a signature that does not hold: then nothing else was said by anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput
from vacr.evidence.attester import (
    AGENT_COMPONENT_PREFIX,
    CONFIGURATION_COMPONENT_PREFIX,
    PACKAGE_COMPONENT,
    Component,
    JournalHead,
    compute_manifest_digest,
    decode_component,
    describe_manifest_differences,
)
from vacr.evidence.endorsement import get_endorsed_key_name
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
    INDICATOR_REFERENCE_VALUES,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    REFERENCE_VALUES_MEDIA_TYPE,
    CborToken,
    CmwRecord,
    decode_cmw,
    encode_cmw_cbor,
    parse_cwt,
)
from vacr.evidence.tpm_structures import AttestationKey, Quote, check_quote
from vacr.record import decode_shortest_cbor, encode_deterministic_cbor
from vacr.signing import (
    ATTACHED,
    CNF_COSE_KEY,
    HEADER_ALG,
    HEADER_CONTENT_TYPE,
    HEADER_KID,
    PublicKey,
    Signer,
    StatementClaims,
    compute_thumbprint,
    compute_thumbprint_uri,
    parse_cose_key,
    parse_sign1,
    sign,
    verify_signature,
)

DEFAULT_MAXIMUM_AGE, DEFAULT_RESULT_VALIDITY = 3600, 86400

REQUIRABLE_CLAIMS = ("agent", "configuration", "hardware", "journal", "tpm")
"""What a policy can ask for beside what all evidence has."""


@dataclass(frozen=True)
class AppraisalPolicy:
    """Who is known, and what evidence has to say."""

    id: str
    """The name of the policy, which results give."""
    references: tuple[Component, ...] = ()
    attester_keys: tuple[PublicKey, ...] = ()
    """Keys of attesters in software."""
    attestation_keys: tuple[PublicKey, ...] = ()
    """Keys of TPMs that are known, each by itself."""
    endorsed: frozenset[bytes] = frozenset()
    """Names of keys that were shown to be in a TPM whose maker certified it."""
    endorser_keys: tuple[PublicKey, ...] = ()
    """Who may endorse keys in messages that come along with evidence."""
    software_is_enough: bool = False
    """Whether evidence can be affirmed that no hardware vouches for."""
    profiles: frozenset[str] = frozenset((EVIDENCE_PROFILE,))
    versions: frozenset[str] = frozenset()
    """Versions of the recorder that are accepted; all where there are none."""
    required: frozenset[str] = frozenset()
    maximum_age: int = DEFAULT_MAXIMUM_AGE
    result_validity: int = DEFAULT_RESULT_VALIDITY
    """For how many seconds a result holds."""
    pcrs: dict[int, frozenset[bytes]] = field(default_factory=dict)
    """The values that registers of the TPM may have."""


def check_attester_identity(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check who vouches for the claims."""
    submodule = claims.get(EAT_SUBMODS, {}).get(KEY_STORAGE_TPM)
    says_tpm = claims[CLAIM_KEY_STORAGE] == KEY_STORAGE_TPM
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
        _check_tpm_quote(submodule, claims, policy, appraisal)
    else:
        _check_software_key(parse_cose_key(claims[EAT_CNF][CNF_COSE_KEY]), policy, appraisal)


def _check_software_key(key: PublicKey, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    name = compute_thumbprint_uri(key)
    if not _is_known_key(key, policy.attester_keys):
        told = f"the key {name} is not one that the policy knows"
        appraisal.found(
            "identity", "instance-identity", TRUST_NOT_RECOGNISED, told, "attester-unknown"
        )
    elif policy.software_is_enough:
        told = "a key in software, which the policy says is enough: it proves no machine"
        appraisal.undecided("identity", "instance-identity", told)
    else:
        told = "a key in software: whoever could read it may have signed"
        appraisal.found(
            "identity", "instance-identity", TRUST_KEY_IN_SOFTWARE, told, "key-in-software"
        )
    appraisal.key_storage = KEY_STORAGE_SOFTWARE
    appraisal.undecided("hardware", "hardware", "none vouches for it")


def _check_tpm_quote(
    submodule: dict[Any, Any], claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    try:
        quote, key = check_quote(submodule, claims)
    except InvalidStatement as error:
        appraisal.unbound("quote", error.message, error.reason)
        return
    appraisal.details |= _list_tpm_counters(quote)
    appraisal.key_storage = KEY_STORAGE_TPM
    told = f"over these claims, restart {quote.restart_count} of reset {quote.reset_count}"
    appraisal.found("quote", "instance-identity", TRUST_NO_CLAIM, told)
    _check_attestation_key(key, policy, appraisal)
    _check_pcrs(submodule[CLAIM_PCRS], policy, appraisal)


def _check_attestation_key(
    key: AttestationKey, policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    name = compute_thumbprint_uri(key.key)
    if key.name in policy.endorsed:
        appraisal.found(
            "identity",
            "instance-identity",
            TRUST_APPROVED,
            f"the attestation key {name}, endorsed",
        )
        appraisal.found("hardware", "hardware", TRUST_APPROVED, "a TPM that its maker certified")
    elif _is_known_key(key.key, policy.attestation_keys):
        appraisal.found(
            "identity", "instance-identity", TRUST_APPROVED, f"the attestation key {name}"
        )
        appraisal.undecided(
            "hardware", "hardware", "nothing shows that the TPM is a chip and not a program"
        )
    else:
        told = f"the attestation key {name} is not one that the policy knows"
        appraisal.found(
            "identity", "instance-identity", TRUST_NOT_RECOGNISED, told, "attestation-key-unknown"
        )


def _check_pcrs(found: dict[int, bytes], policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    for at, accepted in sorted(policy.pcrs.items()):
        if at not in found:
            told = f"register {at} was not quoted"
            appraisal.found(f"pcr {at}", "executables", TRUST_REFUSED, told, "pcr-missing")
        elif found[at] not in accepted:
            told = f"register {at} is {found[at].hex()}, which is not accepted"
            appraisal.found(f"pcr {at}", "executables", TRUST_REFUSED, told, "pcr-mismatch")
        else:
            appraisal.found(f"pcr {at}", "executables", TRUST_BOOT_APPROVED, "as the policy has it")


def _is_known_key(key: PublicKey, known: tuple[PublicKey, ...]) -> bool:
    name = compute_thumbprint(key)
    return any(compute_thumbprint(one) == name for one in known)


def _list_tpm_counters(quote: Quote) -> dict[str, Any]:
    return {
        "clock": quote.clock,
        "reset-count": quote.reset_count,
        "restart-count": quote.restart_count,
        "safe": quote.safe,
        "firmware-version": f"{quote.firmware_version:016x}",
    }


_MAX_FILES_SHOWN = 3
"""How many files are named that differ."""


def has_measured_configuration(claims: dict[Any, Any]) -> bool:
    """Tell whether some configuration was measured."""
    return any(
        one.name.startswith(CONFIGURATION_COMPONENT_PREFIX)
        for one in _parse_measured_components(claims)
    )


def check_measurements(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Compare what was measured with the reference values, and find what was not measured that
    should have been.

    Raises:
        InvalidStatement: a measurement cannot be read, or there are two of one name.
    """
    found = _parse_measured_components(claims)
    for one in found:
        _check_component(one, policy, appraisal)
    names = {one.name for one in found}
    wanted = {
        one.name for one in policy.references if not one.name.startswith(AGENT_COMPONENT_PREFIX)
    } | {PACKAGE_COMPONENT}
    for name in sorted(wanted - names):
        appraisal.found(
            name,
            _choose_vector_claim(name),
            TRUST_REFUSED,
            "it was not measured",
            "measurement-missing",
        )


def _parse_measured_components(claims: dict[Any, Any]) -> list[Component]:
    manifests = claims[CLAIM_MANIFESTS]
    found = [decode_component(body, manifests) for _, body in claims[EAT_MEASUREMENTS]]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise InvalidStatement("a component that was measured twice", reason="evidence-malformed")
    if manifests.keys() - set(names):
        raise InvalidStatement(
            "files are listed of what was not measured", reason="evidence-malformed"
        )
    return found


def _check_component(one: Component, policy: AppraisalPolicy, appraisal: Appraisal) -> None:
    references = [known for known in policy.references if known.name == one.name]
    version = "" if one.version is None else f"version {one.version}, "
    if any(_matches_reference(one, known) for known in references):
        good = (
            TRUST_NO_CLAIM if _choose_vector_claim(one.name) == "sourced-data" else TRUST_APPROVED
        )
        appraisal.found(
            one.name, _choose_vector_claim(one.name), good, f"{version}as its reference value"
        )
    elif references:
        appraisal.found(
            one.name,
            _choose_vector_claim(one.name),
            _choose_changed_value(one.name),
            version + _describe_changes(one, references),
            "measurement-changed",
        )
    elif one.name.startswith(AGENT_COMPONENT_PREFIX) and "agent" not in policy.required:
        appraisal.undecided(
            one.name, "sourced-data", f"{version}there is no reference value for it"
        )
    else:
        told = f"{version}there is no reference value for it"
        appraisal.found(
            one.name,
            _choose_vector_claim(one.name),
            _choose_unknown_value(one.name),
            told,
            "measurement-unknown",
        )


def _matches_reference(one: Component, known: Component) -> bool:
    return one.digest == known.digest and (known.version is None or one.version == known.version)


def _describe_changes(one: Component, references: list[Component]) -> str:
    """Say what differs from the reference value that comes nearest."""
    manifests = [known.manifest for known in references if known.manifest is not None]
    if one.manifest is None or not manifests:
        return "another one than its reference value"
    found = one.manifest
    said = min((describe_manifest_differences(found, expected) for expected in manifests), key=len)
    more = f", and {len(said) - _MAX_FILES_SHOWN} more" if len(said) > _MAX_FILES_SHOWN else ""
    return f"{', '.join(said[:_MAX_FILES_SHOWN]) or 'which is another one than its reference value has'}{more}"


def _choose_vector_claim(name: str) -> str:
    if name.startswith(CONFIGURATION_COMPONENT_PREFIX):
        return "configuration"
    return "sourced-data" if name.startswith(AGENT_COMPONENT_PREFIX) else "file-system"


def _choose_changed_value(name: str) -> int:
    return (
        TRUST_CONFIGURATION_CHANGED
        if name.startswith(CONFIGURATION_COMPONENT_PREFIX)
        else TRUST_REFUSED
    )


def _choose_unknown_value(name: str) -> int:
    return (
        TRUST_CONFIGURATION_UNKNOWN
        if name.startswith(CONFIGURATION_COMPONENT_PREFIX)
        else TRUST_UNRECOGNISED_FILES
    )


_MAX_REFERENCE_DEPTH, _MAX_REFERENCE_ITEMS = 8, 200_000


def encode_reference_values(
    components: Sequence[Component], signer: Signer | None = None, issued_at: int | None = None
) -> bytes:
    """Write reference values in their wrapper, signed where there is a signer."""
    said = {
        "profile": EVIDENCE_PROFILE,
        "components": [_build_reference_value(one) for one in components],
    }
    payload = encode_deterministic_cbor(said)
    if signer is not None:
        claims = StatementClaims(subject=EVIDENCE_PROFILE, issued_at=issued_at)
        payload = sign(
            payload,
            signer,
            profile=ATTACHED,
            content_type=REFERENCE_VALUES_MEDIA_TYPE,
            claims=claims,
        )
    return encode_cmw_cbor(
        CmwRecord(REFERENCE_VALUES_MEDIA_TYPE, payload, INDICATOR_REFERENCE_VALUES)
    )


def _build_reference_value(one: Component) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.name, "digest": one.digest}
    if one.version is not None:
        said["version"] = one.version
    if one.manifest is not None:
        said["manifest"] = one.manifest
    return said


def decode_reference_values(data: bytes, trusted: Sequence[PublicKey] = ()) -> list[Component]:
    """Read reference values; with keys, one of them has to have signed.

    Raises:
        InvalidStatement: they are none, or nobody who is trusted signed them.
    """
    wrapped = decode_cmw(data)
    if not isinstance(wrapped, CmwRecord) or wrapped.media_type != REFERENCE_VALUES_MEDIA_TYPE:
        raise InvalidStatement("the file holds no reference values", reason="reference-malformed")
    payload = _extract_reference_payload(wrapped.value, trusted)
    try:
        value = decode_shortest_cbor(
            payload, max_depth=_MAX_REFERENCE_DEPTH, most=_MAX_REFERENCE_ITEMS
        )
    except UnreadableInput as error:
        raise InvalidStatement(
            f"reference values that are not CBOR: {error}", reason="reference-malformed"
        ) from error
    check_evidence_schema(value, "reference-values", "reference values")
    return [_parse_reference_component(one) for one in value["components"]]


def _extract_reference_payload(value: bytes, trusted: Sequence[PublicKey]) -> bytes:
    try:
        message = parse_sign1(value)
    except InvalidStatement as error:
        if trusted:
            raise InvalidStatement(
                "the reference values are not signed", reason="reference-unsigned"
            ) from error
        return value
    if (
        message.protected.get(HEADER_CONTENT_TYPE) != REFERENCE_VALUES_MEDIA_TYPE
        or not message.payload
    ):
        raise InvalidStatement(
            "a signed message that holds no reference values", reason="reference-malformed"
        )
    if trusted and not any(_is_signed_by(message, key) for key in trusted):
        raise InvalidStatement(
            "nobody who is trusted signed the reference values", reason="reference-untrusted"
        )
    return message.payload


def _is_signed_by(message: Any, key: PublicKey) -> bool:
    try:
        verify_signature(
            message.protected.get(HEADER_ALG),
            key,
            message.signature,
            message.to_be_signed(message.payload),
        )
    except InvalidStatement:
        return False
    return True


def _parse_reference_component(said: dict[str, Any]) -> Component:
    manifest = said.get("manifest")
    if manifest is not None and compute_manifest_digest(manifest) != said["digest"]:
        raise InvalidStatement(
            f"the files of {said['name']} are not those of its digest", reason="reference-malformed"
        )
    return Component(said["name"], said["digest"], said.get("version"), manifest)


_MAX_CLOCK_SKEW = 300
"""By how many seconds an attester's clock may be ahead of ours."""
_REQUIREMENT_VECTOR_CLAIMS = {
    "journal": "sourced-data",
    "agent": "sourced-data",
    "configuration": "configuration",
}
"""The claims of the vector that what a policy can ask for is about; where it is none of these,
hardware.
"""


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
    """Appraise evidence against a policy; `nonce` is the one that was asked with, `record` the
    digest it has to be about, `journal` the head that the record names, and `endorsements` what
    came along with the evidence.

    Raises:
        InvalidStatement: the bytes are no evidence of our profile.
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
    check_attester_identity(claims, policy, appraisal)
    _check_journal(claims.get(CLAIM_JOURNAL), journal, policy, appraisal)
    _check_required_claims(claims, policy, appraisal)
    check_measurements(claims, policy, appraisal)
    appraisal.settle()
    return appraisal


def _add_endorsed_keys(
    policy: AppraisalPolicy, endorsements: Sequence[bytes], appraisal: Appraisal
) -> AppraisalPolicy:
    """Add to a policy the keys that are endorsed along with the evidence, by somebody whom the
    policy trusts to do so.
    """
    names = set(policy.endorsed)
    for one in endorsements:
        try:
            names.add(get_endorsed_key_name(one, policy.endorser_keys))
        except InvalidStatement as error:
            appraisal.undecided("endorsement", "hardware", f"not counted: {error.message}")
    return replace(policy, endorsed=frozenset(names))


def _check_profile(claims: dict[Any, Any], policy: AppraisalPolicy) -> None:
    """Refuse evidence of another profile, whose claims may mean something else."""
    profile = claims.get(EAT_PROFILE)
    if not isinstance(profile, str) or profile not in policy.profiles:
        raise InvalidStatement(
            f"evidence of the profile {profile!r}, which the policy does not accept",
            reason="profile",
        )


def _check_signature(token: CborToken, appraisal: Appraisal) -> bool:
    """Check that the key in the claims signed them; whose key that is, is another question."""
    try:
        key = parse_cose_key(token.claims[EAT_CNF][CNF_COSE_KEY])
        token.check(key)
    except (InvalidStatement, UnreadableInput) as error:
        appraisal.unbound(
            "signature",
            f"the claims are not signed by the key in them: {error.message}",
            "evidence-signature",
        )
        return False
    if token.message.protected.get(HEADER_KID) != compute_thumbprint(key):
        appraisal.unbound(
            "signature", "another key is named than the one that signed", "evidence-signature"
        )
        return False
    appraisal.found(
        "signature",
        "instance-identity",
        TRUST_NO_CLAIM,
        f"by key {compute_thumbprint(key).hex()[:16]}",
        stands=True,
    )
    return True


def _check_freshness(
    claims: dict[Any, Any],
    policy: AppraisalPolicy,
    nonce: bytes,
    now: datetime,
    appraisal: Appraisal,
) -> None:
    if claims[EAT_NONCE] != nonce:
        appraisal.unbound(
            "nonce",
            "made for another nonce than was asked with: a replay, or for somebody else",
            "nonce",
        )
    else:
        appraisal.found("nonce", "instance-identity", TRUST_NO_CLAIM, "the one that was asked with")
    age = int(now.timestamp()) - claims[EAT_IAT]
    when = f"{datetime.fromtimestamp(claims[EAT_IAT], UTC):%Y-%m-%dT%H:%M:%SZ}"
    if age > policy.maximum_age:
        appraisal.unbound(
            "age", f"made at {when}, more than {policy.maximum_age} seconds ago", "evidence-old"
        )
    elif age < -_MAX_CLOCK_SKEW:
        appraisal.unbound("age", f"it says that it will be made at {when}", "evidence-in-future")
    else:
        appraisal.found("age", "instance-identity", TRUST_NO_CLAIM, f"made at {when}, as it says")


def _check_record(claims: dict[Any, Any], record: bytes | None, appraisal: Appraisal) -> None:
    digest = claims[CLAIM_RECORD][1]
    if record is None:
        appraisal.undecided(
            "record", "instance-identity", f"about SHA-256 {digest.hex()}, which was not compared"
        )
    elif record != digest:
        appraisal.unbound(
            "record", f"about another record, SHA-256 {digest.hex()}", "record-mismatch"
        )
    else:
        appraisal.found("record", "instance-identity", TRUST_NO_CLAIM, "about these bytes")


def _check_journal(
    claimed: dict[str, Any] | None,
    named: JournalHead | None,
    policy: AppraisalPolicy,
    appraisal: Appraisal,
) -> None:
    """Check that evidence and record name the same journal, as far."""
    if named is not None and claimed != named.claim():
        appraisal.unbound(
            "journal", "the record names another journal, or another head of it", "journal-mismatch"
        )
    elif claimed is not None:
        told = f"{claimed['frames']} frames, head {claimed['head'].hex()[:16]}"
        if named is not None:
            appraisal.found(
                "journal", "sourced-data", TRUST_NO_CLAIM, f"{told}, as the record says"
            )
        else:
            appraisal.undecided("journal", "sourced-data", f"{told}, as it says")
    elif "journal" not in policy.required:
        appraisal.undecided("journal", "sourced-data", "recorded without one")


def _check_required_claims(
    claims: dict[Any, Any], policy: AppraisalPolicy, appraisal: Appraisal
) -> None:
    """Check that the claims are there that the policy asks for."""
    missing = {
        "journal": CLAIM_JOURNAL not in claims,
        "agent": CLAIM_AGENT not in claims,
        "tpm": claims[CLAIM_KEY_STORAGE] != KEY_STORAGE_TPM,
        "configuration": not has_measured_configuration(claims),
        "hardware": appraisal.vector.get("hardware") != TRUST_APPROVED,
    }
    for name in sorted(policy.required):
        if missing.get(name, True):
            about = _REQUIREMENT_VECTOR_CLAIMS.get(name, "hardware")
            value = TRUST_NOT_RECOGNISED if about == "hardware" else TRUST_REFUSED
            appraisal.found(
                name, about, value, "the policy asks for it, and there is none", "claim-missing"
            )
    version = claims[EAT_SWVERSION][0]
    if policy.versions and version not in policy.versions:
        appraisal.found(
            "version", "file-system", TRUST_REFUSED, f"vacr {version} is not accepted", "version"
        )
    elif policy.versions:
        appraisal.found("version", "file-system", TRUST_NO_CLAIM, f"vacr {version} is accepted")
