"""`vacr log witness`: cosign the checkpoints of logs, each of which has to continue the one before."""

from __future__ import annotations

from pathlib import Path

import click

from vacr.cli import options
from vacr.cli.options import PATH, Voice
from vacr.errors import UsageError
from vacr.log.serving import Stop, Tls, serve
from vacr.log.witness import Witness, application
from vacr.log.witness_folder import open_folder
from vacr.receipts.notes import read_key


@click.command(no_args_is_help=True)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option("--log", metavar="VKEY", multiple=True, required=True, help="The key of a log; may be given again.")
@click.option("--name", metavar="NAME", help="What to call the witness, when it is made.  [default: made from its key]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Which port to listen at.  [default: any that is free]")
@click.option("--tls-certificate", metavar="FILE", type=PATH, help="The certificate to serve HTTPS with, in PEM.")
@click.option("--tls-key", metavar="FILE", type=PATH, help="Its key.")
@click.option("--tls-client-ca", metavar="FILE", type=PATH, help="Whose certificate a caller has to have.")
@options.voice_options
def command(
    folder: str,
    log: tuple[str, ...],
    name: str | None,
    host: str,
    port: int,
    tls_certificate: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Cosign the checkpoints of logs that only grew; FOLDER keeps the key of the witness and what it has seen.

    A log that shows different people different trees does not get both cosigned. A log that changed its key has several.

    \b
    Example:
      vacr log witness mywitness/ --log example.org/log+0123abcd+AQ… --port 8090
    """
    voice = Voice(format, quiet, verbose)
    trusted = [read_key(one) for one in log]
    tls = None
    if tls_certificate is not None and tls_key is not None:
        tls = Tls(tls_certificate, tls_key, tls_client_ca)
    elif tls_certificate or tls_key or tls_client_ca:
        raise UsageError("HTTPS needs both --tls-certificate and --tls-key")
    opened = open_folder(Path(folder), name)
    try:
        stop = Stop()

        def told(url: str) -> None:
            voice.result(f"key: {opened.public}")
            voice.result(f"url: {url}")
            voice.data({"key": str(opened.public), "url": url, "logs": sorted({one.name for one in trusted})})

        serve(application(Witness(opened, trusted), stop), host, port, told=told, tls=tls, stop=stop)
    finally:
        opened.store.close()
    return 0
