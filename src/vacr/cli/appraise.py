"""`vacr evidence appraise`: evidence and a policy → a signed attestation result.

The result is written next to the evidence, under the name of the record:

    >>> from vacr.cli.appraise import _strip_evidence_suffix
    >>> _strip_evidence_suffix("abc.acr.json.evidence.cbor")
    'abc.acr.json'
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import click

from vacr.cli.options import (
    PATH,
    OutputTarget,
    Verb,
    key_options,
    load_signer_from_options,
    output_options,
    voice_options,
)
from vacr.console import Voice
from vacr.errors import InvalidStatement
from vacr.evidence import (
    BARE_FORMS,
    EVIDENCE_SUFFIX,
    JSON_FORM,
    JWT_FORM,
    PASSPORT_SUFFIX,
    RESULT_SUFFIX,
    WRAPPED_FORMS,
    Appraisal,
    AppraisalCheck,
    AppraisalPolicy,
    RatsMessages,
    Tier,
    appraise_evidence,
    compute_record_digest,
    encode_signed_result,
    find_journal_head,
    load_appraisal_policy,
)
from vacr.files import STDIN, find_state_folder
from vacr.workflows import (
    VERIFIER_KEY_NAME,
    choose_output_form,
    ensure_machine_key,
    parse_nonce,
    read_evidence,
    read_record_file,
)

EXIT_NOT_AFFIRMED = 1
_TIER_MARKS = {Tier.NONE: "✓", Tier.AFFIRMING: "✓", Tier.WARNING: "!", Tier.CONTRAINDICATED: "✗"}
_DEFAULT_HINT = "Do not rely on this evidence. Ask for new evidence: vacr evidence attest."
_HINTS_BY_REASON = {
    "attester-unknown": ("List the public key of the attester under attester-keys in the policy."),
    "attestation-key-unknown": (
        "List the key of the TPM under attestation-keys in the policy, or name an endorser."
    ),
    "key-in-software": (
        "Use vacr evidence attest --attester tpm, or accept it in the policy: "
        "software-is-enough = true."
    ),
    "measurement-unknown": (
        "Write reference values with vacr evidence attest --reference, and list them under "
        "references."
    ),
    "measurement-changed": (
        "Find out why these files changed. If the change is right, write new reference values: "
        "vacr evidence attest --reference"
    ),
    "nonce": "Use the nonce that you sent to the attester, or ask for new evidence.",
    "evidence-old": "Ask for new evidence: vacr evidence attest.",
    "evidence-in-future": "Check the clocks of both machines, and ask for new evidence.",
    "record-mismatch": "Name the record of this evidence with --record.",
    "journal-mismatch": "Ask for new evidence about this record: vacr evidence attest --record.",
    "pcr-mismatch": (
        "Find out why the machine started differently. If that is right, list the new value under "
        "pcrs in the policy."
    ),
    "pcr-missing": "Ask for evidence with this register: vacr evidence attest --pcrs.",
    "measurement-missing": "Ask for new evidence that measures it: vacr evidence attest.",
    "claim-missing": "Ask for evidence that contains it: vacr evidence attest --help",
    "version": "Update vacr on the attester's machine, or accept this version in the policy.",
    "no-reference": (
        "Write reference values with vacr evidence attest --reference, and list them under "
        "references."
    ),
}


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("evidence", metavar="EVIDENCE", type=PATH)
@click.option(
    "--policy",
    required=True,
    metavar="FILE",
    type=PATH,
    help="File with the appraisal policy (TOML).",
)
@click.option(
    "--nonce",
    required=True,
    metavar="HEX",
    help="Nonce that you sent to the attester; the evidence must contain it.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=PATH,
    help="Record that the evidence must be about.  [default: any record]",
)
@partial(key_options, required=False)
@click.option(
    "--to",
    type=click.Choice((*WRAPPED_FORMS, *BARE_FORMS)),
    help=(
        "Form of the result: wrapped (CMW) in CBOR or JSON, or a bare token.  [default: by the "
        "ending of -o, or cbor]"
    ),
)
@click.option(
    "--passport",
    is_flag=True,
    help="Write evidence, endorsements and result as one collection.",
)
@partial(output_options, default="next to the evidence")
@voice_options
def command(
    evidence: str,
    policy: str,
    nonce: str,
    record: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,
    to: str | None,
    passport: bool,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Appraise evidence by a policy, and sign the result.

    EVIDENCE is a file of `vacr evidence attest`, or another token (CWT, JWT) or wrapper (CMW). The
    result, an EAR token for relying parties, is written unless EVIDENCE cannot be read. The exit
    code is 0 only if the evidence is affirmed. ✓ means passed, ! warning, ✗ failed, ? unproven or
    missing.

    \b
    Example:
      vacr evidence appraise abc.acr.json.evidence.cbor \\
        --policy policy.toml --nonce 1f2e… --record abc.acr.json
      vacr evidence appraise evidence.cbor --policy policy.toml --nonce 1f2e… \\
        --key verifier/signing.pem -o result.jwt
      vacr evidence appraise evidence.cbor --policy policy.toml --nonce 1f2e… \\
        --key verifier/signing.pem --passport -o passport.json
    """
    voice = (
        Voice("text", quiet=True, verbose=verbose)
        if output == STDIN
        else Voice(format, quiet, verbose)
    )
    key = key or ensure_machine_key(find_state_folder(os.environ), VERIFIER_KEY_NAME)
    signer = load_signer_from_options(
        key=key, alg=alg, passphrase_file=passphrase_file, force=force
    )
    form = choose_output_form(
        output, to, WRAPPED_FORMS if passport else (*WRAPPED_FORMS, *BARE_FORMS)
    )
    rules = load_appraisal_policy(policy)
    expected_nonce = parse_nonce(nonce)
    now = datetime.now(UTC)
    data, record_content = read_record_file(record) if record is not None else (None, {})
    about = compute_record_digest(data) if data is not None else None
    messages = read_evidence(evidence)
    appraisal = _appraise_evidence(
        messages,
        rules,
        evidence,
        nonce=expected_nonce,
        record=about,
        now=now,
        journal=find_journal_head(record_content),
    )
    for check in appraisal.checks:
        mark = _TIER_MARKS[check.tier] if check.decided else "?"
        voice.result(f"{mark} {check.name}: {check.finding}")
    token = encode_signed_result(
        appraisal,
        signer,
        int(now.timestamp()),
        rules.result_validity,
        as_jwt=form in (JSON_FORM, JWT_FORM),
    )
    result = replace(messages, result=token) if passport else RatsMessages(result=token)
    suffix = PASSPORT_SUFFIX if passport else RESULT_SUFFIX
    name = f"{_strip_evidence_suffix(evidence)}{suffix}.{form}"
    written = OutputTarget(output, overwrite, voice).put(result.encode(form), name, evidence)
    _report_appraisal(appraisal, evidence, written, voice, passport=passport)
    return 0 if appraisal.status is Tier.AFFIRMING else EXIT_NOT_AFFIRMED


