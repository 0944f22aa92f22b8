"""The monitor accepts honest logs, and detects every known way to lie, over real HTTP."""

import gzip
import json
import os
import signal
import threading
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.log.commands import start, vacr
from tests.log.tiled_folder import ORIGIN, MadeLog, served
from vacr.errors import Unreachable, UnreadableInput, UsageError
from vacr.log.monitor import (
    OUTCOME_GROWN,
    LogMisbehaved,
    inspect_log,
    load_monitor_state,
    save_monitor_state,
)
from vacr.registration import tile_reader
from vacr.registration.tile_reader import TiledLog
from vacr.signing.keys import KeySigner, generate_key
from vacr.transparency.checkpoint import Checkpoint, build_verifier_key, sign_checkpoint
from vacr.transparency.receipt import encode_entry_bundle
from vacr.transparency.tree import format_tile_path, parse_tile_path


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "served"
    place.mkdir()
    return place


@pytest.fixture
def log(folder):
    return MadeLog(folder)


@pytest.fixture
def server(folder):
    with served(folder) as server:
        yield server


class Watching:
    """A monitor with a state file, as the command uses it."""

    def __init__(self, url, path):
        self.log, self.path = TiledLog(url), path

    def look(self, given=None):
        try:
            found = inspect_log(self.log, load_monitor_state(self.path), given)
        finally:
            self.log.site.close()
        save_monitor_state(self.path, found.known)
        return found

    def reason(self, given=None):
        before = self.path.read_bytes() if self.path.exists() else None
        with pytest.raises(LogMisbehaved) as caught:
            self.look(given)
        assert before == (self.path.read_bytes() if self.path.exists() else None)
        return caught.value.reason


@pytest.fixture
def watching(server, tmp_path):
    return Watching(server.url, tmp_path / "state.json")


