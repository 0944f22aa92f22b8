"""Bundles of entries, and submissions to witnesses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacr.errors import InvalidStatement, UsageError
from vacr.transparency.checkpoint import CheckpointSubmission, parse_checkpoint_submission
from vacr.transparency.receipt import MAX_BUNDLE_SIZE, decode_entry_bundle, encode_entry_bundle


def find_refusal_reason(parse, *arguments):
    with pytest.raises(InvalidStatement) as caught:
        parse(*arguments)
    return caught.value.reason


def test_bundle_matches_the_specification():
    assert (
        encode_entry_bundle([b"one", b"", b"x" * 300])
        == b"\x00\x03one\x00\x00\x01\x2c" + b"x" * 300
    )


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=256))
def test_bundle_round_trip(entries):
    data = encode_entry_bundle(entries)
    assert decode_entry_bundle(data, len(entries)) == entries
    for count in (len(entries) - 1, len(entries) + 1):
        assert find_refusal_reason(decode_entry_bundle, data, count) == "bundle-form"
    for cut in (data[:-1], data + b"\x00"):
        assert find_refusal_reason(decode_entry_bundle, cut, len(entries)) == "bundle-form"


def test_the_largest_bundle():
    entries = [bytes(65_535)] * 256
    assert len(encode_entry_bundle(entries)) == MAX_BUNDLE_SIZE
    assert decode_entry_bundle(encode_entry_bundle(entries), 256) == entries


@pytest.mark.parametrize("entries", [[], [b""] * 257, [bytes(65_536)]])
def test_impossible_bundles_are_refused(entries):
    with pytest.raises(UsageError):
        encode_entry_bundle(entries)


@given(st.binary(), st.integers(0, 256))
def test_any_bytes_are_a_bundle_or_raise_our_error(data, count):
    try:
        entries = decode_entry_bundle(data, count)
    except InvalidStatement:
        return
    assert b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries) == data


HASH = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"


@given(
    st.integers(0, 1 << 62), st.lists(st.binary(min_size=32, max_size=32), max_size=63), st.binary()
)
def test_submission_round_trip(old, proof, note):
    assert parse_checkpoint_submission(
        CheckpointSubmission(old, proof, note).encode()
    ) == CheckpointSubmission(old, proof, note)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "old 5\n",
        "old 5",
        "\n\nnote",
        "old\n\nnote",
        "old  5\n\nnote",
        "old 05\n\nnote",
        "old -5\n\nnote",
        "OLD 5\n\nnote",
        "old 5\r\n\r\nnote",
        "old 5\nAAAA\n\nnote",
        f"old 5\n {HASH}\nnote",
        f"old 5\n{HASH * 64}\nnote",
        "old ٥\n\nnote",
    ],
)
def test_malformed_submissions_are_refused(data):
    assert find_refusal_reason(parse_checkpoint_submission, data.encode()) in {
        "submission-form",
        "checkpoint-form",
    }


@given(st.binary())
def test_any_bytes_are_a_submission_or_raise_our_error(data):
    assert find_refusal_reason(parse_checkpoint_submission, data)
