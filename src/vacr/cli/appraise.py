"""`vacr appraise`: evidence and a policy → a signed attestation result."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from vacr.cli import options
from vacr.cli.evidence import Target, evidence_in, form_of, nonce_of, record_at
from vacr.cli.machine_keys import VERIFIER, machine_key
from vacr.cli.options import PATH, Voice
from vacr.cli.statements import key_options, key_signer
from vacr.errors import InvalidStatement
from vacr.evidence import ear
from vacr.evidence.appraisal import Appraisal, Check
from vacr.evidence.attester import record_digest
from vacr.evidence.journal import journal_in
from vacr.evidence.messages import BARE, JSON, JWT, WRAPPED, Messages
from vacr.evidence.policy import AppraisalPolicy
from vacr.evidence.trust_tiers import Tier
from vacr.evidence.verifier import appraise
from vacr.sources import STDIN
from vacr.sources.evidence_files import EVIDENCE, PASSPORT, RESULT, load_policy
from vacr.sources.state import state_folder

FAILED = 1
_MARKS = {Tier.NONE: "✓", Tier.AFFIRMING: "✓", Tier.WARNING: "!", Tier.CONTRAINDICATED: "✗"}
_HINTS = {
    "attester-unknown": (
        "A policy names the public keys of attesters that it knows by attester-keys."
    ),
    "attestation-key-unknown": (
        "A policy names the keys of TPMs that it knows by "
        "attestation-keys, or who may endorse them."
    ),
    "key-in-software": (
        "A policy takes it with software-is-enough = true; vacr attest --attester tpm shows more."
    ),
    "measurement-unknown": (
        "vacr attest --reference writes reference values, and a policy names them by references."
    ),
}


@click.command(no_args_is_help=True)
@click.argument("evidence", metavar="EVIDENCE", type=PATH)
@click.option(
    "--policy", required=True, metavar="FILE", type=PATH, help="What is asked of evidence, in TOML."
)
@click.option(
    "--nonce", required=True, metavar="HEX", help="The nonce that the evidence was asked for with."
)
@click.option(
    "--record", metavar="FILE", type=PATH, help="The record that the evidence has to be about."
)
@partial(key_options, required=False)
@click.option(
    "--to",
    type=click.Choice((*WRAPPED, *BARE)),
    help=(
        "The form of the result: wrapped (CMW) in CBOR or JSON, or a bare token.  [default: "
        "what -o ends in, or cbor]"
    ),
)
@click.option(
    "--passport",
    is_flag=True,
    help="Write the evidence and its endorsements along with the result, as one collection.",
)
@partial(options.writing_options, default="beside the evidence")
@options.voice_options
def command(
    evidence: str,
    policy: str,
    nonce: str,
    record: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,  # noqa: FBT001 - click passes flags so
    to: str | None,
    passport: bool,  # noqa: FBT001
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Appraise evidence by a policy, and sign the result (EAR), which others can rely on.

    ✓ is as it should be, ! is a warning, ✗ is not as it should be, ? is only said, or missing. Only
    what is affirmed ends with
    0. A result is written whatever it says, but for bytes that are no evidence. EVIDENCE is a
       token, a wrapper or a collection.

    \b
    Example:
      vacr appraise abc.acr.json.evidence.cbor --policy policy.toml --nonce 1f2e… --record
      abc.acr.json vacr appraise evidence.cbor --policy policy.toml --nonce 1f2e… --key
      verifier/signing.pem -o result.jwt vacr appraise evidence.cbor --policy policy.toml --nonce
      1f2e… --key verifier/signing.pem --passport -o passport.json
    """
    voice = Voice("text", True, verbose) if output == STDIN else Voice(format, quiet, verbose)  # noqa: FBT003
    key = key or machine_key(state_folder(os.environ), VERIFIER)
    signer = key_signer(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
    form = form_of(output, to, WRAPPED if passport else (*WRAPPED, *BARE))
    rules, asked, now = load_policy(policy), nonce_of(nonce), datetime.now(UTC)
    data, said = record_at(record) if record is not None else (None, {})
    about = record_digest(data) if data is not None else None
    found = evidence_in(evidence)
    appraisal = _appraisal(
        found, rules, evidence, nonce=asked, record=about, now=now, journal=journal_in(said)
    )
    for check in appraisal.checks:
        voice.result(f"{_MARKS[check.tier] if check.decided else '?'} {check.name}: {check.told}")
    token = ear.encode(
        appraisal, signer, int(now.timestamp()), rules.result_validity, as_jwt=form in (JSON, JWT)
    )
    made = replace(found, result=token) if passport else Messages(result=token)
    name = f"{_about(evidence)}{PASSPORT if passport else RESULT}.{form}"
    written = Target(output, overwrite, voice).put(made.encode(form), name, evidence)
    _tell(appraisal, evidence, written, voice, passport=passport)
    return 0 if appraisal.status is Tier.AFFIRMING else FAILED


def _appraisal(found: Messages, rules: AppraisalPolicy, where: str, **asked: Any) -> Appraisal:
    """Appraise evidence; where it is none, say which file it is."""
    try:
        return appraise(found.evidence or b"", rules, **asked, endorsements=found.endorsements)
    except InvalidStatement as error:
        raise InvalidStatement(
            error.message, reason=error.reason, where=where, hint=error.hint
        ) from error


def _about(evidence: str) -> str:
    """Give the name of what evidence lies beside."""
    endings = (f"{name}.{form}" for name in (EVIDENCE, PASSPORT) for form in WRAPPED)
    return next(
        (evidence.removesuffix(ending) for ending in endings if evidence.endswith(ending)), evidence
    )


def _tell(
    appraisal: Appraisal, evidence: str, written: str | None, voice: Voice, *, passport: bool
) -> None:
    vector = ", ".join(f"{name} {value}" for name, value in appraisal.vector.items())
    voice.result(
        f"{evidence}: {appraisal.status.label} by {appraisal.policy} "
        f"({vector or 'nothing is claimed'})"
    )
    if written is not None:
        voice.result(f"{written}: {'the passport' if passport else 'the result'}")
    worst = appraisal.worst_check
    if appraisal.status is not Tier.AFFIRMING:
        told = (
            f"{worst.name}: {worst.told}"
            if worst is not None
            else "there are no reference values to compare with"
        )
        reason = _reason(appraisal) or ""
        voice.error(f"{evidence}: not affirmed ({reason}): {told}", _HINTS.get(reason, ""))
    voice.data(
        {
            "evidence": evidence,
            "status": appraisal.status.label,
            "reason": _reason(appraisal),
            "vector": appraisal.vector,
            "checks": [_check(one) for one in appraisal.checks],
            "policy": appraisal.policy,
            "nonce": appraisal.nonce.hex(),
            "record": appraisal.record.hex(),
            "journal": _plain(appraisal.journal),
            "tpm": appraisal.details or None,
            "result": written,
        }
    )


def _reason(appraisal: Appraisal) -> str | None:
    """Give the reason why evidence is not affirmed, in a word."""
    if appraisal.status is Tier.AFFIRMING:
        return None
    worst = appraisal.worst_check
    return worst.reason if worst is not None else "no-reference"


def _check(one: Check) -> dict[str, Any]:
    said: dict[str, Any] = {
        "name": one.name,
        "claim": one.claim,
        "value": one.value,
        "tier": one.tier.label,
    }
    said |= {"told": one.told, "decided": one.decided}
    return said | ({"reason": one.reason} if one.reason else {})


def _plain(journal: dict[str, Any] | None) -> dict[str, Any] | None:
    if journal is None:
        return None
    return {
        name: value.hex() if isinstance(value, bytes) else value for name, value in journal.items()
    }
