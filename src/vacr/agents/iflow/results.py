"""The results of iFlow's calls, and calls that several lines repeat.

A result wraps the answer of the tool and the display of the screen, in the forms of Gemini CLI:

    >>> from vacr.agents.iflow.results import unwrap_call
    >>> from vacr.agents.tool_calls import ToolCall
    >>> answer = {"functionResponse": {"name": "read_file", "response": {"output": "x = 1"}}}
    >>> call = ToolCall("read_file", {}, "e1", "c1", "model", "/work")
    >>> call.native = {"output": {"callId": "c1", "responseParts": answer, "resultDisplay": "one"}}
    >>> unwrap_call(call).output
    'x = 1'

iFlow writes a line for each piece of an answer, and a piece may repeat the call of the piece before
it. The first is the call; the others are copies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from vacr.agents.gemini.outcomes import classify_outcome as classify_gemini_outcome
from vacr.agents.labels import CallResult, Outcome, get_writable_marks, parse_stated_outcome
from vacr.agents.tool_calls import ToolCall, dict_or_empty, extract_result_text
from vacr.record import walk_entries


def mark_repeated_calls(record: Mapping[str, Any]) -> None:
    """Mark the copies of calls, in `vacr.repeats`."""
    seen: set[tuple[str, str]] = set()
    for entry in walk_entries(record["session"]["entries"]):
        call_id = entry.get("call-id")
        if entry["type"] != "tool-call" or type(call_id) is not str:
            continue
        key = call_id, str(entry.get("name"))
        if key in seen:
            get_writable_marks(entry)["repeats"] = call_id
        seen.add(key)


def unwrap_call(call: ToolCall) -> ToolCall:
    """Return a call whose result is the one inside iFlow's wrapper."""
    wrapper = dict_or_empty(call.native.get("output"))
    parts = wrapper.get("responseParts")
    if parts is None:
        return call
    native = {**call.native, "output": parts, "resultDisplay": wrapper.get("resultDisplay")}
    return dataclasses.replace(call, output=extract_result_text(parts), native=native)


def classify_outcome(result: CallResult) -> Outcome:
    """Return how a call ended, or the unknown outcome if the session does not tell."""
    wrapper = dict_or_empty(result.entry.get("output"))
    merged = dict(result.entry)
    merged["output"] = wrapper.get("responseParts")
    merged["resultDisplay"] = wrapper.get("resultDisplay")
    status = dict_or_empty(result.message.get("toolUseResult")).get("status")
    if status is not None:
        merged["status"] = status
    outcome = classify_gemini_outcome(CallResult(merged, merged, result.call, result.report))
    return outcome if outcome.status else parse_stated_outcome(result.entry)
