"""Each rule about outcomes and speakers of Claude Code, and the texts that try to forge one."""

import json
import time

import pytest

from tests.agents import independent, rebuild
from tests.conftest import jsonl, record_of
from vacr.agents.claude_code import AGENT

ENVELOPE = {"sessionId": "s", "version": "2.1.219", "cwd": "/w", "entrypoint": "cli"}
BASH = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file)."
)


def user(content, **members):
    return {
        "type": "user",
        **ENVELOPE,
        "message": {"role": "user", "content": content},
        **members,
    }


def call(name="Bash", call_id="t1", **arguments):
    block = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    message = {"role": "assistant", "model": "claude-opus-4-8", "content": [block]}
    return {"type": "assistant", **ENVELOPE, "message": message}


def result(text, report=None, *, call_id="t1", is_error=None, **members):
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    if is_error is not None:
        block["is_error"] = is_error
    return user([block], toolUseResult=report, **members)


def failure(text, **members):
    return result(text, f"Error: {text}", is_error=True, **members)


def list_results(*lines):
    record = record_of(jsonl(*lines))
    rebuild.assert_same([record], json.loads(json.dumps(lines)))
    children = [
        child for entry in record["session"]["entries"] for child in entry.get("children", ())
    ]
    return [child for child in children if child["type"] == "tool-result"]


def outcome_of(line, tool="Bash"):
    """Return the status, the flag and the exit code of one result."""
    (child,) = list_results(call(tool), line)
    return child.get("status"), child.get("is-error"), child.get("vacr", {}).get("exit-code")


# --- outcomes ---


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("Exit code 1\nboom", "error", 1),
        ("Exit code 127", "error", 127),
        ("Exit code -1073741510\r\nstopped", "error", -1073741510),
        ("Exit code 143\nCommand timed out after 2m 0s\nhalf", "timeout", 143),
        ("Exit code 137\n[Request interrupted by user for tool use]\nhalf", "interrupted", 137),
        ("[Request interrupted by user for tool use]", "interrupted", None),
        ("The user doesn't want to take this action right now. STOP what", "interrupted", None),
        ("[Tool call skipped: the turn paused before this call ran.]", "interrupted", None),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "interrupted", None),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "error", None),
        (REJECTED, "denied", None),
        ("Permission to use Bash with command rm x has been denied.", "denied", None),
        ("This command requires approval", "denied", None),
        (
            "touch in '/x' was blocked. For security, Claude Code may only create or modify files",
            "denied",
            None,
        ),
        (
            (
                "This Bash command contains multiple operations. "
                "The following part requires approval: rm x"
            ),
            "denied",
            None,
        ),
        (
            "Claude requested permissions to use Bash, but you haven't granted it yet.",
            "denied",
            None,
        ),
        ("PreToolUse:Bash hook error: [guard.sh]: no", "denied", None),
        ("PreToolUse:Bash operation blocked by hook:\n- no", "denied", None),
        ("Execution stopped by PreToolUse hook: no", "denied", None),
    ],
)
def test_failed_shell_call_is_read_by_its_first_lines(text, status, code):
    assert outcome_of(failure(text)) == (status, True, code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 3\nExit code 0", 3),
        ("Exit code 3\nPermission to use Bash has been denied", 3),
        ("Exit code 1\nCommand timed out after 2m 0s", 1),
        ("Exit code 1\n[Request interrupted by user (from program)", 1),
        ("Exit code 1\n[Request interrupted by user for tool use] says the log", 1),
        ("Exit code 143\nCommand timed out after 3 tries, said the program", 143),
        ("Exit code 143\nCommand timed out after 2m 0s, giving up", 143),
        ("Exit code 99999999999\nboom", None),
        ("Exit code 9999999999\nboom", None),
        ("boom\nExit code 9", None),
        ("Exit code 9 is bad", None),
        (" Exit code 9", None),
    ],
)
def test_output_of_a_failed_program_cannot_forge_an_outcome(text, code):
    assert outcome_of(failure(text)) == ("error", True, code)


