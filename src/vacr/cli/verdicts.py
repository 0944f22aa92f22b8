"""The verdict about one statement, made of files: what `vacr verify` does for each, in this process
or in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from vacr.agents import Source
from vacr.attribution import BaseFiles, JointRecords
from vacr.blame import load_git_base
from vacr.cli.relying import (
    EvidenceOptions,
    describe_evidence_mismatch,
    load_evidence_for_file,
    load_evidence_requirements,
)
from vacr.discovery import read_sessions
from vacr.errors import InvalidStatement, UnreadableInput, VacrError
from vacr.files import read_bytes
from vacr.record import convert_to_original_version
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    compute_thumbprint_uri,
    get_algorithm_number,
    parse_pem_certificates,
    parse_public_keys,
    read_certificate_file,
    read_log_keys,
    read_trust_file,
)
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.verification import (
    Policy,
    VerificationFailed,
    VerifiedReceipt,
    VerifiedStatement,
    parse_signed_record,
    verify,
)
from vacr.workflows import STATEMENT_SUFFIX, StatementPair

EXIT_NOT_VERIFIED = 1
_MAX_STATEMENT_BYTES = 1 << 30


@dataclass(frozen=True)
class VerificationOptions:
    """What is asked of statements, as it can be handed to another process."""

    trust: tuple[str, ...] = ()
    issuer: str | None = None
    subject: str | None = None
    algorithms: tuple[str, ...] = ()
    usage: str | None = None
    timestamp_trust: tuple[str, ...] = ()
    needs_timestamp: bool = False
    schema_version: str | None = None
    source: str | None = None
    base: str | None = None
    log_keys: tuple[str, ...] = ()
    entry_rule: str = ENTRY_RULE_STATEMENT
    evidence: EvidenceOptions | None = None


@cache
def load_verification_policy(wanted: VerificationOptions) -> Policy:
    """Read what trust rests on, and make the policy.

    Raises:
        UsageError: there is no such algorithm.
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: it holds neither keys nor certificates.
    """
    trusted, roots = [], []
    for name in wanted.trust:
        data = read_trust_file(name)
        try:
            certified = b"-----BEGIN CERTIFICATE-----" in data
            roots += parse_pem_certificates(data) if certified else []
            trusted += (
                parse_public_keys(data)
                if not certified or b"-----BEGIN PUBLIC KEY-----" in data
                else []
            )
        except UnreadableInput as error:
            raise UnreadableInput(error.message, where=name, hint=error.hint) from error
    return Policy(
        keys=tuple(trusted),
        roots=tuple(roots),
        issuer=wanted.issuer,
        subject=wanted.subject,
        algorithms=frozenset(map(get_algorithm_number, wanted.algorithms)) or frozenset(ALGORITHMS),
        extended_key_usage=wanted.usage,
        timestamp_roots=tuple(
            one for name in wanted.timestamp_trust for one in read_certificate_file(name)
        ),
        needs_timestamp=wanted.needs_timestamp,
        log_keys=tuple(one for name in wanted.log_keys for one in read_log_keys(name)),
        entry_rule=wanted.entry_rule,
        schema_version=wanted.schema_version,
        evidence=load_evidence_requirements(wanted.evidence)
        if wanted.evidence is not None
        else None,
    )


@cache
def _load_base(name: str) -> BaseFiles:
    return load_git_base(name)


def judge_statement(
    pair: StatementPair, wanted: VerificationOptions, beside: tuple[str, ...], now: datetime
) -> dict[str, Any]:
    """Verify one statement, and tell all about it; `beside` are the files that are verified in the
    same run.
    """
    told: dict[str, Any] = {
        "file": pair.file,
        "statement": pair.statement,
        "verified": False,
        "checks": [],
    }
    try:
        verified = _verify_statement_files(pair, wanted, beside, now)
    except VerificationFailed as error:
        checks = [_build_check_document(one) for one in error.checks]
        asked = wanted.evidence if error.reason == "evidence-missing" else None
        hint = (
            describe_evidence_mismatch(pair, asked) if asked is not None else None
        ) or error.hint
        return {
            **told,
            "reason": error.reason,
            "message": error.message,
            "hint": hint,
            "checks": checks,
            "exit": EXIT_NOT_VERIFIED,
        }
    except VacrError as error:
        reason = error.reason if isinstance(error, InvalidStatement) else "unreadable"
        return {
            **told,
            "reason": reason,
            "message": str(error),
            "hint": error.hint,
            "exit": error.exit_code,
        }
    return {**told, "verified": True, **_build_verified_document(verified), "exit": 0}


def _verify_statement_files(
    pair: StatementPair, wanted: VerificationOptions, beside: tuple[str, ...], now: datetime
) -> VerifiedStatement:
    if pair.statement is None:
        if pair.file is not None and not Path(pair.file).exists():
            raise UnreadableInput("there is no such file", where=pair.file)
        hint = (
            f"Whoever signed it has the statement: put it beside as {pair.file}{STATEMENT_SUFFIX}. Your "
            f"own: vacr sign {pair.file} --key KEY."
        )
        raise InvalidStatement(
            "not signed: there is no statement beside it", reason="not-signed", hint=hint
        )
    payload = read_bytes(pair.file) if pair.file is not None else None
    statement = read_bytes(pair.statement, _MAX_STATEMENT_BYTES)
    sources, base = (
        _read_native_sources(wanted.source) if wanted.source else (),
        _load_base(wanted.base) if wanted.base else None,
    )
    policy = replace(
        load_verification_policy(wanted), needs_record=pair.is_record or wanted.source is not None
    )
    evidence = (
        load_evidence_for_file(pair, wanted.evidence) if wanted.evidence is not None else None
    )
    joint = partial(load_joint_records, beside)
    return verify(
        statement,
        policy,
        payload=payload,
        source=sources,
        base=base,
        joint=joint,
        evidence=evidence,
        now=now,
    )


@cache
def load_joint_records(names: tuple[str, ...]) -> JointRecords:
    """Read the records among some files, each of them once."""
    found = (parse_signed_record(read_bytes(name)) for name in names)
    records = [
        convert_to_original_version(one[0], json=one[1] == "json")
        for one in found
        if one is not None
    ]
    return JointRecords(list({str(one.get("id")): one for one in records}.values()))


@cache
def _read_native_sources(path: str) -> tuple[Source, ...]:
    """Read the native sessions that records may be of."""
    sources = []
    for found in read_sessions(path, keep_source=True):
        if isinstance(found, VacrError):
            raise found
        if found.source is not None:
            sources.append(found.source)
    return tuple(sources)


def _build_verified_document(verified: VerifiedStatement) -> dict[str, Any]:
    issued = (
        datetime.fromtimestamp(verified.issued_at, UTC) if verified.issued_at is not None else None
    )
    return {
        "profile": verified.profile,
        "algorithm": ALGORITHMS[verified.message.protected[HEADER_ALG]].name,
        "signer": str(verified.signer),
        "thumbprint": compute_thumbprint_uri(verified.signer.key),
        "issuer": verified.issuer,
        "subject": verified.subject,
        "issued-at": _format_utc_time(issued),
        "timestamp": _format_utc_time(verified.timestamp),
        "logged-at": _format_utc_time(verified.logged_at),
        "receipts": [build_receipt_document(one) for one in verified.receipts],
        "record": verified.record.get("id") if verified.record is not None else None,
        "checks": [_build_check_document(one) for one in verified.checks],
    }


def build_receipt_document(logged: VerifiedReceipt) -> dict[str, Any]:
    """Tell what a receipt shows, for programs."""
    return {
        "log": logged.issuer,
        "subject": logged.subject,
        "index": logged.index,
        "size": logged.size,
        "time": _format_utc_time(logged.time),
        "key": compute_thumbprint_uri(logged.key),
    }


def _build_check_document(one: Any) -> dict[str, str]:
    return {"name": one.name, "outcome": one.outcome, "told": one.told} | (
        {"reason": one.reason} if one.reason else {}
    )


def _format_utc_time(when: datetime | None) -> str | None:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}" if when is not None else None
