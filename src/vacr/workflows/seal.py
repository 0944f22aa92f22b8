"""Sealing: native sessions become attributed records with signed, registered statements.

Each session goes once through one pipeline in memory: read → attribute → validate → encode → sign →
register. The validated bytes are the bytes that are signed and written. `seal_sessions` is the
pipeline for `vacr.seal`:

    >>> from vacr.workflows import SigningSettings, seal_sessions
    >>> from vacr.signing import KeySigner, generate_key
    >>> signer = KeySigner(generate_key("eddsa"))
    >>> [sealed] = seal_sessions("session.jsonl", SigningSettings(signer))
    >>> sealed.name, sealed.record["file-attribution"]["files"][0]["path"]
    ('session', 'total.py')
    >>> import hashlib
    >>> hashlib.sha256(sealed.data).digest() in sealed.statement
    True

`Sealer` runs the pipeline on files for `vacr seal`. A record or statement that exists and is still
correct stays as it is. A session and its sub-agents are attributed together, because they may edit
the same files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from vacr.agents import Source, validate_record
from vacr.attribution import BaseFiles, attribute_records
from vacr.discovery import (
    NAME_JOINT,
    OpenedSession,
    find_places,
    make_record_name,
    read_sessions,
    strip_native_suffix,
)
from vacr.errors import NotASession, PluginError, UnreadableInput, UsageError, VacrError
from vacr.files import (
    STDIN,
    format_path,
    read_bytes,
)
from vacr.model import Record
from vacr.record import assign_record_id, decode, encode_with_id, find_record_modification
from vacr.registration import (
    Registrar,
    RegistrationClient,
    RegistrationOutcome,
)
from vacr.signing import HEADER_X5CHAIN, PublicKey, compute_thumbprint_uri
from vacr.transparency import ENTRY_RULE_STATEMENT
from vacr.verification import (
    Policy,
    VerificationFailed,
    VerifiedStatement,
    verify_new_statement,
)
from vacr.workflows.attribute import (
    count_attributed_lines,
    format_attribution_summary,
    report_attribution_gaps,
)
from vacr.workflows.output_files import write_output_file
from vacr.workflows.record import (
    RecordingOptions,
    RecordingOutcome,
    RecordingTask,
    read_place,
    read_task_sessions,
)
from vacr.workflows.record_many import (
    assign_output_folders,
    plan_file_tasks,
    plan_folder_tasks,
)
from vacr.workflows.register import build_registration_document
from vacr.workflows.sealed_source import build_sealed_source_path, encode_sealed_source
from vacr.workflows.sign import SigningSettings, make_signable_record
from vacr.workflows.statement_files import STATEMENT_SUFFIX

AnySession = TypeVar("AnySession")
_MAX_HELD_BYTES = 1 << 28
"""How much of a folder is held in memory; sessions beyond that are read again in their turn."""


@dataclass(frozen=True, slots=True)
class SealedSession:
    """A session that was sealed in memory."""

    name: str
    """The name of its source."""
    record: Record
    data: bytes
    """The record in canonical JSON, as it was validated and signed."""
    statement: bytes
    """The signed statement, with the receipt of the log if there is one."""
    receipt: bytes | None = None


def seal_sessions(
    path: str | Path,
    signing: SigningSettings,
    *,
    log: RegistrationClient | None = None,
    log_keys: Sequence[PublicKey] = (),
    base: BaseFiles | None = None,
    agent: str | None = None,
    now: datetime | None = None,
) -> list[SealedSession]:
    """Seal the sessions in a native file, a database or a folder, without writing files.

    With a `log`, also register the statements; `log_keys` are the keys that its receipts must be
    signed with. `base` has the files before the session, `agent` is the agent that wrote it (by
    default detected), and `now` the time of signing.

    Raises:
        UnreadableInput: a session cannot be read, or no known agent wrote it.
        InvalidRecord: a record does not follow its schema.
        InvalidStatement: the log refuses a statement.
        Unreachable: the log or the timestamp authority does not answer.
    """
    issued_at = int(now.timestamp()) if now is not None else None
    sealed = []
    for group in _group_sessions(_open_sessions(path, agent)):
        for session, checked in zip(group, attribute_and_check(group, base), strict=True):
            file = make_signable_record(checked.record, checked.data)
            statement = signing.sign_file(file, issued_at=issued_at)
            receipt = None
            if log is not None:
                registered = log.register(statement, log_keys, ENTRY_RULE_STATEMENT)
                receipt = registered.receipt
                statement = registered.add_to(statement)
            record = cast("Record", checked.record)
            sealed.append(SealedSession(session.name, record, checked.data, statement, receipt))
    return sealed


def _open_sessions(path: str | Path, agent: str | None) -> Iterator[UnsealedSession]:
    """Yield the sessions at a path; in a folder, skip files that are not sessions.

    `agent` is the agent that wrote them; None detects it.

    Raises:
        UnreadableInput: a session cannot be read.
        NotASession: the path is a file of an unknown format.
    """
    for place in find_places(path):
        try:
            for session in read_sessions(
                place.path, session=place.session, agent=agent, sub_agents=not place.in_folder
            ):
                if isinstance(session, VacrError):
                    raise session
                record = cast("dict[str, Any]", session.reading.record)
                name = make_record_name(
                    strip_native_suffix(session.name), NAME_JOINT, session.label
                )
                yield UnsealedSession(name, record, files=session.files)
        except NotASession:
            if not place.in_folder:
                raise


def _group_sessions(sessions: Iterable[UnsealedSession]) -> list[list[UnsealedSession]]:
    """Group each session with its sub-agents."""
    return _group_with_sub_agents(
        (session, session.record["session"]["session-id"], Path(*session.files[:1]))
        for session in sessions
    )


def _group_with_sub_agents(
    sessions: Iterable[tuple[AnySession, str, Path]],
) -> list[list[AnySession]]:
    """Return groups of sessions: each session, followed by its sub-agents.

    `sessions` are sessions with their ids and paths. The id of a sub-agent begins with the id of
    its session: `a/sub` belongs to `a`. If there are several copies of `a`, it belongs to the copy
    with the nearest path. No group has two copies of a sub-agent. Sub-agents without their session
    form a group with those in the same folder.
    """
    mains: dict[str, list[_Group[AnySession]]] = {}
    others: dict[tuple[str, Path], list[_Group[AnySession]]] = {}
    sub_agents = []
    for session, session_id, path in sessions:
        if "/" in session_id:
            sub_agents.append((session, session_id, path))
        else:
            mains.setdefault(session_id, []).append(_Group(path, {session_id: session}))

    def measure_closeness(sub_agent: tuple[AnySession, str, Path]) -> int:
        _, session_id, path = sub_agent
        copies = mains.get(session_id.partition("/")[0], [])
        return max((group.count_common_parts(path) for group in copies), default=0)

    # The nearest one comes first, so that no distant copy takes its place.
    for session, session_id, path in sorted(sub_agents, key=measure_closeness, reverse=True):
        main_id = session_id.partition("/")[0]
        copies = _sort_by_closeness(mains.get(main_id, []), path)
        neighbours = others.setdefault((main_id, path.parent), [])
        for group in (*copies, *neighbours):
            if session_id not in group.members:
                group.members[session_id] = session
                break
        else:
            neighbours.append(_Group(path, {session_id: session}))
    return [
        list(group.members.values())
        for groups in (*mains.values(), *others.values())
        for group in groups
    ]


@dataclass(frozen=True)
class _Group(Generic[AnySession]):
    """One copy of a session and of its sub-agents, by their ids."""

    path: Path
    """The path of the session, or of the first sub-agent if the session is missing."""
    members: dict[str, AnySession] = field(default_factory=dict)

    def count_common_parts(self, path: Path) -> int:
        """Return the number of leading parts that this path and another one have in common."""
        pairs = zip(self.path.parts, path.parts, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _sort_by_closeness(
    groups: Sequence[_Group[AnySession]], path: Path
) -> list[_Group[AnySession]]:
    """Return the groups, those with the most similar path first."""
    return sorted(groups, key=lambda group: -group.count_common_parts(path))


@dataclass(frozen=True)
class UnsealedSession:
    """A session that was read, and the file that its record goes to."""

    name: str
    """The name of its source."""
    record: dict[str, Any]
    target: Path = Path()
    files: tuple[Path, ...] = ()
    """The native files: the outputs get no wider permissions than these."""
    native: Source | None = None
    """The native bytes, if they are kept next to the record."""
    inputs: dict[str, Any] = field(default_factory=dict)
    """Facts from outside the session, for the record's `vacr.inputs`."""


