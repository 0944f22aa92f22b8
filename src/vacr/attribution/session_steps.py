"""The steps of a session: tool calls and shown entries, ordered by when they took effect.

A call takes effect when its result is recorded, so the walk pairs calls with results and yields a
call where its result stands. Entries that are not calls are steps too, because agents show files in
attachments and reminders. Calls that never ended come last.

Each step knows its folder. Most agents start a new shell for each call. Where an agent keeps its
shell, a `cd` lasts. Such an agent may state the folder in each entry, and the next call runs there,
unless the call failed. But for stretches of a session the stated folder does not follow the
commands, and a sub-agent's shell may be reset silently. Where commands and stated folders
disagree, the folder is unknown until an entry states another one, or until both agree again.

    >>> from vacr.attribution.session_steps import find_entry_prompts, walk_session_steps
    >>> question = {"type": "user", "id": "u1", "content": "Fix the test."}
    >>> call = {"type": "tool-call", "id": "a1", "call-id": "c1", "name": "read", "input": {}}
    >>> result = {"type": "tool-result", "id": "r1", "call-id": "c1", "output": "import os"}
    >>> session = {"agent-meta": {"cli-name": "parrot"}, "entries": [question, call, result]}
    >>> shown, ended = walk_session_steps({"session": session})
    >>> shown.entry, (ended.name, ended.state, ended.output)
    ('u1', ('read', 'done', 'import os'))
    >>> find_entry_prompts({"session": session})["a1"]
    'Fix the test.'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from vacr.agents import (
    CALL_DONE,
    CALL_FAILED,
    CALL_PENDING,
    CALL_UNREPORTED,
    Agent,
    SessionStep,
    ShownEntry,
    ToolCall,
    ToolEffect,
    extract_command,
    extract_result_text,
    find_record_agent,
)
from vacr.attribution.shell.command_results import assess_certainty
from vacr.attribution.shell.effects import parse_run_script
from vacr.attribution.shell.git_commands import parse_git_arguments
from vacr.attribution.shell.parser import ShellScript, parse_shell_script
from vacr.attribution.shell.working_folder import WorkingFolder, has_cd_error
from vacr.edits import make_absolute_path, make_path_key
from vacr.record import get_epoch_milliseconds

ParentEntries = tuple[dict[str, Any], ...]

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


# --- the walk ---


def walk_session_steps(record: dict[str, Any]) -> Iterator[SessionStep]:
    """Yield the steps of a record: ended calls and shown entries, then the calls still open.

    Shown entries are user messages and system events.
    """
    walk = _SessionWalk(record)
    entries = record["session"].get("entries", ())
    for pointer, entry, parents in _walk_entries(entries, "/session/entries"):
        walk.update_context(entry)
        kind = entry.get("type")
        if kind == "tool-call":
            call = walk.begin_call(pointer, entry)
        elif kind == "tool-result":
            call = walk.end_call(pointer, entry, parents)
        else:
            call = walk.build_implied_call(pointer, entry)
            if call is None and kind in ("system-event", "user"):
                name = get_entry_name(entry, pointer)
                yield ShownEntry(name, walk.folder, entry, walk.time, walk.chain)
        if call is not None:
            yield call
    for call in (*walk.open_calls.values(), *walk.unnamed_calls):
        call.time = walk.time
        yield call


def _walk_entries(
    entries: Any, pointer: str, parents: ParentEntries = ()
) -> Iterator[tuple[str, dict[str, Any], ParentEntries]]:
    """Yield each entry and then its children, with its JSON Pointer and the entries around it."""
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield f"{pointer}/{i}", entry, parents
            if "children" in entry:
                yield from _walk_entries(
                    entry["children"], f"{pointer}/{i}/children", (*parents, entry)
                )


def get_entry_name(entry: dict[str, Any], pointer: str) -> str:
    """Return the id of an entry, or its JSON Pointer where it has none."""
    name = entry.get("id")
    return name if isinstance(name, str) and name else pointer


class _SessionWalk:
    """The state at one point of a session: folder, model, time, and the open calls."""

    def __init__(self, record: dict[str, Any]) -> None:
        """Start at the beginning of a record's session, in the folder of its project."""
        session = record["session"]
        meta = session.get("agent-meta", {})
        entries = session.get("entries", ())
        self.agent = find_record_agent(record)
        self.provider = str(meta.get("model-provider", ""))
        self.model = str(meta.get("model-id", ""))
        self.folder = self.top = self.agent.project_folder(record)
        self.chain = ""
        self.time = 0
        self.zoneless = False
        self.open_calls: dict[str, ToolCall] = {}
        self.unnamed_calls: list[ToolCall] = []
        self._stated_folders: dict[str, str] = {}  # the last one that each chain stated
        self._has_jumped = False
        self._calls_begun = 0
        self._call_ids = {
            entry.get("call-id")
            for _, entry, _ in _walk_entries(entries, "")
            if entry.get("type") == "tool-call"
        }
        self._reports = self.agent.call_reports(entries)

    def update_context(self, entry: dict[str, Any]) -> None:
        """Take over the time, the model and the folder that an entry states."""
        when = entry.get("timestamp")
        if isinstance(when, str | int | float) and not isinstance(when, bool):
            moment = get_epoch_milliseconds(when)
            if moment is None and isinstance(when, str):
                moment = get_epoch_milliseconds(f"{when}Z")
                self.zoneless = self.zoneless or moment is not None
            self.time = max(self.time, moment or 0)
        model, provider = self.agent.model_of(entry), self.agent.provider_of(entry)
        self.model = self.model if model is None else model
        self.provider = self.provider if provider is None else provider
        if isinstance(entry.get("cwd"), str):
            self._enter_folder(entry, entry["cwd"])
        else:
            folder = self.agent.folder_of(entry)
            self.folder = self.folder if folder is None else folder

    def _enter_folder(self, entry: dict[str, Any], folder: str) -> None:
        """Take over the folder that an entry states, and the sub-agent that wrote the entry.

        Note whether an assistant's entry states another folder than the sub-agent's last one.
        """
        self.folder = folder
        self.chain = self.agent.chain_of(entry)
        # A call may be written down only after it ended: then the folder is the one it left.
        is_other = self._stated_folders.get(self.chain, folder) != folder
        self._has_jumped = entry.get("type") == "assistant" and is_other
        self._stated_folders[self.chain] = folder

    def begin_call(self, pointer: str, entry: dict[str, Any]) -> ToolCall | None:
        """Open the call of an entry, until its result ends it.

        Return the call only if it needs no result: it has no id, and its agent records no results.
        Otherwise return `None`. `pointer` names an entry without an id.
        """
        call_id = entry.get("call-id")
        name = get_entry_name(entry, pointer)
        call = self._build_call(str(entry.get("name", "")), entry.get("input"), name, call_id)
        call.contributor = entry.get("contributor")
        if isinstance(call.contributor, dict) and isinstance(call.contributor.get("model-id"), str):
            call.model = call.contributor["model-id"]
        call.inherited = _is_inherited(entry)
        if isinstance(call_id, str):
            self.open_calls[call_id] = call
        elif not self.agent.records_results:
            call.state, call.time = CALL_UNREPORTED, self.time
            return call
        else:
            self.unnamed_calls.append(call)
        return None

    def _build_call(self, name: str, arguments: Any, entry: str, call_id: Any) -> ToolCall:
        """Build a call with the current model and folder; without an id, the entry's name is it."""
        self._calls_begun += 1
        known_id = call_id if isinstance(call_id, str) else entry
        call = ToolCall(name, arguments, entry, known_id, self._format_model(), self.folder)
        call.requested, call.zoneless = self.time, self.zoneless
        call.top, call.left, call.chain = self.top, self.folder, self.chain
        call.began, call.lost = self._calls_begun, self._has_jumped
        return call

    def _format_model(self) -> str:
        """Return `provider/model`, or the model alone if it names the provider or none is known."""
        model, provider = self.model or "unknown", self.provider
        has_provider = self.model.startswith(provider + "/")
        if not provider or provider == "unknown" or has_provider:
            return model
        return f"{provider}/{model}"

    def end_call(
        self, pointer: str, entry: dict[str, Any], parents: ParentEntries
    ) -> ToolCall | None:
        """Return the call that a result entry ends, with its output and state.

        Return `None` if no open call has its id. `pointer` names an entry without an id.
        """
        call_id = entry.get("call-id")
        call = self.open_calls.pop(call_id, None) if isinstance(call_id, str) else None
        if call is None:
            return None
        call.result_entry = get_entry_name(entry, pointer)
        call.time, call.left, call.ended = self.time, self.folder, self._calls_begun
        call.output = extract_result_text(entry.get("output"))
        report = self._reports.about(call.call_id, entry)
        call.native = {**(parents[-1] if parents else {}), **report, **call.native, **entry}
        call.state = CALL_FAILED if self.agent.has_failed(call, entry, report) else CALL_DONE
        if call.contributor is None and self.agent.is_user_modified(call):
            call.contributor = {"type": "mixed", "model-id": call.model}
        return call

    def build_implied_call(self, pointer: str, entry: dict[str, Any]) -> ToolCall | None:
        """Build a call for an entry that reports a change which no call of the session requested.

        If exactly one script is running, the change belongs to that script. Return `None` for any
        other entry. `pointer` names an entry without an id.
        """
        report = self._reports.implied_call(entry)
        if report is None or report["call_id"] in self._call_ids:
            return None
        scripts = [
            call
            for call in self.open_calls.values()
            if self.agent.tool_effect(call) is ToolEffect.SCRIPT
        ]
        name = get_entry_name(entry, pointer)
        call = self._build_call("apply_patch", None, name, report["call_id"])
        if len(scripts) == 1:
            call.entry, call.call_id = scripts[0].entry, scripts[0].call_id
            scripts[0].native["patch_reported"] = True
        call.native, call.result_entry = report, name
        call.time, call.inherited = self.time, _is_inherited(entry)
        call.state = CALL_FAILED if self.agent.has_failed(call, {}, report) else CALL_DONE
        return call


