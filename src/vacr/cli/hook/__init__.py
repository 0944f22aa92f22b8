"""`vacr hook`: have agents tell what they do as they do it. One module a verb, as for the verbs
above.
"""

from __future__ import annotations

import click

from vacr.cli.verbs import LazyVerbGroup


@click.group(
    cls=LazyVerbGroup,
    package="vacr.cli.hook",
    verbs={
        "install": "Put hooks into the settings of agents.",
        "status": "Tell which agents have hooks, and whether they work.",
        "uninstall": "Take the hooks out again.",
    },
    no_args_is_help=True,
)
def command() -> None:
    """Have agents tell what they do as they do it.

    A hook appends what the agent says to a spool in the state folder (VACR_STATE, or
    ~/.local/state/vacr), and is gone: it prints nothing, never fails, and changes nothing that the
    agent does.

    \b
    Example:
      vacr hook install --agent claude-code
      vacr hook status
      vacr hook uninstall --agent claude-code
    """
