"""Tool calls of a session, and how to read their arguments and results.

Every agent names the arguments of its tools in its own way, and wraps results in its own way. The
functions here know the spellings that several agents share; everything that only one agent does is
in that agent's folder.

    >>> from vacr.agents.tool_calls import PATH_ARGUMENTS, extract_result_text, get_text_argument
    >>> get_text_argument({"filePath": "src/app.py", "offset": 1}, PATH_ARGUMENTS)
    'src/app.py'
    >>> extract_result_text([{"type": "text", "text": "2 files changed"}])
    '2 files changed'
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vacr.edits import FileAction

# The state of a call. `CALL_PENDING`: its agent records results, but this one is missing so far.
# `CALL_UNREPORTED`: its agent never records results.
CALL_FAILED, CALL_DONE, CALL_PENDING, CALL_UNREPORTED = "failed", "done", "pending", "untold"

# The names that agents give to the arguments of their tools.
PATH_ARGUMENTS = (
    "file_path",
    "filePath",
    "path",
    "target_file",
    "targetFile",
    "relativeWorkspacePath",
    "absolute_path",
    "absolutePath",
    "filepath",
    "notebook_path",
    "target_notebook",
    "filename",
)
OLD_TEXT_ARGUMENTS = ("old_string", "oldString", "old_str", "oldText", "old_text", "before")
NEW_TEXT_ARGUMENTS = ("new_string", "newString", "new_str", "newText", "new_text", "after")
REPLACE_ALL_ARGUMENTS = ("replace_all", "replaceAll", "allow_multiple", "change_all")
CONTENT_ARGUMENTS = ("content", "contents", "file_text", "text")
PATCH_ARGUMENTS = ("patchText", "patch_text", "patch", "input")
COMMAND_ARGUMENTS = ("command", "cmd", "script", "code")
FOLDER_ARGUMENTS = ("workdir", "cwd", "directory", "dir_path", "working_directory")


class ToolEffect(Enum):
    """The effect of a tool on files."""

    READ = "observe"
    REPLACE = "replace"
    WRITE = "write"
    PATCH = "patch"
    SHELL = "shell"
    SCRIPT = "script"
    """Runs a program that may call other tools; the agent reads it."""
    SEARCH = "search"
    READ_MANY = "gather"
    """Shows several files in one result; the agent reads it."""
    UNPLACED_EDIT = "sketch"
    """Changes a file, and the arguments do not say where."""
    DELETE = "delete"
    NONE = "nothing"


EDITOR_COMMANDS = {
    "view": ToolEffect.READ,
    "create": ToolEffect.WRITE,
    "str_replace": ToolEffect.REPLACE,
    "insert": ToolEffect.UNPLACED_EDIT,
    "undo_edit": ToolEffect.UNPLACED_EDIT,
}
"""`command` of the editor that several agents have → its effect on files."""


@dataclass(slots=True)
class ToolCall:
    """One tool call: its arguments, the model that made it, its folder, and its result."""

    name: str
    input: Any
    entry: str
    call_id: str
    model: str
    folder: str
    contributor: Any = None
    time: int = 0
    """When the call ended, in milliseconds since 1970; 0 if no entry states a time."""
    requested: int = 0
    """When the model requested the call, as `time`."""
    zoneless: bool = False
    """Whether these times were stated without a time zone."""
    state: str = CALL_PENDING
    result_entry: str = ""
    output: str = ""
    native: dict[str, Any] = field(default_factory=dict)
    """The native members of the result, and of other reports about the call."""
    inherited: bool = False
    top: str = ""
    """The folder where the session began."""
    left: str = ""
    """The working folder that the session reports after the call."""
    chain: str = ""
    """The sub-agent that made the call."""
    began: int = 0
    """How many calls had begun when this one began, and when it ended."""
    ended: int = 0
    lost: bool = False
    """Whether the call may have run in another folder than `folder`."""
    events: Sequence[FileAction] | None = None
    """Its file actions, where they were derived before the replay."""


@dataclass(slots=True)
class ShownEntry:
    """An entry that is not a call and may show a file: an attachment, a reminder, a host event."""

    entry: str
    folder: str
    value: dict[str, Any]
    time: int = 0
    chain: str = ""


SessionStep = ToolCall | ShownEntry


def get_text_argument(arguments: Any, names: tuple[str, ...]) -> str | None:
    """Return the first of these arguments that is a text, or `None`."""
    if isinstance(arguments, dict):
        for name in names:
            if isinstance(arguments.get(name), str):
                return str(arguments[name])
    return None


def get_count(counters: dict[str, Any], name: str) -> int:
    """Return a counter that is a positive number, or 0."""
    count = counters.get(name)
    return count if type(count) is int and count > 0 else 0


def dict_or_empty(value: Any) -> dict[str, Any]:
    """Return the value if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def extract_command(arguments: Any) -> tuple[str | None, str | None]:
    """Return the command of a shell call and the folder it should run in, or None for each.

    A command that is a list of words becomes a script.
    """
    if isinstance(arguments, str):
        return arguments, None
    folder = get_text_argument(arguments, FOLDER_ARGUMENTS)
    text = get_text_argument(arguments, COMMAND_ARGUMENTS)
    if text is None and isinstance(arguments, dict) and isinstance(arguments.get("command"), list):
        words = [word for word in arguments["command"] if isinstance(word, str)]
        if words[2:] and words[1] in ("-c", "-lc", "-cl"):
            text = words[2]
        elif words:
            text = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    return text, folder


