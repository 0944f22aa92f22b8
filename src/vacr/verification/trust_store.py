"""The trust store: people and services by name, with their keys, roles and validity.

A bare key says that somebody signed. A trust store says who. It is a TOML file that people can
review. Each entry has the name of a party, its keys, the roles that they count in, the issuers that
it may claim, and the beginning and end of the trust.

    >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    >>> from vacr.verification import ROLE_LOG, ROLE_SIGNER, TrustedParty, TrustStore
    >>> from vacr.verification import format_trust_store, parse_trust_store
    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    >>> alice = TrustedParty("Alice Example", (ROLE_SIGNER,), keys=(key,))
    >>> print(format_trust_store(TrustStore((alice,))).decode())
    version = 1
    <BLANKLINE>
    [[trusted]]
    name = "Alice Example"
    roles = ["signer"]
    keys = ['''
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=
    -----END PUBLIC KEY-----
    ''']
    <BLANKLINE>
    >>> store = parse_trust_store(format_trust_store(TrustStore((alice,))), "trust.toml")
    >>> store.find_by_key(key, ROLE_SIGNER).name
    'Alice Example'
    >>> store.find_by_key(key, ROLE_LOG) is None      # a role is not a default
    True

`trust_store_file.py` reads and writes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519

from vacr.errors import UnreadableInput, UsageError
from vacr.signing import (
    THUMBPRINT_URI_PREFIX,
    PublicKey,
    compute_fingerprint,
    compute_thumbprint,
)
from vacr.transparency import (
    NOTE_KEY_COSIGNATURE,
    NOTE_KEY_ED25519,
    VerifierKey,
)
from vacr.verification.certificates import find_public_key, list_certificate_identities
from vacr.verification.displayed_names import find_name_problem, is_one_word, list_name_forms

ROLE_SIGNER, ROLE_LOG, ROLE_VERIFIER = "signer", "log", "verifier"
ROLE_TIMESTAMP_AUTHORITY, ROLE_WITNESS, ROLE_REDACTOR = "timestamp-authority", "witness", "redactor"
ROLES = (
    ROLE_SIGNER,
    ROLE_LOG,
    ROLE_VERIFIER,
    ROLE_TIMESTAMP_AUTHORITY,
    ROLE_WITNESS,
    ROLE_REDACTOR,
)

_MAX_ISSUER_LENGTH = 8192
_ROLES_WITH_KEYS = frozenset([ROLE_SIGNER, ROLE_LOG, ROLE_VERIFIER, ROLE_REDACTOR])
_ROLES_WITH_IDENTITIES = frozenset([ROLE_SIGNER, ROLE_REDACTOR])


@dataclass(frozen=True)
class CertificateIdentity:
    """An authority, and the one alternative name that it may certify for a party.

    A timestamp authority has no such name: then `kind` and `value` are empty.
    """

    authority: x509.Certificate
    kind: str = ""
    """One of `email`, `uri` and `dns`."""
    value: str = ""

    def __str__(self) -> str:
        """Return the kind and the name, such as `email alice@example.org`, or the authority."""
        return f"{self.kind} {self.value}" if self.kind else self.authority.subject.rfc4514_string()


@dataclass(frozen=True)
class TrustedParty:
    """A person or a service that a verifier trusts in certain roles."""

    name: str
    roles: tuple[str, ...]
    """Some of `ROLES`."""
    keys: tuple[PublicKey, ...] = ()
    identities: tuple[CertificateIdentity, ...] = ()
    """The certificates that count as this party's, next to `keys`."""
    issuers: tuple[str, ...] = ()
    """The issuers that statements of this party may claim."""
    valid_from: datetime | None = None
    """The start of the trust; None if it is unlimited."""
    valid_until: datetime | None = None
    """The last moment of the trust; None if it is unlimited."""
    note_key: VerifierKey | None = None
    """The key of a log's checkpoints, or of a witness's cosignatures."""
    where: str = field(default="", compare=False)
    """The store that lists this party."""

    def is_valid_at(self, time: datetime) -> bool:
        """Return whether the party is trusted at a time."""
        return (self.valid_from is None or self.valid_from <= time) and (
            self.valid_until is None or time <= self.valid_until
        )

    @cached_property
    def thumbprints(self) -> frozenset[bytes]:
        """The thumbprints of the keys."""
        return frozenset(map(compute_thumbprint, self.keys))

    @cached_property
    def fingerprints(self) -> frozenset[bytes]:
        """The fingerprints of all keys of the party, also of its note key and its time roots."""
        roots = [identity.authority for identity in self.identities if not identity.kind]
        own = [_build_note_public_key(self.note_key)] if self.note_key is not None else []
        keys = [*self.keys, *own, *filter(None, map(find_public_key, roots))]
        return frozenset(map(compute_fingerprint, keys))


