"""The journal of a machine: sessions, checkpoints and epochs; tampering is named."""

import json
import shutil

import pytest

from vacr.capture.chains import (
    EMPTY_CHAIN_HEAD,
    BrokenJournal,
    ChainScan,
    encode_frame,
    read_frames,
)
from vacr.capture.history import restore_first_seen_parts
from vacr.capture.journal import Journal
from vacr.capture.journal_checks import check_journal
from vacr.capture.session_journal import (
    SessionJournal,
    get_session_journal_path,
    list_session_journals,
    replay_journal,
)
from vacr.errors import UnreadableInput, UsageError

NAME = "claude-code/abc-0123456789abcdef"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def journal(folder):
    journal = Journal(folder)
    yield journal
    journal.close()


def capture(journal, *pieces, name=NAME, path="/nowhere/abc.jsonl"):
    session = journal.session(name)
    if not session.head.frames:
        session.begin("claude-code", path, "")
    part = session.open_part("abc.jsonl", path, rewritten=False)
    for piece in pieces:
        session.note_changes(part, (part.content.size, 0, piece))
    return session, part


def read_contents(folder, name=NAME):
    *_, state = replay_journal(get_session_journal_path(folder, name), name, EMPTY_CHAIN_HEAD)
    return {part.name: bytes(part.content.loaded) for part in state.parts}


def list_findings(folder, **options):
    return check_journal(folder, **options).findings


def test_checkpoint_covers_captured_content(journal, folder):
    capture(journal, b"one\n", b"two\n")
    assert journal.list_uncovered_heads() == {NAME: journal.session(NAME).head}
    made = journal.checkpoint()
    assert made.sessions == {NAME: journal.session(NAME).head}
    assert journal.list_uncovered_heads() == {}
    checked = check_journal(folder)
    assert (checked.findings, checked.notices) == ([], [])
    assert (checked.sessions, checked.frames, checked.checkpoints, checked.epochs) == (1, 4, 2, 1)
    capture(journal, b"three\n")
    assert check_journal(folder).notices == [
        f"{NAME}: 1 frames are not covered by a checkpoint yet"
    ]
    assert read_contents(folder) == {"abc.jsonl": b"one\ntwo\nthree\n"}


def test_reopened_journal_continues(journal, folder):
    capture(journal, b"one\n")
    journal.checkpoint()
    identity = journal.covered.identity
    journal.close()
    again = Journal(folder)
    try:
        capture(again, b"two\n")
        again.checkpoint()
        assert again.covered.identity == identity
    finally:
        again.close()
    assert list_findings(folder) == []
    assert read_contents(folder) == {"abc.jsonl": b"one\ntwo\n"}


@pytest.mark.usefixtures("journal")
def test_journal_has_one_writer(folder):
    with pytest.raises(UsageError, match="another vacr watch"):
        Journal(folder)


def test_old_keys_are_erased_at_the_end_of_an_epoch(journal, folder):
    keys = set()
    for number in range(3):
        capture(journal, b"line %d\n" % number)
        keys.add((folder / "epoch-key.pem").read_bytes())
        journal.checkpoint(ends_epoch=True)
    capture(journal, b"last\n")
    journal.checkpoint()
    assert len(keys) == 3
    assert sorted(path.name for path in folder.glob("*.pem")) == ["epoch-key.pem"]
    checked = check_journal(folder)
    assert (checked.findings, checked.epochs) == ([], 4)
    # The key of this epoch cannot sign for an older one.
    journal.close()
    (folder / "epoch-key.pem").write_bytes(keys.pop())
    with pytest.raises(UnreadableInput, match="the key that the last checkpoint names is missing"):
        Journal(folder)
    assert list_findings(folder) == [
        (
            "the journal was reset to an older state: its key is newer than the last checkpoint, so "
            "later checkpoints are missing"
        )
    ]


