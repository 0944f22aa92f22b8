"""The service over HTTP, as its clients see it: a real process for each test."""

import base64
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime

import cbor2
import pytest

from tests.log.running import Running
from tests.log.statements import SIGNER, statement, statements
from tests.secret_files import write_secret
from vacr.log.admission import Problem, RateLimiter
from vacr.log.folder import create_log, rotate_log_keys
from vacr.log.fsck import run_fsck
from vacr.signing.cose import Sign1, encode_protected_header, encode_sig_structure, parse_sign1
from vacr.signing.keys import (
    KeySigner,
    compute_thumbprint,
    compute_thumbprint_uri,
    encode_public_pem,
    generate_key,
    parse_public_keys,
)
from vacr.signing.statement import StatementClaims, sign
from vacr.transparency.checkpoint import parse_verifier_key, verify_checkpoint
from vacr.transparency.receipt import build_log_entry, decode_entry_bundle
from vacr.transparency.tree import compute_root, hash_children, hash_leaf
from vacr.verification.receipts import check_receipt
from vacr.verification.trust_store import ROLE_SIGNER, TrustedParty, TrustStore
from vacr.verification.trust_store_file import format_trust_store

TITLE, DETAIL = -1, -2


def verify_receipt(service, given, receipt):
    """Verify a receipt with the keys that the service publishes."""
    status, headers, body = service.get("/.well-known/scitt-keys")
    assert (status, headers["content-type"]) == (200, "application/cbor")
    return check_receipt(parse_sign1(given), receipt, parse_public_keys(body), datetime.now(UTC))


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"), origin="example.org/log")


@pytest.fixture
def service(log):
    with Running(log.path) as running:
        yield running


def test_statement_gets_a_receipt(service, log):
    given = statement()
    status, headers, receipt = service.post(given)
    assert (status, headers["content-type"]) == (201, "application/cose")
    logged = verify_receipt(service, given, receipt)
    assert (logged.index, logged.size, logged.subject, logged.issuer) == (
        1,
        2,
        "example.org/log",
        service.announced["identity"],
    )
    name = hash_leaf(build_log_entry(parse_sign1(given))).hex()
    for path in (
        headers["location"],
        f"/entries/{name}",
        "/entries/1",
        "/entries/1?api-version=2026-03-26",
    ):
        status, found, again = service.get(path)
        assert (status, found["content-type"], again) == (200, "application/cose", receipt)
    status, _, transparent = service.get(f"{headers['location']}/statement")
    assert (status, parse_sign1(transparent).unprotected) == (200, {394: [receipt]})
    assert build_log_entry(parse_sign1(transparent)) == build_log_entry(parse_sign1(given))
    assert service.stop() == (0, "")
    assert run_fsck(log).findings.problems == []


def test_repeated_statement_keeps_its_entry(service):
    first, second = statements(2)
    _, _, receipt = service.post(first)
    service.post(second)
    # Changes of the unsigned part do not make it another statement.
    message = parse_sign1(first)
    other = Sign1(
        message.protected_bytes,
        message.protected,
        {394: [receipt]},
        message.payload,
        message.signature,
    ).encode()
    for again in (first, other):
        status, _, body = service.post(again)
        assert (status, verify_receipt(service, first, body).index) == (201, 1)
    assert json.loads(service.get("/health")[2])["size"] == 3


def test_query_parameters_are_ignored(service):
    assert service.post(statement(), "/entries?api-version=1")[0] == 201
    assert service.get("/checkpoint?x=1")[0] in (200, 503)


def test_concurrent_statements_are_registered(service, log):
    given = statements(200)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(service.post, given))
    assert [status for status, _, _ in answers] == [201] * 200
    positions = {
        verify_receipt(service, statement, receipt).index
        for statement, (_, _, receipt) in zip(given, answers, strict=True)
    }
    assert positions == set(range(1, 201))
    service.stop()
    assert run_fsck(log).findings.problems == []


