"""The schema that an option names: one of ours, or a CDDL file."""

from __future__ import annotations

from vacr.cddl import CddlError, Schema, compile_cddl
from vacr.errors import InvalidSchema, UnreadableInput, UsageError
from vacr.files import read_bytes
from vacr.record import load_record_schema, read_schema_text, report_schema_errors

BUNDLED_SCHEMAS = {"v3": "3", "v2": "2", "v1": "1"}
_SCHEMA_HINT = "A schema is v3, v2, v1 or a file in CDDL."


def load_schema_text(name: str) -> str:
    """Give the text of a schema.

    Raises:
        UnreadableInput: there is no such file.
        InvalidSchema: it is not text.
    """
    if name in BUNDLED_SCHEMAS:
        return read_schema_text(BUNDLED_SCHEMAS[name])
    try:
        return read_bytes(name).decode()
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=error.where, hint=_SCHEMA_HINT) from error
    except UnicodeDecodeError as error:
        raise InvalidSchema(
            f"not UTF-8 text: {error.reason}", where=name, hint=_SCHEMA_HINT
        ) from error


def load_schema(name: str) -> Schema:
    """Give a compiled schema.

    Raises:
        InvalidSchema: it is not CDDL.
    """
    if name in BUNDLED_SCHEMAS:
        return load_record_schema(BUNDLED_SCHEMAS[name])
    text = load_schema_text(name)
    with report_schema_errors():
        return compile_cddl(text, name=name)


def check_rule_exists(rule: str, schema: Schema | None) -> None:
    """Refuse a rule that no schema in question has.

    Raises:
        UsageError: naming what is wrong with it.
    """
    problems = []
    for one in (
        [schema]
        if schema
        else [load_record_schema(version) for version in BUNDLED_SCHEMAS.values()]
    ):
        try:
            one.checker(rule)
        except CddlError as error:
            problems.append(error)
        else:
            return
    raise UsageError(
        f"--rule {rule}: {problems[0].message}",
        hint=problems[0].hint or f"See {_format_listing_command(schema)} for the rules.",
    )


def _format_listing_command(schema: Schema | None) -> str:
    if schema is None or schema.name.removesuffix(".cddl") in BUNDLED_SCHEMAS:
        return "vacr schema show"
    return f"vacr schema show --schema {schema.name}"
