"""Lines that only a person can have written, proven by sessions that knew the file exactly."""

import pytest

from tests.attribution.working_agent import Agent, commit, repository
from vacr import read
from vacr.blame import Repository, blame_commit

pytestmark = pytest.mark.component

START = "def first():\n    return 'the very first'\n"
BY_HAND = "def typed_by_a_person():\n    return 'typed by a person'\n"
BY_AGENT = "def written_by_an_agent():\n    return 'written by an agent'\n"
BEFORE = "2026-03-13T09:00:00Z"


@pytest.fixture
def repo(tmp_path):
    folder = repository(tmp_path / "repo")
    (folder / "app.py").write_text(START)
    commit(folder, "Start", date=BEFORE)
    return folder


def append(repo, text):
    with (repo / "app.py").open("a") as file:
        file.write(text)


def blame_head(repo, *agents, author=None):
    records = [record for agent in agents for record in read(agent.save(repo.parent / "sessions"))]
    options = [] if author is None else [f"--author={author}"]
    name = commit(repo, "Change", *options, date=agents[0].now)
    added = blame_commit(Repository(repo), name, records)
    return {line.text: line for _, lines in added.files for line in lines}


def work_with_a_person(repo):
    """Let an agent read a file, a person add to it, and the agent read and extend it again."""
    agent = Agent(repo).asked("Begin").read("app.py")
    append(repo, BY_HAND)
    return agent.read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")


def test_line_added_between_two_reads_is_human(repo):
    lines = blame_head(repo, work_with_a_person(repo))
    typed, written = lines["def typed_by_a_person():"], lines["def written_by_an_agent():"]
    assert (typed.type, typed.blame.join, typed.blame.claim.evidence) == (
        "human",
        "exclusion",
        "exclusion",
    )
    assert written.type == "ai"


def test_line_added_before_the_first_read_is_unknown(repo):
    append(repo, BY_HAND)
    agent = Agent(repo).asked("Begin").read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT)
    lines = blame_head(repo, agent.read("app.py"))
    assert lines["def typed_by_a_person():"].type == "unknown"
    assert lines["def written_by_an_agent():"].type == "ai"


def test_line_added_after_the_last_read_is_unknown(repo):
    agent = Agent(repo).asked("Begin").read("app.py").edit("app.py", START, START + BY_AGENT)
    append(repo, BY_HAND)
    lines = blame_head(repo, agent)
    assert lines["def typed_by_a_person():"].type == "unknown"
    assert lines["def written_by_an_agent():"].type == "ai"


def test_line_added_while_a_command_ran_is_unknown(repo):
    agent = Agent(repo).asked("Begin").read("app.py")
    append(repo, BY_HAND)
    agent.shell("python3 -c 'print(1)' && ./generate.sh || true").read("app.py")
    agent.edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")
    assert blame_head(repo, agent)["def typed_by_a_person():"].type == "unknown"


def run_sub_agent(agent):
    agent.call("Task", {"description": "Extend", "prompt": "Extend app.py"}, "Done.")


def run_unknown_tool(agent):
    agent.call("mcp__files__insert", {"path": "app.py", "template": "function"}, "ok")


def run_in_background(agent):
    native = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b1"}
    arguments = {"command": "npm run dev", "run_in_background": True}
    agent.call("Bash", arguments, "Command running in background with ID: b1", native)
    agent.read("app.py")


def run_after_the_call(agent):
    agent.call("Bash", {"command": "nohup npm run watch &"}, "")
    agent.read("app.py")


def restore_unknown_stash(agent):
    agent.call("Bash", {"command": "git stash pop"}, "Dropped refs/stash@{0}")


def substitute_output(agent):
    agent.call("Bash", {"command": "echo $(./generate.sh)"}, "")


def check_out_pull_request(agent):
    agent.call("Bash", {"command": "gh pr checkout 5"}, "")


def commit_with_a_silent_hook(agent):
    agent.call("Bash", {"command": "git commit -qm Change"}, "")


@pytest.mark.parametrize(
    "act",
    [
        commit_with_a_silent_hook,
        substitute_output,
        check_out_pull_request,
        run_sub_agent,
        run_unknown_tool,
        run_in_background,
        run_after_the_call,
        restore_unknown_stash,
    ],
)
def test_line_added_around_a_call_that_may_change_any_file_is_unknown(repo, act):
    agent = Agent(repo).asked("Begin").read("app.py")
    act(agent)
    append(repo, BY_HAND)
    agent.read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")
    assert blame_head(repo, agent)["def typed_by_a_person():"].type == "unknown"


def test_line_added_around_a_call_that_changes_no_file_is_human(repo):
    agent = Agent(repo).asked("Begin").read("app.py")
    agent.call("TodoWrite", {"todos": []}, "ok")
    append(repo, BY_HAND)
    agent.read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")
    assert blame_head(repo, agent)["def typed_by_a_person():"].type == "human"


@pytest.mark.parametrize(
    "laid_out",
    [
        'total = compute_the_total(first_amount, "second amount")\n',
        'total = compute_the_total(\n    first_amount,\n    "second amount",\n)\n',
    ],
    ids=["quotes", "wrapped"],
)
def test_reformatted_line_is_not_human(repo, laid_out):
    """The host runs the formatter after each edit, and the session does not show it."""
    written = "total=compute_the_total(first_amount,'second amount')\n"
    agent = Agent(repo).asked("Begin").read("app.py").edit("app.py", START, START + written)
    (repo / "app.py").write_text(START + laid_out)
    agent.read("app.py").edit("app.py", START, START + BY_AGENT).read("app.py")
    lines = blame_head(repo, agent)
    assert "human" not in {line.type for line in lines.values()}
    assert not any(line.blame.changed_by for line in lines.values() if line.blame is not None)


def test_proposed_line_with_an_escape_is_unknown(repo):
    typed = "print('the first row\\nthe second row')\n"
    agent = Agent(repo).asked("Begin").read("app.py")
    agent._add("assistant", [{"type": "text", "text": f"Add this:\n```\n{typed}```"}])
    append(repo, typed)
    agent.read("app.py").edit("app.py", typed, typed + BY_AGENT).read("app.py")
    assert blame_head(repo, agent)[typed.strip()].type == "unknown"


def test_proposed_line_is_unknown(repo):
    agent = Agent(repo).asked("Begin").read("app.py")
    agent._add("assistant", [{"type": "text", "text": f"Add this:\n```\n{BY_HAND}```"}])
    append(repo, BY_HAND)
    agent.read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")
    assert blame_head(repo, agent)["def typed_by_a_person():"].type == "unknown"


def test_commit_of_a_bot_has_no_human_lines(repo):
    lines = blame_head(repo, work_with_a_person(repo), author="updates[bot] <b@example.org>")
    assert lines["def typed_by_a_person():"].type == "unknown"


def test_line_of_another_session_is_attributed_to_it(repo):
    agent = Agent(repo).asked("Begin").read("app.py")
    other = Agent(repo, "two", start=100).asked("Help").read("app.py")
    other.edit("app.py", START, START + BY_HAND)
    late = Agent(repo, "one", start=200)
    late.lines, late.calls = agent.lines, agent.calls
    late.start = 200
    late.read("app.py").edit("app.py", BY_HAND, BY_HAND + BY_AGENT).read("app.py")
    lines = blame_head(repo, late, other)
    assert lines["def typed_by_a_person():"].type == "ai"
    assert lines["def typed_by_a_person():"].blame.claim.session == "session-two"
