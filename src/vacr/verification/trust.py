"""The trusted signer of a statement.

A signer is trusted because the policy lists their key, or because a certificate chain in the
statement leads to a root in the policy. The trust store gives the signer a name; a bare key has
none. This module first finds the trusted keys that may have signed a statement, then the key that
did.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.signing import ALG_EDDSA, KeySigner, parse_sign1, sign
    >>> from vacr.verification import Policy, list_candidate_signers
    >>> signer = KeySigner(Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> message = parse_sign1(sign(b"a record", signer))
    >>> policy = Policy(keys=(signer.public_key,))
    >>> [str(candidate) for candidate in list_candidate_signers(message, ALG_EDDSA, policy)]
    ['a key you gave (key 6f7deef65d54a699)']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from cryptography import x509

from vacr.errors import InvalidStatement
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    HEADER_KID,
    HEADER_X5CHAIN,
    HEADER_X5T,
    THUMBPRINT_URI_PREFIX,
    PublicKey,
    Sign1,
    check_x5t,
    compute_fingerprint,
    compute_thumbprint,
    compute_thumbprint_uri,
    find_kccs_key,
    format_thumbprint_uri,
    get_algorithm,
    parse_x5chain,
    verify_signature,
)
from vacr.verification.certificates import (
    check_certificate_chain,
    list_certificate_identities,
    proves_issuer,
)
from vacr.verification.policy import Policy, format_time
from vacr.verification.trust_store import (
    ROLE_SIGNER,
    CertificateIdentity,
    TrustedParty,
    TrustStore,
)

_HEX_HASH_LENGTH = 64
_MAX_NAMES = 3
_VISIBLE_ASCII = re.compile("[!-~]+")
"""A certified name without spaces, which cannot imitate other parts of a verdict."""


@dataclass(frozen=True)
class TrustedSigner:
    """A key that the policy trusts directly, or through a certificate path."""

    key: PublicKey
    path: tuple[x509.Certificate, ...] = ()
    """The certificates from the signer's to the root's; empty for a directly trusted key."""
    party: TrustedParty | None = None
    """The entry of the trust store; None for a bare key or root."""
    identity: CertificateIdentity | None = None
    """The identity of the party that the path certifies; None for a directly trusted key."""

    def __str__(self) -> str:
        """Return who signed: a name of the trust store, or else `a key you gave`.

        A key that is trusted through a bare root is `a key certified by a root you gave`.
        """
        if self.party is not None:
            return f"{self.party.name} ({self.description})"
        given = "a key certified by a root you gave" if self.path else "a key you gave"
        return f"{given} ({self.description})"

    @property
    def description(self) -> str:
        """A short key id, or the names that an authority certified and the authority's subject.

        The subject of the signer's certificate is left out: authorities do not check it.
        """
        if not self.path:
            return self._short_key
        names = str(self.identity) if self.identity is not None else self._certified_names
        return f"{names}, certified by {self.path[-1].subject.rfc4514_string()}"

    @property
    def _short_key(self) -> str:
        return f"key {self.thumbprint.hex()[:16]}"

    @property
    def _certified_names(self) -> str:
        """The first alternative names of the signer's certificate, or else a short key id."""
        names = sorted(
            f"{kind} {name}"
            for kind, name in list_certificate_identities(self.path[0])
            if _VISIBLE_ASCII.fullmatch(name)
        )
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        return ", ".join(names[:_MAX_NAMES]) + more or self._short_key

    @cached_property
    def thumbprint(self) -> bytes:
        """The COSE key thumbprint of the key (RFC 9679)."""
        return compute_thumbprint(self.key)

    @cached_property
    def uri(self) -> str:
        """The thumbprint of the key as a URI."""
        return format_thumbprint_uri(self.thumbprint)

    def is_party(self, party: TrustedParty | None) -> bool:
        """Return whether an entry of the trust store is the signer's."""
        return party is not None and self.party is not None and party.name == self.party.name

    def owns(self, key: PublicKey | None, party: TrustedParty | None) -> bool:
        """Return whether a party of the trust store, or a bare key, is the signer's.

        All keys of a party have one owner. So if two parties share a key, both are the signer's.
        """
        own = {compute_fingerprint(self.key), *_list_fingerprints(self.party)}
        others = {
            *_list_fingerprints(party),
            *(compute_fingerprint(named_key) for named_key in [key] if named_key),
        }
        return self.is_party(party) or not own.isdisjoint(others)


def _list_fingerprints(party: TrustedParty | None) -> frozenset[bytes]:
    return party.fingerprints if party is not None else frozenset()


