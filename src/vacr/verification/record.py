"""What vouches for how a record was recorded: evidence, or a verifier's result. Step: verify.
Follows RFC 9334.

It is given, or in the statement's header, which nobody signed: it counts because it names the
digest of the record itself.

What signed bytes say: a record that is valid, is what it says it is, and is what its source
yields. Step: verify.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from vacr.agents import Source, SourcePart, find_reader
from vacr.attribution import (
    ATTRIBUTION_DIFFERS,
    ATTRIBUTION_HOLDS,
    BaseFiles,
    JointRecords,
    compare_attribution,
    is_jointly_attributed,
    list_unattributed_variants,
)
from vacr.errors import InvalidStatement, VacrError
from vacr.model import Record
from vacr.record import (
    RecordEncoding,
    compute_record_id,
    convert_to_original_version,
    encode,
    is_made_by_vacr,
    parse_major_version,
    validate,
)
from vacr.signing import (
    CLAIM_SUB,
    HEADER_CWT_CLAIMS,
    HEADER_EVIDENCE,
    HEADER_TRACE_METADATA,
    Sign1,
    build_trace_metadata,
    get_trace_format,
)
from vacr.verification.claims import parse_signed_record
from vacr.verification.policy import Checks, Policy
from vacr.version import __version__


def check_evidence(
    message: Sign1,
    payload: bytes,
    record: dict[str, Any] | None,
    given: bytes | None,
    policy: Policy,
    now: datetime,
    checks: Checks,
) -> None:
    """Check that what vouches for signed bytes is as good as the policy asks for, and names the
    journal that the record names.

    Raises:
        InvalidStatement: it is not, or there is nothing.
    """
    if policy.evidence is None:
        if given is not None or HEADER_EVIDENCE in message.unprotected:
            checks.undecided("evidence", "there is some, and it was not asked for")
        return
    # Loaded on request only: it brings the code for TPM quotes along.
    from vacr.evidence import check_evidence_requirement, find_attached_message, find_journal_head

    found = given if given is not None else find_attached_message(message)
    journal = find_journal_head(record) if record is not None else None
    told = check_evidence_requirement(
        found, hashlib.sha256(payload).digest(), policy.evidence, now, journal
    )
    checks.passed("evidence", told)


_REQUIRED_METADATA = frozenset(("session-id", "agent-vendor", "trace-format", "timestamp-start"))
_OPTIONAL_METADATA = frozenset(("timestamp-end", "content-hash", "content-hash-alg"))
_CONTENT_HASH_ALG = "sha-256"
_RECORD_URN_PREFIX = "urn:uuid:"
_DIGEST_URN_PREFIX = "urn:sha-256:"


@dataclass(frozen=True, slots=True)
class VerificationInputs:
    """What a verifier has beside the statement."""

    sources: tuple[Source, ...]
    base: BaseFiles | None
    joint: Callable[[], JointRecords]
    checked_record: dict[str, Any] | None = None
    """The payload as the caller has just validated, attributed and encoded it."""


def check_signed_record(
    message: Sign1, payload: bytes, policy: Policy, inputs: VerificationInputs, checks: Checks
) -> dict[str, Any] | None:
    """Check what signed bytes say; gives the record that they are.

    Raises:
        VerificationFailed: something does not hold.
    """
    if inputs.checked_record is not None:
        return _check_described_record(message, payload, inputs.checked_record, checks)
    form: RecordEncoding = "json"
    record = None
    if found := parse_signed_record(payload):
        record, form = found
    with checks.of("metadata"):
        _check_trace_metadata(message, payload, record, checks)
    with checks.of("record"):
        _check_subject_digest(message, payload)
        if record is None:
            if policy.needs_record or policy.schema_version is not None:
                raise InvalidStatement("what was signed is no record", reason="not-a-record")
            checks.undecided(
                "record", "what was signed is no record: a native session, or something else"
            )
            return None
        made = convert_to_original_version(record, json=form == "json")
        _check_valid_record(message, record, made, form, policy, checks)
    with checks.of("attribution"):
        if "file-attribution" in made:
            _check_attribution(made, inputs, checks)
    with checks.of("source"):
        if inputs.sources:
            _check_source(made, inputs, checks)
    return record


def _check_described_record(
    message: Sign1, payload: bytes, record: dict[str, Any], checks: Checks
) -> dict[str, Any]:
    """Check that a statement describes a record whose content is known to be right."""
    with checks.of("metadata"):
        _check_trace_metadata(message, payload, record, checks)
    with checks.of("record"):
        _check_subject_digest(message, payload)
        _check_subject_id(message, record)
        checks.passed("record", f"version {record['version']}, id {record.get('id')}")
    return record


def _check_trace_metadata(
    message: Sign1, payload: bytes, record: dict[str, Any] | None, checks: Checks
) -> None:
    """Make the summary again that stands beside the signature, mostly unsigned, and compare."""
    headers = (
        message.protected if HEADER_TRACE_METADATA in message.protected else message.unprotected
    )
    if HEADER_TRACE_METADATA not in headers:
        return
    said = headers[HEADER_TRACE_METADATA]
    if (
        not isinstance(said, dict)
        or not said.keys() >= _REQUIRED_METADATA
        or not said.keys() <= _REQUIRED_METADATA | _OPTIONAL_METADATA
    ):
        raise InvalidStatement(
            "trace-metadata does not have the members it must have", reason="metadata-malformed"
        )
    if said.get("content-hash-alg", _CONTENT_HASH_ALG) != _CONTENT_HASH_ALG or said.get(
        "content-hash", _compute_digest(payload)
    ) != _compute_digest(payload):
        raise InvalidStatement(
            "trace-metadata names another content hash", reason="metadata-mismatch"
        )
    known = _rebuild_trace_metadata(payload, record)
    if known is None:
        checks.undecided("metadata", "not signed, and there is nothing to compare it with")
        return
    for name in sorted((_REQUIRED_METADATA | {"timestamp-end"}) & (said.keys() | known.keys())):
        if said.get(name) != known.get(name):
            raise InvalidStatement(
                f"trace-metadata says {name} {said.get(name)!r}, not {known.get(name)!r}",
                reason="metadata-mismatch",
            )
    checks.passed("metadata", "as what was signed says")


def _rebuild_trace_metadata(payload: bytes, record: dict[str, Any] | None) -> dict[str, Any] | None:
    if record is not None:
        return build_trace_metadata(record, get_trace_format(record.get("version")))
    source = Source((SourcePart("session", payload),))
    try:
        reading = next(iter(find_reader(source).read(source)), None)
    except VacrError:
        return None
    if reading is None:
        return None
    made = cast("dict[str, Any]", reading.record)
    return build_trace_metadata(made, made["vacr"]["source"]["format"])


def _compute_digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _check_subject_digest(message: Sign1, payload: bytes) -> None:
    subject = _get_subject(message)
    if (
        subject.startswith(_DIGEST_URN_PREFIX)
        and subject != f"{_DIGEST_URN_PREFIX}{_compute_digest(payload)}"
    ):
        raise InvalidStatement("the statement is about other bytes", reason="subject-mismatch")


def _get_subject(message: Sign1) -> str:
    """Give what a statement says it is about, in the one form of a URN of ours, whose letters may
    be of either case.
    """
    return str(message.protected.get(HEADER_CWT_CLAIMS, {}).get(CLAIM_SUB, "")).lower()


def _check_valid_record(
    message: Sign1,
    record: dict[str, Any],
    made: dict[str, Any],
    form: RecordEncoding,
    policy: Policy,
    checks: Checks,
) -> None:
    report = validate(record, json=form == "json")
    if report.findings:
        first = report.findings[0]
        raise InvalidStatement(
            f"not a valid record: {first.pointer or '/'}: {first.found}", reason="record-invalid"
        )
    if (
        policy.schema_version is not None
        and parse_major_version(record.get("version")) != policy.schema_version
    ):
        raise InvalidStatement(
            f"version {record.get('version')}, not {policy.schema_version}", reason="schema-version"
        )
    if is_made_by_vacr(made) and made.get("id") != compute_record_id(cast("Record", made)):
        raise InvalidStatement("the record's id is not that of its content", reason="record-id")
    _check_subject_id(message, record)
    checks.passed("record", f"valid by version {record['version']}, id {record.get('id')}")


def _check_subject_id(message: Sign1, record: dict[str, Any]) -> None:
    subject = _get_subject(message)
    if (
        subject.startswith(_RECORD_URN_PREFIX)
        and subject != f"{_RECORD_URN_PREFIX}{record.get('id')}".lower()
    ):
        raise InvalidStatement("the statement is about another record", reason="subject-mismatch")


def _check_attribution(record: dict[str, Any], inputs: VerificationInputs, checks: Checks) -> None:
    joint = inputs.joint() if is_jointly_attributed(record) else JointRecords([record])
    outcome, told = compare_attribution(record, joint, inputs.base)
    if outcome == ATTRIBUTION_DIFFERS:
        raise InvalidStatement(told, reason="attribution-mismatch")
    if outcome == ATTRIBUTION_HOLDS:
        checks.passed("attribution", told)
    else:
        checks.undecided("attribution", told)


def _check_source(record: dict[str, Any], inputs: VerificationInputs, checks: Checks) -> None:
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
    earlier = list_unattributed_variants(record) if "file-attribution" in record else [record]
    wanted = {_encode_without_id(one) for one in earlier}
    try:
        made = [
            reading.record
            for source in inputs.sources
            for reading in find_reader(source).read(source)
        ]
    except VacrError as error:
        raise InvalidStatement(
            f"the source cannot be read: {error}", reason="source-unreadable"
        ) from error
    if any(_encode_without_id(one) in wanted for one in made):
        checks.passed("source", "the same record comes out of it")
        return
    raise InvalidStatement("another record comes out of the source", reason="source-mismatch")


def _encode_without_id(record: Any) -> bytes:
    """Give the bytes of a record but for its id, which is made of them, and too short to stand for
    them.
    """
    return encode({name: value for name, value in record.items() if name != "id"})
