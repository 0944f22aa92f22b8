"""What is to be recorded and what came of it: plain values that pass between processes and
machines.

The recording of one place: read, identify, write. It runs in any process, on any machine, and
may be run again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vacr.agents import pause_garbage_collector
from vacr.discovery import OpenedSession, is_in_agent_store, make_record_name, read_sessions
from vacr.errors import NotASession, UnreadableInput, UsageError, VacrError
from vacr.files import (
    STDIN,
    OutputFile,
    check_not_input,
    describe_file_error,
    format_path,
    has_same_bytes,
    hash_pieces,
    read_bytes,
    write_files_atomically,
)
from vacr.record import assign_record_id, compute_record_id, decode, encode, is_made_by_vacr
from vacr.workflows.sealed_source import (
    build_sealed_source_path,
    encode_sealed_source,
    matches_source,
)


@dataclass(frozen=True)
class RecordingOptions:
    """How records are to be made, the same for all of a run."""

    cbor: bool = False
    seal: bool = False
    overwrite: bool = False
    agent: str | None = None
    sub_agents: bool = True
    named: tuple[str, ...] = ()
    """The files that were named one by one: none of them is written over, nor recorded as another's
    sub-agent.
    """
    digests: bool = False
    """Tell the digests of the files that are written."""
    not_in_stores: bool = False
    """Refuse to write if the current folder is an agent's own store."""

    @property
    def suffix(self) -> str:
        """The ending of a record's file name."""
        return ".acr.cbor" if self.cbor else ".acr.json"


@dataclass(frozen=True)
class RecordingTask:
    """One place to be recorded, and the name of its record without the ending."""

    path: str
    output: str
    wish: RecordingOptions
    chosen: str | None = None
    """The name of the record's file, where it was named; what a place holds beside is named after
    it.
    """
    session: str | None = None
    joint: str = "."
    """What comes between the name of the place and a session's label in the name of a record."""
    clashes_with: str = ""
    """Another place whose record has that name."""
    state: str = ""
    """What the place looked like when it was last seen; empty where nobody will ask."""
    size: int = 0
    """How many bytes it has, where that is known."""
    passed_over: str = ""
    """Why it is not even looked at."""


@dataclass
class RecordingOutcome:
    """What came of a task."""

    task: RecordingTask
    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    skipped: str = ""
    """Why there is nothing to record: it is no session."""
    exit_code: int = 0

    @property
    def findings(self) -> int:
        """Count what is worth knowing: what was unknown, could not be decoded or was left out."""
        return sum(
            len(record["notices"]) + len(record["drift"]) + len(record["left-out"])
            for record in self.records
        )


RecordPieces = list[bytes | memoryview]
RecordSink = Callable[[RecordPieces], None]

_BUG_EXIT_CODE = 70


def record_place(task: RecordingTask, emit: RecordSink | None = None) -> RecordingOutcome:
    """Record the sessions of a place; what goes wrong with one of them is told and does not stop
    the others.

    With `emit` the records are handed over instead of being written to files.
    """
    outcome = RecordingOutcome(task)
    with pause_garbage_collector():
        _record_sessions(task, outcome, emit)
    return outcome


def record_places(tasks: list[RecordingTask]) -> list[RecordingOutcome]:
    """Record several places, one after the other."""
    return [record_place(task) for task in tasks]


