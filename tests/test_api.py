"""The library as others use it."""

import pytest

import vacr
from tests.conftest import EXAMPLES


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_what_a_caller_changes_changes_no_other_record(example):
    def marked(entries):
        for entry in entries:
            yield entry.setdefault("vacr", {})
            yield from marked(entry.get("children", ()))

    before = [vacr.encode(record) for record in vacr.read(EXAMPLES / example)]
    for record in vacr.read(EXAMPLES / example):
        for ours in marked(record["session"]["entries"]):
            ours["mine"] = True
            ours.setdefault("native", {})["mine"] = True
    assert [vacr.encode(record) for record in vacr.read(EXAMPLES / example)] == before
