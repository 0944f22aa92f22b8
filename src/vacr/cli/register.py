"""`vacr register`: statements → transparent statements, which contain the receipt of a log.

    >>> from vacr.cli import run_command_line
    >>> run_command_line(["register", "--pending"])
    0 items in the outbox: 0 registered, 0 left
    0

Statements whose service cannot be reached wait in the outbox; `--pending` registers them later.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from vacr.cli.options import (
    PATH,
    Verb,
    load_service_settings,
    output_options,
    service_options,
    voice_options,
)
from vacr.console import Voice, show_progress, write_bytes
from vacr.errors import UnreadableInput, UsageError
from vacr.files import STDIN
from vacr.registration import (
    STATE_FAILED,
    STATE_UNCHANGED,
    OutboxItem,
    RegistrationOutcome,
)
from vacr.workflows import (
    OutboxRun,
    RegistrationTarget,
    ServiceSettings,
    build_registration_document,
    check_single_output,
    combine_exit_codes,
    find_statement_pairs,
    format_count,
    register_pair,
)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@click.option("--service", metavar="URL", help="Address of the transparency log.")
@click.option("--pending", is_flag=True, help="Register the statements in the outbox.")
@click.option(
    "--again", is_flag=True, help="Register even if the statement already has a receipt of the log."
)
@service_options
@partial(output_options, default="the statement itself")
@voice_options
def command(
    files: tuple[str, ...],
    service: str | None,
    pending: bool,
    again: bool,
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

    \b
    Example:
      vacr register abc.acr.json.cose --service https://log.example.org \\
        --log-key receipt-keys.pem
      vacr register records/ --service https://log.example.org
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
        if files or output is not None:
            raise UsageError("--pending takes neither files nor -o", hint="Omit the files and -o.")
        return _register_pending(services, service, voice, again=again)
    if not files:
        raise UsageError("nothing to register", hint="Name statements, or add --pending.")
    if service is None:
        raise UsageError(
            "register needs the address of a log", hint="Add --service https://log.example.org"
        )
    check_single_output(files, output)
    emit = (lambda data: write_bytes([data])) if output == STDIN else None
    target = RegistrationTarget(output, files, overwrite, emit)
    # The outbox remembers only statements in their own files.
    settings: dict[str, Any] = {"outbox": None} if output is not None else {}
    registrar = services.registrar(service, again=again, **settings)
    pairs = [pair for path in files for pair in find_statement_pairs(path)]
    documents = []
    with show_progress(lambda: len(pairs), voice, "registering") as advance:
        for pair in pairs:
            outcome, path = register_pair(registrar, pair, target)
            url = registrar.client.url if pair.statement is not None else service
            document = build_registration_document(outcome, url, path)
            report_registration(outcome, document, voice)
            documents.append(document)
            advance()
    if not pairs:
        voice.error(
            f"no statements found in {', '.join(files)}",
            "Statements end in .cose. To create one: vacr sign FILE --key KEY",
        )
    exit_codes = [document["exit"] for document in documents]
    voice.data({"statements": documents, "left": sum(code != 0 for code in exit_codes)})
    return combine_exit_codes(exit_codes or [1])


def report_registration(
    outcome: RegistrationOutcome, document: dict[str, Any], voice: Voice
) -> None:
    """Print a line about a registration, or its error; `document` is its JSON output."""
    name = document["statement"]
    if outcome.logged is not None:
        state = "already has a receipt" if outcome.state == STATE_UNCHANGED else "registered"
        whose = "; log key not pinned, add --log-key" if outcome.has_unpinned_key else ""
        voice.result(f"{name}: {state}, {outcome.logged}{whose}")
    if outcome.error is not None:
        where = "" if name in str(outcome.error) else f"{name}: "
        voice.error(f"vacr: {where}not registered: {outcome.error}", document["hint"])


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
