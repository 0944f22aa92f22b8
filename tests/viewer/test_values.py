"""Values that only CBOR has: terminal and page show them the same way."""

import cbor2
import pytest

from tests.viewer.browser import build_record
from tests.viewer.in_node import NEEDS_NODE, Viewer
from vacr.record.encoding import decode
from vacr.viewer.content import format_json
from vacr.viewer.rows import build_rows

VALUES = {
    "bytes": (b"\x00\xff", "\"h'00ff'\""),
    "inside": ({"a": [b"\x01", 1.5, None]}, '{"a":["h\'01\'",1.5,null]}'),
    "key": ({1: "a"}, '{"1":"a"}'),
    "tag": (cbor2.CBORTag(32, "x"), '{"tag":32,"value":"x"}'),
    "undefined": ([cbor2.undefined], "[null]"),
    "large": (2**70, str(2**70)),
}


@pytest.mark.parametrize("name", VALUES)
def test_cbor_value_is_shown_in_the_terminal(name):
    value, expected = VALUES[name]
    assert format_json(value) == expected


@pytest.mark.component
@NEEDS_NODE
@pytest.mark.parametrize("name", VALUES)
def test_page_shows_the_same_value(name):
    data = cbor2.dumps(
        build_record(
            {"type": "tool-call", "call-id": "1", "name": "T", "input": {"x": VALUES[name][0]}}
        )
    )
    viewer = Viewer()
    (row,) = viewer.open_records(data)["rows"]
    viewer.close()
    assert row["summary"] == next(build_rows(decode(data))).summary == f'{{"x":{VALUES[name][1]}}}'
