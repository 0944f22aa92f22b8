"""The labels of OpenCode sessions: how calls ended, who wrote messages, and encrypted reasoning."""

import json

import pytest

from tests.conftest import record_of
from vacr.agents.opencode import AGENT
from vacr.agents.opencode.parts import copy_encrypted_reasoning

ABORTED = {"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}}
REJECTED = "The user rejected permission to use this specific tool call."
RULE = (
    "The user has specified a rule which prevents you from using this specific tool call. "
    'Here are some of the relevant rules [{"permission":"*","action":"allow","pattern":"*"}]'
)
OLD_TIMEOUT = "<bash_metadata>\nbash tool terminated command after exceeding timeout 9 ms\n"
TIMEOUT = (
    "<shell_metadata>\nshell tool terminated command after exceeding timeout 9 ms. If this command "
    "is expected to take longer, retry with a larger timeout value in milliseconds.\n"
    "</shell_metadata>"
)
ABORT = "<shell_metadata>\nUser aborted the command\n</shell_metadata>"
SKILL = (
    "Base directory for this skill: /home/mira/.agents/skills/tdd\n"
    "Relative paths in this skill (e.g., scripts/, references/) are relative to this base "
    "directory."
)
RUN_RULES = [
    {"permission": name, "pattern": "*", "action": "deny"}
    for name in ("question", "plan_enter", "plan_exit")
]


def export(*messages, **session):
    """Record an export with these messages: pairs of an info and its parts."""
    made = []
    for number, (info, parts) in enumerate(messages):
        ids = [{"id": f"prt_{number}{index}", **part} for index, part in enumerate(parts)]
        made.append({"info": {"id": f"msg_{number}", "sessionID": "ses_1", **info}, "parts": ids})
    info = {"id": "ses_1", "directory": "/w", **session}
    return record_of(json.dumps({"info": info, "messages": made}).encode())


def tool(name, **state):
    return {"type": "tool", "tool": name, "callID": f"call_{id(state)}", "state": state}


def end(name, message=None, **state):
    """Return the label of the result of one call, and its exit code."""
    info = {"role": "assistant", **(message or {})}
    (entry,) = export((info, [tool(name, input={}, **state)]))["session"]["entries"]
    result = entry["children"][-1]
    assert result["type"] == "tool-result"
    if "is-error" in result:
        assert result["is-error"] is (result["status"] != "success")
    else:
        assert result.get("status", "running") == "running"
    return result.get("status"), result["vacr"].get("exit-code")


def shell(output, **metadata):
    return end("bash", status="completed", output=output, metadata=metadata)


def fail(error, name="bash", message=None, **metadata):
    return end(name, message, status="error", error=error, metadata=metadata)[0]


# --- outcomes ---


def test_stopped_command_may_state_its_timeout():
    assert shell("x", timeout=True) == ("timeout", None)
    assert shell(["x"], exit=None) == ("error", None)


@pytest.mark.parametrize(("code", "status"), [(0, "success"), (1, "error"), (137, "error")])
def test_exit_code_beats_completed(code, status):
    assert shell("x", exit=code) == (status, code)


@pytest.mark.parametrize("code", [True, "1", 1.5, [1]])
def test_exit_code_is_a_whole_number(code):
    assert shell("x", exit=code)[1] is None


def test_completed_tool_succeeded():
    assert end("read", status="completed", output="", metadata={}) == ("success", None)


def test_command_of_the_user_has_no_known_outcome():
    assert shell("x", description="ls") == (None, None)
    assert shell("x\n\n<metadata>\nUser aborted the command\n</metadata>")[0] is None


@pytest.mark.parametrize(
    ("output", "status"),
    [
        (f"x\n\n{TIMEOUT}", "timeout"),
        (f"x\n\n{OLD_TIMEOUT}</bash_metadata>", "timeout"),
        (f"x\n\n{OLD_TIMEOUT}User aborted the command\n</bash_metadata>", "timeout"),
        ("x\n\n(Command timed out after 9 ms)", "timeout"),
        (f"x\n\n{ABORT}", "interrupted"),
        ("x\n\n(Command was aborted)", "interrupted"),
        ("x", "error"),
        (None, "error"),
    ],
)
def test_command_without_exit_code_was_stopped(output, status):
    output = "" if output is None else output
    assert shell(output, exit=None) == (status, None)


def test_stopped_command_of_an_aborted_message_was_interrupted():
    state = {"status": "completed", "output": "cut", "metadata": {"exit": None}}
    assert end("bash", ABORTED, **state) == ("interrupted", None)


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("reason", [TIMEOUT, ABORT, "(Command was aborted)", "Exit code: 9"])
def test_program_cannot_forge_the_reason_of_a_stop(code, reason):
    assert shell(f"x\n\n{reason}", exit=code) == ("error" if code else "success", code)


def test_program_cannot_forge_another_reason():
    assert shell(f"{TIMEOUT}\nx\n\n{ABORT}", exit=None)[0] == "interrupted"
    open_tag = TIMEOUT.removesuffix("\n</shell_metadata>")
    assert shell(f"{open_tag}\n\n{ABORT}", exit=None)[0] == "interrupted"
    assert shell(f"{TIMEOUT}\nbye", exit=None)[0] == "error"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (REJECTED, "denied"),
        (f"{REJECTED[:-1]} with the following feedback: use uv", "denied"),
        (f"{REJECTED} You may try again with different parameters.", "denied"),
        ("The user rejected permission to use this functionality", "denied"),
        (RULE, "denied"),
        (f"Tool execution failed: {RULE}", "denied"),
        ("The user dismissed this question", "denied"),
        ("Tool execution aborted", "interrupted"),
        ("Tool execution interrupted", "interrupted"),
        ("Request timed out", "timeout"),
        ("MCP error -32001: Request timed out", "timeout"),
        ("Code search request timed out", "timeout"),
        ("File not found: /w/a", "error"),
        (f"cat: {REJECTED}", "error"),
        ("Error: Tool execution aborted", "error"),
        ("the script said: Request timed out\nand more", "error"),
        ("Cancelled", "error"),
        ("Aborted", "error"),
        ("", "error"),
    ],
)
def test_error_of_the_host_tells_why_a_call_failed(error, status):
    assert fail(error) == status


