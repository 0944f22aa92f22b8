"""Git repositories, by the git command: as bare, as linked, as large or as oddly named as they come.

Nothing is written and nothing of the repository is run: no hook, no filter, no pager.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from vacr.attribution.base import Base
from vacr.errors import UnreadableInput, UsageError

_QUIET = ["-c", "core.quotepath=off", "-c", "core.fsmonitor=false", "-c", "color.ui=false"]
_SUBMODULE = "160000"


class Repository:
    """A repository, or a work tree of one."""

    def __init__(self, path: str | Path) -> None:
        """Find the repository at a path.

        Raises:
            UnreadableInput: there is none, or git is not installed.
        """
        self.path = Path(path).expanduser()
        self._git("rev-parse", "--git-dir")

    def _git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        environment = os.environ | {
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
        }
        command = ["git", *_QUIET, "-C", str(self.path), *arguments]
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False)  # noqa: S603
        except FileNotFoundError as error:
            raise UnreadableInput(
                "git is not installed", where=str(self.path), hint="Install git, or leave --base out."
            ) from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UnreadableInput(said[-1] if said else "git failed", where=str(self.path))
        return done.stdout

    def commit(self, revision: str) -> str:
        """Give the whole name of a commit.

        Raises:
            UnreadableInput: there is no such commit.
        """
        try:
            return self._git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
        except UnreadableInput as error:
            raise UnreadableInput(f"there is no commit {revision}", where=str(self.path)) from error

    def tree(self, commit: str) -> dict[str, str]:
        """Give the files of a commit by their names, each with the name of its blob."""
        found: dict[str, str] = {}
        for line in self._git("ls-tree", "-rz", "--full-tree", commit).split(b"\0"):
            if line:
                about, _, name = line.partition(b"\t")
                mode, _, blob = about.decode().split(" ")
                if mode != _SUBMODULE:
                    found[name.decode("utf-8", "surrogateescape")] = blob
        return found

    def blob(self, name: str) -> bytes:
        """Give the bytes of a blob."""
        return self._git("cat-file", "blob", name)

    def base(self, revision: str) -> Base:
        """Give the files of a commit as a base."""
        commit = self.commit(revision)
        tree = self.tree(commit)
        return Base(commit, tree.keys(), lambda path: self.blob(tree[path]))


def base_of(text: str) -> Base:
    """Read `REPOSITORY` or `REPOSITORY@REVISION`.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    for path, revision in _splits(text):
        if path and Path(path).expanduser().is_dir():
            return Repository(path).base(revision or "HEAD")
    raise UsageError(f"no folder for --base {text}", hint="Give a repository and a revision: --base ~/repo@HEAD~3")


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Split at each @, the last first, for folders and revisions may have one in them."""
    yield text, ""
    at = text.rfind("@")
    while at > 0:
        yield text[:at], text[at + 1 :]
        at = text.rfind("@", 0, at)
