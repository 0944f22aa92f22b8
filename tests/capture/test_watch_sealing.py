"""`vacr watch` as a real process: ended sessions are sealed once, and only then deleted."""

import json
import re
import shutil

import pytest

from tests.capture.hooks import run_hook
from tests.capture.watching import SESSION, add, heads, line, lines
from vacr.capture.chains import JournalCoverage, read_checkpoints
from vacr.capture.journal import Journal
from vacr.capture.session_journal import get_session_journal_path

pytestmark = pytest.mark.component


def verify_record(machine, record):
    """Verify a sealed record by the command, and return it."""
    done = machine.run(
        "verify", f"{record}.cose", "--trust", machine.state / "keys" / "signing.pub.pem"
    )
    assert done.returncode == 0, done.out + done.err
    return json.loads(record.read_bytes())


def test_continued_session_is_sealed_again(machine):
    path = machine.transcript()
    add(path, lines(3))
    watching = machine.watch()
    watching.wait_until_captured(path)
    machine.end(path)
    watching.wait_until(lambda: "sealed: " in watching.output)
    (first,) = machine.sealed()
    record = verify_record(machine, first)
    reference = record["vacr"]["inputs"]["journal"]
    name = machine.name_of(path)
    assert reference["session"] == name
    head = list(heads(get_session_journal_path(machine.journal, name)))[reference["frames"] - 1]
    assert (head.frames, head.hash.hex()) == (reference["frames"], reference["head"])
    assert len(record["session"]["entries"]) == 3
    # The earlier end does not count for the new content.
    add(path, line(3))
    watching.wait_until_captured(path)
    machine.end(path)
    watching.wait_until(lambda: watching.output.count("sealed: ") == 2)
    assert machine.sealed() == [first.with_name(f"{SESSION}.2.acr.json"), first]
    assert len(verify_record(machine, machine.sealed()[0])["session"]["entries"]) == 4
    watching.stop()
    found = machine.check_intact()
    assert found["notices"] == []
    machine.once("--quiet-after", 0)
    assert len(machine.sealed()) == 2


def test_session_that_ended_before_a_restart_is_sealed(machine):
    path = machine.transcript()
    add(path, lines(3))
    machine.end(path)
    watching = machine.watch()
    watching.wait_until(
        lambda: (
            machine.state_of(machine.name_of(path))
            and machine.state_of(machine.name_of(path)).events
        )
    )
    watching.stop(9)
    watching = machine.watch()
    watching.wait_until(lambda: "sealed: " in watching.output)
    watching.stop()
    assert len(machine.sealed()) == 1


def test_end_of_a_sealed_session_is_not_sealed_again(machine):
    path = machine.transcript()
    add(path, lines(3))
    machine.once("--quiet-after", 0)
    machine.end(path)
    machine.once("--quiet-after", 0)
    assert machine.state_of(machine.name_of(path)).events == 1
    assert len(machine.sealed()) == 1
    add(path, line(3))
    machine.once("--quiet-after", 0)
    assert len(machine.sealed()) == 2


def test_sub_agents_are_sealed_with_their_session(machine):
    path = machine.transcript()
    sub = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    add(path, lines(2))
    add(
        sub,
        line(1, text="of a sub-agent").replace(
            b'"type"', b'"isSidechain":true,"agentId":"a1","type"'
        ),
    )
    machine.once("--quiet-after", 0)
    assert len(machine.sealed()) == 2
    before = {path: path.read_bytes() for path in machine.sealed()}
    add(path, line(2))
    machine.once("--quiet-after", 0)
    # Attribution depends on both, so both are sealed again, but not at every look.
    assert len(machine.sealed()) == 4
    machine.once("--quiet-after", 0)
    assert len(machine.sealed()) == 4
    assert all(path.read_bytes() == data for path, data in before.items())
    trust = machine.state / "keys" / "signing.pub.pem"
    assert machine.run("verify", machine.state / "sealed", "--trust", trust).returncode == 0


def test_record_written_before_a_crash_is_not_written_twice(machine):
    """The watcher was killed after it wrote a record and before it noted it in the journal."""
    path = machine.transcript()
    add(path, lines(3))
    machine.once("--no-seal")
    shutil.copytree(machine.state, machine.state.with_name("before"))
    machine.once("--quiet-after", 0)
    (record,) = machine.sealed()
    data, statement = record.read_bytes(), record.with_name(f"{record.name}.cose").read_bytes()
    for left in ([record, record.with_name(f"{record.name}.cose")], [record]):
        kept = {file: file.read_bytes() for file in left}
        shutil.copytree(
            machine.state / "keys", machine.state.with_name("before") / "keys", dirs_exist_ok=True
        )
        shutil.rmtree(machine.state)
        shutil.copytree(machine.state.with_name("before"), machine.state)
        record.parent.mkdir(parents=True)
        for file, content in kept.items():
            file.write_bytes(content)
        machine.once("--quiet-after", 0)
        assert machine.sealed() == [record]
        assert record.read_bytes() == data
        assert (record.with_name(f"{record.name}.cose").read_bytes() == statement) == (
            len(left) == 2
        )
        verify_record(machine, record)
        assert machine.check_intact()["notices"] == []


