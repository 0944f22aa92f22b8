"""Generate the reference of the command line from the commands, or check that it is current
(--check).
"""

from __future__ import annotations

import sys
from pathlib import Path

import index
import verbs

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """Return all pages: the index, and one for each verb."""
    listed = list(verbs.all_verbs())
    return {"README.md": index.page(listed), **{verb.file: verbs.page(verb) for verb in listed}}


def main() -> int:
    """Write the pages and delete pages of former verbs; with --check, list outdated pages."""
    wanted = pages()
    existing = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(
        name for name in wanted.keys() | existing.keys() if wanted.get(name) != existing.get(name)
    )
    if "--check" in sys.argv:
        if stale:
            print(
                f"docs/reference: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr
            )
        return bool(stale)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], "utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
