"""`vacr validate`: records → findings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from vacr.cddl import Finding, Schema
from vacr.cli.options import (
    EXIT_FINDINGS,
    PATH,
    Voice,
    complete_rule,
    format_count,
    schema_option,
    voice_options,
)
from vacr.cli.records import read_json_or_cbor
from vacr.cli.schemas import check_rule_exists, load_schema
from vacr.errors import InvalidRecord, UnreadableInput, VacrError
from vacr.files import describe_file_error
from vacr.record import (
    MAX_SEMANTIC_FINDINGS,
    ValidationReport,
    choose_rule,
    compute_record_id,
    convert_to_original_version,
    detect_and_decode,
    is_made_by_vacr,
    is_record_schema,
    shorten_value,
    validate,
)

EXIT_INVALID = 1
SIGNED_RECORD_RULE = "signed-agent-record"
TRACE_METADATA_LABEL = 100
_PAYLOAD_INDEX = 2
_RECORD_SUFFIXES = (".acr.json", ".acr.cbor", ".cose")


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=complete_rule,
    help="The rule or type to check against, such as session-trace or '[* entry]'.",
)
@schema_option(help="The schema.  [default: the one the record's version names]")
@click.option("--strict", is_flag=True, help="Exit 5 when there are remarks.")
@voice_options
def command(
    files: tuple[str, ...],
    rule: str | None,
    schema: str | None,
    strict: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Check records, session traces, arrays of entries and signed records, in JSON or CBOR.

    One line for each file; for an invalid one also what is wrong, where, and which rule says so.
    Remarks, shown with -v, are what real sessions do have: calls without an answer, lines out of
    order. Of a FOLDER, all records in it and below are checked.

    \b
    Example:
      vacr validate *.acr.json
      vacr validate records/
      vacr validate entries.json --rule '[* entry]'
      vacr validate data.cbor --schema my.cddl
    """
    voice = Voice(format, quiet, verbose)
    chosen = load_schema(schema) if schema else None
    if rule:
        check_rule_exists(rule, chosen)
    results = [result for path in files for result in _validate_path(path, rule, chosen, voice)]
    voice.data({"results": results})
    remarks = any(result["remarks"] for result in results)
    return max(result["exit"] for result in results) or (EXIT_FINDINGS if strict and remarks else 0)


