"""A sealed record and the journal it was made from name each other."""

import hashlib
import json

import pytest

from tests.capture.test_journal import NAME, capture
from vacr.capture.journal import Journal
from vacr.capture.journal_checks import check_sealed_record
from vacr.errors import UnreadableInput


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "journal")
    yield journal
    journal.close()


def write_record(journal, reached, path, **other):
    reference = {
        "identity": journal.covered.identity.hex(),
        "session": NAME,
        "frames": reached.frames,
        "head": reached.hash.hex(),
    } | other
    path.write_text(json.dumps({"vacr": {"inputs": {"journal": reference}}}))
    return hashlib.sha256(path.read_bytes()).digest()


def test_record_and_journal_name_each_other(journal, tmp_path):
    session, _ = capture(journal, b"one\n")
    head = session.head
    capture(journal, b"two\n")
    digest = write_record(journal, head, tmp_path / "x.json")
    assert check_sealed_record(journal.folder, str(tmp_path / "x.json")) == [
        f"{NAME}: the journal does not list this record as sealed"
    ]
    session.note_seal(head, digest, bytes(32))
    journal.checkpoint()
    assert check_sealed_record(journal.folder, str(tmp_path / "x.json")) == []
    journal.retire({NAME: digest})
    assert check_sealed_record(journal.folder, str(tmp_path / "x.json")) == []
    write_record(journal, head, tmp_path / "other.json", more=1)
    assert check_sealed_record(journal.folder, str(tmp_path / "other.json")) == [
        f"{NAME}: this deleted journal was sealed as another record"
    ]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"head": "00" * 32}, "the journal does not contain the frames"),
        ({"frames": 100}, "the journal does not contain the frames"),
        ({"session": "claude-code/other"}, "the journal does not have this session"),
        ({"identity": "00" * 32}, "made from another journal"),
        ({"head": 7}, "does not name a journal"),
    ],
)
def test_mismatch_is_reported(journal, tmp_path, other, message):
    session, _ = capture(journal, b"one\n")
    digest = write_record(journal, session.head, tmp_path / "x.json", **other)
    session.note_seal(session.head, digest, bytes(32))
    journal.checkpoint()
    assert message in check_sealed_record(journal.folder, str(tmp_path / "x.json"))[0]


def test_invalid_record_is_reported(journal, tmp_path):
    (tmp_path / "x.json").write_text("no")
    with pytest.raises(UnreadableInput, match="not a record"):
        check_sealed_record(journal.folder, str(tmp_path / "x.json"))
    (tmp_path / "x.json").write_text("[1]")
    assert check_sealed_record(journal.folder, str(tmp_path / "x.json")) == [
        "the record does not name a journal: vacr watch did not seal it"
    ]
