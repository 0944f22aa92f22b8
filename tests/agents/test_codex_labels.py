"""Each rule for the outcome of a Codex call and the speaker of a message, and each attack on it."""

import json

import pytest

from tests.agents import independent
from tests.conftest import jsonl, native_files, record_of, records_of
from vacr.agents.codex import AGENT

HEADER = "Chunk ID: 0a1b2c\nWall time: 0.1 seconds\nProcess exited with code {}\nOutput:\n{}"
RUNNING = "Wall time: 1.0 seconds\nProcess running with session ID {}\nOutput:\n"
FREE = "Exit code: {}\nWall time: 0.1 seconds\nOutput:\n{}"
FOLDER = "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"
PATCH_WARNING = (
    "Warning: apply_patch was requested via shell. "
    "Use the apply_patch tool instead of exec_command."
)
AGENTS_MD = "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"


def line(kind, payload):
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def item(**payload):
    return line("response_item", payload)


def event(name, **payload):
    return line("event_msg", {"type": name, **payload})


def meta(**members):
    return line("session_meta", {"id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", **members})


def call(name, call_id="c1", **arguments):
    text = json.dumps(arguments)
    return item(type="function_call", name=name, call_id=call_id, arguments=text)


def answer(output, call_id="c1"):
    return item(type="function_call_output", call_id=call_id, output=output)


def wrap(code, output=""):
    return json.dumps({"output": output, "metadata": {"exit_code": code}}, separators=(",", ":"))


def list_results(*lines):
    entries = record_of(jsonl(meta(source="cli"), *lines))["session"]["entries"]
    return [entry for entry in entries if entry["type"] == "tool-result"]


def outcome(name, output, *events):
    (result,) = list_results(call(name), *events, answer(output))
    status, code = result.get("status"), result["vacr"].get("exit-code")
    assert result.get("is-error") == {"success": False, "running": None, None: None}.get(
        status, True
    )
    return status, code


# --- outcomes ---


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        ("exec_command", HEADER.format(0, "ok"), ("success", 0)),
        ("exec_command", HEADER.format(1, ""), ("error", 1)),
        ("exec_command", HEADER.format(-1, ""), ("error", -1)),
        ("exec_command", "Chunk ID: 0a\nProcess exited with code 8\nOutput:\n", ("error", 8)),
        (
            "exec_command",
            "Warning: truncated output (original token count: 9)\nTotal output lines: 3\n\n"
            + HEADER.format(2, ""),
            ("error", 2),
        ),
        ("exec_command", RUNNING.format(7), ("running", None)),
        ("shell_command", FREE.format(0, "ok"), ("success", 0)),
        ("shell_command", FREE.format(3, ""), ("error", 3)),
        (
            "shell_command",
            FREE.format(124, "command timed out after 300 milliseconds\n"),
            ("timeout", 124),
        ),
        ("shell_command", FREE.format(124, "timeout: bad option"), ("error", 124)),
        ("shell", wrap(0, "ok"), ("success", 0)),
        ("shell", wrap(5), ("error", 5)),
        ("shell", wrap(124, "command timed out after 300 milliseconds\n"), ("timeout", 124)),
        ("container.exec", wrap(1), ("error", 1)),
        ("apply_patch", FREE.format(0, "Success."), ("success", 0)),
        ("apply_patch", "Success. Updated the following files:\nM a\n", ("success", None)),
        ("apply_patch", "apply_patch verification failed: no such file", ("error", None)),
        ("apply_patch", "error: Failed to read file to update", ("error", None)),
        ("apply_patch", "patch rejected by user", ("denied", None)),
        ("apply_patch", "patch rejected: writing outside of the project", ("denied", None)),
        ("exec_command", "Wall time: 2.0 seconds\naborted by user", ("interrupted", None)),
        ("wait_agent", "aborted by user after 6.2s", ("interrupted", None)),
        ("mcp__notes__read", "aborted by user after 6.2s", ("interrupted", None)),
        ("exec_command", "exec command rejected by user", ("denied", None)),
        ("exec_command", "`rm -rf /` rejected: blocked by policy", ("denied", None)),
        ("shell", "approval policy is Never; reject command — you may not ask", ("denied", None)),
        ("shell", "Command blocked by PreToolUse hook: no. Command: ls", ("denied", None)),
        (
            "exec_command",
            'exec_command failed for `ls`: CreateProcess { message: "Rejected(..)" }',
            ("denied", None),
        ),
        ("exec_command", "exec_command failed for `ls`: UnknownProcessId", ("error", None)),
        ("shell", "execution error: Io(Os { code: 2 })", ("error", None)),
        ("shell", "failed to parse function arguments: missing field", ("error", None)),
        ("write_stdin", "write_stdin failed: Unknown process id 7", ("error", None)),
        ("update_plan", "Plan updated", ("success", None)),
        ("update_plan", "failed to parse function arguments: x", ("error", None)),
        ("view_image", "unable to locate image at `/w/a.png`", ("error", None)),
        ("view_image", "attached local image path", ("success", None)),
        ("view_image", [{"type": "input_image", "image_url": "data:,"}], ("success", None)),
        ("spawn_agent", '{"agent_id":"a1"}', ("success", None)),
        ("spawn_agent", "collab spawn failed: agent thread limit reached", ("error", None)),
        ("wait_agent", '{"status":{},"timed_out":false}', ("success", None)),
        ("wait_agent", '{"status":{},"timed_out":true}', ("running", None)),
        ("request_user_input", "request_user_input was cancelled before receiving a response",
         ("interrupted", None)),
        ("exec", [{"type": "input_text", "text": "Script completed\nWall time 1.0 seconds\n"}],
         ("success", None)),
        ("exec", [{"type": "input_text", "text": "Script failed\nWall time 1.0 seconds\n"}],
         ("error", None)),
        ("exec", "Script terminated\nWall time 1.0 seconds\nOutput:\n", ("interrupted", None)),
        ("exec", "Script running with cell ID 4\nWall time 1.0 seconds\n", ("running", None)),
        ("no_such_tool", "unsupported call: no_such_tool", ("error", None)),
        ("exec_command", "something else", (None, None)),
        ("mcp__notes__read", "text", (None, None)),
        ("shell", {"content": "no", "success": False}, ("error", None)),
        ("update_plan", "aborted", ("interrupted", None)),
    ],
)  # fmt: skip
def test_outcome_is_read_from_the_result(name, output, expected):
    assert outcome(name, output) == expected


