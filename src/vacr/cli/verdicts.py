"""The verdict about one statement, made of files: what `vacr verify` does for each, in this process
or in another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from vacr.attribution import Base
from vacr.attribution.checking import Joint
from vacr.cli.relying import WantedEvidence, evidence_for, hint_for, needed_of
from vacr.errors import InvalidStatement, UnreadableInput, VacrError
from vacr.readers.source import Source
from vacr.receipts.entries import STATEMENT
from vacr.signing import keys
from vacr.signing.algorithms import ALGORITHMS, number_of
from vacr.signing.certificates import load_certificates
from vacr.signing.labels import ALG
from vacr.sources import read, read_bytes
from vacr.sources.git import base_of
from vacr.sources.key_files import certificates_in, log_keys_in, trust_bytes
from vacr.sources.statements import COSE, Pair
from vacr.verification import Policy, VerificationFailed, Verified, verify
from vacr.verification.contents import record_in
from vacr.verification.receipts import Logged
from vacr.versions.made import as_made

FAILED = 1
_LARGEST_STATEMENT = 1 << 30


@dataclass(frozen=True)
class Wanted:
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
    entry_rule: str = STATEMENT
    evidence: WantedEvidence | None = None


@cache
def policy_of(wanted: Wanted) -> Policy:
    """Read what trust rests on, and make the policy.

    Raises:
        UsageError: there is no such algorithm.
        Unreachable: a file that trust rests on cannot be read.
        UnreadableInput: it holds neither keys nor certificates.
    """
    trusted, roots = [], []
    for name in wanted.trust:
        data = trust_bytes(name)
        try:
            certified = b"-----BEGIN CERTIFICATE-----" in data
            roots += load_certificates(data) if certified else []
            trusted += (
                keys.load_public(data)
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
        algorithms=frozenset(map(number_of, wanted.algorithms)) or frozenset(ALGORITHMS),
        extended_key_usage=wanted.usage,
        timestamp_roots=tuple(
            one for name in wanted.timestamp_trust for one in certificates_in(name)
        ),
        needs_timestamp=wanted.needs_timestamp,
        log_keys=tuple(one for name in wanted.log_keys for one in log_keys_in(name)),
        entry_rule=wanted.entry_rule,
        schema_version=wanted.schema_version,
        evidence=needed_of(wanted.evidence) if wanted.evidence is not None else None,
    )


@cache
def _base(name: str) -> Base:
    return base_of(name)


def judge(pair: Pair, wanted: Wanted, beside: tuple[str, ...], now: datetime) -> dict[str, Any]:
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
        verified = _verified(pair, wanted, beside, now)
    except VerificationFailed as error:
        checks = [_check(one) for one in error.checks]
        asked = wanted.evidence if error.reason == "evidence-missing" else None
        hint = (hint_for(pair, asked) if asked is not None else None) or error.hint
        return {
            **told,
            "reason": error.reason,
            "message": error.message,
            "hint": hint,
            "checks": checks,
            "exit": FAILED,
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
    return {**told, "verified": True, **_about(verified), "exit": 0}


def _verified(pair: Pair, wanted: Wanted, beside: tuple[str, ...], now: datetime) -> Verified:
    if pair.statement is None:
        if pair.file is not None and not Path(pair.file).exists():
            raise UnreadableInput("there is no such file", where=pair.file)
        hint = (
            f"Whoever signed it has the statement: put it beside as {pair.file}{COSE}. Your "
            f"own: vacr sign {pair.file} --key KEY."
        )
        raise InvalidStatement(
            "not signed: there is no statement beside it", reason="not-signed", hint=hint
        )
    payload = read_bytes(pair.file) if pair.file is not None else None
    statement = read_bytes(pair.statement, _LARGEST_STATEMENT)
    sources, base = (
        _sources(wanted.source) if wanted.source else (),
        _base(wanted.base) if wanted.base else None,
    )
    policy = replace(policy_of(wanted), needs_record=pair.is_record or wanted.source is not None)
    evidence = evidence_for(pair, wanted.evidence) if wanted.evidence is not None else None
    joint = partial(joint_of, beside)
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
def joint_of(names: tuple[str, ...]) -> Joint:
    """Read the records among some files, each of them once."""
    found = (record_in(read_bytes(name)) for name in names)
    records = [as_made(one[0], json=one[1] == "json") for one in found if one is not None]
    return Joint(list({str(one.get("id")): one for one in records}.values()))


@cache
def _sources(path: str) -> tuple[Source, ...]:
    """Read the native sessions that records may be of."""
    sources = []
    for found in read(path, keep_source=True):
        if isinstance(found, VacrError):
            raise found
        if found.source is not None:
            sources.append(found.source)
    return tuple(sources)


def _about(verified: Verified) -> dict[str, Any]:
    issued = (
        datetime.fromtimestamp(verified.issued_at, UTC) if verified.issued_at is not None else None
    )
    return {
        "profile": verified.profile,
        "algorithm": ALGORITHMS[verified.message.protected[ALG]].name,
        "signer": str(verified.signer),
        "thumbprint": keys.thumbprint_uri(verified.signer.key),
        "issuer": verified.issuer,
        "subject": verified.subject,
        "issued-at": _moment(issued),
        "timestamp": _moment(verified.timestamp),
        "logged-at": _moment(verified.logged_at),
        "receipts": [receipt_told(one) for one in verified.receipts],
        "record": verified.record.get("id") if verified.record is not None else None,
        "checks": [_check(one) for one in verified.checks],
    }


def receipt_told(logged: Logged) -> dict[str, Any]:
    """Tell what a receipt shows, for programs."""
    return {
        "log": logged.issuer,
        "subject": logged.subject,
        "index": logged.index,
        "size": logged.size,
        "time": _moment(logged.time),
        "key": keys.thumbprint_uri(logged.key),
    }


def _check(one: Any) -> dict[str, str]:
    return {"name": one.name, "outcome": one.outcome, "told": one.told} | (
        {"reason": one.reason} if one.reason else {}
    )


def _moment(when: datetime | None) -> str | None:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}" if when is not None else None
