"""Records with false or malformed claims are exported as they are, or rejected."""

import json

import pytest

import vacr
from tests.exchange.sessions import load_example
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
REQUEST = ExportRequest("ab" * 32, signer=SIGNER)


def copy_record(record) -> dict:
    return json.loads(encode(record))


def import_document(name: str) -> dict:
    return copy_record(
        EXCHANGE_FORMATS[name].read(Source((SourcePart("x", DOCUMENTS[name]),)))[0].record
    )


def walk_members(value):
    for key, item in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from walk_members(item)


def test_entries_added_to_an_imported_trajectory_are_exported():
    record = import_document("atif")
    record["session"]["entries"].append(
        {"type": "tool-call", "name": "rm", "call-id": "1", "input": {"command": "rm -rf"}}
    )
    made = EXCHANGE_FORMATS["atif"].export(record | {"id": "r"}, REQUEST)
    assert b"rm -rf" in made.data
    assert (
        made.data
        != EXCHANGE_FORMATS["atif"].export(import_document("atif") | {"id": "r"}, REQUEST).data
    )


def test_false_claim_to_be_a_trajectory_has_no_effect():
    record = copy_record(load_example("claude-code.jsonl"))
    before = EXCHANGE_FORMATS["atif"].export(record, REQUEST)
    record["vacr"]["source"]["format"] = "atif"
    again = EXCHANGE_FORMATS["atif"].export(record, REQUEST)
    assert (again.data, again.losses) == (before.data, before.losses)


def test_attribution_added_after_the_import_is_counted_as_a_loss():
    attribution = {"files": [{"path": "a", "conversations": []}]}
    record = import_document("atif")
    made = EXCHANGE_FORMATS["atif"].export(record | {"file-attribution": attribution}, REQUEST)
    assert made.data == EXCHANGE_FORMATS["atif"].export(record, REQUEST).data
    assert made.losses == {"attributed files": 1}


@pytest.mark.parametrize("name", EXCHANGE_FORMATS)
@pytest.mark.parametrize("source", [*DOCUMENTS, "attributed"])
def test_wrong_types_in_the_vacr_member_cause_no_crash(name, source):
    whole = (
        import_document(source)
        if source in DOCUMENTS
        else copy_record(vacr.attribute(load_example("claude-code.jsonl")))
    )
    whole |= {"id": "019cebaa-bd22-7117-8c20-ee060f27b72c"}
    count = len(list(walk_members(whole["vacr"])))
    for at in range(count):
        for odd in (None, 1, "", "x", [], [1], {}, {"a": 1}):
            record = copy_record(whole)
            holder, key = list(walk_members(record["vacr"]))[at]
            holder[key] = odd
            try:
                EXCHANGE_FORMATS[name].export(record, REQUEST)
            except VacrError:
                continue


def test_invalid_digest_is_not_a_subject():
    record = copy_record(vacr.attribute(load_example("claude-code.jsonl")))
    path = record["file-attribution"]["files"][0]["path"]
    record["vacr"]["attribution"]["files"][path] |= {"complete": True, "sha-256": "release-1.0"}
    assert (
        EXCHANGE_FORMATS["in-toto"]
        .export(record, REQUEST)
        .losses["attributed files whose whole content is not known"]
        >= 1
    )


def test_huge_line_number_is_rejected():
    with pytest.raises(InvalidRecord, match="is not a range of lines"):
        EXCHANGE_FORMATS["git-ai-notes"].read(
            Source((SourcePart("x", NOTE.replace(b" 1", b" " + b"9" * 5000, 1)),))
        )
