"""What `vacr view` shows: records as they are stored, with their statements, and what verification
finds of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from vacr.cli.given import InputRecord, read_input_records, scan_input_records
from vacr.cli.verdicts import (
    VerificationOptions,
    judge_statement,
    load_joint_records,
    load_verification_policy,
)
from vacr.errors import InvalidStatement, NotASession, UnreadableInput, VacrError
from vacr.files import read_bytes
from vacr.record import encode
from vacr.signing import find_carried_key, parse_sign1
from vacr.verification import (
    CHECK_PASSED,
    CHECK_UNDECIDED,
    Check,
    Policy,
    VerificationFailed,
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
    RowFilter,
    build_index_card,
    format_record_title,
)
from vacr.workflows import STATEMENT_SUFFIX, StatementPair, find_statement_pairs

_UNTRUSTED_KEY_MESSAGE = "the key that the statement carries; whom to trust was not said"


@dataclass(frozen=True)
class Conversation:
    """A session, and those of its sub-agents, which are shown together."""

    stem: str
    parts: Sequence[InputRecord]
    shown: Sequence[PageRecord]

    @property
    def verdict(self) -> str:
        """What came of verifying all of it: the worst counts."""
        return min(
            (classify_verdict(one.found) for one in self.shown),
            key=(VERDICT_FAILED, VERDICT_UNSIGNED, VERDICT_SIGNED, VERDICT_VERIFIED).index,
        )

    @property
    def told(self) -> str:
        """Why it does not hold, if it does not."""
        return next(
            (
                str(one.found["message"])
                for one in self.shown
                if one.found and not one.found["verified"]
            ),
            "",
        )

    def page(self, trust: PageTrust, chosen: RowFilter | None, index: str = "") -> Page:
        """Make the page of it."""
        return Page(
            format_record_title(self.parts[0].record, self.stem), self.shown, trust, chosen, index
        )

    def card(self, href: str) -> dict[str, Any]:
        """Make what an index says of it."""
        return build_index_card(self.parts[0].record, self.stem, href, self.verdict, self.told)


def load_page_template() -> str:
    """Read the viewer.

    Raises:
        UnreadableInput: it is not in the package.
    """
    try:
        return files("vacr.viewer").joinpath("page.html").read_text("utf-8")
    except OSError as error:
        raise UnreadableInput(
            "the viewer is not in the package", where="page.html", hint="make web builds it."
        ) from error


def build_page_trust(wanted: VerificationOptions) -> PageTrust:
    """Give what a page verifies with."""
    policy = load_verification_policy(wanted)
    return PageTrust(policy.keys, policy.log_keys, bool(policy.roots), policy.entry_rule)


def read_conversations(
    path: str, wanted: VerificationOptions
) -> Iterator[Conversation | VacrError]:
    """Give what is in a file or a folder; in a folder, what cannot be read comes as an error among
    the others.

    A folder may hold more than fits into memory: of records only the names are kept, and each is
    read again when its turn comes.

    Raises:
        UnreadableInput: the path itself cannot be read, or there is nothing in it.
    """
    found: list[_RecordReference] = []
    for one in scan_input_records(_find_record_path(path), changed=True):
        if isinstance(one, InputRecord):
            found.append(_RecordReference.of(one))
        elif not isinstance(one, NotASession):
            yield one
    if not found:
        raise UnreadableInput(
            "there is no record in it, and no session",
            where=path,
            hint="vacr list -v shows where some are.",
        )
    beside = tuple(one.path for one in found if one.made is None)
    for together in _group_by_parent(found):
        try:
            parts = [one.given() for one in together]
            yield Conversation(
                parts[0].stem, parts, [_build_shown_record(one, wanted, beside) for one in parts]
            )
        except VacrError as error:
            yield error


@dataclass(frozen=True)
class _RecordReference:
    """A record by its name, and what it takes to put it to its parent."""

    path: str
    stem: str
    session: Any
    parent: Any
    made: InputRecord | None
    """The record itself, where it was just made of a native session, or came through a pipe."""

    @classmethod
    def of(cls, one: InputRecord) -> _RecordReference:
        ours = one.record.get("vacr")
        above = ours.get("parent") if isinstance(ours, dict) else None
        said = above.get("session-id") if isinstance(above, dict) else None
        # What vacr does not know of a record may be of any type.
        parent = said if isinstance(said, str | bytes) else None
        session = one.record["session"].get("session-id")
        return cls(
            one.path,
            one.stem,
            session,
            parent,
            one if not one.stored or one.data is not None else None,
        )

    def given(self) -> InputRecord:
        """Give the record.

        Raises:
            VacrError: it is no longer what it was.
        """
        if self.made is not None:
            return self.made
        (one,) = read_input_records(self.path, changed=True)
        return replace(one, stem=self.stem)


def classify_verdict(found: Mapping[str, Any] | None) -> str:
    """Name a verdict in a word."""
    if found is None:
        return VERDICT_UNSIGNED
    if not found["verified"]:
        return VERDICT_FAILED
    return VERDICT_VERIFIED if found["trusted"] else VERDICT_SIGNED


def _find_record_path(path: str) -> str:
    """Give the record that a statement is about, where that is what was named."""
    if not path.endswith(STATEMENT_SUFFIX):
        return path
    about = path.removesuffix(STATEMENT_SUFFIX)
    if not Path(about).is_file():
        raise UnreadableInput(
            "the record that the statement is about is not beside it",
            where=path,
            hint=f"Put {about} there.",
        )
    return about


def _group_by_parent(found: list[_RecordReference]) -> list[list[_RecordReference]]:
    """Put the sessions of sub-agents to that of their parent, where it is there."""
    sessions = {one.session: one for one in found if one.parent is None}
    groups: dict[int, list[_RecordReference]] = {
        id(one): [one] for one in found if one.parent not in sessions
    }
    for one in found:
        if (parent := sessions.get(one.parent)) is not None:
            groups[id(parent)].append(one)
    return list(groups.values())


def _build_shown_record(
    one: InputRecord, wanted: VerificationOptions, beside: tuple[str, ...]
) -> PageRecord:
    """Take a record as it is stored; one that was just made of a session is stored nowhere, and
    nobody signed it.
    """
    name = Path(one.path).name
    if not one.stored:
        return PageRecord(name, encode(one.record, one.form), None, _make_unsigned_verdict(wanted))
    if one.data is not None:
        return PageRecord(name, one.data, None, _make_unsigned_verdict(wanted))
    (pair,) = find_statement_pairs(one.path)
    statement = read_bytes(pair.statement) if pair.statement is not None else None
    data = read_bytes(one.path)
    return PageRecord(
        name,
        data,
        statement,
        _make_unsigned_verdict(wanted)
        if statement is None
        else _verify_record(pair, statement, data, wanted, beside),
    )


def _make_unsigned_verdict(wanted: VerificationOptions) -> dict[str, Any] | None:
    """Say that nobody signed it, where somebody has to have."""
    if not wanted.trust and not wanted.log_keys:
        return None
    return {"verified": False, "trusted": False, "message": "it is not signed", "checks": []}


def _verify_record(
    pair: StatementPair,
    statement: bytes,
    data: bytes,
    wanted: VerificationOptions,
    beside: tuple[str, ...],
) -> dict[str, Any]:
    """Verify a record; where nobody is said to be trusted, by the key that the statement
    carries.
    """
    now = datetime.now(UTC)
    if wanted.trust:
        told = judge_statement(pair, wanted, beside, now)
        return {
            "verified": told["verified"],
            "trusted": True,
            "message": told.get("message", ""),
            "checks": told["checks"],
        }
    try:
        key = find_carried_key(parse_sign1(statement))
        policy: Policy = replace(
            load_verification_policy(wanted),
            keys=(key,) if key is not None else (),
            needs_record=True,
        )
        made = verify(
            statement, policy, payload=data, joint=lambda: load_joint_records(beside), now=now
        ).checks
    except VerificationFailed as error:
        return {
            "verified": False,
            "trusted": False,
            "message": error.message,
            "checks": [_build_check_document(one) for one in error.checks],
        }
    except InvalidStatement as error:
        return {"verified": False, "trusted": False, "message": error.message, "checks": []}
    return {
        "verified": True,
        "trusted": False,
        "message": "",
        "checks": [_build_check_document(one) for one in made],
    }


def _build_check_document(one: Check) -> dict[str, str]:
    if one.name == "trust" and one.outcome == CHECK_PASSED:
        return {"name": one.name, "outcome": CHECK_UNDECIDED, "told": _UNTRUSTED_KEY_MESSAGE}
    return {"name": one.name, "outcome": one.outcome, "told": one.told}
