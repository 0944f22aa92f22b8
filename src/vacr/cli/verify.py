"""`vacr verify`: statements and their files → the signer, or the reason for the failure.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["key", "generate", "-o", "keys/", "-q"])
    0
    >>> run_command_line(["seal", "examples/claude-code.jsonl", "--key", "keys/signing.pem", "-q"])
    0
    >>> run_command_line(["verify", "claude-code.acr.json", "--trust", "keys/signing.pub.pem"])
    ✓ structure: COSE_Sign1, hash-envelope
    ✓ algorithm: EdDSA
    ✓ trust: signed by a key you gave ...
    ✓ attribution: recomputed, identical
    claude-code.acr.json: verified: a key you gave ... signed record ...
    0

For one statement, a line per check is printed; for several, a line per statement.
"""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from vacr.cli.options import (
    PATH,
    Verb,
    entry_rule_option,
    get_verb_arguments,
    load_stores,
    log_key_option,
    trust_options,
    voice_options,
)
from vacr.console import Voice, align_columns, get_terminal_width
from vacr.errors import UsageError
from vacr.evidence import Tier
from vacr.files import STDIN
from vacr.verification import (
    CHECK_FAILED,
    CHECK_PASSED,
    CHECK_UNDECIDED,
    ROLE_VERIFIER,
    escape_verdict_marks,
    quote_misleading_name,
    quote_words,
)
from vacr.workflows import (
    EXIT_NOT_VERIFIED,
    VerificationOptions,
    abbreviate_home,
    build_verdict_rows,
    describe_signer,
    find_proven_time,
    find_statement_pairs,
    format_verdict_totals,
    judge_statements,
    load_trust_stores,
    load_verification_policy,
)