def _record_sessions(
    task: RecordingTask, outcome: RecordingOutcome, emit: RecordSink | None
) -> None:
    wish = task.wish
    taken: set[Path] = set()
    try:
        if emit is None:
            _check_output_clash(task)
        for found in read_sessions(
            task.path,
            session=task.session,
            agent=wish.agent,
            sub_agents=wish.sub_agents,
            keep_source=wish.seal,
            named=wish.named,
        ):
            if isinstance(found, VacrError):
                _add_error(outcome, found)
                continue
            try:
                _record_session(task, found, outcome, taken, emit)
            except BrokenPipeError:
                raise
            except (VacrError, OSError) as error:
                _add_error(outcome, error)
    except BrokenPipeError:
        raise
    except NotASession as error:
        _add_error(outcome, error)
        outcome.skipped = error.message
    except (VacrError, OSError) as error:
        _add_error(outcome, error)
    except MemoryError:
        _add_error(outcome, UnreadableInput("too large for the memory there is", where=task.path))
    except Exception as error:
        if os.environ.get("VACR_DEBUG"):
            raise
        hint = "Run again with VACR_DEBUG=1 to see where, and report it with that output."
        bug = UnreadableInput(
            f"a bug in vacr: {type(error).__name__}: {error}", where=task.path, hint=hint
        )
        _add_error(outcome, bug, _BUG_EXIT_CODE)


def _check_output_clash(task: RecordingTask) -> None:
    """Refuse to give two records of one run the same name."""
    if task.clashes_with:
        taken = (
            f"{task.output}{task.wish.suffix} has just been written for another session, of "
            f"{task.clashes_with}"
        )
        raise UsageError(taken, where=task.path, hint="Record them into different folders.")


def _add_error(outcome: RecordingOutcome, caught: VacrError | OSError, exit_code: int = 0) -> None:
    error = (
        caught
        if isinstance(caught, VacrError)
        else UnreadableInput(describe_file_error(caught), where=outcome.task.path)
    )
    outcome.errors.append(
        {
            "source": format_path(outcome.task.path),
            "error": error.message,
            "where": format_path(error.where),
            "hint": error.hint,
        }
    )
    outcome.exit_code = max(outcome.exit_code, exit_code or error.exit_code)


def _record_session(
    task: RecordingTask,
    found: OpenedSession,
    outcome: RecordingOutcome,
    taken: set[Path],
    emit: RecordSink | None,
) -> None:
    """Write one record and describe it."""
    record, wish = found.reading.record, task.wish
    pieces: RecordPieces = list(assign_record_id(record))
    if wish.cbor:
        pieces = [encode(record, "cbor")]
    if emit is not None:
        emit(pieces)
        outcome.records.append(_describe_record(task, found, None, "printed", pieces))
        return
    if wish.not_in_stores and is_in_agent_store(Path(), found.reader):
        raise UsageError(
            "the current folder is the agent's own store", hint="Say where to write with -o."
        )
    path = _choose_record_path(task, found.label)
    if path in taken:
        raise UsageError(
            f"{path} has just been written for another session",
            hint="Record them into different folders.",
        )
    taken.add(path)
    state = _write_record(path, pieces, found, task)
    outcome.records.append(_describe_record(task, found, path, state, pieces))


def _choose_record_path(task: RecordingTask, label: str) -> Path:
    """Name the file of a record: after its source, and after the session or sub-agent where there
    are several.
    """
    if task.chosen and not label:
        return Path(task.chosen)
    output = Path(task.output)
    return output.with_name(f"{make_record_name(output.name, task.joint, label)}{task.wish.suffix}")


def _write_record(
    path: Path, pieces: RecordPieces, found: OpenedSession, task: RecordingTask
) -> str:
    """Write a record unless it is there already, and its sealed source; tell what became of what
    was there.

    Raises:
        UsageError: what is there is no older record of this session, or a signature stands beside
            it.
    """
    wish = task.wish
    check_not_input(path, wish.named)
    state = "written"
    if path.is_file():
        state = "unchanged" if has_same_bytes(path, pieces) else "replaced"
        if state == "replaced" and not wish.overwrite:
            _check_replaceable(path, found, task)
    elif path.exists() and not task.chosen:
        raise UsageError(
            f"{path} is there, and is no file", hint="Write elsewhere with -o, or remove it."
        )
    sealed = build_sealed_source_path(path)
    outputs = (
        [OutputFile(path, pieces, found.files, new=state == "written")]
        if state != "unchanged"
        else []
    )
    if found.source is not None:
        if (
            sealed.exists()
            and state == "written"
            and not wish.overwrite
            and not matches_source(sealed, found.source)
        ):
            raise UsageError(
                f"{sealed} is there, and holds another source",
                hint="Write elsewhere with -o, or give --overwrite.",
            )
        outputs.append(OutputFile(sealed, [encode_sealed_source(found.source)], found.files))
    try:
        write_files_atomically(outputs)
    except FileExistsError as error:
        # A process that died may have done the same before; whatever else came there meanwhile is
        # not ours to replace.
        if not path.is_file() or not has_same_bytes(path, pieces):
            raise UsageError(
                f"{path} has just been written by somebody else", hint="Run the same again."
            ) from error
        return "unchanged"
    return state


