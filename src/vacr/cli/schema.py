"""`vacr schema`: show a schema, or generate random instances of it."""

from __future__ import annotations

import secrets
from typing import Any

import click

from vacr.cli.options import complete_rule, schema_option, voice_options
from vacr.cli.verbs import OrderedVerbGroup
from vacr.console import Voice, write_bytes
from vacr.errors import UsageError
from vacr.record import FORMAT_VERSIONS, encode, report_schema_errors
from vacr.workflows import check_rule_exists, load_schema, load_schema_text


@click.group(cls=OrderedVerbGroup, no_args_is_help=True)
def command() -> None:
    """Show the schemas of records, and generate random instances of them.

    \b
    Example:
      vacr schema show --rule entry
      vacr schema generate --rule entry --count 5
    """


@command.command(short_help="Print a schema in CDDL.")
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=complete_rule,
    help="Print only this CDDL rule of the schema.",
)
@schema_option(default="v3", show_default=True, help="Schema to print.")
@voice_options
def show(rule: str | None, schema: str, format: str, quiet: bool, verbose: int) -> None:
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
            f"{schema} has no rule {rule!r}", hint=f"Its rules: {', '.join(compiled.rules)}."
        )
    text = compiled.rule_text(rule) if rule else load_schema_text(schema).rstrip("\n")
    voice.lines(text)
    voice.data({"schema": schema, "rules": list(compiled.rules), "text": text})


@command.command(short_help="Generate random valid instances.")
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=complete_rule,
    help="CDDL rule or type to generate.  [default: the first rule of the schema]",
)
@click.option(
    "--count",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of instances.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    help="Seed, to generate the same instances again.  [default: random; -v shows it]",
)
@schema_option(default="v3", show_default=True, help="Schema of the instances.")
@click.option("--cbor", is_flag=True, help="Write a sequence of CBOR items instead of JSON lines.")
@voice_options
def generate(
    rule: str | None,
    count: int,
    seed: int | None,
    schema: str,
    cbor: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> None:
    """Generate random valid instances of a schema, one JSON value per line.

    \b
    Example:
      vacr schema generate --rule entry --count 5 --seed 1
    """
    voice = Voice(format, quiet, verbose)
    if cbor and voice.json:
        raise UsageError(
            "--cbor and --format json exclude each other",
            hint="Omit one of them.",
        )
    compiled = load_schema(schema)
    if rule:
        check_rule_exists(rule, compiled)
    first = secrets.randbits(32) if seed is None else seed
    voice.notice(f"vacr: seed {first}", 1)
    instances = []
    for number in range(count):
        with report_schema_errors():
            generated = compiled.generate(rule, seed=first + number, json=not cbor)
        instance = _set_schema_version(generated, schema)
        if voice.json:
            instances.append(instance)
        else:
            write_bytes([encode(instance, "cbor")] if cbor else [encode(instance), b"\n"])
    voice.data(
        {"schema": schema, "rule": rule or compiled.root, "seed": first, "instances": instances}
    )


def _set_schema_version(instance: Any, schema: str) -> Any:
    """Return a generated record with the version of its schema: CDDL allows any text there.

    Other instances, and instances of the user's schemas, stay the same.
    """
    if (
        schema in FORMAT_VERSIONS
        and isinstance(instance, dict)
        and {"version", "id"} <= instance.keys()
    ):
        return instance | {"version": FORMAT_VERSIONS[schema]}
    return instance
