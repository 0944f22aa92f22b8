"""The pages of the spec coverage as Markdown: one for each document, and an index."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from clauses import DIFFERENTLY, DONE, OPEN, OUT_OF_SCOPE, Clause, Document
from references import CODE, TESTS, resolve_file

_NOTICE = "Made from `{}.toml` by `make docs`; do not edit."
_INDEX = """# Spec coverage

Every clause of draft-birkholz-verifiable-agent-conversations and of the documents that belong to it: which code of vacr meets it, and which test shows
that. The text of the draft describes version 2 of the schema. The type descriptions describe version 3, the version that vacr writes. Clauses are in our own
words. `make docs` builds these pages from the TOML files in this folder. Like `make test`, it fails when a clause names code or a test that does not exist.
Every clause of a schema is also put to the test: `make test` deletes or changes it, and the tests named here must notice.

| document | clauses | done | done differently | open | out of scope |
| --- | --- | --- | --- | --- | --- |
{rows}
*Done differently*: vacr reaches the aim of the clause in another way, or a later document changed the clause. *Open*: vacr does not do this yet. *Out of
scope*: the clause asks nothing of a program, or nothing of this program. All three give the reason.
"""


def render_index(documents: Sequence[Document]) -> str:
    """Return the index page, with a table of the numbers of clauses."""
    rows = [(f"[{document.title}]({document.name}.md)", _count(document)) for document in documents]
    total = sum((counts for _, counts in rows), Counter())
    return _INDEX.format(
        rows="".join(_render_counts(name, counts) for name, counts in [*rows, ("all", total)])
    )


def _count(document: Document) -> Counter[str]:
    return Counter(clause.status for section in document.sections for clause in section.clauses)


def _render_counts(name: str, counts: Counter[str]) -> str:
    by_status = " | ".join(
        str(counts[status]) for status in (DONE, DIFFERENTLY, OPEN, OUT_OF_SCOPE)
    )
    return f"| {name} | {counts.total()} | {by_status} |\n"


def render_page(document: Document) -> str:
    """Return the page of a document."""
    parts = [f"# {document.title}\n\n{_NOTICE.format(document.name)} {document.about}\n"]
    for section in document.sections:
        rows = "".join(_render_clause(clause) for clause in section.clauses)
        parts.append(
            f"## {section.title}\n\n| clause | status | where | tested by |\n| --- | --- | --- "
            f"| --- |\n{rows}"
        )
    return "\n".join(parts)


def _render_clause(clause: Clause) -> str:
    status = f"{clause.status}: {clause.reason}" if clause.reason else clause.status
    code, tests = _render_links(clause.code, CODE), _render_links(clause.tests, TESTS)
    return f"| {_escape_bars(clause.text)} | {_escape_bars(status)} | {code} | {tests} |\n"


def _render_links(names: Sequence[str], folder: Path) -> str:
    """Return one link for each file, followed by the definitions that are named in it."""
    definitions: dict[str, list[str]] = {}
    for name in names:
        file, _, definition = name.partition("::")
        definitions.setdefault(file, []).extend([f"`{definition}`"] if definition else [])
    links = (
        f"[{file.lstrip('/')}]({_make_target(file, folder)}) {', '.join(in_file)}".rstrip()
        for file, in_file in definitions.items()
    )
    return "; ".join(links) or "–"


def _make_target(file: str, folder: Path) -> str:
    return Path(os.path.relpath(resolve_file(file, folder), Path(__file__).parent)).as_posix()


def _escape_bars(text: str) -> str:
    return text.replace("|", "\\|")