def check_algorithm(message: Sign1, policy: Policy) -> int:
    """Return the COSE number of the signature algorithm that a statement names.

    Raises:
        InvalidStatement: it is missing, unprotected, unknown, or not allowed by the policy.
    """
    if HEADER_ALG in message.unprotected:
        raise InvalidStatement(
            "the algorithm is not signed: it is in the unprotected header", reason="alg-unprotected"
        )
    if HEADER_ALG not in message.protected:
        raise InvalidStatement("the statement names no algorithm", reason="alg-missing")
    algorithm = get_algorithm(message.protected[HEADER_ALG])
    if algorithm.number not in policy.algorithms:
        raise InvalidStatement(
            f"the statement is signed with {algorithm.name}, which --alg does not allow",
            reason="alg-not-allowed",
            hint=f"Add --alg {algorithm.name}, or ask the signer for another statement.",
        )
    return algorithm.number


def list_candidate_signers(message: Sign1, algorithm: int, policy: Policy) -> list[TrustedSigner]:
    """Return the trusted keys that may have signed a statement, the likeliest first.

    The likeliest is the key that the header `kid` names. The list is never empty. Signatures are
    left to `check_signature`.

    Raises:
        InvalidStatement: no trusted key can have signed it, or its chain is not trusted.
    """
    store = policy.trust_store or TrustStore()
    authorities = (*store.list_authorities(ROLE_SIGNER), *policy.roots)
    trusted = _list_trusted_keys(store, policy)
    if not trusted and not authorities:
        raise InvalidStatement(
            "no trusted key given",
            reason="no-trust",
            hint="Add --trust KEY or --trust-store FILE, or trust a person: vacr trust add NAME "
            "--key KEY",
        )
    chain = _parse_certificate_chain(message)
    certified_key = chain[0].public_key() if chain else None
    candidates = [
        signer
        for signer in trusted
        if ALGORITHMS[algorithm].fits(signer.key)
        and (certified_key is None or _is_same_key(signer.key, certified_key))
    ]
    key_id = message.protected.get(HEADER_KID, message.unprotected.get(HEADER_KID))
    candidates.sort(key=lambda candidate: not matches_key_id(candidate.key, key_id))
    if candidates and policy.extended_key_usage is None:
        _check_certified_names(chain, candidates[0].party, store)
        return candidates
    if chain and authorities:
        return [_check_certified_signer(message, chain, algorithm, policy)]
    if candidates:
        raise InvalidStatement(
            "the policy requires an extended key usage, but the trusted key has no certificate "
            "that states one",
            reason="extended-key-usage",
        )
    _refuse_other_roles(key_id, store)
    if any(matches_key_id(signer.key, key_id) for signer in trusted):
        raise InvalidStatement(
            f"the statement names a trusted key, but {ALGORITHMS[algorithm].name} cannot be used "
            "with this kind of key",
            reason="alg-key",
        )
    if chain:
        raise InvalidStatement(
            "the certificate chain does not lead to a trusted root",
            reason="untrusted",
            hint="Add --trust with the signer's key, or with the root of the chain.",
        )
    named = f": signed by key {format_key_id(key_id)}" if isinstance(key_id, bytes | str) else ""
    raise InvalidStatement(
        f"not signed by a trusted key{named}; none of yours is for {ALGORITHMS[algorithm].name}",
        reason="untrusted",
        hint="Add --trust with the signer's key, or trust a person: vacr trust add NAME --key FILE",
    )


def format_key_id(key_id: bytes | str) -> str:
    """Return the first 16 characters of a key id, in hexadecimal unless it is a text."""
    encoded = key_id.encode() if isinstance(key_id, str) else key_id
    if encoded.isascii() and encoded.decode("ascii").isprintable():
        return encoded[:16].decode("ascii")
    return encoded[:8].hex()


def _list_trusted_keys(store: TrustStore, policy: Policy) -> list[TrustedSigner]:
    """Return the keys that are trusted to sign: of the store, then the bare keys.

    The store decides about a key that is in both, so that its validity counts.
    """
    signers: dict[bytes, TrustedSigner] = {}
    for party in store.list_parties(ROLE_SIGNER):
        for key in party.keys:
            signers.setdefault(compute_thumbprint(key), TrustedSigner(key, party=party))
    for key in policy.keys:
        signers.setdefault(compute_thumbprint(key), TrustedSigner(key))
    return list(signers.values())


def _refuse_other_roles(key_id: Any, store: TrustStore) -> None:
    """Refuse a statement that names a key of the store, but not the key of a signer.

    It has another reason to fail; this one is the most helpful.

    Raises:
        InvalidStatement: `key_id` names such a key.
    """
    if any(matches_key_id(key, key_id) for key in store.list_keys(ROLE_SIGNER)):
        return
    for party in store.parties:
        if any(matches_key_id(key, key_id) for key in party.keys):
            raise InvalidStatement(
                f"the statement names a key of {party.name}, which is not trusted as a signer; its "
                f"roles: {', '.join(party.roles)}",
                reason="role",
                hint="If this key may sign records, add the role signer to the trust store.",
            )


