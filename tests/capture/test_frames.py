"""Chained frames: changes are found, and only a torn end is truncated."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacr.capture.chains import (
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainHead,
    ChainScan,
    FrameChain,
    UnwritableJournal,
    read_frames,
)


def write_chain(path, *payloads):
    chain = FrameChain(path)
    list(chain.recover())
    head = chain.append(payloads) if payloads else chain.head
    chain.close()
    return head


def recover_chain(path, required=EMPTY_CHAIN_HEAD):
    chain = FrameChain(path)
    try:
        return [payload for _, payload in chain.recover(required)], chain.head
    finally:
        chain.close()


def test_frames_are_read_back(tmp_path):
    path = tmp_path / "chain"
    first = write_chain(path, b"one", b"", b"x" * 70_000)
    second = write_chain(path, b"four")
    assert recover_chain(path) == ([b"one", b"", b"x" * 70_000, b"four"], second)
    assert (first.frames, second.frames) == (3, 4)
    assert path.stat().st_mode & 0o777 == 0o600


def test_each_frame_comes_with_the_head_before_it(tmp_path):
    path = tmp_path / "chain"
    heads = [EMPTY_CHAIN_HEAD]
    for number in range(5):
        heads.append(write_chain(path, b"%d" % number))
    with path.open("rb") as file:
        assert [
            before for before, _ in read_frames(file, "chain", ChainScan(), EMPTY_CHAIN_HEAD)
        ] == heads[:-1]


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=8), st.data())
@settings(max_examples=200, deadline=None)
def test_recovery_truncates_the_torn_end_only(tmp_path_factory, payloads, data):
    path = tmp_path_factory.mktemp("torn") / "chain"
    write_chain(path, *payloads)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(
        whole[:cut]
        + data.draw(st.binary(max_size=40)).replace(whole[cut : cut + 1], b"") * (cut < len(whole))
    )
    found, head = recover_chain(path)
    assert found == payloads[: len(found)]
    size, complete = 0, 0
    for payload in payloads:
        size += 4 + 32 + len(payload) + 32
        complete += size <= cut
    assert len(found) >= complete
    assert head.frames == len(found)
    after = write_chain(path, b"more")  # what was cut does not stand in the way of what comes
    assert recover_chain(path) == ([*found, b"more"], after)


@given(st.lists(st.binary(max_size=50), min_size=2, max_size=8), st.data())
@settings(max_examples=200, deadline=None)
def test_frames_up_to_the_required_head_are_never_truncated(tmp_path_factory, payloads, data):
    path = tmp_path_factory.mktemp("required") / "chain"
    required = write_chain(path, *payloads)
    size = path.stat().st_size
    write_chain(path, b"later")
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, size - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(BrokenJournal):
        recover_chain(path, required)
    assert path.read_bytes() == content


def test_missing_frames_are_reported(tmp_path):
    path = tmp_path / "chain"
    write_chain(path, b"one")
    size = path.stat().st_size
    required = write_chain(path, b"two", b"three")
    os.truncate(path, size)
    with pytest.raises(BrokenJournal, match="is missing: a checkpoint covers 3 frames") as caught:
        recover_chain(path, required)
    assert caught.value.frame == 1


def test_another_chain_of_the_same_length_is_reported(tmp_path):
    required = write_chain(tmp_path / "chain", b"one", b"two")
    write_chain(tmp_path / "other", b"one", b"too")
    with pytest.raises(BrokenJournal, match="does not have the hash in a signed checkpoint"):
        recover_chain(tmp_path / "other", required)


def test_overwritten_length_is_not_trusted(tmp_path):
    path = tmp_path / "chain"
    head = write_chain(path, b"one")
    path.write_bytes(b"\xff\xff\xff\xff" + path.read_bytes()[4:])
    assert recover_chain(path) == ([], EMPTY_CHAIN_HEAD)
    with pytest.raises(BrokenJournal):
        recover_chain(tmp_path / "chain", head)


def test_full_disk_leaves_the_chain_as_it_was(tmp_path):
    """The limit on a file's size stands for the disk: a write beyond it fails after it was done in
    part.
    """
    import resource
    import signal

    path = tmp_path / "chain"
    chain = FrameChain(path)
    list(chain.recover())
    head = chain.append([b"one"])
    before, handler = (
        resource.getrlimit(resource.RLIMIT_FSIZE),
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(UnwritableJournal):
            chain.append([b"x" * 500, b"y" * 900])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert chain.head == head
    after = chain.append([b"two"])
    chain.close()
    assert recover_chain(path) == ([b"one", b"two"], after)


def test_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / "chain").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        list(FrameChain(tmp_path / "chain").recover())


def test_heads_compare_by_value():
    assert ChainHead(1, b"x") == ChainHead(1, b"x") != ChainHead(1, b"y")
