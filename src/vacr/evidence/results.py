"""How far something is trusted: tiers, and the values behind them. Step: appraise. Follows
draft-ietf-rats-ar4si-09, section 2.3.

A value from 2 to 31 affirms, from 32 to 95 warns, from 96 on contraindicates; the negative ones do
the same for reasons that no standard has. 0, 1 and -1 say nothing.

What a verifier found, check by check, and what follows from it. Step: appraise.

The claims of a result in JSON: numbers ⇄ names. Step: appraise. Follows draft-ietf-rats-ear-03,
section 3.2.

Attestation results: what a verifier found, signed. Step: appraise. Follows
draft-ietf-rats-ear-03.

A result holds one appraisal, under the name `vacr`. Beside the status and the vector it names the
record that the evidence was about, and the journal's head, so that it cannot be shown for another
record. As a CWT claims have numbers, as a JWT names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """How far something is trusted; the numbers are those of results."""

    NONE = 0
    AFFIRMING = 2
    WARNING = 32
    CONTRAINDICATED = 96

    @property
    def label(self) -> str:
        """The name of the tier in results and on the command line."""
        return self.name.lower()


TIERS_BY_LABEL = {tier.label: tier for tier in Tier}

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

# Values that the draft has.
TRUST_NO_CLAIM, TRUST_APPROVED, TRUST_BOOT_APPROVED = 0, 2, 3
TRUST_UNRECOGNISED_FILES, TRUST_UNATTESTED = 32, 32
TRUST_REFUSED, TRUST_NOT_RECOGNISED, TRUST_NOT_VALIDATED = 96, 97, 99
# Values of ours.
TRUST_KEY_IN_SOFTWARE, TRUST_CONFIGURATION_UNKNOWN, TRUST_CONFIGURATION_CHANGED = -33, -33, -97

_MIN_TRUST_VALUE, _MAX_TRUST_VALUE = -128, 127


def get_tier(value: int) -> Tier:
    """Give the tier of a value.

    Raises:
        ValueError: no claim has such a value.
    """
    if not _MIN_TRUST_VALUE <= value <= _MAX_TRUST_VALUE:
        raise ValueError("a value outside of its range")
    if value in (-1, 0, 1):
        return Tier.NONE
    size = value if value > 0 else -value - 1
    if size < Tier.WARNING:
        return Tier.AFFIRMING
    return Tier.WARNING if size < Tier.CONTRAINDICATED else Tier.CONTRAINDICATED


def find_worst_value(values: Iterable[int]) -> int:
    """Give the value that stands for several: of the worst tier, one that a standard has before one
    of ours.
    """
    return max(
        values, key=lambda value: (get_tier(value), value > 0, abs(value)), default=TRUST_NO_CLAIM
    )


def is_tier_sufficient(found: Tier, wanted: Tier) -> bool:
    """Tell whether a tier is no worse than another; that nothing is said is never enough."""
    return found is not Tier.NONE and found <= wanted


@dataclass(frozen=True, slots=True)
class AppraisalCheck:
    """One check: the claim of the vector that it is about, the value it gives, and what
    was found.
    """

    name: str
    claim: str
    value: int
    told: str
    reason: str = ""
    decided: bool = True
    """Whether anything was compared: what is only said, or is missing, is not."""
    stands: bool = False
    """Whether it holds by itself, whatever else is wrong: as a signature does."""

    @property
    def tier(self) -> Tier:
        """How far what was found is trusted."""
        return get_tier(self.value)


@dataclass(slots=True)
class Appraisal:
    """The result of an appraisal."""

    policy: str
    nonce: bytes
    record: bytes
    journal: dict[str, Any] | None
    checks: list[AppraisalCheck] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    """What else is worth knowing, such as the counters of the TPM; none of it is in the result."""
    bound: bool = True
    """Whether the evidence is authentic, fresh, and about what was asked for."""
    key_storage: str | None = None
    """Where the key is that vouches for the evidence, once that is known to be so."""

    def found(
        self,
        name: str,
        claim: str,
        value: int,
        told: str,
        reason: str = "",
        *,
        stands: bool = False,
    ) -> None:
        """Add what a check found."""
        self.checks.append(AppraisalCheck(name, claim, value, told, reason, stands=stands))

    def undecided(self, name: str, claim: str, told: str) -> None:
        """Add what is said or missing, and cannot be compared with anything."""
        self.checks.append(AppraisalCheck(name, claim, TRUST_NO_CLAIM, told, decided=False))

    def unbound(self, name: str, told: str, reason: str) -> None:
        """Add a check that leaves nothing of the evidence to be believed."""
        self.bound = False
        self.found(name, "instance-identity", TRUST_NOT_VALIDATED, told, reason)

    def settle(self) -> None:
        """Take back what was found good, where nobody who is known stands behind it; that is so
        when all checks are made.
        """
        stranger = (
            get_tier(
                find_worst_value(
                    one.value for one in self.checks if one.claim == "instance-identity"
                )
            )
            is Tier.CONTRAINDICATED
        )
        if self.bound and not stranger:
            return
        self.key_storage = None
        for at, one in enumerate(self.checks):
            if one.tier <= Tier.AFFIRMING and one.decided and not one.stands:
                self.checks[at] = replace(
                    one, value=TRUST_NO_CLAIM, told=f"{one.told}; not proven", decided=False
                )

    @property
    def vector(self) -> dict[str, int]:
        """The worst value of each claim; all are invalid where the evidence is not authentic, not
        fresh, or of something else.
        """
        claims = {check.claim for check in self.checks}
        if not self.bound:
            return dict.fromkeys(
                (claim for claim in TRUST_VECTOR_CLAIMS if claim in claims), TRUST_NOT_VALIDATED
            )
        vector = {
            name: find_worst_value(one.value for one in self.checks if one.claim == name)
            for name in TRUST_VECTOR_CLAIMS
            if name in claims
        }
        # That no hardware vouches for it is said, and not left to be noticed by what is missing.
        return {
            name: value
            for name, value in vector.items()
            if value != TRUST_NO_CLAIM or name == "hardware"
        }

    @property
    def status(self) -> Tier:
        """The worst tier of the vector; nothing is affirmed of a recorder whose files were not
        compared with anything.
        """
        vector = self.vector
        status = get_tier(find_worst_value(vector.values()))
        if (
            status is Tier.AFFIRMING
            and get_tier(vector.get("file-system", TRUST_NO_CLAIM)) is not Tier.AFFIRMING
        ):
            return Tier.NONE
        return status

    @property
    def worst_check(self) -> AppraisalCheck | None:
        """The first of the checks that made the status what it is; none where all is affirmed."""
        bad = [check for check in self.checks if check.tier > Tier.AFFIRMING]
        return max(bad, key=lambda check: check.tier, default=None)


_JSON_HASH_NAME = "sha-256"
_VERIFIER_ID_MEMBERS = {0: "developer", 1: "build"}


def build_json_claims(claims: dict[int, Any]) -> dict[str, Any]:
    """Write the claims of a result by their names."""
    return {
        EAR_JSON_NAMES[label]: _build_json_claim(label, value) for label, value in claims.items()
    }


def _build_json_claim(label: int, value: Any) -> Any:
    match label:
        case _ if label == EAR_STATUS:
            return Tier(value).label
        case _ if label == EAR_VECTOR:
            return {
                name: value[number]
                for name, number in TRUST_VECTOR_CLAIMS.items()
                if number in value
            }
        case _ if label == EAR_VERIFIER_ID:
            return {_VERIFIER_ID_MEMBERS[number]: text for number, text in value.items()}
        case _ if label == EAT_NONCE:
            return encode_base64url(value)
        case _ if label == CLAIM_RECORD:
            return [_JSON_HASH_NAME, encode_base64url(value[1])]
        case _ if label == CLAIM_JOURNAL:
            return {
                name: encode_base64url(item) if isinstance(item, bytes) else item
                for name, item in value.items()
            }
        case _ if label == EAT_SUBMODS:
            return {name: build_json_claims(module) for name, module in value.items()}
    return value


def parse_json_claims(claims: dict[str, Any]) -> dict[int, Any]:
    """Read claims that have names; those that are not known are left out.

    Raises:
        InvalidStatement: one of them cannot be what it is named.
    """
    known = {name: label for label, name in EAR_JSON_NAMES.items()}
    try:
        return {
            known[name]: _parse_json_claim(known[name], value)
            for name, value in claims.items()
            if name in known
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "a result of another form than it has to be", reason="result-malformed"
        ) from error


def _parse_json_claim(label: int, value: Any) -> Any:
    match label:
        case _ if label == EAR_STATUS:
            return TIERS_BY_LABEL[value].value
        case _ if label == EAR_VECTOR:
            return {TRUST_VECTOR_CLAIMS[name]: item for name, item in value.items()}
        case _ if label == EAR_VERIFIER_ID:
            return {
                number: value[name]
                for number, name in _VERIFIER_ID_MEMBERS.items()
                if name in value
            }
        case _ if label == EAT_NONCE:
            return decode_base64url(value)
        case _ if label == CLAIM_RECORD:
            name, digest = value
            return [
                NAMED_INFO_SHA256 if name == _JSON_HASH_NAME else name,
                decode_base64url(digest),
            ]
        case _ if label == CLAIM_JOURNAL:
            return {
                "identity": decode_base64url(value["identity"]),
                "frames": value["frames"],
                "head": decode_base64url(value["head"]),
            }
        case _ if label == EAT_SUBMODS:
            return {name: parse_json_claims(module) for name, module in value.items()}
    return value


EAR_SUBMODULE = "vacr"
EAR_DEVELOPER = "vacr"
"""Who made the verifier, and which of its builds it is: `ear_verifier_id`."""
_KEY_STORAGE_CAVEATS: dict[str | None, str] = {
    KEY_STORAGE_SOFTWARE: "the weaker claim of a key in software",
    KEY_STORAGE_TPM: "by a TPM that nothing shows to be a chip",
}


@dataclass(frozen=True, slots=True)
class AttestationResult:
    """A result that somebody who is trusted signed."""

    status: Tier
    vector: dict[str, int]
    record: bytes
    nonce: bytes
    journal: dict[str, Any] | None
    policies: tuple[str, ...]
    issued_at: int
    expires_at: int | None
    verifier: PublicKey
    key_storage: str | None = None
    """Where the key is that vouched for the evidence."""


def encode_signed_result(
    appraisal: Appraisal, signer: Signer, issued_at: int, validity: int, *, as_jwt: bool = False
) -> bytes:
    """Write the result of an appraisal, and sign it.

    Raises:
        UsageError: a JWT cannot be signed by such a key.
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
    """Read a result, and check that a verifier who is trusted signed it; whether it holds now is
    not checked.

    Raises:
        InvalidStatement: it is no result, or nobody who is trusted signed it.
    """
    token = parse_jwt(data) if looks_like_jwt(data) else parse_cwt(data)
    verifier = _find_result_signer(token, trusted)
    claims = parse_json_claims(token.claims) if isinstance(token, JsonToken) else token.claims
    try:
        return _parse_result_claims(claims, verifier)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "a result of another form than it has to be", reason="result-malformed"
        ) from error


