"""Where the files of a session are in a repository, if they are there at all.

The same relative path exists in many projects, so `/home/me/other/setup.py` is not the `setup.py`
of this repository. A path counts only inside the folder that corresponds to the repository: the
project folder of the session, or a work tree linked to it. The session is tied to the repository if
it worked in its folder on this machine, or in a folder of that name with one of its files; if it
names its remote, or shows one of its commits; or if it showed files that the repository has byte
for byte. A session that is not tied needs stronger evidence for each line, and a session of another
remote has no claims here.

A folder such as `.worktrees/fix` may be a work tree of this repository, or another project. It is a
work tree if git lists it, or if the session added it. If it is gone, the session has to name a
remote of the repository, or show its objects.

    >>> from vacr.blame.locality import normalize_remote
    >>> normalize_remote("git@example.org:mira/App.git")
    'example.org/mira/app'
    >>> normalize_remote("https://token@example.org/mira/app/")
    'example.org/mira/app'
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from vacr.attribution import BaseFiles, find_base_root
from vacr.blame.claims import SessionFacts
from vacr.blame.git import Repository
from vacr.edits import make_absolute_path, make_relative_path
from vacr.errors import UnreadableInput
from vacr.files import is_absolute, is_folder, path_exists, resolve_links
from vacr.model import JsonObject

_SHORT_NAME = re.compile(r"[a-z0-9-]+/[a-z0-9._-]+")
_SCHEME = re.compile(r"^[a-z+]+://", re.IGNORECASE)
# Hidden folders in which agents and people put linked work trees of a repository.
_WORKTREE_FOLDER = re.compile(r"(?:\.[\w-]+/worktrees?|\.worktrees?)/[^/]+(?:/|$)")
# A folder for the work trees of many projects, each in a folder with the name of its project.
_SHARED_WORKTREE = re.compile(r"/(?:worktrees?|workspaces)/([^/]+)/[^/]+$", re.IGNORECASE)
# Two repositories rarely share a file of this size by chance; of smaller files, it takes two.
_LARGE_BLOB = 1_000
_MIN_SHARED_BLOBS = 2
_MIN_ROOT_VOTES = 2


@dataclass(frozen=True, slots=True)
class SessionRoots:
    """The folders of a session that correspond to a repository."""

    roots: Sequence[str]
    """Folders on the session's machine that correspond to the root of the repository."""
    prefix: str = ""
    """The path from the root of the repository to the folder that relative paths begin at."""
    is_tied: bool = True
    """Whether evidence ties the session to the repository."""

    def find_path(self, path: str) -> str | None:
        """Return the path in the repository of a file of the session.

        Return `None` if the file is outside of the repository, or in a folder that is named like a
        linked work tree and is not among the roots: that may be another project.
        """
        if not path.startswith(("/", "~")) and ":" not in path[:3]:
            inside = posixpath.normpath(posixpath.join(self.prefix, path))
            folder = find_worktree_folder(inside)
            if folder and self.roots and f"{self.roots[0]}/{folder}" in self.roots:
                return inside[len(folder) + 1 :]
            return None if folder or inside.startswith("..") else inside
        inside_roots = (make_relative_path(path, root) for root in self.roots)
        # A work tree may be in a folder of another one.
        shortest = min(
            (inside for inside in inside_roots if inside is not None), key=len, default=None
        )
        return None if shortest is None or find_worktree_folder(shortest) else shortest


def find_worktree_folder(path: str) -> str:
    """Return the folder at the beginning of a path that is named like a linked work tree.

    Return an empty text if it has another name.
    """
    found = _WORKTREE_FOLDER.match(path)
    return "" if found is None else found[0].rstrip("/")


@dataclass(frozen=True, slots=True)
class PlacedSession:
    """A record, facts about its session, and where the session worked in the repository."""

    load: Callable[[], dict[str, Any]]
    """Reads the record."""
    facts: SessionFacts
    place: SessionRoots


EVERYWHERE = SessionRoots(roots=("",))
"""The place of a session whose paths are already paths of the repository."""