def test_patch_that_codex_applies_inside_a_command_has_its_outcome():
    for inner in (FREE.format(0, "Success."), wrap(0)):
        text = "Wall time: 0.0000 seconds\nOutput:\n" + inner
        assert outcome("exec_command", text) == ("success", 0)


@pytest.mark.parametrize(
    ("name", "output", "reported", "expected"),
    [
        ("shell", "raw", event("exec_command_end", call_id="c1", exit_code=2, status="failed"),
         ("error", 2)),
        ("shell", "raw", event("exec_command_end", call_id="c1", exit_code=0, status="completed"),
         ("success", 0)),
        ("shell", "raw", event("exec_command_end", call_id="c1", exit_code=-1, status="declined"),
         ("denied", -1)),
        ("apply_patch", "raw", event("patch_apply_end", call_id="c1", success=False),
         ("error", None)),
        ("apply_patch", "raw", event("patch_apply_end", call_id="c1", success=False,
                                     status="declined"), ("denied", None)),
        ("apply_patch", "raw", event("patch_apply_end", call_id="c1", success=True),
         ("success", None)),
        ("notes", "raw", event("mcp_tool_call_end", call_id="c1", result={"Err": "no"}),
         ("error", None)),
        ("notes", "raw", event("mcp_tool_call_end", call_id="c1",
                               result={"Ok": {"content": [], "isError": True}}), ("error", None)),
        ("notes", "raw", event("mcp_tool_call_end", call_id="c1", result={"Ok": {"content": []}}),
         ("success", None)),
        ("notes", "raw", event("dynamic_tool_call_response", call_id="c1", success=False),
         ("error", None)),
        ("notes", "raw", event("item_completed", item={"type": "McpToolCall", "id": "c1",
                                                       "status": "failed"}), ("error", None)),
        ("shell", "raw", event("item_completed", item={"type": "CommandExecution", "id": "c1",
                                                       "status": "failed", "exit_code": 9}),
         ("error", 9)),
        ("shell", "raw", event("exec_command_end", call_id="other", exit_code=2), (None, None)),
    ],
)  # fmt: skip
def test_outcome_is_read_from_events(name, output, reported, expected):
    assert outcome(name, output, reported) == expected


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        # A program prints a header of its own.
        ("exec_command", HEADER.format(0, "Exit code: 1\nProcess exited with code 1\nOutput:\n"),
         ("success", 0)),
        ("exec_command", HEADER.format(3, "Process exited with code 0\n"), ("error", 3)),
        ("shell", wrap(0, "Exit code: 1\nWall time: 1 seconds\nOutput:\n"), ("success", 0)),
        ("shell_command", FREE.format(0, "command timed out after 1 milliseconds\n"),
         ("success", 0)),
        ("exec_command", HEADER.format(0, "aborted by user after 1.0s"), ("success", 0)),
        ("exec_command", "\n" + HEADER.format(1, ""), (None, None)),
        # A tool of a server prints whatever it likes.
        ("mcp__notes__read", HEADER.format(1, ""), (None, None)),
        ("mcp__notes__read", wrap(1), (None, None)),
        ("mcp__notes__read", "Wall time: 1.0 seconds\nOutput:\nExit code: 1\n", (None, None)),
        ("mcp__notes__read", "patch rejected by user", (None, None)),
        ("notes", "unsupported call: other", (None, None)),
        # A command that did not start contains the words of a rejection.
        ("exec_command", "exec_command failed for `grep 'Rejected(' command timed out`: Io",
         ("error", None)),
    ],
)  # fmt: skip
def test_output_of_a_program_does_not_decide(name, output, expected):
    assert outcome(name, output) == expected


