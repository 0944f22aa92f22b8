"""What the user asked for before a call. Step: blame.

The newest commit that a session shows. Step: attribute.

Where the shell of a session was when each of its calls began. Step: attribute.

The shells of Claude Code and Cursor go on from call to call, so that a `cd` holds. Claude Code
tells the folder on each line, and the next call is in it, unless the call failed; but there are
stretches in which what it tells does not follow, and a sub-agent's shell may be put back without a
word. In its desktop application each prompt puts the shell back. Where the commands and the lines
do not agree, the folder is not known until a line tells another one, or until both agree again. The
shells of other agents begin anew with each call.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.attribution.calls import (
    CALL_DONE,
    CALL_FAILED,
    CALL_PENDING,
    TOOL_KINDS,
    TOOL_SHELL,
    SessionStep,
    ShownEntry,
    ToolCall,
    get_agent_name,
    walk_session_steps,
)
from vacr.attribution.shell.effects import extract_command, has_cd_error, parse_call_script
from vacr.attribution.shell.execution import WorkingFolder, assess_certainty, parse_shell_result
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellScript, parse_shell_script
from vacr.edits import make_absolute_path, make_path_key

# What hosts put into a user's message, or send in the user's name.
_HOST_MESSAGE_STARTS = (
    "<system-reminder>",
    "<environment_context>",
    "<user_instructions>",
    "<local-command",
    "<command-",
    "# AGENTS.md",
    "Caveat:",
)


def find_entry_prompts(record: dict[str, Any]) -> dict[str, str]:
    """Give the user's message that preceded each entry, by the entry's name: its id, or else its
    JSON Pointer.
    """
    found: dict[str, str] = {}
    prompt = ""
    for name, entry in _walk_named_entries(
        record["session"].get("entries", ()), "/session/entries"
    ):
        prompt = get_prompt_text(entry) or prompt
        found.setdefault(name, prompt)
    return found


def _walk_named_entries(entries: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            name = entry.get("id")
            yield name if isinstance(name, str) and name else f"{place}/{i}", entry
            yield from _walk_named_entries(entry.get("children"), f"{place}/{i}/children")


def get_prompt_text(entry: dict[str, Any]) -> str:
    """Give the text of a message of the user, without what the host added; nothing where an entry
    is none.
    """
    if entry.get("type") != "user" or entry.get("isMeta") is True:
        return ""
    content = entry.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(
        text
        for text in texts
        if isinstance(text, str)
        and text.strip()
        and not text.lstrip().startswith(_HOST_MESSAGE_STARTS)
    )


_COMMIT_OUTPUT = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,64})\] ", re.MULTILINE)
_FULL_HASH_LINE = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
_LOG_COMMIT = re.compile(r"\A(?:commit )?([0-9a-f]{7,64})\b")
_FULL_HASH = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_PLAIN_LOG_OPTION = re.compile(
    r"--oneline|-\d+|-n\d*|\d+|--stat|--no-color|--decorate\S*|-p|HEAD|--no-pager"
)


def find_newest_revision(steps: Iterable[SessionStep]) -> str | None:
    """Give the commit that a session made or looked at last, in full if the session spells it in
    full anywhere.
    """
    newest: str | None = None
    whole: dict[str, str] = {}
    for step in steps:
        if not isinstance(step, ToolCall) or not step.output:
            continue
        text, _ = extract_command(step.input)
        if text is None or "git" not in text:
            continue
        whole |= {name[:7]: name for name in _FULL_HASH.findall(step.output)}
        for found in _list_shown_commits(text, step):
            newest = found
    full = whole.get(newest[:7]) if newest else None
    return full if newest and full and full.startswith(newest) else newest


def _list_shown_commits(text: str, call: ToolCall) -> Iterator[str]:
    """Give the commits that are the newest by what a script's commands print."""
    script = parse_shell_script(text)
    verbs = [
        [word or "" for word in parse_git_arguments(command.words)[1]]
        for command in script.commands
        if command.name == "git"
    ]
    for verb in verbs:
        if (
            verb[:1] == ["commit"]
            and call.state != CALL_FAILED
            and (made := _COMMIT_OUTPUT.findall(call.output))
        ):
            yield made[-1]
        elif (
            verb == ["rev-parse", "HEAD"]
            and len(found := _FULL_HASH_LINE.findall(call.output)) == 1
        ):
            yield found[0]
        elif (
            verb[:1] == ["log"]
            and len(script.commands) == 1
            and all(_PLAIN_LOG_OPTION.fullmatch(word) for word in verb[1:])
        ):
            yield from _LOG_COMMIT.findall(call.output)