@dataclass(frozen=True, slots=True)
class CheckedRecord:
    """An attributed, validated record with its canonical JSON."""

    record: dict[str, Any]
    data: bytes


def attribute_and_check(
    group: Sequence[UnsealedSession], base: BaseFiles | None
) -> list[CheckedRecord]:
    """Attribute a session together with its sub-agents, and return the validated records in order.

    `base` has the files before the session, if they are known. `group` is the session, then its
    sub-agents.

    Raises:
        InvalidRecord: a record does not follow its schema.
    """
    if len(group) > 1:
        # Jointly attributed records name each other by the ids that they had before.
        for session in group:
            assign_record_id(cast("Record", session.record))
    records = attribute_records([session.record for session in group], base)
    checked = []
    for session, record in zip(group, records, strict=True):
        if session.inputs:
            record["vacr"]["inputs"] = {**record["vacr"].get("inputs", {}), **session.inputs}
        data = b"".join(encode_with_id(cast("Record", record)))
        validate_record(record).raise_for_errors()
        checked.append(CheckedRecord(record, data))
    return checked


@dataclass(frozen=True)
class PlannedSession:
    """A session to be sealed, held in memory or to be read again in its turn."""

    task: RecordingTask
    target: Path
    """The file for its record."""
    label: str
    """Distinguishes the session from others of its place; empty for the only session."""
    held: OpenedSession | None
    """The session, or None if it must be read again."""

    def load(self) -> UnsealedSession:
        """Return the session, from memory or read again.

        Raises:
            UnreadableInput: the session no longer exists.
        """
        session = self.held or self._read_again()
        record = cast("dict[str, Any]", session.reading.record)
        return UnsealedSession(self.task.path, record, self.target, session.files, session.source)

    def _read_again(self) -> OpenedSession:
        """Read the place again, and return the session with the same label.

        Raises:
            UnreadableInput: the session no longer exists.
        """
        for session in read_task_sessions(self.task):
            if isinstance(session, OpenedSession) and session.label == self.label:
                return session
        raise UnreadableInput(
            "the session no longer exists: it was deleted or changed meanwhile",
            where=self.task.path,
            hint="Run the command again.",
        )


