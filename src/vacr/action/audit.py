"""The action that audits a pull request: `action.yml` runs this module."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.action import workflow
from vacr.action.auditing import FAIL_ON, NEVER, UNKNOWN, Audit, audit
from vacr.action.keys import Keys
from vacr.action.summary import audit_summary
from vacr.action.workflow import Workflow, chosen, given, paths, wished
from vacr.cli import run
from vacr.cli.options import Voice, encoded
from vacr.cli.relying import WantedEvidence
from vacr.cli.verdicts import Wanted
from vacr.cli.verify import tell_all
from vacr.errors import UnreadableInput, UsageError
from vacr.evidence.trust_tiers import Tier
from vacr.sources.git import Repository
from vacr.sources.worktrees import names_of

_NOT_MET = 1
_NO_TEXT = "no text, so nothing proves who made it"
_TIERS = ("", Tier.AFFIRMING.label, Tier.WARNING.label)


def work(told: Workflow) -> int:
    """Audit, and tell the workflow what came of it.

    Raises:
        VacrError: an input is wrong, or something cannot be read.
    """
    named, policy = paths("records"), chosen("fail-on", FAIL_ON)
    if not named:
        raise UsageError(
            "the input records is empty",
            hint="Name the folder or the files that the records are in.",
        )
    repository = Repository(".")
    base, revision = _span(repository)
    report = given("report") or str(Path(os.environ.get("RUNNER_TEMP") or ".") / "vacr-report.json")
    _refuse_theirs(repository, report, given("pages"))
    _refuse_links_out(repository, named)
    with TemporaryDirectory(prefix="vacr-") as folder:
        keys = Keys(Path(folder), repository, base)
        wanted = _wanted(keys)
        for remark in keys.remarks:
            told.annotate("warning", remark)
        found = audit(named, wanted, repository, revision, trusting=bool(given("trust")))
        _log(found)
        pages = _pages(named, wanted, given("pages"))
    _annotate(found, policy, told)
    Path(report).write_bytes(encoded({**found.told(), "fail-on": policy, "pages": pages}) + b"\n")
    told.summarise(audit_summary(found))
    total = found.lines["total"]
    for kind in ("ai", "human", "mixed", "unknown"):
        told.output(f"{kind}-lines", total[kind])
    for name, value in (("verdict", found.verdict), ("report", report), ("pages", pages)):
        told.output(name, value)
    return _NOT_MET if found.fails(policy) else 0


def _span(repository: Repository) -> tuple[str | None, str]:
    """Give the base of what is audited, and what is: all commits since, or, without a base, the
    last one alone.

    Raises:
        UnreadableInput: there are no such commits.
    """
    head, base = repository.commit(given("head") or "HEAD"), given("base")
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


def _refuse_theirs(repository: Repository, *outputs: str) -> None:
    """Refuse to write where the repository has something: it may be a link that leads out, or a
    page that looks like ours.

    Raises:
        UsageError: it has.
    """
    head = repository.commit("HEAD")
    for path in filter(None, outputs):
        if any(repository.holds(head, name) for name in names_of(repository, path)):
            hint = "Name one that it does not have, such as one in ${{ runner.temp }}."
            raise UsageError(
                f"{path} is the repository's, and nothing of ours is written there", hint=hint
            )


def _refuse_links_out(repository: Repository, named: list[str]) -> None:
    """Refuse a link of the repository to somewhere else on this machine: what lies there would be
    shown in pages.

    Raises:
        UsageError: there is one.
    """
    head = repository.commit("HEAD")
    for path in named:
        inside = names_of(repository, os.path.realpath(path))
        if not inside and any(repository.holds(head, name) for name in names_of(repository, path)):
            raise UsageError(
                f"{path} is a link that leads out of the repository",
                hint="Name the folder that it leads to.",
            )


def _wanted(keys: Keys) -> Wanted:
    """Take from the inputs what is asked of statements."""
    tier, verifiers = chosen("require-evidence", _TIERS), keys.files("verifier-key")
    if bool(tier) != bool(given("verifier-key")):
        raise UsageError(
            "require-evidence and verifier-key go together",
            hint="Name a verifier whose results are believed.",
        )
    return Wanted(
        trust=keys.files("trust"),
        log_keys=keys.files("log-key"),
        issuer=given("issuer") or None,
        timestamp_trust=keys.files("timestamp-trust"),
        needs_timestamp=wished("require-timestamp"),
        evidence=WantedEvidence(tier, verifier_keys=verifiers) if tier else None,
    )


def _log(found: Audit) -> None:
    """Say in the log what was found."""
    voice = Voice("text", False, 0)  # noqa: FBT003
    if found.records:
        tell_all(found.records, voice)
    for file in found.lines["files"]:
        voice.result(
            f"{file['path']}: "
            f"{', '.join(f'{file[kind]} {kind}' for kind in ('ai', 'human', 'mixed', 'unknown'))}"
        )
    for name in found.lines["no-text"]:
        voice.result(f"{name}: no text")
    voice.result(f"verdict: {found.verdict}")


def _pages(named: list[str], wanted: Wanted, folder: str) -> str:
    """Make pages of the records, if they are asked for; of several folders, in a folder each."""
    there = [path for path in named if Path(path).exists()]
    if not folder or not there:
        return ""
    keys = [word for name in wanted.trust for word in ("--trust", name)]
    keys += [word for name in wanted.log_keys for word in ("--log-key", name)]
    for number, path in enumerate(there, 1):
        target = Path(folder) if len(there) == 1 else Path(folder) / str(number)
        # What does not hold is told already, and its page says so.
        run(["view", "-o", f"{target}/", "--overwrite", *keys, "--", path])
    return folder


def _annotate(found: Audit, policy: str, told: Workflow) -> None:
    """Put remarks beside records that do not hold, and beside lines."""
    for one in found.failed:
        name = os.path.normpath(one["file"] or one["statement"])  # as GitHub names it
        told.annotate(
            "warning" if policy == NEVER else "error", f"not verified: {one['message']}", name
        )
    for path in found.missing:
        told.annotate("warning", f"there is nothing at {path}, so there are no records of it")
    for left in found.left_out:
        told.annotate("warning", f"left out: {left}")
    ranges = [(file["path"], one) for file in found.lines["files"] for one in file["ranges"]]
    for path, one in sorted(ranges, key=lambda item: item[1]["start-line"] - item[1]["end-line"]):
        if one["contributor"]["type"] != UNKNOWN:
            told.annotate("notice", _said(one), path, (one["start-line"], one["end-line"]))
        elif policy == UNKNOWN:
            told.annotate(
                "error", "nothing proves who wrote this", path, (one["start-line"], one["end-line"])
            )
    for name in found.lines["no-text"]:
        told.annotate("error" if policy == UNKNOWN else "warning", _NO_TEXT, name)


def _said(one: dict[str, Any]) -> str:
    """Say whose some lines are."""
    who = one["contributor"]
    by = f" by {who['model-id']}" if "model-id" in who else ""
    prompt = f": {one['prompt']}" if "prompt" in one else ""
    return f"{who['type']}{by}, conversation {one['session-id']}, {one['evidence']}{prompt}"


if __name__ == "__main__":
    sys.exit(workflow.run(work))
