"""The context of a session's steps: the prompts, the newest commit, and the shell's folder.

Most agents start a new shell for each call. Where an agent keeps its shell, a `cd` lasts. Such
an agent may state the folder in each entry, and the next call runs there, unless the call failed.
But for stretches of a session the stated folder does not follow the commands, and a sub-agent's
shell may be put back silently. Where commands and stated folders disagree, the folder is unknown
until an entry states another one, or until both agree again.

    >>> from vacr.attribution.session_context import find_entry_prompts
    >>> question = {"type": "user", "id": "u1", "content": "Fix the test."}
    >>> answer = {"type": "assistant", "id": "a1", "content": "Done."}
    >>> find_entry_prompts({"session": {"entries": [question, answer]}})
    {'u1': 'Fix the test.', 'a1': 'Fix the test.'}
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents import (
    CALL_DONE,
    CALL_FAILED,
    CALL_PENDING,
    Agent,
    SessionStep,
    ShownEntry,
    ToolCall,
    ToolEffect,
    extract_command,
    find_record_agent,
)
from vacr.attribution.session_steps import get_entry_name, walk_session_steps
from vacr.attribution.shell.effects import has_cd_error, parse_run_script
from vacr.attribution.shell.execution import WorkingFolder, assess_certainty
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellScript, parse_shell_script
from vacr.edits import make_absolute_path, make_path_key

_COMMIT_OUTPUT = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,64})\] ", re.MULTILINE)
_FULL_HASH_LINE = re.compile(r"^([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
_LOG_COMMIT = re.compile(r"\A(?:commit )?([0-9a-f]{7,64})\b")
_FULL_HASH = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_PLAIN_LOG_OPTION = re.compile(
    r"--oneline|-\d+|-n\d*|\d+|--stat|--no-color|--decorate\S*|-p|HEAD|--no-pager"
)
_FOLDER_CHANGE_COMMAND = re.compile(
    r"(?<![\w-])(?:cd|pushd|popd|Set-Location|chdir)(?![\w-])", re.IGNORECASE
)
_GREP_OUTPUT_LINE = re.compile(r"\d+[:-]|--$")


def find_entry_prompts(record: dict[str, Any]) -> dict[str, str]:
    """Return the prompt before each entry, by the entry's id or JSON Pointer."""
    agent = find_record_agent(record)
    prompts: dict[str, str] = {}
    prompt = ""
    entries = record["session"].get("entries", ())
    for name, entry in _walk_named_entries(entries, "/session/entries"):
        prompt = agent.prompt_text(entry) or prompt
        prompts.setdefault(name, prompt)
    return prompts


