"""Exit code and output of a shell call, in the format of each agent."""

import json

import pytest

from vacr.agents.file_tools import parse_shell_result
from vacr.agents.registry import find_agent
from vacr.agents.tool_calls import CALL_DONE, CALL_FAILED, ToolCall
from vacr.attribution.shell.effects import derive_shell_events
from vacr.edits.actions import FileDeletion, ObservedLines, PossibleChange


def make_call(output, *, name="shell", command="cat f", state=CALL_DONE, **native):
    return ToolCall(
        name, {"command": command}, "e", "c", "m", "", state=state, output=output, native=native
    )


CODEX = (
    "Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token "
    "count: 9\nOutput:\n{}"
)
GEMINI = (
    "Command: cat f\nDirectory: (root)\nOutput: {}\nError: {}\nExit Code: {}\nSignal: 0\n"
    "Process Group PGID: 7"
)


@pytest.mark.parametrize(
    ("agent", "call", "code", "done", "text", "cut"),
    [
        ("codex-cli", make_call("a\nb\n"), None, True, "a\nb\n", False),
        ("codex-cli", make_call(CODEX.format(0, "a\nb\n")), 0, True, "a\nb\n", False),
        ("codex-cli", make_call(CODEX.format(1, "a\n")), 1, False, "a\n", False),
        (
            "codex-cli",
            make_call("Exit code: 0\nWall time: 1 seconds\nOutput:\na\n"),
            0,
            True,
            "a\n",
            False,
        ),
        (
            "codex-cli",
            make_call(
                "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nTotal "
                "output lines: 9\n\na\n"
            ),
            0,
            True,
            "a\n",
            False,
        ),
        (
            "codex-cli",
            make_call("Wall time: 1 seconds\nProcess running with session ID 3\nOutput:\na\nhal"),
            None,
            False,
            "a",
            True,
        ),
        (
            "codex-cli",
            make_call(CODEX.format(0, "a\nb…12 tokens truncated…c\nd\n")),
            0,
            True,
            "a",
            True,
        ),
        (
            "claude-code",
            make_call("a\nb\n\n... [12 lines truncated] ...\n\nc\n"),
            None,
            True,
            "a\nb\n",
            True,
        ),
        ("codex-cli", make_call("a\n[... omitted 3 of 9 lines ...]\nb\n"), None, True, "a", True),
        (
            "claude-code",
            make_call("<persisted-output>\nOutput too large (9KB). Full output saved to: x\n"),
            None,
            True,
            "",
            True,
        ),
        (
            "opencode",
            make_call("a\n\n<bash_metadata>\nbash tool truncated output\n</bash_metadata>"),
            None,
            True,
            "a\n",
            True,
        ),
        ("gemini-cli", make_call(GEMINI.format("a\nb", "(none)", 0)), 0, True, "a\nb", False),
        ("gemini-cli", make_call(GEMINI.format("(empty)", "(none)", 0)), 0, True, "", False),
        ("gemini-cli", make_call(GEMINI.format("a", "oh no", 2)), 2, False, "a", False),
        ("gemini-cli", make_call("Output: a\nProcess Group PGID: 7"), None, True, "a", False),
        ("opencode", make_call("a\n", metadata={"exit": 3}), 3, False, "a\n", False),
        ("codex-cli", make_call("a\n", exit_code=2), 2, False, "a\n", False),
        ("claude-code", make_call("Exit code 1\na\n", state=CALL_FAILED), 1, False, "a\n", False),
        (
            "claude-code",
            make_call("x", toolUseResult={"stdout": "a", "stderr": "", "interrupted": False}),
            None,
            True,
            "a",
            False,
        ),
        (
            "claude-code",
            make_call("x", toolUseResult={"stdout": "a\nb", "stderr": "", "interrupted": True}),
            None,
            False,
            "a",
            True,
        ),
        (
            "claude-code",
            make_call("x", toolUseResult={"stdout": "a\nb", "stderr": "", "backgroundTaskId": "1"}),
            None,
            False,
            "a",
            True,
        ),
    ],
)
def test_result_is_unwrapped(agent, call, code, done, text, cut):
    result = parse_shell_result(find_agent(agent), call)
    assert (result.code, result.done, result.text, result.cut) == (code, done, text, cut)


def test_first_codex_reports_its_exit_code_in_json():
    call = make_call("a\n")
    call.native["output"] = json.dumps({"output": "a\n", "metadata": {"exit_code": 2}})
    assert parse_shell_result(find_agent("codex-cli"), call).code == 2


def test_opencode_reports_its_exit_code_in_the_state():
    call = make_call("a\n")
    call.native["state"] = {"metadata": {"exit": 1}}
    assert not parse_shell_result(find_agent("opencode"), call).done


def powershell(command, output=""):
    call = make_call(output, name="PowerShell", command=command)
    events = derive_shell_events(call, find_agent("claude-code").shell_run(call))
    return [
        (event.path, event.first, len(event.lines)) if isinstance(event, ObservedLines) else event
        for event in events
        if isinstance(event, ObservedLines | FileDeletion)
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("Get-Content f.txt", [("f.txt", 1, 2)]),
        ("Get-Content -Path 'a b\\f.txt' -TotalCount 5", []),
        ("Get-Content C:\\w\\f.txt -TotalCount 5", [("C:\\w\\f.txt", 1, 2)]),
        ("Get-Content f.txt | Select-Object -Skip 3 -First 2", [("f.txt", 4, 2)]),
        ("Get-Content f.txt | Select-Object -Last 2", []),
        ("Get-Content $f", []),
        ("Set-Location D:\\w; Get-Content f.txt", [("D:\\w/f.txt", 1, 2)]),
        ("if ($x) { Get-Content f.txt }", []),
    ],
)
def test_powershell_output_shows_lines(command, expected):
    assert powershell(command, "a\r\nb\r\n") == expected


@pytest.mark.parametrize(
    ("command", "named", "folder"),
    [
        ("Get-Content a.txt; if ($true) { Remove-Item src\\b.txt }", "b.txt", True),
        ("if (Test-Path b.txt) { Set-Content b.txt 'x' }", "b.txt", False),
        ("dir *.py | % { ri $_ }", "*.py", True),
        ("'x' > b.txt", "b.txt", False),
        ("python .\\make.py $x; ls b.txt", "b.txt", False),
    ],
)
def test_unread_powershell_may_change_files(command, named, folder):
    call = make_call("", name="PowerShell", command=command)
    *_, last = derive_shell_events(call, find_agent("claude-code").shell_run(call))
    assert isinstance(last, PossibleChange)
    assert named in last.named
    assert last.folder == folder


def test_powershell_removes_files():
    assert powershell("Remove-Item -Recurse a.txt") == [FileDeletion("a.txt", folder=True)]