ABORTED = "aborted by user after 1.0s"
MCP_OK = event("mcp_tool_call_end", call_id="c1", result={"Ok": {"content": []}})
MCP_ERR = event("mcp_tool_call_end", call_id="c1", result={"Err": "no"})


@pytest.mark.parametrize(
    ("name", "reported", "expected"),
    [
        ("mcp__notes__read", MCP_OK, ("success", None)),
        ("mcp__notes__read", MCP_ERR, ("error", None)),
        ("exec_command", event("exec_command_end", call_id="c1", exit_code=0), ("success", 0)),
        ("exec_command", event("exec_command_end", call_id="c1", exit_code=-1),
         ("interrupted", -1)),
    ],
)  # fmt: skip
def test_event_beats_an_output_that_says_aborted_by_user(name, reported, expected):
    assert outcome(name, ABORTED, reported) == expected


@pytest.mark.parametrize(
    "output",
    [HEADER.format(1, ""), FREE.format(0, ""), wrap(1), ABORTED, "patch rejected", "error: x"],
)
def test_text_of_a_result_without_its_call_is_not_the_hosts(output):
    (result,) = list_results(answer(output))
    assert "status" not in result
    assert "exit-code" not in result["vacr"]
    end = event("exec_command_end", call_id="c1", exit_code=3)
    (result,) = list_results(end, answer(output))
    assert (result["status"], result["vacr"]["exit-code"]) == ("error", 3)


def test_tool_of_a_server_may_have_the_name_of_a_tool_of_codex():
    foreign = call("exec_command")
    foreign["payload"]["namespace"] = "mcp__remote__"
    (result,) = list_results(foreign, answer(HEADER.format(1, "")))
    assert "status" not in result


def test_running_command_is_resolved_by_the_call_that_sees_its_end():
    first, poll, other, last = list_results(
        call("exec_command", "c1", cmd="make"),
        answer(RUNNING.format(7), "c1"),
        call("write_stdin", "c2", session_id=7, chars=""),
        answer(RUNNING.format(7), "c2"),
        call("write_stdin", "c3", session_id=8, chars=""),
        answer(HEADER.format(0, ""), "c3"),
        call("write_stdin", "c4", session_id=7, chars=""),
        answer(HEADER.format(2, ""), "c4"),
    )
    assert [first["status"], poll["status"], other["status"]] == ["running", "running", "success"]
    assert first["vacr"]["resolved-by"] == poll["vacr"]["resolved-by"] == "c4"
    assert "is-error" not in first
    assert (last["status"], last["vacr"]["exit-code"]) == ("error", 2)


