"""`vacr schema`: show a schema, or make random instances of it."""

from __future__ import annotations

import secrets
from typing import Any

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import Voice
from vacr.cli.schemas import load_schema, load_text, refuse_unknown_rule
from vacr.cli.streams import write_bytes
from vacr.cli.verbs import InOrder
from vacr.errors import UsageError
from vacr.versions import VERSIONS


@click.group(cls=InOrder, no_args_is_help=True)
def command() -> None:
    """Show the schemas that records follow, and make random instances of them.

    \b
    Example:
      vacr schema show --rule entry
      vacr schema generate --rule entry --count 5
    """


@command.command(short_help="Print a schema in CDDL.")
@click.option(
    "--rule", metavar="RULE", shell_complete=options.complete_rule, help="Show this rule only."
)
@options.schema_option(default="v3", show_default=True, help="The schema.")
@options.voice_options
def show(rule: str | None, schema: str, format: str, quiet: bool, verbose: int) -> None:  # noqa: A002, FBT001 - click
    """Print a schema in CDDL.

    \b
    Example:
      vacr schema show --rule token-usage
    """
    del quiet
    voice = Voice(format, quiet=False, verbose=verbose)
    compiled = load_schema(schema)
    if rule and rule not in compiled.rules:
        raise UsageError(
            f"{schema} has no rule {rule!r}", hint=f"Its rules are {', '.join(compiled.rules)}."
        )
    text = compiled.rule_text(rule) if rule else load_text(schema).rstrip("\n")
    voice.lines(text)
    voice.data({"schema": schema, "rules": list(compiled.rules), "text": text})


@command.command(short_help="Make random valid instances.")
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=options.complete_rule,
    help="The rule or type to make.  [default: the schema's first]",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many to make.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    help="Make the same ones again.  [default: a new one each time, told with -v]",
)
@options.schema_option(default="v3", show_default=True, help="The schema.")
@click.option("--cbor", is_flag=True, help="Write a sequence of CBOR items instead of JSON lines.")
@options.voice_options
def generate(
    rule: str | None,
    count: int,
    seed: int | None,
    schema: str,
    cbor: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> None:
    """Make random instances that a rule accepts, one JSON value a line.

    \b
    Example:
      vacr schema generate --rule entry --count 5 --seed 1
    """
    voice = Voice(format, quiet, verbose)
    if cbor and voice.json:
        raise UsageError(
            "--cbor and --format json exclude each other",
            hint="CBOR items cannot be shown in JSON.",
        )
    compiled = load_schema(schema)
    if rule:
        refuse_unknown_rule(rule, compiled)
    first = secrets.randbits(32) if seed is None else seed
    voice.notice(f"vacr: seed {first}", 1)
    instances = []
    for number in range(count):
        instance = _versioned(compiled.generate(rule, seed=first + number, json=not cbor), schema)
        if voice.json:
            instances.append(instance)
        else:
            write_bytes(
                [codec.encode(instance, "cbor")] if cbor else [codec.encode(instance), b"\n"]
            )
    voice.data(
        {"schema": schema, "rule": rule or compiled.root, "seed": first, "instances": instances}
    )


def _versioned(instance: Any, schema: str) -> Any:
    """Let a record of our own schemas name their version, which they leave open, so that it is
    checked by the same one.
    """
    if schema in VERSIONS and isinstance(instance, dict) and {"version", "id"} <= instance.keys():
        return instance | {"version": VERSIONS[schema]}
    return instance
