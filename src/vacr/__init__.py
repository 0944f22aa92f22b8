"""Verifiable Agent Conversation Records: sessions of AI coding agents as evidence.

Read a session, check its record, name the lines that the agent wrote, sign, and verify:

    >>> import vacr
    >>> from vacr.signing import KeySigner, generate_key
    >>> signer = KeySigner(generate_key("eddsa"))
    >>> (record,) = vacr.read("session.jsonl")
    >>> vacr.validate(record).raise_for_errors()
    >>> data = vacr.encode(vacr.attribute(record), "json")
    >>> statement = vacr.sign(data, signer)
    >>> policy = vacr.Policy(keys=(signer.public_key,))
    >>> vacr.verify(statement, policy, payload=data).record["id"] == vacr.decode(data)["id"]
    True

`vacr.seal` reads, attributes, validates and signs in one call, and with `log=` also registers:

    >>> (sealed,) = vacr.seal("session.jsonl", signer=signer)
    >>> vacr.verify(sealed.statement, policy, payload=sealed.data).record["version"]
    '3.0.0-draft'

Everything is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from vacr.version import __version__ as __version__

TYPE_CHECKING = False  # `typing` takes longer to import than everything else here.

__all__ = [
    "InvalidRecord",
    "InvalidSchema",
    "InvalidStatement",
    "NotASession",
    "Policy",
    "Record",
    "SealedSession",
    "Signer",
    "Unreachable",
    "UnreadableInput",
    "UnwritableOutput",
    "UsageError",
    "VacrError",
    "VerificationFailed",
    "VerifiedStatement",
    "__version__",
    "attribute",
    "convert",
    "decode",
    "encode",
    "read",
    "register",
    "seal",
    "sign",
    "validate",
    "verify",
]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from cryptography import x509

    from vacr.agents import Source
    from vacr.attribution import BaseFiles, JointRecords
    from vacr.cddl import Schema
    from vacr.errors import InvalidRecord as InvalidRecord
    from vacr.errors import InvalidSchema as InvalidSchema
    from vacr.errors import InvalidStatement as InvalidStatement
    from vacr.errors import NotASession as NotASession
    from vacr.errors import Unreachable as Unreachable
    from vacr.errors import UnreadableInput as UnreadableInput
    from vacr.errors import UnwritableOutput as UnwritableOutput
    from vacr.errors import UsageError as UsageError
    from vacr.errors import VacrError as VacrError
    from vacr.model import Record as Record
    from vacr.record import ValidationReport
    from vacr.record import convert as convert
    from vacr.record import decode as decode
    from vacr.record import encode as encode
    from vacr.registration import register as register
    from vacr.signing import PublicKey
    from vacr.signing import Signer as Signer
    from vacr.signing import sign as sign
    from vacr.verification import Policy as Policy
    from vacr.verification import VerificationFailed as VerificationFailed
    from vacr.verification import VerifiedStatement as VerifiedStatement
    from vacr.workflows import SealedSession as SealedSession


def read(path: str | Path, *, agent: str | None = None) -> Iterator[Record]:
    """Yield a record for each session, and for each sub-agent, in a file, a database or a folder.

    `agent` is the name of the agent that wrote the sessions; by default, vacr recognises it. In a
    folder, files that are not sessions are skipped.

    Raises:
        UnreadableInput: a session cannot be read, or its agent is unknown. The records of readable
            sessions come first.
    """
    from vacr.discovery import find_places, read_sessions
    from vacr.errors import NotASession, VacrError
    from vacr.record import assign_record_id

    first_error = None
    for place in find_places(path):
        try:
            for session in read_sessions(
                place.path, session=place.session, agent=agent, sub_agents=not place.in_folder
            ):
                if isinstance(session, VacrError):
                    first_error = first_error or session
                    continue
                record = session.reading.record
                assign_record_id(record)
                _unshare_marks(record["session"]["entries"])
                yield record
        except NotASession:
            if not place.in_folder:
                raise
    if first_error is not None:
        raise first_error


def validate(
    value: Any, *, rule: str | None = None, schema: Schema | None = None, json: bool = True
) -> ValidationReport:
    """Check a record, or a part of one, against its schema and for contradictions.

    The returned report has findings, which make the value invalid, and remarks, which do not.
    `rule` names a rule of the schema, such as `entry`. By default, the value itself determines the
    rule and the version of the schema. `json=False` accepts types that only CBOR has.

    Raises:
        InvalidSchema: the schema has no such rule.
    """
    from vacr.agents import validate_record

    return validate_record(value, rule=rule, schema=schema, json=json)


def _unshare_marks(entries: list[Any]) -> None:
    """Replace the `vacr` member of each entry by a copy of its own.

    Readers share one object between entries, and callers may change it.
    """
    for entry in entries:
        if "vacr" in entry:
            entry["vacr"] = {
                name: dict(value) if type(value) is dict else value
                for name, value in entry["vacr"].items()
            }
        if "children" in entry:
            _unshare_marks(entry["children"])


def attribute(record: Record, *, base: str | None = None) -> Record:
    """Return a copy of a record with `file-attribution`: which lines of files its agent wrote.

    `base` is a git repository and the revision before the session, such as `~/repo@HEAD~3`.
    Without it, only file contents that the session shows are known.

    Raises:
        UnreadableInput: the base cannot be read.
    """
    from typing import cast

    from vacr.attribution import attribute_records
    from vacr.blame import load_git_base
    from vacr.record import assign_record_id

    git_base = load_git_base(base) if base is not None else None
    (attributed,) = attribute_records([cast("dict[str, Any]", record)], git_base)
    assign_record_id(cast("Record", attributed))
    return cast("Record", attributed)


def seal(
    path: str | Path,
    *,
    signer: Signer,
    log: str | None = None,
    log_keys: Sequence[PublicKey] = (),
    base: str | None = None,
    agent: str | None = None,
    chain: Sequence[x509.Certificate] = (),
    issuer: str | None = None,
    timestamp: str | None = None,
    now: datetime | None = None,
) -> list[SealedSession]:
    """Seal the sessions in a file, a database or a folder, and return them; no file is written.

    Each session is read, attributed, validated, encoded, signed and registered once; the validated
    bytes are the signed bytes. `log` and `timestamp` are the addresses of a transparency service
    and of a timestamp authority, and `log_keys` the keys that receipts must verify with. `chain`
    holds the certificates of the signer. `base` and `agent` are as for `attribute` and `read`.
    Statements are issued `now`, by default at the current time.

    Raises:
        UnreadableInput: a session cannot be read, or its agent is unknown.
        InvalidRecord: a record does not follow its schema.
        InvalidStatement: the log refuses a statement, or its receipt is invalid.
        Unreachable: the log or the timestamp authority does not answer.
    """
    from vacr.blame import load_git_base
    from vacr.registration import RegistrationClient, ServiceAccess
    from vacr.workflows import SigningSettings, seal_sessions

    return seal_sessions(
        path,
        SigningSettings(signer, chain, issuer, timestamp),
        log=RegistrationClient(log, ServiceAccess()) if log is not None else None,
        log_keys=log_keys,
        base=load_git_base(base) if base is not None else None,
        agent=agent,
        now=now,
    )


def verify(
    statement: bytes,
    policy: Policy,
    *,
    payload: bytes | None = None,
    source: Sequence[Source] = (),
    base: BaseFiles | None = None,
    joint: Callable[[], JointRecords] | None = None,
    evidence: bytes | None = None,
    now: datetime | None = None,
) -> VerifiedStatement:
    """Verify a signed statement by a policy, and return the verified content.

    `payload` is the signed file, unless the statement contains it. Certificates and receipts are
    judged as of `now`, by default the current time. `source` is the native session: the record is
    made again and compared. `base` is the repository of the attribution, and `joint` returns the
    records that were attributed together: the attribution is recomputed. `evidence` proves how the
    session was recorded.

    Raises:
        VerificationFailed: a check failed; the error lists all checks that were made.
    """
    from datetime import UTC, datetime

    from vacr.attribution import JointRecords
    from vacr.verification import verify as verify_at

    return verify_at(
        statement,
        policy,
        payload=payload,
        source=source,
        base=base,
        joint=joint or (lambda: JointRecords(())),
        evidence=evidence,
        now=now or datetime.now(UTC),
    )


_PACKAGES = {
    "InvalidRecord": "errors",
    "InvalidSchema": "errors",
    "InvalidStatement": "errors",
    "NotASession": "errors",
    "Policy": "verification",
    "Record": "model",
    "SealedSession": "workflows",
    "Signer": "signing",
    "Unreachable": "errors",
    "UnreadableInput": "errors",
    "UnwritableOutput": "errors",
    "UsageError": "errors",
    "VacrError": "errors",
    "VerificationFailed": "verification",
    "VerifiedStatement": "verification",
    "convert": "record",
    "decode": "record",
    "encode": "record",
    "register": "registration",
    "sign": "signing",
}


def __dir__() -> list[str]:
    """Return the public names, for `dir(vacr)`."""
    return __all__


def __getattr__(name: str) -> Any:
    """Return a public name from the package that defines it, loaded on first use.

    Raises:
        AttributeError: vacr has no such name.
    """
    if name not in _PACKAGES:
        raise AttributeError(f"module 'vacr' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"vacr.{_PACKAGES[name]}"), name)
