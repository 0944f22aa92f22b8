"""Each rule for the outcome of a Copilot call and the speaker of a message."""

import pytest

from tests.agents import independent
from tests.agents.entries import list_entries
from tests.agents.test_copilot import FOLDER, OLDER, line, read
from tests.conftest import native_files, record_of

STILL = "<command with shellId: {} is still running after 5 seconds. It may be waiting for input.>"
ENDED = "<shellId: {} completed with exit code {}>"


def outcome(name, *, success=True, text="", **members):
    result = {"result": {"content": text}} if success else {}
    record = read(
        line("tool.execution_start", toolCallId="c1", toolName=name, arguments={}),
        line("tool.execution_complete", toolCallId="c1", success=success, **result, **members),
    )
    (entry,) = list_entries(record, "tool-result")
    return entry.get("status"), entry["vacr"].get("exit-code")


@pytest.mark.parametrize(
    ("name", "text", "members", "expected"),
    [
        ("bash", "ok", {"shellExecution": {"exitCode": 0}}, ("success", 0)),
        ("bash", "no", {"shellExecution": {"exitCode": 2}}, ("error", 2)),
        ("bash", "no\n" + ENDED.format(0, 3), {}, ("error", 3)),
        ("bash", ENDED.format(0, 0), {}, ("success", 0)),
        ("powershell", "x\n<exited with exit code 0>", {}, ("success", 0)),
        ("powershell", "x\n<exited with exit code 101>", {}, ("error", 101)),
        # A program prints such a line, and the host says otherwise after it.
        ("bash", "<exited with exit code 1>\n" + ENDED.format(0, 0), {}, ("success", 0)),
        ("bash", ENDED.format(0, 1) + "\nmore", {}, (None, None)),
        ("bash", "hi\n", {}, (None, None)),
        ("bash", STILL.format("s1"), {}, ("running", None)),
        ("bash", "<command started in background with shellId: s1>", {}, ("running", None)),
        ("stop_bash", "<command with id: s1 stopped>", {}, ("success", None)),
        ("task", "Agent started in background with agent_id: a1. Wait.", {}, ("running", None)),
        ("task", "All found.", {}, ("success", None)),
        ("view", ENDED.format(0, 1), {}, ("success", None)),
        ("notes-find", "exit code 1", {}, ("success", None)),
    ],
)  # fmt: skip
def test_outcome_is_read_from_the_result(name, text, members, expected):
    assert outcome(name, text=text, **members) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("failure", "error"),
        ("denied", "denied"),
        ("rejected", "denied"),
        ("timeout", "timeout"),
        ("aborted", "interrupted"),
        ("brand-new", "error"),
        (7, "error"),
    ],
)
def test_error_code_decides_how_a_call_failed(code, expected):
    error = {"message": "It did not work.", "code": code}
    assert outcome("edit", success=False, error=error) == (expected, None)


def test_result_without_a_statement_is_unknown():
    assert outcome("view", success="maybe") == (None, None)


def test_refusal_of_a_call_without_a_result_is_denied():
    record = read(
        line("tool.execution_start", toolCallId="c1", toolName="bash", arguments={}),
        line(
            "permission.completed", toolCallId="c1", result={"kind": "denied-interactively-by-user"}
        ),
    )
    assert list_entries(record, "tool-call")[0]["vacr"]["status"] == "denied"


def test_later_look_resolves_a_running_command():
    record = read(
        line("tool.execution_start", toolCallId="c1", toolName="bash", arguments={}),
        line(
            "tool.execution_complete",
            toolCallId="c1",
            success=True,
            result={"content": STILL.format("s1")},
        ),
        line("tool.execution_start", toolCallId="c2", toolName="read_bash", arguments={}),
        line(
            "tool.execution_complete",
            toolCallId="c2",
            success=True,
            result={"content": "x\n" + ENDED.format("s1", 4)},
        ),
    )
    first, second = list_entries(record, "tool-result")
    assert (first["status"], first["vacr"]["resolved-by"]) == ("running", "c2")
    assert (second["status"], second["vacr"]["exit-code"]) == ("error", 4)


def test_notice_resolves_a_running_command_and_a_sub_agent():
    newer = record_of((FOLDER / "events.jsonl").read_bytes())
    (docs,) = [entry for entry in list_entries(newer, "tool-result") if entry["call-id"] == "t7"]
    assert (docs["status"], docs["vacr"]["exit-code"]) == ("error", 2)
    (task,) = [entry for entry in list_entries(OLDER, "tool-result") if entry["call-id"] == "o5"]
    assert (task["status"], "resolved-by" in task["vacr"]) == ("success", True)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"content": "Fix it."}, ("human", "inferred")),
        ({"content": "Fix it.", "source": "user"}, ("human", "inferred")),
        ({"content": "A skill", "source": "skill-pdf"}, ("host", "stated")),
        ({"content": "Look", "source": "agent-a1"}, ("parent-agent", "stated")),
        ({"content": "Look", "source": "mystery"}, ("unknown", "inferred")),
        ({"content": "Go on", "isAutopilotContinuation": True}, ("host", "stated")),
        ({"content": "", "transformedContent": "Go on."}, ("host", "inferred")),
    ],
)
def test_speaker_is_stated_by_the_origin(members, expected):
    (entry,) = list_entries(read(line("user.message", **members)), "user")
    assert (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) == expected


def test_message_to_a_sub_agent_is_the_parents():
    record = read(line("user.message", content="Look.") | {"agentId": "a1"})
    assert list_entries(record, "user")[0]["vacr"]["speaker"] == "parent-agent"


# A later call or a notice may resolve a result; both give one status to every result.
@pytest.mark.parametrize("path", native_files("copilot"), ids=lambda path: path.name[-40:])
def test_labels_agree_with_independent_counts(path):
    data = path.read_bytes()
    mine, theirs = independent.record_labels(record_of(data)), independent.copilot_labels(data)
    assert mine.speakers == theirs.speakers
    assert mine.prompts == theirs.prompts
    assert sum(mine.statuses.values()) == sum(theirs.statuses.values())
    resolved = mine.resolved
    for status in ("success", "error", "denied", ""):
        assert 0 <= mine.statuses[status] - theirs.statuses[status] <= resolved
    for code, count in theirs.exit_codes.items():
        assert count <= mine.exit_codes[code] <= count + resolved
