"""Gemini CLI: how calls ended, who wrote messages, and results that a session has twice."""

import pytest

from tests.agents import rebuild
from tests.conftest import jsonl, records_of

HEADER = {"sessionId": "s1", "projectHash": "ab", "startTime": "2026-05-02T08:15:01.000Z"}
TIME = "2026-05-02T08:15:02.000Z"
SHELL = "run_shell_command"


def read_log(*messages, **header):
    """Record messages of a log, check that they come back, and return their entries."""
    lines = [HEADER | header, *messages]
    records = records_of(jsonl(*lines), "gemini-cli")
    rebuild.assert_same(records, lines)
    return [entry for entry in records[0]["session"]["entries"] if entry["type"] != "system-event"]


def user(*texts, **members):
    parts = [{"text": text} if isinstance(text, str) else text for text in texts]
    return {"id": "u", "timestamp": TIME, "type": "user", "content": parts, **members}


def answer(call_id, name, response):
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def calling(*calls, identity="g", **members):
    message = {"id": identity, "timestamp": TIME, "type": "gemini", "content": ""}
    return message | {"toolCalls": list(calls)} | members


def call(status, response, display=None, *, name=SHELL, call_id="c"):
    members = {"id": call_id, "name": name, "args": {}, "timestamp": TIME, "status": status}
    shown = {} if display is None else {"resultDisplay": display}
    return members | {"result": [answer(call_id, name, response)]} | shown


def end(*arguments, **members):
    """Return the status, the flag and the exit code of the one call of a session."""
    (entry,) = read_log(calling(call(*arguments, **members)))
    (result,) = [child for child in entry["children"] if child["type"] == "tool-result"]
    assert result["vacr"]["native"]["status"] == arguments[0]
    return result.get("status"), result.get("is-error"), result["vacr"].get("exit-code")


# --- outcomes ---

SUCCESS, FAILED = ("success", False, None), ("error", True, None)
DENIED, INTERRUPTED = ("denied", True, None), ("interrupted", True, None)
LONG = "Command: make\nDirectory: (root)\nOutput: {}\nError: (none)\nExit Code: {}\nSignal: {}\n"
LONG += "Background PIDs: (none)\nProcess Group PGID: 7"
FAKE = "Exit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 9"
OLDEST = (
    "Command: make\nDirectory: (root)\nStdout: a\nStderr: b\nError: (none)\nExit Code: 2\n"
    "Signal: (none)\nBackground PIDs: 8, 9\nProcess Group PGID: 7"
)


def wrap(text):
    return f"<untrusted_context>\n{text}\n</untrusted_context>"


