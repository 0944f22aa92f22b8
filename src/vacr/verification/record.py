"""The signed record: its metadata, validity, attribution, source and evidence.

A valid signature only proves who signed which bytes. These checks compare the bytes with
everything that depends on them: the unsigned summary in the header, the schema, the attribution
(computed again), the native session (converted again), and evidence about the recording.

    >>> from vacr.signing import KeySigner, generate_key, parse_sign1, sign
    >>> from vacr.verification import Checks, Policy
    >>> from vacr.verification.record import VerificationInputs, check_signed_record
    >>> message = parse_sign1(sign(b"some text", KeySigner(generate_key("eddsa"))))
    >>> inputs, checks = VerificationInputs(sources=(), base=None, joint=lambda: None), Checks()
    >>> check_signed_record(message, b"some text", Policy(), inputs, checks)    # not a record
    >>> [(check.name, check.outcome) for check in checks.finished]
    [('record', 'not decidable')]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from vacr.agents import (
    Source,
    SourcePart,
    find_missing_agent,
    find_required_agent,
    has_separate_calls,
    recognise_agent,
)
from vacr.attribution import (
    ATTRIBUTION_DIFFERS,
    ATTRIBUTION_HOLDS,
    ATTRIBUTION_NEEDS_AGENT,
    BaseFiles,
    JointRecords,
    compare_attribution,
    is_jointly_attributed,
    list_unattributed_variants,
)
from vacr.errors import InvalidStatement, PluginError, VacrError
from vacr.record import (
    RecordEncoding,
    convert_to_original_version,
    encode,
    find_record_modification,
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
    compute_thumbprint,
    get_trace_format,
)
from vacr.verification.claims import parse_signed_record
from vacr.verification.displayed_names import quote_words
from vacr.verification.policy import Checks, Policy
from vacr.verification.trust_store import ROLE_VERIFIER, TrustStore
from vacr.version import __version__

if TYPE_CHECKING:
    from vacr.evidence import EvidenceRequirement

_REQUIRED_METADATA = frozenset(("session-id", "agent-vendor", "trace-format", "timestamp-start"))
_OPTIONAL_METADATA = frozenset(("timestamp-end", "content-hash", "content-hash-alg"))
_CONTENT_HASH_ALG = "sha-256"
_RECORD_URN_PREFIX = "urn:uuid:"
_DIGEST_URN_PREFIX = "urn:sha-256:"
_MAP_HINT = (
    "Check that --source names the native session of this record, and that the map of its members, "
    "if any, is next to it: /vacr/source/parts names both files."
)


@dataclass(frozen=True, slots=True)
class VerificationInputs:
    """Optional inputs of a verifier, besides the statement and the payload."""

    sources: tuple[Source, ...]
    """The native sessions that the record was converted from."""
    base: BaseFiles | None
    """The files before the session; the attribution was computed with them."""
    joint: Callable[[], JointRecords]
    """Returns the records that were attributed together with this one."""
    checked_record: dict[str, Any] | None = None
    """The record in the payload, if the caller has just validated, attributed and encoded it.

    Its validity and attribution are not checked again.
    """


def check_signed_record(
    message: Sign1, payload: bytes, policy: Policy, inputs: VerificationInputs, checks: Checks
) -> dict[str, Any] | None:
    """Check and return the record in a signed file, or return None if the file is not a record.

    The results are added to `checks`.

    Raises:
        VerificationFailed: a check failed.
    """
    if inputs.checked_record is not None:
        return _check_described_record(message, payload, inputs.checked_record, checks)
    record, encoding = parse_signed_record(payload) or (None, "json")
    with checks.run("metadata"):
        _check_trace_metadata(message, payload, record, checks)
    with checks.run("record"):
        _check_subject_digest(message, payload)
        if record is None:
            if policy.needs_record or policy.schema_version is not None:
                raise InvalidStatement("the signed file is not a record", reason="not-a-record")
            checks.add_undecided(
                "record", "the signed file is not a record, but a native session or another file"
            )
            return None
        original = convert_to_original_version(record, json=encoding == "json")
        _check_valid_record(message, record, original, encoding, policy, checks)
    with checks.run("attribution"):
        if "file-attribution" in original:
            _check_attribution(original, inputs, checks)
    with checks.run("source"):
        if inputs.sources:
            _check_source(original, inputs, checks)
    return record


def _check_described_record(
    message: Sign1, payload: bytes, record: dict[str, Any], checks: Checks
) -> dict[str, Any]:
    """Check only that the headers of a statement describe the record; return the record."""
    with checks.run("metadata"):
        _check_trace_metadata(message, payload, record, checks)
    with checks.run("record"):
        _check_subject_digest(message, payload)
        _check_subject_id(message, record)
        checks.add_passed("record", f"version {record['version']}, id {_quote_id(record)}")
    return record


def _quote_id(record: dict[str, Any]) -> str:
    """Return the id of a record for a finding: other programs may choose any text."""
    return quote_words(str(record.get("id")))


def _check_trace_metadata(
    message: Sign1, payload: bytes, record: dict[str, Any] | None, checks: Checks
) -> None:
    """Compare the header `trace-metadata`, which is rarely signed, with the signed file.

    A statement without the header passes, and adds no result. If the file is neither a record nor a
    session, the check is undecided.

    Raises:
        InvalidStatement: the header is malformed, or does not match the file.
    """
    headers = (
        message.protected if HEADER_TRACE_METADATA in message.protected else message.unprotected
    )
    if HEADER_TRACE_METADATA not in headers:
        return
    metadata = headers[HEADER_TRACE_METADATA]
    if (
        not isinstance(metadata, dict)
        or not metadata.keys() >= _REQUIRED_METADATA
        or not metadata.keys() <= _REQUIRED_METADATA | _OPTIONAL_METADATA
    ):
        raise InvalidStatement(
            "the header trace-metadata is not a map, or has missing or unknown members",
            reason="metadata-malformed",
        )
    digest = _compute_digest(payload)
    hash_algorithm = metadata.get("content-hash-alg", _CONTENT_HASH_ALG)
    if hash_algorithm != _CONTENT_HASH_ALG or metadata.get("content-hash", digest) != digest:
        raise InvalidStatement(
            "trace-metadata names a different content hash", reason="metadata-mismatch"
        )
    expected = _rebuild_trace_metadata(payload, record)
    if expected is None:
        checks.add_undecided(
            "metadata",
            "trace-metadata not compared: the signed file is neither a record nor a known session",
        )
        return
    compared = _REQUIRED_METADATA | {"timestamp-end"}
    for name in sorted(compared & (metadata.keys() | expected.keys())):
        claimed, actual = metadata.get(name), expected.get(name)
        if claimed != actual:
            raise InvalidStatement(
                f"trace-metadata: {name} is {claimed!r}, expected {actual!r}",
                reason="metadata-mismatch",
            )
    checks.add_passed("metadata", "matches the signed content")


def _rebuild_trace_metadata(payload: bytes, record: dict[str, Any] | None) -> dict[str, Any] | None:
    """Build the trace metadata of the record, or of a native session in the payload.

    Return None if the payload is neither.
    """
    if record is not None:
        return build_trace_metadata(record, get_trace_format(record.get("version")))
    source = Source((SourcePart("session", payload),))
    try:
        reading = next(iter(recognise_agent(source).read(source)), None)
    except VacrError:
        return None
    if reading is None:
        return None
    native = cast("dict[str, Any]", reading.record)
    return build_trace_metadata(native, native["vacr"]["source"]["format"])


def _compute_digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _check_subject_digest(message: Sign1, payload: bytes) -> None:
    """Check the hash in a subject such as `urn:sha-256:…`; ignore other subjects.

    Raises:
        InvalidStatement: it is the hash of another file.
    """
    subject = _get_subject(message)
    expected = f"{_DIGEST_URN_PREFIX}{_compute_digest(payload)}"
    if subject.startswith(_DIGEST_URN_PREFIX) and subject != expected:
        raise InvalidStatement("the statement is about a different file", reason="subject-mismatch")


def _get_subject(message: Sign1) -> str:
    """Return the claimed subject in lower case, because URNs ignore case; empty if none."""
    return str(message.protected.get(HEADER_CWT_CLAIMS, {}).get(CLAIM_SUB, "")).lower()


def _check_valid_record(
    message: Sign1,
    record: dict[str, Any],
    original: dict[str, Any],
    encoding: RecordEncoding,
    policy: Policy,
    checks: Checks,
) -> None:
    """Check that a record follows its schema and the policy, and that its id is right.

    `original` is the record in the format version that vacr wrote; its id covers that version.

    Raises:
        InvalidStatement: it does not, its id is wrong, or the statement is about another record.
    """
    version = record.get("version")
    # The signer alone claims which agent wrote the session. Where that agent is not installed,
    # accepting their word would let them add entries that the content of a message does not have.
    report = validate(
        record,
        json=encoding == "json",
        has_separate_calls=lambda record: has_separate_calls(record) is True,
    )
    if report.findings:
        first = report.findings[0]
        missing_agent = find_missing_agent(record) if "session" in record else ""
        raise InvalidStatement(
            f"the record is invalid: {first.pointer or '/'}: {first.found}, "
            f"expected {first.expected}",
            reason="record-invalid",
            hint=f"The agent {missing_agent!r} is not installed here." if missing_agent else "",
        )
    if policy.schema_version is not None and parse_major_version(version) != policy.schema_version:
        raise InvalidStatement(
            f"the record has schema version {version}, expected {policy.schema_version}",
            reason="schema-version",
        )
    modification = find_record_modification(original, json=encoding == "json")
    if modification is not None:
        raise modification.cause or InvalidStatement(str(modification), reason="record-id")
    _check_subject_id(message, record)
    checks.add_passed("record", f"valid, version {record['version']}, id {_quote_id(record)}")


def _check_subject_id(message: Sign1, record: dict[str, Any]) -> None:
    """Check the record id in a subject such as `urn:uuid:…`; ignore other subjects.

    Raises:
        InvalidStatement: it is the id of another record.
    """
    subject = _get_subject(message)
    expected = f"{_RECORD_URN_PREFIX}{record.get('id')}".lower()
    if subject.startswith(_RECORD_URN_PREFIX) and subject != expected:
        raise InvalidStatement(
            "the statement is about a different record", reason="subject-mismatch"
        )


def _check_attribution(record: dict[str, Any], inputs: VerificationInputs, checks: Checks) -> None:
    """Compute the file attribution of a record again, compare, and add the result.

    Raises:
        InvalidStatement: it differs, or only a missing or failing agent could compute it.
    """
    joint = inputs.joint() if is_jointly_attributed(record) else JointRecords([record])
    try:
        outcome, finding = compare_attribution(record, joint, inputs.base)
    except PluginError as error:
        finding = f"cannot recompute the attribution: {error.message}"
        raise InvalidStatement(finding, reason="attribution-undecided", hint=error.hint) from error
    if outcome == ATTRIBUTION_NEEDS_AGENT:
        # A false name of an agent must not switch off this check, either.
        hint = "Install the plugin of the agent."
        raise InvalidStatement(finding, reason="attribution-undecided", hint=hint)
    if outcome == ATTRIBUTION_DIFFERS:
        raise InvalidStatement(finding, reason="attribution-mismatch")
    if outcome == ATTRIBUTION_HOLDS:
        checks.add_passed("attribution", finding)
    else:
        checks.add_undecided("attribution", finding)


def _check_source(record: dict[str, Any], inputs: VerificationInputs, checks: Checks) -> None:
    """Convert the native sessions again, and check that one of them gives this record.

    `inputs` has at least one native session. The ids are not compared, and neither is the file
    attribution. The result is added to `checks`.

    Raises:
        InvalidStatement: none gives it, one cannot be read, or another program or another version
            of vacr made the record.
    """
    agent = record.get("recording-agent")
    version = None
    if isinstance(agent, dict) and agent.get("name") == "vacr":
        version = agent.get("version")
    if version != __version__:
        # The signer alone claims which program recorded it. Accepting their word would let
        # them escape this check.
        recorder = (
            f"vacr {version}, and this is vacr {__version__}" if version else "another program"
        )
        raise InvalidStatement(
            f"cannot convert the native session again: the record was made by {recorder}",
            reason="source-undecided",
            hint="Verify with the program that made the record, or without --source.",
        )
    reader = find_required_agent(record)
    variants = list_unattributed_variants(record) if "file-attribution" in record else [record]
    expected = {_encode_without_id(variant) for variant in variants}
    try:
        converted = [
            reading.record
            for source in inputs.sources
            for reading in recognise_agent(source, reader).read_labelled(source)
        ]
    except VacrError as error:
        raise InvalidStatement(
            f"cannot read the native session given with --source: {error}",
            reason="source-unreadable",
        ) from error
    if not any(_encode_without_id(candidate) in expected for candidate in converted):
        raise InvalidStatement(
            "the record does not match the native session given with --source",
            reason="source-mismatch",
            hint=_MAP_HINT if reader is not None else "",
        )
    checks.add_passed("source", "converting it again gives the same record")


def _encode_without_id(record: Any) -> bytes:
    """Encode a record without its id; the id is only a hash of the other members."""
    return encode({name: value for name, value in record.items() if name != "id"})


def _add_store_verifiers(
    policy: Policy, requirement: EvidenceRequirement, now: datetime
) -> EvidenceRequirement:
    """Return a requirement with the verifiers of the trust store, too, and with their names.

    The first party of the store that lists a key decides about it; it must be trusted now.
    """
    store = policy.trust_store or TrustStore()
    keys = (*requirement.verifiers, *store.list_keys(ROLE_VERIFIER))
    owners = [(key, store.find_by_key(key, ROLE_VERIFIER)) for key in keys]
    trusted = [(key, owner) for key, owner in owners if owner is None or owner.is_valid_at(now)]
    names = [(compute_thumbprint(key), owner.name) for key, owner in trusted if owner is not None]
    keys = tuple(key for key, _ in trusted)
    return replace(requirement, verifiers=keys, names=tuple(names))


def check_evidence(
    message: Sign1,
    payload: bytes,
    record: dict[str, Any] | None,
    evidence: bytes | None,
    policy: Policy,
    now: datetime,
    checks: Checks,
) -> None:
    """Check that evidence about a recording satisfies the policy, and add the result.

    `evidence` is the evidence, or a verifier's result about it; None takes it from the statement's
    unprotected header. Anybody can put it there: it counts because it names the digest of the
    payload, under a signature of its own. It must also name the journal that the record names.
    Nothing is checked if the policy requires no evidence.

    Raises:
        InvalidStatement: the evidence is missing or insufficient.
    """
    if policy.evidence is None:
        if evidence is not None or HEADER_EVIDENCE in message.unprotected:
            checks.add_undecided("evidence", "not checked: the policy does not require evidence")
        return
    # Imported here, so that a verification without evidence does not load the code for it.
    from vacr.evidence import check_evidence_requirement, find_attached_message, find_journal_head

    if evidence is None:
        evidence = find_attached_message(message)
    journal = find_journal_head(record) if record is not None else None
    digest = hashlib.sha256(payload).digest()
    requirement = policy.evidence
    if requirement.policy is None and policy.trust_store is not None:
        requirement = _add_store_verifiers(policy, requirement, now)
    finding = check_evidence_requirement(evidence, digest, requirement, now, journal)
    checks.add_passed("evidence", finding)