def plan_sealing(
    paths: Sequence[str],
    output: Path,
    options: RecordingOptions,
    report: Callable[[RecordingOutcome], None],
) -> list[list[PlannedSession]]:
    """Read the sessions at some paths, and return them in groups: each with its sub-agents.

    `output` is the folder for the records. `report` gets the outcome of each place: errors,
    notices, or the reason why it was skipped.
    """
    sessions: list[tuple[PlannedSession, str, Path]] = []
    held_bytes = 0
    for task in _plan_tasks(paths, output, options):
        if task.passed_over:
            report(RecordingOutcome(task, skipped=task.passed_over))
            continue
        opened: list[tuple[Path, OpenedSession]] = []
        outcome = read_place(
            task,
            lambda path, session: opened.append((path, session)),  # noqa: B023 - called at once
        )
        for (path, session), described in zip(opened, outcome.records, strict=True):
            if format_path(str(path)) != str(path):
                _add_name_error(outcome, described["source"])
                continue
            held_bytes += _measure_source(session)
            held = session if held_bytes <= _MAX_HELD_BYTES else None
            planned = PlannedSession(task, path, session.label, held)
            sessions.append((planned, described["session-id"], Path(task.path)))
        report(outcome)
    return _group_with_sub_agents(sessions)


def _plan_tasks(
    paths: Sequence[str], output: Path, options: RecordingOptions
) -> Iterator[RecordingTask]:
    """Yield the tasks of the files in `options.named`, and of the folders among the paths."""
    yield from plan_file_tasks(list(options.named), str(output), options)
    folders = [Path(path) for path in paths if path not in options.named]
    # In a folder, the files of sub-agents are places of their own.
    alone = replace(options, sub_agents=False)
    for folder, target in assign_output_folders(folders, output, options.named) if folders else ():
        yield from plan_folder_tasks(folder, target, output, alone)


