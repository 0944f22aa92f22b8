"""`vacr attest`: a record and what recorded it → evidence; and the reference values that evidence
is appraised against.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr import __version__
from vacr.cli import options
from vacr.cli.evidence import Target, form_of, journal_of, nonce_of, record_at
from vacr.cli.machine_keys import machine_key
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.references import component, write_attestation_key, write_reference
from vacr.cli.statements import key_options, key_signer
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import carried, labels
from vacr.evidence.attester import Agent, Subject, agent_in, attest, record_digest
from vacr.evidence.journal import JournalHead, journal_in
from vacr.evidence.messages import CWT, WRAPPED, Messages
from vacr.recording.files import write
from vacr.signing import KeySigner, keys
from vacr.signing.sign1 import parse
from vacr.sources import STDIN, measuring, read_bytes
from vacr.sources.evidence_files import EVIDENCE, load_endorsements
from vacr.sources.state import state_folder
from vacr.sources.tpm import PCRS, Tpm


@click.command(no_args_is_help=True)
@click.option("--record", metavar="FILE", type=PATH, help="The record that the evidence is about.")
@click.option(
    "--nonce",
    metavar="HEX",
    help="What whoever asks for evidence gave, so that it cannot be older.",
)
@click.option(
    "--attester",
    type=click.Choice([labels.TPM, labels.SOFTWARE]),
    help="What vouches for it: a TPM, or only a key in software, which is the weaker claim.",
)
@partial(key_options, required=False)
@click.option(
    "--tcti",
    metavar="NAME",
    help="How the TPM is reached, such as device:/dev/tpmrm0.  [default: as tpm2-tools do]",
)
@click.option(
    "--pcrs",
    metavar="N,N…",
    default=",".join(map(str, PCRS)),
    show_default=True,
    help="The registers to quote.",
)
@click.option(
    "--journal-head",
    metavar="FILE|HEX",
    help="How far the recorder's journal went.  [default: what the record says]",
)
@click.option(
    "--configuration",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A file of configuration to measure; may be given again.",
)
@click.option(
    "--agent-executable", metavar="FILE", help="The executable of the agent, to measure it, too."
)
@click.option(
    "--agent",
    metavar="NAME",
    help="Whose session or executable it is.  [default: as the record says]",
)
@click.option(
    "--endorsement",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="An endorsement to go along with the evidence; may be given again.",
)
@click.option(
    "--into",
    metavar="STATEMENT",
    type=PATH,
    help="Put the evidence into the header of a statement as well.",
)
@click.option(
    "--reference",
    is_flag=True,
    help="Write what this installation measures as: reference values for a verifier.",
)
@click.option(
    "--attestation-key", is_flag=True, help="Write the public attestation key of the TPM."
)
@partial(options.writing_options, default="beside the record")
@options.voice_options
def command(
    record: str | None,
    nonce: str | None,
    attester: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,  # noqa: FBT001 - click passes flags so
    tcti: str | None,
    pcrs: str,
    journal_head: str | None,
    configuration: tuple[str, ...],
    agent_executable: str | None,
    agent: str | None,
    endorsement: tuple[str, ...],
    into: str | None,
    reference: bool,  # noqa: FBT001
    attestation_key: bool,  # noqa: FBT001
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Make evidence of what recorded a session: which files of vacr, which Python, which
    configuration, for which record.

    The evidence is signed by --key. Where none is named, that is this machine's key, which `vacr
    watch` seals with, too; with a TPM, whose quote is over all of it, a key for this one time. What
    it proves and what it does not is in docs/evidence.md.

    \b
    Example:
      vacr attest --record abc.acr.json --nonce 1f2e… --attester tpm
      vacr attest --record abc.acr.json --nonce 1f2e… --attester software --key keys/signing.pem
      vacr attest --reference -o reference.cbor
      vacr attest --reference --agent claude-code --agent-executable claude -o reference.cbor
      vacr attest --attestation-key -o ak.pub.pem
    """
    voice = Voice("text", True, verbose) if output == STDIN else Voice(format, quiet, verbose)  # noqa: FBT003
    target = Target(output, overwrite, voice)
    signer = (
        key_signer(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
        if key is not None
        else None
    )
    if reference and attestation_key:
        raise UsageError(
            "--reference and --attestation-key are two things", hint="Ask for one at a time."
        )
    if attestation_key:
        return write_attestation_key(Tpm(tcti), target)
    measured = [*measuring.recorder(), *map(measuring.configuration, configuration)]
    if reference:
        who = _agent(agent, record_at(record)[1] if record is not None else {}, agent_executable)
        if who is not None and agent_executable is not None:
            # A release is known by its bytes, whatever version a record says.
            measured.append(measuring.agent(who.name, None, agent_executable))
        return write_reference(measured, signer, target)
    if record is None or nonce is None or attester is None:
        missing = [
            name
            for name, value in (("--record", record), ("--nonce", nonce), ("--attester", attester))
            if value is None
        ]
        raise UsageError(
            f"evidence needs {', '.join(missing)}", hint="vacr attest --help shows examples."
        )
    tpm = Tpm(tcti, _registers(pcrs)) if attester == labels.TPM else None
    if signer is None:
        own = KeySigner(keys.generate("es256")) if tpm is not None else None
        signer = own or key_signer(
            key=machine_key(state_folder(os.environ)), alg=None, passphrase_file=None, force=False
        )
    along = tuple(one for name in endorsement for one in load_endorsements(name))
    data, said = record_at(record)
    who = _agent(agent, said, agent_executable)
    if who is not None and agent_executable is not None:
        measured.append(measuring.agent(who.name, who.version, agent_executable))
    subject = Subject(
        record_digest(data), __version__, measured, _journal(said, record, journal_head), who
    )
    if not said:
        voice.notice(
            f"{record}: no record; the evidence names its bytes, and neither a journal nor an "
            "agent unless you do"
        )
    elif subject.journal is None:
        voice.notice(f"{record}: recorded without a journal, which the evidence then does not name")
    evidence = attest(
        subject, nonce_of(nonce), int(time.time()), signer, tpm.quote if tpm is not None else None
    )
    return _write_evidence(
        Messages(evidence, endorsements=along), subject, attester, record, into, target
    )


def _agent(name: str | None, said: dict[str, Any], executable: str | None) -> Agent | None:
    """Give the agent whose session a record is of; where the record does not say, the one that was
    named, or measured.
    """
    found = agent_in(said)
    if found is not None and name not in (None, found.name):
        raise UsageError(
            f"--agent is another one than the record names, {found.name}", hint="Leave it out."
        )
    named = name or (Path(executable).name if executable is not None else None)
    return found or (Agent(named) if named is not None else None)


def _journal(said: dict[str, Any], path: str, head: str | None) -> JournalHead | None:
    try:
        named = journal_in(said)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=path, hint="Make the record again: vacr record FILE."
        ) from error
    given = journal_of(head) if head is not None else None
    if named is not None and given is not None and named != given:
        raise UsageError(
            "--journal-head is another one than the record names", hint="Leave it out."
        )
    return named or given


