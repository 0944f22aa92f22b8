"""`vacr log witness`: cosign the checkpoints of logs, each of which has to continue the one
before.
"""

from __future__ import annotations

from pathlib import Path

import click

from vacr.cli.log.listening import build_tls_settings, listening_options
from vacr.cli.options import PATH, Voice, voice_options
from vacr.log import (
    ServiceStop,
    Witness,
    create_witness_application,
    open_witness_folder,
    serve_application,
)
from vacr.transparency import parse_verifier_key


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
@voice_options
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
    trusted = [parse_verifier_key(one) for one in log]
    tls = build_tls_settings(tls_cert, tls_key, client_ca)
    opened = open_witness_folder(Path(folder), name)
    try:
        stop = ServiceStop()

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

        serve_application(
            create_witness_application(Witness(opened, trusted), stop),
            host,
            port,
            told=told,
            tls=tls,
            stop=stop,
        )
    finally:
        opened.store.close()
    return 0
