"""The witness, as a separate local process, and its client."""

import hashlib
import http.client
import json
import signal
import sqlite3
import ssl
import stat
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from ipaddress import IPv4Address
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tests.log.commands import service, vacr
from tests.log.tiled_folder import ORIGIN, served
from tests.vectors.certificates import with_key_identifiers
from vacr.errors import InvalidStatement, Unreachable
from vacr.log.cosigning import (
    WitnessSizeDiffers,
    fetch_witness_checkpoint,
    request_cosignature,
)
from vacr.log.folder import create_log
from vacr.log.witness import CosignedCheckpoint, Witness, open_witness_folder
from vacr.signing.keys import encode_private_pem, generate_key
from vacr.transparency.checkpoint import (
    MAX_SUBMISSION_SIZE,
    NOTE_KEY_COSIGNATURE,
    Checkpoint,
    CheckpointSubmission,
    NoteSignature,
    SignedNote,
    build_verifier_key,
    cosign_checkpoint,
    parse_signed_note,
    parse_verifier_key,
    sign_checkpoint,
    sign_note_text,
    verify_checkpoint,
    verify_cosignature,
)
from vacr.transparency.tree import build_consistency_path, compute_root, hash_children, hash_leaf

EMPTY = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

SINCE, UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)


class Log:
    """A log that signs the checkpoint of any of its sizes, and proves consistency between them."""

    def __init__(self, origin=ORIGIN, text="entry"):
        self.origin, self.key = origin, Ed25519PrivateKey.generate()
        self.leaves = [hash_leaf(f"{text} {number}".encode()) for number in range(100)]

    @property
    def vkey(self):
        return build_verifier_key(self.origin, self.key.public_key())

    def hash_node(self, height, index):
        if not height:
            return self.leaves[index]
        return hash_children(
            self.hash_node(height - 1, 2 * index), self.hash_node(height - 1, 2 * index + 1)
        )

    def build_checkpoint(self, size):
        return Checkpoint(self.origin, size, compute_root(self.hash_node, size))

    def sign_note(self, size, key=None):
        return sign_checkpoint(self.build_checkpoint(size), key or self.key)

    def build_submission(self, old, new):
        return CheckpointSubmission(
            old, build_consistency_path(self.hash_node, old, new), self.sign_note(new)
        ).encode()


def post(url, body, method="POST"):
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request(method, "/add-checkpoint", body)
        reply = connection.getresponse()
        return reply.status, reply.headers["Content-Type"], reply.read()
    finally:
        connection.close()


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def running_witness(log, tmp_path):
    with service("log", "witness", "w/", "--log", log.vkey, "--port", 0, cwd=tmp_path) as process:
        process.url, process.vkey = (
            process.announced["url"],
            parse_verifier_key(process.announced["key"]),
        )
        yield process


def check_cosignature(running_witness, log, size, reply):
    status, kind, line = reply
    assert (status, kind) == (200, "text/plain; charset=utf-8")
    return verify_cosignature(parse_signed_note(log.sign_note(size) + line), running_witness.vkey)


def test_growing_log_is_cosigned(running_witness, log):
    before = int(time.time())
    times = [
        check_cosignature(
            running_witness, log, size, post(running_witness.url, log.build_submission(old, size))
        )
        for old, size in [(0, 5), (5, 5), (5, 8), (8, 77)]
    ]
    assert before <= times[0]
    assert times == sorted(times)


