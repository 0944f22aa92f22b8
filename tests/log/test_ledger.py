"""A log in either storage: entries in, receipts out, and no loss in between."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.log.statements import entries, statements
from vacr.errors import InvalidStatement, UsageError
from vacr.log.folder import create_log, open_log_folder, rotate_log_keys
from vacr.log.fsck import run_fsck
from vacr.log.keyring import LogKeyPair, read_log_descriptions
from vacr.log.ledger import (
    MAX_BATCH_ENTRIES,
    TileCache,
    build_consistency_receipt,
    build_inclusion_receipt,
)
from vacr.log.storage import Batch, HeadMoved, LogDamaged, StorageFailed
from vacr.signing.cose import parse_sign1
from vacr.transparency.checkpoint import Checkpoint, sign_checkpoint
from vacr.transparency.receipt import build_log_entry, parse_receipt
from vacr.transparency.tree import compute_root, hash_leaf, make_node_lookup
from vacr.verification.receipts import check_receipt

NOW = datetime(2100, 1, 1, tzinfo=UTC)


def read_keys(folder):
    with closing(folder.reader()) as reading:
        return [description.receipt_key for description in read_log_descriptions(reading)]


def test_receipts_verify(folder):
    known = read_keys(folder)
    with closing(folder.ledger()) as ledger:
        handed = []
        for size in (1, 2, 3, 300, 1, 512):
            given = statements(size)
            placed = ledger.append([build_log_entry(parse_sign1(statement)) for statement in given])
            assert [entry.position for entry in placed] == list(
                range(ledger.head.head.size - size, ledger.head.head.size)
            )
            assert all(entry.new for entry in placed)
            handed += zip(given, placed, strict=True)
        for given, placed in handed:
            logged = check_receipt(parse_sign1(given), placed.receipt, known, NOW)
            assert (logged.index, logged.subject) == (placed.position, ledger.keyring.origin)
            assert logged.issuer == ledger.keyring.log_identity
        (other,) = statements(1)
        with pytest.raises(InvalidStatement):
            check_receipt(parse_sign1(other), handed[0][1].receipt, known, NOW)
    assert run_fsck(folder).findings.problems == []


def test_statement_is_added_once(folder):
    first, second = entries(2)
    with closing(folder.ledger()) as ledger:
        (placed,) = ledger.append([first])
        size = ledger.head.head.size
        again, fresh, twice = ledger.append([first, second, second])
        assert (again.position, again.new) == (placed.position, False)
        assert (fresh.position, twice.position) == (size, size)
        assert ledger.head.head.size == size + 1
        head = ledger.head
        assert [entry.position for entry in ledger.append([first, second])] == [
            placed.position,
            size,
        ]
        assert ledger.head == head  # known entries cause no new signature
    assert run_fsck(folder).findings.problems == []


def test_new_index_entries_are_merged(folder, monkeypatch):
    monkeypatch.setattr("vacr.log.storage._INDEX_MERGE_INTERVAL", 16)
    given = entries(60)
    with closing(folder.ledger()) as ledger:
        for first in range(0, 60, 7):
            ledger.append(given[first : first + 7])
            places = [placed.position for placed in ledger.append(given[: first + 7])]
            assert places == list(range(1, len(places) + 1))
        parts = [
            ledger.storage._fetch_value(f"SELECT count(*) FROM {table}")  # noqa: S608
            for table in _index_tables(ledger)
        ]
    assert parts == [50, 11]
    assert run_fsck(folder).findings.problems == []


def _index_tables(ledger):
    schema = "" if ledger.storage.connection.__class__ is sqlite3.Connection else "vacr."
    return [f"{schema}old_leaves", f"{schema}new_leaves"]


def test_receipts_verify_after_many_reopenings(folder):
    known = read_keys(folder)
    handed = []
    for size in (200, 57, 1, 255, 600):
        with closing(folder.ledger()) as ledger:
            given = statements(size)
            for at in range(0, size, MAX_BATCH_ENTRIES):
                part = given[at : at + MAX_BATCH_ENTRIES]
                handed += zip(
                    part,
                    ledger.append([build_log_entry(parse_sign1(statement)) for statement in part]),
                    strict=True,
                )
    with closing(folder.reader()) as reading:
        for given, placed in handed[::7]:
            receipt = build_inclusion_receipt(reading, placed.position)
            assert check_receipt(parse_sign1(given), receipt, known, NOW).size == len(handed) + 1
            assert (
                check_receipt(parse_sign1(given), placed.receipt, known, NOW).index
                == placed.position
            )
        assert build_inclusion_receipt(reading, len(handed) + 1) is None
        assert build_inclusion_receipt(reading, -1) is None
    assert run_fsck(folder).findings.problems == []


def test_two_writers_share_one_log(folder):
    with closing(folder.ledger()) as one, closing(folder.ledger()) as other:
        given = entries(60)
        places = []
        for number, entry in enumerate(given):
            places += [placed.position for placed in (one, other)[number % 2].append([entry])]
        assert places == list(range(1, 61))
        assert [placed.position for placed in other.append(given[::-1])] == places[::-1]
    assert run_fsck(folder).findings.problems == []


def test_head_moves_only_from_the_expected_state(folder):
    """Compare-and-swap: a batch prepared for an older head is not written, not even partly."""
    with closing(folder.ledger()) as ledger:
        before = ledger.head
        ledger.append(entries(3))
        (late,) = entries(1)
        stale = Batch(
            before,
            [late],
            [hash_leaf(late)],
            {},
            ledger.head.__class__(ledger.head.head, 0, 0),
        )
        size = ledger.head.head.size
        moved = Batch(before, [late], [hash_leaf(late)], {}, _resize_head(stale.after, size + 1))
        with pytest.raises(HeadMoved), ledger.storage.transaction() as transaction:
            transaction.append(moved)
        assert ledger.storage.head().head.size == size
        assert ledger.storage.count_rows()["entries"] == size
    assert run_fsck(folder).findings.problems == []


def _resize_head(stored, size):
    head = stored.head
    return stored.__class__(
        head.__class__(size, head.root, head.protected, head.signature), stored.time, 0
    )


def test_times_do_not_go_back_with_the_clock(folder):
    times = iter([2_000_000_000, 1_000_000_000, 1_500_000_000, 2_000_000_001])
    known, claimed = read_keys(folder), []
    with closing(folder.ledger(clock=lambda: next(times))) as ledger:
        for given in statements(4):
            (placed,) = ledger.append([build_log_entry(parse_sign1(given))])
            claimed.append(
                check_receipt(parse_sign1(given), placed.receipt, known, NOW).time.timestamp()
            )
    assert claimed == [2_000_000_000] * 3 + [2_000_000_001]
    assert run_fsck(folder).findings.problems == []


def test_log_keeps_its_identity_with_new_keys(folder):
    first, second = statements(2)
    with closing(folder.ledger()) as running:
        (old,) = running.append([build_log_entry(parse_sign1(first))])
        identity, old_signer = running.keyring.log_identity, running.signer
        rotate_log_keys(folder)
        (new,) = running.append(
            [build_log_entry(parse_sign1(second))]
        )  # a running service uses the new keys
        assert running.signer.public_key != old_signer.public_key
        assert (running.keyring.log_identity, new.position) == (identity, old.position + 2)
        with pytest.raises(InvalidStatement):
            check_receipt(parse_sign1(second), new.receipt, [old_signer.public_key], NOW)
    before, after = read_keys(folder)
    check_receipt(parse_sign1(first), old.receipt, [before], NOW)
    check_receipt(parse_sign1(second), new.receipt, [after], NOW)
    assert len(list((folder.path / "keys").iterdir())) == 2  # the old private keys were deleted
    rotate_log_keys(folder)
    assert len(read_keys(folder)) == 3
    assert run_fsck(folder).findings.problems == []


def test_only_one_of_two_concurrent_rotations_succeeds(folder, monkeypatch):
    write = LogKeyPair.save

    def meanwhile(pair, path):
        monkeypatch.setattr(LogKeyPair, "save", write)
        rotate_log_keys(folder)
        write(pair, path)

    monkeypatch.setattr(LogKeyPair, "save", meanwhile)
    with pytest.raises(
        UsageError, match="another process has already replaced the keys of the log"
    ):
        rotate_log_keys(folder)
    assert len(list((folder.path / "keys").iterdir())) == 2  # the keys of the successful rotation
    assert len(read_keys(folder)) == 2
    rotate_log_keys(folder)
    assert run_fsck(folder).findings.problems == []


def test_older_database_is_refused(folder):
    """If the log continued from there, two entries would have the same position, with receipts for
    both.
    """
    with closing(folder.ledger()) as running:
        running.append(entries(3))
        older = running.head
        running.append(entries(2))
        roll_back(folder, older)
        for _ in range(2):
            with pytest.raises(LogDamaged, match="the log had 6 entries, and some are missing now"):
                running.append(entries(1))
    folder.public.mkdir()
    (folder.public / "checkpoint").write_bytes(sign_fake_checkpoint(folder, 6))
    with pytest.raises(LogDamaged, match="it has 4 entries, but 6 were already published"):
        folder.ledger()


def roll_back(folder, head):
    """Remove entries, as an older copy of the database would."""
    schema, mark = ("vacr.", "%s") if folder.database else ("", "?")
    with closing(folder.storage()) as storage, storage.transaction():
        change = f"UPDATE {schema}head SET size = {mark}, root = {mark}"  # noqa: S608 - names only
        storage.connection.execute(change, (head.head.size, head.head.root))


def sign_fake_checkpoint(folder, size):
    with closing(folder.reader()) as reading:
        keyring = folder.keyring
        keyring.load_identity(reading)
        checkpoint = Checkpoint(keyring.origin, size, bytes(32))
        return sign_checkpoint(checkpoint, keyring.load_checkpoint_key(reading, reading.head()))


def test_log_without_its_keys_is_refused(folder):
    for key in (folder.path / "keys").iterdir():
        key.unlink()
    with pytest.raises(UsageError, match="the log's receipt key is missing"):
        folder.ledger()


def test_keys_readable_by_others_are_refused(folder):
    for key in (folder.path / "keys").iterdir():
        key.chmod(0o644)
    with pytest.raises(UsageError, match="other users can read") as caught:
        folder.ledger()
    assert "--force" not in caught.value.hint  # logs have no such option


def test_consistency_receipts_verify(folder):
    with closing(folder.ledger()) as ledger:
        heads = [ledger.head.head]
        for size in (3, 5, 300):
            ledger.append(entries(size))
            heads.append(ledger.head.head)
        for older in heads:
            for newer in heads:
                if older.size < newer.size:
                    receipt = parse_receipt(
                        build_consistency_receipt(
                            ledger.storage, ledger.keyring, older.size, newer.size
                        )
                    )
                    (proof,) = receipt.consistencies
                    receipt.check(proof.root(older.root), ledger.signer.public_key)
        unsigned = parse_receipt(build_consistency_receipt(ledger.storage, ledger.keyring, 2, 6))
        unsigned.check(
            unsigned.consistencies[0].root(compute_tree_root(ledger, 2)), ledger.signer.public_key
        )
        for wrong in ((0, 5), (5, 5), (6, 5), (5, 5000)):
            with pytest.raises(UsageError, match="no consistency proof from"):
                build_consistency_receipt(ledger.storage, ledger.keyring, *wrong)


def compute_tree_root(ledger, size):
    return compute_root(make_node_lookup(TileCache(ledger.storage)), size)


def test_failed_batch_is_rolled_back(folder, monkeypatch):
    with closing(folder.ledger()) as ledger:
        size = ledger.head.head.size

        def fails(*_):
            raise StorageFailed("no space left")

        with monkeypatch.context() as patched:
            patched.setattr(type(ledger.storage), "append", fails)
            with pytest.raises(StorageFailed):
                ledger.append(entries(5))
        given = entries(3)
        assert [entry.position for entry in ledger.append(given)] == [size, size + 1, size + 2]
    assert run_fsck(folder).findings.problems == []


def test_stored_data_is_checked_on_read(tmp_path):
    folder = create_log(str(tmp_path / "log"))
    with closing(folder.ledger()) as ledger:
        ledger.append(entries(5))
    with closing(sqlite3.connect(folder.path / "log.db")) as database, database:
        database.execute("UPDATE tiles SET hashes = zeroblob(length(hashes))")
    with pytest.raises(LogDamaged, match="does not match the signed root"):
        folder.ledger()


def test_log_is_created_completely_or_not_at_all(tmp_path):
    place = tmp_path / "log"
    create_log(str(place))
    with pytest.raises(UsageError, match="already contains a log"):
        create_log(str(place))
    with pytest.raises(UsageError, match="cannot name a log"):
        create_log(str(tmp_path / "other"), origin="https://example.org/")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    (tmp_path / "empty").mkdir()
    assert create_log(str(tmp_path / "empty"), origin="example.org/log").path.name == "empty"


def test_folder_can_have_any_name(tmp_path):
    log = create_log(str(tmp_path / "my log+\n\x1b[31m<b>"))
    with closing(log.reader()) as reading:
        assert read_log_descriptions(reading)[0].origin.startswith("localhost/my-log-31m-b--")


def test_moved_log_keeps_its_identity(tmp_path):
    folder = create_log(str(tmp_path / "log"))
    with closing(folder.ledger()) as ledger:
        identity = ledger.keyring.log_identity
    folder.path.rename(tmp_path / "moved")
    with closing(open_log_folder(str(tmp_path / "moved")).ledger()) as ledger:
        assert ledger.keyring.log_identity == identity


def test_database_contains_at_most_one_log(database, tmp_path):
    create_log(str(tmp_path / "log"), database=database)
    with pytest.raises(UsageError, match="this database already contains a log"):
        create_log(str(tmp_path / "other"), database=database)
    assert not (tmp_path / "other").exists()
