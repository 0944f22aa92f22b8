"""Evidence, results and endorsements as a person reads them: the claims in their wrappers, true or
not.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement, VacrError
from vacr.evidence import (
    CLAIM_AGENT,
    CLAIM_ATTESTATION_KEY,
    CLAIM_ENDORSED_BY,
    CLAIM_ENDORSED_KEY,
    CLAIM_JOURNAL,
    CLAIM_KEY_STORAGE,
    CLAIM_MANIFESTS,
    CLAIM_PCRS,
    CLAIM_QUOTE,
    CLAIM_QUOTE_SIGNATURE,
    CLAIM_RECORD,
    CWT_PREFIX,
    EAR_JSON_NAMES,
    EAT_CNF,
    EAT_CWT_MEDIA_TYPE,
    EAT_JWT_MEDIA_TYPE,
    EAT_MEASUREMENTS,
    EAT_SWNAME,
    EAT_SWVERSION,
    decode_cmw,
    decode_component,
    list_cmw_records,
    looks_like_jwt,
    parse_cwt,
    parse_jwt,
)

_CLAIM_NAMES = {
    **EAR_JSON_NAMES,
    EAT_CNF: "cnf",
    EAT_SWNAME: "swname",
    EAT_SWVERSION: "swversion",
    EAT_MEASUREMENTS: "measurements",
    CLAIM_RECORD: "record",
    CLAIM_JOURNAL: "journal",
    CLAIM_MANIFESTS: "manifests",
    CLAIM_KEY_STORAGE: "key-storage",
    CLAIM_AGENT: "agent",
    CLAIM_QUOTE: "quote",
    CLAIM_QUOTE_SIGNATURE: "quote-signature",
    CLAIM_ATTESTATION_KEY: "attestation-key",
    CLAIM_PCRS: "pcrs",
    CLAIM_ENDORSED_KEY: "endorsed-key",
    CLAIM_ENDORSED_BY: "endorsed-by",
}
_SUBMODULES = "submods"


def parse_evidence_tokens(data: bytes) -> list[tuple[str, dict[Any, Any]]]:
    """Give the tokens in a file, each with what it is and its claims by name; nothing where there
    are none.
    """
    try:
        if looks_like_jwt(data) or data.startswith(CWT_PREFIX):
            return [_parse_token(data)]
        records = [
            one.value
            for one in list_cmw_records(decode_cmw(data))
            if one.media_type in (EAT_CWT_MEDIA_TYPE, EAT_JWT_MEDIA_TYPE)
        ]
        return [(f"{kind} in a CMW", claims) for kind, claims in map(_parse_token, records)]
    except InvalidStatement:
        return []


def _parse_token(data: bytes) -> tuple[str, dict[Any, Any]]:
    if looks_like_jwt(data):
        return "JWT", parse_jwt(data).claims
    return "CWT", _name_claims(parse_cwt(data).claims)


def _name_claims(claims: dict[Any, Any]) -> dict[Any, Any]:
    said = {_name_claim_label(label): value for label, value in claims.items()}
    if isinstance(said.get(_SUBMODULES), dict):
        said[_SUBMODULES] = {
            name: _name_claims(one) if isinstance(one, dict) else one
            for name, one in said[_SUBMODULES].items()
        }
    if isinstance(said.get("manifests"), dict):
        said["manifests"] = {
            name: f"{len(one)} files"
            for name, one in said["manifests"].items()
            if isinstance(one, dict)
        }
    if isinstance(said.get("measurements"), list):
        said["measurements"] = [_decode_component(one) for one in said["measurements"]]
    return said


def _name_claim_label(label: Any) -> Any:
    return _CLAIM_NAMES.get(label, label) if type(label) is int else label


def _decode_component(measured: Any) -> Any:
    try:
        one = decode_component(measured[1], {})
    except (VacrError, LookupError, TypeError):
        return measured
    return {"name": one.name, "version": one.version, "sha-256": one.digest}