@dataclass(frozen=True)
class TrustStore:
    """The parties that a verifier trusts, in their order, and the number of witnesses required."""

    parties: tuple[TrustedParty, ...] = ()
    witnesses_required: int = 0
    """How many of the witnesses must have cosigned a log's checkpoint."""

    def list_parties(self, role: str) -> list[TrustedParty]:
        """Return the parties with a role."""
        return [party for party in self.parties if role in party.roles]

    def list_keys(self, role: str) -> list[PublicKey]:
        """Return the keys that count in a role, each once."""
        keys = {
            compute_thumbprint(key): key for party in self.list_parties(role) for key in party.keys
        }
        return list(keys.values())

    def list_authorities(self, role: str) -> list[x509.Certificate]:
        """Return the authorities whose certificates count in a role, each once.

        For the role of a timestamp authority, these have no name to certify; for others, they have.
        """
        return list(
            dict.fromkeys(
                identity.authority
                for party in self.list_parties(role)
                for identity in party.identities
                if bool(identity.kind) != (role == ROLE_TIMESTAMP_AUTHORITY)
            )
        )

    def find_by_key(self, key: PublicKey, role: str) -> TrustedParty | None:
        """Return the first party whose key counts in a role, or None."""
        thumbprint = compute_thumbprint(key)
        parties = self.list_parties(role)
        return next((party for party in parties if thumbprint in party.thumbprints), None)

    def list_by_certificate(
        self, certificate: x509.Certificate, role: str
    ) -> list[tuple[TrustedParty, CertificateIdentity]]:
        """Return the parties and identities that a signer's certificate names, in their order.

        Only the alternative names are compared. Whether the identity's authority certified them is
        left to the caller.
        """
        names = list_certificate_identities(certificate)
        return [
            (party, identity)
            for party in self.list_parties(role)
            for identity in party.identities
            if (identity.kind, identity.value) in names
        ]

    def find_by_certificate(
        self, path: Sequence[x509.Certificate], role: str
    ) -> TrustedParty | None:
        """Return the first party whose identity a checked path certifies, or None.

        The path leads from the signer's certificate to the identity's authority.
        """
        return next(
            (
                party
                for party, identity in self.list_by_certificate(path[0], role)
                if identity.authority == path[-1]
            ),
            None,
        )

    def find_log_by_note_key(self, key: VerifierKey) -> TrustedParty | None:
        """Return the log whose checkpoints a key signs, or None."""
        logs = self.list_parties(ROLE_LOG)
        return next((party for party in logs if party.note_key == key), None)

    @property
    def witnesses(self) -> tuple[TrustedParty, ...]:
        """The witnesses with distinct keys, without logs: a key under two names is one witness.

        The first party with a key decides about it. All keys of a party have one owner, so a party
        that shares any key with a log is no other witness.
        """
        logs = frozenset[bytes]().union(*(log.fingerprints for log in self.list_parties(ROLE_LOG)))
        distinct: dict[bytes, TrustedParty] = {}
        for party in self.list_parties(ROLE_WITNESS):
            if party.note_key is not None and logs.isdisjoint(party.fingerprints):
                distinct.setdefault(party.note_key.public, party)
        return tuple(distinct.values())

    def exclude_witnesses(self, log_keys: Sequence[PublicKey]) -> TrustStore:
        """Return the store without the witnesses that share a key with these logs."""
        logs = set(map(compute_fingerprint, log_keys))
        parties = (
            party
            for party in self.parties
            if ROLE_WITNESS not in party.roles or logs.isdisjoint(party.fingerprints)
        )
        return replace(self, parties=tuple(parties))

    @property
    def witness_keys(self) -> tuple[VerifierKey, ...]:
        """The keys of the witnesses, each once."""
        return tuple(party.note_key for party in self.witnesses if party.note_key is not None)


