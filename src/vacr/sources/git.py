"""Git repositories, by the git command: as bare, as linked, as large or as oddly named as they
come.

Nothing is written, nothing is fetched, and nothing of the repository is run: no hook, no filter, no
textconv, no pager. Objects are what their names say, whatever `git replace` makes of them. Names
are texts in which bytes that are not UTF-8 survive as lone surrogates.
"""

from __future__ import annotations

import os
import re
import subprocess
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from vacr.attribution.base import Base
from vacr.errors import UnreadableInput, UsageError

_QUIET = ("core.quotepath=off", "core.fsmonitor=false", "color.ui=false", "blame.ignoreRevsFile=")
_KEPT = (
    "GIT_CONFIG",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
)
_SET = {
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_DOTS = re.compile(r"\.\.\.?")
FILE_MODES = ("100644", "100755", "100664")


class Repository:
    """A repository, or a work tree of one."""

    def __init__(self, path: str | Path) -> None:
        """Find the repository at a path.

        Raises:
            UnreadableInput: there is none, it is not to be trusted, or git is not installed.
        """
        self.path = Path(path).expanduser()
        self._objects: _Objects | None = None
        self.run("rev-parse", "--git-dir")

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run a command of git that only reads.

        Raises:
            UnreadableInput: git refuses.
        """
        try:
            command = _command(self.path, arguments)
            done = subprocess.run(  # noqa: S603
                command, input=stdin, capture_output=True, env=_environment(), check=False
            )
        except (OSError, ValueError) as error:
            raise _not_started(error, self.path) from error
        if done.returncode:
            raise _refused(done.stderr.decode("utf-8", "replace"), self.path)
        return done.stdout

    def commit(self, revision: str) -> str:
        """Give the whole name of a commit.

        Raises:
            UnreadableInput: there is no such commit.
        """
        # Of ^HEAD, git would give what HEAD does not lead to.
        name = f"refs/{revision}" if revision.startswith("^") else f"{revision}^{{commit}}"
        try:
            return self.run("rev-parse", "--verify", "--end-of-options", name).decode().strip()
        except UnreadableInput as error:
            raise UnreadableInput(
                f"there is no commit {revision}", where=str(self.path), hint=self._why(revision)
            ) from error

    def span(self, text: str) -> tuple[str, str]:
        """Give where a range of commits begins and ends: of `A..B`, the last commit that both have,
        and `B`.

        Raises:
            UnreadableInput: there is no such commit, or they have none in common.
        """
        first, second = (self.commit(name or "HEAD") for name in _DOTS.split(text, maxsplit=1))
        try:
            return self.run("merge-base", first, second).decode().split()[0], second
        except UnreadableInput as error:
            hint = self._shallow() or "Name two commits of one history: --commit main..HEAD."
            raise UnreadableInput(
                f"{text} has no beginning that both have", where=str(self.path), hint=hint
            ) from error

    def between(self, since: str, commit: str) -> list[str]:
        """Give the commits that lead from one to another, the oldest first."""
        return (
            self.run("rev-list", "--reverse", "--topo-order", f"{since}..{commit}").decode().split()
        )

    def _shallow(self) -> str:
        """Say what to do where a clone has not all of the history."""
        is_shallow = self.run("rev-parse", "--is-shallow-repository").strip() == b"true"
        return "The clone is shallow and may lack it: git fetch --unshallow." if is_shallow else ""

    def _why(self, revision: str) -> str:
        """Say why there may be no such commit."""
        if not self._has_commits():
            return "It has no commit yet."
        if ".." in revision:
            return "Name one commit, not a range of them."
        return self._shallow() or "git log --oneline --all shows which there are."

    def _has_commits(self) -> bool:
        return bool(self.run("rev-list", "--all", "--max-count=1").strip())

    def tree(self, commit: str) -> dict[str, str]:
        """Give the files of a commit by their names, each with the name of its blob.

        What a link leads to, and what a submodule holds, is no file of the commit.
        """
        found: dict[str, str] = {}
        for line in self.run("ls-tree", "-rz", "--full-tree", commit).split(b"\0"):
            if line:
                about, _, name = line.partition(b"\t")
                mode, _, blob = about.decode().split(" ")
                if mode in FILE_MODES:
                    found[name_of(name)] = blob
        return found

    def holds(self, commit: str, name: str) -> bool:
        """Tell whether a commit has a file, a link or a folder of a name, or a link or a submodule
        on the way there.
        """
        found = {
            name_of(one)
            for one in self.run("ls-tree", "-rz", "--name-only", "--full-tree", commit).split(b"\0")
        }
        parts = name.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return bool(found & above) or any(one.startswith(f"{name}/") for one in found)

    def blob(self, name: str) -> bytes:
        """Give the bytes of a blob; one process gives all of them.

        Raises:
            UnreadableInput: the repository does not have it.
        """
        if self._objects is None:
            self._objects = _Objects(self.path)
        data = self._objects.read(name)
        if data is None:
            hint = "A partial clone lacks what was never needed: git fetch --refetch --no-filter."
            raise UnreadableInput(f"the object {name} is missing", where=str(self.path), hint=hint)
        return data

    def base(self, revision: str) -> Base:
        """Give the files of a commit as a base."""
        commit = self.commit(revision)
        tree = self.tree(commit)
        return Base(commit, tree.keys(), lambda path: self.blob(tree[path]))

    def close(self) -> None:
        """End the process that gives blobs."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None


class _Objects:
    """The process that gives objects by their names, ended when nobody needs it any more."""

    def __init__(self, path: Path) -> None:
        command = _command(path, ("cat-file", "--batch"))
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=pipe, stdout=pipe, stderr=quiet, env=_environment()
            )
        except OSError as error:
            raise _not_started(error, path) from error
        self._path = path
        self.close = weakref.finalize(self, _end, self._process)

    def read(self, name: str) -> bytes | None:
        stdin, stdout = (
            cast("IO[bytes]", self._process.stdin),
            cast("IO[bytes]", self._process.stdout),
        )
        try:
            stdin.write(name.encode() + b"\n")
            stdin.flush()
            head = stdout.readline().split()
            if len(head) != 3:  # noqa: PLR2004 - name, type and size, or name and `missing`
                return None
            data = stdout.read(int(head[2]))
            stdout.read(1)
        except (OSError, ValueError) as error:
            raise UnreadableInput("git ended too early", where=str(self._path)) from error
        return data


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def name_of(name: bytes) -> str:
    """Read the name of a file as git stores it."""
    return name.decode("utf-8", "surrogateescape")