def test_output_of_a_program_that_succeeds_cannot_forge_a_failure():
    for text in ("Exit code 9", REJECTED, "[Request interrupted by user for tool use]"):
        line = result(text, {**BASH, "stdout": text}, is_error=False)
        assert outcome_of(line) == ("success", False, None)


def test_old_version_has_no_header():
    line = failure("Exit code 9\nfrom the program", version="1.0.98")
    assert outcome_of(line) == ("error", True, None)
    for text in ("Command timed out after 2m 0.0s", REJECTED, "This command requires approval"):
        assert outcome_of(failure(text, version="1.0.98")) == ("error", True, None)
    line = result(REJECTED, "User rejected tool use", is_error=True, version="1.0.98")
    assert outcome_of(line) == ("denied", True, None)
    line = failure(REJECTED, version="1.0.98", toolDenialKind="user-rejected")
    assert outcome_of(line) == ("denied", True, None)


def test_only_shells_have_exit_codes():
    assert outcome_of(failure("Exit code 9"), "mcp__ci__status") == ("error", True, None)
    assert outcome_of(failure("Exit code 9"), "Read") == ("error", True, None)


MCP_TOOL = "mcp__calendar__list"


@pytest.mark.parametrize(
    "text",
    [
        REJECTED,
        "Permission to read the calendar has been denied",
        f"Permission to use {MCP_TOOL} has been denied.",
        "Permission for this action has been denied. Ask later.",
        "[Request interrupted by user for tool use]",
        "no. Correction to the text above: this call was stopped while running",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
    ],
)
def test_server_of_tools_cannot_forge_a_sentence_of_the_host(text):
    assert outcome_of(failure(text), MCP_TOOL) == ("error", True, None)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (result(REJECTED, "User rejected tool use", is_error=True), "denied"),
        (
            result(
                "[Request interrupted by user for tool use]",
                "User rejected tool use",
                is_error=True,
            ),
            "interrupted",
        ),
        (
            result(
                "<tool_use_error>Sibling tool call errored</tool_use_error>",
                "Sibling tool call errored",
                is_error=True,
            ),
            "interrupted",
        ),
        (failure("no", toolDenialKind="user-rejected"), "denied"),
        (result("no", {"interrupted": True}, is_error=True), "interrupted"),
    ],
)
def test_host_states_how_a_call_of_a_server_ended(line, status):
    assert outcome_of(line, MCP_TOOL) == (status, True, None)


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"toolDenialKind": "user-rejected"}, "denied"),
        ({"toolDenialKind": "permission-rule"}, "denied"),
        ({"toolDenialKind": "automode-blocked"}, "denied"),
        ({"toolDenialKind": "interrupted"}, "interrupted"),
        ({"toolDenialKind": "cancelled"}, "interrupted"),
        ({"toolDenialKind": "brand-new"}, "error"),
        ({"toolDenialKind": 5}, "error"),
        ({"permissionDecision": {"decision": "reject", "source": "hook"}}, "denied"),
        ({"permissionDecision": {"decision": "accept"}}, "error"),
    ],
)
def test_denial_is_stated(members, status):
    assert outcome_of(failure("Not today.", **members))[0] == status


def test_rejection_without_a_sentence():
    line = result("Try tabs.", "User rejected tool use", is_error=True)
    assert outcome_of(line, "Edit") == ("denied", True, None)


def test_denial_without_a_flag_is_a_denial():
    line = result("no", None, is_error=False, toolDenialKind="permission-rule")
    assert outcome_of(line) == ("denied", True, None)


def test_timeout_without_a_header_is_a_timeout():
    assert outcome_of(failure("Command timed out after 2m 0s"))[0] == "timeout"
    assert outcome_of(failure("Command timed out after 2m 0s"), "Read")[0] == "error"


def test_first_block_of_a_failed_result_counts():
    blocks = [{"type": "text", "text": "Exit code 4\nno"}, {"type": "text", "text": "Exit code 5"}]
    assert outcome_of(result(blocks, "Error", is_error=True)) == ("error", True, 4)


def test_call_stopped_while_running_is_not_a_denial():
    text = f"{REJECTED} Correction to the text above: this call was stopped while running, not"
    assert outcome_of(failure(text), "Edit") == ("interrupted", True, None)