def test_running_script_is_resolved_by_wait():
    first, last = list_results(
        call("exec", "c1"),
        answer("Script running with cell ID 3\nWall time 1.0 seconds\nOutput:\n", "c1"),
        call("wait", "c2", cell_id="3"),
        answer("Script failed\nWall time 1.0 seconds\nOutput:\n", "c2"),
    )
    assert (first["status"], first["vacr"]["resolved-by"]) == ("running", "c2")
    assert last["status"] == "error"


def test_failed_poll_resolves_nothing():
    first, _ = list_results(
        call("exec_command", "c1"),
        answer(RUNNING.format(7), "c1"),
        call("write_stdin", "c2", session_id=7),
        answer("write_stdin failed: Unknown process id 7", "c2"),
    )
    assert first["status"] == "running"
    assert "resolved-by" not in first["vacr"]


@pytest.mark.parametrize("has_poll", [True, False])
def test_event_decides_about_a_running_command_that_no_call_resolves(has_poll):
    poll = [call("write_stdin", "c2", session_id=7), answer(HEADER.format(2, ""), "c2")]
    first, *_ = list_results(
        call("exec_command", "c1"),
        answer(RUNNING.format(7), "c1"),
        event("exec_command_end", call_id="c1", exit_code=2, status="failed"),
        *(poll if has_poll else ()),
    )
    expected = ("running", None) if has_poll else ("error", 2)
    assert (first["status"], first["vacr"].get("exit-code")) == expected


def test_events_of_a_repeated_call_id_do_not_swap_outcomes():
    first, second, third = list_results(
        call("exec_command"),
        event("exec_command_end", call_id="c1", exit_code=0, status="completed"),
        answer("x"),
        call("exec_command"),
        event("exec_command_end", call_id="c1", exit_code=5, status="failed"),
        answer("x"),
        call("exec_command"),
        answer("x"),
    )
    assert (first["status"], first["vacr"]["exit-code"]) == ("success", 0)
    assert (second["status"], second["vacr"]["exit-code"]) == ("error", 5)
    assert "exit-code" not in third["vacr"]


def test_native_status_moves():
    output = item(type="tool_search_output", call_id="c1", status="completed", tools=[])
    search = item(type="tool_search_call", call_id="c1", arguments={})
    (result,) = list_results(search, output)
    assert (result["status"], result["payload"]["status"]) == ("success", "completed")


# --- speakers ---


def say(*texts, **payload):
    content = [{"type": "input_text", "text": text} for text in texts]
    return item(type="message", role="user", content=content, **payload)


def speaker(*lines, source="cli", **members):
    entries = record_of(jsonl(meta(source=source, **members), *lines))["session"]["entries"]
    marks = next(entry["vacr"] for entry in entries if entry["type"] == "user")
    return marks["speaker"], marks["speaker-basis"], marks.get("prompt")


@pytest.mark.parametrize(
    "text",
    [
        FOLDER,
        AGENTS_MD,
        "<user_instructions>\n\nBe brief.\n\n</user_instructions>",
        "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>",
        "<skill>\n<name>tour</name>\n</skill>",
        '<subagent_notification>\n{"agent_path":"a"}\n</subagent_notification>',
        "<permissions instructions>\nAll.\n</permissions instructions>",
        '<codex_internal_context source="goal">\nGo on.\n</codex_internal_context>',
        "<external_issue>text</external_issue>",
        "<user_action>\n  <action>review</action>\n</user_action>\n",
        PATCH_WARNING,
    ],
)
def test_text_that_codex_wraps_is_the_hosts(text):
    assert speaker(say(text)) == ("host", "inferred", None)
    assert speaker(say(text), source="exec") == ("host", "inferred", None)
    assert AGENT.prompt_text({"type": "user", "content": text}) == ""


@pytest.mark.parametrize(
    "text",
    [
        FOLDER + "\nWhat is this?",
        "What is this? " + FOLDER,
        "Why does <turn_aborted> appear?",
        "# AGENTS.md instructions are too long. Shorten them.",
        "# AGENTS.md instructions are wrong. Fix them </INSTRUCTIONS>",
        "# AGENTS.md instructions for /w are wrong: <INSTRUCTIONS>x</INSTRUCTIONS>",
        "<skill>a</skill> and <skill>b</skill>",
        "<skill>my own element</skill>",
        "<turn_aborted>a</turn_aborted> or <turn_aborted>b</turn_aborted>",
        "<user_shell_command><command>\nls\n</command><result>x</result></user_shell_command> Why?",
        "<user_shell_command><command>\nls\n</command><result> is what I see",
        "<div>\nhello\n</div>",
        "Explain the heading ## My request for Codex: please",
    ],
)
def test_text_that_quotes_a_wrapper_is_the_persons(text):
    assert speaker(say(text)) == ("human", "inferred", None)
    assert AGENT.prompt_text({"type": "user", "content": text}) == text


