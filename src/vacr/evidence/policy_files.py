"""Appraisal policies in files: a policy in TOML, and the keys and reference values that it names.

>>> from pathlib import Path
>>> from vacr.evidence import load_appraisal_policy
>>> _ = Path("policy.toml").write_text("id = 'example'")
>>> policy = load_appraisal_policy("policy.toml")
>>> policy.id, policy.maximum_age, policy.attester_keys    # trusts no attester
('example', 3600, ())
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput
from vacr.evidence.measurements import Component, decode_reference_values
from vacr.evidence.messages import BARE_FORMS, WRAPPED_FORMS, parse_messages
from vacr.evidence.tokens import EVIDENCE_PROFILE
from vacr.evidence.verifier import (
    DEFAULT_MAXIMUM_AGE,
    DEFAULT_RESULT_VALIDITY,
    REQUIRABLE_CLAIMS,
    AppraisalPolicy,
)
from vacr.files import read_bytes
from vacr.signing import PublicKey, parse_public_keys, read_trust_file

EVIDENCE_SUFFIX, RESULT_SUFFIX, PASSPORT_SUFFIX = ".evidence", ".result", ".passport"
"""The suffixes of evidence, results and both together, after the name of the file they are about.

The form of the message follows, as in `record.json.evidence.cbor`.
"""
_EVIDENCE_ENDINGS = [
    f"{name}.{form}" for name in (EVIDENCE_SUFFIX, PASSPORT_SUFFIX) for form in WRAPPED_FORMS
]
_RESULT_ENDINGS = [f"{RESULT_SUFFIX}.{form}" for form in (*WRAPPED_FORMS, *BARE_FORMS)] + [
    f"{PASSPORT_SUFFIX}.{form}" for form in WRAPPED_FORMS
]

_MAX_REFERENCE_SIZE = 1 << 26
_SHA256_HEX = re.compile(r"[0-9A-Fa-f]{64}")
_LAST_PCR = 23
_POLICY_HINT = "docs/evidence.md has an example."
_TYPE_DESCRIPTIONS = {
    str: "a text",
    list: "a list of strings",
    int: "a number of seconds",
    dict: "a table",
    bool: "true or false",
}
_RULE_TYPES: dict[str, type] = {
    "id": str,
    "references": list,
    "reference-keys": list,
    "attester-keys": list,
    "attestation-keys": list,
    "endorsements": list,
    "endorser-keys": list,
    "software-is-enough": bool,
    "profiles": list,
    "versions": list,
    "required": list,
    "maximum-age": int,
    "result-validity": int,
    "pcrs": dict,
}


def load_appraisal_policy(name: str) -> AppraisalPolicy:
    """Load an appraisal policy from a TOML file, with the keys and reference values it names.

    The paths in the policy are relative to its folder.

    Raises:
        Unreachable: the policy, or a file it names, cannot be read.
        UnreadableInput: the policy is malformed, or a file it names has the wrong content.
    """
    try:
        rules = tomllib.loads(read_trust_file(name).decode())
    except UnicodeDecodeError as error:
        raise UnreadableInput(
            "not a TOML policy: not valid UTF-8", where=name, hint=_POLICY_HINT
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableInput(
            f"not a TOML policy: {error}", where=name, hint=_POLICY_HINT
        ) from error
    _check_policy_rules(rules, name)
    try:
        return _build_policy(rules, name)
    except (Unreachable, UnreadableInput) as error:
        if error.where != name:
            # The user did not name this file, so the hint does.
            error.hint = f"The policy {name} names this file. {error.hint}".rstrip()
        raise


def _check_policy_rules(rules: dict[str, Any], name: str) -> None:
    """Check that all rules of a policy are known and well formed; `name` is the policy's file.

    Unknown rules are refused, because a misspelt rule would have no effect.

    Raises:
        UnreadableInput: a rule is unknown or malformed, or the policy has no id.
    """
    for member, value in rules.items():
        if member not in _RULE_TYPES:
            raise UnreadableInput(
                f"the policy has an unknown rule {member}",
                where=name,
                hint=f"Known rules: {', '.join(_RULE_TYPES)}.",
            )
        if not _has_rule_type(value, _RULE_TYPES[member]):
            raise UnreadableInput(
                f"the rule {member} must be {_TYPE_DESCRIPTIONS[_RULE_TYPES[member]]}",
                where=name,
                hint=_POLICY_HINT,
            )
    if not rules.get("id"):
        raise UnreadableInput(
            "the policy has no id; results name the policy by its id", where=name, hint=_POLICY_HINT
        )
    for member in ("maximum-age", "result-validity"):
        if rules.get(member) == 0:
            hint = f"Remove {member}, or set it above 0."
            raise UnreadableInput(
                f"the rule {member} is 0, so everything would be too old", where=name, hint=hint
            )
    for requirement in rules.get("required", ()):
        if requirement not in REQUIRABLE_CLAIMS:
            raise UnreadableInput(
                f"the policy requires an unknown part of evidence: {requirement}",
                where=name,
                hint=f"Known parts: {', '.join(REQUIRABLE_CLAIMS)}.",
            )


def _has_rule_type(value: Any, expected: type) -> bool:
    """Return whether a value has a type; lists must be of texts, and numbers not negative."""
    if type(value) is not expected:
        return False
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return not isinstance(value, int) or value >= 0


def _build_policy(rules: dict[str, Any], name: str) -> AppraisalPolicy:
    """Build the policy from checked rules, and load the files they name."""
    folder = Path(name).parent
    reference_keys = _load_policy_keys(rules, "reference-keys", folder)
    endorser_keys = _load_policy_keys(rules, "endorser-keys", folder)
    return AppraisalPolicy(
        id=rules["id"],
        references=tuple(
            component
            for path in rules.get("references", ())
            for component in load_reference_values(folder / path, reference_keys)
        ),
        attester_keys=_load_policy_keys(rules, "attester-keys", folder),
        attestation_keys=_load_policy_keys(rules, "attestation-keys", folder),
        endorsed=frozenset(
            key_name
            for path in rules.get("endorsements", ())
            for key_name in _load_endorsed_keys(folder / path, endorser_keys)
        ),
        endorser_keys=endorser_keys,
        software_is_enough=rules.get("software-is-enough", False),
        profiles=frozenset(rules.get("profiles", (EVIDENCE_PROFILE,))),
        versions=frozenset(rules.get("versions", ())),
        required=frozenset(rules.get("required", ())),
        maximum_age=rules.get("maximum-age", DEFAULT_MAXIMUM_AGE),
        result_validity=rules.get("result-validity", DEFAULT_RESULT_VALIDITY),
        pcrs=_parse_pcrs(rules.get("pcrs", {}), name),
    )


def _load_policy_keys(rules: dict[str, Any], member: str, folder: Path) -> tuple[PublicKey, ...]:
    """Load the public keys in all files that a rule lists; empty without that rule.

    `member` is the rule; its paths are relative to `folder`.
    """
    return tuple(key for path in rules.get(member, ()) for key in load_trusted_keys(folder / path))


def _parse_pcrs(pcrs: dict[str, Any], name: str) -> dict[int, frozenset[bytes]]:
    """Return the accepted digests of each register, by its number.

    The policy has one digest in hexadecimal for a register, or a list of them.

    Raises:
        UnreadableInput: a register does not exist, or a digest is malformed.
    """
    parsed = {}
    for register, value in pcrs.items():
        accepted = value if isinstance(value, list) else [value]
        if not register.isascii() or not register.isdigit() or int(register) > _LAST_PCR:
            raise UnreadableInput(
                f"the rule pcrs names register {register}, but a TPM has no such register",
                where=name,
                hint=f"The registers are 0 to {_LAST_PCR}.",
            )
        if not accepted or not all(
            isinstance(digest, str) and _SHA256_HEX.fullmatch(digest) for digest in accepted
        ):
            raise UnreadableInput(
                f"the rule pcrs has a value for register {register} that is not a SHA-256 in "
                "hexadecimal",
                where=name,
                hint="To see the values of this TPM: tpm2 pcrread sha256",
            )
        parsed[int(register)] = frozenset(map(bytes.fromhex, accepted))
    return parsed


def load_reference_values(path: Path, trusted: tuple[PublicKey, ...] = ()) -> list[Component]:
    """Return the components in a file of reference values.

    If there are trusted keys, one of them must have signed the values.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it has other content, or no trusted key signed it.
    """
    try:
        data = read_bytes(path, _MAX_REFERENCE_SIZE)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=str(path), hint=error.hint) from error
    try:
        return decode_reference_values(data, trusted)
    except InvalidStatement as error:
        hint = "Create reference values with: vacr evidence attest --reference"
        raise UnreadableInput(error.message, where=str(path), hint=hint) from error


def load_trusted_keys(path: str | Path) -> list[PublicKey]:
    """Return the public keys in a file.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it contains no public key.
    """
    try:
        return parse_public_keys(read_trust_file(str(path)))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def _load_endorsed_keys(path: Path, endorser_keys: tuple[PublicKey, ...]) -> list[bytes]:
    """Return the names of the attestation keys that the endorsements in a file are for.

    Raises:
        UnreadableInput: an endorsement is not signed by one of the endorser keys.
    """
    # Imported here, because only policies for a TPM need it.
    from vacr.evidence.endorsement import get_endorsed_key_name

    endorsements = load_endorsements(str(path))
    try:
        return [get_endorsed_key_name(token, endorser_keys) for token in endorsements]
    except InvalidStatement as error:
        raise UnreadableInput(
            error.message,
            where=str(path),
            hint="Trust the endorser: list its key under endorser-keys in the policy.",
        ) from error


def load_endorsements(name: str) -> tuple[bytes, ...]:
    """Return the endorsement tokens in a file, without verifying their signatures.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it contains no endorsement.
    """
    hint = "Create endorsements with: vacr evidence endorse"
    try:
        endorsements = parse_messages(read_trust_file(name)).endorsements
    except InvalidStatement as error:
        raise UnreadableInput(
            f"not an endorsement: {error.message}", where=name, hint=hint
        ) from error
    if not endorsements:
        raise UnreadableInput("the file contains no endorsement", where=name, hint=hint)
    return endorsements


def find_evidence_file(file: str, *, results: bool) -> str | None:
    """Return the path of the evidence next to a file, or None if it does not exist.

    With `results`, look for a result instead. For `x.json`, evidence is `x.json.evidence.cbor`.
    """
    endings = _RESULT_ENDINGS if results else _EVIDENCE_ENDINGS
    return next((file + ending for ending in endings if Path(file + ending).is_file()), None)
