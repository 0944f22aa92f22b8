"""Validation of records against their CDDL schema, and of what their members say about each other.
Step: validate.
"""

from __future__ import annotations

from typing import Any

from vacr.errors import InvalidRecord
from vacr.schema.cddl import Finding, Schema
from vacr.schema.report import Report
from vacr.schema.semantics import check_record, check_session
from vacr.schema.versions import SUPPORTED, major, schema_for

__all__ = ["Finding", "Report", "Schema", "is_ours", "rule_for", "schema_for", "validate"]

COSE_SIGN1 = 18
DEFAULT_VERSION = "3"


def rule_for(value: Any) -> str:
    """Tell which rule a value is meant to follow: a record, a session trace, an array of entries or
    a signed record.
    """
    if isinstance(value, list):
        return "[* entry]"
    if getattr(value, "tag", None) == COSE_SIGN1:
        return "signed-agent-record"
    if isinstance(value, dict) and "entries" in value and "version" not in value:
        return "session-trace"
    if isinstance(value, dict) and major(value.get("version")) == "1":
        return "agent-convo-record"
    return "verifiable-agent-record"


def validate(
    value: Any, *, rule: str | None = None, schema: Schema | None = None, json: bool = True
) -> Report:
    """Check a value against a rule of a schema; without one, against what it is and the version it
    names.

    What our schemas accept is also checked for what its members say about each other.

    Raises:
        InvalidSchema: the schema has no such rule.
    """
    chosen = rule or ("" if schema else rule_for(value))
    if schema is None:
        try:
            schema = schema_for(_version(value))
        except InvalidRecord as error:
            supported = " or ".join(f"{major}.*" for major in SUPPORTED)
            finding = Finding(error.where, "verifiable-agent-record", error.message, supported)
            return Report(chosen, "", [finding])
    checker = schema.checker(chosen or None, json=json)
    findings = checker.findings(value)
    remarks: list[Finding] = []
    if not findings and is_ours(schema):
        findings, remarks = _semantics(value, checker.rule, schema, json=json)
    return Report(checker.rule, schema.name, findings, remarks)


def is_ours(schema: Schema) -> bool:
    """Tell whether a schema is one of the record format's own."""
    return any(schema is schema_for(version) for version in SUPPORTED)


def _version(value: Any) -> Any:
    """Give the version a record names; a part of a record names none."""
    if isinstance(value, dict) and "version" in value:
        return value["version"]
    return DEFAULT_VERSION


def _semantics(
    value: Any, rule: str, schema: Schema, *, json: bool
) -> tuple[list[Finding], list[Finding]]:
    """Check what lies above the schema, by what the value is, whatever rule it was checked
    against.
    """
    kind = rule_for(value)
    if "entry" not in schema.rules:
        # Version 1 has no session, and nothing to say about one.
        return [], []
    if kind != rule and not schema.checker(kind, json=json).matches(value):
        return [], []
    match kind:
        case "verifiable-agent-record":
            if "session" in value:
                return check_record(value)
        case "session-trace":
            return check_session(value)
        case "[* entry]":
            return check_session({"entries": value})
    return [], []