def test_keys_are_served_by_name(service):
    (key,) = cbor2.loads(service.get("/.well-known/scitt-keys")[2])
    name = base64.urlsafe_b64encode(key[2]).rstrip(b"=").decode()
    status, headers, body = service.get(f"/.well-known/scitt-keys/{name}")
    assert (status, headers["content-type"], cbor2.loads(body)) == (200, "application/cbor", key)
    assert (key[1], key[3], key[-1]) == (2, -7, 1)  # EC2, ES256, P-256
    status, headers, body = service.get("/.well-known/scitt-keys/AAAA")
    assert (status, cbor2.loads(body)[TITLE]) == (404, "No such key")


def change_statement(change):
    def build():
        return change(statement())

    return build


def remove_payload():
    return statement(profile="detached")


def sign_headers(headers, payload=b"x"):
    protected = encode_protected_header(headers)
    return Sign1(
        protected, headers, {}, payload, SIGNER.sign(encode_sig_structure(protected, payload))
    ).encode()


CLAIMS = {15: {1: "me", 2: "it"}}
REFUSED = {
    "garbage": (lambda: b"garbage", 400, "Malformed Statement"),
    "empty": (lambda: b"", 400, "Malformed Statement"),
    "trailing bytes": (change_statement(lambda data: data + b"\x00"), 400, "Malformed Statement"),
    "indefinite": (lambda: b"\xd2\x9f\xff", 400, "Malformed Statement"),
    "detached": (remove_payload, 400, "Payload Missing"),
    "signature": (
        change_statement(lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        400,
        "Rejected",
    ),
    "no algorithm": (lambda: sign_headers({4: b"k", **CLAIMS}), 400, "Bad Signature Algorithm"),
    "unknown algorithm": (
        lambda: sign_headers({1: -999, 4: b"k", **CLAIMS}),
        400,
        "Bad Signature Algorithm",
    ),
    "no claims": (lambda: sign_headers({1: -7, 4: b"k"}), 400, "Rejected"),
    "no key named": (lambda: sign_headers({1: -7, **CLAIMS}), 400, "Rejected"),
    "no key carried": (
        lambda: sign_headers({1: -7, 4: b"k", **CLAIMS}),
        400,
        "Confirmation Missing",
    ),
    "too large": (
        lambda: sign(b"x" * 70_000, SIGNER, profile="attached"),
        413,
        "Statement Too Large",
    ),
    "far too large": (lambda: b"x" * 1_000_000, 413, "Statement Too Large"),
    "in the future": (
        lambda: statement(claims=StatementClaims(issued_at=4_000_000_000)),
        400,
        "Rejected",
    ),
    "the name of another key": (
        lambda: statement(
            claims=StatementClaims(
                issuer=compute_thumbprint_uri(generate_key("es256").public_key())
            )
        ),
        400,
        "Rejected",
    ),
    "untagged": (change_statement(lambda data: data[1:]), 400, "Rejected"),
}


def test_invalid_statements_are_refused(service):
    for name, (given, status, title) in REFUSED.items():
        found, problem = service.post_refused(given())
        assert (found, problem[TITLE]) == (status, title), (name, problem)
        assert problem[DETAIL], name
    assert "hash envelope" in service.post_refused(remove_payload())[1][DETAIL]
    assert service.post(statement())[0] == 201


def test_largest_entry_is_accepted(service):
    room = (
        65_535
        - len(build_log_entry(parse_sign1(sign(b"x" * 60_000, SIGNER, profile="attached"))))
        + 60_000
    )
    assert service.post(sign(b"x" * room, SIGNER, profile="attached"))[0] == 201
    assert service.post_refused(sign(b"x" * (room + 1), SIGNER, profile="attached"))[0] == 413


def test_other_requests_get_the_right_status(service):
    assert service.ask("POST", "/entries", statement(), {"Content-Type": "text/plain"})[0] == 415
    assert service.ask("POST", "/entries", statement(), {})[0] == 415
    for path in (
        "/entries/zzz",
        "/entries/99",
        "/entries/" + "0" * 64,
        "/entries/-1",
        "/entries/1.2",
        "/entries/1." + "9" * 39,
        "/entries/zzz/statement",
        "/nothing",
        "/tile/0/999",
        "/tile/x/000",
    ):
        status, headers, _ = service.get(path)
        assert (status, headers["content-type"]) == (
            404,
            "application/concise-problem-details+cbor",
        ), path
    status, headers, _ = service.ask("DELETE", "/entries/1")
    assert (status, set(headers["allow"].split(", "))) == (405, {"GET", "HEAD"})
    status, headers, _ = service.get("/entries")
    assert (status, headers["allow"]) == (405, "POST")
    for path in ("/entries/", "/checkpoint/"):
        status, headers, body = service.ask(
            "POST", path, statement(), {"Content-Type": "application/cose"}
        )
        assert (status, cbor2.loads(body)[TITLE], headers.get("location")) == (
            404,
            "Not Found",
            None,
        )
    assert service.get("/tile/0/../../log.json")[0] == 404


def test_published_tile_that_is_damaged_is_not_called_missing(service, log):
    for given in statements(3):
        assert service.post(given)[0] == 201
    while b"\n4\n" not in service.get("/checkpoint")[2]:
        time.sleep(0.05)
    with closing(sqlite3.connect(log.path / "log.db")) as database, database:
        database.execute("UPDATE tiles SET hashes = substr(hashes, 1, 32)")
        database.execute("DELETE FROM entries WHERE position = 2")
    for path in ("/tile/0/000.p/4", "/tile/entries/000.p/4"):
        status, _, body = service.get(path)
        assert (status, cbor2.loads(body)[TITLE]) == (500, "Log Damaged"), path
        assert "the log is damaged: " in cbor2.loads(body)[DETAIL]
    for path in ("/tile/0/000.p/5", "/tile/entries/000.p/5", "/tile/1/000.p/1"):
        assert service.get(path)[0] == 404, path


def test_every_kind_of_key_is_accepted(service):
    for kind in ("es256", "es384", "es512", "eddsa", "ps256", "ml-dsa-44"):
        given = statement(KeySigner(generate_key(kind)))
        status, _, receipt = service.post(given)
        assert status == 201, (kind, receipt)
        verify_receipt(service, given, receipt)


def test_only_trusted_keys_can_register(log, tmp_path):
    trusted, other = (KeySigner(generate_key("eddsa")) for _ in range(2))
    issuers = ("https://example.org",)
    party = TrustedParty("CI", (ROLE_SIGNER,), (trusted.public_key,), issuers=issuers)
    (tmp_path / "trust.toml").write_bytes(format_trust_store(TrustStore((party,))))
    with Running(
        log.path, "--trust-store", tmp_path / "trust.toml", "--issuer", "https://example.org"
    ) as service:
        claims = StatementClaims(issuer="https://example.org")
        assert service.post(statement(trusted, claims=claims))[0] == 201
        assert service.post_refused(statement(other, claims=claims))[1][TITLE] == "Rejected"
        assert "issuer" in service.post_refused(statement(trusted))[1][DETAIL]
        carries_another = parse_sign1(statement(other, claims=claims))
        named = {**carries_another.protected, 4: compute_thumbprint(trusted.public_key)}
        protected = encode_protected_header(named)
        signature = other.sign(encode_sig_structure(protected, carries_another.payload))
        forged = Sign1(
            protected, named, carries_another.unprotected, carries_another.payload, signature
        ).encode()
        assert service.post_refused(forged)[1][TITLE] == "Rejected"


def test_one_trusted_key_cannot_register_as_another(log, tmp_path):
    trusted = KeySigner(generate_key("eddsa"))
    (tmp_path / "trusted.pem").write_bytes(encode_public_pem(trusted.public_key))
    with Running(
        log.path, "--trust", tmp_path / "trusted.pem", "--issuer", "https://example.org"
    ) as service:
        claims = StatementClaims(issuer="https://example.org")
        refused = service.post_refused(statement(trusted, claims=claims))[1]
        assert (refused[TITLE], "nothing binds the issuer" in refused[DETAIL]) == ("Rejected", True)


def test_party_whose_trust_ended_cannot_register(log, tmp_path):
    signer = KeySigner(generate_key("eddsa"))
    ended = datetime(2020, 1, 1, tzinfo=UTC)
    party = TrustedParty("CI", (ROLE_SIGNER,), (signer.public_key,), valid_until=ended)
    (tmp_path / "trust.toml").write_bytes(format_trust_store(TrustStore((party,))))
    with Running(log.path, "--trust-store", tmp_path / "trust.toml") as service:
        refused = service.post_refused(statement(signer))[1]
        assert "CI is not trusted after 2020-01-01T00:00:00Z" in refused[DETAIL]


def test_tokens_are_required(log, tmp_path):
    write_secret(tmp_path / "tokens", b"# who\ncorrect-horse-battery\n")
    with Running(log.path, "--token-file", tmp_path / "tokens") as service:
        given = statement()
        for wrong in (
            {},
            {"Authorization": "Bearer wrong-horse-battery"},
            {"Authorization": "Basic correct-horse-battery"},
        ):
            assert service.post_refused(given, **wrong)[0] == 401
        assert service.post(given)[1]["www-authenticate"] == "Bearer"
        assert (
            service.post(given, Authorization="Bearer x")[1]["www-authenticate"]
            == 'Bearer error="invalid_token"'
        )
        assert (
            "this token may not register here"
            in service.post_refused(given, Authorization="Bearer wrong-horse-battery")[1][DETAIL]
        )
        assert service.post(given, Authorization="Bearer correct-horse-battery")[0] == 201
        assert service.get("/entries/1")[0] == 200


def test_rate_is_limited(log):
    with Running(log.path, "--rate", "2") as service:
        given = statement()
        answers = [service.post(given) for _ in range(4)]
        assert [answers[0][0], answers[1][0]] == [201, 201]
        assert 429 in {answers[2][0], answers[3][0]}
        limited = next(answer for answer in answers if answer[0] == 429)
        assert limited[1]["retry-after"] == "1"
        assert cbor2.loads(limited[2])[TITLE] == "Too Many Requests"


def test_tokens_cannot_be_tried_faster(log, tmp_path):
    write_secret(tmp_path / "tokens", b"correct-horse-battery\n")
    with Running(log.path, "--token-file", tmp_path / "tokens", "--rate", "0.1") as service:
        answers = [
            service.post_refused(statement(), Authorization="Bearer wrong-horse-battery")[0]
            for _ in range(3)
        ]
        assert answers == [401, 429, 429]
        assert service.post(statement(), Authorization="Bearer correct-horse-battery")[0] == 201


def test_rate_can_be_less_than_one_per_second():
    now = [0.0]
    rates = RateLimiter(0.25, clock=lambda: now[0])
    rates.take("a")
    with pytest.raises(Problem) as caught:
        rates.take("a")
    assert caught.value.retry_after == 4
    now[0] = 4.0
    rates.take("a")


@pytest.mark.parametrize("asked", [("--async",), ()])
def test_async_registration_always_answers_303(log, asked):
    with Running(
        log.path, *asked, "--linger", "300", **({} if asked else {"VACR_LOG_SERVE_ASYNC": "1"})
    ) as service:
        given = statement()
        status, headers, body = service.post(given)
        assert (status, body, headers["retry-after"]) == (303, b"", "1")
        seen = []
        while True:
            status, found, receipt = service.get(headers["location"])
            seen.append(status)
            if status == 200:
                break
            assert (status, found["location"], found["retry-after"]) == (
                302,
                headers["location"],
                "1",
            )
            time.sleep(0.05)
        assert 302 in seen
        assert verify_receipt(service, given, receipt).index == 1
        assert service.post(given)[0] == 303  # also if a receipt exists
        assert service.post_refused(b"garbage")[0] == 400


def test_full_queue_is_reported(log):
    with (
        Running(log.path, "--queue", "1", "--linger", "1000") as service,
        ThreadPoolExecutor(8) as pool,
    ):
        answers = list(pool.map(service.post, statements(8)))
        statuses = [status for status, _, _ in answers]
        assert set(statuses) == {201, 503}
        busy = next(answer for answer in answers if answer[0] == 503)
        assert busy[1]["retry-after"] == "1"


def test_checkpoint_matches_the_tiles(service, log):
    given = statements(300)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(service.post, given))
    key = parse_verifier_key(service.announced["checkpoint-key"])
    while True:
        status, headers, note = service.get("/checkpoint")
        if status == 200 and (found := verify_checkpoint(note, key)).size == 301:
            break
        time.sleep(0.05)
    assert headers["content-type"].startswith("text/plain")
    entries, leaves = [], []
    for path, width in (("000", 256), ("001.p/45", 45)):
        under = decode_entry_bundle(service.get(f"/tile/entries/{path}")[2], width)
        entries += under
        leaves += map(hash_leaf, under)
        assert service.get(f"/tile/0/{path}")[2] == b"".join(leaves[-width:])
    assert "immutable" in service.get("/tile/0/000")[1]["cache-control"]
    assert {build_log_entry(parse_sign1(statement)) for statement in given} == set(entries[1:])
    assert compute_root_of_leaves(leaves) == found.root
    assert (log.path / "public" / "checkpoint").read_bytes() == note
    assert (log.path / "public" / "tile" / "0" / "000").read_bytes() == service.get("/tile/0/000")[
        2
    ]
    assert service.get("/tile/1/000.p/1")[2] == compute_root_of_leaves(leaves[:256])


