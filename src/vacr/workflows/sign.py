"""Signed statements about files: the signer, the digest, and the kind of file.

A statement covers the SHA-256 of a file and names the record in it. Large files other than records
are hashed while they are read and never held in memory:

    >>> from vacr.workflows import read_signable_file
    >>> file = read_signable_file("session.jsonl", whole=False)
    >>> file.digest.hex()[:16], file.content_type
    ('9b79f1606ac7cb73', 'application/jsonl')
    >>> file.metadata["agent-vendor"]
    'anthropic'

`SigningSettings` holds the key, the certificates and the timestamp authority of one run, and signs
such files, or records that are in memory.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509

from vacr.agents import Source, SourcePart, recognise_agent, validate_record
from vacr.errors import UnreadableInput, VacrError
from vacr.files import (
    describe_file_error,
    make_folder_tree,
    make_state_folder_error,
    read_bytes,
    sync_folder_and_parents,
    write_durable_file,
)
from vacr.record import BYTE_ORDER_MARK, detect_and_decode, find_record_modification
from vacr.signing import (
    HASH_ENVELOPE,
    HEADER_COSE_THEN_TIMESTAMP,
    HEADER_TRACE_METADATA,
    PKCS11_PREFIX,
    PublicKey,
    Sign1,
    Signer,
    StatementClaims,
    build_trace_metadata,
    compute_thumbprint,
    encode_private_pem,
    encode_public_pem,
    generate_key,
    get_trace_format,
    is_encrypted_pem,
    load_signer,
    parse_private_key,
    parse_public_keys,
    parse_sign1,
    read_certificate_file,
    read_key_file,
    read_passphrase,
    read_trust_file,
    sign,
)
from vacr.workflows.statement_files import RECORD_SUFFIXES

LARGE_FILE_SIZE = 1 << 26
"""Files of this size and above are hashed while they are read, and not parsed, except records."""

SIGNING_KEY_NAME = "signing"
VERIFIER_KEY_NAME = "verifier"
"""Results of appraising evidence must not be signed by the key that signs evidence."""

RECORD_MEDIA_TYPE = "application/json"
_MEDIA_TYPES = {
    ".json": RECORD_MEDIA_TYPE,
    ".cbor": "application/cbor",
    ".jsonl": "application/jsonl",
    ".txt": "text/plain",
}
_OWNER_ONLY_FOLDER = 0o700
_OWNER_ONLY_FILE = 0o600

PassphrasePrompt = Callable[[], bytes]
"""Asks a person for the passphrase of a key."""


@dataclass(frozen=True, slots=True)
class SignableFile:
    """A file to be signed."""

    digest: bytes
    """The SHA-256 of the file."""
    data: bytes | None
    """Its bytes, or None if there are too many to hold."""
    content_type: str
    record_id: str | None = None
    """The id of the record in the file; None for another file."""
    metadata: dict[str, Any] | None = None
    """The trace metadata of the record or session in the file; None for another file."""
    modified: str = ""
    """How the id of a modified record contradicts its content; empty for all other files."""
    invalid: str = ""
    """Why a file with the name of a record is not a valid record; empty for all other files."""


def read_signable_file(path: str, *, whole: bool) -> SignableFile:
    """Read a file to be signed: its digest, its media type, and a summary of its record.

    A large file is only hashed, unless `whole` is true or it has the name of a record. An invalid
    or modified record is returned, too: `invalid` and `modified` describe the problem.

    Raises:
        UnreadableInput: the file cannot be read, or is empty.
    """
    content_type = _MEDIA_TYPES.get(Path(path).suffix, "application/octet-stream")
    is_record = path.endswith(RECORD_SUFFIXES)
    if not whole and not is_record and _is_large(path):
        return SignableFile(_hash_file(path), None, content_type)
    data = read_bytes(path)
    if not data:
        raise UnreadableInput("cannot sign an empty file", where=path)
    digests: list[bytes] = []
    # Hashing releases the interpreter, so parsing goes on at the same time.
    hasher = threading.Thread(target=lambda: digests.append(hashlib.sha256(data).digest()))
    hasher.start()
    try:
        record_id, metadata = _summarise_content(data)
        modified = _describe_modification(data)
        invalid = _find_invalidity(data) if is_record else ""
    finally:
        hasher.join()
    return SignableFile(digests[0], data, content_type, record_id, metadata, modified, invalid)


def _is_large(path: str) -> bool:
    """Return whether a file has at least LARGE_FILE_SIZE bytes; False if its size is unknown."""
    try:
        return Path(path).stat().st_size >= LARGE_FILE_SIZE
    except (OSError, ValueError):
        return False  # Reading it reports the reason.


def _hash_file(path: str) -> bytes:
    """Return the SHA-256 of a file, without holding the file in memory.

    Raises:
        UnreadableInput: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a user's path
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise UnreadableInput(describe_file_error(error), where=path) from error


