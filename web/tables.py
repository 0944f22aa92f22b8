"""Writes what the page has to know about tools and blocks, from the tables that Python has:
`src/tables.json`.

There is one truth, and the page cannot drift from it: a test makes the file again and compares.
"""

from __future__ import annotations

import json
from pathlib import Path

from vacr.agents import load_agents
from vacr.agents.tool_calls import (
    COMMAND_ARGUMENTS,
    CONTENT_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_ARGUMENTS,
    PATH_ARGUMENTS,
)
from vacr.record.blocks import BLOCK_VIEWS, UNTYPED_PART_VIEWS
from vacr.viewer.parts import TEXT_BLOCK_TYPES
from vacr.viewer.tool_calls import DESCRIPTIVE_ARGUMENTS, SEARCH_ARGUMENTS

_AGENTS = ("claude-code", "codex-cli", "gemini-cli", "opencode", "cursor")
TARGET = Path(__file__).parent / "src" / "tables.json"


def tables() -> str:
    """Give the text of the file."""
    found = {
        "tools": {
            name: {tool: effect.value for tool, effect in load_agents()[name].tools.items()}
            for name in _AGENTS
        },
        "paths": PATH_ARGUMENTS,
        "old": OLD_TEXT_ARGUMENTS,
        "new": NEW_TEXT_ARGUMENTS,
        "text": CONTENT_ARGUMENTS,
        "patches": PATCH_ARGUMENTS,
        "commands": COMMAND_ARGUMENTS,
        "sought": SEARCH_ARGUMENTS,
        "telling": DESCRIPTIVE_ARGUMENTS,
        "texts": sorted(TEXT_BLOCK_TYPES),
        "views": sorted(BLOCK_VIEWS),
        "parts": list(UNTYPED_PART_VIEWS),
    }
    return json.dumps(found, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(tables())
