"""Content of any shape, of every agent, says the same."""

import pytest

from vacr.viewer.parts import Image, Other, Text, outputs_of, parts_of, text_of

SAID = [
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


@pytest.mark.parametrize("content", SAID)
def test_a_text_in_any_shape(content):
    assert parts_of(content) == outputs_of(content) == [Text("hello")]
    assert text_of(parts_of(content)) == "hello"


@pytest.mark.parametrize("content", [None, "", [], [{"type": "text", "text": ""}]])
def test_nothing(content):
    assert parts_of(content) == outputs_of(content) == []


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AAAA", "filename": ""},
    ],
)
def test_pictures(block):
    assert parts_of([block]) == [Image("image/png", "AAAA")]


def test_a_picture_that_is_elsewhere():
    assert parts_of([{"type": "input_image", "image_url": "https://example.org/x.png"}]) == [
        Image(address="https://example.org/x.png")
    ]


def test_blocks_that_are_entries_are_left_to_those():
    blocks = [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {}},
        {"type": "thinking", "thinking": "hm"},
        {"functionCall": {"name": "read_file"}},
        {"thought": True, "text": "hm"},
    ]
    assert parts_of([*blocks, "hello"]) == [Text("hello")]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ([{"functionResponse": {"id": "1", "response": {"output": "a b"}}}], [Text("a b")]),
        (
            [{"functionResponse": {"id": "1", "response": {"error": "no such file"}}}],
            [Text("no such file")],
        ),
        (
            {"stdout": "a", "stderr": "b", "exitCode": 1},
            [Text("a"), Text("b"), Text("exit code 1")],
        ),
        ({"type": "thing", "x": 1}, [Other("thing", {"type": "thing", "x": 1})]),
        ([3, True], [Other("int", 3), Other("bool", True)]),
    ],
)
def test_outputs(output, said):
    assert outputs_of(output) == said
