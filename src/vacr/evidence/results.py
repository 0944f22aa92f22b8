"""Attestation results: the findings of an appraisal, its tier of trust, and the signed result.

A verifier's checks each give a value of the trustworthiness vector (draft-ietf-rats-ar4si-09,
section 2.3). Values from 2 to 31 affirm, from 32 to 95 warn, from 96 on contraindicate. Negative
values do the same for reasons that no standard has, and -1, 0 and 1 make no claim.

    >>> from vacr.evidence.results import Appraisal, get_tier
    >>> [get_tier(value).name for value in (2, 33, -33, 97, 0)]
    ['AFFIRMING', 'WARNING', 'WARNING', 'CONTRAINDICATED', 'NONE']
    >>> appraisal = Appraisal("example-policy", nonce=b"", record=b"", journal=None)
    >>> appraisal.add("vacr", "file-system", 2, "matches its reference value")
    >>> appraisal.add("identity", "instance-identity", -33, "a key in software")
    >>> appraisal.vector, appraisal.status.label
    ({'instance-identity': -33, 'file-system': 2}, 'warning')

A result (EAR, draft-ietf-rats-ear-03) has our appraisal in the submodule `vacr`. It names the
record and the journal head that the evidence was about, so that it cannot be used for another
record. A result may also have an overall status, and other submodules. Each status counts: the
worst of them decides. Its claims have numbers in a CWT and names in a JWT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from vacr.errors import InvalidStatement
from vacr.evidence.tokens import (
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_RECORD,
    EAR_JSON_NAMES,
    EAR_POLICY_IDS,
    EAR_PROFILE,
    EAR_STATUS,
    EAR_VECTOR,
    EAR_VERIFIER_ID,
    EAT_EXP,
    EAT_IAT,
    EAT_NONCE,
    EAT_PROFILE,
    EAT_SUBMODS,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    NAMED_INFO_SHA256,
    CborToken,
    JsonToken,
    decode_base64url,
    encode_base64url,
    looks_like_jwt,
    parse_cwt,
    parse_jwt,
    sign_cwt,
    sign_jwt,
)
from vacr.signing import PublicKey, Signer, compute_thumbprint
from vacr.version import __version__


class Tier(IntEnum):
    """A tier of trust, with its number in results; a higher number is worse."""

    NONE = 0
    AFFIRMING = 2
    WARNING = 32
    CONTRAINDICATED = 96

    @property
    def label(self) -> str:
        """The name of the tier in results and on the command line."""
        return self.name.lower()


TIERS_BY_LABEL = {tier.label: tier for tier in Tier}
# No verdict is not a good one.
_TIERS_FROM_BEST = (Tier.AFFIRMING, Tier.NONE, Tier.WARNING, Tier.CONTRAINDICATED)

TRUST_VECTOR_CLAIMS = {
    "instance-identity": 0,
    "configuration": 1,
    "executables": 2,
    "file-system": 3,
    "hardware": 4,
    "runtime-opaque": 5,
    "storage-opaque": 6,
    "sourced-data": 7,
}
"""The claims of a trustworthiness vector, with their numbers in CBOR."""

# Values of the draft.
TRUST_NO_CLAIM, TRUST_APPROVED, TRUST_BOOT_APPROVED = 0, 2, 3
TRUST_UNRECOGNISED_FILES = 32
TRUST_REFUSED, TRUST_NOT_RECOGNISED, TRUST_NOT_VALIDATED = 96, 97, 99
# Values defined by vacr.
TRUST_KEY_IN_SOFTWARE, TRUST_CONFIGURATION_UNKNOWN, TRUST_CONFIGURATION_CHANGED = -33, -33, -97


_MIN_TRUST_VALUE, _MAX_TRUST_VALUE = -128, 127
_JSON_HASH_NAME = "sha-256"
_OLD_JSON_NAMES = {"ear.status", "ear.trustworthiness-vector"}
_VERIFIER_ID_MEMBERS = {0: "developer", 1: "build"}
EAR_SUBMODULE = "vacr"
EAR_DEVELOPER = "vacr"
"""The maker of the verifier, in `ear_verifier_id`."""
_KEY_STORAGE_CAVEATS: dict[str | None, str] = {
    KEY_STORAGE_SOFTWARE: "signed by a key in software, without hardware",
    KEY_STORAGE_TPM: "signed by a TPM that may be a program instead of a chip",
}


def get_tier(value: int) -> Tier:
    """Return the tier of a trust value, a number from -128 to 127 (draft-ietf-rats-ar4si).

    -1 to 1 make no claim, 2 to 31 affirm, 32 to 95 warn, and 96 to 127 contraindicate. Negative
    values follow one step later: -33 is the first to warn, -97 the first to contraindicate.

    Raises:
        ValueError: the value is out of range.
    """
    if not _MIN_TRUST_VALUE <= value <= _MAX_TRUST_VALUE:
        raise ValueError("a trust value is out of range")
    if value in (-1, 0, 1):
        return Tier.NONE
    severity = value if value > 0 else -value - 1
    if severity < Tier.WARNING:
        return Tier.AFFIRMING
    return Tier.WARNING if severity < Tier.CONTRAINDICATED else Tier.CONTRAINDICATED


def find_worst_value(values: Iterable[int]) -> int:
    """Return the value of the worst tier, or 0 (no claim) without values.

    Within a tier, a value of the standard (positive) outranks one of ours (negative).
    """
    return max(
        values, key=lambda value: (get_tier(value), value > 0, abs(value)), default=TRUST_NO_CLAIM
    )


def rank_tier(tier: Tier) -> int:
    """Return a number that is higher for a worse tier; NONE is worse than AFFIRMING."""
    return _TIERS_FROM_BEST.index(tier)


def is_tier_sufficient(tier: Tier, required: Tier) -> bool:
    """Return whether a tier is at least as good as the required one; NONE never is."""
    return tier is not Tier.NONE and tier <= required


@dataclass(frozen=True, slots=True)
class AppraisalCheck:
    """A check of an appraisal, and its outcome."""

    name: str
    claim: str
    """The claim of the trustworthiness vector that the check belongs to."""
    value: int
    """The trust value that the check adds to the claim."""
    finding: str
    """The outcome in words."""
    reason: str = ""
    """The identifier of a failure, such as `nonce`; empty for a good outcome."""
    decided: bool = True
    """Whether the check compared evidence with a known value; otherwise it had none."""
    stands: bool = False
    """Whether the result is valid even if other checks fail, as for a signature."""

    @property
    def tier(self) -> Tier:
        """The tier that the trust value belongs to, such as affirming or warning."""
        return get_tier(self.value)


@dataclass(slots=True)
class Appraisal:
    """The appraisal of evidence: all checks, and the trust that follows from them."""

    policy: str
    """The id of the policy."""
    nonce: bytes
    """The nonce in the evidence."""
    record: bytes
    """The SHA-256 of the record that the evidence is about."""
    journal: dict[str, Any] | None
    """The journal head in the evidence."""
    checks: list[AppraisalCheck] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    """Other facts, such as the TPM's counters; they are not part of the result."""
    bound: bool = True
    """Whether the evidence is authentic, fresh, and about the right record."""
    key_storage: str | None = None
    """The place of the key that vouches for the evidence, once it is proven."""

    def add(
        self,
        name: str,
        claim: str,
        value: int,
        finding: str,
        reason: str = "",
        *,
        stands: bool = False,
    ) -> None:
        """Add a check that compared the evidence with a known value.

        `name` and `finding` are for people, `reason` is the code of a failure. `value` is the trust
        value for `claim`, a claim of the trust vector. A check that `stands` keeps a good finding
        even if the evidence turns out to be invalid.
        """
        self.checks.append(AppraisalCheck(name, claim, value, finding, reason, stands=stands))

    def add_undecided(self, name: str, claim: str, finding: str) -> None:
        """Add an undecided check: it has no known value to compare with, and makes no claim."""
        self.checks.append(AppraisalCheck(name, claim, TRUST_NO_CLAIM, finding, decided=False))

    def add_unbound(self, name: str, finding: str, reason: str) -> None:
        """Add a failed check that invalidates all of the evidence, as a wrong nonce does."""
        self.bound = False
        self.add(name, "instance-identity", TRUST_NOT_VALIDATED, finding, reason)

    def retract_unproven(self) -> None:
        """Mark good findings as not proven if the evidence is invalid, or its key unknown.

        A check with `stands` keeps its finding. Call this after all checks.
        """
        identity_values = [
            check.value for check in self.checks if check.claim == "instance-identity"
        ]
        is_stranger = get_tier(find_worst_value(identity_values)) is Tier.CONTRAINDICATED
        if self.bound and not is_stranger:
            return
        self.key_storage = None
        for index, check in enumerate(self.checks):
            if check.tier <= Tier.AFFIRMING and check.decided and not check.stands:
                self.checks[index] = replace(
                    check,
                    value=TRUST_NO_CLAIM,
                    finding=f"{check.finding}; not proven",
                    decided=False,
                )

    @property
    def vector(self) -> dict[str, int]:
        """The worst value of each claim, without claims of value 0 except `hardware`.

        If the evidence is not bound, all values are 99 (not validated).
        """
        claims = {check.claim for check in self.checks}
        names = [name for name in TRUST_VECTOR_CLAIMS if name in claims]
        if not self.bound:
            return dict.fromkeys(names, TRUST_NOT_VALIDATED)
        vector = {
            name: find_worst_value(check.value for check in self.checks if check.claim == name)
            for name in names
        }
        # Missing hardware is stated explicitly; readers should not have to notice its absence.
        return {
            name: value
            for name, value in vector.items()
            if value != TRUST_NO_CLAIM or name == "hardware"
        }

    @property
    def status(self) -> Tier:
        """The worst tier of the vector, but NONE if the recorder's files were not compared."""
        vector = self.vector
        status = get_tier(find_worst_value(vector.values()))
        files = get_tier(vector.get("file-system", TRUST_NO_CLAIM))
        if status is Tier.AFFIRMING and files is not Tier.AFFIRMING:
            return Tier.NONE
        return status

    @property
    def worst_check(self) -> AppraisalCheck | None:
        """The first check of the worst tier, or None if no check warns or contraindicates."""
        failed = [check for check in self.checks if check.tier > Tier.AFFIRMING]
        return max(failed, key=lambda check: check.tier, default=None)


