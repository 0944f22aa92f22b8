"""The recording of one place: read its sessions, assign each record its id, and write it.

A task and its outcome are plain values, so a task can run in any process and on any machine. It can
be repeated: a record that exists already stays the same.

    >>> from vacr.workflows import RecordingOptions, RecordingTask, record_place
    >>> options = RecordingOptions()
    >>> task = RecordingTask("session.jsonl", "out/session", options)
    >>> [record] = record_place(task).records
    >>> record["output"], record["state"], record["entries"]
    ('out/session.acr.json', 'written', 20)
    >>> record_place(task).records[0]["state"]
    'unchanged'

`read_place` does the same without writing: it hands over the sessions in memory, for sealing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vacr.agents import (
    Reading,
    Source,
    SourcePart,
    find_record_agent,
    pause_garbage_collector,
)
from vacr.discovery import (
    MapFile,
    OpenedSession,
    is_in_agent_store,
    is_kept_record,
    list_kept_family,
    make_record_name,
    read_sessions,
    split_kept_name,
)
from vacr.errors import NotASession, PluginError, UnreadableInput, UsageError, VacrError
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
from vacr.record import decode, encode, encode_with_id, find_record_modification
from vacr.workflows.inputs import read_input_records
from vacr.workflows.sealed_source import (
    build_sealed_source_path,
    encode_sealed_source,
    get_source_manifest,
    matches_source,
    unseal_source,
)

_BUG_EXIT_CODE = 70
_REPLACE_HINT = "Write elsewhere with -o, or add --overwrite to replace it."
_LIST_HINT = "To list sessions with their ids: vacr list"
_SEPARATE_HINT = "Record them one by one, into different folders: -o FOLDER/"


@dataclass(frozen=True)
class RecordingOptions:
    """How records are made, the same for all tasks of a run."""

    cbor: bool = False
    """Write CBOR instead of JSON."""
    keep_source: bool = False
    """Keep the native bytes next to the record."""
    overwrite: bool = False
    """Replace any existing file, even if it is not an older record of the same session."""
    agent: str | None = None
    """The agent that wrote the sessions; detected if None."""
    sub_agents: bool = True
    """Also record the sessions of sub-agents that belong to a session."""
    named: tuple[str, ...] = ()
    """The files that were named one by one: never written over, nor recorded as sub-agents."""
    digests: bool = False
    """Include the digests of the written files in the outcome."""
    not_in_stores: bool = False
    """Refuse to write if the current folder is an agent's own store."""
    map_file: MapFile | None = None
    """The map of the members of sessions, for an agent that has maps."""

    @property
    def suffix(self) -> str:
        """Return the ending of a record's file name, `.acr.json` or `.acr.cbor`."""
        return ".acr.cbor" if self.cbor else ".acr.json"


@dataclass(frozen=True)
class RecordingTask:
    """A place to be recorded, and where its records go."""

    path: str
    """The file, database or folder of the place."""
    output: str
    """The path of the record without its ending."""
    options: RecordingOptions
    chosen: str | None = None
    """The file of the record, if the user named it; other records of the place derive from it."""
    session: str | None = None
    """The only session to record, if the place has several."""
    joint: str = "."
    """The text between the name of the place and a session's label in the name of a record."""
    clashes_with: str = ""
    """Another place whose record has the same name, or an empty text."""
    state: str = ""
    """A fingerprint of the place; empty if it is not needed."""
    size: int = 0
    """The size of the place in bytes, or 0 if it is unknown."""
    passed_over: str = ""
    """Why the place is skipped without being read; empty if it is read."""
    missing: str = ""
    """Why neither a file nor a session has this name; empty if one has."""


@dataclass
class RecordingOutcome:
    """The result of a task: the records that were made, and the errors, both for JSON output."""

    task: RecordingTask
    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    skipped: str = ""
    """Why the place is not a session; empty if it is one."""
    exit_code: int = 0

    @property
    def findings(self) -> int:
        """Return the number of unknown, undecodable and skipped parts in all records."""
        return sum(
            len(record["notices"]) + len(record["drift"]) + len(record["left-out"])
            for record in self.records
        )

    def add_error(self, caught: VacrError | OSError, exit_code: int = 0) -> None:
        """Add an error, and raise the exit code of the outcome to the one of this error.

        `exit_code`, unless 0, replaces the exit code of this error.
        """
        error = caught
        if not isinstance(error, VacrError):
            error = UnreadableInput(describe_file_error(error), where=self.task.path)
        self.errors.append(
            {
                "source": format_path(self.task.path),
                "error": error.message,
                "where": format_path(error.where),
                "hint": error.hint,
            }
        )
        self.exit_code = max(self.exit_code, exit_code or error.exit_code)


