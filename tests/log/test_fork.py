"""Forks that a witness proves, refusals that prove nothing, and witnessed heads on disk."""

import json
import shutil
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.log.commands import service as command_service
from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import entries, statement
from tests.log.test_witness import build_responder
from tests.log.tiled_folder import served
from vacr.log.folder import create_log, rotate_log_keys
from vacr.log.fork import ForkGuard, find_fork
from vacr.log.fsck import run_fsck
from vacr.signing.keys import parse_private_key
from vacr.transparency.checkpoint import (
    NOTE_KEY_COSIGNATURE,
    Checkpoint,
    build_verifier_key,
    parse_checkpoint,
    parse_signed_note,
    parse_verifier_key,
    sign_checkpoint,
)


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"), origin="log.example")


def read_checkpoint_key(log):
    (path,) = (log.path / "keys").glob("checkpoint-*.pem")
    return parse_private_key(path.read_bytes())


def append(log, count):
    with closing(log.ledger()) as ledger:
        ledger.append(entries(count))


@contextmanager
def witness_of(log, tmp_path, name="w"):
    key = build_verifier_key("log.example", read_checkpoint_key(log).public_key())
    with command_service("log", "witness", name, "--log", key, cwd=tmp_path) as process:
        yield process.announced


def serve(log, witness=None):
    return Running(log.path, *(("--witness", witness["url"], witness["key"]) if witness else ()))


def wait_for_witness(log):
    """Wait until the witness's last checkpoint is stored, and return it."""
    while not list(log.witnessed.glob("*.checkpoint")):
        time.sleep(0.05)
    (path,) = log.witnessed.glob("*.checkpoint")
    return path


def wait_for_health(running, status):
    while True:
        found, _, body = running.get("/health")
        if found == status:
            return json.loads(body)
        time.sleep(0.05)


def wait_for_size(path, size):
    while parse_checkpoint(parse_signed_note(path.read_bytes()).text).size < size:
        time.sleep(0.05)


def set_back(log, tmp_path):
    """Restore an old copy of the whole folder."""
    shutil.rmtree(log.path)
    shutil.copytree(tmp_path / "backup", log.path)


def check_stopped(running):
    """Check that the service issues no receipt in any way, and still shows its checkpoint."""
    status, problem = running.post_refused(statement())
    assert status == 503
    assert "a witness proved a fork" in problem[-2]
    for path in ("/entries/0", "/entries/0/statement"):
        assert running.get(path)[0] == 503
    running.wait_for_checkpoint(1)
    assert "vacr_forked 1" in running.get("/metrics")[2].decode()


def test_database_set_back_is_proven_by_a_witness(log, tmp_path):
    """The whole folder is an older copy, so that only the witness knows the lost entries."""
    shutil.copytree(log.path, tmp_path / "backup")
    with witness_of(log, tmp_path) as witness:
        with serve(log, witness) as running:
            for _ in range(3):
                running.post(statement())
            wait_for_size(wait_for_witness(log), 4)
            assert running.get("/health")[0] == 200
        set_back(log, tmp_path)
        with serve(log, witness) as running:
            health = wait_for_health(running, 503)
            assert health["status"] == "failing"
            assert "signed a tree of 4 entries, but has only 1" in health["fork"]
            check_stopped(running)
            _, complaints = running.stop()
            assert "a witness proved a fork" in complaints
    evidence = json.loads((log.path / "fork.json").read_bytes())
    assert evidence["witness"] == witness["key"]
    assert parse_checkpoint(parse_signed_note(evidence["seen"].encode()).text).size == 4


def test_continued_old_copy_is_proven_by_a_witness(log, tmp_path):
    shutil.copytree(log.path, tmp_path / "backup")
    with witness_of(log, tmp_path) as witness:
        with serve(log, witness) as running:
            for _ in range(3):
                running.post(statement())
            wait_for_size(wait_for_witness(log), 4)
        set_back(log, tmp_path)
        append(log, 9)  # other entries in the place of the lost ones
        with serve(log, witness) as running:
            health = wait_for_health(running, 503)
            assert "signed two different trees of 4 entries" in health["fork"]
            check_stopped(running)