def _build_note_public_key(key: VerifierKey) -> ed25519.Ed25519PublicKey:
    return ed25519.Ed25519PublicKey.from_public_bytes(key.public)


def _list_ed25519_keys(party: TrustedParty) -> list[bytes]:
    """Return the Ed25519 keys of a party, for notes and for receipts; only these can cosign."""
    own = [] if party.note_key is None else [party.note_key.public]
    keys = (key for key in party.keys if isinstance(key, ed25519.Ed25519PublicKey))
    return [*own, *(key.public_bytes_raw() for key in keys)]


def combine_trust_stores(stores: Sequence[TrustStore]) -> TrustStore:
    """Return one store with the parties of several, and the largest number of witnesses.

    The first store that lists a key decides about it.

    Raises:
        UnreadableInput: two stores use one name for different parties.
    """
    parties: list[TrustedParty] = []
    owners: dict[tuple[int, str], TrustedParty] = {}
    for party in (party for store in stores for party in store.parties):
        forms = tuple(enumerate(list_name_forms(party.name)))
        is_new = forms[0] not in owners
        known = [owners.setdefault(form, party) for form in forms]
        other = next((owner for owner in known if owner != party), None)
        if other is not None:
            raise UnreadableInput(
                f"another trust store has a different entry with {_describe_likeness(party, other)}"
                f": {other.where}",
                where=party.where,
                hint="Rename or remove one of them, or choose one store with --trust-store FILE.",
            )
        if is_new:
            parties.append(party)
    required = max((store.witnesses_required for store in stores), default=0)
    return TrustStore(tuple(parties), required)


def _describe_likeness(party: TrustedParty, other: TrustedParty) -> str:
    """Return how a party's name is like the one of another: the same, or similar."""
    if list_name_forms(party.name)[0] == list_name_forms(other.name)[0]:
        return f"the name {party.name!r}"
    return f"the name {other.name!r}, which looks like {party.name!r}"


def check_party(party: TrustedParty) -> None:
    """Check that a party can stand in a trust store.

    Raises:
        UsageError: its name is not printable, a role is unknown or lacks its material, or material
            is of no use for its roles.
    """
    problem = find_name_problem(party.name)
    if problem:
        raise UsageError(f"the name {party.name!r} {problem}")
    problem = find_party_problem(party)
    if problem:
        raise UsageError(f"{party.name}: {problem}")


def find_party_problem(party: TrustedParty) -> str:
    """Return why the roles of a party do not fit its material, or an empty text."""
    roles = set(party.roles)
    problems = (
        *_list_role_problems(party, roles),
        *_list_material_problems(party, roles),
        *_list_value_problems(party),
    )
    return next(iter(problems), "")


def _list_role_problems(party: TrustedParty, roles: set[str]) -> Iterator[str]:
    """Yield the roles of a party that are unknown, or lack the material that they need."""
    unknown = sorted(roles - set(ROLES))
    if not roles:
        yield f"a party needs at least one role; known: {', '.join(ROLES)}"
    if unknown:
        yield f"unknown role {', '.join(unknown)!r}; known: {', '.join(ROLES)}"
    has_name = any(identity.kind for identity in party.identities)
    for role in sorted(roles & _ROLES_WITH_IDENTITIES):
        if not party.keys and not has_name:
            yield f"the role {role} needs keys, or certificates with an email, uri or dns"
    for role in sorted(roles & (_ROLES_WITH_KEYS - _ROLES_WITH_IDENTITIES)):
        if not party.keys:
            yield f"the role {role} needs keys"
    if ROLE_TIMESTAMP_AUTHORITY in roles and all(identity.kind for identity in party.identities):
        yield "the role timestamp-authority needs certificates with only an authority"
    kind = party.note_key.kind if party.note_key is not None else None
    if ROLE_WITNESS in roles and kind != NOTE_KEY_COSIGNATURE:
        yield "the role witness needs the note-key of its cosignatures: NAME+ID+B…"
    if ROLE_LOG in roles and kind not in (None, NOTE_KEY_ED25519):
        yield "the note-key of a log must be the key of its checkpoints: NAME+ID+A…"


