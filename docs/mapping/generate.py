"""Write docs/mapping/<agent>.md from the tables of the readers.

With --check, write nothing, and fail if a page is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages import amp, claude, cline, codex, continue_dev, cursor, droid, gemini, opencode

FOLDER = Path(__file__).parent
PAGES = {
    "claude-code": claude,
    "codex-cli": codex,
    "gemini-cli": gemini,
    "opencode": opencode,
    "cursor": cursor,
    "cline": cline,
    "continue": continue_dev,
    "droid": droid,
    "amp": amp,
}


def main() -> int:
    """Write or check the pages, and return the exit code."""
    stale = []
    for name, page in PAGES.items():
        path = FOLDER / f"{name}.md"
        text = page.render_page()
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"docs/mapping: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