def test_honest_growth(log, server, watching):
    log.add(2)
    log.publish()
    found = watching.look()
    assert (found.outcome, found.known.size, found.known.identity, found.known.keys) == (
        "first",
        3,
        log.identity,
        (log.vkey,),
    )
    assert watching.look().outcome == "same"
    for count in (1, 250, 2, 1, 255, 256, 1, 700):
        log.add(count)
        log.publish()
        found = watching.look()
        assert (found.outcome, found.known.size, found.known.root) == (
            "grown",
            len(log.entries),
            log.growing.root(),
        )
    # Full tiles are never fetched twice, and only tiles that a checkpoint promised are
    # asked for.
    server.asked.clear()
    log.add(300)
    log.publish()
    watching.look()
    first = (len(log.entries) - 300) // 256
    numbers = {
        parse_tile_path(path.removeprefix("/tile/entries/"))[0]
        for path in server.asked
        if "entries" in path
    }
    assert numbers == set(range(first, -(-len(log.entries) // 256)))


def test_a_log_of_many_levels(log, watching):
    """Over 65,536 entries there are three levels of tiles, with the known edge in the middle."""
    log.add(65_000)
    log.publish()
    watching.look()
    log.add(1_000)
    log.publish()
    assert watching.look().known.root == log.growing.root()


def test_full_tiles_serve_where_partial_ones_are_gone(log, folder, watching):
    log.add(9)
    log.publish()
    watching.look()
    note = log.publish()
    log.add(300)
    log.publish()
    for left in folder.rglob("*.p/*"):
        if left.parent.with_suffix("").is_file():
            left.unlink()
    late = Watching(watching.log.site.url, watching.path.with_name("late.json"))
    (folder / "checkpoint").write_bytes(note)  # a cache that is a little behind
    assert late.look().known.size == 10
    assert watching.look().outcome == "same"


def test_compressed_answers(log, folder, server, watching):
    log.add(20)
    log.publish()
    data = gzip.compress((folder / "tile/entries/000.p/21").read_bytes())
    server.tricks["/tile/entries/000.p/21"] = answer(200, data, {"Content-Encoding": "gzip"})
    assert watching.look().known.size == 21


def answer(status, body=b"", headers=None):
    def send(handler):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


def other_log(log, change):
    """Publish another log over the first, with the same keys and other entries."""
    log.entries = change(list(log.entries))
    log.grow()
    return log.publish()


@pytest.fixture
def watched(log, watching):
    """A log of 301 entries that was inspected once."""
    log.add(300)
    log.publish()
    watching.look()
    return log


def test_a_fork_of_the_same_size(watched, watching):
    other_log(watched, lambda entries: [*entries[:-1], b"another"])
    assert watching.reason() == "log-forked"
    assert watching.reason() == "log-forked", "it goes on failing"


def test_a_fork_of_the_past(watched, watching):
    other_log(
        watched, lambda entries: [*entries[:5], b"another", *entries[6:], b"more", b"and more"]
    )
    assert watching.reason() == "log-forked"


def test_a_fork_of_the_last_known_entry(watched, watching):
    other_log(watched, lambda entries: [*entries[:-1], b"another", b"more"])
    assert watching.reason() == "log-forked"


def test_a_log_that_shrank(watched, watching):
    other_log(watched, lambda entries: entries[:-1])
    assert watching.reason() == "log-shrunk"


def test_a_service_that_is_a_moment_behind(watched, folder, watching):
    """Several services of one log may publish at different instants: the log has not shrunk."""
    behind = (folder / "checkpoint").read_bytes()
    watched.add(3)
    now = watched.publish()
    assert watching.look().outcome == "grown"
    watched.write("checkpoint", behind)
    timer = threading.Timer(1, watched.write, ("checkpoint", now))
    timer.start()
    assert watching.look().outcome == "same"
    timer.join()


def test_an_empty_log(log, watching):
    log.write("checkpoint", sign_checkpoint(Checkpoint(ORIGIN, 0, bytes(32)), log.key))
    assert watching.reason() == "log-empty"


@pytest.mark.parametrize("index", [256, 280, 300, 301, 310, 511, 512, 599])
def test_a_changed_entry(watched, folder, watching, index):
    """One changed byte in a new entry, or in one of the same bundle, is detected."""
    watched.add(299)
    watched.publish()
    number = index // 256
    part = watched.entries[number * 256 : (number + 1) * 256]
    path = folder / "tile/entries" / format_tile_path(number, len(part))
    part[index % 256] = part[index % 256][:-1] + b"!"
    path.write_bytes(encode_entry_bundle(part))
    assert watching.reason() == "log-entry"


def test_a_missing_or_extra_entry(watched, folder, watching):
    watched.add(10)
    watched.publish()
    path = folder / "tile/entries/001.p/55"
    data = path.read_bytes()
    for changed in (
        data[:-1],
        data + b"\x00",
        data + b"\x00\x00",
        b"",
        encode_entry_bundle(watched.entries[256:310]),
    ):
        path.write_bytes(changed)
        assert watching.reason() == "log-bundle"
    path.write_bytes(data)
    assert watching.look().known.size == 311


@pytest.mark.parametrize(
    ("path", "at", "why"),
    [
        ("tile/0/001.p/200", 0, "log-forked"),  # a leaf of the known past
        ("tile/0/001.p/200", 44, "log-forked"),
        ("tile/0/001.p/200", 45, "log-entry"),
        ("tile/0/001.p/200", 199, "log-entry"),
        ("tile/1/000.p/1", 0, "log-forked"),
    ],
)
def test_a_changed_tile(watched, folder, watching, path, at, why):
    watched.add(155)
    watched.publish()
    data = bytearray((folder / path).read_bytes())
    data[at * 32] ^= 1
    (folder / path).write_bytes(data)
    assert watching.reason() == why


def test_a_changed_tile_above_new_ones(watched, folder, watching):
    watched.add(700)
    watched.publish()
    path = folder / "tile/1/000.p/3"
    data = bytearray(path.read_bytes())
    data[2 * 32] ^= 1
    path.write_bytes(data)
    assert watching.reason() == "log-tile"


def test_a_tile_of_the_wrong_length(watched, folder, watching):
    watched.add(10)
    watched.publish()
    path = folder / "tile/0/001.p/55"
    path.write_bytes(path.read_bytes()[:-1])
    assert watching.reason() == "log-tile"


def test_a_root_that_the_entries_do_not_give(watched, watching):
    watched.add(1)
    watched.publish()
    watched.write("checkpoint", sign_checkpoint(Checkpoint(ORIGIN, 302, bytes(32)), watched.key))
    assert watching.reason() == "log-root"


def test_a_rotated_key(watched, watching):
    old = watched.vkey
    watched.add(3)
    watched.rotate()
    watched.add(3)
    watched.publish()
    found = watching.look()
    assert (found.rotations, found.known.keys, found.known.pinned) == (1, (watched.vkey,), old)
    watched.rotate()
    watched.rotate()
    watched.add(300)
    watched.publish()
    assert watching.look().known.keys == (watched.vkey,)
    # A monitor that comes late follows the same way.
    late = Watching(watching.log.site.url, watching.path.with_name("late.json"))
    assert late.look().known.keys == (watched.vkey,)
    assert late.look(old).outcome == "same", "a state there is is what counts"


def test_the_announcement_may_be_signed_by_the_key_before(watched, watching):
    old_key, old = watched.key, watched.vkey
    watched.rotate()
    watched.publish(old_key)
    assert watching.look().known.keys == (old, watched.vkey)
    assert watching.look().outcome == "same"
    watched.publish(watched.key)
    assert watching.look().outcome == "same"
    # From the next entry on it may not.
    watched.add(1)
    watched.publish(old_key)
    assert watching.reason() == "note-unsigned"
    watched.publish(old_key, watched.key)
    assert watching.look().known.keys == (watched.vkey,)


def test_an_old_key_after_it_was_replaced(watched, watching):
    old_key = watched.key
    watched.rotate()
    watched.add(1)
    watched.publish(old_key)
    assert watching.reason() == "note-unsigned"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_forged_rotation(watched, watching, elsewhere):
    """A key announced without the previous key's signature, or for another log, is ignored."""
    old, signer = watched.key, watched.signer
    if elsewhere:
        watched.identity = "ni:///sha-256;another"
    watched.rotate(signer if elsewhere else KeySigner(generate_key("es256")))
    watched.add(1)
    watched.publish()
    assert watching.reason() == "note-unsigned"
    watched.publish(old)
    assert watching.look().rotations == 0


def test_a_key_that_nobody_announced(watched, watching):
    watched.key = Ed25519PrivateKey.generate()
    watched.publish()
    assert watching.reason() == "note-unsigned"
    watched.add(1)
    watched.publish()
    assert watching.reason() == "note-unsigned"


def test_a_false_signature_of_the_known_key(watched, folder, server, watching):
    watched.add(1)
    data = watched.publish()
    (folder / "checkpoint").write_bytes(data.replace(b"\n302\n", b"\n303\n"))
    server.asked.clear()
    assert watching.reason() == "note-signature"
    assert server.asked == ["/checkpoint"], "nothing is fetched on the word of a stranger"


def test_a_key_that_is_given(log, watching):
    log.add(5)
    log.publish()
    stranger = build_verifier_key(ORIGIN, Ed25519PrivateKey.generate().public_key())
    assert watching.reason(stranger) == "note-unsigned"
    assert watching.look(log.vkey).outcome == "first"


def test_a_key_that_is_given_and_only_announced(log, watching):
    """Announcing somebody's key is not enough: that key must sign the first checkpoint."""
    own = log.key
    log.rotate()
    named = log.vkey
    log.add(1)
    log.publish(own)
    assert watching.reason(named) == "note-unsigned"
    # Nor may one that signs, and is not what the log says of itself, be taken for its key.
    third = Ed25519PrivateKey.generate()
    log.publish(third, log.key)
    assert watching.reason(build_verifier_key(ORIGIN, third.public_key())) == "log-key"


def test_a_log_that_does_not_describe_itself(folder, watching):
    log = MadeLog(folder, described=False)
    log.add(3)
    log.publish()
    assert watching.reason() == "log-description"
    assert watching.look(log.vkey).known.receipt_key is None
    log.add(3)
    log.publish()
    assert watching.look().known.size == 6
    log.add(3)
    log.publish(Ed25519PrivateKey.generate())
    assert watching.reason() == "note-unsigned"


def test_another_log_at_the_same_place(watched, folder, watching):
    note = sign_checkpoint(Checkpoint("example.org/other", 400, bytes(32)), watched.key)
    (folder / "checkpoint").write_bytes(note)
    assert watching.reason() == "log-origin"
    again = MadeLog(folder)
    again.add(400)
    again.publish()
    assert watching.reason() == "log-forked"


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>\n", b"\xff" * 100, b"a\n\n" * 100, b"x\n5\nAAAA\n\n\xe2\x80\x94 x AAAAAAAA\n"],
)
@pytest.mark.usefixtures("watched")
def test_garbage_for_a_checkpoint(folder, watching, data):
    (folder / "checkpoint").write_bytes(data)
    assert watching.reason().startswith(("note-", "checkpoint-"))


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65_536)
    except OSError:
        pass


def cut_off(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"x")


def drip(handler):
    """Send the head of a response one byte at a time."""
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            handler.wfile.write(b"x")
            time.sleep(0.01)
    except OSError:
        pass


def hung_up(handler):
    handler.wfile.close()


TRICKS = {
    "endless": endless,
    "said to be huge": answer(200, b"x", {"Content-Length": "99999999999"}),
    "inflates": answer(200, gzip.compress(bytes(1 << 26)), {"Content-Encoding": "gzip"}),
    "not gzip": answer(200, b"x", {"Content-Encoding": "gzip"}),
    "gzip and more": answer(200, gzip.compress(b"x") + b"y", {"Content-Encoding": "gzip"}),
    "another encoding": answer(200, b"x", {"Content-Encoding": "br"}),
    "cut off": cut_off,
    "hung up": hung_up,
    "not HTTP": lambda handler: handler.wfile.write(b"SSH-2.0\r\n"),
    "missing": answer(404),
    "broken": answer(500),
    "elsewhere": answer(302, b"", {"Location": "http://localhost:1/checkpoint"}),
    "another port": answer(302, b"", {"Location": "//127.0.0.1:1/checkpoint"}),
    "another way": answer(302, b"", {"Location": "https://127.0.0.1/"}),
    "nowhere": answer(302),
    "no address": answer(302, b"", {"Location": "http://[/"}),
}


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("path", ["/checkpoint", "/tile/entries/001.p/46", "/tile/0/001.p/46"])
def test_what_cannot_be_fetched_is_no_verdict(watched, server, watching, trick, path):
    watched.add(1)
    watched.publish()
    server.tricks[path] = TRICKS[trick]
    before = watching.path.read_bytes()
    with pytest.raises(Unreachable) as caught:
        watching.look()
    assert server.url.rstrip("/") in str(caught.value)
    assert watching.path.read_bytes() == before
    del server.tricks[path]
    assert watching.look().outcome == "grown"


def test_an_answer_that_drips_is_given_up(server, watching, monkeypatch):
    monkeypatch.setattr(tile_reader, "_MAX_RESPONSE_SECONDS", 0.2)
    watching.log = TiledLog(server.url)
    server.tricks["/checkpoint"] = drip
    with pytest.raises(Unreachable, match="no complete response within"):
        watching.look()


def test_redirects_on_the_same_host_are_followed(watched, folder, server, watching):
    watched.add(1)
    watched.publish()
    (folder / "moved").write_bytes((folder / "checkpoint").read_bytes())
    server.tricks["/checkpoint"] = answer(307, b"", {"Location": "/moved"})
    assert watching.look().outcome == "grown"


@pytest.mark.usefixtures("watched")
def test_a_busy_log_is_asked_again(folder, server, watching):
    busy = [
        answer(503, b"", {"Retry-After": "0"}),
        answer(429, b"", {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    ]
    last = answer(200, (folder / "checkpoint").read_bytes())

    def send(handler):
        (busy.pop() if busy else last)(handler)

    server.tricks["/checkpoint"] = send
    assert watching.look().outcome == "same"
    assert not busy


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://example.org/",
        "http://",
        "http://u:p@example.org/",
        "http://[",
        "http://a/?q",
        "http://ä/",
    ],
)
def test_addresses_that_are_none(url):
    with pytest.raises(UsageError):
        TiledLog(url)


# --- the state, and the command ---


@pytest.mark.usefixtures("watched")
def test_a_state_that_was_damaged_is_refused(watching):
    said = json.loads(watching.path.read_bytes())
    for change in (
        {"version": 2},
        {"keys": []},
        {"size": "x"},
        {"root": "AAAA"},
        {"pinned": "x"},
        {"receipt-key": "x"},
        {"note": 5},
    ):
        watching.path.write_text(json.dumps({**said, **change}))
        with pytest.raises(UnreadableInput, match="not a state file of vacr log monitor"):
            watching.look()
    for data in (b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000):
        watching.path.write_bytes(data)
        with pytest.raises(UnreadableInput):
            watching.look()


def test_the_command(watched, folder, server, tmp_path):
    arguments = ("log", "monitor", server.url, "--state", "s.json")
    done = vacr(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{ORIGIN}: consistent: 301 entries, first check; its key from now on: {watched.vkey}\n"
    )
    assert (
        vacr(*arguments, cwd=tmp_path).stdout == f"{ORIGIN}: consistent: 301 entries, unchanged\n"
    )
    watched.rotate()
    known = watched.publish()
    found = json.loads(vacr(*arguments, "--format", "json", cwd=tmp_path).stdout)
    assert {
        name: found[name]
        for name in ("outcome", "size", "new", "rotations", "exit", "key", "identity")
    } == {
        "outcome": "grown",
        "size": 302,
        "new": 1,
        "rotations": 1,
        "exit": 0,
        "key": str(watched.vkey),
        "identity": watched.identity,
    }
    before = (tmp_path / "s.json").read_bytes()
    seen = other_log(watched, lambda entries: [*entries[:-1], b"another"])
    for _ in range(2):
        done = vacr(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert "misbehaved (log-forked): the log forked" in done.stderr
        assert "s.json.evidence-1" in done.stderr
    assert (tmp_path / "s.json").read_bytes() == before
    assert [path.name for path in tmp_path.glob("s.json.evidence-*")] == ["s.json.evidence-1"]
    kept = json.loads((tmp_path / "s.json.evidence-1").read_bytes())
    assert (kept["known"].encode(), kept["seen"].encode(), kept["reason"]) == (
        known,
        seen,
        "log-forked",
    )
    (folder / "checkpoint").write_bytes(b"\xffgarbage")
    found = json.loads(vacr(*arguments, "--format", "json", cwd=tmp_path).stdout)
    assert (found["outcome"], found["exit"], found["evidence"]) == (
        "failed",
        1,
        "s.json.evidence-2",
    )
    (folder / "checkpoint").unlink()
    done = vacr(*arguments, cwd=tmp_path)
    assert (done.returncode, "it answered 404" in done.stderr) == (4, True)
    done = vacr(
        *arguments,
        "--key",
        build_verifier_key(ORIGIN, Ed25519PrivateKey.generate().public_key()),
        cwd=tmp_path,
    )
    assert (done.returncode, "one --state file per log" in done.stderr) == (2, True)
    assert vacr(*arguments, "--key", "x", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("name", [".", "/", "there"])
def test_a_state_that_is_a_folder(tmp_path, name):
    (tmp_path / "there").mkdir()
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", name, cwd=tmp_path)
    assert done.returncode == 3
    assert "must be a file, not a folder" in done.stderr


def test_nobody_is_there(tmp_path):
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", "s.json", cwd=tmp_path)
    assert (
        done.returncode,
        "no response" in done.stderr,
        "\n  Try again later.\n" in done.stderr,
    ) == (4, True, True)
    assert not (tmp_path / "s.json").exists()


def test_a_state_in_no_folder(tmp_path):
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", "none/s.json", cwd=tmp_path)
    assert (done.returncode, "none/s.json: cannot lock the state file" in done.stderr) == (3, True)


def test_looking_again_and_again(watched, folder, server, tmp_path):
    process = start(
        "log", "monitor", server.url, "--state", "s.json", "--interval", "1", cwd=tmp_path
    )
    try:
        assert "first check; its key from now on: " in process.stdout.readline()
        watched.add(1)
        watched.publish()
        while "302 entries" not in (line := process.stdout.readline()):
            assert "301 entries, unchanged" in line
        assert (
            vacr("log", "monitor", server.url, "--state", "s.json", cwd=tmp_path).returncode == 2
        ), "one at a time"
        # That it cannot be reached for a while ends nothing.
        (folder / "checkpoint").rename(folder / "away")
        assert "404" in process.stderr.readline()
        (folder / "away").rename(folder / "checkpoint")
        while "302 entries, unchanged" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
    finally:
        process.kill()
        process.communicate()
    assert load_monitor_state(tmp_path / "s.json").size == 302
    other_log(watched, lambda entries: entries[:5])
    assert (
        vacr(
            "log", "monitor", server.url, "--state", "s.json", "--interval", "1", cwd=tmp_path
        ).returncode
        == 1
    )


def test_the_file_is_there_whole_or_not_at_all(watched, watching, monkeypatch):
    """A disk error while the state is written leaves the old state and no other file."""
    before = watching.path.read_bytes()
    watched.add(1)
    watched.publish()

    def fail(_handle):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UnreadableInput, match="Input/output error"):
        watching.look()
    monkeypatch.undo()
    assert watching.path.read_bytes() == before
    assert sorted(path.name for path in watching.path.parent.iterdir()) == ["served", "state.json"]
    assert watching.look().outcome == OUTCOME_GROWN
