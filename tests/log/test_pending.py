"""Statements that wait for their batch under `--async`: every front end answers for them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.log.balancing import Balancer
from tests.log.running import Running
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.log.fsck import run_fsck
from vacr.log.registration import format_entry_name, is_possibly_pending, parse_entry_name
from vacr.registration.client import RegistrationClient
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import parse_public_keys
from vacr.transparency.receipt import build_log_entry
from vacr.transparency.tree import hash_leaf


@given(some.binary(min_size=32, max_size=32), some.integers(0, 2**40))
def test_entry_names_contain_leaf_and_time(leaf, taken):
    name = format_entry_name(leaf, taken)
    assert parse_entry_name(name) == parse_entry_name(format_entry_name(leaf)) == leaf
    assert [is_possibly_pending(name, taken + age) for age in (-31, -30, 0, 30, 31)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert not is_possibly_pending(format_entry_name(leaf), 1_800_000_000)
    assert not is_possibly_pending(leaf.hex(), taken)


@pytest.fixture
def two_front_ends(database, tmp_path):
    """Yield two front ends of one log; entries wait for a second before they are added."""
    log = create_log(str(tmp_path / "log"), database=database)
    with (
        Running(log.path, "--async", "--linger", "1000") as one,
        Running(log.path, "--async", "--linger", "1000") as other,
    ):
        yield log, one, other
    assert run_fsck(log).findings.problems == []


def test_other_front_end_reports_a_pending_entry(two_front_ends):
    _, one, other = two_front_ends
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


def test_unknown_and_old_entries_are_not_found(two_front_ends):
    _, one, other = two_front_ends
    leaf = hash_leaf(build_log_entry(parse_sign1(statement())))
    for name in (
        format_entry_name(leaf),
        leaf.hex(),
        format_entry_name(leaf, int(time.time()) - 60),
        "7",
    ):
        assert [service.get(f"/entries/{name}")[0] for service in (one, other)] == [404, 404]


def test_client_can_alternate_between_front_ends(two_front_ends):
    log, one, other = two_front_ends
    known = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    with Balancer(one.url, other.url) as way:
        assert [
            RegistrationClient(way.url).register(statement(), known).logged.index for _ in range(3)
        ] == [
            1,
            2,
            3,
        ]
