"""`vacr evidence attest`: a record and its recorder → evidence; also reference values.

>>> from vacr.cli.attest import _choose_agent, _parse_pcr_list
>>> _parse_pcr_list("0,1,7")
[0, 1, 7]
>>> _choose_agent(None, {}, "/usr/bin/claude").name
'claude'
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
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
from vacr.errors import InvalidStatement, UnreadableInput, UsageError
from vacr.evidence import (
    CWT_FORM,
    DEFAULT_PCRS,
    EVIDENCE_PROFILE,
    EVIDENCE_SUFFIX,
    KEY_STORAGE_SOFTWARE,
    KEY_STORAGE_TPM,
    WRAPPED_FORMS,
    Component,
    EvidenceSubject,
    JournalHead,
    RatsMessages,
    SessionAgent,
    Tpm,
    attach_message,
    compute_record_digest,
    create_evidence,
    encode_reference_values,
    find_journal_head,
    find_session_agent,
    load_endorsements,
    measure_agent,
    measure_configuration,
    measure_recording_agent,
    parse_attestation_key,
)
from vacr.files import STDIN, find_state_folder, read_bytes, write_file_atomically
from vacr.record import find_record_modification
from vacr.signing import (
    KeySigner,
    Signer,
    compute_thumbprint_uri,
    encode_public_pem,
    generate_key,
    parse_sign1,
)
from vacr.version import __version__
from vacr.workflows import (
    choose_output_form,
    ensure_machine_key,
    format_count,
    make_modified_error,
    parse_nonce,
    read_journal_head,
    read_record_file,
)

_REFERENCE_FILE, _ATTESTATION_KEY_FILE = "reference.cbor", "ak.pub.pem"


@click.command(no_args_is_help=True, cls=Verb)
@click.option(
    "--record",
    metavar="FILE",
    type=PATH,
    help="Record that the evidence is about; required for evidence.",
)
@click.option(
    "--nonce",
    metavar="HEX",
    help="The verifier's challenge, which proves that the evidence is fresh; required for "
    "evidence.",
)
@click.option(
    "--attester",
    type=click.Choice([KEY_STORAGE_TPM, KEY_STORAGE_SOFTWARE]),
    help="What signs the evidence: a TPM, or a software key, which proves less. Required for "
    "evidence.",
)
@partial(key_options, required=False)
@click.option(
    "--tcti",
    metavar="NAME",
    help="TPM to use, such as device:/dev/tpmrm0.  [default: the one that tpm2-tools use]",
)
@click.option(
    "--pcrs",
    metavar="N,N…",
    default=",".join(map(str, DEFAULT_PCRS)),
    show_default=True,
    help="Registers of the TPM to quote.",
)
@click.option(
    "--journal-head",
    metavar="HEAD|FILE",
    help="Head of the recorder's journal: IDENTITY:FRAMES:HEAD, or a JSON file with these three.  "
    "[default: from the record]",
)
@click.option(
    "--configuration",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Configuration file to measure; repeatable.",
)
@click.option(
    "--agent-executable", metavar="FILE", help="Executable of the agent, to be measured too."
)
@click.option(
    "--agent",
    metavar="NAME",
    help="Name of the agent.  [default: from the record]",
)
@click.option(
    "--endorsement",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Endorsement to send with the evidence; repeatable.",
)
@click.option(
    "--into",
    metavar="STATEMENT",
    type=PATH,
    help="Also add the evidence to this statement file, in its unprotected header.",
)
@click.option(
    "--reference",
    is_flag=True,
    help="Write the measurements of this installation, as reference values for a verifier.",
)
@click.option(
    "--attestation-key",
    is_flag=True,
    help="Write only the TPM's public attestation key, to the file of -o; create no evidence.",
)
@partial(output_options, default="next to the record")
@voice_options
def command(
    record: str | None,
    nonce: str | None,
    attester: str | None,
    key: str | None,
    alg: str | None,
    passphrase_file: str | None,
    force: bool,
    tcti: str | None,
    pcrs: str,
    journal_head: str | None,
    configuration: tuple[str, ...],
    agent_executable: str | None,
    agent: str | None,
    endorsement: tuple[str, ...],
    into: str | None,
    reference: bool,
    attestation_key: bool,
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Create evidence of how a session was recorded.

    Evidence for a record consists of measurements of vacr, of Python and of configuration files,
    signed by --key. The default is the key of this machine, which `vacr watch` also uses; with a
    TPM it is a one-time key, covered by the TPM's quote. A record that was modified after it was
    made is refused. docs/evidence.md explains what evidence proves.

    \b
    Example:
      vacr evidence attest --record abc.acr.json --nonce 1f2e… --attester tpm
      vacr evidence attest --record abc.acr.json --nonce 1f2e… \\
        --attester software --key keys/signing.pem
      vacr evidence attest --reference -o reference.cbor
      vacr evidence attest --reference --agent claude-code \\
        --agent-executable claude -o reference.cbor
      vacr evidence attest --attestation-key -o ak.pub.pem
    """
    voice = (
        Voice("text", quiet=True, verbose=verbose)
        if output == STDIN
        else Voice(format, quiet, verbose)
    )
    target = OutputTarget(output, overwrite, voice)
    signer = (
        load_signer_from_options(key=key, alg=alg, passphrase_file=passphrase_file, force=force)
        if key is not None
        else None
    )
    if reference and attestation_key:
        raise UsageError(
            "--reference and --attestation-key exclude each other", hint="Omit one of them."
        )
    if attestation_key:
        return _write_attestation_key(Tpm(tcti), target)
    measured = [*measure_recording_agent(), *map(measure_configuration, configuration)]
    if reference:
        session_agent = _choose_agent(
            agent, read_record_file(record)[1] if record is not None else {}, agent_executable
        )
        if session_agent is not None and agent_executable is not None:
            # Bytes identify a release; the version in the record is not needed.
            measured.append(measure_agent(session_agent.name, None, agent_executable))
        return _write_reference_values(measured, signer, target)
    if record is None or nonce is None or attester is None:
        missing = [
            name
            for name, value in (("--record", record), ("--nonce", nonce), ("--attester", attester))
            if value is None
        ]
        raise UsageError(
            f"evidence needs {' and '.join(missing)}",
            hint="For examples: vacr evidence attest --help",
        )
    tpm = Tpm(tcti, _parse_pcr_list(pcrs)) if attester == KEY_STORAGE_TPM else None
    if signer is None:
        own = KeySigner(generate_key("es256")) if tpm is not None else None
        signer = own or load_signer_from_options(
            key=ensure_machine_key(find_state_folder(os.environ)),
            alg=None,
            passphrase_file=None,
            force=False,
        )
    along = tuple(endorsed for name in endorsement for endorsed in load_endorsements(name))
    data, content = read_record_file(record)
    modification = find_record_modification(content, json=data.lstrip().startswith(b"{"))
    if modification is not None:
        raise make_modified_error(record, str(modification))
    session_agent = _choose_agent(agent, content, agent_executable)
    if session_agent is not None and agent_executable is not None:
        measured.append(measure_agent(session_agent.name, session_agent.version, agent_executable))
    subject = EvidenceSubject(
        compute_record_digest(data),
        __version__,
        measured,
        _choose_journal_head(content, record, journal_head),
        session_agent,
    )
    if not content:
        voice.notice(
            f"{record}: not a record, so the evidence covers its bytes, but names no journal and "
            "no agent. Add --journal-head and --agent to name them."
        )
    elif subject.journal is None:
        voice.notice(f"{record}: recorded without a journal, so the evidence names no journal")
    evidence = create_evidence(
        subject,
        parse_nonce(nonce),
        int(time.time()),
        signer,
        tpm.quote if tpm is not None else None,
    )
    return _write_evidence(
        RatsMessages(evidence, endorsements=along), subject, attester, record, into, target
    )


