"""The library as others use it."""

import pytest

import vacr
from tests.conftest import EXAMPLES
from vacr.record.encoding import encode


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_what_a_caller_changes_changes_no_other_record(example):
    def marked(entries):
        for entry in entries:
            yield entry.setdefault("vacr", {})
            yield from marked(entry.get("children", ()))

    before = [encode(record) for record in vacr.read(EXAMPLES / example)]
    for record in vacr.read(EXAMPLES / example):
        for ours in marked(record["session"]["entries"]):
            ours["mine"] = True
            ours.setdefault("native", {})["mine"] = True
    assert [encode(record) for record in vacr.read(EXAMPLES / example)] == before
