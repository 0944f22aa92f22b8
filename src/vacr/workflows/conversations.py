"""Conversations: records with their sub-agents, their statements, and the verdicts about them.

The records of a file or a folder become conversations, one for each session. Sub-agents belong to
the conversation of their parent. Each record is verified with the keys and names that the user
trusts; without any, the key in the statement shows at least that the record did not change.

    >>> from vacr.workflows import VerificationOptions
    >>> from vacr.workflows.conversations import read_conversations
    >>> [conversation] = read_conversations("session.jsonl", VerificationOptions())
    >>> conversation.stem, len(conversation.parts), conversation.verdict
    ('session', 1, 'unsigned')

A folder may hold more than fits into memory: only the names of its records are kept, and each
record is read again when its turn comes.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vacr.archive import find_source
from vacr.blame import name_repository
from vacr.errors import InvalidStatement, NotASession, UnreadableInput, VacrError
from vacr.files import read_bytes
from vacr.record import encode, get_keeping_agent
from vacr.signing import HEADER_X5CHAIN, find_carried_key, parse_sign1, parse_x5chain
from vacr.verification import (
    CHECK_PASSED,
    CHECK_UNDECIDED,
    ROLE_SIGNER,
    Check,
    TrustStore,
    VerificationFailed,
    quote_misleading_name,
    verify,
)
from vacr.viewer import (
    VERDICT_FAILED,
    VERDICT_SIGNED,
    VERDICT_UNSIGNED,
    VERDICT_VERIFIED,
    Page,
    PageRecord,
    PageTrust,
    PriceTable,
    RowFilter,
    build_index_card,
    draw_summary,
    format_record_title,
    withhold_secret_entries,
)
from vacr.workflows.inputs import (
    InputRecord,
    read_input_records,
    read_session_inputs,
    scan_input_records,
)
from vacr.workflows.page_trust import build_page_trust, is_trust_named, limit_page_trust
from vacr.workflows.statement_files import STATEMENT_SUFFIX, StatementPair, find_statement_pairs
from vacr.workflows.verify import (
    VerificationOptions,
    judge_statement,
    load_joint_records,
    load_verification_policy,
)

_VERDICTS_WORST_FIRST = (VERDICT_FAILED, VERDICT_UNSIGNED, VERDICT_SIGNED, VERDICT_VERIFIED)
_UNTRUSTED_KEY_MESSAGE = "the key in the statement; no trusted key was named"


@dataclass(frozen=True)
class Conversation:
    """A session and its sub-agents, shown together on one page."""

    stem: str
    """The name of its page without the ending."""
    parts: Sequence[InputRecord]
    """The records: first the session, then its sub-agents."""
    shown: Sequence[PageRecord]
    """The same records with their statements and verdicts."""

    @property
    def verdict(self) -> str:
        """Return the worst verdict about the records: failed, unsigned, signed or verified."""
        verdicts = (_classify_verdict(record.verification) for record in self.shown)
        return min(verdicts, key=_VERDICTS_WORST_FIRST.index)

    @property
    def failure(self) -> str:
        """Return the message of the first failed verification, or an empty text if none failed."""
        failures = (
            str(record.verification["message"])
            for record in self.shown
            if record.verification and not record.verification["verified"]
        )
        return next(failures, "")

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Return how good a recording it is: unmodified, the agent's own, and its entries."""
        entries = sum(len(part.record["session"].get("entries", ())) for part in self.parts)
        is_own = not get_keeping_agent(self.parts[0].record)
        return not any(part.modified for part in self.parts), is_own, entries

    def page(
        self,
        trust: PageTrust,
        chosen: RowFilter | None,
        index: str = "",
        prices: PriceTable | None = None,
        lines: Mapping[str, Any] | None = None,
    ) -> Page:
        """Return the page of the conversation.

        `trust` has the keys for verifying it in the browser; the page gets those that count for its
        records. `chosen` selects the entries that are shown, and `index` is the link to the
        archive's first page; empty without an archive. `prices` replace the price table of the
        package. `lines` are the lines of a range of commits; None shows none.
        """
        title = format_record_title(self.parts[0].record, self.stem)
        trust = limit_page_trust(trust, self.shown)
        return Page(title, self.shown, trust, chosen, index, prices, lines)

    def card(self, href: str, prices: PriceTable | None = None) -> dict[str, Any]:
        """Return the entry for the conversation in an archive's index; `href` links to its page.

        `prices` replace the price table of the package.
        """
        records = [part.record for part in self.parts]
        card = build_index_card(records, self.stem, href, self.verdict, self.failure, prices)
        return card | {"repo": name_repository(records[0])}

    def draw(self, prices: PriceTable | None = None) -> str:
        """Return a picture of the summary, as SVG; `prices` replace those of the package."""
        records = [part.record for part in self.parts]
        title = format_record_title(withhold_secret_entries(records[0]), self.stem)
        return draw_summary(records, title, self.verdict, prices)