def _choose_agent(
    name: str | None, content: dict[str, Any], executable: str | None
) -> SessionAgent | None:
    """Return the agent in a record, else the named agent, else the agent of the executable.

    Return `None` if all three are missing. `content` is the record; `{}` if the file is not one.

    Raises:
        UsageError: the record names another agent than `name`.
    """
    recorded = find_session_agent(content)
    if recorded is not None and name not in (None, recorded.name):
        raise UsageError(
            f"--agent is {name}, but the record names {recorded.name}", hint="Omit --agent."
        )
    fallback = name or (Path(executable).name if executable is not None else None)
    return recorded or (SessionAgent(fallback) if fallback is not None else None)


def _choose_journal_head(
    content: dict[str, Any], path: str, head: str | None
) -> JournalHead | None:
    """Return the journal head in a record, else the one of `--journal-head`.

    Return `None` if there is neither. `path` is the file of the record, for errors. `content` is
    the record; `{}` if the file is not one.

    Raises:
        UsageError: the two heads differ.
        UnreadableInput: a head is malformed.
    """
    try:
        recorded = find_journal_head(content)
    except UnreadableInput as error:
        raise UnreadableInput(
            error.message, where=path, hint="Record the session again: vacr record FILE"
        ) from error
    chosen = read_journal_head(head) if head is not None else None
    if recorded is not None and chosen is not None and recorded != chosen:
        raise UsageError(
            "--journal-head differs from the journal head in the record",
            hint="Omit --journal-head.",
        )
    return recorded or chosen


