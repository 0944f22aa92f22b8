"""A conversation, sealed: its record, attributed, with a statement beside it that a log may have.
What `vacr seal` does for each.

What is there already and holds is left as it is: the same record is not signed twice, nor
registered twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from vacr.attribution import BaseFiles, JointRecords, attribute_records
from vacr.cli.attribute import (
    format_attribution_summary,
    report_unknown_tools,
    warn_if_base_unrelated,
)
from vacr.cli.given import InputRecord, read_input_records
from vacr.cli.options import Voice
from vacr.cli.outputs import write_output_file
from vacr.cli.statements import SigningSettings
from vacr.files import read_bytes
from vacr.model import Record
from vacr.record import assign_record_id, encode, validate
from vacr.registration import Registrar, RegistrationOutcome
from vacr.signing import HEADER_X5CHAIN, PublicKey
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.verification import Policy, VerificationFailed, VerifiedStatement, verify
from vacr.workflows import STATEMENT_SUFFIX, build_sealed_source_path, read_signable_file


@dataclass(frozen=True)
class UnsealedRecord:
    """A record that was made of a session, where it lies meanwhile, and where it will."""

    source: str
    path: Path
    target: Path
    inputs: dict[str, Any] = field(default_factory=dict)
    """What came from outside the session, to be told in the record."""


@dataclass(frozen=True)
class SealResult:
    """What came of a session."""

    one: UnsealedRecord
    record: dict[str, Any]
    signed: bool
    """Whether it was signed now; otherwise the statement that was there holds."""
    outcome: RegistrationOutcome | None
    """What came of registering it, if it was to be."""
    verified: VerifiedStatement


@dataclass(frozen=True)
class Sealer:
    """Seals what was recorded."""

    signing: SigningSettings
    base: BaseFiles | None
    registrar: Registrar | None
    overwrite: bool
    voice: Voice

    def seal(self, together: Sequence[UnsealedRecord]) -> list[SealResult]:
        """Seal a session and those of its sub-agents, whose lines are told apart together.

        Raises:
            VacrError: something does not hold, or cannot be read or written.
        """
        found = [self._given(one) for one in together]
        records = attribute_records([one.record for one in found], self.base)
        for own, one, record in zip(together, found, records, strict=True):
            if own.inputs:
                record["vacr"]["inputs"] = {**record["vacr"].get("inputs", {}), **own.inputs}
            assign_record_id(cast("Record", record))
            validate(cast("Record", record)).raise_for_errors()
            report_unknown_tools(
                one, record["vacr"]["attribution"].get("unknown-tools", {}), self.voice
            )
            warn_if_base_unrelated(one, record, self.base, self.voice)
        joint = JointRecords(list(records))
        return [
            self._one(one, record, joint) for one, record in zip(together, records, strict=True)
        ]

    def _given(self, one: UnsealedRecord) -> InputRecord:
        (found,) = read_input_records(str(one.path))
        return InputRecord(one.source, found.stem, found.form, found.record)

    def _one(self, one: UnsealedRecord, record: dict[str, Any], joint: JointRecords) -> SealResult:
        data = encode(record)
        kept = build_sealed_source_path(one.path)
        if kept.exists():
            write_output_file(
                build_sealed_source_path(one.target),
                read_bytes(kept),
                str(kept),
                (),
                overwrite=self.overwrite,
            )
        write_output_file(one.target, data, str(one.path), (one.source,), overwrite=self.overwrite)
        statement = one.target.with_name(one.target.name + STATEMENT_SUFFIX)
        signed = not self._holds(statement, data, joint)
        if signed:
            made = self.signing.statement(read_signable_file(str(one.target), whole=False))
            write_output_file(statement, made, str(one.target), (), overwrite=self.overwrite)
        outcome = self.registrar.register(str(statement)) if self.registrar is not None else None
        verified = self._verified(
            read_bytes(statement), data, joint, log_keys=self._log_keys(outcome)
        )
        return SealResult(one, record, signed, outcome, verified)

    def _holds(self, statement: Path, data: bytes, joint: JointRecords) -> bool:
        """Tell whether there is a statement already that says what would be signed."""
        if not statement.is_file():
            return False
        try:
            found = self._verified(read_bytes(statement), data, joint, issuer=self.signing.issuer)
        except VerificationFailed:
            return False
        return not self.signing.chain or HEADER_X5CHAIN in found.message.protected

    def _log_keys(self, outcome: RegistrationOutcome | None) -> tuple[PublicKey, ...]:
        """Give the keys that the receipt has to be of, where there is one."""
        if outcome is None or outcome.logged is None or self.registrar is None:
            return ()
        return tuple(self.registrar.log_keys) or tuple(self.registrar.client.keys())

    def _verified(
        self, statement: bytes, data: bytes, joint: JointRecords, **asked: Any
    ) -> VerifiedStatement:
        rule = self.registrar.entry_rule if self.registrar is not None else ENTRY_RULE_STATEMENT
        policy = Policy(
            keys=(self.signing.signer.public_key,), entry_rule=rule, needs_record=True, **asked
        )
        return verify(
            statement,
            policy,
            payload=data,
            base=self.base,
            joint=lambda: joint,
            now=datetime.now(UTC),
        )


def format_seal_result(sealed: SealResult) -> str:
    """Say of a session what it became."""
    signer = "signed" if sealed.signed else "signed before"
    return f"{sealed.one.target}: {format_attribution_summary(sealed.record)}; {signer} by {sealed.verified.signer}"
