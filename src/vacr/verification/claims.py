"""What the signer says beside the signature: who they are, what it is about, and when. Step:
verify. Follows RFC 8392.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement
from vacr.signing import certificates, keys, labels
from vacr.signing.sign1 import Sign1
from vacr.verification import chains
from vacr.verification.policy import Policy
from vacr.verification.trust import Trusted

_TIME = (int, float)
_CLAIMS: dict[int, tuple[type, ...]] = {
    labels.ISS: (str,),
    labels.SUB: (str,),
    labels.IAT: _TIME,
    labels.NBF: _TIME,
    labels.EXP: _TIME,
}
"""The types of the claims that are looked at."""
_LAST_SECOND = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_CLOCKS_DIFFER_BY = 300
"""By how many seconds a signer's clock may be wrong by ours."""


def check_claims(message: Sign1, policy: Policy, signer: Trusted, now: datetime) -> dict[Any, Any]:
    """Check what the signer says beside the signature, and give it; a statement may say nothing.

    Raises:
        InvalidStatement: it is not what it has to be, or not what is asked for.
    """
    if labels.CWT_CLAIMS in message.unprotected:
        raise InvalidStatement("the claims are not protected", reason="claims-unprotected")
    claims = read_claims(message.protected.get(labels.CWT_CLAIMS, {}), now)
    issuer = claims.get(labels.ISS)
    if (
        labels.X5CHAIN in message.protected or labels.X5T in message.protected
    ) and not certificates.is_uri(issuer):
        raise InvalidStatement(
            "with certificates, the issuer has to be a URI", reason="issuer-not-uri"
        )
    if policy.issuer is not None:
        if issuer != policy.issuer:
            raise InvalidStatement(
                f"the issuer is {issuer!r}, not {policy.issuer!r}", reason="issuer"
            )
        if signer.path and not _is_thumbprint(issuer) and not chains.is_for(signer.path[0], issuer):
            raise InvalidStatement(
                "the signer's certificate is for another issuer", reason="issuer-unbound"
            )
    if _is_thumbprint(issuer) and issuer != signer.uri:
        raise InvalidStatement("the issuer is named as another key", reason="issuer-unbound")
    if policy.subject is not None and claims.get(labels.SUB) != policy.subject:
        raise InvalidStatement(
            f"the subject is {claims.get(labels.SUB)!r}, not {policy.subject!r}", reason="subject"
        )
    return claims


def read_claims(said: Any, now: datetime) -> dict[Any, Any]:
    """Read claims, and check their types and their times.

    Raises:
        InvalidStatement: they are none, or do not hold now.
    """
    if not isinstance(said, dict):
        raise InvalidStatement("claims that are no map", reason="claims-malformed")
    # 1, 1.0 and true are three labels in CBOR, and one in Python.
    if not all(type(label) in (int, str) for label in said):
        raise InvalidStatement(
            "a claim whose label is neither number nor text", reason="claims-malformed"
        )
    for label, kinds in _CLAIMS.items():
        if label in said and type(said[label]) not in kinds:
            raise InvalidStatement(f"claim {label} is of the wrong type", reason="claims-malformed")
    _check_times(said, now)
    return dict(said)


def told(claims: dict[Any, Any], policy: Policy) -> str:
    """Say who the issuer is, and whether that is more than what the signer says."""
    issuer = claims.get(labels.ISS)
    if issuer is None:
        return "no issuer is named"
    return (
        f"by {issuer}"
        if policy.issuer is not None or _is_thumbprint(issuer)
        else f"by {issuer}, as they say"
    )


def _check_times(claims: dict[Any, Any], now: datetime) -> None:
    """Check when it says that it was signed, and between which times it says that it holds; RFC
    8392 section 3.1.
    """
    said = {
        label: claims[label] for label in (labels.IAT, labels.NBF, labels.EXP) if label in claims
    }
    if not all(0 <= time < _LAST_SECOND for time in said.values()):
        raise InvalidStatement("a time that no calendar has", reason="claims-malformed")
    latest, earliest = now.timestamp() + _CLOCKS_DIFFER_BY, now.timestamp() - _CLOCKS_DIFFER_BY
    if said.get(labels.IAT, 0) > latest:
        raise InvalidStatement(
            f"it says that it will be signed at {_moment(said[labels.IAT])}",
            reason="issued-in-future",
        )
    if said.get(labels.NBF, 0) > latest:
        raise InvalidStatement(
            f"it says that it holds from {_moment(said[labels.NBF])} on", reason="claims-not-yet"
        )
    if said.get(labels.EXP, latest) < earliest:
        raise InvalidStatement(
            f"it says that it held until {_moment(said[labels.EXP])}", reason="claims-expired"
        )


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _is_thumbprint(issuer: Any) -> bool:
    """Tell whether an issuer is named by a key, which then has to be the one that signed."""
    return isinstance(issuer, str) and issuer.startswith(keys.THUMBPRINT_URI)
