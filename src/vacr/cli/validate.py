"""`vacr validate`: records → findings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options
from vacr.cli.options import FINDINGS, PATH, Voice, plural, text_of
from vacr.cli.schemas import load_schema, refuse_unknown_rule
from vacr.errors import VacrError
from vacr.identity import made_by_vacr, record_id
from vacr.schema import Finding, Report, validate
from vacr.schema.cddl import Schema
from vacr.schema.semantics import LIMIT
from vacr.sources import read_bytes

FAILED = 1


@click.command(no_args_is_help=True, short_help="Check records against their schema.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
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

    One line for each file; for an invalid one also what is wrong, where, and which rule says so. Remarks, shown with -v,
    are what real sessions do have: calls without an answer, lines out of order.

    \b
    Example:
      vacr validate *.acr.json
      vacr validate entries.json --rule '[* entry]'
      vacr validate data.cbor --schema my.cddl
    """
    voice = Voice(format, quiet, verbose)
    chosen = load_schema(schema) if schema else None
    if rule:
        refuse_unknown_rule(rule, chosen)
    results = [_check(path, rule, chosen, voice) for path in files]
    voice.data({"results": results})
    remarks = any(result["remarks"] for result in results)
    return max(result["exit"] for result in results) or (FINDINGS if strict and remarks else 0)


def _check(path: str, rule: str | None, schema: Schema | None, voice: Voice) -> dict[str, Any]:
    """Check one file and say the verdict."""
    try:
        data = read_bytes(path)
        form = codec.form_of(data) if data else "json"
        value = codec.decode(data)
        report = validate(value, rule=rule, schema=schema, json=form == "json")
    except VacrError as error:
        return _unreadable(path, error, voice)
    findings, more_remarks = (report.findings, []) if report.findings else _more(value, report)
    remarks = report.remarks + more_remarks
    for line in _lines(path, report, findings, remarks, value):
        voice.result(line)
    for remark in remarks:
        voice.notice(f"{path}: remark: {remark.text()}", 1)
    return {
        "file": text_of(path),
        "valid": not findings,
        "rule": report.rule,
        "schema": report.schema,
        "form": form,
        "findings": [_told(finding) for finding in findings],
        "findings-cut": len(findings) >= LIMIT,
        "remarks": [_told(remark) for remark in remarks],
        "exit": FAILED if findings else 0,
        **_named(value),
    }


def _unreadable(path: str, error: VacrError, voice: Voice) -> dict[str, Any]:
    """Say that there is no verdict, and why."""
    place = f" ({error.where})" if error.where and error.where != path else ""
    hint = error.hint
    if "more text after the value" in error.message:
        hint = "A native session has several values; make a record of it first: vacr record FILE."
    voice.error(f"{path}: unreadable: {error.message}{place}" + (f"\n  {hint}" if hint else ""))
    told = {"file": text_of(path), "valid": None, "error": error.message, "where": text_of(error.where), "hint": hint}
    return told | {"findings": [], "remarks": [], "exit": error.exit_code}


def _more(value: Any, report: Report) -> tuple[list[Finding], list[Finding]]:
    """Check what takes more than the value: that a record has its own id, and that a signed record holds a valid one."""
    if report.rule == "verifiable-agent-record":
        if not made_by_vacr(value):
            made_by = repr(value.get("recording-agent", {}).get("name", "nobody"))[:60]
            return [], [
                Finding("/id", "the id is that of the content", f"recorded by {made_by}", "vacr, whose ids can be checked")
            ]
        expected = record_id(value)
        if value["id"] != expected:
            changed = f"{value['id']!r}: the record was changed after it was made"
            return [Finding("/id", "the id is that of the content", changed, f"{expected!r}, which the content gives")], []
    if report.rule == "signed-agent-record" and isinstance(payload := value.value[2], bytes):
        try:
            inner = validate(codec.decode(payload))
        except VacrError:
            # A native session or a digest may be signed as well: then there is no record to look at.
            return [], []
        return [Finding(f"/2{one.pointer}", one.rule, one.found, one.expected) for one in inner.findings], []
    return [], []


def _lines(path: str, report: Report, findings: list[Finding], remarks: list[Finding], value: Any) -> list[str]:
    if findings:
        cut = f" (the first {LIMIT})" if len(findings) >= LIMIT else ""
        return [f"{path}: invalid, {plural(len(findings), 'finding')}{cut}", *(f"  {finding.text()}" for finding in findings)]
    told = [report.rule, f"schema {Path(report.schema).stem}"]
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
    return {name: text for name, text in named.items() if isinstance(text, str)} | {"entries": len(session["entries"])}


def _told(finding: Finding) -> dict[str, str]:
    return {"pointer": finding.pointer, "rule": finding.rule, "found": finding.found, "expected": finding.expected}