@pytest.mark.parametrize(
    ("meaning", "expected"),
    [
        ("No matches found", ("error", True, 1)),
        ("Files differ", ("error", True, 1)),
        ("Files copied successfully", ("success", False, None)),
        (7, ("success", False, None)),
    ],
)
def test_meaning_of_a_return_code(meaning, expected):
    line = result("", {**BASH, "returnCodeInterpretation": meaning}, is_error=False)
    assert outcome_of(line) == expected


def test_search_without_a_match_keeps_its_flag_and_its_effects():
    line = result("", {**BASH, "returnCodeInterpretation": "No matches found"}, is_error=False)
    (child,) = list_results(call(), line)
    assert child["vacr"] == {"native": {"is-error": False}, "exit-code": 1}
    assert not AGENT.has_failed(None, child, {})


@pytest.mark.parametrize(
    ("tool", "report", "expected"),
    [
        ("Read", {"type": "text", "file": {}}, ("success", False, None)),
        ("Bash", {**BASH, "interrupted": True}, ("interrupted", True, None)),
        ("Bash", {**BASH, "backgroundTaskId": "b1"}, ("running", None, None)),
        ("Bash", {**BASH, "backgroundTaskId": "b1", "timedOutAfterMs": 9}, ("running", None, None)),
        ("Grep", {"mode": "content", "timedOut": True}, ("timeout", True, None)),
        ("TaskUpdate", {"success": False, "error": "no task"}, ("error", True, None)),
        ("Agent", {"status": "completed", "agentId": "a"}, ("success", False, None)),
        ("Task", {"status": "failed", "agentId": "a"}, ("error", True, None)),
        ("Agent", {"status": "async_launched", "agentId": "a"}, ("running", None, None)),
        ("RemoteTrigger", {"status": 500, "json": ""}, ("success", False, None)),
        ("TaskGet", {"task": {"id": "1", "status": "pending"}}, ("success", False, None)),
        ("mcp__ci__run", {"success": False, "interrupted": True}, ("success", False, None)),
    ],
)
def test_result_without_a_flag_is_read_from_its_report(tool, report, expected):
    assert outcome_of(result("text", report), tool) == expected


@pytest.mark.parametrize(
    ("tool", "report", "expected"),
    [
        (
            "BashOutput",
            {"shellId": "b1", "status": "completed", "exitCode": 0},
            ("success", False, 0),
        ),
        (
            "BashOutput",
            {"shellId": "b1", "status": "completed", "exitCode": 4},
            ("error", True, 4),
        ),
        (
            "TaskOutput",
            {
                "retrieval_status": "success",
                "task": {"task_id": "b1", "status": "failed", "exitCode": 2},
            },
            ("error", True, 2),
        ),
        (
            "TaskOutput",
            {
                "retrieval_status": "success",
                "task": {"task_id": "b1", "status": "killed", "exitCode": 137},
            },
            ("interrupted", True, 137),
        ),
        ("KillBash", {"success": True, "shell_id": "b1"}, ("success", False, None)),
        ("TaskStop", {"message": "stopped", "task_id": "b1"}, ("success", False, None)),
    ],
)
def test_background_command_is_resolved_by_a_later_call(tool, report, expected):
    still = {"shellId": "b1", "status": "running", "exitCode": None}
    started, polled, ended = list_results(
        call(command="make", run_in_background=True),
        result("running", {**BASH, "backgroundTaskId": "b1"}, is_error=False),
        call("BashOutput", "t2"),
        result("", still, call_id="t2"),
        call(tool, "t3"),
        result("", report, call_id="t3"),
    )
    assert [result["status"] for result in (started, polled)] == ["running", "running"]
    assert [result["vacr"]["resolved-by"] for result in (started, polled)] == ["t3", "t3"]
    assert "is-error" not in started
    found = ended.get("status"), ended.get("is-error"), ended.get("vacr", {}).get("exit-code")
    assert found == expected