@pytest.mark.parametrize(
    "moment", ["before the checkpoint", "before the key is in its place", "half erased"]
)
def test_interrupted_change_of_keys_is_finished(journal, folder, moment, monkeypatch):
    capture(journal, b"one\n")
    if moment == "before the checkpoint":
        journal._keys.create_next()
    else:
        monkeypatch.setattr(journal._keys, "advance", lambda: None)
        journal.checkpoint(ends_epoch=True)
        if moment == "half erased":
            (folder / "epoch-key.pem").write_bytes(bytes(100))
    journal.close()
    again = Journal(folder)
    try:
        capture(again, b"two\n")
        again.checkpoint(ends_epoch=True)
        again.checkpoint()
    finally:
        again.close()
    assert list_findings(folder) == []
    assert sorted(path.name for path in folder.glob("*.pem")) == ["epoch-key.pem"]


def test_changed_frame_is_named(journal, folder):
    capture(journal, b"one\n", b"two\n")
    journal.checkpoint()
    path = get_session_journal_path(folder, NAME)
    path.write_bytes(path.read_bytes().replace(b"one\n", b"uno\n"))
    assert list_findings(folder) == [f"{NAME}: frame 2 was changed"]


def test_recomputed_chain_is_named(journal, folder):
    """Anybody can compute a chain of other frames; the checkpoint has the old head."""
    capture(journal, b"one\n", b"two\n")
    journal.checkpoint()
    path = get_session_journal_path(folder, NAME)
    forged, before = b"", bytes(32)
    for _, payload in _frames(path):
        frame, before = encode_frame(payload.replace(b"one\n", b"uno\n"), before)
        forged += frame
    path.write_bytes(forged)
    assert list_findings(folder) == [
        (
            f"{NAME}: frame 3 does not have the hash in a signed checkpoint: it, or a frame before it, "
            "was changed"
        )
    ]


def _frames(path):
    with path.open("rb") as file:
        return list(read_frames(file, "x", ChainScan(), EMPTY_CHAIN_HEAD))


def test_missing_journal_is_named(journal, folder):
    capture(journal, b"one\n")
    journal.checkpoint()
    get_session_journal_path(folder, NAME).unlink()
    assert list_findings(folder) == [f"{NAME}: its journal is missing; it had 3 frames"]


def test_tampered_checkpoints_are_named(journal, folder):
    capture(journal, b"one\n")
    journal.checkpoint()
    capture(journal, b"two\n")
    journal.checkpoint()
    journal.close()
    path = folder / "checkpoints"
    before_it = _frames(path)
    for change in ("drop the first", "drop the second", "swap", "another signature"):
        payloads = [payload for _, payload in before_it]
        if change == "drop the first":
            del payloads[0]
        elif change == "drop the second":
            del payloads[1]
        elif change == "swap":
            payloads[1], payloads[2] = payloads[2], payloads[1]
        else:
            payloads[1] = payloads[1][:-1] + bytes([payloads[1][-1] ^ 1])
        forged, before = b"", bytes(32)
        for payload in payloads:
            frame, before = encode_frame(payload, before)
            forged += frame
        path.write_bytes(forged)
        assert any("checkpoint" in finding for finding in list_findings(folder)), change


def test_rewritten_history_is_named_and_first_seen_content_kept(journal, folder):
    session, part = capture(journal, b"one\ntwo\nthree\n")
    session.note_changes(part, (4, 3, b"2"))
    session.note_changes(part, (part.content.size, 0, b"four\n"))
    session.note_changes(part, (0, part.content.size, b""))
    journal.checkpoint()
    seen = [finding.partition(" after")[0] for finding in list_findings(folder)]
    assert seen == [
        f"{NAME}: abc.jsonl: line 2 changed",
        f"{NAME}: abc.jsonl: lines 1 to 4 vanished",
    ]
    assert read_contents(folder) == {"abc.jsonl": b""}
    assert restore_first_seen_parts(get_session_journal_path(folder, NAME), NAME, session.head) == {
        "abc.jsonl": b"one\ntwo\nthree\nfour\n"
    }


