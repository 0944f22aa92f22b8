"""The start of a disturbed watcher, and the checks after it and after the next one."""

import shutil

from tests.capture.watching import Machine, add, line, lines
from vacr.capture.journal_checks import check_journal
from vacr.capture.session_sources import read_current_parts

OPTIONS = ("--once", "--no-ui", "--checkpoint", "0", "--epoch", "0", "--quiet-after", "0")


def create_machine(folder):
    """Create a machine with a session that was captured and sealed and continues, and with new
    sessions.
    """
    machine = Machine(folder)
    add(machine.transcript("first"), lines(5, session="first"))
    add(machine.home / ".gemini" / "tmp" / "till" / "chats" / "session-1.json", gemini(1))
    machine.once("--epoch", "0", "--quiet-after", "0")
    add(machine.transcript("first"), line(5, session="first"))
    (machine.home / ".gemini" / "tmp" / "till" / "chats" / "session-1.json").write_bytes(gemini(3))
    add(machine.transcript("second"), lines(3, session="second"))
    add(machine.transcript("large"), line(0, session="large", text="x" * 2_500_000))
    machine.end(machine.transcript("second"))
    return machine


def gemini(count):
    """Return a session like Gemini writes it: the whole file each time."""
    messages = ", ".join(
        f'{{"id": "{number}", "type": "user", "content": "question {number}"}}'
        for number in range(count)
    )
    return (
        f'{{"sessionId": "g", "startTime": "2026-07-25T10:00:00.000Z", "messages": [{messages}]}}'
    ).encode()


def reset_machine(machine, folder):
    """Reset the machine at the same path, because the journal contains the paths of its
    transcripts.
    """
    for name in ("home", "state"):
        shutil.rmtree(getattr(machine, name), ignore_errors=True)
        shutil.copytree(folder / name, getattr(machine, name), symlinks=True)


def audit(machine, where, sealed=None):
    """Run an undisturbed watcher; then everything is captured and sealed once, and the journal is
    intact.
    """
    machine.once("--epoch", "0", "--quiet-after", "0")
    found = check_journal(machine.journal, current=read_current_parts)
    assert (found.findings, [notice for notice in found.notices if "gemini" not in notice]) == (
        [],
        [],
    ), where
    for path in (machine.home / ".claude").rglob("*.jsonl"):
        assert machine.captured(path) == path.read_bytes(), where
        assert machine.first_seen(path) == {path.name: path.read_bytes()}, where
    for path in (machine.home / ".gemini").rglob("*.json"):
        assert machine.last_seen(path, "gemini-cli") == {path.name: path.read_bytes()}, where
    events = [machine.state_of(name).events for name in machine.names()]
    assert sum(events) == 1, where
    if sealed is not None:
        assert [path.name for path in machine.sealed()] == sealed, where
        assert all(path.with_name(f"{path.name}.cose").exists() for path in machine.sealed()), where
    assert not list((machine.journal / "work").iterdir()), where
