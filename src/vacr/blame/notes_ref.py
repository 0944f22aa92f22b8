"""Git notes: read in bulk, written in one transaction, pushed and fetched.

A notes ref is a history of its own. Its newest tree has one blob for each commit with a note, named
after that commit. Notes are written through `git fast-import`, so a run of any size is one commit
of the ref. Git refuses it if the ref has moved in the meantime. No hook of the repository runs.

    >>> import subprocess, tempfile
    >>> from vacr.blame import NotesRef, Repository
    >>> folder = tempfile.TemporaryDirectory()
    >>> git = ["git", "-C", folder.name, "-c", "user.name=mira", "-c", "user.email=mira@app"]
    >>> for command in ["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "start"]:
    ...     _ = subprocess.run([*git, *command], check=True)
    >>> for setting in ["user.name", "mira"], ["user.email", "mira@app"]:
    ...     _ = subprocess.run([*git, "config", *setting], check=True)
    >>> repository = Repository(folder.name)
    >>> head = repository.resolve_commit("HEAD")
    >>> notes = NotesRef(repository)
    >>> notes.write({head: b"hello\\n"}, "Add a note")
    >>> notes.read([head])
    {'...': b'hello\\n'}
    >>> repository.close(); folder.cleanup()
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vacr.blame.git import Repository
from vacr.errors import Unreachable, UnreadableInput, UnwritableOutput, UsageError

DEFAULT_NOTES_REF = "refs/notes/ai"
_COMMIT_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF_NAME = re.compile(r"refs/notes/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*")
_MAX_FLAT_NOTES = 256
_TRACKING_PREFIX = "refs/notes/vacr-fetched/"
# Variables that git sets for hooks; they would lead to another repository or index.
_LOCAL_VARIABLES = re.compile(
    r"GIT_(?:DIR|WORK_TREE|INDEX_FILE|PREFIX|COMMON_DIR|OBJECT_DIRECTORY|NAMESPACE|GRAFT_FILE"
    r"|ALTERNATE_OBJECT_DIRECTORIES|SHALLOW_FILE|NOTES_\w+|REPLACE_REF_BASE|LITERAL_PATHSPECS)"
)
_SETTINGS = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.commitGraph=false"),
    *("-c", "gc.auto=0"),
    *("-c", "core.quotepath=off"),
)
_REJECTED = ("[rejected]", "[remote rejected]")


@dataclass(frozen=True, slots=True)
class FetchedNotes:
    """The notes of a remote, in a ref of this repository."""

    ref: str
    commit: str
    remote: str


class NotesRef:
    """A notes ref of a repository."""

    def __init__(self, repository: Repository, ref: str = DEFAULT_NOTES_REF) -> None:
        """Take a repository, and the full name of a ref.

        Raises:
            UsageError: the name is not one of a notes ref.
        """
        if not _REF_NAME.fullmatch(ref) or ".." in ref or ref.endswith((".", ".lock")):
            raise UsageError(f"{ref} is not a notes ref", hint="For example: refs/notes/ai")
        self.repository = repository
        self.ref = ref

    # Reading

    def find_tip(self) -> str | None:
        """Return the newest commit of the ref, or `None` if the repository does not have it."""
        return _find_commit(self.repository, self.ref)

    def list_notes(self, tip: str | None = None) -> dict[str, str]:
        """Return the blob of each note, by the commit it belongs to; empty without a ref.

        `tip` is a commit of a notes ref; by default, the newest one of this ref.
        """
        tip = tip or self.find_tip()
        files = self.repository.list_files(tip) if tip is not None else {}
        names = {path: path.replace("/", "") for path in files}
        return {name: files[path] for path, name in names.items() if _COMMIT_NAME.fullmatch(name)}

    def read(self, commits: Iterable[str]) -> dict[str, bytes]:
        """Return the notes of commits; commits without a note are left out."""
        blobs = self.list_notes()
        return {
            commit: self.repository.read_blob(blobs[commit])
            for commit in commits
            if commit in blobs
        }

    # Writing

    def write(self, notes: Mapping[str, bytes], message: str, *, merged: str | None = None) -> None:
        """Add or replace the notes of commits, in one commit of the ref; others stay as they are.

        `merged` is a second parent: the notes that were merged.

        Raises:
            UnwritableOutput: the ref moved in the meantime, or the repository cannot be written.
            UsageError: git knows no name and address of the user.
        """
        if not notes and merged is None:
            return
        tip = self.find_tip()
        stream = [
            f"commit {self.ref}\ncommitter {self._find_committer()}\n".encode(),
            _format_data(message.encode()),
        ]
        if tip is not None:
            stream.append(f"from {tip}\n".encode())
        if merged is not None:
            stream.append(f"merge {merged}\n".encode())
        # The command N of fast-import refuses notes of commits that are not here yet.
        places = self._choose_note_paths(tip, notes)
        for commit, note in sorted(notes.items()):
            stream += [f"M 100644 inline {places[commit]}\n".encode(), _format_data(note)]
        done = self._run(["fast-import", "--quiet", "--date-format=raw"], b"".join(stream))
        if done.returncode or self.find_tip() == tip:
            reason = _find_reason(done.stderr)
            raise UnwritableOutput(
                f"the notes were not written: {reason}",
                where=f"{self.repository.path}: {self.ref}",
                hint="If somebody else wrote notes at the same time, run the command again.",
            )

    def _choose_note_paths(self, tip: str | None, commits: Iterable[str]) -> dict[str, str]:
        """Return the path of each commit's note in the tree: the present one, or a new one.

        Git spreads many notes over folders named after the first digits. New notes are spread like
        the present ones.
        """
        files = self.repository.list_files(tip) if tip is not None else {}
        present = {
            name: path for path in files if _COMMIT_NAME.fullmatch(name := path.replace("/", ""))
        }
        names = list(commits)
        depth = max((path.count("/") for path in present.values()), default=0)
        if len(present) + len(names) > _MAX_FLAT_NOTES:
            depth = max(depth, 1)
        return {name: present.get(name) or _spread_name(name, depth) for name in names}

    def move(self, commit: str) -> None:
        """Set the ref to another commit, unless somebody else moved it in the meantime.

        Raises:
            UnwritableOutput: the ref moved, or cannot be written.
        """
        old = self.find_tip() or "0" * len(commit)
        done = self._run(["update-ref", self.ref, commit, old])
        if done.returncode:
            raise UnwritableOutput(
                f"the notes were not written: {_find_reason(done.stderr)}",
                where=f"{self.repository.path}: {self.ref}",
                hint="Run the command again.",
            )

    def _find_committer(self) -> str:
        """Return the user's name, address and the time, as git writes them.

        Raises:
            UsageError: the user has configured no name.
        """
        done = self._run(["var", "GIT_COMMITTER_IDENT"])
        if done.returncode:
            raise UsageError(
                "git does not know your name and address",
                hint="Set them with: git config user.name NAME; git config user.email ADDRESS",
            )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    # Remotes

    def find_remote(self) -> str:
        """Return the remote of the current branch, or else origin, or else the only remote.

        Raises:
            UsageError: there is no remote, or there are several.
        """
        branch = self._run(["symbolic-ref", "--quiet", "--short", "HEAD"]).stdout.decode().strip()
        configured = self._run(["config", f"branch.{branch}.remote"]).stdout.decode().strip()
        remotes = self._run(["remote"]).stdout.decode().split()
        for name in (configured, "origin"):
            if name and name in remotes:
                return name
        if len(remotes) == 1:
            return remotes[0]
        raise UsageError(
            "no remote given, and the repository has "
            + (f"several: {', '.join(remotes)}" if remotes else "none"),
            hint="Name a remote or the address of a repository: vacr notes push REMOTE",
        )

    def push(self, remote: str) -> bool:
        """Push the notes to a remote; return whether the remote lacked any of them.

        Raises:
            UnreadableInput: this repository has no notes.
            UnwritableOutput: the remote has notes that this repository lacks, or refuses them.
            Unreachable: the remote cannot be reached.
        """
        if self.find_tip() is None:
            raise UnreadableInput(
                "the repository has no notes",
                where=f"{self.repository.path}: {self.ref}",
                hint="To write notes: vacr notes write main..HEAD --records records/",
            )
        refspec = f"{self.ref}:{self.ref}"
        done = self._run(["push", "--porcelain", "--no-verify", "--", remote, refspec])
        report = done.stdout.decode("utf-8", "replace")
        if done.returncode == 0:
            return not report.partition(f"{self.ref}\t")[2].startswith("[up to date]")
        if any(word in report for word in _REJECTED):
            if "remote rejected" in report:
                line = next(line for line in report.splitlines() if "remote rejected" in line)
                raise UnwritableOutput(
                    "the remote refuses the notes: " + line.rpartition("\t")[2],
                    where=f"{remote} {self.ref}",
                    hint="Ask the owner of the remote to allow pushes to refs/notes/.",
                )
            raise UnwritableOutput(
                "the remote has notes that this repository lacks; nothing was pushed",
                where=f"{remote} {self.ref}",
                hint=f"First merge them: vacr notes fetch {remote}",
            )
        raise _make_remote_error(remote, done.stderr)

    def fetch(self, remote: str) -> FetchedNotes | None:
        """Fetch the notes of a remote into a ref of their own; `None` if it has none.

        Raises:
            Unreachable: the remote cannot be reached.
        """
        listed = self._run(["ls-remote", "--", remote, self.ref])
        if listed.returncode:
            raise _make_remote_error(remote, listed.stderr)
        if not listed.stdout.strip():
            return None
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", remote).strip("-") or "remote"
        tracking = f"{_TRACKING_PREFIX}{name}/{self.ref.removeprefix('refs/notes/')}"
        done = self._run(
            [
                "fetch",
                "--quiet",
                "--no-tags",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
                "--no-recurse-submodules",
                "--",
                remote,
                f"+{self.ref}:{tracking}",
            ]
        )
        commit = _find_commit(self.repository, tracking)
        if done.returncode or commit is None:
            raise _make_remote_error(remote, done.stderr)
        return FetchedNotes(tracking, commit, remote)

    def find_merge_base(self, first: str, second: str) -> str | None:
        """Return a common ancestor of two commits of notes refs, or `None`."""
        try:
            output = self.repository.run_git("merge-base", first, second)
        except UnreadableInput:
            return None
        return output.decode().split()[0]

    def _run(
        self, arguments: list[str], stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that may write or use the network, without hooks.

        Raises:
            UnreadableInput: git cannot be started.
        """
        environment = {
            name: value
            for name, value in os.environ.items()
            if not _LOCAL_VARIABLES.fullmatch(name)
        }
        environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
        command = ["git", "--no-pager", *_SETTINGS, "-C", str(self.repository.path), *arguments]
        try:
            return subprocess.run(
                command,
                input=b"" if stdin is None else stdin,
                capture_output=True,
                env=environment,
                check=False,
            )
        except (OSError, ValueError) as error:
            raise UnreadableInput(
                f"cannot run git: {error}", where=str(self.repository.path)
            ) from error


