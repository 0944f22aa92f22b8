"""`vacr validate`: records → findings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import FINDINGS, PATH, Voice, plural
from vacr.cli.records import load
from vacr.cli.schemas import load_schema, refuse_unknown_rule
from vacr.errors import InvalidRecord, UnreadableInput, VacrError
from vacr.identity import made_by_vacr, record_id
from vacr.schema import Finding, Report, is_ours, rule_for, validate
from vacr.schema.cddl import Schema
from vacr.schema.semantics import LIMIT, short
from vacr.sources.files import reason_of
from vacr.versions.made import as_made

FAILED = 1
SIGNED = "signed-agent-record"
TRACE_METADATA = 100
_PAYLOAD = 2
_RECORDS = (".acr.json", ".acr.cbor", ".cose")


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=options.complete_rule,
    help="The rule or type to check against, such as session-trace or '[* entry]'.",
)
@options.schema_option(help="The schema.  [default: the one the record's version names]")
@click.option("--strict", is_flag=True, help="Exit 5 when there are remarks.")
@options.voice_options
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
        refuse_unknown_rule(rule, chosen)
    results = [result for path in files for result in _results(path, rule, chosen, voice)]
    voice.data({"results": results})
    remarks = any(result["remarks"] for result in results)
    return max(result["exit"] for result in results) or (FINDINGS if strict and remarks else 0)


def _results(
    path: str, rule: str | None, schema: Schema | None, voice: Voice
) -> Iterator[dict[str, Any]]:
    """Check a file, or all records in a folder; one that cannot be gone through whole gives no
    verdict.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - a path that a user gave
        yield _check(path, rule, schema, voice)
        return
    failed: list[OSError] = []
    found = [
        os.path.join(folder, name)  # noqa: PTH118
        for folder, _, names in os.walk(path, onerror=failed.append)
        for name in names
    ]
    records = sorted(name for name in found if name.endswith(_RECORDS))
    for record in records:
        yield _check(record, rule, schema, voice)
    for error in failed:
        yield _unreadable(path, UnreadableInput(reason_of(error), where=str(error.filename)), voice)
    if not records and not failed:
        hint = f"The names of records end in {' or '.join(_RECORDS)}; name others one by one."
        yield _unreadable(
            path, UnreadableInput("there is no record in it", where=path, hint=hint), voice
        )


def _check(path: str, rule: str | None, schema: Schema | None, voice: Voice) -> dict[str, Any]:
    """Check one file and say the verdict."""
    try:
        value, form = load(path)
        report = validate(value, rule=rule, schema=schema, json=form == "json")
        checked = not report.findings and (schema is None or is_ours(schema))
        findings, more_remarks = (
            _more(value, json=form == "json") if checked else (report.findings, [])
        )
    except VacrError as error:
        return _unreadable(path, error, voice)
    remarks = report.remarks + more_remarks
    for line in _lines(path, report, findings, remarks, value):
        voice.result(line)
    for remark in remarks:
        voice.notice(f"{path}: remark: {remark.text()}", 1)
    return {
        "file": path,
        "valid": not findings,
        "rule": report.rule,
        "schema": report.schema,
        "form": form,
        "findings": [_told(finding) for finding in findings],
        "findings-cut": len(findings) >= LIMIT,
        "remarks": [_told(remark) for remark in remarks],
        "exit": FAILED if findings else 0,
        **({"signature": "not checked"} if report.rule == SIGNED else {}),
        **_named(value),
    }


def _unreadable(path: str, error: VacrError, voice: Voice) -> dict[str, Any]:
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


def _more(value: Any, *, json: bool) -> tuple[list[Finding], list[Finding]]:
    """Check what takes more than the value: that a record has its own id, and that a signed record
    holds a valid one.
    """
    kind = rule_for(value)
    if (
        kind == "verifiable-agent-record"
        and isinstance(value, dict)
        and isinstance(value.get("id"), str)
    ):
        return _identity(value, json=json)
    if kind == SIGNED and isinstance(value.value, list | tuple) and len(value.value) > _PAYLOAD:
        payload = value.value[_PAYLOAD]
        if isinstance(payload, bytes):
            return _signed(payload, value.value[1]), []
    return [], []


def _identity(record: Any, *, json: bool) -> tuple[list[Finding], list[Finding]]:
    """Compare a record's id with the one that its content gives, in the version that vacr makes
    records in.
    """
    rule = "the id is that of the content"
    record = as_made(record, json=json)
    if not made_by_vacr(record):
        agent = record.get("recording-agent")
        made_by = short(agent.get("name") if isinstance(agent, dict) else "nobody")
        return [], [
            Finding("/id", rule, f"recorded by {made_by}", "vacr, whose ids can be checked")
        ]
    try:
        expected = record_id(record)
    except InvalidRecord as error:
        return [
            Finding(error.where, rule, error.message, "what vacr writes, which JSON can hold too")
        ], []
    if record["id"] == expected:
        return [], []
    changed = f"{short(record['id'])}: the record was changed after it was made"
    return [Finding("/id", rule, changed, f"{expected!r}, which the content gives")], []


def _signed(payload: bytes, header: Any) -> list[Finding]:
    """Check the record in a signed one, and the digest that its metadata gives; native sessions may
    be signed as well.
    """
    metadata = header.get(TRACE_METADATA) if isinstance(header, dict) else None
    told = metadata.get("content-hash") if isinstance(metadata, dict) else None
    digest = hashlib.sha256(payload).hexdigest()
    if told is not None and told != digest:
        return [
            Finding(
                "/1/100/content-hash",
                "the digest is that of the payload",
                short(told),
                repr(digest),
            )
        ]
    try:
        record, form = codec.decode_either(payload)
    except VacrError:
        return []
    if not isinstance(record, dict) or not {"version", "session"} <= record.keys():
        return []
    inner = validate(record, json=form == "json")
    findings = inner.findings or _identity(record, json=form == "json")[0]
    return [
        Finding(f"/{_PAYLOAD}{one.pointer}", one.rule, one.found, one.expected) for one in findings
    ]


def _lines(
    path: str, report: Report, findings: list[Finding], remarks: list[Finding], value: Any
) -> list[str]:
    if findings:
        least = "at least " if len(findings) >= LIMIT else ""
        return [
            f"{path}: invalid, {least}{plural(len(findings), 'finding')}",
            *(f"  {finding.text()}" for finding in findings),
        ]
    told = [report.rule, f"schema {Path(report.schema).stem}"]
    if report.rule == SIGNED:
        told.append("signature not checked")
    if "entries" in (named := _named(value)):
        told.append(plural(named["entries"], "entry"))
    if remarks:
        told.append(plural(len(remarks), "remark"))
    return [f"{path}: valid ({', '.join(told)})"]


def _named(value: Any) -> dict[str, Any]:
    """Name the record that a value is, as far as it is one."""
    session = value.get("session") if isinstance(value, dict) else None
    if not isinstance(session, dict) or not isinstance(session.get("entries"), list):
        return {}
    named = {"id": value.get("id"), "session-id": session.get("session-id")}
    return {name: text for name, text in named.items() if isinstance(text, str)} | {
        "entries": len(session["entries"])
    }


def _told(finding: Finding) -> dict[str, str]:
    return {
        "pointer": finding.pointer,
        "rule": finding.rule,
        "found": finding.found,
        "expected": finding.expected,
    }