def _summarise_content(data: bytes) -> tuple[str | None, dict[str, Any] | None]:
    """Return the id of the record in some bytes, and its trace metadata; nothing is validated.

    For a native session, the id is None. For other content, both are None.
    """
    record = _parse_record_head(data)
    if record is not None:
        return record.get("id"), build_trace_metadata(record, get_trace_format(record["version"]))
    source = Source((SourcePart("session", data),))
    try:
        reading = next(iter(recognise_agent(source).read(source)), None)
    except VacrError:
        return None, None
    if reading is None:
        return None, None
    native: dict[str, Any] = dict(reading.record)
    return None, build_trace_metadata(native, native["vacr"]["source"]["format"])


def _describe_modification(data: bytes) -> str:
    """Return how the id of a modified record contradicts its content.

    Return an empty text for an unmodified record, and for bytes that are not a record.
    """
    if _parse_record_head(data.removeprefix(BYTE_ORDER_MARK).lstrip(b" \t\r\n")) is None:
        return ""
    try:
        record, form = detect_and_decode(data)
    except VacrError:
        return ""
    return str(find_record_modification(record, json=form == "json") or "")


def _find_invalidity(data: bytes) -> str:
    """Return why the bytes of a record file are not a valid record; an empty text if they are."""
    try:
        record, form = detect_and_decode(data)
        validate_record(record, json=form == "json").raise_for_errors()
    except VacrError as error:
        place = f"{error.where}: " if error.where else ""
        return f"not a valid record: {place}{error.message}"
    return ""


class _SessionHead(msgspec.Struct, rename="kebab"):
    """The members of a session that a statement names; the decoder skips all others."""

    session_id: Any
    session_start: Any = None
    session_end: Any = None
    agent_meta: Any = None


class _RecordHead(msgspec.Struct):
    """The members of a record that a statement names; the decoder skips all others."""

    version: str
    session: _SessionHead
    id: str | None = None


_head_decoder = msgspec.json.Decoder(_RecordHead)


def _parse_record_head(data: bytes) -> dict[str, Any] | None:
    """Return a record with only the members that a statement names, or None for other data.

    A record in CBOR is returned whole.
    """
    if data[:1] != b"{":
        return _parse_cbor_record(data)
    try:
        head = _head_decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    session = {
        "session-id": head.session.session_id,
        "session-start": head.session.session_start,
        "session-end": head.session.session_end,
        "agent-meta": head.session.agent_meta,
    }
    return {"version": head.version, "id": head.id, "session": session}


def _parse_cbor_record(data: bytes) -> dict[str, Any] | None:
    """Return the record in CBOR data, or None if it is not a record."""
    from vacr.record import decode

    try:
        value = decode(data, "cbor")
    except VacrError:
        return None
    is_record = (
        isinstance(value, dict) and isinstance(value.get("session"), dict) and "version" in value
    )
    return value if is_record else None


def make_signable_record(record: dict[str, Any], data: bytes) -> SignableFile:
    """Return a record in memory as a file to be signed; `data` is the record in JSON."""
    metadata = build_trace_metadata(record, get_trace_format(record["version"]))
    digest = hashlib.sha256(data).digest()
    return SignableFile(digest, data, RECORD_MEDIA_TYPE, record["id"], metadata)


@dataclass(frozen=True)
class SigningSettings:
    """How statements are made, the same for all files of a run."""

    signer: Signer
    chain: Sequence[x509.Certificate] = ()
    """The certificates of the key, for the statement's header."""
    issuer: str | None = None
    """The name of the signer in the statement."""
    timestamp: str | None = None
    """The URL of a timestamp authority."""
    profile: str = HASH_ENVELOPE
    """How the statement refers to the file: by its digest, or with its bytes."""

    @classmethod
    def load(
        cls,
        *,
        key: str,
        alg: str | None,
        x5chain: str | None,
        issuer: str | None,
        timestamp: str | None,
        passphrase_file: str | None,
        force: bool,
        ask_passphrase: PassphrasePrompt,
        profile: str = HASH_ENVELOPE,
    ) -> SigningSettings:
        """Load the key and the certificates from their files.

        `force` accepts a key that others can read; `ask_passphrase` is called for an encrypted key
        without a passphrase file. `alg`, `issuer` and `timestamp` (a URL) have defaults or are
        optional: None.

        Raises:
            UsageError: others can read the key, or its passphrase is missing.
            UnreadableInput: the key or a certificate cannot be read.
        """
        signer = load_named_signer(
            key=key,
            alg=alg,
            passphrase_file=passphrase_file,
            force=force,
            ask_passphrase=ask_passphrase,
        )
        chain = read_certificate_file(x5chain) if x5chain is not None else []
        return cls(signer, chain, issuer, timestamp, profile)

    def sign_file(
        self, file: SignableFile, subject: str | None = None, issued_at: int | None = None
    ) -> bytes:
        """Return the signed statement about a file, with a timestamp if there is an authority.

        `subject` is by default the URN of the record's id, and `issued_at` the current time, in
        seconds since 1970.

        Raises:
            UsageError: the settings exclude each other.
            Unreachable: the timestamp authority does not answer.
        """
        record_subject = f"urn:uuid:{file.record_id}" if file.record_id else None
        issued_at = int(time.time()) if issued_at is None else issued_at
        statement = sign(
            file.data if self.profile != HASH_ENVELOPE else None,
            self.signer,
            digest=file.digest,
            profile=self.profile,
            content_type=file.content_type,
            claims=StatementClaims(self.issuer, subject or record_subject, issued_at),
            chain=self.chain,
            unprotected=self._build_unprotected_header(file),
        )
        if self.timestamp is None:
            return statement
        return _add_timestamp(statement, self.timestamp)

    def _build_unprotected_header(self, file: SignableFile) -> dict[int, Any]:
        """Return the header with the trace metadata of a file; empty if it has none."""
        if file.metadata is None:
            return {}
        metadata = dict(file.metadata)
        if self.profile != HASH_ENVELOPE:
            metadata["content-hash"] = file.digest.hex()
        return {HEADER_TRACE_METADATA: metadata}