def _appraise_evidence(
    messages: RatsMessages, rules: AppraisalPolicy, where: str, **expected: Any
) -> Appraisal:
    """Return the appraisal of evidence from the file `where`, good or bad.

    `expected` has the further arguments of `appraise_evidence`: nonce, record, time and journal.

    Raises:
        InvalidStatement: the evidence is malformed; the error names the file.
    """
    try:
        return appraise_evidence(
            messages.evidence or b"", rules, **expected, endorsements=messages.endorsements
        )
    except InvalidStatement as error:
        raise InvalidStatement(
            error.message, reason=error.reason, where=where, hint=error.hint
        ) from error


def _strip_evidence_suffix(evidence: str) -> str:
    """Return the file that evidence is about, by the name of the evidence.

    A name without a known ending is returned unchanged.
    """
    endings = (
        f"{name}.{form}" for name in (EVIDENCE_SUFFIX, PASSPORT_SUFFIX) for form in WRAPPED_FORMS
    )
    return next(
        (evidence.removesuffix(ending) for ending in endings if evidence.endswith(ending)), evidence
    )


def _report_appraisal(
    appraisal: Appraisal, evidence: str, written: str | None, voice: Voice, *, passport: bool
) -> None:
    """Print the verdict, the file of the result and the reason for a failure, or all as JSON.

    `evidence` and `written` are the files; `written` is `None` if the result went to standard
    output. A result with evidence is called a passport.
    """
    vector = ", ".join(f"{name} {value}" for name, value in appraisal.vector.items())
    voice.result(
        f"{evidence}: {appraisal.status.label} by {appraisal.policy} ({vector or 'no claims'})"
    )
    if written is not None:
        voice.result(f"{written}: {'the passport' if passport else 'the signed result'}")
    worst = appraisal.worst_check
    if appraisal.status is not Tier.AFFIRMING:
        problem = (
            f"{worst.name}: {worst.finding}"
            if worst is not None
            else "the policy has no reference values to compare with"
        )
        reason = _find_failure_reason(appraisal) or ""
        voice.error(
            f"{evidence}: not affirmed ({reason}): {problem}",
            _HINTS_BY_REASON.get(reason, _DEFAULT_HINT),
        )
    voice.data(
        {
            "evidence": evidence,
            "status": appraisal.status.label,
            "reason": _find_failure_reason(appraisal),
            "vector": appraisal.vector,
            "checks": [_build_check_document(check) for check in appraisal.checks],
            "policy": appraisal.policy,
            "nonce": appraisal.nonce.hex(),
            "record": appraisal.record.hex(),
            "journal": _build_journal_document(appraisal.journal),
            "tpm": appraisal.details or None,
            "result": written,
        }
    )


def _find_failure_reason(appraisal: Appraisal) -> str | None:
    """Return the reason code of evidence that is not affirmed; `None` if it is."""
    if appraisal.status is Tier.AFFIRMING:
        return None
    worst = appraisal.worst_check
    return worst.reason if worst is not None else "no-reference"


def _build_check_document(check: AppraisalCheck) -> dict[str, Any]:
    """Return a check for JSON output."""
    document: dict[str, Any] = {
        "name": check.name,
        "claim": check.claim,
        "value": check.value,
        "tier": check.tier.label,
    }
    document |= {"told": check.finding, "decided": check.decided}
    return document | ({"reason": check.reason} if check.reason else {})


def _build_journal_document(journal: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a journal head for JSON output, with bytes in hexadecimal; `None` stays `None`."""
    if journal is None:
        return None
    return {
        name: value.hex() if isinstance(value, bytes) else value for name, value in journal.items()
    }
