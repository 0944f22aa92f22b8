"""The keys and names that a page verifies its records with.

A page goes to other people. So it contains only the parties that count for its own records: those
whose key signed a statement or a receipt, or that a statement, a receipt or a proof names. The page
comes to the same verdicts as with all parties of the trust store: it knows that it lacks some, and
refuses their statements and counts their receipts as it would with them.

    >>> from vacr.verification import Policy
    >>> from vacr.viewer import PageRecord
    >>> from vacr.workflows import VerificationOptions
    >>> from vacr.workflows.page_trust import build_page_trust, limit_page_trust
    >>> trust = build_page_trust(Policy(), VerificationOptions())
    >>> limit_page_trust(trust, [PageRecord("unsigned", b"{}")]).parties
    ()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vacr.errors import InvalidStatement
from vacr.signing import (
    HEADER_ALG,
    HEADER_KID,
    HEADER_X5CHAIN,
    PublicKey,
    Sign1,
    compute_thumbprint,
    find_kccs_key,
    parse_sign1,
    parse_x5chain,
    verify_signature,
)
from vacr.transparency import (
    RECEIPT_CRIT_LABELS,
    SignedNote,
    hash_log_entry,
    list_encoded_receipts,
    list_tlog_proofs,
    parse_checkpoint,
    parse_receipt,
    parse_signed_note,
    parse_tlog_proof,
    parse_verifier_key,
)
from vacr.verification import (
    ROLE_LOG,
    ROLE_SIGNER,
    ROLE_TIMESTAMP_AUTHORITY,
    ROLE_WITNESS,
    Policy,
    TrustStore,
    matches_key_id,
)
from vacr.viewer import PageParty, PageRecord, PageTrust
from vacr.workflows.verify import VerificationOptions


def build_page_trust(policy: Policy, options: VerificationOptions) -> PageTrust:
    """Return all keys and names for verifying in the browser; `limit_page_trust` selects."""
    store = policy.trust_store or TrustStore()
    has_authorities = bool(store.list_authorities(ROLE_SIGNER))
    has_clocks = bool(store.list_parties(ROLE_TIMESTAMP_AUTHORITY) or policy.timestamp_roots)
    return PageTrust(
        policy.keys,
        policy.log_keys,
        bool(policy.roots) or has_authorities,
        policy.entry_rule,
        list_page_parties(store, ROLE_SIGNER),
        list_page_parties(store, ROLE_LOG),
        list_page_parties(store, ROLE_WITNESS),
        store.witnesses_required,
        has_clocks,
        not is_trust_named(options),
    )


def list_page_parties(store: TrustStore, role: str) -> list[PageParty]:
    """Return the parties with a role that have keys, as the page needs them.

    A key of a witness is listed once, so that the page judges it by the same party as Python.
    """
    # Of a witness in two stores, only the first entry counts: the second may have no end of trust.
    parties = store.witnesses if role == ROLE_WITNESS else store.list_parties(role)
    return [
        PageParty(
            party.name,
            party.keys,
            party.issuers,
            party.valid_from,
            party.valid_until,
            str(party.note_key) if party.note_key is not None else None,
        )
        for party in parties
        if party.keys or party.note_key is not None
    ]


def is_trust_named(options: VerificationOptions) -> bool:
    """Return whether the caller named whom to trust.

    Otherwise the default trust stores lend names to known signers, but refuse nobody.
    """
    return bool(options.trust) or any(not file.is_default for file in options.stores)


def limit_page_trust(trust: PageTrust, records: Sequence[PageRecord]) -> PageTrust:
    """Return the trust with only the keys and parties that count for these records.

    The keys of logs that the caller named stay if any record is signed: they require a receipt.
    """
    selection = _Selection()
    for record in records:
        if record.statement is not None:
            selection.add_statement(record.statement, record.data, trust)
    is_signed = any(record.statement is not None for record in records)
    parties = [party for party in trust.parties if selection.has_signer(party.keys)]
    keys = [key for key in trust.keys if selection.has_signer([key])]
    logs = [log for log in trust.logs if selection.has_log(log)]
    witnesses = [party for party in trust.witnesses if selection.has_note_key(party)]
    return replace(
        trust,
        keys=tuple(keys),
        log_keys=tuple(trust.log_keys) if is_signed else (),
        parties=tuple(parties),
        logs=tuple(logs),
        witnesses=tuple(witnesses),
        lacks_signers=len(parties) + len(keys) < len(trust.parties) + len(trust.keys),
        lacks_logs=len(logs) < len(trust.logs),
        witnesses_left_out=len(_list_counted_witnesses(trust, trust.witnesses))
        - len(_list_counted_witnesses(trust, witnesses)),
    )


def _list_counted_witnesses(trust: PageTrust, witnesses: Iterable[PageParty]) -> list[PageParty]:
    """Return the witnesses that share no key with a log that the caller named."""
    logs = {compute_thumbprint(key) for key in trust.log_keys}
    return [
        party
        for party in witnesses
        if logs.isdisjoint(map(compute_thumbprint, _list_all_keys(party)))
    ]


def _list_all_keys(party: PageParty) -> list[PublicKey]:
    """Return the keys of a party, also its note key."""
    if party.note_key is None:
        return list(party.keys)
    public = parse_verifier_key(party.note_key).public
    return [*party.keys, Ed25519PublicKey.from_public_bytes(public)]


@dataclass
class _Selection:
    """What counts for the records of a page, by the thumbprints of keys."""

    signers: set[bytes] = field(default_factory=set)
    logs: set[bytes] = field(default_factory=set)
    origins: set[str] = field(default_factory=set)
    """The origins of logs in the proofs of witnesses."""
    notes: list[SignedNote] = field(default_factory=list)
    """The cosigned checkpoints."""

    def add_statement(self, statement: bytes, data: bytes, trust: PageTrust) -> None:
        """Add the signer, the logs and the witnesses of a statement; of a malformed one, none."""
        try:
            message = parse_sign1(statement)
        except InvalidStatement:
            return
        signer_keys = [*trust.keys, *_list_keys(trust.parties)]
        self.signers |= _find_signers(message, data, signer_keys)
        self.logs |= _find_logs(message, trust.entry_rule, _list_keys(trust.logs))
        if trust.witnesses_required:
            for note in _list_checkpoints(message):
                self.notes.append(note)
                self.origins.add(parse_checkpoint(note.text).origin)

    def has_signer(self, keys: Iterable[PublicKey]) -> bool:
        """Return whether a key counts for a signature."""
        return any(compute_thumbprint(key) in self.signers for key in keys)

    def has_log(self, party: PageParty) -> bool:
        """Return whether a log counts for a receipt, or for a proof of witnesses."""
        if any(compute_thumbprint(key) in self.logs for key in party.keys):
            return True
        return (
            party.note_key is not None and parse_verifier_key(party.note_key).name in self.origins
        )

    def has_note_key(self, party: PageParty) -> bool:
        """Return whether a checkpoint has a signature in the name of a witness."""
        if party.note_key is None:
            return False
        key = parse_verifier_key(party.note_key)
        return any(note.blobs(key) for note in self.notes)


def _list_keys(parties: Iterable[PageParty]) -> list[PublicKey]:
    return [key for party in parties for key in party.keys]


def _find_signers(message: Sign1, data: bytes, keys: Sequence[PublicKey]) -> set[bytes]:
    """Return the thumbprints of keys that a statement names or carries, or that verify it."""
    own = {compute_thumbprint(key) for key in _list_carried_keys(message)}
    named = {
        compute_thumbprint(key)
        for key in keys
        if compute_thumbprint(key) in own or _is_named(message, key)
    }
    signed = message.to_be_signed(message.payload if message.payload is not None else data)
    algorithm = message.protected.get(HEADER_ALG)
    return named | {
        compute_thumbprint(key)
        for key in keys
        if compute_thumbprint(key) not in named
        and _verifies(algorithm, key, message.signature, signed)
    }


def _list_carried_keys(message: Sign1) -> Iterator[PublicKey]:
    """Yield the key in `kccs` and those of first certificates, also if they contradict."""
    try:
        key = find_kccs_key(message)
    except InvalidStatement:
        key = None
    if key is not None:
        yield key
    for headers in (message.protected, message.unprotected):
        if HEADER_X5CHAIN in headers:
            try:
                yield parse_x5chain(headers[HEADER_X5CHAIN])[0].public_key()
            except InvalidStatement:
                continue


def _is_named(message: Sign1, key: PublicKey) -> bool:
    """Return whether a message names a key by its key id, signed or not."""
    return any(
        matches_key_id(key, headers.get(HEADER_KID))
        for headers in (message.protected, message.unprotected)
    )


def _verifies(algorithm: Any, key: PublicKey, signature: bytes, signed: bytes) -> bool:
    """Return whether a key verifies a signature."""
    try:
        verify_signature(algorithm, key, signature, signed)
    except InvalidStatement:
        return False
    return True


def _find_logs(message: Sign1, entry_rule: str, keys: Sequence[PublicKey]) -> set[bytes]:
    """Return the thumbprints of the keys of logs that receipts name, or that verify them."""
    try:
        encoded_receipts = list_encoded_receipts(message)
    except InvalidStatement:
        return set()
    hashes = hash_log_entry(message, entry_rule)
    found = set()
    for encoded in encoded_receipts:
        try:
            named = parse_sign1(encoded, RECEIPT_CRIT_LABELS)
            found |= {compute_thumbprint(key) for key in keys if _is_named(named, key)}
            receipt = parse_receipt(encoded)
            roots = receipt.compute_roots(hashes)
        except InvalidStatement:
            continue
        for root in roots:
            signed, algorithm = named.to_be_signed(root), named.protected.get(HEADER_ALG)
            found |= {
                compute_thumbprint(key)
                for key in keys
                if compute_thumbprint(key) not in found
                and _verifies(algorithm, key, named.signature, signed)
            }
    return found


def _list_checkpoints(message: Sign1) -> Iterator[SignedNote]:
    """Yield the checkpoints in the proofs of witnesses; malformed ones are left out."""
    try:
        proofs = list_tlog_proofs(message)
    except InvalidStatement:
        return
    for encoded in proofs:
        try:
            note = parse_signed_note(parse_tlog_proof(encoded).note)
            parse_checkpoint(note.text)
        except InvalidStatement:
            continue
        yield note
