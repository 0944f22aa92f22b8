"""Verdicts about statement files, in this process or in many.

`judge_statements` verifies statements and the files they are about. A verdict is a document with
the result, the checks, and, after a failure, the reason and the next step:

    >>> from vacr.workflows import StatementPair, VerificationOptions, judge_statements
    >>> unsigned = StatementPair(None, "session.jsonl")
    >>> [verdict] = judge_statements([unsigned], VerificationOptions())
    >>> verdict["verified"], verdict["reason"], verdict["exit"]
    (False, 'not-signed', 1)

Trust material is read once a process. The code for evidence is loaded only if evidence is
required.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vacr.agents import Source, find_required_agent
from vacr.attribution import BaseFiles, JointRecords
from vacr.blame import load_git_base
from vacr.discovery import read_sessions
from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import read_bytes
from vacr.record import convert_to_original_version
from vacr.signing import (
    ALGORITHMS,
    HEADER_ALG,
    compute_thumbprint_uri,
    get_algorithm_number,
    is_trust_store,
    parse_pem_certificates,
    parse_public_keys,
    read_certificate_file,
    read_log_keys,
    read_trust_file,
)
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.verification import (
    Check,
    Policy,
    VerificationFailed,
    VerifiedReceipt,
    VerifiedStatement,
    VerifiedWitnesses,
    parse_signed_record,
    quote_misleading_name,
    verify,
)
from vacr.workflows.output_files import format_count
from vacr.workflows.session_names import find_unsealed_session_error
from vacr.workflows.statement_files import STATEMENT_SUFFIX, StatementPair
from vacr.workflows.trust_places import TrustStoreFile, load_trust_stores

if TYPE_CHECKING:
    from vacr.workflows.evidence import EvidenceOptions

EXIT_NOT_VERIFIED = 1
_MAX_STATEMENT_BYTES = 1 << 30
_MIN_STATEMENTS_FOR_PROCESSES = 200
"""For this many statements, starting other processes costs less than it saves."""
_CHUNK_SIZE = 16
_DEFAULT_HINT = "Do not rely on this file. Ask its signer for a new statement."
_CHANGED_FILE_HINT = "Do not rely on this file. Ask its signer for the file as it was signed."
_OPTION_HINT = "Correct the option, or ask the signer for another statement."
_CLOCK_HINT = "Check the clock of this machine, or ask the signer for a new statement."
_HINTS_BY_REASON = {
    **dict.fromkeys(("content-mismatch", "metadata-mismatch", "record-id"), _CHANGED_FILE_HINT),
    **dict.fromkeys(("subject-mismatch", "attribution-mismatch"), _CHANGED_FILE_HINT),
    **dict.fromkeys(("issuer", "subject", "schema-version"), _OPTION_HINT),
    **dict.fromkeys(("issued-in-future", "claims-not-yet", "not-yet-valid"), _CLOCK_HINT),
    "expired": "Ask the signer for a statement with a timestamp: vacr sign --timestamp URL.",
    "timestamp-missing": "Ask the signer to add a timestamp: vacr sign --timestamp URL.",
    "source-mismatch": "Check that --source names the native session of this record.",
    **dict.fromkeys(
        ("result-malformed", "evidence-malformed", "cmw-malformed", "jwt-malformed", "profile"),
        "Do not rely on this evidence. Ask for new evidence, or for a new result.",
    ),
}
"""The next steps for failed checks whose errors have no hint of their own."""
_MAX_RUNS_REMEMBERED = 8


@dataclass(frozen=True)
class VerificationOptions:
    """The requirements for statements, in a form that can be sent to another process.

    Files are named here, and read by `load_verification_policy`.
    """

    trust: tuple[str, ...] = ()
    """Files of trusted keys and certificates."""
    stores: tuple[TrustStoreFile, ...] = ()
    """The trust stores, with their bytes."""
    issuer: str | None = None
    subject: str | None = None
    algorithms: tuple[str, ...] = ()
    """The names of accepted signature algorithms; all if empty."""
    usage: str | None = None
    """The extended key usage that the signer's certificate must have."""
    timestamp_trust: tuple[str, ...] = ()
    """Files of trusted certificates for timestamps."""
    needs_timestamp: bool = False
    schema_version: str | None = None
    source: str | None = None
    """The native session that the record must come from."""
    base: str | None = None
    """The git REPOSITORY, or REPOSITORY@REVISION, with the files before the session."""
    log_keys: tuple[str, ...] = ()
    """Files of keys that a receipt must be signed with."""
    needs_receipt: bool = False
    """Whether a receipt of a trusted log is required."""
    entry_rule: str = ENTRY_RULE_STATEMENT
    evidence: EvidenceOptions | None = None
    """The requirements for evidence; None if none is required."""
    run: int = field(default_factory=partial(next, itertools.count()))
    """The number of the run. Files are read once a run, not once a process: they may change."""