def test_events_cannot_have_other_files_captured(machine):
    """An event chooses its transcript path freely, but only transcripts are read."""
    secret = machine.home / "secret.jsonl"
    secret.write_bytes(b"secret\n")
    (machine.home / ".codex" / "sessions").mkdir(parents=True)
    named = [
        "/etc/shadow",
        str(secret),
        f"{machine.home}/.codex/sessions/../../secret.jsonl",
        f"{machine.home}/.codex/sessions/../../../../../../../../etc/x.jsonl",
        f"{machine.home}/.codex/sessions/{'x' * 5000}.jsonl",
        f"{machine.home}/.codex/sessions/" + "d/" * 3000 + "x.jsonl",
        "relative.jsonl",
        "\ud800",
        "a\0b",
        "",
        7,
        None,
        ["x"],
        "/dev/zero",
        "/proc/self/environ",
    ]
    for number, item in enumerate(named):
        event = {
            "session_id": f"s{number}",
            "hook_event_name": "SessionStart",
            "transcript_path": item,
        }
        run_hook(machine.state, "codex-cli", stdin=json.dumps(event).encode())
    run_hook(machine.state, "codex-cli", stdin=b"[" * 100_000)
    run_hook(machine.state, "no such agent", stdin=b'{"session_id":"a\\u001b[2J\\nb"}')
    machine.once()
    states = [machine.state_of(name) for name in machine.names()]
    assert sum(state.events for state in states) == len(named) + 2
    assert [part.name for state in states for part in state.parts] == []
    machine.check_intact()


# --- retention ---


def make_sealed_sessions(machine, count):
    """Seal sessions one after the other, and return their journals, oldest first."""
    found = []
    for number in range(count):
        path = machine.transcript(f"session-{number}")
        add(path, lines(20, session=path.stem))
        machine.once("--quiet-after", 0)
        found.append(machine.name_of(path))
    return found


def test_oldest_sealed_journals_are_deleted_first(machine):
    names = make_sealed_sessions(machine, 3)
    open_one = machine.transcript("open")
    add(open_one, lines(50, session="open"))
    sizes = {name: get_session_journal_path(machine.journal, name).stat().st_size for name in names}
    machine.once("--no-seal")
    total = sum(
        get_session_journal_path(machine.journal, name).stat().st_size for name in machine.names()
    )
    machine.once("--no-seal", "--limit", (total - sizes[names[0]] - 1) / 1e6)
    assert set(machine.names()) == {names[2], machine.name_of(open_one)}
    machine.once("--no-seal", "--limit", 0, "--keep", 0)
    assert machine.names() == [machine.name_of(open_one)]
    found = machine.check_intact()
    assert (found["retired"], found["notices"]) == (3, [])
    # Only a deleted session that continues comes back, and it is captured completely.
    machine.once("--all", "--quiet-after", 3600)
    assert machine.names() == [machine.name_of(open_one)]
    again = machine.transcript("session-1")
    add(again, line(99))
    machine.once("--quiet-after", 3600)
    assert set(machine.names()) == {machine.name_of(open_one), f"{names[1]}~2"}
    assert bytes(machine.state_of(f"{names[1]}~2").parts[0].content.loaded) == again.read_bytes()
    machine.check_intact()


def test_broken_journal_is_not_deleted(machine):
    (name,) = make_sealed_sessions(machine, 1)
    path = get_session_journal_path(machine.journal, name)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    output = machine.once("--quiet-after", 0).err
    assert re.search(rf"{re.escape(name)}\.frames: frame \d+ was changed", output)
    assert output.count("a new one continues it; for details, run vacr journal verify") == 1
    machine.once("--quiet-after", 0, "--limit", 0)
    assert name in machine.names()
    assert path.read_bytes() == data
    findings = machine.verify()["findings"]
    assert any(re.search(r"frame \d+ was changed", finding) for finding in findings)


def test_interrupted_deletion_is_finished(machine):
    (name,) = make_sealed_sessions(machine, 1)
    data = get_session_journal_path(machine.journal, name).read_bytes()
    machine.once("--no-seal", "--limit", 0)
    assert machine.names() == []
    get_session_journal_path(machine.journal, name).write_bytes(data)
    assert machine.check_intact()["notices"] == [
        f"{name}: vacr watch marked this journal as deleted, but the file still exists"
    ]
    machine.once("--no-seal", "--limit", 0)
    assert machine.names() == []
    assert machine.check_intact()["notices"] == []


def test_journal_deleted_during_verification_is_not_missing(machine, monkeypatch):
    from vacr.capture import journal_checks as checking
    from vacr.capture.journal_checks import check_journal
    from vacr.capture.session_journal import list_session_journals

    (name,) = make_sealed_sessions(machine, 1)
    listed = list_session_journals

    def names_after_deleting(folder):
        journal = Journal(folder)
        try:
            if get_session_journal_path(folder, name).exists():
                journal.retire({name: bytes(32)})
        finally:
            journal.close()
        return listed(folder)

    monkeypatch.setattr(checking, "list_session_journals", names_after_deleting)
    assert check_journal(machine.journal).findings == []


@pytest.mark.unprivileged
def test_unreadable_transcript_is_reported(machine):
    path = machine.transcript()
    add(path, lines(3))
    path.chmod(0)
    assert "no permission" in machine.once(code=3).err


def test_epochs_end_across_restarts(machine):
    path = machine.transcript()
    for number in range(3):
        add(path, line(number))
        machine.once("--no-seal", "--epoch", 0)
    covered = JournalCoverage("")
    for _ in read_checkpoints(machine.journal, covered):
        pass
    assert covered.last.epoch >= 2
    assert machine.check_intact()["epochs"] == covered.last.epoch + 1