def _is_inherited(entry: dict[str, Any]) -> bool:
    """Return whether an entry was copied from the session that this one continues."""
    own = entry.get("vacr")
    return isinstance(own, dict) and own.get("inherited") is True


# --- the folder of a shell that lasts ---


def locate_session_steps(record: dict[str, Any]) -> list[SessionStep]:
    """Return the steps of a record; calls whose folder is unknown are marked as `lost`."""
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
        """Start a shell of an agent, before any call."""
        self.agent = agent
        # Whether the stated folder does not follow the commands; `None` until that shows.
        self.stuck = None if agent.shell.reports_folder else True
        self.stated: str | None = None
        self.moved = 0  # The number of calls begun when the folder last moved.
        self.lost = False
        self.continued = False  # Whether it continues another session, in an unknown folder.
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
        """Take over a stated folder; a folder other than the last one ends all doubt."""
        if self.stated is not None and folder != self.stated:
            self.lost = False
        self.stated = folder

    def follow_call(self, call: ToolCall, *, is_shell: bool) -> None:
        """Mark an ended call as `lost` if its folder is unknown.

        If it ran a shell script (`is_shell`), also follow the folder in which the shell is now.
        """
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
        """Note that the folder is unknown; in a continued session, also for the calls before."""
        if self.stuck is None:
            for call in self.early_calls:
                call.lost = True
        self.stuck, self.lost, self.continued = True, True, False


