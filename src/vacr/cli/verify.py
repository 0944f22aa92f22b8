"""`vacr verify`: statements and what they are about → who signed what, or why it does not hold."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from vacr.cli.options import PATH, Voice, format_count, log_key_option, voice_options
from vacr.cli.relying import EvidenceOptions
from vacr.cli.tables import align_columns, get_terminal_width
from vacr.cli.verdicts import (
    EXIT_NOT_VERIFIED,
    VerificationOptions,
    judge_statement,
    load_verification_policy,
)
from vacr.errors import UsageError
from vacr.evidence import Tier
from vacr.files import STDIN
from vacr.transparency import ENTRY_RULE_STATEMENT, ENTRY_RULES
from vacr.verification import CHECK_FAILED, CHECK_PASSED, CHECK_UNDECIDED
from vacr.workflows import (
    NoProcesses,
    StatementPair,
    count_cores,
    find_statement_pairs,
    start_local_pool,
)

_OUTCOME_MARKS = {CHECK_PASSED: "✓", CHECK_FAILED: "✗", CHECK_UNDECIDED: "?"}
_MIN_STATEMENTS_FOR_PROCESSES = 200
"""From so many statements on, starting other processes costs less than it saves."""
_CHUNK_SIZE = 16


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A public key, or a root certificate; may be given again.",
)
@click.option("--issuer", metavar="URI", help="Who has to have signed.")
@click.option("--subject", metavar="TEXT", help="What it has to be about.")
@click.option(
    "--alg",
    metavar="NAME",
    multiple=True,
    help="An algorithm that is allowed; may be given again.  [default: all known]",
)
@click.option("--eku", metavar="OID", help="A usage that the signer's certificate has to have.")
@click.option(
    "--timestamp-trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A root certificate of a timestamp authority; may be given again.",
)
@click.option("--require-timestamp", is_flag=True, help="Fail when there is no timestamp.")
@log_key_option(help="A key of a log, or a log's folder: there has to be a receipt of one.")
@click.option(
    "--entry-rule",
    type=click.Choice(ENTRY_RULES),
    default=ENTRY_RULE_STATEMENT,
    show_default=True,
    help="What of a statement is in the log.",
)
@click.option(
    "--schema-version",
    metavar="N",
    help="The version of the schema that records have to follow, such as 3.",
)
@click.option(
    "--source",
    metavar="PATH",
    type=PATH,
    help="The native session: make the record again, and compare.",
)
@click.option(
    "--base",
    metavar="REPOSITORY[@REVISION]",
    help="The repository that an attribution was made with.",
)
@click.option(
    "--require-evidence",
    type=click.Choice([tier.label for tier in (Tier.AFFIRMING, Tier.WARNING)]),
    help="How well something has to vouch for how it was recorded.",
)
@click.option(
    "--evidence",
    metavar="FILE",
    type=PATH,
    help="Evidence, or a result.  [default: beside the file, or in the statement]",
)
@click.option(
    "--evidence-policy",
    metavar="FILE",
    type=PATH,
    help="Appraise evidence here, by a policy in TOML.",
)
@click.option(
    "--verifier-key",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A verifier whose results are believed; may be given again.",
)
@click.option("--nonce", metavar="HEX", help="The nonce that evidence was asked for with.")
@click.option(
    "--require-hardware",
    is_flag=True,
    help="Fail unless certified hardware vouches for it, not a key in software.",
)
@voice_options
def command(
    files: tuple[str, ...],
    trust: tuple[str, ...],
    issuer: str | None,
    subject: str | None,
    alg: tuple[str, ...],
    eku: str | None,
    timestamp_trust: tuple[str, ...],
    require_timestamp: bool,  # noqa: FBT001 - click passes flags so
    log_key: tuple[str, ...],
    entry_rule: str,
    schema_version: str | None,
    source: str | None,
    base: str | None,
    require_evidence: str | None,
    evidence: str | None,
    evidence_policy: str | None,
    verifier_key: tuple[str, ...],
    nonce: str | None,
    require_hardware: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Verify signed records and sessions: FILE is one that lies beside its statement, FILE.cose, or
    the statement.

    Nobody is trusted unless you say so. ✓ holds, ✗ does not, ? cannot be decided with what is at
    hand. Of a FOLDER, all statements in it are verified, and a record without one fails.

    \b
    Example:
      vacr verify abc.acr.json --trust keys/signing.pub.pem
      vacr verify abc.acr.json --trust ca.pem --issuer https://example.org --source abc.jsonl
      vacr verify abc.acr.json --trust keys/signing.pub.pem --log-key mylog/
      vacr verify records/ --trust keys/signing.pub.pem --format json
      vacr verify abc.acr.json --trust keys/signing.pub.pem --require-evidence affirming
      --verifier-key verifier.pub.pem
    """
    voice = Voice(format, quiet, verbose)
    if require_evidence is None and (
        evidence or evidence_policy or verifier_key or nonce or require_hardware
    ):
        raise UsageError(
            "evidence is looked at when it is asked for",
            hint="Give --require-evidence affirming as well.",
        )
    if STDIN in files:
        raise UsageError(
            "what comes through a pipe has no statement beside it",
            hint="Name the file, or the statement.",
        )
    asked = (evidence, evidence_policy, verifier_key, nonce, require_hardware)
    needed = EvidenceOptions(require_evidence, *asked) if require_evidence else None
    wanted = VerificationOptions(
        trust=trust,
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
        entry_rule=entry_rule,
        evidence=needed,
    )
    load_verification_policy(wanted)
    # A file and its statement may both have been named.
    found = list(dict.fromkeys(pair for path in files for pair in find_statement_pairs(path)))
    results = list(judge_statements(found, wanted))
    if len(results) == 1:
        _report_verdict(results[0], voice)
    elif results:
        report_verdicts(results, voice)
    else:
        voice.error(
            f"nothing to verify in {', '.join(files)}",
            "The names of statements end in .cose; vacr sign makes them.",
        )
    again = shlex.join(["vacr", "verify", *sys.argv[2:]])
    voice.result(f"again: {again}")
    voice.data(
        {"results": results, "verified": sum(one["verified"] for one in results), "again": again}
    )
    # That something does not hold is worth more than that something else cannot be read.
    exits = {one["exit"] for one in results}
    return (
        EXIT_NOT_VERIFIED if EXIT_NOT_VERIFIED in exits else max(exits, default=EXIT_NOT_VERIFIED)
    )


