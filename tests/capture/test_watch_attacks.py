"""Attacks on a journal and on a watcher, including some that verification cannot find."""

import base64
import json
import os
import re
import shutil
import struct

import pytest

from tests.capture.watching import Machine, add, heads, line, lines
from vacr.capture.chains import EMPTY_CHAIN_HEAD, ChainScan, FrameChain, read_frames
from vacr.capture.journal import EpochKeys
from vacr.capture.session_journal import encode_journal_note, get_session_journal_path
from vacr.signing.keys import THUMBPRINT_URI_PREFIX, encode_private_pem, generate_key

pytestmark = pytest.mark.component


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A machine with three sessions, and checkpoints of several epochs."""
    machine = Machine(tmp_path_factory.mktemp("origin"))
    for turn in range(3):
        for name in ("one", "two", "three"):
            add(machine.transcript(name), lines(3, turn * 3, session=name))
        machine.once("--no-seal", "--epoch", 0 if turn == 1 else 24)
    return machine


@pytest.fixture
def attacked(origin, tmp_path):
    """A copy of its journal that can be verified without the transcripts."""
    shutil.copytree(origin.state, tmp_path / "state")
    machine = Machine(tmp_path)
    machine.names_of = [origin.name_of(origin.transcript(name)) for name in ("one", "two", "three")]
    assert machine.verify("--no-transcripts")["findings"] == []
    return machine


def cut(path, boundary):
    """Truncate a chain after some frames."""
    scan = ChainScan()
    with path.open("rb") as file:
        for _ in read_frames(file, "", scan, EMPTY_CHAIN_HEAD):
            if scan.head.frames == boundary:
                break
    os.truncate(path, scan.size)


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def list_findings(machine):
    return machine.verify("--no-transcripts")["findings"]


@pytest.mark.parametrize("part", range(10))
def test_flipped_bit_in_a_session_is_found(attacked, part):
    path = get_session_journal_path(attacked.journal, attacked.names_of[0])
    flip(path, path.stat().st_size * part // 10 + 1)
    (finding,) = list_findings(attacked)
    assert re.search(r"frame \d+ was changed", finding)


@pytest.mark.parametrize("frame", [0, 1, 2, 3])
def test_flipped_bit_in_a_checkpoint_is_found(attacked, frame):
    path = attacked.journal / "checkpoints"
    size = 0
    with path.open("rb") as file:
        scan = ChainScan()
        for _ in read_frames(file, "", scan, EMPTY_CHAIN_HEAD):
            if scan.head.frames == frame:
                size = scan.size
    assert list(heads(path))[-1].frames > frame + 1 or frame == 3
    flip(path, size + 60)
    found = attacked.verify("--no-transcripts")
    if frame == 3:
        # The last frame may be a torn one after a crash: it is reported, and covers nothing.
        assert found["findings"] == []
        assert any("the last frame is incomplete" in notice for notice in found["notices"])
        return
    assert any(f"frame {frame} was changed" in finding for finding in found["findings"])
    before = path.read_bytes()
    done = attacked.run("watch", "--once", "--no-ui", "--no-seal")
    assert (done.returncode, f"frame {frame} was changed" in done.err) == (1, True), done.err
    assert path.read_bytes() == before, "a watcher must not destroy what others can still read"


def test_truncated_swapped_and_deleted_sessions_are_found(attacked):
    one, two, three = (
        get_session_journal_path(attacked.journal, name) for name in attacked.names_of
    )
    cut(one, 3)
    data, other = two.read_bytes(), three.read_bytes()
    two.write_bytes(other)
    three.write_bytes(data)
    found = list_findings(attacked)
    assert [
        name in text for name, text in zip(sorted(attacked.names_of), sorted(found), strict=True)
    ] == [True] * 3, found
    assert any("is missing: a checkpoint covers 5 frames" in text for text in found)
    one.unlink()
    assert any(
        "its journal is missing; it had 5 frames" in text for text in list_findings(attacked)
    )


def test_forged_session_is_found(attacked):
    path = get_session_journal_path(attacked.journal, attacked.names_of[0])
    path.unlink()
    forge(path, b"forged\n", 5)
    (finding,) = list_findings(attacked)
    assert "frame 4 does not have the hash in a signed checkpoint" in finding


def forge(path, data, count):
    chain = FrameChain(path)
    list(chain.recover())
    began = encode_journal_note(
        "began", 1, agent="claude-code", path=b"/x", session="", recorder="0"
    )
    part = encode_journal_note("part", 1, part=0, name="x", path=b"/x", rewritten=False)
    more = [
        encode_journal_note("bytes", 1, part=0, at=number * len(data), cut=0, data=data)
        for number in range(count - 2)
    ]
    chain.append([began, part, *more])
    chain.close()


def test_frames_added_without_checkpoint_are_reported(attacked):
    """They are reported as not covered; more cannot be known before the next checkpoint."""
    name = attacked.names_of[0]
    chain = FrameChain(get_session_journal_path(attacked.journal, name))
    size = sum(len(payload) > 0 for _, payload in chain.recover())
    chain.append([encode_journal_note("bytes", 1, part=0, at=0, cut=0, data=b"forged\n")])
    chain.close()
    found = attacked.verify("--no-transcripts")
    assert f"{name}: 1 frames are not covered by a checkpoint yet" in found["notices"]
    assert len(found["findings"]) == 1, "inserted content is found in any case"
    assert size == 5


def test_truncated_checkpoints_are_found_across_epochs(attacked):
    """Within an epoch only an anchor or a later checkpoint shows it; across epochs the key does."""
    path = attacked.journal / "checkpoints"
    count = len(list(heads(path)))
    cut(path, count - 1)
    found = attacked.verify("--no-transcripts")
    assert found["findings"] == []
    assert sum("not covered by a checkpoint yet" in notice for notice in found["notices"]) == 3
    cut(path, 2)
    (finding,) = list_findings(attacked)
    assert "later checkpoints are missing" in finding
    done = attacked.run("watch", "--once", "--no-ui")
    assert (done.returncode, "the key that the last checkpoint names is missing" in done.err) == (
        3,
        True,
    )


def test_checkpoint_by_another_key_is_found(attacked):
    """The key of this epoch cannot sign for an earlier one, and another key cannot sign at all."""
    (attacked.journal / "epoch-key.pem").write_bytes(encode_private_pem(generate_key("eddsa")))
    (finding,) = list_findings(attacked)
    assert "the journal was reset to an older state" in finding
    EpochKeys(attacked.journal).list_thumbprints()
    path = attacked.journal / "checkpoints"
    kept = path.read_bytes()
    cut(path, 1)
    chain = FrameChain(path)
    first = [payload for _, payload in chain.recover()]
    from vacr.capture.chains import JournalCheckpoint
    from vacr.signing.keys import KeySigner

    forged = JournalCheckpoint(1, 1, 0, chain.head, {}).sign(
        KeySigner(generate_key("eddsa")), "urn:x"
    )
    chain.append([forged])
    chain.close()
    assert any(
        "is not signed by the key of its epoch" in finding for finding in list_findings(attacked)
    )
    path.write_bytes(kept[: len(kept) - 40])
    assert len(first) == 1


def test_reordered_or_missing_checkpoints_are_found(attacked):
    path = attacked.journal / "checkpoints"
    payloads = [payload for _, payload in FrameChain(path).recover()]
    path.unlink()
    chain = FrameChain(path)
    list(chain.recover())
    chain.append([payloads[0], payloads[2], payloads[1]])
    chain.close()
    assert any(
        "does not follow the checkpoint before it" in finding for finding in list_findings(attacked)
    )
    path.write_bytes(b"")
    assert "the journal has no checkpoints" in list_findings(attacked)
    done = attacked.run("watch", "--once", "--no-ui")
    assert (done.returncode, "frame 0 is missing, but session journals exist" in done.err) == (
        1,
        True,
    )
    path.unlink()
    assert attacked.run("journal", "verify").returncode == 1


def test_older_copy_of_the_whole_folder_holds(attacked):
    """The copy was valid once, so it still is: only other copies or longer transcripts show it."""
    path = attacked.transcript("four")
    attacked.once("--no-seal")
    shutil.copytree(attacked.journal, attacked.state / "older")
    add(path, lines(3, session="four"))
    attacked.once("--no-seal")
    shutil.rmtree(attacked.journal)
    (attacked.state / "older").rename(attacked.journal)
    assert attacked.verify("--no-transcripts")["findings"] == []


def test_replaced_journal_is_found_by_identity(attacked):
    name = attacked.verify("--no-transcripts")["identity"]
    assert attacked.verify("--no-transcripts", "--identity", name)["findings"] == []
    as_in_records = base64.urlsafe_b64decode(name.removeprefix(THUMBPRINT_URI_PREFIX) + "=").hex()
    assert attacked.verify("--no-transcripts", "--identity", as_in_records)["findings"] == []
    done = attacked.run("journal", "verify", "--no-transcripts", "--identity", "mine")
    assert (done.returncode, "mine is not the identity of a journal" in done.err) == (2, True)
    shutil.rmtree(attacked.journal)
    attacked.once("--no-seal")
    (finding,) = attacked.verify("--no-transcripts", "--identity", name)["findings"]
    assert "this is a different journal" in finding


@pytest.mark.parametrize("length", [0, 1, 0xFFFFFFFF, 1 << 30])
def test_false_lengths_are_found(attacked, length):
    path = get_session_journal_path(attacked.journal, attacked.names_of[0])
    data = path.read_bytes()
    path.write_bytes(struct.pack(">I", length) + data[4:])
    assert "frame 0 was changed" in list_findings(attacked)[0]
    path.write_bytes(data + struct.pack(">I", length) + bytes(100))
    assert list_findings(attacked) == []


def test_hostile_journal_names_are_escaped(attacked):
    folder = attacked.journal / "sessions" / "claude-code"
    for name in (b"\x1b[2Jx.frames", b"a\nb.frames", b"\xff\xfe.frames", b"~9.frames"):
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:  # noqa: PTH118, PTH123 - bytes
            file.write(b"x" * 100)
    done = attacked.run("journal", "verify", "--no-transcripts")
    assert done.returncode == 0
    assert "\x1b" not in done.out + done.err
    attacked.verify("--no-transcripts")
    attacked.once("--no-seal")


# --- hostile transcripts ---


def test_links_pipes_and_devices_are_not_captured(machine, ways):
    folder = machine.transcript().parent
    folder.mkdir(parents=True)
    secret = machine.home / "secret"
    secret.write_bytes(b"secret\n")
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "device.jsonl").symlink_to("/dev/zero")
    (folder / "circle.jsonl").symlink_to(folder / "circle.jsonl")
    (folder / "dangling.jsonl").symlink_to(folder / "nothing.jsonl")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    (machine.home / "elsewhere").mkdir()
    (machine.home / "elsewhere" / "x.jsonl").write_bytes(b"elsewhere\n")
    (folder.parent / "linked").symlink_to(machine.home / "elsewhere")
    path = machine.transcript()
    results = path.with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "out.txt").symlink_to(secret)
    watching = machine.watch(*ways)
    add(path, lines(3))
    watching.wait_until_captured(path)
    os.mkfifo(folder / "later.jsonl")
    add(path, line(3))
    watching.wait_until_captured(path)
    output = watching.stop()
    assert "link.jsonl: not followed: the link leads out of the agent's folder" in output
    assert machine.names() == [machine.name_of(path)]
    assert machine.first_seen(path) == {path.name: path.read_bytes()}
    machine.check_intact()


def test_odd_names_and_contents_are_captured(machine):
    folder = machine.transcript().parent
    folder.mkdir(parents=True)
    watching = machine.watch()
    contents = {
        b"new\nline.jsonl": lines(2),
        b"esc\x1b[31mape.jsonl": lines(2),
        b"\xff\xfe\xfd.jsonl": lines(2),
        b"deep.jsonl": b"[" * 200_000 + b"\n",
        b"nul.jsonl": b"\0" * 5000 + b"\n\0\n",
        b"tiny.jsonl": b"{}\n" * 100_000,
        b"text.jsonl": "…\u202e\n".encode() * 10,
        b"latin.jsonl": b"\xe9\xe8\n",
        b"x" * 240 + b".jsonl": lines(1),
        b"empty.jsonl": b"",
    }
    for name, data in contents.items():
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:  # noqa: PTH118, PTH123 - bytes
            file.write(data)
    for name, data in contents.items():
        watching.wait_until_captured(folder / os.fsdecode(name), data) if data else None
    output = watching.stop()
    assert "\x1b" not in output
    machine.check_intact()
    done = machine.once("--quiet-after", 0, "--format", "json")
    assert len(json.loads(done.stdout)["sessions"]) >= len(contents) - 1
    machine.check_intact()