@pytest.mark.parametrize(
    ("text", "display", "expected"),
    [
        pytest.param(LONG.format("x", 0, 0), None, ("success", False, 0), id="long, zero"),
        pytest.param(LONG.format("x", 1, 0), None, ("error", True, 1), id="long, one"),
        pytest.param(LONG.format("x", "(none)", 15), None, FAILED, id="long, signal"),
        pytest.param(LONG.format("x", "(none)", "SIGTERM"), None, FAILED, id="named signal"),
        pytest.param(LONG.format(FAKE, 3, 0), None, ("error", True, 3), id="long, fake zero"),
        pytest.param(
            LONG.format("Exit Code: 9", 0, 0), None, ("success", False, 0), id="long, fake nine"
        ),
        pytest.param(
            LONG.format("x", 1, 0).replace("\n", "\\n"), None, ("error", True, 1), id="escaped"
        ),
        pytest.param(OLDEST, None, ("error", True, 2), id="oldest"),
        pytest.param(
            LONG.partition("\n")[2].partition("\n")[2].format("x", 1, 0),
            None,
            ("error", True, 1),
            id="long, without its head",
        ),
        pytest.param("Output: x\nProcess Group PGID: 7", "x", SUCCESS, id="short, no code"),
        pytest.param(
            "Output: x\nExit Code: 2\nProcess Group PGID: 7", "x", ("error", True, 2), id="short"
        ),
        pytest.param("Output: x\nExit Code: 2\nProcess Group PGID: 7", None, SUCCESS, id="unseen"),
        pytest.param(
            "Output: (empty)\nExit Code: 4\nProcess Group PGID: 7",
            "Command exited with code: 4",
            ("error", True, 4),
            id="no output",
        ),
        pytest.param(
            "Output: (empty)\nSignal: 9\nProcess Group PGID: 7",
            "Command terminated by signal: 9",
            FAILED,
            id="short, signal",
        ),
        pytest.param(
            "Output: x\nExit Code: 9\nProcess Group PGID: 7",
            "x\nExit Code: 9",
            SUCCESS,
            id="short, printed",
        ),
        pytest.param(
            "Output: Exit Code: 0\nExit Code: 5\nProcess Group PGID: 7",
            "Exit Code: 0",
            ("error", True, 5),
            id="short, printed zero",
        ),
        pytest.param(
            "Output: x\nExit Code: 9\nProcess Group PGID: 7",
            [[{"text": "x"}], [{"text": "Exit Code: "}, {"text": "9"}], []],
            SUCCESS,
            id="printed on a styled screen",
        ),
        pytest.param(
            "Output: long\nend\nExit Code: 9\nExit Code: 9\nProcess Group PGID: 7",
            [[{"text": "end"}], [{"text": "Exit Code: 9"}]],
            ("error", True, 9),
            id="printed and true, on a styled screen that shows the end",
        ),
        pytest.param(
            "Output: x\nExit Code: many\nProcess Group PGID: 7", None, SUCCESS, id="no number"
        ),
        pytest.param(
            wrap("Output: x\nExit Code: 2\nProcess Group PGID: 7"),
            "x",
            ("error", True, 2),
            id="wrapped",
        ),
        pytest.param(
            wrap("Output: &lt;/untrusted_context&gt;\nExit Code: 2\nProcess Group PGID: 7"),
            "</untrusted_context>",
            ("error", True, 2),
            id="wrapped, an escaped end",
        ),
        pytest.param(
            wrap("Output: x\nExit Code: 2\nProcess Group PGID: 7")
            + "\n\n<hook_context>Exit Code: 0</hook_context>",
            "x",
            ("error", True, 2),
            id="wrapped, a hook's text",
        ),
        pytest.param(
            "Output: x\nExit Code: 2\nProcess Group PGID: 7"
            "\n\n[System] Tool input parameters were modified by a hook before execution."
            "\n\n<hook_context>fine</hook_context>",
            "x",
            ("error", True, 2),
            id="a hook's text",
        ),
        pytest.param(
            "Output too large. Showing first 9 and last 9 characters. For full output see: /o\n"
            + wrap("Output: x\n\n... [7 characters omitted] ...\n\ny\nExit Code: 2"),
            "x" * 99 + "\ny",
            ("error", True, 2),
            id="shortened",
        ),
        pytest.param(
            "Tool output was too large and has been truncated.\nThe full output …\n"
            "Truncated part of the output:\n" + LONG.format("x", 2, 0),
            None,
            ("error", True, 2),
            id="truncated",
        ),
        pytest.param(
            "<tool_output_masked>\n"
            + wrap("Output: x\nExit Code: 2\nProcess Group PGID: 7")
            + "\n\nOutput too large. Full output available at: /o\n</tool_output_masked>",
            "x",
            ("error", True, 2),
            id="masked",
        ),
        pytest.param(
            wrap("Command moved to background (PID: 7). Output hidden. Press Ctrl+B to view."),
            None,
            ("running", None, None),
            id="background",
        ),
        pytest.param(
            "Command is running in background. PID: 7. Initial output:\nExit Code: 1",
            None,
            ("running", None, None),
            id="background, with output",
        ),
        pytest.param(
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes "
            "without output. There was no output before it was cancelled.",
            None,
            ("timeout", True, None),
            id="timeout",
        ),
        pytest.param(
            "Command was cancelled by user before it could complete. Below is the output before it "
            "was cancelled:\nx",
            None,
            INTERRUPTED,
            id="cancelled by the user",
        ),
        pytest.param(
            "Command injection detected: command substitution syntax ($(), backticks, …",
            None,
            DENIED,
            id="refused",
        ),
        pytest.param(
            "Output: Command was automatically cancelled because it exceeded the timeout of 1",
            None,
            SUCCESS,
            id="a printed timeout",
        ),
        pytest.param("a summary of the output\nExit Code: 3", None, SUCCESS, id="summary"),
    ],
)
def test_report_about_a_command_beats_the_status(text, display, expected):
    assert end("success", {"output": text}, display) == expected


