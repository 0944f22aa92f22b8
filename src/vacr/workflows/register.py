"""Statement files registered in transparency services: settings, runs and results.

A log answers with a receipt, which goes into the statement. When the service cannot be reached,
the statement waits in the outbox, and the exit code says so. A refusal outranks a service that
cannot be reached:

    >>> from vacr.workflows import combine_exit_codes
    >>> combine_exit_codes([0, 4]), combine_exit_codes([4, 1, 0])
    (4, 1)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.registration import (
    RETRY_LATER_HINT,
    STATE_FAILED,
    STATE_PENDING,
    STATE_UNWITNESSED,
    Outbox,
    OutboxItem,
    ProofCollector,
    Registrar,
    RegistrationClient,
    RegistrationOutcome,
    RetryBudget,
    ServiceAccess,
    TiledLog,
    find_outbox_folder,
)
from vacr.signing import read_log_keys, read_passphrase
from vacr.verification import TrustStore
from vacr.workflows.output_files import is_output_folder, write_output_file
from vacr.workflows.statement_files import STATEMENT_SUFFIX, StatementPair
from vacr.workflows.verify import build_receipt_document, build_witnesses_document

EXIT_REFUSED = 1
PENDING_HINT = "The statement waits in the outbox. To try again: vacr register --pending"
UNWITNESSED_HINT = "To add the proof later: vacr register --refresh FILE --service URL"


@dataclass(frozen=True)
class ServiceSettings:
    """How services are reached, the same for all statements of a run."""

    access: ServiceAccess
    patience: RetryBudget
    """How long a service that does not answer is tried again."""
    log_keys: tuple[Any, ...]
    """The keys that receipts must be signed with; if empty, the keys that the service publishes."""
    entry_rule: str
    outbox: Outbox

    @classmethod
    def load(
        cls,
        *,
        token: str | None,
        token_file: str | None,
        ca: str | None,
        client_cert: str | None,
        client_key: str | None,
        log_key: Sequence[str],
        entry_rule: str,
        patience: float,
    ) -> ServiceSettings:
        """Read the token and the log keys from their files; `token_file` outranks `token`.

        `ca`, `client_cert` and `client_key` are files for TLS; `patience` is in seconds.

        Raises:
            UsageError: the first line of the token file is empty, or other users can read the file.
            Unreachable: a file with log keys cannot be read.
        """
        if token_file is not None:
            token = read_passphrase(token_file).decode("utf-8", "replace").strip()
            if not token:
                raise UsageError(
                    f"the token file {token_file} has an empty first line",
                    hint="Write the token into the first line.",
                )
        access = ServiceAccess(token, ca, client_cert, client_key)
        keys = tuple(key for name in log_key for key in read_log_keys(name))
        outbox = Outbox(find_outbox_folder(os.environ))
        return cls(access, RetryBudget(patience), keys, entry_rule, outbox)

    def collector(self, url: str, store: TrustStore, wait: float) -> ProofCollector:
        """Return a collector of witnesses' proofs from the log at a URL.

        `wait` is the number of seconds to wait for the witnesses. The token is not sent: everybody
        may read checkpoints and tiles.

        Raises:
            UsageError: the store does not name witnesses and the log.
        """
        log = TiledLog(url, replace(self.access, token=None))
        return ProofCollector(log, store, wait=wait, entry_rule=self.entry_rule)

    def registrar(self, url: str, **settings: Any) -> Registrar:
        """Return a registrar for the service at a URL; `settings` are further ones of Registrar."""
        client = RegistrationClient(url, self.access, replace(self.patience))
        return Registrar(
            client, self.log_keys, self.entry_rule, **{"outbox": self.outbox, **settings}
        )


@dataclass(frozen=True)
class RegistrationTarget:
    """Where statements with receipts go: into their own files, unless an output is named."""

    output: str | None
    """A file or a folder; None stands for the statements' own files."""
    inputs: tuple[str, ...]
    """Files that must not be written over."""
    overwrite: bool
    emit: Callable[[bytes], None] | None = None
    """Prints a statement instead of writing it to the output."""

    def register(self, registrar: Registrar, statement: str) -> tuple[RegistrationOutcome, str]:
        """Register the statement in a file, and write it with its receipt; errors do not raise.

        Return the outcome, and the path of the written file, or of `statement` after an error.
        """
        return self._write(registrar.register, statement)

    def refresh(self, collector: ProofCollector, statement: str) -> tuple[RegistrationOutcome, str]:
        """Write the statement in a file with a new proof of witnesses.

        Return the outcome, and the path of the written file, or of `statement` after an error.
        """
        return self._write(collector.refresh_file, statement)

    def _write(
        self,
        work: Callable[[str, Callable[[bytes], None] | None], RegistrationOutcome],
        statement: str,
    ) -> tuple[RegistrationOutcome, str]:
        """Call `work` with the path of a statement, and the function that writes its result.

        Return the outcome, and the path that it concerns: the output, or on an error the statement.
        """
        if self.output is None:
            return work(statement, None), statement
        path = Path(self.output)
        if is_output_folder(self.output):
            path /= Path(statement).name

        def write(data: bytes) -> None:
            """Write the statement with its receipt to the output."""
            if self.emit is not None:
                self.emit(data)
            else:
                inputs = (*self.inputs, statement)
                write_output_file(path, data, statement, inputs, overwrite=self.overwrite)

        outcome = work(statement, write)
        return outcome, statement if outcome.error else str(path)