@pytest.mark.parametrize("error", [REJECTED, RULE, "Tool execution aborted", "Request timed out"])
def test_error_of_a_server_that_repeats_the_hosts_words_is_an_error(error):
    assert fail(error, "notes_read") == "error"


def test_members_tell_that_the_tool_of_a_server_was_interrupted():
    assert fail("Tool execution aborted", "notes_read", ABORTED) == "interrupted"
    assert fail("Tool execution aborted", "notes_read", interrupted=True) == "interrupted"
    assert fail("MCP error -32001: Request timed out", "notes_read") == "timeout"


@pytest.mark.parametrize("name", ["notes_read", "read"])
@pytest.mark.parametrize("code", [0, 7, None])
def test_exit_of_another_tool_than_the_shell_is_not_an_exit_code(name, code):
    metadata = {"exit": code}
    assert end(name, status="completed", output="x", metadata=metadata) == ("success", None)


def test_other_evidence_of_an_interruption():
    assert fail("boom", interrupted=True) == "interrupted"
    assert fail("boom", interrupted="yes") == "error"
    assert fail("Cancelled", "task") == "interrupted"
    assert fail("Task cancelled", "task") == "interrupted"
    assert fail("Aborted", message=ABORTED) == "interrupted"
    assert fail({"message": REJECTED}) == "denied"
    assert fail({"code": 1}) == "error"
    assert fail("File not found: a", message=ABORTED) == "error"


def test_output_of_an_error_is_not_lost():
    (entry,) = export(({"role": "assistant"}, [tool("x", input={}, status="error", output="y")]))[
        "session"
    ]["entries"]
    result = entry["children"][-1]
    assert (result["status"], result["vacr"]["output-from"]) == ("error", "output")


def test_invalid_call_failed():
    output = "The arguments provided to the tool are invalid: no such tool"
    assert end("invalid", status="completed", output=output, metadata={}) == ("error", None)


def test_failed_script_is_an_error():
    metadata = {"toolCalls": [], "error": True}
    assert end("execute", status="completed", output="x", metadata=metadata)[0] == "error"
    assert end("mcp_tool", status="completed", output="x", metadata=metadata)[0] == "success"


@pytest.mark.parametrize("status", ["pending", "running"])
def test_call_that_never_ended_has_no_result(status):
    info = {"role": "assistant", **ABORTED}
    (entry,) = export((info, [tool("bash", input={}, status=status)]))["session"]["entries"]
    (call,) = entry["children"]
    assert call["vacr"]["status"] == "no-result"


def test_background_task_runs_until_a_later_call_sees_its_end():
    started = {"sessionId": "ses_2", "background": True}
    parts = [
        tool("task", input={}, status="completed", output="a", metadata=started),
        tool("task", input={}, status="completed", output="b", metadata={"sessionId": "ses_2"}),
    ]
    (entry,) = export(({"role": "assistant"}, parts))["session"]["entries"]
    _, first, call, second = entry["children"]
    assert (first["status"], second["status"]) == ("running", "success")
    assert first["vacr"]["resolved-by"] == call["call-id"]
    assert "is-error" not in first