def test_rewritten_attached_file_is_a_remark(journal, folder):
    session, _ = capture(journal, b"one\n")
    part = session.open_part("abc/meta.json", "/nowhere/abc/meta.json", rewritten=True)
    session.note_changes(part, (0, 0, b"{\n}\n"))
    session.note_changes(part, (0, 2, b"[\n"))
    assert list_findings(folder) == []
    assert "line 1 changed after it had been captured" in check_journal(folder).remarks[0]
    session.note_seal(session.head, bytes(32), bytes(32))
    assert session.state.unsealed == 0
    session.note_changes(part, (0, 2, b"{\n"))
    assert session.state.unsealed == 1
    assert list_findings(folder) == []
    assert len(check_journal(folder).remarks) == 2


def test_transcript_is_compared_with_the_journal(journal, folder, tmp_path):
    path = tmp_path / "abc.jsonl"
    capture(journal, b"one\ntwo\n", path=path)
    journal.checkpoint()
    now = b"one\ntwo\n"

    def compare(**options):
        checked = check_journal(folder, current=lambda _state: {"abc.jsonl": now}, **options)
        return checked.findings, checked.notices

    assert compare() == ([], [])
    now = b"one\ntwo\nthree\n"
    assert compare() == ([], [f"{NAME}: abc.jsonl: 6 bytes are not captured yet"])
    now = b"one\n2\n"
    assert compare() == ([f"{NAME}: abc.jsonl: line 2 changed since it was captured"], [])


def test_large_change_takes_several_frames(journal, folder):
    session, part = capture(journal, b"one\n" + b"x" * 5_000_000 + b"\n")
    assert session.head.frames == 7
    session.note_changes(part, (0, part.content.size, b"two\n" + b"y" * 2_500_000 + b"\n"))
    journal.checkpoint()
    seen = [finding.partition(" after")[0] for finding in list_findings(folder)]
    assert seen == [f"{NAME}: abc.jsonl: lines 1 to 2 changed"]
    assert read_contents(folder) == {"abc.jsonl": b"two\n" + b"y" * 2_500_000 + b"\n"}


def test_broken_journal_stays_and_another_continues(journal, folder):
    capture(journal, b"one\n")
    journal.checkpoint()
    journal.close()
    path = get_session_journal_path(folder, NAME)
    broken = path.read_bytes().replace(b"one", b"eno")
    path.write_bytes(broken)
    again = Journal(folder)
    try:
        session, _ = capture(again, b"one\n")
        assert session.name == f"{NAME}~2"
        again.checkpoint()
    finally:
        again.close()
    assert path.read_bytes() == broken
    assert list_findings(folder) == [f"{NAME}: frame 2 was changed"]
    assert list(list_session_journals(folder)) == [NAME, f"{NAME}~2"]


def test_retired_journal_is_not_missing(journal, folder):
    session, _ = capture(journal, b"one\n")
    capture(journal, b"other\n", name="claude-code/other-0")
    journal.checkpoint()
    session.note_seal(session.head, bytes(range(32)), bytes(32))
    journal.checkpoint()
    journal.retire({NAME: bytes(range(32))})
    checked = check_journal(folder)
    assert (checked.findings, checked.sessions, checked.retired) == ([], 1, 1)
    assert journal.session(NAME).name == f"{NAME}~2"  # a name that was retired is not used again


def test_invalid_note_is_reported(tmp_path):
    path = tmp_path / "x.frames"
    frame, _ = encode_frame(json.dumps({"kind": "began"}).encode(), bytes(32))
    path.write_bytes(frame)
    with pytest.raises(BrokenJournal, match="is not a note that this version of vacr knows"):
        SessionJournal("x", path)


def test_missing_journal_has_a_hint(tmp_path):
    with pytest.raises(UnreadableInput) as caught:
        check_journal(tmp_path)
    assert caught.value.hint == "Run vacr watch to create a journal."


def test_unreadable_journal_has_no_hint_to_create_one(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(UnreadableInput) as caught:
        check_journal(tmp_path)
    assert caught.value.hint == ""


def test_older_copy_of_the_whole_journal_holds_without_an_anchor(journal, folder, tmp_path):
    """A limit of chains: an attacker who restores a complete older state leaves a journal that
    holds.
    """
    capture(journal, b"one\n")
    journal.checkpoint()
    shutil.copytree(folder, tmp_path / "older")
    capture(journal, b"two\n")
    journal.checkpoint()
    assert list_findings(tmp_path / "older") == []
