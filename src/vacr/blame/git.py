"""Git repositories, by the git command: as bare, as linked, as large or as oddly named as they
come.

Nothing is written, nothing is fetched, and nothing of the repository is run: no hook, no filter, no
textconv, no pager. Objects are what their names say, whatever `git replace` makes of them. Names
are texts in which bytes that are not UTF-8 survive as lone surrogates.

Which commit added which lines, as git tells it. Step: blame.

Renames are found in one way, whatever the configuration says: a file of which half is the same is
the same file, and copies are new files. A merge added only what none of its parents has.

A file in a repository, as a user names it. Step: blame.
"""

from __future__ import annotations

import os
import re
import subprocess
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, cast

from vacr.attribution import BaseFiles
from vacr.errors import UnreadableInput, UsageError

_GIT_SETTINGS = (
    "core.quotepath=off",
    "core.fsmonitor=false",
    "color.ui=false",
    "blame.ignoreRevsFile=",
)
_KEPT_VARIABLES = (
    "GIT_CONFIG",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
)
_GIT_VARIABLES = {
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
_RANGE_DOTS = re.compile(r"\.\.\.?")
REGULAR_FILE_MODES = ("100644", "100755", "100664")


class Repository:
    """A repository, or a work tree of one."""

    def __init__(self, path: str | Path) -> None:
        """Find the repository at a path.

        Raises:
            UnreadableInput: there is none, it is not to be trusted, or git is not installed.
        """
        self.path = Path(path).expanduser()
        self._objects: _ObjectReader | None = None
        self.run("rev-parse", "--git-dir")

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run a command of git that only reads.

        Raises:
            UnreadableInput: git refuses.
        """
        try:
            command = _build_git_command(self.path, arguments)
            done = subprocess.run(  # noqa: S603
                command, input=stdin, capture_output=True, env=_build_git_environment(), check=False
            )
        except (OSError, ValueError) as error:
            raise _make_start_error(error, self.path) from error
        if done.returncode:
            raise _make_git_error(done.stderr.decode("utf-8", "replace"), self.path)
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
        first, second = (
            self.commit(name or "HEAD") for name in _RANGE_DOTS.split(text, maxsplit=1)
        )
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
                if mode in REGULAR_FILE_MODES:
                    found[decode_git_name(name)] = blob
        return found

    def holds(self, commit: str, name: str) -> bool:
        """Tell whether a commit has a file, a link or a folder of a name, or a link or a submodule
        on the way there.
        """
        found = {
            decode_git_name(one)
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
            self._objects = _ObjectReader(self.path)
        data = self._objects.read(name)
        if data is None:
            hint = "A partial clone lacks what was never needed: git fetch --refetch --no-filter."
            raise UnreadableInput(f"the object {name} is missing", where=str(self.path), hint=hint)
        return data

    def base(self, revision: str) -> BaseFiles:
        """Give the files of a commit as a base."""
        commit = self.commit(revision)
        tree = self.tree(commit)
        return BaseFiles(commit, tree.keys(), lambda path: self.blob(tree[path]))

    def close(self) -> None:
        """End the process that gives blobs."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None


class _ObjectReader:
    """The process that gives objects by their names, ended when nobody needs it any more."""

    def __init__(self, path: Path) -> None:
        command = _build_git_command(path, ("cat-file", "--batch"))
        pipe, quiet = subprocess.PIPE, subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(  # noqa: S603
                command, stdin=pipe, stdout=pipe, stderr=quiet, env=_build_git_environment()
            )
        except OSError as error:
            raise _make_start_error(error, path) from error
        self._path = path
        self.close = weakref.finalize(self, _close_process, self._process)

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


def _close_process(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def decode_git_name(name: bytes) -> str:
    """Read the name of a file as git stores it."""
    return name.decode("utf-8", "surrogateescape")


def _build_git_command(path: Path, arguments: Iterable[str]) -> list[str]:
    settings = [word for setting in _GIT_SETTINGS for word in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(path), *arguments]


def _build_git_environment() -> dict[str, str]:
    """Give the environment without what names another repository, another index or a program to be
    run.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT_VARIABLES)
    }
    return kept | _GIT_VARIABLES


def _make_start_error(error: OSError | ValueError, path: Path) -> UnreadableInput:
    if isinstance(error, FileNotFoundError):
        return UnreadableInput(
            "git is not installed",
            where=str(path),
            hint="Install git, or leave the repository out.",
        )
    return UnreadableInput(f"git cannot be run: {error}", where=str(path))


def _make_git_error(said: str, path: Path) -> UnreadableInput:
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


def load_git_base(text: str) -> BaseFiles:
    """Read `REPOSITORY` or `REPOSITORY@REVISION`.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    failed: UnreadableInput | None = None
    for path, revision in _list_revision_splits(text):
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


def _list_revision_splits(text: str) -> Iterator[tuple[str, str | None]]:
    """Split at each @, the last first, for folders and revisions may have one in them."""
    yield text, None
    at = text.rfind("@")
    while at > 0:
        yield text[:at], text[at + 1 :]
        at = text.rfind("@", 0, at)


_DIFF_TREE_COMMAND = ["diff-tree", "--stdin", "-m", "-r", "--root", "--find-renames=50%", "-l1000"]
_RAW_OPTIONS = ["--raw", "-z", "--no-abbrev", "--ignore-submodules=none"]
_PATCH_OPTIONS = [
    "--no-commit-id",
    "--patch",
    "--unified=0",
    "--inter-hunk-context=0",
    "--full-index",
    "--text",
    "--no-color",
]
_SAFE_DIFF_OPTIONS = [
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--ignore-submodules=all",
]
_NO_LINES, _FIRST_LINE_ONLY = frozenset[int](), frozenset({1})
_DELETED_MODE = "000000"
_INDEX_LINE = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_HUNK_HEADER = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_QUOTED_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPE_BYTES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


_ChangedFile = tuple[str, str, str, str, bool]
"""The blob before, the blob after, the name before, the name after, and whether it is a file."""


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that a commit added lines to: their numbers, the blob that they are in, and the name
    that it had before.

    A link or a submodule that it added or changed is no file, and has one line.
    """

    path: str
    blob: str
    lines: frozenset[int]
    before: str = ""
    is_file: bool = True


@dataclass(slots=True)
class GitBlame:
    """The lines of a file: for each, the commit that added it, and its path and number there."""

    lines: list[tuple[str, str, int]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """Every name that the file had."""


def list_additions_since(repository: Repository, since: str, commit: str) -> list[FileAdditions]:
    """Give the files that have lines at a commit which they did not have at another."""
    return _collect_additions(repository, {commit: [since]}, ())[commit]


def list_commit_additions(
    repository: Repository, commits: Sequence[str], paths: Collection[str] = ()
) -> dict[str, list[FileAdditions]]:
    """Give the files that commits added lines to; with paths, of these only."""
    return _collect_additions(repository, _list_parents(repository, commits), paths)


def _collect_additions(
    repository: Repository, parents: dict[str, list[str]], paths: Collection[str]
) -> dict[str, list[FileAdditions]]:
    commits = list(parents)
    pairs = [f"{commit} {parent}" for commit in commits for parent in parents[commit]]
    pairs += [commit for commit in commits if not parents[commit]]
    stdin = "".join(pair + "\n" for pair in pairs).encode()
    only = ["--", *sorted(paths)] if paths else []
    hunks = _parse_added_lines(
        repository.run(
            *_DIFF_TREE_COMMAND, *_PATCH_OPTIONS, *_SAFE_DIFF_OPTIONS, *only, stdin=stdin
        )
    )
    found: dict[str, list[dict[str, FileAdditions]]] = {commit: [] for commit in commits}
    for commit, files in _parse_raw_diff(
        repository.run(*_DIFF_TREE_COMMAND, *_RAW_OPTIONS, *only, stdin=stdin)
    ):
        told = {
            path: FileAdditions(
                path,
                new,
                hunks.get((old, new), _NO_LINES) if is_file else _FIRST_LINE_ONLY,
                name,
                is_file,
            )
            for old, new, name, path, is_file in files
        }
        found[commit].append(told)
    return {
        commit: _keep_common_additions(found[commit], len(parents[commit])) for commit in commits
    }


def _keep_common_additions(
    told: list[dict[str, FileAdditions]], parents: int
) -> list[FileAdditions]:
    """Keep the lines that differ from every parent."""
    if not told or len(told) < parents:
        return []
    return [
        replace(file, lines=frozenset.intersection(*(one[path].lines for one in told)))
        for path, file in told[0].items()
        if all(path in one for one in told)
    ]


def _list_parents(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
    stdin = "".join(commit + "\n" for commit in commits).encode()
    lines = (
        repository.run("rev-list", "--parents", "--no-walk=unsorted", "--stdin", stdin=stdin)
        .decode()
        .splitlines()
    )
    return {words[0]: words[1:] for words in map(str.split, lines)}


def _parse_raw_diff(output: bytes) -> Iterator[tuple[str, list[_ChangedFile]]]:
    """Read the files, links and submodules of each pair of commits."""
    commit = ""
    files: list[_ChangedFile] = []
    words = iter(output.split(b"\0"))
    for word in words:
        if not word.startswith(b":"):
            if commit:
                yield commit, files
            commit, files = word.decode(), []
            continue
        old_mode, mode, old, new, status = word[1:].decode().split(" ")
        name = first = next(words)
        if status[0] in "RC":
            name = next(words)
        is_file = mode in REGULAR_FILE_MODES
        if is_file or (mode != _DELETED_MODE and (old_mode, old) != (mode, new)):
            before = old if old_mode in REGULAR_FILE_MODES else "0" * len(old)
            files.append((before, new, decode_git_name(first), decode_git_name(name), is_file))
    if commit:
        yield commit, files


def _parse_added_lines(patch: bytes) -> dict[tuple[str, str], frozenset[int]]:
    """Read the numbers of the added lines, by the blobs before and after."""
    found: dict[tuple[str, str], set[int]] = {}
    lines: set[int] = set()
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (names := _INDEX_LINE.match(line)):
            lines = found[names[1].decode(), names[2].decode()] = set()
        elif line.startswith(b"@@ ") and (hunk := _HUNK_HEADER.match(line)):
            first, count = int(hunk[1]), int(hunk[2]) if hunk[2] is not None else 1
            lines.update(range(first, first + count))
    return {names: frozenset(numbers) for names, numbers in found.items()}


def run_git_blame(repository: Repository, commit: str, path: str) -> GitBlame:
    """Give for each line of a file at a commit where it comes from.

    Raises:
        UnreadableInput: the commit has no such file.
    """
    output = repository.run("blame", "--porcelain", "--no-textconv", commit, "--", path)
    blamed, names = GitBlame(paths={path}), {commit: path}
    now, number = "", 0
    expecting = True
    for line in output.split(b"\n"):
        if line.startswith(b"\t"):
            blamed.lines.append((now, names[now], number))
            expecting = True
        elif expecting and line:
            now, first = line.decode().split(" ")[:2]
            number, expecting = int(first), False
        elif line.startswith(b"filename "):
            names[now] = unquote_git_name(line[9:])
            blamed.paths.add(names[now])
        elif line.startswith(b"previous "):
            blamed.paths.add(unquote_git_name(line.split(b" ", 2)[2]))
    if expecting:
        return blamed
    raise UnreadableInput("git blame ended too early", where=path)


def unquote_git_name(name: bytes) -> str:
    """Read a name that git may have put in quotation marks."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _QUOTED_ESCAPE.sub(lambda found: _decode_escape(found[1]), name[1:-1])
    return decode_git_name(name)


def _decode_escape(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) > 1 else _ESCAPE_BYTES.get(escape, escape)


@dataclass(frozen=True)
class RepositoryFile:
    """A repository, and the name of a file from its root."""

    repository: Repository
    path: str


def find_repository_file(file: str, repository: str | None = None) -> RepositoryFile:
    """Find the repository that a file is in: that of its folder, or the one that is named.

    In a repository without a work tree, files are named from its root.

    Raises:
        UnreadableInput: there is no repository.
        UsageError: the file is not in it.
    """
    full = Path(os.path.abspath(file))  # noqa: PTH100 - the file may be a link, which is not followed
    if full.is_dir() and not full.is_symlink():
        raise UsageError(f"{file} is a folder", hint="Name a file, or a commit with --commit.")
    if repository is not None:
        found = Repository(repository)
        top = _find_work_tree(found)
        if top is None:
            return RepositoryFile(found, file)
        if not full.exists() and not full.is_symlink():
            full = top / file
    else:
        folder = full.parent
        while not folder.is_dir():
            folder = folder.parent
        found = Repository(folder)
        top = _find_work_tree(found)
        if top is None:
            raise UsageError(
                f"{file} is in no work tree",
                hint="Name the repository with --repository, and the file from its root.",
            )
    real = Path(os.path.realpath(full.parent)) / full.name
    if not real.is_relative_to(top) or real == top:
        raise UsageError(
            f"{file} is not in the work tree {top}",
            hint="Name the repository that it is in with --repository.",
        )
    found.path = top
    return RepositoryFile(found, real.relative_to(top).as_posix())


def find_work_tree_names(repository: Repository, *paths: str) -> list[str]:
    """Give the names that paths have from the root of a work tree: as one is written, and as links
    lead; outside, it has none.
    """
    top, here = _find_work_tree(repository), Path.cwd()
    written = [Path(os.path.normpath(here / path)) for path in paths]
    found = dict.fromkeys(one for full in written for one in (full, Path(os.path.realpath(full))))
    return (
        [one.relative_to(top).as_posix() for one in found if one.is_relative_to(top)]
        if top is not None
        else []
    )


def _find_work_tree(repository: Repository) -> Path | None:
    """Give the folder of the work tree, if there is one."""
    try:
        name = repository.run("rev-parse", "--show-toplevel")
    except UnreadableInput:
        return None
    return Path(os.path.realpath(os.fsdecode(name.removesuffix(b"\n"))))


def read_work_tree_file(place: RepositoryFile) -> bytes | None:
    """Read a file of the work tree as it lies there; `None` when there is none.

    Raises:
        UnreadableInput: it cannot be read, or is no file.
    """
    full = place.repository.path / place.path
    if full.is_symlink() or full.is_dir():
        kind = "a link" if full.is_symlink() else "a folder"
        raise UnreadableInput(f"this is {kind}, and no file with lines", where=str(full))
    try:
        return full.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableInput(error.strerror or str(error), where=str(full)) from error