def judge_statements(
    pairs: list[StatementPair], options: VerificationOptions
) -> Iterator[dict[str, Any]]:
    """Verify statements, and yield the verdict about each in order, for JSON output.

    Many statements are verified in several processes. A statement that fails does not raise.
    """
    files = tuple(pair.file for pair in pairs if pair.file is not None)
    judge = partial(judge_statement, options=options, run_files=files, now=datetime.now(UTC))
    pool = _start_process_pool() if len(pairs) >= _MIN_STATEMENTS_FOR_PROCESSES else None
    if pool is None:
        yield from map(judge, pairs)
        return
    with pool:
        yield from pool.map(judge, pairs, chunksize=_CHUNK_SIZE)


def _start_process_pool() -> Executor | None:
    """Return a pool with a process for each core, or None if there is one core or no process."""
    from vacr.workflows.pools import NoProcesses, start_local_pool
    from vacr.workflows.record_many import count_cores

    try:
        return start_local_pool(count_cores()) if count_cores() > 1 else None
    except NoProcesses:
        return None


def judge_statement(
    pair: StatementPair,
    options: VerificationOptions,
    run_files: tuple[str, ...],
    now: datetime,
    contents: tuple[bytes | None, bytes] | None = None,
) -> dict[str, Any]:
    """Verify one statement, and return the verdict for JSON output, good or bad.

    `run_files` are all files of the run: records that were attributed together are among them.
    Certificates and receipts are judged as of `now`. `contents` are the bytes of the file and of
    the statement, if they are already read.
    """
    verdict: dict[str, Any] = {
        "file": pair.file,
        "statement": pair.statement,
        "verified": False,
        "checks": [],
    }
    try:
        verified = _verify_pair(pair, options, run_files, now, contents)
    except VerificationFailed as error:
        return {
            **verdict,
            "reason": error.reason,
            "message": error.message,
            "hint": _choose_hint(pair, options, error),
            "checks": [_build_check_document(check) for check in error.checks],
            "exit": EXIT_NOT_VERIFIED,
        }
    except VacrError as error:
        reason = error.reason if isinstance(error, InvalidStatement) else "unreadable"
        return {
            **verdict,
            "reason": reason,
            "message": str(error),
            "hint": error.hint,
            "exit": error.exit_code,
        }
    return {**verdict, "verified": True, **_build_verified_document(verified), "exit": 0}


def _verify_pair(
    pair: StatementPair,
    options: VerificationOptions,
    run_files: tuple[str, ...],
    now: datetime,
    contents: tuple[bytes | None, bytes] | None,
) -> VerifiedStatement:
    """Verify the statement of a pair; read the files, unless `contents` has their bytes.

    Raises:
        VerificationFailed: a check fails.
        VacrError: the pair has no statement, or a file cannot be read.
    """
    if pair.statement is None:
        raise _make_unsigned_error(pair)
    if contents is None:
        payload = read_bytes(pair.file) if pair.file is not None else None
        contents = payload, read_bytes(pair.statement, _MAX_STATEMENT_BYTES)
    payload, statement = contents
    sources: tuple[Source, ...] = ()
    if options.source:
        reader = _find_named_agent(payload)
        sources = _read_native_sources(options.source, options.run, reader)
    base = _load_base(options.base, options.run) if options.base is not None else None
    needs_record = pair.is_record or options.source is not None
    policy = replace(load_verification_policy(options), needs_record=needs_record)
    evidence = None
    if options.evidence is not None:
        from vacr.workflows.evidence import load_evidence_for_file

        evidence = load_evidence_for_file(pair, options.evidence)
    return verify(
        statement,
        policy,
        payload=payload,
        source=sources,
        base=base,
        joint=partial(load_joint_records, run_files, options.run),
        evidence=evidence,
        now=now,
    )


def _make_unsigned_error(pair: StatementPair) -> VacrError:
    """Return the error for a pair without a statement: the file is missing, or not signed."""
    if pair.file is not None and not Path(pair.file).exists():
        missing = UnreadableInput("there is no such file", where=pair.file)
        return find_unsealed_session_error(pair.file, "verify") or missing
    hint = (
        f"Get the statement from the signer, and save it as {pair.file}{STATEMENT_SUFFIX}. To "
        f"sign the file yourself: vacr sign {pair.file} --key KEY"
    )
    message = f"not signed: there is no {Path(pair.file or '').name}{STATEMENT_SUFFIX}"
    return InvalidStatement(message, reason="not-signed", hint=hint)


@lru_cache(maxsize=_MAX_RUNS_REMEMBERED)
def _load_base(name: str, run: int) -> BaseFiles:
    """Return the files before a session, from a git repository; read it once a run.

    `run` numbers the run.
    """
    del run
    return load_git_base(name)