@pytest.mark.parametrize(
    ("status", "response", "expected"),
    [
        ("error", {"error": 'Tool "replace" not found.'}, FAILED),
        ("error", {"error": "Tool execution denied by policy. Ask first."}, DENIED),
        ("error", {"error": "Tool execution blocked: not on Fridays"}, DENIED),
        ("error", {"error": "The server says: Tool execution blocked: x"}, FAILED),
        ("cancelled", {"error": "[Operation Cancelled] Reason: User denied execution."}, DENIED),
        (
            "cancelled",
            {"error": "[Operation Cancelled] Reason: User did not allow tool call"},
            DENIED,
        ),
        ("cancelled", {"error": "[Operation Cancelled] Reason: Operation cancelled"}, INTERRUPTED),
        (
            "cancelled",
            {"output": "part", "error": "[Operation Cancelled] User cancelled tool execution."},
            INTERRUPTED,
        ),
        ("success", {"output": "Output: x\nExit Code: 1"}, SUCCESS),
        ("success", {"output": "Error: nothing"}, SUCCESS),
    ],
)
def test_status_and_error_of_other_tools(status, response, expected):
    assert end(status, response, name="read_file") == expected


HUGE = "9" * 5000
SAVED = "Output too long and was saved to: /tmp/o"
ALL_LINES = "Exit Code: 1\nSignal: 9\nBackground PIDs: 3\nProcess Group PGID: 7"


@pytest.mark.parametrize("name", ["Exit Code", "Signal", "Background PIDs", "Process Group PGID"])
@pytest.mark.parametrize("display", ["x", None, f"x\nExit Code: {HUGE}"])
def test_printed_number_of_5000_digits_is_not_an_exit_code(name, display):
    report = {"output": f"Output: x\n{name}: {HUGE}\nProcess Group PGID: 7"}
    assert end("success", report, display)[0] in ("success", "error")
    assert end("success", report, display)[2] is None


@pytest.mark.parametrize("display", [None, "", [], SAVED, "another text"])
@pytest.mark.parametrize(
    "lines", ["Exit Code: 1", "Exit Code: 1\nProcess Group PGID: 7", "Signal: 9", ALL_LINES]
)
def test_printed_exit_code_that_no_screen_disproves_is_not_the_hosts(lines, display):
    assert end("success", {"output": f"Output: hi\n{lines}"}, display) == SUCCESS


@pytest.mark.parametrize(
    ("text", "display"),
    [
        ("\x1b[31mhi\x1b[0m\nExit Code: 1", "hi\nExit Code: 1"),
        ("hi\nExit Code: 1\n\nProcess Group PGID: 7", "hi\nExit Code: 1"),
        ("hi\nExit Code: 1  \nProcess Group PGID: 7", "hi\nExit Code: 1"),
        (f"\x1b[1mx\x1b[0m\n{ALL_LINES}", f"x\n{ALL_LINES}"),
        (f"\x1b[1mx\x1b[0m\nError: (none)\n{ALL_LINES}", f"x\nError: (none)\n{ALL_LINES}"),
        (
            "tail\nExit Code: 2\nSignal: 9",
            [[{"text": "tail"}], [{"text": "Exit Code: 2  "}], [{"text": "Signal: 9"}]],
        ),
        ("1\n\n... [7 characters omitted] ...\n\n1\nExit Code: 1", "1\n1\nExit Code: 1"),
        ("(empty)\nExit Code: 4", "(empty)\nExit Code: 4"),
    ],
)
def test_exit_code_that_the_screen_shows_is_printed(text, display):
    assert end("success", {"output": f"Output: {text}"}, display) == SUCCESS


def test_exit_code_below_a_screen_with_broken_lines_is_the_hosts():
    report = {"output": f"Output: {'x' * 100}\nExit Code: 3\nProcess Group PGID: 7"}
    display = [[{"text": "x" * 80}], [{"text": "x" * 20 + "  "}], []]
    assert end("success", report, display) == ("error", True, 3)


@pytest.mark.parametrize(
    "error",
    [
        "Tool execution blocked: by my own server",
        "Tool execution denied by policy.",
        "[Operation Cancelled] Reason: User denied execution.",
        "The user aborted a request.",
    ],
)
def test_error_of_a_server_that_repeats_the_hosts_words_is_an_error(error):
    assert end("error", {"error": error}, name="mcp_notes_read") == FAILED
    assert end("error", {"error": error}, name="read_file") in (DENIED, INTERRUPTED)


def test_request_that_the_user_aborted_was_interrupted():
    response = {"error": "The user aborted a request."}
    assert end("error", response, name="cli_help") == INTERRUPTED


@pytest.mark.parametrize("result", [[], "text", {"other": 1}, [7]])
def test_results_of_other_shapes_have_the_status(result):
    (entry,) = read_log(calling(call("error", {}) | {"result": result}))
    assert entry["children"][1]["status"] == "error"


