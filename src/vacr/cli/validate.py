"""`vacr validate`: records → findings."""

from __future__ import annotations

from pathlib import Path

import click

from vacr.cli.options import EXIT_FINDINGS, PATH, Verb, complete_rule, schema_option, voice_options
from vacr.console import Voice
from vacr.workflows import (
    SIGNED_RECORD_RULE,
    FileVerdict,
    check_rule_exists,
    format_count,
    load_schema,
    validate_path,
)


@click.command(no_args_is_help=True, cls=Verb)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER...", type=PATH)
@click.option(
    "--rule",
    metavar="RULE",
    shell_complete=complete_rule,
    help="CDDL rule or type to check against, such as session-trace or '[* entry]'.",
)
@schema_option(help="Schema to check against.  [default: by the version of the record]")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 5 instead of 0 if there are remarks, but no findings.",
)
@voice_options
def command(
    files: tuple[str, ...],
    rule: str | None,
    schema: str | None,
    strict: bool,
    format: str,
    quiet: bool,
    verbose: int,
) -> int:
    """Check records against their schema, and for contradictions.

    FILE is a record, a session trace, an array of entries or a signed record, in JSON or CBOR. vacr
    prints one line per file. For an invalid file, vacr also prints each finding with its place and
    the violated rule. -v shows remarks: irregularities of real sessions, such as calls without a
    result. In a FOLDER, all records are checked, with those in subfolders.

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
    verdicts = []
    for path in files:
        for verdict in validate_path(path, rule, chosen):
            _report_verdict(verdict, voice)
            verdicts.append(verdict)
    voice.data({"results": [verdict.build_document() for verdict in verdicts]})
    has_remarks = any(verdict.remarks for verdict in verdicts)
    worst = max(verdict.exit_code for verdict in verdicts)
    return worst or (EXIT_FINDINGS if strict and has_remarks else 0)


def _report_verdict(verdict: FileVerdict, voice: Voice) -> None:
    """Print the verdict about a file, or why the file is unreadable; `-v` prints remarks."""
    error = verdict.error
    if error is not None:
        place = f" ({error.where})" if error.where and error.where != verdict.path else ""
        voice.error(f"{verdict.path}: unreadable: {error.message}{place}", error.hint)
        return
    for line in _format_verdict(verdict):
        voice.result(line)
    for remark in verdict.remarks:
        voice.notice(f"{verdict.path}: remark: {remark.text()}", 1)


def _format_verdict(verdict: FileVerdict) -> list[str]:
    """Return one line for a valid file; for an invalid one, also a line for each finding."""
    if verdict.findings:
        at_least = "at least " if verdict.is_cut else ""
        count = format_count(len(verdict.findings), "finding")
        lines = [f"{verdict.path}: invalid, {at_least}{count}"]
        return lines + [f"  {finding.text()}" for finding in verdict.findings]
    facts = [verdict.rule, f"schema {Path(verdict.schema).stem}"]
    if verdict.rule == SIGNED_RECORD_RULE:
        facts.append("signature not checked")
    if "entries" in verdict.summary:
        facts.append(format_count(verdict.summary["entries"], "entry"))
    if verdict.remarks:
        facts.append(format_count(len(verdict.remarks), "remark"))
    return [f"{verdict.path}: valid ({', '.join(facts)})"]
