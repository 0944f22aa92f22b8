"""Whether what a clause names exists: files, rules of schemas, names in modules, tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clauses import Clause

ROOT = Path(__file__).parent.parent.parent
CODE, TESTS = ROOT / "src" / "vacr", ROOT / "tests"
_RULE = re.compile(r"^([a-z0-9-]+) = ", re.MULTILINE)


def path_of(name: str, folder: Path) -> Path:
    """Give the file that a name begins with; one that begins with a slash is named from the root of
    the repository.
    """
    file = name.partition("::")[0]
    return ROOT / file[1:] if file.startswith("/") else folder / file


def missing(clause: Clause) -> Iterator[str]:
    """Give the names that lead nowhere."""
    for name in clause.code:
        if not _exists(path_of(name, CODE), name.partition("::")[2]):
            yield name
    for name in clause.tests:
        what = name.partition("::")[2]
        if not what.startswith("test_") or not _exists(path_of(name, TESTS), what):
            yield name


def _exists(path: Path, what: str) -> bool:
    if not path.exists() or not what:
        return path.exists()
    return path.is_file() and what in _names(path)


@cache
def _names(path: Path) -> frozenset[str]:
    """Give what a file defines: the rules of a schema, or the functions, classes, methods and
    tables of a module.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".cddl":
        return frozenset(_RULE.findall(text))
    if path.suffix != ".py":
        return frozenset()
    return frozenset(_defined(ast.parse(text)))


def _defined(body: ast.Module | ast.ClassDef, within: str = "") -> Iterator[str]:
    for node in body.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield within + node.name
            if isinstance(node, ast.ClassDef):
                yield from _defined(node, f"{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                within + name.id
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            )
