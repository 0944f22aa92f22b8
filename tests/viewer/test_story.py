"""The story of a conversation, which the page tells as well."""

import subprocess
import sys

import pytest

import vacr
from tests.conftest import AGENTS, native_files
from tests.viewer.browser import build_record
from tests.viewer.in_node import LIMIT_CPU_TIME, NEEDS_NODE, Viewer
from tests.viewer.shell_facts import CASES, build_call
from vacr.record.encoding import encode
from vacr.viewer import RowFormatter, draw_summary
from vacr.viewer.story import tell_story


def say(kind, text, **members):
    return {"type": kind, "content": text, **members}


def run_command(command, output, *, is_error=False, exit_code=None):
    call = {"type": "tool-call", "call-id": "x", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool-result", "call-id": "x", "output": output, "is-error": is_error}
    return [call, result | ({"vacr": {"exit-code": exit_code}} if exit_code is not None else {})]


def test_request_is_the_first_prompt_that_the_agent_acted_on():
    record = build_record(
        say("user", "/model", vacr={"speaker": "human"}),
        say("user", "note", vacr={"speaker": "host"}),
        say("user", "Fix it."),
        say("assistant", "Looking."),
        say("assistant", "Fixed."),
        say("user", "thanks"),
    )
    story = tell_story([record])
    assert (story.asked, story.outcome) == ("Fix it.", "Fixed.")


def test_request_without_an_answer_is_the_first_prompt():
    story = tell_story([build_record(say("user", "one"), say("user", "two"))])
    assert (story.asked, story.outcome) == ("one", "")


def test_empty_conversation_has_an_empty_story():
    story = tell_story([build_record()])
    assert (story.asked, story.outcome, story.tests, story.commits) == ("", "", None, [])


def test_words_of_sub_agents_do_not_count_but_their_tests_do():
    parent = build_record(say("user", "go"), say("assistant", "done"))
    child = build_record(
        say("user", "look"), *run_command("pytest", "3 passed"), say("assistant", "x")
    )
    story = tell_story([parent, child])
    assert (story.asked, story.outcome) == ("go", "done")
    assert story.tests is not None
    assert story.tests.passed


def test_task_of_a_parent_agent_counts_only_without_a_prompt():
    task = say("user", "Look around.", vacr={"speaker": "parent-agent"})
    story = tell_story([build_record(task, say("assistant", "Seen."))])
    assert (story.asked, story.task, story.outcome) == ("", "Look around.", "Seen.")
    story = tell_story([build_record(task, say("user", "Fix it."), say("assistant", "Fixed."))])
    assert (story.asked, story.task) == ("Fix it.", "")


def test_calls_after_the_last_answer_are_counted():
    calls = [*run_command("ls", "a"), *run_command("ls", "b")]
    entries = [say("user", "go"), *calls, say("assistant", "Next I look."), *calls]
    assert tell_story([build_record(*entries)]).later_calls == 2
    assert tell_story([build_record(*entries, say("assistant", "Done."))]).later_calls == 0


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['command']} → {case['output']}"[:60]
)
def test_test_runs_and_commits_of_a_shell_call_are_found(case):
    story = tell_story([build_record(*build_call(case))])
    tests = story.tests
    found = tests and {"program": tests.program, "passed": tests.passed, "line": tests.line}
    assert found == case["tests"]
    assert (story.commits, story.has_unclear_commit) == (case["commits"], case["isUnclear"])
    assert tests is None or tests.has_output == (case["output"] is not None)


HOSTILE_STORIES = """
from tests.viewer.browser import build_record
from tests.viewer.shell_facts import HOSTILE_COMMANDS, HOSTILE_TEXTS, build_call
from vacr.viewer import draw_summary, tell_story
from vacr.viewer.exit_codes import explain_exit_code

for text in HOSTILE_TEXTS:
    said = [{"type": kind, "content": text} for kind in ("user", "assistant")]
    record = build_record(*build_call({"command": "pytest", "output": text}), *said)
    draw_summary([record], "Title", "unsigned")
for command in HOSTILE_COMMANDS:
    for _ in range(30):
        tell_story([build_record(*build_call({"command": command, "output": ""}))])
    explain_exit_code(command * (10_000 // len(command)), 1)
"""


@pytest.mark.component
def test_hostile_commands_and_texts_are_read_quickly():
    command = [*LIMIT_CPU_TIME, sys.executable, "-c", HOSTILE_STORIES]
    assert subprocess.run(command).returncode == 0


def test_output_of_a_command_that_ran_on_counts():
    start = run_command("pytest && git commit -m x", "Process running")
    start[1] |= {"status": "running", "vacr": {"resolved-by": "y"}}
    end = [
        {"type": "tool-call", "call-id": "y", "name": "BashOutput", "input": {}},
        {"type": "tool-result", "call-id": "y", "output": "3 passed\n[main 4f2c1e9] x"},
    ]
    running = tell_story([build_record(*start)])
    assert (running.tests.passed, running.commits) == (None, [])
    story = tell_story([build_record(*start, *end)])
    assert (story.tests.program, story.tests.passed) == ("pytest", True)
    assert story.commits == ["4f2c1e9"]


