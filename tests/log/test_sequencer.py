"""The thread that orders entries: every waiting entry gets a result, even if the thread ends."""

import queue

import pytest

from tests.log.statements import entries
from vacr.errors import Unreachable
from vacr.log.folder import create_log
from vacr.log.ledger import LogBusy, Sequencer


@pytest.fixture
def log(tmp_path):
    return create_log(str(tmp_path / "log"))


def test_results_are_delivered_by_ticket(log):
    results = queue.Queue()
    sequencer = Sequencer(log.ledger(), results.put)
    for ticket, entry in enumerate(entries(20)):
        sequencer.submit(entry, ticket)
    sequencer.close()
    found = dict(pair for batch in results.queue for pair in batch)
    assert {ticket: placed.position for ticket, placed in found.items()} == {
        ticket: ticket + 1 for ticket in range(20)
    }
    with pytest.raises(LogBusy, match="the log is shutting down"):
        sequencer.submit(entries(1)[0], 0)


def test_ended_thread_fails_all_waiting_entries(log):
    results = queue.Queue()
    sequencer = Sequencer(
        log.ledger(), results.put, linger=float("nan")
    )  # sleeping fails for this value
    sequencer.submit(entries(1)[0], "ticket")
    ((ticket, failure),) = results.get()
    assert (ticket, type(failure)) == ("ticket", Unreachable)
    with pytest.raises(LogBusy, match="until it is restarted: ValueError"):
        sequencer.submit(entries(1)[0], "next")
    assert sequencer.failure is failure
    sequencer.close()