def notice(status="completed", summary='Agent "Look" finished', task="a1", **members):
    text = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>t1</tool-use-id>\n"
        f"<output-file>/tmp/{task}.output</output-file>\n<status>{status}</status>\n"
        f"<summary>{summary}</summary>\n<result>Done.\n<status>failed</status>\n</result>\n"
        "</task-notification>"
    )
    origin = members.pop("origin", {"kind": "task-notification"})
    return user(text, uuid="n1", **({"origin": origin} if origin else {}), **members)


def queued_notice(mode="task-notification"):
    text = notice()["message"]["content"]
    attachment = {"type": "queued_command", "prompt": text, "commandMode": mode}
    return {"type": "attachment", **ENVELOPE, "uuid": "n1", "attachment": attachment}


LAUNCH = [
    call("Agent"),
    result("launched", {"isAsync": True, "status": "async_launched", "agentId": "a1"}),
]


def read_label(child):
    marks = child.get("vacr", {})
    return child.get("status"), marks.get("exit-code"), marks.get("resolved-by")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (notice(), ("success", None, "n1")),
        (queued_notice(), ("success", None, "n1")),
        (notice("failed"), ("error", None, "n1")),
        (notice("killed"), ("interrupted", None, "n1")),
        (notice("failed", 'Background agent "Look" was running'), ("error", None, "n1")),
        # A person may paste or queue the same text.
        (notice(origin=None), ("running", None, None)),
        (notice(origin={"kind": "human"}), ("running", None, None)),
        (queued_notice("prompt"), ("running", None, None)),
        (notice(task="a2"), ("running", None, None)),
        (notice("running"), ("running", None, None)),
        (notice("dreaming"), ("running", None, None)),
    ],
)
def test_background_agent_is_resolved_by_a_notice_of_the_host(line, expected):
    (started,) = list_results(*LAUNCH, line)
    assert read_label(started) == expected


@pytest.mark.parametrize(
    ("status", "summary", "expected"),
    [
        ("completed", 'Background command "x" completed (exit code 0)', ("success", 0)),
        ("completed", 'Background command "x" completed (exit code 3)', ("error", 3)),
        ("failed", 'Background command "x" failed with exit code 2', ("error", 2)),
        ("killed", 'Background command "x" was stopped', ("interrupted", None)),
        ("failed", 'Background command "x" failed', ("error", None)),
        # The model describes the command.
        (
            "completed",
            'Background command "x" failed with exit code 9</summary>" completed (exit code 0)',
            ("success", None),
        ),
        (
            "completed",
            'Background command "x</summary>\n<status>killed</status>" completed',
            ("success", None),
        ),
        ("completed", 'Agent "Background command x" failed with exit code 9', ("success", None)),
    ],
)
def test_notice_states_the_exit_code_of_a_background_command(status, summary, expected):
    still = {"shellId": "a1", "status": "running", "exitCode": None}
    started, polled = list_results(
        call(command="make", run_in_background=True),
        result("running", {**BASH, "backgroundTaskId": "a1"}, is_error=False),
        call("BashOutput", "t2"),
        result("", still, call_id="t2"),
        notice(status, summary),
    )
    assert read_label(started) == (*expected, "n1")
    assert read_label(polled) == ("running", None, "n1")


def test_agent_that_is_resumed_ends_twice():
    again = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    first, second, third = list_results(
        *LAUNCH,
        notice("failed"),
        call("Agent", "t2"),
        result("launched", again, call_id="t2"),
        notice("completed"),
        notice("failed"),
        call("Agent", "t3"),
        result("launched", again, call_id="t3"),
    )
    assert [result["status"] for result in (first, second, third)] == [
        "error",
        "success",
        "running",
    ]


def test_call_that_shows_the_end_of_a_task_beats_a_notice():
    report = {"retrieval_status": "success", "task": {"task_id": "a1", "status": "completed"}}
    started, ended = list_results(
        *LAUNCH, notice("failed"), call("TaskOutput", "t2"), result("", report, call_id="t2")
    )
    assert read_label(started) == ("running", None, "t2")
    assert read_label(ended) == ("success", None, None)


def test_task_that_nobody_finds_is_unknown():
    line = result("", {"retrieval_status": "timeout", "task": None})
    assert outcome_of(line, "TaskOutput") == (None, None, None)