def _parse_certificate_chain(message: Sign1) -> list[x509.Certificate]:
    """Return the certificates in a statement, the signer's first, or an empty list.

    Raises:
        InvalidStatement: they are malformed, or the header `x5t` is unsigned or names another one.
    """
    chain: list[x509.Certificate] = []
    for headers in (message.protected, message.unprotected):
        if HEADER_X5CHAIN in headers:
            chain = parse_x5chain(headers[HEADER_X5CHAIN])
    if HEADER_X5T in message.unprotected:
        raise InvalidStatement(
            "the certificate's hash (x5t) is not signed: it is in the unprotected header",
            reason="x5t-unprotected",
        )
    if chain and HEADER_X5T in message.protected:
        check_x5t(message.protected[HEADER_X5T], chain[0])
    return chain


def _check_certified_signer(
    message: Sign1, chain: list[x509.Certificate], algorithm: int, policy: Policy
) -> TrustedSigner:
    """Return the owner of a chain's first certificate, after checking the chain.

    Raises:
        InvalidStatement: the chain is unsigned or not trusted, or its key does not fit `algorithm`.
    """
    # RFC 9360: an authority may have certified the same key for another owner, too.
    if not {HEADER_X5CHAIN, HEADER_X5T} & message.protected.keys():
        raise InvalidStatement(
            "the certificate chain is not signed: anyone may have added it",
            reason="x5chain-unprotected",
        )
    signer = _find_certified_signer(chain, policy)
    if not ALGORITHMS[algorithm].fits(signer.key):
        raise InvalidStatement(
            f"{ALGORITHMS[algorithm].name} cannot be used with the certificate's key",
            reason="alg-key",
        )
    return signer


def _find_certified_signer(chain: list[x509.Certificate], policy: Policy) -> TrustedSigner:
    """Return the owner of a chain's first certificate: a party of the store, or else a bare one.

    Raises:
        InvalidStatement: no identity of the store and no root of the policy fits the chain, or
            identities of two parties do.
    """
    key, usage = chain[0].public_key(), policy.extended_key_usage
    store = policy.trust_store or TrustStore()
    signers, first_error = [], None
    for party, identity in store.list_by_certificate(chain[0], ROLE_SIGNER):
        try:
            path = check_certificate_chain(chain, [identity.authority], usage)
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            signers.append(TrustedSigner(key, tuple(path), party, identity))
    # Two stores may list one identity under two names: the first decides. Two identities in one
    # certificate leave open who signed.
    if len({str(signer.identity) for signer in signers}) > 1:
        names = list(dict.fromkeys(signer.party.name for signer in signers if signer.party))
        if len(names) > 1:
            raise InvalidStatement(
                f"the certificate names several parties of the trust store: {', '.join(names)}",
                reason="identity-ambiguous",
            )
    if signers:
        _check_owner_of_key(store.find_by_key(key, ROLE_SIGNER), signers[0])
        return signers[0]
    if policy.roots:
        # The store decides about a key that it lists, so that its validity counts.
        path = check_certificate_chain(chain, policy.roots, usage)
        return TrustedSigner(key, tuple(path), store.find_by_key(key, ROLE_SIGNER))
    if first_error is None:
        check_certificate_chain(chain, store.list_authorities(ROLE_SIGNER), usage)
        shown = ", ".join(sorted(map(" ".join, list_certificate_identities(chain[0]))))
        first_error = InvalidStatement(
            f"the trust store lists no signer for the certificate's names: {shown or 'none'}",
            reason="identity-unknown",
            hint="To trust it: vacr trust add NAME --authority FILE --email ADDRESS",
        )
    raise first_error


def _check_certified_names(
    chain: list[x509.Certificate], owner: TrustedParty | None, store: TrustStore
) -> None:
    """Check that a chain certifies no other party of the store than the owner of its key.

    `owner` is None for a bare key; then there is nothing to compare.

    Raises:
        InvalidStatement: an authority that the store lists certified the key for another party.
    """
    if not chain or owner is None:
        return
    certified: dict[str, TrustedSigner] = {}
    for party, identity in store.list_by_certificate(chain[0], ROLE_SIGNER):
        try:
            path = check_certificate_chain(chain, [identity.authority], None)
        except InvalidStatement:
            continue
        # Two stores may list one identity under two names: the first decides.
        signer = TrustedSigner(chain[0].public_key(), tuple(path), party, identity)
        certified.setdefault(str(identity), signer)
    for signer in certified.values():
        _check_owner_of_key(owner, signer)


