"""The audit of a range of commits: whether the records hold, and who wrote the lines that are new.

Only records that verify say anything of lines. Without a key to verify with, all records do that
are as they were made, and the verdict tells so: whoever wrote them may have made them up. Of what
has no lines, such as a program or a submodule, no record proves who made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.blame import Repository, blame_commit, find_work_tree_names
from vacr.cli.blamed import build_commit_document
from vacr.cli.given import read_input_records
from vacr.cli.verdicts import VerificationOptions, load_verification_policy
from vacr.cli.verify import judge_statements
from vacr.errors import VacrError
from vacr.files import read_bytes
from vacr.workflows import (
    RECORD_SUFFIXES,
    STATEMENT_SUFFIX,
    build_sealed_source_path,
    find_statement_pairs,
)

AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_KNOWN = "unverified", "unknown", "known"
AUDIT_NEVER_FAILS = "never"
AUDIT_FAIL_POLICIES = (AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_NEVER_FAILS)


@dataclass(frozen=True)
class Audit:
    """What came of an audit."""

    records: list[dict[str, Any]]
    """As `vacr verify` tells it."""
    lines: dict[str, Any]
    """As `vacr blame --commit` tells it."""
    trusting: bool
    """Whether keys were named to verify with."""
    missing: list[str] = field(default_factory=list)
    """Paths at which there is nothing."""
    left_out: list[str] = field(default_factory=list)
    """What holds, and yet could not be used."""

    @property
    def verdict(self) -> str:
        """Say what came of it in a word."""
        if self.failed:
            return AUDIT_UNVERIFIED
        return (
            AUDIT_UNKNOWN
            if self.lines["total"]["unknown"] or self.lines["no-text"]
            else AUDIT_KNOWN
        )

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Give the records that do not hold."""
        return [one for one in self.records if not one["verified"]]

    def fails(self, policy: str) -> bool:
        """Tell whether a policy is not met."""
        return policy != AUDIT_NEVER_FAILS and (
            self.verdict == AUDIT_UNVERIFIED
            or (policy == AUDIT_UNKNOWN and self.verdict == AUDIT_UNKNOWN)
        )

    def told(self) -> dict[str, Any]:
        """Give all of it for programs."""
        rest = {"missing": self.missing, "left-out": self.left_out}
        return {"verdict": self.verdict, "records": self.records, "lines": self.lines, **rest}


def audit_commits(
    paths: Sequence[str],
    wanted: VerificationOptions,
    repository: Repository,
    revision: str,
    *,
    trusting: bool,
) -> Audit:
    """Verify all records at some paths, and say by them who wrote the lines that commits added.

    Whoever is `trusting` named keys, and believes no record that none of them signed.

    Raises:
        VacrError: what trust rests on cannot be read, or there are no such commits.
    """
    load_verification_policy(wanted)
    there = [path for path in paths if Path(path).exists()]
    found = list(dict.fromkeys(pair for path in there for pair in find_statement_pairs(path)))
    results = list(judge_statements(found, wanted))
    holding = [one["file"] for one in results if one["file"] and (one["verified"] or not trusting)]
    found_in, left_out = _read_audited_records(holding)
    records = [record for some in found_in.values() for record in some]
    # The records that a pull request brings along are no lines that somebody wrote; what else is
    # signed may be.
    named = [
        path
        for one in results
        for path in (one["file"], one["statement"])
        if path and path.endswith((*RECORD_SUFFIXES, STATEMENT_SUFFIX))
    ]
    named += [
        str(build_sealed_source_path(Path(path)))
        for path in holding
        if path.endswith(RECORD_SUFFIXES)
    ]
    # A statement that commits have is one also where it is not there any more.
    named += [f"{path}{STATEMENT_SUFFIX}" for path in named if path.endswith(RECORD_SUFFIXES)]
    own = set(find_work_tree_names(repository, *named, *found_in))
    added = blame_commit(repository, revision, records)
    files = [file for file in added.files if file[0] not in own]
    lines = build_commit_document(
        replace(added, files=files, no_text=[name for name in added.no_text if name not in own])
    )
    return Audit(results, lines, trusting, [path for path in paths if path not in there], left_out)


def _read_audited_records(
    names: Sequence[str],
) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Read records, by the files that they are in, and say of what can be none why."""
    records, left_out = {}, []
    for name in names:
        try:
            records[name] = _read_signed_file(name)
        except VacrError as error:
            left_out.append(f"{name}: {error.message}")
    return records, left_out


def _read_signed_file(name: str) -> list[dict[str, Any]]:
    """Read the records in a file, or of the sessions in it, and nothing of what lies beside it:
    that is not what was signed.
    """
    if name.endswith(RECORD_SUFFIXES):
        return [one.record for one in read_input_records(name)]
    with TemporaryDirectory(prefix="vacr-") as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(read_bytes(name))
        return [one.record for one in read_input_records(str(copy))]
