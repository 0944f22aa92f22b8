"""The page of a verb, generated from its command. Pages are the same on every machine."""

from __future__ import annotations

import inspect
import re
import textwrap
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
    """Its purpose in one line, as its group lists it."""

    @property
    def command(self) -> click.Command:
        """The command itself."""
        return self.context.command

    @property
    def path(self) -> str:
        """Its name on the command line, without `vacr`."""
        return self.context.command_path.split(" ", 1)[1]

    @property
    def file(self) -> str:
        """The name of its page."""
        return f"{self.path}.md"

    def below(self) -> Iterator[Verb]:
        """Yield its sub-verbs."""
        yield from _below(self.context)


def all_verbs() -> Iterator[Verb]:
    """Yield the verbs in the order of `vacr --help`."""
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
    """Write the page of a verb and its sub-verbs."""
    head = "Generated from the commands by `make docs`; do not edit.\n\n"
    text = f"# vacr {verb.path}\n\n{head}{_described(verb, '##')}"
    for below in _all_below(verb):
        text += f"\n## vacr {below.path}\n\n{_described(below, '###')}"
    return f"{text}\nExit codes: {_exits(verb)}. [Details](README.md#exit-codes).\n"


def _all_below(verb: Verb) -> Iterator[Verb]:
    """Yield the sub-verbs of a verb, and theirs."""
    for below in verb.below():
        yield below
        yield from _all_below(below)


def _exits(verb: Verb) -> str:
    """List the exit codes; only verbs with `--strict` have the one for findings."""
    strict = any(
        option.name == "strict"
        for either in (verb, *verb.below())
        for option in either.command.params
    )
    return " · ".join(
        f"{code} {options.prose(meaning)}"
        for code, meaning in EXIT_CODES.items()
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
            f"| [{sub_verb.path}](#vacr-{sub_verb.path.replace(' ', '-')}) | {sub_verb.does} |\n"
            for sub_verb in verb.below()
        )
        parts.append(f"| verb | purpose |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def _usage(verb: Verb) -> str:
    return " ".join([f"vacr {verb.path}", *verb.command.collect_usage_pieces(verb.context)])


def _help(command: click.Command) -> tuple[str, str]:
    """Return the prose and the examples of a help text."""
    text, _, example = inspect.cleandoc(command.help or "").partition(_EXAMPLE)
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "".join(f"{options.prose(paragraph)}\n\n" for paragraph in paragraphs).rstrip(
        "\n"
    ) + "\n", textwrap.dedent(example).strip()