RecordPieces = list[bytes | memoryview]
"""An encoded record, cut into pieces."""
RecordSink = Callable[[RecordPieces], None]
"""Takes each encoded record."""
SessionSink = Callable[[Path, OpenedSession], None]
"""Takes each session, with the path of its record."""


def record_place(task: RecordingTask, emit: RecordSink | None = None) -> RecordingOutcome:
    """Write a record of each session at a place, and return the outcome.

    An error in one session does not stop the others; the outcome has all errors. With `emit`, pass
    the encoded records to it and write no files.
    """
    outcome = RecordingOutcome(task)
    written: set[Path] = set()

    def record_session(session: OpenedSession) -> None:
        """Write the record of a session, or pass it on, and describe it in the outcome."""
        path = _reserve_record_path(task, session, written) if emit is None else None
        pieces = _encode_record(session, task.options)
        if emit is not None:
            emit(pieces)
        state = _write_record(path, pieces, session, task) if path is not None else "printed"
        outcome.records.append(_describe_record(task, session, path, state, pieces))

    _process_sessions(task, outcome, record_session, writes=emit is None)
    return outcome


def record_places(tasks: list[RecordingTask]) -> list[RecordingOutcome]:
    """Record several places, one after the other, and return their outcomes in order."""
    return [record_place(task) for task in tasks]


def read_place(task: RecordingTask, keep: SessionSink) -> RecordingOutcome:
    """Read the sessions at a place, pass each to `keep`, and return the outcome.

    `keep` also gets the path that the record would be written to; no file is written.
    """
    outcome = RecordingOutcome(task)
    paths: set[Path] = set()

    def keep_session(session: OpenedSession) -> None:
        """Pass a session on, with the path of its record, and describe it in the outcome."""
        keep(_reserve_record_path(task, session, paths), session)
        outcome.records.append(_describe_record(task, session, None, "read", ()))

    _process_sessions(task, outcome, keep_session, writes=True)
    return outcome


def _process_sessions(
    task: RecordingTask,
    outcome: RecordingOutcome,
    process: Callable[[OpenedSession], None],
    *,
    writes: bool,
) -> None:
    """Read the sessions at a place, and call `process` for each; put errors into the outcome.

    If `writes` is true, refuse a place whose record has the same name as another.
    """
    if task.missing:
        outcome.add_error(UnreadableInput(task.missing, where=task.path, hint=_LIST_HINT))
        return
    try:
        with pause_garbage_collector():
            if writes:
                _check_output_clash(task)
            for session in read_task_sessions(task):
                if isinstance(session, VacrError):
                    outcome.add_error(session)
                    continue
                try:
                    process(session)
                except BrokenPipeError:
                    raise
                except (VacrError, OSError) as error:
                    outcome.add_error(error)
    except BrokenPipeError:
        raise
    except PluginError as error:
        if os.environ.get("VACR_DEBUG"):
            raise
        error.where = error.where or task.path
        outcome.add_error(error)
    except NotASession as error:
        outcome.add_error(error)
        outcome.skipped = error.message
    except (VacrError, OSError) as error:
        outcome.add_error(error)
    except MemoryError:
        hint = "Free some memory, and run the command again."
        outcome.add_error(
            UnreadableInput("not enough memory to read the session", where=task.path, hint=hint)
        )
    except Exception as error:
        if os.environ.get("VACR_DEBUG"):
            raise
        hint = "Please report it, with the output of a run with VACR_DEBUG=1."
        bug = UnreadableInput(
            f"a bug in vacr: {type(error).__name__}: {error}", where=task.path, hint=hint
        )
        outcome.add_error(bug, _BUG_EXIT_CODE)