def register_pair(
    registrar: Registrar, pair: StatementPair, target: RegistrationTarget
) -> tuple[RegistrationOutcome, str]:
    """Register the statement of a pair, and return the outcome with the path it concerns.

    A pair without a statement gets a failed outcome, and nothing is sent.
    """
    if pair.statement is not None:
        return target.register(registrar, pair.statement)
    return _make_unsigned_outcome(pair), pair.name


def refresh_pair(
    collector: ProofCollector, pair: StatementPair, target: RegistrationTarget
) -> tuple[RegistrationOutcome, str]:
    """Add a proof of witnesses to the statement of a pair, and return the outcome with its path.

    A pair without a statement gets a failed outcome.
    """
    if pair.statement is not None:
        return target.refresh(collector, pair.statement)
    return _make_unsigned_outcome(pair), pair.name


def _make_unsigned_outcome(pair: StatementPair) -> RegistrationOutcome:
    """Return the outcome for a pair without a statement: the file is missing, or not signed."""
    error: VacrError
    if not Path(pair.name).exists():
        error = UnreadableInput("there is no such file", where=pair.name)
    else:
        hint = f"To sign: vacr sign {pair.name} --key KEY"
        error = InvalidStatement(
            f"not signed: there is no {Path(pair.name).name}{STATEMENT_SUFFIX}",
            reason="not-signed",
            where=pair.name,
            hint=hint,
        )
    return RegistrationOutcome(pair.name, STATE_FAILED, error=error)


@dataclass
class OutboxRun:
    """The items of the outbox that a run registers, of one service or of all."""

    items: list[OutboxItem]
    unreadable: list[UnreadableInput]
    others: int
    """How many items are for other services."""

    @classmethod
    def load(cls, services: ServiceSettings, service: str | None) -> OutboxRun:
        """Read the outbox, and select the items for `service`, or for all services if it is None.

        Raises:
            UsageError: one token would go to several services.
        """
        run = cls([], [], 0)
        for item in services.outbox.items():
            if isinstance(item, UnreadableInput):
                run.unreadable.append(item)
            elif service is None or item.service.rstrip("/") == service.rstrip("/"):
                run.items.append(item)
            else:
                run.others += 1
        if services.access.token is not None and len({item.service for item in run.items}) > 1:
            raise UsageError(
                "the outbox has items for several services, but a token works for only one",
                hint="Add --service URL to choose one.",
            )
        return run

    def register(
        self, services: ServiceSettings, *, again: bool
    ) -> Iterator[tuple[OutboxItem, RegistrationOutcome]]:
        """Register each item, and yield it with its outcome; errors do not raise.

        Items that fail stay in the outbox. If `again` is true, register even a statement that
        already has a receipt.
        """
        registrars: dict[str, Registrar] = {}
        for item in self.items:
            try:
                if item.service not in registrars:
                    registrars[item.service] = services.registrar(item.service, again=again)
                yield item, registrars[item.service].finish(item)
            except VacrError as error:
                yield item, RegistrationOutcome(item.statement, STATE_FAILED, error=error)


def build_registration_document(
    outcome: RegistrationOutcome, url: str, target: str | None = None
) -> dict[str, Any]:
    """Return the outcome of a registration for JSON output.

    `url` is the service, and `target` the written file, if it is not the statement itself.
    """
    document: dict[str, Any] = {
        "statement": target or outcome.statement,
        "service": url,
        "state": outcome.state,
        "exit": get_outcome_exit_code(outcome),
    }
    if outcome.logged is not None:
        document |= {
            "receipt": build_receipt_document(outcome.logged),
            "as-the-service-says": outcome.has_unpinned_key,
        }
    if outcome.witnesses is not None:
        document["witnesses"] = build_witnesses_document(outcome.witnesses)
    if outcome.error is not None:
        document |= {
            "error": str(outcome.error),
            "hint": _choose_hint(outcome, outcome.error),
        }
    return document


def _choose_hint(outcome: RegistrationOutcome, error: VacrError) -> str:
    """Return the hint for a failed registration; empty if its error has none.

    If the statement waits in the outbox, the hint ends with how to register it later.
    """
    if outcome.state == STATE_UNWITNESSED and not error.hint:
        return UNWITNESSED_HINT
    if outcome.state != STATE_PENDING:
        return error.hint
    return PENDING_HINT if error.hint in ("", RETRY_LATER_HINT) else f"{error.hint} {PENDING_HINT}"


def get_outcome_exit_code(outcome: RegistrationOutcome) -> int:
    """Return the exit code for a statement: 0, or its error's if something is left to do."""
    if outcome.state not in (STATE_FAILED, STATE_PENDING, STATE_UNWITNESSED):
        return 0
    return outcome.error.exit_code if outcome.error is not None else VacrError.exit_code


def combine_exit_codes(exit_codes: Sequence[int]) -> int:
    """Return the exit code for all statements: 1 if one was refused, or else the highest.

    Without statements, it is 0.
    """
    return EXIT_REFUSED if EXIT_REFUSED in exit_codes else max(exit_codes, default=0)
