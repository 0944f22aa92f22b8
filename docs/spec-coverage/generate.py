"""Write the pages of the spec coverage from the clauses in the TOML files of this folder.

With --check, write nothing, and fail if a page is out of date. Either way, fail if a clause names a
module, a rule, a function or a test that does not exist.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clauses import Document, load_document
from pages import render_index, render_page
from references import find_missing_names

FOLDER = Path(__file__).parent
DOCUMENTS = ("draft", "types", "published", "unification", "bridge", "samples")


def main() -> int:
    """Write or check the pages, and return the exit code."""
    documents = [load_document(FOLDER / f"{name}.toml") for name in DOCUMENTS]
    missing = [line for document in documents for line in _list_missing(document)]
    for line in missing:
        print(f"docs/spec-coverage/{line} does not exist", file=sys.stderr)
    pages = {f"{document.name}.md": render_page(document) for document in documents}
    pages["README.md"] = render_index(documents)
    stale = [name for name, text in pages.items() if not _is_current(FOLDER / name, text)]
    if "--check" not in sys.argv:
        for name in stale:
            (FOLDER / name).write_text(pages[name], "utf-8")
        stale = []
    if stale:
        print(
            f"docs/spec-coverage: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr
        )
    return bool(missing or stale)


def _list_missing(document: Document) -> list[str]:
    """Return a line for each missing name: the file of the clause, the clause, the name."""
    clauses = [clause for section in document.sections for clause in section.clauses]
    return [
        f"{document.name}.toml: {clause.text}: {name}"
        for clause in clauses
        for name in find_missing_names(clause)
    ]


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
