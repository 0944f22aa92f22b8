"""Whether a journal and a record that was sealed from it speak of each other."""

from __future__ import annotations

import hashlib
from collections import deque
from pathlib import Path

from vacr import codec
from vacr.capture.covered import Covered, covered_by
from vacr.capture.frames import NOTHING, Head, Scan, frames
from vacr.capture.layout import CHECKPOINTS, names, path_of
from vacr.capture.session_journal import State
from vacr.errors import UnreadableInput
from vacr.signing import keys
from vacr.sources.files import read_bytes


def check_record(folder: Path, path: str) -> list[str]:
    """Check that a journal and a record that was sealed from it speak of each other; gives what is
    wrong.

    Raises:
        UnreadableInput: there is no record, or no journal.
        Broken: the journal is not what it was.
    """
    data = read_bytes(path)
    try:
        record = codec.decode(data)
    except UnreadableInput as error:
        raise UnreadableInput(f"no record: {error}", where=path) from error
    try:
        said = record["vacr"]["inputs"]["journal"]
        name, head = str(said["session"]), Head(said["frames"], bytes.fromhex(said["head"]))
        identity = bytes.fromhex(said["identity"])
    except (KeyError, TypeError, ValueError):
        return ["the record names no journal"]
    covered = Covered(str(folder / CHECKPOINTS))
    deque(covered_by(folder, covered), maxlen=0)
    if identity != covered.identity:
        return [f"the record was made from another journal, {keys.uri_of(identity)}"]
    digest = hashlib.sha256(data).digest()
    if name in covered.retired:
        return (
            []
            if covered.retired[name] == digest
            else [f"{name}: was deleted, sealed as another record"]
        )
    if name not in names(folder):
        return [f"{name}: there is no such journal"]
    sealed, reached = False, NOTHING
    with path_of(folder, name).open("rb") as file:
        scan, state = Scan(), State(name)
        for _, payload in frames(file, name, scan, covered.sessions.get(name, NOTHING)):
            note = state.read(payload)
            state.take(note)
            reached = scan.head if scan.head.frames == head.frames else reached
            sealed = sealed or (note["kind"] == "sealed" and note["record"] == digest)
    found = [] if reached == head else [f"{name}: never had the head that the record names"]
    return (
        found
        if sealed
        else [*found, f"{name}: does not name the record as one that was sealed from it"]
    )
