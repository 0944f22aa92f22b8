"""The places of secrets that a record names, also where it names them badly."""

import json

import pytest

from tests.conftest import EXAMPLES, records_of
from vacr.cli.sharing import SharingCaution
from vacr.console import Voice
from vacr.record import list_secret_places
from vacr.viewer.picture import withhold_secret_entries


@pytest.mark.parametrize(
    ("ours", "places"),
    [
        (5, []),
        ({}, []),
        ({"secrets": 5}, []),
        ({"secrets": "/session"}, []),
        ({"secrets": [1, "/session/entries/0/content", None]}, ["/session/entries/0/content"]),
    ],
)
def test_odd_places_of_secrets_are_left_out(ours, places):
    (record,) = records_of((EXAMPLES / "claude-code.jsonl").read_bytes())
    odd = {**json.loads(json.dumps(record)), "vacr": ours}
    assert list_secret_places(odd) == places
    kept = withhold_secret_entries(odd)["session"]["entries"]
    assert len(kept) == len(record["session"]["entries"]) - len(places)
    SharingCaution(Voice("text", quiet=True, verbose=0)).add([odd])
