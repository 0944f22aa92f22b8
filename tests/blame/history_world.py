"""Git histories for tests: commits with their own times and authors, and histories made at random."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.attribution.working_agent import commit, git, repository

START = datetime(2026, 3, 14, 9, tzinfo=UTC)


def commit_on_day(folder: Path, day: float, message: str = "Change", author: str = "Mira") -> str:
    """Commit all files, some days after 2026-03-14, and return the name of the commit."""
    person = f"--author={author} <{author.lower()}@example.org>"
    return commit(folder, message, person, date=format_day(day))


def format_day(day: float) -> str:
    """Return the time some days after 2026-03-14, as git takes it."""
    return (START + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


class RandomHistory:
    """A repository with commits, branches, merges, renames and deletions at random."""

    def __init__(self, folder: Path, seed: int, steps: int = 14) -> None:
        self.folder, self.random = repository(folder), Random(seed)  # noqa: S311 - made-up histories
        self.day = 0.0
        self.lines = 0
        self._change_files()
        self._commit()
        for _ in range(steps):
            self._take_step()
        # All lines get old enough.
        commit_on_day(self.folder, self.day + 100)

    def _take_step(self) -> None:
        self.day += self.random.choice([0.2, 2, 5, 11])
        branches = git(self.folder, "branch", "--format=%(refname:short)").split()
        kind = self.random.choice(["change"] * 4 + ["branch", "switch", "merge", "merge"])
        if kind == "branch" and len(branches) < 3:
            git(self.folder, "checkout", "-q", "-b", f"side-{self.day}")
        elif kind == "switch":
            git(self.folder, "checkout", "-q", self.random.choice(branches))
        elif kind == "merge" and len(branches) > 1:
            self._merge(self.random.choice(branches))
            return
        self._change_files()
        self._commit()

    def _change_files(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            files = sorted(self.folder.glob("*.txt"))
            kind = self.random.choice(["new", "edit", "edit", "edit", "rename", "delete"])
            if kind == "new" or not files:
                text = "".join(self._make_line() for _ in range(self.random.randint(3, 12)))
                (self.folder / f"f{self.random.randint(0, 5)}.txt").write_text(text)
                continue
            path = self.random.choice(files)
            if kind == "rename":
                path.rename(self.folder / f"f{self.random.randint(0, 5)}.txt")
            elif kind == "delete" and len(files) > 2:
                path.unlink()
            else:
                path.write_text("".join(self._edit(path.read_text().splitlines(keepends=True))))

    def _edit(self, lines: list[str]) -> list[str]:
        at = self.random.randint(0, len(lines))
        removed = self.random.randint(0, 3)
        added = [self._make_line() for _ in range(self.random.randint(0, 3))]
        if self.random.random() < 0.2:
            self.random.shuffle(lines)
        return lines[:at] + added + lines[at + removed :]

    def _make_line(self) -> str:
        self.lines += 1
        # Some lines are there several times, as in real files.
        return self.random.choice([f"line {self.lines}\n"] * 4 + ["}\n", "\n"])

    def _merge(self, branch: str) -> None:
        date = format_day(self.day)
        try:
            options = ("--no-ff", "-X", "ours", "-m", "Merge")
            git(self.folder, "merge", "-q", *options, branch, date=date)
        except subprocess.CalledProcessError:
            git(self.folder, "merge", "--abort")
            return
        if self.random.random() < 0.5:
            # Someone changes files while resolving the merge.
            self._change_files()
            git(self.folder, "add", "-A")
            git(self.folder, "commit", "-q", "--amend", "--no-edit", "--allow-empty", date=date)

    def _commit(self) -> None:
        commit_on_day(self.folder, self.day)