def test_each_refusal_has_its_status(running_witness, log):
    assert post(running_witness.url, log.build_submission(0, 5))[0] == 200
    proof = build_consistency_path(log.hash_node, 5, 9)
    other = Log(text="another")
    other.key = log.key
    stranger = Log("example.org/stranger")
    thief = Ed25519PrivateKey.generate()
    empty = sign_checkpoint(Checkpoint(ORIGIN, 0, EMPTY), log.key)
    false_line = log.sign_note(9) + NoteSignature(ORIGIN, log.vkey.id, bytes(64)).line.encode()
    other_name = SignedNote(
        log.build_checkpoint(9).text,
        (sign_note_text(log.build_checkpoint(9).text, "example.org/other", log.key),),
    ).encode()
    for status, body in [
        (400, b""),
        (400, b"garbage"),
        (400, b"\xff" * 1000),
        (400, b"old 5\n\nno note"),
        (400, log.build_submission(5, 9).replace(b"old 5", b"old 05")),
        (400, log.build_submission(5, 9).replace(b"old 5", b"old x")),
        (400, CheckpointSubmission(5, proof * 30, log.sign_note(9)).encode()),
        (400, CheckpointSubmission(5, [b"short"], log.sign_note(9)).encode()),
        (
            400,
            b"old 5\n\n"
            + SignedNote("text\n", (sign_note_text("text\n", ORIGIN, log.key),)).encode(),
        ),
        (400, CheckpointSubmission(10, [], log.sign_note(9)).encode()),
        (404, stranger.build_submission(0, 9)),
        (403, CheckpointSubmission(5, proof, log.sign_note(9, thief)).encode()),
        (403, CheckpointSubmission(5, proof, false_line).encode()),
        (403, CheckpointSubmission(5, proof, other_name).encode()),
        (
            403,
            CheckpointSubmission(5, proof, log.sign_note(9).replace(b"\n9\n", b"\n8\n")).encode(),
        ),
        (409, log.build_submission(0, 9)),
        (409, log.build_submission(4, 9)),
        (409, log.build_submission(6, 9)),
        (409, log.build_submission(4, 4)),
        (409, CheckpointSubmission(0, [], empty).encode()),
        (409, CheckpointSubmission(5, [], other.sign_note(5)).encode()),
        (422, CheckpointSubmission(5, [], log.sign_note(9)).encode()),
        (422, CheckpointSubmission(5, proof[:-1], log.sign_note(9)).encode()),
        (422, CheckpointSubmission(5, [*proof, bytes(32)], log.sign_note(9)).encode()),
        (422, CheckpointSubmission(5, proof[::-1], log.sign_note(9)).encode()),
        (422, CheckpointSubmission(5, proof, other.sign_note(9)).encode()),
        (
            422,
            CheckpointSubmission(
                5, build_consistency_path(other.hash_node, 5, 9), other.sign_note(9)
            ).encode(),
        ),
        (422, CheckpointSubmission(5, [bytes(32)], log.sign_note(5)).encode()),
    ]:
        found, kind, answer_text = post(running_witness.url, body)
        assert found == status, (body, answer_text)
        if status == 409:
            assert (kind, answer_text) == ("text/x.tlog.size", b"5\n")
    assert post(running_witness.url, None, "GET")[0] == 405
    # None of these requests changed the state.
    assert post(running_witness.url, log.build_submission(5, 9))[0] == 200


def test_first_checkpoint_must_have_no_proof(running_witness, log):
    nothing = CheckpointSubmission(
        0, [], sign_checkpoint(Checkpoint(ORIGIN, 0, EMPTY), log.key)
    ).encode()
    something = CheckpointSubmission(
        0, [], sign_checkpoint(Checkpoint(ORIGIN, 0, bytes(32)), log.key)
    ).encode()
    proven = CheckpointSubmission(0, [bytes(32)], log.sign_note(5)).encode()
    asked = [
        log.build_submission(3, 5),
        proven,
        something,
        nothing,
        nothing,
        something,
        proven,
        log.build_submission(0, 5),
        log.build_submission(0, 5),
    ]
    assert [post(running_witness.url, body)[0] for body in asked] == [
        409,
        422,
        422,
        200,
        200,
        409,
        422,
        200,
        409,
    ]
    assert post(running_witness.url, log.build_submission(3, 5))[2] == b"5\n"


def test_last_cosigned_checkpoint_is_served(running_witness, log):
    def fetch(origin):
        connection = http.client.HTTPConnection(urlsplit(running_witness.url).netloc, timeout=60)
        try:
            connection.request("GET", f"/{hashlib.sha256(origin.encode()).hexdigest()}/checkpoint")
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    assert fetch(log.origin)[0] == 404, "nothing was cosigned yet"
    for old, size in [(0, 5), (5, 8)]:
        line = post(running_witness.url, log.build_submission(old, size))[2]
        status, note = fetch(log.origin)
        assert (status, note) == (200, log.sign_note(size) + line)
        assert fetch_witness_checkpoint(running_witness.url, log.origin) == note
    assert fetch("example.org/stranger")[0] == 404
    with pytest.raises(Unreachable, match="it answered 404"):
        fetch_witness_checkpoint(running_witness.url, "example.org/stranger")


