"""The clauses of a document, read from its TOML file.

A clause is a row of three or four texts: the requirement, the code that meets it, the tests that
show it, and, unless it is simply done, the status with a reason:

    ["The signing envelope is CBOR", "signing/cose.py", "signing/test_statement.py::test_…"]
    ["Citations", "", "", "out of scope: files of the authors"]

A clause that is simply done, or done differently, names code and tests. If the code is a clause of
a schema (`record/v3.cddl::range.content-hash`), its tests must fail when that clause is deleted or
changed: tests/record/test_schema_mutants.py tries it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

DONE, DIFFERENTLY, OPEN, OUT_OF_SCOPE = "done", "done differently", "open", "out of scope"
_STATUSES = {"differently": DIFFERENTLY, "open": OPEN, "out of scope": OUT_OF_SCOPE}


@dataclass(frozen=True)
class Clause:
    """A requirement of a document, with the code that meets it and the tests that show it."""

    text: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    status: str = DONE
    reason: str = ""


@dataclass(frozen=True)
class Section:
    """A section of a document, with its title."""

    title: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True)
class Document:
    """The draft, or a document that belongs to it."""

    name: str
    title: str
    about: str
    sections: tuple[Section, ...]


def load_document(path: Path) -> Document:
    """Read the clauses of a document.

    Raises:
        ValueError: A clause has the wrong form, or lacks a required part.
    """
    content = tomllib.loads(path.read_text("utf-8"))
    sections = []
    for section in content["section"]:
        title = section["title"]
        clauses = [_parse_clause(row, f"{path.name}: {title}") for row in section["clauses"]]
        sections.append(Section(title, tuple(clauses)))
    return Document(path.stem, content["title"], content["about"], tuple(sections))


def _parse_clause(row: list[str], place: str) -> Clause:
    """Parse a row: requirement, code, tests, and optionally a status with a reason."""
    text, code, tests, *remark = row
    status, reason = DONE, ""
    if remark:
        keyword, _, reason = remark[0].partition(": ")
        status = _STATUSES[keyword]
    clause = Clause(text, tuple(code.split()), tuple(tests.split()), status, reason)
    lacks_reason = bool(remark) and not reason
    lacks_proof = status in {DONE, DIFFERENTLY} and not (clause.code and clause.tests)
    if lacks_reason or lacks_proof:
        raise ValueError(f"{place}: {text}: the reason, the code or a test is missing")
    return clause