def compute_root_of_leaves(leaves):
    return compute_root(lambda height, index: _node(leaves, height, index), len(leaves))


def _node(leaves, height, index):
    row = leaves[index << height : (index + 1) << height]
    while len(row) > 1:
        row = [hash_children(*row[at : at + 2]) for at in range(0, len(row), 2)]
    return row[0]


def test_service_describes_itself(service):
    service.post(statement())
    assert json.loads(service.get("/health")[2])["status"] == "ok"
    counted = service.get("/metrics")[2].decode()
    assert 'vacr_responses_total{status="201"} 1' in counted
    assert "vacr_log_size 2" in counted
    described = json.loads(service.get("/openapi.json")[2])
    assert {"/entries", "/entries/{name}", "/checkpoint"} < described["paths"].keys()
    assert {"201", "303", "400", "401", "408", "413", "415", "429", "503"} < described["paths"][
        "/entries"
    ]["post"]["responses"].keys()
    assert all(
        "503" in operations["get"]["responses"]
        for path, operations in described["paths"].items()
        if path not in ("/entries", "/metrics")
    )
    status, headers, page = service.get("/")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/html")
    assert service.announced["identity"] in page.decode()


def test_keys_can_be_rotated_while_it_runs(service, log):
    first, second = statements(2)
    _, _, old = service.post(first)
    rotate_log_keys(log)
    _, _, new = service.post(second)
    assert len(cbor2.loads(service.get("/.well-known/scitt-keys")[2])) == 2
    verify_receipt(service, first, old)
    verify_receipt(service, second, new)
    before, after = (
        parse_public_keys(pem) for pem in split_pems((log.path / "receipt-keys.pem").read_bytes())
    )
    check_receipt(parse_sign1(first), old, before, datetime.now(UTC))
    check_receipt(parse_sign1(second), new, after, datetime.now(UTC))


