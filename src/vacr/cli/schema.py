"""`vacr schema`: show a schema, or make random instances of it."""

from __future__ import annotations

import secrets
import sys

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import Voice
from vacr.cli.schemas import load_schema, load_text


@click.group(no_args_is_help=True)
def command() -> None:
    """Show the schemas that records follow, and make random instances of them.

    \b
    Example:
      vacr schema show --rule entry
      vacr schema generate --rule entry --count 5
    """


@command.command()
@click.option("--rule", metavar="RULE", help="Show this rule only.")
@click.option("--schema", "schema_name", metavar="v3|v2|FILE", default="v3", show_default=True, help="The schema.")
@options.voice_options
def show(rule: str | None, schema_name: str, format: str, quiet: bool, verbose: int) -> None:  # noqa: A002, FBT001 - click
    """Print a schema in CDDL.

    \b
    Example:
      vacr schema show --rule token-usage
    """
    voice = Voice(format, quiet=False, verbose=verbose)
    del quiet
    schema = load_schema(schema_name)
    text = schema.rule_text(rule) if rule else load_text(schema_name)
    voice.data({"schema": schema_name, "rules": list(schema.rules), "text": text})
    if not voice.json:
        click.echo(text.rstrip("\n"))


@command.command()
@click.option("--rule", metavar="RULE", help="The rule or type to make.  [default: the schema's first]")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many to make.")
@click.option("--seed", type=int, help="Make the same ones again.  [default: a new one each time, told with -v]")
@click.option("--schema", "schema_name", metavar="v3|v2|FILE", default="v3", show_default=True, help="The schema.")
@click.option("--cbor", is_flag=True, help="Write a sequence of CBOR items instead of JSON lines.")
@options.voice_options
def generate(
    rule: str | None,
    count: int,
    seed: int | None,
    schema_name: str,
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
    schema = load_schema(schema_name)
    first = secrets.randbits(32) if seed is None else seed
    voice.notice(f"vacr: seed {first}", 1)
    instances = []
    for number in range(count):
        instance = schema.generate(rule, seed=first + number, json=not cbor)
        if voice.json:
            instances.append(instance)
        elif cbor:
            sys.stdout.buffer.write(codec.encode(instance, "cbor"))
        else:
            click.echo(codec.encode(instance))
    voice.data({"schema": schema_name, "rule": rule or schema.root, "seed": first, "instances": instances})
