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

from vacr import codec
from vacr.cli.given import Given, given, opened
from vacr.cli.verdicts import Wanted, joint_of, judge, policy_of
from vacr.errors import InvalidStatement, NotASession, UnreadableInput, VacrError
from vacr.signing import carried
from vacr.signing.sign1 import parse
from vacr.sources import read_bytes
from vacr.sources.statements import COSE, Pair, pairs
from vacr.verification import Policy, VerificationFailed, checks, verify
from vacr.viewer.cards import FAILED, SIGNED, UNSIGNED, VERIFIED, card_of, title_of
from vacr.viewer.filters import Filter
from vacr.viewer.page import Page, Shown, Trust

_NOBODY = "the key that the statement carries; whom to trust was not said"


@dataclass(frozen=True)
class Conversation:
    """A session, and those of its sub-agents, which are shown together."""

    stem: str
    parts: Sequence[Given]
    shown: Sequence[Shown]

    @property
    def verdict(self) -> str:
        """What came of verifying all of it: the worst counts."""
        return min(
            (verdict_of(one.found) for one in self.shown),
            key=(FAILED, UNSIGNED, SIGNED, VERIFIED).index,
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

    def page(self, trust: Trust, chosen: Filter | None, index: str = "") -> Page:
        """Make the page of it."""
        return Page(title_of(self.parts[0].record, self.stem), self.shown, trust, chosen, index)

    def card(self, href: str) -> dict[str, Any]:
        """Make what an index says of it."""
        return card_of(self.parts[0].record, self.stem, href, self.verdict, self.told)


def template() -> str:
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


def trust_of(wanted: Wanted) -> Trust:
    """Give what a page verifies with."""
    policy = policy_of(wanted)
    return Trust(policy.keys, policy.log_keys, bool(policy.roots), policy.entry_rule)


def conversations(path: str, wanted: Wanted) -> Iterator[Conversation | VacrError]:
    """Give what is in a file or a folder; in a folder, what cannot be read comes as an error among
    the others.

    A folder may hold more than fits into memory: of records only the names are kept, and each is
    read again when its turn comes.

    Raises:
        UnreadableInput: the path itself cannot be read, or there is nothing in it.
    """
    found: list[_Named] = []
    for one in opened(_about(path), changed=True):
        if isinstance(one, Given):
            found.append(_Named.of(one))
        elif not isinstance(one, NotASession):
            yield one
    if not found:
        raise UnreadableInput(
            "there is no record in it, and no session",
            where=path,
            hint="vacr list -v shows where some are.",
        )
    beside = tuple(one.path for one in found if one.made is None)
    for together in _together(found):
        try:
            parts = [one.given() for one in together]
            yield Conversation(parts[0].stem, parts, [_shown(one, wanted, beside) for one in parts])
        except VacrError as error:
            yield error


@dataclass(frozen=True)
class _Named:
    """A record by its name, and what it takes to put it to its parent."""

    path: str
    stem: str
    session: Any
    parent: Any
    made: Given | None
    """The record itself, where it was just made of a native session, or came through a pipe."""

    @classmethod
    def of(cls, one: Given) -> _Named:
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

    def given(self) -> Given:
        """Give the record.

        Raises:
            VacrError: it is no longer what it was.
        """
        if self.made is not None:
            return self.made
        (one,) = given(self.path, changed=True)
        return replace(one, stem=self.stem)


def verdict_of(found: Mapping[str, Any] | None) -> str:
    """Name a verdict in a word."""
    if found is None:
        return UNSIGNED
    if not found["verified"]:
        return FAILED
    return VERIFIED if found["trusted"] else SIGNED


def _about(path: str) -> str:
    """Give the record that a statement is about, where that is what was named."""
    if not path.endswith(COSE):
        return path
    about = path.removesuffix(COSE)
    if not Path(about).is_file():
        raise UnreadableInput(
            "the record that the statement is about is not beside it",
            where=path,
            hint=f"Put {about} there.",
        )
    return about


def _together(found: list[_Named]) -> list[list[_Named]]:
    """Put the sessions of sub-agents to that of their parent, where it is there."""
    sessions = {one.session: one for one in found if one.parent is None}
    groups: dict[int, list[_Named]] = {
        id(one): [one] for one in found if one.parent not in sessions
    }
    for one in found:
        if (parent := sessions.get(one.parent)) is not None:
            groups[id(parent)].append(one)
    return list(groups.values())


def _shown(one: Given, wanted: Wanted, beside: tuple[str, ...]) -> Shown:
    """Take a record as it is stored; one that was just made of a session is stored nowhere, and
    nobody signed it.
    """
    name = Path(one.path).name
    if not one.stored:
        return Shown(name, codec.encode(one.record, one.form), None, _unsigned(wanted))
    if one.data is not None:
        return Shown(name, one.data, None, _unsigned(wanted))
    (pair,) = pairs(one.path)
    statement = read_bytes(pair.statement) if pair.statement is not None else None
    data = read_bytes(one.path)
    return Shown(
        name,
        data,
        statement,
        _unsigned(wanted) if statement is None else _found(pair, statement, data, wanted, beside),
    )


def _unsigned(wanted: Wanted) -> dict[str, Any] | None:
    """Say that nobody signed it, where somebody has to have."""
    if not wanted.trust and not wanted.log_keys:
        return None
    return {"verified": False, "trusted": False, "message": "it is not signed", "checks": []}


def _found(
    pair: Pair, statement: bytes, data: bytes, wanted: Wanted, beside: tuple[str, ...]
) -> dict[str, Any]:
    """Verify a record; where nobody is said to be trusted, by the key that the statement
    carries.
    """
    now = datetime.now(UTC)
    if wanted.trust:
        told = judge(pair, wanted, beside, now)
        return {
            "verified": told["verified"],
            "trusted": True,
            "message": told.get("message", ""),
            "checks": told["checks"],
        }
    try:
        key = carried.carried_key(parse(statement))
        policy: Policy = replace(
            policy_of(wanted), keys=(key,) if key is not None else (), needs_record=True
        )
        made = verify(
            statement, policy, payload=data, joint=lambda: joint_of(beside), now=now
        ).checks
    except VerificationFailed as error:
        return {
            "verified": False,
            "trusted": False,
            "message": error.message,
            "checks": [_check(one) for one in error.checks],
        }
    except InvalidStatement as error:
        return {"verified": False, "trusted": False, "message": error.message, "checks": []}
    return {
        "verified": True,
        "trusted": False,
        "message": "",
        "checks": [_check(one) for one in made],
    }


def _check(one: checks.Check) -> dict[str, str]:
    if one.name == "trust" and one.outcome == checks.PASSED:
        return {"name": one.name, "outcome": checks.UNDECIDED, "told": _NOBODY}
    return {"name": one.name, "outcome": one.outcome, "told": one.told}
