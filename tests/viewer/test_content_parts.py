"""Contents of all shapes give the same parts."""

import pytest

from vacr.viewer.content import (
    ImagePart,
    OtherPart,
    TextPart,
    join_texts,
    list_content_parts,
    list_output_parts,
)

HELLO_CONTENTS = [
    "hello",
    ["hello"],
    [{"type": "text", "text": "hello"}],
    [{"type": "input_text", "text": "hello"}],
    [{"type": "output_text", "text": "hello", "annotations": []}],
    [{"text": "hello"}],
    [{"type": "text", "text": "hello", "id": "prt_1", "messageID": "msg_1"}],
    [{"type": "custom_block", "text": "hello"}],
    [{"type": ["text"], "text": "hello", "more": 1}],
    [{"type": {}, "text": "hello"}],
]


@pytest.mark.parametrize("content", HELLO_CONTENTS)
def test_text_is_read_from_any_shape(content):
    assert list_content_parts(content) == list_output_parts(content) == [TextPart("hello")]
    assert join_texts(list_content_parts(content)) == "hello"


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": ""}]])
def test_empty_content_has_no_parts(content):
    assert list_content_parts(content) == list_output_parts(content) == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": ""},
    ],
)
def test_image_is_read_from_any_shape(block):
    assert list_content_parts([block]) == [ImagePart("image/png", "AAAA")]


def test_image_at_an_address_keeps_the_address():
    assert list_content_parts(
        [{"type": "input_image", "image_url": "https://example.org/x.png"}]
    ) == [ImagePart(address="https://example.org/x.png")]


def test_blocks_with_their_own_entries_are_omitted():
    blocks = [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        {"type": "thinking", "thinking": "hm"},
        {"functionCall": {"name": "read_file"}},
        {"thought": True, "text": "hm"},
    ]
    assert list_content_parts([*blocks, "hello"]) == [TextPart("hello")]


@pytest.mark.parametrize(
    ("output", "parts"),
    [
        ([{"functionResponse": {"id": "1", "response": {"output": "a b"}}}], [TextPart("a b")]),
        (
            [{"functionResponse": {"id": "1", "response": {"error": "no such file"}}}],
            [TextPart("no such file")],
        ),
        (
            {"stdout": "a", "stderr": "b", "exitCode": 1},
            [TextPart("a"), TextPart("b"), TextPart("exit code 1")],
        ),
        ({"type": "thing", "x": 1}, [OtherPart("thing", {"type": "thing", "x": 1})]),
        ([3, True], [OtherPart("int", 3), OtherPart("bool", True)]),
    ],
)
def test_output_is_split_into_parts(output, parts):
    assert list_output_parts(output) == parts


@pytest.mark.parametrize(
    ("block", "texts"),
    [
        ({"content": "Saved.", "name": "Tool Result", "description": "Output"}, ["Saved."]),
        ({"query": "a.py:1-2", "result": "1 | x", "success": True}, ["a.py:1-2", "1 | x"]),
        (
            {"query": "ls b", "result": "", "error": "no such file", "success": False},
            ["ls b", "no such file"],
        ),
        ({"result": "same", "error": "same", "success": False}, ["same"]),
        ({"absolutePath": "/w/a.py", "content": "1: x"}, ["/w/a.py", "1: x"]),
        ({"diff": "@@ -1 +1 @@", "lineRange": [1, 2]}, ["@@ -1 +1 @@"]),
        ({"result": [{"type": "text", "text": "seen"}], "success": True}, ["seen"]),
        ({"type": "content", "content": {"type": "text", "text": "1: x"}}, ["1: x"]),
        ({"type": "diff", "path": "a.py", "oldText": "a", "newText": "b"}, ["a.py"]),
        (
            {
                "callId": "c1",
                "responseParts": {"functionResponse": {"response": {"output": "1: x"}}},
                "resultDisplay": "Read a.py",
            },
            ["1: x"],
        ),
    ],
)
def test_wrapped_output_is_shown_as_its_text(block, texts):
    assert list_output_parts(block) == list_output_parts([block]) == list(map(TextPart, texts))


@pytest.mark.parametrize(
    "block", [{"content": "x", "more": 1}, {"query": "x"}, {"content": None, "path": "a.py"}]
)
def test_object_with_other_members_is_shown_whole(block):
    assert list_output_parts(block) == [OtherPart("object", block)]


def test_attached_file_stays_a_part_of_its_own():
    block = {"type": "file", "path": "/w/a.py", "content": "x = 1"}
    assert list_output_parts(block) == [OtherPart("file", block)]


def test_object_without_a_text_is_shown_whole():
    block = {"query": "x", "success": False}
    assert list_output_parts(block) == [OtherPart("object", block)]


@pytest.mark.parametrize(
    ("output", "texts"),
    [
        ('{"output": "a b", "exit_code": 0, "error": null}', ["a b", "exit code 0"]),
        ('{"output": "a b", "metadata": {"exit_code": 1}}', ["a b"]),
        ('{"content": "1|x", "total_lines": 1}', ["1|x"]),
        ('[{"query": "ls", "result": "a"}]', ["ls", "a"]),
        ('{"total": 3}', ['{"total": 3}']),
        ('[{"query": "ls", "result": "a"}, 1]', ['[{"query": "ls", "result": "a"}, 1]']),
        ('{"output": NaN, "content": "x"}', ['{"output": NaN, "content": "x"}']),
        ('{"output": "cut', ['{"output": "cut']),
        ("[]", ["[]"]),
    ],
)
def test_json_text_of_an_agent_that_writes_json_is_shown_as_its_words(output, texts):
    assert list_output_parts(output, is_json=True) == list(map(TextPart, texts))
    assert list_output_parts(output) == [TextPart(output)]
