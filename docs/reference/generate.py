"""Write the reference of the command line from the commands themselves, or check that it is current
(--check).
"""

from __future__ import annotations

import sys
from pathlib import Path

import index
import verbs

FOLDER = Path(__file__).parent


def pages() -> dict[str, str]:
    """Give all pages: the index, and one for each verb."""
    found = list(verbs.all_verbs())
    return {"README.md": index.page(found), **{verb.file: verbs.page(verb) for verb in found}}


def main() -> int:
    """Write the pages, or tell which are out of date; a page of a verb that is gone is one
    of them.
    """
    wanted = pages()
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    stale = sorted(
        name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)
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
