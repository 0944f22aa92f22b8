"""What evidence is appraised by, in files: a policy in TOML, and the keys and reference values that
it names beside itself.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput
from vacr.evidence.attester import Component
from vacr.evidence.endorsement import get_endorsed_key_name
from vacr.evidence.messages import BARE_FORMS, WRAPPED_FORMS, parse_messages
from vacr.evidence.tokens import EVIDENCE_PROFILE
from vacr.evidence.verifier import (
    DEFAULT_MAXIMUM_AGE,
    DEFAULT_RESULT_VALIDITY,
    REQUIRABLE_CLAIMS,
    AppraisalPolicy,
    decode_reference_values,
)
from vacr.files import read_bytes
from vacr.signing import PublicKey, parse_public_keys, read_trust_file

EVIDENCE_SUFFIX, RESULT_SUFFIX, PASSPORT_SUFFIX = ".evidence", ".result", ".passport"
"""What the names of evidence, of results and of both in one end in, beside the file they are about;
then their form follows.
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
_POLICY_HINT = "docs/evidence.md shows a policy."
_TYPE_DESCRIPTIONS = {
    str: "a text",
    list: "a list of texts",
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
    """Read a policy, and the files it names; their names are relative to its folder.

    Raises:
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: the policy is none, or a file holds something else than it should.
    """
    try:
        said = tomllib.loads(read_trust_file(name).decode())
    except UnicodeDecodeError as error:
        raise UnreadableInput(
            "not a policy in TOML: no text in UTF-8", where=name, hint=_POLICY_HINT
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableInput(
            f"not a policy in TOML: {error}", where=name, hint=_POLICY_HINT
        ) from error
    _check_policy_rules(said, name)
    try:
        return _build_policy(said, name)
    except (Unreachable, UnreadableInput) as error:
        if error.where != name:
            # Whoever wrote the command did not name this file.
            error.hint = f"{name} names it. {error.hint}".rstrip()
        raise


def _build_policy(said: dict[str, Any], name: str) -> AppraisalPolicy:
    folder = Path(name).parent
    signed_by, endorsers = (
        _load_policy_keys(said, "reference-keys", folder),
        _load_policy_keys(said, "endorser-keys", folder),
    )
    return AppraisalPolicy(
        id=said["id"],
        references=tuple(
            one
            for path in said.get("references", ())
            for one in load_reference_values(folder / path, signed_by)
        ),
        attester_keys=_load_policy_keys(said, "attester-keys", folder),
        attestation_keys=_load_policy_keys(said, "attestation-keys", folder),
        endorsed=frozenset(
            name
            for path in said.get("endorsements", ())
            for name in _load_endorsed_keys(folder / path, endorsers)
        ),
        endorser_keys=endorsers,
        software_is_enough=said.get("software-is-enough", False),
        profiles=frozenset(said.get("profiles", (EVIDENCE_PROFILE,))),
        versions=frozenset(said.get("versions", ())),
        required=frozenset(said.get("required", ())),
        maximum_age=said.get("maximum-age", DEFAULT_MAXIMUM_AGE),
        result_validity=said.get("result-validity", DEFAULT_RESULT_VALIDITY),
        pcrs=_parse_pcrs(said.get("pcrs", {}), name),
    )


def load_reference_values(path: Path, signed_by: tuple[PublicKey, ...] = ()) -> list[Component]:
    """Read reference values.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds something else, or nobody who is trusted signed it.
    """
    try:
        data = read_bytes(path, _MAX_REFERENCE_SIZE)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=str(path), hint=error.hint) from error
    try:
        return decode_reference_values(data, signed_by)
    except InvalidStatement as error:
        hint = "vacr attest --reference makes reference values."
        raise UnreadableInput(error.message, where=str(path), hint=hint) from error


def _load_endorsed_keys(path: Path, endorsers: tuple[PublicKey, ...]) -> list[bytes]:
    """Give the names of the attestation keys that are endorsed in a file."""
    found = load_endorsements(str(path))
    try:
        return [get_endorsed_key_name(one, endorsers) for one in found]
    except InvalidStatement as error:
        raise UnreadableInput(
            error.message,
            where=str(path),
            hint="The policy names who may endorse by endorser-keys.",
        ) from error


def load_endorsements(name: str) -> tuple[bytes, ...]:
    """Read endorsements, whose signatures are not checked yet.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds none.
    """
    hint = "vacr endorse makes endorsements."
    try:
        found = parse_messages(read_trust_file(name)).endorsements
    except InvalidStatement as error:
        raise UnreadableInput(f"no endorsement: {error.message}", where=name, hint=hint) from error
    if not found:
        raise UnreadableInput("there is no endorsement in it", where=name, hint=hint)
    return found


def load_trusted_keys(path: str | Path) -> list[PublicKey]:
    """Read public keys.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: there are none in it.
    """
    try:
        return parse_public_keys(read_trust_file(str(path)))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def find_evidence_beside(file: str, *, results: bool) -> str | None:
    """Give the evidence, or the result, that lies beside a file."""
    endings = _RESULT_ENDINGS if results else _EVIDENCE_ENDINGS
    return next((file + ending for ending in endings if Path(file + ending).is_file()), None)


def _load_policy_keys(said: dict[str, Any], member: str, folder: Path) -> tuple[PublicKey, ...]:
    return tuple(key for path in said.get(member, ()) for key in load_trusted_keys(folder / path))


def _check_policy_rules(said: dict[str, Any], name: str) -> None:
    """Refuse what is not understood: a rule that is misspelt would not be a rule."""
    for member, value in said.items():
        if member not in _RULE_TYPES:
            raise UnreadableInput(
                f"{member} is no rule of a policy",
                where=name,
                hint=f"Known: {', '.join(_RULE_TYPES)}.",
            )
        if not _has_rule_type(value, _RULE_TYPES[member]):
            raise UnreadableInput(
                f"{member} has to be {_TYPE_DESCRIPTIONS[_RULE_TYPES[member]]}",
                where=name,
                hint=_POLICY_HINT,
            )
    if not said.get("id"):
        raise UnreadableInput(
            "the policy has no id, which results name it by", where=name, hint=_POLICY_HINT
        )
    for member in ("maximum-age", "result-validity"):
        if said.get(member) == 0:
            hint = f"Leave {member} out, or give a number above 0."
            raise UnreadableInput(
                f"{member} is 0: nothing would ever be new enough", where=name, hint=hint
            )
    for one in said.get("required", ()):
        if one not in REQUIRABLE_CLAIMS:
            raise UnreadableInput(
                f"{one} cannot be required",
                where=name,
                hint=f"Known: {', '.join(REQUIRABLE_CLAIMS)}.",
            )


def _has_rule_type(value: Any, wanted: type) -> bool:
    if type(value) is not wanted:
        return False
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return not isinstance(value, int) or value >= 0


def _parse_pcrs(said: dict[str, Any], name: str) -> dict[int, frozenset[bytes]]:
    found = {}
    for register, value in said.items():
        accepted = value if isinstance(value, list) else [value]
        if not register.isascii() or not register.isdigit() or int(register) > _LAST_PCR:
            raise UnreadableInput(
                f"pcrs: {register} is no register",
                where=name,
                hint=f"The registers are 0 to {_LAST_PCR}.",
            )
        if not accepted or not all(
            isinstance(one, str) and _SHA256_HEX.fullmatch(one) for one in accepted
        ):
            raise UnreadableInput(
                f"pcrs: {register} is no SHA-256 in hexadecimal",
                where=name,
                hint="tpm2 pcrread sha256 shows them.",
            )
        found[int(register)] = frozenset(map(bytes.fromhex, accepted))
    return found
