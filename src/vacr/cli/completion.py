"""`vacr completion`: the shell's completion of verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from vacr.cli.options import voice_options
from vacr.console import Voice, print_text
from vacr.errors import UsageError

_INSTALL_HINTS = {
    "bash": 'add to ~/.bashrc:  eval "$(vacr completion bash)"',
    "zsh": 'add to ~/.zshrc:  eval "$(vacr completion zsh)"',
    "fish": "run:  vacr completion fish > ~/.config/fish/completions/vacr.fish",
}


@click.command(no_args_is_help=True)
@click.argument("shell", type=click.Choice(list(_INSTALL_HINTS)))
@voice_options
def command(shell: str, format: str, quiet: bool, verbose: int) -> None:
    """Print what makes a shell complete vacr's verbs and options.

    \b
    Example:
      eval "$(vacr completion bash)"                       in ~/.bashrc
      eval "$(vacr completion zsh)"                        in ~/.zshrc
      vacr completion fish > ~/.config/fish/completions/vacr.fish
    """
    from vacr.cli import group

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"no completion for {shell}")
    script = kind(group, {}, "vacr", "_VACR_COMPLETE").source()
    voice = Voice(format, quiet, verbose)
    voice.data({"shell": shell, "script": script, "how": _INSTALL_HINTS[shell]})
    voice.notice(f"vacr: {_INSTALL_HINTS[shell]}", 1)
    if not voice.json:
        print_text(script)
