"""Events are read from spools into the journal once, and read spools are removed."""

import os
import time

import pytest

from tests.capture.hooks import run_hook
from tests.capture.watching import add, lines
from vacr.capture import session_capture
from vacr.capture.chains import EMPTY_CHAIN_HEAD
from vacr.capture.journal import Journal
from vacr.capture.session_capture import _SPOOL_IDLE_SECONDS, WatchSettings
from vacr.capture.session_journal import get_session_journal_path, list_session_journals
from vacr.capture.spool import list_spools
from vacr.capture.watcher import Watcher

pytestmark = pytest.mark.component


@pytest.fixture
def watcher(tmp_path):
    journal = Journal(tmp_path / "journal")
    yield Watcher(journal, [], tmp_path, WatchSettings(settling=0))
    journal.close()


def spool_event(tmp_path, number, session="s"):
    run_hook(
        tmp_path,
        "claude-code",
        stdin=b'{"session_id":"%s","number":%d}' % (session.encode(), number),
    )


def read_captured_events(tmp_path):
    from vacr.capture.chains import ChainScan, read_frames
    from vacr.capture.session_journal import decode_journal_note

    found = []
    for name in list_session_journals(tmp_path / "journal"):
        with get_session_journal_path(tmp_path / "journal", name).open("rb") as file:
            notes = [
                decode_journal_note(payload, name, 0)
                for _, payload in read_frames(file, name, ChainScan(), EMPTY_CHAIN_HEAD)
            ]
        found += [
            int(note["data"].split(b":")[-1][:-1]) for note in notes if note["kind"] == "event"
        ]
    return found


def tidy_after_hours(watcher, monkeypatch):
    """Make the watcher tidy up as it would after hours."""
    monkeypatch.setattr(session_capture, "_SPOOL_IDLE_SECONDS", -1.0)
    monkeypatch.setattr(session_capture, "_HOOK_GRACE_SECONDS", -1.0)
    watcher.events.tidy()
    monkeypatch.undo()


def test_events_are_read_once(tmp_path, watcher):
    for number in range(3):
        spool_event(tmp_path, number)
    watcher.step(None)
    watcher.step(None)
    spool_event(tmp_path, 3)
    watcher.step(None)
    assert read_captured_events(tmp_path) == [0, 1, 2, 3]


def test_read_spools_are_removed_without_losing_or_doubling_events(tmp_path, watcher, monkeypatch):
    spool_event(tmp_path, 0)
    (one,) = list_spools(tmp_path)
    late = os.open(
        one.path, os.O_WRONLY | os.O_APPEND
    )  # a hook that has opened it, and writes when it gets to it
    spool_event(tmp_path, 1, session="other")
    frame = next(
        spool for spool in list_spools(tmp_path) if spool.session == "other"
    ).path.read_bytes()
    tidy_after_hours(watcher, monkeypatch)
    assert len(list(list_spools(tmp_path))) == 2  # nothing of it was read yet
    watcher.step(None)
    tidy_after_hours(watcher, monkeypatch)
    assert all(spool.is_taken for spool in list_spools(tmp_path))
    os.write(late, frame)
    os.close(late)
    spool_event(tmp_path, 2)  # a new spool of the same name
    watcher.step(None)
    assert sorted(read_captured_events(tmp_path)) == [0, 1, 1, 2]
    for _ in range(3):
        tidy_after_hours(watcher, monkeypatch)
    assert list(list_spools(tmp_path)) == []
    spool_event(tmp_path, 3)
    watcher.step(None)
    assert sorted(read_captured_events(tmp_path)) == [0, 1, 1, 2, 3]


def test_spool_with_a_torn_end_is_removed(tmp_path, watcher, monkeypatch):
    spool_event(tmp_path, 0)
    (one,) = list_spools(tmp_path)
    with one.path.open("ab") as file:
        file.write(one.path.read_bytes()[:30])  # its hook was killed, or the power failed
    watcher.step(None)
    for _ in range(3):
        tidy_after_hours(watcher, monkeypatch)
    assert (read_captured_events(tmp_path), list(list_spools(tmp_path))) == ([0], [])


def test_restarted_watcher_continues(tmp_path, watcher, monkeypatch):
    spool_event(tmp_path, 0)
    watcher.step(None)
    tidy_after_hours(watcher, monkeypatch)
    watcher.journal.checkpoint()
    watcher.journal.close()
    spool_event(tmp_path, 1)
    again = Watcher(Journal(tmp_path / "journal"), [], tmp_path, WatchSettings(settling=0))
    try:
        again.step(None)
        assert read_captured_events(tmp_path) == [0, 1]
        for _ in range(3):
            tidy_after_hours(again, monkeypatch)
        assert list(list_spools(tmp_path)) == []
    finally:
        again.journal.close()


def test_fresh_spool_stays(tmp_path, watcher):
    spool_event(tmp_path, 0)
    watcher.step(None)
    watcher.events.tidy()
    (one,) = list_spools(tmp_path)
    assert not one.is_taken
    assert time.time() - one.path.stat().st_mtime < _SPOOL_IDLE_SECONDS


# --- sessions of which there is nothing but events, yet ---


def test_events_without_transcript_get_a_journal_after_a_while(tmp_path):
    journal = Journal(tmp_path / "journal")
    watcher = Watcher(journal, [], tmp_path, WatchSettings())
    spool_event(tmp_path, 0)
    (one,) = list_spools(tmp_path)
    for seconds in (0, WatchSettings.settling - 10):
        os.utime(one.path, (time.time() - seconds,) * 2)
        watcher.step(set())
        watcher.step(None)
        assert read_captured_events(tmp_path) == []
    os.utime(one.path, (time.time() - WatchSettings.settling,) * 2)
    watcher.step(set())
    assert read_captured_events(tmp_path) == [0]
    spool_event(tmp_path, 1)  # from then on it waits no more
    watcher.step(None)
    assert read_captured_events(tmp_path) == [0, 1]
    journal.close()


def test_events_wait_for_a_later_transcript(machine):
    path = machine.transcript()
    path.parent.mkdir(parents=True)
    watching = machine.watch("--no-seal")
    run_hook(machine.state, "claude-code", stdin=b'{"session_id":"%s"}' % path.stem.encode())
    add(machine.transcript("another"), lines(1, session="another"))
    watching.wait_until_captured(machine.transcript("another"))
    assert machine.names() == [machine.name_of(machine.transcript("another"))]
    add(path, lines(2))
    watching.wait_until(
        lambda: (found := machine.state_of(machine.name_of(path))) is not None and found.events == 1
    )
    watching.stop()
    assert len(machine.names()) == 2
    machine.check_intact()