def _validate_path(
    path: str, rule: str | None, schema: Schema | None, voice: Voice
) -> Iterator[dict[str, Any]]:
    """Check a file, or all records in a folder; one that cannot be gone through whole gives no
    verdict.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield _validate_file(path, rule, schema, voice)
        return
    failed: list[OSError] = []
    found = [
        os.path.join(folder, name)  # noqa: PTH118
        for folder, _, names in os.walk(path, onerror=failed.append)
        for name in names
    ]
    records = sorted(name for name in found if name.endswith(_RECORD_SUFFIXES))
    for record in records:
        yield _validate_file(record, rule, schema, voice)
    for error in failed:
        yield _report_unreadable(
            path, UnreadableInput(describe_file_error(error), where=str(error.filename)), voice
        )
    if not records and not failed:
        hint = (
            f"The names of records end in {' or '.join(_RECORD_SUFFIXES)}; name others one by one."
        )
        yield _report_unreadable(
            path, UnreadableInput("there is no record in it", where=path, hint=hint), voice
        )


def _validate_file(
    path: str, rule: str | None, schema: Schema | None, voice: Voice
) -> dict[str, Any]:
    """Check one file and say the verdict."""
    try:
        value, form = read_json_or_cbor(path)
        report = validate(value, rule=rule, schema=schema, json=form == "json")
        checked = not report.findings and (schema is None or is_record_schema(schema))
        findings, more_remarks = (
            _check_beyond_schema(value, json=form == "json") if checked else (report.findings, [])
        )
    except VacrError as error:
        return _report_unreadable(path, error, voice)
    remarks = report.remarks + more_remarks
    for line in _format_verdict_lines(path, report, findings, remarks, value):
        voice.result(line)
    for remark in remarks:
        voice.notice(f"{path}: remark: {remark.text()}", 1)
    return {
        "file": path,
        "valid": not findings,
        "rule": report.rule,
        "schema": report.schema,
        "form": form,
        "findings": [_build_finding_document(finding) for finding in findings],
        "findings-cut": len(findings) >= MAX_SEMANTIC_FINDINGS,
        "remarks": [_build_finding_document(remark) for remark in remarks],
        "exit": EXIT_INVALID if findings else 0,
        **({"signature": "not checked"} if report.rule == SIGNED_RECORD_RULE else {}),
        **_summarize_record(value),
    }


def _report_unreadable(path: str, error: VacrError, voice: Voice) -> dict[str, Any]:
    """Say that there is no verdict, and why."""
    place = f" ({error.where})" if error.where and error.where != path else ""
    voice.error(f"{path}: unreadable: {error.message}{place}", error.hint)
    told = {
        "file": path,
        "valid": None,
        "error": error.message,
        "where": error.where,
        "hint": error.hint,
    }
    return told | {"findings": [], "remarks": [], "exit": error.exit_code}


def _check_beyond_schema(value: Any, *, json: bool) -> tuple[list[Finding], list[Finding]]:
    """Check what takes more than the value: that a record has its own id, and that a signed record
    holds a valid one.
    """
    kind = choose_rule(value)
    if (
        kind == "verifiable-agent-record"
        and isinstance(value, dict)
        and isinstance(value.get("id"), str)
    ):
        return _compare_record_id(value, json=json)
    if (
        kind == SIGNED_RECORD_RULE
        and isinstance(value.value, list | tuple)
        and len(value.value) > _PAYLOAD_INDEX
    ):
        payload = value.value[_PAYLOAD_INDEX]
        if isinstance(payload, bytes):
            return _validate_signed_payload(payload, value.value[1]), []
    return [], []


def _compare_record_id(record: Any, *, json: bool) -> tuple[list[Finding], list[Finding]]:
    """Compare a record's id with the one that its content gives, in the version that vacr makes
    records in.
    """
    rule = "the id is that of the content"
    record = convert_to_original_version(record, json=json)
    if not is_made_by_vacr(record):
        agent = record.get("recording-agent")
        made_by = shorten_value(agent.get("name") if isinstance(agent, dict) else "nobody")
        return [], [
            Finding("/id", rule, f"recorded by {made_by}", "vacr, whose ids can be checked")
        ]
    try:
        expected = compute_record_id(record)
    except InvalidRecord as error:
        return [
            Finding(error.where, rule, error.message, "what vacr writes, which JSON can hold too")
        ], []
    if record["id"] == expected:
        return [], []
    changed = f"{shorten_value(record['id'])}: the record was changed after it was made"
    return [Finding("/id", rule, changed, f"{expected!r}, which the content gives")], []


def _validate_signed_payload(payload: bytes, header: Any) -> list[Finding]:
    """Check the record in a signed one, and the digest that its metadata gives; native sessions may
    be signed as well.
    """
    metadata = header.get(TRACE_METADATA_LABEL) if isinstance(header, dict) else None
    told = metadata.get("content-hash") if isinstance(metadata, dict) else None
    digest = hashlib.sha256(payload).hexdigest()
    if told is not None and told != digest:
        return [
            Finding(
                "/1/100/content-hash",
                "the digest is that of the payload",
                shorten_value(told),
                repr(digest),
            )
        ]
    try:
        record, form = detect_and_decode(payload)
    except VacrError:
        return []
    if not isinstance(record, dict) or not {"version", "session"} <= record.keys():
        return []
    inner = validate(record, json=form == "json")
    findings = inner.findings or _compare_record_id(record, json=form == "json")[0]
    return [
        Finding(f"/{_PAYLOAD_INDEX}{one.pointer}", one.rule, one.found, one.expected)
        for one in findings
    ]


def _format_verdict_lines(
    path: str, report: ValidationReport, findings: list[Finding], remarks: list[Finding], value: Any
) -> list[str]:
    if findings:
        least = "at least " if len(findings) >= MAX_SEMANTIC_FINDINGS else ""
        return [
            f"{path}: invalid, {least}{format_count(len(findings), 'finding')}",
            *(f"  {finding.text()}" for finding in findings),
        ]
    told = [report.rule, f"schema {Path(report.schema).stem}"]
    if report.rule == SIGNED_RECORD_RULE:
        told.append("signature not checked")
    if "entries" in (named := _summarize_record(value)):
        told.append(format_count(named["entries"], "entry"))
    if remarks:
        told.append(format_count(len(remarks), "remark"))
    return [f"{path}: valid ({', '.join(told)})"]


def _summarize_record(value: Any) -> dict[str, Any]:
    """Name the record that a value is, as far as it is one."""
    session = value.get("session") if isinstance(value, dict) else None
    if not isinstance(session, dict) or not isinstance(session.get("entries"), list):
        return {}
    named = {"id": value.get("id"), "session-id": session.get("session-id")}
    return {name: text for name, text in named.items() if isinstance(text, str)} | {
        "entries": len(session["entries"])
    }


def _build_finding_document(finding: Finding) -> dict[str, str]:
    return {
        "pointer": finding.pointer,
        "rule": finding.rule,
        "found": finding.found,
        "expected": finding.expected,
    }
