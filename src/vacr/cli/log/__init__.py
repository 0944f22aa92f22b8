"""`vacr log`: make a transparency log, serve it, and look after it."""

from __future__ import annotations

import click

from vacr.cli.verbs import LazyVerbGroup


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli.log",
    verbs={
        "init": "Make a log.",
        "serve": "Serve a log over HTTP.",
        "fsck": "Check that every stored byte still hashes to what the log has signed.",
        "prove": "Write the proof for an entry, or that the log only grew.",
        "verify": "Check such a proof.",
        "rotate": "Give a log new keys.",
        "monitor": "Watch a log: it must never fork nor shrink.",
        "witness": "Cosign the checkpoints of logs that only grew.",
    },
    modules={
        "init": "folder",
        "fsck": "folder",
        "rotate": "folder",
        "prove": "proofs",
        "verify": "proofs",
        "serve": "serve",
        "witness": "serve",
        "monitor": "monitor",
    },
    no_args_is_help=True,
)
def command() -> None:
    """Make a transparency log, serve it, and look after it.

    \b
    Example:
      vacr log init mylog/
      vacr log serve mylog/ --port 8080
      vacr log fsck mylog/
    """