_PERSISTENT_SHELL_AGENTS = frozenset(["claude-code", "cursor"])
_FOLDER_REPORTING_AGENTS = frozenset(["claude-code"])
_FOLDER_CHANGE_COMMAND = re.compile(
    r"(?<![\w-])(?:cd|pushd|popd|Set-Location|chdir)(?![\w-])", re.IGNORECASE
)
# Claude Code does not call it an error when these end with another code than 0.
_LENIENT_COMMANDS = frozenset(["grep", "egrep", "fgrep", "rg", "find", "diff", "test", "["])
_GREP_OUTPUT_LINE = re.compile(r"\d+[:-]|--$")
_SHELL_RESET_MESSAGE = "Shell cwd was reset to "


def locate_session_steps(record: dict[str, Any]) -> list[SessionStep]:
    """Give the steps of a record, with what is known of where their shells were."""
    agent, found = get_agent_name(record), list(walk_session_steps(record))
    if agent in _PERSISTENT_SHELL_AGENTS:
        kinds = TOOL_KINDS[agent]
        shells: dict[str, _PersistentShell] = {}
        for step in found:
            shell = shells.setdefault(
                step.chain,
                _PersistentShell(stuck=None if agent in _FOLDER_REPORTING_AGENTS else True),
            )
            if isinstance(step, ShownEntry):
                shell.hears(step)
            elif step.state != CALL_PENDING:
                shell.runs(step, is_shell=kinds.get(step.name) == TOOL_SHELL)
    return found


class _PersistentShell:
    """A shell that goes on; `stuck` tells whether the folder that lines tell has not followed, once
    that could be seen.
    """

    def __init__(self, *, stuck: bool | None) -> None:
        self.stuck = stuck
        self.told: str | None = None
        self.moved = 0
        self.lost = False
        self.early: list[
            ToolCall
        ] = []  # calls of a session that goes on from another, before it is known where it is
        self.continued = False
        self.calls = 0

    def hears(self, shown: ShownEntry) -> None:
        """Take in a line that is no call."""
        summary = shown.value.get("isCompactSummary") is True
        self.continued = self.continued or (summary and not self.calls)
        self._tell(shown.folder)
        if (
            not summary
            and shown.value.get("entrypoint") == "claude-desktop"
            and get_prompt_text(shown.value)
        ):
            self.lost = self.continued = False  # each turn begins where the session does

    def _tell(self, folder: str) -> None:
        if self.told is not None and folder != self.told:
            self.lost = False
        self.told = folder

    def runs(self, call: ToolCall, *, is_shell: bool) -> None:
        """Take in a call that has ended."""
        self.calls += 1
        if call.began <= self.moved:
            call.lost = call.lost or call.folder != self.told  # it ran beside the one that moved
        else:
            self._tell(call.folder)
        call.lost = call.lost or self.lost
        if self.continued:
            self.early.append(call)
        if not is_shell:
            return
        if call.left != call.folder:
            self._follows(call)
            return
        entered, folder = _find_left_folder(call)
        if _SHELL_RESET_MESSAGE in call.output or (
            entered and folder == make_path_key(make_absolute_path(call.folder, ""))
        ):
            self.lost = False
        elif entered and (folder is not None or self.stuck):
            self._doubts()

    def _follows(self, call: ToolCall) -> None:
        self.stuck, self.lost, self.told, self.early, self.continued = (
            False,
            False,
            call.left,
            [],
            False,
        )
        self.moved = call.ended

    def _doubts(self) -> None:
        """Doubt where the shell is, and in a session that was begun elsewhere also where it was
        before.
        """
        for call in self.early if self.stuck is None else ():
            call.lost = True
        self.stuck, self.lost, self.continued = True, True, False


def _find_left_folder(call: ToolCall) -> tuple[bool, str | None]:
    """Tell whether the commands of a call may have changed the folder, and which one they left the
    shell in.
    """
    text, folder = extract_command(call.input)
    if text is None or not _FOLDER_CHANGE_COMMAND.search(text):
        return False, None
    script, result = parse_call_script(call, text), parse_shell_result(call)
    place = WorkingFolder(
        None if call.lost else folder or "", call.folder, lost=has_cd_error(result)
    )
    certain = assess_certainty(script, result)
    entered = sum(
        place.enters(command, ran=certain[number].ran)
        for number, command in enumerate(script.commands)
    )
    hidden = (
        script.opaque and len(_FOLDER_CHANGE_COMMAND.findall(text)) > entered
    )  # in what is not read
    if (
        hidden
        or call.state != CALL_DONE
        or place.folder is None
        or _may_have_failed(script, result.text)
    ):
        return hidden or entered > 0, None
    return entered > 0, make_path_key(make_absolute_path(place.folder, call.folder))


def _may_have_failed(script: ShellScript, text: str) -> bool:
    """Tell whether a call that is called no error may be one."""
    last = script.commands[-1] if script.commands and not script.opaque else None
    if last is None or last.name not in _LENIENT_COMMANDS:
        return False
    return (
        not text
        or "-n" not in last.words
        or not all(map(_GREP_OUTPUT_LINE.match, text.removesuffix("\n").split("\n")))
    )
