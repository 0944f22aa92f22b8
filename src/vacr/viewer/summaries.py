"""A tool call in one line. Step: show."""

from __future__ import annotations

from typing import Any

from vacr.attribution import apply_patch, tools
from vacr.viewer.values import told

_SOUGHT = ("pattern", "query", "url")
_TELLING = (
    "description",
    "title",
    "subject",
    "prompt",
    "message",
    "question",
    "objective",
    "skill",
    "name",
    "text",
)
_LONGEST = 200


def summary_of(tool: str, given: Any) -> str:
    """Say in one line what a call asks for: the command, the file, the pattern, or else its
    arguments.
    """
    said = _said(tool, given)
    line = " ".join(said.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _said(tool: str, given: Any) -> str:
    if "patch" in tool.lower():
        text = given if isinstance(given, str) else tools.text(given, tools.PATCHES)
        return ", ".join(file.to or file.path for file in apply_patch.parse(text or "")) or (
            text or ""
        )
    if isinstance(given, str):
        return given
    if not isinstance(given, dict) or not given:
        return ""
    for names in (tools.COMMANDS, _SOUGHT, tools.PATHS):
        if (text := tools.text(given, names)) is not None:
            return text
    for name in tools.COMMANDS:
        if isinstance(given.get(name), list):
            return " ".join(str(word) for word in given[name])
    if (text := tools.text(given, _TELLING)) is not None:
        return text
    return told(given)
