"""The texts in the index of an archive."""

import base64
import gzip
import json

from tests.viewer.browser import build_record
from vacr.viewer.archive_texts import list_search_texts, pack_search_texts

CALL = {"type": "tool-call", "call-id": "k", "name": "Bash", "input": {"command": "ls -l"}}


def make_result(**members):
    return {"type": "tool-result", "call-id": "k", "output": "no such file", **members}


def test_prompts_answers_inputs_and_errors_are_searched():
    record = build_record(
        {"type": "user", "content": "please"},
        {"type": "user", "content": "reminder", "vacr": {"speaker": "host"}},
        {"type": "reasoning", "content": "hm"},
        CALL,
        make_result(**{"is-error": True}),
        {"type": "assistant", "content": "done"},
    )
    assert list(list_search_texts([record])) == [
        ("0:/session/entries/0", "User", 0, "please"),
        ("0:/session/entries/3", "Bash", 1, "ls -l\nno such file"),
        ("0:/session/entries/5", "Answer", 0, "done"),
    ]


def test_numbers_and_booleans_of_inputs_are_left_out():
    call = {**CALL, "input": {"background": True, "command": "ls -l", "timeout": 1000}}
    assert [text for *_, text in list_search_texts([build_record(call)])] == ["ls -l"]


def test_output_of_a_call_that_succeeded_is_left_out():
    record = build_record(CALL, make_result())
    assert [text for *_, text in list_search_texts([record])] == ["ls -l"]


def test_texts_of_sub_agents_link_to_their_record():
    parent = build_record({"type": "user", "content": "a"})
    child = build_record({"type": "user", "content": "b"})
    places = [place for place, *_ in list_search_texts([parent, child])]
    assert places == ["0:/session/entries/0", "1:/session/entries/0"]


def test_long_texts_and_long_conversations_are_cut():
    long = [{"type": "user", "content": f"{number} " + "x" * 9000} for number in range(100)]
    texts = [text for *_, text in list_search_texts([build_record(*long)])]
    assert {len(text) for text in texts} == {4000}
    assert len(texts) == 50


def test_packed_texts_are_repeatable_and_plain():
    texts = [[("0:/a", "User", 0, "\ud800 </script>")], []]
    packed = pack_search_texts(texts)
    assert packed == pack_search_texts(texts)
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == [
        [["0:/a", "User", 0, "\ud800 </script>"]],
        [],
    ]
