"""Validate records with the help of their agents.

The schema leaves one question to agents: most of them store the calls and results of a message in
its content, so that a record's children must agree with it. A few store calls elsewhere, and their
messages may have more children. `vacr.record.validate` asks; this module answers.

    >>> from vacr.agents.record_validation import has_separate_calls
    >>> record = {"vacr": {"source": {"format": "atif"}}, "session": {"entries": []}}
    >>> has_separate_calls(record)
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vacr.agents.registry import find_record_agent, get_native_format
from vacr.model import JsonObject

if TYPE_CHECKING:
    from vacr.cddl import Schema
    from vacr.record import ValidationReport

_IMPORTED_FORMATS = frozenset(("atif",))
"""Formats of `vacr import`, not of an agent, that store calls outside the content of messages."""


def validate_record(
    value: Any, *, rule: str | None = None, schema: Schema | None = None, json: bool = True
) -> ValidationReport:
    """Check a record, or another value against a rule of a schema.

    Without a schema, the value itself decides about the rule and the version. With `json`, all
    numbers are of one kind. The agent of a record decides which children its messages may have; an
    agent that is not installed causes a remark.

    Raises:
        InvalidSchema: the schema has no such rule.
    """
    from vacr.record import validate

    return validate(
        value, rule=rule, schema=schema, json=json, has_separate_calls=has_separate_calls
    )


def has_separate_calls(record: JsonObject) -> bool | None:
    """Return whether a record's native format stores calls outside the content of messages.

    Return None if the agent is not installed here.
    """
    native_format = get_native_format(record)
    if native_format is None:
        return False
    if native_format in _IMPORTED_FORMATS:
        return True
    agent = find_record_agent(record)
    # A format that an installed agent does not have is a false claim, not an unknown format.
    return native_format in agent.separate_call_formats if agent.name else None
