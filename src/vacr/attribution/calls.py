"""What Cursor's editor writes down of an edit: whether it was kept, and what the file was and
became. Step: attribute.

A result has the chunks of a diff, and in newer versions the ids of the file's text before and
after; the texts are rows of their own, which the record keeps after the conversation.

Which tool of which agent does what to files. Step: attribute.

This table is what attribution knows about tools: a new tool is a new row. `VERSION` is part of
every attribution, because a row changes what a session is found to have done.

The folder that a session worked in. Step: attribute.

Most agents write it down. Gemini CLI writes only its SHA-256, which one of the folders above the
files that it names has to have.

What hosts write down beside a tool's result: whether it failed, what files were and became, who
else changed them.

Step: attribute. Claude Code has `toolUseResult`, Gemini CLI `resultDisplay`, OpenCode
`state.metadata`, Codex has events; Cursor's are in `editors`.

The tool calls of a record with their results, in the order in which they ended. Step: attribute.

A call is applied where its result stands, because that is when its work was done. What an agent
writes beside the entry members (working directory, host results) is read here and in `hosts`, and
nowhere else.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacr.edits import (
    Edit,
    FileAction,
    Hunk,
    parse_claude_hunks,
    parse_diff_hunks,
    restore_hunk_indentation,
)
from vacr.record import get_epoch_milliseconds

_CONTENT_KEY_PREFIX = "composer.content."
_EMPTY_CONTENT_KEY = _CONTENT_KEY_PREFIX + hashlib.sha256(b"").hexdigest()
_REFUSAL_DECISIONS = ("reject", "rejected", "undo")


def is_edit_rejected(native: dict[str, Any]) -> bool:
    """Tell whether an edit failed, or was thrown away by the user."""
    tool, output = native.get("toolFormerData"), native.get("output")
    more = _dict_or_empty(_dict_or_empty(tool).get("additionalData"))
    decisions = (
        _dict_or_empty(tool).get("userDecision"),
        more.get("userDecision"),
        _dict_or_empty(more.get("reviewData")).get("selectedOption"),
    )
    if any(decision in _REFUSAL_DECISIONS for decision in decisions):
        return True
    result = _dict_or_empty(output) if isinstance(tool, dict) else {}
    if (
        any(result.get(name) is True for name in ("rejected", "applyFailed"))
        or result.get("isApplied") is False
    ):
        return True
    return (
        bool(result.get("recoverableError"))
        or _dict_or_empty(result.get("humanReview")).get("isEditAccepted") is False
    )


def is_user_edit(native: dict[str, Any]) -> bool:
    """Tell whether a diff is of what the user did."""
    return _dict_or_empty(_dict_or_empty(native.get("output")).get("diff")).get("editor") in (
        "EDITOR_HUMAN",
        "HUMAN",
        2,
    )


def collect_stored_texts(entries: Any) -> dict[str, str]:
    """Gather the texts of files that a record keeps, by their ids."""
    found = {_EMPTY_CONTENT_KEY: ""}
    for entry in entries if isinstance(entries, list) else ():
        data = (
            _dict_or_empty(entry.get("data"))
            if isinstance(entry, dict) and entry.get("type") == "system-event"
            else {}
        )
        key, value = data.get("key"), data.get("value")
        if isinstance(key, str) and key.startswith(_CONTENT_KEY_PREFIX) and isinstance(value, str):
            found[key] = value
    return found


def get_edited_contents(output: Any, known: dict[str, str]) -> dict[str, str]:
    """Give what a file was and became, as far as a result says it or names a known text."""
    found: dict[str, str] = {}
    for name in ("before", "after") if isinstance(output, dict) else ():
        text = output.get(
            f"contents{name.title()}Edit", known.get(str(output.get(f"{name}ContentId")))
        )
        if isinstance(text, str):
            windows = output.get("eolSequence") == "\r\n" and "\r" not in text
            found[name] = text.replace("\n", "\r\n") if windows else text
    return found


def _dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


TOOL_TABLE_VERSION = 3

# What a tool does.
(
    TOOL_READ,
    TOOL_REPLACE,
    TOOL_WRITE,
    TOOL_PATCH,
    TOOL_SHELL,
    TOOL_SCRIPT,
    TOOL_SEARCH,
    TOOL_READ_MANY,
    TOOL_UNPLACED_EDIT,
    TOOL_DELETE,
    TOOL_NO_EFFECT,
) = (
    "observe",
    "replace",
    "write",
    "patch",
    "shell",
    "script",
    "search",
    "gather",
    "sketch",
    "delete",
    "nothing",
)

TOOL_KINDS: dict[str, dict[str, str]] = {
    "claude-code": {
        "Read": TOOL_READ,
        "Edit": TOOL_REPLACE,
        "MultiEdit": TOOL_REPLACE,
        "Write": TOOL_WRITE,
        "NotebookEdit": TOOL_UNPLACED_EDIT,
        "Bash": TOOL_SHELL,
        "PowerShell": TOOL_SHELL,
        "Grep": TOOL_SEARCH,
        "Glob": TOOL_NO_EFFECT,
        "LS": TOOL_NO_EFFECT,
        "NotebookRead": TOOL_NO_EFFECT,
        "LSP": TOOL_NO_EFFECT,
    },
    "codex-cli": {
        "apply_patch": TOOL_PATCH,
        "shell": TOOL_SHELL,
        "shell_command": TOOL_SHELL,
        "exec_command": TOOL_SHELL,
        "local_shell": TOOL_SHELL,
        "container.exec": TOOL_SHELL,
        "exec": TOOL_SCRIPT,
        "read_file": TOOL_READ,
        "list_dir": TOOL_NO_EFFECT,
        "grep_files": TOOL_NO_EFFECT,
        "view_image": TOOL_NO_EFFECT,
    },
    "gemini-cli": {
        "read_file": TOOL_READ,
        "replace": TOOL_REPLACE,
        "edit": TOOL_REPLACE,
        "edit_file": TOOL_REPLACE,
        "write_file": TOOL_WRITE,
        "run_shell_command": TOOL_SHELL,
        "glob": TOOL_NO_EFFECT,
        "grep_search": TOOL_SEARCH,
        "search_file_content": TOOL_SEARCH,
        "list_directory": TOOL_NO_EFFECT,
        "read_many_files": TOOL_READ_MANY,
    },
    "opencode": {
        "read": TOOL_READ,
        "edit": TOOL_REPLACE,
        "multiedit": TOOL_REPLACE,
        "write": TOOL_WRITE,
        "apply_patch": TOOL_PATCH,
        "patch": TOOL_PATCH,
        "bash": TOOL_SHELL,
        "grep": TOOL_SEARCH,
        "glob": TOOL_NO_EFFECT,
        "list": TOOL_NO_EFFECT,
        "lsp": TOOL_NO_EFFECT,
        "webfetch": TOOL_NO_EFFECT,
    },
    "cursor": {
        "Read": TOOL_READ,
        "read_file": TOOL_READ,
        "read_file_v2": TOOL_READ,
        "Write": TOOL_WRITE,
        "write": TOOL_WRITE,
        "StrReplace": TOOL_REPLACE,
        "search_replace": TOOL_REPLACE,
        "MultiStrReplace": TOOL_REPLACE,
        "edit_file": TOOL_UNPLACED_EDIT,
        "edit_file_v2": TOOL_UNPLACED_EDIT,
        "EditNotebook": TOOL_UNPLACED_EDIT,
        "edit_notebook": TOOL_UNPLACED_EDIT,
        "ApplyPatch": TOOL_PATCH,
        "apply_patch": TOOL_PATCH,
        "Delete": TOOL_DELETE,
        "delete_file": TOOL_DELETE,
        "Shell": TOOL_SHELL,
        "Bash": TOOL_SHELL,
        "run_terminal_cmd": TOOL_SHELL,
        "run_terminal_command": TOOL_SHELL,
        "run_terminal_command_v2": TOOL_SHELL,
        "Grep": TOOL_NO_EFFECT,
        "Glob": TOOL_NO_EFFECT,
        "LS": TOOL_NO_EFFECT,
        "grep": TOOL_NO_EFFECT,
        "list_dir": TOOL_NO_EFFECT,
        "file_search": TOOL_NO_EFFECT,
        "glob_file_search": TOOL_NO_EFFECT,
        "ReadLints": TOOL_NO_EFFECT,
        "read_lints": TOOL_NO_EFFECT,
    },
}

# Hosts that refuse to change a file that has changed since they showed it.
AGENTS_CHECKING_FILES = frozenset(["claude-code", "opencode"])

# What the arguments are called.
PATH_ARGUMENTS = (
    "file_path",
    "filePath",
    "path",
    "target_file",
    "targetFile",
    "relativeWorkspacePath",
    "absolute_path",
    "notebook_path",
    "target_notebook",
    "filename",
)
OLD_TEXT_ARGUMENTS = ("old_string", "oldString", "old_str", "oldText")
NEW_TEXT_ARGUMENTS = ("new_string", "newString", "new_str", "newText")
REPLACE_ALL_ARGUMENTS = ("replace_all", "replaceAll", "allow_multiple")
CONTENT_ARGUMENTS = ("content", "contents", "file_text", "text")
PATCH_ARGUMENTS = ("patchText", "patch_text", "patch", "input")
COMMAND_ARGUMENTS = ("command", "cmd", "script", "code")
FOLDER_ARGUMENTS = ("workdir", "cwd", "directory", "dir_path", "working_directory")


def get_text_argument(arguments: Any, names: tuple[str, ...]) -> str | None:
    """Give the first argument of these names that is a text."""
    if isinstance(arguments, dict):
        for name in names:
            if isinstance(arguments.get(name), str):
                return str(arguments[name])
    return None


def find_working_folder(record: dict[str, Any]) -> str:
    """Give the folder, or nothing where it is not known."""
    session = record["session"]
    told, digest = session.get("environment", {}).get("working-dir"), session.get("projectHash")
    if told or not isinstance(digest, str):
        return str(told or "")
    tried: set[str] = set()
    for path in _list_named_paths(session.get("entries")):
        for end in (found.start() or 1 for found in re.finditer(r"[\\/]|\Z", path)):
            folder = path[:end]
            if (
                folder not in tried
                and hashlib.sha256(folder.encode("utf-8", "replace")).hexdigest() == digest
            ):
                return folder
            tried.add(folder)
    return ""


def _list_named_paths(entries: Any) -> Iterator[str]:
    """Give the files and folders that calls name."""
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            for names in (
                (PATH_ARGUMENTS, FOLDER_ARGUMENTS) if entry.get("type") == "tool-call" else ()
            ):
                if (path := get_text_argument(entry.get("input"), names)) is not None:
                    yield path
            yield from _list_named_paths(entry.get("children"))


_FAILURE_STATUSES = frozenset(
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
_FAILURE_STARTS = (
    "<tool_use_error>",
    "apply_patch verification failed",
    "patch rejected",
    "aborted by user",
    "Script failed",
    "Error: ",
    "Error calling tool",
)
_TEXT_BEFORE_MEMBERS = (
    "originalFile",
    "originalFileContents",
    "original_file",
    "originalContent",
    "before",
)
_TEXT_AFTER_MEMBERS = ("updated_file", "newContent", "after")


def extract_result_text(output: Any) -> str:
    """Give the text of a result, whatever it is wrapped in."""
    if isinstance(output, str):
        inner = _parse_json_object(output) if output.startswith('{"output":') else None
        return (
            inner["output"]
            if inner is not None and isinstance(inner.get("output"), str)
            else output
        )
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


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def is_failed_call(result: dict[str, Any], told: dict[str, Any]) -> bool:
    """Tell whether a call failed or was refused, from its result and from what the host tells
    elsewhere.
    """
    if (
        result.get("is-error") is True
        or told.get("success") is False
        or result.get("success") is False
    ):
        return True
    if any(str(said.get("status", "")).lower() in _FAILURE_STATUSES for said in (result, told)):
        return True
    code = told.get("exit_code")
    if isinstance(code, int) and code:
        return True
    return _is_failure_output(result.get("output"))


def _is_failure_output(output: Any) -> bool:
    if isinstance(output, list):
        return any(_is_failure_output(item) for item in output)
    if isinstance(output, dict):
        answer = output.get("functionResponse")
        answer = answer.get("response") if isinstance(answer, dict) else output
        return isinstance(answer, dict) and "output" not in answer and bool(answer.get("error"))
    if not isinstance(output, str):
        return False
    if output.startswith('{"output":'):
        metadata = (_parse_json_object(output) or {}).get("metadata")
        return isinstance(metadata, dict) and metadata.get("exit_code") not in (0, None)
    code = _EXIT_CODE.match(output)
    return (code is not None and int(code[1]) != 0) or output.startswith(_FAILURE_STARTS)


def is_user_modified(native: dict[str, Any], arguments: Any) -> bool:
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


def get_opencode_metadata(native: dict[str, Any]) -> dict[str, Any]:
    """Give what OpenCode keeps of a call."""
    state = native.get("state")
    found = state.get("metadata") if isinstance(state, dict) else native.get("metadata")
    return found if isinstance(found, dict) else {}


def _list_file_reports(native: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the places where a host tells of one file, the first before the last."""
    about = get_opencode_metadata(native)
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


