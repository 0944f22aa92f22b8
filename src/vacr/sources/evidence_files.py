"""What evidence is appraised by, in files: a policy in TOML, and the keys and reference values that
it names beside itself.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, Unreachable, UnreadableInput
from vacr.evidence import messages, reference
from vacr.evidence.components import Component
from vacr.evidence.endorsement import endorsed_key
from vacr.evidence.labels import PROFILE
from vacr.evidence.messages import BARE, WRAPPED
from vacr.evidence.policy import DAY, HOUR, REQUIRABLE, AppraisalPolicy
from vacr.signing import keys
from vacr.signing.algorithms import PublicKey
from vacr.sources.files import read_bytes
from vacr.sources.key_files import trust_bytes

EVIDENCE, RESULT, PASSPORT = ".evidence", ".result", ".passport"
"""What the names of evidence, of results and of both in one end in, beside the file they are about;
then their form follows.
"""
_EVIDENCE = [f"{name}.{form}" for name in (EVIDENCE, PASSPORT) for form in WRAPPED]
_RESULTS = [f"{RESULT}.{form}" for form in (*WRAPPED, *BARE)] + [
    f"{PASSPORT}.{form}" for form in WRAPPED
]

_LARGEST = 1 << 26
_DIGEST = re.compile(r"[0-9A-Fa-f]{64}")
_LAST_PCR = 23
_HINT = "docs/evidence.md shows a policy."
_CALLED = {
    str: "a text",
    list: "a list of texts",
    int: "a number of seconds",
    dict: "a table",
    bool: "true or false",
}
_KNOWN: dict[str, type] = {
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


def load_policy(name: str) -> AppraisalPolicy:
    """Read a policy, and the files it names; their names are relative to its folder.

    Raises:
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: the policy is none, or a file holds something else than it should.
    """
    try:
        said = tomllib.loads(trust_bytes(name).decode())
    except UnicodeDecodeError as error:
        raise UnreadableInput(
            "not a policy in TOML: no text in UTF-8", where=name, hint=_HINT
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableInput(f"not a policy in TOML: {error}", where=name, hint=_HINT) from error
    _check_types(said, name)
    try:
        return _made(said, name)
    except (Unreachable, UnreadableInput) as error:
        if error.where != name:
            # Whoever wrote the command did not name this file.
            error.hint = f"{name} names it. {error.hint}".rstrip()
        raise


def _made(said: dict[str, Any], name: str) -> AppraisalPolicy:
    folder = Path(name).parent
    signed_by, endorsers = (
        _keys(said, "reference-keys", folder),
        _keys(said, "endorser-keys", folder),
    )
    return AppraisalPolicy(
        id=said["id"],
        references=tuple(
            one
            for path in said.get("references", ())
            for one in load_reference(folder / path, signed_by)
        ),
        attester_keys=_keys(said, "attester-keys", folder),
        attestation_keys=_keys(said, "attestation-keys", folder),
        endorsed=frozenset(
            name
            for path in said.get("endorsements", ())
            for name in _endorsed(folder / path, endorsers)
        ),
        endorser_keys=endorsers,
        software_is_enough=said.get("software-is-enough", False),
        profiles=frozenset(said.get("profiles", (PROFILE,))),
        versions=frozenset(said.get("versions", ())),
        required=frozenset(said.get("required", ())),
        maximum_age=said.get("maximum-age", HOUR),
        result_validity=said.get("result-validity", DAY),
        pcrs=_pcrs(said.get("pcrs", {}), name),
    )


def load_reference(path: Path, signed_by: tuple[PublicKey, ...] = ()) -> list[Component]:
    """Read reference values.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: it holds something else, or nobody who is trusted signed it.
    """
    try:
        data = read_bytes(path, _LARGEST)
    except UnreadableInput as error:
        raise Unreachable(error.message, where=str(path), hint=error.hint) from error
    try:
        return reference.decode(data, signed_by)
    except InvalidStatement as error:
        hint = "vacr attest --reference makes reference values."
        raise UnreadableInput(error.message, where=str(path), hint=hint) from error


def _endorsed(path: Path, endorsers: tuple[PublicKey, ...]) -> list[bytes]:
    """Give the names of the attestation keys that are endorsed in a file."""
    found = load_endorsements(str(path))
    try:
        return [endorsed_key(one, endorsers) for one in found]
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
        found = messages.read(trust_bytes(name)).endorsements
    except InvalidStatement as error:
        raise UnreadableInput(f"no endorsement: {error.message}", where=name, hint=hint) from error
    if not found:
        raise UnreadableInput("there is no endorsement in it", where=name, hint=hint)
    return found


def load_keys(path: str | Path) -> list[PublicKey]:
    """Read public keys.

    Raises:
        Unreachable: the file cannot be read.
        UnreadableInput: there are none in it.
    """
    try:
        return keys.load_public(trust_bytes(str(path)))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=str(path), hint=error.hint) from error


def beside(file: str, *, results: bool) -> str | None:
    """Give the evidence, or the result, that lies beside a file."""
    endings = _RESULTS if results else _EVIDENCE
    return next((file + ending for ending in endings if Path(file + ending).is_file()), None)


def _keys(said: dict[str, Any], member: str, folder: Path) -> tuple[PublicKey, ...]:
    return tuple(key for path in said.get(member, ()) for key in load_keys(folder / path))


def _check_types(said: dict[str, Any], name: str) -> None:
    """Refuse what is not understood: a rule that is misspelt would not be a rule."""
    for member, value in said.items():
        if member not in _KNOWN:
            raise UnreadableInput(
                f"{member} is no rule of a policy", where=name, hint=f"Known: {', '.join(_KNOWN)}."
            )
        if not _fits(value, _KNOWN[member]):
            raise UnreadableInput(
                f"{member} has to be {_CALLED[_KNOWN[member]]}", where=name, hint=_HINT
            )
    if not said.get("id"):
        raise UnreadableInput(
            "the policy has no id, which results name it by", where=name, hint=_HINT
        )
    for member in ("maximum-age", "result-validity"):
        if said.get(member) == 0:
            hint = f"Leave {member} out, or give a number above 0."
            raise UnreadableInput(
                f"{member} is 0: nothing would ever be new enough", where=name, hint=hint
            )
    for one in said.get("required", ()):
        if one not in REQUIRABLE:
            raise UnreadableInput(
                f"{one} cannot be required", where=name, hint=f"Known: {', '.join(REQUIRABLE)}."
            )


def _fits(value: Any, wanted: type) -> bool:
    if type(value) is not wanted:
        return False
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return not isinstance(value, int) or value >= 0


def _pcrs(said: dict[str, Any], name: str) -> dict[int, frozenset[bytes]]:
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
            isinstance(one, str) and _DIGEST.fullmatch(one) for one in accepted
        ):
            raise UnreadableInput(
                f"pcrs: {register} is no SHA-256 in hexadecimal",
                where=name,
                hint="tpm2 pcrread sha256 shows them.",
            )
        found[int(register)] = frozenset(map(bytes.fromhex, accepted))
    return found
