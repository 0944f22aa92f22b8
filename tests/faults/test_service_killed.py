"""A service killed under load, clients that disconnect midway, and two services on one log."""

import random
import signal
import socket
import struct
import threading
from urllib.parse import urlsplit

import pytest

from tests.faults.audit import audit
from tests.faults.handed import Handed
from tests.faults.load import Load
from tests.log.statements import statement
from vacr.log.folder import create_log
from vacr.registration.client import RegistrationClient
from vacr.signing.keys import parse_public_keys


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"))


def test_repeatedly_killed_service_loses_nothing(log, serve, many):
    with Load(serve(log.path)) as load:
        for _ in range(many(3, 20)):
            load.more(40)
            assert load.services[0].stop(signal.SIGKILL) == (-signal.SIGKILL, "")
            load.services[0] = serve(log.path)
        load.more(40)
    assert load.services[0].stop() == (0, "")
    audit(log.path, load.handed)


@pytest.mark.parametrize("storage", ["sqlite", "postgresql"])
def test_statement_lost_with_a_killed_service_can_be_resent(storage, request, tmp_path, serve):
    """Under --async a statement was only accepted: clients that resend it get the receipt."""
    address = request.getfixturevalue("database") if storage == "postgresql" else None
    log = create_log(str(tmp_path / "log"), database=address)
    service = serve(log.path, "--async", "--linger", "1000")
    given = [statement(), statement()]
    for data in given:
        status, headers, _ = service.post(data)
        assert status == 303
    service.stop(signal.SIGKILL)
    service = serve(log.path, "--async")
    assert service.get(headers["location"])[0] == 302  # another front end may have accepted it
    known = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    registered = [RegistrationClient(service.url).register(data, known) for data in given]
    assert [registration.logged.index for registration in registered] == [1, 2]
    assert service.get(headers["location"])[:3:2] == (200, registered[-1].receipt)
    assert service.stop() == (0, "")
    audit(
        log.path,
        Handed([(data, found.receipt) for data, found in zip(given, registered, strict=True)]),
    )


def test_two_services_on_one_folder_survive_kills(log, serve, many):
    with Load(serve(log.path), serve(log.path)) as load:
        for turn in range(many(2, 20)):
            load.more(40)
            assert load.services[turn % 2].stop(signal.SIGKILL) == (-signal.SIGKILL, "")
            load.services[turn % 2] = serve(log.path)
        load.more(many(60, 400))
    assert [service.stop() for service in load.services] == [(0, "")] * 2
    audit(log.path, load.handed)


def test_two_services_on_one_postgresql_survive_kills(database, tmp_path, serve, many):
    log = create_log(str(tmp_path / "log"), database=database)
    with Load(serve(log.path), serve(log.path)) as load:
        for turn in range(many(2, 20)):
            load.more(40)
            assert load.services[turn % 2].stop(signal.SIGKILL) == (-signal.SIGKILL, "")
            load.services[turn % 2] = serve(log.path)
        load.more(many(60, 400))
    assert [service.stop() for service in load.services] == [(0, "")] * 2
    audit(log.path, load.handed)


def test_disconnecting_callers_do_no_harm(log, serve, many):
    service = serve(log.path)
    with Load(service) as load:
        leaving = [
            threading.Thread(target=disconnect_early, args=(service.url, seed, many(40, 1000)))
            for seed in range(2)
        ]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join()
        load.more(20)
    assert load.refused == 0
    assert service.stop() == (0, "")
    audit(log.path, load.handed)


def disconnect_early(url, seed, times):
    """Send all or a part of a request and disconnect, half of the time with a reset."""
    chance, place = random.Random(seed), urlsplit(url)  # noqa: S311 - reproducible
    for _ in range(times):
        given = statement()
        head = (
            "POST /entries HTTP/1.1\r\nHost: x\r\nContent-Type: application/cose\r\n"
            f"Content-Length: {len(given)}\r\n\r\n"
        )
        request = head.encode() + given
        with socket.create_connection((place.hostname, place.port)) as connection:
            if chance.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(
                request[: chance.choice((len(request), chance.randrange(len(request))))]
            )