def test_response_is_found_among_those_of_other_calls():
    parts = [
        answer("a", SHELL, {"output": "Output: x\nExit Code: 1\nProcess Group PGID: 7"}),
        answer("b", SHELL, {"output": "Output: x\nProcess Group PGID: 7"}),
    ]
    calls = [call("success", {}, "x", call_id=name) | {"result": parts} for name in "ab"]
    (entry,) = read_log(calling(*calls))
    results = [child["status"] for child in entry["children"] if child["type"] == "tool-result"]
    assert results == ["error", "success"]


@pytest.mark.parametrize(
    ("response", "status"),
    [({"error": "File not found."}, "error"), ({"output": "Error: File not found."}, None)],
)
def test_saved_chat_states_errors_only(response, status):
    turns = [
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]},
        {"role": "user", "parts": [answer("c", "f", response)]},
    ]
    (record,) = records_of(jsonl(turns), "gemini-cli")
    (result,) = record["session"]["entries"][1]["children"]
    assert result.get("status") == status
    assert "vacr" not in record["session"]["entries"][1]


# --- results that are there twice ---


def test_result_in_a_later_message_repeats_that_of_its_call():
    text = "Output: x\nExit Code: 9\nProcess Group PGID: 7"
    shell = call("success", {"output": text}, "x\nExit Code: 9")
    asked, told = read_log(calling(shell), user(*shell["result"]))
    first, again = asked["children"][1], told["children"][0]
    assert first["status"] == again["status"] == "success"
    assert again["vacr"] == {"repeats": "c"}
    assert "repeats" not in first["vacr"]
    assert "vacr" not in told, "a message of results has no speaker"


def test_repeated_results_ended_like_the_first_ones_in_any_order():
    refused = call("error", {"error": "Tool execution denied by policy."})
    told = user(*refused["result"])
    again = {"functionCall": {"id": "c", "name": SHELL, "args": {}}}
    *_, lost, asked, kept = read_log(
        told, {"$set": {"messages": [calling(refused, content=[again]), told]}}
    )
    assert lost["vacr"]["superseded"] == "replaced"
    assert [child["type"] for child in asked["children"]] == [
        "tool-call",
        "tool-call",
        "tool-result",
    ]
    copies = [lost["children"][0], asked["children"][0], kept["children"][0]]
    assert [child["vacr"]["repeats"] for child in copies] == ["c", "c", "c"]
    assert [child.get("status") for child in copies] == ["denied", None, "denied"]
    assert "repeats" not in asked["children"][2]["vacr"]


def test_different_results_of_a_saved_chat_may_share_an_id():
    turns = [
        {"role": "user", "parts": [answer("c", "f", {"output": text})]} for text in ("a", "b", "a")
    ]
    (record,) = records_of(jsonl(turns), "gemini-cli")
    marks = [entry["children"][0].get("vacr") for entry in record["session"]["entries"]]
    assert marks == [None, None, {"repeats": "c"}]


# --- speakers ---

CONTEXT = (
    "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n"
    "</session_context>"
)
FILES = [
    "\n--- Content from referenced files ---",
    "\nContent from @a.py:\n",
    "--- End of content ---",
    "\n--- End of content ---",
]
STEERING = "Internal instruction: Re-evaluate the active plan using this user steering update. …"
HOST, HOOK = ("host", "inferred", None), ("hook", "inferred", None)
PLAIN = ("human", "inferred", None)


