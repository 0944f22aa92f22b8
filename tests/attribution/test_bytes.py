"""Line ends, byte order marks and other bytes that hosts do not show, with and without a base."""

import hashlib
from itertools import product

import pytest

from tests.attribution.claude_session import ROOT, ClaudeSession
from vacr.attribution.attribute import attribute_records, list_changed_files, replay_records
from vacr.attribution.base_files import BaseFiles
from vacr.edits.lines import decode_file_text, render_as_host

FILES = {
    "CR LF": (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\nII\r\nthree\r\n"),
    "a byte order mark": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\nII\n"),
    "both": (b"\xef\xbb\xbfone\r\ntwo\r\n", b"\xef\xbb\xbfone\r\n2\r\nII\r\n"),
    "no UTF-8": (b"on\xe9\ntwo\nthr\xfc\n", b"on\xe9\n2\nII\nthr\xfc\n"),
    "no last line end": (b"one\r\ntwo", b"one\r\n2\r\nII"),
    "different line ends": (b"one\r\ntwo\nthree\nfour\n", b"one\r\n2\nII\nthree\nfour\n"),
    "other separators": (
        "on\u0085e\ntwo\nthr\u2028ee\r\x0c\n".encode(),
        "on\u0085e\n2\nII\nthr\u2028ee\r\x0c\n".encode(),
    ),
}


@pytest.mark.parametrize(
    ("name", "way"), [*product(FILES, ("edit", "several edits", "patch")), ("CR LF", "write")]
)
def test_change_keeps_bytes_that_hosts_do_not_show(tmp_path, name, way):
    before, after = FILES[name]
    session = ClaudeSession()
    session.read("a.py", render_as_host(decode_file_text(before)))
    if way == "edit":
        session.edit("a.py", "two", "2\nII")
    elif way == "several edits":
        edits = [
            {"old_string": "two", "new_string": "2\nIV"},
            {"old_string": "IV", "new_string": "II"},
        ]
        session.call("MultiEdit", {"file_path": f"{ROOT}/a.py", "edits": edits})
    elif way == "patch":
        old = render_as_host(decode_file_text(before)).split("\n")
        at = old.index("two")
        signed = ["-two", "+2", "+II"] + (
            []
            if "two\n" in render_as_host(decode_file_text(before))
            else ["\\ No newline at end of file"]
        )
        hunk = {
            "oldStart": at + 1,
            "oldLines": 1,
            "newStart": at + 1,
            "newLines": 2,
            "lines": signed,
        }
        arguments = {"file_path": f"{ROOT}/a.py", "old_string": "two", "new_string": "2\nII"}
        session.call("Edit", arguments, "ok", {"structuredPatch": [hunk]})
    else:
        session.write(
            "a.py", render_as_host(decode_file_text(before)).replace("two", "2\nII"), "update"
        )
    base = BaseFiles("0" * 40, ["a.py"], {"a.py": before}.__getitem__)
    records = [session.record(tmp_path)]
    ((path, data, _),) = list_changed_files(*replay_records(records, base))
    assert (path, data) == ("a.py", after)
    (attributed,) = attribute_records(records, base)
    (one,) = attributed["file-attribution"]["files"][0]["conversations"][0]["ranges"]
    lines = after.split(b"\n")
    text = b"\n".join(lines[one["start-line"] - 1 : one["end-line"]])
    text += b"\n" if len(lines) > one["end-line"] else b""
    assert one["content-hash"] == hashlib.sha256(text).hexdigest()
    assert (one["start-line"], one["end-line"]) == (2, 3)


def test_byte_shown_as_a_replacement_character_is_unknown(tmp_path):
    session = ClaudeSession()
    session.read("a.py", "on\ufffd\ntwo\n")
    session.edit("a.py", "two", "2")
    ((_, data, about),) = list_changed_files(*replay_records([session.record(tmp_path)]))
    assert (data, about["complete"]) == (None, False)
    session.write("b.py", "the mark \ufffd itself\n")
    assert [
        data for _, data, _ in list_changed_files(*replay_records([session.record(tmp_path)]))
    ] == [
        None,
        "the mark \ufffd itself\n".encode(),
    ]
