"""The audit of a range of commits: whether records are verified, and who wrote the new lines.

Only verified records say anything about lines. Without a trusted key, all unmodified records do,
and the verdict says so: anybody could have written them. Files without lines, such as programs and
submodules, are of unknown origin. The verdict is the worst of all that was found:

    >>> from vacr.app.commit_audit import AUDIT_UNVERIFIED, Audit
    >>> lines = {"total": {"unknown": 0}, "no-text": []}
    >>> Audit([{"verified": True}], lines, trusting=True).verdict
    'known'
    >>> Audit([{"verified": False}], lines, trusting=True).fails(AUDIT_UNVERIFIED)
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from vacr.blame import Repository, blame_commit, find_work_tree_names
from vacr.errors import VacrError
from vacr.files import read_bytes
from vacr.workflows import (
    RECORD_SUFFIXES,
    STATEMENT_SUFFIX,
    VerificationOptions,
    build_commit_document,
    build_sealed_source_path,
    find_statement_pairs,
    judge_statements,
    load_verification_policy,
    read_input_records,
)

AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_KNOWN = "unverified", "unknown", "known"
AUDIT_NEVER_FAILS = "never"
AUDIT_FAIL_POLICIES = (AUDIT_UNVERIFIED, AUDIT_UNKNOWN, AUDIT_NEVER_FAILS)


@dataclass(frozen=True)
class Audit:
    """The result of an audit."""

    records: list[dict[str, Any]]
    """The verdicts, as `vacr verify` prints them for programs."""
    lines: dict[str, Any]
    """The lines, as `vacr blame --commit` prints them for programs."""
    trusting: bool
    """Whether trusted keys were named."""
    missing: list[str] = field(default_factory=list)
    """Paths that do not exist."""
    left_out: list[str] = field(default_factory=list)
    """Verified files that could not be used."""

    @property
    def verdict(self) -> str:
        """Return the result in a word."""
        if self.failed:
            return AUDIT_UNVERIFIED
        is_known = not self.lines["total"]["unknown"] and not self.lines["no-text"]
        return AUDIT_KNOWN if is_known else AUDIT_UNKNOWN

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Return the verdicts about records that are not verified."""
        return [verdict for verdict in self.records if not verdict["verified"]]

    def fails(self, policy: str) -> bool:
        """Return whether the job fails under a policy."""
        if policy == AUDIT_NEVER_FAILS:
            return False
        return self.verdict == AUDIT_UNVERIFIED or policy == self.verdict == AUDIT_UNKNOWN

    def build_document(self) -> dict[str, Any]:
        """Describe the audit for programs."""
        return {
            "verdict": self.verdict,
            "records": self.records,
            "lines": self.lines,
            "missing": self.missing,
            "left-out": self.left_out,
        }


def audit_commits(
    paths: Sequence[str],
    options: VerificationOptions,
    repository: Repository,
    revision: str,
    *,
    trusting: bool,
) -> Audit:
    """Verify all records at some paths, and find out by them who wrote the lines of commits.

    A `trusting` caller named keys, and believes no record that none of them signed.

    Raises:
        VacrError: trust material cannot be read, or there are no such commits.
    """
    load_verification_policy(options)
    existing = [path for path in paths if Path(path).exists()]
    pairs = list(dict.fromkeys(pair for path in existing for pair in find_statement_pairs(path)))
    verdicts = list(judge_statements(pairs, options))
    believed = [
        verdict["file"]
        for verdict in verdicts
        if verdict["file"] and (verdict["verified"] or not trusting)
    ]
    records_by_file, left_out = _read_believed_records(believed)
    records = [record for records in records_by_file.values() for record in records]
    added = blame_commit(repository, revision, records)
    own_names = _list_own_files(verdicts, believed)
    own = set(find_work_tree_names(repository, *own_names, *records_by_file))
    lines = build_commit_document(
        replace(
            added,
            files=[file for file in added.files if file[0] not in own],
            no_text=[name for name in added.no_text if name not in own],
        )
    )
    missing = [path for path in paths if path not in existing]
    return Audit(verdicts, lines, trusting, missing, left_out)


def _list_own_files(verdicts: list[dict[str, Any]], believed: list[str]) -> list[str]:
    """Return the records, statements and sealed sources: nobody wrote their lines.

    Other signed files may well be written by somebody.
    """
    names = [
        path
        for verdict in verdicts
        for path in (verdict["file"], verdict["statement"])
        if path and path.endswith((*RECORD_SUFFIXES, STATEMENT_SUFFIX))
    ]
    names += [
        str(build_sealed_source_path(Path(path)))
        for path in believed
        if path.endswith(RECORD_SUFFIXES)
    ]
    # A statement in the commits counts even if it was deleted since.
    names += [f"{path}{STATEMENT_SUFFIX}" for path in names if path.endswith(RECORD_SUFFIXES)]
    return names


def _read_believed_records(
    names: Sequence[str],
) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the records by their files, and why other files could not be read."""
    records, left_out = {}, []
    for name in names:
        try:
            records[name] = _read_signed_file(name)
        except VacrError as error:
            left_out.append(f"{name}: {error.message}")
    return records, left_out


def _read_signed_file(name: str) -> list[dict[str, Any]]:
    """Read the records or sessions in a file, and no files around it: those are not signed."""
    if name.endswith(RECORD_SUFFIXES):
        return [item.record for item in read_input_records(name)]
    with TemporaryDirectory(prefix="vacr-") as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(read_bytes(name))
        return [item.record for item in read_input_records(str(copy))]