def test_pasted_wrapper_is_the_persons_if_an_event_says_it_was_typed():
    typed = event("user_message", message=FOLDER)
    assert speaker(say(FOLDER), typed) == ("human", "stated", None)
    other = event("user_message", message=FOLDER, kind="environment_context")
    assert speaker(say(FOLDER), other) == ("host", "inferred", None)


def test_event_states_that_a_message_was_typed():
    assert speaker(say("Fix it."), event("user_message", message="Fix it.")) == (
        "human",
        "stated",
        None,
    )
    completed = {"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "Fix it."}]}
    assert speaker(say("Fix it."), event("item_completed", item=completed))[1] == "stated"
    assert speaker(say("Fix it."), event("user_message", message="Other."))[1] == "inferred"


def test_prompt_that_only_an_event_has_is_a_message():
    def list_prompts(*lines):
        entries = record_of(jsonl(meta(source="cli"), *lines))["session"]["entries"]
        people = [entry for entry in entries if entry["type"] == "user"]
        return [AGENT.prompt_text(entry) for entry in people]

    first, lost = (event("user_message", message=text) for text in ("Fix it.", "And test it."))
    assert list_prompts(say(FOLDER), say("Fix it."), first, lost) == ["", "Fix it.", "And test it."]
    assert list_prompts(say("Fix it."), first) == ["Fix it."]
    assert list_prompts(say(" Fix it.\n"), first) == [" Fix it.\n"]
    assert list_prompts(say("# Context\n\n## My request for Codex:\nFix it.\n"), first) == [
        "Fix it."
    ]
    other = event("user_message", message="Be brief.", kind="user_instructions")
    assert list_prompts(say("Fix it."), first, other) == ["Fix it."]
    assert list_prompts(say("Fix it."), event("user_message", message="")) == ["Fix it."]


def test_session_without_a_model_has_no_provider():
    record = record_of(jsonl(meta(source="cli"), say("Fix it.")))
    assert record["session"]["agent-meta"]["model-provider"] == "unknown"


def test_event_without_item_was_typed():
    assert speaker(event("user_message", message="Fix it.")) == ("human", "stated", None)


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [
        ({"type": "user"}, ("human", "stated", None)),
        ({"type": "harness", "hook": False}, ("host", "stated", None)),
        ({"type": "harness", "hook": True}, ("hook", "stated", None)),
        ({"type": "tool"}, ("host", "stated", None)),
        ({}, ("human", "inferred", None)),
    ],
)
def test_stated_origin_decides(provenance, expected):
    metadata = {"content_item_metadata": [{"provenance": provenance}]}
    message = say("Fix it.", internal_chat_message_metadata_passthrough=metadata)
    assert speaker(message) == expected


def test_hook_prompt_is_a_hooks():
    text = '<hook_prompt hook_run_id="h1">Run the tests.</hook_prompt>'
    assert speaker(say(text)) == ("hook", "inferred", None)


def test_mixed_message_is_the_persons_with_their_words():
    assert speaker(say(AGENTS_MD, FOLDER, "Fix it.")) == ("human", "inferred", "Fix it.")
    entries = record_of(jsonl(meta(source="cli"), say(FOLDER, "Fix it.")))["session"]["entries"]
    assert AGENT.prompt_text(entries[1]) == "Fix it."


def test_context_of_an_editor_is_not_the_persons():
    text = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix it."
    )
    assert speaker(say(text)) == ("human", "inferred", "Fix it.")
    typed = event("user_message", message=text)
    assert speaker(say(text), typed) == ("human", "stated", "Fix it.")


def test_tags_around_an_image_are_not_the_persons():
    content = [
        {"type": "input_text", "text": "Use this."},
        {"type": "input_text", "text": "<image name=[Image #1]>"},
        {"type": "input_image", "image_url": "data:,"},
        {"type": "input_text", "text": "</image>"},
    ]
    message = item(type="message", role="user", content=content)
    typed = event("user_message", message="Use this.")
    assert speaker(message, typed) == ("human", "stated", "Use this.")