class SessionPlacer:
    """Finds the folders of sessions that correspond to one repository at one commit."""

    def __init__(self, repository: Repository, commit: str, names: Collection[str]) -> None:
        """Prepare for a repository; `names` are the paths of the files of the commit."""
        self.base = BaseFiles(commit, names, lambda _: b"")
        self.ties = _RepositoryTies(repository)

    def place_session(self, facts: SessionFacts) -> SessionRoots | None:
        """Return where a session worked; `None` if it worked in another repository."""
        place = self._find_on_this_machine(facts)
        if place is not None:
            return place
        is_proven = self.ties.are_proven_by(facts)
        if not is_proven and self.ties.has_other_remote(facts):
            return None
        is_tied = is_proven or self.ties.shares_folder_name(facts, self.base.names)
        root = self._find_root(facts)
        prefix = make_relative_path(facts.folder, root) if root and facts.folder else None
        roots = [known for known in dict.fromkeys([root, *facts.worktrees]) if known]
        lost = _list_unlisted_worktrees(facts, roots) if is_proven else []
        return SessionRoots([*roots, *lost], prefix or "", is_tied)

    def _find_on_this_machine(self, facts: SessionFacts) -> SessionRoots | None:
        """Return the place of a session that worked in a work tree of this repository, or `None`.

        The session may have begun in a folder of the work tree, or in one around it.
        """
        worktrees = self.ties.list_work_trees()
        folder = facts.folder.rstrip("/")
        if not is_absolute(folder):  # Here, a path of Windows would be in the current folder.
            return None
        real = resolve_links(folder)
        tops = [top for top in worktrees if f"{real}/".startswith(f"{top}/")]
        if tops:
            top = max(tops, key=len)
            # The session may know the folder by another name, through a link.
            prefix = real[len(top) :].lstrip("/")
            root = folder.removesuffix(prefix).rstrip("/")
            roots = self._add_lost_worktrees(facts, [root, *worktrees, *facts.worktrees])
            own = find_worktree_folder(f"{prefix}/")
            if _is_other_repository(top, prefix) or (own and f"{root}/{own}" not in roots):
                return None
            return SessionRoots(roots, prefix)
        inside = [top for top in worktrees if top.startswith(f"{folder}/")]
        if any(path.startswith(f"{top}/") for path in facts.named for top in inside):
            return SessionRoots(self._add_lost_worktrees(facts, [*inside, *facts.worktrees]))
        return None

    def _add_lost_worktrees(self, facts: SessionFacts, roots: Sequence[str]) -> list[str]:
        """Return roots, and the linked work trees below them that git does not list any more.

        A folder counts as one if a remote or an object ties the session to the repository.
        """
        known = [*dict.fromkeys(roots)]
        lost = _list_unlisted_worktrees(facts, known)
        is_proven = bool(lost) and self.ties.are_proven_by(facts)
        return [*known, *lost] if is_proven else known

    def _find_root(self, facts: SessionFacts) -> str:
        """Return the folder on the session's machine that corresponds to the root.

        The files that the session named vote for it. A folder unrelated to the session's own folder
        does not count.
        """
        home = make_absolute_path(facts.folder, "") if facts.folder else ""
        root = find_base_root(self.base, facts.named, home)
        if not home or root == home or f"{home}/".startswith(f"{root}/"):
            return root
        if not root.startswith(f"{home}/"):
            return home
        below = [path for path in facts.named if path.startswith(f"{home}/")]
        voters = [path for path in below if make_relative_path(path, root) in self.base.names]
        is_certain = len(voters) >= _MIN_ROOT_VOTES or len(voters) == len(below)
        return root if is_certain and 2 * len(voters) >= len(below) else home


