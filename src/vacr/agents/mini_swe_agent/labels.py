r"""Speakers of user messages of mini-swe-agent, outcomes of commands, and their output.

| evidence | outcome |
|---|---|
| `extra.exception_info`, or the text of a command that took too long | timeout, or error |
| `extra.returncode`, or `<returncode>` at the beginning | success for 0, else error |
| otherwise | unknown |

    >>> from vacr.agents.labels import CallResult
    >>> from vacr.agents.mini_swe_agent.labels import classify_outcome
    >>> text = "<returncode>2</returncode>\n<output>\nno\n</output>"
    >>> classify_outcome(CallResult({"output": text}, {}, None, {})).exit_code
    2
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.file_tools import ShellOutput
from vacr.agents.labels import (
    FAILED,
    FAILURE,
    HOST,
    HUMAN,
    STATED,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty

RETURN_CODE = re.compile(
    r"(?:<exception>.*?</exception>\n)?<returncode>(-?\d{1,10})</returncode>\n?", re.DOTALL
)
_OUTPUT = re.compile(r"<output>\n?(.*?)</output>\s*\Z", re.DOTALL)
_TIMEOUT = re.compile(r"The last command <command>.*</command> timed out", re.DOTALL)
USER_INTERRUPTIONS = frozenset(("UserInterruption", "UserRejection"))


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a command ended, or the unknown outcome."""
    extra = dict_or_empty(result.entry.get("extra"))
    output = result.entry.get("output")
    text = output if type(output) is str else ""
    exception = extra.get("exception_info")
    if exception and type(exception) is str:
        return Outcome(TIMED_OUT) if "timed out" in exception else FAILED
    if _TIMEOUT.match(text):
        return Outcome(TIMED_OUT)
    code = find_return_code(extra, text)
    if code is None:
        return UNKNOWN_OUTCOME
    return Outcome(FAILURE if code else SUCCESS, code)


def find_return_code(extra: dict[str, Any], text: str) -> int | None:
    """Return the code that the host states for a command, or None."""
    code = extra.get("returncode")
    if type(code) is int:
        return code
    stated = RETURN_CODE.match(text)
    return int(stated[1]) if stated else None


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: the task, a person who interrupted, or the host."""
    extra = dict_or_empty(entry.get("extra"))
    kind = extra.get("interrupt_type")
    if kind in USER_INTERRUPTIONS:
        return Speaker(HUMAN, STATED)
    first = next((e for e in record["session"]["entries"] if e["type"] == "user"), None)
    return infer_speaker(record) if entry is first else Speaker(HOST, STATED)


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command, without the elements that the host puts around it."""
    extra = dict_or_empty(call.native.get("extra"))
    code = find_return_code(extra, call.output)
    raw = extra.get("raw_output")
    if type(raw) is str:
        return ShellOutput(raw, code=code)
    body = RETURN_CODE.sub("", call.output, count=1)
    whole = _OUTPUT.match(body)
    if whole is None:
        # The host shows only the two ends of a long output.
        return ShellOutput("", code=code, ended=False)
    return ShellOutput(whole[1], code=code)
