"""Check a log after a fault: everything that it handed out still holds, and it can go on."""

from contextlib import closing
from datetime import UTC, datetime

from tests.log.statements import statements
from vacr.log.folder import open_log_folder
from vacr.log.fsck import run_fsck
from vacr.log.keyring import read_log_descriptions
from vacr.log.ledger import TileCache, build_inclusion_receipt
from vacr.log.publishing import Publisher, ReaderPool
from vacr.signing.cose import parse_sign1
from vacr.transparency.checkpoint import NOTE_KEY_ED25519, VerifierKey, verify_checkpoint
from vacr.transparency.receipt import build_log_entry
from vacr.transparency.tree import compute_root, make_node_lookup
from vacr.verification.receipts import check_receipt

LATER = datetime(2100, 1, 1, tzinfo=UTC)


def audit(path, handed, *, where=""):
    """Reopen a log, check it against its receipts, append, publish, and check again."""
    folder = open_log_folder(str(path))
    with closing(folder.ledger()) as ledger:
        assert run_fsck(folder).findings.problems == [], where
        check_handed(ledger.storage, handed, where)
        fresh = statements(3)
        placed = ledger.append([build_log_entry(parse_sign1(statement)) for statement in fresh])
        handed.receipts += [
            (statement, place.receipt) for statement, place in zip(fresh, placed, strict=True)
        ]
        check_handed(ledger.storage, handed, where)
    publish(folder)
    assert run_fsck(folder).findings.problems == [], where
    with closing(folder.reader()) as reading:
        size = reading.head().head.size
        entries = reading.entries(0, size)
        assert len(entries) == len(set(entries)) == size, f"{where}: an entry is there twice"
    return size


def publish(folder):
    """Publish the whole log, as a service does at its start."""
    readers = ReaderPool(folder.reader)
    publisher = Publisher(readers, folder.keyring, folder.public, pause=0)
    publisher.start()
    publisher.close()
    readers.close()
    assert publisher.failure is None
    with closing(folder.reader()) as reading:
        assert publisher.size == reading.head().head.size


def check_handed(reading, handed, where=""):
    """Check that every receipt and checkpoint that was handed out holds in the present log."""
    descriptions = read_log_descriptions(reading)
    known = [description.receipt_key for description in descriptions]
    find_node = make_node_lookup(TileCache(reading))
    for statement, receipt in handed.receipts:
        message = parse_sign1(statement)
        logged = check_receipt(message, receipt, known, LATER)
        assert reading.entries(logged.index, logged.index + 1) == [build_log_entry(message)], (
            f"{where}: entry {logged.index} is lost"
        )
        again = check_receipt(message, build_inclusion_receipt(reading, logged.index), known, LATER)
        assert again.index == logged.index
        assert again.size >= logged.size, f"{where}: the log has shrunk"
    signers = [
        VerifierKey(
            description.origin, NOTE_KEY_ED25519, description.checkpoint_key.public_bytes_raw()
        )
        for description in descriptions
    ]
    for note in handed.checkpoints:
        published = verify_checkpoint(note, *signers)
        assert compute_root(find_node, published.size) == published.root, (
            f"{where}: a checkpoint of another tree"
        )