def _find_named_agent(payload: bytes | None) -> str | None:
    """Return the agent of a record, if its sessions are not recognised by content; else None."""
    signed = parse_signed_record(payload) if payload is not None else None
    return find_required_agent(signed[0]) if signed is not None else None


@lru_cache(maxsize=_MAX_RUNS_REMEMBERED)
def _read_native_sources(path: str, run: int, agent: str | None) -> tuple[Source, ...]:
    """Return the native bytes of all sessions at a path; read them once a run.

    `run` numbers the run, and `agent` is the agent that wrote them; None recognises it.

    Raises:
        VacrError: a session cannot be read.
    """
    del run
    sources = []
    for session in read_sessions(path, agent=agent, keep_source=True):
        if isinstance(session, VacrError):
            raise session
        if session.source is not None:
            sources.append(session.source)
    return tuple(sources)


@lru_cache(maxsize=_MAX_RUNS_REMEMBERED)
def load_joint_records(names: tuple[str, ...], run: int) -> JointRecords:
    """Return the records among some files, one for each id, to check a joint attribution.

    Of records with the same id, the last one counts. All records without an id count as one, so
    only the last of these is returned. Files that are not records are left out. The files are read
    once a run, which `run` numbers.

    Raises:
        UnreadableInput: a file cannot be read.
    """
    del run
    parsed = (parse_signed_record(read_bytes(name)) for name in names)
    records = [
        convert_to_original_version(signed[0], json=signed[1] == "json")
        for signed in parsed
        if signed is not None
    ]
    return JointRecords(list({str(record.get("id")): record for record in records}.values()))


def _choose_hint(
    pair: StatementPair, options: VerificationOptions, error: VerificationFailed
) -> str:
    """Return the next step after a failed verification; it is never empty.

    If evidence is missing, but another kind of evidence file exists, the hint names that file.
    """
    hint = None
    if options.evidence is not None and error.reason == "evidence-missing":
        from vacr.workflows.evidence import describe_evidence_mismatch

        hint = describe_evidence_mismatch(pair, options.evidence)
    return hint or error.hint or _HINTS_BY_REASON.get(error.reason, _DEFAULT_HINT)


def _build_verified_document(verified: VerifiedStatement) -> dict[str, Any]:
    """Return the signer, the times, the receipts and the checks of a verified statement."""
    issued_at, party = None, verified.signer.party
    if verified.issued_at is not None:
        issued_at = datetime.fromtimestamp(verified.issued_at, UTC)
    return {
        "profile": verified.profile,
        "algorithm": ALGORITHMS[verified.message.protected[HEADER_ALG]].name,
        "signer": verified.signer.description,
        "party": party.name if party is not None else None,
        "trust-store": party.where if party is not None else None,
        "thumbprint": compute_thumbprint_uri(verified.signer.key),
        "issuer": verified.issuer,
        "issuer-bound": verified.issuer_is_bound,
        "subject": verified.subject,
        "issued-at": _format_utc_time(issued_at),
        "timestamp": _format_utc_time(verified.timestamp),
        "logged-at": _format_utc_time(verified.logged_at),
        "receipts": [build_receipt_document(receipt) for receipt in verified.receipts],
        "witnesses": [build_witnesses_document(proof) for proof in verified.witnesses],
        "record": verified.record.get("id") if verified.record is not None else None,
        "checks": [_build_check_document(check) for check in verified.checks],
    }


def build_receipt_document(receipt: VerifiedReceipt) -> dict[str, Any]:
    """Return the log, the position and the time of a receipt, for JSON output.

    The members `index` and `size` are not signed.
    """
    document = {
        "log": receipt.issuer,
        "party": receipt.party.name if receipt.party is not None else None,
        "subject": receipt.subject,
        "index": receipt.index,
        "size": receipt.size,
        "time": _format_utc_time(receipt.time),
        "key": compute_thumbprint_uri(receipt.key),
    }
    if receipt.transaction:
        document["transaction"] = receipt.transaction
    return document


def build_witnesses_document(proof: VerifiedWitnesses) -> dict[str, Any]:
    """Return the log, the proven position and the witnesses of a tlog-proof, for JSON output."""
    return {
        "log": proof.log,
        "origin": proof.origin,
        "index": proof.index,
        "size": proof.size,
        "required": proof.required,
        "known": proof.known,
        "cosigned": [
            {
                "name": cosignature.name,
                "key": cosignature.key,
                "time": _format_utc_time(cosignature.time),
            }
            for cosignature in proof.cosigned
        ],
    }


def _build_check_document(check: Check) -> dict[str, str]:
    """Return a check for JSON output; `reason` is missing unless it failed."""
    document = {"name": check.name, "outcome": check.outcome, "told": check.finding}
    if check.reason:
        document["reason"] = check.reason
    return document


