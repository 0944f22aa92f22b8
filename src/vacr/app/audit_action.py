"""The action that audits a pull request: `action.yml` runs this module.

It verifies the records that a repository holds, finds out who wrote the new lines, and reports that
as annotations, outputs, a summary, a JSON report and pages:

    >>> from vacr.app.audit_action import _describe_line_range
    >>> _describe_line_range({
    ...     "contributor": {"type": "ai", "model-id": "sonnet"},
    ...     "session-id": "s-1", "evidence": "call-result", "prompt": "Add a test",
    ... })
    'ai by sonnet, conversation s-1, call-result: Add a test'

The pull request is not trusted: nothing is written where its repository has a file, no link leads
out of it, and keys come from its base.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.app.commit_audit import (
    AUDIT_FAIL_POLICIES,
    AUDIT_NEVER_FAILS,
    AUDIT_UNKNOWN,
    Audit,
    audit_commits,
)
from vacr.app.github import (
    GitHubWorkflow,
    InputKeys,
    read_choice_input,
    read_flag_input,
    read_input,
    read_input_paths,
    run_action,
)
from vacr.app.summaries import format_audit_summary
from vacr.blame import Repository, find_work_tree_names
from vacr.console import Voice, align_columns, encode_output_document, get_terminal_width
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.evidence import Tier
from vacr.workflows import (
    CONTRIBUTOR_TYPES,
    EvidenceOptions,
    PageRun,
    VerificationOptions,
    build_verdict_rows,
    format_count,
    format_verdict_totals,
)

_AUDIT_FAILED_EXIT = 1
_NO_TEXT_MESSAGE = "no text, so nothing proves who made it"
_EVIDENCE_TIERS = ("", Tier.AFFIRMING.label, Tier.WARNING.label)


def audit_pull_request(workflow: GitHubWorkflow) -> int:
    """Audit the pull request, report the result, and return the exit code.

    Raises:
        VacrError: an input is wrong, or something cannot be read.
    """
    paths = read_input_paths("records")
    policy = read_choice_input("fail-on", AUDIT_FAIL_POLICIES)
    if not paths:
        raise UsageError(
            "the input records is empty",
            hint="Name the folder or the files that the records are in.",
        )
    repository = Repository(".")
    base, revision = _find_commit_range(repository)
    temporary = Path(os.environ.get("RUNNER_TEMP") or ".")
    report = read_input("report") or str(temporary / "vacr-report.json")
    _check_output_paths(repository, report, read_input("pages"))
    _check_record_links(repository, paths)
    with TemporaryDirectory(prefix="vacr-") as folder:
        keys = InputKeys(Path(folder), repository, base)
        options = _read_verification_options(keys)
        for remark in keys.remarks:
            workflow.annotate("warning", remark)
        trusting = bool(read_input("trust"))
        audit = audit_commits(paths, options, repository, revision, trusting=trusting)
        _print_audit(audit)
        pages = _write_pages(paths, options, read_input("pages"))
    _annotate_audit(audit, policy, workflow)
    document = {**audit.build_document(), "fail-on": policy, "pages": pages}
    Path(report).write_bytes(encode_output_document(document) + b"\n")
    workflow.summarise(format_audit_summary(audit))
    for kind in CONTRIBUTOR_TYPES:
        workflow.output(f"{kind}-lines", audit.lines["total"][kind])
    for name, value in (("verdict", audit.verdict), ("report", report), ("pages", pages)):
        workflow.output(name, value)
    return _AUDIT_FAILED_EXIT if audit.fails(policy) else 0


def _find_commit_range(repository: Repository) -> tuple[str | None, str]:
    """Return the base and the audited revisions: all since the base, or only the last commit.

    Raises:
        UnreadableInput: there are no such commits.
    """
    head, base = repository.resolve_commit(read_input("head") or "HEAD"), read_input("base")
    # For a new branch, GitHub names a commit of zeros as the one before.
    if not base.strip("0"):
        return None, head
    try:
        first = repository.resolve_commit(base)
    except UnreadableInput as error:
        hint = (
            "actions/checkout needs fetch-depth: 0; where a push by force has replaced it, "
            "name another with the input base."
        )
        raise UnreadableInput(
            error.message, where=error.where, hint=f"{error.hint}\n{hint}"
        ) from error
    return first, f"{first}..{head}"


def _check_output_paths(repository: Repository, *outputs: str) -> None:
    """Refuse to write where the repository has a file, which may be a link or a forged page.

    Raises:
        UsageError: it has one.
    """
    head = repository.resolve_commit("HEAD")
    for path in filter(None, outputs):
        if any(repository.has_path(head, name) for name in find_work_tree_names(repository, path)):
            hint = "Name one that it does not have, such as one in ${{ runner.temp }}."
            raise UsageError(
                f"{path} is the repository's, and nothing of ours is written there", hint=hint
            )


def _check_record_links(repository: Repository, paths: list[str]) -> None:
    """Refuse links of the repository to files of the machine, which pages would show.

    Raises:
        UsageError: there is one.
    """
    head = repository.resolve_commit("HEAD")
    for path in paths:
        is_inside = bool(find_work_tree_names(repository, os.path.realpath(path)))
        if not is_inside and any(
            repository.has_path(head, name) for name in find_work_tree_names(repository, path)
        ):
            raise UsageError(
                f"{path} is a link that leads out of the repository",
                hint="Name the folder that it leads to.",
            )


def _read_verification_options(keys: InputKeys) -> VerificationOptions:
    """Return what the inputs require of statements."""
    tier = read_choice_input("require-evidence", _EVIDENCE_TIERS)
    verifiers = keys.files("verifier-key")
    if bool(tier) != bool(read_input("verifier-key")):
        raise UsageError(
            "require-evidence and verifier-key go together",
            hint="Name a verifier whose results are believed.",
        )
    return VerificationOptions(
        trust=keys.files("trust"),
        log_keys=keys.files("log-key"),
        issuer=read_input("issuer") or None,
        timestamp_trust=keys.files("timestamp-trust"),
        needs_timestamp=read_flag_input("require-timestamp"),
        evidence=EvidenceOptions(tier, verifier_keys=verifiers) if tier else None,
    )


def _print_audit(audit: Audit) -> None:
    """Print the verdicts and the lines into the log of the job."""
    voice = Voice("text", quiet=False, verbose=0)
    if audit.records:
        rows = build_verdict_rows(audit.records)
        width = get_terminal_width(sys.stdout)
        for line in align_columns(rows, right=frozenset(), width=width):
            voice.result(line)
        voice.result(format_verdict_totals(audit.records))
    for file in audit.lines["files"]:
        counts = ", ".join(f"{file[kind]} {kind}" for kind in CONTRIBUTOR_TYPES)
        voice.result(f"{file['path']}: {counts}")
    for name in audit.lines["no-text"]:
        voice.result(f"{name}: no text")
    voice.result(f"verdict: {audit.verdict}")


def _write_pages(paths: list[str], options: VerificationOptions, folder: str) -> str:
    """Write pages of the records, if asked to; several paths get a folder each."""
    existing = [path for path in paths if Path(path).exists()]
    if not folder or not existing:
        return ""
    voice = Voice("text", quiet=False, verbose=0)
    shown = VerificationOptions(trust=options.trust, log_keys=options.log_keys)

    def report_error(error: VacrError) -> None:
        voice.error(f"vacr: {error}", error.hint)

    for number, path in enumerate(existing, 1):
        target = Path(folder) if len(existing) == 1 else Path(folder) / str(number)
        try:
            # Records that are not verified are reported already, and their pages say so.
            run = PageRun(path, shown, None, report_error)
            run.report_page = lambda page: voice.result(page.describe())
            run.write(f"{target}/", overwrite=True)
        except VacrError as error:
            report_error(error)
            continue
        if run.is_archive:
            voice.result(f"{run.index}: {format_count(len(run.pages), 'conversation')}")
    return folder


def _annotate_audit(audit: Audit, policy: str, workflow: GitHubWorkflow) -> None:
    """Annotate records that are not verified, and lines with their contributors."""
    for verdict in audit.failed:
        name = os.path.normpath(verdict["file"] or verdict["statement"])  # as GitHub names it
        level = "warning" if policy == AUDIT_NEVER_FAILS else "error"
        workflow.annotate(level, f"not verified: {verdict['message']}", name)
    for path in audit.missing:
        workflow.annotate("warning", f"there is nothing at {path}, so there are no records of it")
    for reason in audit.left_out:
        workflow.annotate("warning", f"left out: {reason}")
    ranges = [
        (file["path"], line_range) for file in audit.lines["files"] for line_range in file["ranges"]
    ]
    # GitHub shows only some annotations, so the longest ranges come first.
    ranges.sort(key=lambda item: item[1]["start-line"] - item[1]["end-line"])
    for path, line_range in ranges:
        lines = (line_range["start-line"], line_range["end-line"])
        if line_range["contributor"]["type"] != AUDIT_UNKNOWN:
            workflow.annotate("notice", _describe_line_range(line_range), path, lines)
        elif policy == AUDIT_UNKNOWN:
            workflow.annotate("error", "nothing proves who wrote this", path, lines)
    for name in audit.lines["no-text"]:
        level = "error" if policy == AUDIT_UNKNOWN else "warning"
        workflow.annotate(level, _NO_TEXT_MESSAGE, name)


def _describe_line_range(line_range: dict[str, Any]) -> str:
    """Return who wrote some lines, in which conversation, and for which prompt."""
    contributor = line_range["contributor"]
    by = f" by {contributor['model-id']}" if "model-id" in contributor else ""
    prompt = f": {line_range['prompt']}" if "prompt" in line_range else ""
    session, evidence = line_range["session-id"], line_range["evidence"]
    return f"{contributor['type']}{by}, conversation {session}, {evidence}{prompt}"


if __name__ == "__main__":
    sys.exit(run_action(audit_pull_request))
