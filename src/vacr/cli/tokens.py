"""Evidence, results and endorsements as a person reads them: the claims in their wrappers, true or
not.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidStatement, VacrError
from vacr.evidence import cmw, components, cwt, jwt, labels

_NAMES = {
    **labels.EAR_NAMES,
    labels.CNF: "cnf",
    labels.SWNAME: "swname",
    labels.SWVERSION: "swversion",
    labels.MEASUREMENTS: "measurements",
    labels.RECORD: "record",
    labels.JOURNAL: "journal",
    labels.MANIFESTS: "manifests",
    labels.KEY_STORAGE: "key-storage",
    labels.AGENT: "agent",
    labels.QUOTE: "quote",
    labels.QUOTE_SIGNATURE: "quote-signature",
    labels.ATTESTATION_KEY: "attestation-key",
    labels.PCRS: "pcrs",
    labels.ENDORSED_KEY: "endorsed-key",
    labels.ENDORSED_BY: "endorsed-by",
}
_MODULES = "submods"


def tokens_in(data: bytes) -> list[tuple[str, dict[Any, Any]]]:
    """Give the tokens in a file, each with what it is and its claims by name; nothing where there
    are none.
    """
    try:
        if jwt.looks_like_one(data) or data.startswith(cwt.TAG):
            return [_bare(data)]
        records = [
            one.value
            for one in cmw.records_in(cmw.decode(data))
            if one.media_type in (labels.EAT_CWT, labels.EAT_JWT)
        ]
        return [(f"{kind} in a CMW", claims) for kind, claims in map(_bare, records)]
    except InvalidStatement:
        return []


def _bare(data: bytes) -> tuple[str, dict[Any, Any]]:
    if jwt.looks_like_one(data):
        return "JWT", jwt.read_token(data).claims
    return "CWT", _named(cwt.read_token(data).claims)


def _named(claims: dict[Any, Any]) -> dict[Any, Any]:
    said = {_name(label): value for label, value in claims.items()}
    if isinstance(said.get(_MODULES), dict):
        said[_MODULES] = {
            name: _named(one) if isinstance(one, dict) else one
            for name, one in said[_MODULES].items()
        }
    if isinstance(said.get("manifests"), dict):
        said["manifests"] = {
            name: f"{len(one)} files"
            for name, one in said["manifests"].items()
            if isinstance(one, dict)
        }
    if isinstance(said.get("measurements"), list):
        said["measurements"] = [_component(one) for one in said["measurements"]]
    return said


def _name(label: Any) -> Any:
    return _NAMES.get(label, label) if type(label) is int else label


def _component(measured: Any) -> Any:
    try:
        one = components.decode(measured[1], {})
    except (VacrError, LookupError, TypeError):
        return measured
    return {"name": one.name, "version": one.version, "sha-256": one.digest}