def _classify_verdict(verdict: Mapping[str, Any] | None) -> str:
    """Return the class of a verdict: failed, unsigned, signed or verified.

    None stands for an unsigned record where no signature is required. A valid signature by a key
    that the user does not trust is only `signed`.
    """
    if verdict is None:
        return VERDICT_UNSIGNED
    if not verdict["verified"]:
        return VERDICT_FAILED
    return VERDICT_VERIFIED if verdict["trusted"] else VERDICT_SIGNED


def read_conversations(
    path: str, options: VerificationOptions, session: str = ""
) -> Iterator[Conversation | VacrError]:
    """Yield the verified conversations in a file or a folder, and errors for unreadable items.

    `session` selects one session of a database or of a folder that an agent uses as a store.

    Raises:
        UnreadableInput: the path itself cannot be read, or contains no records or sessions.
    """
    references: list[_RecordReference] = []
    items: Iterator[InputRecord | VacrError] = (
        read_session_inputs(path, session)
        if session
        else scan_input_records(_find_record_path(path), changed=True)
    )
    for item in items:
        if isinstance(item, InputRecord):
            references.append(_RecordReference.of(item))
        elif not isinstance(item, NotASession):
            yield item
    if not references:
        raise UnreadableInput(
            "no records or sessions found",
            where=path,
            hint="To find sessions: vacr list -v",
        )
    stored = tuple(reference.path for reference in references if reference.kept is None)
    for group in _group_by_parent(references):
        try:
            parts = [reference.load() for reference in group]
            shown = [
                _mark_modified(part, _build_shown_record(part, options, stored)) for part in parts
            ]
            yield Conversation(parts[0].stem, parts, shown)
        except VacrError as error:
            yield error


def _find_record_path(path: str) -> str:
    """Return the path of the record that a statement file is about, or another path unchanged.

    Raises:
        UnreadableInput: the record of the statement does not exist.
    """
    if not path.endswith(STATEMENT_SUFFIX):
        return path
    record = path.removesuffix(STATEMENT_SUFFIX)
    if not Path(record).is_file():
        raise UnreadableInput(
            "the record of this statement is missing",
            where=path,
            hint=f"Save the record as {record}.",
        )
    return record


@dataclass(frozen=True)
class _RecordReference:
    """A record by its file, with the ids that assign it to its parent."""

    path: str
    stem: str
    session: Any
    """The id of its session."""
    parent: Any
    """The id of the session that started it as a sub-agent, or None."""
    kept: InputRecord | None
    """The record itself, if it comes from a native session or a pipe."""

    @classmethod
    def of(cls, item: InputRecord) -> _RecordReference:
        """Return a reference to a record; it keeps only a record that cannot be read again."""
        # Members that vacr does not know may be of any type.
        metadata = item.record.get("vacr")
        above = metadata.get("parent") if isinstance(metadata, dict) else None
        parent = above.get("session-id") if isinstance(above, dict) else None
        session = item.record["session"].get("session-id")
        is_on_disk = item.stored and item.data is None
        return cls(
            item.path,
            item.stem,
            session,
            parent if isinstance(parent, str | bytes) else None,
            None if is_on_disk else item,
        )

    def load(self) -> InputRecord:
        """Return the record, read again from its file unless it was kept.

        Raises:
            VacrError: the file can no longer be read.
        """
        if self.kept is not None:
            return self.kept
        (item,) = read_input_records(self.path, changed=True)
        return replace(item, stem=self.stem)


def _group_by_parent(references: list[_RecordReference]) -> list[list[_RecordReference]]:
    """Group each session with its sub-agents; a sub-agent without its parent is a group."""
    roots = {reference.session: reference for reference in references if reference.parent is None}
    groups: dict[int, list[_RecordReference]] = {
        id(reference): [reference] for reference in references if reference.parent not in roots
    }
    for reference in references:
        if (parent := roots.get(reference.parent)) is not None:
            groups[id(parent)].append(reference)
    return list(groups.values())


def _build_shown_record(
    item: InputRecord, options: VerificationOptions, run_files: tuple[str, ...]
) -> PageRecord:
    """Return a record as the page shows it: its bytes, its statement and the verdict.

    `run_files` are all record files of the run.
    """
    name = quote_misleading_name(Path(item.path).name)
    if not item.stored:
        data = encode(item.record, item.form)
        return PageRecord(name, data, None, _judge_unsigned(options), item.record, is_session=True)
    if item.data is not None:
        return PageRecord(name, item.data, None, _judge_unsigned(options), item.record)
    (pair,) = find_statement_pairs(item.path)
    data = read_bytes(item.path)
    if pair.statement is None:
        return PageRecord(name, data, None, _judge_unsigned(options), item.record)
    statement = read_bytes(pair.statement)
    verdict = _judge_signed(pair, statement, data, options, run_files)
    return PageRecord(name, data, statement, verdict, item.record)