@dataclass(frozen=True, slots=True)
class AttestationResult:
    """A result that a trusted verifier signed."""

    statuses: tuple[tuple[str, Tier], ...]
    """What each status is about, and its tier: our submodule first, then the overall status."""
    vector: dict[str, int]
    """The vector of our submodule."""
    record: bytes
    nonce: bytes
    journal: dict[str, Any] | None
    policies: tuple[str, ...]
    issued_at: int
    expires_at: int | None
    verifier: PublicKey
    key_storage: str | None = None
    """The place of the key that vouched for the evidence."""

    @property
    def status(self) -> Tier:
        """The worst of the statuses, which decides; a result has at least one."""
        return max((tier for _, tier in self.statuses), key=rank_tier)

    def find_insufficient_status(self, required: Tier) -> tuple[str, Tier] | None:
        """Return the subject and the tier of the worst status below a required tier.

        Return None if every status is sufficient.
        """
        insufficient = [
            (subject, tier)
            for subject, tier in self.statuses
            if not is_tier_sufficient(tier, required)
        ]
        return max(insufficient, key=lambda item: rank_tier(item[1]), default=None)


def encode_signed_result(
    appraisal: Appraisal, signer: Signer, issued_at: int, validity: int, *, as_jwt: bool = False
) -> bytes:
    """Return the result of an appraisal as a signed CWT, or as a JWT if `as_jwt` is true.

    It expires `validity` seconds after `issued_at`.

    Raises:
        UsageError: the key cannot sign a JWT.
    """
    module: dict[Any, Any] = {
        EAR_STATUS: appraisal.status.value,
        EAR_VECTOR: {TRUST_VECTOR_CLAIMS[name]: value for name, value in appraisal.vector.items()},
        EAR_POLICY_IDS: [appraisal.policy],
        EAT_NONCE: appraisal.nonce,
        CLAIM_RECORD: [NAMED_INFO_SHA256, appraisal.record],
    }
    if appraisal.journal is not None:
        module[CLAIM_JOURNAL] = appraisal.journal
    if appraisal.key_storage is not None:
        module[CLAIM_KEY_STORAGE] = appraisal.key_storage
    claims = {
        EAT_PROFILE: EAR_PROFILE,
        EAT_IAT: issued_at,
        EAT_EXP: issued_at + validity,
        EAR_VERIFIER_ID: {0: EAR_DEVELOPER, 1: f"vacr {__version__}"},
        EAR_STATUS: appraisal.status.value,
        EAT_SUBMODS: {EAR_SUBMODULE: module},
    }
    return sign_jwt(build_json_claims(claims), signer) if as_jwt else sign_cwt(claims, signer)