def _find_left_folder(agent: Agent, call: ToolCall) -> tuple[bool, str | None]:
    """Return whether a shell call may have changed the folder, and the folder after it.

    The folder is `None` if it is unknown.
    """
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
    """Return whether a script may have failed although the agent does not report an error.

    Agents report no error for some commands, such as a search that finds nothing. `text` is the
    output of the script.
    """
    last = script.commands[-1] if script.commands and not script.opaque else None
    if last is None or last.name not in agent.shell.lenient_commands:
        return False
    return (
        not text
        or "-n" not in last.words
        or not all(map(_GREP_OUTPUT_LINE.match, text.removesuffix("\n").split("\n")))
    )


# --- prompts ---


def find_entry_prompts(record: dict[str, Any]) -> dict[str, str]:
    """Return the latest prompt up to each entry, by the entry's id or JSON Pointer.

    Entries before the first prompt have an empty text.
    """
    agent = find_record_agent(record)
    prompts: dict[str, str] = {}
    prompt = ""
    entries = record["session"].get("entries", ())
    for pointer, entry, _ in _walk_entries(entries, "/session/entries"):
        prompt = agent.prompt_text(entry) or prompt
        prompts.setdefault(get_entry_name(entry, pointer), prompt)
    return prompts


def find_entry_times(record: dict[str, Any]) -> dict[str, int]:
    """Return the latest time stated up to each entry, by the entry's id or JSON Pointer.

    Times are in milliseconds since 1970; 0 before the first one.
    """
    times: dict[str, int] = {}
    time = 0
    entries = record["session"].get("entries", ())
    for pointer, entry, _ in _walk_entries(entries, "/session/entries"):
        when = entry.get("timestamp")
        if isinstance(when, str | int | float) and not isinstance(when, bool):
            time = max(time, get_epoch_milliseconds(when) or 0)
        times.setdefault(get_entry_name(entry, pointer), time)
    return times


# --- the newest commit ---


def find_newest_revision(steps: Iterable[SessionStep]) -> str | None:
    """Return the hash of the newest commit that the git commands of a session made or showed.

    The hash is abbreviated unless the session shows all of it. Return `None` without any commit.
    """
    newest: str | None = None
    full_hashes: dict[str, str] = {}
    for text, step in _list_git_calls(steps):
        full_hashes |= {name[:7]: name for name in _FULL_HASH.findall(step.output)}
        for commit in _list_shown_commits(text, step):
            newest = commit
    full = full_hashes.get(newest[:7]) if newest else None
    return full if newest and full and full.startswith(newest) else newest


def list_shown_revisions(steps: Iterable[SessionStep]) -> list[str]:
    """Return the hashes of all commits that the git commands of a session made or showed.

    Each is there once, in the order of the session, and may be abbreviated. The list is empty if
    the session shows no commit.
    """
    return list(
        dict.fromkeys(
            commit
            for text, step in _list_git_calls(steps)
            for commit in (*_list_shown_commits(text, step), *_FULL_HASH.findall(step.output))
        )
    )


def _list_git_calls(steps: Iterable[SessionStep]) -> Iterator[tuple[str, ToolCall]]:
    """Yield each call with output whose script names git, with the script."""
    for step in steps:
        if isinstance(step, ToolCall) and step.output:
            text, _ = extract_command(step.input)
            if text is not None and "git" in text:
                yield text, step


def _list_shown_commits(text: str, call: ToolCall) -> Iterator[str]:
    """Yield the hashes that `git commit`, `git rev-parse HEAD` or `git log` in a script printed.

    `text` is the script of the call. Of a log, only the newest commit counts.
    """
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
