"""Content blocks, in the shapes of agents and of the draft's samples, become entries."""

import pytest

from vacr.record.message_content import build_child_entries, walk_entries

BLOCKS = {
    "a call of Claude Code": (
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/x"}},
        {"type": "tool-call", "call-id": "t1", "name": "Edit", "input": {"file_path": "/x"}},
    ),
    "a result of Claude Code": (
        {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": False},
        {"type": "tool-result", "call-id": "t1", "output": "ok", "is-error": False},
    ),
    "thinking of Claude Code": (
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "reasoning", "content": "hm"},
    ),
    "a call in a part of Gemini CLI": (
        {"function_call": {"name": "edit_file", "args": {"path": "/x"}}},
        {"type": "tool-call", "name": "edit_file", "input": {"path": "/x"}},
    ),
    "a call of Codex CLI in a message": (
        {"type": "function_call", "function": "shell", "arguments": '{"command":"ls"}'},
        {"type": "tool-call", "name": "shell", "input": '{"command":"ls"}'},
    ),
    "a call of Codex CLI whose function is an object": (
        {"type": "function_call", "call_id": "c1", "function": {"name": "shell"}, "arguments": {}},
        {"type": "tool-call", "call-id": "c1", "name": "shell", "input": {}},
    ),
    "reasoning of Codex CLI in a message": (
        {"type": "reasoning", "content": "hm"},
        {"type": "reasoning", "content": "hm"},
    ),
    "reasoning that is only encrypted": (
        {"type": "reasoning", "encrypted_content": "gAAA"},
        {"type": "reasoning", "content": "", "encrypted": "gAAA"},
    ),
    "a call of the AI SDK": (
        {"type": "tool-call", "toolCallId": "c1", "toolName": "Read", "args": {}},
        {"type": "tool-call", "call-id": "c1", "name": "Read", "input": {}},
    ),
}


@pytest.mark.parametrize(("block", "child"), BLOCKS.values(), ids=BLOCKS)
def test_block_becomes_an_entry(block, child):
    assert build_child_entries([{"type": "text", "text": "x"}, block]) == [child]


@pytest.mark.parametrize(
    "content",
    [None, "text", {}, [], ["text"], [{"type": "text", "text": "x"}], [{"type": "tool_use"}]],
)
def test_text_and_nameless_calls_are_not_entries(content):
    assert build_child_entries(content) == []


def test_entries_come_before_their_children():
    inner = {"type": "reasoning", "content": "", "children": [{"type": "user"}]}
    assert [
        entry["type"] for entry in walk_entries([{"type": "assistant", "children": [inner]}])
    ] == [
        "assistant",
        "reasoning",
        "user",
    ]