def split_pems(data):
    return [b"-----BEGIN" + part for part in data.split(b"-----BEGIN")[1:]]


def test_other_hosts_are_served_only_on_request(log):
    def try_to_serve(*more):
        command = [
            sys.executable,
            "-m",
            "vacr",
            "log",
            "serve",
            log.path,
            "--host",
            "0.0.0.0",  # noqa: S104
            "--port",
            "0",
            *more,
        ]
        return subprocess.run(command, capture_output=True, text=True)

    done = try_to_serve()
    assert done.returncode == 2
    assert "everyone who can reach 0.0.0.0 could register" in done.stderr
    assert "--anyone" in done.stderr
    with Running(log.path, "--host", "0.0.0.0", "--anyone") as service:  # noqa: S104
        service.url = service.url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert service.post(statement())[0] == 201


def test_unencrypted_tokens_cause_a_warning(log, tmp_path):
    write_secret(tmp_path / "tokens", b"correct-horse-battery\n")
    for host, is_warned in (("0.0.0.0", True), ("127.0.0.1", False)):  # noqa: S104
        service = Running(log.path, "--host", host, "--token-file", tmp_path / "tokens")
        code, complaints = service.stop()
        assert (code, "tokens would reach this address unencrypted" in complaints) == (0, is_warned)