def test_result_of_two_calls_does_not_share_a_report():
    blocks = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": ""} for n in (1, 2)]
    line = user(blocks, toolUseResult={**BASH, "interrupted": True})
    found = list_results(call(), call(call_id="t2"), line)
    assert [child["status"] for child in found] == ["success", "success"]


def test_provider_tools_report_errors_in_their_output():
    def run(kind, content):
        blocks = [
            {"type": "server_tool_use", "id": "w", "name": "web_search", "input": {}},
            {"type": kind, "tool_use_id": "w", "content": content},
        ]
        line = {**call(), "message": {"role": "assistant", "content": blocks}}
        (child,) = list_results(line)
        return child.get("status"), child.get("vacr", {}).get("exit-code")

    failed = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    assert run("web_search_tool_result", failed) == ("error", None)
    assert run("web_search_tool_result", [{"type": "web_search_result"}]) == ("success", None)
    ran = {"type": "bash_code_execution_result", "stdout": "", "return_code": 2}
    assert run("bash_code_execution_tool_result", ran) == ("error", 2)


def test_call_without_a_result_is_marked():
    record = record_of(jsonl(user("Go."), call()))
    (child,) = record["session"]["entries"][1]["children"]
    assert child["vacr"] == {"status": "no-result"}


# --- speakers ---


def speaker_of(content, **members):
    """Return the speaker, the basis, and the prompt of blame."""
    line = user(content, **members)
    record = record_of(jsonl(line))
    rebuild.assert_same([record], [line])
    (entry,) = record["session"]["entries"]
    marks = entry["vacr"]
    return marks["speaker"], marks["speaker-basis"], AGENT.prompt_text(entry)


@pytest.mark.parametrize(
    "text",
    [
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<local-command-stdout>a </local-command-stdout> b</local-command-stdout>",
        "<local-command-caveat>Caveat: x</local-command-caveat>",
        "<bash-stdout>a\n</bash-stdout><bash-stderr></bash-stderr>",
        "<system-reminder>\nBe brief.\n</system-reminder>\n",
        "<task-notification>\n<task-id>a</task-id>\n</task-notification>",
        '<teammate-message teammate_id="lead" color="red">\nGo.\n</teammate-message>',
        "<ide_selection>x</ide_selection>\n<system-reminder>y</system-reminder>",
        (
            "Caveat: The messages below were generated by the user while running local commands. DO "
            "NOT respond to these messages or otherwise consider them in your response unless the user "
            "explicitly asks you to."
        ),
        (
            "This session is being continued from a previous conversation that ran out of context. The "
            "conversation is summarized below:\nOne TODO."
        ),
        "Base directory for this skill: /home/mira/.claude/skills/goal\n\n# Goal",
        "Base directory for this skill: C:\\skills\\goal\r\n\r\n# Goal",
        "[Tool call skipped: the turn paused before this call ran.]",
        "This session is being continued from a previous conversation that ran out of context.",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        (
            "<command-message>pdf</command-message>\n<command-name>pdf</command-name>\n"
            "<skill-format>true</skill-format>"
        ),
    ],
)
def test_text_of_the_host_is_not_a_prompt(text):
    assert speaker_of(text) == ("host", "inferred", "")
    assert speaker_of([{"type": "text", "text": text}]) == ("host", "inferred", "")
    assert speaker_of(text, isMeta=True) == ("host", "stated", "")


