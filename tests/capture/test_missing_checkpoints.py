"""A log shows that a journal was replaced by an older copy."""

import shutil
from contextlib import closing

import pytest

from tests.capture.test_journal import capture
from tests.capture.watching import lines
from tests.log.running import Running
from vacr.capture.chains import JournalCoverage, read_checkpoints
from vacr.capture.journal import Journal
from vacr.capture.journal_checks import find_missing_checkpoints
from vacr.log.folder import create_log
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, compute_thumbprint_uri, generate_key
from vacr.signing.statement import ATTACHED, StatementClaims, sign
from vacr.transparency.receipt import build_log_entry


def read_coverage(folder):
    covered = JournalCoverage("x")
    for _ in read_checkpoints(folder, covered):
        pass
    return covered


@pytest.fixture
def logged(tmp_path):
    """A journal of three epochs whose checkpoints are in a log, with a copy after each checkpoint."""
    log = create_log(str(tmp_path / "log"))
    journal = Journal(tmp_path / "journal")
    with closing(log.ledger()) as ledger:
        for number in range(6):
            capture(journal, b"line %d\n" % number)
            journal.checkpoint(ends_epoch=number % 2 == 1)
            ledger.append([build_log_entry(parse_sign1(journal.covered.statement))])
            shutil.copytree(tmp_path / "journal", tmp_path / f"after-{number}")
        claims = StatementClaims(subject=compute_thumbprint_uri(journal.covered.first_key))
        other = sign(b"x", KeySigner(generate_key("eddsa")), profile=ATTACHED, claims=claims)
        ledger.append([build_log_entry(parse_sign1(other))])
    journal.close()
    return tmp_path


def test_complete_journal_lacks_no_checkpoint(logged):
    found = find_missing_checkpoints(read_coverage(logged / "journal"), str(logged / "log"))
    assert (found.missing, found.unknown) == ([], 1)  # somebody pretends


def test_older_copy_of_a_journal_is_found(logged):
    found = find_missing_checkpoints(read_coverage(logged / "after-2"), str(logged / "log"))
    assert (found.missing, found.unknown) == (
        [4],
        3,
    )  # one by the key of its epoch, two by that of the next
    found = find_missing_checkpoints(read_coverage(logged / "after-4"), str(logged / "log"))
    assert (found.missing, found.unknown) == ([6], 1)


def test_older_copy_is_found_over_http(machine):
    path = machine.transcript()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(3))
    machine.once("--no-seal")
    shutil.copytree(machine.journal, machine.state / "older")
    with Running(create_log(str(machine.state / "log")).path) as service:
        path.write_bytes(lines(5))
        machine.once("--no-seal", "--service", service.url)
        # The log publishes a little after it answers.
        service.wait_for_checkpoint(1 + len(read_coverage(machine.journal).anchors))
        assert machine.run("journal", "verify", "--log", service.url).returncode == 0
        done = machine.run(
            "journal", "verify", machine.state / "older", "--no-transcripts", "--log", service.url
        )
        assert (done.returncode, "the journal was reset" in done.err) == (1, True)
        shutil.rmtree(machine.journal)
        machine.once("--no-seal", "--service", service.url)  # another journal in the same log
        assert machine.run("journal", "verify", "--log", service.url).returncode == 0
    assert machine.run("journal", "verify", "--log", service.url).returncode == 4
