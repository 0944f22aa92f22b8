"""Files checked against a schema: records, session traces, entries and signed records.

A verdict has findings, which make a file invalid, and remarks about harmless irregularities. Two
checks go beyond the schema: the id of a record must match its content, and a signed record must
contain a valid one.

    >>> from pathlib import Path
    >>> from vacr.workflows import validate_path
    >>> from vacr.files import write_file_atomically
    >>> write_file_atomically(Path("entry.json"), [b'{"version": 7, "session": {}}'])
    >>> [verdict] = validate_path("entry.json", None, None)
    >>> verdict.exit_code, verdict.findings[0].pointer
    (1, '/version')
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from vacr.agents import validate_record
from vacr.cddl import CddlError, Schema, SchemaFinding, compile_cddl
from vacr.errors import InvalidSchema, UnreadableInput, UsageError, VacrError
from vacr.files import describe_file_error, is_folder, read_bytes, walk_files
from vacr.record import (
    RecordEncoding,
    RecordModification,
    ValidationReport,
    choose_rule,
    convert_to_original_version,
    detect_and_decode,
    find_record_modification,
    is_made_by_vacr,
    is_record_schema,
    load_record_schema,
    read_schema_text,
    report_schema_errors,
    shorten_value,
)
from vacr.workflows.inputs import find_modification_of_invalid, read_json_or_cbor
from vacr.workflows.session_names import find_unsealed_session_error

EXIT_INVALID = 1
SIGNED_RECORD_RULE = "signed-agent-record"
BUNDLED_SCHEMAS = {"v3": "3", "v2": "2", "v1": "1"}
_SCHEMA_HINT = "A schema is v3, v2, v1 or a file in CDDL."
_TRACE_METADATA_LABEL = 100
_PAYLOAD_INDEX = 2
_CHECKED_SUFFIXES = (".acr.json", ".acr.cbor", ".cose")


@dataclass(frozen=True)
class FileVerdict:
    """The result of checking one file."""

    path: str
    error: VacrError | None = None
    """Why the file could not be checked; None if it was."""
    rule: str = ""
    """The rule of the schema that the file was checked against."""
    schema: str = ""
    """The name of the schema."""
    form: RecordEncoding = "json"
    findings: list[SchemaFinding] = field(default_factory=list)
    """The problems that make the file invalid."""
    remarks: list[SchemaFinding] = field(default_factory=list)
    """Irregularities that do not make the file invalid."""
    summary: dict[str, Any] = field(default_factory=dict)
    """The ids of a record and its number of entries; empty for another file."""
    is_cut: bool = False
    """Whether there are more findings than the hundred in the list."""

    @property
    def exit_code(self) -> int:
        """Return 0 for a valid file, 1 for an invalid one, or the exit code of the error."""
        if self.error is not None:
            return self.error.exit_code
        return EXIT_INVALID if self.findings else 0

    def build_document(self) -> dict[str, Any]:
        """Return the verdict for JSON output."""
        if self.error is not None:
            return {
                "file": self.path,
                "valid": None,
                "error": self.error.message,
                "where": self.error.where,
                "hint": self.error.hint,
                "findings": [],
                "remarks": [],
                "exit": self.exit_code,
            }
        is_signed = self.rule == SIGNED_RECORD_RULE
        return {
            "file": self.path,
            "valid": not self.findings,
            "rule": self.rule,
            "schema": self.schema,
            "form": self.form,
            "findings": [_build_finding_document(finding) for finding in self.findings],
            "findings-cut": self.is_cut,
            "remarks": [_build_finding_document(remark) for remark in self.remarks],
            "exit": self.exit_code,
            **({"signature": "not checked"} if is_signed else {}),
            **self.summary,
        }


def _build_finding_document(finding: SchemaFinding) -> dict[str, str]:
    """Return a finding for JSON output."""
    return {
        "pointer": finding.pointer,
        "rule": finding.rule,
        "found": finding.found,
        "expected": finding.expected,
    }


def validate_path(path: str, rule: str | None, schema: Schema | None) -> Iterator[FileVerdict]:
    """Check a file, or all records in a folder, and yield a verdict for each.

    Without a rule or schema, each file is checked by its kind and version. A folder that cannot be
    listed, or contains no records, gets a verdict with an error.
    """
    if not is_folder(path):
        yield _validate_file(path, rule, schema)
        return
    failed: list[OSError] = []
    files = walk_files(path, failed.append)
    records = sorted(file for file in files if file.endswith(_CHECKED_SUFFIXES))
    for record in records:
        yield _validate_file(record, rule, schema)
    for error in failed:
        unlisted = UnreadableInput(describe_file_error(error), where=str(error.filename))
        yield FileVerdict(path, unlisted)
    if not records and not failed:
        hint = f"Records end in {' or '.join(_CHECKED_SUFFIXES)}. Name other files one by one."
        yield FileVerdict(path, UnreadableInput("no records found", where=path, hint=hint))


def _validate_file(path: str, rule: str | None, schema: Schema | None) -> FileVerdict:
    """Check a file, and return the verdict, or a verdict with the error of an unreadable file.

    Without `rule` or `schema`, they are chosen by the content.
    """
    try:
        value, form = read_json_or_cbor(path)
        is_json = form == "json"
        report = validate_record(value, rule=rule, schema=schema, json=is_json)
        if schema is None or is_record_schema(schema):
            if not report.findings:
                report = _check_beyond_schema(value, report, json=is_json)
            elif modification := find_modification_of_invalid(value, json=is_json):
                findings = [_describe_modification(modification), *report.findings]
                report = replace(report, findings=findings)
    except VacrError as error:
        return FileVerdict(path, find_unsealed_session_error(path, "validate") or error)
    return FileVerdict(
        path,
        None,
        report.rule,
        report.schema,
        form,
        report.findings,
        report.remarks,
        _summarize_record(value),
        report.is_cut,
    )


def _check_beyond_schema(value: Any, report: ValidationReport, *, json: bool) -> ValidationReport:
    """Check the id of a record, or the payload of a signed record; return the completed report.

    `report` is about the value itself, and has no findings. For other values, it stays the same.
    `json` is True for a value from JSON, False for one from CBOR.
    """
    kind = choose_rule(value)
    if kind == "verifiable-agent-record" and isinstance(value, dict):
        if not isinstance(value.get("id"), str):
            return report
        findings, remarks = _compare_record_id(value, json=json)
        return replace(report, findings=findings, remarks=report.remarks + remarks)
    if kind != SIGNED_RECORD_RULE:
        return report
    message = value.value
    if isinstance(message, list | tuple) and len(message) > _PAYLOAD_INDEX:
        payload = message[_PAYLOAD_INDEX]
        if isinstance(payload, bytes):
            findings, is_cut = _validate_signed_payload(payload, message[1])
            return replace(report, findings=findings, is_cut=is_cut)
    return report


def _compare_record_id(
    record: Any, *, json: bool
) -> tuple[list[SchemaFinding], list[SchemaFinding]]:
    """Compare the id of a record with the one computed from its content.

    Return a finding if they differ, or a remark if another program made the record: its ids cannot
    be checked. The other list is empty, and both are if the id is correct. `json` is True for a
    value from JSON, False for one from CBOR.
    """
    record = convert_to_original_version(record, json=json)
    if not is_made_by_vacr(record):
        agent = record.get("recording-agent")
        made_by = shorten_value(agent.get("name") if isinstance(agent, dict) else "an unnamed tool")
        found, expectation = f"recorded by {made_by}", "a record made by vacr"
        return [], [SchemaFinding("/id", "the id cannot be checked", found, expectation)]
    modification = find_record_modification(record, json=json)
    if modification is None:
        return [], []
    return [_describe_modification(modification)], []


def _describe_modification(modification: RecordModification) -> SchemaFinding:
    """Return the finding that a record was modified; if its content gives no id, with the cause."""
    if modification.cause is not None:
        cause, expectation = modification.cause, "content that gives an id"
        return SchemaFinding(cause.where, "the record was modified", cause.message, expectation)
    found = f"its id is {modification.found}"
    wanted = f"{modification.expected}, computed from its content"
    return SchemaFinding("/id", "the record was modified", found, wanted)


def _validate_signed_payload(payload: bytes, header: Any) -> tuple[list[SchemaFinding], bool]:
    """Return findings about the payload of a signed record: its digest, and the record in it.

    The second value is whether there are more findings than those returned. A payload that is not a
    record, such as a native session, has no findings. `header` is the unprotected header of the
    message.
    """
    metadata = header.get(_TRACE_METADATA_LABEL) if isinstance(header, dict) else None
    claimed = metadata.get("content-hash") if isinstance(metadata, dict) else None
    digest = hashlib.sha256(payload).hexdigest()
    if claimed is not None and claimed != digest:
        finding = SchemaFinding(
            "/1/100/content-hash",
            "the digest must match the payload",
            shorten_value(claimed),
            repr(digest),
        )
        return [finding], False
    try:
        record, form = detect_and_decode(payload)
    except VacrError:
        return [], False
    if not isinstance(record, dict) or not {"version", "session"} <= record.keys():
        return [], False
    is_json = form == "json"
    inner = validate_record(record, json=is_json)
    findings = inner.findings or _compare_record_id(record, json=is_json)[0]
    in_statement = [
        SchemaFinding(
            f"/{_PAYLOAD_INDEX}{finding.pointer}", finding.rule, finding.found, finding.expected
        )
        for finding in findings
    ]
    return in_statement, inner.is_cut


def _summarize_record(value: Any) -> dict[str, Any]:
    """Return the ids of a record and its number of entries; empty for another value."""
    session = value.get("session") if isinstance(value, dict) else None
    if not isinstance(session, dict) or not isinstance(session.get("entries"), list):
        return {}
    ids = {"id": value.get("id"), "session-id": session.get("session-id")}
    texts = {name: text for name, text in ids.items() if isinstance(text, str)}
    return texts | {"entries": len(session["entries"])}


def load_schema(name: str) -> Schema:
    """Return a compiled schema: `v1`, `v2`, `v3`, or the one in a CDDL file.

    Raises:
        UnreadableInput: the file cannot be read.
        InvalidSchema: the file is not CDDL.
    """
    if name in BUNDLED_SCHEMAS:
        return load_record_schema(BUNDLED_SCHEMAS[name])
    text = load_schema_text(name)
    with report_schema_errors():
        return compile_cddl(text, name=name)


def load_schema_text(name: str) -> str:
    """Return the CDDL text of a schema: `v1`, `v2`, `v3`, or a file.

    Raises:
        UnreadableInput: the file cannot be read.
        InvalidSchema: the file is not UTF-8 text.
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


def check_rule_exists(rule: str, schema: Schema | None) -> None:
    """Check that a schema has a rule; without a schema, that one of `v1`, `v2` and `v3` has it.

    Raises:
        UsageError: the rule does not exist, or is not a type that can be checked.
    """
    schemas = [schema] if schema else list(map(load_record_schema, BUNDLED_SCHEMAS.values()))
    problems = []
    for candidate in schemas:
        try:
            candidate.checker(rule)
        except CddlError as error:
            problems.append(error)
        else:
            return
    listing = "vacr schema show"
    if schema is not None and schema.name.removesuffix(".cddl") not in BUNDLED_SCHEMAS:
        listing += f" --schema {schema.name}"
    raise UsageError(
        f"--rule {rule}: {problems[0].message}",
        hint=problems[0].hint or f"See {listing} for the rules.",
    )
