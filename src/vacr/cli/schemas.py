"""The schema that an option names: one of ours, or a CDDL file."""

from __future__ import annotations

from vacr.errors import InvalidSchema, UnreadableInput, UsageError
from vacr.schema.cddl import Schema, compile_cddl
from vacr.schema.versions import schema_for, schema_text
from vacr.sources import read_bytes

OURS = {"v3": "3", "v2": "2", "v1": "1"}
_SCHEMAS = "A schema is v3, v2, v1 or a file in CDDL."


def load_text(name: str) -> str:
    """Give the text of a schema.

    Raises:
        UnreadableInput: there is no such file.
        InvalidSchema: it is not text.
    """
    if name in OURS:
        return schema_text(OURS[name])
    try:
        return read_bytes(name).decode()
    except UnreadableInput as error:
        raise UnreadableInput(error.message, where=error.where, hint=_SCHEMAS) from error
    except UnicodeDecodeError as error:
        raise InvalidSchema(f"not UTF-8 text: {error.reason}", where=name, hint=_SCHEMAS) from error


def load_schema(name: str) -> Schema:
    """Give a compiled schema.

    Raises:
        InvalidSchema: it is not CDDL.
    """
    if name in OURS:
        return schema_for(OURS[name])
    return compile_cddl(load_text(name), name=name)


def refuse_unknown_rule(rule: str, schema: Schema | None) -> None:
    """Refuse a rule that no schema in question has.

    Raises:
        UsageError: naming what is wrong with it.
    """
    problems = []
    for one in [schema] if schema else [schema_for(version) for version in OURS.values()]:
        try:
            one.checker(rule)
        except InvalidSchema as error:
            problems.append(error)
        else:
            return
    raise UsageError(
        f"--rule {rule}: {problems[0].message}",
        hint=problems[0].hint or f"See {_listing(schema)} for the rules.",
    )


def _listing(schema: Schema | None) -> str:
    if schema is None or schema.name.removesuffix(".cddl") in OURS:
        return "vacr schema show"
    return f"vacr schema show --schema {schema.name}"
