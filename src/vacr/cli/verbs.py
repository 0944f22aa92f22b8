"""Groups of verbs, each verb in the module of its name, which is loaded when the verb is used and
not to be listed.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click


class LazyVerbGroup(click.Group):
    """A group whose verbs are the modules of a package."""

    def __init__(
        self, *args: Any, package: str = "", verbs: dict[str, str] | None = None, **settings: Any
    ) -> None:
        """Take the verbs, each with what it does, in the order in which they are listed."""
        super().__init__(*args, **settings)
        self.package = package
        self.verbs = verbs or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order of the flow."""
        del ctx
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the module of a verb."""
        del ctx
        if cmd_name not in self.verbs:
            return None
        # A module cannot be named after a word of the language itself.
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = import_module(f"{self.package}.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Describe the verbs in a line each."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self.verbs.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; for one that does not exist, name the one that was likely meant."""
        close = get_close_matches(args[0], self.verbs, 1) if args[0] not in self.verbs else []
        if close:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)


class OrderedVerbGroup(click.Group):
    """A group whose verbs are listed in the order in which they stand in their module, which is
    that of use.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs as they were added."""
        del ctx
        return list(self.commands)
