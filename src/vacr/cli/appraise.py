"""`vacr appraise`: evidence and a policy → a signed attestation result."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli import options, outputs
from vacr.cli.evidence import nonce_of, record_at
from vacr.cli.options import PATH, Voice
from vacr.cli.statements import key_options, key_signer
from vacr.errors import InvalidStatement, UsageError
from vacr.evidence import ear
from vacr.evidence.appraisal import Appraisal, Check
from vacr.evidence.attester import record_digest
from vacr.evidence.journal import journal_in
from vacr.evidence.relying_party import unwrap
from vacr.evidence.trust_tiers import Tier
from vacr.evidence.verifier import appraise
from vacr.sources import STDIN, read_bytes
from vacr.sources.evidence_files import EVIDENCE, load_policy

FAILED = 1
_MARKS = {Tier.NONE: "✓", Tier.AFFIRMING: "✓", Tier.WARNING: "!", Tier.CONTRAINDICATED: "✗"}
_LARGEST = 1 << 26


@click.command(no_args_is_help=True)
@click.argument("evidence", metavar="EVIDENCE", type=PATH)
@click.option("--policy", required=True, metavar="FILE", type=PATH, help="What is asked of evidence, in TOML.")
@click.option("--nonce", required=True, metavar="HEX", help="The nonce that the evidence was asked for with.")
@click.option("--record", metavar="FILE", type=PATH, help="The record that the evidence has to be about.")
@partial(key_options, required=False)
@click.option("--jwt", is_flag=True, help="Write the result as a JWT.  [default: where -o ends in .jwt]")
@partial(options.writing_options, default="beside the evidence, where there is --key")
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
    jwt: bool,  # noqa: FBT001
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Appraise evidence by a policy; with --key, sign the result (EAR), which others can rely on.

    ✓ is as it should be, ! is a warning, ✗ is not as it should be, ? is only said, or missing. Only what is affirmed ends with
    0. A result is written whatever it says, but for bytes that are no evidence.

    \b
    Example:
      vacr appraise abc.acr.json.evidence.cbor --policy policy.toml --nonce 1f2e… --record abc.acr.json
      vacr appraise evidence.cbor --policy policy.toml --nonce 1f2e… --key verifier/signing.pem -o result.cwt
      vacr appraise evidence.cbor --policy policy.toml --nonce 1f2e… --key verifier/signing.pem -o result.jwt
    """
    voice = Voice("text", True, verbose) if output == STDIN else Voice(format, quiet, verbose)  # noqa: FBT003
    signer = key_signer(key=key, alg=alg, passphrase_file=passphrase_file, force=force) if key is not None else None
    if signer is None and output is not None:
        raise UsageError("a result is signed by its verifier: --key is missing", hint="vacr key generate makes one.")
    rules, asked, now = load_policy(policy), nonce_of(nonce), datetime.now(UTC)
    data, said = record_at(record) if record is not None else (None, {})
    about = record_digest(data) if data is not None else None
    message, is_result = unwrap(read_bytes(evidence, _LARGEST), wants_result=False)
    if is_result:
        raise InvalidStatement("this is a result, not evidence", reason="evidence-missing", where=evidence)
    appraisal = appraise(message, rules, nonce=asked, record=about, now=now, journal=journal_in(said))
    for check in appraisal.checks:
        voice.result(f"{_MARKS[check.tier] if check.decided else '?'} {check.name}: {check.told}")
    written = None
    if signer is not None:
        as_jwt = jwt or (output or "").endswith(".jwt")
        token = ear.encode(appraisal, signer, int(now.timestamp()), rules.result_validity, as_jwt=as_jwt)
        written = _write(token, evidence, output, as_jwt=as_jwt, overwrite=overwrite)
    _tell(appraisal, evidence, written, voice)
    return 0 if appraisal.status is Tier.AFFIRMING else FAILED


def _write(token: bytes, evidence: str, output: str | None, *, as_jwt: bool, overwrite: bool) -> str | None:
    if output == STDIN:
        outputs.write_stdout([token])
        return None
    name = Path(f"{evidence.removesuffix(EVIDENCE)}.result.{'jwt' if as_jwt else 'cwt'}")
    if output is not None:
        name = Path(output) / name.name if outputs.is_folder(output) else Path(output)
    outputs.write_new(name, token, evidence, (evidence,), overwrite=overwrite)
    return str(name)


def _tell(appraisal: Appraisal, evidence: str, written: str | None, voice: Voice) -> None:
    vector = ", ".join(f"{name} {value}" for name, value in appraisal.vector.items())
    voice.result(f"{evidence}: {appraisal.status.label} by {appraisal.policy} ({vector or 'nothing is claimed'})")
    if written is not None:
        voice.result(f"{written}: the result")
    worst = appraisal.worst_check
    if appraisal.status is not Tier.AFFIRMING:
        told = f"{worst.name}: {worst.told}" if worst is not None else "there are no reference values to compare with"
        voice.error(f"{evidence}: not affirmed ({_reason(appraisal)}): {told}")
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
    said: dict[str, Any] = {"name": one.name, "claim": one.claim, "value": one.value, "tier": one.tier.label}
    said |= {"told": one.told, "decided": one.decided}
    return said | ({"reason": one.reason} if one.reason else {})


def _plain(journal: dict[str, Any] | None) -> dict[str, Any] | None:
    if journal is None:
        return None
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in journal.items()}
