"""Run a log in its own process, built like the service, to disturb it.

python -m tests.faults.scenario STAGE FOLDER reads statements as CBOR. It prints each result that it
hands out as a line, in hexadecimal: `receipt STATEMENT RECEIPT`, `checkpoint NOTE`, and
`failed MESSAGE`.

The log itself never uses `writev`. The output does, so that faults can be injected into every
`write` of the log.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import cbor2

from vacr.errors import VacrError
from vacr.log import ledger as ledger_module
from vacr.log.folder import create_log, open_log_folder, rotate_log_keys
from vacr.log.ledger import Sequencer
from vacr.log.publishing import Publisher, ReaderPool
from vacr.signing.cose import parse_sign1
from vacr.transparency.receipt import build_log_entry


def report(*words):
    os.writev(
        1,
        [
            " ".join(
                word.hex() if isinstance(word, bytes) else str(word) for word in words
            ).encode()
            + b"\n"
        ],
    )


class Running:
    """A sequencer and a publisher on one log, as `vacr.log.service` runs them."""

    def __init__(self, path):
        self.folder = open_log_folder(path)
        self.done = threading.Semaphore(0)
        self.sequencer = Sequencer(self.folder.ledger(), self.deliver)
        self.readers = ReaderPool(self.folder.reader)
        self.publisher = Publisher(
            self.readers, self.folder.keyring, self.folder.public, pause=0, interval=None
        )
        self.publisher.start()
        self.wait_until_published()

    def deliver(self, results):
        for statement, result in results:
            if isinstance(result, VacrError):
                report("failed", str(result).encode())
            else:
                report("receipt", statement, result.receipt)
        self.done.release()

    def register(self, statements: Sequence[bytes]):
        """Append statements as one batch, and wait until they are published or have failed."""
        with self.sequencer.changed:
            for statement in statements:
                self.sequencer.submit(build_log_entry(parse_sign1(statement)), statement)
        self.done.acquire()
        self.publisher.failure = None
        self.publisher.due.set()
        self.wait_until_published()

    def wait_until_published(self):
        """Wait until the log is published or has failed: all runs must write in the same order."""
        head = self.sequencer.ledger.head
        if head is None:
            return
        while self.publisher.size < head.head.size and self.publisher.failure is None:
            time.sleep(0.002)
        if self.publisher.failure is None:
            report("checkpoint", self.publisher.note)
        else:
            report("failed", str(self.publisher.failure).encode())

    def close(self):
        self.sequencer.close()
        self.publisher.close()
        self.readers.close()


def append(path, statements):
    """Append some batches, one with a known statement; rotate the keys; append another batch."""
    running = Running(path)
    running.register(statements[:1])
    running.register(statements[1:3])
    running.register([statements[0], *statements[3:5]])
    try:
        rotate_log_keys(running.folder)
    except VacrError as error:
        report("failed", str(error).encode())
    running.register(statements[5:])
    running.close()


def simple(path, statements):
    """Append one batch and stop."""
    running = Running(path)
    running.register(statements)
    running.close()


def turn(path, statements):
    """Rotate the keys, then append one batch."""
    rotate_log_keys(open_log_folder(path))
    report("rotated")
    simple(path, statements)


def crash(path, statements):
    """Append two batches in a process that exits as soon as one fails."""
    ledger = open_log_folder(path).ledger()
    ledger._reopen_storage = lambda: os._exit(1)
    for batch in (statements[:1], statements[1:]):
        ledger.append([build_log_entry(parse_sign1(statement)) for statement in batch])


def relapse(path, statements):
    """Run `crash` in a process of its own, which may fail, and append again in this one."""
    command = [sys.executable, "-m", "tests.faults.scenario", "crash", path]
    subprocess.run(command, input=cbor2.dumps(statements), check=False)
    simple(path, statements)


def init(path, _):
    """Create a log."""
    create_log(path)
    report("made")


STAGES = {
    "append": append,
    "simple": simple,
    "large": simple,
    "rotate": turn,
    "init": init,
    "crash": crash,
    "relapse": relapse,
}


def main():
    ledger_module._RETRY_PAUSE_SECONDS = (
        0.01  # retries wait for a disk to recover, which does not happen here
    )
    try:
        STAGES[sys.argv[1]](sys.argv[2], cbor2.load(sys.stdin.buffer))
    except VacrError as error:
        report("failed", str(error).encode())
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
