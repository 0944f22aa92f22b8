"""The registration endpoint under load: every caller gets the answer to their own statement."""

import asyncio
import threading
from contextlib import asynccontextmanager, closing

import pytest

from tests.log.statements import statements
from vacr.log.admission import RegistrationPolicy
from vacr.log.folder import create_log
from vacr.log.keyring import read_log_descriptions
from vacr.log.ledger import Sequencer
from vacr.log.registration import (
    CheckQueue,
    RegistrationEndpoint,
    ServiceMetrics,
    Submission,
    parse_entry_name,
)
from vacr.signing.cose import parse_sign1
from vacr.transparency.receipt import build_log_entry, parse_receipt
from vacr.transparency.tree import hash_leaf
from vacr.verification import Policy

SCOPE = {"headers": [(b"content-type", b"application/cose")], "client": ("127.0.0.1", 1)}


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"))


class WatchedPolicy(RegistrationPolicy):
    """A policy that notes which thread checked each statement, and fails for some."""

    def __post_init__(self):
        super().__post_init__()
        self.threads = []
        self.active = 0
        self.most_active = 0

    def admit(self, statement):
        self.threads.append(threading.current_thread().name)
        self.active += 1
        self.most_active = max(self.active, self.most_active)
        try:
            if statement == b"bug":
                raise OverflowError("too large")
            return super().admit(statement)
        finally:
            self.active -= 1


@asynccontextmanager
async def open_endpoint(log, *, waiting=4096, always_303=False):
    """Yield an endpoint with a real sequencer, and close both afterwards."""
    endpoint = RegistrationEndpoint(
        WatchedPolicy(Policy()), ServiceMetrics(), always_303=always_303
    )
    endpoint.loop = asyncio.get_running_loop()
    endpoint.sequencer = Sequencer(log.ledger(), endpoint.deliver, waiting=waiting)
    try:
        yield endpoint
    finally:
        await asyncio.to_thread(endpoint.unchecked.close)
        await asyncio.to_thread(endpoint.sequencer.close)


async def register(endpoint, statement):
    """Send a statement to the endpoint, and return status, headers and body."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": statement}

    async def send(message):
        sent.append(message)

    await endpoint(SCOPE, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


async def register_all(log, given, **settings):
    async with open_endpoint(log, **settings) as endpoint:
        answers = await asyncio.gather(*(register(endpoint, statement) for statement in given))
    return endpoint, answers


def verify_receipt(log, statement, receipt):
    """Check a receipt for a statement, and return the position in it."""
    with closing(log.reader()) as reader:
        key = read_log_descriptions(reader)[-1].receipt_key
    parsed = parse_receipt(receipt)
    (proof,) = parsed.inclusions
    parsed.check(proof.root(hash_leaf(build_log_entry(parse_sign1(statement)))), key)
    return proof.index


def change_last_byte(statement):
    """Return a statement with another signature."""
    return statement[:-1] + bytes((statement[-1] ^ 1,))


def test_callers_under_load_get_their_own_answers(log):
    good = statements(60)
    given = [
        part
        for statement in good
        for part in (statement, b"garbage", change_last_byte(statement), b"bug")
    ]
    endpoint, answers = asyncio.run(register_all(log, given))
    assert [status for status, _, _ in answers] == [201, 400, 400, 500] * len(good)
    indexes = {
        verify_receipt(log, statement, receipt)
        for statement, (_, _, receipt) in zip(good, answers[::4], strict=True)
    }
    assert indexes == set(range(1, len(good) + 1))
    assert set(endpoint.admission.threads) == {"admission"}
    assert endpoint.metrics.responses == {201: 60, 400: 120, 500: 60}
    assert endpoint.metrics.entries == 60


def test_single_statement_is_checked_without_another_thread(log):
    endpoint, [(status, _, _)] = asyncio.run(register_all(log, statements(1)))
    assert status == 201
    assert endpoint.admission.threads == [threading.main_thread().name]
    assert endpoint.unchecked.thread is None


def test_statements_are_never_checked_by_two_threads_at_once(log):
    async def register_in_waves():
        async with open_endpoint(log) as endpoint:
            waves = []
            for count in (40, 1, 2, 30, 1, 3, 1):
                waves += [
                    asyncio.create_task(register(endpoint, statement))
                    for statement in statements(count)
                ]
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            return endpoint, await asyncio.gather(*waves)

    endpoint, answers = asyncio.run(register_in_waves())
    assert {status for status, _, _ in answers} == {201}
    assert endpoint.admission.most_active == 1


def test_full_queue_refuses_statements_without_checking_them(log):
    endpoint, answers = asyncio.run(register_all(log, statements(20), waiting=5))
    statuses = [status for status, _, _ in answers]
    assert statuses == [201] * 5 + [503] * 15
    assert len(endpoint.admission.threads) == 5


def test_async_registration_under_load_answers_after_the_check(log):
    good = statements(30)
    given = [part for statement in good for part in (statement, b"garbage")]
    _, answers = asyncio.run(register_all(log, given, always_303=True))
    assert [status for status, _, _ in answers] == [303, 400] * len(good)
    for statement, (_, headers, _) in zip(good, answers[::2], strict=True):
        name = headers[b"location"].decode().removeprefix("/entries/")
        assert parse_entry_name(name) == hash_leaf(build_log_entry(parse_sign1(statement)))
    with closing(log.reader()) as reader:
        assert reader.head().head.size == 1 + len(good)


def test_closing_checks_the_waiting_statements():
    async def close_while_many_wait():
        checked = []
        checks = CheckQueue(checked.extend)
        loop = asyncio.get_running_loop()
        given = [Submission(b"%d" % number, loop.create_future()) for number in range(100)]
        with checks.checking:  # as if the thread were busy
            for submission in given:
                checks.put(submission)
            await asyncio.sleep(0)
            assert checks.thread is not None
            assert len(checks) == 100
        await asyncio.to_thread(checks.close)
        assert checked == given
        late = Submission(b"late", loop.create_future())
        checks.put(late)
        await asyncio.sleep(0)
        assert checked[-1] is late
        assert not checks.thread.is_alive()

    asyncio.run(close_while_many_wait())
