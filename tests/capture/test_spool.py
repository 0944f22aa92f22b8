"""Spools: every whole frame is read once, even between torn ones."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from random import Random
from struct import pack
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.hooks import COMMAND, build_environment, read_all_events
from vacr.capture.hook import FRAME_MAGIC
from vacr.capture.spool import Spool, list_spools, read_hook_events
from vacr.errors import UnreadableInput

pytestmark = pytest.mark.component


def build_frame(payload: bytes, time: int = 1) -> bytes:
    head = FRAME_MAGIC + pack(">IQ", len(payload), time)
    return head + pack(">I", crc32(head + payload)) + payload


def read_payloads(source, offset=0):
    events, after = read_hook_events(source, offset)
    return [event.payload for event in events], after


def test_frames_are_read_in_order_with_time_and_place():
    data = build_frame(b"one", 5) + build_frame(b"", 6) + build_frame(b"three", 7)
    events, after = read_hook_events(data)
    assert [(event.time, event.payload, event.offset, event.passed) for event in events] == [
        (5, b"one", 0, 0),
        (6, b"", 23, 0),
        (7, b"three", 43, 0),
    ]
    assert after == len(data)
    assert read_hook_events(data, 23) == (events[1:], after)
    assert read_hook_events(data, after) == ([], after)


def test_torn_frame_is_skipped_once_a_whole_one_follows():
    torn = build_frame(b"lost")[:-2]
    assert read_hook_events(torn) == ([], 0)
    (event,), after = read_hook_events(torn + build_frame(b"kept"))
    assert (event.payload, event.offset, event.passed, after) == (
        b"kept",
        len(torn),
        len(torn),
        len(torn) + 24,
    )


def test_half_written_frame_is_waited_for():
    data = build_frame(b"one") + build_frame(b"two")
    for end in range(len(build_frame(b"one")), len(data)):
        assert read_payloads(data[:end]) == ([b"one"], len(build_frame(b"one")))


def test_changed_frame_is_skipped():
    changed = bytearray(build_frame(b"one"))
    changed[-1] ^= 1
    assert read_payloads(bytes(changed)) == ([], 0)
    assert read_payloads(bytes(changed) + build_frame(b"two"))[0] == [b"two"]


def test_frame_with_impossible_length_is_skipped():
    assert read_payloads(FRAME_MAGIC + b"\xff" * 16 + build_frame(b"one"))[0] == [b"one"]


CUTS = st.none() | st.integers(0, 50)


def join_torn_frames(written: list[tuple[bytes, int | None]]) -> tuple[bytes, list[bytes]]:
    """Return frames, some of them cut short, and the payloads of the whole ones."""
    stream = b"".join(
        build_frame(payload) if cut is None else build_frame(payload)[:-1][:cut]
        for payload, cut in written
    )
    return stream, [payload for payload, cut in written if cut is None]


@given(st.lists(st.tuples(st.binary(max_size=30), CUTS)))
def test_torn_frames_never_cost_a_whole_one(written):
    stream, whole = join_torn_frames(written)
    found, _ = read_payloads(stream)
    # A cut frame may get its last byte from the next one: then all of it is there.
    rest = iter(found)
    assert all(payload in rest for payload in whole)
    assert all(payload in {given for given, _ in written} for payload in found)


@given(
    st.lists(st.tuples(st.text(max_size=20).map(str.encode), CUTS)), st.lists(st.integers(0, 600))
)
def test_reading_in_steps_yields_every_whole_frame_once(written, lengths):
    stream, whole = join_torn_frames(written)
    found, after = [], 0
    for length in [*sorted(lengths), len(stream)]:
        more, after = read_payloads(stream[: min(length, len(stream))], after)
        found += more
        assert after <= len(stream)
    assert found == whole


def test_frame_completed_by_chance_is_skipped():
    cut = build_frame(b"lost\xff")[:-1]
    (event,), _ = read_hook_events(cut + build_frame(b"kept"))
    assert (event.payload, event.passed) == (b"kept", len(cut))


@given(st.binary(max_size=60))
def test_noise_is_skipped(noise):
    (event,), _ = read_hook_events(noise.replace(FRAME_MAGIC, b"") + build_frame(b"kept"))
    assert event.payload == b"kept"


def test_chunks_grow_with_the_frame(tmp_path):
    path = tmp_path / "s.spool"
    wanted = [b"a" * 10, b"b" * 5000, b"c", b"d" * 20_000]
    path.write_bytes(b"".join(map(build_frame, wanted)))
    found, offset = [], 0
    while True:
        events, offset = read_hook_events(path, offset, chunk_size=100)
        if not events:
            break
        found += [event.payload for event in events]
    assert found == wanted
    assert offset == path.stat().st_size


def test_shortened_spool_is_an_error(tmp_path):
    path = tmp_path / "s.spool"
    path.write_bytes(build_frame(b"one"))
    with pytest.raises(UnreadableInput, match="the spool of the hooks was cut"):
        read_hook_events(path, 100)
    with pytest.raises(UnreadableInput, match="cannot be read"):
        read_hook_events(tmp_path / "none")


def test_spools_are_listed_with_decoded_names(tmp_path):
    folder = tmp_path / "spool" / "claude-code"
    folder.mkdir(parents=True)
    (folder / "a%2Fb.spool").write_bytes(b"")
    (folder / "other").write_bytes(b"")
    (folder / "link.spool").symlink_to("a%2Fb.spool")
    assert list(list_spools(tmp_path)) == [Spool("claude-code", "a/b", folder / "a%2Fb.spool")]
    assert list(list_spools(tmp_path / "none")) == []


def test_concurrent_hooks_survive_killed_ones(tmp_path):
    chance = Random(7)  # noqa: S311 - the same again each time
    sizes = [chance.choice([10, 1000, 200_000, 2_000_000]) for _ in range(60)]

    def run(number: int) -> bytes | None:
        event = b'{"session_id":"s","n":%d,"x":"%s"}' % (number, b"z" * sizes[number])
        with subprocess.Popen(
            [*COMMAND, "claude-code"], env=build_environment(tmp_path), stdin=subprocess.PIPE
        ) as running:
            try:
                running.stdin.write(event)
                if number % 3 == 0:
                    os.sched_yield()
                    running.stdin.close()
                    # At any moment, be it in the middle of the write.
                    for _ in range(number * 200):
                        running.poll()
                    running.send_signal(signal.SIGKILL)
                else:
                    running.stdin.close()
            except BrokenPipeError:
                pass
            return event if running.wait() == 0 else None

    with ThreadPoolExecutor(8) as pool:
        kept = [event for event in pool.map(run, range(len(sizes))) if event is not None]
    (spool,) = list_spools(tmp_path)
    found = [event.payload for event in read_all_events(spool.path)]
    assert len(set(found)) == len(found)
    assert set(kept) <= set(found)
    assert len(kept) >= 40
    assert len(found) <= len(sizes)
