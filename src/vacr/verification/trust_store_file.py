"""The file of a trust store: strict parsing, and writing in a stable order.

A mistyped member could widen the trust without anybody noticing. So everything that is not known is
an error with its place:

    >>> from vacr.verification import parse_trust_store
    >>> parse_trust_store(b"version = 1\\nwitness-required = 2", "trust.toml")
    Traceback (most recent call last):
    ...
    vacr.errors.UnreadableInput: trust.toml: unknown member 'witness-required'

A store that was parsed and formatted again has the same members, in a fixed order, so that changes
are small in a pull request.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding

from vacr.errors import UnreadableInput, UsageError
from vacr.signing import (
    PublicKey,
    compute_thumbprint,
    encode_public_pem,
    parse_pem_certificates,
    parse_public_keys,
)
from vacr.transparency import VerifierKey, parse_verifier_key
from vacr.verification.certificates import IDENTITY_KINDS
from vacr.verification.displayed_names import find_name_problem
from vacr.verification.trust_store import (
    CertificateIdentity,
    TrustedParty,
    TrustStore,
    check_duplicates,
    find_party_problem,
)

TRUST_STORE_VERSION = 1
MAX_TRUST_STORE_BYTES = 1 << 20
_MAX_WITNESSES_REQUIRED = 100
# The time for parsing a dotted key grows with the square of its length.
_MAX_DOTS_IN_A_LINE = 500
_MAX_NUMBER = 1_000_000  # Python refuses to print a very large number.
_STORE_MEMBERS = frozenset(["version", "witnesses-required", "trusted"])
_PARTY_MEMBERS = frozenset(
    [
        "name",
        "roles",
        "issuers",
        "valid-from",
        "valid-until",
        "keys",
        "note-key",
        "certificates",
    ]
)
# Without text around it, which could imitate other members to a reviewer.
_PEM = re.compile(r"\s*-----BEGIN ([A-Z ]+)-----\s[A-Za-z0-9+/=\s]+-----END \1-----\s*")
# Characters that change the order of the text around them, or look like a line end.
_MISLEADING = re.compile("[\x85\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CERTIFICATE_MEMBERS = frozenset(["authority", *IDENTITY_KINDS])


def parse_trust_store(data: bytes, where: str) -> TrustStore:
    """Parse a trust store; `where` names it in errors and in its parties.

    Raises:
        UnreadableInput: it is malformed, or an entry is unknown, incomplete or a duplicate.
    """
    if len(data) > MAX_TRUST_STORE_BYTES:
        raise UnreadableInput(
            f"the trust store is too large: {len(data)} bytes, at most {MAX_TRUST_STORE_BYTES}",
            where=where,
        )
    if any(line.count(b".") > _MAX_DOTS_IN_A_LINE for line in data.split(b"\n")):
        raise UnreadableInput(
            f"a line of the trust store has more than {_MAX_DOTS_IN_A_LINE} dots", where=where
        )
    try:
        text = data.decode()
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(
            f"not a trust store: {error}",
            where=where,
            hint="A trust store is a TOML file. To write one: vacr trust add NAME --key FILE",
        ) from error
    _check_plain_lines(text, where)
    entry = _Entry(document, where)
    entry.refuse_unknown(_STORE_MEMBERS)
    version = entry.get("version", int, required=True)
    if version != TRUST_STORE_VERSION:
        raise entry.error(
            f"unknown version {version}, expected {TRUST_STORE_VERSION}",
            hint="Update vacr, or correct the file.",
        )
    required = entry.get("witnesses-required", int) or 0
    tables = entry.get_tables("trusted")
    parties = tuple(_parse_party(table, where) for table in tables)
    check_duplicates(parties, where)
    witnesses = len(TrustStore(parties).witnesses)
    if not 0 <= required <= min(witnesses, _MAX_WITNESSES_REQUIRED):
        raise entry.error(
            f"witnesses-required is {required}, but the store lists {witnesses} witnesses"
        )
    return TrustStore(parties, required)


def _check_plain_lines(text: str, where: str) -> None:
    """Check that a reviewer sees the lines of a store as they are.

    Text-direction characters can show a comment as a member. So can characters that editors show as
    a line end, and that do not end a comment in TOML.

    Raises:
        UnreadableInput: a line has such a character.
    """
    found = _MISLEADING.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise UnreadableInput(
            f"the line has the hidden character U+{ord(found[0]):04X}, which can show a comment as "
            "a member",
            where=f"{where}:{line}",
            hint="Remove it. Many editors have an option that shows hidden characters.",
        )


@dataclass(frozen=True)
class _Entry:
    """A table of a trust store, and its place for errors."""

    table: dict[str, Any]
    where: str

    def error(self, problem: str, *, hint: str = "") -> UnreadableInput:
        """Return the error for a problem of this table."""
        return UnreadableInput(problem, where=self.where, hint=hint)

    def refuse_unknown(self, members: frozenset[str]) -> None:
        """Check that the table has no members except the given ones.

        Raises:
            UnreadableInput: it has another one.
        """
        unknown = sorted(self.table.keys() - members)
        if unknown:
            known = ", ".join(sorted(members))
            raise self.error(f"unknown member {unknown[0]!r}", hint=f"Known members: {known}.")

    def get(self, member: str, kind: type, *, required: bool = False) -> Any:
        """Return a member of a type, or None if it is missing and not required.

        Raises:
            UnreadableInput: it is required and missing, or of another type.
        """
        if member not in self.table:
            if required:
                raise self.error(f"{member} is missing")
            return None
        value = self.table[member]
        if type(value) is not kind or (isinstance(value, int) and abs(value) > _MAX_NUMBER):
            raise self.error(f"{member} must be {_TYPE_NAMES[kind]}")
        return value

    def get_strings(self, member: str, *, required: bool = False) -> list[str]:
        """Return a list of strings without duplicates; empty if missing and not required.

        Raises:
            UnreadableInput: it is empty or required and missing, or another value.
        """
        values = self.get(member, list, required=required)
        if values is None:
            return []
        if not values or any(type(value) is not str for value in values):
            raise self.error(f"{member} must be a list of one or more strings")
        if len(set(values)) != len(values):
            raise self.error(f"{member} lists a value twice")
        return list(values)

    def get_tables(self, member: str) -> list[dict[str, Any]]:
        """Return a list of tables; empty if missing.

        Raises:
            UnreadableInput: it is another value.
        """
        values = self.get(member, list)
        if values is not None and any(type(value) is not dict for value in values):
            raise self.error(f"{member} must be a list of tables, each below [[{member}]]")
        return list(values or [])

    def get_time(self, member: str) -> datetime | None:
        """Return a date-time in UTC, or None if missing.

        Raises:
            UnreadableInput: it has no time zone, or is another value.
        """
        value: datetime | None = self.get(member, datetime)
        if value is None:
            return None
        if value.tzinfo is None:
            raise self.error(
                f"{member} needs a time zone", hint=f"For example: {member} = 2027-01-01T00:00:00Z"
            )
        try:
            return value.astimezone(UTC)
        except OverflowError as error:
            raise self.error(
                f"{member} is out of range: in UTC, it is before year 1 or after 9999"
            ) from error


_TYPE_NAMES = {
    int: f"a whole number of at most {_MAX_NUMBER}",
    str: "a text",
    list: "a list",
    datetime: "a date-time with a time zone, such as 2027-01-01T00:00:00Z",
}


def _parse_party(table: dict[str, Any], where: str) -> TrustedParty:
    """Parse a `[[trusted]]` table.

    Raises:
        UnreadableInput: it is malformed or incomplete.
    """
    name = _Entry(table, where).get("name", str, required=True)
    problem = find_name_problem(name)
    if problem:
        raise UnreadableInput(f"the name {name!r} {problem}", where=where)
    entry = _Entry(table, f"{where}: {name}")
    entry.refuse_unknown(_PARTY_MEMBERS)
    party = TrustedParty(
        name,
        tuple(entry.get_strings("roles", required=True)),
        tuple(_parse_key(pem, entry) for pem in entry.get_strings("keys")),
        tuple(
            _parse_identity(_Entry(item, f"{entry.where}: certificates"))
            for item in entry.get_tables("certificates")
        ),
        tuple(entry.get_strings("issuers")),
        entry.get_time("valid-from"),
        entry.get_time("valid-until"),
        _parse_note_key(entry),
        where,
    )
    problem = find_party_problem(party)
    if problem:
        raise entry.error(problem)
    return party


def _parse_key(pem: str, entry: _Entry) -> PublicKey:
    """Return the public key in a PEM text.

    Raises:
        UnreadableInput: the text is not one public key, or of an unknown kind.
    """
    if not _is_pem(pem, "PUBLIC KEY"):
        raise entry.error(
            "each of keys must be one public key in PEM, without other text",
            hint="A public key starts with -----BEGIN PUBLIC KEY-----",
        )
    try:
        [key] = parse_public_keys(pem.encode())
        compute_thumbprint(key)
    except UnreadableInput as error:
        raise entry.error(f"cannot read a key: {error.message}", hint=error.hint) from error
    return key


def _is_pem(text: str, label: str) -> bool:
    """Return whether a text is one block in PEM with a label, and nothing else."""
    found = _PEM.fullmatch(text)
    return found is not None and found[1] == label


def _parse_identity(entry: _Entry) -> CertificateIdentity:
    """Parse a `[[trusted.certificates]]` table.

    Raises:
        UnreadableInput: it is malformed, or has more than one name.
    """
    entry.refuse_unknown(_CERTIFICATE_MEMBERS)
    pem = entry.get("authority", str, required=True)
    if not _is_pem(pem, "CERTIFICATE"):
        raise entry.error("authority must be one certificate in PEM, without other text")
    try:
        [authority] = parse_pem_certificates(pem.encode())
    except UnreadableInput as error:
        raise entry.error(f"authority {error.message}", hint=error.hint) from error
    kinds = [kind for kind in IDENTITY_KINDS if kind in entry.table]
    if len(kinds) > 1:
        raise entry.error(f"exactly one of email, uri and dns may be given, not {len(kinds)}")
    if not kinds:
        return CertificateIdentity(authority)
    value = entry.get(kinds[0], str)
    if not value:
        raise entry.error(f"{kinds[0]} is empty")
    return CertificateIdentity(authority, kinds[0], value)


def _parse_note_key(entry: _Entry) -> VerifierKey | None:
    """Return the member `note-key`, or None if it is missing.

    Raises:
        UnreadableInput: it is malformed.
    """
    text = entry.get("note-key", str)
    if text is None:
        return None
    try:
        return parse_verifier_key(text)
    except UsageError as error:
        raise entry.error(f"note-key: {error.message}", hint=error.hint) from error


def format_trust_store(store: TrustStore) -> bytes:
    """Format a trust store as TOML, with its members in a fixed order."""
    lines = [f"version = {TRUST_STORE_VERSION}\n"]
    if store.witnesses_required:
        lines.append(f"witnesses-required = {store.witnesses_required}\n")
    return ("".join(lines) + "".join(map(format_party, store.parties))).encode()


def format_party(party: TrustedParty) -> str:
    """Format a party as a `[[trusted]]` table, after an empty line."""
    lines = [
        "",
        "[[trusted]]",
        f"name = {_format_text(party.name)}",
        f"roles = {_format_texts(party.roles)}",
    ]
    if party.issuers:
        lines.append(f"issuers = {_format_texts(party.issuers)}")
    for member, time in (("valid-from", party.valid_from), ("valid-until", party.valid_until)):
        if time is not None:
            lines.append(f"{member} = {time.astimezone(UTC).isoformat().replace('+00:00', 'Z')}")
    if party.keys:
        pems = [encode_public_pem(key).decode() for key in party.keys]
        lines.append(f"keys = [{', '.join(map(_format_pem, pems))}]")
    if party.note_key is not None:
        lines.append(f"note-key = {_format_text(str(party.note_key))}")
    for identity in party.identities:
        pem = identity.authority.public_bytes(Encoding.PEM).decode()
        lines += ["", "[[trusted.certificates]]", f"authority = {_format_pem(pem)}"]
        if identity.kind:
            lines.append(f"{identity.kind} = {_format_text(identity.value)}")
    return "\n".join(lines) + "\n"


_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f]')


def _format_text(text: str) -> str:
    """Format a text as a TOML string."""
    escaped = _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return f'"{escaped}"'


def _format_texts(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_format_text, texts))}]"


def _format_pem(pem: str) -> str:
    """Format PEM text as a TOML string of several lines."""
    return f"'''\n{pem.strip()}\n'''"