def decode_signed_result(data: bytes, trusted: Sequence[PublicKey]) -> AttestationResult:
    """Decode a result, and check that a trusted verifier signed it; its expiry is not checked.

    Raises:
        InvalidStatement: the result is malformed, or no trusted verifier signed it.
    """
    token = parse_jwt(data) if looks_like_jwt(data) else parse_cwt(data)
    verifier = _find_result_signer(token, trusted)
    claims = parse_json_claims(token.claims) if isinstance(token, JsonToken) else token.claims
    try:
        return _parse_result_claims(claims, verifier)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "the attestation result is malformed", reason="result-malformed"
        ) from error


def _find_result_signer(token: CborToken | JsonToken, trusted: Sequence[PublicKey]) -> PublicKey:
    """Return the trusted key that signed a token, or raise InvalidStatement if none did."""
    for key in trusted:
        try:
            token.check(key)
        except InvalidStatement:
            continue
        return key
    raise InvalidStatement(
        "the attestation result is not signed by a trusted verifier",
        reason="verifier-untrusted",
        hint="Add --verifier-key with the verifier's public key.",
    )


def _parse_result_claims(claims: dict[Any, Any], verifier: PublicKey) -> AttestationResult:
    """Parse the claims of a result by their CBOR labels; `verifier` is the key that signed them.

    Raises:
        InvalidStatement: the profile is unknown.
        LookupError, TypeError, ValueError, AttributeError: the claims are malformed.
    """
    if claims[EAT_PROFILE] != EAR_PROFILE:
        raise InvalidStatement(
            f"the attestation result has the unknown profile {claims[EAT_PROFILE]!r}",
            reason="profile",
        )
    module = claims[EAT_SUBMODS][EAR_SUBMODULE]
    statuses = _parse_statuses(claims)
    vector = _parse_vector(module[EAR_VECTOR])
    algorithm, record = module[CLAIM_RECORD]
    nonce = module[EAT_NONCE]
    if (
        algorithm != NAMED_INFO_SHA256
        or not isinstance(record, bytes)
        or not isinstance(nonce, bytes)
    ):
        raise ValueError("a digest or a nonce has the wrong type")
    issued, expires = claims[EAT_IAT], claims.get(EAT_EXP)
    numbers = (issued, *([] if expires is None else [expires]))
    if not all(type(number) is int for number in numbers):
        raise ValueError("a number has the wrong type")
    storage = module.get(CLAIM_KEY_STORAGE)
    if storage not in (None, KEY_STORAGE_SOFTWARE, KEY_STORAGE_TPM):
        raise ValueError("unknown key storage")
    return AttestationResult(
        statuses=statuses,
        vector=vector,
        record=record,
        nonce=nonce,
        journal=module.get(CLAIM_JOURNAL),
        policies=tuple(map(str, module.get(EAR_POLICY_IDS, []))),
        issued_at=issued,
        expires_at=expires,
        verifier=verifier,
        key_storage=storage,
    )


