"""The options of verbs that listen for callers: where, and with which certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vacr.cli.options import PATH
from vacr.errors import UsageError
from vacr.log import TlsFiles

F = TypeVar("F", bound=Callable[..., Any])


def listening_options(port: int) -> Callable[[F], F]:
    """Add `--host`, `--port`, `--tls-cert`, `--tls-key` and `--client-ca` to a verb."""

    def add(function: F) -> F:
        for option in (
            click.option(
                "--client-ca",
                metavar="FILE",
                type=PATH,
                help="Callers need a certificate of this authority (mTLS).",
            ),
            click.option(
                "--tls-key", metavar="FILE", type=PATH, help="The key of that certificate, in PEM."
            ),
            click.option(
                "--tls-cert",
                metavar="FILE",
                type=PATH,
                help="The certificate to serve HTTPS with, in PEM.",
            ),
            click.option(
                "--port",
                metavar="N",
                type=click.IntRange(0, 65535),
                default=port,
                show_default=True,
                help="The port to listen at; 0 takes any that is free.",
            ),
            click.option(
                "--host",
                metavar="ADDRESS",
                default="127.0.0.1",
                show_default=True,
                help="The address to listen at.",
            ),
        ):
            function = option(function)
        return function

    return add


def build_tls_settings(
    certificate: str | None, key: str | None, authority: str | None
) -> TlsFiles | None:
    """Give what HTTPS needs, if it is asked for.

    Raises:
        UsageError: a part of it is missing.
    """
    if certificate is None and key is None and authority is None:
        return None
    if certificate is None or key is None:
        raise UsageError(
            "HTTPS needs a certificate and its key", hint="Give --tls-cert and --tls-key."
        )
    return TlsFiles(certificate, key, authority)