def test_fork_is_stored_as_evidence(running_witness, log, tmp_path):
    other = Log(text="another")
    other.key = log.key
    post(running_witness.url, log.build_submission(0, 5))
    for _ in range(2):
        post(running_witness.url, CheckpointSubmission(5, [], other.sign_note(5)).encode())
    (kept,) = (tmp_path / "w").glob("witness.evidence-*")
    found = json.loads(kept.read_bytes())
    assert (found["known"].encode(), found["seen"].encode()) == (
        log.sign_note(5),
        other.sign_note(5),
    )


def test_too_large_bodies_are_refused(running_witness, log):
    body = log.build_submission(0, 5)
    assert post(running_witness.url, body + b"x" * MAX_SUBMISSION_SIZE)[0] == 413
    connection = http.client.HTTPConnection(urlsplit(running_witness.url).netloc, timeout=60)
    try:
        connection.request("POST", "/add-checkpoint", (b"x" * 65_536 for _ in range(40)))
        assert connection.getresponse().status == 413
    except OSError:
        pass  # it did not read to the end
    finally:
        connection.close()
    assert post(running_witness.url, body)[0] == 200


def test_client_that_disconnects_does_no_harm(running_witness, log):
    for _ in range(3):
        connection = http.client.HTTPConnection(urlsplit(running_witness.url).netloc, timeout=60)
        connection.putrequest("POST", "/add-checkpoint")
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"old 5")
        connection.close()
    assert post(running_witness.url, log.build_submission(0, 5))[0] == 200


def test_state_survives_a_restart(log, tmp_path):
    arguments = ("log", "witness", "w/", "--log", log.vkey)
    with service(*arguments, cwd=tmp_path) as process:
        first = process.announced
        assert post(first["url"], log.build_submission(0, 5))[0] == 200
    with service(*arguments, cwd=tmp_path, ends=-signal.SIGKILL) as process:
        assert process.announced["key"] == first["key"]
        assert post(process.announced["url"], log.build_submission(0, 3)) == (
            409,
            "text/x.tlog.size",
            b"5\n",
        )
        assert post(process.announced["url"], log.build_submission(5, 9))[0] == 200
        process.kill()
    with service(*arguments, cwd=tmp_path) as process:
        assert post(process.announced["url"], log.build_submission(5, 9)) == (
            409,
            "text/x.tlog.size",
            b"9\n",
        )
    assert stat.S_IMODE((tmp_path / "w" / "witness.pem").stat().st_mode) == 0o600