def _mark_modified(item: InputRecord, shown: PageRecord) -> PageRecord:
    """Return a record for the page; the verdict about a modified record is that it failed."""
    if not item.modified:
        return shown
    verdict = shown.verification
    if verdict is None or verdict["verified"]:
        checks = verdict["checks"] if verdict is not None else []
        verdict = {"trusted": False, "message": item.modified, "checks": checks}
    verification = {**verdict, "verified": False, "modified": item.modified}
    return replace(shown, verification=verification)


def _judge_unsigned(options: VerificationOptions) -> dict[str, Any] | None:
    """Return the failed verdict about an unsigned record.

    Return `None` if no signature is required: the options name neither whom to trust nor log keys.
    """
    if not is_trust_named(options) and not options.log_keys:
        return None
    return {"verified": False, "trusted": False, "message": "unsigned", "checks": []}


def _is_known_signer(statement: bytes, options: VerificationOptions) -> bool:
    """Return whether a statement carries the key or certificate of a signer in a trust store.

    Return True if it carries no key: then only the store can verify it.

    Raises:
        InvalidStatement: the statement or its key cannot be read.
    """
    store = load_verification_policy(options).trust_store
    if store is None or not store.list_parties(ROLE_SIGNER):
        return False
    message = parse_sign1(statement)
    key = find_carried_key(message)
    if key is None or store.find_by_key(key, ROLE_SIGNER) is not None:
        return True
    chain = message.protected.get(HEADER_X5CHAIN, message.unprotected.get(HEADER_X5CHAIN))
    if chain is None:
        return False
    return bool(store.list_by_certificate(parse_x5chain(chain)[0], ROLE_SIGNER))


def _judge_signed(
    pair: StatementPair,
    statement: bytes,
    data: bytes,
    options: VerificationOptions,
    run_files: tuple[str, ...],
) -> dict[str, Any]:
    """Verify a statement about a record, and return the verdict for the page.

    If the options name nobody to trust, and no default trust store knows the signer, verify with
    the key in the statement, and mark the verdict as not `trusted`.
    """
    now = datetime.now(UTC)
    try:
        is_judged_by_trust = is_trust_named(options) or _is_known_signer(statement, options)
    except InvalidStatement:
        is_judged_by_trust = False
    if is_judged_by_trust:
        # The page has these bytes: the files may have changed since they were read.
        verdict = judge_statement(pair, options, run_files, now, (data, statement))
        return {
            "verified": verdict["verified"],
            "trusted": True,
            "message": verdict.get("message", ""),
            "checks": verdict["checks"],
        }
    verdict = {"verified": False, "trusted": False, "message": "", "checks": []}
    try:
        key = find_carried_key(parse_sign1(statement))
        policy = load_verification_policy(options)
        policy = replace(
            policy,
            keys=(key,) if key is not None else (),
            # The witnesses of a default store are required only of signers that it knows.
            trust_store=replace(policy.trust_store or TrustStore(), witnesses_required=0),
            needs_record=True,
        )
        verified = verify(
            statement,
            policy,
            payload=data,
            joint=lambda: load_joint_records(run_files, options.run),
            now=now,
        )
    except VerificationFailed as error:
        return {
            **verdict,
            "message": error.message,
            "checks": [_build_check_document(check) for check in error.checks],
        }
    except InvalidStatement as error:
        return {**verdict, "message": error.message}
    checks = [_build_check_document(check) for check in verified.checks]
    return {**verdict, "verified": True, "checks": checks}


def _build_check_document(check: Check) -> dict[str, str]:
    """Return a check for the page; without a trusted key, the check of trust stays undecided."""
    # A key in the statement itself proves only that the signer has its private half.
    if check.name == "trust" and check.outcome == CHECK_PASSED:
        return {"name": check.name, "outcome": CHECK_UNDECIDED, "told": _UNTRUSTED_KEY_MESSAGE}
    return {"name": check.name, "outcome": check.outcome, "told": check.finding}


def load_conversation_data(connection: sqlite3.Connection, record: int) -> dict[str, Any] | None:
    """Return the description, records and statements of a conversation; None if it is unknown.

    `record` is its number in the index. Records are gzip in base64.

    Raises:
        VacrError: the session cannot be read, or is gone.
    """
    source = find_source(connection, record)
    if source is None:
        return None
    path, session = source
    options = VerificationOptions()
    trust = build_page_trust(load_verification_policy(options), options)
    for conversation in read_conversations(path, options, session):
        if isinstance(conversation, VacrError):
            raise conversation
        page = conversation.page(trust, None)
        return {
            "island": page.describe(),
            "records": [_encode(shown.compress()) for shown in page.records],
            "statements": [
                None if shown.statement is None else _encode(shown.statement)
                for shown in page.records
            ],
        }
    raise UnreadableInput("the session is empty", where=path)


def _encode(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode()