def _check_owner_of_key(owner: TrustedParty | None, signer: TrustedSigner) -> None:
    """Check that the party whose certificate this is also owns the key, if the store lists the key.

    `owner` is the party that the trust store lists the key for, or None.

    Raises:
        InvalidStatement: another party owns it, and its validity and issuers would not count.
    """
    if owner is not None and not signer.is_party(owner):
        raise InvalidStatement(
            f"the trust store lists the key of the certificate for {owner.name}, but its name for "
            f"{signer.party.name if signer.party is not None else 'nobody'}",
            reason="identity-ambiguous",
        )


def check_signature(
    message: Sign1,
    algorithm: int,
    payload: bytes,
    candidates: list[TrustedSigner],
    store: TrustStore | None = None,
) -> TrustedSigner:
    """Return the first candidate whose key verifies the signature over `payload`.

    Raises:
        InvalidStatement: no candidate's key verifies it. If the statement names a key of `store`
            with another role, the error says so.
    """
    signed, first_error = message.to_be_signed(payload), None
    for candidate in candidates:
        try:
            verify_signature(algorithm, candidate.key, message.signature, signed)
        except InvalidStatement as error:
            first_error = first_error or error
        else:
            return candidate
    if store is not None:
        key_id = message.protected.get(HEADER_KID, message.unprotected.get(HEADER_KID))
        _refuse_other_roles(key_id, store)
    if first_error is not None and first_error.reason == "signature":
        first_error.hint = _suggest_signature_cause(message, candidates)
    raise first_error or InvalidStatement("no trusted key to verify with", reason="untrusted")


def _suggest_signature_cause(message: Sign1, candidates: list[TrustedSigner]) -> str:
    """Return a hint why no candidate verifies: another key signed, or the content changed.

    Return an empty string if the statement does not name its key.
    """
    key_id = message.protected.get(HEADER_KID)
    if type(key_id) is not bytes:
        return ""
    if any(matches_key_id(candidate.key, key_id) for candidate in candidates):
        return (
            "The statement names this key: it or the file changed after signing, or is forged. "
            "Or the signature covers external data (RFC 9052), which vacr does not support."
        )
    return f"The statement names another key as its signer: key {key_id.hex()[:16]}."


def check_carried_key(message: Sign1, signer: TrustedSigner) -> None:
    """Check that the key in a statement's `kccs` header, if it has one, is the signer's.

    Raises:
        InvalidStatement: it is another key, or cannot be read.
    """
    key = find_kccs_key(message)
    if key is not None and not _is_same_key(key, signer.key):
        raise InvalidStatement(
            "the statement carries a different key than its signer's", reason="kccs-mismatch"
        )


def is_issuer_bound(issuer: str, signer: TrustedSigner) -> bool:
    """Return whether a signer may claim an issuer, because something other than the claim says so.

    The trust store lists the issuer for the signer; or the signer's certificate names it; or it is
    the thumbprint of the key. Of a certificate in the trust store, only the listed names count.
    """
    if issuer.startswith(THUMBPRINT_URI_PREFIX):
        return issuer == signer.uri
    if signer.party is not None and issuer in signer.party.issuers:
        return True
    if not signer.path:
        return False
    certified = list_certificate_identities(signer.path[0])
    if signer.identity is not None and signer.party is not None:
        authority = signer.path[-1]
        certified &= {
            (identity.kind, identity.value)
            for identity in signer.party.identities
            if identity.authority == authority
        }
    return proves_issuer(certified, issuer)


def check_party_validity(party: TrustedParty, time: datetime, kind: str = "party") -> None:
    """Check that the trust store trusts a party at a time.

    Raises:
        InvalidStatement: the trust begins later, or ended; the reason starts with `kind`.
    """
    if party.valid_from is not None and time < party.valid_from:
        raise InvalidStatement(
            f"{party.name} is not trusted before {format_time(party.valid_from)}",
            reason=f"{kind}-not-yet-valid",
        )
    if party.valid_until is not None and time > party.valid_until:
        raise InvalidStatement(
            f"{party.name} is not trusted after {format_time(party.valid_until)}",
            reason=f"{kind}-expired",
            hint="A timestamp or receipt from before then would prove that the signature is older.",
        )


def matches_key_id(key: PublicKey, key_id: Any) -> bool:
    """Return whether a `kid` header names a key.

    It names a key by its thumbprint: bytes, or, in some implementations, hex text or a URI. Ledgers
    in the profile of CCF name it by its fingerprint in hex.
    """
    if not isinstance(key_id, bytes | str):
        return False
    thumbprint = compute_thumbprint(key)
    if key_id == thumbprint:
        return True
    text = key_id.decode("latin-1") if isinstance(key_id, bytes) else key_id
    if len(text) == _HEX_HASH_LENGTH:
        return text in (thumbprint.hex(), compute_fingerprint(key).hex())
    return text == compute_thumbprint_uri(key)


def _is_same_key(first: PublicKey, second: PublicKey) -> bool:
    return compute_thumbprint(first) == compute_thumbprint(second)