def test_fork_survives_a_restart_until_the_operator_clears_it(log):
    append(log, 3)
    guard = ForkGuard(log.path)
    key = build_verifier_key("w", read_checkpoint_key(log).public_key(), NOTE_KEY_COSIGNATURE)
    guard.report("two trees", key, b"seen", b"own")
    with serve(log) as running:
        assert "two trees" in wait_for_health(running, 503)["fork"]
        check_stopped(running)
        _, complaints = running.stop()
        assert "fork.json" in complaints
    assert any("a witness proved a fork" in problem for problem in run_fsck(log).findings.problems)
    (log.path / "fork.json").rename(log.path.parent / "kept.json")
    with serve(log) as running:
        assert running.get("/health")[0] == 200
        assert running.post(statement())[0] == 201


def test_damaged_fork_file_still_stops_the_log(log):
    (log.path / "fork.json").write_text("{")
    assert "cannot be read" in str(ForkGuard(log.path).fork)
    with serve(log) as running:
        assert running.get("/health")[0] == 503


def test_first_proof_of_a_fork_is_kept(log):
    guard = ForkGuard(log.path)
    key = build_verifier_key("w", read_checkpoint_key(log).public_key(), NOTE_KEY_COSIGNATURE)
    guard.report("first", key, b"1", b"own")
    guard.report("second", key, b"2", b"own")
    assert json.loads((log.path / "fork.json").read_bytes())["message"] == "first"


def test_fork_that_cannot_be_stored_is_logged_with_both_checkpoints(log, caplog):
    guard = ForkGuard(log.path / "gone")
    key = build_verifier_key("w", read_checkpoint_key(log).public_key(), NOTE_KEY_COSIGNATURE)
    guard.report("two trees", key, b"their checkpoint", b"own checkpoint")
    text = caplog.records[-1].getMessage()
    assert "issues no receipts, but a restart would forget this" in text
    assert "docs/witness-and-monitor.md" in text
    assert text.endswith("their checkpoint\nown checkpoint")


# --- Refusals that prove nothing ---


def build_evidence(log, case):
    """Return what a witness shows as its last checkpoint."""
    key = read_checkpoint_key(log)
    with closing(log.reader()) as reader:
        head = reader.head().head
    own = Checkpoint("log.example", head.size, head.root)
    other_key = Ed25519PrivateKey.generate()
    return {
        "nothing": None,
        "garbage": b"garbage",
        "our own checkpoint": sign_checkpoint(own, key),
        "a checkpoint under another key": sign_checkpoint(replace(own, root=bytes(32)), other_key),
        "a checkpoint of another log": sign_checkpoint(replace(own, origin="other.example"), key),
        "a changed checkpoint": sign_checkpoint(own, key).replace(
            f"\n{head.size}\n".encode(), f"\n{head.size + 5}\n".encode()
        ),
    }[case]


@pytest.mark.parametrize("status", [409, 422])
@pytest.mark.parametrize(
    "case",
    [
        "nothing",
        "garbage",
        "our own checkpoint",
        "a checkpoint under another key",
        "a checkpoint of another log",
        "a changed checkpoint",
    ],
)
def test_refusal_without_proof_only_warns(log, tmp_path, case, status):
    append(log, 3)
    key = build_verifier_key("w", Ed25519PrivateKey.generate().public_key(), NOTE_KEY_COSIGNATURE)
    evidence = build_evidence(log, case)
    path = f"/{sha256(b'log.example').hexdigest()}/checkpoint"
    with served(tmp_path) as server:
        server.tricks["/add-checkpoint"] = build_responder(
            status, b"0\n" if status == 409 else b"no"
        )
        if evidence is not None:
            server.tricks[path] = build_responder(200, evidence)
        with serve(log, {"url": server.url, "key": str(key)}) as running:
            while path not in server.asked:
                time.sleep(0.05)
            assert running.post(statement())[0] == 201
            assert running.get("/health")[0] == 200
            _, complaints = running.stop()
    assert "has not cosigned" in complaints
    assert not (log.path / "fork.json").exists()