def test_only_one_of_concurrent_updates_succeeds(running_witness, log):
    """Forty clients continue the same state: each cosigned tree continues the one cosigned before,
    or is the same.
    """
    assert post(running_witness.url, log.build_submission(0, 5))[0] == 200
    replies = []

    def ask(size):
        replies.append((size, post(running_witness.url, log.build_submission(5, size))))

    threads = [threading.Thread(target=ask, args=(6 + number % 20,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    good = {size for size, reply in replies if reply[0] == 200}
    assert len(good) == 1
    assert {reply[0] for _, reply in replies} == {200, 409}
    assert {reply[2] for _, reply in replies if reply[0] == 409} == {f"{good.pop()}\n".encode()}


def test_witnesses_of_one_folder_share_their_state(log, tmp_path):
    """Two processes share one state, and together never cosign two trees from it."""
    arguments = ("log", "witness", "w/", "--log", log.vkey)
    with service(*arguments, cwd=tmp_path) as one, service(*arguments, cwd=tmp_path) as two:
        urls = [one.announced["url"], two.announced["url"]]
        assert post(urls[0], log.build_submission(0, 1))[0] == 200
        replies = []

        def ask(url, step):
            for size in range(1 + step, 60, step):
                status, _, answer_text = post(url, log.build_submission(size - step, size))
                replies.append((size, status, answer_text))

        threads = [
            threading.Thread(target=ask, args=(url, step))
            for url, step in zip(urls, (1, 2), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status for _, status, _ in replies} <= {200, 409}
        largest = max(size for size, status, _ in replies if status == 200)
        assert post(urls[1], log.build_submission(0, 1))[2] == f"{largest}\n".encode()


def test_concurrent_change_of_the_state_is_detected(tmp_path):
    folder = open_witness_folder(tmp_path / "w")
    try:
        first, second = (
            CosignedCheckpoint(5, bytes(32), 1, b"a"),
            CosignedCheckpoint(6, bytes(32), 2, b"b"),
        )
        assert folder.store.replace(ORIGIN, None, first)
        assert not folder.store.replace(ORIGIN, None, second)
        assert folder.store.replace(ORIGIN, first, second)
        assert not folder.store.replace(ORIGIN, first, CosignedCheckpoint(7, bytes(32), 3, b"c"))
        assert folder.store.get_last(ORIGIN) == second
    finally:
        folder.store.close()


def test_times_never_go_back(log, tmp_path):
    folder = open_witness_folder(tmp_path / "w")
    try:
        clock = iter([1000.9, 900, 950, 1001, -5])
        witness = Witness(folder, [log.vkey], lambda: next(clock))
        times = []
        for old, size in [(0, 5), (5, 5), (5, 6), (6, 7), (7, 8)]:
            line = witness.handle_submission(log.build_submission(old, size)).text.encode()
            times.append(
                verify_cosignature(parse_signed_note(log.sign_note(size) + line), folder.public)
            )
        assert times == [1000, 1000, 1000, 1001, 1001]
    finally:
        folder.store.close()


def test_thief_of_a_replaced_key_cannot_lead_the_witness_away(log, tmp_path):
    stolen, thief = log.key, Log(text="entry")
    folder = open_witness_folder(tmp_path / "w")
    try:
        old = log.vkey
        log.key = Ed25519PrivateKey.generate()
        thief.key, thief.leaves = stolen, [*log.leaves[:6], *Log(text="forged").leaves]
        witness = Witness(folder, [old, log.vkey])
        assert witness.handle_submission(thief.build_submission(0, 5)).status == 200
        assert witness.handle_submission(log.build_submission(5, 6)).status == 200
        for size in (6, 7):
            refused = witness.handle_submission(thief.build_submission(6, size))
            assert refused.status == 403
            assert "the log has replaced this key" in refused.text
        assert witness.handle_submission(log.build_submission(6, 7)).status == 200
        # Without the old key, the last checkpoint may be under a key that is not known any more.
        log.key = Ed25519PrivateKey.generate()
        witness = Witness(folder, [log.vkey])
        assert witness.handle_submission(log.build_submission(7, 8)).status == 200
    finally:
        folder.store.close()


def test_new_key_of_a_log_is_accepted(log, tmp_path):
    old = log.vkey
    notes_before = log.build_submission(0, 5)
    log.key = Ed25519PrivateKey.generate()
    second = Log("example.org/second")
    with service(
        "log", "witness", "w/", "--log", old, "--log", log.vkey, "--log", second.vkey, cwd=tmp_path
    ) as process:
        url = process.announced["url"]
        assert post(url, notes_before)[0] == 200
        assert post(url, log.build_submission(5, 9))[0] == 200
        assert post(url, second.build_submission(0, 3))[0] == 200, "each log is on its own"


def test_witness_ends_on_a_disk_error(log, tmp_path):
    """A checkpoint that cannot be stored is not cosigned, and the witness ends with the reason."""
    arguments = ("log", "witness", "w/", "--log", log.vkey)
    with service(
        *arguments, cwd=tmp_path, ends=3, says="the database of the witness failed"
    ) as process:
        assert post(process.announced["url"], log.build_submission(0, 5))[0] == 200
        with closing(sqlite3.connect(tmp_path / "w" / "witness.db")) as database, database:
            database.execute("DROP TABLE logs")
        assert post(process.announced["url"], log.build_submission(5, 9))[0] == 500
        process.wait()


# --- the folder and the command ---


def test_lost_state_is_detected(log, tmp_path):
    arguments = ("log", "witness", "w/", "--log", log.vkey)
    with service(*arguments, cwd=tmp_path):
        pass
    (tmp_path / "w" / "witness.db").rename(tmp_path / "away")
    done = vacr(*arguments, cwd=tmp_path)
    assert (done.returncode, "has lost its database" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ((), 2, "--log"),
        (("--log", "x"), 2, "not the key of a log or witness"),
        (("--log", "KEY", "--name", "a b"), 2, "cannot be the name of a key"),
        (("--log", "KEY", "--tls-key", "k.pem"), 2, "--tls-cert"),
        (("--log", "KEY", "--tls-key", "k.pem", "--tls-cert", "c.pem"), 3, "c.pem"),
        (("--log", "KEY", "--host", "192.0.2.1"), 2, "cannot listen"),
        (("--log", "KEY", "--host", "no such host"), 2, "cannot listen"),
        (("--log", "WITNESS"), 2, "not the key of a log"),
    ],
)
def test_refused_arguments_are_explained(log, tmp_path, arguments, exit_code, message):
    named = {
        "KEY": str(log.vkey),
        "WITNESS": str(build_verifier_key("w", log.key.public_key(), NOTE_KEY_COSIGNATURE)),
    }
    done = vacr(
        "log",
        "witness",
        "w/",
        *(named.get(argument, argument) for argument in arguments),
        cwd=tmp_path,
    )
    assert done.returncode == exit_code
    assert message in done.stderr


def test_folder_of_a_log_is_refused(log, tmp_path):
    create_log(str(tmp_path / "log"))
    done = vacr("log", "witness", "log/", "--log", log.vkey, cwd=tmp_path)
    assert (done.returncode, "log contains a log" in done.stderr) == (2, True)
    assert not (tmp_path / "log" / "witness.db").exists()


def test_name_and_key_stay(log, tmp_path):
    arguments = ("log", "witness", "w/", "--log", log.vkey)
    with service(*arguments, "--name", "example.org/w1", cwd=tmp_path) as process:
        assert process.announced["key"].startswith("example.org/w1+")
    assert "is named example.org/w1" in vacr(*arguments, "--name", "other", cwd=tmp_path).stderr
    (tmp_path / "w" / "witness.pem").chmod(0o644)
    assert "other users can read" in vacr(*arguments, cwd=tmp_path).stderr
    (tmp_path / "w" / "witness.pem").chmod(0o600)
    (tmp_path / "w" / "witness.vkey").write_text(
        f"{build_verifier_key('x', log.key.public_key(), NOTE_KEY_COSIGNATURE)}\n"
    )
    assert vacr(*arguments, cwd=tmp_path).returncode == 3


def test_ctrl_c_ends_the_witness_cleanly(log, tmp_path):
    with service("log", "witness", "w/", "--log", log.vkey, cwd=tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_busy_port_is_reported(running_witness, log, tmp_path):
    done = vacr(
        "log",
        "witness",
        "v/",
        "--log",
        log.vkey,
        "--port",
        urlsplit(running_witness.url).port,
        cwd=tmp_path,
    )
    assert (done.returncode, "Choose another --port" in done.stderr) == (2, True)


# --- the client ---


def test_client_gets_cosignatures(running_witness, log):
    line = request_cosignature(log.sign_note(5), 0, [], running_witness.url, running_witness.vkey)
    assert verify_cosignature(parse_signed_note(log.sign_note(5) + line), running_witness.vkey)
    with pytest.raises(WitnessSizeDiffers) as caught:
        request_cosignature(log.sign_note(9), 0, [], running_witness.url, running_witness.vkey)
    old = caught.value.size
    assert old == 5
    note = log.sign_note(9) + request_cosignature(
        log.sign_note(9),
        old,
        build_consistency_path(log.hash_node, old, 9),
        running_witness.url,
        running_witness.vkey,
    )
    assert verify_checkpoint(note, log.vkey) == log.build_checkpoint(9)
    other = Log(text="another")
    other.key = log.key
    for given in (
        (other.sign_note(9), 9, []),
        (other.sign_note(12), 9, build_consistency_path(other.hash_node, 9, 12)),
    ):
        with pytest.raises(
            InvalidStatement, match="has seen a different history of this log"
        ) as refused:
            request_cosignature(*given, running_witness.url, running_witness.vkey)
        assert refused.value.reason == "witness-refused"
    with pytest.raises(Unreachable, match="404"):
        request_cosignature(
            Log("example.org/stranger").sign_note(5),
            0,
            [],
            running_witness.url,
            running_witness.vkey,
        )
    stranger = build_verifier_key("w", log.key.public_key(), NOTE_KEY_COSIGNATURE)
    with pytest.raises(InvalidStatement, match="lacks a valid cosignature"):
        request_cosignature(log.sign_note(9), 9, [], running_witness.url, stranger)


def build_responder(status, body, kind="text/plain"):
    def send(handler):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return send


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (200, b"", InvalidStatement),
        (200, b"garbage\n", InvalidStatement),
        (200, b"\xff", InvalidStatement),
        (200, "FALSE", InvalidStatement),
        (200, "OTHERS", InvalidStatement),
        (200, b"x" * (1 << 17), Unreachable),
        (409, b"", Unreachable),
        (409, b"05\n", Unreachable),
        (409, b"\xff\n", Unreachable),
        (409, b"7\n", WitnessSizeDiffers),
        (409, b"3\n", InvalidStatement),
        (422, b"no", InvalidStatement),
        (403, b"no\x1b[2J", Unreachable),
        (302, b"", Unreachable),
        (500, b"", Unreachable),
    ],
)
def test_invalid_responses_of_witnesses_are_refused(log, tmp_path, status, body, error):
    key = Ed25519PrivateKey.generate()
    trusted = build_verifier_key("w", key.public_key(), NOTE_KEY_COSIGNATURE)
    if body == "FALSE":
        body = cosign_checkpoint(log.build_checkpoint(6).text, 5, "w", key).line.encode()
    elif body == "OTHERS":
        body = cosign_checkpoint(log.build_checkpoint(5).text, 5, "w", log.key).line.encode()
    with served(tmp_path) as server:
        server.tricks["/add-checkpoint"] = build_responder(status, body)
        with pytest.raises(error) as caught:
            request_cosignature(log.sign_note(5), 3, [], server.url, trusted)
    assert type(caught.value) is error
    assert "\x1b" not in str(caught.value)


def test_only_cosignatures_of_the_witness_are_returned(log, tmp_path):
    key = Ed25519PrivateKey.generate()
    own = cosign_checkpoint(log.build_checkpoint(5).text, 5, "w", key).line.encode()
    others = cosign_checkpoint(log.build_checkpoint(5).text, 5, "v", log.key).line.encode()
    with served(tmp_path) as server:
        server.tricks["/add-checkpoint"] = build_responder(200, others + own + others)
        assert (
            request_cosignature(
                log.sign_note(5),
                3,
                [],
                server.url,
                build_verifier_key("w", key.public_key(), NOTE_KEY_COSIGNATURE),
            )
            == own
        )


# --- TLS ---


def write_certified_key(folder, name, above=None):
    """Write a key and its certificate, by an authority or self-signed; return the issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, signer = above or (called, key)
    builder = x509.CertificateBuilder(
        issuer, called, key.public_key(), x509.random_serial_number(), SINCE, UNTIL
    )
    builder = builder.add_extension(x509.BasicConstraints(above is None, None), critical=True)
    usage = x509.KeyUsage(True, False, False, False, False, above is None, False, False, False)
    builder = with_key_identifiers(builder.add_extension(usage, critical=True), key, signer)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
    )
    (folder / f"{name}.pem").write_bytes(
        builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)
    )
    (folder / f"{name}.key").write_bytes(encode_private_pem(key))
    return called, key


def test_tls_checks_certificates_on_both_sides(log, tmp_path):
    authority = write_certified_key(tmp_path, "authority")
    for name in ("server", "client"):
        write_certified_key(tmp_path, name, authority)
    write_certified_key(tmp_path, "stranger")
    tls = ("--tls-cert", "server.pem", "--tls-key", "server.key", "--client-ca", "authority.pem")
    with service("log", "witness", "w/", "--log", log.vkey, *tls, cwd=tmp_path) as process:
        url = process.announced["url"]
        assert url.startswith("https://127.0.0.1:")

        def status(who):
            context = ssl.create_default_context(cafile=tmp_path / "authority.pem")
            if who is not None:
                context.load_cert_chain(tmp_path / f"{who}.pem", tmp_path / f"{who}.key")
            connection = http.client.HTTPSConnection(
                urlsplit(url).netloc, timeout=60, context=context
            )
            try:
                connection.request("POST", "/add-checkpoint", log.build_submission(0, 5))
                return connection.getresponse().status
            finally:
                connection.close()

        assert status("client") == 200
        for who in (None, "stranger"):
            with pytest.raises((OSError, http.client.HTTPException)):
                status(who)
        # A client without the authority's certificate refuses the server.
        with pytest.raises(Unreachable, match="the witness does not answer"):
            request_cosignature(
                log.sign_note(9), 5, [], url, parse_verifier_key(process.announced["key"])
            )


def test_encrypted_tls_key_is_refused_without_a_prompt(log, tmp_path):
    write_certified_key(tmp_path, "server")
    (tmp_path / "server.key").write_bytes(encode_private_pem(generate_key("es256"), b"secret"))
    done = vacr(
        "log",
        "witness",
        "w/",
        "--log",
        log.vkey,
        "--tls-cert",
        "server.pem",
        "--tls-key",
        "server.key",
        cwd=tmp_path,
    )
    assert (done.returncode, "cannot set up TLS" in done.stderr) == (3, True)
