"""The claims of a result in JSON: numbers ⇄ names. Step: appraise. Follows draft-ietf-rats-ear-03,
section 3.2.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement
from vacr.evidence import base64url, labels
from vacr.evidence.trust_tiers import CLAIMS, TIERS, Tier

_HASH = "sha-256"
_VERIFIER = {0: "developer", 1: "build"}


def named(claims: dict[int, Any]) -> dict[str, Any]:
    """Write the claims of a result by their names."""
    return {labels.EAR_NAMES[label]: _to_json(label, value) for label, value in claims.items()}


def _to_json(label: int, value: Any) -> Any:
    match label:
        case _ if label == labels.EAR_STATUS:
            return Tier(value).label
        case _ if label == labels.EAR_VECTOR:
            return {name: value[number] for name, number in CLAIMS.items() if number in value}
        case _ if label == labels.EAR_VERIFIER_ID:
            return {_VERIFIER[number]: text for number, text in value.items()}
        case _ if label == labels.NONCE:
            return base64url.encode(value)
        case _ if label == labels.RECORD:
            return [_HASH, base64url.encode(value[1])]
        case _ if label == labels.JOURNAL:
            return {
                name: base64url.encode(item) if isinstance(item, bytes) else item
                for name, item in value.items()
            }
        case _ if label == labels.SUBMODS:
            return {name: named(module) for name, module in value.items()}
    return value


def numbered(claims: dict[str, Any]) -> dict[int, Any]:
    """Read claims that have names; those that are not known are left out.

    Raises:
        InvalidStatement: one of them cannot be what it is named.
    """
    known = {name: label for label, name in labels.EAR_NAMES.items()}
    try:
        return {
            known[name]: _from_json(known[name], value)
            for name, value in claims.items()
            if name in known
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidStatement(
            "a result of another form than it has to be", reason="result-malformed"
        ) from error


def _from_json(label: int, value: Any) -> Any:
    match label:
        case _ if label == labels.EAR_STATUS:
            return TIERS[value].value
        case _ if label == labels.EAR_VECTOR:
            return {CLAIMS[name]: item for name, item in value.items()}
        case _ if label == labels.EAR_VERIFIER_ID:
            return {number: value[name] for number, name in _VERIFIER.items() if name in value}
        case _ if label == labels.NONCE:
            return base64url.decode(value)
        case _ if label == labels.RECORD:
            name, digest = value
            return [labels.SHA256 if name == _HASH else name, base64url.decode(digest)]
        case _ if label == labels.JOURNAL:
            return {
                "identity": base64url.decode(value["identity"]),
                "frames": value["frames"],
                "head": base64url.decode(value["head"]),
            }
        case _ if label == labels.SUBMODS:
            return {name: numbered(module) for name, module in value.items()}
    return value
