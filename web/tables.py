"""Writes what the page has to know about tools and blocks, from the tables that Python has:
`src/tables.json`.

There is one truth, and the page cannot drift from it: a test makes the file again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path

from vacr.attribution import tools
from vacr.content import PARTS, VIEWS
from vacr.viewer import parts, summaries

TARGET = Path(__file__).parent / "src" / "tables.json"


def tables() -> str:
    """Give the text of the file."""
    found = {
        "tools": tools.TOOLS,
        "paths": tools.PATHS,
        "old": tools.OLD,
        "new": tools.NEW,
        "text": tools.TEXT,
        "patches": tools.PATCHES,
        "commands": tools.COMMANDS,
        "sought": summaries._SOUGHT,  # noqa: SLF001 - the same table on both sides
        "telling": summaries._TELLING,  # noqa: SLF001
        "texts": sorted(parts._TEXTS),  # noqa: SLF001
        "views": sorted(VIEWS),
        "parts": list(PARTS),
    }
    return json.dumps(found, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(tables())
