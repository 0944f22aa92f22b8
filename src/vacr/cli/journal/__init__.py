"""`vacr journal`: look after the journal of what was captured. One module a verb, as for the verbs
above.
"""

from __future__ import annotations

import click

from vacr.cli.verbs import LazyVerbGroup


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli.journal",
    verbs={"verify": "Check that the journal, and the transcripts, still say what was first seen."},
    no_args_is_help=True,
)
def command() -> None:
    """Look after the journal of what was captured.

    \b
    Example:
      vacr journal verify
    """