# --- speakers ---


def text(words, **flags):
    return {"type": "text", "text": words, **flags}


def say(*parts, **session):
    """Return the label of a user message with these parts, and the prompt that blame shows."""
    (entry,) = export(({"role": "user"}, parts), **session)["session"]["entries"]
    marks = entry["vacr"]
    label = (marks["speaker"], marks["speaker-basis"], marks.get("prompt"))
    return label, AGENT.prompt_text(entry), entry


HOST = ("host", "stated", None)


def test_unmarked_text_is_a_persons():
    label, prompt, _ = say(text("Fix it."))
    assert (label, prompt) == (("human", "inferred", None), "Fix it.")


@pytest.mark.parametrize(
    "part",
    [
        text("Continue if you have next steps", synthetic=True),
        text("The following tool was executed by the user", synthetic=True),
        text("Context was pruned", ignored=True),
        text("<system-reminder>\nwhatever\n</system-reminder>", synthetic=True),
    ],
)
def test_texts_of_the_host_are_not_prompts(part):
    label, prompt, entry = say(part)
    assert (label, prompt) == (HOST, "")
    del entry["vacr"]
    assert AGENT.prompt_text(entry) == ""


@pytest.mark.parametrize("end", ["", "\n"])
def test_reminder_without_a_flag_is_inferred(end):
    label, prompt, _ = say(text(f"<system-reminder>\n# Plan Mode\n</system-reminder>{end}"))
    assert (label, prompt) == (("host", "inferred", None), "")


@pytest.mark.parametrize(
    "words",
    [
        "<system-reminder>my whole pasted prompt</system-reminder>",
        "<system-reminder>\nWhy do I see this?\n</system-reminder>",
        "What does <system-reminder>Plan Mode</system-reminder> mean?",
        "<system-reminder>Plan Mode</system-reminder> What is this?",
        "<system-reminder>a</system-reminder> and <system-reminder>b</system-reminder>",
        "The following tool was executed by the user",
        f"Look: {SKILL}",
        f"Look:\n{SKILL}",
        "Create or update `AGENTS.md` for this repository.\n\nBe brief.",
    ],
)
def test_quoted_wrapper_stays_a_persons(words):
    label, prompt, _ = say(text(words))
    assert (label, prompt) == (("human", "inferred", None), words)


def test_mixed_message_has_the_persons_part():
    label, prompt, entry = say(text("Fix @a.py"), text("<path>a.py</path>", synthetic=True))
    assert label == ("human", "inferred", "Fix @a.py")
    assert prompt == "Fix @a.py"
    del entry["vacr"]
    assert AGENT.prompt_text(entry) == "Fix @a.py"


def test_agent_that_a_person_mentions_does_not_change_the_prompt():
    hint = " Use the above message and context to generate a prompt"
    mention = {"type": "agent", "name": "explore"}
    label, *_ = say(text("@explore find it"), mention, text(hint, synthetic=True))
    assert label == ("human", "inferred", "@explore find it")


def test_attached_file_without_words_is_a_persons():
    file = {"type": "file", "mime": "text/plain", "url": "file:///w/a.py"}
    label, prompt, _ = say(text("Called the Read tool", synthetic=True), file)
    assert (label, prompt) == (("human", "inferred", ""), "")
    assert say(file)[0] == ("human", "inferred", None)
    assert say({**file, "synthetic": True}, text("read", synthetic=True))[0] == HOST


def test_message_of_a_child_session_is_the_parents():
    child = {"parentID": "ses_0"}
    assert say(text("Look."), **child)[:2] == (("parent-agent", "stated", None), "")
    assert say(text("Go on", synthetic=True), **child)[0] == HOST
    assert say(text("Look."), text("x", synthetic=True), **child)[0][2] is None


def test_speaker_of_a_session_without_a_terminal_is_unknown():
    label, prompt, _ = say(text("Fix it."), permission=RUN_RULES)
    assert (label, prompt) == (("unknown", "inferred", None), "Fix it.")
    for rules in (RUN_RULES[:2], [{**rule, "action": "ask"} for rule in RUN_RULES], {}, [5]):
        assert say(text("Fix it."), permission=rules)[0][0] == "human"
    odd_rules = [{"permission": [["edit"]], "pattern": "*", "action": "deny"}]
    assert say(text("Fix it."), permission=odd_rules)[0][0] == "human"
    assert say(text("Fix it."), permission=RUN_RULES + odd_rules)[0] == label
    child = {"permission": RUN_RULES, "parentID": "ses_0"}
    assert say(text("Fix it."), **child)[0][0] == "parent-agent"


