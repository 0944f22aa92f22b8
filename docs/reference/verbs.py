"""The page of a verb, from its command: nothing in it depends on the terminal, the environment or
the machine.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click
import options

from vacr.cli import EXIT_CODES, group
from vacr.cli.options import EXIT_FINDINGS

_EXAMPLE = "\b\nExample:\n"


@dataclass(frozen=True)
class Verb:
    """A verb, or a verb of a verb, as it is called."""

    context: click.Context
    does: str
    """What it does in one line, as its group lists it."""

    @property
    def command(self) -> click.Command:
        """The command itself."""
        return self.context.command

    @property
    def path(self) -> str:
        """How it is called, without `vacr`."""
        return self.context.command_path.split(" ", 1)[1]

    @property
    def file(self) -> str:
        """The name of its page."""
        return f"{self.path}.md"

    def below(self) -> Iterator[Verb]:
        """Give the verbs that it has."""
        yield from _below(self.context)


def all_verbs() -> Iterator[Verb]:
    """Give the verbs in the order in which `vacr` lists them."""
    yield from _below(
        click.Context(
            group, info_name="vacr", auto_envvar_prefix=group.context_settings["auto_envvar_prefix"]
        )
    )


def _below(context: click.Context) -> Iterator[Verb]:
    over = context.command
    if not isinstance(over, click.Group):
        return
    for name in over.list_commands(context):
        found = over.get_command(context, name)
        if found is None or found.hidden:
            continue
        told = getattr(over, "verbs", {}).get(name) or found.get_short_help_str(1000)
        yield Verb(click.Context(found, info_name=name, parent=context), told)


def page(verb: Verb) -> str:
    """Write the page of a verb, with those of its own."""
    head = "Made from the commands themselves by `make docs`; do not edit.\n\n"
    text = f"# vacr {verb.path}\n\n{head}{_described(verb, '##')}"
    for below in verb.below():
        text += f"\n## vacr {below.path}\n\n{_described(below, '###')}"
    return f"{text}\nExit codes: {_exits(verb)}. [When which](README.md#exit-codes).\n"


def _exits(verb: Verb) -> str:
    """Name the exit codes; findings only count where there is `--strict`."""
    strict = any(
        option.name == "strict" for one in (verb, *verb.below()) for option in one.command.params
    )
    return " · ".join(
        f"{code} {options.prose(said)}"
        for code, said in EXIT_CODES.items()
        if strict or code != EXIT_FINDINGS
    )


def _described(verb: Verb, level: str) -> str:
    prose, example = _help(verb.command)
    parts = [prose, f"```\n{_usage(verb)}\n```\n"]
    if example:
        parts.append(f"{level} Examples\n\n```\n{example}\n```\n")
    arguments = [param for param in verb.command.params if isinstance(param, click.Argument)]
    if arguments:
        parts.append(f"{level} Arguments\n\n{options.arguments(arguments)}")
    named = [param for param in verb.command.params if isinstance(param, click.Option)]
    if named:
        parts.append(
            f"{level} Options\n\n{options.table(named, str(verb.context.auto_envvar_prefix))}"
        )
    if isinstance(verb.command, click.Group):
        rows = "".join(
            f"| [{one.path}](#vacr-{one.path.replace(' ', '-')}) | {one.does} |\n"
            for one in verb.below()
        )
        parts.append(f"| verb | what it does |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def _usage(verb: Verb) -> str:
    return " ".join([f"vacr {verb.path}", *verb.command.collect_usage_pieces(verb.context)])


def _help(command: click.Command) -> tuple[str, str]:
    """Take the prose and the examples out of a help text."""
    text, _, example = inspect.cleandoc(command.help or "").partition(_EXAMPLE)
    paragraphs = [" ".join(one.split()) for one in re.split(r"\n\s*\n", text.strip())]
    return "".join(f"{options.prose(one)}\n\n" for one in paragraphs).rstrip(
        "\n"
    ) + "\n", inspect.cleandoc(example)
