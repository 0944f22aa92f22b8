"""`vacr lsp`: the language server: an editor asks it who wrote a line, and why."""

from __future__ import annotations

import os
import sys

import click

from vacr.cli.options import Verb
from vacr.console import print_message
from vacr.files import find_state_folder


@click.command(cls=Verb)
@click.option(
    "--stdio",
    is_flag=True,
    expose_value=False,
    hidden=True,
    help="Accepted, because editors pass it to servers; changes nothing.",
)
def command() -> int:
    """Show in an editor which agent wrote a line, and why.

    This is a server of the Language Server Protocol. The server runs on standard input and output
    until the editor ends it. It gives hovers, code lenses and inlay hints with the agent, the
    model, the prompt and the evidence, for each line that a recorded session on this machine
    proves. It changes nothing. It needs the packages of vacr[lsp].

    \b
    Example:
      vacr lsp                        # what the editor runs
      pip install 'vacr[lsp]'
    """
    from vacr.app import serve_lsp

    if sys.stdin.isatty():
        print_message("vacr: waiting for an editor on standard input. To stop: Ctrl-C")
    serve_lsp(find_state_folder(os.environ))
    return 0