def judge_statements(
    found: list[StatementPair], wanted: VerificationOptions
) -> Iterator[dict[str, Any]]:
    """Give the verdict about each statement, in other processes where there are many."""
    beside = tuple(pair.file for pair in found if pair.file is not None)
    work = partial(judge_statement, wanted=wanted, beside=beside, now=datetime.now(UTC))
    pool = _start_process_pool() if len(found) >= _MIN_STATEMENTS_FOR_PROCESSES else None
    if pool is None:
        yield from map(work, found)
        return
    with pool:
        yield from pool.map(work, found, chunksize=_CHUNK_SIZE)


def _start_process_pool() -> Executor | None:
    try:
        return start_local_pool(count_cores()) if count_cores() > 1 else None
    except NoProcesses:
        return None


def _report_verdict(result: dict[str, Any], voice: Voice) -> None:
    """Say of one statement what was checked, then who signed what and when."""
    name = result["file"] or result["statement"]
    for one in result["checks"]:
        voice.result(f"{_OUTCOME_MARKS[one['outcome']]} {one['name']}: {one['told']}")
    if not result["verified"]:
        voice.error(
            f"{name}: not verified ({result['reason']}): {result['message']}", result["hint"]
        )
        return
    sure, said_at = find_proven_time(result), result["issued-at"]
    said = f" {sure}" if sure else f", as they say at {said_at}" if said_at else ""
    what = f"record {result['record']}" if result["record"] else "these bytes"
    voice.result(f"{name}: verified: {result['signer']} signed {what}{said}")


def find_proven_time(result: dict[str, Any]) -> str | None:
    """Give the earliest time at which a signature surely existed, by a timestamp or a receipt."""
    return min(
        (result[name] for name in ("timestamp", "logged-at") if result.get(name)), default=None
    )


def report_verdicts(results: list[dict[str, Any]], voice: Voice) -> None:
    """Say of several statements in a line each who signed them, or why they do not hold."""
    rows = [["", "file", "signer", "signed", ""]]
    for one in results:
        mark = "✓" if one["verified"] else "✗"
        when = find_proven_time(one) or one.get("issued-at") or ""
        rows.append(
            [
                mark,
                one["file"] or one["statement"],
                one.get("signer", ""),
                when,
                one.get("message", ""),
            ]
        )
    for line in align_columns(rows, right=frozenset(), width=get_terminal_width(sys.stdout)):
        voice.result(line)
    good = sum(one["verified"] for one in results)
    voice.result(
        f"{format_count(len(results), 'file')}: {good} verified, {len(results) - good} not"
    )
