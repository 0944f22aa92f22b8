"""A tool call in one line: its command, its pattern or its file, or else its arguments as JSON.

    >>> from vacr.viewer.call_summaries import summarise_tool_call
    >>> summarise_tool_call("Bash", {"command": "pytest -q", "description": "Run the tests"})
    'pytest -q'
    >>> summarise_tool_call("Grep", {"pattern": "quantize", "path": "invoice"})
    'quantize'
    >>> steps = [{"content": "Find", "status": "done"}, {"content": "Fix", "status": "pending"}]
    >>> summarise_tool_call("TodoWrite", {"todos": steps})
    '1 of 2 done: Fix'

Agents name the same argument in many ways, so the names of all are tried, the most informative
first. The page has the same tables.
"""

from __future__ import annotations

from typing import Any

from vacr.agents import (
    COMMAND_ARGUMENTS,
    PATH_ARGUMENTS,
    ToolEffect,
    get_patch_text,
    get_text_argument,
)
from vacr.edits import parse_apply_patch
from vacr.model import JsonObject
from vacr.viewer.content import format_json

SEARCH_ARGUMENTS = ("pattern", "query", "url", "search_term", "file_name")
LIST_ARGUMENTS = ("commands", "files", "paths", "urls", "questions")
"""Arguments that may have several commands, files, addresses or questions."""
FILE_EFFECTS = (
    ToolEffect.READ,
    ToolEffect.REPLACE,
    ToolEffect.WRITE,
    ToolEffect.UNPLACED_EDIT,
    ToolEffect.DELETE,
)
"""Effects of a tool on the one file that its arguments name."""
PLAN_ARGUMENTS = ("todos", "plan", "todoList", "todo_list", "items", "tasks")
"""Arguments that may have a plan: a list of steps with their statuses."""
STEP_ARGUMENTS = ("content", "step", "title", "text", "description", "name")
"""Members of a step that may have its words."""
_DONE_STATUSES = frozenset(("completed", "complete", "done"))
_BEGUN_STATUSES = frozenset(("in_progress", "in-progress", "active"))
DESCRIPTIVE_ARGUMENTS = (
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
    "plan",
    "intent",
    "summary",
    "todos",
    "sql",
    "glob",
    "dir_path",
)
_MAX_SUMMARY_LENGTH = 200


def summarise_tool_call(tool: str, arguments: Any, effect: ToolEffect | None = None) -> str:
    """Return a line of at most 200 characters about a tool call; empty without arguments.

    It is the command, the pattern or the file of the call, or else all its arguments as JSON. The
    tool of one file, by its effect, has the file; an editor with commands also has the command.

        >>> arguments = {"command": "view", "path": "total.py"}
        >>> summarise_tool_call("file_editor", arguments, ToolEffect.READ)
        'view total.py'
    """
    path = get_text_argument(arguments, PATH_ARGUMENTS) if effect in FILE_EFFECTS else None
    if path is not None:
        command = get_text_argument(arguments, ("command",))
        return shorten_line(f"{command} {path}" if command else path)
    return shorten_line(_choose_summary(tool, arguments))


def shorten_line(text: str) -> str:
    """Return a text in one line, cut to 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SUMMARY_LENGTH else f"{line[: _MAX_SUMMARY_LENGTH - 1]}…"


def _choose_summary(tool: str, arguments: Any) -> str:
    """Return the most telling argument of a call in full; empty if it has no arguments."""
    if "patch" in tool.lower():
        text = get_patch_text(arguments) or ""
        return ", ".join(file.to or file.path for file in parse_apply_patch(text)) or text
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, dict) or not arguments:
        return ""
    for names in (COMMAND_ARGUMENTS, SEARCH_ARGUMENTS, PATH_ARGUMENTS):
        if (argument := get_text_argument(arguments, names)) is not None:
            return argument
    for name in COMMAND_ARGUMENTS:
        if isinstance(arguments.get(name), list):
            return " ".join(str(word) for word in arguments[name])
    if listed := _summarise_lists(arguments):
        return listed
    if plan := _summarise_plan(arguments):
        return plan
    description = get_text_argument(arguments, DESCRIPTIVE_ARGUMENTS)
    return description if description is not None else format_json(arguments)


def _summarise_lists(arguments: JsonObject) -> str:
    """Return the commands, files, addresses or questions of a call; empty if it lists none."""
    for name in LIST_ARGUMENTS:
        items = arguments.get(name)
        texts = [_name_item(item) for item in items] if isinstance(items, list) else []
        if texts and all(texts):
            return ", ".join(texts)
    return ""


def _name_item(item: Any) -> str:
    """Return a text as it is, or the command, file or question of an object; else empty."""
    if isinstance(item, str):
        return item
    names = (*COMMAND_ARGUMENTS, *PATH_ARGUMENTS, "url", "question")
    return get_text_argument(item, names) or ""


def _summarise_plan(arguments: JsonObject) -> str:
    """Return how many steps of a plan are done, and the current step; empty without a plan."""
    plans = [arguments.get(name) for name in PLAN_ARGUMENTS]
    steps = next((plan for plan in plans if isinstance(plan, list) and plan), [])
    if not steps or not all(
        isinstance(step, dict) and isinstance(step.get("status"), str) for step in steps
    ):
        return ""
    done = sum(step["status"] in _DONE_STATUSES for step in steps)
    open_steps = [step for step in steps if step["status"] not in _DONE_STATUSES]
    begun = [step for step in open_steps if step["status"] in _BEGUN_STATUSES]
    current = get_text_argument(next(iter(begun or open_steps), {}), STEP_ARGUMENTS)
    return f"{done} of {len(steps)} done" + (f": {current}" if current else "")
