"""Statements that were taken and wait for their place, under `--async`: every front end of a log
answers for them.
"""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.log.balancing import Balancer
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.client import Client
from vacr.log.folder import make
from vacr.log.fsck import check
from vacr.log.service import names
from vacr.receipts.entries import entry_of
from vacr.receipts.tree import leaf_hash
from vacr.signing import keys
from vacr.signing.sign1 import parse


@given(some.binary(min_size=32, max_size=32), some.integers(0, 2**40))
def test_names_tell_the_leaf_and_when_it_was_taken(leaf, taken):
    name = names.name_of(leaf, taken)
    assert names.leaf_of(name) == names.leaf_of(names.name_of(leaf)) == leaf
    assert [names.is_under_way(name, taken + age) for age in (-31, -30, 0, 30, 31)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert not names.is_under_way(names.name_of(leaf), 1_800_000_000)
    assert not names.is_under_way(leaf.hex(), taken)


@pytest.fixture
def two(database, tmp_path):
    """Two front ends of a log; entries wait for a second before they get their place."""
    log = make(str(tmp_path / "log"), database=database)
    with (
        Running(log.path, "--async", "--linger", "1000") as one,
        Running(log.path, "--async", "--linger", "1000") as other,
    ):
        yield log, one, other
    assert check(log).findings.found == []


def test_a_front_end_that_did_not_take_it(two):
    _, one, other = two
    status, headers, _ = one.post(statement())
    assert status == 303
    place = headers["location"]
    for path in (place, f"{place}/statement"):
        status, found, _ = other.get(path)
        assert (status, found["location"], found["retry-after"]) == (302, path, "1")
    while (status := other.get(place)[0]) == 302:
        time.sleep(0.05)
    assert status == 200
    assert other.get(f"{place}/statement")[0] == 200


def test_what_nobody_took_or_was_taken_long_ago(two):
    _, one, other = two
    leaf = leaf_hash(entry_of(parse(statement())))
    for name in (names.name_of(leaf), leaf.hex(), names.name_of(leaf, int(time.time()) - 60), "7"):
        assert [service.get(f"/entries/{name}")[0] for service in (one, other)] == [404, 404]


def test_a_client_whose_questions_go_to_both_in_turn(two):
    log, one, other = two
    known = keys.load_public((log.path / "receipt-keys.pem").read_bytes())
    with Balancer(one.url, other.url) as way:
        assert [Client(way.url).register(statement(), known).logged.index for _ in range(3)] == [
            1,
            2,
            3,
        ]