def _parse_statuses(claims: dict[Any, Any]) -> tuple[tuple[str, Tier], ...]:
    """Return what each status in the claims of a result is about, and its tier; ours comes first.

    Raises:
        InvalidStatement: a submodule has no status, or one that is unknown or better than its
            vector allows, or a verdict has a name instead of a label.
        LookupError, TypeError, ValueError, AttributeError: the claims are malformed.
    """
    _refuse_named_verdicts(claims)
    statuses = [
        (f"the submodule {name!r}", _parse_submodule_status(name, module))
        for name, module in _list_submodules(claims[EAT_SUBMODS])
    ]
    if EAR_STATUS in claims:
        subject = "the overall status"
        statuses.append((subject, _parse_tier(claims[EAR_STATUS], subject)))
    if EAR_VECTOR in claims:
        worst = find_worst_value(_parse_vector(claims[EAR_VECTOR]).values())
        statuses.append(("the overall trust vector", get_tier(worst)))
    ranks = {f"the submodule {EAR_SUBMODULE!r}": 0, "the overall status": 1}
    return tuple(sorted(statuses, key=lambda status: ranks.get(status[0], len(ranks))))


def _refuse_named_verdicts(claims: dict[Any, Any]) -> None:
    """Refuse verdicts under the names of JSON in claims by label.

    Ignoring them as unknown claims could ignore a worse verdict.

    Raises:
        InvalidStatement: there is one.
    """
    names = _OLD_JSON_NAMES | {
        EAR_JSON_NAMES[claim] for claim in (EAR_STATUS, EAR_VECTOR, EAT_SUBMODS)
    }
    for name in sorted(names & claims.keys()):
        raise InvalidStatement(
            f"the attestation result is malformed: {name} is not the label of a claim",
            reason="result-malformed",
        )


