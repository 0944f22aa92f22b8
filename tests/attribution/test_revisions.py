"""The newest commit that a session shows."""

import pytest

from vacr.attribution.session_steps import find_newest_revision, walk_session_steps

A, B = "a1" * 20, "b2" * 20


def record(*calls):
    entries = []
    for number, (command, output, *failed) in enumerate(calls):
        entries.append(
            {
                "type": "tool-call",
                "name": "Bash",
                "call-id": str(number),
                "input": {"command": command},
            }
        )
        entries.append(
            {
                "type": "tool-result",
                "call-id": str(number),
                "output": output,
                "is-error": bool(failed),
            }
        )
    return {"session": {"entries": entries}}


@pytest.mark.parametrize(
    ("calls", "revision"),
    [
        ([], None),
        ([("ls", f"[main {A[:7]}] not git")], None),
        ([("git commit -m x", f"[main {A[:7]}] x\n 1 file changed")], A[:7]),
        ([("git commit -m x", f"[main (root-commit) {A[:7]}] x")], A[:7]),
        ([("git add . && git -c a=b commit -m x", f"[detached HEAD {A[:9]}] x")], A[:9]),
        ([("git commit -m x", f"[main {A[:7]}] x", True)], None),
        (
            [("git commit -m x", f"[main {A[:7]}] x"), ("git commit -m y", f"[main {B[:7]}] y")],
            B[:7],
        ),
        ([("git commit -m x", f"[main {A[:7]}] x"), ("git rev-parse HEAD", A + "\n")], A),
        (
            [("git show --no-patch", f"commit {A}\n"), ("git commit --amend", f"[main {A[:7]}] x")],
            A,
        ),
        ([("git rev-parse HEAD", A), ("git commit -m y", f"[main {B[:7]}] y")], B[:7]),
        ([("git rev-parse main", A)], None),
        ([("git log --oneline -3", f"{A[:7]} x\n{B[:7]} y\n")], A[:7]),
        ([("git log", f"commit {A}\nAuthor: Mira\n")], A),
        ([("git log --all --oneline", f"{A[:7]} x\n")], None),
        ([("git log main --oneline", f"{A[:7]} x\n")], None),
        ([("git log -- a.py", f"commit {A}\n")], None),
        ([("git rev-parse HEAD", "ab" * 32)], "ab" * 32),
    ],
)
def test_newest_commit_in_the_output_is_the_revision(calls, revision):
    assert find_newest_revision(walk_session_steps(record(*calls))) == revision