def test_proxy_names_the_caller(log):
    given = statement()
    for proxies, answers in (((), [201, 429, 429]), (("--proxy", "127.0.0.0/8"), [201, 429, 201])):
        with Running(log.path, "--rate", "0.1", *proxies) as service:
            callers = (
                "192.0.2.1",
                "198.51.100.9, 192.0.2.1",
                "192.0.2.2",
            )  # earlier addresses come from the caller
            assert [service.post(given, X_Forwarded_For=caller)[0] for caller in callers] == answers
    for odd in ("*", "proxy.example.org", "10.0.0.1/8"):
        command = [
            sys.executable,
            "-m",
            "vacr",
            "log",
            "serve",
            log.path,
            "--port",
            "0",
            "--proxy",
            odd,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, f"{odd} is not an IP address or network" in done.stderr) == (
            2,
            True,
        )


def test_two_services_share_one_postgresql(database, tmp_path):
    log = create_log(str(tmp_path / "log"), database=database)
    given = statements(200)
    with Running(log.path) as one, Running(log.path) as other, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda at: (one, other)[at % 2].post(given[at]), range(200)))
        assert [status for status, _, _ in answers] == [201] * 200
        found = {
            verify_receipt(other, one_, receipt).index
            for one_, (_, _, receipt) in zip(given, answers, strict=True)
        }
        assert found == set(range(1, 201))
        assert (
            verify_receipt(one, given[0], other.post(given[0])[2]).index
            == verify_receipt(other, given[0], answers[0][2]).index
        )
    assert run_fsck(log).findings.problems == []


