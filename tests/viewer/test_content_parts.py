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
