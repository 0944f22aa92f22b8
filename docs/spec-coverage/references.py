"""The names in a clause: files, rules of schemas and their members, definitions of modules, tests.

A member of a rule follows its name: `record/v3.cddl::range.content-hash-alg`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clauses import Clause

from vacr.cddl.syntax import (
    ArraySyntax,
    GroupEntrySyntax,
    GroupSyntax,
    LiteralSyntax,
    MajorSyntax,
    MapSyntax,
    NameSyntax,
    parse_rules,
)
from vacr.cddl.tokens import CddlSource

ROOT = Path(__file__).parent.parent.parent
CODE, TESTS = ROOT / "src" / "vacr", ROOT / "tests"


def resolve_file(name: str, folder: Path) -> Path:
    """Return the file that a name starts with.

    It lies in the folder, or in the root of the repository if the name starts with a slash.
    """
    file = name.partition("::")[0]
    return ROOT / file[1:] if file.startswith("/") else folder / file


def find_missing_names(clause: Clause) -> Iterator[str]:
    """Yield the names in a clause that do not exist."""
    for name in clause.code:
        if not _exists(resolve_file(name, CODE), name.partition("::")[2]):
            yield name
    for name in clause.tests:
        test = name.partition("::")[2]
        if not test.startswith("test_") or not _exists(resolve_file(name, TESTS), test):
            yield name


def _exists(path: Path, definition: str) -> bool:
    """Return whether a file exists and, if a definition is named, contains it."""
    if not path.exists() or not definition:
        return path.exists()
    return path.is_file() and definition in _list_definitions(path)


@cache
def _list_definitions(path: Path) -> frozenset[str]:
    """Return the names that a file defines.

    These are the rules of a schema and their members, or the functions, classes, methods and
    variables of a module.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".cddl":
        return frozenset(_walk_schema(text))
    if path.suffix != ".py":
        return frozenset()
    return frozenset(_walk_definitions(ast.parse(text)))


def _walk_schema(text: str) -> Iterator[str]:
    for rule in parse_rules(CddlSource(text, "schema")):
        yield rule.name
        value = rule.body.value
        if isinstance(value, MajorSyntax) and value.content is not None:
            value = value.content
        if isinstance(value, MapSyntax | ArraySyntax):
            value = value.group
        if isinstance(value, GroupSyntax):
            for entries in value.alternatives:
                yield from (f"{rule.name}.{_name_entry(entry)}" for entry in entries)


def _name_entry(entry: GroupEntrySyntax) -> str:
    """Return the key of an entry, or the name of the group that it includes."""
    match entry.key.type if entry.key else entry.value:
        case LiteralSyntax(value=value):
            return str(value)
        case NameSyntax(name=name):
            return name
    return ""


def _walk_definitions(body: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in body.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _walk_definitions(node, f"{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                prefix + name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            )