def get_text_before(native: dict[str, Any]) -> str | None:
    """Give the text that the host says the file had before the call."""
    return next(
        (
            one[name]
            for one in _list_file_reports(native)
            for name in _TEXT_BEFORE_MEMBERS
            if isinstance(one.get(name), str)
        ),
        None,
    )


def get_text_after(native: dict[str, Any]) -> str | None:
    """Give the text that the host says the file has after the call."""
    return next(
        (
            one[name]
            for one in reversed(_list_file_reports(native))
            for name in _TEXT_AFTER_MEMBERS
            if isinstance(one.get(name), str)
        ),
        None,
    )


def get_created_flag(native: dict[str, Any]) -> bool | None:
    """Tell whether the host says that the file is new."""
    result, display = native.get("toolUseResult"), native.get("resultDisplay")
    if isinstance(result, dict) and result.get("type") in ("create", "update"):
        return bool(result["type"] == "create")
    if isinstance(display, dict) and isinstance(display.get("isNewFile"), bool):
        return bool(display["isNewFile"])
    output = native.get("output")
    if isinstance(output, dict) and output.get("fileWasCreated") is True:
        return True
    exists = get_opencode_metadata(native).get("exists")
    return not exists if isinstance(exists, bool) else None


def parse_user_edits(native: dict[str, Any]) -> list[Edit] | None:
    """Give what was really replaced, where Claude Code says that the user changed it."""
    result = native.get("toolUseResult")
    if not isinstance(result, dict) or result.get("userModified") is not True:
        return None
    old, new = result.get("oldString"), result.get("newString")
    if not isinstance(old, str) or not isinstance(new, str):
        return []
    return [Edit(old, new, result.get("replaceAll") is True)]


