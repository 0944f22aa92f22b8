"""The clauses of a document, as its TOML file has them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

DONE, OTHERWISE, OUT_OF_SCOPE = "done", "done otherwise", "out of scope"
_STATUSES = {"otherwise": OTHERWISE, "out of scope": OUT_OF_SCOPE}


@dataclass(frozen=True)
class Clause:
    """What a document says, where it is done, and what tests it."""

    says: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    status: str = DONE
    why: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a document, by its title."""

    title: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Document:
    """A document of the draft, or beside it."""

    name: str
    title: str
    about: str
    sections: tuple[Section, ...]


def load(path: Path) -> Document:
    """Read the clauses of a document.

    Raises:
        ValueError: a clause has another form, or does not say what it has to.
    """
    found = tomllib.loads(path.read_text("utf-8"))
    sections = tuple(
        Section(
            one["title"],
            tuple(_clause(row, f"{path.name}: {one['title']}") for row in one["clauses"]),
        )
        for one in found["section"]
    )
    return Document(path.stem, found["title"], found["about"], sections)


def _clause(row: list[str], where: str) -> Clause:
    """Take a row: what is said, code, tests, and where it is not simply done a status and a
    reason.
    """
    says, code, tests, *more = row
    status, _, why = more[0].partition(": ") if more else ("", "", "")
    clause = Clause(
        says, tuple(code.split()), tuple(tests.split()), _STATUSES[status] if more else DONE, why
    )
    if (more and not why) or (clause.status != OUT_OF_SCOPE and not (clause.code and clause.tests)):
        raise ValueError(f"{where}: {says}: a reason, the code or a test is missing")
    return clause