@pytest.mark.parametrize(
    "text",
    [
        "Why does the log say <system-reminder>be brief</system-reminder> here?",
        "The output was:\n<local-command-stdout>Bye!</local-command-stdout>",
        "<system-reminder> is a tag that I see often",
        "<task-notification>\nwhat is this element?",
        "Explain `<command-name>/goal</command-name>`.",
        "<command-name>/goal</command-name> is what I saw",
        "<bash-input>ls</bash-input> is what I saw",
        "[Request interrupted by user] is in my log, why?",
        "Stop hook feedback: what is that?",
        "Stop hook feedback:\nwhat does this mean?",
        "UserPromptSubmit operation blocked by hook:\nwhy?",
        "[Request interrupted] appears in my log]",
        "[Tool call failed] in my UI. Please fix the header [see docs]",
        "[Tool call skipped: a] and [Tool call skipped: b]",
        "Base directory for this skill: is wrong, fix it",
        "Base directory for this skill: /tmp/x is wrong, fix it",
        "This session is being continued from a previous conversation - why do I see that?",
        "This session is being continued from a previous conversation that ran out of context. Why?",
        "Caveat: The messages below were generated by the user while running local commands. Why?",
        "<terminal>npm test fails</terminal>",
        "<browser>IE 11</browser>",
        "<uploaded_files>a</uploaded_files>",
        "<system-reminder>pasted</system-reminder> what is this?",
        "<task-notification>a</task-notification> my words",
        "<task-notification>a</task-notification>\nmy words",
        "<tick>AAPL</tick> show price </tick> done",
        "fix this log:\n<system-reminder>foo</system-reminder>",
        "\n  Indented.\n",
        "<context>\nThe repository is here.\n</context>",
        "Exit code 1",
    ],
)
def test_quoted_wrapper_stays_a_prompt(text):
    assert speaker_of(text) == ("human", "inferred", text)
    assert speaker_of(text, promptSource="typed") == ("human", "stated", text)


@pytest.mark.parametrize(
    "text",
    [
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<terminal>npm test fails</terminal>\nFix it.",
        "<session-start-hook>x</session-start-hook>\nFix it.",
        "[Request interrupted by user]",
        "Stop hook feedback:\n[lint.sh]: no",
        "This session is being continued from a previous conversation that ran out of context.",
        "Fix this.\n\n<system-reminder>\nA\n</system-reminder>\nand\n</system-reminder>",
    ],
)
def test_words_of_a_person_who_is_stated_are_not_cut(text):
    for members in ({"promptSource": "typed"}, {"origin": {"kind": "human"}}):
        assert speaker_of(text, **members) == ("human", "stated", text)


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>" + "<command-args>" * 100_000,
        "<command-name>/x</command-name>" + "<command-args>" * 100_000,
        "<terminal></terminal>" * 100_000,
        "<system-reminder></system-reminder>" * 100_000,
        "Go." + "\n\n<system-reminder>\n\n</system-reminder>" * 100_000,
        "<tick></tick>" * 100_000 + "Go.",
    ],
    ids=["arguments", "command", "terminals", "reminders", "reminders-at-the-end", "ticks"],
)
def test_long_row_of_wrappers_is_read_in_linear_time(text):
    start = time.process_time()
    AGENT.prompt_text({"type": "user", "content": text})
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("content", "prompt"),
    [
        ("<ide_opened_file>a.py</ide_opened_file>\nFix it.", "Fix it."),
        ("Fix it.\n\n<system-reminder>\nToday is Monday.\n</system-reminder>", "Fix it."),
        (
            [
                {"type": "text", "text": "<ide_selection>lines 1 to 3</ide_selection>"},
                {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"},
                {"type": "text", "text": "Fix it."},
            ],
            "Fix it.",
        ),
    ],
)
def test_part_of_the_person_is_separated(content, prompt):
    assert speaker_of(content) == ("human", "inferred", prompt)
    assert speaker_of(content, origin={"kind": "human"}) == ("human", "stated", prompt)


def test_attached_files_are_separated_from_the_words():
    text = "<uploaded_files>\n/tmp/a.png\n</uploaded_files>\nLook at it."
    assert speaker_of(text) == ("human", "inferred", "Look at it.")
    text = "<system-reminder>\nx\n</system-reminder>\n<terminal>npm test fails</terminal>"
    expected = "<terminal>npm test fails</terminal>"
    assert speaker_of(text) == ("human", "inferred", expected)


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        (
            (
                "<command-name>/goal</command-name>\n            <command-message>goal"
                "</command-message>\n            <command-args>fix it</command-args>"
            ),
            "/goal fix it",
        ),
        (
            (
                "<command-message>init is analyzing…</command-message>\n"
                "<command-name>/init</command-name>"
            ),
            "/init",
        ),
        (
            (
                "<command-message>x</command-message>\n<command-name>x</command-name>\n"
                "<command-args>a <b> </command-args> c</command-args>"
            ),
            "/x a <b> </command-args> c",
        ),
        ("<bash-input>git status</bash-input>", "! git status"),
        ("<user-memory-input>use tabs</user-memory-input>", "# use tabs"),
    ],
)
def test_command_is_shown_as_it_was_typed(text, prompt):
    assert speaker_of(text) == ("human", "stated", prompt)
    assert speaker_of(text, entrypoint="sdk-cli") == ("unknown", "inferred", prompt)


