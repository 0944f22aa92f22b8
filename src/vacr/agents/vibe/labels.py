"""Who wrote a user message of Mistral Vibe, and how a tool call ended.

A result is text. Vibe puts its own words about a failure or a refusal in a tag; the result of a
call that succeeded begins with the name of its first member.

| evidence | outcome |
|---|---|
| `<tool_error>`, and the words of a hook that refused | denied |
| `<tool_error>`: `Command timed out after` | timeout |
| `<tool_error>`: `Return code: N` | error, with the code |
| another `<tool_error>` | error |
| `<user_cancellation>`, and `interrupted` | interrupted |
| another `<user_cancellation>` | denied |
| `bash`: the last line `returncode: 0` | success |
| a journal: the error `tool_denied` | denied |
| a journal: `timed_out`, `returncode` | timeout; success for 0, else error, with the code |
| a journal: `type` of the result: `success`, `failure` | success, error |
| the first member of a built-in tool | success |
| otherwise, such as the words of a person who refused | unknown |

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.vibe.labels import classify_outcome
    >>> call = {"type": "tool-call", "name": "bash", "input": {"command": "make"}}
    >>> text = "<tool_error>bash failed: Command failed: 'make'\\nReturn code: 2</tool_error>"
    >>> classify_outcome(CallResult({"output": text}, {}, call, {}))
    Outcome(status='error', exit_code=2, left_running='', saw_end='')
"""

from __future__ import annotations

import json
import re
from typing import Any

from vacr.agents.labels import (
    DENIED,
    FAILED,
    FAILURE,
    INFERRED_HUMAN,
    INFERRED_PARENT_AGENT,
    INTERRUPTED,
    STATED_HOST,
    SUCCEEDED,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import dict_or_empty
from vacr.agents.vibe.reader import META_FILE

SHELL_TOOL = "bash"
DENIED_CODE = "tool_denied"
"""The code of the error of a call in a journal that a person or a rule refused."""
ERROR_TAG = "<tool_error>"
CANCELLATION_TAG = "<user_cancellation>"
FIRST_MEMBERS = {
    "write_file": "path",
    "read": "file_path",
    "read_file": "path",
    "edit": "file",
    "search_replace": "file",
    "grep": "matches",
    "todo": "message",
}
"""Tool → the first member in the result of a call that succeeded."""

_DENIED_BY_HOOK = re.compile(r"<tool_error>Tool '[^'\\n]*' was denied by ")
_TIMED_OUT = re.compile(r"<tool_error>bash failed: Command timed out after ")
_FAILED_COMMAND = re.compile(
    r"<tool_error>bash failed: Command failed: [^\n]*\nReturn code: (-?\d{1,10})\b"
)
_RETURN_CODE = re.compile(r"\nreturncode: (-?\d{1,10})\Z")


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    output = result.entry.get("output")
    if type(output) is dict:
        return _classify_action(output)
    if result.entry.get("outcome") == "failure":
        return FAILED
    text = output if type(output) is str else ""
    tool = (result.call or {}).get("name")
    if text.startswith(ERROR_TAG):
        return _classify_failure(text)
    if text.startswith(CANCELLATION_TAG):
        return Outcome(INTERRUPTED if " interrupted" in text else DENIED)
    if tool == SHELL_TOOL:
        code = _RETURN_CODE.search(text)
        if code is None:
            return UNKNOWN_OUTCOME
        return Outcome(FAILURE if int(code[1]) else SUCCESS, int(code[1]))
    first = FIRST_MEMBERS.get(tool) if type(tool) is str else None
    return SUCCEEDED if first and text.startswith(f"{first}: ") else UNKNOWN_OUTCOME


def _classify_action(output: dict[str, Any]) -> Outcome:
    """Return how a call in a journal ended."""
    stated = dict_or_empty(output.get("structured_content"))
    code = stated.get("returncode")
    if dict_or_empty(output.get("error")).get("code") == DENIED_CODE:
        return Outcome(DENIED)
    if stated.get("timed_out") is True:
        return Outcome(TIMED_OUT, code if type(code) is int else None)
    if type(code) is int:
        return classify_exit_code(code)
    statuses = {"success": SUCCEEDED, "failure": FAILED}
    return statuses.get(str(output.get("type")), UNKNOWN_OUTCOME)


def _classify_failure(text: str) -> Outcome:
    """Return how a call failed, by the words in the tag."""
    if _DENIED_BY_HOOK.match(text):
        return Outcome(DENIED)
    if _TIMED_OUT.match(text):
        return Outcome(TIMED_OUT)
    code = _FAILED_COMMAND.match(text)
    return Outcome(FAILURE, int(code[1])) if code else FAILED


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: Vibe, which marks its own, a parent agent, or a person.

    A session that has a parent continues it after a compaction, unless it is a sub-agent's.
    """
    params = dict_or_empty(dict_or_empty(entry.get("payload")).get("params"))
    if entry.get("injected") is True or params.get("injected") is True:
        return STATED_HOST
    if record["session"].get("format") == "autonomous":
        return INFERRED_PARENT_AGENT
    if "parent" in record.get("vacr", ()):
        return INFERRED_HUMAN
    return infer_speaker(record)


def find_stats(record: dict[str, Any]) -> dict[str, Any]:
    """Return the totals of a session; empty if they are not stated."""
    session = record["session"]
    facts: Any = session.get("metadata")
    for entry in session["entries"] if facts is None else ():
        data = dict_or_empty(entry.get("data"))
        if entry.get("event-type") == "attached-file" and data.get("name", "").endswith(META_FILE):
            try:
                facts = json.loads(data.get("text", ""))
            except (ValueError, RecursionError):
                return {}
    return dict_or_empty(dict_or_empty(facts).get("stats"))
