"""Git repositories, read through the git command: bare, linked, large or oddly named ones.

The module neither writes nor fetches anything, and runs no program of the repository: no hook, no
filter, no textconv, no pager. An object is read as its name says, even if `git replace` put another
one in its place. In the names of files, bytes that are not UTF-8 survive as lone surrogates.

    >>> from vacr.blame.git import decode_git_name, split_at_revision
    >>> list(split_at_revision("~/work@home/app@v1.2"))     # folders may have an @ too
    [('~/work@home/app@v1.2', None), ('~/work@home/app', 'v1.2'), ('~/work', 'home/app@v1.2')]
    >>> decode_git_name(b"caf\\xe9.txt").encode("utf-8", "surrogateescape")
    b'caf\\xe9.txt'
"""

from __future__ import annotations

import os
import re
import subprocess
import unicodedata
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, cast

from vacr.attribution import BaseFiles
from vacr.errors import UnreadableInput, UsageError
from vacr.files import make_absolute

REGULAR_FILE_MODES = ("100644", "100755", "100664")

_GIT_SETTINGS = (
    "core.quotepath=off",
    "core.fsmonitor=false",
    "core.commitGraph=false",  # A forged one could give a commit other parents.
    "color.ui=false",
    "blame.ignoreRevsFile=",
)
_MAX_TIME_DIGITS = 15
# Variables of the user that may stay; all other GIT_ variables are dropped.
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
_SETTING_COUNT = "GIT_CONFIG_COUNT"
_RANGE_DOTS = re.compile(r"\.\.\.?")
_HASH = re.compile(r"[0-9a-f]{4,64}")
_MISSING_PROMISED_OBJECT = re.compile(r"could not fetch ([0-9a-f]{40,64}) from promisor remote")
_MAX_REQUESTED_OBJECTS = 60
"""So many names of objects fit into a pipe of 4,096 bytes; one of SHA-256 takes 65 bytes."""
_OBJECT_HEADER_WORDS = 3  # name, type and size; a missing object has name and `missing`