def _check_replaceable(path: Path, found: OpenedSession, task: RecordingTask) -> None:
    """Refuse to replace what is not an older record of the same session, or what is signed."""
    try:
        there = decode(path.read_bytes())
        named = there["session"]["session-id"]
        iter(there["session"]["entries"])
        same_session = named == found.reading.record["session"]["session-id"] or _has_session_grown(
            there, named, task
        )
    except (VacrError, TypeError, KeyError, IndexError):
        same_session = False
    if not same_session:
        raise UsageError(
            f"{path} is there, and is not an older record of this session",
            hint="Write elsewhere with -o, or give --overwrite.",
        )
    if is_made_by_vacr(there) and there.get("id") != compute_record_id(there):
        raise UsageError(
            f"{path} was changed after it was made",
            hint="Write elsewhere with -o, or give --overwrite.",
        )
    more, less = len(there["session"]["entries"]), len(found.reading.record["session"]["entries"])
    if more > less:
        raise UsageError(
            f"{path} is there and has {more} entries; the session has only {less} now",
            hint="Write elsewhere with -o, or give --overwrite.",
        )
    signature = path.with_name(f"{path.name}.cose")
    if signature.exists():
        raise UsageError(
            f"{path} is signed by {signature.name}, and this session has grown or changed since",
            hint="Write elsewhere with -o, or give --overwrite.",
        )


def _has_session_grown(there: Any, session_id: str, task: RecordingTask) -> bool:
    """Tell whether a session that is named by its content was once what an older record says, and
    has more to it now.
    """
    (part,) = there["vacr"]["source"]["parts"]
    if session_id != part["sha-256"] or task.path == STDIN:
        return False
    return hashlib.sha256(read_bytes(task.path, part["size"])).hexdigest() == session_id


def _describe_record(
    task: RecordingTask, found: OpenedSession, path: Path | None, state: str, pieces: RecordPieces
) -> dict[str, Any]:
    """Describe what was written, for programs."""
    record, reading = found.reading.record, found.reading
    session, meta, ours = record["session"], record["session"]["agent-meta"], record["vacr"]
    sealed = build_sealed_source_path(path) if path else None
    described = {
        "source": format_path(task.path if found.name == Path(task.path).name else found.name),
        "output": format_path(str(path)) if path else None,
        "state": state,
        "id": record["id"],
        "session-id": session["session-id"],
        "parent": ours.get("parent", {}).get("session-id"),
        "agent": meta["cli-name"],
        "cli-version": meta.get("cli-version"),
        "models": meta.get("models", []),
        "entries": len(session["entries"]),
        "bytes": sum(map(len, pieces)),
        "sealed": format_path(str(sealed)) if found.source is not None else None,
        "notices": [{"line": notice.line, "message": notice.message} for notice in reading.notices],
        "left-out": [
            {"file": format_path(error.where), "reason": error.message} for error in found.left_out
        ],
        "secrets": ours.get("secrets", []),
        "drift": ours.get("drift", {}),
    }
    if task.wish.digests:
        described["sha-256"] = hash_pieces(pieces)
    if state == "replaced" and sealed is not None and found.source is None and sealed.exists():
        described["stale"] = format_path(str(sealed))
    return described