def _add_name_error(outcome: RecordingOutcome, source: str) -> None:
    """Add the error that the name of a session's file is not valid UTF-8."""
    error = UnreadableInput(
        "the file name is not valid UTF-8", where=source, hint="Rename the file."
    )
    outcome.errors.append({"source": source, "error": str(error), "where": "", "hint": error.hint})
    outcome.exit_code = max(outcome.exit_code, error.exit_code)


def _measure_source(session: OpenedSession) -> int:
    """Return the number of native bytes of a session."""
    parts = session.reading.record["vacr"]["source"]["parts"]
    return sum(part["size"] for part in parts)


def _keep_target(target: Path, data: bytes) -> Path:
    """Return the planned file for any record; the default of `choose_target`."""
    del data
    return target


@dataclass(frozen=True)
class Sealer:
    """Seals sessions into files: records with statements next to them."""

    signing: SigningSettings
    base: BaseFiles | None = None
    registrar: Registrar | None = None
    overwrite: bool = False
    notify: Callable[[str], None] = lambda _: None
    """Takes remarks for the user, such as tools whose effects are unknown."""
    choose_target: Callable[[Path, bytes], Path] = _keep_target
    """Returns the file for a record, given the planned file and the encoded record."""
    durable: bool = False
    """Whether each file survives a power cut before the next one is written."""

    def seal(self, group: Sequence[UnsealedSession]) -> list[SealResult]:
        """Seal a session together with its sub-agents, and return a result for each.

        Raises:
            VacrError: a check fails, or a file cannot be read or written.
        """
        checked = attribute_and_check(group, self.base)
        for session, record in zip(group, checked, strict=True):
            report_attribution_gaps(session.name, record.record, self.base, self.notify)
        return [
            self._seal_record(session, record)
            for session, record in zip(group, checked, strict=True)
        ]

    def seal_planned(
        self, groups: list[list[PlannedSession]]
    ) -> Iterator[tuple[list[PlannedSession], list[SealResult] | VacrError]]:
        """Seal planned sessions and yield each group with its results, or with its error.

        The groups are taken off the list, so that memory is free again once a group is sealed.
        """
        while groups:
            group = groups.pop(0)
            try:
                results = self.seal([session.load() for session in group])
            except VacrError as error:
                if isinstance(error, PluginError) and os.environ.get("VACR_DEBUG"):
                    raise
                yield group, error
            else:
                yield group, results

    def _seal_record(self, session: UnsealedSession, checked: CheckedRecord) -> SealResult:
        """Write a record, sign it unless it is signed already, register and verify it.

        Raises:
            VacrError: a file exists with other content or cannot be written, or a check fails.
        """
        target = self.choose_target(session.target, checked.data)
        self._write_record(session, target, checked.data)
        statement = target.with_name(target.name + STATEMENT_SUFFIX)
        signed = not self._has_statement(statement, checked)
        if signed:
            file = make_signable_record(checked.record, checked.data)
            data = self.signing.sign_file(file)
            self._write_file(statement, data, str(target), ())
        outcome = self.registrar.register(str(statement)) if self.registrar is not None else None
        log_keys = self._fetch_log_keys(outcome)
        verified = self._verify(read_bytes(statement), checked, log_keys=log_keys)
        return SealResult(session, target, checked.record, signed, outcome, verified)

    def _write_record(self, session: UnsealedSession, target: Path, data: bytes) -> None:
        """Write a record, and its sealed source if the native bytes are kept."""
        source, *others = [str(path) for path in session.files] or [STDIN]
        if session.native is not None:
            sealed_source = bytes(encode_sealed_source(session.native))
            self._write_file(build_sealed_source_path(target), sealed_source, source, (), others)
        try:
            self._write_file(target, data, source, (session.name,), others)
        except UsageError as error:
            if not _has_unattributed_record(target, data):
                raise
            raise UsageError(
                f"{target} exists: the record of this session, without attribution",
                hint="Add --overwrite to replace it with the sealed record, or seal into another "
                "folder: -o sealed/",
            ) from error

    def _write_file(
        self,
        target: Path,
        data: bytes,
        source: str,
        inputs: tuple[str, ...],
        also: Sequence[str] = (),
    ) -> None:
        """Write a file, as `write_output_file` does, with the settings of this sealer.

        Raises:
            UsageError: the file exists with other content, and `overwrite` is false.
        """
        write_output_file(
            target,
            data,
            source,
            inputs,
            overwrite=self.overwrite,
            also=also,
            durable=self.durable,
        )

    def _has_statement(self, statement: Path, checked: CheckedRecord) -> bool:
        """Return whether the statement file exists, verifies with our key, and names our issuer.

        If there is a certificate chain, the statement must contain one, too.
        """
        if not statement.is_file():
            return False
        try:
            verified = self._verify(read_bytes(statement), checked)
        except VerificationFailed:
            return False
        if self.signing.issuer not in (None, verified.issuer):
            return False
        return not self.signing.chain or HEADER_X5CHAIN in verified.message.protected

    def _fetch_log_keys(self, outcome: RegistrationOutcome | None) -> tuple[PublicKey, ...]:
        """Return the keys for the log's receipt; fetch them from the log if none were given.

        Without a receipt, there are none.
        """
        if outcome is None or outcome.logged is None or self.registrar is None:
            return ()
        return tuple(self.registrar.log_keys) or tuple(self.registrar.client.keys())

    def _verify(
        self, statement: bytes, checked: CheckedRecord, **requirements: Any
    ) -> VerifiedStatement:
        """Verify a statement about a record, by our key and further `requirements` of the policy.

        The record itself was checked a moment ago.

        Raises:
            VerificationFailed: a check fails.
        """
        rule = self.registrar.entry_rule if self.registrar is not None else ENTRY_RULE_STATEMENT
        policy = Policy(
            keys=(self.signing.signer.public_key,),
            entry_rule=rule,
            needs_record=True,
            **requirements,
        )
        return verify_new_statement(
            statement,
            policy,
            payload=checked.data,
            record=checked.record,
            now=datetime.now(UTC),
        )


