"""Messages of the OpenAI chat format, which many agents share."""

import pytest

from vacr.agents.lift import SessionBuilder
from vacr.agents.openai_chat import build_chat_usage, make_chat_entry


@pytest.mark.parametrize(
    "calls",
    [
        [{"function": {"name": "f"}}],
        [{"function": {"name": 3, "arguments": "{}"}}],
        [{"function": None}],
        ["f"],
        "f",
    ],
)
def test_calls_of_another_form_stay_as_they_are(calls):
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    entry = make_chat_entry(message, SessionBuilder("x", "x"))
    assert entry["tool_calls"] == calls


def test_arguments_that_are_not_json_are_the_input():
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    (child,) = make_chat_entry(message, SessionBuilder("x", "x"))["children"]
    assert child["input"] == '{"a": 1'


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "3"}, {"prompt_tokens_details": 3}])
def test_usage_without_counters_is_empty(usage):
    assert build_chat_usage(usage) == {}
