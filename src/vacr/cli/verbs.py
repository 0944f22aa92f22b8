"""The verbs of a group: loaded on first use, suggested after a typo, completed by a shell.

The module of a verb is loaded when the verb is used, and not to list the verbs. Other words for a
verb lead to it in the error about an unknown verb:

    >>> from vacr.cli import group
    >>> group.meant["cost"], group.meant["ls"]
    ('stats', 'list')
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

from vacr.cli.options import Verb, voice_options
from vacr.console import Voice, print_text
from vacr.errors import UsageError

_INSTALL_HINTS = {
    "bash": 'add to ~/.bashrc:  eval "$(vacr completion bash)"',
    "zsh": 'add to ~/.zshrc:  eval "$(vacr completion zsh)"',
    "fish": "run:  vacr completion fish > ~/.config/fish/completions/vacr.fish",
}


class LazyVerbGroup(click.Group):
    """A group whose verbs are in the modules of a package.

    By default, the verb `sign` is the object `command` in the module `sign`. If `modules` names the
    module of a verb, several verbs can share it, and `init` is the object `init_command`.
    """

    def __init__(
        self,
        *args: Any,
        package: str = "",
        verbs: Mapping[str, str] | None = None,
        modules: Mapping[str, str] | None = None,
        headings: Mapping[str, str] | None = None,
        moved: Mapping[str, str] | None = None,
        meanings: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        """Take the package, and its verbs with their descriptions, in the order of the help.

        `headings` maps each heading of the help to the names of its verbs. Verbs under no heading
        are listed last, by name only.
        `modules` names the module of a verb where it differs. `moved` maps verbs that are now in
        another group to that group; they still work here, but no help lists them. `meanings` maps
        verbs to other words for them, for the error about an unknown verb.
        """
        super().__init__(*args, **settings)
        self.package = package
        self.verbs = verbs or {}
        self.modules = modules or {}
        self.headings = headings or {}
        self.moved = moved or {}
        self.meant = {
            word: verb for verb, words in (meanings or {}).items() for word in words.split()
        }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; `help` and `help VERB` mean `--help` and `VERB --help`."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of the help."""
        del ctx
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb and return its command; `None` for an unknown verb."""
        del ctx
        if cmd_name not in self.verbs and cmd_name not in self.moved:
            return None
        name = "command"
        # A module cannot be named after a keyword.
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        if cmd_name in self.modules:
            module, name = self.modules[cmd_name], f"{cmd_name}_command"
        command: click.Command = getattr(import_module(f"{self.package}.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs into the help, without loading them."""
        del ctx
        listed: set[str] = set()
        for heading, names in (self.headings or {"Commands": " ".join(self.verbs)}).items():
            known = [name for name in names.split() if name in self.verbs]
            listed.update(known)
            with formatter.section(heading):
                formatter.write_dl([(name, self.verbs[name]) for name in known], col_max=10)
        others = [name for name in self.verbs if name not in listed]
        if others:
            with formatter.section("Parts and tools (vacr COMMAND --help)"):
                formatter.write_text(", ".join(others))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name and the command of the verb in `args`, and the arguments after it.

        For an unknown verb, click prints an error that suggests a similar one, and exits.
        """
        if args[0] not in self.verbs and args[0] not in self.moved:
            meant = self.meant.get(args[0])
            close = [meant] if meant else get_close_matches(args[0], self.verbs, 1)
            if close:
                ctx.fail(f"No such command {args[0]!r}. Did you mean 'vacr {close[0]}'?")
        return super().resolve_command(ctx, args)


class OrderedVerbGroup(click.Group):
    """A group whose verbs are functions of one module, listed in the order of that module."""

    command_class = Verb

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of their module."""
        del ctx
        return list(self.commands)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("shell", type=click.Choice(list(_INSTALL_HINTS)))
@voice_options
def completion_command(shell: str, format: str, quiet: bool, verbose: int) -> None:
    """Print the completion script for a shell.

    \b
    Example:
      eval "$(vacr completion bash)"  # in ~/.bashrc
      eval "$(vacr completion zsh)"   # in ~/.zshrc
      vacr completion fish > ~/.config/fish/completions/vacr.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(
            f"completion does not support {shell}",
            hint=f"Choose from: {', '.join(_INSTALL_HINTS)}.",
        )
    main_group = click.get_current_context().find_root().command
    script = kind(main_group, {}, "vacr", "_VACR_COMPLETE").source()
    voice = Voice(format, quiet, verbose)
    voice.data({"shell": shell, "script": script, "how": _INSTALL_HINTS[shell]})
    voice.notice(f"vacr: {_INSTALL_HINTS[shell]}", 1)
    if not voice.json:
        print_text(script)
