r"""Speakers of user messages of mini-swe-agent, outcomes of commands, and their output.

| evidence | outcome |
|---|---|
| `extra.exception_info`: not executed | success if the command submits the work, else interrupted |
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
    INTERRUPTED,
    STATED_HOST,
    STATED_HUMAN,
    SUCCESS,
    TIMED_OUT,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.lift import is_one_of
from vacr.agents.tool_calls import (
    COMMAND_ARGUMENTS,
    ToolCall,
    dict_or_empty,
    get_text_argument,
)

RETURN_CODE = re.compile(
    r"(?:<exception>.*?</exception>\n)?<returncode>(-?\d{1,10})</returncode>\n?", re.DOTALL
)
_OUTPUT = re.compile(r"<output>\n?(.*?)</output>\s*\Z", re.DOTALL)
_TIMEOUT_START = "The last command "
_TIMEOUT = re.compile(rf"{_TIMEOUT_START}<command>.*</command> timed out", re.DOTALL)
_NOT_EXECUTED = "action was not executed"
SUBMIT_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_TASK_PLACE = "{{task}}"
_NEXT_PLACE = re.compile(r"\{[{%]")
USER_INTERRUPTIONS = frozenset(("UserInterruption", "UserRejection"))


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a command ended, or the unknown outcome."""
    entry = result.entry
    extra = entry.get("extra")
    if type(extra) is not dict:
        extra = {}
    output = entry.get("output")
    text = output if type(output) is str else ""
    exception = extra.get("exception_info")
    if exception == _NOT_EXECUTED:
        # The host stops at the command that submits, without its output; it ran with exit code 0.
        command = get_text_argument(dict_or_empty(result.call).get("input"), COMMAND_ARGUMENTS)
        return Outcome(SUCCESS if command and SUBMIT_MARK in command else INTERRUPTED)
    if exception and type(exception) is str:
        return Outcome(TIMED_OUT) if "timed out" in exception else FAILED
    if text.startswith(_TIMEOUT_START) and _TIMEOUT.match(text):
        return Outcome(TIMED_OUT)
    code = find_return_code(extra, text)
    if code is None:
        return UNKNOWN_OUTCOME
    return classify_exit_code(code)


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
    if is_one_of(kind, USER_INTERRUPTIONS):
        return STATED_HUMAN
    first = next((e for e in record["session"]["entries"] if e["type"] == "user"), None)
    if entry is not first:
        return STATED_HOST
    speaker = infer_speaker(record)
    task = _find_task(entry.get("content"), record)
    return speaker if task is None else speaker._replace(prompt=task)


def _find_task(text: Any, record: dict[str, Any]) -> str | None:
    """Return the task in the first message, without the template around it; None without one."""
    info = dict_or_empty(record["session"].get("info"))
    agent = dict_or_empty(dict_or_empty(info.get("config")).get("agent"))
    template = agent.get("instance_template")
    if type(text) is not str or type(template) is not str or template.count(_TASK_PLACE) != 1:
        return None
    before, _, after = template.partition(_TASK_PLACE)
    after = _NEXT_PLACE.split(after, maxsplit=1)[0]
    if not text.startswith(before) or not after.strip():
        return None
    end = text.find(after, len(before))
    return text[len(before) : end] if end >= 0 else None


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
