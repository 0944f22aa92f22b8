"""`vacr log serve`: a log over HTTP."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from vacr.cli.log.about import build_log_document, print_log_summary
from vacr.cli.log.listening import build_tls_settings, listening_options
from vacr.cli.log.which import log_options, open_log
from vacr.cli.options import PATH, NumberRange, Voice, voice_options
from vacr.cli.verdicts import VerificationOptions, load_verification_policy
from vacr.errors import UnreadableInput, UsageError
from vacr.log import MAX_WAITING_ENTRIES, Ledger, LogFolder, serve_application
from vacr.signing import read_trust_file
from vacr.transparency import MAX_ENTRY_SIZE, parse_verifier_key

_DEFAULT_LINGER_MS = 2.0
_CLEARTEXT_WARNING = (
    "vacr: tokens travel in the clear to this address, and vacr register sends them over https "
    "only; "
    "give --tls-cert and --tls-key, or put a proxy with TLS in front"
)


@click.command()
@log_options
@listening_options(8080)
@click.option(
    "--async", is_flag=True, help="Answer every statement with 303 and the address of its receipt."
)
@click.option(
    "--trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="A key or authority that may register; may be given again.  [default: every key]",
)
@click.option(
    "--issuer",
    metavar="URI",
    multiple=True,
    help="An issuer that may register; may be given again.  [default: all]",
)
@click.option(
    "--alg",
    metavar="NAME",
    multiple=True,
    help="An algorithm that is allowed; may be given again.  [default: all known]",
)
@click.option(
    "--token-file", metavar="FILE", type=PATH, help="Tokens that callers need, one a line."
)
@click.option(
    "--anyone", is_flag=True, help="Let anybody who reaches it register, also beyond this machine."
)
@click.option(
    "--max-size",
    metavar="BYTES",
    type=click.IntRange(1, MAX_ENTRY_SIZE),
    default=MAX_ENTRY_SIZE,
    show_default=True,
    help="The largest entry.",
)
@click.option(
    "--rate",
    metavar="N",
    type=NumberRange(min=0.1),
    default=10_000,
    show_default=True,
    help="How many statements a second each caller may send.",
)
@click.option(
    "--proxy",
    metavar="ADDRESS",
    multiple=True,
    help="A proxy in front, whose X-Forwarded-For names the caller; may be given again.",
)
@click.option(
    "--queue",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=MAX_WAITING_ENTRIES,
    show_default=True,
    help="How many statements may wait.",
)
@click.option(
    "--linger",
    metavar="MILLISECONDS",
    type=NumberRange(0, 1000),
    default=_DEFAULT_LINGER_MS,
    show_default=True,
    help="How long to gather a batch.",
)
@click.option(
    "--witness",
    metavar="URL VKEY",
    multiple=True,
    nargs=2,
    help="A witness to cosign checkpoints; may be given again.",
)
@voice_options
def command(
    folder: str | None,
    database: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    client_ca: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
    **given: Any,
) -> int:
    """Serve a log over HTTP: SCRAPI for statements and receipts, C2SP for checkpoints and tiles.

    Every statement's signature is verified. Unless --trust names keys, that is by the key that the
    statement carries.

    \b
    Example:
      vacr log serve mylog/ --port 8080
      vacr log serve mylog/ --host 0.0.0.0 --token-file tokens --tls-cert cert.pem --tls-key key.pem
      vacr log serve --database postgresql://vacr@db/log
    """
    voice = Voice(format, quiet, verbose)
    logging.basicConfig(
        format="vacr: %(message)s", level=logging.INFO if verbose else logging.WARNING
    )
    tls = build_tls_settings(tls_cert, tls_key, client_ca)
    beyond = not _is_loopback(host)
    if beyond and given["token_file"] is None and client_ca is None and not given["anyone"]:
        hint = "Give --token-file or --client-ca, or ask for it by name: --anyone."
        raise UsageError(f"at {host} anybody could register", hint=hint)
    _check_proxy_addresses(given["proxy"])
    found = open_log(folder, database, create=True)
    # The log is open before anybody is told that it is served.
    with closing(found.ledger()) as ledger:
        app = _build_service_app(found, ledger, given)
        facts = build_log_document(found, ledger.storage)

        def told(url: str) -> None:
            voice.result(f"serving {facts['origin']} at {url}")
            print_log_summary(facts, voice)
            voice.data({**facts, "url": url})
            if beyond and tls is None and given["token_file"] is not None:
                voice.notice(_CLEARTEXT_WARNING)

        serve_application(app, host, port, told=told, tls=tls, proxies=given["proxy"])
    return 0


def _build_service_app(folder: LogFolder, ledger: Ledger, given: dict[str, Any]) -> Any:
    """Put the service together as it was asked for."""
    try:
        from vacr.log import LogService
    except ImportError as error:
        raise UsageError("serving needs the extra log", hint="pip install 'vacr[log]'") from error
    from vacr.log import (
        Publisher,
        RateLimiter,
        ReaderPool,
        RegistrationEndpoint,
        RegistrationPolicy,
        ServiceMetrics,
        WitnessAddress,
    )

    policy = load_verification_policy(VerificationOptions(given["trust"], algorithms=given["alg"]))
    tokens = _read_caller_tokens(given["token_file"]) if given["token_file"] else None
    admission = RegistrationPolicy(policy, frozenset(given["issuer"]), given["max_size"])
    registration = RegistrationEndpoint(
        admission, ServiceMetrics(), tokens, RateLimiter(given["rate"]), given["async"]
    )
    readers = ReaderPool(folder.reader)
    witnesses = [WitnessAddress(url, parse_verifier_key(key)) for url, key in given["witness"]]
    publisher = Publisher(readers, folder.keyring, folder.public, witnesses)
    return LogService(
        ledger, registration, publisher, readers, given["queue"], given["linger"] / 1000
    ).app()


def _read_caller_tokens(name: str) -> Any:
    from vacr.log import AllowedTokens

    try:
        return AllowedTokens(read_trust_file(name).split(b"\n"))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_proxy_addresses(named: Sequence[str]) -> None:
    """Refuse what is no address: a name, or everybody, would let callers say who they are.

    Raises:
        UsageError: one of them is none.
    """
    for one in named:
        try:
            ipaddress.ip_network(one)
        except ValueError as error:
            hint = (
                "Give the address that it calls from, such as 127.0.0.1, or its network, "
                "such as 10.1.0.0/16."
            )
            raise UsageError(f"{one} is not the address of a proxy", hint=hint) from error
