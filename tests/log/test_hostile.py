"""Malicious clients get a refusal, and no more of the service's memory or time than others."""

import asyncio
import json
import logging
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import cbor2
import psycopg
import pytest
import uvicorn

from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import statement
from tests.secret_files import write_secret
from vacr.errors import UsageError
from vacr.log import http_server, registration
from vacr.log.admission import (
    Problem,
    RateLimiter,
    RegistrationPolicy,
    get_caller_address,
)
from vacr.log.folder import create_log, rotate_log_keys
from vacr.log.fsck import run_fsck
from vacr.log.http_server import MAX_REQUEST_HEAD_SIZE, define_bounded_connection
from vacr.log.registration import RegistrationEndpoint, ServiceMetrics
from vacr.log.storage import StorageFailed
from vacr.transparency.tree import format_tile_path
from vacr.verification.policy import Policy

STATUS = b"HTTP/1.1 "


@pytest.fixture
def service(tmp_path):
    with Running(create_log(str(tmp_path / "log")).path) as running:
        yield running
        assert running.stop() == (0, "")


def connect(service):
    return closing(
        socket.create_connection(("127.0.0.1", int(service.url.rstrip("/").rpartition(":")[2])))
    )


def read_to_the_end(connection):
    """Read until the other end closes the connection."""
    pieces = []
    while piece := connection.recv(1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


def read_memory(process):
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.parametrize(
    "begun", [b"GET /", b"GET /health HTTP/1.1\r\nX: "], ids=["address", "header"]
)
def test_endless_head_is_cut_off(service, begun):
    before = read_memory(service.process)
    with connect(service) as connection:
        connection.sendall(begun)
        with pytest.raises(ConnectionError):
            connection.sendall(b"a" * 100_000_000)
    assert read_memory(service.process) < before + 20_000
    assert service.get("/health")[0] == 200


def test_too_large_head_is_refused(service):
    with connect(service) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX: " + b"a" * MAX_REQUEST_HEAD_SIZE)
        assert read_to_the_end(connection).startswith(STATUS + b"431")


def test_pipelined_requests_are_not_a_long_head(service):
    requests = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 4000
    with connect(service) as connection:
        connection.sendall(requests[:-10])
        connection.sendall(requests[-10:] + b"GET /health HTTP/1.0\r\n\r\n")
        assert read_to_the_end(connection).count(STATUS + b"200") == 4001


def test_impossible_tiles_are_not_found(service):
    for level in ("0", "entries", "63"):
        for number in (1 << 54, 1 << 55, 1 << 56, 1 << 63, 10**21 - 1):
            status, headers, _ = service.get(f"/tile/{level}/{format_tile_path(number, 1)}")
            assert (status, headers["content-type"]) == (
                404,
                "application/concise-problem-details+cbor",
            )


def test_malformed_requests_are_refused(service):
    for sent in (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        (
            b"POST /entries HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"
            b"abcdef"
        ),
        (
            b"POST /entries HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
            b"chunked\r\n\r\n0\r\n\r\n"
        ),
    ):
        with connect(service) as connection:
            connection.sendall(sent)
            assert read_to_the_end(connection).startswith(STATUS + b"400")
    with connect(service) as connection:
        connection.sendall(
            b"GET /health HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade, "
            b"close\r\n\r\n"
        )
        assert connection.recv(1 << 16).startswith(STATUS + b"200")


def call_application(register, receive):
    """Send a request to the application itself, and return its response."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"headers": [(b"content-type", b"application/cose")], "client": ("127.0.0.1", 1)}
    asyncio.run(register(scope, receive, send))
    start, body = sent
    return start["status"], dict(start["headers"]), cbor2.loads(body["body"])


def test_missing_body_times_out(monkeypatch):
    monkeypatch.setattr(registration, "_MAX_BODY_SECONDS", 0.01)
    status, headers, _ = call_application(
        RegistrationEndpoint(RegistrationPolicy(Policy()), ServiceMetrics()), asyncio.Event().wait
    )
    assert (status, headers[b"connection"]) == (408, b"close")


def test_too_large_body_in_pieces_is_refused():
    async def receive():
        return {"type": "http.request", "body": b"a" * 1000, "more_body": True}

    status, headers, _ = call_application(
        RegistrationEndpoint(RegistrationPolicy(Policy()), ServiceMetrics()), receive
    )
    assert (status, headers[b"connection"]) == (413, b"close")


def test_unexpected_error_reveals_no_details(caplog):
    class Broken(RegistrationPolicy):
        def admit(self, _):
            raise OverflowError("too large for a secret reason")

    async def receive():
        return {"type": "http.request", "body": statement()}

    with caplog.at_level(logging.WARNING):
        status, _, problem = call_application(
            RegistrationEndpoint(Broken(Policy()), ServiceMetrics()), receive
        )
    assert (status, problem[-1]) == (500, "Internal Server Error")
    assert "secret" not in problem[-2]
    (logged,) = caplog.records
    assert logged.getMessage() == "a bug in vacr: OverflowError: too large for a secret reason"
    assert not logged.exc_info


@pytest.mark.parametrize(
    ("addresses", "callers"),
    [
        (["192.0.2.1", "192.0.2.2"], 2),
        (["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::"], 1),
        (["2001:db8:0:1::1", "2001:db8:0:2::1"], 2),
        (["::ffff:192.0.2.1", "192.0.2.1"], 1),
        (["a" * 10_000, "b" * 10_000, "unix:"], 1),
    ],
)
def test_callers_are_grouped_by_network(addresses, callers):
    assert len({get_caller_address({"client": (address, 1)}) for address in addresses}) == callers


def test_memory_for_callers_is_limited():
    rates = RateLimiter(1, clock=lambda: 0.0)
    for number in range(30_000):
        rates.take(f"{number}")
    assert len(rates.buckets) <= 10_000
    with pytest.raises(Problem):
        rates.take("29999")


def test_silent_connections_do_not_block_others(service):
    """Silent connections do not keep others from being answered."""
    with connect(service), connect(service) as begun, connect(service) as waiting:
        begun.sendall(b"POST /ent")
        waiting.sendall(
            b"POST /entries HTTP/1.1\r\nContent-Type: application/cose\r\nContent-Length: "
            b"100\r\n\r\n"
        )
        assert service.post(statement())[0] == 201


def test_slow_head_times_out(monkeypatch):
    monkeypatch.setattr(http_server, "MAX_REQUEST_HEAD_SECONDS", 0.05)

    async def run():
        async def app(_scope, _receive, send):
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-length", b"0")],
                }
            )
            await send({"type": "http.response.body"})

        config = uvicorn.Config(
            app, http=define_bounded_connection(), lifespan="off", log_level="error"
        )
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            task = asyncio.create_task(server.serve(sockets=[listening]))
            found = []
            for sent in (b"", b"GET / HT", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\nGET"):
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                writer.write(sent)
                if sent.endswith(b"GET"):
                    await reader.readuntil(b"\r\n\r\n")
                    writer.write(b" / HT")
                if sent.endswith(b"\r\n\r\n"):
                    found.append(await reader.readuntil(b"\r\n\r\n"))
                else:
                    found.append(await reader.read())
                writer.close()
            server.should_exit = True
            await task
        return found

    none, begun, whole, second = asyncio.run(run())
    assert (none, begun, second) == (b"", b"", b"")
    assert whole.startswith(STATUS + b"200")


def test_front_end_without_the_new_key_is_unavailable(database, tmp_path):
    log = create_log(str(tmp_path / "one"), database=database)
    shutil.copytree(log.path, tmp_path / "two")
    with Running(tmp_path / "one") as one, Running(tmp_path / "two") as two:
        assert (one.post(statement())[0], two.post(statement())[0]) == (201, 201)
        rotate_log_keys(log)
        assert one.post(statement())[0] == 201
        given = statement()
        status, problem = two.post_refused(given)
        assert (status, problem[-1]) == (503, "Unavailable")
        assert "the log's receipt key is missing" in problem[-2]
        assert str(tmp_path) not in problem[-2]
        status, _, health = two.get("/health")
        assert status == 503
        assert b"the log's receipt key is missing" in health
        for key in (tmp_path / "one" / "keys").iterdir():
            shutil.copy(key, tmp_path / "two" / "keys")
        while two.get("/health")[0] != 200:  # without a new registration
            time.sleep(0.1)
        assert two.post(given)[0] == 201
        code, complaints = two.stop()
    assert code == 0
    assert complaints.count("the log cannot accept entries") == 1
    assert "Copy keys/receipt-" in complaints
    assert run_fsck(log).findings.problems == []


SECRET = "s3cret"  # noqa: S105 - not a real secret


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://u:{SECRET}%zz@127.0.0.1:1/db",
        f"postgresql://u:a@{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:a/{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:1/{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:a {SECRET}@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:x/db",
        f"postgresql://u@127.0.0.1:1/db?password={SECRET}&sslmode=x",
        f"host=127.0.0.1 port=1 password='{SECRET}",
        f"host=127.0.0.1 port=1 {SECRET}",
        SECRET,
    ],
)
def test_database_password_is_not_shown(address, tmp_path):
    with pytest.raises((UsageError, StorageFailed)) as caught:
        create_log(str(tmp_path / "log"), database=address)
    assert SECRET not in caught.value.diagnostics()
    assert not list(tmp_path.iterdir())


def test_database_errors_are_not_shown_to_callers(postgresql, tmp_path):
    log = create_log(str(tmp_path / "log"), database=postgresql.database("gone"))
    with Running(log.path) as service:
        assert service.post(statement())[0] == 201
        postgresql.kill()
        try:
            status, problem = service.post_refused(statement())
            assert (status, problem[-2].partition(";")[0]) == (503, "the log's database failed")
            status, _, health = service.get("/health")
            assert (status, json.loads(health)["status"], json.loads(health)["size"]) == (
                503,
                "failing",
                None,
            )
            assert str(postgresql.folder).encode() not in health
        finally:
            postgresql.start()
        while service.get("/health")[0] != 200:
            time.sleep(0.1)
        assert service.post(statement())[0] == 201
        code, complaints = service.stop()
    assert code == 0
    assert "the log's database failed: " in complaints
    assert "Traceback" not in complaints


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_writer_sees_the_commit_of_the_writer_before(database, tmp_path, isolation):
    """With any default isolation level, a writer that waited for another one sees its commit."""
    log = create_log(str(tmp_path / "log"), database=database)
    with psycopg.connect(database, autocommit=True) as looking:
        name = looking.info.dbname
        looking.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
        with (
            closing(log.ledger()) as first,
            closing(log.storage()) as second,
            ThreadPoolExecutor(1) as pool,
        ):

            def head():
                with second.transaction() as transaction:
                    return transaction.head().head.size

            with first.storage.transaction():
                waiting = pool.submit(head)
                while not looking.execute(
                    "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
                ).fetchall():
                    time.sleep(0.01)
                with psycopg.connect(database, autocommit=True) as other:
                    other.execute("UPDATE vacr.heads SET size = 2")
                    other.execute("UPDATE vacr.head SET size = 2")
            assert waiting.result() == 2


TOKENS = (
    b"\xff\xfe",
    b"short",
    "\u00e4".encode() * 20,
    b"# no token\n\n",
    b"two words that are long",
)


@pytest.mark.parametrize("token", TOKENS)
def test_invalid_tokens_in_a_file_are_refused(tmp_path, token):
    write_secret(tmp_path / "tokens", token)
    done = vacr(
        "log",
        "serve",
        create_log(str(tmp_path / "log")).path,
        "--token-file",
        "tokens",
        "--port",
        "0",
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("vacr: tokens: ")


def test_token_file_of_a_service_readable_by_others_is_refused(tmp_path):
    create_log(str(tmp_path / "log"))
    write_secret(tmp_path / "tokens", b"0123456789abcdef\n").chmod(0o644)
    done = vacr("log", "serve", "log", "--port", "0", "--token-file", "tokens", cwd=tmp_path)
    assert (done.returncode, "other users can read tokens" in done.stderr) == (2, True)
    assert "0123456789" not in done.stderr


def test_tokens_of_requests_are_compared_exactly(tmp_path):
    write_secret(tmp_path / "tokens", b"# mine\n0123456789abcdef\r\n")
    log = create_log(str(tmp_path / "log"))
    with Running(log.path, "--token-file", tmp_path / "tokens") as service:
        for shown in (
            "",
            "Bearer",
            "Bearer ",
            "Basic 0123456789abcdef",
            "Bearer 0123456789ABCDEF",
            "Bearer # mine",
            "Bearer \xe4",
        ):
            assert service.post(statement(), Authorization=shown)[0] == 401
        for shown in ("Bearer 0123456789abcdef", "bearer  0123456789abcdef"):
            assert service.post(statement(), Authorization=shown)[0] == 201


@pytest.mark.parametrize("option", [("--linger", "nan"), ("--rate", "nan"), ("--rate", "0")])
def test_invalid_numbers_are_refused(tmp_path, option):
    done = vacr("log", "serve", create_log(str(tmp_path / "log")).path, *option, cwd=tmp_path)
    assert done.returncode == 2
    assert f"Invalid value for '{option[0]}'" in done.stderr


def test_log_that_cannot_be_extended_is_not_served(tmp_path):
    """No URL is printed before the log is open, and a failure to open it is an ordinary error."""
    log = create_log(str(tmp_path / "log"))
    with Running(log.path) as service:
        shutil.copytree(log.path, tmp_path / "older")
        assert service.post(statement())[0] == 201
        while b"\n2\n" not in service.get("/checkpoint")[2]:
            time.sleep(0.05)
    shutil.copytree(log.path / "public", tmp_path / "older" / "public", dirs_exist_ok=True)
    done = vacr("log", "serve", "older", "--port", "0", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the database is an older copy" in done.stderr
    for key in (log.path / "keys").iterdir():
        key.unlink()
    done = vacr("log", "serve", "log", "--port", "0", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the log's receipt key is missing" in done.stderr
