"""`vacr register`: statements → transparent statements, which contain the receipt of a log.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["register", "--pending"])
    0 items in the outbox: 0 registered, 0 left
    0

Statements whose service cannot be reached wait in the outbox; `--pending` registers them later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import click

from vacr.cli.options import (
    PATH,
    NumberRange,
    Verb,
    load_service_settings,
    load_stores,
    output_options,
    service_options,
    trust_store_option,
    voice_options,
)
from vacr.console import Voice, show_progress, write_bytes
from vacr.errors import UnreadableInput, UsageError
from vacr.files import STDIN
from vacr.registration import (
    STATE_FAILED,
    STATE_UNCHANGED,
    STATE_UNWITNESSED,
    OutboxItem,
    ProofCollector,
    Registrar,
    RegistrationOutcome,
)
from vacr.verification import TrustStore
from vacr.workflows import (
    OutboxRun,
    RegistrationTarget,
    ServiceSettings,
    StatementPair,
    build_registration_document,
    check_single_output,
    combine_exit_codes,
    find_statement_pairs,
    format_count,
    load_trust_stores,
    refresh_pair,
    register_pair,
)

_DEFAULT_WAIT_SECONDS = 60.0


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@click.option("--service", metavar="URL", help="Address of the transparency log.")
@click.option(
    "--pending",
    is_flag=True,
    help="Register the statements that wait in the outbox because a service was unreachable.",
)
@click.option(
    "--again", is_flag=True, help="Register even if the statement already has a receipt of the log."
)
@click.option(
    "--wait",
    metavar="[SECONDS]",
    type=NumberRange(0),
    is_flag=False,
    flag_value=_DEFAULT_WAIT_SECONDS,
    help="Wait until enough witnesses cosigned the entry, then add their proof. Without SECONDS: "
    f"{_DEFAULT_WAIT_SECONDS:.0f}.",
)
@click.option(
    "--refresh",
    is_flag=True,
    help="Add or renew the proof of witnesses for statements that are registered already.",
)
@trust_store_option(
    help="Trust store with the witnesses and the log, for --wait and --refresh; repeatable.  "
    "[default: your own store and the approved one of this project]"
)
@service_options
@partial(output_options, default="the statement itself")
@voice_options
def command(
    files: tuple[str, ...],
    service: str | None,
    pending: bool,
    again: bool,
    wait: float | None,
    refresh: bool,
    trust_store: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Register statements in a transparency log, and add the receipts to them.

    FILE is a statement, or a file with a statement FILE.cose. vacr verifies the receipt and adds it
    to the statement, which then proves that the log contains it. Registering again gives the same
    entry. If the service cannot be reached, the statement waits in the outbox.

    Witnesses cosign a little later. --wait and --refresh add their proof, by the witnesses and the
    log's note-key in the trust store.

    \b
    Example:
      vacr register abc.acr.json.cose --service https://log.example.org \\
        --log-key receipt-keys.pem
      vacr register records/ --service https://log.example.org --wait
      vacr register records/ --service https://log.example.org --refresh
      vacr register --pending
    """
    # Printed statements must not be mixed with anything else.
    voice = (
        Voice("text", quiet=True, verbose=verbose)
        if output == STDIN
        else Voice(format, quiet, verbose)
    )
    services = load_service_settings(**options)
    if pending:
        if files or output is not None or refresh or wait is not None:
            raise UsageError(
                "--pending takes no files, and neither -o, --wait nor --refresh",
                hint="Omit them. To add proofs afterwards: vacr register --refresh FILE",
            )
        return _register_pending(services, service, voice, again=again)
    if not files:
        raise UsageError("nothing to register", hint="Name statements, or add --pending.")
    if service is None:
        raise UsageError(
            "register needs the address of a log", hint="Add --service https://log.example.org"
        )
    check_single_output(files, output)
    if wait is not None and not refresh and output == STDIN:
        raise UsageError(
            "--wait cannot write the statement to standard output", hint="Name a file: -o FILE"
        )
    emit = (lambda data: write_bytes([data])) if output == STDIN else None
    target = RegistrationTarget(output, files, overwrite, emit)
    collector = None
    if refresh or wait is not None:
        stores = load_trust_stores(load_stores((), trust_store, voice))
        collector = services.collector(service, stores or TrustStore(), wait or 0)
    pairs = [pair for path in files for pair in find_statement_pairs(path)]
    run = _RegistrationRun(service, voice, target, collector)
    with closing(collector) if collector is not None else nullcontext():
        if refresh and collector is not None:
            run.refresh(pairs, collector)
        else:
            # The outbox remembers only statements in their own files.
            settings: dict[str, Any] = {"outbox": None} if output is not None else {}
            run.register(pairs, services.registrar(service, again=again, **settings))
    documents = run.documents
    if not pairs:
        voice.error(
            f"no statements found in {', '.join(files)}",
            "Statements end in .cose. To create one: vacr sign FILE --key KEY",
        )
    exit_codes = [document["exit"] for document in documents]
    voice.data({"statements": documents, "left": sum(code != 0 for code in exit_codes)})
    return combine_exit_codes(exit_codes or [1])