def _list_submodules(modules: dict[Any, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return all submodules with their names; an inner one has a name such as `outer/inner`."""
    submodules = []
    for name, module in modules.items():
        submodules.append((f"{prefix}{name}", module))
        if isinstance(module, dict) and EAT_SUBMODS in module:
            submodules += _list_submodules(module[EAT_SUBMODS], f"{prefix}{name}/")
    return submodules


def _parse_submodule_status(name: str, module: Any) -> Tier:
    """Return the status of a submodule, which its vector must allow.

    Without a vector, every status is allowed.

    Raises:
        InvalidStatement: the status is missing, unknown or better than the vector allows, or the
            vector is malformed.
    """
    subject = f"the submodule {name!r}"
    if not isinstance(module, dict) or EAR_STATUS not in module:
        raise InvalidStatement(
            f"the attestation result is malformed: {subject} has no status",
            reason="result-malformed",
        )
    _refuse_named_verdicts(module)
    status = _parse_tier(module[EAR_STATUS], subject)
    try:
        vector = _parse_vector(module.get(EAR_VECTOR, {}))
        worst = get_tier(find_worst_value(vector.values()))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            f"the attestation result is malformed: cannot read the trust vector of {subject}",
            reason="result-malformed",
        ) from error
    # NONE promises nothing, so no vector contradicts it.
    if status is not Tier.NONE and status < worst:
        raise InvalidStatement(
            f"the attestation result contradicts itself: {subject} is {status.label}, but its "
            f"trust vector is {worst.label}",
            reason="result-malformed",
        )
    return status


def _parse_tier(value: Any, subject: str) -> Tier:
    """Return the tier of a status; `subject` is what it is about.

    Raises:
        InvalidStatement: the value is not a tier.
    """
    if type(value) is not int or value not in set(Tier):
        raise InvalidStatement(
            f"the attestation result is malformed: {subject} has the unknown tier {value!r}",
            reason="result-malformed",
        )
    return Tier(value)


def _parse_vector(vector: dict[Any, Any]) -> dict[str, int]:
    """Return the values of a trust vector by the names of its claims.

    Raises:
        LookupError, ValueError, AttributeError: the vector is malformed.
    """
    names = {number: name for name, number in TRUST_VECTOR_CLAIMS.items()}
    if not all(type(number) is int for item in vector.items() for number in item):
        raise ValueError("a label or a value in the trust vector is not an integer")
    return {names[number]: value for number, value in vector.items()}


def describe_result(result: AttestationResult, name: str = "") -> str:
    """Return a line about a result: its tier, its verifier, the vector, and the trust basis.

    `name` is the verifier's name in the trust store, or empty.
    """
    key = f"verifier {compute_thumbprint(result.verifier).hex()[:16]}"
    verifier = f"{name}, {key}" if name else key
    values = ", ".join(f"{name} {value}" for name, value in result.vector.items())
    caveat = describe_storage_caveat(result.key_storage, result.vector)
    return f"{result.status.label} by {verifier} ({values or 'no details'}){caveat}"


def describe_storage_caveat(storage: str | None, vector: dict[str, int]) -> str:
    """Return a text about the key that vouches for evidence, if hardware is not affirmed.

    For example, `; signed by a key in software, without hardware`. The text is empty if hardware
    is affirmed. `storage` is the place of the key, or None if unknown.
    """
    if get_tier(vector.get("hardware", TRUST_NO_CLAIM)) is Tier.AFFIRMING:
        return ""
    return f"; {_KEY_STORAGE_CAVEATS.get(storage, 'no claim about hardware')}"


def build_json_claims(claims: dict[int, Any]) -> dict[str, Any]:
    """Convert the claims of a result from CBOR labels and values to JSON names and values.

    For example, `{6: 0}` becomes `{"iat": 0}`.
    """
    return {
        EAR_JSON_NAMES[label]: _build_json_claim(label, value) for label, value in claims.items()
    }


def _build_json_claim(label: int, value: Any) -> Any:
    """Convert the value of a claim for JSON; most values stay the same.

    `label` is the CBOR label of the claim.
    """
    build = _JSON_CLAIM_BUILDERS.get(label)
    return value if build is None else build(value)


def _build_json_vector(vector: dict[int, int]) -> dict[str, int]:
    """Return a trust vector with the names of its claims instead of their numbers.

    Unknown numbers are left out.
    """
    return {
        name: vector[number] for name, number in TRUST_VECTOR_CLAIMS.items() if number in vector
    }


def _build_json_journal(journal: dict[str, Any]) -> dict[str, Any]:
    """Return a journal head for JSON, with its hashes in base64url."""
    return {
        name: encode_base64url(item) if isinstance(item, bytes) else item
        for name, item in journal.items()
    }


_JSON_CLAIM_BUILDERS: dict[int, Callable[[Any], Any]] = {
    EAR_STATUS: lambda value: Tier(value).label,
    EAR_VECTOR: _build_json_vector,
    EAR_VERIFIER_ID: lambda value: {
        _VERIFIER_ID_MEMBERS[number]: text for number, text in value.items()
    },
    EAT_NONCE: encode_base64url,
    CLAIM_RECORD: lambda value: [_JSON_HASH_NAME, encode_base64url(value[1])],
    CLAIM_JOURNAL: _build_json_journal,
    EAT_SUBMODS: lambda value: {name: build_json_claims(module) for name, module in value.items()},
}


def parse_json_claims(claims: dict[str, Any]) -> dict[int, Any]:
    """Convert the claims of a result from JSON names and values to CBOR labels and values.

    Claims with unknown names are left out, and so are the claims of other submodules than ours,
    except for their statuses.

    Raises:
        InvalidStatement: a claim is malformed.
    """
    labels = {name: label for label, name in EAR_JSON_NAMES.items()}
    _refuse_old_names(claims)
    try:
        return {
            labels[name]: _parse_json_claim(labels[name], value)
            for name, value in claims.items()
            if name in labels
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "the attestation result is malformed", reason="result-malformed"
        ) from error


def _refuse_old_names(claims: dict[str, Any]) -> None:
    """Raise InvalidStatement if a status or a vector has the name of an older draft.

    Ignoring it as an unknown claim could ignore a verdict.
    """
    for name in _OLD_JSON_NAMES & claims.keys():
        raise InvalidStatement(
            f"the attestation result is malformed: {name} is the name of a claim in an older draft",
            reason="result-malformed",
        )


def _parse_json_claim(label: int, value: Any) -> Any:
    """Convert the value of a claim from JSON; most values stay the same.

    `label` is the CBOR label of the claim.
    """
    parse = _JSON_CLAIM_PARSERS.get(label)
    return value if parse is None else parse(value)


def _parse_json_status(value: Any) -> int | str:
    """Return the number of a tier; an unknown value becomes text, and is refused later."""
    tier = TIERS_BY_LABEL.get(value) if isinstance(value, str) else None
    return str(value) if tier is None else tier.value


def _parse_json_vector(value: Any) -> Any:
    """Return a trust vector by numbers; unknown names stay as they are, and are refused later."""
    if not isinstance(value, dict):
        return value
    return {TRUST_VECTOR_CLAIMS.get(name, name): item for name, item in value.items()}


def _parse_json_submodules(value: Any) -> dict[str, Any]:
    """Return the submodules with ours converted from JSON, and of others only their statuses."""
    return {
        name: parse_json_claims(module) if name == EAR_SUBMODULE else _parse_json_foreign(module)
        for name, module in value.items()
    }


def _parse_json_foreign(module: Any) -> Any:
    """Convert what counts of a foreign submodule: its status, vector and own submodules."""
    if not isinstance(module, dict):
        return module
    _refuse_old_names(module)
    labels = (EAR_STATUS, EAR_VECTOR, EAT_SUBMODS)
    kept = {EAR_JSON_NAMES[label]: label for label in labels}
    return {
        kept[name]: _parse_json_claim(kept[name], value)
        for name, value in module.items()
        if name in kept
    }


def _parse_json_verifier_id(value: Any) -> dict[int, Any]:
    """Return the verifier's id by CBOR labels."""
    return {number: value[name] for number, name in _VERIFIER_ID_MEMBERS.items() if name in value}


def _parse_json_record(value: Any) -> list[Any]:
    """Return the digest of a record from JSON, with its hash as bytes."""
    name, digest = value
    algorithm = NAMED_INFO_SHA256 if name == _JSON_HASH_NAME else name
    return [algorithm, decode_base64url(digest)]


def _parse_json_journal(value: Any) -> dict[str, Any]:
    """Return a journal head from JSON, with its hashes as bytes."""
    return {
        "identity": decode_base64url(value["identity"]),
        "frames": value["frames"],
        "head": decode_base64url(value["head"]),
    }


_JSON_CLAIM_PARSERS: dict[int, Callable[[Any], Any]] = {
    EAR_STATUS: _parse_json_status,
    EAR_VECTOR: _parse_json_vector,
    EAR_VERIFIER_ID: _parse_json_verifier_id,
    EAT_NONCE: decode_base64url,
    CLAIM_RECORD: _parse_json_record,
    CLAIM_JOURNAL: _parse_json_journal,
    EAT_SUBMODS: _parse_json_submodules,
}