def test_end_of_a_command_that_ran_on_decides_about_its_commit():
    start = run_command("git commit -m x", "Process running")
    start[1] |= {"status": "running", "vacr": {"resolved-by": "y"}}
    end = [
        {"type": "tool-call", "call-id": "y", "name": "BashOutput", "input": {}},
        {"type": "tool-result", "call-id": "y", "output": "", "is-error": True},
    ]
    assert not tell_story([build_record(*start, *end)]).has_unclear_commit


@pytest.mark.parametrize(
    ("command", "output", "passed"),
    [
        ("pytest --collect-only -q", "3 tests collected", "none"),
        ("pytest --help", "", "none"),
        ("bats a", "not ok 1 foo\nok 2 bar", False),
        ("dotnet test | cat", "Failed: 1\n2 passed", False),
        ("pytest", "0 passed", None),
        ("pytest", "2 passed", True),
    ],
)
def test_only_a_run_of_tests_counts_as_one(command, output, passed):
    tests = tell_story([build_record(*run_command(command, output))]).tests
    assert (tests.passed if tests else "none") == passed


def build_noticed_commit(exit_code, status):
    """Return a record with a commit in the background whose end only a notice states."""
    call, result = run_command("git commit -m x", "Running in the background, ID: b1")
    marks = {"exit-code": exit_code, "resolved-by": "notice"}
    failed = {"status": status, "is-error": status == "error", "vacr": marks}
    notice = say("user", "<task-notification>", id="notice", vacr={"speaker": "host"})
    return build_record(call, result | failed, notice)


NOTICES = [(0, "success", [""]), (1, "error", []), (None, "interrupted", [])]


@pytest.mark.parametrize(("exit_code", "status", "commits"), NOTICES)
def test_commit_that_ended_by_a_notice_has_no_known_id(exit_code, status, commits):
    assert tell_story([build_noticed_commit(exit_code, status)]).commits == commits


@pytest.mark.component
@NEEDS_NODE
@pytest.mark.parametrize(("exit_code", "status", "commits"), NOTICES)
def test_page_knows_a_commit_that_ended_by_a_notice(exit_code, status, commits):
    viewer = Viewer()
    replies = viewer.open_records(encode(build_noticed_commit(exit_code, status)))
    viewer.close()
    found = replies["overview"]["overview"]["story"]["commits"]
    assert [replies["rows"][at]["commit"]["id"] for at in found] == commits


def test_answer_before_more_calls_is_no_outcome():
    entries = [say("user", "Fix it."), say("assistant", "I look."), say("user", "Go on.")]
    story = tell_story([build_record(*entries, say("assistant", "Next, the tests."))])
    assert (story.outcome_name, story.answered) == ("Outcome", "Go on.")
    story = tell_story([build_record(*entries, *run_command("ls", "a"))])
    assert (story.outcome_name, story.outcome, story.answered) == (
        "Last answer",
        "I look.",
        "Fix it.",
    )


@pytest.mark.component
@NEEDS_NODE
@pytest.mark.parametrize("agent", AGENTS)
def test_page_tells_the_same_story(agent):
    viewer = Viewer()
    compared = 0
    for path in native_files(agent):
        if path.stat().st_size > 4_000_000:
            continue
        try:
            records = list(vacr.read(str(path)))
        except vacr.VacrError:
            continue
        for record in records:
            replies = viewer.open_records(encode(record))
            rows, found = replies["rows"], replies["overview"]["overview"]["story"]
            story = tell_story([record])
            assert (story.asked != "") == (found["asked"] >= 0)
            assert (story.task != "") == (found["task"] >= 0)
            assert (story.outcome != "") == (found["outcome"] >= 0)
            assert story.later_calls == found["laterCalls"]
            assert (story.answered != "") == (found["answered"] >= 0)
            commits = [rows[at]["commit"]["id"] for at in found["commits"]]
            assert story.commits == commits
            tests = rows[found["tests"]]["tests"] if found["tests"] >= 0 else None
            own = story.tests
            expected = own and {"program": own.program, "passed": own.passed, "line": own.line}
            assert tests == expected
            compared += 1
    viewer.close()
    assert compared


def test_answer_without_text_is_no_answer_to_a_command():
    entries = [say("user", "/mode"), say("assistant", []), say("user", "Fix it")]
    assert tell_story([build_record(*entries, say("assistant", "Done"))]).asked == "Fix it"


def test_outcome_is_the_answer_without_the_thoughts_in_it():
    answers = [
        say("assistant", "<think>A float?</think> Fixed."),
        say("assistant", "<think>So</think>"),
    ]
    assert tell_story([build_record(say("user", "Fix it"), *answers)]).outcome == "Fixed."


@pytest.mark.parametrize(("output", "told"), [("x", "unknown"), (None, "not recorded")])
def test_unclear_commit_is_not_recorded_only_without_an_output(output, told):
    record = build_record(*build_call({"command": "git commit -m x | tail -1", "output": output}))
    (line,) = RowFormatter().summarize(tell_story([record]))
    assert line.text == f"  (git commit: result {told})"
    assert f">commit: result {told}<" in draw_summary([record], "Title", "unsigned")


@pytest.mark.parametrize("ours", [5, [1], {"resolved-by": 5}, {"native": 3}])
def test_odd_marks_of_a_result_are_passed_over(ours):
    call, result = run_command("uv run pytest -q", "3 passed")
    story = tell_story([build_record(call, {**result, "vacr": ours})])
    assert story.tests is not None