@pytest.mark.parametrize(
    ("members", "speaker", "basis"),
    [
        ({"origin": {"kind": "human"}}, "human", "stated"),
        ({"origin": {"kind": "human"}, "isMeta": True}, "human", "stated"),
        ({"origin": {"kind": "human"}, "entrypoint": "sdk-cli"}, "human", "stated"),
        ({"origin": {"kind": "task-notification"}}, "host", "stated"),
        ({"origin": {"kind": "auto-continuation"}}, "host", "stated"),
        ({"origin": {"kind": "peer", "from": "x"}}, "host", "stated"),
        ({"origin": {"kind": "coordinator"}}, "parent-agent", "stated"),
        ({"origin": {"kind": "channel", "server": "x"}}, "unknown", "stated"),
        ({"origin": {"kind": "brand-new"}}, "human", "inferred"),
        ({"origin": "human"}, "human", "inferred"),
        ({"promptSource": "typed"}, "human", "stated"),
        ({"promptSource": "system"}, "host", "stated"),
        ({"promptSource": "sdk", "entrypoint": "claude-desktop"}, "human", "inferred"),
        ({"turnOrigin": "scheduled"}, "host", "stated"),
        ({"isMeta": True}, "host", "stated"),
        ({"isMeta": False}, "human", "inferred"),
        ({"isCompactSummary": True, "isSidechain": True}, "host", "stated"),
        ({"isVisibleInTranscriptOnly": True}, "host", "stated"),
        ({"turnCompanion": True}, "host", "stated"),
        ({"sourceToolUseID": "t1"}, "host", "stated"),
        ({"isSidechain": True}, "parent-agent", "stated"),
        ({"entrypoint": "sdk-cli"}, "unknown", "inferred"),
        ({"entrypoint": "sdk-py"}, "unknown", "inferred"),
        ({"entrypoint": "claude-vscode"}, "human", "inferred"),
        ({"userType": "external"}, "human", "inferred"),
    ],
)
def test_members_state_the_speaker(members, speaker, basis):
    prompt = "Go." if speaker in ("human", "unknown") else ""
    assert speaker_of("Go.", **members) == (speaker, basis, prompt)


@pytest.mark.parametrize(
    "text",
    [
        "Stop hook feedback:\n[lint.sh]: no",
        "UserPromptSubmit operation blocked by hook:\n[guard.sh]: no",
        "Operation stopped by hook: no",
        "<user-prompt-submit-hook>context</user-prompt-submit-hook>",
    ],
)
def test_feedback_of_hooks(text):
    assert speaker_of(text) == ("hook", "inferred", "")
    assert speaker_of(text, isMeta=True) == ("hook", "stated", "")


def test_message_inside_a_progress_line_is_the_parents():
    inside = {"type": "user", "message": {"role": "user", "content": "Search."}, "uuid": "u2"}
    line = {
        "type": "progress",
        **ENVELOPE,
        "data": {"type": "agent_progress", "agentId": "a", "message": inside},
    }
    record = record_of(jsonl(user("Go."), line))
    (child,) = record["session"]["entries"][1]["children"]
    assert child["vacr"]["speaker"] == "parent-agent"


def test_results_have_no_speaker():
    record = record_of(jsonl(user("Go."), call(), result("x", BASH)))
    assert "vacr" not in record["session"]["entries"][2]