class _RepositoryTies:
    """What can tie a session to one repository: its remotes, work trees and objects."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._worktrees: list[str] | None = None
        self._remotes: set[str] | None = None

    def are_proven_by(self, facts: SessionFacts) -> bool:
        """Return whether the session names a remote of the repository, or shows its objects."""
        return self._shares_remote(facts) or self._shares_object(facts)

    def list_work_trees(self) -> list[str]:
        """Return the folders of the work trees of the repository."""
        if self._worktrees is None:
            self._worktrees = _list_work_trees(self.repository)
        return self._worktrees

    def shares_folder_name(self, facts: SessionFacts, names: Collection[str]) -> bool:
        """Return whether the session's folder has the name of the repository, and one of its files.

        `names` are the paths of the repository's files. The name of the repository is that of its
        folder, or of a remote. Programs that start agents put work trees into folders of their own,
        such as `~/.agent/worktrees/app/fix-1`: that has the name `app`, too. A folder that exists
        on this machine outside of the work trees is another project with this name.
        """
        if is_absolute(facts.folder) and is_folder(facts.folder):
            return False
        folder = facts.folder.replace("\\", "/").rstrip("/")
        own = {folder.rpartition("/")[2].lower()}
        own |= {name.lower() for name in _SHARED_WORKTREE.findall(folder)}
        repository_names = {remote.rpartition("/")[2] for remote in self._list_remotes()}
        repository_names |= {posixpath.basename(tree).lower() for tree in self.list_work_trees()}
        if not (own & repository_names) - {""}:
            return False
        return any(make_relative_path(path, folder) in names for path in facts.named)

    def has_other_remote(self, facts: SessionFacts) -> bool:
        """Return whether the session names remotes, and all are of projects with other names."""
        ours = {remote.rpartition("/")[2] for remote in self._list_remotes()}
        theirs = {normalize_remote(remote).rpartition("/")[2] for remote in facts.remotes}
        return bool(ours and theirs) and ours.isdisjoint(theirs)

    def _shares_remote(self, facts: SessionFacts) -> bool:
        """Return whether the session names a remote of the repository."""
        return not self._list_remotes().isdisjoint(map(normalize_remote, facts.remotes))

    def _shares_object(self, facts: SessionFacts) -> bool:
        """Return whether the repository has a commit or files that the session showed.

        One commit is enough. Of files, it needs two, or a large one.
        """
        commits = [name for name in (facts.revision, *facts.commits) if name]
        sizes = dict(facts.blobs)
        kinds = self.repository.find_object_types([*commits, *sizes])
        if any(kinds.get(name) == "commit" for name in commits):
            return True
        shared = [size for name, size in sizes.items() if kinds.get(name) == "blob"]
        return len(shared) >= _MIN_SHARED_BLOBS or any(size >= _LARGE_BLOB for size in shared)

    def _list_remotes(self) -> set[str]:
        """Return the normalized addresses of the repository's remotes."""
        if self._remotes is None:
            try:
                output = self.repository.run_git("config", "--get-regexp", r"^remote\..*\.url$")
            except UnreadableInput:  # There is none.
                output = b""
            words = (
                line.split(maxsplit=1) for line in output.decode("utf-8", "replace").split("\n")
            )
            self._remotes = {normalize_remote(parts[1]) for parts in words if len(parts) > 1}
        return self._remotes


def _list_unlisted_worktrees(facts: SessionFacts, roots: Sequence[str]) -> list[str]:
    """Return the folders of a session that are named like work trees, and are not among the roots.

    Leave out a folder with a repository of its own.
    """
    place = SessionRoots(roots)
    found: dict[str, None] = {}
    for path in (f"{facts.folder}/", *facts.named):
        if "worktree" in path and place.find_path(path) is None:
            for root in roots:
                folder = find_worktree_folder(make_relative_path(path, root) or "")
                if folder:
                    found[f"{root}/{folder}"] = None
    return [folder for folder in found if not path_exists(posixpath.join(folder, ".git"))]


def _is_other_repository(top: str, prefix: str) -> bool:
    """Return whether a folder below the top of a work tree belongs to a repository of its own."""
    parts = prefix.split("/") if prefix else []
    folders = (posixpath.join(top, *parts[: count + 1]) for count in range(len(parts)))
    return any(path_exists(posixpath.join(folder, ".git")) for folder in folders)


def _list_work_trees(repository: Repository) -> list[str]:
    """Return the folders of the work trees of a repository, its own folder first."""
    output = repository.run_git("worktree", "list", "--porcelain")
    trees = [
        os.fsdecode(line.removeprefix(b"worktree "))
        for line in output.split(b"\n")
        if line.startswith(b"worktree ")
    ]
    real = os.path.realpath(repository.path)
    return sorted(dict.fromkeys(trees), key=lambda tree: not f"{real}/".startswith(f"{tree}/"))


def name_repository(record: JsonObject) -> str:
    """Return the repository of a record as `host/owner/name`; empty if the record does not tell.

    A record may state only `owner/name`: that is a repository on GitHub.

        >>> from vacr.blame.locality import name_repository
        >>> name_repository({"vcs": {"repository": "Mira/app"}})
        'github.com/mira/app'
    """
    vcs = record.get("vcs")
    remote = vcs.get("repository") if isinstance(vcs, dict) else None
    if not isinstance(remote, str):
        return ""
    name = normalize_remote(remote)
    return f"github.com/{name}" if _SHORT_NAME.fullmatch(name) else name


def normalize_remote(address: str) -> str:
    """Return the address of a remote as `host/owner/name`, without its protocol and user."""
    bare = _SCHEME.sub("", address.strip())
    bare = bare.rpartition("@")[2] if "@" in bare.partition("/")[0] else bare
    host, colon, rest = bare.partition(":")
    if colon and "/" not in host:
        bare = f"{host}/{rest.lstrip('/')}"
    return bare.rstrip("/").removesuffix(".git").lower()