@dataclass
class _RegistrationRun:
    """The statements of a run, and their results."""

    service: str
    voice: Voice
    target: RegistrationTarget
    collector: ProofCollector | None
    documents: list[dict[str, Any]] = field(default_factory=list)
    """The results for JSON output."""

    def register(self, pairs: Sequence[StatementPair], registrar: Registrar) -> None:
        """Register statements; with a collector, then wait for the witnesses of all of them."""
        outcomes = []
        with show_progress(lambda: len(pairs), self.voice, "registering") as advance:
            for pair in pairs:
                outcome, path = register_pair(registrar, pair, self.target)
                document = build_registration_document(outcome, self.service, path)
                report_registration(outcome, document, self.voice)
                outcomes.append((outcome, path))
                advance()
        for outcome, path in outcomes:
            complete = outcome
            if self.collector is not None and outcome.logged is not None:
                complete = self._wait_for_witnesses(outcome, path, self.collector)
            self.documents.append(build_registration_document(complete, self.service, path))

    def _wait_for_witnesses(
        self, outcome: RegistrationOutcome, path: str, collector: ProofCollector
    ) -> RegistrationOutcome:
        """Add the proof of witnesses to a registered statement, and return the outcome of both."""
        witnessed = collector.refresh_file(path)
        document = build_registration_document(witnessed, self.service, path)
        report_registration(witnessed, document, self.voice)
        if witnessed.error is None:
            return replace(outcome, witnesses=witnessed.witnesses)
        return replace(outcome, state=witnessed.state, error=witnessed.error)

    def refresh(self, pairs: Sequence[StatementPair], collector: ProofCollector) -> None:
        """Add or renew the proofs of witnesses of statements."""
        with show_progress(lambda: len(pairs), self.voice, "refreshing") as advance:
            for pair in pairs:
                outcome, path = refresh_pair(collector, pair, self.target)
                document = build_registration_document(outcome, self.service, path)
                report_registration(outcome, document, self.voice)
                self.documents.append(document)
                advance()


def report_registration(
    outcome: RegistrationOutcome,
    document: dict[str, Any],
    voice: Voice,
    reasons: set[str] | None = None,
) -> None:
    """Print a line about a registration, or its error; `document` is its JSON output.

    `reasons` are the errors that were printed before; of the same error, only the first is printed
    in full.
    """
    name = document["statement"]
    if outcome.logged is not None:
        state = "already has a receipt" if outcome.state == STATE_UNCHANGED else "registered"
        whose = "; log key not pinned, add --log-key" if outcome.has_unpinned_key else ""
        # The name that a log gives itself proves nothing: it is for those who ask for details.
        log = outcome.logged if voice.verbose else replace(outcome.logged, issuer=None)
        # The receipt does not sign the position.
        position = f"; the log calls it {log.position}" if log.position else ""
        voice.prose(f"{name}: {state}, {log}{position}{whose}")
    if outcome.witnesses is not None:
        voice.result(f"{name}: witnesses: {outcome.witnesses}")
    if outcome.error is not None:
        where = "" if name in str(outcome.error) else f"{name}: "
        result = "not witnessed yet" if outcome.state == STATE_UNWITNESSED else "not registered"
        reason = f"{outcome.error}{document['hint']}"
        if reasons is not None and reason in reasons:
            voice.error(f"vacr: {name}: {result}, for the same reason")
            return
        voice.error(f"vacr: {where}{result}: {outcome.error}", document["hint"])
        if reasons is not None:
            reasons.add(reason)


def _register_pending(
    services: ServiceSettings, service: str | None, voice: Voice, *, again: bool
) -> int:
    """Register the statements in the outbox, print the totals, and return the exit code.

    With a `service`, only the statements for that service. With `again`, also statements that
    already have a receipt of the log.
    """
    run = OutboxRun.load(services, service)
    exit_codes = []
    for error in run.unreadable:
        voice.error(f"vacr: {error}", error.hint)
        exit_codes.append(error.exit_code)
    documents = []
    with show_progress(lambda: len(run.items), voice, "registering") as advance:
        for item, outcome in run.register(services, again=again):
            document = build_registration_document(outcome, item.service)
            report_registration(outcome, document, voice)
            _explain_item_removal(outcome, item, services, voice)
            documents.append(document | {"since": item.since})
            advance()
    failed = sum(document["exit"] != 0 for document in documents)
    exit_codes += [document["exit"] for document in documents]
    left = sum(code != 0 for code in exit_codes)
    whose = f" for {service}" if service is not None else ""
    more = f"; {format_count(run.others, 'item')} for other services" if run.others else ""
    voice.result(
        f"{format_count(len(run.items), 'item')} in the outbox{whose}: "
        f"{len(run.items) - failed} registered, {left} left{more}"
    )
    if left:
        voice.notice(
            f"  Items stay in {services.outbox.folder} until they are registered; delete the ones "
            "you no longer need."
        )
    voice.data({"statements": documents, "left": left})
    return combine_exit_codes(exit_codes)


def _explain_item_removal(
    outcome: RegistrationOutcome, item: OutboxItem, services: ServiceSettings, voice: Voice
) -> None:
    """If a statement in the outbox is unreadable, print how to remove it from there."""
    if outcome.state == STATE_FAILED and isinstance(outcome.error, UnreadableInput):
        voice.notice(
            "  It stays in the outbox. If you no longer need it, delete "
            f"{services.outbox.path(item)}"
        )