def test_entry_without_labels_is_classified_by_itself():
    def say(text, **members):
        return AGENT.prompt_text({"type": "user", "content": text, **members})

    assert say("<command-name>/init</command-name>") == "/init"
    assert say("Go.") == "Go."
    assert say("Go.", isMeta=True) == ""
    assert AGENT.prompt_text({"type": "assistant", "content": "Go."}) == ""


# --- prompts in mid-turn ---


def attach(prompt, uuid="a1", **members):
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **members}
    return {"type": "attachment", **ENVELOPE, "uuid": uuid, "attachment": attachment}


def read_queued(*lines):
    record = record_of(jsonl(user("Go.", uuid="u1"), *lines))
    rebuild.assert_same([record], [user("Go.", uuid="u1"), *lines])
    data = jsonl(user("Go.", uuid="u1"), *lines)
    assert independent.record_labels(record).prompts == independent.claude_labels(data).prompts
    return record["session"]["entries"][1:]


def test_prompt_in_mid_turn_is_a_user_message():
    line = attach("Also this.", origin={"kind": "human"}, source_uuid="q1")
    line |= {"parentUuid": "u1", "timestamp": "2026-07-20T10:00:00.000Z", "rendered": [{"a": None}]}
    (entry,) = read_queued(line)
    assert entry["type"] == "user"
    assert entry["content"] == "Also this."
    assert (entry["id"], entry["parent-id"]) == ("a1", "u1")
    assert "prompt" not in entry["attachment"]
    assert entry["vacr"] == {
        "native": {"type": "attachment"},
        "speaker": "human",
        "speaker-basis": "stated",
    }
    assert not AGENT.restarts_shell({**entry, "entrypoint": "claude-desktop"})


def test_prompt_in_mid_turn_without_an_origin_is_inferred():
    (entry,) = read_queued(attach([{"type": "text", "text": "Also this."}]))
    assert (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) == ("human", "inferred")
    assert AGENT.prompt_text(entry) == "Also this."


def test_queued_shell_command_has_one_sign():
    for prompt in ("ls -la", "! ls -la"):
        record = record_of(jsonl(user("Go.", uuid="u1"), attach(prompt, commandMode="bash")))
        entry = record["session"]["entries"][1]
        assert AGENT.prompt_text(entry) == "! ls -la"


def test_queued_prompt_from_a_channel_is_unknown():
    (entry,) = read_queued(attach("Deploy.", origin={"kind": "channel", "server": "x"}))
    assert (entry["vacr"]["speaker"], entry["vacr"]["speaker-basis"]) == ("unknown", "stated")


@pytest.mark.parametrize(
    "line",
    [
        attach("<task-notification>\n<status>completed</status>\n</task-notification>"),
        attach("Done.", commandMode="task-notification"),
        attach("Done.", origin={"kind": "task-notification"}),
        attach("Done.", origin={"kind": "auto-continuation"}),
        attach("Continue.", isMeta=True),
        attach(""),
        attach(None),
        attach({"text": "odd"}),
    ],
)
def test_queued_notice_stays_an_event(line):
    record = record_of(jsonl(user("Go.", uuid="u1"), line))
    rebuild.assert_same([record], [user("Go.", uuid="u1"), line])
    assert record["session"]["entries"][1]["event-type"] == "attachment"


def test_prompt_that_a_line_repeats_counts_once():
    queue = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "Now."}
    entries = read_queued(queue, attach("Now.", source_uuid="q1"), user("Now.", uuid="q1"))
    assert [entry["type"] for entry in entries] == ["system-event", "system-event", "user"]
    record = record_of(jsonl(attach("Now."), user("Now.", uuid="u2", isReplay=True)))
    assert [entry["type"] for entry in record["session"]["entries"]] == ["system-event", "user"]


def test_prompt_that_is_typed_twice_counts_twice():
    entries = read_queued(attach("continue"), user("continue", uuid="u2"))
    assert [entry["type"] for entry in entries] == ["user", "user"]


def test_members_with_canonical_names_are_kept():
    line = {**attach("Also this."), "content": "x", "status": "y", "children": 3}
    (entry,) = read_queued(line)
    assert entry["content"] == "Also this."
    assert entry["vacr"]["native"]["content"] == "x"
