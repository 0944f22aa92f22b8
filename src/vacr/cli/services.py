"""Transparency services as a user names them, and how verbs speak of what came of registering."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from vacr.cli.options import PATH, NumberRange, Voice, log_key_option
from vacr.cli.verdicts import build_receipt_document
from vacr.errors import UsageError, VacrError
from vacr.registration import (
    RETRY_LATER_HINT,
    STATE_FAILED,
    STATE_PENDING,
    STATE_UNCHANGED,
    Outbox,
    Registrar,
    RegistrationClient,
    RegistrationOutcome,
    RetryBudget,
    ServiceAccess,
    find_outbox_folder,
)
from vacr.signing import read_log_keys, read_passphrase
from vacr.transparency import ENTRY_RULE_STATEMENT, ENTRY_RULES

EXIT_REFUSED = 1
PENDING_HINT = "It is in the outbox. When the service can be reached: vacr register --pending"

ServiceCommand = TypeVar("ServiceCommand", bound=Callable[..., Any])


def certificate_options(function: ServiceCommand) -> ServiceCommand:
    """Add to a verb the certificates of both sides."""
    for option in (
        click.option(
            "--client-key",
            metavar="FILE",
            type=PATH,
            help="The key of that certificate, where it is in another file.",
        ),
        click.option(
            "--client-cert",
            metavar="FILE",
            type=PATH,
            help="A certificate that shows who you are, in PEM.",
        ),
        click.option(
            "--ca",
            metavar="FILE",
            type=PATH,
            help="The authorities that certify the service.  [default: the system's]",
        ),
    ):
        function = option(function)
    return function


def service_options(function: ServiceCommand) -> ServiceCommand:
    """Add to a verb what it takes to reach a service."""
    for option in (
        click.option(
            "--patience",
            type=NumberRange(0),
            default=60,
            metavar="SECONDS",
            show_default=True,
            help="How long to wait for the service.",
        ),
        certificate_options,
        click.option(
            "--token-file",
            metavar="FILE",
            type=PATH,
            help="Where the token is that shows who you are.",
        ),
        click.option(
            "--entry-rule",
            type=click.Choice(ENTRY_RULES),
            default=ENTRY_RULE_STATEMENT,
            show_default=True,
            help="What of a statement is in the log.",
        ),
        log_key_option(
            help=(
                "A key of the log, or its folder; may be given again.  [default: what the "
                "service says]"
            )
        ),
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class ServiceSettings:
    """How services are reached, the same for all of a run."""

    access: ServiceAccess
    patience: RetryBudget
    log_keys: tuple[Any, ...]
    entry_rule: str
    outbox: Outbox

    @classmethod
    def of(
        cls,
        *,
        token_file: str | None,
        ca: str | None,
        client_cert: str | None,
        client_key: str | None,
        log_key: Sequence[str],
        entry_rule: str,
        patience: float,
    ) -> ServiceSettings:
        """Take the options of a verb, and read the files they name; the token may also be in the
        environment.
        """
        verb = click.get_current_context().info_name or ""
        token = os.environ.get(f"VACR_{verb.upper()}_TOKEN") or None
        if token_file is not None:
            token = read_passphrase(token_file).decode("utf-8", "replace").strip()
            if not token:
                raise UsageError(
                    f"the first line of {token_file} is empty", hint="It holds the token."
                )
        access = ServiceAccess(token, ca, client_cert, client_key)
        keys = tuple(key for name in log_key for key in read_log_keys(name))
        return cls(
            access, RetryBudget(patience), keys, entry_rule, Outbox(find_outbox_folder(os.environ))
        )

    def registrar(self, url: str, **settings: Any) -> Registrar:
        """Give what registers in a service."""
        client = RegistrationClient(url, self.access, replace(self.patience))
        return Registrar(
            client, self.log_keys, self.entry_rule, **{"outbox": self.outbox, **settings}
        )


def report_registration(
    outcome: RegistrationOutcome, url: str, voice: Voice, target: str | None = None
) -> dict[str, Any]:
    """Say what came of a statement; gives it for programs."""
    name = target or outcome.statement
    told: dict[str, Any] = {
        "statement": name,
        "service": url,
        "state": outcome.state,
        "exit": get_outcome_exit_code(outcome),
    }
    if outcome.logged is not None:
        state = "has a receipt already" if outcome.state == STATE_UNCHANGED else "registered"
        whose = ", by a key as the service says" if outcome.as_the_service_says else ""
        voice.result(f"{name}: {state}, {outcome.logged}{whose}")
        told |= {
            "receipt": build_receipt_document(outcome.logged),
            "as-the-service-says": outcome.as_the_service_says,
        }
    if outcome.error is not None:
        hint = _choose_hint(outcome, outcome.error)
        where = "" if name in str(outcome.error) else f"{name}: "
        voice.error(f"vacr: {where}not registered: {outcome.error}", hint)
        told |= {"error": str(outcome.error), "hint": hint}
    return told


def _choose_hint(outcome: RegistrationOutcome, error: VacrError) -> str:
    """Say what to do: what is in the outbox can wait, but may need more than that."""
    if outcome.state != STATE_PENDING:
        return error.hint
    return PENDING_HINT if error.hint in ("", RETRY_LATER_HINT) else f"{error.hint} {PENDING_HINT}"


def get_outcome_exit_code(outcome: RegistrationOutcome) -> int:
    """Give the exit code of one statement."""
    if outcome.state not in (STATE_FAILED, STATE_PENDING):
        return 0
    return outcome.error.exit_code if outcome.error is not None else VacrError.exit_code


def combine_exit_codes(exits: Sequence[int]) -> int:
    """Give the exit code of all: that something was refused is worth more than that something
    cannot be reached.
    """
    return EXIT_REFUSED if EXIT_REFUSED in exits else max(exits, default=0)


def choose_statement_target(output: str | None, statement: str) -> Path | None:
    """Give the file that a transparent statement goes to; nothing where it stays."""
    from vacr.cli.outputs import is_output_folder

    if output is None:
        return None
    return Path(output) / Path(statement).name if is_output_folder(output) else Path(output)