def _list_material_problems(party: TrustedParty, roles: set[str]) -> Iterator[str]:
    """Yield a message for each key, name or issuer of a party that none of its roles uses."""
    shown = f"the {'role' if len(roles) == 1 else 'roles'} {', '.join(party.roles)}"
    if party.keys and not roles & _ROLES_WITH_KEYS:
        yield f"keys are of no use for {shown}"
    if party.note_key is not None and not roles & {ROLE_LOG, ROLE_WITNESS}:
        yield f"note-key is of no use for {shown}"
    if party.issuers and not roles & _ROLES_WITH_IDENTITIES:
        yield f"issuers are of no use for {shown}"
    for identity in party.identities:
        if identity.kind and not roles & _ROLES_WITH_IDENTITIES:
            yield f"a certificate with {identity.kind} is of no use for {shown}"
        if not identity.kind and ROLE_TIMESTAMP_AUTHORITY not in roles:
            yield "a certificate needs exactly one of email, uri and dns"


def _list_value_problems(party: TrustedParty) -> Iterator[str]:
    """Yield the values of a party that are malformed."""
    for issuer in party.issuers:
        if not issuer or len(issuer) > _MAX_ISSUER_LENGTH or not is_one_word(issuer):
            yield "an issuer is empty, too long, or has spaces or invisible characters"
        if issuer.startswith(THUMBPRINT_URI_PREFIX):
            yield (
                "an issuer is the thumbprint of a key: leave it out, because a key may always name "
                "its own thumbprint, and never another"
            )
    if party.note_key is not None and not is_one_word(party.note_key.name):
        yield "the name in note-key has invisible characters"
    if len(party.thumbprints) != len(party.keys):
        yield "keys lists a key twice"
    for identity in party.identities:
        if identity.kind and not (is_one_word(identity.value) and identity.value.isascii()):
            yield f"the {identity.kind} of a certificate must be printable ASCII without spaces"
        if identity.kind == "dns" and identity.value != identity.value.lower():
            yield "the dns of a certificate must be in lower case"
    begin, end = party.valid_from, party.valid_until
    if begin is not None and end is not None and begin >= end:
        yield "valid-from is not before valid-until"


def check_duplicates(parties: Iterable[TrustedParty], where: str) -> None:
    """Check that no two parties share a name, or a key, an identity or a note key in a role.

    Raises:
        UnreadableInput: two do.
    """
    owners: dict[tuple[Any, ...], TrustedParty] = {}
    for party in parties:
        for claim, description in _list_claims(party):
            other = owners.setdefault(claim, party)
            if other is not party:
                hint = f"To replace that entry, remove it first: vacr trust remove {other.name!r}"
                raise UnreadableInput(
                    f"{description} is already listed under {other.name!r}",
                    where=f"{where}: {party.name}",
                    hint=hint,
                )


def _list_claims(party: TrustedParty) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield what only one party of a store may have, each with its description."""
    plain, shape = list_name_forms(party.name)
    yield ("name", plain), f"the name {party.name!r}"
    yield ("look", shape), f"a name that looks like {party.name!r}"
    for role in party.roles:
        for thumbprint in sorted(party.thumbprints):
            yield (role, "key", thumbprint), f"the key {thumbprint.hex()[:16]}"
        for identity in party.identities:
            if identity.kind:
                # Most hosts deliver mail for one address in upper and lower case to one person.
                is_email = identity.kind == "email"
                value = identity.value.casefold() if is_email else identity.value
                yield (role, identity.kind, value), f"the identity {identity}"
    if party.note_key is not None:
        yield ("note-key", party.note_key.public), f"the note-key {party.note_key.name}"
    if ROLE_LOG in party.roles:
        # A log that cosigns its own checkpoints is not a witness, with none of its keys.
        for public in _list_ed25519_keys(party):
            yield ("note-key", public), f"a key of {party.name}"


def add_party(store: TrustStore, party: TrustedParty, where: str) -> TrustStore:
    """Return a store with one more party at its end.

    Raises:
        UsageError: the party is incomplete, or its name or one of its keys is already listed.
    """
    check_party(party)
    parties = (*store.parties, replace(party, where=where))
    try:
        check_duplicates(parties, where)
    except UnreadableInput as error:
        raise UsageError(error.message, where=error.where, hint=error.hint) from error
    return replace(store, parties=parties)