def parse_recorded_hunks(native: dict[str, Any], spelled: Sequence[str]) -> list[Hunk]:
    """Give the hunks that the host recorded; `spelled` are lines as they are written, for hosts
    that cut indentation off.
    """
    result, display = native.get("toolUseResult"), native.get("resultDisplay")
    if isinstance(result, dict):
        return parse_claude_hunks(result.get("structuredPatch"))
    if isinstance(display, dict) and isinstance(display.get("fileDiff"), str):
        return parse_diff_hunks(display["fileDiff"])
    about = get_opencode_metadata(native)
    filediff = about.get("filediff")
    patch = filediff.get("patch") if isinstance(filediff, dict) else about.get("diff")
    return (
        restore_hunk_indentation(parse_diff_hunks(patch), spelled) if isinstance(patch, str) else []
    )


# `UNTOLD`: the agent never writes results down. `PENDING`: it does, and has not.
CALL_FAILED, CALL_DONE, CALL_PENDING, CALL_UNREPORTED = "failed", "done", "pending", "untold"

# Agents whose transcripts hold calls without ids and without results.
_AGENTS_WITHOUT_RESULTS = frozenset({"cursor"})
_CODEX_RESULT_EVENTS = frozenset({"patch_apply_end", "exec_command_end"})


@dataclass(slots=True)
class ToolCall:
    """One tool call: what was asked, by which model, where, and what came of it."""

    name: str
    input: Any
    entry: str
    call_id: str
    model: str
    folder: str
    contributor: Any = None
    time: int = 0
    state: str = CALL_PENDING
    result_entry: str = ""
    output: str = ""
    native: dict[str, Any] = field(default_factory=dict)
    inherited: bool = False
    top: str = ""  # the folder in which the session began
    left: str = ""  # the folder that the session tells when the call has ended
    chain: str = ""  # the sub-agent that made the call
    began: int = 0  # how many calls had begun when it did, and when it ended
    ended: int = 0
    lost: bool = False  # the folder may be another one
    events: Sequence[FileAction] | None = None
    """What it did, where that has been found out before it is applied."""