def _find_result_signer(token: CborToken | JsonToken, trusted: Sequence[PublicKey]) -> PublicKey:
    for key in trusted:
        try:
            token.check(key)
        except InvalidStatement:
            continue
        return key
    told = "no verifier who is trusted signed the result"
    raise InvalidStatement(
        told, reason="verifier-untrusted", hint="Name the verifier's public key."
    )


def _parse_result_claims(claims: dict[Any, Any], verifier: PublicKey) -> AttestationResult:
    if claims[EAT_PROFILE] != EAR_PROFILE:
        raise InvalidStatement(f"a result of the profile {claims[EAT_PROFILE]!r}", reason="profile")
    module = claims[EAT_SUBMODS][EAR_SUBMODULE]
    numbers = {number: name for name, number in TRUST_VECTOR_CLAIMS.items()}
    vector = {numbers[number]: value for number, value in module[EAR_VECTOR].items()}
    status, (algorithm, record) = Tier(module[EAR_STATUS]), module[CLAIM_RECORD]
    nonce, journal, policies = (
        module[EAT_NONCE],
        module.get(CLAIM_JOURNAL),
        module.get(EAR_POLICY_IDS, []),
    )
    issued, expires = claims[EAT_IAT], claims.get(EAT_EXP)
    if (
        algorithm != NAMED_INFO_SHA256
        or not isinstance(record, bytes)
        or not isinstance(nonce, bytes)
    ):
        raise ValueError("a digest or a nonce of another type")
    if not all(
        type(value) is int
        for value in (issued, *vector.values(), *([] if expires is None else [expires]))
    ):
        raise ValueError("a number of another type")
    if status is not Tier.NONE and status < get_tier(find_worst_value(vector.values())):
        raise ValueError("a status that is better than the vector allows")
    storage = module.get(CLAIM_KEY_STORAGE)
    if storage not in (None, KEY_STORAGE_SOFTWARE, KEY_STORAGE_TPM):
        raise ValueError("a place for the key that is not known")
    return AttestationResult(
        status,
        vector,
        record,
        nonce,
        journal,
        tuple(map(str, policies)),
        issued,
        expires,
        verifier,
        storage,
    )


def describe_result(result: AttestationResult) -> str:
    """Say what a result says, in a line."""
    values = ", ".join(f"{name} {value}" for name, value in result.vector.items())
    by = f"{result.status.label} by verifier {compute_thumbprint(result.verifier).hex()[:16]}"
    return f"{by} ({values or 'nothing else said'}){describe_storage_caveat(result.key_storage, result.vector)}"


def describe_storage_caveat(storage: str | None, vector: dict[str, int]) -> str:
    """Say how much less than hardware vouches; nothing where hardware is affirmed."""
    if get_tier(vector.get("hardware", TRUST_NO_CLAIM)) is Tier.AFFIRMING:
        return ""
    return f"; {_KEY_STORAGE_CAVEATS.get(storage, 'nothing is said of hardware')}"
