"""`vacr register`: statements → transparent statements, with the receipt of a log in them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from vacr.cli.options import PATH, Voice, format_count, output_options, show_progress, voice_options
from vacr.cli.outputs import check_single_output, write_output_file
from vacr.cli.services import (
    ServiceSettings,
    choose_statement_target,
    combine_exit_codes,
    report_registration,
    service_options,
)
from vacr.cli.streams import write_bytes
from vacr.errors import InvalidStatement, UnreadableInput, UsageError, VacrError
from vacr.files import STDIN
from vacr.registration import STATE_FAILED, OutboxItem, Registrar, RegistrationOutcome
from vacr.workflows import find_statement_pairs


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER]...", type=PATH)
@click.option("--service", metavar="URL", help="The address of the service.")
@click.option("--pending", is_flag=True, help="Register what is in the outbox.")
@click.option("--again", is_flag=True, help="Register also what has a receipt of the log already.")
@service_options
@partial(output_options, default="the statement itself")
@voice_options
def command(
    files: tuple[str, ...],
    service: str | None,
    pending: bool,  # noqa: FBT001 - click passes flags so
    again: bool,  # noqa: FBT001
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
    **reached: Any,
) -> int:
    """Register statements in a transparency service: FILE is a statement, or lies beside its
    statement, FILE.cose.

    The receipt is verified and put into the statement, which proves from then on that the log has
    it. Registering again gives the same entry. When the service cannot be reached, the statement is
    remembered in the outbox.

    \b
    Example:
      vacr register abc.acr.json.cose --service https://log.example.org --log-key receipt-keys.pem
      vacr register records/ --service https://log.example.org
      vacr register --pending
    """
    # Where the statements themselves are the output, nothing else may stand between them.
    voice = Voice("text", True, verbose) if output == STDIN else Voice(format, quiet, verbose)  # noqa: FBT003
    services = ServiceSettings.of(**reached)
    if pending:
        if files or output is not None:
            raise UsageError(
                "--pending is for what is in the outbox", hint="Leave files and -o out."
            )
        return _register_pending(services, service, voice, again=again)
    if not files:
        raise UsageError("nothing to register", hint="Name statements, or give --pending.")
    if service is None:
        raise UsageError("no service", hint="Name one: --service https://log.example.org")
    check_single_output(files, output)
    # What goes elsewhere leaves the statement as it is, and later there would be nobody to write
    # it.
    settings: dict[str, Any] = {"outbox": None} if output is not None else {}
    registrar = services.registrar(service, again=again, **settings)
    found = [pair for path in files for pair in find_statement_pairs(path)]
    done = []
    with show_progress(lambda: len(found), voice, "registering") as step:
        for pair in found:
            if pair.statement is None:
                outcome = RegistrationOutcome(
                    pair.name, STATE_FAILED, error=_make_unsigned_error(pair.name)
                )
                done.append(report_registration(outcome, service, voice))
            else:
                done.append(
                    _register_statement(
                        registrar, pair.statement, output, files, voice, overwrite=overwrite
                    )
                )
            step()
    if not found:
        voice.error(
            f"nothing to register in {', '.join(files)}",
            "The names of statements end in .cose; vacr sign makes them.",
        )
    voice.data({"statements": done, "left": sum(one["exit"] != 0 for one in done)})
    return combine_exit_codes([one["exit"] for one in done] or [1])


def _register_statement(
    registrar: Registrar,
    statement: str,
    output: str | None,
    files: tuple[str, ...],
    voice: Voice,
    *,
    overwrite: bool,
) -> dict[str, Any]:
    """Register one statement, and write it where it goes."""
    target = choose_statement_target(output, statement)

    def elsewhere(data: bytes) -> None:
        if output == STDIN:
            write_bytes([data])
        elif target is not None:
            write_output_file(target, data, statement, (*files, statement), overwrite=overwrite)

    outcome = registrar.register(statement, elsewhere if output is not None else None)
    return report_registration(
        outcome,
        registrar.client.url,
        voice,
        str(target) if target is not None and not outcome.error else None,
    )


def _make_unsigned_error(name: str) -> InvalidStatement | UnreadableInput:
    if not Path(name).exists():
        return UnreadableInput("there is no such file", where=name)
    hint = f"vacr sign {name} --key KEY makes a statement."
    return InvalidStatement(
        "not signed: there is no statement beside it", reason="not-signed", where=name, hint=hint
    )


def _register_pending(
    services: ServiceSettings, service: str | None, voice: Voice, *, again: bool
) -> int:
    """Register what is in the outbox, of one service or of all; what fails stays there."""
    items, exits, others = [], [], 0
    for one in services.outbox.items():
        if isinstance(one, UnreadableInput):
            voice.error(f"vacr: {one}", one.hint)
            exits.append(one.exit_code)
        elif service is None or one.service.rstrip("/") == service.rstrip("/"):
            items.append(one)
        else:
            others += 1
    urls = {item.service for item in items}
    if services.access.token is not None and len(urls) > 1:
        raise UsageError(
            "there is more than one service in the outbox, and a token is for one",
            hint="Name it with --service.",
        )
    registrars: dict[str, Registrar] = {}
    done = []
    with show_progress(lambda: len(items), voice, "registering") as step:
        for item in items:
            try:
                if item.service not in registrars:
                    registrars[item.service] = services.registrar(item.service, again=again)
                outcome = registrars[item.service].finish(item)
            except VacrError as error:
                outcome = RegistrationOutcome(item.statement, STATE_FAILED, error=error)
            done.append(report_registration(outcome, item.service, voice) | {"since": item.since})
            _explain_item_removal(outcome, item, services, voice)
            step()
    exits += [one["exit"] for one in done]
    left = sum(code != 0 for code in exits)
    finished = len(items) - sum(one["exit"] != 0 for one in done)
    whose = f" for {service}" if service is not None else ""
    more = f"; {format_count(others, 'item')} for other services" if others else ""
    voice.result(
        f"{format_count(len(items), 'item')} in the outbox{whose}: {finished} done, {left} left{more}"
    )
    if left:
        voice.notice(
            f"  The outbox is {services.outbox.folder}; an item that is of no use any more can "
            "be removed there."
        )
    voice.data({"statements": done, "left": left})
    return combine_exit_codes(exits)


def _explain_item_removal(
    outcome: RegistrationOutcome, item: OutboxItem, services: ServiceSettings, voice: Voice
) -> None:
    """Say how to be rid of an item that will never be done."""
    if outcome.state == STATE_FAILED and isinstance(outcome.error, UnreadableInput):
        voice.notice(
            "  It stays in the outbox; if it is of no use any more, remove "
            f"{services.outbox.path(item)}"
        )
