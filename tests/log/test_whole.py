"""All parts together: a log that is served, sealed into, monitored, witnessed and moved."""

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.log.authority import TlsAuthority
from tests.log.balancing import Balancer
from tests.log.commands import service as command_service
from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import statement, statements
from vacr.errors import InvalidStatement
from vacr.log.folder import create_log, open_log_folder
from vacr.log.fsck import run_fsck
from vacr.transparency.checkpoint import (
    VerifierKey,
    parse_signed_note,
    parse_verifier_key,
    verify_cosignature,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def outbox(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(
        "tests.log.commands.ENVIRONMENT",
        {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"},
    )


def test_session_is_registered_and_verified_elsewhere(tmp_path):
    assert vacr("log", "init", "mylog", cwd=tmp_path).returncode == 0
    assert vacr("key", "generate", "-o", "keys", cwd=tmp_path).returncode == 0
    sealing = ("seal", EXAMPLES / "claude-code.jsonl", "--key", "keys/signing.pem", "-o", "sealed/")
    with Running(tmp_path / "mylog") as service:
        done = vacr(*sealing, "--service", service.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    verifying = (
        "verify",
        "sealed/claude-code.acr.json",
        "--trust",
        "keys/signing.pub.pem",
        "--log-key",
    )
    for key in ("mylog", "mylog/receipt-keys.pem"):
        done = vacr(*verifying, key, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        log = r"✓ receipt: in the log of key [0-9a-f]{16}, which calls itself ni:///sha-256;"
        assert re.search(log, done.stdout)
    vacr("log", "init", "other", cwd=tmp_path)
    done = vacr(*verifying, "other", cwd=tmp_path)
    assert done.returncode == 1
    assert "no receipt is from a trusted log" in done.stderr
    assert vacr("log", "fsck", "mylog", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("mode", [(), ("--async",)])
def test_statement_is_registered_later(tmp_path, mode):
    create_log(str(tmp_path / "log"))
    (tmp_path / "a.cose").write_bytes(statement())
    with Running(tmp_path / "log") as service:
        url = service.url
    done = vacr("register", "a.cose", "--service", url, cwd=tmp_path)
    assert done.returncode == 4
    assert "outbox" in done.stderr
    with Running(tmp_path / "log", *mode) as service:
        items = list((tmp_path / "state").rglob("*.json"))
        for item in items:
            item.write_text(item.read_text().replace(url.rstrip("/"), service.url.rstrip("/")))
        done = vacr("register", "--pending", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert vacr("register", "--pending", cwd=tmp_path).returncode == 0
    assert run_fsck(open_log_folder(str(tmp_path / "log"))).size == 2
    assert len((tmp_path / "a.cose").read_bytes()) > len(statement())


def test_tls_and_client_certificates_are_checked(tmp_path):
    log = create_log(str(tmp_path / "log"))
    authority, stranger = TlsAuthority(tmp_path), TlsAuthority(tmp_path, "stranger")
    certificate, key = authority.certify("server")
    tls = ("--tls-cert", certificate, "--tls-key", key)
    (tmp_path / "a.cose").write_bytes(statement())
    with Running(log.path, *tls) as service:
        assert service.url.startswith("https://")
        register = ("register", "a.cose", "--service", service.url, "--ca")
        done = vacr(*register, stranger.path, cwd=tmp_path)
        assert done.returncode == 4
        assert vacr(*register, authority.path, cwd=tmp_path).returncode == 0
    with Running(log.path, *tls, "--client-ca", authority.path) as service:
        register = (
            "register",
            "a.cose",
            "--again",
            "--service",
            service.url,
            "--ca",
            authority.path,
        )
        assert vacr(*register, cwd=tmp_path).returncode == 4
        for whose, code in ((stranger, 4), (authority, 0)):
            client, secret = whose.certify("client")
            done = vacr(*register, "--client-cert", client, "--client-key", secret, cwd=tmp_path)
            assert done.returncode == code, done.stderr
        monitor = ("log", "monitor", service.url, "--state", "seen")
        done = vacr(*monitor, cwd=tmp_path)
        assert (done.returncode, "Add --ca" in done.stderr) == (4, True)
        done = vacr(*monitor, "--ca", authority.path, cwd=tmp_path)
        assert (done.returncode, "add --client-cert" in done.stderr) == (4, True)
        done = vacr(
            *monitor,
            "--ca",
            authority.path,
            "--client-cert",
            client,
            "--client-key",
            secret,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr


def wait_for_cosignature(service, size, key):
    """Wait for a published checkpoint with a witness's cosignature, and return its time."""
    while True:
        try:
            return verify_cosignature(
                parse_signed_note(service.wait_for_checkpoint(size)), parse_verifier_key(key)
            )
        except InvalidStatement as error:
            if error.reason != "note-unsigned":
                raise
            time.sleep(0.05)


def test_witness_cosigns_checkpoints(tmp_path):
    log = create_log(str(tmp_path / "log"))
    with Running(log.path) as service:
        key = service.announced["checkpoint-key"]
    with command_service("log", "witness", "witness", "--log", key, cwd=tmp_path) as witness:
        witness_info = witness.announced
        with Running(log.path, "--witness", witness_info["url"], witness_info["key"]) as service:
            for size in (2, 3, 4):
                service.post(statement())
                assert (
                    time.time() - 3600
                    < wait_for_cosignature(service, size, witness_info["key"])
                    <= time.time()
                )
                assert (log.public / "checkpoint").read_bytes() == service.get("/checkpoint")[2]
        assert vacr("log", "fsck", "log", cwd=tmp_path).returncode == 0
        with Running(
            log.path, "--witness", witness_info["url"], witness_info["key"]
        ) as service:  # it continues from the state of the witness
            service.post(statement())
            wait_for_cosignature(service, 5, witness_info["key"])
    with Running(
        log.path, "--witness", witness_info["url"], witness_info["key"]
    ) as service:  # existing cosignatures stay without the witness
        assert verify_cosignature(
            parse_signed_note(service.wait_for_checkpoint(5)),
            parse_verifier_key(witness_info["key"]),
        )
        assert service.stop() == (0, "")


def test_missed_cosignature_is_added_later(tmp_path):
    """The log has no new entry: it asks the witness again about the same checkpoint."""
    log = create_log(str(tmp_path / "log"))
    with Running(log.path) as service:
        service.post(statement())
        key = service.announced["checkpoint-key"]
    with (
        command_service("log", "witness", "w", "--log", key, cwd=tmp_path) as witness,
        Balancer() as way,
    ):
        witness_info = witness.announced
        with Running(log.path, "--witness", way.url, witness_info["key"]) as service:
            with pytest.raises(InvalidStatement, match="not cosigned"):
                verify_cosignature(
                    parse_signed_note(service.wait_for_checkpoint(2)),
                    parse_verifier_key(witness_info["key"]),
                )
            while len(way.calls) < 2:
                time.sleep(0.05)
            assert "vacr_cosignatures_missing 1" in service.get("/metrics")[2].decode()
            way.urls.append(witness_info["url"])
            assert wait_for_cosignature(service, 2, witness_info["key"])
            assert "vacr_cosignatures_missing 0" in service.get("/metrics")[2].decode()
            code, complaints = service.stop()
    assert (code, complaints.count("has not cosigned"), complaints.count("cosigns again")) == (
        0,
        1,
        1,
    )


def test_silent_witness_does_not_block_the_log(tmp_path):
    log = create_log(str(tmp_path / "log"))
    with Running(log.path) as service:
        key = service.announced["checkpoint-key"]
    silent = VerifierKey("silent.example.org", 4, bytes(range(32)))
    with (
        command_service("log", "witness", "w", "--log", key, cwd=tmp_path) as witness,
        Balancer(holds=True) as way,
    ):
        witness_info = witness.announced
        with Running(
            log.path,
            "--witness",
            way.url,
            str(silent),
            "--witness",
            witness_info["url"],
            witness_info["key"],
        ) as service:
            while not way.calls:
                time.sleep(0.05)
            for size in (2, 3):
                service.post(statement())
                assert wait_for_cosignature(
                    service, size, witness_info["key"]
                )  # of the witness that answers
            # The service ends before the witness times out, which would be reported.
            assert service.stop() == (0, "")
    assert run_fsck(log).findings.problems == []


def test_log_continues_without_its_witness(tmp_path):
    log = create_log(str(tmp_path / "log"))
    key = "witness.example.org+7c2c5e4f+BJ8DHCKPH7YtnXIfyvKOx0fFGBDCW0ydyYZY21hh1Z4b"
    named = VerifierKey("witness.example.org", 4, bytes(range(32)))
    assert key
    with Running(log.path, "--witness", "http://127.0.0.1:9/", str(named)) as service:
        assert service.post(statement())[0] == 201
        assert service.wait_for_checkpoint(2)
        code, complaints = service.stop()
        assert code == 0
        assert "witness witness.example.org has not cosigned" in complaints


def test_monitor_follows_a_served_log(tmp_path):
    log = create_log(str(tmp_path / "log"))
    watching = ("log", "monitor", "--state", "seen.json", "--format", "json")
    with Running(log.path) as service:
        for size in (2, 3):
            service.post(statement())
            service.wait_for_checkpoint(size)
            done = vacr(*watching, service.url, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        vacr("log", "rotate", "log", cwd=tmp_path)
        service.post(statement())
        service.wait_for_checkpoint(5)
        done = vacr(*watching, service.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["size"] >= 5


def test_monitor_detects_a_rolled_back_log(tmp_path):
    """An old copy of the whole folder is restored and extended. Its files do not show that, but the
    monitor notices.
    """
    log = create_log(str(tmp_path / "log"))
    watching = ("log", "monitor", "--state", "seen.json")
    with Running(log.path) as service:
        service.post(statement())
        service.wait_for_checkpoint(2)
    shutil.copytree(log.path, tmp_path / "backup")
    with Running(log.path) as service:
        for data in statements(3):
            service.post(data)
        service.wait_for_checkpoint(5)
        assert vacr(*watching, service.url, cwd=tmp_path).returncode == 0
    shutil.rmtree(log.path)
    (tmp_path / "backup").rename(log.path)
    assert run_fsck(log).findings.problems == []
    with Running(log.path) as service:
        service.wait_for_checkpoint(2)
        done = vacr(*watching, service.url, cwd=tmp_path)
        assert done.returncode == 1
        assert "shrunk" in done.stderr or "smaller" in done.stderr
        for data in statements(5):
            service.post(data)
        service.wait_for_checkpoint(7)
        done = vacr(*watching, service.url, cwd=tmp_path)
        assert done.returncode == 1
        assert list(tmp_path.glob("seen.json.evidence*"))
