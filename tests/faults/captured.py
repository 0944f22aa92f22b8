"""Checks of the content that a capture reported as durable, after a loss of power and after the
next watcher.
"""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.capture.hooks import run_hook
from vacr.capture.chains import (
    CHECKPOINTS_FILE,
    EMPTY_CHAIN_HEAD,
    ChainScan,
    JournalCoverage,
    read_checkpoints,
    read_frames,
)
from vacr.capture.journal_checks import check_journal
from vacr.capture.session_journal import (
    decode_journal_note,
    get_session_journal_path,
    list_session_journals,
)
from vacr.capture.session_sources import read_current_parts
from vacr.errors import UnreadableInput
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import parse_public_keys

_HONEST = (
    "the last frame is incomplete",
    "not covered by a checkpoint yet",
    "still exists",
    "bytes are not captured yet",
)
"""Notices that a loss of power may cause before the next watcher."""

_ANOTHER = b'{"session_id": "first", "hook_event_name": "Notification"}'


@dataclass
class DurableReports:
    """The reports of `tests.faults.capture_scenario`, in order."""

    events: list[bytes] = field(default_factory=list)
    """Events whose hook has ended."""
    heads: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """The last head of each chain."""
    journaled: dict[bytes, str] = field(default_factory=dict)
    """Event → the journal that has it."""
    sealed: set[bytes] = field(default_factory=set)

    def read(self, lines):
        """Parse the reports; a line without its end does not count."""
        for line in lines.split(b"\n")[:-1]:
            kind, *rest = line.decode().split()
            given = list(map(bytes.fromhex, rest))
            if kind == "event":
                self.events.append(given[0])
            elif kind == "frames":
                self.heads[given[0].decode()] = (int(given[1]), given[2])
            elif kind == "journaled":
                self.journaled[given[1]] = given[0].decode()
            elif kind == "sealed":
                self.sealed.add(given[0])
        return self


class Journals:
    """The content of a journal's folder, read without changing it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.covered = JournalCoverage(str(folder / CHECKPOINTS_FILE))
        if (folder / CHECKPOINTS_FILE).exists():
            for _ in read_checkpoints(folder, self.covered):
                pass
        self.heads = {str(folder / CHECKPOINTS_FILE): list(_heads(folder / CHECKPOINTS_FILE, []))}
        self.notes = {}
        for name in list_session_journals(folder):
            if name not in self.covered.retired:
                payloads: list[bytes] = []
                self.heads[str(get_session_journal_path(folder, name))] = list(
                    _heads(get_session_journal_path(folder, name), payloads)
                )
                self.notes[name] = [
                    decode_journal_note(payload, name, at) for at, payload in enumerate(payloads)
                ]

    def retired(self, path):
        return any(
            str(get_session_journal_path(self.folder, name)) == path
            for name in self.covered.retired
        )

    def events(self):
        return Counter(
            note["data"]
            for notes in self.notes.values()
            for note in notes
            if note["kind"] == "event"
        )

    def sealed(self):
        """Return the digests of the sealed records, deleted journals included."""
        noted = {
            note["record"]
            for notes in self.notes.values()
            for note in notes
            if note["kind"] == "sealed"
        }
        return noted | set(self.covered.retired.values())


def _heads(path, payloads):
    scan = ChainScan()
    if path.exists():
        with path.open("rb") as file:
            for _, payload in read_frames(file, str(path), scan, EMPTY_CHAIN_HEAD):
                payloads.append(payload)
                yield scan.head.frames, scan.head.hash


def check_left(machine, reports, where):
    """Check that all durable content is there, and that the journal is intact."""
    has_checkpoints = str(machine.journal / CHECKPOINTS_FILE) in reports.heads
    try:
        found = check_journal(machine.journal)
    except UnreadableInput:
        assert not has_checkpoints, where
        return
    findings = [
        finding
        for finding in found.findings
        if has_checkpoints or finding != "the journal has no checkpoints"
    ]
    assert findings == [], f"{where}: {findings}"
    assert [
        notice for notice in found.notices if not any(honest in notice for honest in _HONEST)
    ] == [], f"{where}: {found.notices}"
    left = Journals(machine.journal)
    check_heads(left, reports, where)
    check_sealed(machine, left, reports, where)


def check_heads(left, reports, where):
    """Check that each chain has the reported head, unless a checkpoint says it was deleted."""
    for path, head in reports.heads.items():
        assert left.retired(path) or head in left.heads.get(path, []), (
            f"{where}: {path} lost frames"
        )


def check_sealed(machine, left, reports, where):
    """Check that all sealed records are there, with their statements and the signing key."""
    there = {hashlib.sha256(path.read_bytes()).digest(): path for path in machine.sealed()}
    assert left.sealed() | reports.sealed <= set(there), f"{where}: a sealed record is lost"
    for digest in left.sealed():
        statement = there[digest].with_name(f"{there[digest].name}.cose")
        assert parse_sign1(statement.read_bytes()), f"{where}: {statement} is lost"
    if left.sealed():
        assert parse_public_keys((machine.state / "keys" / "signing.pub.pem").read_bytes()), (
            f"{where}: the key is lost"
        )


def check_again(machine, reports, where):
    """Run a hook and a watcher; then everything is captured once, and the journal is intact."""
    before = Journals(machine.journal)
    run_hook(machine.state, "claude-code", stdin=_ANOTHER)
    machine.once("--epoch", "0", "--quiet-after", "0")
    found = check_journal(machine.journal, current=read_current_parts)
    assert found.findings == [], f"{where}: {found.findings}"
    assert [notice for notice in found.notices if "still exists" not in notice] == [], (
        f"{where}: {found.notices}"
    )
    left = Journals(machine.journal)
    check_heads(left, reports, where)
    check_sealed(machine, left, reports, where)
    events = left.events()
    assert max(events.values(), default=1) == 1, f"{where}: an event is there twice"
    for event in (*reports.events, _ANOTHER):
        # Events of deleted journals do not come back.
        gone = left.retired(reports.journaled.get(event, ""))
        assert events[event] == (0 if gone else 1), f"{where}: {event}: {events[event]}"
    for path in [
        *(machine.home / ".claude").rglob("*.jsonl"),
        *(machine.home / ".gemini").rglob("*.json"),
    ]:
        agent = "claude-code" if path.suffix == ".jsonl" else "gemini-cli"
        name = machine.name_of(path, agent)
        last = next((note for note in (f"{name}~2", name) if note in left.notes), None)
        assert last is not None or name in before.covered.retired, (
            f"{where}: {path} is not captured"
        )
        if last is not None:
            (part,) = machine.state_of(last).parts
            assert (bytes(part.content.loaded), part.changes > 0) == (
                path.read_bytes(),
                part.rewritten and part.changes > 0,
            ), where
    assert not list((machine.journal / "work").iterdir()), where
    assert not list(machine.journal.glob(".*.tmp")), f"{where}: a key is left"