def test_log_in_postgresql_needs_no_folder(database, tmp_path):
    with Running("--database", database, XDG_DATA_HOME=str(tmp_path)) as service:
        identity = service.announced["identity"]
        given = statement()
        assert verify_receipt(service, given, service.post(given)[2]).index == 1
    with Running("--database", database, XDG_DATA_HOME=str(tmp_path)) as service:
        assert service.announced["identity"] == identity
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    for verb in (("fsck",), ("rotate",), ("prove", "--entry", "1")):
        command = [sys.executable, "-m", "vacr", "log", *verb, "--database", database]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**environment, "XDG_DATA_HOME": str(tmp_path / "no")},
    )
    assert (done.returncode, "the keys of the log are not in" in done.stderr) == (2, True)
    command = [sys.executable, "-m", "vacr", "log", "serve", "--database", database, "--port", "0"]
    (tmp_path / "other").mkdir()
    done = subprocess.run(
        command, capture_output=True, text=True, env={"XDG_DATA_HOME": str(tmp_path / "other")}
    )
    assert done.returncode == 2
    assert "the keys of the log are not in" in done.stderr


def test_client_that_disconnects_does_no_harm(service, log):
    given = statement()
    host, port = "127.0.0.1", int(service.url.rstrip("/").rpartition(":")[2])
    head = (
        "POST /entries HTTP/1.1\r\nHost: x\r\nContent-Type: application/cose\r\n"
        f"Content-Length: {len(given)}\r\n\r\n"
    ).encode()
    for sent in (head[:40], head, head + given[:50], head + given):
        with closing(socket.create_connection((host, port))) as connection:
            connection.sendall(sent)
    status, _, receipt = service.post(given)
    assert (status, verify_receipt(service, given, receipt).index) == (201, 1)
    assert service.stop() == (0, "")
    assert run_fsck(log).findings.problems == []


def test_signals_end_the_service_cleanly(log):
    for how in (signal.SIGTERM, signal.SIGINT):
        service = Running(log.path)
        service.post(statement())
        assert service.stop(how) == (0, "")
    assert run_fsck(log).findings.problems == []
