"""`vacr log`: create, serve and check a transparency log."""

from __future__ import annotations

import click

from vacr.cli.verbs import LazyVerbGroup


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli.log",
    verbs={
        "init": "Create a log.",
        "serve": "Serve a log over HTTP.",
        "fsck": "Check the stored data against the signatures of the log.",
        "prove": "Write a receipt for an entry, or for the growth of the log.",
        "verify": "Verify a receipt from `vacr log prove`.",
        "rotate": "Replace the keys of a log.",
        "monitor": "Watch a log, and report if it forks or shrinks.",
        "witness": "Cosign the checkpoints of append-only logs.",
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
    """Create, serve and check a transparency log.

    \b
    Example:
      vacr log init mylog/
      vacr log serve mylog/ --port 8080
      vacr log fsck mylog/
    """