def test_session_without_a_terminal_is_autonomous():
    prompt = ({"role": "user"}, [text("x")])
    assert export(prompt, permission=RUN_RULES)["session"]["format"] == "autonomous"
    assert "format" not in export(prompt)["session"]


INIT = (
    "Create or update `AGENTS.md` for this repository.\n\nThe goal is a compact file.\n\n"
    "User-provided focus or constraints (honor these):\n{}\n\n## How to investigate\n\nRead."
)
REVIEW = (
    "You are a code reviewer. Your job is to review code changes and provide actionable feedback."
    "\n\n---\n\nInput: main\n\n---\n\n## What"
)
OLD_INIT = (
    "Please analyze this codebase and create an AGENTS.md file containing:\n1. Build\n\n"
    "If there's already an AGENTS.md, improve it if it's located in /w{}"
)


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (f"Test first.\n\n{SKILL}", "/tdd"),
        (f"Test first.\n\n{SKILL}\n\nthe parser\n\nplease", "/tdd the parser\n\nplease"),
        (INIT.format("only tests"), "/init only tests"),
        (INIT.format(""), "/init"),
        (OLD_INIT.format(""), "/init"),
        (OLD_INIT.format("\n\nbe brief"), "/init be brief"),
    ],
)
def test_expanded_command_is_a_persons_and_unwrapped(words, prompt):
    label, found, entry = say(text(words))
    assert (label, found) == (("human", "inferred", prompt), prompt)
    assert entry["content"][0]["text"] == words


def test_queued_prompt_is_unwrapped():
    words = (
        "<system-reminder>\nThe user sent the following message:\nstop\n\n"
        "Please address this message and continue with your tasks.\n</system-reminder>"
    )
    assert say(text(words))[0] == ("human", "inferred", "stop")


@pytest.mark.parametrize(
    ("command", "template", "prompt"),
    [
        ("deploy", "Deploy it.", "/deploy"),
        ("review", REVIEW, "/review main"),
        ("mine", f"Test first.\n\n{SKILL}\n\nx", "/mine"),
        (None, "Look around.", "Look around."),
    ],
)
def test_command_that_runs_as_a_subtask_is_a_prompt(command, template, prompt):
    part = {"type": "subtask", "agent": "general", "description": "", "prompt": template}
    label, found, _ = say({**part, **({"command": command} if command else {})})
    assert (label, found) == (("human", "inferred", prompt), prompt)


def test_compaction_has_no_speaker():
    (entry,) = export(({"role": "user"}, [{"type": "compaction", "auto": True}]))["session"][
        "entries"
    ]
    assert "vacr" not in entry


# --- encrypted reasoning ---


@pytest.mark.parametrize(
    ("metadata", "encrypted"),
    [
        ({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "gA=="}}, "gA=="),
        ({"azure": {"reasoningEncryptedContent": "gA=="}}, "gA=="),
        ({"anthropic": {"signature": "Eo=="}}, "Eo=="),
        ({"anthropic": {"redactedData": "Em==", "signature": ""}}, "Em=="),
        ({"bedrock": {"signature": "Eo=="}}, "Eo=="),
        ({"copilot": {"reasoningOpaque": "aB"}}, "aB"),
        ({"google": {"thoughtSignature": "Cq"}}, "Cq"),
        ({"openrouter": {"reasoning_details": [{"type": "reasoning.text", "text": "x"}]}}, None),
        (
            {"openrouter": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "e"}]}},
            "e",
        ),
        ({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": None}}, None),
        ({"openai": "x", "azure": {"reasoningEncryptedContent": "gA=="}}, "gA=="),
        ({}, None),
        (None, None),
    ],
)
def test_encrypted_reasoning_is_copied(metadata, encrypted):
    part = {"type": "reasoning", "text": "", "metadata": metadata}
    (message,) = export(({"role": "assistant"}, [part]))["session"]["entries"]
    (entry,) = message["children"]
    assert entry.get("encrypted") == encrypted
    assert entry.get("metadata") == metadata


def test_encrypted_reasoning_needs_text():
    entry = {}
    for odd in ([], {"a": {"signature": 5, "reasoning_details": [5, {"data": 6}]}}, {"a": []}):
        copy_encrypted_reasoning(odd, entry)
    assert entry == {}
