"""Times and places that refute a claim, and claims whose time is uncertain."""

import pytest

from tests.attribution.working_agent import Agent, commit, git, repository
from vacr import read
from vacr.blame import Repository, blame_commit
from vacr.blame.blocks import FileVersion
from vacr.blame.claims import LineClaim, SessionFacts
from vacr.blame.git import CommitTimes
from vacr.blame.locality import SessionPlacer, SessionRoots, name_repository, normalize_remote
from vacr.blame.session_claims import gather_record_claims
from vacr.workflows.attribute import build_commit_document

HOUR = 3600
TEXT = "def total(lines):\n    return sum(line.price for line in lines)\n"


def make_claim(time, *, zoneless=False):
    return LineClaim("ai", "m", "s", "r", "e", "c", "", "replayed", time, zoneless)


@pytest.mark.parametrize(
    ("time", "zoneless", "committed", "expected"),
    [
        (1000, False, 1000, True),
        (1001, False, 1000, False),
        (1000 + 14 * HOUR, True, 1000, True),
        (1001 + 14 * HOUR, True, 1000, False),
        (None, False, 1000, True),
        (1000, False, None, True),
    ],
)
def test_call_counts_until_the_second_of_the_commit(time, zoneless, committed, expected):
    assert make_claim(time, zoneless=zoneless).is_possible_at(committed) is expected


@pytest.mark.parametrize(
    ("authored", "committed", "until", "expected"),
    [
        (100, 100, None, True),
        (100, 100, 101, True),
        (100, 100, 100, False),
        (100, 500, 200, True),  # rebased after the session removed the line
        (300, 500, 200, False),
    ],
)
def test_removed_line_counts_if_it_was_first_committed_before(authored, committed, until, expected):
    version = FileVersion("a.py", ["x\n"], {1}, "", times=CommitTimes(authored, committed))
    assert version.allows(1, make_claim(50), until) is expected


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "other.py").write_text("x = 1\n")
    commit(folder, "Start", date="2026-03-13T09:00:00Z")
    return folder


def blame_with_times(repo, change_stamp):
    """Let an agent write a file, change the times of its session, and blame the commit."""
    agent = Agent(repo).asked("Add up").write("total.py", TEXT)
    for line in agent.lines:
        stamp = change_stamp(line.pop("timestamp"))
        if stamp is not None:
            line["timestamp"] = stamp
    records = list(read(agent.save(repo.parent / "sessions")))
    name = commit(repo, date="2026-03-14T09:00:00Z")
    (file,) = build_commit_document(blame_commit(Repository(repo), name, records))["files"]
    return file["ranges"][0]


def test_claim_without_a_time_says_so(repo):
    found = blame_with_times(repo, lambda _: None)
    assert (found["contributor"]["type"], found["doubt"]) == ("ai", "no-time")
    assert "time" not in found


def test_claim_with_a_time_has_no_doubt(repo):
    found = blame_with_times(repo, lambda stamp: stamp)
    assert (found["contributor"]["type"], "doubt" in found) == ("ai", False)


def test_call_after_the_commit_claims_nothing(repo):
    found = blame_with_times(repo, lambda stamp: stamp.replace("-14T", "-15T"))
    assert found["contributor"] == {"type": "unknown"}


# --- places ---


PLACE = SessionRoots(
    ["/home/me/app", "/home/me/trees/fix", "/home/me/app/.worktrees/listed"], "web"
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/app/setup.py", "setup.py"),
        ("/home/me/other/setup.py", None),
        ("/home/me/app/../other/billing.py", None),
        ("/home/me/trees/fix/src/a.py", "src/a.py"),
        ("/home/me/app/.worktrees/listed/src/a.py", "src/a.py"),
        ("/home/me/app/.worktrees/fix/src/a.py", None),
        ("/home/me/app/.claude/worktrees/fix/src/a.py", None),
        ("/home/me/app/pkg/worktree/list.go", "pkg/worktree/list.go"),
        ("/home/me/application/setup.py", None),
        ("~/.claude/plans/plan.md", None),
        ("a.py", "web/a.py"),
        ("../a.py", "a.py"),
        ("../../a.py", None),
    ],
)
def test_path_counts_only_inside_the_repository(path, expected):
    assert PLACE.find_path(path) == expected


def place_session(repo, **facts):
    found = Repository(repo)
    names = found.list_files(found.resolve_commit("HEAD"))
    return SessionPlacer(found, "HEAD", names).place_session(SessionFacts(**facts))


