"""The recording of one place: read, identify, write. It runs in any process, on any machine, and
may be run again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vacr import codec
from vacr.errors import NotASession, UnreadableInput, UsageError, VacrError
from vacr.identity import identify, made_by_vacr, record_id
from vacr.readers.collector import collector_paused
from vacr.recording import files, sealing
from vacr.recording.names import record_name
from vacr.recording.tasks import Outcome, Task
from vacr.sources import STDIN, Found, in_store, read, read_bytes
from vacr.sources.files import as_text, reason_of

Pieces = list[bytes | memoryview]
Emit = Callable[[Pieces], None]

_BUG = 70


def record_place(task: Task, emit: Emit | None = None) -> Outcome:
    """Record the sessions of a place; what goes wrong with one of them is told and does not stop
    the others.

    With `emit` the records are handed over instead of being written to files.
    """
    outcome = Outcome(task)
    with collector_paused():
        _record(task, outcome, emit)
    return outcome


def record_places(tasks: list[Task]) -> list[Outcome]:
    """Record several places, one after the other."""
    return [record_place(task) for task in tasks]


def _record(task: Task, outcome: Outcome, emit: Emit | None) -> None:
    wish = task.wish
    taken: set[Path] = set()
    try:
        if emit is None:
            _refuse_clash(task)
        for found in read(
            task.path,
            session=task.session,
            agent=wish.agent,
            sub_agents=wish.sub_agents,
            keep_source=wish.seal,
            named=wish.named,
        ):
            if isinstance(found, VacrError):
                _fail(outcome, found)
                continue
            try:
                _one(task, found, outcome, taken, emit)
            except BrokenPipeError:
                raise
            except (VacrError, OSError) as error:
                _fail(outcome, error)
    except BrokenPipeError:
        raise
    except NotASession as error:
        _fail(outcome, error)
        outcome.skipped = error.message
    except (VacrError, OSError) as error:
        _fail(outcome, error)
    except MemoryError:
        _fail(outcome, UnreadableInput("too large for the memory there is", where=task.path))
    except Exception as error:
        if os.environ.get("VACR_DEBUG"):
            raise
        hint = "Run again with VACR_DEBUG=1 to see where, and report it with that output."
        bug = UnreadableInput(
            f"a bug in vacr: {type(error).__name__}: {error}", where=task.path, hint=hint
        )
        _fail(outcome, bug, _BUG)


def _refuse_clash(task: Task) -> None:
    """Refuse to give two records of one run the same name."""
    if task.clashes_with:
        taken = (
            f"{task.output}{task.wish.suffix} has just been written for another session, of "
            f"{task.clashes_with}"
        )
        raise UsageError(taken, where=task.path, hint="Record them into different folders.")


def _fail(outcome: Outcome, caught: VacrError | OSError, exit_code: int = 0) -> None:
    error = (
        caught
        if isinstance(caught, VacrError)
        else UnreadableInput(reason_of(caught), where=outcome.task.path)
    )
    outcome.errors.append(
        {
            "source": as_text(outcome.task.path),
            "error": error.message,
            "where": as_text(error.where),
            "hint": error.hint,
        }
    )
    outcome.exit_code = max(outcome.exit_code, exit_code or error.exit_code)


def _one(task: Task, found: Found, outcome: Outcome, taken: set[Path], emit: Emit | None) -> None:
    """Write one record and describe it."""
    record, wish = found.reading.record, task.wish
    pieces: Pieces = list(identify(record))
    if wish.cbor:
        pieces = [codec.encode(record, "cbor")]
    if emit is not None:
        emit(pieces)
        outcome.records.append(_described(task, found, None, "printed", pieces))
        return
    if wish.not_in_stores and in_store(Path(), found.reader):
        raise UsageError(
            "the current folder is the agent's own store", hint="Say where to write with -o."
        )
    path = _path(task, found.label)
    if path in taken:
        raise UsageError(
            f"{path} has just been written for another session",
            hint="Record them into different folders.",
        )
    taken.add(path)
    state = _write(path, pieces, found, task)
    outcome.records.append(_described(task, found, path, state, pieces))


def _path(task: Task, label: str) -> Path:
    """Name the file of a record: after its source, and after the session or sub-agent where there
    are several.
    """
    if task.chosen and not label:
        return Path(task.chosen)
    output = Path(task.output)
    return output.with_name(f"{record_name(output.name, task.joint, label)}{task.wish.suffix}")


def _write(path: Path, pieces: Pieces, found: Found, task: Task) -> str:
    """Write a record unless it is there already, and its sealed source; tell what became of what
    was there.

    Raises:
        UsageError: what is there is no older record of this session, or a signature stands beside
            it.
    """
    wish = task.wish
    files.refuse_input(path, wish.named)
    state = "written"
    if path.is_file():
        state = "unchanged" if files.same(path, pieces) else "replaced"
        if state == "replaced" and not wish.overwrite:
            _refuse_loss(path, found, task)
    elif path.exists() and not task.chosen:
        raise UsageError(
            f"{path} is there, and is no file", hint="Write elsewhere with -o, or remove it."
        )
    sealed = sealing.sealed_path(path)
    outputs = (
        [files.Output(path, pieces, found.files, new=state == "written")]
        if state != "unchanged"
        else []
    )
    if found.source is not None:
        if (
            sealed.exists()
            and state == "written"
            and not wish.overwrite
            and not sealing.holds(sealed, found.source)
        ):
            raise UsageError(
                f"{sealed} is there, and holds another source",
                hint="Write elsewhere with -o, or give --overwrite.",
            )
        outputs.append(files.Output(sealed, [sealing.sealed(found.source)], found.files))
    try:
        files.write_all(outputs)
    except FileExistsError as error:
        # A process that died may have done the same before; whatever else came there meanwhile is
        # not ours to replace.
        if not path.is_file() or not files.same(path, pieces):
            raise UsageError(
                f"{path} has just been written by somebody else", hint="Run the same again."
            ) from error
        return "unchanged"
    return state


def _refuse_loss(path: Path, found: Found, task: Task) -> None:
    """Refuse to replace what is not an older record of the same session, or what is signed."""
    try:
        there = codec.decode(path.read_bytes())
        named = there["session"]["session-id"]
        iter(there["session"]["entries"])
        same_session = named == found.reading.record["session"]["session-id"] or _has_grown(
            there, named, task
        )
    except (VacrError, TypeError, KeyError, IndexError):
        same_session = False
    if not same_session:
        raise UsageError(
            f"{path} is there, and is not an older record of this session",
            hint="Write elsewhere with -o, or give --overwrite.",
        )
    if made_by_vacr(there) and there.get("id") != record_id(there):
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


def _has_grown(there: Any, session_id: str, task: Task) -> bool:
    """Tell whether a session that is named by its content was once what an older record says, and
    has more to it now.
    """
    (part,) = there["vacr"]["source"]["parts"]
    if session_id != part["sha-256"] or task.path == STDIN:
        return False
    return hashlib.sha256(read_bytes(task.path, part["size"])).hexdigest() == session_id


def _described(
    task: Task, found: Found, path: Path | None, state: str, pieces: Pieces
) -> dict[str, Any]:
    """Describe what was written, for programs."""
    record, reading = found.reading.record, found.reading
    session, meta, ours = record["session"], record["session"]["agent-meta"], record["vacr"]
    sealed = sealing.sealed_path(path) if path else None
    described = {
        "source": as_text(task.path if found.name == Path(task.path).name else found.name),
        "output": as_text(str(path)) if path else None,
        "state": state,
        "id": record["id"],
        "session-id": session["session-id"],
        "parent": ours.get("parent", {}).get("session-id"),
        "agent": meta["cli-name"],
        "cli-version": meta.get("cli-version"),
        "models": meta.get("models", []),
        "entries": len(session["entries"]),
        "bytes": sum(map(len, pieces)),
        "sealed": as_text(str(sealed)) if found.source is not None else None,
        "notices": [{"line": notice.line, "message": notice.message} for notice in reading.notices],
        "left-out": [
            {"file": as_text(error.where), "reason": error.message} for error in found.left_out
        ],
        "secrets": ours.get("secrets", []),
        "drift": ours.get("drift", {}),
    }
    if task.wish.digests:
        described["sha-256"] = files.digest(pieces)
    if state == "replaced" and sealed is not None and found.source is None and sealed.exists():
        described["stale"] = as_text(str(sealed))
    return described
