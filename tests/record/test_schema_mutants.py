"""Every clause of the schemas is tested: no change of a clause goes unnoticed.

The spec coverage names a test for each clause. Here, each clause is deleted or changed, and the
tests of every row that names it must fail. Clauses without a row have the tests of all clauses.
"""

from __future__ import annotations

import importlib
import itertools
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tests.conftest import ROOT, slow
from tests.record.schema_mutants import (
    Mutant,
    format_rules,
    list_clauses,
    make_mutants,
    parse_schema,
)
from vacr.cddl import compile_cddl
from vacr.record import validation

VERSIONS = ("1", "2", "3")
SCHEMA_TESTS = "record/test_schema_"
CLAUSE_TEST = "record/test_schema_clauses.py::test_clause_of_version_{}_accepts_and_refuses"

ANY_IN_OPEN_MAP = "An open map takes a member with any value, with or without the clause."
ANY_BY_NAME = "The rule is `any`."
ANY_TEXT = "One of the alternatives is any text."
NO_CUT = "The wildcard takes a known label with a value of any type, as in the draft."
NO_WILDCARD = "A cut matters only where another entry takes the same key."
REQUIRED = "Without the required member, a map is refused with and without a cut."
PLAIN_HEADER = "Every protected-header is a plain-protected-header too."
SAME_PLACE = "An array is matched from left to right: the signature would be taken for the payload."
UNCUT_MEMBERS = (
    *(f"header-parameters.{label}" for label in (1, 3, 4, 33, 34)),
    *(f"unprotected-header.{label}" for label in ("trace-metadata-key", 33, 394)),
)
TRACE_FORMATS = (
    "ietf-vac-v2.0",
    "claude-jsonl",
    "gemini-json",
    "codex-jsonl",
    "opencode-json",
    "cursor-jsonl",
)
EQUIVALENT = {
    "v1 anymap: key: label → any": ANY_BY_NAME,
    "v1 anymap: value → any": ANY_BY_NAME,
    "v2 signed-agent-record.unprotected: trace-metadata-key cut": NO_WILDCARD,
    "v2 signed-agent-record.payload: occurs ?": SAME_PLACE,
    "v3 message-entry.content: deleted": ANY_IN_OPEN_MAP,
    "v3 signed-agent-record.protected: .cbor: without protected-header": PLAIN_HEADER,
    "v3 signed-agent-record.payload: occurs ?": SAME_PLACE,
    "v3 scitt-signed-agent-record.payload: occurs ?": SAME_PLACE,
    "v3 receipt.payload: occurs ?": SAME_PLACE,
    "v3 protected-header.cwt-claims-key: cut": REQUIRED,
    "v3 cwt-claims.1: cut": REQUIRED,
    "v3 cwt-claims.2: cut": REQUIRED,
    **{
        f"v2 trace-format-id: {change}": ANY_TEXT
        for name in TRACE_FORMATS
        for change in (f'without "{name}"', f'"{name}" changed', f'"{name}" → tstr')
    },
}
"""Mutants that accept the same values as the schema, and why."""


def find_equivalence(version: str, mutant: Mutant) -> str:
    """Return why a mutant accepts the same values as its schema; an empty text if it does not."""
    if version == "3" and mutant.clause in UNCUT_MEMBERS:
        return "" if mutant.change in {"cut", "occurs once"} else NO_CUT
    return EQUIVALENT.get(f"v{version} {mutant}", "")


@dataclass(frozen=True)
class Row:
    """A row of the spec coverage that names clauses of the schemas."""

    text: str
    clauses: frozenset[str]
    """Clauses with their schema: `record/v3.cddl::range.content-hash-alg`."""
    tests: tuple[str, ...]
    """The tests of schemas; tests of other subjects are left out."""

    def names(self, version: str, mutant: Mutant) -> bool:
        """Return whether the row names the clause of a mutant, or its whole rule."""
        schema = f"record/v{version}.cddl"
        return not self.clauses.isdisjoint(
            (f"{schema}::{mutant.rule}", f"{schema}::{mutant.clause}")
        )


