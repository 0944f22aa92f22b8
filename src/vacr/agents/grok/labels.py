r"""Who wrote a user message of Grok, and how a tool call ended.

`events.jsonl` next to the history has the outcome of each call that ran. Without it, the words of
the result decide:

| evidence | outcome |
|---|---|
| a command: the first line `exit: N` | success for 0, else error, with the code |
| `<task-id>` and `<status>running</status>` | running |
| `… was not executed: Denied by …` | denied |
| `User cancelled the execution for tool …` | interrupted |
| `tool_completed` in `events.jsonl`: `success`, `error` | as stated |
| the beginning of `SUCCESS_STARTS`, `FAILURE_STARTS` | success, error |
| otherwise | unknown |

    >>> from vacr.agents.grok.labels import classify_outcome
    >>> from vacr.agents.labels import CallResult
    >>> def end(name, output, **report):
    ...     result = {"type": "tool-result", "output": output}
    ...     return classify_outcome(CallResult(result, result, {"name": name}, report))[:2]
    >>> end("run_terminal_command", "exit: 2\nno rule"), end("run_terminal_cmd", "7\n")
    (('error', 2), ('', None))
    >>> end("write", "The file /w/a.py has been created."), end("grep", "…", outcome="error")
    (('success', None), ('error', None))
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from vacr.agents.agent import CallReports
from vacr.agents.documents import parse_json_documents
from vacr.agents.file_tools import ShellOutput
from vacr.agents.labels import (
    DENIED,
    FAILED,
    INFERRED_HOST,
    INTERRUPTED,
    RUNNING,
    STATED_HOST,
    STATED_HUMAN,
    STATED_PARENT_AGENT,
    SUCCEEDED,
    UNKNOWN_OUTCOME,
    CallResult,
    Outcome,
    Speaker,
    classify_exit_code,
    infer_speaker,
)
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text
from vacr.record import list_message_texts

EVENTS_FILE = "events.jsonl"
COMMAND_TOOLS = frozenset(("run_terminal_command", "run_terminal_cmd"))
SUCCESS_STARTS = {"write": "The file ", "search_replace": "The file ", "grep": "<workspace_result "}
"""Tool → the beginning of the result of a call that succeeded."""
FAILURE_STARTS = ("Failed to parse arguments for tool ", "The string to replace was ", "Error: ")
"""The beginnings of the results of calls that failed."""
NOTICE_REASON = "task_completed"
"""The `synthetic_reason` of the notice that a command in the background has ended."""
SUB_AGENT_KIND = "subagent"
"""The `session_kind` of the session of a sub-agent."""
PERSONS_REASON = "interjection"
"""The `synthetic_reason` of a text that a person typed while the agent worked."""

_EXIT_LINE = re.compile(r"exit: (-?\d{1,10})(?:\n|\Z)")
_TASK = re.compile(r"<task-id>([^<\n]{1,200})</task-id>\n(?:.*\n)*?<status>running</status>")
_DENIED = re.compile(r"Tool `[^`\n]*` was not executed: Denied by ")
_CANCELLED = re.compile(r"User cancelled the execution for tool `")
_ENDED_TASK = re.compile(r'Background task "([^"\n]{1,200})" [a-z]+ \(exit code: (-?\d{1,10})\)')
_QUERY = re.compile(r"<user_query>\n(.*)\n</user_query>\s*", re.DOTALL)
_HOST_START = "<user_info>"


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome."""
    text = extract_result_text(result.entry.get("output"))
    tool = (result.call or {}).get("name")
    tool = tool if type(tool) is str else ""
    ended = _EXIT_LINE.match(text) if tool in COMMAND_TOOLS else None
    if ended is not None:
        return classify_exit_code(int(ended[1]))
    if task := _TASK.match(text):
        return Outcome(RUNNING, left_running=task[1])
    if _DENIED.match(text):
        return Outcome(DENIED)
    if _CANCELLED.match(text):
        return Outcome(INTERRUPTED)
    stated = result.report.get("outcome")
    # The output of a command may begin with any words.
    has_failed = tool not in COMMAND_TOOLS and text.startswith(FAILURE_STARTS)
    if stated == "error" or has_failed:
        return FAILED
    start = SUCCESS_STARTS.get(tool)
    if stated == "success" or (start is not None and text.startswith(start)):
        return SUCCEEDED
    return UNKNOWN_OUTCOME


def parse_shell_output(call: ToolCall) -> ShellOutput:
    """Return the output of a command without the line of its exit code, and the code."""
    ended = _EXIT_LINE.match(call.output)
    if ended is None:
        return ShellOutput(call.output, ended=_TASK.match(call.output) is None)
    return ShellOutput(call.output[ended.end() :], code=int(ended[1]))


def parse_task_notice(entry: dict[str, Any]) -> Outcome:
    """Return how a command in the background ended, if a message is the host's notice of it."""
    if entry.get("synthetic_reason") != NOTICE_REASON:
        return UNKNOWN_OUTCOME
    for text in list_message_texts(entry):
        if ended := _ENDED_TASK.search(text):
            return classify_exit_code(int(ended[2]))._replace(saw_end=ended[1])
    return UNKNOWN_OUTCOME


class ToolEvents(CallReports):
    """The outcomes of calls in the events next to a history."""

    def __init__(self, entries: Sequence[Any]) -> None:
        """Collect the last outcome of each call."""
        self._outcomes: dict[str, str] = {}
        for entry in entries:
            if entry.get("event-type") != "attached-file":
                continue
            data = dict_or_empty(entry.get("data"))
            if data.get("name") != EVENTS_FILE:
                continue
            text = data.get("text")
            lines = parse_json_documents(text.encode()) if type(text) is str else ()
            for _, batch in lines:
                for value in batch:
                    self._add(dict_or_empty(value))

    def _add(self, event: dict[str, Any]) -> None:
        """Add an event, if it states how a call ended."""
        call_id, outcome = event.get("tool_call_id"), event.get("outcome")
        is_end = event.get("type") == "tool_completed"
        if is_end and type(call_id) is str and type(outcome) is str:
            self._outcomes[call_id] = outcome

    def about(self, call_id: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a call; empty if the events do not have it."""
        del result
        outcome = self._outcomes.get(call_id)
        return {} if outcome is None else {"outcome": outcome}


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message: the host states a reason for its own texts.

    Grok puts the words of a person in a tag.
    """
    reason = entry.get("synthetic_reason")
    if reason is not None and reason != PERSONS_REASON:
        return STATED_HOST
    texts = list_message_texts(entry)
    if reason is None and texts and all(text.startswith(_HOST_START) for text in texts):
        return INFERRED_HOST
    speaker = STATED_HUMAN
    if reason is None:
        # The reader copies the kind from the summary next to the history.
        is_sub_agent = record["session"].get("session_kind") == SUB_AGENT_KIND
        speaker = STATED_PARENT_AGENT if is_sub_agent else infer_speaker(record)
    query = _QUERY.fullmatch(texts[0]) if len(texts) == 1 else None
    return speaker if query is None else speaker._replace(prompt=query[1])
