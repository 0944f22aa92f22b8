"""Write `src/tables.json`: the tables about tools and content blocks that the page shares with
Python.

A test generates the file again and compares, so that the page cannot drift from Python.
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
from vacr.record import BLOCK_VIEWS, UNTYPED_PART_VIEWS
from vacr.viewer.call_summaries import (
    DESCRIPTIVE_ARGUMENTS,
    FILE_EFFECTS,
    LIST_ARGUMENTS,
    PLAN_ARGUMENTS,
    SEARCH_ARGUMENTS,
    STEP_ARGUMENTS,
)
from vacr.viewer.content import (
    RESPONSE_MEMBERS,
    TEXT_BLOCK_TYPES,
    WRAPPED_TEXTS,
    WRAPPER_LABELS,
    WRAPPER_MEMBERS,
)
from vacr.viewer.diffs import INSERTION_ARGUMENTS
from vacr.viewer.exit_codes import EXIT_CODE_MEANINGS

TARGET = Path(__file__).parent / "src" / "tables.json"


def build_tables() -> str:
    """Return the text of the file."""
    tables = {
        "agents": {name: agent.title for name, agent in load_agents().items() if agent.title},
        "tools": {
            name: {tool: effect.value for tool, effect in load_agents()[name].tools.items()}
            for name in load_agents()
        },
        "toolCommands": {
            name: {
                tool: {command: effect.value for command, effect in commands.items()}
                for tool, commands in agent.tool_commands.items()
            }
            for name, agent in load_agents().items()
            if agent.tool_commands
        },
        "jsonOutputs": [name for name, agent in load_agents().items() if agent.json_outputs],
        "chainMembers": {
            name: agent.chain_members
            for name, agent in load_agents().items()
            if agent.chain_members
        },
        "fileEffects": [effect.value for effect in FILE_EFFECTS],
        "paths": PATH_ARGUMENTS,
        "oldTexts": OLD_TEXT_ARGUMENTS,
        "newTexts": NEW_TEXT_ARGUMENTS,
        "contents": CONTENT_ARGUMENTS,
        "patches": PATCH_ARGUMENTS,
        "commands": COMMAND_ARGUMENTS,
        "searches": SEARCH_ARGUMENTS,
        "lists": LIST_ARGUMENTS,
        "insertions": INSERTION_ARGUMENTS,
        "plans": PLAN_ARGUMENTS,
        "steps": STEP_ARGUMENTS,
        "descriptions": DESCRIPTIVE_ARGUMENTS,
        "textTypes": sorted(TEXT_BLOCK_TYPES),
        "entryTypes": sorted(BLOCK_VIEWS),
        "partWrappers": list(UNTYPED_PART_VIEWS),
        "wrappedTexts": WRAPPED_TEXTS,
        "wrapperLabels": WRAPPER_LABELS,
        "wrapperMembers": sorted(WRAPPER_MEMBERS),
        "responseMembers": RESPONSE_MEMBERS,
        "exitCodes": EXIT_CODE_MEANINGS,
    }
    return json.dumps(tables, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(build_tables())