def read_task_sessions(task: RecordingTask) -> Iterator[OpenedSession | VacrError]:
    """Yield the sessions at the place of a task; yield errors of single sessions, too.

    The place may be the record of a session that the user kept, and that its agent has deleted.

    Raises:
        UnreadableInput: the place cannot be read.
        NotASession: the format is unknown.
    """
    options = task.options
    if is_kept_record(task.path):
        family = list_kept_family(Path(task.path))
        for record in family if options.sub_agents else family[:1]:
            try:
                yield _open_kept_session(record, keep_source=options.keep_source)
            except VacrError as error:
                yield error
        return
    yield from read_sessions(
        task.path,
        session=task.session,
        agent=options.agent,
        sub_agents=options.sub_agents,
        keep_source=options.keep_source,
        named=options.named,
        map_file=options.map_file,
    )


def _open_kept_session(path: Path, *, keep_source: bool) -> OpenedSession:
    """Return the session of a kept record, as if it had been read from the agent's own files.

    Raises:
        UnreadableInput: the record or its sealed source cannot be read.
        InvalidRecord: the record is invalid, or it or its source was modified.
    """
    [kept] = read_input_records(str(path))
    source = None
    if keep_source:
        sealed = build_sealed_source_path(path)
        manifest = get_source_manifest(kept.record)
        parts = (SourcePart(str(name), data) for name, data in unseal_source(sealed, manifest))
        source = Source(tuple(parts))
    return OpenedSession(
        path.name,
        Reading(kept.record),
        find_record_agent(kept.record),
        split_kept_name(path)[1],
        source,
        files=(path,),
    )


def _check_output_clash(task: RecordingTask) -> None:
    """Raise a UsageError if another place of the run has a record of the same name."""
    if task.clashes_with:
        raise UsageError(
            f"it would have the same record file as {task.clashes_with}: "
            f"{task.output}{task.options.suffix}",
            where=task.path,
            hint=_SEPARATE_HINT,
        )


def _reserve_record_path(task: RecordingTask, session: OpenedSession, reserved: set[Path]) -> Path:
    """Return the path for a session's record, and add it to the `reserved` paths of the place.

    Raises:
        UsageError: the current folder is an agent's store, or two records have the same name.
    """
    if task.options.not_in_stores and is_in_agent_store(Path(), session.agent):
        raise UsageError(
            "cannot write into the session folder of the agent", hint="Name another folder: -o DIR/"
        )
    path = _choose_record_path(task, session.label)
    if path in reserved:
        raise UsageError(
            f"two sessions would have the same record file: {path}", hint=_SEPARATE_HINT
        )
    reserved.add(path)
    return path


def _choose_record_path(task: RecordingTask, label: str) -> Path:
    """Return the path for the record of the session with this label.

    The label is empty for the only session of a place. For the output `out/x` and the label `b`,
    the path is `out/x.b.acr.json`.
    """
    if task.chosen and not label:
        return Path(task.chosen)
    output = Path(task.output)
    return output.with_name(
        f"{make_record_name(output.name, task.joint, label)}{task.options.suffix}"
    )


def _encode_record(session: OpenedSession, options: RecordingOptions) -> RecordPieces:
    """Assign the record of a session its id, and return the record in JSON or CBOR."""
    record = session.reading.record
    pieces = encode_with_id(record)
    return [encode(record, "cbor")] if options.cbor else pieces


def _write_record(
    path: Path, pieces: RecordPieces, session: OpenedSession, task: RecordingTask
) -> str:
    """Write a record and its sealed source, and return "written", "replaced" or "unchanged".

    Raises:
        UsageError: the file exists, and is signed or not an older record of this session.
    """
    options = task.options
    check_not_input(path, options.named)
    state = "written"
    if path.is_file():
        state = "unchanged" if has_same_bytes(path, pieces) else "replaced"
        if state == "replaced" and not options.overwrite:
            _check_replaceable(path, session, task)
    elif path.exists() and not task.chosen:
        raise UsageError(
            f"{path} exists and is not a file", hint="Write elsewhere with -o, or remove it."
        )
    outputs = []
    if state != "unchanged":
        outputs.append(OutputFile(path, pieces, session.files, new=state == "written"))
    if session.source is not None:
        sealed = build_sealed_source_path(path)
        is_foreign = sealed.exists() and state == "written" and not options.overwrite
        if is_foreign and not matches_source(sealed, session.source):
            raise UsageError(f"{sealed} exists and contains another source", hint=_REPLACE_HINT)
        outputs.append(OutputFile(sealed, [encode_sealed_source(session.source)], session.files))
    try:
        write_files_atomically(outputs)
    except FileExistsError as error:
        # A process that died may have written the same bytes. Other files are never replaced.
        if not path.is_file() or not has_same_bytes(path, pieces):
            raise UsageError(
                f"{path} was just created by another process", hint="Run the same command again."
            ) from error
        return "unchanged"
    return state


