"""Which commit added which lines, as git tells it. Step: blame.

Renames are found in one way, whatever the configuration says: a file of which half is the same is
the same file, and copies are new files. A merge added only what none of its parents has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from vacr.errors import UnreadableInput
from vacr.sources.git import FILE_MODES, Repository, name_of

_PAIRS = ["diff-tree", "--stdin", "-m", "-r", "--root", "--find-renames=50%", "-l1000"]
_RAW = ["--raw", "-z", "--no-abbrev", "--ignore-submodules=none"]
_PATCH = [
    "--no-commit-id",
    "--patch",
    "--unified=0",
    "--inter-hunk-context=0",
    "--full-index",
    "--text",
    "--no-color",
]
_SAFE = [
    "--no-ext-diff",
    "--no-textconv",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--ignore-submodules=all",
]
_NONE, _ONE = frozenset[int](), frozenset({1})
_GONE = "000000"
_INDEX = re.compile(rb"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_QUOTED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


_Pair = tuple[str, str, str, str, bool]
"""The blob before, the blob after, the name before, the name after, and whether it is a file."""


@dataclass(frozen=True, slots=True)
class AddedTo:
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
class Blamed:
    """The lines of a file: for each, the commit that added it, and its path and number there."""

    lines: list[tuple[str, str, int]] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    """Every name that the file had."""


def added_since(repository: Repository, since: str, commit: str) -> list[AddedTo]:
    """Give the files that have lines at a commit which they did not have at another."""
    return _added(repository, {commit: [since]}, ())[commit]


def added(
    repository: Repository, commits: Sequence[str], paths: Collection[str] = ()
) -> dict[str, list[AddedTo]]:
    """Give the files that commits added lines to; with paths, of these only."""
    return _added(repository, _parents(repository, commits), paths)


def _added(
    repository: Repository, parents: dict[str, list[str]], paths: Collection[str]
) -> dict[str, list[AddedTo]]:
    commits = list(parents)
    pairs = [f"{commit} {parent}" for commit in commits for parent in parents[commit]]
    pairs += [commit for commit in commits if not parents[commit]]
    stdin = "".join(pair + "\n" for pair in pairs).encode()
    only = ["--", *sorted(paths)] if paths else []
    hunks = _hunks(repository.run(*_PAIRS, *_PATCH, *_SAFE, *only, stdin=stdin))
    found: dict[str, list[dict[str, AddedTo]]] = {commit: [] for commit in commits}
    for commit, files in _raw(repository.run(*_PAIRS, *_RAW, *only, stdin=stdin)):
        told = {
            path: AddedTo(
                path, new, hunks.get((old, new), _NONE) if is_file else _ONE, name, is_file
            )
            for old, new, name, path, is_file in files
        }
        found[commit].append(told)
    return {commit: _by_all(found[commit], len(parents[commit])) for commit in commits}


def _by_all(told: list[dict[str, AddedTo]], parents: int) -> list[AddedTo]:
    """Keep the lines that differ from every parent."""
    if not told or len(told) < parents:
        return []
    return [
        replace(file, lines=frozenset.intersection(*(one[path].lines for one in told)))
        for path, file in told[0].items()
        if all(path in one for one in told)
    ]


def _parents(repository: Repository, commits: Sequence[str]) -> dict[str, list[str]]:
    stdin = "".join(commit + "\n" for commit in commits).encode()
    lines = (
        repository.run("rev-list", "--parents", "--no-walk=unsorted", "--stdin", stdin=stdin)
        .decode()
        .splitlines()
    )
    return {words[0]: words[1:] for words in map(str.split, lines)}


def _raw(output: bytes) -> Iterator[tuple[str, list[_Pair]]]:
    """Read the files, links and submodules of each pair of commits."""
    commit = ""
    files: list[_Pair] = []
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
        is_file = mode in FILE_MODES
        if is_file or (mode != _GONE and (old_mode, old) != (mode, new)):
            before = old if old_mode in FILE_MODES else "0" * len(old)
            files.append((before, new, name_of(first), name_of(name), is_file))
    if commit:
        yield commit, files


def _hunks(patch: bytes) -> dict[tuple[str, str], frozenset[int]]:
    """Read the numbers of the added lines, by the blobs before and after."""
    found: dict[tuple[str, str], set[int]] = {}
    lines: set[int] = set()
    for line in patch.split(b"\n"):
        if line.startswith(b"index ") and (names := _INDEX.match(line)):
            lines = found[names[1].decode(), names[2].decode()] = set()
        elif line.startswith(b"@@ ") and (hunk := _HUNK.match(line)):
            first, count = int(hunk[1]), int(hunk[2]) if hunk[2] is not None else 1
            lines.update(range(first, first + count))
    return {names: frozenset(numbers) for names, numbers in found.items()}


def blame(repository: Repository, commit: str, path: str) -> Blamed:
    """Give for each line of a file at a commit where it comes from.

    Raises:
        UnreadableInput: the commit has no such file.
    """
    output = repository.run("blame", "--porcelain", "--no-textconv", commit, "--", path)
    blamed, names = Blamed(paths={path}), {commit: path}
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
            names[now] = unquoted(line[9:])
            blamed.paths.add(names[now])
        elif line.startswith(b"previous "):
            blamed.paths.add(unquoted(line.split(b" ", 2)[2]))
    if expecting:
        return blamed
    raise UnreadableInput("git blame ended too early", where=path)


def unquoted(name: bytes) -> str:
    """Read a name that git may have put in quotation marks."""
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _QUOTED.sub(lambda found: _letter(found[1]), name[1:-1])
    return name_of(name)


def _letter(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) > 1 else _ESCAPES.get(escape, escape)
