r"""How a tool call of Cursor ended.

Transcripts record no results, so their calls have no outcome. The editor's database has one bubble
for a call, with its status, the user's decision and a structured result:

    >>> from vacr.agents.cursor.outcomes import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(output, **tool):
    ...     call = {"name": tool.pop("name", "run_terminal_cmd")}
    ...     bubble = {"toolFormerData": {"status": "completed", **tool}}
    ...     result = {"output": output, "status": "completed"}
    ...     return classify_outcome(CallResult(result, bubble, call, {}))[:2]
    >>> end({"output": "no", "exitCodeV2": 1})
    ('error', 1)
    >>> end({"output": ""}, userDecision="rejected")
    ('denied', None)

Other tools may answer with an object of their own, so an exit code counts only for the terminal:

    >>> end({"exit_code": 3}, name="mcp_notes_read")
    ('success', None)

The command line keeps the messages of the model. Above the output of a command, the host writes the
exit code. A line in the output itself counts for nothing:

    >>> def tell(text):
    ...     result = {"output": text}
    ...     return classify_outcome(CallResult(result, {}, {"name": "Shell"}, {}))[:2]
    >>> tell("Exit code: 2\n\nCommand output:\n\n```\nExit code: 0\n```")
    ('error', 2)
    >>> tell("Exit code: 2, it said")
    ('', None)

| evidence | outcome |
|---|---|
| the user's decision, `rejected`, an edit that the user did not accept | denied |
| the reason why a command ended: aborted, idle | interrupted, timeout |
| `isRunningInBackground`, `poppedOutIntoBackground`, the status `loading` | running |
| an exit code other than zero | error |
| `error`, an edit that was not applied, the status `error` | error |
| the status `cancelled` | interrupted |
| the status `completed`, exit code 0, the result `success` | success |
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.cursor.tools import has_edit_failed, is_call_refused
from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILED_STATUSES,
    FAILURE,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    SUCCESS,
    TIMED_OUT,
    CallResult,
    Outcome,
    parse_stated_outcome,
    parse_status_word,
)
from vacr.agents.tool_calls import dict_or_empty

_SHELL_TOOLS = frozenset(("Shell", "Bash"))
_TERMINAL_TOOLS = _SHELL_TOOLS | {
    "run_terminal_cmd",
    "run_terminal_command",
    "run_terminal_command_v2",
}
_SERVER_TOOL_START = "mcp"
_EXIT_CODE_HEADER = re.compile(r"Exit code: (-?\d{1,10})\n\nCommand output:")
_EXIT_CODE_MEMBERS = ("exitCodeV2", "exitCode", "exit_code")
_BACKGROUND_MEMBERS = ("isRunningInBackground", "poppedOutIntoBackground", "isBackground")
_ENDED_REASONS = {
    "RUN_TERMINAL_COMMAND_ENDED_REASON_EXECUTION_ABORTED": INTERRUPTED,
    "RUN_TERMINAL_COMMAND_ENDED_REASON_USER_ABORTED": INTERRUPTED,
    "RUN_TERMINAL_COMMAND_ENDED_REASON_EXECUTION_FAILED": FAILURE,
    "RUN_TERMINAL_COMMAND_ENDED_REASON_IDLE_TIMEOUT": TIMED_OUT,
    2: INTERRUPTED,
    3: FAILURE,
    5: TIMED_OUT,
}
"""Why a command ended, by the name or the number of Cursor's protocol → outcome."""
_RESULT_CASES = {
    "rejected": DENIED,
    "timeout": TIMED_OUT,
    "partialResult": RUNNING,
    "success": SUCCESS,
}
"""The kinds of results of the command line → outcome; every other kind is a failure."""
_LOADING = "loading"


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    tool = result.message.get("toolFormerData")
    if type(tool) is dict:
        return _find_editor_outcome(result.entry, tool, _find_tool_name(result))
    stated = parse_stated_outcome(result.entry)
    details = _get_details(result)
    name = (result.call or {}).get("name")
    code = _get_header_code(result.entry.get("output")) if name in _SHELL_TOOLS else None
    output = details.get("output")
    if type(output) is dict:
        status, stated_code = _read_result_case(output, is_shell=name in _SHELL_TOOLS)
        code = stated_code if code is None else code
        stated = Outcome(status or stated.status)
    flags = (details.get("isError"), dict_or_empty(output).get("isError"))
    if not stated.status and any(type(flag) is bool for flag in flags):
        stated = FAILED if True in flags else SUCCEEDED
    return _apply_exit_code(stated.status, code)