def _check_replaceable(path: Path, session: OpenedSession, task: RecordingTask) -> None:
    """Check that a file is an unsigned, unmodified, older record of the same session.

    Raises:
        UsageError: it is not, so it must not be replaced.
    """
    record = session.reading.record
    try:
        older = decode(path.read_bytes())
        older_id = older["session"]["session-id"]
        iter(older["session"]["entries"])
        same_session = older_id == record["session"]["session-id"] or _has_session_grown(
            older, older_id, task
        )
    except (VacrError, TypeError, KeyError, IndexError):
        same_session = False
    if not same_session:
        raise UsageError(
            f"{path} exists and is not an older record of this session", hint=_REPLACE_HINT
        )
    modification = find_record_modification(older, json=True)
    if modification is not None:
        raise UsageError(f"{path} exists, and {modification}", hint=_REPLACE_HINT)
    count_before, count_now = len(older["session"]["entries"]), len(record["session"]["entries"])
    if count_before > count_now:
        raise UsageError(
            f"{path} has {count_before} entries, but the session now has only {count_now}",
            hint=_REPLACE_HINT,
        )
    signature = path.with_name(f"{path.name}.cose")
    if signature.exists():
        raise UsageError(
            f"{path} is signed ({signature.name}), but the session has changed since",
            hint=_REPLACE_HINT,
        )


def _has_session_grown(older: Any, session_id: str, task: RecordingTask) -> bool:
    """Return whether a session has only grown since an older record of it was made.

    This is for sessions without an id of their own, whose id is the digest of their bytes: the
    first bytes of the session must still have that digest.
    """
    (part,) = older["vacr"]["source"]["parts"]
    if session_id != part["sha-256"] or task.path == STDIN:
        return False
    return hashlib.sha256(read_bytes(task.path, part["size"])).hexdigest() == session_id


def _describe_record(
    task: RecordingTask,
    opened: OpenedSession,
    path: Path | None,
    state: str,
    pieces: RecordPieces | tuple[()],
) -> dict[str, Any]:
    """Return the facts about a record for JSON output; `path` is None if no file was written.

    `state` is, for example, `written` or `unchanged`, and `pieces` are its bytes.
    """
    record, reading = opened.reading.record, opened.reading
    session, meta, ours = record["session"], record["session"]["agent-meta"], record["vacr"]
    sealed = build_sealed_source_path(path) if path else None
    is_named = opened.name == Path(task.path).name
    described = {
        "source": format_path(task.path if is_named else opened.name),
        "output": format_path(str(path)) if path else None,
        "state": state,
        "id": record.get("id"),
        "session-id": session["session-id"],
        "parent": ours.get("parent", {}).get("session-id"),
        "agent": meta["cli-name"],
        "cli-version": meta.get("cli-version"),
        "models": meta.get("models", []),
        "entries": len(session["entries"]),
        "bytes": sum(map(len, pieces)),
        "sealed": format_path(str(sealed)) if opened.source is not None else None,
        "notices": [{"line": notice.line, "message": notice.message} for notice in reading.notices],
        "left-out": [
            {"file": format_path(error.where), "reason": error.message} for error in opened.left_out
        ],
        "secrets": ours.get("secrets", []),
        "drift": ours.get("drift", {}),
    }
    if task.options.digests:
        described["sha-256"] = hash_pieces(pieces)
    if state == "replaced" and sealed is not None and opened.source is None and sealed.exists():
        described["stale"] = format_path(str(sealed))
    return described