def _walk_named_entries(entries: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield get_entry_name(entry, f"{place}/{i}"), entry
            yield from _walk_named_entries(entry.get("children"), f"{place}/{i}/children")


def find_newest_revision(steps: Iterable[SessionStep]) -> str | None:
    """Return the last commit that a session made or showed, in full where it is spelled out."""
    newest: str | None = None
    full_hashes: dict[str, str] = {}
    for step in steps:
        if not isinstance(step, ToolCall) or not step.output:
            continue
        text, _ = extract_command(step.input)
        if text is None or "git" not in text:
            continue
        full_hashes |= {name[:7]: name for name in _FULL_HASH.findall(step.output)}
        for commit in _list_shown_commits(text, step):
            newest = commit
    full = full_hashes.get(newest[:7]) if newest else None
    return full if newest and full and full.startswith(newest) else newest


def _list_shown_commits(text: str, call: ToolCall) -> Iterator[str]:
    """Yield the commits that a script's output shows as the newest."""
    script = parse_shell_script(text)
    git_commands = [
        [word or "" for word in parse_git_arguments(command.words)[1]]
        for command in script.commands
        if command.name == "git"
    ]
    for words in git_commands:
        if words[:1] == ["commit"] and call.state != CALL_FAILED:
            yield from _COMMIT_OUTPUT.findall(call.output)[-1:]
        elif words == ["rev-parse", "HEAD"]:
            hashes = _FULL_HASH_LINE.findall(call.output)
            if len(hashes) == 1:
                yield hashes[0]
        elif words[:1] == ["log"] and len(script.commands) == 1:
            is_plain = all(_PLAIN_LOG_OPTION.fullmatch(word) for word in words[1:])
            yield from _LOG_COMMIT.findall(call.output) if is_plain else ()


def locate_session_steps(record: dict[str, Any]) -> list[SessionStep]:
    """Return the steps of a record, marked where the folder of their shell is unknown."""
    agent, steps = find_record_agent(record), list(walk_session_steps(record))
    if agent.shell.keeps_folder:
        shells: dict[str, _PersistentShell] = {}
        for step in steps:
            shell = shells.setdefault(step.chain, _PersistentShell(agent))
            if isinstance(step, ShownEntry):
                shell.follow_entry(step)
            elif step.state != CALL_PENDING:
                shell.follow_call(step, is_shell=agent.tool_effect(step) is ToolEffect.SHELL)
    return steps


class _PersistentShell:
    """A shell that lasts from call to call, and the folder that the entries state for it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        # Whether the stated folder does not follow the commands; `None` until that shows.
        self.stuck = None if agent.shell.reports_folder else True
        self.stated: str | None = None
        self.moved = 0  # The number of calls begun when the folder last moved.
        self.lost = False
        self.continued = False  # Whether the session continues another one, in a folder unknown.
        self.early_calls: list[ToolCall] = []  # The calls of a continued session so far.
        self.calls = 0

    def follow_entry(self, shown: ShownEntry) -> None:
        """Take over the folder that an entry states, and notice restarts of the shell."""
        summary = self.agent.is_summary(shown.value)
        self.continued = self.continued or (summary and not self.calls)
        self._state_folder(shown.folder)
        if self.agent.restarts_shell(shown.value):
            self.lost = self.continued = False  # Each turn begins in the session's folder.

    def _state_folder(self, folder: str) -> None:
        if self.stated is not None and folder != self.stated:
            self.lost = False
        self.stated = folder

    def follow_call(self, call: ToolCall, *, is_shell: bool) -> None:
        """Mark a call that ended where its folder is unknown, and follow the folder it left."""
        self.calls += 1
        if call.began <= self.moved:
            # It ran at the same time as the call that changed the folder.
            call.lost = call.lost or call.folder != self.stated
        else:
            self._state_folder(call.folder)
        call.lost = call.lost or self.lost
        if self.continued:
            self.early_calls.append(call)
        if not is_shell:
            return
        if call.left != call.folder:
            self._move_folder(call)
            return
        entered, folder = _find_left_folder(self.agent, call)
        reset = self.agent.shell.reset_message
        was_reset = reset is not None and reset in call.output
        if was_reset or (entered and folder == make_path_key(make_absolute_path(call.folder, ""))):
            self.lost = False
        elif entered and (folder is not None or self.stuck):
            self._doubt_folder()

    def _move_folder(self, call: ToolCall) -> None:
        """Follow a call after which the entries state another folder."""
        self.stated, self.moved = call.left, call.ended
        self.stuck = self.lost = self.continued = False
        self.early_calls = []

    def _doubt_folder(self) -> None:
        """Doubt the folder; in a continued session, also for the calls before."""
        if self.stuck is None:
            for call in self.early_calls:
                call.lost = True
        self.stuck, self.lost, self.continued = True, True, False


def _find_left_folder(agent: Agent, call: ToolCall) -> tuple[bool, str | None]:
    """Return whether a call may have changed the folder, and the folder it left, if known."""
    text, _ = extract_command(call.input)
    if text is None or not _FOLDER_CHANGE_COMMAND.search(text):
        return False, None
    run = agent.shell_run(call)
    if run is None:
        return False, None
    script, result = parse_run_script(run), run.result
    start = None if call.lost else run.folder or ""
    place = WorkingFolder(start, call.folder, lost=has_cd_error(result))
    certainties = assess_certainty(script, result)
    entered = sum(
        place.follow(command, ran=certainty.ran)
        for command, certainty in zip(script.commands, certainties, strict=True)
    )
    # The part of the script that is not parsed may change the folder too.
    hidden = script.opaque and len(_FOLDER_CHANGE_COMMAND.findall(text)) > entered
    if hidden or place.folder is None:
        return hidden or entered > 0, None
    if call.state != CALL_DONE or _may_have_failed(agent, script, result.text):
        return entered > 0, None
    return entered > 0, make_path_key(make_absolute_path(place.folder, call.folder))


def _may_have_failed(agent: Agent, script: ShellScript, text: str) -> bool:
    """Return whether a call may have failed although the agent does not report an error."""
    last = script.commands[-1] if script.commands and not script.opaque else None
    if last is None or last.name not in agent.shell.lenient_commands:
        return False
    return (
        not text
        or "-n" not in last.words
        or not all(map(_GREP_OUTPUT_LINE.match, text.removesuffix("\n").split("\n")))
    )