@dataclass(slots=True)
class ShownEntry:
    """An entry that is no call and may show a file: an attachment, a reminder, a host event."""

    entry: str
    folder: str
    value: dict[str, Any]
    time: int = 0
    chain: str = ""


SessionStep = ToolCall | ShownEntry


def get_agent_name(record: dict[str, Any]) -> str:
    """Give the name of the agent whose session a record is."""
    return str(record["session"].get("agent-meta", {}).get("cli-name", ""))


def walk_session_steps(record: dict[str, Any]) -> Iterator[SessionStep]:
    """Give the ended calls of a record and what else may show files, then the calls that never
    ended.
    """
    walk = _SessionWalk(record)
    for place, entry, parents in _walk_entries(
        record["session"].get("entries", ()), "/session/entries"
    ):
        walk.context(entry)
        kind = entry.get("type")
        if kind == "tool-call":
            call = walk.called(place, entry)
        elif kind == "tool-result":
            call = walk.ended(place, entry, parents)
        else:
            call = walk.told_alone(place, entry)
            if call is None and kind in ("system-event", "user"):
                yield ShownEntry(
                    _get_entry_name(entry, place), walk.folder, entry, walk.time, walk.chain
                )
        if call is not None:
            yield call
    for call in (*walk.open.values(), *walk.unnamed):
        call.time = walk.time
        yield call


