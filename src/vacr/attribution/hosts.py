"""What hosts write down beside a tool's result: whether it failed, what files were and became, who
else changed them.

Step: attribute. Claude Code has `toolUseResult`, Gemini CLI `resultDisplay`, OpenCode
`state.metadata`, Codex has events; Cursor's are in `editors`.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from vacr.attribution import hunks
from vacr.attribution.events import Edit, Hunk

_BAD_STATUS = frozenset(
    {
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
    }
)
_EXIT_CODE = re.compile(
    r"\A(?:Chunk ID:.*\n)?(?:Wall time:.*\n)?(?:Exit code:|Process exited with code) (-?\d{1,5})\n"
)
_BAD_START = (
    "<tool_use_error>",
    "apply_patch verification failed",
    "patch rejected",
    "aborted by user",
    "Script failed",
    "Error: ",
    "Error calling tool",
)
_BEFORE = ("originalFile", "originalFileContents", "original_file", "originalContent", "before")
_AFTER = ("updated_file", "newContent", "after")


def text_of(output: Any) -> str:
    """Give the text of a result, whatever it is wrapped in."""
    if isinstance(output, str):
        inner = _json(output) if output.startswith('{"output":') else None
        return (
            inner["output"]
            if inner is not None and isinstance(inner.get("output"), str)
            else output
        )
    if isinstance(output, list):
        return "\n".join(text_of(item) for item in output)
    if isinstance(output, dict):
        response = output.get("functionResponse")
        if isinstance(response, dict):
            return text_of(response.get("response"))
        for name in ("output", "text", "content", "contents", "error"):
            if isinstance(output.get(name), (str, list)):
                return text_of(output[name])
    return ""


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def failed(result: dict[str, Any], told: dict[str, Any]) -> bool:
    """Tell whether a call failed or was refused, from its result and from what the host tells
    elsewhere.
    """
    if (
        result.get("is-error") is True
        or told.get("success") is False
        or result.get("success") is False
    ):
        return True
    if any(str(said.get("status", "")).lower() in _BAD_STATUS for said in (result, told)):
        return True
    code = told.get("exit_code")
    if isinstance(code, int) and code:
        return True
    return _bad_output(result.get("output"))


def _bad_output(output: Any) -> bool:
    if isinstance(output, list):
        return any(_bad_output(item) for item in output)
    if isinstance(output, dict):
        answer = output.get("functionResponse")
        answer = answer.get("response") if isinstance(answer, dict) else output
        return isinstance(answer, dict) and "output" not in answer and bool(answer.get("error"))
    if not isinstance(output, str):
        return False
    if output.startswith('{"output":'):
        metadata = (_json(output) or {}).get("metadata")
        return isinstance(metadata, dict) and metadata.get("exit_code") not in (0, None)
    code = _EXIT_CODE.match(output)
    return (code is not None and int(code[1]) != 0) or output.startswith(_BAD_START)


def user_modified(native: dict[str, Any], arguments: Any) -> bool:
    """Tell whether the user changed what the agent proposed before it was applied."""
    result, display = native.get("toolUseResult"), native.get("resultDisplay")
    if isinstance(result, dict) and result.get("userModified") is True:
        return True
    counts = display.get("diffStat") if isinstance(display, dict) else None
    if isinstance(counts, dict):
        return any(
            isinstance(count, int) and count > 0
            for name, count in counts.items()
            if isinstance(name, str) and name[:5] == "user_"
        )
    if isinstance(arguments, dict) and arguments.get("modified_by_user") is True:
        proposed = arguments.get("ai_proposed_content")
        return not isinstance(proposed, str) or proposed not in (
            arguments.get("new_string"),
            arguments.get("content"),
        )
    return False


def metadata(native: dict[str, Any]) -> dict[str, Any]:
    """Give what OpenCode keeps of a call."""
    state = native.get("state")
    found = state.get("metadata") if isinstance(state, dict) else native.get("metadata")
    return found if isinstance(found, dict) else {}


def _records(native: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the places where a host tells of one file, the first before the last."""
    about = metadata(native)
    results = about.get("results")
    several = (
        [one.get("filediff") for one in results if isinstance(one, dict)]
        if isinstance(results, list)
        else []
    )
    found = (
        native.get("toolUseResult"),
        native.get("resultDisplay"),
        about.get("filediff"),
        *several,
        native.get("contents"),
    )
    return [one for one in found if isinstance(one, dict)]


def before(native: dict[str, Any]) -> str | None:
    """Give the text that the host says the file had before the call."""
    return next(
        (
            one[name]
            for one in _records(native)
            for name in _BEFORE
            if isinstance(one.get(name), str)
        ),
        None,
    )


def after(native: dict[str, Any]) -> str | None:
    """Give the text that the host says the file has after the call."""
    return next(
        (
            one[name]
            for one in reversed(_records(native))
            for name in _AFTER
            if isinstance(one.get(name), str)
        ),
        None,
    )


def created(native: dict[str, Any]) -> bool | None:
    """Tell whether the host says that the file is new."""
    result, display = native.get("toolUseResult"), native.get("resultDisplay")
    if isinstance(result, dict) and result.get("type") in ("create", "update"):
        return bool(result["type"] == "create")
    if isinstance(display, dict) and isinstance(display.get("isNewFile"), bool):
        return bool(display["isNewFile"])
    output = native.get("output")
    if isinstance(output, dict) and output.get("fileWasCreated") is True:
        return True
    exists = metadata(native).get("exists")
    return not exists if isinstance(exists, bool) else None


def edits(native: dict[str, Any]) -> list[Edit] | None:
    """Give what was really replaced, where Claude Code says that the user changed it."""
    result = native.get("toolUseResult")
    if not isinstance(result, dict) or result.get("userModified") is not True:
        return None
    old, new = result.get("oldString"), result.get("newString")
    if not isinstance(old, str) or not isinstance(new, str):
        return []
    return [Edit(old, new, result.get("replaceAll") is True)]


def recorded(native: dict[str, Any], spelled: Sequence[str]) -> list[Hunk]:
    """Give the hunks that the host recorded; `spelled` are lines as they are written, for hosts
    that cut indentation off.
    """
    result, display = native.get("toolUseResult"), native.get("resultDisplay")
    if isinstance(result, dict):
        return hunks.structured(result.get("structuredPatch"))
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return hunks.hunks_of(display["fileDiff"])
    about = metadata(native)
    filediff = about.get("filediff")
    patch = filediff.get("patch") if isinstance(filediff, dict) else about.get("diff")
    return hunks.indented(hunks.hunks_of(patch), spelled) if isinstance(patch, str) else []