def find_speaker(message, **header):
    (entry,) = read_log(message, **header)
    marks = entry["vacr"]
    return marks["speaker"], marks["speaker-basis"], marks.get("prompt")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("Fix it."), PLAIN),
        (user() | {"content": "Fix it."}, PLAIN),
        (user(CONTEXT), HOST),
        (user(CONTEXT[18:-19]), HOST),
        (user(CONTEXT, "Fix it."), ("human", "inferred", "Fix it.")),
        (user("Explain " + CONTEXT), PLAIN),
        (user(CONTEXT + " What is that?"), PLAIN),
        (user("<hook_context>be brief</hook_context>"), HOOK),
        (
            user("Fix it.", "<hook_context>be brief</hook_context>"),
            ("human", "inferred", "Fix it."),
        ),
        (
            user("<hook_context>be brief</hook_context>\n\nFix it."),
            ("human", "inferred", "Fix it."),
        ),
        (user("<hook_context> is a strange tag."), PLAIN),
        (user("Why does <hook_context>x</hook_context> appear?"), PLAIN),
        (user("System: Please continue."), HOST),
        (user("System: Please continue.", displayContent=[{"text": "/init"}]), HOST),
        (user("Please continue."), HOST),
        (user("Please continue with the tests."), PLAIN),
        (user("System: Potential loop detected. Details: x. Please take a step back"), HOST),
        (user("Here is the user's editor context as a JSON object. This is for your …"), HOST),
        (user("User has manually exited Plan Mode. Switching to Default mode."), HOST),
        (user("Background execution update:\n<background_output>\nx\n</background_output>"), HOST),
        (user("<state_snapshot>\n<overall_goal>x</overall_goal>\n</state_snapshot>"), HOST),
        (
            user(
                "- **Workspace Directories:**\n  - /w\n- **Directory Structure:**\n\n"
                "Showing up to 200 items (files + folders)."
            ),
            HOST,
        ),
        (user("<scratchpad>x</scratchpad>\n<state_snapshot>x</state_snapshot>"), HOST),
        (
            user(
                "I'm currently working in the directory: /w\n"
                "Here is the folder structure of the current working directories:\n\n/w/"
            ),
            HOST,
        ),
        (user("I'm currently working in the directory: /w"), PLAIN),
        (user("Fix @a.py", *FILES), ("human", "inferred", "Fix @a.py")),
        (user("Fix @a.py", *FILES[:2], "x = 1"), ("human", "inferred", "Fix @a.py")),
        (
            user("Fix @a.py", *FILES, "<hook_context>x</hook_context>"),
            ("human", "inferred", "Fix @a.py"),
        ),
        (
            user() | {"content": "Fix @a.py" + "".join(FILES)},
            ("human", "inferred", "Fix @a.py"),
        ),
        (user("Fix @a.py", *FILES, displayContent="Fix @a.py"), ("human", "stated", "Fix @a.py")),
        (
            user("Analyze the directory.", displayContent=[{"text": "/init now"}]),
            ("human", "stated", "/init now"),
        ),
        (user("Hello", displayContent="Hello"), ("human", "stated", None)),
        (
            user("Masked.", displayContent=[answer("c", "f", {"output": "x"})]),
            ("host", "stated", None),
        ),
        (
            user(
                f"User steering update:\n<user_input>\nskip the tests\n</user_input>\n{STEERING}",
                answer("c", "f", {"output": "x"}),
            ),
            ("human", "stated", "skip the tests"),
        ),
        (
            user(
                "I ran the following shell command:\n```sh\necho \\`a\\` \\\\\n```\n\n"
                "This produced the following result:\n```\na\n```"
            ),
            ("human", "stated", "!echo `a` \\"),
        ),
        (
            user(
                "Ask @helper",
                "\n<system_note>\nThe user has explicitly selected the following agent(s): helper."
                "\n</system_note>\n",
            ),
            ("human", "inferred", "Ask @helper"),
        ),
        (user({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}), PLAIN),
    ],
)
def test_speaker_of_a_message(message, expected):
    assert find_speaker(message) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<system_note>please note</system_note>",
        "<session_context>my own element</session_context>",
        "<state_snapshot>what is this?</state_snapshot>",
        "<hook_context>a</hook_context> and <hook_context>b</hook_context>",
        "- **Workspace Directories:**\n fix this list",
        "Here is the user's editor context as a JSON object. Why do I see this?",
        "a\n--- Content from referenced files ---\nContent from @x and my words",
    ],
)
def test_prompt_that_resembles_a_text_of_the_host_is_the_persons(text):
    assert find_speaker(user(text)) == PLAIN


def test_words_after_a_pasted_shell_command_stay_in_the_prompt():
    text = (
        "I ran the following shell command:\n```sh\nls\n```\n\n"
        "This produced the following result:\n```\nx\n```\nWhy?"
    )
    assert find_speaker(user(text)) == PLAIN


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (user("Find the bug."), ("parent-agent", "stated", None)),
        (user("Follow GEMINI.md.", "Find the bug."), ("parent-agent", "stated", None)),
        (user(CONTEXT), HOST),
        (
            user(
                "You have exceeded the time limit. You have one final chance to complete the task "
                "with a short grace period."
            ),
            HOST,
        ),
        (
            user(
                f"User hints:\n<user_input>\n- be quick\n</user_input>\n\n{STEERING}",
                answer("c", "f", {"output": "x"}),
            ),
            ("human", "stated", "- be quick"),
        ),
    ],
)
def test_speaker_in_the_session_of_a_sub_agent(message, expected):
    assert find_speaker(message, kind="subagent") == expected