def _parse_pcr_list(text: str) -> list[int]:
    """Return the numbers in a text such as `0,1,7`.

    Raises:
        UsageError: the text is not a list of numbers.
    """
    try:
        return [int(number) for number in text.split(",")]
    except ValueError as error:
        raise UsageError(
            f"--pcrs {text} is not a list of numbers", hint="For example: --pcrs 0,1,7"
        ) from error


def _write_evidence(
    messages: RatsMessages,
    subject: EvidenceSubject,
    kind: str,
    record: str,
    into: str | None,
    target: OutputTarget,
) -> int:
    """Write evidence to its own file, and into the statement `into` if it is not `None`.

    `kind` is the kind of attester, `tpm` or `software`. Return the exit code, 0.
    """
    form = choose_output_form(target.output, None, (*WRAPPED_FORMS, CWT_FORM))
    data = messages.encode(form)
    statement = _add_evidence_to_statement(into, messages, subject) if into is not None else b""
    weaker = (
        " (software key: anyone who can read the key could have created this)"
        if kind == KEY_STORAGE_SOFTWARE
        else ""
    )
    summary = f"evidence by {kind}, {format_count(len(subject.components), 'component')}{weaker}"
    document = {
        "record": record,
        "sha-256": subject.record.hex(),
        "attester": kind,
        "profile": EVIDENCE_PROFILE,
        "components": [_build_component_document(component) for component in subject.components],
        "journal": subject.journal is not None,
        "endorsements": len(messages.endorsements),
        "statement": into,
    }
    target.write(data, f"{record}{EVIDENCE_SUFFIX}.{form}", record, summary, document)
    if into is not None:
        write_file_atomically(Path(into), [statement], Path(into), durable=True)
    return 0


def _add_evidence_to_statement(
    into: str, messages: RatsMessages, subject: EvidenceSubject
) -> bytes:
    """Return the statement in the file `into`, with evidence added to its header.

    Raises:
        UnreadableInput: the file is not a statement.
        InvalidStatement: the statement is not about the record of the evidence.
    """
    data = read_bytes(into)
    try:
        parse_sign1(data)
    except InvalidStatement as error:
        hint = "Name the statement that vacr sign wrote next to the record: it ends in .cose."
        raise UnreadableInput(f"not a statement: {error.message}", where=into, hint=hint) from error
    try:
        return attach_message(data, messages.wrapped(), subject.record)
    except InvalidStatement as error:
        raise InvalidStatement(
            error.message, reason=error.reason, where=into, hint=error.hint
        ) from error


def _write_reference_values(
    measured: list[Component], signer: Signer | None, target: OutputTarget
) -> int:
    """Write the measured components, signed if there is a signer; return the exit code, 0."""
    data = encode_reference_values(
        measured, signer, int(time.time()) if signer is not None else None
    )
    names = [
        component.name if component.version is None else f"{component.name} {component.version}"
        for component in measured
    ]
    summary = (
        f"reference values of {', '.join(names)}, "
        f"{'signed' if signer is not None else 'not signed'}"
    )
    document = {
        "components": [_build_component_document(component) for component in measured],
        "signed": signer is not None,
    }
    target.write(data, _REFERENCE_FILE, "", summary, document)
    return 0


def _write_attestation_key(tpm: Tpm, target: OutputTarget) -> int:
    """Write the public attestation key of a TPM in PEM; return the exit code, 0."""
    key = parse_attestation_key(tpm.attestation_key())
    name = compute_thumbprint_uri(key.key)
    target.write(
        encode_public_pem(key.key),
        _ATTESTATION_KEY_FILE,
        "",
        name,
        {"thumbprint": name, "name": key.name.hex()},
    )
    return 0


def _build_component_document(component: Component) -> dict[str, Any]:
    """Return a measured component for JSON output."""
    return {
        "name": component.name,
        "version": component.version,
        "sha-256": component.digest.hex(),
        "files": len(component.manifest or {}),
    }
