"""Write the pages of the spec coverage from the clauses in the TOML files beside, or check that
they are current (--check).

Either way it fails when a clause names a module, a rule, a function or a test that does not exist.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pages
from clauses import Document, load
from named import missing

FOLDER = Path(__file__).parent
DOCUMENTS = ("draft", "types", "published", "unification", "bridge", "samples")


def main() -> int:
    """Write the pages, or tell which are out of date."""
    documents = [load(FOLDER / f"{name}.toml") for name in DOCUMENTS]
    gone = [
        f"{document.name}.toml: {clause.says}: {name}"
        for document in documents
        for clause, name in _gone(document)
    ]
    for line in gone:
        print(f"docs/spec-coverage/{line}: there is no such thing", file=sys.stderr)
    wanted = {
        "README.md": pages.index(documents),
        **{f"{one.name}.md": pages.page(one) for one in documents},
    }
    stale = [name for name, text in wanted.items() if not _is(FOLDER / name, text)]
    if "--check" not in sys.argv:
        for name in stale:
            (FOLDER / name).write_text(wanted[name], "utf-8")
        stale = []
    if stale:
        print(
            f"docs/spec-coverage: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr
        )
    return bool(gone or stale)


def _gone(document: Document) -> list[tuple[pages.Clause, str]]:
    clauses = [clause for section in document.sections for clause in section.clauses]
    return [(clause, name) for clause in clauses for name in missing(clause)]


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