def _registers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError as error:
        raise UsageError(
            f"--pcrs {text} is no list of registers", hint="For example: --pcrs 0,1,7"
        ) from error


def _write_evidence(
    found: Messages, subject: Subject, kind: str, record: str, into: str | None, target: Target
) -> int:
    form = form_of(target.output, None, (*WRAPPED, CWT))
    data = found.encode(form)
    statement = _with_evidence(into, found, subject) if into is not None else b""
    weaker = (
        " (a key in software: whoever can read it could have made this)"
        if kind == labels.SOFTWARE
        else ""
    )
    told = f"evidence by {kind}, {plural(len(subject.components), 'component')}{weaker}"
    document = {
        "record": record,
        "sha-256": subject.record.hex(),
        "attester": kind,
        "profile": labels.PROFILE,
        "components": [component(one) for one in subject.components],
        "journal": subject.journal is not None,
        "endorsements": len(found.endorsements),
        "statement": into,
    }
    target.write(data, f"{record}{EVIDENCE}.{form}", record, told, document)
    if into is not None:
        write(Path(into), [statement], Path(into), durable=True)
    return 0


def _with_evidence(into: str, found: Messages, subject: Subject) -> bytes:
    """Give a statement with evidence in it.

    Raises:
        UnreadableInput: the file is no statement.
        InvalidStatement: it is about something else.
    """
    data = read_bytes(into)
    try:
        parse(data)
    except InvalidStatement as error:
        hint = (
            "Name the statement, which vacr sign writes beside the record: its name ends in .cose."
        )
        raise UnreadableInput(f"no statement: {error.message}", where=into, hint=hint) from error
    try:
        return carried.with_message(data, found.wrapped(), subject.record)
    except InvalidStatement as error:
        raise InvalidStatement(
            error.message, reason=error.reason, where=into, hint=error.hint
        ) from error