def _command(path: Path, arguments: Iterable[str]) -> list[str]:
    settings = [word for setting in _QUIET for word in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(path), *arguments]


def _environment() -> dict[str, str]:
    """Give the environment without what names another repository, another index or a program to be
    run.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    return kept | _SET


def _not_started(error: OSError | ValueError, path: Path) -> UnreadableInput:
    if isinstance(error, FileNotFoundError):
        return UnreadableInput(
            "git is not installed",
            where=str(path),
            hint="Install git, or leave the repository out.",
        )
    return UnreadableInput(f"git cannot be run: {error}", where=str(path))


def _refused(said: str, path: Path) -> UnreadableInput:
    """Say why git refused, in the words that help."""
    if "dubious ownership" in said:
        hint = f"If you trust it: git config --global --add safe.directory {path.absolute()}"
        return UnreadableInput(
            "the repository belongs to somebody else", where=str(path), hint=hint
        )
    if "not a git repository" in said:
        return UnreadableInput(
            "there is no git repository",
            where=str(path),
            hint="Give the folder of a repository, bare or not.",
        )
    lines = said.strip().splitlines() or ["git failed"]
    first = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[-1])
    return UnreadableInput(first.partition(": ")[2] or first, where=str(path))


def base_of(text: str) -> Base:
    """Read `REPOSITORY` or `REPOSITORY@REVISION`.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    failed: UnreadableInput | None = None
    for path, revision in _splits(text):
        if not path or not Path(path).expanduser().is_dir():
            continue
        try:
            return Repository(path).base("HEAD" if revision is None else revision)
        except UnreadableInput as error:
            failed = failed or error
    if failed is not None:
        raise failed
    raise UsageError(
        f"no folder for --base {text}",
        hint="Give a repository and a revision: --base ~/repo@HEAD~3",
    )


def _splits(text: str) -> Iterator[tuple[str, str | None]]:
    """Split at each @, the last first, for folders and revisions may have one in them."""
    yield text, None
    at = text.rfind("@")
    while at > 0:
        yield text[:at], text[at + 1 :]
        at = text.rfind("@", 0, at)
