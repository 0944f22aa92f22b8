"""The pages: one for each document, and the index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from clauses import DONE, OTHERWISE, OUT_OF_SCOPE, Clause, Document
from named import CODE, TESTS, path_of

__all__ = ["Clause", "index", "page"]

_MADE = "Made from `{}.toml` by `make docs`; do not edit."
_INDEX = """# Spec coverage

What draft-birkholz-verifiable-agent-conversations and the documents beside it say, clause by clause: where vacr does it, and which test shows it. The
draft's text has version 2 of the schema, the type descriptions have version 3, which vacr writes. Clauses are in our words. Made from the TOML files beside
by `make docs`, which fails, as `make test` does, when a clause names code or a test that does not exist.

| document | clauses | done | done otherwise | out of scope |
| --- | --- | --- | --- | --- |
{rows}
*Done otherwise* means that what the clause wants is reached in another way, or that a later document changed it; *out of scope* that it asks nothing of a
program, or nothing of this one. Both say why.
"""


def index(documents: Sequence[Document]) -> str:
    """Write the index."""
    rows = [(f"[{one.title}]({one.name}.md)", _counts(one)) for one in documents]
    total = sum((counts for _, counts in rows), Counter())
    return _INDEX.format(
        rows="".join(_row(name, counts) for name, counts in [*rows, ("all", total)])
    )


def _counts(document: Document) -> Counter[str]:
    return Counter(clause.status for section in document.sections for clause in section.clauses)


def _row(name: str, counts: Counter[str]) -> str:
    return (
        f"| {name} | {counts.total()} | "
        f"{' | '.join(str(counts[status]) for status in (DONE, OTHERWISE, OUT_OF_SCOPE))} |\n"
    )


def page(document: Document) -> str:
    """Write the page of a document."""
    parts = [f"# {document.title}\n\n{_MADE.format(document.name)} {document.about}\n"]
    for section in document.sections:
        rows = "".join(_clause(clause) for clause in section.clauses)
        parts.append(
            f"## {section.title}\n\n| clause | status | where | tested by |\n| --- | --- | --- "
            f"| --- |\n{rows}"
        )
    return "\n".join(parts)


def _clause(clause: Clause) -> str:
    status = f"{clause.status}: {clause.why}" if clause.why else clause.status
    code, tests = _links(clause.code, CODE), _links(clause.tests, TESTS)
    return f"| {_escaped(clause.says)} | {_escaped(status)} | {code} | {tests} |\n"


def _links(names: Sequence[str], folder: Path) -> str:
    """Link to files, each once, with what is named in it."""
    found: dict[str, list[str]] = {}
    for name in names:
        file, _, what = name.partition("::")
        found.setdefault(file, []).extend([f"`{what}`"] if what else [])
    return (
        "; ".join(
            f"[{file.lstrip('/')}]({_target(file, folder)}) {', '.join(what)}".rstrip()
            for file, what in found.items()
        )
        or "–"
    )


def _target(file: str, folder: Path) -> str:
    return Path(os.path.relpath(path_of(file, folder), Path(__file__).parent)).as_posix()


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
