"""Which statements a log takes: the registration policy. Step: register. Follows RFC 9943 section
6.

A signature is always verified. Where keys or authorities are named, it has to be by one of them;
else by the key that the statement itself carries and names, so that nobody can register in the name
of a key they do not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from vacr.errors import InvalidStatement
from vacr.log.service.problems import Problem, rejected
from vacr.receipts.entries import LARGEST, entry_of
from vacr.signing import labels
from vacr.signing.carried import carried_key
from vacr.signing.sign1 import Sign1, parse
from vacr.verification import Policy, chains, contents, trust
from vacr.verification.claims import check_claims
from vacr.verification.trust import Trusted

_DETACHED = (
    "the statement does not hold its payload, so that its signature cannot be checked; "
    "sign it as a hash envelope instead: vacr sign FILE --key KEY --overwrite"
)
_CARRIES_NO_KEY = (
    "the statement does not carry the key that signed it, and none is known here; "
    "vacr sign puts it in, or the log can be told the key: vacr log serve --trust KEY"
)
_MOST_KEYS = 4096


@dataclass
class Admission:
    """The registration policy of a log."""

    policy: Policy
    """The keys and authorities that may register; where it names none, every key may."""
    issuers: frozenset[str] = frozenset()
    """The issuers that may be named; any, if this is empty."""
    largest: int = LARGEST
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _known: dict[bytes, Trusted] = field(init=False)

    def __post_init__(self) -> None:
        """Name the keys that may register."""
        self._known = {one.thumbprint: one for one in map(Trusted, self.policy.keys)}

    def admit(self, statement: bytes) -> bytes:
        """Check a statement; gives the entry that is added to the log.

        Raises:
            Problem: it is refused.
        """
        try:
            message = parse(statement)
        except InvalidStatement as error:
            raise Problem(400, "Malformed Statement", str(error)) from error
        if message.payload is None:
            raise Problem(400, "Payload Missing", _DETACHED)
        entry = entry_of(message)
        if len(entry) > self.largest:
            detail = (
                f"an entry of {len(entry)} bytes; this log takes {self.largest} at most. "
                "Sign it as a hash envelope."
            )
            raise Problem(413, "Statement Too Large", detail)
        try:
            self._check(message, message.payload)
        except InvalidStatement as error:
            if error.reason.startswith("alg-"):
                raise Problem(400, "Bad Signature Algorithm", str(error)) from error
            told = (
                f"{error}. {error.hint}"
                if error.reason == "signature" and error.hint
                else str(error)
            )
            raise rejected(told) from error
        return entry

    def _check(self, message: Sign1, payload: bytes) -> None:
        _check_headers(message)
        contents.profile_of(message)
        algorithm = trust.check_algorithm(message, self.policy)
        signer = trust.check_signature(
            message, algorithm, payload, self._signers(message, algorithm)
        )
        now = self.clock()
        claims = check_claims(message, self.policy, signer, now)
        if self.issuers and claims[labels.ISS] not in self.issuers:
            raise InvalidStatement("this log takes nothing of this issuer", reason="issuer")
        if signer.path:
            chains.check_valid(signer.path, now)

    def _signers(self, message: Sign1, algorithm: int) -> list[Trusted]:
        kid = message.protected.get(labels.KID)
        known = self._known.get(kid) if type(kid) is bytes and not _certified(message) else None
        if known is not None:
            return [known]
        if self.policy.keys or self.policy.roots:
            return trust.candidates(message, algorithm, self.policy)
        key = carried_key(message)
        if key is None:
            raise Problem(400, "Confirmation Missing", _CARRIES_NO_KEY)
        found = trust.candidates(message, algorithm, replace(self.policy, keys=(key,)))
        if not _certified(message):
            if len(self._known) >= _MOST_KEYS:
                self._known.pop(next(iter(self._known)))
            self._known[found[0].thumbprint] = found[0]
        return found


def _certified(message: Sign1) -> bool:
    return labels.X5CHAIN in message.protected or labels.X5CHAIN in message.unprotected


def _check_headers(message: Sign1) -> None:
    """Check that a statement says what RFC 9943 wants of every statement.

    Raises:
        InvalidStatement: it does not.
    """
    if not message.tagged:
        raise InvalidStatement("a statement is tagged as COSE_Sign1 (18)", reason="tag")
    claims: Any = message.protected.get(labels.CWT_CLAIMS)
    if not isinstance(claims, dict) or not all(
        isinstance(claims.get(one), str) for one in (labels.ISS, labels.SUB)
    ):
        raise InvalidStatement(
            "the protected header has to name an issuer and a subject (CWT claims)",
            reason="claims-missing",
        )
    if not {labels.KID, labels.X5T, labels.X5CHAIN} & message.protected.keys():
        raise InvalidStatement(
            "the protected header has to name the key: kid, x5t or x5chain", reason="kid-missing"
        )
