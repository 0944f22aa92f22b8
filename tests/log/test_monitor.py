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
from tests.log.tiled_folder import ORIGIN, TiledTestLog, served
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
    return TiledTestLog(folder)


@pytest.fixture
def server(folder):
    with served(folder) as server:
        yield server


class StatefulMonitor:
    """A monitor with a state file, like the command uses it."""

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
def monitor(server, tmp_path):
    return StatefulMonitor(server.url, tmp_path / "state.json")


def test_honest_growth_is_accepted(log, server, monitor):
    log.add(2)
    log.publish()
    found = monitor.look()
    assert (found.outcome, found.known.size, found.known.identity, found.known.keys) == (
        "first",
        3,
        log.identity,
        (log.vkey,),
    )
    assert monitor.look().outcome == "same"
    for count in (1, 250, 2, 1, 255, 256, 1, 700):
        log.add(count)
        log.publish()
        found = monitor.look()
        assert (found.outcome, found.known.size, found.known.root) == (
            "grown",
            len(log.entries),
            log.growing.root(),
        )
    # Full tiles are fetched once, and only tiles below a checkpoint are requested.
    server.asked.clear()
    log.add(300)
    log.publish()
    monitor.look()
    first = (len(log.entries) - 300) // 256
    numbers = {
        parse_tile_path(path.removeprefix("/tile/entries/"))[0]
        for path in server.asked
        if "entries" in path
    }
    assert numbers == set(range(first, -(-len(log.entries) // 256)))


def test_log_with_many_levels_is_checked(log, monitor):
    """Over 65,536 entries there are three levels of tiles, with the known edge in the middle."""
    log.add(65_000)
    log.publish()
    monitor.look()
    log.add(1_000)
    log.publish()
    assert monitor.look().known.root == log.growing.root()


def test_full_tiles_replace_missing_partial_ones(log, folder, monitor):
    log.add(9)
    log.publish()
    monitor.look()
    note = log.publish()
    log.add(300)
    log.publish()
    for left in folder.rglob("*.p/*"):
        if left.parent.with_suffix("").is_file():
            left.unlink()
    late = StatefulMonitor(monitor.log.site.url, monitor.path.with_name("late.json"))
    (folder / "checkpoint").write_bytes(note)  # a slightly outdated cache
    assert late.look().known.size == 10
    assert monitor.look().outcome == "same"


def test_compressed_responses_are_read(log, folder, server, monitor):
    log.add(20)
    log.publish()
    data = gzip.compress((folder / "tile/entries/000.p/21").read_bytes())
    server.tricks["/tile/entries/000.p/21"] = build_responder(
        200, data, {"Content-Encoding": "gzip"}
    )
    assert monitor.look().known.size == 21


def build_responder(status, body=b"", headers=None):
    def send(handler):
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


def publish_fork(log, change):
    """Publish another log over the first, with the same keys and other entries."""
    log.entries = change(list(log.entries))
    log.grow()
    return log.publish()


@pytest.fixture
def watched_log(log, monitor):
    """Return a log of 301 entries that the monitor has checked once."""
    log.add(300)
    log.publish()
    monitor.look()
    return log


def test_fork_of_the_same_size_is_detected(watched_log, monitor):
    publish_fork(watched_log, lambda entries: [*entries[:-1], b"another"])
    assert monitor.reason() == "log-forked"
    assert monitor.reason() == "log-forked", "it goes on failing"


def test_fork_of_past_entries_is_detected(watched_log, monitor):
    publish_fork(
        watched_log, lambda entries: [*entries[:5], b"another", *entries[6:], b"more", b"and more"]
    )
    assert monitor.reason() == "log-forked"


def test_fork_of_the_last_known_entry_is_detected(watched_log, monitor):
    publish_fork(watched_log, lambda entries: [*entries[:-1], b"another", b"more"])
    assert monitor.reason() == "log-forked"


def test_shrunken_log_is_detected(watched_log, monitor):
    publish_fork(watched_log, lambda entries: entries[:-1])
    assert monitor.reason() == "log-shrunk"


def test_service_that_lags_behind_is_tolerated(watched_log, folder, monitor):
    """Several services of one log may publish at different instants: the log has not shrunk."""
    behind = (folder / "checkpoint").read_bytes()
    watched_log.add(3)
    now = watched_log.publish()
    assert monitor.look().outcome == "grown"
    watched_log.write("checkpoint", behind)
    timer = threading.Timer(1, watched_log.write, ("checkpoint", now))
    timer.start()
    assert monitor.look().outcome == "same"
    timer.join()


def test_empty_log_is_refused(log, monitor):
    log.write("checkpoint", sign_checkpoint(Checkpoint(ORIGIN, 0, bytes(32)), log.key))
    assert monitor.reason() == "log-empty"


@pytest.mark.parametrize("index", [256, 280, 300, 301, 310, 511, 512, 599])
def test_changed_entry_is_detected(watched_log, folder, monitor, index):
    """One changed byte in a new entry, or in one of the same bundle, is detected."""
    watched_log.add(299)
    watched_log.publish()
    number = index // 256
    part = watched_log.entries[number * 256 : (number + 1) * 256]
    path = folder / "tile/entries" / format_tile_path(number, len(part))
    part[index % 256] = part[index % 256][:-1] + b"!"
    path.write_bytes(encode_entry_bundle(part))
    assert monitor.reason() == "log-entry"


def test_missing_or_extra_entry_is_detected(watched_log, folder, monitor):
    watched_log.add(10)
    watched_log.publish()
    path = folder / "tile/entries/001.p/55"
    data = path.read_bytes()
    for changed in (
        data[:-1],
        data + b"\x00",
        data + b"\x00\x00",
        b"",
        encode_entry_bundle(watched_log.entries[256:310]),
    ):
        path.write_bytes(changed)
        assert monitor.reason() == "log-bundle"
    path.write_bytes(data)
    assert monitor.look().known.size == 311


@pytest.mark.parametrize(
    ("path", "at", "why"),
    [
        ("tile/0/001.p/200", 0, "log-forked"),  # a leaf that the monitor knows
        ("tile/0/001.p/200", 44, "log-forked"),
        ("tile/0/001.p/200", 45, "log-entry"),
        ("tile/0/001.p/200", 199, "log-entry"),
        ("tile/1/000.p/1", 0, "log-forked"),
    ],
)
def test_changed_tile_is_detected(watched_log, folder, monitor, path, at, why):
    watched_log.add(155)
    watched_log.publish()
    data = bytearray((folder / path).read_bytes())
    data[at * 32] ^= 1
    (folder / path).write_bytes(data)
    assert monitor.reason() == why


def test_changed_tile_above_new_ones_is_detected(watched_log, folder, monitor):
    watched_log.add(700)
    watched_log.publish()
    path = folder / "tile/1/000.p/3"
    data = bytearray(path.read_bytes())
    data[2 * 32] ^= 1
    path.write_bytes(data)
    assert monitor.reason() == "log-tile"


def test_tile_of_the_wrong_length_is_detected(watched_log, folder, monitor):
    watched_log.add(10)
    watched_log.publish()
    path = folder / "tile/0/001.p/55"
    path.write_bytes(path.read_bytes()[:-1])
    assert monitor.reason() == "log-tile"


def test_root_that_does_not_match_the_entries_is_detected(watched_log, monitor):
    watched_log.add(1)
    watched_log.publish()
    watched_log.write(
        "checkpoint", sign_checkpoint(Checkpoint(ORIGIN, 302, bytes(32)), watched_log.key)
    )
    assert monitor.reason() == "log-root"


def test_rotated_key_is_followed(watched_log, monitor):
    old = watched_log.vkey
    watched_log.add(3)
    watched_log.rotate()
    watched_log.add(3)
    watched_log.publish()
    found = monitor.look()
    assert (found.rotations, found.known.keys, found.known.pinned) == (1, (watched_log.vkey,), old)
    watched_log.rotate()
    watched_log.rotate()
    watched_log.add(300)
    watched_log.publish()
    assert monitor.look().known.keys == (watched_log.vkey,)
    # A monitor that starts later follows the same rotations.
    late = StatefulMonitor(monitor.log.site.url, monitor.path.with_name("late.json"))
    assert late.look().known.keys == (watched_log.vkey,)
    assert late.look(old).outcome == "same", "a state there is is what counts"


def test_previous_key_can_sign_the_announcement(watched_log, monitor):
    old_key, old = watched_log.key, watched_log.vkey
    watched_log.rotate()
    watched_log.publish(old_key)
    assert monitor.look().known.keys == (old, watched_log.vkey)
    assert monitor.look().outcome == "same"
    watched_log.publish(watched_log.key)
    assert monitor.look().outcome == "same"
    # It cannot sign later entries.
    watched_log.add(1)
    watched_log.publish(old_key)
    assert monitor.reason() == "note-unsigned"
    watched_log.publish(old_key, watched_log.key)
    assert monitor.look().known.keys == (watched_log.vkey,)


def test_replaced_key_is_refused(watched_log, monitor):
    old_key = watched_log.key
    watched_log.rotate()
    watched_log.add(1)
    watched_log.publish(old_key)
    assert monitor.reason() == "note-unsigned"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_forged_rotation_is_ignored(watched_log, monitor, elsewhere):
    """A key announced without the previous key's signature, or for another log, is ignored."""
    old, signer = watched_log.key, watched_log.signer
    if elsewhere:
        watched_log.identity = "ni:///sha-256;another"
    watched_log.rotate(signer if elsewhere else KeySigner(generate_key("es256")))
    watched_log.add(1)
    watched_log.publish()
    assert monitor.reason() == "note-unsigned"
    watched_log.publish(old)
    assert monitor.look().rotations == 0


def test_unannounced_key_is_refused(watched_log, monitor):
    watched_log.key = Ed25519PrivateKey.generate()
    watched_log.publish()
    assert monitor.reason() == "note-unsigned"
    watched_log.add(1)
    watched_log.publish()
    assert monitor.reason() == "note-unsigned"


def test_false_signature_of_the_known_key_is_refused(watched_log, folder, server, monitor):
    watched_log.add(1)
    data = watched_log.publish()
    (folder / "checkpoint").write_bytes(data.replace(b"\n302\n", b"\n303\n"))
    server.asked.clear()
    assert monitor.reason() == "note-signature"
    assert server.asked == ["/checkpoint"], "no tile is fetched for an unverified checkpoint"


def test_expected_key_must_sign(log, monitor):
    log.add(5)
    log.publish()
    stranger = build_verifier_key(ORIGIN, Ed25519PrivateKey.generate().public_key())
    assert monitor.reason(stranger) == "note-unsigned"
    assert monitor.look(log.vkey).outcome == "first"


def test_announced_key_must_sign_too(log, monitor):
    """Anyone can announce a foreign key: it must also sign the first checkpoint."""
    own = log.key
    log.rotate()
    named = log.vkey
    log.add(1)
    log.publish(own)
    assert monitor.reason(named) == "note-unsigned"
    # A key that signs, but that the log does not announce, is refused too.
    third = Ed25519PrivateKey.generate()
    log.publish(third, log.key)
    assert monitor.reason(build_verifier_key(ORIGIN, third.public_key())) == "log-key"


def test_log_without_a_description_needs_a_trusted_key(folder, monitor):
    log = TiledTestLog(folder, described=False)
    log.add(3)
    log.publish()
    assert monitor.reason() == "log-description"
    assert monitor.look(log.vkey).known.receipt_key is None
    log.add(3)
    log.publish()
    assert monitor.look().known.size == 6
    log.add(3)
    log.publish(Ed25519PrivateKey.generate())
    assert monitor.reason() == "note-unsigned"


def test_another_log_at_the_same_address_is_detected(watched_log, folder, monitor):
    note = sign_checkpoint(Checkpoint("example.org/other", 400, bytes(32)), watched_log.key)
    (folder / "checkpoint").write_bytes(note)
    assert monitor.reason() == "log-origin"
    again = TiledTestLog(folder)
    again.add(400)
    again.publish()
    assert monitor.reason() == "log-forked"


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>\n", b"\xff" * 100, b"a\n\n" * 100, b"x\n5\nAAAA\n\n\xe2\x80\x94 x AAAAAAAA\n"],
)
@pytest.mark.usefixtures("watched_log")
def test_malformed_checkpoint_is_refused(folder, monitor, data):
    (folder / "checkpoint").write_bytes(data)
    assert monitor.reason().startswith(("note-", "checkpoint-"))


def send_endless_body(handler):
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65_536)
    except OSError:
        pass


def send_cut_off_body(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"x")


def send_slowly(handler):
    """Send the head of a response one byte at a time."""
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            handler.wfile.write(b"x")
            time.sleep(0.01)
    except OSError:
        pass


def hang_up(handler):
    handler.wfile.close()


TRICKS = {
    "endless": send_endless_body,
    "huge by its header": build_responder(200, b"x", {"Content-Length": "99999999999"}),
    "inflates": build_responder(200, gzip.compress(bytes(1 << 26)), {"Content-Encoding": "gzip"}),
    "not gzip": build_responder(200, b"x", {"Content-Encoding": "gzip"}),
    "gzip and more": build_responder(200, gzip.compress(b"x") + b"y", {"Content-Encoding": "gzip"}),
    "another encoding": build_responder(200, b"x", {"Content-Encoding": "br"}),
    "cut off": send_cut_off_body,
    "hung up": hang_up,
    "not HTTP": lambda handler: handler.wfile.write(b"SSH-2.0\r\n"),
    "missing": build_responder(404),
    "broken": build_responder(500),
    "elsewhere": build_responder(302, b"", {"Location": "http://localhost:1/checkpoint"}),
    "another port": build_responder(302, b"", {"Location": "//127.0.0.1:1/checkpoint"}),
    "another scheme": build_responder(302, b"", {"Location": "https://127.0.0.1/"}),
    "nowhere": build_responder(302),
    "no address": build_responder(302, b"", {"Location": "http://[/"}),
}


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("path", ["/checkpoint", "/tile/entries/001.p/46", "/tile/0/001.p/46"])
def test_failed_fetch_gives_no_verdict(watched_log, server, monitor, trick, path):
    watched_log.add(1)
    watched_log.publish()
    server.tricks[path] = TRICKS[trick]
    before = monitor.path.read_bytes()
    with pytest.raises(Unreachable) as caught:
        monitor.look()
    assert server.url.rstrip("/") in str(caught.value)
    assert monitor.path.read_bytes() == before
    del server.tricks[path]
    assert monitor.look().outcome == "grown"


def test_slow_response_times_out(server, monitor, monkeypatch):
    monkeypatch.setattr(tile_reader, "_MAX_RESPONSE_SECONDS", 0.2)
    monitor.log = TiledLog(server.url)
    server.tricks["/checkpoint"] = send_slowly
    with pytest.raises(Unreachable, match="no complete response within"):
        monitor.look()


def test_redirects_on_the_same_host_are_followed(watched_log, folder, server, monitor):
    watched_log.add(1)
    watched_log.publish()
    (folder / "moved").write_bytes((folder / "checkpoint").read_bytes())
    server.tricks["/checkpoint"] = build_responder(307, b"", {"Location": "/moved"})
    assert monitor.look().outcome == "grown"


@pytest.mark.usefixtures("watched_log")
def test_busy_log_is_retried(folder, server, monitor):
    busy = [
        build_responder(503, b"", {"Retry-After": "0"}),
        build_responder(429, b"", {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    ]
    last = build_responder(200, (folder / "checkpoint").read_bytes())

    def send(handler):
        (busy.pop() if busy else last)(handler)

    server.tricks["/checkpoint"] = send
    assert monitor.look().outcome == "same"
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
def test_invalid_addresses_are_refused(url):
    with pytest.raises(UsageError):
        TiledLog(url)


# --- the state, and the command ---


@pytest.mark.usefixtures("watched_log")
def test_damaged_state_is_refused(monitor):
    state = json.loads(monitor.path.read_bytes())
    for change in (
        {"version": 2},
        {"keys": []},
        {"size": "x"},
        {"root": "AAAA"},
        {"pinned": "x"},
        {"receipt-key": "x"},
        {"note": 5},
    ):
        monitor.path.write_text(json.dumps({**state, **change}))
        with pytest.raises(UnreadableInput, match="not a state file of vacr log monitor"):
            monitor.look()
    for data in (b"", b"[]", b"{}", b"null", b"\xff", b"[" * 100_000):
        monitor.path.write_bytes(data)
        with pytest.raises(UnreadableInput):
            monitor.look()


def test_command_reports_growth_and_misbehaviour(watched_log, folder, server, tmp_path):
    arguments = ("log", "monitor", server.url, "--state", "s.json")
    done = vacr(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{ORIGIN}: consistent: 301 entries, first check; the log's key from now on: "
        f"{watched_log.vkey}\n"
    )
    assert (
        vacr(*arguments, cwd=tmp_path).stdout == f"{ORIGIN}: consistent: 301 entries, unchanged\n"
    )
    watched_log.rotate()
    known = watched_log.publish()
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
        "key": str(watched_log.vkey),
        "identity": watched_log.identity,
    }
    before = (tmp_path / "s.json").read_bytes()
    seen = publish_fork(watched_log, lambda entries: [*entries[:-1], b"another"])
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
    assert (done.returncode, "s.json is the state of another log; " in done.stderr) == (2, True)
    assert vacr(*arguments, "--key", "x", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("name", [".", "/", "there"])
def test_state_must_not_be_a_folder(tmp_path, name):
    (tmp_path / "there").mkdir()
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", name, cwd=tmp_path)
    assert done.returncode == 3
    assert "must be a file, not a folder" in done.stderr


def test_unreachable_log_is_reported(tmp_path):
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", "s.json", cwd=tmp_path)
    assert (
        done.returncode,
        "no response" in done.stderr,
        "\n  Try again later.\n" in done.stderr,
    ) == (4, True, True)
    assert not (tmp_path / "s.json").exists()


def test_missing_folder_of_the_state_is_reported(tmp_path):
    done = vacr("log", "monitor", "http://127.0.0.1:1/", "--state", "none/s.json", cwd=tmp_path)
    assert (done.returncode, "none/s.json: cannot lock the state file" in done.stderr) == (3, True)


def test_monitor_repeats_its_check(watched_log, folder, server, tmp_path):
    process = start(
        "log", "monitor", server.url, "--state", "s.json", "--interval", "1", cwd=tmp_path
    )
    try:
        assert "first check; the log's key from now on: " in process.stdout.readline()
        watched_log.add(1)
        watched_log.publish()
        while "302 entries" not in (line := process.stdout.readline()):
            assert "301 entries, unchanged" in line
        assert (
            vacr("log", "monitor", server.url, "--state", "s.json", cwd=tmp_path).returncode == 2
        ), "only one monitor can use a state"
        # A short outage does not end the monitor.
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
    publish_fork(watched_log, lambda entries: entries[:5])
    assert (
        vacr(
            "log", "monitor", server.url, "--state", "s.json", "--interval", "1", cwd=tmp_path
        ).returncode
        == 1
    )


def test_state_file_is_replaced_atomically(watched_log, monitor, monkeypatch):
    """A disk error while the state is written leaves the old state and no other file."""
    before = monitor.path.read_bytes()
    watched_log.add(1)
    watched_log.publish()

    def fail(_handle):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UnreadableInput, match="Input/output error"):
        monitor.look()
    monkeypatch.undo()
    assert monitor.path.read_bytes() == before
    assert sorted(path.name for path in monitor.path.parent.iterdir()) == ["served", "state.json"]
    assert monitor.look().outcome == OUTCOME_GROWN