def _walk_entries(
    entries: Any, place: str, parents: tuple[dict[str, Any], ...] = ()
) -> Iterator[tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{place}/{i}", entry, parents
            if "children" in entry:
                yield from _walk_entries(
                    entry["children"], f"{place}/{i}/children", (*parents, entry)
                )


def _get_entry_name(entry: dict[str, Any], place: str) -> str:
    """Name an entry by its id, or by a JSON Pointer where it has none."""
    name = entry.get("id")
    return name if isinstance(name, str) and name else place


class _SessionWalk:
    def __init__(self, record: dict[str, Any]) -> None:
        session = record["session"]
        meta = session.get("agent-meta", {})
        self.agent = get_agent_name(record)
        self.provider = str(meta.get("model-provider", ""))
        self.model = str(meta.get("model-id", ""))
        self.folder = self.top = find_working_folder(record)
        self.chain = ""
        self.told_in: dict[str, str] = {}
        self.jumped = False
        self.ticks = 0
        entries = session.get("entries", ())
        self.named = {
            entry.get("call-id")
            for _, entry, _ in _walk_entries(entries, "")
            if entry.get("type") == "tool-call"
        }
        self.told = _collect_codex_events(entries)
        self.texts = collect_stored_texts(entries) if self.agent in _AGENTS_WITHOUT_RESULTS else {}
        self.time = 0
        self.open: dict[str, ToolCall] = {}
        self.unnamed: list[ToolCall] = []

    def context(self, entry: dict[str, Any]) -> None:
        when = entry.get("timestamp")
        if isinstance(when, str | int | float) and not isinstance(when, bool):
            self.time = max(self.time, get_epoch_milliseconds(when) or 0)
        if isinstance(entry.get("model-id"), str):
            self.model = entry["model-id"]
        if isinstance(entry.get("providerID"), str):
            self.provider = entry["providerID"]
        data = entry.get("data")
        if entry.get("event-type") == "turn_context" and isinstance(data, dict):
            self.model = data["model"] if isinstance(data.get("model"), str) else self.model
            self.folder = data["cwd"] if isinstance(data.get("cwd"), str) else self.folder
        path = entry.get("path")
        if isinstance(entry.get("cwd"), str):
            self._moves(entry, entry["cwd"])
        elif isinstance(path, dict) and isinstance(path.get("cwd"), str):
            self.folder = path["cwd"]

    def _moves(self, entry: dict[str, Any], folder: str) -> None:
        self.folder = folder
        self.chain = (
            str(entry.get("agentId", "sub-agent")) if entry.get("isSidechain") is True else ""
        )
        # Claude Code may write a call down when it has ended: then the folder is the one that it
        # left.
        self.jumped = (
            entry.get("type") == "assistant" and self.told_in.get(self.chain, folder) != folder
        )
        self.told_in[self.chain] = folder

    def called(self, place: str, entry: dict[str, Any]) -> ToolCall | None:
        """Take in a call; gives it when its agent never says more about it."""
        call_id = entry.get("call-id")
        call = self._call(
            str(entry.get("name", "")), entry.get("input"), _get_entry_name(entry, place), call_id
        )
        call.contributor = entry.get("contributor")
        if isinstance(call.contributor, dict) and isinstance(call.contributor.get("model-id"), str):
            call.model = call.contributor["model-id"]
        call.inherited = _is_inherited(entry)
        if isinstance(call_id, str):
            self.open[call_id] = call
        elif self.agent in _AGENTS_WITHOUT_RESULTS:
            call.state, call.time = CALL_UNREPORTED, self.time
            return call
        else:
            self.unnamed.append(call)
        return None

    def _call(self, name: str, arguments: Any, entry: str, call_id: Any) -> ToolCall:
        self.ticks += 1
        call = ToolCall(
            name,
            arguments,
            entry,
            call_id if isinstance(call_id, str) else entry,
            self._model_id(),
            self.folder,
        )
        call.top, call.left, call.chain, call.began, call.lost = (
            self.top,
            self.folder,
            self.chain,
            self.ticks,
            self.jumped,
        )
        return call

    def _model_id(self) -> str:
        if (
            not self.provider
            or self.provider == "unknown"
            or self.model.startswith(self.provider + "/")
        ):
            return self.model or "unknown"
        return f"{self.provider}/{self.model or 'unknown'}"

    def ended(
        self, place: str, entry: dict[str, Any], parents: tuple[dict[str, Any], ...]
    ) -> ToolCall | None:
        """Take in a result; gives the call that it ends."""
        call_id = entry.get("call-id")
        call = self.open.pop(call_id, None) if isinstance(call_id, str) else None
        if call is None:
            return None
        call.result_entry, call.time, call.left = (
            _get_entry_name(entry, place),
            self.time,
            self.folder,
        )
        call.output, call.ended = extract_result_text(entry.get("output")), self.ticks
        told = self.told.get(call.call_id, {})
        # What an earlier event told of this call, on its own, is not told again.
        call.native = {**(parents[-1] if parents else {}), **told, **call.native, **entry}
        call.state = (
            CALL_FAILED
            if is_failed_call(entry, told) or is_edit_rejected(call.native)
            else CALL_DONE
        )
        if self.texts and (contents := get_edited_contents(entry.get("output"), self.texts)):
            call.native["contents"] = contents
        if call.contributor is None and is_user_modified(call.native, call.input):
            call.contributor = {"type": "mixed", "model-id": call.model}
        return call

    def told_alone(self, place: str, entry: dict[str, Any]) -> ToolCall | None:
        """Make a call of a patch that Codex tells of without one: a script had it applied."""
        data = _get_codex_patch_event(entry)
        if data is None or data["call_id"] in self.named:
            return None
        scripts = [call for call in self.open.values() if call.name == "exec"]
        name = _get_entry_name(entry, place)
        call = self._call("apply_patch", None, name, data["call_id"])
        if len(scripts) == 1:
            call.entry, call.call_id = scripts[0].entry, scripts[0].call_id
            scripts[0].native["told"] = True
        call.native, call.result_entry, call.time, call.inherited = (
            data,
            name,
            self.time,
            _is_inherited(entry),
        )
        call.state = CALL_FAILED if is_failed_call({}, data) else CALL_DONE
        return call


def _is_inherited(entry: dict[str, Any]) -> bool:
    ours = entry.get("vacr")
    return isinstance(ours, dict) and ours.get("inherited") is True


def _get_codex_patch_event(entry: dict[str, Any]) -> dict[str, Any] | None:
    """Give what an event of Codex says about a patch; newer versions tell it as an item that was
    completed.
    """
    data = entry.get("data")
    if not isinstance(data, dict):
        return None
    if entry.get("event-type") == "item_completed" and isinstance(data.get("item"), dict):
        data = {**data["item"], "call_id": data["item"].get("id")}
    elif entry.get("event-type") != "patch_apply_end":
        return None
    return (
        data
        if isinstance(data.get("changes"), dict) and isinstance(data.get("call_id"), str)
        else None
    )


def _collect_codex_events(entries: Any) -> dict[str, dict[str, Any]]:
    """Gather what Codex tells of a call in events of their own, by the call's id."""
    told: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        data = (
            entry.get("data")
            if entry.get("event-type") in _CODEX_RESULT_EVENTS
            else _get_codex_patch_event(entry)
        )
        if isinstance(data, dict) and isinstance(data.get("call_id"), str):
            told.setdefault(data["call_id"], {}).update(data)
    return told