def _apply_exit_code(status: str, code: int | None) -> Outcome:
    """Return the outcome of a command; its exit code beats the words success and error."""
    if code is not None and status in ("", SUCCESS, FAILURE):
        return Outcome(FAILURE if code else status or SUCCESS, code)
    return Outcome(status, code)


# --- the editor ---


def _find_tool_name(result: CallResult) -> str:
    """Return the tool of the one call in a bubble, or an empty text; the call may lack an id."""
    children = result.message.get("children")
    calls = [result.call, *(children if type(children) is list else ())]
    names = [call.get("name") for call in calls if type(call) is dict]
    return next((name for name in names if type(name) is str), "")


def _find_editor_outcome(entry: dict[str, Any], tool: dict[str, Any], name: str) -> Outcome:
    """Return the outcome of the call of a bubble, with its result; `name` is the tool's name."""
    is_server = name.startswith(_SERVER_TOOL_START)
    native = {"toolFormerData": tool, "output": None if is_server else entry.get("output")}
    if is_call_refused(native):
        return Outcome(DENIED)
    output = dict_or_empty(entry.get("output")) if name in _TERMINAL_TOOLS else {}
    code = _get_exit_code(output)
    reason = output.get("endedReason")
    ended = _ENDED_REASONS.get(reason, "") if type(reason) in (str, int) else ""
    if ended in (INTERRUPTED, TIMED_OUT):
        return Outcome(ended, code)
    if code is None and any(output.get(member) is True for member in _BACKGROUND_MEMBERS):
        return Outcome(RUNNING)
    status = tool.get("status")
    word = RUNNING if status == _LOADING else parse_status_word(status)
    details = dict_or_empty(tool.get("additionalData"))
    detail = parse_status_word(details.get("status"))
    if entry.get("is-error") is True or tool.get("error") or has_edit_failed(native):
        word = word if word in FAILED_STATUSES else FAILURE
    elif word not in FAILED_STATUSES and (ended or detail in FAILED_STATUSES):
        word = ended or detail
    return _apply_exit_code(word, code)


def _get_exit_code(holder: dict[str, Any]) -> int | None:
    """Return the exit code in a structured result, or None."""
    for member in _EXIT_CODE_MEMBERS:
        if type(holder.get(member)) is int:
            return int(holder[member])
    return None


# --- the command line ---


def _get_details(result: CallResult) -> dict[str, Any]:
    """Return Cursor's own form of the one result in a message, or an empty object."""
    content = result.message.get("content")
    if type(content) is not list or len(content) != 1:
        return {}
    options = dict_or_empty(result.message.get("providerOptions"))
    notes = dict_or_empty(options.get("cursor"))
    return dict_or_empty(notes.get("highLevelToolCallResult"))


def _read_result_case(output: dict[str, Any], *, is_shell: bool) -> tuple[str, int | None]:
    """Return the outcome that the kind of a result states, and the exit code in it.

    An unknown kind is a failure. Return an empty text and None unless there is exactly one kind.
    """
    cases = [name for name in output if type(output[name]) is dict]
    if len(cases) != 1:
        return "", None
    (case,) = cases
    details = output[case]
    code = _get_exit_code(details) if is_shell else None
    if case == "permissionDenied":
        # A rule forbids a command; for a file it is the operating system.
        return (DENIED if is_shell else FAILURE), code
    if case == "success" and details.get("interrupted") is True:
        return INTERRUPTED, code
    return _RESULT_CASES.get(case, FAILURE), code


def _get_header_code(output: Any) -> int | None:
    """Return the exit code that the host writes above the output of a command, or None."""
    header = _EXIT_CODE_HEADER.match(output) if type(output) is str else None
    return int(header[1]) if header else None
