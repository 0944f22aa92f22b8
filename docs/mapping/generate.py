"""Write docs/mapping/<agent>.md from the readers' own tables, or check that they are current
(--check).
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages import claude, codex, cursor, gemini, opencode

FOLDER = Path(__file__).parent
PAGES = {
    "claude-code": claude,
    "codex-cli": codex,
    "gemini-cli": gemini,
    "opencode": opencode,
    "cursor": cursor,
}


def main() -> int:
    """Write the pages, or tell which are out of date."""
    stale = []
    for name, made in PAGES.items():
        path = FOLDER / f"{name}.md"
        if "--check" not in sys.argv:
            path.write_text(made.page(), "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != made.page():
            stale.append(path.name)
    if stale:
        print(f"docs/mapping: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
