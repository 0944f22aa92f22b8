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

import vacr
from vacr import codec
from vacr.attribution import Base, attribute
from vacr.attribution.checking import Joint
from vacr.cli import outputs
from vacr.cli.attribute import summary, tell_doubt, tell_unknown
from vacr.cli.given import Given, given
from vacr.cli.options import Voice
from vacr.cli.statements import Signing
from vacr.identity import identify
from vacr.log.registering import Outcome, Registrar
from vacr.model import Record
from vacr.receipts.entries import STATEMENT
from vacr.recording import sealing
from vacr.signing import labels
from vacr.signing.algorithms import PublicKey
from vacr.sources import read_bytes
from vacr.sources.signing import signable
from vacr.sources.statements import COSE
from vacr.verification import Policy, VerificationFailed, Verified, verify


@dataclass(frozen=True)
class Recorded:
    """A record that was made of a session, where it lies meanwhile, and where it will."""

    source: str
    path: Path
    target: Path
    inputs: dict[str, Any] = field(default_factory=dict)
    """What came from outside the session, to be told in the record."""


@dataclass(frozen=True)
class Sealed:
    """What came of a session."""

    one: Recorded
    record: dict[str, Any]
    signed: bool
    """Whether it was signed now; otherwise the statement that was there holds."""
    outcome: Outcome | None
    """What came of registering it, if it was to be."""
    verified: Verified


@dataclass(frozen=True)
class Sealer:
    """Seals what was recorded."""

    signing: Signing
    base: Base | None
    registrar: Registrar | None
    overwrite: bool
    voice: Voice

    def seal(self, together: Sequence[Recorded]) -> list[Sealed]:
        """Seal a session and those of its sub-agents, whose lines are told apart together.

        Raises:
            VacrError: something does not hold, or cannot be read or written.
        """
        found = [self._given(one) for one in together]
        records = attribute([one.record for one in found], self.base)
        for own, one, record in zip(together, found, records, strict=True):
            if own.inputs:
                record["vacr"]["inputs"] = {**record["vacr"].get("inputs", {}), **own.inputs}
            identify(cast("Record", record))
            vacr.validate(cast("Record", record)).raise_for_errors()
            tell_unknown(one, record["vacr"]["attribution"].get("unknown-tools", {}), self.voice)
            tell_doubt(one, record, self.base, self.voice)
        joint = Joint(list(records))
        return [
            self._one(one, record, joint) for one, record in zip(together, records, strict=True)
        ]

    def _given(self, one: Recorded) -> Given:
        (found,) = given(str(one.path))
        return Given(one.source, found.stem, found.form, found.record)

    def _one(self, one: Recorded, record: dict[str, Any], joint: Joint) -> Sealed:
        data = codec.encode(record)
        kept = sealing.sealed_path(one.path)
        if kept.exists():
            outputs.write_new(
                sealing.sealed_path(one.target),
                read_bytes(kept),
                str(kept),
                (),
                overwrite=self.overwrite,
            )
        outputs.write_new(one.target, data, str(one.path), (one.source,), overwrite=self.overwrite)
        statement = one.target.with_name(one.target.name + COSE)
        signed = not self._holds(statement, data, joint)
        if signed:
            made = self.signing.statement(signable(str(one.target), whole=False))
            outputs.write_new(statement, made, str(one.target), (), overwrite=self.overwrite)
        outcome = self.registrar.register(str(statement)) if self.registrar is not None else None
        verified = self._verified(
            read_bytes(statement), data, joint, log_keys=self._log_keys(outcome)
        )
        return Sealed(one, record, signed, outcome, verified)

    def _holds(self, statement: Path, data: bytes, joint: Joint) -> bool:
        """Tell whether there is a statement already that says what would be signed."""
        if not statement.is_file():
            return False
        try:
            found = self._verified(read_bytes(statement), data, joint, issuer=self.signing.issuer)
        except VerificationFailed:
            return False
        return not self.signing.chain or labels.X5CHAIN in found.message.protected

    def _log_keys(self, outcome: Outcome | None) -> tuple[PublicKey, ...]:
        """Give the keys that the receipt has to be of, where there is one."""
        if outcome is None or outcome.logged is None or self.registrar is None:
            return ()
        return tuple(self.registrar.log_keys) or tuple(self.registrar.client.keys())

    def _verified(self, statement: bytes, data: bytes, joint: Joint, **asked: Any) -> Verified:
        rule = self.registrar.entry_rule if self.registrar is not None else STATEMENT
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


def told(sealed: Sealed) -> str:
    """Say of a session what it became."""
    signer = "signed" if sealed.signed else "signed before"
    return f"{sealed.one.target}: {summary(sealed.record)}; {signer} by {sealed.verified.signer}"