def _spread_name(name: str, depth: int) -> str:
    """Return a name with a slash after each of its first `depth` pairs of digits."""
    pairs = [name[at : at + 2] for at in range(0, 2 * depth, 2)]
    return "/".join([*pairs, name[2 * depth :]])


def _find_commit(repository: Repository, ref: str) -> str | None:
    """Return the commit that a full ref name names, or `None` if there is no such ref."""
    try:
        return (
            repository.run_git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
            .decode()
            .strip()
        )
    except UnreadableInput:
        return None


def _format_data(data: bytes) -> bytes:
    """Return bytes as an item of a fast-import stream."""
    return b"data %d\n%s\n" % (len(data), data)


def _find_reason(stderr: bytes) -> str:
    """Return the line of git's messages that names the cause."""
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    prefixes = ("fatal: ", "error: ", "warning: ")
    named = (line for line in lines if line.startswith(prefixes))
    line = next(named, lines[0] if lines else "git gave no reason")
    return line.partition(": ")[2] if line.startswith(prefixes) else line


def _make_remote_error(remote: str, stderr: bytes) -> Unreachable:
    """Return the error for a remote that cannot be reached."""
    return Unreachable(
        f"cannot reach the remote: {_find_reason(stderr)}",
        where=remote,
        hint="To list the remotes: git remote -v",
    )