def _add_timestamp(statement: bytes, url: str) -> bytes:
    """Return a statement with a timestamp of its signature, from the authority at a URL.

    Raises:
        Unreachable: the authority does not answer.
        InvalidStatement: its reply is malformed, or covers other data.
    """
    from vacr.signing import ask_time_authority, build_timestamp_request, parse_timestamp_reply

    message = parse_sign1(statement)
    request = build_timestamp_request(message.signature)
    token = parse_timestamp_reply(ask_time_authority(url, request), message.signature)
    unprotected = {**message.unprotected, HEADER_COSE_THEN_TIMESTAMP: token}
    return Sign1(
        message.protected_bytes, message.protected, unprotected, message.payload, message.signature
    ).encode()


def load_named_signer(
    *,
    key: str,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,
    ask_passphrase: PassphrasePrompt,
) -> Signer:
    """Return the signer for a key file or a PKCS #11 URI.

    The passphrase of an encrypted key comes from `passphrase_file`, or else from `ask_passphrase`.
    `force` accepts a key that others can read.

    Raises:
        UsageError: others can read the key, or its passphrase is missing.
        UnreadableInput: the key does not exist.
    """
    passphrase = None
    if passphrase_file is not None:
        passphrase = read_passphrase(passphrase_file)
    elif not key.startswith(PKCS11_PREFIX) and is_encrypted_pem(read_key_file(key)):
        passphrase = ask_passphrase()
    return load_signer(key, algorithm=alg, passphrase=passphrase, force=force)


def get_machine_key_paths(state: Path, name: str = SIGNING_KEY_NAME) -> tuple[Path, Path]:
    """Return the paths of this machine's private and public key, which need not exist."""
    return state / "keys" / f"{name}.pem", state / "keys" / f"{name}.pub.pem"


def find_public_key_file(key: str, public_key: PublicKey) -> Path | None:
    """Return the file with the public half of a private key, if it is next to it; or None."""
    if key.startswith(PKCS11_PREFIX):
        return None
    public = Path(key).with_suffix(".pub.pem")
    try:
        found = parse_public_keys(read_trust_file(str(public)))
    except VacrError:
        return None
    thumbprint = compute_thumbprint(public_key)
    return public if thumbprint in map(compute_thumbprint, found) else None


def ensure_machine_key(state: Path, name: str = SIGNING_KEY_NAME) -> str:
    """Return the path of this machine's private key; create the key pair the first time.

    The keys are in the folder `keys` of the state folder. If only the private key exists, its
    public half is written again.

    Raises:
        UnreadableInput: the key cannot be read or created, or only its public half exists.
    """
    private, public = get_machine_key_paths(state, name)
    if public.exists() and not private.exists():
        hint = (
            f"Name another key with --key. To create a new one, move {public} away, and keep it: "
            "older signatures are verified with it."
        )
        raise UnreadableInput("the key of this machine is missing", where=str(private), hint=hint)
    try:
        if not private.exists():
            make_folder_tree(private.parent, _OWNER_ONLY_FOLDER)
            write_durable_file(private, encode_private_pem(generate_key("es256")), _OWNER_ONLY_FILE)
        if not public.exists():
            # The public half comes last: where it exists, the private half is on the disk.
            sync_folder_and_parents(private.parent)
            public_key = parse_private_key(read_bytes(private)).public_key()
            write_durable_file(public, encode_public_pem(public_key))
        # An earlier process may have been killed before the disk had the names.
        sync_folder_and_parents(private.parent)
    except OSError as error:
        raise make_state_folder_error(private.parent, error) from error
    return str(private)
