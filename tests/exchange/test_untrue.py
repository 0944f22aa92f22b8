"""Records that say of themselves what is not so: they are exported as what they are, or refused,
and never less than told.
"""

import json

import pytest

import vacr
from tests.exchange.sessions import example
from tests.exchange.test_git_ai import NOTE
from tests.exchange.test_hostile import SIGNER, TRACE
from vacr.agents.agent import Source, SourcePart
from vacr.errors import InvalidRecord, VacrError
from vacr.exchange.export import ExportRequest
from vacr.exchange.formats import EXCHANGE_FORMATS
from vacr.record.encoding import encode

TRAJECTORY = encode(
    {
        "schema_version": "ATIF-v1.7",
        "agent": {"name": "a", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "hello"}],
    }
)
DOCUMENTS = {"atif": TRAJECTORY, "agent-trace": TRACE, "git-ai-notes": NOTE}
ASKED = ExportRequest("ab" * 32, signer=SIGNER)


def copied(record) -> dict:
    return json.loads(encode(record))


def imported(name: str) -> dict:
    return copied(
        EXCHANGE_FORMATS[name].read(Source((SourcePart("x", DOCUMENTS[name]),)))[0].record
    )


def places(value):
    for key, item in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)


def test_what_was_added_to_a_trajectory_is_not_left_out_of_it():
    record = imported("atif")
    record["session"]["entries"].append(
        {"type": "tool-call", "name": "rm", "call-id": "1", "input": {"command": "rm -rf"}}
    )
    made = EXCHANGE_FORMATS["atif"].export(record | {"id": "r"}, ASKED)
    assert b"rm -rf" in made.data
    assert made.data != EXCHANGE_FORMATS["atif"].export(imported("atif") | {"id": "r"}, ASKED).data


def test_a_session_that_says_it_was_a_trajectory_is_exported_as_any():
    record = copied(example("claude-code.jsonl"))
    before = EXCHANGE_FORMATS["atif"].export(record, ASKED)
    record["vacr"]["source"]["format"] = "atif"
    again = EXCHANGE_FORMATS["atif"].export(record, ASKED)
    assert (again.data, again.losses) == (before.data, before.losses)


def test_files_that_were_attributed_since_are_told():
    attribution = {"files": [{"path": "a", "conversations": []}]}
    record = imported("atif")
    made = EXCHANGE_FORMATS["atif"].export(record | {"file-attribution": attribution}, ASKED)
    assert made.data == EXCHANGE_FORMATS["atif"].export(record, ASKED).data
    assert made.losses == {"attributed files": 1}


@pytest.mark.parametrize("name", EXCHANGE_FORMATS)
@pytest.mark.parametrize("source", [*DOCUMENTS, "attributed"])
def test_what_vacr_says_in_a_record_may_be_of_any_type(name, source):
    whole = (
        imported(source)
        if source in DOCUMENTS
        else copied(vacr.attribute(example("claude-code.jsonl")))
    )
    whole |= {"id": "019cebaa-bd22-7117-8c20-ee060f27b72c"}
    count = len(list(places(whole["vacr"])))
    for at in range(count):
        for odd in (None, 1, "", "x", [], [1], {}, {"a": 1}):
            record = copied(whole)
            holder, key = list(places(record["vacr"]))[at]
            holder[key] = odd
            try:
                EXCHANGE_FORMATS[name].export(record, ASKED)
            except VacrError:
                continue


def test_a_digest_that_is_none_is_no_subject():
    record = copied(vacr.attribute(example("claude-code.jsonl")))
    path = record["file-attribution"]["files"][0]["path"]
    record["vacr"]["attribution"]["files"][path] |= {"complete": True, "sha-256": "release-1.0"}
    assert (
        EXCHANGE_FORMATS["in-toto"]
        .export(record, ASKED)
        .losses["attributed files whose whole content is not known"]
        >= 1
    )


def test_lines_beyond_all_numbers_are_no_lines():
    with pytest.raises(InvalidRecord, match="are no lines"):
        EXCHANGE_FORMATS["git-ai-notes"].read(
            Source((SourcePart("x", NOTE.replace(b" 1", b" " + b"9" * 5000, 1)),))
        )
