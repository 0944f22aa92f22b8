"""`vacr log witness`: cosign the checkpoints of logs, each of which has to continue the one
before.
"""

from __future__ import annotations

from pathlib import Path

import click

from vacr.cli import options
from vacr.cli.log.listening import listening_options, tls_of
from vacr.cli.options import PATH, Voice
from vacr.log.serving import Stop, serve
from vacr.log.witness import Witness, application
from vacr.log.witness_folder import open_folder
from vacr.receipts.notes import read_key


@click.command(no_args_is_help=True)
@click.argument("folder", metavar="FOLDER", type=PATH)
@click.option(
    "--log",
    metavar="VKEY",
    multiple=True,
    required=True,
    help="The key of a log; may be given again.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="What to call the witness, when it is made.  [default: made from its key]",
)
@listening_options(0)
@options.voice_options
def command(
    folder: str,
    log: tuple[str, ...],
    name: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    client_ca: str | None,
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001 - click passes flags so
    verbose: int,
) -> int:
    """Cosign the checkpoints of logs that only grew; FOLDER keeps the key of the witness and what
    it has seen.

    A log that shows different people different trees does not get both cosigned. A log that changed
    its key has several.

    \b
    Example:
      vacr log witness mywitness/ --log example.org/log+0123abcd+AQ… --port 8090
    """
    voice = Voice(format, quiet, verbose)
    trusted = [read_key(one) for one in log]
    tls = tls_of(tls_cert, tls_key, client_ca)
    opened = open_folder(Path(folder), name)
    try:
        stop = Stop()

        def told(url: str) -> None:
            voice.result(f"key: {opened.public}")
            voice.result(f"url: {url}")
            voice.data(
                {
                    "key": str(opened.public),
                    "url": url,
                    "logs": sorted({one.name for one in trusted}),
                }
            )

        serve(
            application(Witness(opened, trusted), stop), host, port, told=told, tls=tls, stop=stop
        )
    finally:
        opened.store.close()
    return 0