@cache
def load_rows() -> list[Row]:
    """Read the rows of all documents that name clauses of the schemas."""
    rows = []
    for path in sorted((ROOT / "docs" / "spec-coverage").glob("*.toml")):
        for section in tomllib.loads(path.read_text("utf-8"))["section"]:
            for text, code, tests, *_ in section["clauses"]:
                clauses = frozenset(name for name in code.split() if ".cddl::" in name)
                named = tuple(name for name in tests.split() if name.startswith(SCHEMA_TESTS))
                if clauses:
                    rows.append(Row(f"{path.name}: {section['title']}: {text}", clauses, named))
    return rows


@dataclass(frozen=True)
class Call:
    """A test with one set of parameters."""

    function: Callable[..., None]
    parameters: dict[str, Any]

    def concerns(self, rule: str) -> bool:
        """Return whether a parameter names this rule; such a call is likely to fail."""
        return any(getattr(value, "rule", "") == rule for value in self.parameters.values())

    def fails(self) -> bool:
        """Return whether the test fails."""
        try:
            self.function(**self.parameters)
        except (AssertionError, pytest.fail.Exception):
            return True
        return False


@cache
def list_calls(test: str) -> list[Call]:
    """Return the calls of a test that has its name in the spec coverage."""
    file, _, name = test.partition("::")
    module = importlib.import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
    function = getattr(module, name)
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    return [
        Call(function, dict(itertools.chain(*parameters)))
        for parameters in itertools.product(*map(list_parameters, marks))
    ]


def list_parameters(mark: pytest.Mark) -> list[list[tuple[str, Any]]]:
    """Return the names and values of each set of parameters of a mark."""
    names, values = mark.args
    if isinstance(names, str):
        return [[(names, value)] for value in values]
    return [list(zip(names, value, strict=True)) for value in values]


@contextmanager
def replace_schema(version: str, text: str) -> Iterator[Callable[..., bool]]:
    """Put another schema in the place of a version's; yield a function: does a test fail now?"""
    schema = compile_cddl(text, name=f"v{version}.cddl")
    load = validation._compile_record_schema

    @cache
    def fails(test: str, rule: str = "") -> bool:
        calls = sorted(list_calls(test), key=lambda call: not call.concerns(rule))
        return any(call.fails() for call in calls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            validation,
            "_compile_record_schema",
            lambda major: schema if major == version else load(major),
        )
        yield fails


def list_rules() -> Iterator[tuple[str, str]]:
    """Yield each version with each rule of its schema."""
    for version in VERSIONS:
        for rule in parse_schema(validation.read_schema_text(version)):
            yield version, rule.name


@slow
@pytest.mark.parametrize(("version", "rule"), list(list_rules()))
def test_no_mutant_survives(version, rule):
    survivors = []
    for mutant in make_mutants(validation.read_schema_text(version), rule):
        is_equivalent = bool(find_equivalence(version, mutant))
        with replace_schema(version, mutant.text) as fails:
            for row in find_rows(version, mutant):
                if any(fails(test, rule) for test in row.tests) is is_equivalent:
                    survivors.append(f"{mutant} [{row.text}]")
    assert survivors == []


def find_rows(version: str, mutant: Mutant) -> list[Row]:
    """Return the rows about the clause of a mutant, or a row with the test of all clauses."""
    rows = [row for row in load_rows() if row.names(version, mutant)]
    return rows or [Row("no row", frozenset(), (CLAUSE_TEST.format(version),))]


@pytest.mark.parametrize("version", VERSIONS)
def test_schema_written_again_passes_all_tests(version):
    text = format_rules(parse_schema(validation.read_schema_text(version)))
    tests = {test for row in load_rows() for test in row.tests}
    with replace_schema(version, text) as fails:
        assert [test for test in sorted(tests) if fails(test)] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_clause_has_a_row(version):
    named = {clause for row in load_rows() for clause in row.clauses}
    schema = f"record/v{version}.cddl"
    without = [
        clause
        for clause in list_clauses(validation.read_schema_text(version))
        if named.isdisjoint((f"{schema}::{clause}", f"{schema}::{clause.partition('.')[0]}"))
    ]
    assert without == []


def test_every_equivalent_mutant_exists():
    mutants = {
        f"v{version} {mutant}"
        for version in VERSIONS
        for mutant in make_mutants(validation.read_schema_text(version))
    }
    assert set(EQUIVALENT) <= mutants