@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_chunk_of_negative_size_from_a_witness_does_not_end_the_requests(log, tmp_path, size):
    """The library reads -1 bytes without a limit, and -5 bytes raise an error of another kind."""
    append(log, 3)
    key = build_verifier_key("w", Ed25519PrivateKey.generate().public_key(), NOTE_KEY_COSIGNATURE)
    path = f"/{sha256(b'log.example').hexdigest()}/checkpoint"

    def send_negative_chunk(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(size + b"\r\n" + bytes(1 << 20))

    with served(tmp_path) as server:
        server.tricks["/add-checkpoint"] = build_responder(422, b"no")
        server.tricks[path] = send_negative_chunk
        with serve(log, {"url": server.url, "key": str(key)}) as running:
            while server.asked.count(path) < 2:
                time.sleep(0.05)
            assert running.get("/health")[0] == 200
            _, complaints = running.stop()
    assert "gave no proof of a fork" in complaints
    assert "chunk of negative size" in complaints


def test_checkpoint_under_our_key_from_a_hostile_witness_stops_the_log(log, tmp_path):
    """Our own signature is the proof, whoever shows it."""
    append(log, 3)
    forged = sign_checkpoint(Checkpoint("log.example", 4, bytes(32)), read_checkpoint_key(log))
    key = build_verifier_key("w", Ed25519PrivateKey.generate().public_key(), NOTE_KEY_COSIGNATURE)
    with served(tmp_path) as server:
        server.tricks["/add-checkpoint"] = build_responder(422, b"no")
        server.tricks[f"/{sha256(b'log.example').hexdigest()}/checkpoint"] = build_responder(
            200, forged
        )
        with serve(log, {"url": server.url, "key": str(key)}) as running:
            wait_for_health(running, 503)
            check_stopped(running)


def test_replaced_key_proves_nothing_about_later_trees(log):
    """Somebody who stole a replaced key cannot stop the log with it."""
    append(log, 3)
    old_key = read_checkpoint_key(log)
    rotate_log_keys(log)
    append(log, 5)
    new_key = read_checkpoint_key(log)
    with closing(log.reader()) as reader:

        def find(size, key):
            return find_fork(
                sign_checkpoint(Checkpoint("log.example", size, bytes(32)), key), reader
            )

        for size in (1, 4, 5):
            assert find(size, old_key), "the key was current then"
        for size in (6, 10, 11):
            assert find(size, old_key) is None
            assert find(size, new_key)
        assert find(5, new_key)
        assert find(4, new_key) is None
        assert find(0, old_key) is None


# --- Witnessed heads ---


def test_cosigned_checkpoints_are_stored_and_checked(log, tmp_path):
    with witness_of(log, tmp_path) as witness, serve(log, witness) as running:
        running.post(statement())
        path = wait_for_witness(log)
        wait_for_size(path, 2)
    note = parse_signed_note(path.read_bytes())
    assert note.blobs(parse_verifier_key(witness["key"]))
    assert run_fsck(log).findings.problems == []
    other = Checkpoint("log.example", 2, bytes(32))
    path.write_bytes(sign_checkpoint(other, read_checkpoint_key(log)))
    (problem,) = run_fsck(log).findings.problems
    assert "a witness cosigned another tree" in problem
    done = vacr("log", "serve", "log", "--port", 0, cwd=tmp_path)
    assert done.returncode == 1
    assert "the database lacks its root" in done.stderr


def test_database_older_than_a_cosigned_checkpoint_is_refused(log, tmp_path):
    """The published checkpoint is gone, and the cosigned one still knows the lost entries."""
    shutil.copy(log.path / "log.db", tmp_path / "old.db")
    with witness_of(log, tmp_path) as witness, serve(log, witness) as running:
        running.post(statement())
        wait_for_size(wait_for_witness(log), 2)
    shutil.rmtree(log.public)
    for name in ("log.db-wal", "log.db-shm"):
        (log.path / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "old.db", log.path / "log.db")
    done = vacr("log", "serve", "log", "--port", 0, cwd=tmp_path)
    assert done.returncode == 1
    assert "the database is an older copy" in done.stderr
    assert any("older copy" in problem for problem in run_fsck(log).findings.problems)


def test_keys_that_others_can_read_are_found(log, tmp_path):
    keys = sorted((log.path / "keys").glob("*.pem"))
    for path in keys:
        path.chmod(0o644)
        (problem,) = run_fsck(log).findings.problems
        assert f"other users can read {path}" in problem
        path.chmod(0o600)
    (log.path / "keys").chmod(0o770)
    (problem,) = run_fsck(log).findings.problems
    assert "other users can replace the keys" in problem
    done = vacr("log", "fsck", "log", cwd=tmp_path)
    assert done.returncode == 1
    (log.path / "keys").chmod(0o700)
    (log.path / "log.json").chmod(0o644)  # it names no database, so it has no password
    assert run_fsck(log).findings.problems == []
    (log.path / "log.json").write_text('{"database": "postgresql://vacr:secret@db/log"}')
    (problem,) = run_fsck(log).findings.problems
    assert "log.json" in problem
    (log.path / "log.json").write_text('{"database": null}')
    for path in keys:
        path.unlink()
    result = run_fsck(log)
    assert result.findings.problems == []
    assert all("key is missing" in remark for remark in result.remarks)
