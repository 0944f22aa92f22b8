"""The action that audits a pull request: `action.yml` runs this module."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.action.auditing import (
    AUDIT_FAIL_POLICIES,
    AUDIT_NEVER_FAILS,
    AUDIT_UNKNOWN,
    Audit,
    audit_commits,
)
from vacr.action.keys import InputKeys
from vacr.action.summary import format_audit_summary
from vacr.action.workflow import (
    GitHubWorkflow,
    read_choice_input,
    read_flag_input,
    read_input,
    read_input_paths,
    run_action,
)
from vacr.blame import Repository, find_work_tree_names
from vacr.cli import run_command_line
from vacr.cli.options import Voice, encode_output_document
from vacr.cli.relying import EvidenceOptions
from vacr.cli.verdicts import VerificationOptions
from vacr.cli.verify import report_verdicts
from vacr.errors import UnreadableInput, UsageError
from vacr.evidence import Tier

_AUDIT_FAILED_EXIT = 1
_NO_TEXT_MESSAGE = "no text, so nothing proves who made it"
_EVIDENCE_TIERS = ("", Tier.AFFIRMING.label, Tier.WARNING.label)


def audit_pull_request(told: GitHubWorkflow) -> int:
    """Audit, and tell the workflow what came of it.

    Raises:
        VacrError: an input is wrong, or something cannot be read.
    """
    named, policy = read_input_paths("records"), read_choice_input("fail-on", AUDIT_FAIL_POLICIES)
    if not named:
        raise UsageError(
            "the input records is empty",
            hint="Name the folder or the files that the records are in.",
        )
    repository = Repository(".")
    base, revision = _find_commit_range(repository)
    report = read_input("report") or str(
        Path(os.environ.get("RUNNER_TEMP") or ".") / "vacr-report.json"
    )
    _check_output_paths(repository, report, read_input("pages"))
    _check_record_links(repository, named)
    with TemporaryDirectory(prefix="vacr-") as folder:
        keys = InputKeys(Path(folder), repository, base)
        wanted = _read_verify_options(keys)
        for remark in keys.remarks:
            told.annotate("warning", remark)
        found = audit_commits(
            named, wanted, repository, revision, trusting=bool(read_input("trust"))
        )
        _print_audit(found)
        pages = _write_pages(named, wanted, read_input("pages"))
    _annotate_audit(found, policy, told)
    Path(report).write_bytes(
        encode_output_document({**found.told(), "fail-on": policy, "pages": pages}) + b"\n"
    )
    told.summarise(format_audit_summary(found))
    total = found.lines["total"]
    for kind in ("ai", "human", "mixed", "unknown"):
        told.output(f"{kind}-lines", total[kind])
    for name, value in (("verdict", found.verdict), ("report", report), ("pages", pages)):
        told.output(name, value)
    return _AUDIT_FAILED_EXIT if found.fails(policy) else 0


def _find_commit_range(repository: Repository) -> tuple[str | None, str]:
    """Give the base of what is audited, and what is: all commits since, or, without a base, the
    last one alone.

    Raises:
        UnreadableInput: there are no such commits.
    """
    head, base = repository.commit(read_input("head") or "HEAD"), read_input("base")
    # Of a branch that was just pushed, GitHub names a commit of zeros as the one before.
    if not base.strip("0"):
        return None, head
    try:
        first = repository.commit(base)
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
    """Refuse to write where the repository has something: it may be a link that leads out, or a
    page that looks like ours.

    Raises:
        UsageError: it has.
    """
    head = repository.commit("HEAD")
    for path in filter(None, outputs):
        if any(repository.holds(head, name) for name in find_work_tree_names(repository, path)):
            hint = "Name one that it does not have, such as one in ${{ runner.temp }}."
            raise UsageError(
                f"{path} is the repository's, and nothing of ours is written there", hint=hint
            )


def _check_record_links(repository: Repository, named: list[str]) -> None:
    """Refuse a link of the repository to somewhere else on this machine: what lies there would be
    shown in pages.

    Raises:
        UsageError: there is one.
    """
    head = repository.commit("HEAD")
    for path in named:
        inside = find_work_tree_names(repository, os.path.realpath(path))
        if not inside and any(
            repository.holds(head, name) for name in find_work_tree_names(repository, path)
        ):
            raise UsageError(
                f"{path} is a link that leads out of the repository",
                hint="Name the folder that it leads to.",
            )


def _read_verify_options(keys: InputKeys) -> VerificationOptions:
    """Take from the inputs what is asked of statements."""
    tier, verifiers = (
        read_choice_input("require-evidence", _EVIDENCE_TIERS),
        keys.files("verifier-key"),
    )
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


def _print_audit(found: Audit) -> None:
    """Say in the log what was found."""
    voice = Voice("text", False, 0)  # noqa: FBT003
    if found.records:
        report_verdicts(found.records, voice)
    for file in found.lines["files"]:
        voice.result(
            f"{file['path']}: "
            f"{', '.join(f'{file[kind]} {kind}' for kind in ('ai', 'human', 'mixed', 'unknown'))}"
        )
    for name in found.lines["no-text"]:
        voice.result(f"{name}: no text")
    voice.result(f"verdict: {found.verdict}")


def _write_pages(named: list[str], wanted: VerificationOptions, folder: str) -> str:
    """Make pages of the records, if they are asked for; of several folders, in a folder each."""
    there = [path for path in named if Path(path).exists()]
    if not folder or not there:
        return ""
    keys = [word for name in wanted.trust for word in ("--trust", name)]
    keys += [word for name in wanted.log_keys for word in ("--log-key", name)]
    for number, path in enumerate(there, 1):
        target = Path(folder) if len(there) == 1 else Path(folder) / str(number)
        # What does not hold is told already, and its page says so.
        run_command_line(["view", "-o", f"{target}/", "--overwrite", *keys, "--", path])
    return folder


def _annotate_audit(found: Audit, policy: str, told: GitHubWorkflow) -> None:
    """Put remarks beside records that do not hold, and beside lines."""
    for one in found.failed:
        name = os.path.normpath(one["file"] or one["statement"])  # as GitHub names it
        told.annotate(
            "warning" if policy == AUDIT_NEVER_FAILS else "error",
            f"not verified: {one['message']}",
            name,
        )
    for path in found.missing:
        told.annotate("warning", f"there is nothing at {path}, so there are no records of it")
    for left in found.left_out:
        told.annotate("warning", f"left out: {left}")
    ranges = [(file["path"], one) for file in found.lines["files"] for one in file["ranges"]]
    for path, one in sorted(ranges, key=lambda item: item[1]["start-line"] - item[1]["end-line"]):
        if one["contributor"]["type"] != AUDIT_UNKNOWN:
            told.annotate(
                "notice", _describe_line_range(one), path, (one["start-line"], one["end-line"])
            )
        elif policy == AUDIT_UNKNOWN:
            told.annotate(
                "error", "nothing proves who wrote this", path, (one["start-line"], one["end-line"])
            )
    for name in found.lines["no-text"]:
        told.annotate("error" if policy == AUDIT_UNKNOWN else "warning", _NO_TEXT_MESSAGE, name)


def _describe_line_range(one: dict[str, Any]) -> str:
    """Say whose some lines are."""
    who = one["contributor"]
    by = f" by {who['model-id']}" if "model-id" in who else ""
    prompt = f": {one['prompt']}" if "prompt" in one else ""
    return f"{who['type']}{by}, conversation {one['session-id']}, {one['evidence']}{prompt}"


if __name__ == "__main__":
    sys.exit(run_action(audit_pull_request))
