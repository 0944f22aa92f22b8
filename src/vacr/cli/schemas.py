"""The schema that an option names: one of ours, or a CDDL file."""

from __future__ import annotations

from vacr.errors import InvalidSchema
from vacr.schema.cddl import Schema, compile_cddl
from vacr.schema.versions import schema_for, schema_text
from vacr.sources import read_bytes

OURS = {"v3": "3", "v2": "2"}


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
    except UnicodeDecodeError as error:
        raise InvalidSchema(f"not UTF-8 text: {error.reason}", where=name) from error


def load_schema(name: str) -> Schema:
    """Give a compiled schema.

    Raises:
        InvalidSchema: it is not CDDL.
    """
    if name in OURS:
        return schema_for(OURS[name])
    return compile_cddl(load_text(name), name=name)