def _has_unattributed_record(target: Path, data: bytes) -> bool:
    """Return whether a file is an unmodified record of the same source, without attribution.

    `vacr record` writes such a record. `data` is the attributed record.
    """
    if not target.is_file():
        return False
    try:
        existing, sealed = decode(read_bytes(target)), decode(data)
        parts = [part["sha-256"] for part in existing["vacr"]["source"]["parts"]]
        return (
            "file-attribution" not in existing
            and existing["session"]["session-id"] == sealed["session"]["session-id"]
            and parts == [part["sha-256"] for part in sealed["vacr"]["source"]["parts"]]
            and find_record_modification(existing, json=True) is None
        )
    except (VacrError, TypeError, KeyError, IndexError):
        return False


@dataclass(frozen=True)
class SealResult:
    """A session that was sealed into files."""

    session: UnsealedSession
    target: Path
    record: dict[str, Any]
    signed: bool
    """Whether the session was signed now; otherwise the existing statement was still correct."""
    outcome: RegistrationOutcome | None
    """The outcome of its registration; None without a log."""
    verified: VerifiedStatement

    def describe(self) -> str:
        """Return a line for the terminal: the record, its attributed lines, and the signer."""
        signed = "signed" if self.signed else "already signed"
        summary = format_attribution_summary(self.record)
        return f"{self.target}: {summary}; {signed} by {self.verified.signer.description}"

    def build_document(self, service: str | None) -> dict[str, Any]:
        """Return the facts about a sealed session for JSON output; `service` is the log's URL."""
        document = {
            "source": self.session.name,
            "record": str(self.target),
            "statement": f"{self.target}{STATEMENT_SUFFIX}",
            "id": self.record["id"],
            "signed": self.signed,
            "thumbprint": compute_thumbprint_uri(self.verified.signer.key),
            **count_attributed_lines(self.record),
        }
        if self.outcome is None or service is None:
            return document | {"state": "signed", "exit": 0}
        return document | build_registration_document(self.outcome, service)


def build_failure_documents(
    group: Sequence[PlannedSession], error: VacrError
) -> list[dict[str, Any]]:
    """Return a document for each session of a group that could not be sealed, for JSON output."""
    return [
        {
            "source": session.task.path,
            "record": str(session.target),
            "state": "failed",
            "error": str(error),
            "hint": error.hint,
            "exit": error.exit_code,
        }
        for session in group
    ]
