"""The verbs `vacr log serve` and `vacr log witness`: the HTTP services of a log.

A service that other machines can reach needs tokens or client certificates, unless `--anyone` is
set:

    >>> from vacr.cli.log.serve import _is_loopback
    >>> _is_loopback("127.0.0.1"), _is_loopback("0.0.0.0")
    (True, False)
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from vacr.cli.log.folder import build_log_document, log_options, open_log, print_log_summary
from vacr.cli.options import PATH, F, NumberRange, Verb, trust_store_option, voice_options
from vacr.console import Voice
from vacr.errors import UnreadableInput, UsageError
from vacr.log import (
    MAX_WAITING_ENTRIES,
    Ledger,
    LogFolder,
    ServiceStop,
    TlsFiles,
    Witness,
    create_witness_application,
    open_witness_folder,
    serve_application,
)
from vacr.signing import check_secret_permissions, read_trust_file
from vacr.transparency import MAX_ENTRY_SIZE, parse_verifier_key

_DEFAULT_LINGER_MS = 2.0
_CLEARTEXT_WARNING = (
    "vacr: tokens would reach this address unencrypted, and vacr register sends them over https "
    "only. Add --tls-cert and --tls-key, or put a proxy with TLS in front."
)


def _listening_options(port: int) -> Callable[[F], F]:
    """Return a decorator that adds `--host`, `--port` and the TLS options to a verb.

    `port` is the default of `--port`.
    """

    def add(function: F) -> F:
        """Add the options to a verb."""
        for option in (
            click.option(
                "--client-ca",
                metavar="FILE",
                type=PATH,
                help="Require client certificates of this authority (mTLS).",
            ),
            click.option(
                "--tls-key",
                metavar="FILE",
                type=PATH,
                help="Key of the server certificate, in PEM.",
            ),
            click.option(
                "--tls-cert",
                metavar="FILE",
                type=PATH,
                help="Server certificate for HTTPS, in PEM.",
            ),
            click.option(
                "--port",
                metavar="N",
                type=click.IntRange(0, 65535),
                default=port,
                show_default=True,
                help="Port to listen at; 0 for any free port.",
            ),
            click.option(
                "--host",
                metavar="ADDRESS",
                default="127.0.0.1",
                show_default=True,
                help="Address to listen at.",
            ),
        ):
            function = option(function)
        return function

    return add


@click.command("serve", cls=Verb)
@log_options
@_listening_options(8080)
@click.option(
    "--async",
    is_flag=True,
    help="Answer each statement at once, with 303 and the address of its later receipt.",
)
@click.option(
    "--trust",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Public key, or root certificate of signers, that may register; repeatable.  [default: "
    "every key]",
)
@trust_store_option(help="Trust store whose signers may register; repeatable.")
@click.option(
    "--issuer",
    metavar="URI",
    multiple=True,
    help="Issuer whose statements may be registered, if the trust store or the certificate binds "
    "it to the signer; repeatable.  [default: all]",
)
@click.option(
    "--alg",
    metavar="NAME",
    multiple=True,
    help="Allowed signature algorithm; repeatable.  [default: all known]",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=PATH,
    help="File with the access tokens that callers may register with, one per line.",
)
@click.option(
    "--anyone",
    is_flag=True,
    help="Allow other machines to register without a token or client certificate.",
)
@click.option(
    "--max-size",
    metavar="BYTES",
    type=click.IntRange(1, MAX_ENTRY_SIZE),
    default=MAX_ENTRY_SIZE,
    show_default=True,
    help="Maximum size of an entry.",
)
@click.option(
    "--rate",
    metavar="N",
    type=NumberRange(min=0.1),
    default=10_000,
    show_default=True,
    help="Maximum number of statements per second from each caller.",
)
@click.option(
    "--proxy",
    metavar="ADDRESS",
    multiple=True,
    help="Address of a proxy whose X-Forwarded-For names the caller; repeatable.",
)
@click.option(
    "--queue",
    metavar="N",
    type=click.IntRange(1, 100_000),
    default=MAX_WAITING_ENTRIES,
    show_default=True,
    help="Maximum number of statements that wait to be added to the log. While it is reached, "
    "new ones are refused.",
)
@click.option(
    "--linger",
    metavar="MILLISECONDS",
    type=NumberRange(0, 1000),
    default=_DEFAULT_LINGER_MS,
    show_default=True,
    help="How long to gather statements that are added to the log together.",
)
@click.option(
    "--witness",
    metavar="URL VKEY",
    multiple=True,
    nargs=2,
    help="Address and key of a witness that cosigns checkpoints; repeatable.",
)
@voice_options
def serve_command(
    folder: str | None,
    database: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    client_ca: str | None,
    format: str,
    quiet: bool,
    verbose: int,
    **options: Any,
) -> int:
    """Serve a log over HTTP.

    The API is SCRAPI for statements and receipts, and C2SP for checkpoints and tiles. The signature
    of every statement is verified: with the keys of --trust and --trust-store, or else with the key
    in the statement.

    \b
    Example:
      vacr log serve mylog/ --port 8080
      vacr log serve mylog/ --host 0.0.0.0 --token-file tokens \\
        --tls-cert cert.pem --tls-key key.pem
      vacr log serve --database postgresql://vacr@db/log
    """
    voice = Voice(format, quiet, verbose)
    logging.basicConfig(
        format="vacr: %(message)s", level=logging.INFO if verbose else logging.WARNING
    )
    tls = _build_tls_settings(tls_cert, tls_key, client_ca)
    beyond = not _is_loopback(host)
    if beyond and options["token_file"] is None and client_ca is None and not options["anyone"]:
        hint = "Add --token-file or --client-ca, or allow it with --anyone."
        raise UsageError(f"everyone who can reach {host} could register", hint=hint)
    _check_proxy_addresses(options["proxy"])
    log = open_log(folder, database, create=True)
    # The log is opened before its address is printed.
    with closing(log.ledger()) as ledger:
        app = _build_service_app(log, ledger, options)
        document = build_log_document(log, ledger.storage)

        def report_start(url: str) -> None:
            """Print the address of the service, and warn if tokens would be sent unencrypted."""
            voice.result(f"serving {document['origin']} at {url}")
            print_log_summary(document, voice)
            voice.data({**document, "url": url})
            if beyond and tls is None and options["token_file"] is not None:
                voice.notice(_CLEARTEXT_WARNING)

        serve_application(app, host, port, on_start=report_start, tls=tls, proxies=options["proxy"])
    return 0


def _build_service_app(folder: LogFolder, ledger: Ledger, options: dict[str, Any]) -> Any:
    """Return the web application that serves a log, with the settings in the verb's options.

    Raises:
        UsageError: packages for serving are not installed.
    """
    try:
        from vacr.log import LogService
    except ImportError as error:
        raise UsageError(
            "packages for serving a log are missing", hint="pip install 'vacr[log]'"
        ) from error
    from vacr.log import (
        ForkGuard,
        Publisher,
        RateLimiter,
        ReaderPool,
        RegistrationEndpoint,
        RegistrationPolicy,
        ServiceMetrics,
        WitnessAddress,
    )
    from vacr.workflows import VerificationOptions, choose_trust_stores, load_verification_policy

    # Only stores that the command names: the operator's own trust says nothing about registering.
    stores = choose_trust_stores(options["trust_store"], has_bare_trust=True)
    policy = load_verification_policy(
        VerificationOptions(options["trust"], stores, algorithms=options["alg"])
    )
    tokens = _read_caller_tokens(options["token_file"]) if options["token_file"] else None
    admission = RegistrationPolicy(policy, frozenset(options["issuer"]), options["max_size"])
    guard = ForkGuard(folder.path)
    if guard.fork is not None:
        logging.getLogger("vacr.log").error("%s", guard.fork.diagnostics())
    registration = RegistrationEndpoint(
        admission,
        ServiceMetrics(),
        tokens,
        RateLimiter(options["rate"]),
        options["async"],
        guard=guard,
    )
    readers = ReaderPool(folder.reader)
    witnesses = [WitnessAddress(url, parse_verifier_key(key)) for url, key in options["witness"]]
    publisher = Publisher(
        readers,
        folder.keyring,
        folder.public,
        witnesses,
        guard=guard,
        witnessed=folder.witnessed,
    )
    return LogService(
        ledger, registration, publisher, readers, options["queue"], options["linger"] / 1000
    ).app()


def _read_caller_tokens(name: str) -> Any:
    """Return the access tokens in a file, one per line, as `AllowedTokens`.

    Raises:
        UsageError: other users can read the file.
        Unreachable: the file cannot be read.
        UnreadableInput: a token is invalid, or the file contains none.
    """
    from vacr.log import AllowedTokens

    check_secret_permissions(name)
    try:
        return AllowedTokens(read_trust_file(name).split(b"\n"))
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=name, hint=error.hint) from error


def _is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host: a loopback address, or `localhost`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_proxy_addresses(addresses: Sequence[str]) -> None:
    """Check that proxies are IP addresses or networks: callers could forge names.

    Raises:
        UsageError: an address is a name or a wildcard.
    """
    for address in addresses:
        try:
            ipaddress.ip_network(address)
        except ValueError as error:
            hint = (
                "Name the address that the proxy connects from, such as 127.0.0.1, or its network, "
                "such as 10.1.0.0/16."
            )
            raise UsageError(
                f"--proxy {address} is not an IP address or network", hint=hint
            ) from error


@click.command("witness", no_args_is_help=True, cls=Verb)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option(
    "--log",
    metavar="VKEY",
    multiple=True,
    required=True,
    help="Checkpoint key of a log to cosign; repeatable. If the log changed its key, name all "
    "keys, the oldest first.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Name of a new witness.  [default: from its key]",
)
@_listening_options(0)
@voice_options
def witness_command(
    folder: str,
    log: tuple[str, ...],
    name: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    client_ca: str | None,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Cosign the checkpoints of append-only logs.

    FOLDER keeps the key of the witness and the last checkpoint of each log. If a log shows
    different trees to different people, only one of them is cosigned. Repeat --log for a log that
    has changed its key.

    \b
    Example:
      vacr log witness mywitness/ --log example.org/log+0123abcd+AQ… --port 8090
    """
    voice = Voice(format, quiet, verbose)
    trusted = [parse_verifier_key(key) for key in log]
    tls = _build_tls_settings(tls_cert, tls_key, client_ca)
    opened = open_witness_folder(Path(folder), name)
    try:
        stop = ServiceStop()

        def report_start(url: str) -> None:
            """Print the address and the key of the witness."""
            voice.result(f"key: {opened.public}")
            voice.result(f"url: {url}")
            voice.data(
                {
                    "key": str(opened.public),
                    "url": url,
                    "logs": sorted({key.name for key in trusted}),
                }
            )

        serve_application(
            create_witness_application(Witness(opened, trusted), stop),
            host,
            port,
            on_start=report_start,
            tls=tls,
            stop=stop,
        )
    finally:
        opened.store.close()
    return 0


def _build_tls_settings(
    certificate: str | None, key: str | None, authority: str | None
) -> TlsFiles | None:
    """Return the files for HTTPS; `None` if none is named, to serve over HTTP.

    Raises:
        UsageError: files are named, but the certificate or its key is missing.
    """
    if certificate is None and key is None and authority is None:
        return None
    if certificate is None or key is None:
        raise UsageError(
            "HTTPS needs a certificate and its key", hint="Add both --tls-cert and --tls-key."
        )
    return TlsFiles(certificate, key, authority)
