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

from vacr.cli.blamed import added_told
from vacr.cli.given import given
from vacr.cli.verdicts import Wanted, policy_of
from vacr.cli.verify import judged
from vacr.errors import VacrError
from vacr.recording.sealing import sealed_path
from vacr.sources import read_bytes
from vacr.sources.blaming import blame_commit
from vacr.sources.git import Repository
from vacr.sources.statements import COSE, RECORDS, pairs
from vacr.sources.worktrees import names_of

UNVERIFIED, UNKNOWN, KNOWN = "unverified", "unknown", "known"
NEVER = "never"
FAIL_ON = (UNVERIFIED, UNKNOWN, NEVER)


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
            return UNVERIFIED
        return UNKNOWN if self.lines["total"]["unknown"] or self.lines["no-text"] else KNOWN

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Give the records that do not hold."""
        return [one for one in self.records if not one["verified"]]

    def fails(self, policy: str) -> bool:
        """Tell whether a policy is not met."""
        return policy != NEVER and (
            self.verdict == UNVERIFIED or (policy == UNKNOWN and self.verdict == UNKNOWN)
        )

    def told(self) -> dict[str, Any]:
        """Give all of it for programs."""
        rest = {"missing": self.missing, "left-out": self.left_out}
        return {"verdict": self.verdict, "records": self.records, "lines": self.lines, **rest}


def audit(
    paths: Sequence[str], wanted: Wanted, repository: Repository, revision: str, *, trusting: bool
) -> Audit:
    """Verify all records at some paths, and say by them who wrote the lines that commits added.

    Whoever is `trusting` named keys, and believes no record that none of them signed.

    Raises:
        VacrError: what trust rests on cannot be read, or there are no such commits.
    """
    policy_of(wanted)
    there = [path for path in paths if Path(path).exists()]
    found = list(dict.fromkeys(pair for path in there for pair in pairs(path)))
    results = list(judged(found, wanted))
    holding = [one["file"] for one in results if one["file"] and (one["verified"] or not trusting)]
    found_in, left_out = _read(holding)
    records = [record for some in found_in.values() for record in some]
    # The records that a pull request brings along are no lines that somebody wrote; what else is
    # signed may be.
    named = [
        path
        for one in results
        for path in (one["file"], one["statement"])
        if path and path.endswith((*RECORDS, COSE))
    ]
    named += [str(sealed_path(Path(path))) for path in holding if path.endswith(RECORDS)]
    # A statement that commits have is one also where it is not there any more.
    named += [f"{path}{COSE}" for path in named if path.endswith(RECORDS)]
    own = set(names_of(repository, *named, *found_in))
    added = blame_commit(repository, revision, records)
    files = [file for file in added.files if file[0] not in own]
    lines = added_told(
        replace(added, files=files, no_text=[name for name in added.no_text if name not in own])
    )
    return Audit(results, lines, trusting, [path for path in paths if path not in there], left_out)


def _read(names: Sequence[str]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Read records, by the files that they are in, and say of what can be none why."""
    records, left_out = {}, []
    for name in names:
        try:
            records[name] = _alone(name)
        except VacrError as error:
            left_out.append(f"{name}: {error.message}")
    return records, left_out


def _alone(name: str) -> list[dict[str, Any]]:
    """Read the records in a file, or of the sessions in it, and nothing of what lies beside it:
    that is not what was signed.
    """
    if name.endswith(RECORDS):
        return [one.record for one in given(name)]
    with TemporaryDirectory(prefix="vacr-") as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(read_bytes(name))
        return [one.record for one in given(str(copy))]