def test_shell_command_of_the_person_is_unwrapped():
    text = (
        "<user_shell_command>\n<command>\ngit status\n</command>\n<result>\nExit code: 0\n"
        "Duration: 0.1 seconds\nOutput:\nclean\n</result>\n</user_shell_command>"
    )
    assert speaker(say(text)) == ("human", "stated", "!git status")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cli", ("human", "inferred")),
        ("vscode", ("human", "inferred")),
        ("exec", ("unknown", "inferred")),
        ("mcp", ("unknown", "inferred")),
        ({"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}, ("parent-agent", "stated")),
        ({"subagent": "review"}, ("parent-agent", "stated")),
        ({"internal": "memory_consolidation"}, ("host", "stated")),
        (None, ("human", "inferred")),
    ],
)
def test_session_decides_whose_words_they_are(source, expected):
    assert speaker(say("Fix it."), source=source)[:2] == expected


def test_words_of_a_parent_agent_are_no_prompt():
    lines = jsonl(meta(source={"subagent": "review"}), say("Review it."))
    entries = record_of(lines)["session"]["entries"]
    assert AGENT.prompt_text(entries[1]) == ""


def test_person_may_fork_a_session():
    assert speaker(say("Fix it."), forked_from_id="p1")[0] == "human"


def test_copied_lines_keep_the_speaker_of_their_session():
    own = meta(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})
    own["payload"]["subagent_history_start_ordinal"] = 3
    parent = line("session_meta", {"id": "p", "source": "cli"})
    lines = [own, parent, say("Fix it."), say("Do your part.")]
    for ordinal, value in enumerate(lines):
        value["ordinal"] = ordinal
    entries = record_of(jsonl(*lines))["session"]["entries"]
    assert [entry["vacr"]["speaker"] for entry in entries if entry["type"] == "user"] == [
        "human",
        "parent-agent",
    ]


# --- tokens ---


def count(total, last):
    def usage(number):
        return {"input_tokens": number, "output_tokens": 1, "total_tokens": number + 1}

    info = {"total_token_usage": usage(total), "last_token_usage": usage(last)}
    return event("token_count", info=info)


def test_tokens_of_a_compaction_are_in_the_total_only():
    first, compaction = count(500, 500), count(88_835, 0)
    compaction["payload"]["info"]["last_token_usage"]["total_tokens"] = 7_000
    entries = record_of(jsonl(meta(), first, compaction, count(88_935, 100)))["session"]["entries"]
    usages = [entry["token-usage"]["input"] for entry in entries if "token-usage" in entry]
    assert usages == [500, 88_335, 100]
    assert entries[2]["vacr"]["usage-from"] == "total"
    assert entries[2]["data"]["info"]["last_token_usage"]["total_tokens"] == 7_000


def test_total_that_begins_anew_counts_the_last_usage():
    entries = record_of(jsonl(meta(), count(500, 500), count(40, 40)))["session"]["entries"]
    assert [entry["token-usage"]["input"] for entry in entries[1:]] == [500, 40]


def test_full_context_is_not_a_usage():
    full = count(0, 0)
    for usage in full["payload"]["info"].values():
        usage |= {"output_tokens": 0, "total_tokens": 272_000}
    entries = record_of(jsonl(meta(), count(500, 500), full))["session"]["entries"]
    assert ["token-usage" in entry for entry in entries[1:]] == [True, False]


@pytest.mark.parametrize("path", native_files("codex"), ids=lambda path: path.name[-40:])
def test_tokens_add_up_to_the_native_total(path):
    data = path.read_bytes()
    payloads = [
        value["payload"]
        for value in independent.values(data)
        if isinstance(value, dict) and isinstance(value.get("payload"), dict)
    ]
    infos = [payload.get("info") for payload in payloads if payload.get("type") == "token_count"]
    totals = [info["total_token_usage"] for info in infos if info and "total_token_usage" in info]
    headers = {payload.get("id") for payload in payloads if "cli_version" in payload}
    if not totals or len(headers) > 1:
        pytest.skip("no total, or the totals of several sessions")
    tokens = independent.record(*records_of(data)).tokens
    assert tokens["input"] == totals[-1]["input_tokens"]
    assert tokens["output"] == totals[-1]["output_tokens"]