def _format_utc_time(when: datetime | None) -> str | None:
    """Return a time in UTC, such as `2026-03-14T09:00:00Z`; `None` stays `None`."""
    return f"{when:%Y-%m-%dT%H:%M:%SZ}" if when is not None else None


@lru_cache(maxsize=_MAX_RUNS_REMEMBERED)
def load_verification_policy(options: VerificationOptions) -> Policy:
    """Return the policy for verification, with the keys and certificates read from their files.

    The files are read once a run.

    Raises:
        UsageError: an algorithm is unknown, or a trust store is named as a key.
        Unreachable: a file of trusted keys cannot be read.
        UnreadableInput: a file contains neither keys nor certificates, or a trust store is
            malformed.
    """
    keys, roots = [], []
    for name in options.trust:
        data = read_trust_file(name)
        if is_trust_store(data):
            # Its keys alone would count without their roles and dates.
            raise UsageError(
                f"{name} is a trust store, not a key", hint=f"Use --trust-store {name}"
            )
        has_certificates = b"-----BEGIN CERTIFICATE-----" in data
        try:
            if has_certificates:
                roots += parse_pem_certificates(data)
            if not has_certificates or b"-----BEGIN PUBLIC KEY-----" in data:
                keys += parse_public_keys(data)
        except UnreadableInput as error:
            raise UnreadableInput(error.message, where=name, hint=error.hint) from error
    evidence = None
    if options.evidence is not None:
        from vacr.workflows.evidence import load_evidence_requirement

        evidence = load_evidence_requirement(options.evidence)
    algorithms = frozenset(map(get_algorithm_number, options.algorithms))
    return Policy(
        keys=tuple(keys),
        roots=tuple(roots),
        trust_store=load_trust_stores(options.stores),
        issuer=options.issuer,
        subject=options.subject,
        algorithms=algorithms or frozenset(ALGORITHMS),
        extended_key_usage=options.usage,
        timestamp_roots=tuple(
            root for name in options.timestamp_trust for root in read_certificate_file(name)
        ),
        needs_timestamp=options.needs_timestamp,
        log_keys=tuple(key for name in options.log_keys for key in read_log_keys(name)),
        needs_receipt=options.needs_receipt,
        entry_rule=options.entry_rule,
        schema_version=options.schema_version,
        evidence=evidence,
    )


def find_proven_time(verdict: dict[str, Any]) -> str | None:
    """Return the earliest time in a verdict that a timestamp or a receipt proves, or `None`."""
    times = [verdict[name] for name in ("timestamp", "logged-at") if verdict.get(name)]
    return min(times, default=None)


def format_time_cell(verdict: dict[str, Any]) -> str:
    """Return when a statement was signed, for a table: the proven time, or `claimed TIME`.

    Return an empty text if a verdict has no time.
    """
    claimed = verdict.get("issued-at")
    return find_proven_time(verdict) or (f"claimed {claimed}" if claimed else "")


def describe_signer(verdict: dict[str, Any]) -> str:
    """Return who signed, for a person: `NAME (key …)`, or `a key you gave (key …)`.

    The name comes from the trust store, never from the statement. A key that is trusted through a
    bare root is `a key certified by a root you gave`. Return an empty text if a verdict has no
    signer.
    """
    signer = format_signer_cell(verdict)
    if not signer or verdict.get("party") is not None:
        return signer
    is_certified = ", certified by " in signer
    given = "a key certified by a root you gave" if is_certified else "a key you gave"
    return f"{given} ({signer})"


def format_signer_cell(verdict: dict[str, Any]) -> str:
    """Return who signed, for a table: `NAME (key …)`, or `key …` for a key without a name.

    Return an empty text if a verdict has no signer.
    """
    party, signer = verdict.get("party"), str(verdict.get("signer", ""))
    return f"{party} ({signer})" if party is not None else signer


def build_verdict_rows(verdicts: list[dict[str, Any]]) -> list[list[str]]:
    """Return the rows of a table for the terminal: a heading, and a row for each verdict.

    A row has a check mark or cross, the file, the signer and the time. The time is last: a narrow
    terminal cuts it first.
    """
    rows = [["", "file", "signer", "signed"]]
    for verdict in verdicts:
        mark = "✓" if verdict["verified"] else "✗"
        name = quote_misleading_name(verdict["file"] or verdict["statement"])
        rows.append([mark, name, format_signer_cell(verdict), format_time_cell(verdict)])
    return rows


def format_verdict_totals(verdicts: list[dict[str, Any]]) -> str:
    """Return the numbers of verdicts as text, such as `3 files: 2 verified, 1 failed`."""
    verified = sum(verdict["verified"] for verdict in verdicts)
    failed = len(verdicts) - verified
    return f"{format_count(len(verdicts), 'file')}: {verified} verified, {failed} failed"
