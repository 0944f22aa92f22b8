"""`vacr validate`: records → findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import Voice, plural
from vacr.cli.schemas import load_schema
from vacr.errors import VacrError
from vacr.identity import record_id
from vacr.schema import Finding, Report, validate
from vacr.schema.cddl import Schema
from vacr.sources import read_bytes

FAILED = 1
FINDINGS = 5


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--rule", metavar="RULE", help="The rule or type to check against, such as session-trace or '[* entry]'.")
@click.option("--schema", "schema_name", metavar="v3|v2|FILE", help="The schema.  [default: the one the record's version names]")
@click.option("--strict", is_flag=True, help="Exit 5 when there are remarks.")
@options.voice_options
def command(
    files: tuple[str, ...],
    rule: str | None,
    schema_name: str | None,
    strict: bool,  # noqa: FBT001 - click passes flags so
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Check records, session traces, arrays of entries and signed records, in JSON or CBOR.

    One line for each file; for an invalid one also what is wrong, where, and which rule says so. Remarks, shown with -v,
    are what real sessions do have: calls without an answer, lines out of order.

    \b
    Example:
      vacr validate *.acr.json
      vacr validate entries.json --rule '[* entry]'
      vacr validate data.cbor --schema my.cddl
    """
    voice = Voice(format, quiet, verbose)
    schema = load_schema(schema_name) if schema_name else None
    if schema and rule:
        schema.checker(rule)
    results = [_check(path, rule, schema, voice) for path in files]
    voice.data({"results": results})
    codes = [result["exit"] for result in results]
    remarks = any(result["remarks"] for result in results)
    return max(codes) or (FINDINGS if strict and remarks else 0)


def _check(path: str, rule: str | None, schema: Schema | None, voice: Voice) -> dict[str, Any]:
    """Check one file and say the verdict."""
    try:
        data = read_bytes(path)
        form = codec.form_of(data) if data else "json"
        value = codec.decode(data)
        report = validate(value, rule=rule, schema=schema, json=form == "json")
    except VacrError as error:
        voice.error(f"{path}: unreadable: {error.diagnostics()}")
        return {"file": path, "valid": None, "error": str(error), "findings": [], "remarks": [], "exit": error.exit_code}
    findings = report.findings or _more(value, report)
    for line in _lines(path, report, findings, value):
        voice.result(line)
    for remark in report.remarks:
        voice.notice(f"  remark: {remark.text()}", 1)
    return {
        "file": path,
        "valid": not findings,
        "rule": report.rule,
        "schema": report.schema,
        "form": form,
        "findings": [_told(finding) for finding in findings],
        "remarks": [_told(remark) for remark in report.remarks],
        "exit": FAILED if findings else 0,
    }


def _more(value: Any, report: Report) -> list[Finding]:
    """Check what takes more than the value: that a record of ours has its own id, and that a signed record holds one."""
    if report.rule == "verifiable-agent-record" and value.get("recording-agent", {}).get("name") == "vacr":
        expected = record_id(value)
        if value["id"] != expected:
            return [Finding("/id", "the id is that of the content", repr(value["id"]), repr(expected))]
    if report.rule == "signed-agent-record" and isinstance(payload := value.value[2], bytes):
        try:
            inner = validate(codec.decode(payload))
        except VacrError:
            # A native session or a digest may be signed as well: then there is no record to look at.
            return []
        return [Finding(f"/2{one.pointer}", one.rule, one.found, one.expected) for one in inner.findings]
    return []


def _lines(path: str, report: Report, findings: list[Finding], value: Any) -> list[str]:
    if findings:
        return [f"{path}: invalid, {plural(len(findings), 'finding')}", *(f"  {finding.text()}" for finding in findings)]
    told = [report.rule, f"schema {Path(report.schema).stem}"]
    if isinstance(value, dict) and isinstance(value.get("session"), dict):
        told.append(plural(len(value["session"]["entries"]), "entry"))
    if report.remarks:
        told.append(plural(len(report.remarks), "remark"))
    return [f"{path}: valid ({', '.join(told)})"]


def _told(finding: Finding) -> dict[str, str]:
    return {"pointer": finding.pointer, "rule": finding.rule, "found": finding.found, "expected": finding.expected}
