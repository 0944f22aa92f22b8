"""Repositories whose files or commits were made to mislead git."""

import hashlib
import subprocess

import pytest

from tests.attribution.working_agent import commit, git, repository
from vacr.blame.git import Repository
from vacr.blame.history import list_range_commits

GRAPH = ".git/objects/info/commit-graph"
EDGES = b"CDAT"
ENTRY_BYTES, TREE_BYTES = 36, 20


def forge_parent(folder, child, parent):
    """Let the commit-graph of a repository name another parent of a commit."""
    git(folder, "commit-graph", "write", "--reachable")
    path = folder / GRAPH
    data = bytearray(path.read_bytes()[:-20])
    chunks = {
        bytes(data[8 + 12 * n : 12 + 12 * n]): int.from_bytes(
            data[12 + 12 * n : 20 + 12 * n], "big"
        )
        for n in range(data[6])
    }
    names = [data[chunks[b"OIDL"] + 20 * n :][:20].hex() for n in range(3)]
    place = chunks[EDGES] + ENTRY_BYTES * names.index(child) + TREE_BYTES
    data[place : place + 4] = names.index(parent).to_bytes(4, "big")
    path.chmod(0o644)
    path.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def test_forged_commit_graph_changes_no_parent(tmp_path):
    folder = repository(tmp_path / "repo")
    commits = []
    for text in ("one\n", "one\ntwo\n", "one\ntwo\nthree\n"):
        (folder / "a.py").write_text(text)
        commits.append(commit(folder))
    first, second, third = commits
    forge_parent(folder, third, first)
    shown = subprocess.run(
        ["git", "log", "--format=%P", "-1"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == first, "git itself believes the forged file"
    listed = {
        found.name: found.parents
        for found in list_range_commits(Repository(folder), f"{first}..{third}")
    }
    assert listed == {third: (second,), second: (first,)}


@pytest.mark.parametrize("time", ["9" * 5000, "-5"])
def test_absurd_time_of_a_commit_is_no_crash(tmp_path, time):
    folder = repository(tmp_path / "repo")
    (folder / "a.py").write_text("one\n")
    tree = git(folder, "rev-parse", commit(folder) + "^{tree}").strip()
    text = f"tree {tree}\nauthor A <a@x> {time} +0000\ncommitter A <a@x> {time} +0000\n\nm\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    times = Repository(folder).read_commit_times([made])[made]
    assert (times.authored <= 0, times.committed <= 0) == (True, True)