# Programs that propose newer versions of dependencies; agents have other names.
_UPDATER = re.compile(
    r"(?:dependabot|dependabot-preview|depfu|greenkeeper|pyup|renovate|scala-steward|snyk)"
    r"(?:[ -]?\[?bot\]?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CommitTimes:
    """The times of a commit, in seconds since 1970, and what kind of author it has."""

    authored: int
    """When the change was first committed; a rebase keeps it."""
    committed: int
    """When this commit was made."""
    is_update: bool = False
    """Whether its author is a program that updates dependencies."""


class Repository:
    """A repository, or a work tree of one."""

    def __init__(self, path: str | Path) -> None:
        """Find the repository at a path.

        Raises:
            UnreadableInput: it does not exist, git does not trust it, or git is not installed.
        """
        self.path = Path(path).expanduser()
        self._objects: _ObjectReader | None = None
        self._shallow: frozenset[str] | None = None
        self.run_git("rev-parse", "--git-dir")

    def run_git(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        """Run a git command that only reads, and return its output.

        `settings` override git's configuration; their names may contain any character.

        Raises:
            UnreadableInput: git is not installed, or the command fails.
        """
        try:
            command = _build_git_command(self.path, arguments)
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                env=_build_git_environment(settings),
                check=False,
            )
        except (OSError, ValueError) as error:
            raise _make_start_error(error, self.path) from error
        if done.returncode:
            raise _make_git_error(done.stderr.decode("utf-8", "replace"), self.path)
        return done.stdout

    def resolve_commit(self, revision: str) -> str:
        """Return the full hash of the commit that a revision names.

        Raises:
            UnreadableInput: there is no such commit.
        """
        # ^HEAD would mean the commits that HEAD does not lead to.
        name = f"refs/{revision}" if revision.startswith("^") else f"{revision}^{{commit}}"
        try:
            return self.run_git("rev-parse", "--verify", "--end-of-options", name).decode().strip()
        except UnreadableInput as error:
            raise UnreadableInput(
                f"no such commit: {revision}",
                where=str(self.path),
                hint=self._explain_missing_commit(revision),
            ) from error

    def resolve_range(self, text: str) -> tuple[str, str]:
        """Return the hashes where a range `A..B` begins and ends: the merge base of both, and `B`.

        An empty side means HEAD, and `A...B` means the same as `A..B`.

        Raises:
            UnreadableInput: there is no such commit, or the two have no common ancestor.
        """
        names = [name or "HEAD" for name in _RANGE_DOTS.split(text, maxsplit=1)]
        first, second = map(self.resolve_commit, names)
        try:
            return self.run_git("merge-base", first, second).decode().split()[0], second
        except UnreadableInput as error:
            hint = (
                self._explain_shallow()
                or "Name two commits with a common ancestor: --commit main..HEAD."
            )
            raise UnreadableInput(
                f"no merge base between {names[0]} and {names[1]}", where=str(self.path), hint=hint
            ) from error

    def list_commits(self, since: str, commit: str) -> list[str]:
        """Return the commits after `since` up to `commit`, the oldest first."""
        output = self.run_git("rev-list", "--reverse", "--topo-order", f"{since}..{commit}")
        return output.decode().split()

    def _explain_missing_commit(self, revision: str) -> str:
        """Return a hint for a revision that names no commit."""
        if not self.run_git("rev-list", "--all", "--max-count=1").strip():
            return "The repository has no commits yet."
        if ".." in revision:
            return "Name one commit, not a range of them."
        return self._explain_shallow() or "List the commits with: git log --oneline --all"

    def _explain_shallow(self) -> str:
        """Return a hint if the clone is shallow, or else an empty text."""
        is_shallow = self.run_git("rev-parse", "--is-shallow-repository").strip() == b"true"
        return (
            "The clone is shallow. Fetch the whole history with: git fetch --unshallow"
            if is_shallow
            else ""
        )

    def list_files(self, commit: str) -> dict[str, str]:
        """Return the regular files of a commit: the name of the blob by path.

        Links and submodules are left out.
        """
        blobs: dict[str, str] = {}
        for line in self.run_git("ls-tree", "-rz", "--full-tree", commit).split(b"\0"):
            if line:
                about, _, name = line.partition(b"\t")
                mode, _, blob = about.decode().split(" ")
                if mode in REGULAR_FILE_MODES:
                    blobs[decode_git_name(name)] = blob
        return blobs

    def has_path(self, commit: str, name: str) -> bool:
        """Return whether a commit has a file, link or folder with this path from its root.

        The path may also lie inside a link or a submodule of the commit. Paths that differ only in
        case or in the Unicode form count as the same: some file systems do not tell them apart.
        """
        output = self.run_git("ls-tree", "-rz", "--name-only", "--full-tree", commit)
        names = {_fold_path(decode_git_name(encoded)) for encoded in output.split(b"\0")}
        name = _fold_path(name)
        parts = name.split("/")
        prefixes = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
        return bool(names & prefixes) or any(other.startswith(f"{name}/") for other in names)

    def has_index_entry(self, name: str) -> bool:
        """Return whether the index has a file with this path; a bare repository has no index."""
        return bool(self.run_git("ls-files", "-z", "--", name))

    def find_filter(self, name: str) -> str:
        """Return the name of the filter that converts a file of the work tree; empty without one.

        Such a filter runs a program, as that of Git LFS. Ends of lines do not count.
        """
        value = self.run_git("check-attr", "-z", "filter", "--", name).split(b"\0")[2]
        is_set = value not in (b"unspecified", b"unset", b"set", b"")
        return decode_git_name(value) if is_set else ""

    def read_blob(self, name: str) -> bytes:
        """Return the bytes of a blob by its name; one process of git reads all blobs.

        Raises:
            UnreadableInput: the repository does not have it.
        """
        if self._objects is None:
            self._objects = _ObjectReader(self.path)
        try:
            data = self._objects.read(name)
        except UnreadableInput:
            self.close()
            if self.find_object_types([name]):
                raise
            data = None  # In a partial clone, git ends when an object is missing.
        if data is None:
            raise _make_missing_error(name, self.path)
        return data

    def read_blobs(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of blobs by their names, without waiting for each of them.

        Raises:
            UnreadableInput: the repository lacks one.
        """
        for start in range(0, len(names), _MAX_REQUESTED_OBJECTS):
            window = names[start : start + _MAX_REQUESTED_OBJECTS]
            if self._objects is None:
                self._objects = _ObjectReader(self.path)
            self._objects.request(window)
            yield from map(self.read_blob, window)

    def find_object_types(self, names: Iterable[str]) -> dict[str, str]:
        """Return the type of each object that the repository has, by its hash.

        A hash may be abbreviated. Hashes of missing objects are left out.
        """
        wanted = [name for name in dict.fromkeys(names) if _HASH.fullmatch(name)]
        if not wanted:
            return {}
        stdin = "".join(f"{name}\n" for name in wanted).encode()
        command = ("cat-file", "--batch-check=%(objecttype)")
        try:
            output = self.run_git(*command, stdin=stdin)
        except UnreadableInput:  # In a partial clone, git ends when an object is missing.
            wanted = self._select_present_objects(wanted)
            stdin = "".join(f"{name}\n" for name in wanted).encode()
            output = self.run_git(*command, stdin=stdin)
        types = output.decode().splitlines()
        return {
            name: kind
            for name, kind in zip(wanted, types, strict=False)
            if kind in ("commit", "blob", "tree", "tag")
        }

    def _select_present_objects(self, names: Sequence[str]) -> list[str]:
        """Return the names of commits, tags and blobs that a partial clone has, without trees.

        A name may be an abbreviated hash.
        """
        stdin = "".join(f"{name}\n" for name in names).encode()
        output = self.run_git(
            *("rev-list", "--no-walk", "--objects", "--filter=tree:0"),
            *("--ignore-missing", "--missing=print", "--stdin"),
            stdin=stdin,
        )
        present = [line.split()[0] for line in output.decode("utf-8", "replace").splitlines()]
        lengths = {len(name) for name in names}
        prefixes = {name[:length] for name in present for length in lengths}
        return [name for name in names if name in prefixes]

    def read_commit_times(self, commits: Iterable[str]) -> dict[str, CommitTimes]:
        """Return the times of commits, by their full hashes.

        Like git, take a malformed time as 0: so no call can be earlier than the commit.
        """
        times = {}
        for line in self.describe_commits(commits, "%H %at %ct %an"):
            commit, authored, committed, author = line.split(" ", 3)
            times[commit] = CommitTimes(
                parse_commit_time(authored or committed),
                parse_commit_time(committed),
                is_update=_UPDATER.fullmatch(author) is not None,
            )
        return times

    def list_shallow_commits(self) -> frozenset[str]:
        """Return the commits of a shallow clone whose parents are missing."""
        if self._shallow is None:
            self._shallow = self._read_shallow_commits()
        return self._shallow

    def _read_shallow_commits(self) -> frozenset[str]:
        """Read the list that git keeps of these commits; without one, return none."""
        name = decode_git_name(
            self.run_git("rev-parse", "--git-path", "shallow").removesuffix(b"\n")
        )
        try:
            return frozenset((self.path / name).read_text("ascii").split())
        except FileNotFoundError:  # The clone has the whole history.
            return frozenset()

    def read_authors(self, commits: Iterable[str]) -> dict[str, str]:
        """Return the names of the authors of commits, by the full hashes of the commits."""
        rows = (line.partition(" ") for line in self.describe_commits(commits, "%H %an"))
        return {commit: name for commit, _, name in rows}

    def describe_commits(
        self, commits: Iterable[str], line_format: str, *options: str
    ) -> list[str]:
        """Return a line about each commit in a format of `git log`, in the order of the commits.

        Return an empty list without commits.

        Raises:
            UnreadableInput: there is no such commit, or git does not know an option.
        """
        stdin = "".join(f"{commit}\n" for commit in commits).encode()
        if not stdin:  # Git would describe HEAD.
            return []
        output = self.run_git(
            *("log", "--no-walk=unsorted", "--no-show-signature", "--encoding=UTF-8", "--stdin"),
            *(f"--format={line_format}", *options),
            stdin=stdin,
        )
        return [line for line in output.decode("utf-8", "replace").split("\n") if line]

    def load_base(self, revision: str) -> BaseFiles:
        """Return the files of a commit as the base of an attribution; each is read when needed.

        Raises:
            UnreadableInput: there is no such commit.
        """
        commit = self.resolve_commit(revision)
        tree = self.list_files(commit)
        when = self.read_commit_times([commit])[commit].committed * 1000
        return BaseFiles(commit, tree.keys(), lambda path: self.read_blob(tree[path]), when)

    def load_parent_base(self, commit: str) -> BaseFiles:
        """Return the files of a commit's first parent; a first commit has no files before it.

        Raises:
            UnreadableInput: the parent is missing, as in a shallow clone.
        """
        output = self.run_git("rev-list", "--parents", "--max-count=1", commit)
        parents = output.decode().split()[1:]
        if parents:
            return self.load_base(parents[0])
        if hint := self._explain_shallow():
            raise UnreadableInput(
                f"the parent of commit {commit[:12]} is missing", where=str(self.path), hint=hint
            )
        return BaseFiles("0" * len(commit), (), lambda _: b"")

    def close(self) -> None:
        """End the process that reads blobs."""
        if self._objects is not None:
            self._objects.close()
            self._objects = None


class _ObjectReader:
    """A git process that reads objects by their names; it ends with this object."""

    def __init__(self, path: Path) -> None:
        command = _build_git_command(path, ("cat-file", "--batch"))
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_build_git_environment(),
            )
        except OSError as error:
            raise _make_start_error(error, path) from error
        self._path = path
        self._requested: deque[str] = deque()
        self.close = weakref.finalize(self, _close_process, self._process)

    def request(self, names: Sequence[str]) -> None:
        """Ask for objects that will be read next, in this order; they must fit into a pipe.

        A process that stopped is noticed by `read`.
        """
        stdin = cast("IO[bytes]", self._process.stdin)
        with suppress(OSError, ValueError):
            stdin.write("".join(f"{name}\n" for name in names).encode())
            stdin.flush()
        self._requested.extend(names)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of an object, or `None` if the repository does not have it.

        Objects that were requested and are not wanted any more are passed over.

        Raises:
            UnreadableInput: git stopped.
        """
        if name not in self._requested:
            self.request([name])
        while self._requested.popleft() != name:
            self._read_next()
        return self._read_next()

    def _read_next(self) -> bytes | None:
        """Return the bytes of the object that was requested first; `None` if it is missing.

        Raises:
            UnreadableInput: git stopped.
        """
        stdout = cast("IO[bytes]", self._process.stdout)
        try:
            header = stdout.readline().split()
            if header and len(header) != _OBJECT_HEADER_WORDS:
                return None
            size = int(header[2]) if header else 0
            data = stdout.read(size)
            end = stdout.read(1)  # A line end follows the object.
        except (OSError, ValueError) as error:
            raise self._make_stop_error() from error
        if len(data) != size or not end:
            raise self._make_stop_error()
        return data

    def _make_stop_error(self) -> UnreadableInput:
        """Return the error about a git process that ended early."""
        return UnreadableInput(
            "git stopped unexpectedly",
            where=str(self._path),
            hint="Check the repository with: git fsck",
        )


def parse_commit_time(text: str) -> int:
    """Return the seconds that git prints for a commit; 0 for a malformed or absurd time."""
    try:
        return int(text) if len(text) <= _MAX_TIME_DIGITS else 0
    except ValueError:
        return 0


def _close_process(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a process, which ends it, and wait for its end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def decode_git_name(name: bytes) -> str:
    """Decode the name of a file; bytes that are not UTF-8 become lone surrogates."""
    return name.decode("utf-8", "surrogateescape")


def _build_git_command(path: Path, arguments: Iterable[str]) -> list[str]:
    """Return the words that run git in a folder, with settings that override the user's."""
    settings = [word for setting in _GIT_SETTINGS for word in ("-c", setting)]
    return ["git", "--no-pager", *settings, "-C", str(path), *arguments]


def _build_git_environment(
    settings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the environment for git: without most `GIT_` variables of the user, with our own.

    `settings` are added to the settings in the user's variables.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT_VARIABLES)
    }
    if settings:
        count = kept.get(_SETTING_COUNT, "")
        first = int(count) if count.isdecimal() else 0
        for number, (name, value) in enumerate(settings.items(), first):
            kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        kept[_SETTING_COUNT] = str(first + len(settings))
    return kept | _GIT_VARIABLES


def _make_start_error(error: OSError | ValueError, path: Path) -> UnreadableInput:
    """Return the error for the user when git could not be started."""
    if isinstance(error, FileNotFoundError):
        return UnreadableInput(
            "git is not installed",
            where=str(path),
            hint="Install git, or run the command without a repository.",
        )
    return UnreadableInput(f"cannot run git: {error}", where=str(path))


def _make_git_error(stderr: str, path: Path) -> UnreadableInput:
    """Return the error for the user, from what git printed when it failed."""
    if "dubious ownership" in stderr:
        hint = f"If you trust it: git config --global --add safe.directory {path.absolute()}"
        return UnreadableInput("the repository belongs to another user", where=str(path), hint=hint)
    if "not a git repository" in stderr:
        return UnreadableInput(
            "not a git repository",
            where=str(path),
            hint="Name the folder of a git repository; it may be bare.",
        )
    if missing := _MISSING_PROMISED_OBJECT.search(stderr):
        return _make_missing_error(missing[1], path)
    lines = stderr.strip().splitlines() or ["git failed"]
    first = next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[-1])
    return UnreadableInput(first.partition(": ")[2] or first, where=str(path))


def _make_missing_error(name: str, path: Path) -> UnreadableInput:
    """Return the error about an object that the repository does not have."""
    return UnreadableInput(
        f"the repository lacks the object {name}",
        where=str(path),
        hint="In a partial clone, fetch all objects with: git fetch --refetch --no-filter",
    )


# Repositories and files as users name them


def load_git_base(text: str) -> BaseFiles:
    """Return the files of the commit that `REPOSITORY` or `REPOSITORY@REVISION` names.

    Without a revision, it is HEAD. A folder may have an `@` in its name.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    return find_git_base(text, lambda repository: repository.load_base("HEAD"))[1]


def find_git_base(
    text: str, load_default: Callable[[Repository], BaseFiles]
) -> tuple[Repository, BaseFiles]:
    """Return the repository in `REPOSITORY` or `REPOSITORY@REVISION`, and the files of the commit.

    Without a revision, `load_default` chooses the files. A folder may have an `@` in its name.

    Raises:
        UsageError: there is no such folder.
        UnreadableInput: there is no such repository or revision.
    """
    first_error: UnreadableInput | None = None
    for path, revision in split_at_revision(text):
        if not path or not Path(path).expanduser().is_dir():
            continue
        try:
            repository = Repository(path)
            if revision is None:
                return repository, load_default(repository)
            return repository, repository.load_base(revision)
        except UnreadableInput as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
    raise UsageError(
        f"--base {text}: no such folder",
        hint="Name the folder of a repository; a revision may follow: --base ~/repo@HEAD~3",
    )


def split_at_revision(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield each way to read a text as a folder and a revision, split at an `@`.

    Begin with the whole text and no revision (`None`), then split at the last `@`, and so on.
    """
    yield text, None
    position = text.rfind("@")
    while position > 0:
        yield text[:position], text[position + 1 :]
        position = text.rfind("@", 0, position)


@dataclass(frozen=True)
class RepositoryFile:
    """A repository, and the path of a file from its root."""

    repository: Repository
    path: str


def find_repository_file(file: str, repository: str | None = None) -> RepositoryFile:
    """Return the repository of a file, and the path of the file from its root.

    The repository is the one around the file's folder, unless `repository` names another. The file
    need not exist. In a bare repository, `file` is already the path from the root.

    Raises:
        UnreadableInput: no repository is found.
        UsageError: the file is a folder, or is not in the work tree.
    """
    full = Path(make_absolute(file))  # A link is not followed.
    if full.is_dir() and not full.is_symlink():
        raise UsageError(f"{file} is a folder", hint="Name a file, or a commit with --commit.")
    if repository is not None:
        container = Repository(repository)
        top = _find_work_tree(container)
        if top is None:
            return RepositoryFile(container, file)
        if not full.exists() and not full.is_symlink():
            full = top / file
    else:
        container = Repository(_find_existing_folder(full))
        top = _find_work_tree(container)
        if top is None:
            raise UsageError(
                f"{file} is not in a git work tree",
                hint="Add --repository REPOSITORY, and name the file from its root.",
            )
    real = Path(os.path.realpath(full.parent)) / full.name
    if not real.is_relative_to(top) or real == top:
        hint = f"Correct --repository, or name a file in {top}."
        if repository is None:
            hint = "Name the repository that contains the file: --repository REPOSITORY"
        if real == top:
            hint = f"Name a file in {top}."
        raise UsageError(f"{file} is not a file in the work tree {top}", hint=hint)
    container.path = top
    return RepositoryFile(container, real.relative_to(top).as_posix())


def _find_existing_folder(path: Path) -> Path:
    """Return the nearest folder above a path that exists."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _fold_path(path: str) -> str:
    """Return a path without differences of case and Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def find_work_tree_names(repository: Repository, *paths: str) -> list[str]:
    """Return the paths relative to the root of a work tree, as written and with links followed.

    Paths outside of the work tree are left out. Return an empty list for a bare repository.
    """
    top = _find_work_tree(repository)
    if top is None:
        return []
    written = [Path(os.path.normpath(Path.cwd() / path)) for path in paths]
    both = (name for full in written for name in (full, Path(os.path.realpath(full))))
    return [
        full.relative_to(top).as_posix() for full in dict.fromkeys(both) if full.is_relative_to(top)
    ]


def find_work_trees(repository: Repository) -> list[str]:
    """Return the folders of all work trees of a repository: the main one and linked ones.

    Return an empty list for a bare repository without work trees.
    """
    folders = []
    for about in repository.run_git("worktree", "list", "--porcelain", "-z").split(b"\0\0"):
        name, *rest = about.split(b"\0")
        if name.startswith(b"worktree ") and b"bare" not in rest:
            folders.append(os.path.realpath(os.fsdecode(name.removeprefix(b"worktree "))))
    return folders


def _find_work_tree(repository: Repository) -> Path | None:
    """Return the folder of the work tree, or `None` for a bare repository."""
    try:
        name = repository.run_git("rev-parse", "--show-toplevel")
    except UnreadableInput:
        return None
    return Path(os.path.realpath(os.fsdecode(name.removesuffix(b"\n"))))


def read_work_tree_file(place: RepositoryFile) -> bytes | None:
    """Return the bytes of a file in the work tree, or `None` if it does not exist.

    Raises:
        UnreadableInput: it cannot be read, or is a link or a folder.
    """
    full = place.repository.path / place.path
    if full.is_symlink():
        raise UnreadableInput(
            "cannot blame a link", where=str(full), hint="Name the file that it points to."
        )
    if full.is_dir():
        raise UnreadableInput(
            "cannot blame a folder: it has no lines", where=str(full), hint="Name a file in it."
        )
    try:
        return full.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableInput(error.strerror or str(error), where=str(full)) from error