def test_session_is_tied_by_folder_remote_commit_or_name(repo):
    git(repo, "remote", "add", "origin", "https://example.org/mira/shop.git")
    head = git(repo, "rev-parse", "HEAD")
    tied = [
        {"folder": str(repo)},
        {"folder": f"{repo}/src"},
        {"folder": "/srv/x", "remotes": ("git@example.org:mira/shop.git",)},
        {"folder": "/srv/x", "commits": (head[:9],)},
        {"folder": "/srv/shop", "named": ("/srv/shop/other.py",)},
        {"folder": "/srv/worktrees/shop/fix", "named": ("/srv/worktrees/shop/fix/other.py",)},
        {
            "folder": "D:\\.cursor\\worktrees\\Shop\\a1",
            "named": ("D:/.cursor/worktrees/Shop/a1/other.py",),
        },
    ]
    assert [place_session(repo, **facts).is_tied for facts in tied] == [True] * len(tied)
    loose = [
        {"folder": "/srv/x"},
        {"folder": "/srv/shop", "named": ("/srv/shop/new.py",)},
        {"folder": "/srv/shop/fix", "named": ("/srv/shop/fix/other.py",)},
        {"folder": "/srv/worktrees/shop/fix", "named": ("/srv/worktrees/shop/fix/new.py",)},
        {"folder": "/srv/worktrees/shop/a/b", "named": ("/srv/worktrees/shop/a/b/other.py",)},
    ]
    assert [place_session(repo, **facts).is_tied for facts in loose] == [False] * len(loose)


def test_folder_named_like_a_work_tree_is_checked_with_git(repo):
    """Git lists the work tree, or the session shows a commit; or else it may be any project."""
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "worktree", "add", "-q", ".worktrees/listed")
    other = repository(repo / ".worktrees" / "clone")
    paths = [f"{repo}/.worktrees/{name}/a.py" for name in ("listed", "gone", "clone")]

    def find_paths(**facts):
        place = place_session(repo, folder=str(repo), named=tuple(paths), **facts)
        return [place.find_path(path) for path in paths]

    assert find_paths() == ["a.py", None, None]
    assert find_paths(worktrees=(f"{repo}/.worktrees/gone",)) == ["a.py", "a.py", None]
    assert find_paths(commits=(head,)) == ["a.py", "a.py", None]
    assert place_session(repo, folder=f"{repo}/.worktrees/listed").is_tied
    assert not place_session(repo, folder=f"{repo}/.worktrees/gone").is_tied
    place = place_session(repo, folder=f"{repo}/.worktrees/gone", commits=(head,))
    assert place.is_tied
    assert place.find_path(paths[1]) == place.find_path("a.py") == "a.py"
    assert not place_session(repo, folder=str(other)).is_tied


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        ("git worktree add -b fix ../trees/fix", True),
        ("cd src && git worktree add ../../trees/fix", True),
        ("git -C ../other worktree add ../trees/fix", False),
        ("cd ../other && git worktree add ../trees/fix", False),
    ],
)
def test_work_tree_that_a_session_added_to_another_project_does_not_count(repo, command, is_ours):
    (repo / "src").mkdir()
    agent = Agent(repo).asked("Add up")
    agent.call("Bash", {"command": command}, "Preparing worktree", {"stdout": "", "stderr": ""})
    [record] = read(agent.save(repo.parent / "sessions"))
    added = gather_record_claims(record).facts.worktrees
    assert added == ((str(repo.parent / "trees" / "fix"),) if is_ours else ())


def test_session_in_a_repository_inside_of_this_one_is_not_tied(repo):
    inner = repository(repo / "vendor" / "inner")
    (inner / "src").mkdir()
    assert not place_session(repo, folder=f"{inner}/src").is_tied
    (repo / "src").mkdir()
    assert place_session(repo, folder=f"{repo}/src").is_tied


def test_session_of_another_remote_has_no_place(repo):
    git(repo, "remote", "add", "origin", "https://example.org/mira/shop.git")
    assert place_session(repo, folder="/srv/x", remotes=("git@example.org:mira/blog",)) is None
    fork = place_session(repo, folder="/srv/x", remotes=("git@example.org:nora/shop",))
    assert not fork.is_tied


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("ssh://git@example.org/mira/app.git", "example.org/mira/app"),
        ("git@example.org:mira/app", "example.org/mira/app"),
        ("https://example.org/Mira/App/", "example.org/mira/app"),
        ("/srv/git/app.git", "/srv/git/app"),
    ],
)
def test_remote_is_the_same_by_every_protocol(address, expected):
    assert normalize_remote(address) == expected


@pytest.mark.parametrize(
    ("vcs", "expected"),
    [
        ({"repository": "Mira/app"}, "github.com/mira/app"),
        ({"repository": "git@github.com:mira/app.git"}, "github.com/mira/app"),
        ({"repository": "example.org/app"}, "example.org/app"),
        ({"repository": "/srv/git/app.git"}, "/srv/git/app"),
        ({"branch": "main"}, ""),
        (None, ""),
    ],
)
def test_repository_of_a_record_has_its_host(vcs, expected):
    assert name_repository({} if vcs is None else {"vcs": vcs}) == expected
