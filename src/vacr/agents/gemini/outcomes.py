r"""How a tool call of Gemini CLI ended.

Gemini CLI writes a status for every call: `success`, `error` or `cancelled`. It is about the tool,
not about the command: a command that ends with exit code 1 is a `success`. So the host's report in
the result decides first. Its last lines state the exit code:

    >>> from vacr.agents.gemini.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(status, display, output):
    ...     answer = {"name": "run_shell_command", "response": {"output": output}}
    ...     part = {"functionResponse": answer}
    ...     result = {"output": [part], "status": status, "resultDisplay": display}
    ...     return classify_outcome(CallResult(result, result, None, {}))[:2]
    >>> end("success", "no", "Output: no\nExit Code: 1\nProcess Group PGID: 7")
    ('error', 1)

A program may print such a line at its end. Newer versions leave out an exit code of zero, so the
text alone does not show who wrote the line. The screen does: it shows only the program's output.
Without it, the line counts for nothing, unless all lines of the older versions are there.

    >>> end("success", "Exit Code: 1", "Output: Exit Code: 1\nProcess Group PGID: 7")
    ('success', None)
    >>> end("success", None, "Output: no\nExit Code: 1\nProcess Group PGID: 7")
    ('success', None)

| evidence | outcome |
|---|---|
| `cancelled`, with the host's words for a call that the user denied | denied |
| an error that begins like the host's refusals: by a policy, by a hook | denied |
| a command that the host refused because of a command substitution | denied |
| `cancelled` otherwise; a command that was cancelled by the user | interrupted |
| the error of a request that the user aborted | interrupted |
| a command that exceeded the timeout | timeout |
| a command that the host moved to the background | running |
| an exit code other than zero; a signal; `error` | error |
| `success`; exit code 0 | success |

The words of an error count only for the tools of Gemini CLI itself. A server writes the errors of
its own tools.

Saved chats have no status. There, a response with an `error` failed. Without an error the outcome
is unknown, because early versions wrote many failures as plain output.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.gemini.tools import parse_shell_report, unwrap_shell_text
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    parse_status_word,
)
from vacr.agents.lift import parse_names

_SHELL_TOOL = "run_shell_command"
_OWN_TOOLS = parse_names(
    """
    activate_skill ask_user cli_help codebase_investigator complete_task delegate_to_agent edit
    edit_file enter_plan_mode exit_plan_mode generalist get_internal_docs glob google_web_search
    grep_search list_directory read_file read_many_files replace run_shell_command save_memory
    search_file_content web_fetch write_file write_todos
    """
)
_ABORTED_REQUEST = "The user aborted a request."
_CANCELLED_START = "[Operation Cancelled]"
_USER_DENIALS = ("Reason: User denied execution.", "Reason: User did not allow tool call")
_DENIAL_STARTS = (
    "Tool execution denied by policy.",
    "Tool execution blocked: ",
    "Agent execution stopped by hook: ",
)
_SHELL_STARTS = (
    ("Command was automatically cancelled because it exceeded the timeout of ", TIMED_OUT),
    ("Command was cancelled by user before it could ", INTERRUPTED),
    ("Command injection detected: command substitution syntax ", DENIED),
)
_BACKGROUND_START = re.compile(
    r"Command (?:moved to background \(PID: \d+\)|is running in background\. PID: \d+)\. "
)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    entry = result.entry
    tool, response = _get_response(entry)
    error, output = response.get("error"), response.get("output")
    status = parse_status_word(entry.get("status"))
    tool = tool or (result.call or {}).get("name")
    if status == INTERRUPTED or error:
        stated = _classify_error(error, tool, is_cancelled=status == INTERRUPTED)
        if stated:
            return Outcome(stated)
    if tool == _SHELL_TOOL and type(output) is str:
        return _find_shell_outcome(output, entry.get("resultDisplay"), status)
    if status == SUCCESS:
        return SUCCEEDED
    if status:
        return Outcome(status)
    return FAILED if error else UNKNOWN_OUTCOME


def _classify_error(error: Any, tool: Any, *, is_cancelled: bool) -> str:
    """Return `denied` or `interrupted` by the error of a call, or an empty text for any other.

    `is_cancelled` states that the call has the status of a cancelled one.
    """
    message = error if type(error) is str else ""
    is_own = type(tool) is str and tool in _OWN_TOOLS
    if is_cancelled or (is_own and message.startswith(_CANCELLED_START)):
        return DENIED if message.endswith(_USER_DENIALS) else INTERRUPTED
    if is_own and message.startswith(_DENIAL_STARTS):
        return DENIED
    return INTERRUPTED if is_own and message == _ABORTED_REQUEST else ""


def _get_response(entry: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the tool and the response of a result.

    The tool is None if the result does not name it, and the response empty if it has none. A result
    may also hold the responses of other calls. Then the id decides.
    """
    output = entry.get("output")
    if type(output) is dict and "functionResponse" not in output:
        return None, output
    if type(output) is str:
        return None, {"output": output}
    parts = output if type(output) is list else [output]
    answers = []
    for part in parts:
        answer = part.get("functionResponse") if type(part) is dict else None
        if type(answer) is dict:
            answers.append(answer)
    if not answers:
        return None, {}
    own = answers[0]
    if len(answers) > 1:
        call_id = entry.get("call-id")
        own = next((answer for answer in answers if answer.get("id") == call_id), own)
    response = own.get("response")
    return own.get("name"), response if type(response) is dict else {}


def _find_shell_outcome(output: str, display: Any, status: str) -> Outcome:
    """Return how a command ended, by the text that the host wrote about it.

    `status` counts if the text states nothing; it may be empty, for an unknown outcome. `display`
    is the output as the screen showed it.
    """
    report = parse_shell_report(output, display)
    if report is None:
        text = unwrap_shell_text(output)
        for start, stated in _SHELL_STARTS:
            if text.startswith(start):
                return Outcome(stated)
        return Outcome(RUNNING if _BACKGROUND_START.match(text) else status)
    if report.exit_code or report.signal:
        return Outcome(FAILURE, report.exit_code)
    return Outcome(status or (SUCCESS if report.exit_code == 0 else ""), report.exit_code)