_OUTCOME_MARKS = {CHECK_PASSED: "✓", CHECK_FAILED: "✗", CHECK_UNDECIDED: "?"}


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@trust_options
@click.option(
    "--issuer",
    metavar="URI",
    help="Require that the statement names this issuer, and that the trust store or the "
    "certificate binds it to the signer.",
)
@click.option("--subject", metavar="TEXT", help="Require that the statement names this subject.")
@click.option(
    "--alg",
    metavar="NAME",
    multiple=True,
    help="Allowed signature algorithm; repeatable.  [default: all known]",
)
@click.option(
    "--eku", metavar="OID", help="Require this extended key usage of the signer's certificate."
)
@click.option(
    "--timestamp-trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Root certificate of a timestamp authority; repeatable.",
)
@click.option(
    "--require-timestamp", is_flag=True, help="Fail if the statement has no trusted timestamp."
)
@log_key_option(
    help="Public key of a trusted log, or the log's folder; repeatable. Requires a receipt from "
    "one of these logs."
)
@click.option(
    "--require-receipt",
    is_flag=True,
    help="Fail if the statement has no receipt from a log that you trust.",
)
@entry_rule_option
@click.option(
    "--schema-version",
    metavar="N",
    help="Require that the record has this major version of the schema, such as 3.",
)
@click.option(
    "--source",
    metavar="PATH",
    type=PATH,
    help="Native session: record it again, and compare the result with the record.",
)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="Git repository that the attribution was computed with, to compute it again.",
)
@click.option(
    "--require-evidence",
    type=click.Choice([tier.label for tier in (Tier.AFFIRMING, Tier.WARNING)]),
    help="Require evidence of the recording, appraised at least as this.",
)
@click.option(
    "--evidence",
    metavar="FILE",
    type=PATH,
    help="File with the evidence, or with a verifier's result about it.  [default: next to the "
    "file, or in the statement]",
)
@click.option(
    "--evidence-policy",
    metavar="FILE",
    type=PATH,
    help="File with the policy to appraise the evidence by (TOML).",
)
@click.option(
    "--verifier-key",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Public key of an evidence verifier whose results you accept; repeatable.",
)
@click.option(
    "--nonce",
    metavar="HEX",
    help="Nonce that you sent to the attester; the evidence must contain it.",
)
@click.option(
    "--require-hardware",
    is_flag=True,
    help="Fail if the evidence is signed by a software key, not by certified hardware.",
)
@voice_options
def command(
    files: tuple[str, ...],
    trust: tuple[str, ...],
    trust_store: tuple[str, ...],
    issuer: str | None,
    subject: str | None,
    alg: tuple[str, ...],
    eku: str | None,
    timestamp_trust: tuple[str, ...],
    require_timestamp: bool,
    log_key: tuple[str, ...],
    require_receipt: bool,
    entry_rule: str,
    schema_version: str | None,
    source: str | None,
    base: str | None,
    require_evidence: str | None,
    evidence: str | None,
    evidence_policy: str | None,
    verifier_key: tuple[str, ...],
    nonce: str | None,
    require_hardware: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Verify signed records and sessions, against keys that you trust.

    FILE is a statement, or a file with a statement FILE.cose. Without --trust and --trust-store,
    your own trust store and the approved store of this project count; see vacr trust. ✓ means
    passed, ✗ failed, ? undecided: something needed for the check is missing. In a FOLDER, all
    statements are verified, and a record without a statement fails.

    \b
    Example:
      vacr verify abc.acr.json
      vacr verify sealed/
      vacr verify abc.acr.json --trust keys/signing.pub.pem
      vacr verify abc.acr.json --trust-store team.toml --require-receipt
      vacr verify abc.acr.json --trust ca.pem --issuer https://example.org \\
        --source abc.jsonl
      vacr verify abc.acr.json --trust keys/signing.pub.pem --log-key mylog/
      vacr verify records/ --trust keys/signing.pub.pem --format json
      vacr verify abc.acr.json --trust keys/signing.pub.pem \\
        --require-evidence affirming --verifier-key verifier.pub.pem
    """
    voice = Voice(format, quiet, verbose)
    evidence_settings = (evidence, evidence_policy, verifier_key, nonce, require_hardware)
    is_any_set = any(setting not in (None, (), False) for setting in evidence_settings)
    if require_evidence is None and is_any_set:
        raise UsageError(
            "the options for evidence need --require-evidence",
            hint="Add --require-evidence affirming, or --require-evidence warning.",
        )
    if STDIN in files:
        raise UsageError(
            "cannot verify standard input: there is no statement file next to it",
            hint="Name a file in place of -: the signed file, or its statement.",
        )
    stores = load_stores(trust, trust_store, voice)
    evidence_options = None
    if require_evidence is not None:
        from vacr.workflows import EvidenceOptions

        store = load_trust_stores(stores)
        evidence_options = EvidenceOptions(
            require_evidence,
            *evidence_settings,
            store_verifiers=store is not None and bool(store.list_parties(ROLE_VERIFIER)),
        )
    options = VerificationOptions(
        trust=trust,
        stores=stores,
        issuer=issuer,
        subject=subject,
        algorithms=alg,
        usage=eku,
        timestamp_trust=timestamp_trust,
        needs_timestamp=require_timestamp,
        schema_version=schema_version,
        source=source,
        base=base,
        log_keys=log_key,
        needs_receipt=require_receipt,
        entry_rule=entry_rule,
        evidence=evidence_options,
    )
    load_verification_policy(options)
    # The user may have named both a file and its statement.
    pairs = list(dict.fromkeys(pair for path in files for pair in find_statement_pairs(path)))
    verdicts = list(judge_statements(pairs, options))
    if len(verdicts) == 1:
        _report_verdict(verdicts[0], voice)
    elif verdicts:
        _report_verdicts(verdicts, voice)
    else:
        voice.error(
            f"no statements found in {', '.join(files)}",
            "Statements end in .cose. To create one: vacr sign FILE --key KEY",
        )
    for file in stores:
        if file.is_default:
            voice.result(f"trust store: {abbreviate_home(file.path)}")
    again = shlex.join(["vacr", "verify", *get_verb_arguments()])
    voice.result(f"To repeat: {again}")
    verified = sum(verdict["verified"] for verdict in verdicts)
    voice.data({"results": verdicts, "verified": verified, "again": again})
    # A failure outranks an unreadable input.
    exit_codes = {verdict["exit"] for verdict in verdicts} or {EXIT_NOT_VERIFIED}
    return EXIT_NOT_VERIFIED if EXIT_NOT_VERIFIED in exit_codes else max(exit_codes)


def _report_verdict(verdict: dict[str, Any], voice: Voice) -> None:
    """Print the checks of one statement, then its signer and time, or why it failed."""
    name = quote_misleading_name(verdict["file"] or verdict["statement"])
    for check in verdict["checks"]:
        finding = escape_verdict_marks(check["told"])
        voice.prose(f"{_OUTCOME_MARKS[check['outcome']]} {check['name']}: {finding}")
    if not verdict["verified"]:
        # The message of a file that cannot be read begins with its name.
        is_read = verdict["reason"] != "unreadable"
        plain = verdict["message"].removeprefix(f"{verdict['file'] or verdict['statement']}: ")
        message = escape_verdict_marks(verdict["message"] if is_read else plain)
        reason = f" ({verdict['reason']})" if is_read else ""
        voice.error(f"{name}: not verified{reason}: {message}", verdict["hint"])
        return
    for receipt in verdict["receipts"]:
        if receipt["index"] is not None:
            voice.result(
                f"  not signed: the receipt names entry {receipt['index']} of {receipt['size']}"
            )
    proven, claimed = find_proven_time(verdict), verdict["issued-at"]
    when = f", claimed time: {claimed}" if claimed else ""
    if proven:
        when = f" {proven}"
    payload = (
        f"record {quote_words(str(verdict['record']))}" if verdict["record"] else "these bytes"
    )
    voice.prose(f"{name}: verified: {describe_signer(verdict)} signed {payload}{when}")


def _report_verdicts(verdicts: list[dict[str, Any]], voice: Voice) -> None:
    """Print a line about each statement, the reason of each failure below it, and the totals."""
    width = get_terminal_width(sys.stdout)
    # The heading is row 0.
    failed = {number for number, verdict in enumerate(verdicts, 1) if not verdict["verified"]}
    head, *rows = align_columns(
        build_verdict_rows(verdicts), right=frozenset(), width=width, paths=1, whole=failed
    )
    voice.result(head)
    for verdict, row in zip(verdicts, rows, strict=True):
        voice.results(row.split("\n"))
        if verdict.get("message"):
            voice.prose(f"   {escape_verdict_marks(verdict['message'])}")
    voice.result(format_verdict_totals(verdicts))
    for hint in dict.fromkeys(verdict["hint"] for verdict in verdicts if verdict.get("hint")):
        voice.notice(f"  {hint}")