def extract_result_text(output: Any) -> str:
    """Return the text of a result, however it is wrapped; empty if it has no text."""
    if isinstance(output, str):
        wrapped = _parse_json_object(output) if output.startswith('{"output":') else {}
        inner = wrapped.get("output")
        return inner if isinstance(inner, str) else output
    if isinstance(output, list):
        return "\n".join(extract_result_text(item) for item in output)
    if isinstance(output, dict):
        response = output.get("functionResponse")
        if isinstance(response, dict):
            return extract_result_text(response.get("response"))
        for name in ("output", "text", "content", "contents", "error"):
            if isinstance(output.get(name), (str, list)):
                return extract_result_text(output[name])
    return ""


def get_wrapped_metadata(output: Any) -> dict[str, Any]:
    """Return the metadata of a result that is written as `{"output": …, "metadata": …}`.

    Return an empty dict for any other result.
    """
    if not isinstance(output, str) or not output.startswith('{"output":'):
        return {}
    return dict_or_empty(_parse_json_object(output).get("metadata"))


def _parse_json_object(text: str) -> dict[str, Any]:
    """Return the object of a JSON text; empty for any other text."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return dict_or_empty(value)


_FAILURE_STATUSES = frozenset(
    [
        "error",
        "failed",
        "failure",
        "cancelled",
        "canceled",
        "rejected",
        "declined",
        "aborted",
        "interrupted",
        "denied",
    ]
)
_EXIT_CODE_LINE = re.compile(
    r"\A(?:Command: (?:.*\n){1,500}?)?(?:Chunk ID:.*\n)?(?:Wall time:.*\n)?"
    r"(?:Exit code:|Process exited with code) (-?\d{1,5})\n"
)
_FAILURE_STARTS = (
    "<tool_use_error>",
    "apply_patch verification failed",
    "patch rejected",
    "aborted by user",
    "Script failed",
    "Error: ",
    "Error calling tool",
)


def has_failed(result: dict[str, Any], report: dict[str, Any]) -> bool:
    """Return whether a call failed or was refused, by its result and by a separate report."""
    if result.get("is-error") is True:
        return True
    if report.get("success") is False or result.get("success") is False:
        return True
    statuses = (str(source.get("status", "")).lower() for source in (result, report))
    if any(status in _FAILURE_STATUSES for status in statuses):
        return True
    exit_code = report.get("exit_code")
    if isinstance(exit_code, int) and exit_code:
        return True
    return _is_failure_output(result.get("output"))


def _is_failure_output(output: Any) -> bool:
    """Return whether an output states an error or a failure code, or begins like a failure."""
    if isinstance(output, list):
        return any(_is_failure_output(item) for item in output)
    if isinstance(output, dict):
        answer = output.get("functionResponse")
        answer = answer.get("response") if isinstance(answer, dict) else output
        return isinstance(answer, dict) and "output" not in answer and bool(answer.get("error"))
    if not isinstance(output, str):
        return False
    if output.startswith('{"output":'):
        return get_wrapped_metadata(output).get("exit_code") not in (0, None)
    exit_code = _EXIT_CODE_LINE.match(output)
    if exit_code is not None and int(exit_code[1]) != 0:
        return True
    return output.startswith(_FAILURE_STARTS)
