"""What signed bytes say: a record that is valid, is what it says it is, and is what its source
yields. Step: verify.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from vacr.attribution import Base, checking
from vacr.codec import Form, encode
from vacr.errors import InvalidStatement, VacrError
from vacr.identity import made_by_vacr, record_id
from vacr.model import Record
from vacr.readers.registry import reader_for
from vacr.readers.source import Part, Source
from vacr.schema import validate
from vacr.schema.versions import major
from vacr.signing import labels
from vacr.signing.sign1 import Sign1
from vacr.signing.trace_metadata import format_of, trace_metadata
from vacr.verification.checks import Checks
from vacr.verification.contents import record_in
from vacr.verification.policy import Policy
from vacr.version import __version__
from vacr.versions.made import as_made

_REQUIRED = frozenset(("session-id", "agent-vendor", "trace-format", "timestamp-start"))
_OPTIONAL = frozenset(("timestamp-end", "content-hash", "content-hash-alg"))
_HASH = "sha-256"
_URN = "urn:uuid:"
_DIGEST = "urn:sha-256:"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a verifier has beside the statement."""

    sources: tuple[Source, ...]
    base: Base | None
    joint: Callable[[], checking.Joint]


def check_record(
    message: Sign1, payload: bytes, policy: Policy, inputs: Inputs, checks: Checks
) -> dict[str, Any] | None:
    """Check what signed bytes say; gives the record that they are.

    Raises:
        VerificationFailed: something does not hold.
    """
    form: Form = "json"
    record = None
    if found := record_in(payload):
        record, form = found
    with checks.of("metadata"):
        _check_metadata(message, payload, record, checks)
    with checks.of("record"):
        _check_digest(message, payload)
        if record is None:
            if policy.needs_record or policy.schema_version is not None:
                raise InvalidStatement("what was signed is no record", reason="not-a-record")
            checks.undecided(
                "record", "what was signed is no record: a native session, or something else"
            )
            return None
        made = as_made(record, json=form == "json")
        _check_valid(message, record, made, form, policy, checks)
    with checks.of("attribution"):
        if "file-attribution" in made:
            _check_attribution(made, inputs, checks)
    with checks.of("source"):
        if inputs.sources:
            _check_source(made, inputs, checks)
    return record


def _check_metadata(
    message: Sign1, payload: bytes, record: dict[str, Any] | None, checks: Checks
) -> None:
    """Make the summary again that stands beside the signature, mostly unsigned, and compare."""
    headers = (
        message.protected if labels.TRACE_METADATA in message.protected else message.unprotected
    )
    if labels.TRACE_METADATA not in headers:
        return
    said = headers[labels.TRACE_METADATA]
    if (
        not isinstance(said, dict)
        or not said.keys() >= _REQUIRED
        or not said.keys() <= _REQUIRED | _OPTIONAL
    ):
        raise InvalidStatement(
            "trace-metadata does not have the members it must have", reason="metadata-malformed"
        )
    if said.get("content-hash-alg", _HASH) != _HASH or said.get(
        "content-hash", _digest(payload)
    ) != _digest(payload):
        raise InvalidStatement(
            "trace-metadata names another content hash", reason="metadata-mismatch"
        )
    known = _summary(payload, record)
    if known is None:
        checks.undecided("metadata", "not signed, and there is nothing to compare it with")
        return
    for name in sorted((_REQUIRED | {"timestamp-end"}) & (said.keys() | known.keys())):
        if said.get(name) != known.get(name):
            raise InvalidStatement(
                f"trace-metadata says {name} {said.get(name)!r}, not {known.get(name)!r}",
                reason="metadata-mismatch",
            )
    checks.passed("metadata", "as what was signed says")


def _summary(payload: bytes, record: dict[str, Any] | None) -> dict[str, Any] | None:
    if record is not None:
        return trace_metadata(record, format_of(record.get("version")))
    source = Source((Part("session", payload),))
    try:
        reading = next(iter(reader_for(source).read(source)), None)
    except VacrError:
        return None
    if reading is None:
        return None
    made = cast("dict[str, Any]", reading.record)
    return trace_metadata(made, made["vacr"]["source"]["format"])


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _check_digest(message: Sign1, payload: bytes) -> None:
    subject = _subject(message)
    if subject.startswith(_DIGEST) and subject != f"{_DIGEST}{_digest(payload)}":
        raise InvalidStatement("the statement is about other bytes", reason="subject-mismatch")


def _subject(message: Sign1) -> str:
    """Give what a statement says it is about, in the one form of a URN of ours, whose letters may
    be of either case.
    """
    return str(message.protected.get(labels.CWT_CLAIMS, {}).get(labels.SUB, "")).lower()


def _check_valid(
    message: Sign1,
    record: dict[str, Any],
    made: dict[str, Any],
    form: Form,
    policy: Policy,
    checks: Checks,
) -> None:
    report = validate(record, json=form == "json")
    if report.findings:
        first = report.findings[0]
        raise InvalidStatement(
            f"not a valid record: {first.pointer or '/'}: {first.found}", reason="record-invalid"
        )
    if policy.schema_version is not None and major(record.get("version")) != policy.schema_version:
        raise InvalidStatement(
            f"version {record.get('version')}, not {policy.schema_version}", reason="schema-version"
        )
    if made_by_vacr(made) and made.get("id") != record_id(cast("Record", made)):
        raise InvalidStatement("the record's id is not that of its content", reason="record-id")
    subject = _subject(message)
    if subject.startswith(_URN) and subject != f"{_URN}{record.get('id')}".lower():
        raise InvalidStatement("the statement is about another record", reason="subject-mismatch")
    checks.passed("record", f"valid by version {record['version']}, id {record.get('id')}")


def _check_attribution(record: dict[str, Any], inputs: Inputs, checks: Checks) -> None:
    joint = inputs.joint() if checking.is_joint(record) else checking.Joint([record])
    outcome, told = checking.check(record, joint, inputs.base)
    if outcome == checking.DIFFERS:
        raise InvalidStatement(told, reason="attribution-mismatch")
    if outcome == checking.HOLDS:
        checks.passed("attribution", told)
    else:
        checks.undecided("attribution", told)


def _check_source(record: dict[str, Any], inputs: Inputs, checks: Checks) -> None:
    """Make the record again from the native session, and compare."""
    agent = record.get("recording-agent")
    version = (
        agent.get("version") if isinstance(agent, dict) and agent.get("name") == "vacr" else None
    )
    if version != __version__:
        # The signer says what recorded it: to believe that would be to let them choose not to be
        # checked.
        raise InvalidStatement(
            (
                f"recorded by another program or version ({version}), not by vacr "
                f"{__version__}: it "
                "cannot be made again"
            ),
            reason="source-undecided",
            hint="Compare it by the program that recorded it, or verify without --source.",
        )
    earlier = checking.befores(record) if "file-attribution" in record else [record]
    wanted = {_content(one) for one in earlier}
    try:
        made = [
            reading.record
            for source in inputs.sources
            for reading in reader_for(source).read(source)
        ]
    except VacrError as error:
        raise InvalidStatement(
            f"the source cannot be read: {error}", reason="source-unreadable"
        ) from error
    if any(_content(one) in wanted for one in made):
        checks.passed("source", "the same record comes out of it")
        return
    raise InvalidStatement("another record comes out of the source", reason="source-mismatch")


def _content(record: Any) -> bytes:
    """Give the bytes of a record but for its id, which is made of them, and too short to stand for
    them.
    """
    return encode({name: value for name, value in record.items() if name != "id"})
